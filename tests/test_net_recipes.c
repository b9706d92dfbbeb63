/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that issue one form over and over find its recipe again, and only its: whatever a
 * form differs in, a constant, a size, a stride of an operand or of the target, the result is
 * that of the loop as it is written. Elements are whole numbers, so sums are exact.
 */
#include "issue/recipe.h"
#include "net/tuning.h"
#include "tests/net_support.h"

enum { N = 90, SIDE = 12 };

/* Both ways: on the caller, and as nodes on two cores. */
static void as_nodes(bool nodes) { vp__tuning.inline_ns = nodes ? 0 : 2000; }

static double sum_of_row(int64_t row) {
    return (double)SIDE * (double)(2 * row * SIDE + SIDE - 1) / 2;
}

VP_TEST(other_views_of_the_same_arrays) {
    vp__test_threads(2);
    vp_array a = vp_let(vp_reshape(vp__test_counting(SIDE * SIDE), vp_shape(SIDE, SIDE)));
    for (int nodes = 0; nodes < 2; nodes++) {
        as_nodes(nodes);
        vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(SIDE)));
        for (int64_t turn = 0; turn < 20; turn++)
            for (int64_t i = 0; i < SIDE; i++)
                vp_put(r, vp_at(i), vp_sum(vp_add(vp_get(a, i), (double)0)));
        for (int64_t i = 0; i < SIDE; i++) VP_CHECK_VALUES(vp_get(r, i), sum_of_row(i));
        vp_drop(r);
    }
}

VP_TEST(constants_change) {
    vp__test_threads(2);
    vp_array a = vp_let(vp_reshape(vp__test_counting(SIDE * SIDE), vp_shape(SIDE, SIDE)));
    for (int nodes = 0; nodes < 2; nodes++) {
        as_nodes(nodes);
        vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(N)));
        for (int64_t i = 0; i < N; i++) {
            const int64_t constant = i / 2;
            vp_put(r, vp_at(i), vp_sum(vp_add(vp_get(a, 0), (double)constant)));
        }
        for (int64_t i = 0; i < N; i++) {
            const int64_t constant = i / 2;
            VP_CHECK_VALUES(vp_get(r, i), sum_of_row(0) + SIDE * (double)constant);
        }
        vp_drop(r);
    }
}

VP_TEST(sizes_and_strides_change) {
    vp__test_threads(2);
    vp_array a = vp__test_counting(4 * N);
    for (int nodes = 0; nodes < 2; nodes++) {
        as_nodes(nodes);
        vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(N)));
        double expected[N];
        for (int64_t i = 0; i < N; i++) {
            const int64_t step = i % 3 + 1, count = i / 3 % 5 + 1;
            vp_put(
                r, vp_at(i),
                vp_sum(vp_mul(vp_get(a, vp_range_step(i, i + step * count, step)), 2.0)));
            expected[i] = 0;
            for (int64_t k = 0; k < count; k++) expected[i] += 2 * (double)(i + k * step);
        }
        for (int64_t i = 0; i < N; i++) VP_CHECK_VALUES(vp_get(r, i), expected[i]);
        vp_drop(r);
    }
}

/* The target lies in rows, in columns and with gaps; the value's own layout stays the same. */
VP_TEST(targets_change) {
    vp__test_threads(2);
    vp_array a = vp_let(vp_reshape(vp__test_counting(3 * SIDE), vp_shape(3, SIDE)));
    for (int nodes = 0; nodes < 2; nodes++) {
        as_nodes(nodes);
        vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(2 * SIDE, 2 * SIDE)));
        for (int turn = 0; turn < 12; turn++) {
            vp_put(r, vp_at(1, vp_until(SIDE)), vp_sum(vp_mul(a, 1.0), 0));
            vp_put(r, vp_at(vp_range(2, SIDE + 2), 0), vp_sum(vp_mul(a, 1.0), 0));
            vp_put(r, vp_at(0, vp_every(2)), vp_sum(vp_mul(a, 1.0), 0));
        }
        for (int64_t i = 0; i < SIDE; i++) {
            const double sum = 3 * (double)(SIDE + i);
            VP_CHECK_VALUES(vp_get(r, 1, i), sum);
            VP_CHECK_VALUES(vp_get(r, i + 2, 0), sum);
            VP_CHECK_VALUES(vp_get(r, 0, 2 * i), sum);
        }
        vp_drop(r);
    }
}

/* One line of code: what a row's elements cost is computed with the rows when there is one,
 * and once for all of them when there are many. That is two cuts, of one kernel and of two,
 * and every row has the same bits. */
VP_TEST(one_form_is_cut_by_its_shapes) {
    enum { ROWS = 200, COLUMNS = 257 };
    static double one[COLUMNS], many[ROWS][COLUMNS];
    vp__test_threads(1); /* each kernel is one piece */
    vp_array x = vp_let(vp_mul(vp__test_counting(COLUMNS), 0.37));
    vp_array y =
        vp_let(vp_mul(vp_reshape(vp__test_counting(COLUMNS), vp_shape(1, COLUMNS)), 1.1));
    vp_array wide = vp_let(vp_add(vp_zeros(VP_F64, vp_shape(ROWS, COLUMNS)), y));
    for (int nodes = 0; nodes < 2; nodes++) {
        as_nodes(nodes);
        VP_CHECK_OK(vp_sync());
        uint64_t kernels[3] = {VP_STAT(kernels)};
        VP_CHECK_OK(vp_read(vp_add(vp_exp(vp_sin(x)), y), one, sizeof one));
        kernels[1] = VP_STAT(kernels);
        VP_CHECK_OK(vp_read(vp_add(vp_exp(vp_sin(x)), wide), many, sizeof many));
        kernels[2] = VP_STAT(kernels);
        VP_CHECK_EQ(kernels[1] - kernels[0], 1);
        VP_CHECK_EQ(kernels[2] - kernels[1], 2);
        for (int i = 0; i < ROWS; i++) VP_CHECK_BYTES(many[i], one, sizeof one);
    }
}

/* What cores keep is little, and is not counted as memory of arrays. */
VP_TEST(kept_recipes_are_few) {
    vp_array a = vp__test_counting(4 * N);
    int64_t base = -1;
    for (int64_t i = 0; i < 2000; i++) {
        vp_scope s = vp_begin();
        vp_array r =
            vp_let(vp_sum(vp_mul(vp_get(a, vp_range(0, i % 300 + 1)), (double)i)));
        VP_CHECK_OK(vp_wait(r));
        vp_end(s);
        if (i == 10) base = vp__test_bytes_now();
    }
    VP_CHECK_NO_LEAK(base);
    VP_CHECK_LT(vp__recipe_bytes(), VP__ISSUER_RECIPES * 16384);
}

/* A recipe that finds no memory is an error of its instruction, and nothing else. */
VP_TEST(without_memory) {
    vp_array a = vp_let(vp_reshape(vp__test_counting(SIDE * SIDE), vp_shape(SIDE, SIDE)));
    VP_CHECK_OK(vp_sync());
    for (int64_t after = 0; after < 12; after++) {
        vp_scope s = vp_begin();
        vp__pool_fail_after = after;
        vp_array r = vp_let(vp_sum(vp_mul(a, (double)after), 0));
        vp_status status = vp_wait(r);
        vp__pool_fail_after = -1;
        const int64_t total = after * SIDE * SIDE * (SIDE - 1) / 2;
        if (status == VP_OK)
            VP_CHECK_VALUES(vp_get(r, 0), (double)total);
        else
            VP_CHECK_EQ(status, VP_ERR_MEMORY);
        vp_clear_error();
        vp_end(s);
    }
}
