/* SPDX-License-Identifier: Apache-2.0
 *
 * A write whose right side reads the same array at other places: it sees the contents
 * from before the write, whole, however large the array is, whether it is computed at
 * once, as a node, in many pieces on several threads, or behind a gate.
 */
#include <stdlib.h>
#include <string.h>

#include "net/tuning.h"
#include "tests/net_support.h"

/* Ways to run the same program. */
typedef enum { PLAIN, AS_NODES, IN_PIECES, GATED, WAYS } way;

static void prepare(way how) {
    vp__test_threads(how == PLAIN ? 1 : 3);
    if (how == PLAIN) return;
    vp__tuning.inline_ns = 0;
    vp__tuning.inline_elements = -1;
    if (how != IN_PIECES) return;
    vp__tuning.piece_ns = 100;
    vp__tuning.flat_grain = 16;
    vp__tuning.wake_ns = 0;
}

static vp_array start(way how, vp__gate *gate, int64_t n) {
    vp_array x = vp__test_counting(n);
    return how == GATED ? vp_let(VP_GATED(x, gate)) : x;
}

static void go(way how, vp__gate *gate) {
    if (how != GATED) return;
    VP_CHECK(vp__test_closed(gate));
    vp__gate_open(gate);
}

static const int64_t sizes[] = {5, 100, 3000, 50000};

/* A[1:] = A[:-1], A[:-1] = A[1:], A = A[::-1], each twice. */
static void check_shifts(way how) {
    prepare(how);
    for (int k = 0; k < 4; k++) {
        int64_t n = sizes[k];
        vp__gate gate;
        double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
        VP_CHECK(x && y);
        for (int64_t i = 0; i < n; i++) x[i] = (double)i;
        vp_array a = start(how, &gate, n);
        for (int turn = 0; turn < 2; turn++) {
            vp_put(a, vp_at(vp_from_index(1)), vp_get(a, vp_until(-1)));
            memmove(x + 1, x, (size_t)(n - 1) * sizeof *x);
            vp_put(a, vp_at(vp_until(-1)), vp_mul(vp_get(a, vp_from_index(1)), 2.0));
            for (int64_t i = 0; i + 1 < n; i++) x[i] = 2 * x[i + 1];
            vp_put(a, vp_at(VP_ALL), vp_get(a, vp_every(-1)));
            for (int64_t i = 0; i < n; i++) y[i] = x[n - 1 - i];
            memcpy(x, y, (size_t)n * sizeof *x);
            vp_put(a, vp_at(vp_every(2)),
                   vp_add(vp_get(a, vp_range(0, (n + 1) / 2)), 1.0));
            for (int64_t i = 0; i < (n + 1) / 2; i++) y[i] = x[i] + 1;
            for (int64_t i = 0; i < (n + 1) / 2; i++) x[2 * i] = y[i];
        }
        go(how, &gate);
        VP_CHECK_ARRAY(a, x, n);
        vp_drop(a);
        free(x), free(y);
    }
}

VP_TEST(shifts_plain) { check_shifts(PLAIN); }
VP_TEST(shifts_as_nodes) { check_shifts(AS_NODES); }
VP_TEST(shifts_in_pieces) { check_shifts(IN_PIECES); }
VP_TEST(shifts_gated) { check_shifts(GATED); }

/* Elements computed from those before them, in the same order: A[1:] = A[:-1] + 1, by one loop
 * that runs into what it has written unless it is kept from that. */
static void check_forward(way how) {
    prepare(how);
    for (int k = 0; k < 4; k++) {
        int64_t n = sizes[k];
        vp__gate gate;
        double *x = malloc((size_t)n * sizeof *x);
        VP_CHECK(x);
        for (int64_t i = 0; i < n; i++) x[i] = (double)i;
        vp_array a = start(how, &gate, n);
        for (int64_t by = 1; by < 4; by++) {
            vp_put(a, vp_at(vp_from_index(by)), vp_add(vp_get(a, vp_until(-by)), 1.0));
            for (int64_t i = n - 1; i >= by; i--) x[i] = x[i - by] + 1;
        }
        go(how, &gate);
        VP_CHECK_ARRAY(a, x, n);
        vp_drop(a);
        free(x);
    }
}

/* One element at a time, of the one before it, itself and the one behind. */
static void check_recurrence(way how) {
    enum { N = 40 };
    prepare(how);
    vp__gate gate;
    double x[N];
    for (int i = 0; i < N; i++) x[i] = (double)i;
    vp_array a = start(how, &gate, N);
    for (int64_t j = 1; j + 1 < N; j++) {
        vp_put(a, vp_at(j),
               vp_sub(vp_add(vp_mul(vp_get(a, j - 1), 0.5), vp_get(a, j)),
                      vp_get(a, j + 1)));
        x[j] = x[j - 1] * 0.5 + x[j] - x[j + 1];
    }
    go(how, &gate);
    VP_CHECK_ARRAY(a, x, N);
    vp_drop(a);
}

VP_TEST(recurrence_plain) { check_recurrence(PLAIN); }
VP_TEST(recurrence_as_nodes) { check_recurrence(AS_NODES); }
VP_TEST(recurrence_gated) { check_recurrence(GATED); }

VP_TEST(forward_plain) { check_forward(PLAIN); }
VP_TEST(forward_as_nodes) { check_forward(AS_NODES); }
VP_TEST(forward_in_pieces) { check_forward(IN_PIECES); }
VP_TEST(forward_gated) { check_forward(GATED); }

/* A = A.T, A[:] = A + A.T, A[0] = sum over rows, A += A[0]. */
static void check_matrix(way how) {
    prepare(how);
    static const int64_t sides[] = {3, 12, 60, 200};
    for (int k = 0; k < 4; k++) {
        int64_t n = sides[k];
        vp__gate gate;
        double *x = malloc((size_t)(n * n) * sizeof *x),
               *y = malloc((size_t)(n * n) * sizeof *y);
        VP_CHECK(x && y);
        for (int64_t i = 0; i < n * n; i++) x[i] = (double)i;
        vp_array flat = start(how, &gate, n * n);
        vp_array a = vp_view(vp_reshape(flat, vp_shape(n, n)));
        vp_put(a, vp_at(VP_ALL), vp_transpose(a));
        for (int64_t i = 0; i < n * n; i++) y[i] = x[i % n * n + i / n];
        vp_put(a, vp_at(VP_ALL), vp_add(vp_mul(a, 3.0), vp_transpose(a)));
        for (int64_t i = 0; i < n * n; i++) x[i] = 3 * y[i] + y[i % n * n + i / n];
        vp_put(a, vp_at(0), vp_max(a, 0));
        memcpy(y, x, (size_t)(n * n) * sizeof *x);
        for (int64_t i = 0; i < n * n; i++)
            if (x[i] > y[i % n]) y[i % n] = x[i];
        vp_put(a, vp_at(VP_ALL), vp_add(a, vp_get(a, 0)));
        for (int64_t i = 0; i < n * n; i++) x[i] = y[i] + y[i % n];
        go(how, &gate);
        VP_CHECK_ARRAY(a, x, n * n);
        VP_CHECK_ARRAY(flat, x, n * n);
        vp_drop(a), vp_drop(flat);
        free(x), free(y);
    }
}

VP_TEST(matrix_plain) { check_matrix(PLAIN); }
VP_TEST(matrix_as_nodes) { check_matrix(AS_NODES); }
VP_TEST(matrix_in_pieces) { check_matrix(IN_PIECES); }
VP_TEST(matrix_gated) { check_matrix(GATED); }

/* By index arrays and masks: A[p] = A[q], A[A > c] = -A[A > c], A[p] = A[p] + 1. */
static void check_indexed(way how) {
    prepare(how);
    for (int k = 0; k < 4; k++) {
        int64_t n = sizes[k];
        vp__gate gate;
        double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
        VP_CHECK(x && y);
        for (int64_t i = 0; i < n; i++) x[i] = (double)i;
        vp_array a = start(how, &gate, n);
        /* p turns the array round; q is p shifted by one. */
        vp_array p = vp_let(vp_arange(VP_I64, (double)(n - 1), -1, -1));
        vp_array q = vp_let(vp_mod(vp_add(p, 1), n));
        vp_put(a, vp_at(p), vp_get(a, q));
        memcpy(y, x, (size_t)n * sizeof *x);
        for (int64_t i = 0; i < n; i++) x[n - 1 - i] = y[(n - i) % n];
        double c = (double)n / 2;
        vp_array high = vp_let(vp_gt(a, c));
        vp_put(a, vp_at(high), vp_neg(vp_get(a, high)));
        for (int64_t i = 0; i < n; i++)
            if (x[i] > c) x[i] = -x[i];
        vp_put(a, vp_at(p), vp_add(vp_get(a, vp_every(-1)), 1.0));
        for (int64_t i = 0; i < n; i++) x[i] += 1;
        go(how, &gate);
        VP_CHECK_ARRAY(a, x, n);
        vp_drop(a), vp_drop(p), vp_drop(q), vp_drop(high);
        free(x), free(y);
    }
}

VP_TEST(indexed_plain) { check_indexed(PLAIN); }
VP_TEST(indexed_as_nodes) { check_indexed(AS_NODES); }
VP_TEST(indexed_in_pieces) { check_indexed(IN_PIECES); }
VP_TEST(indexed_gated) { check_indexed(GATED); }

/* Indices that are the array written, and a mask computed from it in the same breath. */
VP_TEST(the_target_as_its_own_index) {
    for (int turn = 0; turn < 2; turn++) {
        vp__gate gate;
        static const int64_t order[] = {3, 0, 4, 1, 2};
        vp_array a = vp_let(vp_from(VP_I64, vp_shape(5), order));
        if (turn) vp_set(a, VP_GATED(a, &gate));
        vp_put(a, vp_at(a), vp_arange(VP_I64, 0, 5, 1)); /* a becomes its own inverse */
        vp_put(a, vp_at(vp_gt(a, 2)), 9);
        if (turn) vp__gate_open(&gate);
        VP_CHECK_VALUES(a, 1, 9, 9, 0, 2);
        vp_drop(a);
    }
}

/* K-means' distances: what goes into a reduction, what comes after it, and the reduction of
 * that are one instruction of the net. */
VP_TEST(reductions_of_reductions_are_one_segment) {
    vp__test_no_holding();
    vp__test_threads(2);
    enum { ROWS = 7, COLUMNS = 5 };
    vp__gate gate;
    vp_array c =
        vp_let(vp_reshape(vp__test_counting(ROWS * COLUMNS), vp_shape(ROWS, COLUMNS)));
    VP_CHECK_OK(vp_wait(c));
    vp_array a = vp_let(VP_GATED(vp_get(c, VP_ALL, vp_range(3, 4)), &gate));
    const uint64_t issued = VP_STAT(issued), inlined = VP_STAT(inlined);
    vp_array nearest = vp_let(vp_argmin(vp_sqrt(vp_sum(vp_square(vp_sub(a, c)), 0)), 0));
    VP_CHECK_EQ(VP_STAT(issued), issued + 1);
    VP_CHECK_EQ(VP_STAT(inlined), inlined);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(nearest, 3);
    vp_drop(a), vp_drop(c), vp_drop(nearest);
}

/* Nor does the mean of so many elements, whatever type it shall have. */
VP_TEST(means_of_late_sizes_do_not_wait) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(8);
    VP_CHECK_OK(vp_sync());
    static const vp_dtype types[] = {VP_AUTO, VP_F32, VP_I32, VP_C128};
    for (int i = 0; i < 4; i++) {
        vp__gate size, run;
        vp_array late = vp_let(VP_GATED_SIZE(x, &size, &run));
        vp_array mean = vp_let(vp_mean(late, 0, types[i]));
        vp_array variance = vp_let(vp_var(vp_add(late, 1.0), 0, types[i]));
        VP_CHECK(vp__test_closed(&size));
        vp__gate_open(&size);
        vp__gate_open(&run);
        const bool whole = types[i] == VP_I32; /* the variance then of distances from 4 */
        VP_CHECK_VALUES(vp_real(mean), whole ? 3 : 3.5);
        VP_CHECK_VALUES(vp_real(variance), whole ? 5 : 5.25);
        vp_drop(late), vp_drop(mean), vp_drop(variance);
    }
    vp_end(s);
}
