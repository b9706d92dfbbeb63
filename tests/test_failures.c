/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures that nobody has looked at: vp_sync tells them, each once, in the order of issue,
 * whatever has become of the values; the end of the process tells of those that are left.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failure.h"
#include "tests/net_support.h"

/* The slices of x at a position that is out of bounds, which shows only when it runs. */
static vp_expr take_late(vp_array x, int64_t position) {
    return vp_take(x, vp_from(VP_I64, vp_shape(1), &position), 0);
}

#define CHECK_SYNC(status, part)                                                         \
    do {                                                                                 \
        VP_CHECK_ERROR(vp_sync(), status, part);                                         \
        vp_clear_error();                                                                \
    } while (0)

/* --- vp_sync ---------------------------------------------------------------------------- */

VP_TEST(sync_tells_a_late_failure_once) {
    vp_scope s = vp_begin();
    double memory[4] = {0, 1, 2, 3};
    vp_array x = vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_WRITABLE, NULL, NULL);
    int64_t position = 9;
    vp_put(x, vp_at(vp_let(vp_from(VP_I64, vp_shape(1), &position))), 7.0);
    CHECK_SYNC(VP_ERR_INDEX, "put: index 9");
    VP_CHECK_OK(vp_sync());
    VP_CHECK_ERROR(vp_wait(x), VP_ERR_INDEX,
                   "put: index 9"); /* it is as failed as before */
    VP_CHECK_OK(vp_sync());
    vp_end(s);
}

VP_TEST(sync_tells_failures_in_the_order_of_issue) {
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array x = vp__test_counting(5), one = vp_let(vp_ones(VP_I64, vp_shape(1)));
    vp_array late = vp_let(VP_GATED(vp_mul(one, 11), &gate));
    vp_array first = vp_let(vp_take(x, late, 0)); /* the last one to run */
    vp_array second = vp_let(vp_add(x, vp_ones(VP_F64, vp_shape(3))));
    vp_array third = vp_let(take_late(x, 33));
    vp_wait(vp_sum(x));
    vp__gate_open(&gate);
    CHECK_SYNC(VP_ERR_INDEX, "index 11");
    CHECK_SYNC(VP_ERR_SHAPE, "add");
    CHECK_SYNC(VP_ERR_INDEX, "index 33");
    VP_CHECK_OK(vp_sync());
    vp_drop(first), vp_drop(second), vp_drop(third);
    vp_end(s);
}

VP_TEST(an_observer_that_returned_it_has_looked_at_it) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(5);
    double out[8];
    bool truth;
    vp_mapped m;
    VP_CHECK_NE(vp_read(take_late(x, 10), out, 8), VP_OK);
    VP_CHECK_NE(vp_item(take_late(x, 11), out), VP_OK);
    VP_CHECK_NE(vp_test(take_late(x, 12), &truth), VP_OK);
    VP_CHECK_NE(vp_map(take_late(x, 13), &m), VP_OK);
    VP_CHECK_NE(vp_wait(take_late(x, 14)), VP_OK);
    VP_CHECK_EQ(vp_size(vp_add(x, vp_ones(VP_F64, vp_shape(3)))), -1);
    VP_CHECK_NE(vp_read(x, out, 1), VP_OK);
    vp_array none = {0, 0};
    vp_set(none, 1.0);
    VP_CHECK_EQ(vp_error(), VP_ERR_HANDLE);
    VP_CHECK_OK(vp_sync());
    vp_end(s);
}

/* One mistake that many values inherit is one failure. */
VP_TEST(an_inherited_failure_is_one) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(5), bad = vp_let(take_late(x, 10));
    for (int i = 0; i < 20; i++) vp_set(x, vp_add(x, bad));
    vp_array copy = vp_let(x), sorted = vp_let(vp_sort(x, 0));
    VP_CHECK_ERROR(vp_wait(vp_sum(x)), VP_ERR_INDEX, "index 10");
    VP_CHECK_OK(vp_sync());
    VP_CHECK_NE(vp_wait(copy), VP_OK);
    VP_CHECK_NE(vp_wait(sorted), VP_OK);
    VP_CHECK_OK(vp_sync());
    vp_end(s);
}

/* Whoever is told of one failure of an array has looked at all that is wrong with it. */
VP_TEST(a_look_at_an_array_is_one_at_all_its_failures) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(8), y = vp_let(vp_zeros(VP_F64, vp_shape(8)));
    for (int i = 0; i < 4; i++)
        vp_put(y, vp_at(vp_range(i, i + 1)), take_late(x, 20 + i));
    VP_CHECK_ERROR(vp_wait(vp_get(y, vp_range(0, 2))), VP_ERR_INDEX, "index 20");
    CHECK_SYNC(VP_ERR_INDEX, "index 22");
    VP_CHECK_ERROR(vp_wait(y), VP_ERR_INDEX, "index 20");
    VP_CHECK_OK(vp_sync());
    vp_end(s);
}

/* Nothing that became of the value undoes the failure. */
VP_TEST(what_was_overwritten_or_dropped_has_failed_all_the_same) {
    vp_array x = vp__test_counting(5);
    vp_drop(vp_let(take_late(x, 10)));
    CHECK_SYNC(VP_ERR_INDEX, "index 10");
    vp_put(x, vp_at(vp_range(0, 1)), take_late(x, 11));
    vp_put(x, vp_at(VP_ALL), 1.0);
    VP_CHECK_OK(vp_wait(x));
    CHECK_SYNC(VP_ERR_INDEX, "index 11");
    vp_scope s = vp_begin();
    vp_add(x, vp_ones(VP_F64, vp_shape(3))); /* an expression that is thrown away */
    vp_end(s);
    CHECK_SYNC(VP_ERR_SHAPE, "add");
    VP_CHECK_OK(vp_sync());
    vp_drop(x);
}

static void *fail_elsewhere(void *arg) {
    (void)arg;
    vp_array x = vp__test_counting(3);
    vp_drop(vp_let(take_late(x, 8)));
    vp_drop(x);
    return NULL;
}

VP_TEST(sync_tells_what_other_threads_did_wrong) {
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, fail_elsewhere, NULL));
    pthread_join(thread, NULL);
    CHECK_SYNC(VP_ERR_INDEX, "index 8");
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_put_into_read_only_memory_fails_and_writes_nothing) {
    vp_scope s = vp_begin();
    double memory[3] = {1, 2, 3};
    vp_array x = vp_borrow(VP_F64, vp_shape(3), NULL, memory, VP_READ_ONLY, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        vp_put(x, vp_at(i), 9.0);
        VP_CHECK_VALUES(x, 1, 2, 3);
    }
    for (int i = 0; i < 3; i++) CHECK_SYNC(VP_ERR_VALUE, "read-only");
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(memory[0], 1);
    vp_end(s);
}

/* Beyond a thousand that nobody looked at failures are only counted, so that a program that
 * fails for days keeps no more than those. */
VP_TEST(a_flood_of_failures_keeps_a_thousand) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(4);
    for (int i = 0; i < 3000; i++) vp_drop(vp_let(vp_get(x, 10)));
    int told = 0;
    while (vp_sync() != VP_OK) told++;
    VP_CHECK_EQ(told, 1000);
    vp_end(s);
}

VP_TEST(print_shows_the_message_of_what_failed) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(4);
    vp__test_capture_begin();
    vp_status status = vp_print(take_late(x, 6));
    const char *said = vp__test_capture_end();
    VP_CHECK_EQ(status, VP_ERR_INDEX);
    VP_CHECK_CONTAINS(said, "test_failures.c:");
    VP_CHECK_CONTAINS(said, "take: index 6");
    VP_CHECK_OK(vp_sync());
    vp_end(s);
}

/* --- the end of a process, and VP_ERRORS ---------------------------------------------------- */

/* What a process says on stderr that does this and ends; its status as of waitpid. */
static char said[4000];
static int run(const char *errors, void (*what)(void), void (*end)(int)) {
    int ends[2], status;
    fflush(NULL);
    VP_CHECK(!pipe(ends));
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]), close(ends[1]);
        if (errors) setenv("VP_ERRORS", errors, 1);
        alarm(20);
        what();
        end(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, sizeof said - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = 0;
    close(ends[0]);
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static int lines(void) {
    int n = 0;
    for (const char *c = said; *c; c++) n += *c == '\n';
    return n;
}

static void do_nothing(void) { vp_drop(vp__test_counting(4)); }

static void fail_three_times(void) {
    vp_array x = vp__test_counting(4);
    for (int i = 0; i < 3; i++) vp_drop(vp_let(vp_get(x, 10 + i)));
    vp_drop(x);
}

static void fail_and_look(void) {
    fail_three_times();
    while (vp_sync() != VP_OK) {}
}

VP_TEST(the_end_tells_of_failures_that_nobody_looked_at) {
    VP_CHECK_EQ(run(NULL, fail_three_times, exit), 0);
    VP_CHECK_EQ(lines(), 1);
    VP_CHECK_CONTAINS(said, "test_failures.c:");
    VP_CHECK_CONTAINS(said, "index 10");
    VP_CHECK_CONTAINS(said, "2 more");
    VP_CHECK_EQ(run(NULL, fail_and_look, exit), 0);
    VP_CHECK_STR(said, "");
    VP_CHECK_EQ(run(NULL, do_nothing, exit), 0);
    VP_CHECK_STR(said, "");
    VP_CHECK_EQ(run("quiet", fail_three_times, exit), 0);
    VP_CHECK_STR(said, "");
    VP_CHECK_EQ(run(NULL, fail_three_times, _exit), 0);
    VP_CHECK_STR(said, "");
    VP_CHECK_EQ(run(NULL, fail_three_times, quick_exit), 0);
    VP_CHECK_STR(said, "");
}

VP_TEST(every_failure_is_printed_as_it_happens) {
    VP_CHECK_EQ(run("print", fail_and_look, exit), 0);
    VP_CHECK_EQ(lines(), 3);
    VP_CHECK_CONTAINS(said, "index 11");
}

VP_TEST(the_first_failure_aborts) {
    int status = run("abort", fail_three_times, exit);
    VP_CHECK(WIFSIGNALED(status));
    VP_CHECK_EQ(WTERMSIG(status), SIGABRT);
    VP_CHECK_CONTAINS(said, "index 10");
    VP_CHECK(!strstr(said, "index 11"));
}

static void fail_and_fork(void) {
    fail_three_times();
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) exit(0); /* says nothing: it is the parent's failure */
    int status;
    if (waitpid(child, &status, 0) != child || status) abort();
}

static void fail_in_a_child(void) {
    do_nothing();
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        fail_three_times();
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) abort();
}

VP_TEST(a_child_tells_of_its_own_failures) {
    VP_CHECK_EQ(run(NULL, fail_and_fork, exit), 0);
    VP_CHECK_EQ(lines(), 1);
    VP_CHECK_EQ(run(NULL, fail_in_a_child, exit), 0);
    VP_CHECK_EQ(lines(), 1);
}

static void *fail_for_ever(void *arg) {
    for (;;) fail_three_times();
    return arg;
}

static void fail_in_threads(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, fail_for_ever, NULL)) abort();
    }
    usleep(20000);
    fail_three_times();
}

VP_TEST(the_end_comes_while_threads_are_failing) {
    VP_NEEDS_THREADS_IN_A_CHILD();
    for (int i = 0; i < 5; i++) {
        VP_CHECK_EQ(run(NULL, fail_in_threads, exit), 0);
        VP_CHECK_LE(lines(), 1);
    }
}

static void exit_within(void *context, void *memory) {
    (void)context, (void)memory;
    fail_three_times();
    exit(0);
}

static void exit_in_a_release(void) {
    static double memory[4];
    vp_array x =
        vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_WRITABLE, exit_within, NULL);
    vp_drop(x);
    vp_sync();
}

VP_TEST(the_end_comes_in_the_midst_of_a_call) {
    VP_CHECK_EQ(run(NULL, exit_in_a_release, exit), 0);
    VP_CHECK_EQ(lines(), 1);
}
