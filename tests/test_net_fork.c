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

#include "net/pause.h"
#include "net/runtime.h"
#include "net/tuning.h"
#include "net/workers.h"
#include "tests/net_support.h"

static void check_child(pid_t child) {
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK(WIFEXITED(status));
    VP_CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Forks; the parent goes on when the child has ended well, the child has some seconds. */
static bool in_a_child(void) {
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child)
        check_child(child);
    else
        alarm(20);
    return child == 0;
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

static _Atomic int entered;
static void issue_after_a_while(void *context, void *memory) {
    (void)context, (void)memory;
    atomic_fetch_add(&entered, 1);
    usleep(20000);
    vp_drop(vp_let(vp_add(vp__test_counting(3), 1.0)));
}

/* A worker runs what the user wants done when memory is released, and that issues while
 * another thread wants to fork. */
VP_TEST(a_worker_may_issue_while_somebody_forks) {
    setenv("VP_INLINE", "0", 1);
    vp__test_threads(2);
    static double memory[4] = {1, 2, 3, 4};
    for (int turn = 0; turn < 5; turn++) {
        vp_scope s = vp_begin();
        vp_array x = vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_READ_ONLY,
                               issue_after_a_while, NULL);
        vp_array sum = vp_let(vp_sum(x));
        vp_drop(x);
        VP_CHECK_SOON(atomic_load(&entered) == turn + 1); /* nobody here helps */
        if (in_a_child()) _exit(0);
        VP_CHECK_VALUES(sum, 10);
        vp_end(s);
    }
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
    VP_NEEDS_THREADS_IN_A_CHILD();
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

/* --- while other threads issue ------------------------------------------------------ */

/* In a child the thread sanitizer confuses new threads with those of the parent: there it
 * may start none. */
static void threads_where_children_may(int threads) {
#if defined(__SANITIZE_THREAD__)
    threads = 1;
    setenv("VP_BLAS", "0", 1); /* which starts one when it is opened */
#endif
    vp__test_threads(threads);
    /* A sanitizer's locks are not looked after in a fork, and a compiler takes them. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    setenv("VP_JIT", "off", 1);
#endif
}

static bool somebody_observes(void) {
    for (int i = 0; i < vp__core_count; i++)
        if (atomic_load(&vp__cores[i]->observing)) return true;
    return false;
}

typedef struct {
    vp_array x;
    double first;
} reader;

static void *read_first(void *arg) {
    reader *r = arg;
    VP_CHECK_OK(vp_item(vp_get(r->x, 0), &r->first));
    return NULL;
}

/* Another thread waits to read what only the forking one can bring about. The fork does not
 * wait for it, and in the child its read is not waited for. */
VP_TEST(another_thread_waits_for_a_result) {
    threads_where_children_may(2);
    vp__tuning.copy_bytes = -1; /* writes wait for reads */
    vp_array x = vp_let(vp_zeros(VP_F64, vp_shape(4)));
    vp__gate gate;
    VP_CHECK_OK(vp_sync());
    vp_put(x, vp_at(vp_until(2)), VP_GATED(vp__test_counting(2), &gate));
    reader other = {.x = x};
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, read_first, &other), 0);
    VP_CHECK_SOON(somebody_observes());
    for (int turn = 0; turn < 2; turn++) {
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (!child) {
            alarm(20);
            vp_put(x, vp_at(0), 7.0); /* behind the other's read */
            vp_array y = vp_let(vp_add(x, 1.0));
            vp__gate_open(&gate);
            VP_CHECK_VALUES(y, 8, 2, 1, 1);
            VP_CHECK_OK(vp_sync());
            VP_CHECK_EQ(VP_STAT(in_flight), 0);
            _exit(0);
        }
        check_child(child);
        VP_CHECK(somebody_observes());
    }
    vp__gate_open(&gate);
    pthread_join(thread, NULL);
    VP_CHECK_EQ(other.first, 0);
    VP_CHECK_VALUES(x, 0, 1, 0, 0);
}

/* A thread that waits has short nodes left to it; in the child it does none of them. */
VP_TEST(nobody_relies_on_a_thread_that_is_lost) {
    threads_where_children_may(2);
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(4), &gate));
    reader other = {.x = x};
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, read_first, &other), 0);
    VP_CHECK_SOON(somebody_observes()); /* and a fork stops it within its wait */
    if (in_a_child()) {
        for (int i = 0; i < vp__core_count; i++)
            VP_CHECK(!atomic_load(&vp__cores[i]->helping));
        _exit(0);
    }
    vp__gate_open(&gate);
    pthread_join(thread, NULL);
    VP_CHECK_EQ(other.first, 0);
}

static void *sync_now(void *unused) {
    (void)unused;
    atomic_store(&begun, true);
    VP_CHECK_OK(vp_sync());
    return NULL;
}

/* Nor does it wait for one that waits for everything. */
VP_TEST(another_thread_waits_for_everything) {
    threads_where_children_may(2);
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(3), &gate));
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, sync_now, NULL), 0);
    VP_CHECK_SOON(atomic_load(&begun));
    for (int turn = 0; turn < 5; turn++) {
        if (!in_a_child()) continue;
        vp__gate_open(&gate);
        VP_CHECK_VALUES(x, 0, 1, 2);
        _exit(0);
    }
    vp__gate_open(&gate);
    pthread_join(thread, NULL);
}

static void *read_size(void *arg) {
    reader *r = arg;
    atomic_store(&begun, true);
    r->first = (double)vp_size(r->x);
    return NULL;
}

/* Or for a size. */
VP_TEST(another_thread_waits_for_a_size) {
    threads_where_children_may(2);
    vp__gate size, gate;
    vp_array x = vp_let(VP_GATED_SIZE(vp__test_counting(3), &size, &gate));
    reader other = {.x = x};
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, read_size, &other), 0);
    VP_CHECK_SOON(atomic_load(&begun));
    usleep(10000);
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (!child) alarm(20);
    vp__gate_open(&size);
    VP_CHECK_EQ(vp_size(x), 3);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(x, 0, 1, 2);
    if (!child) _exit(0);
    check_child(child);
    pthread_join(thread, NULL);
    VP_CHECK_EQ(other.first, 3);
}

static void *issue_many(void *arg) {
    reader *r = arg;
    vp_scope s = vp_begin();
    for (int i = 0; i < 100; i++) {
        atomic_store(&begun, i >= 20);
        vp_let(vp_add(r->x, (double)i));
    }
    vp_end(s);
    return NULL;
}

/* One at the limit of nodes gets room for the instruction it is in. */
VP_TEST(another_thread_waits_for_room) {
    threads_where_children_may(2);
    vp__tuning.max_nodes = 20;
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(3), &gate));
    reader other = {.x = x};
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, issue_many, &other), 0);
    VP_CHECK_SOON(VP_STAT(limit_waits) > 0);
    for (int turn = 0; turn < 5; turn++) {
        if (!in_a_child()) continue;
        vp__gate_open(&gate);
        VP_CHECK_VALUES(vp_mul(x, 2.0), 0, 2, 4);
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(VP_STAT(in_flight), 0);
        _exit(0);
    }
    vp__gate_open(&gate);
    pthread_join(thread, NULL);
}

/* All that may be cut in two: names, short instructions and long ones, puts that gather in
 * bundles, writes that rename, late sizes, libraries, waiting. */
static void *issue_all_kinds(void *arg) {
    const vp_array shared = *(const vp_array *)arg;
    vp_scope outer = vp_begin();
    vp_array r = vp_let(vp_zeros(VP_F64, vp_shape(64)));
    vp_array m = vp_let(vp_ones(VP_F64, vp_shape(64, 16)));
    vp_array q = vp_let(vp_ones(VP_F64, vp_shape(64, 64)));
    vp_array large = vp_let(vp_ones(VP_F64, vp_shape(100000)));
    int turn = 0;
    while (!atomic_load(&enough)) {
        atomic_store(&begun, true);
        vp_scope s = vp_begin();
        for (int64_t i = 0; i < 64; i++) vp_put(r, vp_at(i), vp_sum(vp_get(m, i)));
        vp_array y = vp_let(vp_add(shared, r));
        vp_set(r, vp_mul(y, 0.5));
        vp_array v = vp_view(vp_get(r, vp_range(3, 9)));
        vp_put(v, vp_at(VP_ALL), vp_get(y, vp_range(1, 7)));
        vp_array found = vp_let(vp_find(vp_gt(large, 0.5)));
        vp_set(large, vp_sqrt(vp_add(large, vp_get(y, 0))));
        if (turn % 5 == 0) vp_set(q, vp_mul(vp_matmul(q, q), 1.0 / 64));
        if (turn % 13 == 0) vp_set(y, vp_abs(vp_fft(y, 0)));
        double sum = 0;
        if (++turn % 3 == 0) VP_CHECK_OK(vp_item(vp_sum(large), &sum));
        if (turn % 7 == 0) VP_CHECK_EQ(vp_size(found), 100000);
        if (turn % 11 == 0) VP_CHECK_OK(vp_sync());
        vp_end(s);
    }
    vp_end(outer);
    return NULL;
}

/* Only what the child has from its parent's forking thread, and what all share. */
static void go_on_in_child(vp_array mine, vp_array shared, double expected, bool forks,
                           bool exits) {
    pid_t grandchild = forks ? fork() : 0;
    VP_CHECK_GE(grandchild, 0);
    alarm(60);
    if (grandchild) check_child(grandchild);
    VP_CHECK_VALUES(vp_sum(mine), expected);
    vp_put(mine, vp_at(0), -1.0);
    vp_put(shared, vp_at(0), 5.0); /* which another thread may have been reading */
    vp_array y = vp_let(vp_add(vp_get(mine, vp_until(64)), shared));
    for (int64_t i = 0; i < 64; i++) vp_put(shared, vp_at(i), vp_sum(vp_get(y, i)));
    VP_CHECK_VALUES(vp_get(shared, 0), 4);
    VP_CHECK_VALUES(vp_all(vp_isfinite(shared)), 1);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    if (exits) exit(0);
    _exit(0);
}

static _Atomic bool all_begun;

static void fork_while_others_issue(int others, int forks) {
#if defined(__SANITIZE_THREAD__)
    forks = forks / 10 + 1; /* each takes it half a second */
#endif
    vp_array shared = vp_let(vp_ones(VP_F64, vp_shape(64)));
    vp_array mine = vp_let(vp_zeros(VP_F64, vp_shape(20000)));
    VP_CHECK_OK(vp_sync());
    pthread_t thread[4];
    for (int i = 0; i < others; i++) {
        atomic_store(&begun, false);
        VP_CHECK_EQ(pthread_create(&thread[i], NULL, issue_all_kinds, &shared), 0);
        VP_CHECK_SOON(atomic_load(&begun)); /* see above */
    }
    atomic_store(&all_begun, true);
    bool exits = true;
#if defined(__SANITIZE_ADDRESS__)
    exits = false; /* what only other threads knew of would count as lost */
#endif
    for (int turn = 1; turn <= forks; turn++) {
        vp_set(mine, vp_add(mine, 1.0));
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (!child)
            go_on_in_child(mine, shared, 20000.0 * turn, turn % 8 == 1,
                           exits && turn % 2);
        if (turn % 4 == 0) VP_CHECK_VALUES(vp_sum(mine), 20000.0 * turn);
        check_child(child);
        usleep(
            (useconds_t)(turn * 37 % 500)); /* others go on to wherever they are then */
    }
    atomic_store(&enough, true);
    for (int i = 0; i < others; i++) pthread_join(thread[i], NULL);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
}

static int fewer(int forks) { return vp__test_slowdown() > 1 ? forks / 3 : forks; }

VP_TEST_TIMEOUT(forks_while_another_thread_issues, 120) {
    threads_where_children_may(2);
    fork_while_others_issue(1, fewer(200));
}

VP_TEST_TIMEOUT(forks_while_several_threads_issue, 120) {
    threads_where_children_may(4);
    fork_while_others_issue(3, fewer(60));
}

/* Nothing runs at once on its issuer. */
VP_TEST_TIMEOUT(forks_while_another_thread_hands_over, 120) {
    threads_where_children_may(2);
    setenv("VP_INLINE", "0", 1);
    fork_while_others_issue(1, fewer(60));
}

/* As where the system cannot put a barrier into other threads. */
VP_TEST_TIMEOUT(forks_where_threads_have_barriers, 120) {
    threads_where_children_may(2);
    vp__net_init();
    atomic_fetch_or(&vp__forking, VP__FORK_NO_BARRIER);
    fork_while_others_issue(1, fewer(60));
}

static void *fork_often(void *arg) {
    atomic_store(&begun, true);
    while (!atomic_load(&all_begun)) usleep(1000);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (!child) {
            alarm(60);
            VP_CHECK_VALUES(vp_sum(*(vp_array *)arg), 6);
            _exit(0);
        }
        check_child(child);
    }
    return NULL;
}

/* Several threads fork, two of which do not issue. */
VP_TEST_TIMEOUT(several_threads_fork, 120) {
    threads_where_children_may(2);
    vp_array x = vp__test_counting(4);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        atomic_store(&begun, false);
        VP_CHECK_EQ(pthread_create(&thread[i], NULL, fork_often, &x), 0);
        VP_CHECK_SOON(atomic_load(&begun));
    }
    fork_while_others_issue(1, 20);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}
