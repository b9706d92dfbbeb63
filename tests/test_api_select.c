/* SPDX-License-Identifier: Apache-2.0
 *
 * Selections: every kind of item, alone and mixed, for reading and for writing. Where
 * axes of index arrays go in the result is NumPy's rule: in place when the arrays stand
 * side by side (an integer counts as one of them), in front when something stands
 * between.
 */
#include <stdlib.h>

#include "tests/net_support.h"

/* 2 × 3 × 4, elements 0 to 23. */
static vp_array cube(void) {
    return vp_let(vp_reshape(vp_arange(VP_I64, 0, 24, 1), vp_shape(2, 3, 4)));
}

static vp_array pair(int64_t a, int64_t b) {
    int64_t values[2] = {a, b};
    return vp_let(vp_from(VP_I64, vp_shape(2), values));
}

static vp_array mask(int n, const bool *values) {
    return vp_let(vp_from(VP_BOOL, vp_shape(n), values));
}

VP_TEST(integers) {
    vp_array a = cube();
    VP_CHECK_VALUES(vp_get(a, 1, 2, 3), 23);
    VP_CHECK_SCALAR(vp_get(a, 1, 2, 3));
    VP_CHECK_VALUES(vp_get(a, -1, -3, -4), 12);
    VP_CHECK_VALUES(vp_get(a, 0, 1), 4, 5, 6, 7);
    VP_CHECK_SHAPE(vp_get(a, 1), 3, 4);
    VP_CHECK_ERROR(vp_wait(vp_get(a, 2)), VP_ERR_INDEX,
                   "index 2 is out of bounds for axis 0 with size 2");
    VP_CHECK_ERROR(vp_wait(vp_get(a, 0, -4)), VP_ERR_INDEX, "index -4");
    VP_CHECK_ERROR(vp_wait(vp_get(a, 0, 0, 0, 0)), VP_ERR_INDEX,
                   "4 indices for an array of 3 axes");
}

VP_TEST(ranges) {
    vp_array a = vp__test_counting(10);
    VP_CHECK_VALUES(vp_get(a, vp_range(2, 5)), 2, 3, 4);
    VP_CHECK_VALUES(vp_get(a, vp_range(-3, -1)), 7, 8);
    VP_CHECK_VALUES(vp_get(a, vp_range(7, 100)), 7, 8, 9);
    VP_CHECK_VALUES(vp_get(a, vp_range(-100, 2)), 0, 1);
    VP_CHECK_SHAPE(vp_get(a, vp_range(5, 2)), 0);
    VP_CHECK_SHAPE(vp_get(a, vp_range(20, 30)), 0);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(1, 9, 3)), 1, 4, 7);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(8, 1, -3)), 8, 5, 2);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(-1, -12, -4)), 9, 5, 1);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(100, 6, -1)), 9, 8, 7);
    VP_CHECK_SHAPE(vp_get(a, vp_range_step(2, 8, -1)), 0);
    VP_CHECK_VALUES(vp_get(a, vp_from_index(8)), 8, 9);
    VP_CHECK_VALUES(vp_get(a, vp_from_index(-1)), 9);
    VP_CHECK_VALUES(vp_get(a, vp_until(2)), 0, 1);
    VP_CHECK_VALUES(vp_get(a, vp_until(-8)), 0, 1);
    VP_CHECK_VALUES(vp_get(a, vp_every(4)), 0, 4, 8);
    VP_CHECK_VALUES(vp_get(a, vp_every(-4)), 9, 5, 1);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(0, 10, INT64_MAX)), 0);
    VP_CHECK_VALUES(vp_get(a, vp_range_step(9, -11, INT64_MIN + 1)), 9);
    VP_CHECK_VALUES(vp_get(a, vp_range(INT64_MIN, INT64_MAX)), 0, 1, 2, 3, 4, 5, 6, 7, 8,
                    9);
    VP_CHECK_ERROR(vp_wait(vp_get(a, vp_range_step(0, 5, 0))), VP_ERR_VALUE, "step");
}

VP_TEST(all_new_axes_and_ellipsis) {
    vp_array a = cube();
    VP_CHECK_SHAPE(vp_get(a, VP_ALL), 2, 3, 4);
    VP_CHECK_VALUES(vp_get(a, VP_ALL, 0, 1), 1, 13);
    VP_CHECK_VALUES(vp_get(a, VP_ELLIPSIS, 0), 0, 4, 8, 12, 16, 20);
    VP_CHECK_SHAPE(vp_get(a, 1, VP_ELLIPSIS), 3, 4);
    VP_CHECK_SHAPE(vp_get(a, 0, VP_ELLIPSIS, 1), 3);
    VP_CHECK_SHAPE(vp_get(a, VP_NEWAXIS, 1, VP_ALL, VP_NEWAXIS), 1, 3, 1, 4);
    VP_CHECK_SHAPE(vp_get(a, VP_ELLIPSIS, VP_NEWAXIS), 2, 3, 4, 1);
    VP_CHECK_ERROR(vp_wait(vp_get(a, VP_ELLIPSIS, VP_ELLIPSIS)), VP_ERR_INDEX,
                   "ellipsis");
}

VP_TEST(index_arrays) {
    vp_array a = cube(), i = pair(0, 1), j = pair(2, 0);
    VP_CHECK_SHAPE(vp_get(a, i), 2, 3, 4);
    VP_CHECK_VALUES(vp_get(a, i, j), 8, 9, 10, 11, 12, 13, 14, 15);
    VP_CHECK_VALUES(vp_get(a, i, j, j), 10, 12);
    VP_CHECK_VALUES(vp_get(a, VP_ALL, i, j), 2, 4, 14, 16);
    VP_CHECK_VALUES(vp_get(a, VP_ELLIPSIS, j), 2, 0, 6, 4, 10, 8, 14, 12, 18, 16, 22, 20);
    VP_CHECK_SHAPE(vp_get(a, VP_ELLIPSIS, j), 2, 3, 2);
    vp_array negative = pair(-1, -2);
    VP_CHECK_VALUES(vp_get(vp__test_counting(5), negative), 4, 3);
    vp_array column = vp_let(vp_reshape(i, vp_shape(2, 1)));
    VP_CHECK_VALUES(vp_get(a, column, j), 8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12,
                    13, 14, 15);
    VP_CHECK_SHAPE(vp_get(a, column, j), 2, 2, 4);
    /* Any integer type, and expressions. */
    VP_CHECK_VALUES(vp_get(vp__test_counting(5), vp_cast(i, VP_U8)), 0, 1);
    VP_CHECK_VALUES(vp_get(vp__test_counting(5), vp_add(i, 3)), 3, 4);
    /* A 0-dimensional one takes its axis away. */
    vp_array one = vp_let(1);
    VP_CHECK_VALUES(vp_get(vp__test_counting(5), one), 1);
    VP_CHECK_SHAPE(vp_get(a, one), 3, 4);
    VP_CHECK_VALUES(vp_get(a, VP_ALL, one, j), 6, 4, 18, 16);
}

VP_TEST(index_arrays_and_other_items) {
    vp_array a = cube(), i = pair(0, 1), j = pair(2, 0);
    /* Apart: their axes come first. */
    VP_CHECK_SHAPE(vp_get(a, i, VP_ALL, j), 2, 3);
    VP_CHECK_VALUES(vp_get(a, i, VP_ALL, j), 2, 6, 10, 12, 16, 20);
    VP_CHECK_VALUES(vp_get(a, 0, VP_ALL, j), 2, 6, 10, 0, 4, 8);
    VP_CHECK_SHAPE(vp_get(a, i, VP_NEWAXIS, j), 2, 1, 4);
    VP_CHECK_VALUES(vp_get(a, i, VP_NEWAXIS, j), 8, 9, 10, 11, 12, 13, 14, 15);
    VP_CHECK_VALUES(vp_get(a, i, VP_ELLIPSIS, 0), 0, 4, 8, 12, 16, 20);
    /* Side by side, an integer among them: in place. */
    VP_CHECK_VALUES(vp_get(a, VP_ALL, 0, j), 2, 0, 14, 12);
    VP_CHECK_SHAPE(vp_get(a, vp_from_index(1), i, vp_every(2)), 1, 2, 2);
    VP_CHECK_VALUES(vp_get(a, vp_from_index(1), i, vp_every(2)), 12, 14, 16, 18);
    VP_CHECK_SHAPE(vp_get(a, VP_ALL, VP_NEWAXIS, i), 2, 1, 2, 4);
    VP_CHECK_SHAPE(vp_get(a, VP_NEWAXIS, i, VP_ALL, 0), 2, 1, 3);
}

VP_TEST(masks) {
    static const bool choose[] = {true, false, true},
                      few[] = {true, false, false, false, true, true};
    vp_array a = cube(), m = mask(3, choose);
    vp_array two = vp_let(vp_reshape(vp_from(VP_BOOL, vp_shape(6), few), vp_shape(2, 3)));
    VP_CHECK_VALUES(vp_get(vp__test_counting(3), m), 0, 2);
    VP_CHECK_SHAPE(vp_get(a, VP_ALL, m), 2, 2, 4);
    VP_CHECK_VALUES(vp_get(a, 0, m), 0, 1, 2, 3, 8, 9, 10, 11);
    VP_CHECK_VALUES(vp_get(a, two), 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23);
    int64_t third[3] = {0, 1, 2};
    vp_array k = vp_let(vp_from(VP_I64, vp_shape(3), third));
    VP_CHECK_VALUES(vp_get(a, two, k), 0, 17, 22);
    VP_CHECK_VALUES(vp_get(a, vp_gt(a, 21)), 22, 23);
    VP_CHECK_SHAPE(vp_get(a, vp_gt(a, 100)), 0);
    VP_CHECK_ERROR(vp_wait(vp_get(a, m)), VP_ERR_INDEX,
                   "get: a mask of shape (3,) does not fit axes of shape (2,)");
    VP_CHECK_ERROR(vp_wait(vp_get(vp__test_counting(3), two)), VP_ERR_INDEX, "2 indices");
}

/* They select all of an array or nothing, along an axis of their own. */
VP_TEST(masks_without_axes) {
    vp_array a = cube(), late = vp_let(vp_find(vp_gt(vp__test_counting(3), 0)));
    vp_array yes = vp_let(vp_full(VP_BOOL, vp_scalar_shape(), true)),
             no = vp_let(vp_full(VP_BOOL, vp_scalar_shape(), false));
    VP_CHECK_SHAPE(vp_get(a, yes), 1, 2, 3, 4);
    VP_CHECK_SHAPE(vp_get(a, no), 0, 2, 3, 4);
    VP_CHECK_SHAPE(vp_get(a, VP_ALL, yes), 2, 1, 3, 4);
    VP_CHECK_SHAPE(vp_get(a, VP_ELLIPSIS, yes), 2, 3, 4, 1);
    VP_CHECK_SHAPE(vp_get(a, 0, yes), 1, 3, 4);
    VP_CHECK_SHAPE(vp_get(a, yes, VP_ALL, pair(0, 2)), 2, 2, 4);
    VP_CHECK_VALUES(vp_get(a, 1, pair(0, 2), yes, 3), 15, 23);
    VP_CHECK_SHAPE(vp_get(a, vp_all(vp_gt(late, 0))), 1, 2, 3, 4);
    VP_CHECK_ERROR(vp_wait(vp_get(a, pair(0, 1), no)), VP_ERR_INDEX, "do not broadcast");
    vp_array b = vp__test_counting(3);
    vp_put(b, vp_at(no), 7.0);
    VP_CHECK_VALUES(b, 0, 1, 2);
    vp_put(b, vp_at(yes), 7.0);
    VP_CHECK_VALUES(b, 7, 7, 7);
}

/* Out of bounds is out of bounds, also where nothing is selected. */
VP_TEST(wrong_indices_beside_empty_ones) {
    static const int64_t seven = 7;
    vp_scope outer = vp_begin();
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(3, 3)));
    vp_array none = vp_let(vp_zeros(VP_I64, vp_shape(0)));
    vp_array far = vp_let(vp_from(VP_I64, vp_scalar_shape(), &seven));
    vp_array gone = vp_view(vp_broadcast(far, vp_shape(0)));
    VP_CHECK_ERROR(vp_wait(vp_get(a, none, far)), VP_ERR_INDEX,
                   "get: index 7 is out of bounds for axis 1 with size 3");
    VP_CHECK_ERROR(vp_wait(vp_get(a, far, none)), VP_ERR_INDEX, "axis 0");
    VP_CHECK_ERROR(vp_wait(vp_get(a, vp_lt(vp__test_counting(3), 0), far)), VP_ERR_INDEX,
                   "get: index 7");
    VP_CHECK_SHAPE(vp_get(a, none, none), 0);
    VP_CHECK_SHAPE(vp_get(a, gone), 0, 3); /* holds no index */
    VP_CHECK_SHAPE(vp_take(a, gone, 0), 0, 3);
    VP_CHECK_SHAPE(vp_get(a, gone, none), 0);
    vp_array late = vp_let(vp_find(vp_eq(vp__test_counting(8), 7))); /* {7} */
    VP_CHECK_SHAPE(vp_get(a, vp_broadcast(late, vp_shape(0))), 0, 3);
    VP_CHECK_ERROR(vp_wait(vp_get(a, none, late)), VP_ERR_INDEX, "get: index 7");
    vp_put(a, vp_at(none, none), 1.0);
    vp_put(a, vp_at(gone), 1.0);
    VP_CHECK_OK(vp_wait(a));
    vp_put(a, vp_at(none, far), 1.0);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_INDEX,
                   "put: index 7 is out of bounds for axis 1 with size 3");
    vp_end(outer);
}

/* Every axis of an array with as many as there can be, and new ones besides. */
VP_TEST(as_many_items_as_axes) {
    enum { AXES = 32, MOST = 2 * AXES + 1 };
    vp_scope outer = vp_begin();
    int64_t dims[AXES];
    for (int i = 0; i < AXES; i++) dims[i] = i % 2 ? 1 : 2;
    vp_array flat = vp__test_counting(1 << (AXES / 2));
    vp_array a = vp_let(vp_reshape(flat, vp_shape_of(AXES, dims, false)));
    vp_sel item[MOST + 1];
    for (int i = 0; i <= MOST; i++) item[i] = VP_NEWAXIS;
    for (int i = 0; i < AXES; i++) item[i] = VP__SEL(i % 2 ? 0 : -1);
    VP_CHECK_VALUES(vp_get_at(a, vp_index_of(AXES, item)), (1 << (AXES / 2)) - 1);
    vp_put(a, vp_index_of(AXES, item), -5);
    VP_CHECK_VALUES(vp_get_at(a, vp_index_of(AXES, item)), -5);
    item[MOST - 1] = VP_ELLIPSIS;
    vp_array wide = vp_let(vp_get_at(a, vp_index_of(MOST, item)));
    VP_CHECK_EQ(vp_ndim(wide), AXES);
    VP_CHECK_ERROR(vp_wait(vp_get_at(a, vp_index_of(MOST + 1, item))), VP_ERR_INDEX,
                   "a selection has at most 65 items, not 66");
    vp_end(outer);
    vp_clear_error();
}

VP_TEST(items_of_no_kind) {
    vp_scope outer = vp_begin();
    vp_array a = cube();
    vp_sel wrong[2] = {VP_ALL, VP_ALL};
    wrong[1].kind = (vp__sel_kind)17;
    VP_CHECK_ERROR(vp_wait(vp_get_at(a, vp_index_of(2, wrong))), VP_ERR_INDEX,
                   "get: item 1 of the selection is of no kind");
    vp_put(a, vp_index_of(2, wrong), 1);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_INDEX, "put: item 1 of the selection");
    vp_end(outer);
}

VP_TEST(indices_that_are_none) {
    vp_scope outer = vp_begin();
    vp_array a = vp__test_counting(3), i = pair(0, 3),
             f = vp_let(vp_zeros(VP_F64, vp_shape(2)));
    VP_CHECK_ERROR(vp_wait(vp_get(a, f)), VP_ERR_TYPE, "float64");
    VP_CHECK_ERROR(vp_wait(vp_get(a, i)), VP_ERR_INDEX, "index 3 is out of bounds");
    vp_array b = cube(), three = vp_let(vp_zeros(VP_I64, vp_shape(3)));
    VP_CHECK_ERROR(vp_wait(vp_get(b, i, three)), VP_ERR_INDEX,
                   "index arrays of shapes (2,) and (3,) do not broadcast");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(take_along_an_axis) {
    vp_scope outer = vp_begin();
    vp_array a = cube(), j = pair(2, 0);
    VP_CHECK_VALUES(vp_take(a, j, 1), 8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13,
                    14, 15);
    VP_CHECK_SHAPE(vp_take(a, vp_reshape(j, vp_shape(1, 2)), -1), 2, 3, 1, 2);
    VP_CHECK_VALUES(vp_take(vp__test_counting(5), vp_linspace(VP_F64, 0, 4, 3), 0), 0, 2,
                    4);
    VP_CHECK_VALUES(vp_take(vp__test_counting(5), 3, 0), 3);
    VP_CHECK_ERROR(vp_wait(vp_take(a, j, 3)), VP_ERR_INDEX, "axis 3");
    VP_CHECK_ERROR(vp_wait(vp_take(a, j, 0)), VP_ERR_INDEX, "take: index 2");
    VP_CHECK_ERROR(vp_wait(vp_take(a, vp_gt(j, 0), 1)), VP_ERR_TYPE, "bool");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* Long lists, with a negative index and without, into memory that goes either way, of
 * elements that have a quick way and of others; a bad index at either end is found. */
static void take_long(vp_dtype t, int64_t n) {
    enum { SIZE = 50 };
    int64_t *list = malloc((size_t)n * sizeof *list);
    double *got = malloc((size_t)n * sizeof *got);
    vp_scope s = vp_begin();
    vp_array base = vp_let(vp_arange(t, 0, SIZE, 1));
    for (int negative = 0; negative < 2; negative++) {
        for (int64_t i = 0; i < n; i++) list[i] = i * i % SIZE;
        if (negative) list[n / 2] -= SIZE;
        vp_array where = vp_let(vp_from(VP_I64, vp_shape(n), list));
        vp_array taken = vp_let(vp_cast(vp_take(base, where, 0), VP_F64));
        VP_CHECK_EQ((int)vp_read(taken, got, (size_t)n * sizeof *got), (int)VP_OK);
        for (int64_t i = 0; i < n; i++) VP_CHECK_EQ((int)got[i], (int)(i * i % SIZE));
        vp_array back = vp_let(vp_flip(base, 0));
        vp_array turned = vp_let(vp_cast(vp_take(back, where, 0), VP_F64));
        VP_CHECK_EQ((int)vp_read(turned, got, (size_t)n * sizeof *got), (int)VP_OK);
        for (int64_t i = 0; i < n; i++)
            VP_CHECK_EQ((int)got[i], SIZE - 1 - (int)(i * i % SIZE));
    }
    for (int end = 0; end < 4; end++) {
        for (int64_t i = 0; i < n; i++) list[i] = i % SIZE;
        list[end & 1 ? n - 1 : 0] = end & 2 ? SIZE : -SIZE - 1;
        vp_array where = vp_let(vp_from(VP_I64, vp_shape(n), list));
        VP_CHECK_ERROR(vp_wait(vp_take(base, where, 0)), VP_ERR_INDEX,
                       end & 2 ? "take: index 50" : "take: index -51");
    }
    vp_end(s);
    free(list);
    free(got);
}

VP_TEST(take_of_long_lists) {
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32, VP_I16};
    static const int64_t length[] = {1, 7, 63, 64, 65, 130, 1000, 300000};
    for (int i = 0; i < 4; i++)
        for (int l = 0; l < 8; l++) take_long(types[i], length[l]);
}

VP_TEST(find_and_nonzero) {
    static const double values[] = {0, 3, 0, -1, 0, 5};
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(2, 3), values));
    VP_CHECK_VALUES(vp_find(a), 1, 3, 5);
    VP_CHECK_VALUES(vp_nonzero(a), 0, 1, 1, 0, 1, 2);
    VP_CHECK_SHAPE(vp_nonzero(a), 3, 2);
    VP_CHECK_VALUES(vp_find(vp_transpose(a)), 1, 2, 5);
    VP_CHECK_VALUES(vp_find(vp_gt(a, 2.0)), 1, 5);
    VP_CHECK_TYPE(vp_find(a), VP_I64);
    VP_CHECK_SHAPE(vp_find(vp_mul(a, 0.0)), 0);
}

/* --- writing ------------------------------------------------------------------------ */

VP_TEST(writing_by_integers_and_ranges) {
    vp_array a = vp_let(vp_zeros(VP_I64, vp_shape(3, 4)));
    vp_put(a, vp_at(0), 1);
    vp_put(a, vp_at(VP_ALL, -1), 2);
    vp_put(a, vp_at(2, vp_every(2)), pair(7, 8));
    VP_CHECK_VALUES(a, 1, 1, 1, 2, 0, 0, 0, 2, 7, 0, 8, 2);
    vp_put(a, vp_at(vp_every(-1), 0), vp_arange(VP_I64, 0, 3, 1));
    VP_CHECK_VALUES(vp_get(a, VP_ALL, 0), 2, 1, 0);
    vp_put(a, vp_at(VP_ELLIPSIS), 5);
    vp_put(a, vp_at(vp_range(1, 1)), 9);
    VP_CHECK_VALUES(vp_sum(a), 60);
    /* Broadcast values, and leading axes of length 1. */
    vp_put(a, vp_at(vp_range(0, 2), vp_range(0, 2)), pair(1, 2));
    VP_CHECK_VALUES(a, 1, 2, 5, 5, 1, 2, 5, 5, 5, 5, 5, 5);
    vp_put(a, vp_at(0), vp_ones(VP_I64, vp_shape(1, 1, 4)));
    VP_CHECK_VALUES(vp_get(a, 0), 1, 1, 1, 1);
    vp_put(a, vp_at(VP_NEWAXIS, 2), vp_zeros(VP_I64, vp_shape(1, 4)));
    VP_CHECK_VALUES(vp_get(a, 2), 0, 0, 0, 0);
}

VP_TEST(writing_by_index_arrays_and_masks) {
    vp_array a = vp_let(vp_zeros(VP_I64, vp_shape(2, 3))), i = pair(0, 1), j = pair(2, 0);
    vp_put(a, vp_at(i, j), pair(5, 6));
    VP_CHECK_VALUES(a, 0, 0, 5, 6, 0, 0);
    vp_put(a, vp_at(VP_ALL, j), 1);
    VP_CHECK_VALUES(a, 1, 0, 1, 1, 0, 1);
    vp_put(a, vp_at(VP_ALL, j), vp_reshape(vp_arange(VP_I64, 0, 4, 1), vp_shape(2, 2)));
    VP_CHECK_VALUES(a, 1, 0, 0, 3, 0, 2);
    vp_put(a, vp_at(vp_eq(a, 0)), -1);
    VP_CHECK_VALUES(a, 1, -1, -1, 3, -1, 2);
    vp_put(a, vp_at(vp_lt(a, 0)), vp_arange(VP_I64, 7, 10, 1));
    VP_CHECK_VALUES(a, 1, 7, 8, 3, 9, 2);
    static const bool choose[] = {true, false, true};
    vp_put(a, vp_at(1, mask(3, choose)), 0);
    VP_CHECK_VALUES(a, 1, 7, 8, 0, 9, 0);
    vp_put(a, vp_at(vp_gt(a, 100)), 5); /* nothing chosen */
    VP_CHECK_VALUES(a, 1, 7, 8, 0, 9, 0);
    /* The same place twice: the last value stays. */
    vp_array v = vp__test_counting(4), twice = pair(2, 2);
    vp_put(v, vp_at(twice), pair(10, 20));
    VP_CHECK_VALUES(v, 0, 1, 20, 3);
    /* Apart: the value's axes follow NumPy's rule for the selection's. */
    vp_array b = cube();
    vp_put(b, vp_at(i, VP_ALL, j),
           vp_reshape(vp_arange(VP_I64, 100, 106, 1), vp_shape(2, 3)));
    VP_CHECK_VALUES(b, 0, 1, 100, 3, 4, 5, 101, 7, 8, 9, 102, 11, 103, 13, 14, 15, 104,
                    17, 18, 19, 105, 21, 22, 23);
    /* Leading axes of one are of no account, as in NumPy. */
    vp_array c = vp__test_counting(4);
    vp_array at = vp_let(vp_arange(VP_I64, 3, 1, -1));
    vp_put(c, vp_at(at), vp_reshape(vp_arange(VP_F64, 7, 9, 1), vp_shape(1, 1, 2)));
    VP_CHECK_VALUES(c, 0, 1, 8, 7);
}

VP_TEST(writing_what_does_not_fit) {
    vp_scope outer = vp_begin();
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(3, 4)));
    int64_t base = vp__test_bytes_now();
    vp_put(a, vp_at(0), vp__test_counting(3));
    VP_CHECK_REPORTED(
        VP_ERR_SHAPE,
        "put: a value of shape (3,) does not fit a selection of shape (4,)");
    vp_set(a, vp_zeros(VP_F64, vp_shape(3, 4)));
    vp_put(a, vp_at(VP_ALL, 0), vp_ones(VP_F64, vp_shape(2, 3)));
    VP_CHECK_REPORTED(VP_ERR_SHAPE, "(2, 3)");
    vp_set(a, vp_zeros(VP_F64, vp_shape(3, 4)));
    vp_put(a, vp_at(3), 1.0);
    VP_CHECK_REPORTED(VP_ERR_INDEX, "index 3 is out of bounds");
    vp_set(a, vp_zeros(VP_F64, vp_shape(3, 4)));
    vp_put(a, vp_at(0, 0, 0), 1.0);
    VP_CHECK_REPORTED(VP_ERR_INDEX, "3 indices");
    vp_set(a, vp_zeros(VP_F64, vp_shape(3, 4)));
    VP_CHECK_VALUES(vp_sum(a), 0);
    vp_scope s = vp_begin();
    vp_end(s);
    VP_CHECK_LE(vp__test_bytes_now(), base + 1024);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}
