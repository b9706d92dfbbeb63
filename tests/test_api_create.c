/* SPDX-License-Identifier: Apache-2.0
 *
 * Every function that makes an array, in every element type where that matters.
 */
#include <complex.h>
#include <string.h>

#include "tests/net_support.h"

VP_TEST(zeros_ones_full_in_every_type) {
    for (int t = 0; t < 13; t++) {
        vp_scope s = vp_begin();
        vp_dtype type = (vp_dtype)t;
        vp_array z = vp_let(vp_zeros(type, vp_shape(2, 2))),
                 o = vp_let(vp_ones(type, vp_shape(3)));
        vp_array f = vp_let(vp_full(type, vp_fshape(1, 2), type == VP_BOOL ? 1 : 7));
        VP_CHECK_TYPE(z, type);
        VP_CHECK_SHAPE(z, 2, 2);
        double seven = type == VP_BOOL ? 1 : 7;
        if (type >= VP_C64) {
            VP_CHECK_COMPLEX(z, 0, 0, 0, 0, 0, 0, 0, 0);
            VP_CHECK_COMPLEX(o, 1, 0, 1, 0, 1, 0);
            VP_CHECK_COMPLEX(f, seven, 0, seven, 0);
        } else {
            VP_CHECK_VALUES(z, 0, 0, 0, 0);
            VP_CHECK_VALUES(o, 1, 1, 1);
            VP_CHECK_VALUES(f, seven, seven);
        }
        vp_end(s);
    }
}

VP_TEST(full_takes_any_number) {
    VP_CHECK_VALUES(vp_full(VP_F32, vp_shape(2), 1.5), 1.5, 1.5);
    VP_CHECK_VALUES(vp_full(VP_I32, vp_shape(2), 2.9), 2, 2);
    VP_CHECK_COMPLEX(vp_full(VP_C64, vp_scalar_shape(), 1.0 - 2.0 * I), 1, -2);
    VP_CHECK_VALUES(vp_full(VP_U64, vp_scalar_shape(), UINT64_MAX),
                    18446744073709551615.0);
    VP_CHECK_TYPE(vp_full(VP_AUTO, vp_shape(1), 1.5), VP_F64);
    VP_CHECK_TYPE(vp_full(VP_AUTO, vp_shape(1), 1), VP_I64);
    vp_array x = vp_let(4.5);
    VP_CHECK_VALUES(vp_full(VP_F64, vp_shape(2), x), 4.5, 4.5);
    VP_CHECK_VALUES(vp_full(VP_F64, vp_shape(1), vp_mul(x, 2.0)), 9);
    VP_CHECK_ERROR(vp_wait(vp_full(VP_F64, vp_shape(2), vp__test_counting(2))),
                   VP_ERR_SHAPE, "full: the value must be one number");
    VP_CHECK_ERROR(vp_wait(vp_full(VP_U8, vp_shape(2), 300)), VP_ERR_VALUE,
                   "full: the integer 300 does not fit uint8");
}

VP_TEST(empty_has_type_and_shape) {
    vp_array e = vp_let(vp_empty(VP_C128, vp_fshape(2, 3)));
    VP_CHECK_TYPE(e, VP_C128);
    VP_CHECK_SHAPE(e, 2, 3);
    VP_CHECK_OK(vp_wait(e));
    vp_put(e, vp_at(VP_ALL), 1.0);
    VP_CHECK_COMPLEX(vp_get(e, 1), 1, 0, 1, 0, 1, 0);
}

VP_TEST(arange) {
    VP_CHECK_VALUES(vp_arange(VP_I64, 0, 5, 1), 0, 1, 2, 3, 4);
    VP_CHECK_VALUES(vp_arange(VP_I32, 5, 0, -2), 5, 3, 1);
    VP_CHECK_VALUES(vp_arange(VP_F64, 0, 1, 0.25), 0, 0.25, 0.5, 0.75);
    VP_CHECK_VALUES(vp_arange(VP_F32, 1, 2, 0.4), 1, (float)(1 + 0.4),
                    (float)(1 + 2 * 0.4));
    VP_CHECK_SHAPE(vp_arange(VP_I64, 3, 3, 1), 0);
    VP_CHECK_SHAPE(vp_arange(VP_I64, 3, 0, 1), 0);
    VP_CHECK_TYPE(vp_arange(VP_AUTO, 0, 3, 1), VP_I64);
    VP_CHECK_TYPE(vp_arange(VP_AUTO, 0, 3, 0.5), VP_F64);
    VP_CHECK_VALUES(vp_arange(VP_AUTO, 0, 2.5, 1), 0, 1, 2);
    VP_CHECK_VALUES(vp_arange(VP_U8, 250, 256, 1), 250, 251, 252, 253, 254, 255);
    VP_CHECK_TYPE(vp_arange(VP_AUTO, 0.0, 3, 1), VP_F64);
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I64, 0, 5, 0)), VP_ERR_VALUE, "step");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I64, 0, 1e300, 1)), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_F64, 0, 0.0 / 0.0, 1)), VP_ERR_VALUE, "NaN");
}

/* As in NumPy the first two numbers must fit; what follows them wraps around. */
VP_TEST(arange_within_its_type) {
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I8, 200, 210, 1)), VP_ERR_VALUE,
                   "arange: the number 200 does not fit int8");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_U8, -3, 3, 1)), VP_ERR_VALUE,
                   "-3 does not fit uint8");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I8, 0, 300, 200)), VP_ERR_VALUE, "200");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I8, 0.0, 300.0, 200.0)), VP_ERR_VALUE, "200");
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I64, UINT64_MAX, UINT64_MAX - 3, -1)),
                   VP_ERR_VALUE, "18446744073709551615 does not fit int64");
    VP_CHECK_VALUES(vp_arange(VP_I8, 127, 128, 1), 127);
    VP_CHECK_VALUES(vp_arange(VP_I8, 126, 129, 1), 126, 127, -128);
    VP_CHECK_VALUES(vp_arange(VP_U8, 1, -2, -1), 1, 0, 255);
    VP_CHECK_SHAPE(vp_arange(VP_I8, 300, 100, 1), 0);
    VP_CHECK_VALUES(vp_arange(VP_F32, 200, 202, 1), 200, 201);
}

VP_TEST(arange_in_pieces) {
    enum { N = 300000 };
    vp_array a = vp_let(vp_arange(VP_I64, -5, N - 5, 1));
    double sum = 0;
    for (int i = 0; i < N; i++) sum += i - 5;
    VP_CHECK_VALUES(vp_sum(a), sum);
    VP_CHECK_VALUES(vp_get(a, vp_range(131070, 131074)), 131065, 131066, 131067, 131068);
    VP_CHECK_VALUES(vp_get(a, -1), N - 6);
}

/* Integers that float64 does not hold. */
VP_TEST(integers_count_exactly) {
    int64_t i[3];
    uint64_t u[3];
    const int64_t start = (1ll << 53) + 1;
    VP_CHECK_SHAPE(vp_arange(VP_I64, start, start + 3, 1), 3);
    VP_CHECK_EQ(vp_read(vp_arange(VP_I64, start, start + 3, 1), i, sizeof i), VP_OK);
    for (int k = 0; k < 3; k++) VP_CHECK_EQ(i[k], start + k);
    VP_CHECK_EQ(vp_read(vp_arange(VP_I64, INT64_MAX, INT64_MIN, -INT64_MAX), i, sizeof i),
                VP_OK);
    VP_CHECK_EQ(i[0], INT64_MAX);
    VP_CHECK_EQ(i[2], -INT64_MAX);
    VP_CHECK_EQ(vp_read(vp_arange(VP_U64, UINT64_MAX, UINT64_MAX - 5, -2), u, sizeof u),
                VP_OK);
    for (int k = 0; k < 3; k++) VP_CHECK_EQ(u[k], UINT64_MAX - 2 * (uint64_t)k);
    VP_CHECK_EQ(vp_read(vp_counter(VP_U64, vp_shape(3), UINT64_MAX - 2, 1u), u, sizeof u),
                VP_OK);
    for (int k = 0; k < 3; k++) VP_CHECK_EQ(u[k], UINT64_MAX - 2 + (uint64_t)k);
    VP_CHECK_VALUES(vp_arange(VP_F64, 1ull << 63, (1ull << 63) + 4096, 2048), 0x1p63,
                    0x1p63 + 2048);
    VP_CHECK_ERROR(vp_wait(vp_arange(VP_I64, INT64_MIN, UINT64_MAX, 1)), VP_ERR_SHAPE,
                   "too large");
}

VP_TEST(linspace) {
    VP_CHECK_VALUES(vp_linspace(VP_F64, 0, 1, 5), 0, 0.25, 0.5, 0.75, 1);
    VP_CHECK_VALUES(vp_linspace(VP_F64, 2, 2, 1), 2);
    VP_CHECK_VALUES(vp_linspace(VP_I64, 0, 10, 4), 0, 3, 6, 10);
    VP_CHECK_VALUES(vp_linspace(VP_I64, -1.4, -2.1, 3), -2, -2, -3);
    VP_CHECK_VALUES(vp_linspace(VP_I8, -1.4, 5, 1), -2);
    VP_CHECK_VALUES(vp_linspace(VP_BOOL, -0.5, 0.5, 3), 1, 0, 1);
    VP_CHECK_SHAPE(vp_linspace(VP_F64, 0, 1, 0), 0);
    VP_CHECK_VALUES(vp_linspace(VP_F64, 1, -1, 3), 1, 0, -1);
    VP_CHECK_TYPE(vp_linspace(VP_AUTO, 0, 1, 2), VP_F64);
    vp_array a = vp_let(vp_linspace(VP_F64, 0, 0.1, 1000001));
    VP_CHECK_VALUES(vp_get(a, -1), 0.1); /* the end is exact */
    VP_CHECK_ERROR(vp_wait(vp_linspace(VP_F64, 0, 1, -1)), VP_ERR_SHAPE, "-1");
}

VP_TEST(eye) {
    VP_CHECK_VALUES(vp_eye(VP_F64, 2, 3, 0), 1, 0, 0, 0, 1, 0);
    VP_CHECK_VALUES(vp_eye(VP_I8, 3, 3, 1), 0, 1, 0, 0, 0, 1, 0, 0, 0);
    VP_CHECK_VALUES(vp_eye(VP_BOOL, 3, 2, -1), 0, 0, 1, 0, 0, 1);
    VP_CHECK_VALUES(vp_sum(vp_eye(VP_F64, 500, 400, -50)), 400);
    VP_CHECK_SHAPE(vp_eye(VP_F64, 0, 3, 0), 0, 3);
    VP_CHECK_VALUES(vp_eye(VP_F64, 2, 2, 9), 0, 0, 0, 0);
    VP_CHECK_ERROR(vp_wait(vp_eye(VP_F64, -2, 3, 0)), VP_ERR_SHAPE, "-2");
}

VP_TEST(counter) {
    VP_CHECK_VALUES(vp_counter(VP_I64, vp_shape(2, 3), 10, 2), 10, 12, 14, 16, 18, 20);
    VP_CHECK_VALUES(vp_counter(VP_F64, vp_fshape(2, 3), 0, 0.5), 0, 1, 2, 0.5, 1.5, 2.5);
    VP_CHECK_VALUES(vp_counter(VP_F64, vp_scalar_shape(), 3, 1), 3);
    VP_CHECK_SHAPE(vp_counter(VP_F64, vp_shape(2, 0), 3, 1), 2, 0);
}

VP_TEST(from_copies) {
    int16_t memory[4] = {1, -2, 3, -4};
    vp_array a = vp_let(vp_from(VP_I16, vp_shape(2, 2), memory));
    memset(memory, 0, sizeof memory);
    VP_CHECK_VALUES(a, 1, -2, 3, -4);
    VP_CHECK_SHAPE(vp_from(VP_F64, vp_shape(0), NULL), 0);
    static const double _Complex z[] = {1.0 + 2.0 * I, 3.0 - 4.0 * I};
    VP_CHECK_COMPLEX(vp_from(VP_C128, vp_shape(2), z), 1, 2, 3, -4);
    static const uint64_t large[] = {UINT64_MAX, 1};
    uint64_t back[2];
    VP_CHECK_OK(vp_read(vp_from(VP_U64, vp_shape(2), large), back, sizeof back));
    VP_CHECK_BYTES(back, large, sizeof back);
    VP_CHECK_ERROR(vp_wait(vp_from(VP_F64, vp_shape(2), NULL)), VP_ERR_VALUE, "NULL");
}
