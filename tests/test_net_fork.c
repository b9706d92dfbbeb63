/* SPDX-License-Identifier: Apache-2.0
 *
 * fork: the child keeps the net. Work in flight is completed by parent and child each for
 * itself, workers are started again on both sides, and neither sees the other's writes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/core.h"
#include "tests/net_support.h"

static void check_child(pid_t child) {
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK(WIFEXITED(status));
    VP_CHECK_EQ(WEXITSTATUS(status), 0);
}

VP_TEST(both_sides_go_on) {
    vp__test_threads(4);
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(100000);
    for (int i = 0; i < 20; i++) vp_set(x, vp_add(x, 1.0));
    pid_t child = fork(); /* with work in flight */
    VP_CHECK_GE(child, 0);
    double offset = child ? 1000.0 : 2000.0;
    for (int i = 0; i < 20; i++) vp_set(x, vp_add(x, offset));
    vp_put(x, vp_at(0), -1.0);
    VP_CHECK_VALUES(vp_get(x, vp_until(3)), -1, 21 + 20 * offset, 22 + 20 * offset);
    VP_CHECK_VALUES(vp_sum(vp_sub(vp_get(x, vp_from_index(1)), 20 * offset + 20)),
                    99999.0 * 100000 / 2);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    if (!child) _exit(0);
    check_child(child);
    vp_end(s);
}

/* A gate closed at the fork is opened on both sides, at different times. */
VP_TEST(parked_nodes_are_inherited) {
    vp__test_threads(2);
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(4), &gate));
    vp_array y = vp_let(vp_mul(x, 2.0));
    vp_put(y, vp_at(0), 7.0);
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_EQ(VP_STAT(in_flight), 3);
    if (child) usleep(20000);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(y, 7, 2, 4, 6);
    VP_CHECK_VALUES(x, 0, 1, 2, 3);
    if (!child) _exit(0);
    check_child(child);
}

/* In the child somebody does the queued work even if nobody looks. */
VP_TEST(the_child_has_workers) {
    vp__test_threads(2);
    setenv("VP_INLINE", "0", 1);
    vp_array x = vp__test_counting(10);
    vp__gate gate;
    vp_array y = vp_let(vp_add(VP_GATED(x, &gate), 1.0));
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    vp__gate_open(&gate);
    VP_CHECK_SOON(VP_STAT(in_flight) == 0);
    vp_array z = vp_let(vp_add(y, 1.0));
    VP_CHECK_SOON(VP_STAT(in_flight) == 0);
    VP_CHECK_VALUES(vp_sum(z), 65);
    if (!child) _exit(0);
    check_child(child);
}

/* Again and again, with splitting work on the way; children of children too. */
VP_TEST_TIMEOUT(forks_in_a_loop, 60) {
    vp__test_threads(4);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_zeros(VP_F64, vp_shape(300000)));
    for (int turn = 0; turn < 25; turn++) {
        for (int i = 0; i < 4; i++) vp_set(x, vp_add(x, 1.0));
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (!child) {
            vp_set(x, vp_mul(x, 2.0));
            if (turn % 5 == 0) {
                pid_t grandchild = fork();
                VP_CHECK_GE(grandchild, 0);
                VP_CHECK_VALUES(vp_sum(x), 300000.0 * 2 * 4 * (turn + 1));
                if (!grandchild) _exit(0);
                check_child(grandchild);
            }
            VP_CHECK_VALUES(vp_sum(x), 300000.0 * 2 * 4 * (turn + 1));
            _exit(0);
        }
        if (turn % 2) VP_CHECK_VALUES(vp_get(x, -1), 4.0 * (turn + 1));
        check_child(child);
    }
    VP_CHECK_VALUES(vp_max(x), 100);
    vp_end(s);
}

/* A child that exits in the usual way runs exit handlers without hanging. */
VP_TEST(a_child_may_exit) {
    vp__test_threads(4);
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(1000000)));
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    vp_array y = vp_let(vp_sin(x));
    if (!child) exit(vp_size(y) == 1000000 ? 0 : 1);
    check_child(child);
    VP_CHECK_VALUES(vp_all(vp_gt(y, 0.0)), 1);
}

/* Before the processor was ever used. */
VP_TEST(a_fork_before_the_first_use) {
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    VP_CHECK_VALUES(vp_add(vp__test_counting(3), 1.0), 1, 2, 3);
    if (!child) _exit(0);
    check_child(child);
}

static _Atomic bool begun, enough;

static void *start_workers(void *unused) {
    (void)unused;
    begun = true;
    while (!enough) vp__workers_start();
    return NULL;
}

/* Another thread, as one that issues, starts the workers again as soon as a fork has stopped
 * them: the child finds none, and the lock free. */
VP_TEST(another_thread_starts_workers) {
#if defined(__SANITIZE_THREAD__)
    VP_SKIP(
        "in a child the thread sanitizer confuses new threads with those of the parent");
#endif
    vp__test_threads(2);
    vp_sync(); /* which makes the processor ready for forks */
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, start_workers, NULL), 0);
    /* While a thread begins it holds locks of the address sanitizer's, which a child does not
     * find free. */
    VP_CHECK_SOON(begun);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (!child) {
            vp__workers_start();
            vp__workers_stop();
            _exit(0);
        }
        check_child(child);
    }
    enough = true;
    pthread_join(thread, NULL);
}
