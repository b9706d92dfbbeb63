/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing by one mask: what is written where, what waits for what, and where
 * failures show. tests/test_lib.c has the elements' ways, and tests/test_api_select.c masks
 * beside other items.
 */
#include <math.h>
#include <string.h>

#include "net/tuning.h"
#include "tests/net_support.h"

enum { LARGE = 200000 };

static vp_array six(bool a, bool b, bool c, bool d, bool e, bool f) {
    const bool values[6] = {a, b, c, d, e, f};
    return vp_let(vp_from(VP_BOOL, vp_shape(6), values));
}

static vp_array two_by_three(void) {
    return vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
}

/* What no index is 5 of: fails when it is computed. */
static vp_expr failing(vp_expr x) {
    return vp_get(vp_let(x), vp_let(vp_add(vp_cast(vp__test_counting(6), VP_I64), 5)));
}

VP_TEST(one_value_for_all_that_is_selected) {
    vp_scope s = vp_begin(); /* the leak checker does not see into storages */
    vp_array a = vp__test_counting(6);
    vp_put(a, vp_at(vp_greater(a, 3)), 9);
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 9, 9);
    vp_put(a, vp_at(six(1, 0, 0, 1, 0, 0)), vp_sum(vp__test_counting(3)));
    VP_CHECK_VALUES(a, 3, 1, 2, 3, 9, 9);
    vp_put(a, vp_at(vp_less(a, -1)), NAN);
    VP_CHECK_VALUES(a, 3, 1, 2, 3, 9, 9);
    vp_put(a, vp_at(vp_equal(a, 9)), vp_let(vp_full(VP_F32, vp_shape(1, 1), 0.5)));
    VP_CHECK_VALUES(a, 3, 1, 2, 3, 0.5, 0.5);
    vp_array whole = vp_let(vp_cast(a, VP_I8));
    vp_put(whole, vp_at(vp_equal(whole, 3)), 2.75);
    VP_CHECK_VALUES(whole, 2, 1, 2, 2, 0, 0);
    vp_put(whole, vp_at(vp_equal(whole, 2)), 1000);
    VP_CHECK_ERROR(vp_wait(whole), VP_ERR_VALUE,
                   "put: the integer 1000 does not fit int8");
    vp_end(s);
}

VP_TEST(values_along_the_other_axes) {
    vp_scope s = vp_begin(); /* the leak checker does not see into storages */
    vp_array a = two_by_three(),
             row = vp_let(vp_get(vp__test_counting(10), vp_range(7, 10)));
    static const bool second[2] = {false, true};
    vp_array m = vp_let(vp_from(VP_BOOL, vp_shape(2), second));
    vp_put(a, vp_at(m), row);
    VP_CHECK_VALUES(a, 0, 1, 2, 7, 8, 9);
    vp_put(a, vp_at(m), vp_reshape(row, vp_shape(1, 1, 3)));
    vp_put(a, vp_at(vp_logical_not(m)), vp_reshape(vp_add(row, 1), vp_shape(1, 3)));
    VP_CHECK_VALUES(a, 8, 9, 10, 7, 8, 9);
    vp_put(a, vp_at(m), vp_get(row, vp_range(0, 2)));
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_SHAPE,
                   "put: a value of shape (2,) does not fit a selection of shape (1, 3)");
    vp_end(s);
}

/* A view of another array, its mask made of the elements that are written. */
VP_TEST(parts_in_place) {
    vp_array a = vp_let(vp_reshape(vp__test_counting(20), vp_shape(4, 5)));
    vp_array inner = vp_view(vp_get(a, vp_range(1, 3), vp_range(1, 4)));
    vp_put(inner, vp_at(vp_equal(vp_remainder(inner, 2), 0)), -1);
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 4, 5, -1, 7, -1, 9, 10, 11, -1, 13, 14, 15, 16, 17, 18,
                    19);
    vp_array columns = vp_view(vp_transpose(a));
    vp_put(columns, vp_at(vp_less(columns, 0)), vp_get(columns, vp_less(columns, 0)));
    vp_put(columns, vp_at(vp_less(columns, 0)), vp_add(vp__test_counting(3), 30));
    VP_CHECK_VALUES(vp_get(a, vp_range(1, 3), vp_range(1, 4)), 30, 7, 32, 11, 31, 13);
}

VP_TEST(as_many_values_as_are_selected) {
    vp_scope s = vp_begin(); /* the leak checker does not see into storages */
    vp_array a = vp__test_counting(6), m = six(1, 0, 1, 0, 0, 1);
    vp_put(a, vp_at(m), vp_multiply(vp_get(a, m), 10));
    VP_CHECK_VALUES(a, 0, 1, 20, 3, 4, 50);
    vp_put(a, vp_at(m), vp__test_counting(2));
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_SHAPE,
                   "put: a value of shape (2,) does not fit a selection of shape (3,)");
    vp_end(s);
}

/* The array itself as its own mask, and as the value. */
VP_TEST(masks_that_are_the_target) {
    vp_array m = six(1, 0, 1, 0, 0, 1), n = six(1, 1, 0, 0, 0, 0);
    vp_put(m, vp_at(m), vp_get(n, vp_range(0, 3)));
    VP_CHECK_VALUES(m, 1, 0, 1, 0, 0, 0);
    vp_put(m, vp_at(m), false);
    VP_CHECK_VALUES(m, 0, 0, 0, 0, 0, 0);
}

/* Whatever is written where, failures of a part that is not written stay, and are not those of
 * the rest. */
VP_TEST(failures_stay_where_they_are) {
    vp_scope s = vp_begin(); /* the leak checker does not see into storages */
    vp_array a = vp__test_counting(12);
    vp_put(a, vp_at(vp_range(0, 6)), failing(vp_ones(VP_F64, vp_shape(6))));
    const bool last[12] = {[10] = true, [2] = true};
    vp_array m = vp_let(vp_from(VP_BOOL, vp_shape(12), last));
    vp_put(a, vp_at(m), 7);
    VP_CHECK_VALUES(vp_get(a, vp_range(6, 12)), 6, 7, 8, 9, 7, 11);
    VP_CHECK_ERROR(vp_wait(vp_get(a, vp_range(0, 6))), VP_ERR_INDEX, "out of bounds");
    VP_CHECK_ERROR(vp_wait(vp_get(a, 2)), VP_ERR_INDEX, "out of bounds");
    vp_end(s);
}

VP_TEST(failures_of_masks_and_values) {
    vp_scope s = vp_begin(); /* the leak checker does not see into storages */
    vp_array a = vp__test_counting(6), b = vp__test_counting(6), c = vp__test_counting(6);
    vp_array none = six(0, 0, 0, 0, 0, 0);
    vp_put(a, vp_at(vp_greater(failing(vp_ones(VP_F64, vp_shape(6))), 0)), 1);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_INDEX, "out of bounds");
    vp_put(b, vp_at(none), vp_sum(failing(vp_ones(VP_F64, vp_shape(6)))));
    VP_CHECK_ERROR(vp_wait(b), VP_ERR_INDEX, "out of bounds");
    vp_put(c, vp_at(vp_let(vp_ones(VP_BOOL, vp_shape(5)))), 1);
    VP_CHECK_ERROR(vp_wait(c), VP_ERR_INDEX,
                   "put: a mask of shape (5,) does not fit axes of shape (6,)");
    /* The same when the mask's size comes late. */
    vp_array d = vp__test_counting(6),
             five = vp_let(vp_find(vp_ones(VP_BOOL, vp_shape(5))));
    vp_put(d, vp_at(vp_greater(five, 2)), 1);
    VP_CHECK_ERROR(vp_wait(d), VP_ERR_INDEX,
                   "put: a mask of shape (5,) does not fit axes of shape (6,)");
    VP_CHECK_ERROR(vp_wait(vp_get(vp__test_counting(6), vp_greater(five, 2))),
                   VP_ERR_INDEX,
                   "get: a mask of shape (5,) does not fit axes of shape (6,)");
    vp_end(s);
}

/* How many are selected is known before the elements are. */
VP_TEST(sizes_follow_from_the_mask_alone) {
    vp__test_threads(2);
    vp__gate gate;
    vp_array a = vp_let(VP_GATED(vp__test_counting(6), &gate));
    vp_array some = vp_let(vp_get(a, six(0, 1, 0, 0, 1, 1)));
    VP_CHECK_SHAPE(some, 3);
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(some, 1, 4, 5);
}

/* A put whose target is not free waits, in the order of the program. */
VP_TEST(puts_wait_for_their_target) {
    vp__test_threads(2);
    vp__gate gate;
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    VP_CHECK_OK(vp_sync());
    vp_put(a, vp_at(vp_range(0, 10)), VP_GATED(vp_ones(VP_F64, vp_shape(10)), &gate));
    vp_array m = vp_let(vp_less(vp__test_counting(LARGE), 5));
    vp_put(a, vp_at(m), 2);
    vp_put(a, vp_at(vp_let(vp_less(vp__test_counting(LARGE), 3))), vp__test_counting(3));
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(vp_get(a, vp_range(0, 12)), 0, 1, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0);
}

/* Large ones, whose mask is true ever more often. */
static void check_large(void) {
    static double a[LARGE], expected[LARGE];
    vp_array x = vp__test_counting(LARGE);
    vp_array m = vp_let(vp_less(vp_remainder(x, 7), vp_divide(x, (double)LARGE / 7)));
    int64_t count = 0;
    for (int i = 0; i < LARGE; i++) {
        a[i] = i;
        if (fmod(i, 7) < i / ((double)LARGE / 7)) expected[count++] = i;
    }
    vp_array some = vp_let(vp_get(x, m)), where = vp_let(vp_find(m));
    VP_CHECK_ARRAY(some, expected, count);
    VP_CHECK_ARRAY(where, expected, count);
    vp_put(x, vp_at(m), vp_negative(some));
    for (int64_t i = 0; i < count; i++) a[(int64_t)expected[i]] = -expected[i];
    VP_CHECK_ARRAY(x, a, LARGE);
    vp_put(x, vp_at(m), -0.5);
    for (int64_t i = 0; i < count; i++) a[(int64_t)expected[i]] = -0.5;
    VP_CHECK_ARRAY(x, a, LARGE);
}

VP_TEST(in_one_piece) {
    vp__test_threads(1);
    check_large();
}

VP_TEST(in_pieces) {
    vp__test_threads(4);
    vp__tuning.piece_ns = 1000;
    check_large();
    VP_CHECK(VP_STAT(split) >= 4);
}
