/* SPDX-License-Identifier: Apache-2.0
 *
 * Library operations as work of the net: which of them run on the thread that issues them, and
 * what threads may do to one array at the same time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "net/tuning.h"
#include "tests/net_support.h"

/* How many instructions have run on the caller since. */
static uint64_t inlined(uint64_t since) { return VP_STAT(inlined) - since; }

/* What is generated has no operands; its own size says how long it takes. */
VP_TEST(large_generated_arrays_do_not_run_on_the_caller) {
    enum { MANY = 50000000, SIDE = 7000 };
    vp__test_threads(2);
    vp_scope s = vp_begin();
    const uint64_t before = VP_STAT(inlined);
    vp_let(vp_linspace(VP_I8, 0, 100, MANY));
    vp_let(vp_eye(VP_BOOL, SIDE, SIDE, 0));
    vp_let(vp_arange(VP_I64, 0, 1000000, 1));
    vp_let(vp_counter(VP_F32, vp_shape(1000, 1000), 0, 1));
    VP_CHECK_EQ(inlined(before), 0);
    vp_end(s);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(small_generated_arrays_run_on_the_caller) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 1000000; /* also where they take long, as in slow builds */
    vp_scope s = vp_begin();
    const uint64_t before = VP_STAT(inlined);
    vp_let(vp_linspace(VP_F64, 0, 1, 11));
    vp_let(vp_eye(VP_F64, 3, 3, 0));
    vp_let(vp_arange(VP_I64, 0, 10, 1));
    vp_let(vp_counter(VP_F32, vp_shape(2, 2), 0, 1));
    VP_CHECK_EQ(inlined(before), 4);
    vp_end(s);
}

/* --- writes by index from two threads ------------------------------------------------------ */

enum { ELEMENTS = 64, WRITES = 400 };
static vp_array shared_array;

/* Writes every other element by index, from what the array holds itself, and captures the
 * array now and then, which makes the next write give it another storage. */
static void *write_by_index(void *argument) {
    const int64_t self = (int64_t)(intptr_t)argument;
    vp_scope s = vp_begin();
    vp_array mine = vp_let(vp_arange(VP_I64, self, ELEMENTS, 2));
    for (int i = 0; i < WRITES; i++) {
        vp_scope turn = vp_begin();
        if (i % 3 == 0) vp_let(shared_array);
        vp_expr open = vp_get(shared_array, self); /* reads what is written, unissued */
        if (i % 2)
            vp_put(shared_array, vp_at(mine), vp_full(VP_I64, vp_shape(1), 1000 + i));
        else
            vp_put(shared_array, vp_at(mine), vp_add(vp_get(shared_array, mine), 0));
        VP_CHECK_OK(vp_wait(open));
        vp_end(turn);
    }
    vp_end(s);
    return NULL;
}

static void check_writers(int threads, const char *inline_nodes) {
    setenv("VP_INLINE", inline_nodes, 1);
    vp__test_threads(threads);
    vp_scope s = vp_begin();
    shared_array = vp_let(vp_zeros(VP_I64, vp_shape(ELEMENTS)));
    pthread_t thread[2];
    for (intptr_t i = 0; i < 2; i++)
        VP_CHECK(!pthread_create(&thread[i], NULL, write_by_index, (void *)i));
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    int64_t seen[ELEMENTS];
    VP_CHECK_OK(vp_read(shared_array, seen, sizeof seen));
    /* Each was written by one thread alone: some interleaving, never corruption. */
    for (int k = 0; k < ELEMENTS; k++)
        VP_CHECK(seen[k] == 0 || (seen[k] >= 1001 && seen[k] < 1000 + WRITES));
    vp_end(s);
}

VP_TEST(threads_write_one_array_by_index) { check_writers(2, "1"); }
VP_TEST(threads_write_one_array_by_index_without_inlining) { check_writers(3, "0"); }
