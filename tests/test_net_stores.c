/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing into part of an array. Inputs gate computing, earlier accesses to the target
 * gate only the store; stores to one place stay in the order of the program, stores to
 * different places do not wait for each other, and a loop that walks an array costs the
 * same per step however many steps are pending.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "net/tuning.h"
#include "tests/net_support.h"

enum { LARGE = 40000 }; /* elements of an array too large to be copied for a write */

static void note_release(void *context, void *memory) {
    (void)memory;
    atomic_store((_Atomic bool *)context, true);
}

/* Store 0 is gated. The right side of store 1, which overlaps it, is computed all the
 * same: its operand, which nobody else holds, is let go. */
VP_TEST(right_side_completes_while_the_store_before_is_gated) {
    vp__test_threads(2);
    static double operand[LARGE], expected[LARGE];
    for (int i = 0; i < LARGE; i++) operand[i] = i;
    _Atomic bool released = false;
    vp__gate gate;
    vp_array target = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    VP_CHECK_OK(vp_sync());
    vp_put(target, vp_at(vp_range(0, 20000)),
           VP_GATED(vp_ones(VP_F64, vp_shape(20000)), &gate));
    vp_array source = vp_borrow(VP_F64, vp_shape(LARGE), NULL, operand, VP_READ_ONLY,
                                note_release, &released);
    vp_put(target, vp_at(vp_range(10000, 30000)),
           vp_add(vp_get(source, vp_range(0, 20000)), 5.0));
    vp_drop(source);
    VP_CHECK_SOON(atomic_load(&released));
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_SOON(VP_STAT(stores_waited) == 1);
    /* Neither store has happened, both in turn do. */
    const double *now =
        (const double *)(void *)atomic_load(&vp__test_storage(target)->host);
    VP_CHECK_EQ(now[0], 0);
    VP_CHECK_EQ(now[29999], 0);
    vp__gate_open(&gate);
    for (int i = 0; i < LARGE; i++)
        expected[i] = i < 10000 ? 1 : i < 30000 ? i - 10000 + 5 : 0;
    VP_CHECK_ARRAY(target, expected, LARGE);
}

VP_TEST(stores_stay_in_order) {
    vp__test_threads(2);
    static double expected[LARGE];
    vp__gate gate;
    vp_array target = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array start = vp_let(VP_GATED(vp_ones(VP_F64, vp_shape(1)), &gate));
    vp_put(target, vp_at(vp_range(0, 1000)), start);
    for (int i = 0; i < 1000; i++) expected[i] = 1;
    for (int k = 1; k <= 200; k++) {
        int from = (k * 37) % 900, to = from + 50 + k;
        vp_put(target, vp_at(vp_range(from, to)), (double)k);
        for (int i = from; i < to; i++) expected[i] = k;
    }
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_ARRAY(target, expected, LARGE);
}

/* Values that become ready in the opposite order of their stores. */
VP_TEST(stores_stay_in_order_when_values_do_not) {
    vp__test_threads(2);
    vp__gate gate[10];
    vp_array target = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array one = vp_let(vp_ones(VP_F64, vp_shape(1)));
    for (int i = 0; i < 10; i++)
        vp_put(target, vp_at(vp_range(i, i + 10)),
               vp_mul(VP_GATED(one, &gate[i]), i + 1.0));
    for (int i = 9; i >= 0; i--) {
        vp__gate_open(&gate[i]);
        if (i) VP_CHECK_SOON(VP_STAT(stores_waited) >= (uint64_t)(10 - i));
    }
    VP_CHECK_VALUES(vp_get(target, vp_range(0, 20)), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10,
                    10, 10, 10, 10, 10, 10, 10, 10, 0);
}

/* --- disjoint writes ---------------------------------------------------------------- */

VP_TEST(disjoint_writes_do_not_wait_for_each_other) {
    vp__gate gate;
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(LARGE)));
    vp_array one = vp_let(VP_GATED(vp_ones(VP_F64, vp_shape(1)), &gate));
    VP_CHECK_SOON(VP_STAT(in_flight) == 1);
    vp_put(a, vp_at(vp_range(0, 1)), one);
    vp_put(a, vp_at(vp_range(1, 2)), 2.0);
    vp_put(a, vp_at(vp_range(100, 30000)), 3.0);
    VP_CHECK_SOON(VP_STAT(in_flight) == 2); /* the gate and what waits for it */
    const double *now = (const double *)(void *)atomic_load(&vp__test_storage(a)->host);
    VP_CHECK_EQ(now[1], 2);
    VP_CHECK_EQ(now[29999], 3);
    VP_CHECK_VALUES(vp_get(a, 35000), 0); /* and a read beside them returns at once */
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(vp_get(a, vp_until(3)), 1, 2, 0);
}

/* Rows and columns of a matrix in both storage orders: one gated, the next at once. */
static void check_lines(vp_shape_t shape, bool rows) {
    vp__gate gate;
    vp_array a = vp_let(vp_zeros(VP_F64, shape));
    vp_array line = vp_let(vp_ones(VP_F64, vp_shape(200)));
    vp_array gated = vp_let(VP_GATED(line, &gate));
    VP_CHECK_SOON(VP_STAT(in_flight) == 1);
    for (int i = 0; i < 100; i++) {
        vp_index at = rows ? vp_at(i, VP_ALL) : vp_at(VP_ALL, i);
        if (i == 50)
            vp_put(a, at, vp_mul(gated, 50.0));
        else
            vp_put(a, at, vp_mul(line, (double)i));
    }
    VP_CHECK_SOON(VP_STAT(in_flight) == 2);
    VP_CHECK(vp__test_closed(&gate));
    vp_index beyond = rows ? vp_at(150, VP_ALL) : vp_at(VP_ALL, 150);
    VP_CHECK_VALUES(vp_sum(vp_get_at(a, beyond)), 0);
    vp__gate_open(&gate);
    static double expected[200 * 200];
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < 200; k++) {
            int line_number = rows ? i : k;
            expected[i * 200 + k] = line_number < 100 ? line_number : 0;
        }
    VP_CHECK_ARRAY(a, expected, 200 * 200);
    vp_drop(a), vp_drop(line), vp_drop(gated);
}

VP_TEST(rows_and_columns_do_not_wait_for_each_other) {
    check_lines(vp_shape(200, 200), true);
    check_lines(vp_shape(200, 200), false);
    check_lines(vp_fshape(200, 200), true);
    check_lines(vp_fshape(200, 200), false);
}

/* --- constant cost ------------------------------------------------------------------ */

enum { PENDING = 20000 };

/* Seconds of CPU this thread has used: other programs and the workers do not count. */
static double own_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Issues PENDING writes, the i-th by write(i), and checks that late ones take about as
 * long as early ones: what is pending must not be searched. Only the second round of a
 * test is judged, when the pool has the memory: a system may spend milliseconds on each
 * new page. */
static void check_linear(void (*write)(void *context, int i), void *context, int round) {
    enum { STRETCHES = 40, LENGTH = PENDING / STRETCHES };
    double early = 1e9, late = 1e9;
    for (int k = 0; k < STRETCHES; k++) {
        double start = own_seconds();
        for (int i = 0; i < LENGTH; i++) write(context, k * LENGTH + i);
        double took = (own_seconds() - start) / LENGTH;
        double *best = k < STRETCHES / 2 ? &early : &late;
        if (took < *best) *best = took;
    }
    if (round == 0) return;
    printf("%.0f ns a write at first, %.0f ns at last\n", early * 1e9, late * 1e9);
    /* A linear scan makes it tens of times as much, and tens of microseconds. */
    VP_CHECK_LT(late, 2 * early + 1e-6 * vp__test_slowdown());
    VP_CHECK_LT(late, 20e-6 * vp__test_slowdown());
}

typedef struct {
    vp_array target, value;
    int columns;
} walk;

static void write_forward(void *context, int i) {
    walk *w = context;
    vp_put(w->target, vp_at(i), vp_add(w->value, (double)i));
}

static void write_backward(void *context, int i) {
    walk *w = context;
    vp_put(w->target, vp_at(PENDING - 1 - i), vp_add(w->value, (double)i));
}

static void write_column(void *context, int i) {
    walk *w = context;
    vp_put(w->target, vp_at(VP_ALL, i), vp_add(w->value, (double)i));
}

static void write_row(void *context, int i) {
    walk *w = context;
    vp_put(w->target, vp_at(i, VP_ALL), vp_add(w->value, (double)i));
}

static void walk_once(vp_shape_t shape, void (*write)(void *, int), bool backward,
                      int round) {
    vp__gate gate;
    vp_array one = vp_let(vp_zeros(VP_F64, vp_scalar_shape()));
    walk w = {vp_let(vp_zeros(VP_F64, shape)), vp_let(VP_GATED(one, &gate)), 0};
    VP_CHECK_SOON(VP_STAT(in_flight) == 1);
    check_linear(write, &w, round);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_EQ(VP_STAT(in_flight), PENDING + 1);
    VP_CHECK_EQ(VP_STAT(limit_waits), 0);
    vp__gate_open(&gate);
    int64_t count = vp_size(w.target), inner = shape.ndim == 2 ? shape.dims[1] : 1;
    double *expected = malloc((size_t)count * sizeof *expected);
    VP_CHECK(expected != NULL);
    for (int64_t i = 0; i < count; i++) {
        int64_t line = shape.ndim == 2 && shape.dims[0] == 2 ? i % inner : i / inner;
        expected[i] = (double)(backward ? PENDING - 1 - line : line);
    }
    VP_CHECK_ARRAY(w.target, expected, count);
    free(expected);
    vp_drop(w.target), vp_drop(w.value), vp_drop(one);
}

static void check_walk(vp_shape_t shape, void (*write)(void *, int), bool backward) {
    vp__test_threads(2);
    vp__tuning.bundle_after = INT_MAX; /* each is an access of its own */
    for (int round = 0; round < 2; round++) walk_once(shape, write, backward, round);
}

VP_TEST_TIMEOUT(pending_writes_cost_the_same_forward, 60) {
    check_walk(vp_shape(PENDING), write_forward, false);
}
VP_TEST_TIMEOUT(pending_writes_cost_the_same_backward, 60) {
    check_walk(vp_shape(PENDING), write_backward, true);
}
VP_TEST_TIMEOUT(pending_writes_cost_the_same_by_rows, 60) {
    check_walk(vp_shape(PENDING, 2), write_row, false);
}
VP_TEST_TIMEOUT(pending_writes_cost_the_same_by_columns, 60) {
    check_walk(vp_shape(2, PENDING), write_column, false);
}

/* Reads of one array and writes of another in turn, as K-means does. */
static void write_after_read(void *context, int i) {
    walk *w = context;
    vp_put(w->target, vp_at(i), vp_add(vp_get(w->value, i), 1.0));
}

VP_TEST_TIMEOUT(pending_reads_and_writes_cost_the_same, 60) {
    vp__test_threads(2);
    for (int round = 0; round < 2; round++) {
        vp__gate gate;
        vp_array x = vp__test_counting(PENDING);
        walk w = {vp_let(vp_zeros(VP_F64, vp_shape(PENDING))), vp_let(VP_GATED(x, &gate)),
                  0};
        check_linear(write_after_read, &w, round);
        VP_CHECK(vp__test_closed(&gate));
        vp__gate_open(&gate);
        VP_CHECK_VALUES(vp_all(vp_eq(w.target, vp_add(x, 1.0))), 1);
        VP_CHECK_VALUES(vp_get(w.target, vp_range(9998, 10001)), 9999, 10000, 10001);
        vp_drop(w.target), vp_drop(w.value), vp_drop(x);
    }
}

/* --- reading what was just written -------------------------------------------------- */

static void write_next(void *context, int i) {
    walk *w = context;
    if (i) vp_put(w->target, vp_at(i), vp_add(vp_get(w->target, i - 1), 1.0));
}

static void read_modify_write(bool gated, int round) {
    vp__gate gate;
    vp_array five = vp_let(vp_full(VP_F64, vp_scalar_shape(), 5.0));
    walk w = {vp_let(vp_zeros(VP_F64, vp_shape(PENDING))), five, 0};
    if (gated) w.value = vp_let(VP_GATED(five, &gate));
    vp_put(w.target, vp_at(0), w.value);
    check_linear(write_next, &w, round);
    if (gated) {
        VP_CHECK(vp__test_closed(&gate));
        vp__gate_open(&gate);
    }
    static double expected[PENDING];
    for (int i = 0; i < PENDING; i++) expected[i] = 5 + i;
    VP_CHECK_ARRAY(w.target, expected, PENDING);
    vp_drop(w.target), vp_drop(five);
    if (gated) vp_drop(w.value);
}

static void check_read_modify_write(bool gated) {
    vp__test_threads(2);
    for (int round = 0; round < 2; round++) read_modify_write(gated, round);
}

VP_TEST_TIMEOUT(each_element_from_the_one_before, 60) { check_read_modify_write(false); }
VP_TEST_TIMEOUT(each_element_from_the_one_before_gated, 60) {
    check_read_modify_write(true);
}

VP_TEST(one_element_again_and_again) {
    vp__gate gate;
    vp_array a = vp_let(VP_GATED(vp__test_counting(3000), &gate));
    for (int i = 0; i < 1000; i++) vp_put(a, vp_at(7), vp_add(vp_get(a, 7), 1.0));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(vp_get(a, vp_range(6, 9)), 6, 1007, 8);
}

/* --- parts of one array, each written by a thread of its own ------------------------- */

enum { PART = 600 };

typedef struct {
    vp_array part, source;
    int kind;
} writer;

/* Sometimes others share the memory, so that the write renames; the copy which that makes
 * must not miss what the other thread is just about to write. */
static void *write_part(void *arg) {
    const writer *w = arg;
    for (int i = 0; i < PART; i++) {
        vp_array shares = vp_let(w->part);
        switch (w->kind) {
        case 0: vp_put(w->part, vp_at(i), i + 1); break;
        case 1:
            vp_put(w->part, vp_at(i), vp_sum(vp_get(w->source, vp_range(0, i + 1))));
            break;
        default: vp_put(w->part, vp_at(vp_arange(VP_I64, i, i + 1, 1)), i + 1); break;
        }
        if (i % 8 == 0) vp_drop(shares);
    }
    return NULL;
}

static void check_parts(int kind) {
    vp__test_threads(2);
    static double expected[2 * PART];
    for (int i = 0; i < 2 * PART; i++) expected[i] = i % PART + 1;
    for (int round = 0; round < 40; round++) {
        vp_scope s = vp_begin();
        vp_array whole = vp_let(vp_zeros(VP_F64, vp_shape(2 * PART)));
        vp_array ones = vp_let(vp_ones(VP_F64, vp_shape(PART)));
        writer first = {vp_view(vp_get(whole, vp_until(PART))), ones, kind};
        writer other = {vp_view(vp_get(whole, vp_from_index(PART))), ones, kind};
        pthread_t thread;
        VP_CHECK(pthread_create(&thread, NULL, write_part, &other) == 0);
        write_part(&first);
        pthread_join(thread, NULL);
        VP_CHECK_ARRAY(whole, expected, 2 * PART);
        vp_end(s);
    }
}

VP_TEST_TIMEOUT(two_threads_write_parts_of_one_array, 60) { check_parts(0); }
VP_TEST_TIMEOUT(two_threads_put_sums_in_parts_of_one_array, 60) { check_parts(1); }
VP_TEST_TIMEOUT(two_threads_scatter_into_parts_of_one_array, 60) { check_parts(2); }
