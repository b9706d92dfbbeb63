/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds: memory is given back at the last use, nodes and bytes in flight stay below
 * their limits, and when memory truly runs out there is an error and not a crash, a hang,
 * a leak or a wrong number.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array/pool.h"
#include "net/tuning.h"
#include "tests/net_support.h"

enum { MB = 1 << 20, ELEMENTS = 1 << 20 }; /* of a float64 array of 8 MB */

/* System calls of the pool, and page faults of the process, so far. */
typedef struct {
    int64_t calls;
    long faults;
} memory_mark;

static memory_mark mark_now(void) {
    vp__pool_stat stat;
    struct rusage usage;
    vp__pool_stats(&stat);
    getrusage(RUSAGE_SELF, &usage);
    return (memory_mark){stat.system_calls, usage.ru_minflt};
}

/* --- release ------------------------------------------------------------------------ */

VP_TEST(memory_is_released_at_the_last_use) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    int64_t base = vp__test_bytes_now();
    vp_array y = vp_let(vp_cumsum(x, 0));
    VP_CHECK_GT(vp__test_bytes_now(), base + 7 * MB);
    vp_drop(y);
    VP_CHECK_NO_LEAK(base);
    /* Behind a gate: a name that is gone lives as long as what reads it. */
    vp__gate gate;
    vp_array gated = vp_let(VP_GATED(x, &gate));
    vp_array sum = vp_let(vp_sum(gated));
    vp_drop(gated);
    vp__gate_open(&gate);
    VP_CHECK_VALUES(sum, ELEMENTS);
    vp_drop(sum);
    VP_CHECK_NO_LEAK(base);
    /* A rebound name lets its old value go; an unused expression lives to the end of its
     * scope. */
    vp_array z = vp_let(vp_cumsum(x, 0));
    vp_set(z, 1.0);
    VP_CHECK_LT(vp__test_bytes_now(), base + MB);
    vp_scope inner = vp_begin();
    vp_cumsum(x, 0);
    VP_CHECK_GT(vp__test_bytes_now(), base + 7 * MB);
    vp_end(inner);
    VP_CHECK_LT(vp__test_bytes_now(), base + MB);
    vp_end(s);
}

VP_TEST(temporaries_die_early) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    int64_t base = vp__test_bytes_now();
    vp_reset_peak();
    for (int i = 0; i < 100; i++) vp_set(x, vp_cumsum(vp_minimum(x, 2.0), 0));
    VP_CHECK_OK(vp_sync());
    VP_CHECK_LT(VP_STAT(peak_bytes) - base, 5 * 8 * MB);
    VP_CHECK_NO_LEAK(base);
    VP_CHECK_VALUES(vp_get(x, vp_until(4)), 1, 3, 5, 7);
    vp_end(s);
}

VP_TEST(the_net_is_empty_after_a_wait) {
    vp__test_threads(4);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(200000)));
    for (int i = 0; i < 30; i++) {
        vp_set(x, vp_sin(x));
        vp_put(x, vp_at(vp_range(i, 5 * i)), vp_get(x, vp_range(2 * i, 6 * i)));
        vp_sort(x, 0);
    }
    vp_end(s);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    VP_CHECK_EQ(atomic_load(&vp__bytes_promised), 0);
    for (int i = 0; i < 4; i++) {
        VP_CHECK_EQ(atomic_load(&vp__cores[i]->ahead), 0);
        VP_CHECK(atomic_load(&vp__cores[i]->inbox) == NULL);
    }
}

/* Once its arrays have been made, a loop makes no system call for memory and touches no
 * page it has not touched before, whatever it computes. */
static void take_turns(vp_array small, vp_array large, int turns) {
    for (int turn = 0; turn < turns; turn++) {
        vp_scope inner = vp_begin();
        vp_set(small, vp_add(vp_mul(small, 0.5), 1.0));
        vp_put(small, vp_at(3), vp_sum(small));
        vp_array order = vp_let(vp_argsort(small, 0));
        vp_set(small, vp_take(small, order, 0));
        vp_array t = vp_let(vp_cumsum(vp_minimum(large, 2.0), 0));
        vp_set(large, vp_div(t, vp_max(t)));
        vp_put(large, vp_at(vp_lt(large, 0.5)), 1.0);
        VP_CHECK_OK(vp_wait(large));
        vp_end(inner);
    }
}

VP_TEST(a_steady_state_takes_no_new_memory) {
    enum { OTHERS = 4 }; /* page faults of the C library, of two thousand instructions */
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array small = vp__test_counting(10),
             large = vp_let(vp_ones(VP_F64, vp_shape(300000)));
    int turns = vp__test_slowdown() > 1 ? 30 : 200;
    int64_t calls = 0;
    long faults = 0;
    /* Instructions may meet in a new way once in a while, and need another block then; the
     * state is steady when they do not. */
    for (int round = 0; round < 10; round++) {
        take_turns(small, large, turns);
        memory_mark before = mark_now();
        take_turns(small, large, turns);
        memory_mark after = mark_now();
        calls = after.calls - before.calls;
        faults = after.faults - before.faults;
        printf("%lld system calls, %ld page faults\n", (long long)calls, faults);
        if (calls == 0 && faults <= OTHERS) break;
    }
    VP_CHECK_EQ(calls, 0);
    /* A sanitizer has pages of its own. */
    if (vp__test_slowdown() == 1) VP_CHECK_LE(faults, OTHERS);
    vp_end(s);
}

/* --- limits ------------------------------------------------------------------------- */

VP_TEST(nodes_in_flight_are_bounded) {
    vp__test_no_holding();
    vp__test_threads(2);
    vp__tuning.max_nodes = 100;
    vp_scope s = vp_begin();
    vp__gate gate;
    vp__test_opener opener;
    vp_array x = vp_let(VP_GATED(vp__test_counting(10), &gate));
    vp__test_open_later(&opener, &gate, 300);
    int64_t most = 0;
    for (int i = 0; i < 1000; i++) {
        vp_set(x, vp_add(x, 1.0));
        int64_t now = VP_STAT(in_flight);
        if (now > most) most = now;
    }
    /* A few more may be let in while a thread that took a node has not said so yet. */
    VP_CHECK_LE(most, 120);
    VP_CHECK(atomic_load(&opener.opened)); /* so the issuer has waited */
    VP_CHECK_GT(VP_STAT(limit_waits), 0);
    VP_CHECK_VALUES(vp_get(x, 0), 1000);
    vp__test_join(&opener);
    vp_end(s);
}

/* The same while one node takes long, on a worker. */
VP_TEST(nodes_in_flight_are_bounded_behind_a_long_one) {
    vp__test_threads(2);
    vp__tuning.max_nodes = 50;
    vp__tuning.piece_ns = INT64_MAX / 4;
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_mod(vp_mul(vp_arange(VP_I64, 0, 3000000, 1), 7919), 3000017));
    VP_CHECK_OK(vp_sync());
    vp_array y = vp_let(vp_get(vp_argsort(x, 0), vp_until(10)));
    int64_t most = 0;
    for (int i = 0; i < 2000; i++) {
        vp_set(y, vp_add(y, 1));
        int64_t now = VP_STAT(in_flight);
        if (now > most) most = now;
    }
    VP_CHECK_LE(most, 70);
    VP_CHECK_OK(vp_wait(y));
    vp_end(s);
}

VP_TEST(bytes_in_flight_are_bounded) {
    setenv("VP_MEMORY", "67108864", 1);
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    vp_array sum = vp_let(vp_zeros(VP_F64, vp_scalar_shape()));
    VP_CHECK_OK(vp_sync());
    vp_reset_peak();
    /* Two hundred times 8 MB, each read when the next ones have been issued. */
    vp_array kept[3];
    for (int i = 0; i < 200; i++) {
        vp_array y = vp_let(vp_cumsum(x, 0));
        if (i >= 3) {
            vp_set(sum, vp_add(sum, vp_get(kept[i % 3], -1)));
            vp_drop(kept[i % 3]);
        }
        kept[i % 3] = y;
    }
    VP_CHECK_OK(vp_wait(sum));
    printf("peak %.1f MB\n", (double)VP_STAT(peak_bytes) / MB);
    VP_CHECK_LE(VP_STAT(peak_bytes), 64 * MB + 9 * MB);
    VP_CHECK_VALUES(sum, 197.0 * ELEMENTS);
    vp_end(s);
}

/* Independent work behind a gate: what is promised counts before it is allocated. */
VP_TEST(promised_bytes_are_bounded) {
    setenv("VP_MEMORY", "67108864", 1);
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp__gate gate;
    vp__test_opener opener;
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(ELEMENTS)));
    VP_CHECK_OK(vp_sync());
    vp_reset_peak();
    vp_array one = vp_let(VP_GATED(vp_ones(VP_F64, vp_scalar_shape()), &gate));
    vp__test_open_later(&opener, &gate, 100);
    vp_array sums[40];
    for (int i = 0; i < 40; i++) {
        vp_array y = vp_let(vp_mul(x, one));
        sums[i] = vp_let(vp_sum(y));
        vp_drop(y);
    }
    vp__test_join(&opener);
    for (int i = 0; i < 40; i++) VP_CHECK_VALUES(sums[i], ELEMENTS);
    printf("peak %.1f MB\n", (double)VP_STAT(peak_bytes) / MB);
    /* When nothing moves for long, more is admitted: that shows where everything is slow. */
    VP_CHECK_LE(VP_STAT(peak_bytes),
                64 * MB + 9 * MB + (vp__test_slowdown() > 1 ? 64 * MB : 0));
    vp_end(s);
}

/* What no memory is large enough for waits for nobody, nor does anybody wait for it: not even
 * where it cannot fail yet, because its input is held back. */
VP_TEST(more_than_there_is_waits_for_nobody) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp__gate gate;
    vp_array x = vp_let(VP_GATED(vp__test_counting(1), &gate));
    vp_array y[4];
    for (int i = 0; i < 4; i++) {
        y[i] = vp_let(vp_repeat(x, INT64_MAX / 32, 0));
        vp_drop(vp_let(vp_full(VP_U8, vp_shape(INT64_MAX / 3), 1)));
    }
    vp_array z = vp_let(vp_add(vp__test_counting(3), 1.0));
    VP_CHECK_VALUES(z, 1, 2, 3);
    VP_CHECK(vp__test_closed(&gate));
    VP_CHECK_EQ(VP_STAT(limit_waits), 0);
    vp__gate_open(&gate);
    for (int i = 0; i < 4; i++)
        VP_CHECK_ERROR(vp_wait(y[i]), VP_ERR_MEMORY, "out of memory");
    vp_end(s);
}

/* One value larger than the limit is admitted when nothing else can make room. */
VP_TEST(more_than_the_limit_is_admitted_alone) {
    setenv("VP_MEMORY", "16777216", 1);
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(4 * ELEMENTS))); /* 32 MB */
    vp_array y = vp_let(vp_cumsum(x, 0));
    VP_CHECK_VALUES(vp_get(y, -1), 4 * ELEMENTS);
    vp_end(s);
}

/* --- out of memory ------------------------------------------------------------------ */

/* Counts an observer's outcome; anything but success and a lack of memory is wrong. */
static int failures;
static bool went(vp_status status) {
    if (status == VP_OK) return true;
    if (status != VP_ERR_MEMORY) VP_FAIL("status %d: %s", (int)status, vp_message());
    VP_CHECK(strlen(vp_message()) > 10);
    failures++;
    return false;
}

/* What failed and was not observed, which is for a lack of memory as well, or because a scope
 * could not begin for that. */
static void look_at_the_rest(void) {
    for (vp_status status; (status = vp_sync()) != VP_OK;)
        VP_CHECK(status == VP_ERR_MEMORY || strstr(vp_message(), "scope is not open"));
}

/* A little of everything, on arrays of n elements. What can be read must be right. */
static void program(int64_t n) {
    vp_scope s = vp_begin();
    double value, first[3];
    vp_array x = vp_let(vp_arange(VP_F64, 0, (double)n, 1));
    vp_array y = vp_let(vp_add(vp_mul(x, 2.0), 1.0));
    vp_array copy = vp_let(y);
    vp_put(y, vp_at(vp_range(0, 2)), -1.0);
    vp_put(y, vp_at(vp_from_index(1)), vp_get(y, vp_until(-1)));
    if (went(vp_read(vp_get(y, vp_until(3)), first, sizeof first)))
        VP_CHECK(first[0] == -1 && first[1] == -1 && first[2] == -1);
    if (went(vp_read(vp_get(copy, vp_until(3)), first, sizeof first)))
        VP_CHECK(first[0] == 1 && first[1] == 3 && first[2] == 5);
    vp_array found = vp_let(vp_find(vp_lt(x, 3.0)));
    vp_array taken = vp_let(vp_take(x, found, 0));
    vp_put(copy, vp_at(vp_lt(copy, 4.0)), 0.0);
    vp_put(copy, vp_at(found), vp_mul(taken, 100.0));
    if (went(vp_read(vp_get(copy, vp_until(3)), first, sizeof first)))
        VP_CHECK(first[0] == 0 && first[1] == 100 && first[2] == 200);
    int64_t size = vp_size(found);
    if (size < 0)
        went(vp_error());
    else
        VP_CHECK_EQ(size, 3);
    vp_array matrix = vp_let(vp_reshape(vp_get(x, vp_until(16)), vp_shape(4, 4)));
    vp_array product = vp_let(vp_matmul(matrix, vp_transpose(matrix)));
    if (went(vp_item(vp_get(product, 0, 0), &value))) VP_CHECK_EQ(value, 14);
    vp_array rows =
        vp_let(vp_mean(vp_stack(0, matrix, vp_transpose(matrix)), vp_axes(0, 2)));
    if (went(vp_item(vp_get(rows, 0), &value))) VP_CHECK_EQ(value, 3.75);
    if (went(vp_item(vp_var(matrix), &value))) VP_CHECK_EQ(value, 21.25);
    vp_array sorted = vp_let(vp_sort(vp_concatenate(0, vp_neg(x), x), 0));
    if (went(vp_item(vp_get(sorted, 0), &value))) VP_CHECK_EQ(value, (double)(1 - n));
    vp_array order = vp_let(vp_argsort(vp_neg(x), 0));
    if (went(vp_item(vp_get(order, 0), &value))) VP_CHECK_EQ(value, (double)(n - 1));
    if (went(vp_item(vp_sum(vp_tile(vp_get(x, vp_until(3)), vp_shape(2, 2))), &value)))
        VP_CHECK_EQ(value, 12);
    if (went(vp_item(
            vp_get(vp_cumsum(vp_repeat(vp_ones(VP_F64, vp_shape(n)), 2, 0), 0), -1),
            &value)))
        VP_CHECK_EQ(value, (double)(2 * n));
    vp_array deep = vp_let(vp_zeros(VP_F64, vp_shape(1, 2, 1, 2, 1, 2, 1)));
    vp_put(deep, vp_at(VP_ELLIPSIS, 1, 0), 1.0);
    if (went(vp_item(vp_sum(deep), &value))) VP_CHECK_EQ(value, 4);
    vp_array square = vp_let(vp_zeros(VP_F64, vp_shape(n))),
             held = vp_let(vp_add(x, 1.0));
    vp_expr other = vp_add(held, 1.0); /* so that it is stored for both */
    vp_put(square, vp_at(VP_ALL), vp_mul(held, held));
    if (went(vp_item(vp_sum(square), &value)))
        VP_CHECK_EQ(value, (double)(n * (n + 1) * (2 * n + 1) / 6));
    if (went(vp_item(vp_get(other, 0), &value))) VP_CHECK_EQ(value, 2);
    double memory[4] = {1, 2, 3, 4};
    vp_array borrowed =
        vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_WRITABLE, NULL, NULL);
    vp_put(borrowed, vp_at(0), vp_sum(borrowed));
    vp_mapped m;
    if (went(vp_map(borrowed, &m))) {
        VP_CHECK_EQ(((const double *)m.data)[0], 10);
        vp_unmap(&m);
    }
    vp_end(s);
    vp_sync();
}

/* Runs the program with the n-th allocation and all later ones failing, in a process of
 * its own. Returns whether it ended well. */
static bool survives(int64_t fail_after, int64_t n, bool *failed) {
    fflush(NULL);
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (!child) {
        alarm((unsigned)(5 * vp__test_slowdown()));
        vp_scope s = vp_begin();
        program(n); /* with memory: caches and tables are made */
        VP_CHECK_EQ(failures, 0);
        int64_t base = vp__test_bytes_now();
        atomic_store(&vp__pool_fail_after, fail_after);
        program(n);
        atomic_store(&vp__pool_fail_after, -1);
        look_at_the_rest();
        VP_CHECK_EQ(VP_STAT(in_flight), 0);
        VP_CHECK_EQ(vp__test_open_expressions(), 0);
        VP_CHECK_NO_LEAK(base);
        bool was_short = failures > 0;
        failures = 0;
        program(n); /* and the program can go on */
        VP_CHECK_EQ(failures, 0);
        VP_CHECK_NO_LEAK(base);
        vp_end(s);
        fflush(NULL);
        _exit(was_short ? 2 : 0);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    *failed = WIFEXITED(status) && WEXITSTATUS(status) == 2;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || *failed)) return true;
    printf("with %lld allocations: %s %d\n", (long long)fail_after,
           WIFSIGNALED(status) ? "signal" : "exit status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return false;
}

static void check_injection(int64_t n, int step) {
    int bad = 0, short_of = 0, tried = 0;
    for (int64_t after = 0; bad < 10; after += step) {
        bool failed, well = survives(after, n, &failed);
        tried++;
        short_of += failed;
        bad += !well;
        if (well && !failed) break; /* it had enough */
    }
    printf("%d runs, %d of them short of memory, %d bad\n", tried, short_of, bad);
    VP_CHECK_EQ(bad, 0);
    VP_CHECK_GT(short_of, 10 / step);
}

VP_TEST_TIMEOUT(a_lack_of_memory_is_an_error_inline, 120) {
    vp__test_threads(1);
    check_injection(20, vp__test_slowdown() > 1 ? 7 : 1);
}

VP_TEST_TIMEOUT(a_lack_of_memory_is_an_error_in_sync, 120) {
    setenv("VP_SYNC", "1", 1);
    check_injection(20, vp__test_slowdown() > 1 ? 7 : 1);
}

VP_TEST_TIMEOUT(a_lack_of_memory_is_an_error_in_nodes, 120) {
    setenv("VP_INLINE", "0", 1);
    vp__test_threads(1);
    check_injection(20, vp__test_slowdown() > 1 ? 7 : 1);
}

VP_TEST_TIMEOUT(a_lack_of_memory_is_an_error_on_threads, 120) {
    setenv("VP_INLINE", "0", 1);
    vp__test_threads(3);
    vp__tuning.piece_ns = 100;
    vp__tuning.flat_grain = 64;
    check_injection(3000, vp__test_slowdown() > 1 ? 29 : 2);
}

/* A thread that has no memory for its own tables, of expressions or of names. */
typedef struct {
    int without;
    vp_array of_another;
} poor_thread;

static void *run_poor(void *arg) {
    const poor_thread *t = arg;
    double value;
    vp_sync(); /* gives it a core, which it would wait for */
    vp__test_no_memory = t->without;
    const int before = failures;
    program(20);
    VP_CHECK_GT(failures, before);
    look_at_the_rest();
    if (t->without & VP__TEST_NO_ALIGNED_ALLOC) {
        VP_CHECK_ERROR(vp_item(vp_sum(t->of_another), &value), VP_ERR_MEMORY,
                       "test_net_limits.c");
        VP_CHECK_EQ(vp_size(t->of_another), -1);
    }
    if (t->without & VP__TEST_NO_CALLOC) {
        vp_array a = vp_let(1.0);
        VP_CHECK_REPORTED(VP_ERR_MEMORY, "out of memory for a name");
        VP_CHECK_ERROR(vp_wait(a), VP_ERR_MEMORY, "out of memory");
        vp_end(vp_begin());
        VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    }
    vp_drop(t->of_another);
    vp__test_no_memory = 0;
    look_at_the_rest();
    failures = 0;
    program(20); /* and the thread can go on */
    VP_CHECK_EQ(failures, 0);
    return NULL;
}

/* The table of names has an end, and says so. Views, since those take no more than a name. */
VP_TEST_TIMEOUT(there_are_so_many_names_at_a_time, 120) {
    vp_scope s = vp_begin();
    vp_array a = vp_let(1.0), last = a;
    vp_clear_error();
    int made = 1;
    while (vp_error() == VP_OK && made <= 1 << 22) {
        last = vp_view(a);
        made++;
    }
    static const char *const why = "there are too many arrays: 4194304 may have names at";
    VP_CHECK_REPORTED(VP_ERR_MEMORY, why);
    VP_CHECK_ERROR(vp_wait(last), VP_ERR_MEMORY, why);
    VP_CHECK_ERROR(vp_wait(vp_let(2.0)), VP_ERR_MEMORY, why);
    VP_CHECK_EQ(made, (1 << 22) + 1);
    vp_end(s);
    vp_clear_error();
    VP_CHECK_VALUES(vp_let(2.0), 2);
}

VP_TEST(a_thread_without_memory_for_its_tables_gets_errors) {
    static const int without[] = {VP__TEST_NO_ALIGNED_ALLOC, VP__TEST_NO_CALLOC,
                                  VP__TEST_NO_ALIGNED_ALLOC | VP__TEST_NO_CALLOC};
    program(20); /* with memory: the processor's own tables are made */
    VP_CHECK_EQ(failures, 0);
    int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 3; i++) {
        poor_thread t = {without[i], vp__test_counting(20)};
        pthread_t thread;
        VP_CHECK(!pthread_create(&thread, NULL, run_poor, &t));
        VP_CHECK(!pthread_join(thread, NULL));
    }
    VP_CHECK_NO_LEAK(base);
}
