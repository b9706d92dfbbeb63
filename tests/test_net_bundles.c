/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose puts gather in bundles: they are fewer nodes than instructions, and nobody can
 * tell, neither from the order of stores, nor from what is read and written before, after and
 * in between, nor from another thread or process. Elements are whole numbers: sums are exact.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tuning.h"
#include "tests/net_support.h"

enum { ROWS = 200, COLUMNS = 30, LARGE = 40000 };

static vp_array matrix(void) {
    vp_array flat = vp__test_counting(ROWS * COLUMNS);
    vp_array m = vp_let(vp_reshape(flat, vp_shape(ROWS, COLUMNS)));
    VP_CHECK_OK(vp_sync());
    return m;
}

static double sum_of(int64_t row) {
    return (double)COLUMNS * (double)(2 * row * COLUMNS + COLUMNS - 1) / 2;
}

static void check_sums(vp_array r) {
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

static void sum_rows(vp_array to, vp_array from, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++)
        vp_put(to, vp_at(i), vp_sum(vp_abs(vp_get(from, i))));
}

VP_TEST(a_loop_is_few_nodes) {
    vp__test_threads(2);
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    VP_CHECK_OK(vp_sync());
    const uint64_t issued = VP_STAT(issued), inlined = VP_STAT(inlined),
                   elements = VP_STAT(elements);
    for (int turn = 0; turn < 20; turn++) sum_rows(r, m, 0, ROWS);
    check_sums(r);
    VP_CHECK_GE(VP_STAT(bundled), 19 * ROWS);
    VP_CHECK_LT(VP_STAT(issued) - issued + VP_STAT(inlined) - inlined, 4 * ROWS);
    /* Every iteration is computed, whoever overwrites its result. */
    VP_CHECK_GE(VP_STAT(elements) - elements, 20 * ROWS * COLUMNS);
}

/* With one thread nobody but the issuer can have made what the loop reads. */
VP_TEST(one_thread_makes_what_a_loop_reads) {
    vp__test_threads(1);
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array wide = vp_let(vp_tile(m, vp_shape(1, 100)));
    VP_CHECK_OK(vp_sync());
    /* Too long to run at once. */
    vp_array made = vp_let(vp_sub(vp_add(wide, 1.0), 1.0));
    VP_CHECK_EQ(VP_STAT(bundled), 0);
    sum_rows(r, vp_let(vp_get(made, VP_ALL, vp_range(0, COLUMNS))), 0, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), ROWS / 2);
    check_sums(r);
}

VP_TEST(a_few_puts_are_not_gathered) {
    vp__test_threads(2);
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    for (int i = 0; i + 4 < ROWS; i += 4) {
        sum_rows(r, m, i, i + 4);
        vp_set(m, vp_add(m, 0.0)); /* something else */
    }
    VP_CHECK_EQ(VP_STAT(bundled), 0);
}

/* A3 of the paper: each iteration overwrites what the ones before it stored. */
static void overwrite(int threads) {
    vp__test_threads(threads);
    vp__tuning.bundle_ns = INT64_MAX / 4; /* until a bundle is full */
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(ROWS - 2);
    expected[ROWS - 1] = 0;
    for (int turn = 0; turn < 30; turn++)
        for (int64_t i = 0; i < ROWS - 1; i++)
            vp_put(r, vp_at(vp_range(0, i + 1)), vp_sum(vp_abs(vp_get(m, i))));
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), 20 * ROWS);
}
VP_TEST(stores_of_bundles_stay_in_order) { overwrite(2); }
VP_TEST(stores_of_bundles_stay_in_order_with_more_threads) { overwrite(5); }

/* What the loop writes is still being written before: all is computed, nothing stored. */
VP_TEST(right_sides_complete_while_the_store_before_is_gated) {
    vp__test_threads(2);
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array ones = vp_let(vp_ones(VP_F64, vp_shape(LARGE - 1)));
    VP_CHECK_OK(vp_sync());
    vp_put(r, vp_at(vp_range(0, LARGE - 1)), VP_GATED(ones, &gate));
    const uint64_t elements = VP_STAT(elements);
    sum_rows(r, m, 0, ROWS);
    /* The first ones are nodes of their own; their stores wait as well. */
    VP_CHECK_SOON(VP_STAT(elements) - elements == ROWS * COLUMNS);
    VP_CHECK_GT(VP_STAT(bundled), ROWS / 2);
    VP_CHECK(vp__test_closed(&gate));
    const double *now = (const double *)(void *)atomic_load(&vp__test_storage(r)->host);
    VP_CHECK_EQ(now[ROWS - 1], 0);
    vp__gate_open(&gate);
    double expected[ROWS + 2];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(i);
    expected[ROWS] = expected[ROWS + 1] = 1;
    VP_CHECK_ARRAY(vp_get(r, vp_range(0, ROWS + 2)), expected, ROWS + 2);
}

VP_TEST(the_source_is_written_after_the_loop) {
    vp__test_threads(2);
    for (int rename = 0; rename < 2; rename++) {
        vp__tuning.copy_bytes = rename ? 1 << 20 : 0;
        vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
        for (int turn = 0; turn < 20; turn++) {
            sum_rows(r, m, 0, ROWS);
            vp_put(m, vp_at(VP_ALL, 0), -1.0);
            check_sums(r);
            for (int64_t i = 0; i < ROWS; i++)
                vp_put(m, vp_at(i, 0), (double)(i * COLUMNS));
        }
        vp_drop(m);
        vp_drop(r);
    }
}

/* Whatever else sees the target amid the loop sees the iterations before it, and no others. */
VP_TEST(the_target_is_seen_amid_a_loop) {
    enum { HALF = ROWS / 2 };
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4; /* the bundle is open when that happens */
    vp_array m = matrix();
    double half[ROWS] = {0};
    for (int i = 0; i < HALF; i++) half[i] = sum_of(i);
    for (int turn = 0; turn < 30; turn++) {
        vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
        VP_CHECK_OK(vp_sync());
        sum_rows(r, m, 0, HALF);
        vp_array copy = turn % 3 == 0 ? vp_let(r) : (vp_array){0, 0};
        vp_expr open = turn % 3 == 1 ? vp_abs(r) : (vp_expr){0, 0};
        if (turn % 3 == 2) vp_put(r, vp_at(VP_ALL), vp_sum(vp_abs(vp_get(m, 0))));
        sum_rows(r, m, HALF, ROWS);
        if (turn % 3 == 1) copy = vp_let(open);
        if (turn % 3 == 2) sum_rows(r, m, 0, HALF);
        check_sums(r);
        if (turn % 3 != 2) VP_CHECK_ARRAY(copy, half, ROWS);
        if (turn % 3 != 2) vp_drop(copy);
        vp_drop(r);
    }
    VP_CHECK_GT(VP_STAT(bundled), 20 * HALF);
}

/* A bundle takes what comes in a row: an iteration of more than its put runs at once, also
 * where a bundle of such puts is open. */
VP_TEST(puts_with_other_instructions_between_are_not_gathered) {
    vp__test_no_holding();
    enum { ROW = 20, MIXED = 40 };
    vp__test_threads(1);
    vp__tuning.bundle_ns = INT64_MAX / 4; /* the bundle stays open */
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array other = vp__test_counting(3);
    VP_CHECK_OK(vp_sync());
    sum_rows(r, m, 0, ROW);
    const uint64_t bundled = VP_STAT(bundled);
    VP_CHECK_GT(bundled, 0);
    for (int64_t i = ROW; i < MIXED; i++) {
        vp_set(other, vp_add(other, 1.0)); /* at once */
        sum_rows(r, m, i, i + 1);
    }
    VP_CHECK_EQ(VP_STAT(bundled), bundled);
    sum_rows(r, m, MIXED, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), bundled);
    VP_CHECK_VALUES(other, MIXED - ROW, MIXED - ROW + 1, MIXED - ROW + 2);
    check_sums(r);
}

/* Lanes as far apart as others are, but in another array. */
VP_TEST(lanes_that_read_different_arrays) {
    enum { ARRAYS = 4 };
    vp__test_threads(1);
    vp__tuning.bundle_after = 0;
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp_array source[ARRAYS], r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    double expected[ARRAYS];
    for (int k = 0; k < ARRAYS; k++) {
        source[k] = vp_let(vp_mul(matrix(), (double)(k + 1)));
        expected[k] = (k + 1) * sum_of(3);
    }
    for (int lanes = 2; lanes <= ARRAYS; lanes++) {
        VP_CHECK_OK(vp_sync());
        const uint64_t bundled = VP_STAT(bundled);
        for (int64_t k = 0; k < lanes; k++)
            vp_put(r, vp_at(k), vp_sum(vp_abs(vp_get(source[k], 3))));
        VP_CHECK_EQ(VP_STAT(bundled) - bundled, lanes);
        VP_CHECK_ARRAY(vp_get(r, vp_range(0, lanes)), expected, lanes);
    }
}

/* Targets at even distances that overlap: the last one to write an element counts. */
static void overlap(int64_t step) {
    enum { LANES = 16, WIDTH = 5 };
    vp__test_threads(1);
    vp__tuning.bundle_after = 0;
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp_array flat = vp__test_counting(LANES * WIDTH * 4);
    vp_array m = vp_let(vp_reshape(flat, vp_shape(LANES, WIDTH, 4)));
    vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    VP_CHECK_OK(vp_sync());
    double expected[ROWS] = {0};
    const int64_t first = step < 0 ? -step * LANES : 0;
    for (int64_t i = 0; i < LANES; i++) {
        const int64_t at = first + i * step;
        vp_put(r, vp_at(vp_range(at, at + WIDTH)), vp_sum(vp_abs(vp_get(m, i)), 1));
        for (int64_t k = 0; k < WIDTH; k++)
            expected[at + k] = (double)(4 * 4 * (i * WIDTH + k) + 6);
    }
    VP_CHECK_EQ(VP_STAT(bundled), LANES);
    VP_CHECK_ARRAY(r, expected, ROWS);
}
VP_TEST(targets_that_overlap_forwards) { overlap(2); }
VP_TEST(targets_that_overlap_backwards) { overlap(-2); }
VP_TEST(targets_that_are_one_and_the_same) { overlap(0); }

/* Iterations that read what the ones before them have stored. */
VP_TEST(a_loop_that_reads_its_target) {
    vp__test_threads(2);
    vp__tuning.bundle_after = 1;
    vp_array r = vp_let(vp_ones(VP_F64, vp_shape(ROWS)));
    for (int64_t i = 1; i < ROWS; i++)
        vp_put(r, vp_at(i), vp_sum(vp_abs(vp_get(r, vp_range(i - 1, i)))));
    vp_array s = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    for (int64_t i = 0; i < ROWS; i++) {
        vp_put(s, vp_at(i), vp_sum(vp_add(vp_get(r, vp_range(i, i + 1)), (double)0)));
        vp_put(r, vp_at(ROWS - 1 - i), vp_sum(vp_abs(vp_get(s, vp_range(0, i + 1)))));
    }
    double got[2];
    VP_CHECK_OK(vp_read(vp_get(r, vp_range(0, 2)), got, sizeof got));
    /* s is 1 up to the middle, where r has become a count; from there on it adds up. */
    double a[ROWS], b[ROWS];
    for (int i = 0; i < ROWS; i++) a[i] = 1, b[i] = 0;
    for (int i = 0; i < ROWS; i++) {
        b[i] = a[i];
        double sum = 0;
        for (int k = 0; k <= i; k++) sum += b[k];
        a[ROWS - 1 - i] = sum;
    }
    VP_CHECK_EQ(got[0], a[0]);
    VP_CHECK_EQ(got[1], a[1]);
    VP_CHECK_EQ(VP_STAT(bundled), 0);
}

/* Iterations that read what they themselves overwrite: gathered, each would wait for itself. */
VP_TEST(a_loop_that_updates_its_target) {
    vp__test_threads(2);
    vp__tuning.bundle_after = 1;
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = 3;
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i), vp_sum(vp_add(vp_get(r, vp_range(i, i + 1)), 1.0)));
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_EQ(VP_STAT(bundled), 0);
}

static vp_array other_source, other_target;
static void sum_other_rows(void *context, void *memory) {
    (void)context, (void)memory;
    sum_rows(other_target, other_source, 0, ROWS / 4);
}

/* Handing a bundle over may run nodes, those release memory, and what the user wants done then
 * may be a loop as well. */
VP_TEST(a_loop_within_a_loop) {
    static double memory[ROWS * COLUMNS];
    vp__test_threads(1);
    vp__tuning.bundle_after = 1;
    vp__tuning.bundle_ns = 1000;
    for (int i = 0; i < ROWS * COLUMNS; i++) memory[i] = i;
    vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    other_source = matrix();
    other_target = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 50; turn++) {
        vp_array m = vp_borrow(VP_F64, vp_shape(ROWS, COLUMNS), NULL, memory,
                               VP_READ_ONLY, sum_other_rows, NULL);
        sum_rows(r, m, 0, ROWS);
        vp_drop(m);
    }
    VP_CHECK_OK(vp_sync());
    check_sums(r);
    double expected[ROWS] = {0};
    for (int i = 0; i < ROWS / 4; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(other_target, expected, ROWS);
}

/* A loop over what is not there yet is few nodes as well, that run when it is. */
VP_TEST(bundles_wait_for_what_they_read) {
    for (int in_place = 0; in_place < 2; in_place++) {
        vp__test_threads(2);
        vp__gate gate;
        vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
        vp_array source = vp_let(vp_mul(m, 0.0));
        VP_CHECK_OK(vp_sync());
        const uint64_t issued = VP_STAT(issued), bundled = VP_STAT(bundled),
                       elements = VP_STAT(elements);
        if (in_place) /* a write to an array that has memory */
            vp_put(source, vp_at(vp_range(0, ROWS)), VP_GATED(m, &gate));
        else /* an array that has none */
            vp_set(source, VP_GATED(m, &gate));
        sum_rows(r, source, 0, ROWS);
        VP_CHECK_GT(VP_STAT(bundled) - bundled, ROWS - 20);
        VP_CHECK_LT(VP_STAT(issued) - issued, ROWS / 2);
        VP_CHECK_EQ(VP_STAT(elements), elements);
        vp__gate_open(&gate);
        check_sums(r);
    }
}

/* The first of a bundle reads what fails while it waits, the others do not. */
VP_TEST(who_reads_what_failed_meanwhile_fails_alone) {
    enum { FAILS = ROWS / 2 };
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), ROWS + 5));
    VP_CHECK_OK(vp_sync());
    vp_put(m, vp_at(vp_range(FAILS, FAILS + 1)), vp_take(m, VP_GATED(far, &gate), 0));
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), ROWS - 20);
    vp__gate_open(&gate);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, FAILS))), VP_ERR_INDEX, "out of bounds");
    for (int i = 0; i < ROWS; i++) {
        double value;
        if (i == FAILS) continue;
        VP_CHECK_OK(vp_read(vp_get(r, vp_range(i, i + 1)), &value, sizeof value));
        VP_CHECK_EQ(value, sum_of(i));
    }
    vp_end(s);
    vp_clear_error();
}

/* An index out of bounds that shows when the gate is opened. */
static vp_expr fails_late(vp_array m, int64_t index, vp__gate *gate) {
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), index));
    return vp_take(m, VP_GATED(far, gate), 0);
}

/* What fails is not stored, and what had failed there before is what is told. */
VP_TEST(a_lane_that_fails_leaves_its_target_as_it_is) {
    enum { FAILS = ROWS / 2 };
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp__gate before, earlier, gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array source = vp_let(vp_mul(m, 1.0));
    vp_array sevens = vp_let(vp_full(VP_F64, vp_shape(ROWS), 7.0));
    VP_CHECK_OK(vp_sync());
    vp_put(r, vp_at(vp_range(0, ROWS)), VP_GATED(sevens, &before));
    vp_put(r, vp_at(FAILS), vp_sum(fails_late(m, ROWS + 5, &earlier)));
    vp_put(source, vp_at(vp_range(FAILS, FAILS + 1)), fails_late(m, ROWS + 9, &gate));
    sum_rows(r, source, 0, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), ROWS - 20);
    const uint64_t stored = VP_STAT(stored);
    vp__gate_open(&gate);
    vp__gate_open(&earlier);
    vp__gate_open(&before);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, FAILS))), VP_ERR_INDEX, "index 205");
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(vp_get(r, vp_range(0, FAILS)), expected, FAILS);
    VP_CHECK_ARRAY(vp_get(r, vp_range(FAILS + 1, ROWS)), expected + FAILS + 1,
                   ROWS - FAILS - 1);
    vp_sync();
    VP_CHECK_EQ(VP_STAT(stored) - stored, ROWS + ROWS - 1);
    const double *now = (const double *)(void *)atomic_load(&vp__test_storage(r)->host);
    VP_CHECK_EQ(now[FAILS], 7);
    vp_end(s);
    vp_clear_error();
}

/* Whichever of the arrays that a lane reads has failed. */
VP_TEST(every_input_of_a_bundle_hands_failures_on) {
    enum { FAILS = ROWS / 2 };
    vp__test_threads(2);
    for (int second = 0; second < 2; second++) {
        vp_scope s = vp_begin();
        vp__gate gate;
        vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
        vp_array source = vp_let(vp_mul(m, 0.0)), ones = vp_let(vp_add(source, 1.0));
        VP_CHECK_OK(vp_sync());
        const uint64_t bundled = VP_STAT(bundled);
        vp_put(second ? source : ones, vp_at(vp_range(FAILS, FAILS + 1)),
               fails_late(m, ROWS + 5, &gate));
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(i), vp_sum(vp_add(vp_get(ones, i), vp_get(source, i))));
        VP_CHECK_GT(VP_STAT(bundled) - bundled, ROWS - 20);
        vp__gate_open(&gate);
        VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, FAILS))), VP_ERR_INDEX, "index 205");
        for (int64_t i = 0; i < ROWS; i++)
            if (i != FAILS) VP_CHECK_VALUES(vp_get(r, i), COLUMNS);
        vp_end(s);
        vp_clear_error();
    }
}

static bool somebody_observes(void) {
    for (int i = 0; i < vp__core_count; i++)
        if (atomic_load(&vp__cores[i]->observing)) return true;
    return false;
}

static void *read_ones(void *r) {
    double values[ROWS];
    VP_CHECK_OK(vp_read(*(vp_array *)r, values, sizeof values));
    for (int i = 0; i < ROWS; i++) VP_CHECK_EQ(values[i], 1);
    return NULL;
}

/* A lane shows that it has failed before its store's turn comes, which waits for who reads
 * borrowed memory: not to that one. */
VP_TEST(who_waits_to_read_does_not_meet_what_fails_later) {
    enum { FAILS = ROWS / 2 };
    static double memory[ROWS];
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp__gate before, gate;
    vp_array m = matrix(), source = vp_let(vp_mul(m, 1.0));
    vp_array ones = vp_let(vp_ones(VP_F64, vp_shape(ROWS)));
    vp_array r = vp_borrow(VP_F64, vp_shape(ROWS), NULL, memory, VP_WRITABLE, NULL, NULL);
    VP_CHECK_OK(vp_sync());
    vp_put(r, vp_at(VP_ALL), VP_GATED(ones, &before));
    pthread_t reader;
    VP_CHECK_EQ(pthread_create(&reader, NULL, read_ones, &r), 0);
    VP_CHECK_SOON(somebody_observes());
    vp_put(source, vp_at(vp_range(FAILS, FAILS + 1)), fails_late(m, ROWS + 5, &gate));
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(i), vp_sum(vp_abs(vp_get(source, i))));
    vp__storage *storage = vp__test_storage(r);
    vp__gate_open(&gate);
    VP_CHECK_SOON(atomic_load(&storage->poison) != NULL);
    VP_CHECK_EQ(memory[0], 0);
    vp__gate_open(&before);
    pthread_join(reader, NULL);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, FAILS))), VP_ERR_INDEX, "index 205");
    VP_CHECK_VALUES(vp_get(r, 0), sum_of(0));
    vp_end(s);
    vp_clear_error();
}

/* With many unfinished accesses before it, a bundle waits for all of them, and its later puts
 * may read what was not in its first one's way. */
VP_TEST(a_bundle_behind_everything_inherits_as_well) {
    enum { PAIRS = 8, READ = 20, FAILS = 3, FIRST = 41, LAST = 60 };
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp_scope s = vp_begin();
    vp__gate reads[PAIRS], writes[PAIRS];
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array source = vp_let(vp_mul(m, 1.0));
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), ROWS + 5));
    VP_CHECK_OK(vp_sync());
    for (int64_t k = 0; k < PAIRS; k++) {
        vp_let(VP_GATED(vp_get(source, READ + k), &reads[k]));
        vp_put(source, vp_at(vp_range(k, k + 1)),
               k == FAILS ? vp_take(m, VP_GATED(far, &writes[k]), 0)
                          : VP_GATED(vp_get(m, vp_range(k, k + 1)), &writes[k]));
    }
    double row[COLUMNS];
    VP_CHECK_OK(vp_read(vp_get(source, FIRST - 1), row, sizeof row));
    sum_rows(r, source, FIRST, LAST);
    sum_rows(r, source, 0, PAIRS);
    VP_CHECK_GT(VP_STAT(bundled), PAIRS);
    for (int k = 0; k < PAIRS; k++) vp__gate_open(&reads[k]), vp__gate_open(&writes[k]);
    for (int i = 0; i < LAST; i++) {
        if (i == PAIRS) i = FIRST;
        vp_array one = vp_let(vp_get(r, i));
        if (i == FAILS)
            VP_CHECK_ERROR(vp_wait(one), VP_ERR_INDEX, "out of bounds");
        else
            VP_CHECK_VALUES(one, sum_of(i));
    }
    vp_end(s);
    vp_clear_error();
}

/* What fails while a put into no elements waits for it shows in what those are part of. */
VP_TEST(a_put_of_nothing_that_fails_late_is_seen) {
    vp__test_threads(2);
    vp__tuning.bundle_after = 0;
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), ROWS + 5));
    VP_CHECK_OK(vp_sync());
    vp_array bad = vp_let(vp_take(m, VP_GATED(far, &gate), 0));
    vp_put(r, vp_at(vp_range(0, 0)), vp_sum(vp_abs(bad)));
    vp__gate_open(&gate);
    VP_CHECK_ERROR(vp_wait(r), VP_ERR_INDEX, "out of bounds");
    vp_end(s);
    vp_clear_error();
}

static vp_array first_source, second_source;
static void *write_both(void *unused) {
    vp_put(first_source, vp_at(VP_ALL, 0), 0.5);
    vp_put(second_source, vp_at(VP_ALL, 0), vp_get(first_source, VP_ALL, 0));
    return unused;
}

/* Another thread writes what an open bundle still has to read, and makes something of that:
 * who reads the latter cannot join the bundle, or each would wait for the other. */
VP_TEST_TIMEOUT(an_open_bundle_waits_for_nobody_who_waits_for_it, 60) {
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp__tuning.copy_bytes = 0; /* writes wait */
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(2 * ROWS)));
    first_source = vp_let(vp_mul(m, 0.0));
    second_source = vp_let(vp_mul(m, 1.0));
    VP_CHECK_OK(vp_sync());
    vp_put(first_source, vp_at(vp_range(0, ROWS)), VP_GATED(m, &gate));
    sum_rows(r, first_source, 0, ROWS / 4);
    pthread_t other;
    VP_CHECK_EQ(pthread_create(&other, NULL, write_both, NULL), 0);
    VP_CHECK_EQ(pthread_join(other, NULL), 0);
    sum_rows(r, second_source, ROWS / 4, ROWS / 2);
    vp__gate_open(&gate);
    for (int64_t i = 0; i < ROWS / 2; i++) {
        double value;
        VP_CHECK_OK(vp_read(vp_get(r, vp_range(i, i + 1)), &value, sizeof value));
        VP_CHECK_EQ(value,
                    i < ROWS / 4 ? sum_of(i) : sum_of(i) - (double)i * COLUMNS + 0.5);
    }
}

/* An index out of bounds shows late; the loop overwrites part of what it has spoilt. */
VP_TEST(a_loop_over_a_failed_array) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), ROWS + 5));
    vp_put(r, vp_at(vp_range(0, 100)), vp_sum(vp_take(m, far, 0)));
    sum_rows(r, m, 0, 50);
    double value;
    VP_CHECK_OK(vp_read(vp_get(r, vp_range(49, 50)), &value, sizeof value));
    VP_CHECK_EQ(value, sum_of(49));
    VP_CHECK_ERROR(vp_wait(r), VP_ERR_INDEX, "out of bounds");
    sum_rows(r, m, 50, ROWS);
    VP_CHECK_OK(vp_read(vp_get(r, vp_range(99, 100)), &value, sizeof value));
    VP_CHECK_EQ(value, sum_of(99));
    /* And a source that has failed in part. */
    vp_put(m, vp_at(7), vp_sum(vp_take(m, far, 0)));
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, 7))), VP_ERR_INDEX, "out of bounds");
    VP_CHECK_OK(vp_read(vp_get(r, vp_range(8, 9)), &value, sizeof value));
    VP_CHECK_EQ(value, sum_of(8));
    vp_end(s);
    vp_clear_error();
}

/* Whoever waits for a bundle that its issuer has left open does it. */
typedef struct {
    vp_array r;
    double last;
} reader;

static void *read_last(void *arg) {
    reader *a = arg;
    if (vp_read(vp_get(a->r, vp_range(ROWS - 1, ROWS)), &a->last, sizeof a->last))
        a->last = -1;
    return NULL;
}

VP_TEST(another_thread_waits_for_an_open_bundle) {
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4; /* it stays open until it is full */
    vp__tuning.spin_ns = INT64_MAX / 4;   /* and no worker comes for it */
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    for (int turn = 0; turn < 20; turn++) {
        vp_set(r, vp_zeros(VP_F64, vp_shape(ROWS)));
        VP_CHECK_OK(vp_sync());
        sum_rows(r, m, 0, ROWS);
        reader other = {r, 0};
        pthread_t thread;
        VP_CHECK_EQ(pthread_create(&thread, NULL, read_last, &other), 0);
        pthread_join(thread, NULL);
        VP_CHECK_EQ(other.last, sum_of(ROWS - 1));
        check_sums(r);
    }
}

/* The same when it has to wait for its input, and its issuer does nothing any more. */
static void wait_for_one_that_waits(int64_t spin_ns) {
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp__tuning.spin_ns = spin_ns;
    for (int turn = 0; turn < 5; turn++) {
        vp__gate gate;
        vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
        VP_CHECK_OK(vp_sync());
        vp_set(m, VP_GATED(m, &gate));
        sum_rows(r, m, 0, ROWS);
        vp__test_opener opener;
        vp__test_open_later(&opener, &gate, 20);
        reader other = {r, 0};
        pthread_t thread;
        VP_CHECK_EQ(pthread_create(&thread, NULL, read_last, &other), 0);
        pthread_join(thread, NULL);
        VP_CHECK_EQ(other.last, sum_of(ROWS - 1));
        vp__test_join(&opener);
        check_sums(r);
    }
}
VP_TEST(another_thread_waits_for_an_open_bundle_that_waits) {
    wait_for_one_that_waits(INT64_MAX / 4); /* no worker comes for it */
}
VP_TEST(a_worker_comes_for_an_open_bundle_that_waits) { wait_for_one_that_waits(0); }

VP_TEST(idle_workers_take_open_bundles) {
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp__tuning.spin_ns = 0;
    vp__tuning.naps = 1 << 30; /* it naps, a millisecond at a time */
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    VP_CHECK_OK(vp_sync());
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_SOON(VP_STAT(in_flight) == 0); /* nobody asks for anything */
    VP_CHECK_GT(VP_STAT(bundled), ROWS / 2);
    check_sums(r);
}

VP_TEST_TIMEOUT(forks_with_open_bundles, 60) {
    vp__test_threads(2);
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    for (int turn = 0; turn < 10; turn++) {
        vp_set(r, vp_zeros(VP_F64, vp_shape(ROWS)));
        sum_rows(r, m, 0, ROWS / 2);
        const pid_t child = fork();
        VP_CHECK_GE(child, 0);
        sum_rows(r, m, ROWS / 2, ROWS);
        check_sums(r);
        if (child == 0) _exit(0);
        int status = 1;
        VP_CHECK_EQ(waitpid(child, &status, 0), child);
        VP_CHECK_EQ(status, 0);
    }
}

/* Stores that wait do not let a loop run away: the issuer helps at the limit. */
VP_TEST(bundles_in_flight_are_bounded) {
    vp__test_threads(2);
    vp__tuning.max_nodes = 20;
    vp__tuning.bundle_ns = INT64_MAX / 4;
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array ones = vp_let(vp_ones(VP_F64, vp_shape(LARGE - 1)));
    VP_CHECK_OK(vp_sync());
    vp_put(r, vp_at(vp_range(0, LARGE - 1)), VP_GATED(ones, &gate));
    vp__test_opener opener;
    vp__test_open_later(&opener, &gate, 100);
    int64_t most = 0;
    for (int turn = 0; turn < 40; turn++) {
        sum_rows(r, m, 0, ROWS);
        const int64_t now = VP_STAT(in_flight);
        if (!atomic_load(&opener.opened) && now > most) most = now;
    }
    vp__test_join(&opener);
    VP_CHECK_LE(most, 30);
    VP_CHECK_GT(VP_STAT(limit_waits), 0);
    VP_CHECK_VALUES(vp_get(r, vp_range(ROWS - 1, ROWS + 1)), sum_of(ROWS - 1), 1);
}

/* Nor do those that wait for what they read, by their own memory. */
VP_TEST(memory_of_waiting_bundles_is_bounded) {
    enum { LIMIT = 4 << 20 };
    setenv("VP_MEMORY", "4M", 1);
    vp__test_threads(2);
    vp__tuning.bundle_ns = 500; /* few puts each */
    vp__gate gate;
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    VP_CHECK_OK(vp_sync());
    vp_array source = vp_let(VP_GATED(m, &gate));
    vp__test_opener opener;
    vp__test_open_later(&opener, &gate, 100);
    int64_t most = 0;
    for (int turn = 0; turn < 100; turn++) {
        sum_rows(r, source, 0, ROWS);
        const int64_t now = (int64_t)VP_STAT(bytes_in_use);
        if (!atomic_load(&opener.opened) && now > most) most = now;
    }
    vp__test_join(&opener);
    VP_CHECK_GT(VP_STAT(bundled), 50 * ROWS);
    VP_CHECK_LE(most, LIMIT + (LIMIT >> 2));
    VP_CHECK_GT(VP_STAT(limit_waits), 0);
    check_sums(r);
}

VP_TEST(nothing_is_left_of_bundles) {
    vp__test_threads(3);
    vp_array m = matrix(), r = vp_let(vp_zeros(VP_F64, vp_shape(ROWS)));
    sum_rows(r, m, 0, ROWS);
    const int64_t base = vp__test_bytes_now();
    for (int turn = 0; turn < 50; turn++) {
        sum_rows(r, m, 0, ROWS);
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(vp_range(0, i + 1)), vp_sum(vp_abs(vp_get(m, i))));
    }
    VP_CHECK_NO_LEAK(base);
}
