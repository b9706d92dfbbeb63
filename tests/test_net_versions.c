/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads before writes survive: whoever read an array, by name, through a view or in an
 * expression that is still open, sees what was there when the program said so, whatever
 * the program wrote next. Large arrays are not copied for it, small ones are.
 */
#include <stdlib.h>
#include <string.h>

#include "net/tuning.h"
#include "tests/net_support.h"

enum { SMALL = 100, LARGE = 20000 };

typedef enum { PART, STRIDED, WHOLE, INDEXED, REBIND, WRITES } write_kind;

/* Writes 1000 over (part of) x, whose elements were 0, 1, 2, …; notes in *now what there
 * should be now. */
static void overwrite(write_kind kind, vp_array x, double *now, int64_t n) {
    static const int64_t places[] = {2, 0};
    vp_array index;
    switch (kind) {
    case PART:
        vp_put(x, vp_at(vp_range(1, 4)), 1000.0);
        for (int i = 1; i < 4; i++) now[i] = 1000;
        break;
    case STRIDED:
        vp_put(x, vp_at(vp_every(2)), 1000.0);
        for (int64_t i = 0; i < n; i += 2) now[i] = 1000;
        break;
    case WHOLE:
        vp_put(x, vp_at(VP_ALL), 1000.0);
        for (int64_t i = 0; i < n; i++) now[i] = 1000;
        break;
    case INDEXED:
        index = vp_let(vp_from(VP_I64, vp_shape(2), places));
        vp_put(x, vp_at(index), 1000.0);
        vp_drop(index);
        now[0] = now[2] = 1000;
        break;
    case REBIND:
        vp_set(x, vp_full(VP_F64, vp_shape(n), 1000.0));
        for (int64_t i = 0; i < n; i++) now[i] = 1000;
        break;
    case WRITES: break;
    }
}

typedef enum {
    NODE,      /* a node that waits for the gate */
    VIEW_NODE, /* the same, reading a view */
    OPEN,      /* an open expression over the array */
    OPEN_VIEW, /* an open expression over a view */
    OPEN_LEAF, /* a selection nobody used yet */
    COPY,      /* another name */
    READS
} read_kind;

static void check_reader(write_kind how, read_kind who, int64_t n, bool through_view) {
    double *old = malloc((size_t)n * sizeof *old), *now = malloc((size_t)n * sizeof *now);
    VP_CHECK(old && now);
    for (int64_t i = 0; i < n; i++) old[i] = now[i] = (double)i;
    vp__gate gate;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(n);
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
    vp_array view = vp_view(vp_get(x, VP_ALL));
    vp_array even = vp_view(vp_get(x, vp_every(2)));
    vp_array reader = {0, 0};
    vp_expr open = {0, 0};
    bool half = false, halved = false;
    switch (who) {
    case NODE: reader = vp_let(vp_add(x, zero)); break;
    case VIEW_NODE:
        reader = vp_let(vp_add(even, zero));
        half = true;
        break;
    case OPEN: open = vp_add(x, 0.0); break;
    case OPEN_VIEW:
        open = vp_add(even, zero);
        half = true;
        break;
    case OPEN_LEAF: open = vp_get(x, VP_ALL); break;
    case COPY: reader = vp_let(x); break;
    case READS: break;
    }
    overwrite(how, through_view && how != REBIND ? view : x, now, n);
    if (how == REBIND) {
        /* Views keep the old array. */
        VP_CHECK_ARRAY(view, old, n);
    }
    VP_CHECK(vp__test_closed(&gate));
    /* A pending reader of a large array makes a write to part of it wait; a rename lets
     * the program see the new contents at once. */
    bool waits = n == LARGE && how != WHOLE && how != REBIND &&
                 (who == NODE || who == VIEW_NODE || who == OPEN_VIEW);
    if (!waits) VP_CHECK_ARRAY(x, now, n);
    vp__gate_open(&gate);
    if (half) {
        for (int64_t i = 0; 2 * i < n; i++) old[i] = (double)(2 * i);
        halved = true;
    }
    int64_t count = halved ? (n + 1) / 2 : n;
    if (open.generation)
        VP_CHECK_ARRAY(open, old, count);
    else
        VP_CHECK_ARRAY(reader, old, count);
    VP_CHECK_ARRAY(x, now, n);
    if (how != REBIND) VP_CHECK_ARRAY(view, now, n);
    vp_end(s);
    free(old), free(now);
}

static void check_writes(int64_t n) {
    vp__test_threads(2);
    for (int how = 0; how < WRITES; how++)
        for (int who = 0; who < READS; who++)
            for (int through = 0; through < 2; through++)
                check_reader((write_kind)how, (read_kind)who, n, through);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(readers_of_a_small_array_see_the_old_value) { check_writes(SMALL); }
VP_TEST(readers_of_a_large_array_see_the_old_value) { check_writes(LARGE); }

VP_TEST(a_small_array_is_renamed_a_large_one_waits) {
    vp__test_threads(2);
    for (int large = 0; large < 2; large++) {
        vp__gate gate;
        vp_array x = vp__test_counting(large ? LARGE : SMALL);
        vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
        VP_CHECK_SOON(VP_STAT(in_flight) == 1);
        vp_array reader = vp_let(vp_add(x, zero));
        vp_stats before = vp__test_stats();
        vp_put(x, vp_at(0), 7.0);
        VP_CHECK_EQ(VP_STAT(renamed) - before.renamed, large ? 0 : 1);
        if (large) VP_CHECK_SOON(VP_STAT(stores_waited) == before.stores_waited + 1);
        vp__gate_open(&gate);
        VP_CHECK_VALUES(vp_get(x, vp_until(2)), 7, 1);
        VP_CHECK_VALUES(vp_get(reader, vp_until(2)), 0, 1);
        vp_drop(x), vp_drop(zero), vp_drop(reader);
    }
}

VP_TEST(each_reader_sees_its_own_version) {
    for (int turn = 0; turn < 2; turn++) {
        int64_t n = turn ? LARGE : SMALL;
        vp__gate gate;
        vp_array x = vp_let(vp_zeros(VP_F64, vp_shape(n)));
        vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
        vp_array seen[20];
        for (int i = 0; i < 20; i++) {
            vp_put(x, vp_at(vp_range(0, i + 1)), (double)i);
            seen[i] = vp_let(vp_add(vp_get(x, vp_range(0, 3)), zero));
        }
        vp__gate_open(&gate);
        VP_CHECK_VALUES(seen[0], 0, 0, 0);
        VP_CHECK_VALUES(seen[1], 1, 1, 0);
        for (int i = 2; i < 20; i++)
            VP_CHECK_VALUES(seen[i], (double)i, (double)i, (double)i);
    }
}

/* A renamed buffer changes under all its views. */
VP_TEST(views_follow_a_rename) {
    vp__gate gate;
    vp_array x = vp__test_counting(SMALL);
    vp_array view = vp_view(vp_get(x, vp_range(10, 20)));
    vp_array deeper = vp_view(vp_get(view, vp_every(-3)));
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
    vp_array reader = vp_let(vp_add(x, zero));
    vp_put(x, vp_at(VP_ALL), vp_add(x, 100.0)); /* whole: renamed */
    VP_CHECK_VALUES(deeper, 119, 116, 113, 110);
    vp_array again = vp_let(vp_add(x, zero));
    vp_put(deeper, vp_at(0), -1.0); /* part of a small one: renamed */
    VP_CHECK_VALUES(vp_get(x, vp_range(18, 21)), 118, -1, 120);
    VP_CHECK_VALUES(vp_get(view, vp_from_index(8)), 118, -1);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(vp_get(reader, vp_range(18, 21)), 18, 19, 20);
    VP_CHECK_VALUES(vp_get(again, vp_range(18, 21)), 118, 119, 120);
}

VP_TEST(copies_are_lazy) {
    enum { N = 1 << 20 };
    vp_array x = vp__test_counting(N);
    int64_t base = vp__test_bytes_now();
    vp_array y = vp_let(x), z = vp_let(y);
    vp_set(z, x);
    VP_CHECK_LT(vp__test_bytes_now() - base, 10000);
    vp_put(y, vp_at(0), 5.0);
    VP_CHECK_LT(vp__test_bytes_now() - base, 9 << 20);
    vp_put(y, vp_at(1), 6.0);
    vp_put(x, vp_at(2), 7.0);
    VP_CHECK_LT(vp__test_bytes_now() - base, 17 << 20);
    VP_CHECK_VALUES(vp_get(x, vp_until(4)), 0, 1, 7, 3);
    VP_CHECK_VALUES(vp_get(y, vp_until(4)), 5, 6, 2, 3);
    VP_CHECK_VALUES(vp_get(z, vp_until(4)), 0, 1, 2, 3);
    VP_CHECK_LE(VP_STAT(renamed), 2);
    /* The last holder of a version writes in place. */
    vp_put(z, vp_at(3), 8.0);
    VP_CHECK_LE(VP_STAT(renamed), 2);
    VP_CHECK_VALUES(vp_get(z, vp_until(4)), 0, 1, 2, 8);
}

/* The loop of K-means: a version is shared once, then a large array is written in
 * place. */
VP_TEST(a_loop_of_partial_writes_copies_at_most_once) {
    enum { N = 1 << 18 };
    vp_array classes = vp__test_counting(N), old = vp_let(vp_zeros(VP_F64, vp_shape(N)));
    vp__test_bytes_now();
    vp_reset_peak();
    int64_t base = VP_STAT(bytes_in_use);
    for (int turn = 0; turn < 3; turn++) {
        vp_set(old, classes);
        vp_stats before = vp__test_stats();
        for (int i = 0; i < 500; i++)
            vp_put(classes, vp_at(i), vp_add(vp_get(old, i), 1.0));
        VP_CHECK_LE(VP_STAT(renamed) - before.renamed, 1);
    }
    VP_CHECK_OK(vp_sync());
    VP_CHECK_LT(VP_STAT(peak_bytes) - base, 3 * 8 * N);
    VP_CHECK_VALUES(vp_get(classes, vp_range(498, 502)), 501, 502, 500, 501);
    VP_CHECK_VALUES(vp_get(old, vp_range(498, 502)), 500, 501, 500, 501);
}

/* --- borrowed memory is never renamed ----------------------------------------------- */

VP_TEST(readers_of_borrowed_memory_see_the_old_value) {
    enum { N = 64 };
    for (int who = 0; who < READS; who++) {
        double memory[N], old[N];
        for (int i = 0; i < N; i++) memory[i] = old[i] = i;
        vp__gate gate;
        vp_scope s = vp_begin();
        vp_array x =
            vp_borrow(VP_F64, vp_shape(N), NULL, memory, VP_WRITABLE, NULL, NULL);
        vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
        vp_array reader = {0, 0};
        vp_expr open = {0, 0};
        switch ((read_kind)who) {
        case VIEW_NODE:
        case NODE: reader = vp_let(vp_add(vp_get(x, VP_ALL), zero)); break;
        case OPEN: open = vp_add(x, 0.0); break;
        case OPEN_VIEW: open = vp_add(vp_get(x, VP_ALL), zero); break;
        case OPEN_LEAF: open = vp_get(x, VP_ALL); break;
        case COPY: reader = vp_let(x); break;
        case READS: break;
        }
        vp_put(x, vp_at(vp_range(0, 4)), 1000.0);
        vp_put(x, vp_at(VP_ALL), vp_add(x, 1.0));
        vp__gate_open(&gate);
        if (open.generation)
            VP_CHECK_ARRAY(open, old, N);
        else
            VP_CHECK_ARRAY(reader, old, N);
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(memory[0], 1001);
        VP_CHECK_EQ(memory[3], 1001);
        VP_CHECK_EQ(memory[4], 5);
        VP_CHECK_EQ(memory[N - 1], N);
        vp_end(s);
    }
}

VP_TEST(a_rename_copies_what_is_still_being_written) {
    vp__gate gate, other;
    vp_array x = vp_let(VP_GATED(vp__test_counting(SMALL), &gate));
    vp_put(x, vp_at(3), -3.0); /* waits for x */
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &other));
    vp_array reader = vp_let(vp_add(x, zero));
    vp_put(x, vp_at(4), -4.0); /* renames: copies what x will be */
    vp__gate_open(&gate);
    VP_CHECK_VALUES(vp_get(x, vp_range(2, 6)), 2, -3, -4, 5);
    VP_CHECK(vp__test_closed(&other));
    vp__gate_open(&other);
    VP_CHECK_VALUES(vp_get(reader, vp_range(2, 6)), 2, -3, 4, 5);
}
