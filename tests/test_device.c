/* SPDX-License-Identifier: Apache-2.0
 *
 * A second device: where contents are, that everybody sees the right ones, where nodes go,
 * and what happens when the device cannot do what it should. The fake device computes with
 * the CPU's kernels, so results are the same bits wherever a node ran.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/cost.h"
#include "net/life.h"
#include "net/tuning.h"
#include "tests/fake_device.h"
#include "tests/net_support.h"

enum { N = 20000 };

/* A device nothing can compete with: every node that can run there will. */
static vp__device *everything_on_device(void) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = 0;
    fake_properties p = {.slowness = 1e-6};
    return fake_device_add(&p, 1);
}

static double *line(double a, double b) {
    static double values[N];
    for (int i = 0; i < N; i++) values[i] = a * i + b;
    return values;
}

#define LAUNCHES(d) ((int64_t)atomic_load(&(d)->launches))
#define COPIES_IN(d) ((int64_t)atomic_load(&(d)->copies_in))
#define COPIES_OUT(d) ((int64_t)atomic_load(&(d)->copies_out))

static void end_check(vp__device *d) {
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(fake_device_strays(), 0);
    VP_CHECK_SOON(fake_device_bytes() == 0);
    VP_CHECK_SOON(atomic_load(&d->ahead) == 0);
}

/* --- coherence ---------------------------------------------------------------------- */

VP_TEST(contents_move_only_when_they_must) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    VP_CHECK_OK(vp_sync());
    int64_t in = COPIES_IN(d), out = COPIES_OUT(d);
    vp_array a = vp_let(vp_add(x, 1.0));
    vp_array b = vp_let(vp_mul(a, 2.0));
    vp_array c = vp_let(vp_sub(b, x));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_LE(COPIES_IN(d) - in, 1); /* x, unless it was made there */
    VP_CHECK_EQ(COPIES_OUT(d), out);   /* nobody on the host has looked */
    VP_CHECK(!vp__storage_is_on_host(vp__test_storage(c)));
    VP_CHECK_ARRAY(c, line(1, 2), N);
    VP_CHECK_EQ(COPIES_OUT(d), out + 1); /* c alone */
    VP_CHECK_ARRAY(c, line(1, 2), N);
    VP_CHECK_EQ(COPIES_OUT(d), out + 1); /* and once */
    vp_drop(x), vp_drop(a), vp_drop(b), vp_drop(c);
    end_check(d);
}

VP_TEST(a_write_on_the_host_is_seen_on_the_device) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N), y = vp_let(vp_add(x, 0.5));
    VP_CHECK_OK(vp_sync());
    for (int i = 0; i < 20; i++) {
        vp_put(x, vp_at(i), -1.0); /* stored by the CPU; the device's copy is stale */
        vp_set(y, vp_add(x, 0.5));
        double *expected = line(1, 0.5);
        for (int k = 0; k <= i; k++) expected[k] = -0.5;
        VP_CHECK_ARRAY(y, expected, N);
    }
    VP_CHECK_GE(COPIES_IN(d), 20);
    vp_drop(x), vp_drop(y);
    end_check(d);
}

/* The same where the host writes at once. */
VP_TEST(a_write_at_once_is_seen_on_the_device) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N), y = vp_let(vp_add(x, 0.5));
    VP_CHECK_OK(vp_sync());
    for (int i = 0; i < 20; i++) {
        vp__tuning.inline_ns = 2000;
        const uint64_t before = VP_STAT(inlined);
        vp_put(x, vp_at(i), -1.0);
        VP_CHECK_EQ(VP_STAT(inlined), before + 1);
        vp__tuning.inline_ns = 0;
        vp_set(y, vp_add(x, 0.5));
        double *expected = line(1, 0.5);
        for (int k = 0; k <= i; k++) expected[k] = -0.5;
        VP_CHECK_ARRAY(y, expected, N);
    }
    vp_drop(x), vp_drop(y);
    end_check(d);
}

VP_TEST(a_write_into_what_the_device_made) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    vp_array a = vp_let(vp_add(x, 1.0));
    vp_put(a, vp_at(vp_range(0, 10)), 0.0);
    vp_put(a, vp_at(vp_range(5, 15)), vp_mul(vp_get(x, vp_range(5, 15)), 3.0));
    vp_array b = vp_let(vp_mul(a, 1.0));
    double *expected = line(1, 1);
    for (int i = 0; i < 5; i++) expected[i] = 0;
    for (int i = 5; i < 15; i++) expected[i] = 3 * i;
    VP_CHECK_ARRAY(b, expected, N);
    VP_CHECK_ARRAY(a, expected, N);
    vp_drop(x), vp_drop(a), vp_drop(b);
    end_check(d);
}

/* What is made next is on the device; what is tiny then runs on the caller again. */
static vp_array made_on_device(vp_array x) {
    const int64_t usual = vp__tuning.inline_ns;
    vp__tuning.inline_ns = 0;
    vp_array a = vp_let(vp_add(x, 1.0));
    VP_CHECK_OK(vp_sync());
    VP_CHECK(!vp__storage_is_on_host(vp__test_storage(a)));
    vp__tuning.inline_ns = usual;
    return a;
}

/* Tiny instructions, which run at once where their operands are there: on the host, that is. */
static void check_at_once(bool alone, bool busy) {
    const int64_t usual = vp__tuning.inline_ns;
    vp__device *d = everything_on_device();
    vp__tuning.inline_ns = usual;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(N);
    vp__gate gate[3];
    vp_array a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = made_on_device(x);
        vp__storage *storage = vp__test_storage(a[i]);
        vp__spin_lock(&storage->lock);
        VP_CHECK(!vp__log_is_busy(&storage->log)); /* nor is anything listed any more */
        vp__spin_unlock(&storage->lock);
    }
    /* The device's thread counts as an issuer, but does nothing now. */
    fake_device_rest();
    atomic_store(&vp__many_issuers, !alone || !vp__has_barrier());
    for (int i = 0; busy && i < 3; i++)
        vp_let(VP_GATED(vp_get(a[i], vp_range(0, 2)), &gate[i])); /* a read */
    vp_array sum = vp_let(vp_sum(vp_get(a[0], vp_range(0, 3))));
    vp_array more = vp_let(vp_add(vp_get(a[1], vp_range(0, 3)), 1.0));
    vp_put(a[2], vp_at(3), -1.0);
    VP_CHECK_VALUES(sum, 6);
    VP_CHECK_VALUES(more, 2, 3, 4);
    VP_CHECK_VALUES(vp_get(a[2], vp_range(2, 5)), 3, -1, 5);
    for (int i = 0; busy && i < 3; i++) vp__gate_open(&gate[i]);
    vp_end(s);
    end_check(d);
}
VP_TEST(what_runs_at_once_needs_the_host) { check_at_once(true, false); }
VP_TEST(what_runs_at_once_needs_the_host_beside_readers) { check_at_once(true, true); }
VP_TEST(what_runs_at_once_needs_the_host_beside_issuers) { check_at_once(false, false); }

/* Each store waits for the same fetch, and with the last of them the array is gone. */
VP_TEST(writers_of_parts_wait_for_one_fetch) {
    vp__device *d = everything_on_device();
    enum { PARTS = 4, PART = N / PARTS, TIMES = 500 };
    vp__test_threads(PARTS);
    vp_array x = vp_let(vp_from(VP_F64, vp_shape(N), line(1, 0)));
    for (int i = 0; i < TIMES; i++) {
        vp_array a = vp_let(vp_add(x, 1.0));
        VP_CHECK_OK(vp_sync());
        vp__device_count = 0; /* the workers compute what they store */
        for (int p = 0; p < PARTS; p++) {
            const vp_sel part = vp_range(p * PART, (p + 1) * PART);
            vp_put(a, vp_at(part), vp_mul(vp_get(x, part), 2.0));
        }
        if (i % 100 == 0) VP_CHECK_ARRAY(a, line(2, 0), N);
        vp_drop(a);
        VP_CHECK_OK(vp_sync());
        vp__device_count = 1;
    }
    VP_CHECK_EQ(COPIES_OUT(d), TIMES);
    vp_drop(x);
    end_check(d);
}

VP_TEST(a_whole_overwrite_fetches_nothing) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    vp_array a = vp_let(vp_add(x, 1.0));
    VP_CHECK_OK(vp_sync());
    int64_t out = COPIES_OUT(d);
    vp_put(a, vp_at(VP_ALL), 7.0);
    VP_CHECK_ARRAY(a, line(0, 7), N);
    VP_CHECK_LE(COPIES_OUT(d) - out, 1); /* the value that is put, at most */
    vp_drop(x), vp_drop(a);
    end_check(d);
}

/* While the device is held, a reader waits and others do not; when it goes on, everyone has
 * what the program order says. */
VP_TEST(readers_on_both_sides_see_their_versions) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    vp_array a = vp_let(vp_add(x, 1.0));
    VP_CHECK_OK(vp_sync());
    fake_device_hold();
    vp_array before = vp_let(vp_mul(a, 2.0)); /* on the device, later */
    vp_put(a, vp_at(0), 100.0);
    vp_array after = vp_let(vp_mul(a, 3.0));
    vp_array host = vp_let(vp_sort(vp_get(a, vp_until(5)), 0)); /* only the CPU sorts */
    fake_device_go();
    VP_CHECK_ARRAY(before, line(2, 2), N);
    double *expected = line(3, 3);
    expected[0] = 300;
    VP_CHECK_ARRAY(after, expected, N);
    VP_CHECK_VALUES(host, 2, 3, 4, 5, 100);
    vp_drop(x), vp_drop(a), vp_drop(before), vp_drop(after), vp_drop(host);
    end_check(d);
}

VP_TEST(views_are_brought_without_their_neighbours) {
    vp__device *d = everything_on_device();
    vp_scope scope = vp_begin();
    vp_array m = vp_let(vp_reshape(vp__test_counting(N), vp_shape(100, 200)));
    VP_CHECK_OK(vp_sync());
    vp_array row = vp_let(vp_add(vp_get(m, 3), 0.0));
    vp_array column = vp_let(vp_add(vp_get(m, VP_ALL, 7), 0.0));
    vp_array back = vp_let(vp_add(vp_get(m, 0, vp_every(-50)), 0.0));
    vp_array sum = vp_let(vp_sum(vp_get(m, vp_range(0, 2), vp_range(0, 3))));
    vp_array both =
        vp_let(vp_add(vp_get(m, vp_range(0, 2), vp_range(0, 1)), vp_get(m, 0)));
    double expected[200];
    for (int i = 0; i < 200; i++) expected[i] = 600 + i;
    VP_CHECK_ARRAY(row, expected, 200);
    for (int i = 0; i < 100; i++) expected[i] = 200 * i + 7;
    VP_CHECK_ARRAY(column, expected, 100);
    VP_CHECK_VALUES(back, 199, 149, 99, 49);
    VP_CHECK_VALUES(sum, 0 + 1 + 2 + 200 + 201 + 202);
    VP_CHECK_VALUES(vp_get(both, 1, vp_range(0, 3)), 200, 201, 202);
    vp_end(scope);
    end_check(d);
}

/* Neither are its neighbours where it is one run of elements, or a single one. */
VP_TEST(parts_need_no_room_for_their_neighbours) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = 0;
    fake_properties p = {.slowness = 1e-6, .bytes = N * 8 / 2};
    vp__device *d = fake_device_add(&p, 1);
    vp_array x = vp__test_counting(N);
    VP_CHECK_OK(vp_sync());
    vp_array run = vp_let(vp_add(vp_get(x, vp_range(100, 200)), 1.0));
    vp_array one = vp_let(vp_mul(vp_get(x, 7), 2.0));
    vp_array both = vp_let(vp_sub(run, vp_get(x, vp_range(0, 100))));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d), 3);
    VP_CHECK_VALUES(one, 14);
    VP_CHECK_VALUES(vp_get(run, vp_until(2)), 101, 102);
    VP_CHECK_VALUES(vp_get(both, vp_until(2)), 101, 101);
    vp_drop(x), vp_drop(run), vp_drop(one), vp_drop(both);
    end_check(d);
}

VP_TEST(borrowed_memory_is_read_afresh) {
    vp__device *d = everything_on_device();
    static double memory[N];
    vp_array x = vp_borrow(VP_F64, vp_shape(N), NULL, memory, VP_WRITABLE, NULL, NULL);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < N; k++) memory[k] = i;
        VP_CHECK_VALUES(vp_get(vp_let(vp_add(x, 1.0)), vp_until(2)), i + 1, i + 1);
        VP_CHECK_OK(vp_sync());
    }
    vp_put(x, vp_at(3), 9.0);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(memory[3], 9);
    vp_drop(x);
    VP_CHECK_GE(LAUNCHES(d), 5);
}

static void compute_on_device(void *context, void *memory) {
    (void)memory;
    vp_array x = vp__test_counting(N), y = vp_let(vp_add(x, 1.0));
    VP_CHECK_ARRAY(y, line(1, 1), N);
    vp_drop(x), vp_drop(y);
    atomic_fetch_add((_Atomic int *)context, 1);
}

/* The last to use it is the device, which has to go on while the user's code waits for it. */
static void check_release_by_device(int threads) {
    vp__device *d = everything_on_device();
    vp__test_threads(threads);
    static double memory[N];
    static _Atomic int released;
    vp_array x = vp_borrow(VP_F64, vp_shape(N), NULL, memory, VP_READ_ONLY,
                           compute_on_device, &released);
    fake_device_hold();
    vp_array y = vp_let(vp_add(x, 1.0));
    vp_drop(x);
    fake_device_go();
    if (threads > 1) VP_CHECK_SOON(atomic_load(&released) == 1); /* a worker does it */
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), 1);
    VP_CHECK_GE(LAUNCHES(d), 2);
    vp_drop(y);
    end_check(d);
}
VP_TEST(the_device_releases_borrowed_memory) { check_release_by_device(1); }
VP_TEST(the_device_releases_borrowed_memory_with_workers) { check_release_by_device(3); }

VP_TEST(reductions_and_several_kernels_run_on_the_device) {
    vp__device *d = everything_on_device();
    vp_scope scope = vp_begin();
    vp_array x = vp_let(vp_reshape(vp__test_counting(N), vp_shape(100, 200)));
    VP_CHECK_OK(vp_sync());
    int64_t before = LAUNCHES(d);
    vp_array centred = vp_let(vp_sub(x, vp_mean(x, 0)));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_GE(LAUNCHES(d), before + 2);
    VP_CHECK_VALUES(vp_sum(vp_abs(vp_get(centred, 50))), 200 * 100.0);
    vp_array var = vp_let(vp_var(vp_get(x, 0)));
    VP_CHECK_VALUES(var, (200.0 * 200 - 1) / 12);
    vp_end(scope);
    end_check(d);
}

VP_TEST(late_sizes_and_the_device) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    vp_array found = vp_let(vp_find(vp_ge(x, 19990.0)));
    vp_array y = vp_let(vp_mul(vp_take(x, found, 0), 2.0));
    VP_CHECK_VALUES(vp_sum(y), 2 * (19990 + 19999) * 5.0);
    vp_drop(x), vp_drop(found), vp_drop(y);
    end_check(d);
}

/* --- placement ---------------------------------------------------------------------- */

/* A device that is fast but far: one small node is not worth the way, a chain is. */
VP_TEST(transfers_and_latency_count) {
    vp__test_threads(2);
    vp__tuning.trial_ns = INT64_MAX;
    fake_properties p = {.latency_ns = 200000, .ns_per_byte = 1, .slowness = 0.01};
    vp__device *d = fake_device_add(&p, 1);
    vp_array x = vp__test_counting(N);
    vp_array a = vp_let(vp_add(x, 1.0)); /* about 5 µs here, 360 there */
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(LAUNCHES(d), 0);
    vp_array big = vp_let(vp_ones(VP_F64, vp_shape(1000000)));
    VP_CHECK_OK(vp_sync());
    vp_array b = big;
    for (int i = 0; i < 40; i++) b = vp_let(vp_sin(vp_exp(b)));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_GT(LAUNCHES(d), 0); /* each is some milliseconds here */
    vp_drop(x), vp_drop(a);
}

/* What a node will use is where it will be: a chain placed before anything has run stays on
 * the device, and nothing is copied back in between. */
VP_TEST(a_chain_stays_on_the_device) {
    vp__device *d = everything_on_device();
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(N), &gate)), chain[10];
    vp_array last = x;
    for (int i = 0; i < 10; i++) last = chain[i] = vp_let(vp_add(last, 1.0));
    for (int i = 0; i < 10; i++)
        VP_CHECK_EQ(vp__test_storage(chain[i])->home, VP__HOME_ON_DEVICE - d->index);
    int64_t out = COPIES_OUT(d);
    vp__gate_open(&gate);
    VP_CHECK_ARRAY(last, line(1, 10), N);
    VP_CHECK_EQ(COPIES_OUT(d), out + 1);
}

/* Runs `rounds` of work that takes some milliseconds here, and returns the share of the
 * last half that went to the device. */
static double share_on_device(vp__device *d, int rounds) {
    vp_array x = vp_let(vp_full(VP_F64, vp_shape(600000), 0.5));
    VP_CHECK_OK(vp_sync());
    int64_t half = 0;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 2) half = LAUNCHES(d);
        vp_array y = vp_let(vp_tan(vp_exp(x)));
        VP_CHECK_OK(vp_sync());
        vp_drop(y);
    }
    vp_drop(x);
    int counted = rounds - rounds / 2;
    return (double)(LAUNCHES(d) - half) / counted;
}

static void check_books(double slowness, double wrong_by, bool device_wins) {
    vp__test_threads(1);
    fake_properties p = {.latency_ns = 1000, .ns_per_byte = 0.0001, .slowness = slowness};
    vp__device *d = fake_device_add(&p, wrong_by);
    double share = share_on_device(d, 300);
    printf("the device, %g times as slow and estimated wrong by %g, got %g of the work\n",
           slowness, wrong_by, share);
    if (device_wins)
        VP_CHECK_GT(share, 0.5);
    else
        VP_CHECK_LT(share, 0.3);
    /* Its copies are estimated as it told of them. */
    double per_byte = (double)atomic_load(&d->ns_per_byte.value);
    VP_CHECK_GT(per_byte, p.ns_per_byte / 2);
    VP_CHECK_LT(per_byte, p.ns_per_byte * 2);
}

/* Ten times as slow as a core, praised a hundredfold: the work leaves it. */
VP_TEST_TIMEOUT(books_converge_on_a_slow_device, 60) { check_books(10, 0.01, false); }
VP_TEST_TIMEOUT(books_converge_on_a_slow_device_run_down, 60) {
    check_books(10, 100, false);
}
/* Twenty times as fast, run down a hundredfold: the work finds it. */
VP_TEST_TIMEOUT(books_converge_on_a_fast_device, 60) { check_books(0.05, 100, true); }
VP_TEST_TIMEOUT(books_converge_on_a_fast_device_praised, 60) {
    check_books(0.05, 0.01, true);
}

/* --- what can go wrong -------------------------------------------------------------- */

/* Some arrays, computed with this device; right or an error, never anything else. */
static void compute(const fake_properties *p, bool may_fail) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = 0;
    vp__device *d = fake_device_add(p, 1);
    vp_array x = vp__test_counting(N);
    for (int i = 0; i < 30; i++) {
        vp_array a = vp_let(vp_add(x, (double)i));
        vp_array b = vp_let(vp_mul(vp_sub(a, (double)i), 3.0));
        vp_put(b, vp_at(0), vp_get(a, 0));
        static double got[N];
        vp_status status = vp_read(b, got, sizeof got);
        if (status == VP_OK) {
            double *expected = line(3, 0);
            expected[0] = i;
            for (int k = 0; k < N; k++) VP_CHECK_EQ(got[k], expected[k]);
        } else {
            VP_CHECK(may_fail);
            VP_CHECK_EQ(status, VP_ERR_DEVICE);
            VP_CHECK(strstr(vp_message(), "fake") != NULL);
            VP_CHECK(strstr(vp_message(), "test_device.c") != NULL);
        }
        vp_drop(a), vp_drop(b);
    }
    vp_sync();
    vp_drop(x);
    VP_CHECK_EQ(fake_device_strays(), 0);
    VP_CHECK_SOON(fake_device_bytes() == 0);
    VP_CHECK_SOON(atomic_load(&d->ahead) == 0);
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
}

VP_TEST(without_device_memory_the_cpu_does_it) {
    fake_properties p = {.slowness = 1e-6, .bytes = 3 * N * 8};
    compute(&p, false);
}

VP_TEST(a_kernel_the_device_cannot_run) {
    fake_properties p = {.slowness = 1e-6, .refuses_kernels = 1};
    compute(&p, false);
}

/* What did not arrive is sent again to who wants it next. */
VP_TEST(a_copy_that_failed_is_made_again) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = 0;
    fake_properties p = {.slowness = 1e-6, .fails_after = -1};
    vp__device *d = fake_device_add(&p, 1);
    vp_array x = vp__test_counting(N);
    VP_CHECK_OK(vp_sync());
    vp_array first = vp_let(vp_add(x, 1.0));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(COPIES_IN(d), 1);
    VP_CHECK_EQ(LAUNCHES(d), 0); /* the CPU has done it */
    vp_array second = vp_let(vp_add(x, 2.0));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(COPIES_IN(d), 2);
    VP_CHECK_EQ(LAUNCHES(d), 1);
    VP_CHECK_ARRAY(first, line(1, 1), N);
    VP_CHECK_ARRAY(second, line(1, 2), N);
    vp_drop(x), vp_drop(first), vp_drop(second);
    end_check(d);
}

/* The first operand's copy fails while the second one's is asked for. */
VP_TEST(a_copy_that_fails_before_its_node_waits_is_not_used) {
    vp__test_threads(2);
    vp__tuning.inline_ns = 0;
    vp__tuning.trial_ns = 0;
    fake_properties p = {.slowness = 1e-6, .fails_after = -1, .goes_in_copy = 2};
    vp__device *d = fake_device_add(&p, 1);
    vp_array x = vp__test_counting(N), y = vp__test_counting(N);
    VP_CHECK_OK(vp_sync());
    fake_device_hold();
    vp_array both = vp_let(vp_add(x, y));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(COPIES_IN(d), 2);
    VP_CHECK_EQ(LAUNCHES(d), 0);
    VP_CHECK_ARRAY(both, line(2, 0), N);
    vp_drop(x), vp_drop(y), vp_drop(both);
    end_check(d);
}

/* A copy may fail between the look for it and the wish to be told of it. */
VP_TEST(a_copy_that_has_failed_meanwhile_is_not_used) {
    vp__device *d = everything_on_device();
    vp_array x = vp__test_counting(N);
    VP_CHECK_OK(vp_sync());
    vp__storage *s = vp__test_storage(x);
    for (int failed = 0; failed < 2; failed++) {
        vp__remote_forget(s);
        vp__replica *r = vp__replica_new(d, (size_t)s->bytes);
        r->failed = failed;
        vp__waitlist_close(&r->there);
        vp__spin_lock(&s->lock);
        vp__whereabouts_make(s, true)->replicas = r;
        vp__spin_unlock(&s->lock);
        const vp__input in = {.storage = s, .late = true};
        bool refused = false;
        int waits = 0;
        vp__replica *got =
            vp__remote_to_device(&in, d, NULL, VP__WAIT_INPUT, &waits, &refused);
        VP_CHECK_EQ(waits, 0);
        VP_CHECK_EQ(refused, failed);
        VP_CHECK(got == (failed ? NULL : r));
        if (got) vp__replica_release(got);
    }
    vp_drop(x);
    end_check(d);
}

/* A device that fails loses what only it has; what the host has it can go on with. */
VP_TEST(a_lost_device) {
    fake_properties p = {.slowness = 1e-6, .fails_after = 20};
    compute(&p, true);
}

VP_TEST(a_device_that_never_works) {
    fake_properties p = {.slowness = 1e-6, .fails_after = 1};
    compute(&p, true);
}
