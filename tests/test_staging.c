/* SPDX-License-Identifier: Apache-2.0
 *
 * Native code as a program meets it: it comes by itself, in the background, and whatever
 * becomes of the compiler, hangs, failures, forks and exits, the program goes on with the
 * same results. Expected values are whole numbers that the test knows.
 *
 * Children are forked before the library is used, so that each reads an environment of its
 * own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/core.h"
#include "tests/cache_support.h"
#include "tests/jit_support.h"
#include "tests/net_support.h"

/* Dear enough to be compiled after some runs: sum(x * a + b). */
static void compute(vp_array x, int64_t n, int i) {
    const double a = i % 7 + 1, b = i % 5;
    const double all = a * (double)n * (double)(n - 1) / 2 + b * (double)n;
    VP_CHECK_VALUES(vp_sum(vp_add(vp_mul(x, a), b)), all);
}

/* More kernels than one, so that the compiler is busy for a while. */
static void compute_many(vp_array x, int times) {
    for (int i = 0; i < times; i++) {
        vp_wait(vp_let(vp_add(vp_mul(x, 2.0), x)));
        vp_wait(vp_let(vp_sub(vp_mul(x, x), 1.0)));
        vp_wait(vp_let(vp_abs(vp_negative(x))));
        vp_wait(vp_let(vp_sum(vp_square(vp_sub(x, 3.0)))));
        vp_wait(vp_let(vp_less(vp_mul(x, 3.0), x)));
        vp_wait(vp_let(vp_sum(vp_abs(vp_sin(x)))));
    }
}

static void compute_for(vp_array x, int64_t n, int times) {
    for (int i = 0; i < times; i++) {
        compute(x, n, i);
        if (i % 4 == 0) compute_many(x, 1);
    }
}

/* --- hooks -------------------------------------------------------------------------- */

static _Atomic int calls;

static bool hang(vp__stage stage) {
    (void)stage;
    atomic_fetch_add(&calls, 1);
    sleep(10 * (unsigned)vp__test_slowdown());
    return false;
}

static bool refuse(vp__stage stage) {
    (void)stage;
    atomic_fetch_add(&calls, 1);
    return false;
}

static bool dawdle(vp__stage stage) {
    (void)stage;
    atomic_fetch_add(&calls, 1);
    usleep(30000);
    return true;
}

/* --- a compiler that is slow, or fails ---------------------------------------------- */

/* Nobody waits for it, at the end neither. */
VP_TEST(a_hanging_compiler_is_not_waited_for) {
    const double start = vp__test_seconds();
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        use("on", "off");
        vp__native_test_hook = hang;
        vp_scope s = vp_begin();
        const int64_t n = 100000;
        vp_array x = vp__test_counting(n);
        compute_for(x, n, 300);
        VP_CHECK_EQ(calls, 1);
        vp_end(s);
        VP_CHECK_OK(vp_sync());
        exit(0);
    }
    VP_CHECK_EQ(wait_for(child), 0);
    if (vp__test_slowdown() == 1) VP_CHECK_LT(vp__test_seconds() - start, 8);
}

VP_TEST(a_failing_compiler_is_tried_once) {
    use("on", "off");
    vp__native_test_hook = refuse;
    vp_scope s = vp_begin();
    const int64_t n = 100000;
    vp_array x = vp__test_counting(n);
    compute_for(x, n, 100);
    vp__native_settle();
    const int tried = calls;
    VP_CHECK_GE(tried, 1);
    VP_CHECK_EQ(stats().failed, tried);
    compute_for(x, n, 100);
    vp__native_settle();
    /* Another cut may bring another kernel, but none comes twice. */
    VP_CHECK_EQ(stats().failed, calls);
    VP_CHECK_LE(calls, stats().kernels);
    VP_CHECK_EQ(stats().compiled + stats().loaded, 0);
    vp_end(s);
}

/* A process without the compiler is as good as one that had it switched off. */
VP_TEST(a_missing_compiler_is_missed_by_nobody) {
    use("on", "off");
    setenv("VP_LLVM", "/nowhere/vproc-llvm.so", 1);
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(100000);
    compute_for(x, 100000, 100);
    vp__native_settle();
    VP_CHECK_GE(stats().failed, 1);
    VP_CHECK_EQ(stats().compiled + stats().loaded, 0);
    compute_for(x, 100000, 20);
    vp_end(s);
}

/* The trace says what became of compiling. */
static void check_trace(bool (*hook)(vp__stage), const char *line) {
    char path[] = "/tmp/vproc-trace-XXXXXX";
    const int file = mkstemp(path);
    VP_CHECK_GE(file, 0);
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        use("on", "off");
        setenv("VP_TRACE", path, 1);
        vp__native_test_hook = hook;
        vp_scope s = vp_begin();
        vp_array x = vp__test_counting(100000);
        compute_for(x, 100000, 100);
        vp__native_settle();
        vp_end(s);
        exit(0);
    }
    VP_CHECK_EQ(wait_for(child), 0);
    char *text = contents(path);
    VP_CHECK_CONTAINS(text, line);
    free(text);
    unlink(path);
    close(file);
}

VP_TEST(a_failed_compile_is_in_the_trace) {
    check_trace(refuse, "a kernel stays with the base kernels: the compiler failed");
}

VP_TEST(ready_code_is_in_the_trace) {
    need_compiler();
    check_trace(NULL, "native code compiled");
}

/* --- the books --------------------------------------------------------------------- */

static int64_t booked(void) {
    int64_t sum = 0;
    for (int i = 0; i < vp__placeable; i++) sum += atomic_load(&vp__cores[i]->compiling);
    return sum;
}

/* As long as it goes on, in a fork's child not at all. */
VP_TEST(compiling_is_in_the_books) {
    use("on", "off");
    vp__native_test_hook = dawdle;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(100000);
    while (calls == 0) compute_many(x, 1);
    VP_CHECK_GT(booked(), 0);
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) _exit(booked() == 0 ? 0 : 1);
    VP_CHECK_EQ(wait_for(child), 0);
    vp__native_settle();
    VP_CHECK_EQ(booked(), 0);
    vp_end(s);
}

/* --- what is compiled --------------------------------------------------------------- */

VP_TEST(code_comes_by_itself) {
    need_compiler();
    use("on", "off");
    vp_scope s = vp_begin();
    const int64_t n = 100000;
    vp_array x = vp__test_counting(n);
    compute_for(x, n, 100);
    vp__native_settle();
    VP_CHECK_GE(stats().compiled, 1);
    VP_CHECK_EQ(stats().failed, 0);
    VP_CHECK_GT(stats().bytes, 0);
    compute_for(x, n, 100);
    vp_end(s);
}

VP_TEST(off_compiles_nothing) {
    use("off", "off");
    vp__native_test_hook = refuse;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(100000);
    compute_for(x, 100000, 200);
    VP_CHECK_EQ(calls, 0);
    VP_CHECK_EQ(stats().kernels, 0);
    vp_end(s);
}

/* Sizes and constants are no part of a kernel. */
VP_TEST_TIMEOUT(many_shapes_are_few_kernels, 60) {
    need_compiler();
    use("native", "off");
    vp_scope s = vp_begin();
    for (int i = 0; i < 300; i++) {
        const int64_t rows = 3 + i % 17, columns = 20 + 13 * (i % 23), n = rows * columns;
        vp_scope inner = vp_begin();
        vp_array x = vp__test_counting(n);
        compute(x, n, i);
        vp_array y = vp_let(vp_reshape(vp_add(x, i), vp_shape(rows, columns)));
        VP_CHECK_VALUES(vp_sum(vp_sum(y, i % 2)),
                        (double)n * (double)(n - 1) / 2 + (double)n * i);
        vp_end(inner);
    }
    const vp__native_stats got = stats();
    VP_CHECK_GE(got.compiled, 2);
    VP_CHECK_LE(got.kernels, 24);
    VP_CHECK_LE(got.compiled + got.failed, got.kernels);
    vp_end(s);
}

/* What one process compiled, the next one loads. Small arrays, which are not cut: where
 * larger ones are is a matter of measured times, and so is which kernels there are. */
VP_TEST(another_process_loads) {
    need_compiler();
    make_root();
    const int64_t n = 3000;
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (child > 0) {
            VP_CHECK_EQ(wait_for(child), 0);
            continue;
        }
        use("native", cache_path("c"));
        vp_array x = vp__test_counting(n);
        compute_for(x, n, 10);
        VP_CHECK_GE(i ? stats().loaded : stats().compiled, 1);
        VP_CHECK_EQ(i ? stats().compiled : stats().loaded, 0);
        exit(0);
    }
    remove_root();
}

/* --- the same bits ------------------------------------------------------------------ */

enum { RESULTS = 1 << 20 };

/* The same code on shapes that are cut differently: an operand that is broadcast is stored
 * once, or computed again and again. */
static void compute_shapes(char *to) {
    static const int64_t shapes[][2] = {{1, 1},    {3, 700},   {700, 3},
                                        {64, 64},  {1, 5000},  {5000, 1},
                                        {129, 17}, {200, 300}, {17, 129}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t rows = shapes[i][0], columns = shapes[i][1];
        vp_scope s = vp_begin();
        vp_array a = vp_let(vp_linspace(VP_F64, -3, 5, rows));
        vp_array b = vp_let(vp_linspace(VP_F32, 0.1, 9, columns));
        for (int axis = 0; axis < 2; axis++) {
            vp_expr tall = vp_expand(vp_sqrt(vp_abs(vp_sin(a))), 1);
            vp_array d = vp_let(vp_sub(vp_mul(tall, b), vp_expand(vp_exp(a), 1)));
            const int64_t left = axis ? rows : columns;
            VP_CHECK_OK(vp_read(vp_sum(vp_square(d), axis), to, left * 8));
            to += left * 8;
            VP_CHECK_OK(vp_read(vp_max(vp_div(1.0, d), axis), to, left * 8));
            to += left * 8;
            VP_CHECK_OK(vp_read(vp_sum(vp_cast(d, VP_F32)), to, 4));
            to += 4;
        }
        vp_end(s);
    }
}

VP_TEST_TIMEOUT(cuts_and_stages_give_the_same_bits, 60) {
    need_compiler();
    static const char *const modes[] = {"off", "native", "mixed", "specialised"};
    char *results[4];
    for (int i = 0; i < 4; i++) {
        results[i] = mmap(NULL, RESULTS, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        VP_CHECK(results[i] != MAP_FAILED);
        const pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (child == 0) {
            use(modes[i], "off");
            for (int turn = 0; turn < (i == 2 ? 6 : 1); turn++) {
                compute_shapes(results[i]);
                if (i == 2 && memcmp(results[0], results[2], RESULTS)) break;
                vp__native_settle();
            }
            VP_CHECK_EQ(stats().compiled > 0, i > 0);
            exit(0);
        }
        VP_CHECK_EQ(wait_for(child), 0);
        VP_CHECK_BYTES(results[0], results[i], RESULTS);
    }
}

static void *issue(void *arg) {
    const int64_t n = 20000 + (int64_t)(intptr_t)arg;
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(n);
    compute_for(x, n, 150);
    compute_many(x, 5);
    vp_end(s);
    return NULL;
}

static void check_threads(const char *mode) {
    use(mode, "off");
    pthread_t thread[2];
    for (intptr_t i = 0; i < 2; i++)
        VP_CHECK_EQ(pthread_create(&thread[i], NULL, issue, (void *)i), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    VP_CHECK_EQ(stats().failed, 0);
}

VP_TEST(two_threads_that_compile) {
    need_compiler();
    check_threads("native");
}
VP_TEST(two_threads_that_specialise) {
    need_compiler();
    check_threads("specialised");
}
VP_TEST(two_threads_while_stages_change) {
    need_compiler();
    check_threads("mixed");
}

/* --- forks and exits ---------------------------------------------------------------- */

/* What the parent's compiler held when it was forked belongs to no thread of the child. The
 * leak checker, which asks here, would call that lost, and rightly: nobody can give it back. */
static bool in_forked_child;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return in_forked_child; }

VP_TEST(a_fork_in_the_middle_of_a_compile) {
    need_compiler();
    use("on", "off");
    vp__native_test_hook = dawdle;
    vp_scope s = vp_begin();
    const int64_t n = 100000;
    vp_array x = vp__test_counting(n);
    while (calls == 0) compute_many(x, 1);
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    in_forked_child = child == 0;
    compute_for(x, n, 100);
    vp__native_settle();
    compute_for(x, n, 100);
    vp_end(s);
    VP_CHECK_OK(vp_sync());
    if (child == 0) exit(stats().compiled == 0 ? 0 : 1);
    VP_CHECK_EQ(wait_for(child), 0);
    VP_CHECK_GE(stats().compiled, 1);
}

/* At any moment, also while the compiler is opened; workers may be about to ask for code,
 * or compile it themselves. */
static void fork_often(const char *mode, int times) {
    for (int i = 0; i < times / vp__test_slowdown() + 1; i++) {
        const pid_t outer = fork();
        VP_CHECK_GE(outer, 0);
        if (outer > 0) {
            VP_CHECK_EQ(wait_for(outer), 0);
            continue;
        }
        use(mode, "off");
        const int64_t n = 30000;
        vp_array x = vp__test_counting(n);
        compute_for(x, n, i % 20);
        for (int k = 0; k < 20; k++) vp_let(vp_abs(vp_mul(vp_add(x, 1.0), k)));
        usleep((unsigned)(i % 30 * 700));
        const pid_t inner = fork();
        VP_CHECK_GE(inner, 0);
        in_forked_child = inner == 0;
        compute_for(x, n, 20);
        if (inner > 0) VP_CHECK_EQ(wait_for(inner), 0);
        exit(0);
    }
}

VP_TEST_TIMEOUT(forks_at_any_moment, 60) {
    need_compiler();
    fork_often("on", 60);
}
VP_TEST_TIMEOUT(forks_of_workers_that_compile, 60) {
    need_compiler();
    fork_often("native", 60);
}

VP_TEST_TIMEOUT(forks_of_workers_that_specialise, 60) {
    need_compiler();
    fork_often("specialised", 6); /* each compiles much */
}

/* The compiler is left where it is; what it works with must not be taken down under it. */
VP_TEST_TIMEOUT(exits_at_any_moment, 120) {
    need_compiler();
    for (int i = 0; i < 200 / vp__test_slowdown(); i++) {
        const pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (child == 0) {
            use("on", "off");
            vp_array x = vp__test_counting(30000);
            compute_many(x, 8);
            usleep((unsigned)(i * 37 % 100 * 400));
            exit(0);
        }
        VP_CHECK_EQ(wait_for(child), 0);
    }
}
