/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations in place: what they write, and what they refuse.
 */
#include "tests/net_support.h"

VP_TEST(in_place_writes_the_array) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(4);
    vp_iadd(a, 1.0);
    VP_CHECK_VALUES(a, 1, 2, 3, 4);
    vp_imul(a, a);
    vp_isub(a, vp_get(a, vp_every(-1)));
    VP_CHECK_VALUES(a, -15, -5, 5, 15);
    vp_idiv(a, 5.0);
    vp_ipow(a, 2.0);
    vp_imod(a, 4.0);
    VP_CHECK_VALUES(a, 1, 1, 1, 1);
    vp_array b = vp_let(vp_arange(VP_I32, 1, 4, 1));
    vp_ishl(b, 3);
    vp_ishr(b, 1);
    vp_ibitwise_or(b, 1);
    vp_ibitwise_xor(b, 2);
    vp_ibitwise_and(b, 7);
    vp_ifloor_divide(b, 2);
    VP_CHECK_VALUES(b, 3, 1, 3);
    VP_CHECK_TYPE(b, VP_I32);
    vp_array zero = vp_let(vp_sum(a));
    vp_iadd(zero, 0.5);
    VP_CHECK_VALUES(zero, 4.5);
    vp_array single = vp_let(vp_ones(VP_F32, vp_shape(2)));
    vp_iadd(single, vp_full(VP_F64, vp_shape(2), 0.5));
    VP_CHECK_TYPE(single, VP_F32);
    VP_CHECK_VALUES(single, 1.5, 1.5);
    vp_end(s);
}

VP_TEST(in_place_writes_a_part) {
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    vp_array row = vp_view(vp_get(a, 0));
    vp_iadd_at(a, vp_at(VP_ALL, vp_from_index(1)), 10.0);
    VP_CHECK_VALUES(a, 0, 11, 12, 3, 14, 15);
    VP_CHECK_VALUES(row, 0, 11, 12);
    vp_imul(row, -1.0);
    VP_CHECK_VALUES(a, -0.0, -11, -12, 3, 14, 15);
    vp_isub_at(a, vp_at(1), vp_get(a, 0));
    VP_CHECK_VALUES(vp_get(a, 1), 3, 25, 27);
    vp_imul_at(a, vp_at(vp_lt(a, 0.0)), 2.0);
    VP_CHECK_VALUES(vp_get(a, 0), -0.0, -22, -24);
    static const int64_t twice[] = {1, 1, 0};
    vp_iadd_at(row, vp_at(vp_from(VP_I64, vp_shape(3), twice)), 1.0);
    VP_CHECK_VALUES(row, 1, -21, -24);
    vp_iadd(row, vp_roll(row, 1, 0));
    VP_CHECK_VALUES(row, -23, -20, -45);
    vp_end(s);
}

VP_TEST(in_place_refuses_what_changes_the_array) {
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_arange(VP_I64, 0, 3, 1));
    vp_array b = vp_let(a), c = vp_let(a), d = vp_let(a);
    vp_idiv(a, 2);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_TYPE,
                   "idiv: the result is float64 and does not become int64 in place");
    vp_iadd(b, vp_zeros(VP_I64, vp_shape(2, 3)));
    VP_CHECK_ERROR(
        vp_wait(b), VP_ERR_SHAPE,
        "iadd: the result has shape (2, 3), but what is written has shape (3,)");
    vp_iadd(c, vp_zeros(VP_I64, vp_shape(1, 3)));
    VP_CHECK_ERROR(vp_wait(c), VP_ERR_SHAPE, "iadd: the result has shape (1, 3)");
    vp_iadd(d, vp_zeros(VP_I64, vp_shape(2)));
    VP_CHECK_ERROR(vp_wait(d), VP_ERR_SHAPE, "add: shapes (3,) and (2,)");
    vp_array e = vp_let(vp_ones(VP_U64, vp_shape(2)));
    vp_isub(e, vp_ones(VP_I64, vp_shape(2)));
    VP_CHECK_ERROR(vp_wait(e), VP_ERR_TYPE, "float64");
    vp_array f = vp_let(vp_ones(VP_I8, vp_shape(2)));
    vp_iadd(f, 300);
    VP_CHECK_ERROR(vp_wait(f), VP_ERR_VALUE, "does not fit int8");
    vp__in_place(VP__EQUAL, VP_HERE, f, vp_at(VP_ALL), vp__in_int(1));
    VP_CHECK_ERROR(vp_wait(f), VP_ERR_VALUE, "no such operation in place");
    vp_drop(f);
    vp_iadd(f, 1);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "");
    vp_end(s);
}

/* The same instructions again and again, which a track may follow. */
VP_TEST(in_place_in_loops) {
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(500, 8)));
    vp_array x = vp__test_counting(8);
    for (int i = 0; i < 500; i++) vp_iadd_at(a, vp_at(i), vp_mul(x, (double)i));
    double most = 0;
    VP_CHECK_OK(vp_item(vp_max(a), &most));
    VP_CHECK_EQ(most, 7.0 * 499);
    VP_CHECK_VALUES(vp_get(a, 250, vp_until(3)), 0, 250, 500);
    vp_end(s);
}
