/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory pool: sizes and alignment, books that balance, no system call and no page
 * fault in steady state, bounds on what is kept, threads, fork and exhausted memory.
 */
#define _GNU_SOURCE
#include "array/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array/poison.h"
#include "tests/harness.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define GB ((size_t)1 << 30)

static vp__pool_stat stats(void) {
    vp__pool_stat s;
    vp__pool_stats(&s);
    return s;
}

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

VP_TEST(classes_fit_closely) {
    size_t last = 0;
    for (size_t bytes = 0; bytes < 64 * MB; bytes += 1 + bytes / 37) {
        size_t taken = vp__pool_class_bytes(bytes);
        VP_CHECK_GE(taken, bytes);
        VP_CHECK_EQ(taken % 64, 0u);
        VP_CHECK_LE(taken, bytes + bytes / 8 + 64);
        VP_CHECK_GE(taken, last);
        VP_CHECK_EQ(vp__pool_class_bytes(taken ? taken : 1), taken);
        last = taken;
    }
    VP_CHECK_EQ(vp__pool_class_bytes(512 * KB), 512 * KB);
    VP_CHECK_EQ(vp__pool_class_bytes(2 * MB), 2 * MB);
    VP_CHECK(vp__pool_class_bytes(SIZE_MAX) == SIZE_MAX);
}

VP_TEST(blocks_are_aligned_and_disjoint) {
    enum { BLOCKS = 3000 };
    static struct {
        unsigned char *p;
        size_t bytes;
    } block[BLOCKS];
    unsigned random = 7;
    for (int i = 0; i < BLOCKS; i++) {
        size_t bytes = next_random(&random) % (i % 100   ? 8 * KB
                                               : i % 500 ? 600 * KB
                                                         : 5 * MB);
        block[i].p = vp__pool_alloc(bytes);
        block[i].bytes = bytes;
        VP_CHECK(block[i].p != NULL);
        VP_CHECK_EQ((uintptr_t)block[i].p % 64, 0u);
        memset(block[i].p, i & 0xff, bytes);
    }
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < block[i].bytes; at += 1 + block[i].bytes / 100) {
            VP_CHECK_EQ(block[i].p[at], i & 0xff);
        }
    }
    int64_t expected = 0;
    for (int i = 0; i < BLOCKS; i++) {
        expected += (int64_t)vp__pool_class_bytes(block[i].bytes);
    }
    VP_CHECK_EQ(stats().in_use, expected);
    for (int i = 0; i < BLOCKS; i++) vp__pool_free(block[i].p, block[i].bytes);
    VP_CHECK_EQ(stats().in_use, 0);
}

VP_TEST(trim_gives_everything_back) {
    void *p[100];
    for (int i = 0; i < 100; i++) VP_CHECK(p[i] = vp__pool_alloc((size_t)i * 100 * KB));
    VP_CHECK_GT(stats().in_use, 0);
    for (int i = 0; i < 100; i++) vp__pool_free(p[i], (size_t)i * 100 * KB);
    VP_CHECK_GT(stats().cached, 0);
    vp__pool_trim();
    VP_CHECK_EQ(stats().in_use, 0);
    VP_CHECK_EQ(stats().cached, 0);
    VP_CHECK(p[0] = vp__pool_alloc(100)); /* and the pool still works */
    vp__pool_free(p[0], 100);
}

VP_TEST(zero_bytes_and_null_are_valid) {
    void *a = vp__pool_alloc(0), *b = vp__pool_alloc(0);
    VP_CHECK(a && b && a != b);
    vp__pool_free(a, 0);
    vp__pool_free(b, 0);
    vp__pool_free(NULL, 100);
    VP_CHECK_EQ(stats().in_use, 0);
}

/* ---- steady state ---- */

static const size_t mixed_sizes[] = {
    8,      64,     200,     512,     1000,    4096,    10000, 80000, 100000, 262144,
    400000, 900000, 1500000, 2 << 20, 3 << 20, 8000000, 640,   2048,  128,    33000};
enum { MIXED = sizeof mixed_sizes / sizeof mixed_sizes[0], LIVE = 64 };

/* One pass of a program that always does the same: allocations and frees of mixed sizes
 * with some blocks alive in between. */
static void mixed_pass(int cycles) {
    struct {
        char *p;
        size_t bytes;
    } live[LIVE] = {{0}};
    unsigned random = 99;
    for (int i = 0; i < cycles; i++) {
        unsigned at = next_random(&random) % LIVE;
        vp__pool_free(live[at].p, live[at].bytes);
        live[at].bytes = mixed_sizes[next_random(&random) % MIXED];
        live[at].p = vp__pool_alloc(live[at].bytes);
        VP_CHECK(live[at].p != NULL);
        for (size_t byte = 0; byte < live[at].bytes; byte += 64 * KB)
            live[at].p[byte] = 1;
        live[at].p[live[at].bytes - 1] = 1;
    }
    for (int i = 0; i < LIVE; i++) vp__pool_free(live[i].p, live[i].bytes);
}

static long thread_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

VP_TEST(steady_state_needs_no_system) {
    /* A loop of a program is such a pass; the first ones find out what it needs. */
    enum { CYCLES = 1000, WARM_UP = 20 };
    for (int i = 0; i < WARM_UP; i++) mixed_pass(CYCLES);
    int64_t calls = stats().system_calls;
    long faults = 1;
    /* Now and then the system moves a page of its own accord: a stretch without is enough. */
    for (int turn = 0; turn < 5 && faults > 0; turn++) {
        long before = thread_faults();
        for (int i = 0; i < 100 / vp__test_slowdown(); i++) mixed_pass(CYCLES);
        faults = thread_faults() - before;
    }
    VP_CHECK_EQ(stats().system_calls, calls);
    /* Sanitizers map shadow memory behind our back. */
    if (vp__test_slowdown() == 1) VP_CHECK_EQ(faults, 0);
    VP_CHECK_EQ(stats().in_use, 0);
}

VP_TEST(one_large_temporary_stays_mapped) {
    size_t bytes = 200 * MB;
    vp__pool_free(vp__pool_alloc(bytes), bytes);
    int64_t calls = stats().system_calls;
    for (int i = 0; i < 1000; i++) {
        void *p = vp__pool_alloc(bytes);
        VP_CHECK(p != NULL);
        vp__pool_free(p, bytes);
    }
    VP_CHECK_EQ(stats().system_calls, calls);
}

/* ---- producer and consumer ---- */

enum { RING = 256 };

typedef struct {
    _Atomic(void *) slot[RING];
    int count;
    int64_t calls_midway;
    int64_t total_midway;
} pipe_line;

static size_t pipe_size(int i) {
    static const size_t sizes[] = {64, 300, 5000, 64, 100000, 1024, 700000, 64};
    return sizes[i % 8];
}

static void *consume(void *argument) {
    pipe_line *line = argument;
    for (int i = 0; i < line->count; i++) {
        char *p;
        while (!(p = atomic_exchange(&line->slot[i % RING], NULL))) sched_yield();
        VP_CHECK_EQ(p[pipe_size(i) - 1], (char)i);
        vp__pool_free(p, pipe_size(i));
        if (i == line->count / 2) {
            vp__pool_stat s = stats();
            line->calls_midway = s.system_calls;
            line->total_midway = s.in_use + s.cached;
        }
    }
    return NULL;
}

/* What the system says of the mapping that has this address: its flags, empty without one. */
static void flags_of(const void *address, char *flags, size_t size) {
    char line[512];
    unsigned long from, to;
    bool is_it = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    VP_CHECK(f != NULL);
    *flags = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_it = from <= (unsigned long)address && (unsigned long)address < to;
        else if (is_it && !strncmp(line, "VmFlags:", 8))
            snprintf(flags, size, "%s", line + 8);
    }
    fclose(f);
}

VP_TEST(large_blocks_ask_for_huge_pages) {
    char flags[512];
    void *large = vp__pool_alloc(32 << 20), *small = malloc(100);
    flags_of(small, flags, sizeof flags);
    VP_CHECK(!strstr(flags, " hg"));
    flags_of(large, flags, sizeof flags);
    if (!access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK))
        VP_CHECK(strstr(flags, " hg") != NULL);
    VP_CHECK_EQ((int64_t)((uintptr_t)large % 64), 0);
    free(small);
    vp__pool_free(large, 32 << 20);
}

VP_TEST(memory_goes_round_between_threads) {
    static pipe_line line;
    pthread_t consumer;
    line.count = 200000 / vp__test_slowdown();
    /* Have as much memory as the fullest ring needs, so that timing decides nothing. */
    void *warm[2 * RING];
    for (int i = 0; i < 2 * RING; i++) VP_CHECK(warm[i] = vp__pool_alloc(pipe_size(i)));
    for (int i = 0; i < 2 * RING; i++) vp__pool_free(warm[i], pipe_size(i));
    VP_CHECK(!pthread_create(&consumer, NULL, consume, &line));
    for (int i = 0; i < line.count; i++) {
        char *p = vp__pool_alloc(pipe_size(i));
        VP_CHECK(p != NULL);
        p[pipe_size(i) - 1] = (char)i;
        while (atomic_load(&line.slot[i % RING])) sched_yield();
        atomic_store(&line.slot[i % RING], p);
    }
    pthread_join(consumer, NULL);
    vp__pool_stat end = stats();
    VP_CHECK_EQ(end.in_use, 0);
    VP_CHECK_EQ(end.system_calls, line.calls_midway);
    VP_CHECK_EQ(end.cached, line.total_midway);
}

/* ---- bounds ---- */

VP_TEST(temporaries_do_not_pile_up) {
    /* 100 MB live, 100 GB of temporaries in sizes that change all the time. */
    enum { NAMED = 50 };
    void *named[NAMED];
    size_t total = 0;
    unsigned random = 3;
    for (int i = 0; i < NAMED; i++) VP_CHECK(named[i] = vp__pool_alloc(2 * MB));
    while (total < 100 * GB) {
        void *p[3];
        size_t bytes[3];
        for (int i = 0; i < 3; i++) {
            bytes[i] = 1 * MB + next_random(&random) % (12 * MB);
            VP_CHECK(p[i] = vp__pool_alloc(bytes[i]));
            *(char *)p[i] = 1;
            total += bytes[i];
        }
        for (int i = 0; i < 3; i++) vp__pool_free(p[i], bytes[i]);
    }
    for (int i = 0; i < NAMED; i++) vp__pool_free(named[i], 2 * MB);
    VP_CHECK_LE(stats().peak_total, (int64_t)(300 * MB));
}

VP_TEST(what_is_kept_shrinks_with_use) {
    size_t bytes = 500 * MB;
    vp__pool_free(vp__pool_alloc(bytes), bytes);
    VP_CHECK_GE(stats().cached, (int64_t)bytes);
    for (int i = 0; i < 10000; i++) {
        size_t small = (size_t)(3 + i % 5) * MB;
        vp__pool_free(vp__pool_alloc(small), small);
    }
    VP_CHECK_LE(stats().cached, (int64_t)(100 * MB));
}

VP_TEST(small_blocks_are_given_back_too) {
    enum { BLOCKS = 400 };
    static void *p[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) VP_CHECK(p[i] = vp__pool_alloc(1 * MB));
    for (int i = 0; i < BLOCKS; i++) vp__pool_free(p[i], 1 * MB);
    for (int i = 0; i < 10000; i++) vp__pool_free(vp__pool_alloc(5 * MB), 5 * MB);
    VP_CHECK_LE(stats().cached, (int64_t)(100 * MB));
}

VP_TEST(peaks_are_reported) {
    void *p = vp__pool_alloc(40 * MB);
    vp__pool_free(p, 40 * MB);
    VP_CHECK_GE(stats().peak_in_use, (int64_t)(40 * MB));
    VP_CHECK_GE(stats().peak_total, stats().peak_in_use);
    vp__pool_trim();
    vp__pool_reset_peaks();
    VP_CHECK_LE(stats().peak_total, (int64_t)(4 * MB));
}

/* ---- failure ---- */

VP_TEST(absurd_sizes_are_refused) {
    VP_CHECK(vp__pool_alloc(SIZE_MAX) == NULL);
    VP_CHECK(vp__pool_alloc(SIZE_MAX / 2) == NULL);
    VP_CHECK(vp__pool_alloc((size_t)1 << 46) == NULL);
    void *p = vp__pool_alloc(3 * MB);
    VP_CHECK(p != NULL);
    vp__pool_free(p, 3 * MB);
    VP_CHECK_EQ(stats().in_use, 0);
}

VP_TEST(exhausted_memory_is_null_and_recovers) {
    /* Nothing is touched, so this costs addresses only; what stops it is the limit. */
    enum { BLOCKS = 100000 };
    static void *p[BLOCKS];
    int count = 0;
    while (count < BLOCKS && (p[count] = vp__pool_alloc(64 * MB))) count++;
    VP_CHECK_GT(count, 0);
    VP_CHECK_LT(count, BLOCKS);
    vp__pool_free(p[--count], 64 * MB);
    void *again =
        vp__pool_alloc(60 * MB); /* another class: what is kept must make room */
    VP_CHECK(again != NULL);
    vp__pool_free(again, 60 * MB);
    while (count) vp__pool_free(p[--count], 64 * MB);
    VP_CHECK_EQ(stats().in_use, 0);
}

VP_TEST(tests_can_make_it_fail) {
    void *p[3];
    vp__pool_fail_after = 3;
    for (int i = 0; i < 3; i++) VP_CHECK(p[i] = vp__pool_alloc(100));
    VP_CHECK(vp__pool_alloc(100) == NULL);
    VP_CHECK(vp__pool_alloc(5 * MB) == NULL);
    vp__pool_fail_after = -1;
    for (int i = 0; i < 3; i++) vp__pool_free(p[i], 100);
    p[0] = vp__pool_alloc(100);
    VP_CHECK(p[0] != NULL);
    vp__pool_free(p[0], 100);
}

VP_TEST(freeing_twice_is_noticed) {
    pid_t child = fork();
    if (!child) {
        void *p = vp__pool_alloc(700 * KB);
        close(STDERR_FILENO); /* the message is expected */
        vp__pool_free(p, 700 * KB);
        vp__pool_free(p, 700 * KB);
        _exit(0);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#ifdef VP__HAS_ASAN
VP_TEST(freed_memory_is_poisoned) {
    static const size_t sizes[] = {100, 5000, 300 << 10, 1 << 20, 5 << 20};
    for (int i = 0; i < 5; i++) {
        char *p = vp__pool_alloc(sizes[i]);
        VP_CHECK(!__asan_region_is_poisoned(p, sizes[i]));
        VP_CHECK(__asan_address_is_poisoned(p + sizes[i]));
        vp__pool_free(p, sizes[i]);
        VP_CHECK(__asan_address_is_poisoned(p));
        VP_CHECK(__asan_address_is_poisoned(p + sizes[i] - 1));
    }
}
#endif

/* ---- threads ---- */

enum { SHARED = 64, MAX_THREADS = 8 };

typedef struct {
    size_t bytes;
    uint64_t mark;
} header;

static _Atomic(header *) shared[SHARED];
static atomic_bool stop;

static header *make(unsigned *random) {
    size_t bytes = sizeof(header) + 8;
    switch (next_random(random) % 16) {
    case 0: bytes += next_random(random) % (3 * MB); break;
    case 1:
    case 2: bytes += next_random(random) % (100 * KB); break;
    default: bytes += next_random(random) % (2 * KB); break;
    }
    header *h = vp__pool_alloc(bytes);
    VP_CHECK(h != NULL);
    h->bytes = bytes;
    h->mark = bytes * 31;
    memcpy((char *)h + bytes - 8, &h->mark, 8);
    return h;
}

static void drop(header *h) {
    uint64_t end;
    if (!h) return;
    memcpy(&end, (char *)h + h->bytes - 8, 8);
    VP_CHECK_EQ(h->mark, h->bytes * 31);
    VP_CHECK_EQ(end, h->mark);
    vp__pool_free(h, h->bytes);
}

/* Puts new blocks into shared places and frees what was there, whoever put it. */
static void *exchange_blocks(void *argument) {
    unsigned random = 1 + (unsigned)(uintptr_t)argument;
    int rounds = 100000 / vp__test_slowdown();
    for (int i = 0; i < rounds && !atomic_load(&stop); i++) {
        drop(atomic_exchange(&shared[next_random(&random) % SHARED], make(&random)));
        if (i % 5000 == 0) vp__pool_trim();
    }
    return NULL;
}

static void start_threads(pthread_t *thread, int count) {
    for (int i = 0; i < count; i++) {
        VP_CHECK(!pthread_create(&thread[i], NULL, exchange_blocks, (void *)(intptr_t)i));
    }
}

static void finish_threads(pthread_t *thread, int count) {
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < SHARED; i++) drop(atomic_exchange(&shared[i], NULL));
    VP_CHECK_EQ(stats().in_use, 0);
    vp__pool_trim();
    VP_CHECK_EQ(stats().cached, 0); /* the caches of ended threads came back */
}

VP_TEST_TIMEOUT(threads_exchange_blocks, 60) {
    pthread_t thread[MAX_THREADS];
    start_threads(thread, MAX_THREADS);
    finish_threads(thread, MAX_THREADS);
}

static void *cycle_once(void *argument) {
    (void)argument;
    for (size_t bytes = 1; bytes < 4 * MB; bytes *= 3) {
        vp__pool_free(vp__pool_alloc(bytes), bytes);
    }
    return NULL;
}

VP_TEST(many_short_threads_leave_nothing) {
    for (int i = 0; i < 500 / vp__test_slowdown(); i++) {
        pthread_t thread;
        VP_CHECK(!pthread_create(&thread, NULL, cycle_once, NULL));
        pthread_join(thread, NULL);
    }
    VP_CHECK_EQ(stats().in_use, 0);
    VP_CHECK_LE(stats().peak_total, (int64_t)(64 * MB));
    vp__pool_trim();
    VP_CHECK_EQ(stats().cached, 0);
    vp__pool_thread_exit(); /* twice is harmless, and so is going on afterwards */
    vp__pool_thread_exit();
    vp__pool_free(vp__pool_alloc(10), 10);
}

/* ---- fork ---- */

/* Ends a child at once. The thread sanitizer would complain at exit or _exit about threads
 * that only the parent has. */
_Noreturn static void leave(int code) {
    syscall(SYS_exit_group, code);
    abort();
}

static void use_pool_in_child(char *inherited) {
    alarm(20);
    if (strcmp(inherited, "from the parent")) leave(1);
    vp__pool_free(inherited, 1000);
    for (int i = 0; i < 200; i++) {
        size_t bytes = (size_t)i * (size_t)i * 100;
        char *p = vp__pool_alloc(bytes);
        if (!p) leave(2);
        vp__pool_free(p, bytes);
    }
    vp__pool_trim();
    leave(0);
}

VP_TEST_TIMEOUT(children_own_the_memory, 60) {
    pthread_t thread[3];
    char *block = vp__pool_alloc(1000);
    strcpy(block, "from the parent");
    start_threads(thread, 3);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (!child) use_pool_in_child(block);
        int status;
        VP_CHECK_EQ(waitpid(child, &status, 0), child);
        VP_CHECK_EQ(status, 0);
    }
    atomic_store(&stop, true);
    vp__pool_free(block, 1000);
    finish_threads(thread, 3);
}
