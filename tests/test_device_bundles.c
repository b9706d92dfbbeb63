/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that gather in bundles while there is a device: a bundle is one launch there, of an
 * axis more, and nobody can tell where it ran. The device of these tests is faster than any
 * core, so that what can run there does. Elements are whole numbers: sums are exact.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "net/cost.h"
#include "net/tuning.h"
#include "tests/fake_device.h"
#include "tests/net_support.h"

enum { ROWS = 200, COLUMNS = 30 };

#define LAUNCHES(d) ((int64_t)atomic_load(&(d)->launches))
#define COPIES_IN(d) ((int64_t)atomic_load(&(d)->copies_in))
#define COPIES_OUT(d) ((int64_t)atomic_load(&(d)->copies_out))

/* With one thread nobody takes a bundle before it is full, or before its issuer goes on. */
static vp__device *device_with(fake_properties p) {
    vp__test_threads(1);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = INT64_MAX; /* always to what is best */
    vp__tuning.bundle_ns = INT64_MAX / 4;
    /* Until they have done some of a kind of work the cores seem slower than any device. */
    vp__cost_mislead(1e9);
    p.slowness = 1e-6;
    return fake_device_add(&p, 1);
}

static vp__device *fast_device(void) { return device_with((fake_properties){0}); }

static vp_array matrix(void) {
    static double values[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = i;
    vp_array m = vp_let(vp_from(VP_F64, vp_shape(ROWS, COLUMNS), values));
    VP_CHECK_OK(vp_sync());
    return m;
}

/* The same array, whose contents are nowhere but on the device. */
static vp_array on_device(vp_array x) {
    vp_array y = vp_let(vp_add(x, 0.0));
    VP_CHECK_OK(vp_sync());
    VP_CHECK(!vp__storage_is_on_host(vp__test_storage(y)));
    return y;
}

static vp_array zeros(void) {
    static double values[ROWS];
    vp_array r = vp_let(vp_from(VP_F64, vp_shape(ROWS), values));
    VP_CHECK_OK(vp_sync());
    return r;
}

static double sum_of(int64_t row) {
    return (double)COLUMNS * (double)(2 * row * COLUMNS + COLUMNS - 1) / 2;
}

static void sum_row(vp_array to, vp_array from, int64_t i) {
    vp_put(to, vp_at(i), vp_sum(vp_abs(vp_get(from, i))));
}

static void sum_rows(vp_array to, vp_array from, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) sum_row(to, from, i);
}

/* Every row but each third: their distances differ, and the CPU does them. */
static bool is_uneven(int64_t i) { return i % 3 != 2; }
static void sum_uneven_rows(vp_array to, vp_array from) {
    for (int64_t i = 0; i < ROWS; i++)
        if (is_uneven(i)) sum_row(to, from, i);
}

static void check_sums(vp_array r) {
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

/* Those of each row but the third ones, which have a value of their own. */
static void check_uneven_sums(vp_array r, double other) {
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = is_uneven(i) ? sum_of(i) : other;
    VP_CHECK_ARRAY(r, expected, ROWS);
}

static void end_check(vp__device *d) {
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(fake_device_strays(), 0);
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    VP_CHECK_SOON(atomic_load(&d->ahead) == 0);
}

/* What has happened since. */
typedef struct {
    uint64_t issued, bundled;
    int64_t launches, in, out;
} counts;

static counts counts_now(vp__device *d) {
    return (counts){VP_STAT(issued), VP_STAT(bundled), LAUNCHES(d), COPIES_IN(d),
                    COPIES_OUT(d)};
}

/* --- one launch each ------------------------------------------------------------------ */

VP_TEST(a_loop_is_few_launches) {
    vp__device *d = fast_device();
    vp_array m = matrix(), r = zeros();
    sum_rows(r, m, 0, ROWS); /* what is kept for the loop is there */
    const int64_t bytes = vp__test_bytes_now();
    const counts before = counts_now(d);
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_NO_LEAK(bytes);
    const counts after = counts_now(d);
    VP_CHECK_GT(after.bundled - before.bundled, ROWS - 20);
    VP_CHECK_LT(after.issued - before.issued, 20);
    VP_CHECK_EQ(after.launches - before.launches,
                (int64_t)(after.issued - before.issued));
    check_sums(r);
    end_check(d);
}

VP_TEST(operands_that_are_on_the_device_stay_there) {
    vp__device *d = fast_device();
    vp_array m = on_device(matrix()), r = zeros();
    const counts before = counts_now(d);
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_OK(vp_sync());
    const counts after = counts_now(d);
    VP_CHECK_EQ(after.in, before.in);
    VP_CHECK_EQ(after.launches - before.launches,
                (int64_t)(after.issued - before.issued));
    /* Nothing but the results, which the CPU stores. */
    VP_CHECK_EQ(after.out - before.out, after.launches - before.launches);
    VP_CHECK(!vp__storage_is_on_host(vp__test_storage(m)));
    check_sums(r);
    end_check(d);
}

/* All of an array goes to the device once, and parts of it without their neighbours. */
VP_TEST(a_source_is_copied_once_if_all_of_it_is_read) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    enum { SOME = 50 };
    vp_array m = matrix(), r = zeros();
    vp_array some = vp_let(vp_get(m, vp_range(0, SOME))), all = vp_let(vp_mul(some, 1.0));
    double values[SOME * COLUMNS];
    VP_CHECK_OK(vp_read(all, values, sizeof values)); /* on the host as well */
    vp_array host = vp_let(vp_from(VP_F64, vp_shape(SOME, COLUMNS), values));
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 5; turn++) {
        const counts before = counts_now(d);
        sum_rows(r, host, 0, SOME);
        VP_CHECK_OK(vp_sync());
        const counts after = counts_now(d);
        VP_CHECK_GE(after.launches - before.launches, 1);
        VP_CHECK_EQ(after.in - before.in, turn == 0);
        sum_rows(r, m, 0, SOME);
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(COPIES_IN(d) - after.in, LAUNCHES(d) - after.launches);
    }
    double expected[SOME];
    for (int i = 0; i < SOME; i++) expected[i] = sum_of(i);
    VP_CHECK_ARRAY(vp_get(r, vp_range(0, SOME)), expected, SOME);
    end_check(d);
}

VP_TEST(several_inputs_with_distances_of_their_own) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array a = matrix(), b = matrix(), r = zeros();
    double row[COLUMNS], line[ROWS + 4];
    for (int k = 0; k < COLUMNS; k++) row[k] = k % 5;
    for (int k = 0; k < ROWS + 4; k++) line[k] = k % 7;
    vp_array weight = vp_let(vp_from(VP_F64, vp_shape(COLUMNS), row));
    vp_array wide = vp_let(vp_from(VP_F64, vp_shape(ROWS + 4), line));
    VP_CHECK_OK(vp_sync());
    const counts before = counts_now(d);
    /* Upwards, downwards, in one place. */
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(i),
               vp_sum(vp_add(vp_mul(vp_get(a, i), weight), vp_get(b, ROWS - 1 - i))));
    VP_CHECK_OK(vp_sync());
    const counts after = counts_now(d);
    VP_CHECK_EQ(after.bundled - before.bundled, ROWS);
    VP_CHECK_EQ(after.launches - before.launches,
                (int64_t)(after.issued - before.issued));
    /* The weight once, and rows of two matrices for each. */
    VP_CHECK_EQ(after.in - before.in, 1 + 2 * (after.launches - before.launches));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) {
        expected[i] = sum_of(ROWS - 1 - i);
        for (int k = 0; k < COLUMNS; k++) expected[i] += (i * COLUMNS + k) * row[k];
    }
    VP_CHECK_ARRAY(r, expected, ROWS);
    /* Windows that overlap, two of one array. */
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(i),
               vp_sum(vp_sub(vp_mul(vp_get(wide, vp_range(i, i + 3)), 2.0),
                             vp_get(wide, vp_range(i + 1, i + 4)))));
    for (int i = 0; i < ROWS; i++) {
        expected[i] = 0;
        for (int k = 0; k < 3; k++) expected[i] += 2 * line[i + k] - line[i + k + 1];
    }
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d) - after.launches, (int64_t)(VP_STAT(issued) - after.issued));
    VP_CHECK_ARRAY(r, expected, ROWS);
    end_check(d);
}

/* Each of them is one launch. */
VP_TEST(bundles_of_several_kernels) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array m = matrix(), r = zeros();
    const counts before = counts_now(d);
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(i), vp_sum(vp_abs(vp_sub(vp_get(m, i), vp_sum(vp_get(m, i))))));
    VP_CHECK_OK(vp_sync());
    const counts after = counts_now(d);
    VP_CHECK_EQ(after.bundled - before.bundled, ROWS);
    VP_CHECK_EQ(after.launches - before.launches,
                2 * (int64_t)(after.issued - before.issued));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(i) * (COLUMNS - 1);
    VP_CHECK_ARRAY(r, expected, ROWS);
    end_check(d);
}

/* There is no room for one more: the CPU does it. */
VP_TEST(lanes_with_as_many_axes_as_there_may_be) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    double values[] = {1, 2, 3, 4};
    int64_t dims[VP_MAXDIM];
    for (int k = 0; k < VP_MAXDIM; k++) dims[k] = k == 0 || k == VP_MAXDIM - 1 ? 2 : 1;
    vp_array x = vp_let(vp_from(VP_F64, vp_shape_of(VP_MAXDIM, dims, false), values));
    vp_array r = zeros();
    VP_CHECK_OK(vp_sync());
    const counts before = counts_now(d);
    for (int64_t i = 0; i < ROWS; i++) vp_put(r, vp_at(i), vp_sum(vp_abs(x)));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = 10;
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_EQ(VP_STAT(bundled) - before.bundled, ROWS);
    VP_CHECK_EQ(LAUNCHES(d), before.launches);
    end_check(d);
}

/* --- stores --------------------------------------------------------------------------- */

/* A3 of the paper: each iteration overwrites what the ones before it stored. */
VP_TEST(values_that_are_stored_several_times) {
    vp__device *d = fast_device();
    vp_array m = matrix(), r = zeros();
    const counts before = counts_now(d);
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(vp_range(0, i + 1)), vp_sum(vp_abs(vp_get(m, i))));
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = sum_of(ROWS - 1);
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GT(VP_STAT(bundled) - before.bundled, ROWS - 20);
    VP_CHECK_EQ(LAUNCHES(d) - before.launches,
                (int64_t)(VP_STAT(issued) - before.issued));
    end_check(d);
}

/* The device computes, and the store waits for what writes the target before. */
VP_TEST(stores_wait_for_their_gate) {
    vp__device *d = fast_device();
    vp__gate gate;
    vp_array m = matrix(), r = zeros(),
             ones = vp_let(vp_ones(VP_F64, vp_shape(ROWS - 1)));
    VP_CHECK_OK(vp_sync());
    vp_put(r, vp_at(vp_range(0, ROWS - 1)), VP_GATED(ones, &gate));
    const counts before = counts_now(d);
    sum_rows(r, m, 0, ROWS / 2);
    vp_array after = vp_let(vp_add(m, 1.0)); /* ends the bundle */
    VP_CHECK_SOON(atomic_load(&d->copies_out) > before.out);
    VP_CHECK_SOON(LAUNCHES(d) - before.launches ==
                  (int64_t)(VP_STAT(issued) - before.issued));
    fake_device_rest();
    VP_CHECK(vp__test_closed(&gate));
    const double *now = (const double *)(void *)atomic_load(&vp__test_storage(r)->host);
    VP_CHECK_EQ(now[ROWS / 2 - 1], 0);
    vp__gate_open(&gate);
    double expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = i < ROWS / 2 ? sum_of(i) : i < ROWS - 1;
    VP_CHECK_ARRAY(r, expected, ROWS);
    vp_drop(after);
    end_check(d);
}

/* What is stored into has been made by the device, and must come here first. */
static void check_target_on_device(bool uneven) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array m = matrix();
    for (int turn = 0; turn < 10; turn++) {
        vp_array r = vp_let(vp_add(zeros(), 1.0));
        VP_CHECK_OK(vp_sync());
        VP_CHECK(!vp__storage_is_on_host(vp__test_storage(r)));
        const counts before = counts_now(d);
        if (uneven)
            sum_uneven_rows(r, m);
        else
            for (int64_t i = 0; i < ROWS; i += 4) sum_row(r, m, i);
        VP_CHECK_OK(vp_sync());
        const counts after = counts_now(d);
        VP_CHECK_GT(after.bundled - before.bundled, ROWS / 5);
        VP_CHECK_EQ(after.launches - before.launches,
                    uneven ? 0 : (int64_t)(after.issued - before.issued));
        if (uneven) VP_CHECK_EQ(after.out - before.out, 1);
        double expected[ROWS];
        for (int i = 0; i < ROWS; i++)
            expected[i] = (uneven ? is_uneven(i) : i % 4 == 0) ? sum_of(i) : 1;
        VP_CHECK_ARRAY(r, expected, ROWS);
        /* And the device has no other version any more. */
        VP_CHECK_VALUES(vp_get(vp_let(vp_mul(r, 2.0)), 4), 2 * sum_of(4));
        vp_drop(r);
    }
    end_check(d);
}
VP_TEST(a_target_that_the_device_made) { check_target_on_device(false); }
VP_TEST(a_target_that_the_device_made_and_uneven_lanes) { check_target_on_device(true); }

/* --- on the CPU ----------------------------------------------------------------------- */

VP_TEST(uneven_lanes_stay_on_the_cpu) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array m = on_device(matrix()), r = zeros();
    const counts before = counts_now(d);
    sum_uneven_rows(r, m);
    VP_CHECK_OK(vp_sync());
    const counts after = counts_now(d);
    VP_CHECK_GT(after.bundled - before.bundled, ROWS / 2);
    VP_CHECK_EQ(after.launches, before.launches);
    VP_CHECK_EQ(after.out - before.out, 1); /* the matrix */
    check_uneven_sums(r, 0);
    end_check(d);
}

/* A worker that finds an open bundle does not run it where its operands are not. */
VP_TEST(workers_take_bundles_of_what_is_on_the_device) {
    vp__device *d = fast_device();
    vp__test_threads(3);
    vp__tuning.bundle_after = 0;
    for (int turn = 0; turn < 100; turn++) {
        vp_array m = on_device(matrix()), r = zeros();
        if (turn % 2)
            sum_uneven_rows(r, m);
        else
            sum_rows(r, m, 0, ROWS);
        if (turn % 4 < 2) /* nobody else ends it */
            VP_CHECK_SOON(VP_STAT(in_flight) == 0);
        if (turn % 2)
            check_uneven_sums(r, 0);
        else
            check_sums(r);
        vp_drop(m), vp_drop(r);
    }
    end_check(d);
}

/* A bundle whose first put cannot join it after all has to wait for what it has entered, and
 * does nothing then. */
VP_TEST(a_bundle_of_nothing_is_no_launch) {
    enum { SOURCES = 5, PUTS = 10 };
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp__gate gate;
    vp_array m[SOURCES], r = zeros(), q = zeros();
    for (int k = 0; k < SOURCES; k++) m[k] = matrix();
    vp_array first = vp_let(VP_GATED(m[0], &gate));
    sum_rows(q, m[1], 0, ROWS); /* what it finds in its memory are other iterations */
    VP_CHECK_OK(vp_read(q, (double[ROWS]){0}, ROWS * sizeof(double)));
    const counts before = counts_now(d);
    for (int64_t i = 0; i < PUTS; i++) {
        vp_expr sum = vp_abs(vp_get(first, i));
        for (int k = 1; k < SOURCES; k++) sum = vp_add(sum, vp_get(m[k], i));
        vp_put(r, vp_at(i), vp_sum(sum));
    }
    VP_CHECK_EQ(VP_STAT(bundled), before.bundled);
    VP_CHECK_EQ(VP_STAT(issued) - before.issued,
                2 * PUTS); /* each opens a bundle in vain */
    vp__gate_open(&gate);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d) - before.launches, PUTS);
    for (int i = 0; i < PUTS; i++) VP_CHECK_VALUES(vp_get(r, i), SOURCES * sum_of(i));
    end_check(d);
}

/* Views without elements have no place on a device. */
VP_TEST(lanes_that_read_nothing) {
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array m = matrix(), r = on_device(zeros());
    VP_CHECK_OK(vp_sync());
    const counts before = counts_now(d);
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(r, vp_at(i),
               vp_add(vp_sum(vp_get(m, i, vp_range(3, 3))), vp_sum(vp_get(m, i))));
    check_sums(r);
    VP_CHECK_GT(VP_STAT(bundled) - before.bundled, ROWS / 2);
    VP_CHECK_EQ(LAUNCHES(d), before.launches);
    end_check(d);
}

/* A slow device that is far away gets none of it. */
VP_TEST(bundles_are_placed_by_what_they_cost) {
    vp__test_threads(1);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = INT64_MAX;
    fake_properties p = {.latency_ns = 1e6, .ns_per_byte = 1, .slowness = 10};
    vp__device *d = fake_device_add(&p, 1);
    vp_array m = matrix(), r = zeros();
    sum_rows(r, m, 0, ROWS);
    check_sums(r);
    VP_CHECK_GT(VP_STAT(bundled), ROWS / 2);
    VP_CHECK_EQ(LAUNCHES(d), 0);
    end_check(d);
}

/* The copy of what a bundle reads counts, and no more than that. */
VP_TEST(transfers_of_bundles_count) {
    vp__test_threads(1);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = INT64_MAX;
    vp__tuning.bundle_after = 0;
    vp__tuning.bundle_ns = INT64_MAX / 4;
    enum { SOME = 20, ALL = 10000 };
    /* Some rows are copied in far less time than it takes to add them up, the matrix is not. */
    fake_properties p = {.ns_per_byte = 0.01, .slowness = 1e-6};
    vp__device *d = fake_device_add(&p, 1);
    vp_array large = vp_let(vp_zeros(VP_F64, vp_shape(ALL, COLUMNS)));
    vp_array r = zeros();
    VP_CHECK_OK(vp_sync());
    sum_rows(r, large, 0, SOME);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d), 1);
    atomic_store(&d->ns_per_byte.value, 100);
    sum_rows(r, large, 0, SOME);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d), 1);
    VP_CHECK_EQ(VP_STAT(bundled), 2 * SOME);
    end_check(d);
}

/* The trace asks a bundle for its operations wherever it runs. */
VP_TEST(bundles_are_traced) {
    setenv("VP_TRACE", "/dev/null", 1);
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_array m = matrix(), r = zeros();
    sum_uneven_rows(r, m);
    check_uneven_sums(r, 0);
    sum_rows(r, m, 0, ROWS);
    check_sums(r);
    end_check(d);
}

/* --- what can go wrong ---------------------------------------------------------------- */

/* The lanes of what fails while the bundle waits fail alone. */
VP_TEST(a_failed_lane_takes_no_others_with_it) {
    enum { FAILS = ROWS / 2 };
    vp__device *d = fast_device();
    vp__tuning.bundle_after = 0;
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array m = matrix(), r = zeros();
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), ROWS + 5));
    VP_CHECK_OK(vp_sync());
    vp_put(m, vp_at(vp_range(FAILS, FAILS + 1)), vp_take(m, VP_GATED(far, &gate), 0));
    sum_rows(r, m, 0, ROWS);
    VP_CHECK_GT(VP_STAT(bundled), ROWS - 20);
    vp__gate_open(&gate);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, FAILS))), VP_ERR_INDEX, "out of bounds");
    for (int i = 0; i < ROWS; i++)
        if (i != FAILS) VP_CHECK_VALUES(vp_get(r, i), sum_of(i));
    vp_end(s);
    vp_clear_error();
    end_check(d);
}

static void check_anyway(fake_properties p) {
    vp__device *d = device_with(p);
    vp_array m = matrix(), r = zeros();
    for (int turn = 0; turn < 5; turn++) {
        vp_put(r, vp_at(VP_ALL), -1.0);
        sum_rows(r, m, 0, ROWS);
        check_sums(r);
        vp_put(r, vp_at(VP_ALL), -1.0);
        sum_uneven_rows(r, m);
        check_uneven_sums(r, -1);
    }
    VP_CHECK_GT(VP_STAT(bundled), 5 * ROWS);
    end_check(d);
}
VP_TEST(a_device_that_refuses_kernels) {
    check_anyway((fake_properties){.refuses_kernels = 1});
}
VP_TEST(a_device_without_memory) { check_anyway((fake_properties){.bytes = 64}); }
VP_TEST(a_device_with_little_memory) {
    check_anyway((fake_properties){.bytes = ROWS * COLUMNS * 8 + 100});
}
VP_TEST(a_device_that_fails_at_once) {
    check_anyway((fake_properties){.fails_after = 1});
}
VP_TEST(a_device_that_fails_at_a_launch) {
    check_anyway((fake_properties){.fails_after = 5});
}
VP_TEST(a_device_that_fails_at_a_copy) {
    check_anyway((fake_properties){.fails_after = 6});
}

/* What only the device had is lost, and so are the lanes that read it, wherever they run; what
 * the target had besides them stays. */
static void check_lost(bool uneven) {
    vp__device *d = device_with((fake_properties){.fails_after = 2});
    vp__tuning.bundle_after = 0;
    vp_scope s = vp_begin();
    vp_array m = on_device(matrix()), r = zeros(); /* a copy and a launch */
    if (uneven)
        sum_uneven_rows(r, m);
    else
        sum_rows(r, m, 0, ROWS / 2);
    VP_CHECK_GT(VP_STAT(bundled), ROWS / 5);
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, 0))), VP_ERR_DEVICE, "has lost its result");
    VP_CHECK_ERROR(vp_wait(vp_let(vp_get(r, 48))), VP_ERR_DEVICE,
                   "test_device_bundles.c");
    VP_CHECK_VALUES(vp_get(r, 197), 0);
    vp_end(s);
    vp_clear_error();
    vp_sync();
    VP_CHECK_EQ(fake_device_strays(), 0);
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    VP_CHECK_SOON(atomic_load(&d->ahead) == 0);
}
VP_TEST(lost_operands) { check_lost(false); }
VP_TEST(lost_operands_of_uneven_lanes) { check_lost(true); }
