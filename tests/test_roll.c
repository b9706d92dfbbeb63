/* SPDX-License-Identifier: Apache-2.0
 *
 * Rolled operands: they are read where they are, and what comes out is what copies would give.
 */
#include <stdlib.h>

#include "tests/net_support.h"

/* The same by joining slices. */
static vp_expr moved(vp_array a, int64_t shift, int axis) {
    const int64_t n = vp_dim(a, axis);
    shift = ((shift % n) + n) % n;
    vp_sel back[2] = {VP_ALL, VP_ALL}, front[2] = {VP_ALL, VP_ALL};
    back[axis] = vp_from_index(n - shift);
    front[axis] = vp_until(n - shift);
    const int ndim = vp_ndim(a);
    return vp_concatenate(axis, vp_get_at(a, vp_index_of(ndim, back)),
                          vp_get_at(a, vp_index_of(ndim, front)));
}

/* Whether two values have the same bits. */
static bool same(vp_expr x, vp_expr y) {
    vp_array a = vp_let(x), b = vp_let(y);
    const size_t bytes = (size_t)vp_size(a) * vp_dtype_size(vp_dtype_of(a));
    void *p = malloc(bytes), *q = malloc(bytes);
    const bool equal = vp_size(a) == vp_size(b) && vp_read(a, p, bytes) == VP_OK &&
                       vp_read(b, q, bytes) == VP_OK && memcmp(p, q, bytes) == 0;
    free(p);
    free(q);
    return equal;
}

static vp_array grid(int64_t rows, int64_t columns) {
    return vp_let(vp_sin(vp_counter(VP_F64, vp_shape(rows, columns), 0, 1)));
}

static void one_axis(void) {
    vp_array a = vp__test_counting(5);
    VP_CHECK_VALUES(vp_roll(a, 1, 0), 4, 0, 1, 2, 3);
    VP_CHECK_VALUES(vp_roll(a, -2, -1), 2, 3, 4, 0, 1);
    VP_CHECK_VALUES(vp_roll(a, 12, 0), 3, 4, 0, 1, 2);
    VP_CHECK_VALUES(vp_roll(a, -5, 0), 0, 1, 2, 3, 4);
    VP_CHECK_VALUES(vp_roll(vp_roll(a, 2, 0), 2, 0), 1, 2, 3, 4, 0);
    VP_CHECK_VALUES(vp_roll(vp_roll(a, 2, 0), -2, 0), 0, 1, 2, 3, 4);
    VP_CHECK_VALUES(vp_roll(a, INT64_MIN, 0), 3, 4, 0, 1, 2);
    VP_CHECK_VALUES(vp_roll(vp_get(a, vp_every(-2)), 1, 0), 0, 4, 2);
    VP_CHECK_VALUES(vp_roll(vp_get(a, vp_range(1, 2)), 3, 0), 1);
    VP_CHECK_VALUES(vp_get(vp_roll(a, 1, 0), vp_until(2)), 4, 0);
    VP_CHECK_VALUES(vp_flip(vp_roll(vp_mul(a, 2.0), 1, 0), 0), 6, 4, 2, 0, 8);
    VP_CHECK_VALUES(vp_cast(vp_roll(a, 1, 0), VP_I8), 4, 0, 1, 2, 3);
    VP_CHECK_TYPE(vp_roll(vp_cast(a, VP_U8), 1, 0), VP_U8);
    VP_CHECK_SHAPE(vp_roll(vp_zeros(VP_F64, vp_shape(0, 3)), 1, 1), 0, 3);
    VP_CHECK_SHAPE(vp_mul(vp_roll(vp_reshape(a, vp_shape(5, 1)), 1, 0),
                          vp_zeros(VP_F64, vp_shape(1, 0))),
                   5, 0);
}

VP_TEST(roll_moves_elements_around_an_axis) {
    vp_scope s = vp_begin();
    one_axis();
    vp_end(s);
}

VP_TEST(roll_refuses_axes_that_are_not_there) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(5);
    VP_CHECK_ERROR(vp_wait(vp_roll(a, 1, 1)), VP_ERR_INDEX,
                   "roll: axis 1 is out of bounds for an array of 1 axes");
    VP_CHECK_ERROR(vp_wait(vp_roll(2.5, 1, 0)), VP_ERR_INDEX, "roll: axis 0");
    VP_CHECK_ERROR(vp_wait(vp_view(vp_roll(a, 0, 0))), VP_ERR_VALUE, "computed value");
    VP_CHECK_ERROR(
        vp_wait(vp_add(vp_roll(vp_div(a, vp_zeros(VP_F64, vp_shape(3))), 1, 0), 1.0)),
        VP_ERR_SHAPE, "divide");
    vp_end(s);
}

/* Several axes and shifts in one segment, beside what is broadcast and what is reduced. */
static void segments(int64_t rows, int64_t columns) {
    vp_scope s = vp_begin();
    vp_array a = grid(rows, columns), b = vp_let(vp_cos(a));
    VP_CHECK(same(vp_add(vp_roll(a, 1, 0), vp_roll(a, -1, 0)),
                  vp_add(moved(a, 1, 0), moved(a, -1, 0))));
    VP_CHECK(same(
        vp_mul(vp_exp(vp_roll(a, 2, 1)), vp_sub(b, vp_roll(vp_roll(b, -3, 1), 1, 0))),
        vp_mul(vp_exp(moved(a, 2, 1)), vp_sub(b, moved(vp_let(moved(b, -3, 1)), 1, 0)))));
    vp_array row = vp_let(vp_get(b, 0)), mean = vp_let(vp_mean(a, 1));
    VP_CHECK(same(vp_div(vp_sub(vp_roll(a, 1, 1), vp_expand(vp_mean(a, 1), 1)),
                         vp_add(vp_roll(row, -1, 0), 7.0)),
                  vp_div(vp_sub(moved(a, 1, 1), vp_expand(mean, 1)),
                         vp_add(moved(row, -1, 0), 7.0))));
    VP_CHECK(same(vp_sum(vp_mul(a, vp_roll(a, 1, 0)), 0),
                  vp_sum(vp_mul(a, moved(a, 1, 0)), 0)));
    VP_CHECK(same(vp_std(vp_roll(a, 1, 0), 1), vp_std(moved(a, 1, 0), 1)));
    VP_CHECK(same(vp_cumsum(vp_roll(a, 3, 1), 1), vp_cumsum(moved(a, 3, 1), 1)));
    vp_end(s);
}

VP_TEST(rolled_operands_give_what_copies_give) {
    segments(4, 5);
    segments(130, 70);
    segments(1200, 900);
}

/* More boxes than a segment is cut into, and more axes than are rolled without a copy. */
VP_TEST(many_rolls_meet) {
    vp_scope s = vp_begin();
    vp_array a = grid(40, 50);
    vp_expr x = vp_add(a, 0.0), y = vp_add(a, 0.0);
    for (int i = 1; i < 10; i++) {
        x = vp_add(x, vp_roll(vp_roll(a, i, 0), 2 * i, 1));
        y = vp_add(y, moved(vp_let(moved(a, i, 0)), 2 * i, 1));
    }
    VP_CHECK(same(x, y));
    vp_array c = vp_let(vp_counter(VP_I64, vp_shape(2, 3, 2, 3, 2, 3), 0, 1));
    vp_expr all = vp_roll(c, 1, 0);
    for (int i = 1; i < 6; i++) all = vp_roll(all, 1, i);
    vp_array r = vp_let(all);
    VP_CHECK_VALUES(vp_get(r, 0, 0, 0, 0, 0, 0), 215);
    VP_CHECK_VALUES(vp_get(r, 1, 1, 1, 1, 1, VP_ALL), 2, 0, 1);
    VP_CHECK_VALUES(vp_get(r, 0, 2, 1, 0, 1, VP_ALL), 158, 156, 157);
    vp_end(s);
}

/* Into arrays: others, the very one that is rolled, parts of it, and memory of the user's. */
VP_TEST(rolled_values_are_put) {
    vp_scope s = vp_begin();
    vp_array a = grid(70, 60), b = vp_let(a),
             c = vp_let(vp_zeros(VP_F64, vp_shape(70, 60)));
    vp_put(c, vp_at(VP_ALL), vp_sub(vp_roll(a, 1, 0), vp_roll(a, 1, 1)));
    VP_CHECK(same(vp_positive(c), vp_sub(moved(b, 1, 0), moved(b, 1, 1))));
    vp_put(a, vp_at(VP_ALL), vp_add(vp_roll(a, 1, 0), vp_roll(a, -1, 0)));
    VP_CHECK(same(vp_positive(a), vp_add(moved(b, 1, 0), moved(b, -1, 0))));
    vp_put(a, vp_at(vp_range(2, 7)), vp_roll(vp_get(a, vp_range(1, 6)), 2, 0));
    vp_array d = vp_let(vp_add(moved(b, 1, 0), moved(b, -1, 0)));
    VP_CHECK(
        same(vp_get(a, vp_range(2, 7)), moved(vp_let(vp_get(d, vp_range(1, 6))), 2, 0)));
    VP_CHECK(same(vp_get(a, vp_from_index(7)), vp_get(d, vp_from_index(7))));
    vp_put(a, vp_at(VP_ALL), vp_roll(vp_get(b, 3), 4, 0)); /* every row */
    VP_CHECK(same(vp_get(a, 69), moved(vp_let(vp_get(b, 3)), 4, 0)));
    double own[6] = {0, 1, 2, 3, 4, 5};
    vp_array e = vp_borrow(VP_F64, vp_shape(6), NULL, own, VP_WRITABLE, NULL, NULL);
    vp_put(e, vp_at(VP_ALL), vp_add(vp_roll(e, 1, 0), e));
    VP_CHECK_OK(vp_sync());
    VP_CHECK(own[0] == 5 && own[1] == 1 && own[5] == 9);
    vp_end(s);
}

/* What is rolled is what was there when it was rolled. */
VP_TEST(later_writes_do_not_show_in_a_roll) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(4);
    vp_expr rolled = vp_roll(a, 1, 0), sum = vp_add(vp_roll(a, 1, 0), a);
    vp_put(a, vp_at(0), 100.0);
    VP_CHECK_VALUES(rolled, 3, 0, 1, 2);
    VP_CHECK_VALUES(sum, 3, 1, 3, 5);
    vp_end(s);
}

/* Late sizes: of what is rolled, and of what is beside it. */
VP_TEST(rolls_meet_late_sizes) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(4);
    vp_array late = vp_let(vp_get(a, vp_greater_equal(a, 1.0)));
    VP_CHECK_VALUES(vp_roll(late, 1, 0), 3, 1, 2);
    vp_array three = vp__test_counting(3);
    VP_CHECK_VALUES(vp_add(vp_roll(three, 1, 0), vp_get(a, vp_find(vp_less(a, 3.0)))), 2,
                    1, 3);
    vp_end(s);
}

/* A loop that would be replayed, with other shifts every time. */
VP_TEST(rolls_in_loops) {
    vp_scope s = vp_begin();
    vp_array u = vp__test_counting(64), v = vp_let(u);
    double plain[64], next[64];
    for (int i = 0; i < 64; i++) plain[i] = i;
    for (int k = 0; k < 200; k++) {
        const int shift = 1 + k % 3;
        vp_put(v, vp_at(VP_ALL),
               vp_mul(vp_add(vp_roll(u, shift, 0), vp_roll(u, -1, 0)), 0.5));
        vp_put(u, vp_at(VP_ALL), vp_positive(v));
        for (int i = 0; i < 64; i++)
            next[i] = (plain[(i + 64 - shift) % 64] + plain[(i + 1) % 64]) * 0.5;
        memcpy(plain, next, sizeof plain);
    }
    VP_CHECK_ARRAY(u, plain, 64);
    vp_end(s);
}

VP_TEST(rolls_leave_nothing_behind) {
    const int64_t base = vp__test_bytes_now();
    const int open = vp__test_open_expressions();
    vp_scope s = vp_begin();
    vp_array a = grid(20, 20);
    for (int i = 0; i < 50; i++) {
        vp_set(a, vp_mul(vp_add(vp_roll(a, 1, 0), vp_roll(a, 1, 1)), 0.5));
        vp_put(a, vp_at(VP_ALL), vp_sub(a, vp_roll(a, i, 1)));
        vp_roll(vp_roll(a, 1, 0), 2, 1); /* is not used */
    }
    VP_CHECK_OK(vp_wait(a));
    vp_end(s);
    VP_CHECK_EQ(vp__test_open_expressions(), open);
    VP_CHECK_NO_LEAK(base);
}
