/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for what: the program for nothing but what it looks at, a node for its inputs
 * alone, and a size never for a result. Every test holds a gate closed and shows what
 * happens all the same.
 */
#include <stdlib.h>

#include "net/tuning.h"
#include "tests/net_support.h"

/* So many accesses of one array are pending that groups of them are shared: who reads it in two
 * places waits for those before it, and not for itself. */
static void read_twice(int pending, bool backwards) {
    vp__gate gate;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(100), one = vp_let(vp_ones(VP_F64, vp_shape(1)));
    VP_CHECK_OK(vp_sync());
    vp_put(x, vp_at(vp_range(99, 100)), VP_GATED(one, &gate));
    for (int i = 0; i < pending; i++)
        vp_put(x, vp_at(50 + i % 20), vp_sum(vp_get(x, vp_range(99, 100))));
    vp_expr low = vp_get(x, vp_range(99, 100)), high = vp_get(x, vp_range(0, 2));
    vp_array y = vp_let(backwards ? vp_add(high, low) : vp_add(low, high));
    vp_array z = vp_let(vp_add(vp_get(x, vp_range(49, 52)), vp_get(x, vp_range(0, 3))));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(y, 1, 2);
    VP_CHECK_VALUES(z, 49, pending > 0 ? 2 : 51, pending > 1 ? 3 : 53);
    vp_end(s);
}

VP_TEST(who_reads_twice_does_not_wait_for_itself) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.copy_bytes = 0;
    for (int pending = 0; pending < 40; pending++) {
        read_twice(pending, false);
        read_twice(pending, true);
    }
}

VP_TEST(issue_does_not_wait) {
    vp__gate gate;
    vp_array x = vp__test_counting(5);
    vp_array y = vp_let(VP_GATED(x, &gate));
    vp_array z = vp_let(vp_mul(vp_add(y, 1.0), 2.0));
    vp_put(z, vp_at(0), vp_get(y, 4));
    vp_put(z, vp_at(vp_range(1, 3)), -1.0);
    vp_array total = vp_let(vp_sum(z));
    vp_set(x, vp_sort(y, 0));
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_GT(VP_STAT(in_flight), 3);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(z, 4, -1, -1, 8, 10);
    VP_CHECK_VALUES(total, 20);
    VP_CHECK_VALUES(x, 0, 1, 2, 3, 4);
}

/* Issues behind the gate, in a scope of its own, and returns. */
static vp_array twice(vp_array x, vp__gate *gate) {
    vp_scope s = vp_begin();
    vp_array y = vp_let(VP_GATED(x, gate));
    vp_array z = vp_let(vp_add(y, y));
    vp_keep(z);
    vp_end(s);
    return z;
}

VP_TEST(return_does_not_wait) {
    vp__test_no_holding();
    vp__gate gate;
    vp_array z = twice(vp__test_counting(3), &gate);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_EQ(VP_STAT(in_flight), 2);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(z, 0, 2, 4);
}

VP_TEST(scope_end_does_not_wait) {
    int64_t base = vp__test_bytes_now();
    vp__gate gate;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(1000);
    vp_array y = vp_let(VP_GATED(x, &gate));
    vp_array z = vp_let(vp_sin(y));
    vp_put(z, vp_at(vp_range(0, 10)), vp_get(y, vp_range(10, 20)));
    vp_sqrt(z); /* an expression left over */
    vp_end(s);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_GE(VP_STAT(in_flight), 3);
    vp__gate_open(&gate);
    VP_CHECK_NO_LEAK(base);
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
}

VP_TEST(branch_does_not_wait) {
    vp__gate gate;
    vp_array x = vp__test_counting(4);
    vp_array y = vp_let(VP_GATED(x, &gate)), z;
    bool unrelated = false;
    /* Branches on the program's own state, on a size, and on another value. */
    if (vp_size(y) == 4 && vp_ndim(y) == 1 && vp_dtype_of(y) == VP_F64)
        z = vp_let(vp_add(y, 10.0));
    else
        z = vp_let(vp_add(y, 20.0));
    VP_CHECK_OK(vp_test(vp_any(vp_gt(x, 2.0)), &unrelated));
    if (unrelated) vp_put(z, vp_at(0), 5.0);
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(z, 5, 11, 12, 13);
}

static void check_overlap(int threads) {
    vp__test_no_holding();
    vp__test_threads(threads);
    vp__gate gate;
    vp_array x = vp__test_counting(20000);
    vp_array a = vp_let(VP_GATED(x, &gate)), b = vp_let(vp_add(x, 1.0));
    for (int i = 0; i < 20; i++) {
        vp_set(a, vp_add(a, 1.0));
        vp_set(b, vp_add(b, 1.0));
    }
    double last;
    VP_CHECK_OK(vp_item(vp_get(b, -1), &last));
    VP_CHECK_EQ(last, 19999 + 21);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_SOON(VP_STAT(in_flight) == 21);
    vp__gate_open(&gate);
    VP_CHECK_OK(vp_item(vp_get(a, -1), &last));
    VP_CHECK_EQ(last, 19999 + 20);
}

VP_TEST(chains_overlap_on_one_thread) { check_overlap(1); }
VP_TEST(chains_overlap_on_two_threads) { check_overlap(2); }

VP_TEST(chains_overlap_while_nobody_looks) {
    setenv("VP_INLINE", "0", 1);
    vp__test_threads(2);
    vp__gate gate;
    vp_array x = vp__test_counting(10);
    vp_array a = vp_let(VP_GATED(x, &gate)), b = vp_let(vp_neg(x));
    for (int i = 0; i < 20; i++) {
        vp_set(a, vp_add(a, 1.0));
        vp_set(b, vp_add(b, 1.0));
    }
    VP_CHECK_SOON(VP_STAT(in_flight) == 21);
    vp__gate_open(&gate);
    VP_CHECK_SOON(VP_STAT(in_flight) == 0);
    VP_CHECK_VALUES(vp_get(a, vp_until(2)), 20, 21);
    VP_CHECK_VALUES(vp_get(b, vp_until(2)), 20, 19);
}

/* A node with several inputs runs when the last of them is there, whichever it is. */
VP_TEST(every_input_gates_computing) {
    vp__test_no_holding();
    for (int order = 0; order < 2; order++) {
        vp__gate first, second;
        vp_array x = vp__test_counting(3);
        vp_array a = vp_let(VP_GATED(x, &first)), b = vp_let(VP_GATED(x, &second));
        uint64_t before = VP_STAT(executed);
        vp_array c = vp_let(vp_add(a, b));
        vp__gate_open(order ? &first : &second);
        VP_CHECK_OK(vp_wait(order ? a : b));
        VP_CHECK_EQ(VP_STAT(executed), before + 1);
        VP_CHECK_EQ(VP_STAT(in_flight), 2);
        vp__gate_open(order ? &second : &first);
        VP_CHECK_VALUES(c, 0, 2, 4);
        vp_drop(a), vp_drop(b), vp_drop(c), vp_drop(x);
    }
}

/* --- sizes -------------------------------------------------------------------------- */

VP_TEST(size_is_known_before_the_result) {
    vp__gate gate;
    vp_array x = vp_let(vp_reshape(vp__test_counting(12), vp_shape(3, 4)));
    vp_array y = vp_let(VP_GATED(x, &gate));
    vp_array z = vp_let(vp_sum(vp_mul(y, 2.0), 0));
    VP_CHECK_SHAPE(y, 3, 4);
    VP_CHECK_SHAPE(z, 4);
    vp_expr open = vp_add(z, 1.0); /* not used up by asking */
    VP_CHECK_EQ(vp_size(open), 4);
    VP_CHECK(vp__test_closed(&gate));
    vp__gate_open(&gate);
    VP_CHECK_VALUES(open, 25, 31, 37, 43);
}

VP_TEST(size_is_waited_for_alone) {
    vp__gate size, run;
    vp__test_opener opener;
    vp_array x = vp__test_counting(7);
    vp_array y = vp_let(VP_GATED_SIZE(x, &size, &run));
    vp_array z = vp_let(vp_add(y, y));
    VP_CHECK_EQ(vp_ndim(z), 1);
    VP_CHECK_EQ(vp_dtype_of(z), VP_F64);
    vp__test_open_later(&opener, &size, 50);
    VP_CHECK_EQ(vp_size(z), 7);
    VP_CHECK(atomic_load(&opener.opened));
    VP_CHECK_EQ(vp_dim(y, 0), 7);
    VP_CHECK(vp__test_closed(&run));
    vp__test_join(&opener);
    vp__gate_open(&run);
    VP_CHECK_VALUES(z, 0, 2, 4, 6, 8, 10, 12);
}

VP_TEST(a_find_has_its_size_when_it_has_run) {
    vp__gate gate;
    vp__test_opener opener;
    vp_array x = vp__test_counting(1000);
    vp_array mask = vp_let(VP_GATED(vp_lt(x, 3.0), &gate));
    vp_array found = vp_let(vp_find(mask));
    vp_array taken = vp_let(vp_mul(vp_take(x, found, 0), 10.0));
    vp_array mean = vp_let(vp_mean(taken));
    vp_array picked = vp_let(vp_get(x, mask));
    VP_CHECK(vp__test_closed(&gate));
    vp__test_open_later(&opener, &gate, 50);
    VP_CHECK_EQ(vp_size(taken), 3);
    VP_CHECK(atomic_load(&opener.opened));
    VP_CHECK_VALUES(taken, 0, 10, 20);
    VP_CHECK_VALUES(mean, 10);
    VP_CHECK_VALUES(picked, 0, 1, 2);
    VP_CHECK_VALUES(found, 0, 1, 2);
    VP_CHECK_EQ(VP_STAT(late_sizes), 2);
    vp__test_join(&opener);
}

/* What the cores have been promised to compute, in nanoseconds. */
static int64_t booked(void) {
    int64_t sum = 0;
    for (int i = 0; i < vp__placeable; i++) sum += atomic_load(&vp__cores[i]->ahead);
    return sum;
}

static bool is_configured(vp_array a) {
    vp__storage *s = vp__test_storage(a);
    return (!s->late || vp__waitlist_is_closed(&s->late->configured)) && s->home >= 0;
}

VP_TEST(dependents_of_a_gated_input_are_sized_and_placed) {
    vp__gate gate;
    vp_array x = vp__test_counting(50000);
    int64_t before = booked();
    vp_array y = vp_let(VP_GATED(x, &gate));
    vp_array z = vp_let(vp_sin(y));
    vp_array w = vp_let(vp_sum(z));
    uint64_t executed = VP_STAT(executed);
    VP_CHECK(vp__storage_is_sized(vp__test_storage(w)));
    VP_CHECK(is_configured(y) && is_configured(z) && is_configured(w));
    VP_CHECK_GT(booked(), before);
    VP_CHECK_EQ(VP_STAT(in_flight), 3);
    VP_CHECK_EQ(VP_STAT(executed), executed);
    vp__gate_open(&gate);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(booked(), before);
}

VP_TEST(a_late_size_runs_down_the_chain_before_any_result) {
    vp_scope outer = vp_begin();
    vp__gate size, run;
    vp_array x = vp__test_counting(600);
    vp_array y = vp_let(VP_GATED_SIZE(x, &size, &run));
    vp_array chain[6];
    chain[0] = vp_let(vp_add(y, 1.0));
    chain[1] = vp_let(vp_sort(chain[0], 0));
    chain[2] = vp_let(vp_concatenate(0, chain[1], chain[0]));
    chain[3] = vp_let(vp_cumsum(chain[2], 0));
    chain[4] = vp_let(vp_sum(chain[3], 0, VP_AUTO, VP_KEEPDIMS));
    chain[5] = vp_let(vp_div(chain[3], chain[4]));
    for (int i = 0; i < 6; i++) {
        VP_CHECK(!vp__storage_is_sized(vp__test_storage(chain[i])));
        VP_CHECK(!is_configured(chain[i]));
    }
    uint64_t executed = VP_STAT(executed);
    vp__gate_open(&size);
    static const int64_t sizes[] = {600, 600, 1200, 1200, 1, 1200};
    for (int i = 0; i < 6; i++) {
        VP_CHECK(vp__storage_is_sized(vp__test_storage(chain[i])));
        VP_CHECK(is_configured(chain[i]));
        VP_CHECK_EQ(vp_size(chain[i]), sizes[i]);
    }
    VP_CHECK_EQ(VP_STAT(executed), executed);
    VP_CHECK(vp__test_closed(&run));
    vp__gate_open(&run);
    double last;
    VP_CHECK_OK(vp_item(vp_get(chain[3], -1), &last));
    double sum = 0;
    for (int half = 0; half < 2; half++)
        for (int i = 1; i <= 600; i++) sum += i;
    VP_CHECK_EQ(last, sum);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* Selecting from a value of unknown size says nothing about what the program does
 * next. */
VP_TEST(selecting_from_a_late_size_does_not_wait) {
    vp_scope outer = vp_begin();
    vp__gate size, run;
    vp__test_opener opener;
    vp_array x = vp__test_counting(9);
    vp_array y = vp_let(VP_GATED_SIZE(x, &size, &run));
    vp__test_open_later(&opener, &size, 200);
    vp_array part = vp_let(vp_get(y, vp_range(2, 5)));
    vp_array turned = vp_let(vp_flip(y, 0));
    bool waited = atomic_load(&opener.opened);
    vp__test_join(&opener);
    vp__gate_open(&run);
    VP_CHECK_VALUES(part, 2, 3, 4);
    VP_CHECK_VALUES(turned, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    VP_CHECK(!waited);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}
