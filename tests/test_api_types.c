/* SPDX-License-Identifier: Apache-2.0
 *
 * Which type a result has (NumPy's promotion, NEP 50: a C number is weak), which shape
 * (broadcasting), and conversions.
 */
#include <complex.h>
#include <math.h>

#include "tests/net_support.h"

static vp_array one(vp_dtype t) { return vp_let(vp_ones(t, vp_shape(1))); }

VP_TEST(types_of_two_arrays) {
    static const struct {
        vp_dtype a, b, sum, quotient;
    } table[] = {
        {VP_I8, VP_U8, VP_I16, VP_F64},      {VP_I16, VP_U16, VP_I32, VP_F64},
        {VP_I32, VP_U32, VP_I64, VP_F64},    {VP_I64, VP_U64, VP_F64, VP_F64},
        {VP_BOOL, VP_I8, VP_I8, VP_F64},     {VP_F32, VP_I16, VP_F32, VP_F32},
        {VP_F32, VP_I32, VP_F64, VP_F64},    {VP_F32, VP_U8, VP_F32, VP_F32},
        {VP_C64, VP_I32, VP_C128, VP_C128},  {VP_C64, VP_F32, VP_C64, VP_C64},
        {VP_C64, VP_F64, VP_C128, VP_C128},  {VP_U64, VP_F32, VP_F64, VP_F64},
        {VP_BOOL, VP_BOOL, VP_BOOL, VP_F64}, {VP_I32, VP_I32, VP_I32, VP_F64},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        vp_scope s = vp_begin();
        vp_array a = one(table[i].a), b = one(table[i].b);
        VP_CHECK_TYPE(vp_add(a, b), table[i].sum);
        VP_CHECK_TYPE(vp_add(b, a), table[i].sum);
        VP_CHECK_TYPE(vp_div(a, b), table[i].quotient);
        VP_CHECK_TYPE(vp_lt(a, b), VP_BOOL);
        VP_CHECK_TYPE(vp_concatenate(0, a, b), table[i].sum);
        VP_CHECK_TYPE(vp_where(true, a, b), table[i].sum);
        vp_end(s);
    }
}

VP_TEST(types_with_numbers) {
    static const struct {
        vp_dtype t, with_int, with_float, with_complex, halved;
    } table[] = {
        {VP_BOOL, VP_I64, VP_F64, VP_C128, VP_F64},
        {VP_I8, VP_I8, VP_F64, VP_C128, VP_F64},
        {VP_U8, VP_U8, VP_F64, VP_C128, VP_F64},
        {VP_I64, VP_I64, VP_F64, VP_C128, VP_F64},
        {VP_F32, VP_F32, VP_F32, VP_C64, VP_F32},
        {VP_F64, VP_F64, VP_F64, VP_C128, VP_F64},
        {VP_C64, VP_C64, VP_C64, VP_C64, VP_C64},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        vp_scope s = vp_begin();
        vp_array a = one(table[i].t);
        VP_CHECK_TYPE(vp_add(a, 1), table[i].with_int);
        VP_CHECK_TYPE(vp_add(1, a), table[i].with_int);
        VP_CHECK_TYPE(vp_add(a, (short)1), table[i].with_int);
        VP_CHECK_TYPE(vp_add(a, 1u), table[i].with_int);
        VP_CHECK_TYPE(vp_add(a, 1.5), table[i].with_float);
        VP_CHECK_TYPE(vp_add(a, 1.5f), table[i].with_float);
        VP_CHECK_TYPE(vp_add(a, 1.5L), table[i].with_float);
        VP_CHECK_TYPE(vp_add(a, 1.0 + 2.0 * I), table[i].with_complex);
        VP_CHECK_TYPE(vp_add(a, (bool)true), table[i].t);
        VP_CHECK_TYPE(vp_div(a, 2), table[i].halved);
        vp_end(s);
    }
    VP_CHECK_TYPE(vp_add(1, 2), VP_I64);
    VP_CHECK_TYPE(vp_add(1, 2.0), VP_F64);
    VP_CHECK_TYPE(vp_div(1, 2), VP_F64);
    VP_CHECK_VALUES(vp_div(1, 2), 0.5);
    VP_CHECK_VALUES(vp_add(1, 1.5L), 2.5);
    VP_CHECK_COMPLEX(vp_add(1, (long double _Complex)(0.5 + 2.0 * I)), 1.5, 2);
}

/* Expressions and 0-dimensional arrays are strong, whatever made them. */
VP_TEST(results_are_strong) {
    vp_array f = one(VP_F32), zero = vp_let(vp_zeros(VP_F64, vp_scalar_shape()));
    VP_CHECK_TYPE(vp_add(f, zero), VP_F64);
    VP_CHECK_TYPE(vp_add(f, vp_let(1.0)), VP_F64);
    VP_CHECK_TYPE(vp_add(f, vp_add(1.0, 1.0)), VP_F64);
    VP_CHECK_TYPE(vp_mul(f, vp_sum(f)), VP_F32);
}

VP_TEST(integers_that_do_not_fit_are_refused) {
    vp_array u = one(VP_U8), i = one(VP_I8);
    VP_CHECK_ERROR(vp_wait(vp_add(u, 256)), VP_ERR_VALUE, "256 does not fit uint8");
    VP_CHECK_ERROR(vp_wait(vp_add(u, -1)), VP_ERR_VALUE, "-1 does not fit uint8");
    VP_CHECK_ERROR(vp_wait(vp_add(i, 128)), VP_ERR_VALUE, "128 does not fit int8");
    VP_CHECK_ERROR(vp_wait(vp_add(one(VP_I64), UINT64_MAX)), VP_ERR_VALUE,
                   "18446744073709551615 does not fit int64");
    VP_CHECK_VALUES(vp_add(u, 255), 0); /* fits, and the sum wraps around */
    VP_CHECK_VALUES(vp_add(i, -128), -127);
    VP_CHECK_VALUES(vp_sub(one(VP_U64), UINT64_MAX), 2);
}

/* Comparisons have an answer where arithmetic has none. */
VP_TEST(comparisons_with_integers_beyond_the_type) {
    static const vp_dtype types[] = {VP_I8,  VP_I16, VP_I32, VP_I64, VP_U8,
                                     VP_U16, VP_U32, VP_U64, VP_BOOL};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        vp_scope s = vp_begin();
        vp_array x = vp_let(vp_cast(vp_counter(VP_I64, vp_shape(2), -1, 1), types[i]));
        if (types[i] != VP_U64) { /* nothing is above that one */
            VP_CHECK_VALUES(vp_lt(x, UINT64_MAX), 1, 1);
            VP_CHECK_VALUES(vp_le(x, UINT64_MAX), 1, 1);
            VP_CHECK_VALUES(vp_ne(x, UINT64_MAX), 1, 1);
            VP_CHECK_VALUES(vp_gt(x, UINT64_MAX), 0, 0);
            VP_CHECK_VALUES(vp_ge(x, UINT64_MAX), 0, 0);
            VP_CHECK_VALUES(vp_eq(x, UINT64_MAX), 0, 0);
            VP_CHECK_VALUES(vp_lt(UINT64_MAX, x), 0, 0);
            VP_CHECK_VALUES(vp_le(UINT64_MAX, x), 0, 0);
            VP_CHECK_VALUES(vp_ne(UINT64_MAX, x), 1, 1);
            VP_CHECK_VALUES(vp_gt(UINT64_MAX, x), 1, 1);
            VP_CHECK_VALUES(vp_ge(UINT64_MAX, x), 1, 1);
            VP_CHECK_VALUES(vp_eq(UINT64_MAX, x), 0, 0);
        }
        if (types[i] != VP_I64) {
            VP_CHECK_VALUES(vp_lt(x, INT64_MIN), 0, 0);
            VP_CHECK_VALUES(vp_le(x, INT64_MIN), 0, 0);
            VP_CHECK_VALUES(vp_ne(x, INT64_MIN), 1, 1);
            VP_CHECK_VALUES(vp_gt(x, INT64_MIN), 1, 1);
            VP_CHECK_VALUES(vp_ge(x, INT64_MIN), 1, 1);
            VP_CHECK_VALUES(vp_eq(x, INT64_MIN), 0, 0);
            VP_CHECK_VALUES(vp_lt(INT64_MIN, x), 1, 1);
            VP_CHECK_VALUES(vp_ge(INT64_MIN, x), 0, 0);
        }
        vp_end(s);
    }
    vp_array u = vp_let(vp_cast(vp_counter(VP_I64, vp_shape(3), 254, 1), VP_U8));
    VP_CHECK_VALUES(vp_ge(u, 255), 0, 1, 0); /* the last one wrapped to 0 */
    VP_CHECK_VALUES(vp_ge(u, 256), 0, 0, 0);
    VP_CHECK_VALUES(vp_gt(u, -1), 1, 1, 1);
    VP_CHECK_VALUES(vp_lt(-1, UINT64_MAX), 1);
    VP_CHECK_VALUES(vp_lt(UINT64_MAX - 1, UINT64_MAX), 1);
    VP_CHECK_VALUES(vp_eq(UINT64_MAX, -1), 0);
    VP_CHECK_ERROR(vp_wait(vp_minimum(u, 256)), VP_ERR_VALUE, "256 does not fit uint8");
}

/* Logic asks numbers for their truth alone. */
VP_TEST(logic_with_numbers_beyond_the_type) {
    vp_array i = vp_let(vp_counter(VP_I8, vp_shape(2), 0, 1)),
             f = vp_let(vp_cast(i, VP_F32));
    VP_CHECK_VALUES(vp_logical_and(i, 300), 0, 1);
    VP_CHECK_VALUES(vp_logical_and(UINT64_MAX, i), 0, 1);
    VP_CHECK_VALUES(vp_logical_or(vp_cast(i, VP_U8), -1), 1, 1);
    VP_CHECK_VALUES(vp_logical_xor(i, INT64_MIN), 1, 0);
    VP_CHECK_VALUES(vp_logical_and(f, 1e-300), 0, 1);
    VP_CHECK_VALUES(vp_logical_and(f, 1e-300 * I), 0, 1);
    VP_CHECK_VALUES(vp_logical_or(f, 0.0), 0, 1);
    VP_CHECK_VALUES(vp_logical_xor(UINT64_MAX, -1), 0);
    VP_CHECK_TYPE(vp_logical_and(i, 300), VP_BOOL);
}

/* float64, in which they meet otherwise, takes neighbours for equal. */
VP_TEST(comparisons_of_signed_with_unsigned) {
    static const uint64_t unsigneds[] = {0,
                                         1,
                                         127,
                                         1ull << 53,
                                         (1ull << 53) + 1,
                                         INT64_MAX,
                                         1ull << 63,
                                         (1ull << 63) + 1,
                                         UINT64_MAX - 1,
                                         UINT64_MAX};
    static const int64_t signeds[] = {INT64_MIN, INT64_MIN + 1,   -2,       -1, 0, 1, 127,
                                      1ll << 53, (1ll << 53) + 1, INT64_MAX};
    enum { U = sizeof unsigneds / 8, S = sizeof signeds / 8, ALL = U * S };
    static const vp_dtype types[] = {VP_I64, VP_I32, VP_I8};
    vp_array u = vp_let(vp_from(VP_U64, vp_shape(U), unsigneds));
    vp_array whole = vp_let(vp_from(VP_I64, vp_shape(S, 1), signeds));
    for (int t = 0; t < 3; t++) {
        vp_scope scope = vp_begin();
        vp_array s = vp_let(vp_cast(whole, types[t]));
        int64_t cut[S];
        VP_CHECK_EQ(vp_read(vp_cast(s, VP_I64), cut, sizeof cut), VP_OK);
        bool is[12][ALL];
        vp_expr asked[12] = {vp_eq(s, u), vp_ne(s, u), vp_lt(s, u), vp_le(s, u),
                             vp_gt(s, u), vp_ge(s, u), vp_eq(u, s), vp_ne(u, s),
                             vp_gt(u, s), vp_ge(u, s), vp_lt(u, s), vp_le(u, s)};
        for (int i = 0; i < 12; i++) VP_CHECK_EQ(vp_read(asked[i], is[i], ALL), VP_OK);
        for (int i = 0; i < ALL; i++) {
            int64_t a = cut[i / U];
            uint64_t b = unsigneds[i % U];
            bool equal = a >= 0 && (uint64_t)a == b, below = a < 0 || (uint64_t)a < b;
            bool want[6] = {equal,          !equal,           below,
                            below || equal, !below && !equal, !below};
            for (int k = 0; k < 12; k++) VP_CHECK_EQ(is[k][i], want[k % 6]);
        }
        vp_end(scope);
    }
}

VP_TEST(types_that_do_not_go_together) {
    vp_array f = one(VP_F64), c = one(VP_C64);
    VP_CHECK_ERROR(vp_wait(vp_bitwise_and(f, f)), VP_ERR_TYPE,
                   "bitwise_and does not take float64 and float64");
    VP_CHECK_ERROR(vp_wait(vp_shl(f, 1)), VP_ERR_TYPE, "left_shift");
    VP_CHECK_ERROR(vp_wait(vp_floor_divide(c, c)), VP_ERR_TYPE, "complex64");
    VP_CHECK_ERROR(vp_wait(vp_arctan2(c, c)), VP_ERR_TYPE, "complex64");
    VP_CHECK_ERROR(vp_wait(vp_sub(one(VP_BOOL), one(VP_BOOL))), VP_ERR_TYPE, "subtract");
}

VP_TEST(shapes_broadcast) {
    vp_array a = vp_let(vp_reshape(vp__test_counting(3), vp_shape(3, 1)));
    vp_array b = vp__test_counting(2);
    VP_CHECK_VALUES(vp_add(a, b), 0, 1, 1, 2, 2, 3);
    VP_CHECK_SHAPE(vp_add(a, b), 3, 2);
    VP_CHECK_SHAPE(vp_add(vp_zeros(VP_F64, vp_shape(4, 1, 2)), a), 4, 3, 2);
    VP_CHECK_SHAPE(vp_add(vp_zeros(VP_F64, vp_shape(1, 0)), a), 3, 0);
    VP_CHECK_SHAPE(vp_where(vp_gt(b, 0.0), a, 7.0), 3, 2);
    VP_CHECK_SHAPE(vp_clip(b, a, 1.0), 3, 2);
    VP_CHECK_ERROR(vp_wait(vp_add(b, vp__test_counting(3))), VP_ERR_SHAPE,
                   "add: shapes (2,) and (3,) do not broadcast");
    VP_CHECK_ERROR(vp_wait(vp_add(vp_zeros(VP_F64, vp_shape(3, 4)),
                                  vp_zeros(VP_F64, vp_shape(4, 3)))),
                   VP_ERR_SHAPE, "(3, 4) and (4, 3)");
}

/* --- conversions -------------------------------------------------------------------- */

VP_TEST(conversions) {
    static const double values[] = {-1.9, -0.5, 0, 0.5, 1.9, 300};
    vp_array d = vp_let(vp_from(VP_F64, vp_shape(6), values));
    VP_CHECK_VALUES(vp_cast(d, VP_I32), -1, 0, 0, 0, 1, 300);
    VP_CHECK_VALUES(vp_cast(d, VP_BOOL), 1, 1, 0, 1, 1, 1);
    VP_CHECK_VALUES(vp_cast(vp_cast(d, VP_I32), VP_U8), 255, 0, 0, 0, 1, 44);
    VP_CHECK_VALUES(vp_cast(vp_cast(d, VP_F32), VP_F64), -1.9f, -0.5, 0, 0.5, 1.9f, 300);
    VP_CHECK_COMPLEX(vp_cast(vp_get(d, vp_until(2)), VP_C128), -1.9, 0, -0.5, 0);
    vp_array c = vp_let(vp_add(vp_get(d, vp_range(2, 4)), 3.0 * I));
    VP_CHECK_COMPLEX(c, 0, 3, 0.5, 3);
    VP_CHECK_VALUES(vp_cast(c, VP_F64), 0, 0.5);
    VP_CHECK_VALUES(vp_cast(c, VP_BOOL), 1, 1);
    VP_CHECK_VALUES(vp_imag(c), 3, 3);
    VP_CHECK_COMPLEX(vp_conj(c), 0, -3, 0.5, -3);
    VP_CHECK_VALUES(vp_abs(vp_full(VP_C128, vp_scalar_shape(), 3.0 + 4.0 * I)), 5);
    VP_CHECK_VALUES(vp_cast(vp_full(VP_BOOL, vp_shape(2), true), VP_I8), 1, 1);
    VP_CHECK_VALUES(vp_cast(NAN, VP_BOOL), 1);
    /* What is written is converted to the type of the array. */
    vp_array i = vp_let(vp_zeros(VP_I16, vp_shape(3)));
    vp_put(i, vp_at(VP_ALL), 2.9);
    vp_put(i, vp_at(0), vp_get(d, 0));
    VP_CHECK_VALUES(i, -1, 2, 2);
}

VP_TEST(division_and_special_values) {
    static const int32_t left[] = {7, -7, 7, -7, 0, 5}, right[] = {2, 2, -2, -2, 3, 0};
    vp_array a = vp_let(vp_from(VP_I32, vp_shape(6), left));
    vp_array b = vp_let(vp_from(VP_I32, vp_shape(6), right));
    VP_CHECK_VALUES(vp_floor_divide(a, b), 3, -4, -4, 3, 0, 0);
    VP_CHECK_VALUES(vp_mod(a, b), 1, 1, -1, -1, 0, 0);
    VP_CHECK_VALUES(vp_div(vp_get(a, vp_until(2)), 0), INFINITY, -INFINITY);
    VP_CHECK_VALUES(vp_div(0.0, vp_let(0.0)), NAN);
    VP_CHECK_VALUES(vp_minimum(vp_let(NAN), 1.0), NAN);
    VP_CHECK_VALUES(vp_maximum(1.0, vp_let(NAN)), NAN);
    VP_CHECK_VALUES(vp_abs(vp_let(-0.0)), 0.0);
    VP_CHECK_VALUES(vp_neg(vp_let(0.0)), -0.0);
    VP_CHECK_VALUES(vp_isnan(vp_let(NAN)), 1);
    VP_CHECK_VALUES(vp_isinf(vp_let(-INFINITY)), 1);
    VP_CHECK_VALUES(vp_neg(vp_full(VP_I8, vp_scalar_shape(), -128)), -128);
    VP_CHECK_VALUES(vp_add(vp_full(VP_I32, vp_scalar_shape(), INT32_MAX), 1), INT32_MIN);
    VP_CHECK_VALUES(vp_round(vp_let(2.5)), 2);
    VP_CHECK_VALUES(vp_round(vp_let(-0.2)), -0.0);
    VP_CHECK_VALUES(vp_sign(vp_let(-3.5)), -1);
    VP_CHECK_VALUES(vp_where(vp_let(true), 1.0, 2.0), 1);
    VP_CHECK_VALUES(vp_clip(vp__test_counting(4), 1.0, 2.0), 1, 1, 2, 2);
    VP_CHECK_VALUES(vp_power(vp_full(VP_I64, vp_scalar_shape(), 3), 4), 81);
    VP_CHECK_VALUES(vp_shl(vp_let(3), 4), 48);
    VP_CHECK_VALUES(vp_bitwise_not(vp_let(0)), -1);
    VP_CHECK_VALUES(vp_logical_xor(vp_let(2.0), 0), 1);
}

VP_TEST(names_and_sizes) {
    static const char *const names[] = {
        "bool",   "int8",   "int16",   "int32",   "int64",     "uint8",     "uint16",
        "uint32", "uint64", "float32", "float64", "complex64", "complex128"};
    static const size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
    for (int t = 0; t < 13; t++) {
        VP_CHECK_STR(vp_dtype_name((vp_dtype)t), names[t]);
        VP_CHECK_EQ(vp_dtype_size((vp_dtype)t), sizes[t]);
    }
    VP_CHECK_EQ(vp_dtype_size((vp_dtype)13), 0);
    VP_CHECK(vp_dtype_name((vp_dtype)-5) != NULL);
    VP_CHECK(vp_dtype_name(VP_AUTO) != NULL);
}

/* A complex number is an expression that the user has no handle of. */
VP_TEST(complex_numbers_that_were_looked_at_are_gone) {
    const int times = (1 << 20) / vp__test_slowdown() + 1000;
    for (int i = 0; i < times; i++) VP_CHECK_EQ(vp_ndim(1.0 + 2.0 * I), 0);
    VP_CHECK_EQ(vp_size(1.0 + 2.0 * I), 1);
    VP_CHECK_OK(vp_wait(1.0 + 2.0 * I));
    VP_CHECK(vp__expr_roots() == NULL);
    double _Complex z = 0;
    VP_CHECK_OK(vp_item(vp_mul(2.0 * I, vp_add(1, 3.0 * I)), &z));
    VP_CHECK(z == -6.0 + 2.0 * I);
}
