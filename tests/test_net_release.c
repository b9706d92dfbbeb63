/* SPDX-License-Identifier: Apache-2.0
 *
 * Borrowed memory is given back at its last use, by somebody who has nothing in hand, whatever
 * the user's code does then, whoever comes, ends or forks meanwhile; and vp_sync waits for it,
 * but not for what others go on issuing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rounds.h"
#include "net/tuning.h"
#include "tests/net_support.h"

enum { ELEMENTS = 100000, LARGE = 1000000 };

static void count_release(void *context, void *memory) {
    VP_CHECK(memory != NULL);
    atomic_fetch_add((_Atomic int *)context, 1);
}

VP_TEST(borrowed_memory_is_released_at_the_last_use) {
    vp__test_threads(2);
    static double memory[1000];
    _Atomic int released = 0;
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
    vp_array x = vp_borrow(VP_F64, vp_shape(1000), NULL, memory, VP_READ_ONLY,
                           count_release, &released);
    vp_array y = vp_let(vp_add(x, zero));
    vp_drop(x);
    VP_CHECK_EQ(atomic_load(&released), 0); /* y still reads it */
    vp__gate_open(&gate);
    VP_CHECK_OK(vp_wait(y));
    VP_CHECK_SOON(atomic_load(&released) == 1);
    vp_end(s);
}

static void issue_and_wait(void *context, void *memory) {
    (void)memory;
    vp_array y = vp_let(vp_cumsum(vp_ones(VP_F64, vp_shape(ELEMENTS)), 0));
    VP_CHECK_VALUES(vp_get(y, -1), ELEMENTS);
    vp_drop(y);
    VP_CHECK_OK(vp_sync());
    atomic_fetch_add((_Atomic int *)context, 1);
}

static void wait_for_short(void *context, void *memory) {
    (void)memory;
    vp_array y = vp_let(vp_add(vp_ones(VP_F64, vp_shape(3)), 1.0));
    VP_CHECK_VALUES(y, 2, 2, 2);
    vp_drop(y);
    atomic_fetch_add((_Atomic int *)context, 1);
}

/* What the user wants done then may be anything, whoever was the last to use the memory: here
 * the store that waited for a reader. */
static void check_waiting_release(int threads) {
    static double memory[10];
    static _Atomic int released;
    vp__test_threads(threads);
    for (int turn = 1; turn <= 10; turn++) {
        vp_scope s = vp_begin();
        vp__gate gate;
        vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
        vp_array x = vp_borrow(VP_F64, vp_shape(10), NULL, memory, VP_WRITABLE,
                               issue_and_wait, &released);
        vp_put(x, vp_at(VP_ALL), 1.0);
        vp_array sum = vp_let(vp_sum(vp_add(x, zero)));
        vp_put(x, vp_at(vp_range(2, 4)), 7.0); /* its store waits for the sum */
        vp_drop(x);
        vp__gate_open(&gate);
        VP_CHECK_VALUES(sum, 10);
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(atomic_load(&released), turn);
        VP_CHECK_EQ(memory[3], 7);
        vp_end(s);
    }
}
/* Many that wait, one within the other, would need as many stacks. */
static void check_many_waiting_releases(int threads) {
    enum { MANY = 20000 };
    static double memory[MANY];
    static _Atomic int released;
    vp__test_threads(threads);
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
    for (int i = 0; i < MANY; i++) {
        vp_array x = vp_borrow(VP_F64, vp_shape(1), NULL, memory + i, VP_READ_ONLY,
                               wait_for_short, &released);
        vp_drop(vp_let(vp_add(x, zero)));
        vp_drop(x);
    }
    vp__gate_open(&gate);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), MANY);
    vp_end(s);
}
VP_TEST(many_releases_may_wait) { check_many_waiting_releases(1); }
VP_TEST(many_releases_may_wait_with_workers) { check_many_waiting_releases(4); }

static void fail(void *context, void *memory) {
    (void)memory;
    *(vp_status *)context =
        vp_wait(vp_add(vp_ones(VP_F64, vp_shape(2)), vp_ones(VP_F64, vp_shape(3))));
}

VP_TEST(errors_in_a_release_are_its_own) {
    static double memory[10];
    vp_status seen = VP_OK;
    vp_array x = vp_borrow(VP_F64, vp_shape(10), NULL, memory, VP_READ_ONLY, fail, &seen);
    vp_drop(x);
    VP_CHECK_EQ(seen, VP_ERR_SHAPE);
    VP_CHECK_EQ(vp_error(), VP_OK);
    x = vp_borrow(VP_F64, vp_shape(10), NULL, memory, VP_READ_ONLY, fail, &seen);
    vp_expr e = vp_add(x, 1.0);
    vp_drop(x);
    /* The expression goes with the mistake, and the memory with it. */
    VP_CHECK_ERROR(vp_wait(vp_matmul(e, 1.0)), VP_ERR_SHAPE, "matmul");
}

static void *leave_it_open(void *released) {
    static double memory[1];
    vp_array x = vp_borrow(VP_F64, vp_shape(1), NULL, memory, VP_READ_ONLY,
                           wait_for_short, released);
    vp_add(x, 1.0); /* nobody's; goes with the thread, and the memory with it */
    vp_drop(x);
    return NULL;
}

VP_TEST(what_a_thread_leaves_is_given_back) {
    static _Atomic int released;
    vp__test_threads(1);
    vp_drop(vp_let(vp_ones(VP_F64, vp_shape(1))));
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, leave_it_open, &released), 0);
    pthread_join(thread, NULL);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), 1);
}

VP_TEST(a_worker_that_issues_says_so) {
    static double memory[1];
    static _Atomic int released;
    vp__test_threads(2);
    VP_CHECK(!atomic_load(&vp__many_issuers));
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_shape(ELEMENTS)), &gate));
    vp_array x = vp_borrow(VP_F64, vp_shape(1), NULL, memory, VP_READ_ONLY,
                           wait_for_short, &released);
    vp_array y = vp_let(vp_add(zero, x));
    vp_drop(x);
    vp__gate_open(&gate); /* and nobody calls: a worker does it */
    VP_CHECK_SOON(atomic_load(&released) == 1);
    VP_CHECK(atomic_load(&vp__many_issuers));
    vp_drop(y);
    vp_end(s);
}

VP_TEST(a_release_may_wait) { check_waiting_release(1); }
VP_TEST(a_release_may_wait_with_workers) { check_waiting_release(3); }

VP_TEST(a_worker_gives_back_what_a_thread_leaves) {
    static _Atomic int released;
    vp__test_threads(2);
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(LARGE)));
    VP_CHECK_OK(vp_sync());
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, leave_it_open, &released), 0);
    pthread_join(thread, NULL);
    VP_CHECK_SOON(atomic_load(&released) == 1); /* and nobody calls */
    vp_drop(x);
}

static _Atomic bool releases;
static vp__gate released_gate;
static vp__test_opener released_opener;

static void issue_amid_a_sync(void *context, void *memory) {
    (void)memory;
    atomic_store(&releases, true);
    while (!atomic_load(&vp__cores[0]->helping)) usleep(100); /* until it waits */
    vp_drop(vp_let(VP_GATED(vp_ones(VP_F64, vp_shape(3)), &released_gate)));
    vp__test_open_later(&released_opener, &released_gate, 20);
    atomic_fetch_add((_Atomic int *)context, 1);
}

/* What is given back while vp_sync waits may issue, and that is waited for as well. */
VP_TEST(a_sync_waits_for_what_a_release_issues) {
    static double memory[1];
    static _Atomic int released;
    vp__test_threads(2);
    vp__gate gate;
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_shape(ELEMENTS)), &gate));
    vp_array x = vp_borrow(VP_F64, vp_shape(1), NULL, memory, VP_READ_ONLY,
                           issue_amid_a_sync, &released);
    vp_array y = vp_let(vp_add(zero, x));
    vp_drop(x);
    vp__gate_open(&gate); /* and nobody calls: a worker does it */
    VP_CHECK_SOON(atomic_load(&releases));
    VP_CHECK_OK(vp_sync());
    VP_CHECK(atomic_load(&released_opener.opened));
    VP_CHECK_EQ(atomic_load(&released), 1);
    vp__test_join(&released_opener);
    vp_drop(y);
    vp_drop(zero);
}

static void keep_pointer(void *context, void *memory) { *(void **)context = memory; }

VP_TEST(release_is_called_with_what_was_given) {
    static double memory[6];
    void *seen = NULL;
    const int64_t backwards = -(int64_t)sizeof(double);
    vp_drop(vp_borrow(VP_F64, vp_shape(6), &backwards, memory + 5, VP_READ_ONLY,
                      keep_pointer, &seen));
    VP_CHECK(seen == memory + 5);
}

/* --- threads that end --------------------------------------------------------------------- */

static pthread_key_t last_words;
static _Atomic bool is_ending, has_begun;

static void add_up(int turns, double salt) {
    for (int i = 0; i < turns; i++) {
        vp_array x = vp_let(vp_arange(VP_F64, 0, 2000, 1));
        vp_array y = vp_let(vp_add(vp_mul(x, 2.0), salt));
        VP_CHECK_VALUES(vp_sum(y), 2000.0 * 1999 + 2000 * salt);
        vp_drop(x);
        vp_drop(y);
    }
}

/* A destructor of the program's own, which runs after vproc's. */
static void speak(void *unused) {
    (void)unused;
    atomic_store(&is_ending, true);
    while (!atomic_load(&has_begun)) usleep(100);
    add_up(500, 3);
}

static void *end_with_words(void *unused) {
    pthread_setspecific(last_words, "not NULL");
    add_up(1, 1);
    return unused;
}

static void *begin_meanwhile(void *unused) {
    atomic_store(&has_begun, true);
    add_up(500, 5);
    return unused;
}

VP_TEST(a_thread_that_ends_shares_its_record_with_nobody) {
    vp__test_threads(2);
    add_up(2, 0);
    pthread_key_create(&last_words, speak);
    pthread_t ending, beginning;
    VP_CHECK_EQ(pthread_create(&ending, NULL, end_with_words, NULL), 0);
    VP_CHECK_SOON(atomic_load(&is_ending));
    VP_CHECK_EQ(pthread_create(&beginning, NULL, begin_meanwhile, NULL), 0);
    pthread_join(ending, NULL);
    pthread_join(beginning, NULL);
}

/* --- vp_sync while others issue ------------------------------------------------------------ */

static _Atomic bool is_enough;

static vp_array chain;
static double borrowed_memory[ELEMENTS];

static void *issue_for_good(void *released) {
    while (!atomic_load(&is_enough)) {
        if (!released) {
            vp_set(chain, vp_sqrt(chain));
            continue;
        }
        vp_array y = vp_borrow(VP_F64, vp_shape(ELEMENTS), NULL, borrowed_memory,
                               VP_READ_ONLY, count_release, released);
        vp_set(chain, vp_add(vp_sqrt(chain), y));
        vp_drop(y);
    }
    return NULL;
}

/* The other thread's queue is never empty, nor is all given back that it borrows. */
static void check_syncs(_Atomic int *released) {
    vp__test_threads(2);
    vp__tuning.max_nodes = 100;
    chain = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, issue_for_good, released), 0);
    VP_CHECK_SOON(released ? atomic_load(released) > 0 : VP_STAT(executed) > 100);
    for (int i = 0; i < 5; i++) {
        vp_array x = vp_let(vp_cumsum(vp_ones(VP_F64, vp_shape(ELEMENTS)), 0));
        VP_CHECK_OK(vp_sync());
        VP_CHECK(!atomic_load(&vp__test_storage(x)->awaited));
        vp_drop(x);
    }
    atomic_store(&is_enough, true);
    pthread_join(thread, NULL);
    vp_drop(chain);
}
VP_TEST(a_sync_ends_while_another_thread_issues) { check_syncs(NULL); }
VP_TEST(a_sync_ends_while_another_thread_borrows) {
    static _Atomic int released;
    check_syncs(&released);
}

/* Both counters are waited for, also when others let the rounds go by. */
VP_TEST(rounds_wait_for_all_that_has_begun) {
    vp__rounds r = {0};
    uint8_t first = vp__rounds_begin(&r);
    vp__rounds_wait one = vp__rounds_so_far(&r);
    VP_CHECK(!vp__rounds_are_over(&r, &one)); /* the next round begins */
    uint8_t second = vp__rounds_begin(&r);
    VP_CHECK_NE(first, second);
    vp__rounds_wait two = vp__rounds_so_far(&r);
    VP_CHECK(!vp__rounds_are_over(&r, &two));
    vp__rounds_end(&r, first);
    VP_CHECK(vp__rounds_are_over(&r, &one)); /* the second is not its business */
    VP_CHECK(!vp__rounds_are_over(&r, &two));
    uint8_t third = vp__rounds_begin(&r);
    VP_CHECK_EQ(third, first);
    VP_CHECK(!vp__rounds_are_over(&r, &two));
    vp__rounds_end(&r, second);
    VP_CHECK(vp__rounds_are_over(&r, &two));
    VP_CHECK_EQ(vp__rounds_open(&r), 1);
    vp__rounds_end(&r, third);

    /* Who looks away while others see both at zero hears of it from the number of rounds. */
    vp__rounds_wait late = vp__rounds_so_far(&r);
    for (int i = 0; i < 3; i++) {
        uint8_t other = vp__rounds_begin(&r);
        vp__rounds_wait w = vp__rounds_so_far(&r);
        VP_CHECK(!vp__rounds_are_over(&r, &w));
        uint8_t next = vp__rounds_begin(&r);
        vp__rounds_end(&r, other);
        VP_CHECK(vp__rounds_are_over(&r, &w));
        if (i == 2) VP_CHECK(vp__rounds_are_over(&r, &late));
        vp__rounds_end(&r, next);
    }
}

/* --- forks ----------------------------------------------------------------------------------- */

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_releasing, is_locked;

static void lock_a_while(void *context, void *memory) {
    (void)memory;
    atomic_store(&is_releasing, true);
    pthread_mutex_lock(&users_lock);
    pthread_mutex_unlock(&users_lock);
    atomic_fetch_add((_Atomic int *)context, 1);
}

/* Calls with the lock held that the `release` wants, when the fork is under way. */
static void *call_with_lock(void *unused) {
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(3)));
    pthread_mutex_lock(&users_lock);
    atomic_store(&is_locked, true);
    while (!atomic_load(&is_releasing)) usleep(100);
    usleep(50000);
    vp_drop(x);
    pthread_mutex_unlock(&users_lock);
    return unused;
}

VP_TEST(a_fork_waits_for_a_release_before_it_stops_anybody) {
    static double memory[LARGE];
    static _Atomic int released;
    vp__test_threads(2);
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, call_with_lock, NULL), 0);
    VP_CHECK_SOON(atomic_load(&is_locked));
    vp_array x = vp_borrow(VP_F64, vp_shape(LARGE), NULL, memory, VP_READ_ONLY,
                           lock_a_while, &released);
    vp__gate gate;
    vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
    vp_array y = vp_let(vp_sum(vp_add(x, zero)));
    vp_drop(x);
    vp__gate_open(&gate); /* and a worker does it */
    VP_CHECK_SOON(atomic_load(&is_releasing));
    pid_t child = fork();
    if (child == 0) {
        VP_CHECK_VALUES(y, 0);
        VP_CHECK_OK(vp_sync());
        _exit(atomic_load(&released) == 1 ? 0 : 1);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK_EQ(status, 0);
    pthread_join(thread, NULL);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), 1);
    vp_drop(y);
    vp_drop(zero);
}

static vp_array watched;

static void *watch(void *unused) {
    VP_CHECK_OK(vp_wait(watched));
    return unused;
}

static void *just_sync(void *unused) {
    VP_CHECK_OK(vp_sync());
    return unused;
}

/* In the child the reader is gone that a store waited for: the store is the last to use borrowed
 * memory, in the middle of fork. Whoever waits in the child, and however often it forks,
 * everything is given back, once. */
VP_TEST(what_a_fork_sets_free_is_given_back) {
    VP_NEEDS_THREADS_IN_A_CHILD();
    static double memory[4];
    static int64_t indices[4] = {0, 1, 2, 3};
    static _Atomic int released;
    vp__test_threads(2);
    vp__gate gate;
    vp_array ones = vp_let(vp_ones(VP_F64, vp_shape(4)));
    watched = vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_WRITABLE, NULL, NULL);
    VP_CHECK_OK(vp_sync());
    vp_put(watched, vp_at(VP_ALL), VP_GATED(ones, &gate));
    pthread_t reader;
    VP_CHECK_EQ(pthread_create(&reader, NULL, watch, NULL), 0);
    usleep(50000); /* until it waits */
    vp_array index = vp_borrow(VP_I64, vp_shape(4), NULL, indices, VP_READ_ONLY,
                               count_release, &released);
    vp_put(watched, vp_at(index), 7.0);
    vp_drop(index);
    pid_t child = fork();
    if (child == 0) {
        vp__gate_open(&gate);
        pid_t grandchild = fork();
        pthread_t other;
        VP_CHECK_EQ(pthread_create(&other, NULL, just_sync, NULL), 0);
        pthread_join(other, NULL);
        VP_CHECK_EQ(atomic_load(&released), 1);
        for (int i = 2; i < 5; i++) {
            vp_drop(vp_borrow(VP_I64, vp_shape(4), NULL, indices, VP_READ_ONLY,
                              count_release, &released));
            VP_CHECK_OK(vp_sync());
            VP_CHECK_EQ(atomic_load(&released), i);
        }
        int status = 0;
        if (grandchild) VP_CHECK_EQ(waitpid(grandchild, &status, 0), grandchild);
        _exit(status == 0 ? 0 : 1);
    }
    vp__gate_open(&gate);
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK_EQ(status, 0);
    pthread_join(reader, NULL);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), 1);
}

enum { LINKS = 100 };
static _Atomic bool is_issued;

static void *wait_for_chain(void *released) {
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    for (int i = 0; i < LINKS; i++) {
        vp_array y = vp_borrow(VP_F64, vp_shape(1), NULL, borrowed_memory + i,
                               VP_READ_ONLY, count_release, released);
        vp_set(x, vp_add(vp_sin(vp_cos(x)), y));
        vp_drop(y);
    }
    atomic_store(&is_issued, true);
    VP_CHECK_OK(vp_wait(x));
    vp_drop(x);
    return NULL;
}

/* A thread that waits runs nodes, and owes what they were the last to use until its wait is
 * over. A child has not that thread, but owes the same. */
VP_TEST(what_a_waiting_thread_owes_its_child_owes) {
    VP_NEEDS_THREADS_IN_A_CHILD();
    static _Atomic int released;
    vp__test_threads(2);
    VP_CHECK_OK(vp_sync());
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, wait_for_chain, &released), 0);
    VP_CHECK_SOON(atomic_load(&is_issued));
    usleep(2000);
    pid_t child = fork();
    if (child == 0) {
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(atomic_load(&released), LINKS);
        _exit(0);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK_EQ(status, 0);
    pthread_join(thread, NULL);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(atomic_load(&released), LINKS);
}
