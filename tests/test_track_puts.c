/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose bodies have several puts: each gathers in a bundle of its own, and the iteration
 * is replayed as one; unless one of them writes what another reads or writes.
 */
#include <string.h>

#include "net/open.h"
#include "tests/track_support.h"

static vp_array zeros(void) { return zeros_of(VP_F64, ROWS); }

static void check_sums(vp_array r) {
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

static void check_least(vp_array r) {
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = element(i, 0);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

static void put_sum(vp_array to, vp_array from, int64_t i) {
    vp_put(to, vp_at(i), vp_sum(vp_abs(vp_get(from, i))));
}

static void put_least(vp_array to, vp_array from, int64_t i) {
    vp_put(to, vp_at(i), vp_min(vp_get(from, i)));
}

static bool is_followed(void) { return vp__track_mine && vp__track_mine->at; }

VP_TEST(two_puts_are_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            put_sum(r, m, i);
            put_least(q, m, i);
        }
    check_sums(r);
    check_least(q);
    VP_CHECK_GE(VP_STAT(replayed), 6 * ROWS);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* The same line writes several arrays in turn. */
VP_TEST(one_line_for_two_arrays_is_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            put_sum(r, m, i);
            put_sum(q, m, ROWS - 1 - i);
        }
    check_sums(r);
    check_sums(q);
    VP_CHECK_GE(VP_STAT(replayed), 6 * ROWS);
    VP_CHECK_LE(VP_STAT(issued), ROWS);
}

/* Four have slots for their bundles; more are issued the long way, and are right. */
VP_TEST(many_puts) {
    enum { MOST = 6 };
    vp__test_threads(2);
    vp_array m = matrix(), r[MOST];
    for (int n = 3; n <= MOST; n++) {
        for (int k = 0; k < n; k++) r[k] = zeros();
        const uint64_t before = VP_STAT(replayed);
        for (int turn = 0; turn < 3; turn++)
            for (int64_t i = 0; i < ROWS; i++)
                for (int k = 0; k < n; k++) {
                    if (k % 2)
                        put_least(r[k], m, i);
                    else
                        put_sum(r[k], m, i);
                }
        for (int k = 0; k < n; k++) {
            if (k % 2)
                check_least(r[k]);
            else
                check_sums(r[k]);
            vp_drop(r[k]);
        }
        if (n <= VP__TRACK_PUTS) VP_CHECK_GE(VP_STAT(replayed) - before, n * ROWS);
    }
}

/* Two lines that put values of one form into one array are gathered together, also when the
 * array gets other storage because somebody has a copy of it. */
VP_TEST(two_lines_for_one_array) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros();
    for (int turn = 0; turn < 6; turn++) {
        vp_array copy = vp_let(r);
        for (int64_t i = 0; i < ROWS; i += 2) {
            vp_put(r, vp_at(i), vp_sum(vp_get(m, i)));
            vp_put(r, vp_at(i + 1), vp_sum(vp_get(m, i + 1)));
        }
        vp_drop(copy);
    }
    check_sums(r);
    VP_CHECK_GE(VP_STAT(bundled), 4 * ROWS);
    VP_CHECK_LE(VP_STAT(issued), ROWS);
}

/* Recipes are found by a few facts of their form: bodies that have these in common, too. */
VP_TEST(puts_that_differ_in_little) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros(), p = zeros();
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            vp_put(r, vp_at(i), vp_sum(vp_get(m, i)));
            vp_put(p, vp_at(i), vp_max(vp_get(m, i)));
            vp_put(q, vp_at(i), vp_min(vp_get(m, i)));
        }
    check_sums(r);
    check_least(q);
    VP_CHECK_VALUES(vp_get(p, vp_until(2)), element(0, COLUMNS - 1),
                    element(1, COLUMNS - 1));
    VP_CHECK_GE(VP_STAT(replayed), 6 * ROWS);
}

/* One put reads what the other will have written by then, a few iterations later. */
VP_TEST(a_put_that_reads_what_another_wrote) {
    vp__test_threads(2);
    vp_array m = matrix(), n = matrix(), r = zeros();
    for (int64_t i = 0; i + 3 < ROWS; i++) {
        put_sum(r, m, i);
        vp_put(m, vp_at(i + 3), vp_sum(vp_get(n, i)));
    }
    double expected[ROWS] = {0};
    for (int64_t i = 0; i + 3 < ROWS; i++)
        expected[i] = i < 3 ? sum_of(i) : COLUMNS * sum_of(i - 3);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

/* Their bundles would wait for each other: nothing is gathered that could. */
VP_TEST(puts_that_depend_on_each_other) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int64_t i = 1; i < ROWS; i++) {
        vp_put(r, vp_at(i), vp_sum(vp_add(vp_get(m, i), vp_get(q, i - 1))));
        vp_put(q, vp_at(i), vp_sum(vp_mul(vp_get(m, 0), vp_get(r, i))));
    }
    VP_CHECK_EQ(VP_STAT(bundled), 0);
    double a = 0, b = 0;
    for (int64_t i = 1; i < 4; i++) {
        a = sum_of(i) + COLUMNS * b;
        b = sum_of(0) * a;
        VP_CHECK_VALUES(vp_get(r, i), a);
        VP_CHECK_VALUES(vp_get(q, i), b);
    }
    /* Both write one array. */
    for (int64_t i = 0; i < ROWS / 2; i++) {
        vp_put(r, vp_at(2 * i), vp_sum(vp_get(m, 2 * i)));
        vp_put(r, vp_at(2 * i + 1), vp_max(vp_get(m, i)));
    }
    VP_CHECK_EQ(VP_STAT(bundled), 0);
    VP_CHECK_VALUES(vp_get(r, vp_until(4)), sum_of(0), element(0, COLUMNS - 1), sum_of(2),
                    element(1, COLUMNS - 1));
}

/* The array that one put has written is free for the next loop to read. */
VP_TEST(loops_that_follow_each_other) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int turn = 0; turn < 3; turn++) {
        for (int64_t i = 0; i < ROWS; i++) put_sum(r, m, i);
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(q, vp_at(i), vp_max(vp_add(vp_get(m, i), vp_get(r, i))));
    }
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i) + element(i, COLUMNS - 1);
    VP_CHECK_ARRAY(q, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 4 * ROWS);
}

/* Follows a loop of two puts. */
static void follow(vp_array r, vp_array q, vp_array m) {
    for (int64_t i = 0; i < ROWS / 2; i++) {
        put_sum(r, m, i);
        put_least(q, m, i);
    }
    VP_CHECK(is_followed());
}

/* What was noted before the put in between has been issued, what came after it is built. */
VP_TEST(an_iteration_that_ends_between_its_puts) {
    vp__test_threads(2);
    const int64_t next = ROWS / 2;
    vp_array m = matrix(), r = zeros(), q = zeros();
    follow(r, q, m);
    put_sum(r, m, next);
    VP_CHECK_VALUES(vp_get(r, next), sum_of(next)); /* observed, and so it is left */
    VP_CHECK(!is_followed());

    follow(r, q, m);
    put_sum(r, m, next + 1);
    vp_expr least = vp_min(vp_get(m, next + 2)); /* another line */
    put_least(q, m, next + 1);
    VP_CHECK_VALUES(least, element(next + 2, 0));
    VP_CHECK_VALUES(vp_get(r, next + 1), sum_of(next + 1));
    VP_CHECK_VALUES(vp_get(q, next + 1), element(next + 1, 0));

    follow(r, q, m);
    put_sum(r, m, next + 2);
    put_sum(r, m, next + 3); /* the first put again */
    put_least(q, m, next + 3);
    VP_CHECK_VALUES(vp_get(r, next + 2), sum_of(next + 2));
    VP_CHECK_VALUES(vp_get(r, next + 3), sum_of(next + 3));
    VP_CHECK_VALUES(vp_get(q, next + 3), element(next + 3, 0));
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

static vp_expr row_of(vp_array m, int64_t i) { return vp_get(m, i); }

/* The second put's row is built, when something else is done with it. */
VP_TEST(what_the_second_put_was_to_have) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    vp_expr row = {0, 0};
    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            put_sum(r, m, i);
            row = row_of(m, i);
            if (turn && i == ROWS / 2) break;
            vp_put(q, vp_at(i), vp_min(row));
        }
    VP_CHECK_VALUES(vp_sum(row), sum_of(ROWS / 2));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(vp__storage_captures(vp__test_storage(m)), 0);
    VP_CHECK_GE(VP_STAT(replayed), ROWS);
    check_sums(r);
    check_least(q);
}

/* Numbers of both puts, which are others each time. */
VP_TEST(numbers_of_two_puts) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            vp_put(r, vp_at(i), vp_sum(vp_mul(vp_get(m, i), (double)i)));
            vp_put(q, vp_at(i), vp_min(vp_add(vp_get(m, i), -0.5 * (double)i)));
        }
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i) * (double)i;
    VP_CHECK_ARRAY(r, expected, ROWS);
    for (int64_t i = 0; i < ROWS; i++) expected[i] = element(i, 0) - 0.5 * (double)i;
    VP_CHECK_ARRAY(q, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 4 * ROWS);
}

/* A selection that no track can have, after puts that one could have. */
VP_TEST(a_put_that_is_not_followed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    vp_array wide = vp_let(vp_zeros(VP_F64, vp_shape(ROWS, 3)));
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            put_sum(r, m, i);
            put_least(q, m, i);
            vp_put(wide, vp_at(i, VP_ELLIPSIS), vp_max(vp_get(m, i)));
        }
    check_sums(r);
    check_least(q);
    VP_CHECK_VALUES(vp_get(wide, ROWS - 1), element(ROWS - 1, COLUMNS - 1),
                    element(ROWS - 1, COLUMNS - 1), element(ROWS - 1, COLUMNS - 1));
    /* Loops of other forms: recipes that were given back twice are in use by then. */
    for (int n = 1; n < 60; n++)
        VP_CHECK_VALUES(vp_sum(vp_get(m, 0, vp_until(1 + n % COLUMNS))),
                        (double)(n % COLUMNS * (n % COLUMNS + 1)) / 2);
}

/* A put that is there only now and then. */
VP_TEST(a_put_now_and_then) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) {
            put_sum(r, m, i);
            if (i % 20 == 7) put_least(q, m, i);
        }
    check_sums(r);
    double expected[ROWS] = {0};
    for (int64_t i = 7; i < ROWS; i += 20) expected[i] = element(i, 0);
    VP_CHECK_ARRAY(q, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), ROWS);
}

/* An index beyond the array in one put; the other goes on. */
VP_TEST(a_mistake_in_one_of_two_puts) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    for (int64_t i = 0; i < ROWS; i++) {
        put_sum(r, m, i);
        const int64_t row = i == ROWS / 2 ? ROWS : i;
        vp_expr x = vp__get("the line of the row", VP__IN(m), vp_at(row));
        vp_put(q, vp_at(i), vp_min(x));
    }
    check_sums(r);
    double value;
    VP_CHECK_EQ(vp_item(vp_get(q, ROWS / 2), &value), VP_ERR_INDEX);
    VP_CHECK(strstr(vp_message(), "the line of the row") != NULL);
    VP_CHECK_VALUES(vp_get(q, ROWS / 2 + 1), element(ROWS / 2 + 1, 0));
    vp_drop(q); /* with its failure */
}

/* An array that is rebound between the puts. */
VP_TEST(an_array_is_another_between_two_puts) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    vp_array twice = vp_let(vp_mul(m, 2.0));
    follow(r, q, m);
    put_sum(r, m, ROWS / 2);
    vp_set(m, twice);
    put_least(q, m, ROWS / 2);
    put_sum(r, m, 0);
    VP_CHECK_VALUES(vp_get(r, ROWS / 2), sum_of(ROWS / 2));
    VP_CHECK_VALUES(vp_get(q, ROWS / 2), 2 * element(ROWS / 2, 0));
    VP_CHECK_VALUES(vp_get(r, 0), 2 * sum_of(0));
}

/* An idle worker takes the open bundles of all slots. */
VP_TEST(all_open_bundles_are_taken) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(), q = zeros();
    follow(r, q, m);
    VP_CHECK_SOON(VP_STAT(in_flight) == 0);
    for (int slot = 0; slot < VP__OPEN; slot++)
        VP_CHECK(!vp__open_is_there(vp__core_self(), slot));
}
