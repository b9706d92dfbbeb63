/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops with numbers that are others in each iteration: one recipe serves them all, bundles
 * gather them, and they are replayed. Expected values are computed here, with the same few
 * operations on doubles or floats.
 */
#include <math.h>

#include "net/tuning.h"
#include "tests/track_support.h"

/* A float, an integer that is a float there, and one that stays the same. */
VP_TEST(loops_with_numbers_are_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i),
                   vp_sum(vp_add(vp_mul(vp_add(vp_get(m, i), 0.5 * (double)i), i), 1)));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        expected[i] = (sum_of(i) + 0.5 * (double)(i * COLUMNS)) * (double)i + COLUMNS;
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 2 * ROWS);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* As what the array is of, with its rounding. */
VP_TEST(numbers_have_the_precision_of_the_array) {
    vp__test_threads(2);
    vp_array x = vp_let(vp_ones(VP_F32, vp_shape(COLUMNS))), r = zeros_of(VP_F32, ROWS);
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i), vp_max(vp_mul(x, 0.1 * (double)i)));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = (double)(float)(0.1 * (double)i);
    VP_CHECK_ARRAY(vp_let(vp_cast(r, VP_F64)), expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), ROWS);
}

/* Complex numbers have two words. */
VP_TEST(numbers_for_complex_arrays) {
    vp__test_threads(2);
    vp_array x = vp_let(vp_ones(VP_C128, vp_shape(COLUMNS))), r = zeros_of(VP_F64, ROWS);
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i), vp_sum(vp_abs(vp_mul(x, (double)(i - 3)))));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = COLUMNS * fabs((double)(i - 3));
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), ROWS);
}

/* Where integers meet they have rules of their own: such loops gather, and are not followed. */
VP_TEST(numbers_among_integers) {
    vp__test_threads(2);
    vp_array x = vp_let(vp_arange(VP_I8, 0, COLUMNS, 1)), r = zeros_of(VP_I64, ROWS);
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) /* 127 is the last number that int8 has */
            vp_put(r, vp_at(i), vp_sum(vp_lt(x, i)));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = (double)(i < COLUMNS ? i : COLUMNS);
    VP_CHECK_ARRAY(vp_let(vp_cast(r, VP_F64)), expected, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), 0);

    vp_array m = matrix(), q = zeros_of(VP_I64, ROWS);
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(q, vp_at(i), vp_sum(vp_lt(vp_get(m, i), i * COLUMNS + 5)));
    for (int64_t i = 0; i < ROWS; i++) expected[i] = 5;
    VP_CHECK_ARRAY(vp_let(vp_cast(q, VP_F64)), expected, ROWS);

    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(q, vp_at(i), vp_sum(vp_logical_and(vp_get(m, 1), i % 3 - 1)));
    for (int64_t i = 0; i < ROWS; i++) expected[i] = i % 3 == 1 ? 0 : COLUMNS;
    VP_CHECK_ARRAY(vp_let(vp_cast(q, VP_F64)), expected, ROWS);
}

/* Of a number that meets truth values only its truth counts, however small it is. */
VP_TEST(numbers_of_which_the_truth_counts) {
    vp__test_threads(2);
    vp_array m = vp_let(vp_zeros(VP_F32, vp_shape(ROWS, COLUMNS)));
    vp_array r = zeros_of(VP_BOOL, ROWS);
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            const double number = turn < 2 ? (double)(i & 1) : 1e-60;
            vp_put(r, vp_at(i), vp_any(vp_logical_or(vp_get(m, i), number)));
        }
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = 1;
    VP_CHECK_ARRAY(vp_let(vp_cast(r, VP_F64)), expected, ROWS);
}

static void scale_row(vp_array to, vp_array from, int64_t i) {
    vp_put(to, vp_at(i), vp_sum(vp_mul(vp_get(from, i), (double)i)));
}

static vp_expr scaled_row(vp_array from, int64_t i, double by) {
    return vp__op2(VP__MULTIPLY, "mul", VP__IN(vp__get("get", VP__IN(from), vp_at(i))),
                   vp__in_float(by));
}

/* The number that was noted last is the one that is built. */
VP_TEST(noted_numbers_are_built) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    vp_expr open = {0, 0};
    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            vp_expr x = scaled_row(m, i, (double)i + 1);
            if (turn && i == ROWS / 2)
                open = x;
            else
                vp_put(r, vp_at(i), vp_sum(x));
        }
    const int64_t half = ROWS / 2;
    VP_CHECK_VALUES(vp_sum(open), sum_of(half) * (double)(half + 1));
    VP_CHECK_GE(VP_STAT(replayed), ROWS);
}

/* A loop that begins with one number and goes on with others, and one that stops changing. */
VP_TEST(numbers_that_change_late) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i),
                   vp_sum(vp_mul(vp_get(m, i), turn % 2 ? (double)(turn + i) : 3.0)));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i) * (double)(3 + i);
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 2 * ROWS);
}

/* The number of an iteration that was gathered stays its own while the next one is noted, also
 * where iterations are not at even distances and run one by one. */
VP_TEST(numbers_of_iterations_out_of_line) {
    vp__test_threads(1);
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    for (int64_t k = 0; k < 3 * ROWS; k++) scale_row(r, m, k * 7 % 11 * 17);
    double expected[ROWS] = {0};
    for (int64_t i = 0; i < 11; i++) expected[i * 17] = sum_of(i * 17) * (double)(i * 17);
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GT(VP_STAT(replayed), 0);
}

/* What is worth a node has the number in its recipe. */
VP_TEST(nodes_with_numbers) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.bundle_ns = 0;
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    for (int64_t i = 0; i < ROWS; i++) scale_row(r, m, i);
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i) * (double)i;
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_EQ(VP_STAT(bundled), 0);
    VP_CHECK_GE(VP_STAT(issued), ROWS);
}

/* More numbers than a track has room for are gathered; a body full of leaves keeps its own. */
VP_TEST(many_numbers) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            const double x = (double)i;
            vp_expr v = vp_add(vp_add(vp_get(m, i), x), x + 1);
            v = vp_add(vp_add(vp_add(v, x + 2), x + 3), x + 4);
            vp_put(r, vp_at(i), vp_min(vp_add(v, x + 5)));
        }
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        expected[i] = (double)(i * COLUMNS) + 6 * (double)i + 15;
    VP_CHECK_ARRAY(r, expected, ROWS);
    vp_array never = vp_let(vp_zeros(VP_BOOL, vp_shape(COLUMNS)));
    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            vp_expr v = vp_get(m, i);
            for (int k = 0; k < 15; k++) v = vp_where(never, (double)(i + k), v);
            vp_put(r, vp_at(i), vp_min(v));
        }
    for (int64_t i = 0; i < ROWS; i++) expected[i] = (double)(i * COLUMNS);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

/* One recipe for them all: its memory is not made anew. */
VP_TEST(a_number_that_changes_makes_one_recipe_more) {
    vp__test_threads(1);
    vp__tuning.bundle_after = 1 << 30;
    vp_array m = matrix(), r = zeros_of(VP_F64, ROWS);
    scale_row(r, m, 0);
    scale_row(r, m, 1);
    vp__recipe *const *slot = vp__core_self()->issuer->recipe;
    const vp__recipe *made = NULL;
    for (int k = 0; k < VP__ISSUER_RECIPES; k++)
        if (slot[k] && slot[k]->given) made = slot[k];
    VP_CHECK(made != NULL);
    const int uses = made->uses;
    for (int64_t i = 2; i < 20; i++) scale_row(r, m, i);
    VP_CHECK_EQ(made->uses, uses + 18);
    VP_CHECK_VALUES(vp_get(r, 19), sum_of(19) * 19);
}
