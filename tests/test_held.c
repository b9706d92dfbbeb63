/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that names hold unissued: when they are computed, how often, and that nobody can tell.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tuning.h"
#include "tests/net_support.h"

/* Long enough to be no instruction that runs at once. */
enum { LONG = 200000 };

/* How often kernels have run, and over how many elements, once everything is issued. */
static uint64_t kernels(void) {
    VP_CHECK_OK(vp_sync());
    return VP_STAT(kernels);
}

static uint64_t elements(void) {
    VP_CHECK_OK(vp_sync());
    return VP_STAT(elements);
}

/* No idle worker comes in between. */
static void on_one_thread(void) { vp__test_threads(1); }

VP_TEST(a_name_that_goes_after_its_use_is_not_stored) {
    on_one_thread();
    vp_array a = vp__test_counting(10), b = vp_let(vp_ones(VP_F64, vp_shape(10)));
    const uint64_t before = kernels();
    vp_array t = vp_let(vp_mul(a, b));
    vp_array u = vp_let(vp_sum(vp_add(t, 1.0), 0));
    vp_drop(t);
    VP_CHECK_VALUES(u, 55);
    VP_CHECK_EQ(kernels(), before + 1);
}

VP_TEST(a_name_that_nobody_reads_is_computed) {
    on_one_thread();
    vp_array a = vp__test_counting(10), t = vp_let(vp_sin(a));
    const uint64_t before = elements();
    for (int i = 0; i < 5; i++) vp_set(t, vp_sin(a));
    vp_drop(t);
    VP_CHECK_EQ(elements(), before + 5 * 10);
}

VP_TEST(without_liveness_every_name_is_stored) {
    on_one_thread();
    vp__test_no_holding();
    vp_array a = vp__test_counting(10);
    const uint64_t before = kernels();
    vp_array t = vp_let(vp_mul(a, 2.0)), u = vp_let(vp_add(t, 1.0));
    VP_CHECK_EQ(VP_STAT(kernels), before + 2);
    VP_CHECK_VALUES(vp_get(u, 3), 7);
}

VP_TEST(what_is_used_twice_in_one_value_is_computed_once) {
    on_one_thread();
    vp_array a = vp__test_counting(10);
    const uint64_t before = elements();
    vp_array t = vp_let(vp_sin(a));
    vp_array u = vp_let(vp_sub(vp_mul(t, t), vp_mul(t, t)));
    vp_drop(t);
    VP_CHECK_VALUES(vp_get(u, vp_until(3)), 0, 0, 0);
    VP_CHECK_EQ(elements(), before + 10);
}

/* One line's value is first met by something that ends before its next use: it is computed again.
 * From then on the line is known, and its value is stored the first time it is wanted. */
VP_TEST(what_is_used_again_later_is_stored) {
    on_one_thread();
    vp_array a = vp__test_counting(1000);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        const uint64_t before = elements();
        vp_array t = vp_let(vp_sin(a));
        double one, two;
        VP_CHECK_OK(vp_item(vp_sum(t, 0), &one));
        VP_CHECK_OK(vp_item(vp_max(t, 0), &two));
        VP_CHECK_EQ(vp_size(t), 1000);
        vp_drop(t);
        last = elements() - before;
    }
    VP_CHECK_EQ(last, 3 * 1000);
}

VP_TEST(a_look_at_sizes_issues_nothing) {
    on_one_thread();
    vp_array a = vp__test_counting(10);
    const uint64_t before = kernels();
    vp_array t = vp_let(vp_sin(a));
    VP_CHECK_EQ(vp_size(t), 10);
    VP_CHECK_EQ(vp_ndim(t), 1);
    VP_CHECK(vp_dtype_of(t) == VP_F64);
    VP_CHECK_EQ(VP_STAT(kernels), before);
}

VP_TEST(what_is_held_sees_what_was_there) {
    vp_array a = vp__test_counting(4);
    vp_array t = vp_let(vp_add(a, 10.0));
    vp_array twice = vp_let(vp_add(t, t)), part = vp_let(vp_add(a, a));
    vp_put(a, vp_at(1), 100.0);
    vp_put(a, vp_at(VP_ALL),
           vp_add(a, t)); /* reads and writes a; t reads what was there */
    vp_put(t, vp_at(0), -1.0);
    VP_CHECK_VALUES(a, 10, 111, 14, 16);
    VP_CHECK_VALUES(t, -1, 11, 12, 13);
    VP_CHECK_VALUES(twice, 20, 22, 24, 26);
    VP_CHECK_VALUES(part, 0, 2, 4, 6);
}

VP_TEST(names_that_hold_values_are_views_and_selections_too) {
    vp_array a = vp__test_counting(6);
    vp_array t = vp_let(vp_mul(a, 2.0));
    vp_array v = vp_let(vp_get(t, vp_range(2, 4)));
    vp_array w = vp_view(vp_get(t, vp_range(0, 2)));
    vp_put(w, vp_at(1), 7.0);
    VP_CHECK_VALUES(v, 4, 6);
    VP_CHECK_VALUES(t, 0, 7, 4, 6, 8, 10);
    vp_set(t, vp_add(t, 1.0));
    vp_set(t, vp_add(t, t));
    VP_CHECK_VALUES(t, 2, 16, 10, 14, 18, 22);
    VP_CHECK_VALUES(w, 0, 7);
}

/* A selection with a name is a value of its own, whoever is written first. */
VP_TEST(selections_with_names_are_values) {
    double memory[6] = {0, 1, 2, 3, 4, 5};
    vp_array b = vp_borrow(VP_F64, vp_shape(6), NULL, memory, VP_WRITABLE, NULL, NULL);
    for (int turn = 0; turn < 2; turn++) {
        vp_array a = turn ? b : vp__test_counting(6);
        vp_array part = vp_let(vp_get(a, vp_range(1, 3))), all = vp_let(vp_flip(a, 0));
        vp_array same = vp_let(part),
                 sum = vp_let(vp_add(part, vp_get(all, vp_until(2))));
        vp_put(a, vp_at(VP_ALL), 9.0);
        VP_CHECK_VALUES(part, 1, 2);
        vp_put(part, vp_at(0), -1.0);
        vp_put(all, vp_at(0), -5.0);
        VP_CHECK_VALUES(same, 1, 2);
        VP_CHECK_VALUES(part, -1, 2);
        VP_CHECK_VALUES(all, -5, 4, 3, 2, 1, 0);
        VP_CHECK_VALUES(sum, 6, 6);
        VP_CHECK_VALUES(a, 9, 9, 9, 9, 9, 9);
    }
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_failure_reaches_whoever_looks) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(3);
    vp_array at = vp_let(vp_add(vp__test_counting(3), 1.0));
    vp_array late = vp_let(vp_take(a, vp_cast(at, VP_I64), 0)); /* 3 is out of bounds */
    vp_array t = vp_let(vp_add(late, 1.0)), u = vp_let(vp_mul(t, 2.0));
    vp_drop(t);
    double x;
    VP_CHECK_ERROR(vp_item(vp_get(u, 0), &x), VP_ERR_INDEX, "out of bounds");
    vp_end(s);
}

/* A chain of sets grows until its segment is full, and no further. */
VP_TEST(a_long_chain_is_cut) {
    vp_array a = vp__test_counting(3), t = vp_let(vp_add(a, 0.0));
    for (int i = 0; i < 1000; i++) vp_set(t, vp_add(t, 1.0));
    VP_CHECK_VALUES(t, 1000, 1001, 1002);
}

/* Each value reads the one before it, which has no name any more: that is not computed again and
 * again for as long as the segment has room. */
VP_TEST(a_chain_whose_every_value_is_looked_at_does_not_grow) {
    on_one_thread();
    enum { WARM = 5, TURNS = 10 };
    vp_array t = vp__test_counting(1000);
    uint64_t before = 0;
    for (int i = 0; i < WARM + TURNS; i++) {
        double sum;
        if (i == WARM) before = kernels();
        vp_set(t, vp_sin(t));
        VP_CHECK_OK(vp_item(vp_sum(t, 0), &sum));
    }
    VP_CHECK_EQ(VP_STAT(kernels), before + 2 * TURNS);
}

/* A value that reads no array becomes a leaf all the same when it is stored. */
VP_TEST(a_full_segment_takes_what_had_no_leaves) {
    enum { MOST = 11 };
    vp_array c = vp_let(vp_ones(VP_BOOL, vp_shape(3))), a = vp__test_counting(3);
    vp_array one = vp_let(vp_sin(1.0)), two = vp_let(vp_cos(1.0));
    vp_expr e = vp_where(c, one, two);
    for (int i = 0; i < MOST; i++) e = vp_where(c, e, a);
    vp_array sum = vp_let(vp_add(e, a));
    VP_CHECK_OK(vp_wait(one));
    VP_CHECK_OK(vp_wait(two));
    VP_CHECK_CLOSE(sum, 1e-15, 0.8414709848078965, 1.8414709848078965,
                   2.8414709848078965);
}

VP_TEST(more_names_hold_values_than_a_thread_may) {
    enum { NAMES = 40 };
    vp_array a = vp__test_counting(3), t[NAMES];
    for (int i = 0; i < NAMES; i++) t[i] = vp_let(vp_add(a, (double)i));
    for (int i = 0; i < NAMES; i++) VP_CHECK_VALUES(t[i], i, i + 1, i + 2);
}

/* Both the variance and the quotient use the sum, and each other. */
VP_TEST(a_reduction_that_several_parts_use_is_computed_once) {
    on_one_thread();
    vp_array a = vp__test_counting(10);
    const uint64_t before = kernels();
    vp_array sum = vp_let(vp_sum(a, 0));
    vp_array v = vp_let(vp_div(vp_sum(vp_square(vp_sub(a, sum)), 0), sum));
    vp_drop(sum);
    VP_CHECK_VALUES(v, (10 * 45 * 45 - 2 * 45 * 45 + 285) / 45.0);
    VP_CHECK_EQ(kernels(), before + 3);
}

/* Where there is nothing to convert the operand is the result: it is not the name's any more. */
VP_TEST(a_conversion_to_the_same_type_is_a_value_of_its_own) {
    on_one_thread();
    vp_array a = vp__test_counting(LONG), t = vp_let(vp_add(a, 1.0));
    vp_expr same = vp_cast(t, VP_F64);
    vp_put(t, vp_at(0), 50.0);
    vp_put(a, vp_at(1), 60.0);
    VP_CHECK_VALUES(vp_get(same, vp_until(3)), 1, 2, 3);
    VP_CHECK_VALUES(vp_get(t, vp_until(3)), 50, 2, 3);
}

VP_TEST(an_expression_that_got_a_name_is_used_up) {
    vp_array a = vp__test_counting(3);
    vp_expr e = vp_add(a, 1.0);
    vp_array t = vp_let(e);
    VP_CHECK_ERROR(vp_wait(vp_mul(e, 2.0)), VP_ERR_HANDLE, "used before");
    VP_CHECK_VALUES(t, 1, 2, 3);
}

/* The same instructions in the same order: what differs is which of them the last one uses. */
VP_TEST(recipes_tell_which_of_several_values_is_used_again) {
    on_one_thread();
    vp_array a = vp__test_counting(3), b = vp_let(vp_add(a, 10.0));
    VP_CHECK_OK(vp_wait(b));
    for (int i = 0; i < 6; i++) {
        vp_array t = vp_let(vp_neg(a)), u = vp_let(vp_neg(b));
        vp_array last = vp_let(vp_add(vp_mul(t, u), i % 2 ? t : u));
        vp_drop(t), vp_drop(u);
        if (i % 2)
            VP_CHECK_VALUES(last, 0, 10, 22);
        else
            VP_CHECK_VALUES(last, -10, 0, 12);
    }
}

VP_TEST(a_scope_ends_with_what_its_names_hold) {
    const int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 3; i++) {
        vp_scope s = vp_begin();
        vp_array a = vp__test_counting(1000), t = vp_let(vp_sin(a));
        vp_array u = vp_let(vp_add(t, a));
        vp_sqrt(u);
        vp_keep(u);
        vp_end(s);
        VP_CHECK_CLOSE(vp_get(u, 1), 1e-15, 1.8414709848078965);
        vp_drop(u);
    }
    VP_CHECK_NO_LEAK(base);
}

/* --- when they are issued ----------------------------------------------------------------- */

VP_TEST(an_idle_worker_issues_what_is_long) {
    vp__test_threads(2);
    vp_array a = vp__test_counting(LONG);
    VP_CHECK_OK(vp_sync());
    const uint64_t executed = VP_STAT(executed);
    vp_array t = vp_let(vp_sin(a));
    VP_CHECK_EQ(vp_size(t), LONG); /* which is no use of it */
    VP_CHECK_SOON(VP_STAT(executed) > executed);
    VP_CHECK_CLOSE(vp_get(t, 1), 1e-15, 0.8414709848078965);
}

VP_TEST(it_does_not_when_told_not_to_look) {
    vp__test_threads(2);
    vp__tuning.unissued_ns = 0;
    vp_array a = vp__test_counting(LONG);
    VP_CHECK_OK(vp_sync());
    const uint64_t executed = VP_STAT(executed);
    vp_array t = vp_let(vp_sin(a));
    usleep(30000);
    VP_CHECK_EQ(VP_STAT(executed), executed);
    vp_drop(t);
}

/* Other instructions come, which do not use it. */
VP_TEST(what_is_long_does_not_wait_for_ever) {
    vp__test_threads(2);
    vp__tuning.unissued_ns = 0;
    vp_array a = vp__test_counting(LONG), small = vp__test_counting(3);
    VP_CHECK_OK(vp_sync());
    const uint64_t issued = VP_STAT(issued);
    vp_array t = vp_let(vp_sin(a));
    for (int i = 0; i < 20; i++) vp_put(small, vp_at(0), vp_get(small, 1));
    VP_CHECK_EQ(VP_STAT(issued), issued + 1);
    vp_drop(t);
}

VP_TEST(what_is_long_does_not_wait_for_a_name_that_does_not_use_it) {
    vp__test_threads(2);
    vp__tuning.unissued_ns = 0;
    vp_array a = vp__test_counting(LONG), small = vp__test_counting(3);
    VP_CHECK_OK(vp_sync());
    const uint64_t issued = VP_STAT(issued);
    vp_array t = vp_let(vp_sin(a)), u = vp_let(vp_add(small, 1.0));
    VP_CHECK_EQ(VP_STAT(issued), issued + 1);
    vp_drop(t), vp_drop(u);
}

static _Atomic int released;
static void note_release(void *context, void *memory) {
    (void)context, (void)memory;
    atomic_fetch_add(&released, 1);
}

VP_TEST(borrowed_memory_is_given_back_though_a_value_that_reads_it_is_held) {
    vp__test_threads(2);
    double memory[100] = {1, 2, 3};
    vp_array b =
        vp_borrow(VP_F64, vp_shape(100), NULL, memory, VP_READ_ONLY, note_release, NULL);
    vp_array t = vp_let(vp_add(b, 1.0));
    vp_drop(b);
    VP_CHECK_SOON(atomic_load(&released) == 1);
    VP_CHECK_VALUES(vp_get(t, vp_until(3)), 2, 3, 4);
}

/* --- memory that is the program's ----------------------------------------------------------- */

enum { BORROWED = 2000 };

static vp_array borrow(double *memory) {
    for (int i = 0; i < BORROWED; i++) memory[i] = i;
    atomic_store(&released, 0);
    return vp_borrow(VP_F64, vp_shape(BORROWED), NULL, memory, VP_WRITABLE, note_release,
                     NULL);
}

/* A value whose name has gone, so that nobody finds it but what uses it, which does so twice. */
static vp_expr squared(vp_expr x) {
    vp_array t = vp_let(x);
    vp_expr square = vp_mul(t, t);
    vp_drop(t);
    return square;
}

VP_TEST(what_is_used_twice_is_not_put_over_what_it_reads) {
    double memory[BORROWED], expected[BORROWED];
    vp_array b = borrow(memory);
    for (int i = 0; i < BORROWED; i++)
        expected[i] = (double)(BORROWED - i) * (BORROWED - i);
    vp_put(b, vp_at(VP_ALL), squared(vp_add(vp_get(b, vp_every(-1)), 1.0)));
    VP_CHECK_ARRAY(b, expected, BORROWED);
}

VP_TEST(puts_of_what_is_used_twice_and_reads_their_target_are_not_gathered) {
    double memory[BORROWED], expected[BORROWED] = {0};
    vp_array b = borrow(memory);
    for (int i = 1; i < BORROWED; i++) {
        vp_put(b, vp_at(i), squared(vp_mul(vp_sub(vp_get(b, i - 1), 1.0), 0.5)));
        expected[i] = (expected[i - 1] - 1) * 0.5 * (expected[i - 1] - 1) * 0.5;
    }
    VP_CHECK_ARRAY(b, expected, BORROWED);
}

VP_TEST(borrowed_memory_is_given_back_when_its_name_gets_a_value_that_reads_it) {
    vp__test_threads(2);
    for (int i = 0; i < 4; i++) {
        const bool twice = i % 2;
        if (i == 2)
            vp__tuning.inline_ns = vp__tuning.unissued_ns = 0; /* long, and left */
        double memory[BORROWED];
        vp_array b = borrow(memory), t = b;
        if (twice) t = vp_let(vp_add(b, 1.0));
        vp_set(b, vp_add(b, 2.0));
        VP_CHECK_SOON(atomic_load(&released) == 1);
        VP_CHECK_VALUES(vp_get(b, vp_until(3)), 2, 3, 4);
        if (twice) VP_CHECK_VALUES(vp_get(t, vp_until(3)), 1, 2, 3);
    }
}

VP_TEST(borrowed_memory_is_given_back_though_what_reads_it_got_a_name_later) {
    vp__test_threads(2);
    double memory[BORROWED];
    vp_array b = borrow(memory);
    vp_expr e = vp_add(b, 1.0);
    vp_drop(b);
    vp_array t = vp_let(e);
    VP_CHECK_SOON(atomic_load(&released) == 1);
    VP_CHECK_VALUES(vp_get(t, vp_until(3)), 1, 2, 3);
}

static void *drop_and_wait(void *of) {
    vp_drop(*(vp_array *)of);
    VP_CHECK_SOON(atomic_load(&released) == 1);
    return NULL;
}

VP_TEST(another_thread_gives_memory_back_that_a_held_value_reads) {
    vp__test_threads(2);
    double memory[BORROWED];
    vp_array b = borrow(memory), t = vp_let(vp_add(b, 1.0));
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, drop_and_wait, &b));
    VP_CHECK(!pthread_join(thread, NULL));
    VP_CHECK_VALUES(vp_get(t, vp_until(3)), 1, 2, 3);
}

/* --- other threads ------------------------------------------------------------------------ */

static vp_array shared, others;

static void *look(void *arg) {
    (void)arg;
    VP_CHECK_VALUES(vp_get(shared, vp_until(3)), 1, 2, 3);
    vp_put(shared, vp_at(0), 50.0);
    vp_drop(others);
    return NULL;
}

static void run(void *(*what)(void *)) {
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, what, NULL));
    VP_CHECK(!pthread_join(thread, NULL));
}

VP_TEST(another_thread_meets_what_a_name_holds) {
    const int64_t base = vp__test_bytes_now();
    vp_array a = vp__test_counting(10);
    shared = vp_let(vp_add(a, 1.0));
    others = vp_let(vp_mul(shared, 3.0));
    vp_array sum = vp_let(vp_sum(vp_add(shared, others), 0));
    run(look);
    VP_CHECK_VALUES(vp_get(shared, vp_until(3)), 50, 2, 3);
    VP_CHECK_VALUES(sum, 4 * 55);
    vp_drop(sum), vp_drop(shared), vp_drop(a);
    VP_CHECK_NO_LEAK(base);
}

static void *make(void *arg) {
    (void)arg;
    vp_array a = vp__test_counting(10);
    shared = vp_let(vp_add(a, 1.0));
    vp_drop(a);
    return NULL;
}

VP_TEST(what_a_thread_that_ends_holds_is_issued) {
    run(make); /* the first one that issues anything */
    VP_CHECK_VALUES(vp_get(shared, vp_until(3)), 1, 2, 3);
}

static void *hold_and_end(void *arg) {
    (void)arg;
    vp_drop(vp_let(vp_add(vp__test_counting(3), 1.0)));
    return NULL;
}

/* What reads the memory is not held but looked at. */
VP_TEST(a_thread_that_has_ended_is_not_asked_what_it_holds) {
    run(hold_and_end);
    double memory[3] = {1, 2, 3};
    vp_array b =
        vp_borrow(VP_F64, vp_shape(3), NULL, memory, VP_READ_ONLY, note_release, NULL);
    vp_mapped m;
    VP_CHECK_OK(vp_map(b, &m));
    vp_drop(b);
    VP_CHECK_EQ(atomic_load(&released), 0);
    vp_unmap(&m);
    VP_CHECK_SOON(atomic_load(&released) == 1);
}

/* A thread in the middle of nothing, with a value held. */
static _Atomic int stage;

static void *make_and_stay(void *arg) {
    (void)arg;
    shared = vp_let(vp_add(vp__test_counting(10), 1.0));
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 2) usleep(100);
    VP_CHECK_VALUES(vp_get(shared, vp_until(3)), 50, 2, 3);
    return NULL;
}

VP_TEST(a_child_has_what_a_thread_held_that_it_has_not) {
    VP_NEEDS_THREADS_IN_A_CHILD();
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, make_and_stay, NULL));
    while (atomic_load(&stage) != 1) usleep(100);
    const pid_t child = fork();
    if (child == 0) {
        VP_CHECK_VALUES(vp_get(shared, vp_until(3)), 1, 2, 3);
        _exit(0);
    }
    int status = -1;
    VP_CHECK(waitpid(child, &status, 0) == child);
    VP_CHECK_EQ(status, 0);
    vp_put(shared, vp_at(0), 50.0);
    atomic_store(&stage, 2);
    VP_CHECK(!pthread_join(thread, NULL));
}

/* A worker that issues in a thread's place, and that thread, which goes on at any time. */
VP_TEST(idle_workers_and_the_issuer_do_not_meet) {
    vp__test_threads(3);
    vp__tuning.unissued_ns = 1;
    vp__tuning.spin_ns = 0;
    vp__tuning.inline_ns = 0; /* everything is long */
    vp__tuning.wake_ns = 0;
    const int64_t base = vp__test_bytes_now();
    const int turns = 20000 / vp__test_slowdown();
    vp_array a = vp__test_counting(5), t = vp_let(vp_add(a, 0.0));
    for (int i = 0; i < turns; i++) {
        vp_array u = vp_let(vp_add(t, 1.0)), w = vp_let(vp_mul(u, 1.0));
        vp_set(t, w);
        vp_drop(u), vp_drop(w);
    }
    VP_CHECK_VALUES(t, turns, turns + 1, turns + 2, turns + 3, turns + 4);
    vp_drop(t), vp_drop(a);
    VP_CHECK_NO_LEAK(base);
}
