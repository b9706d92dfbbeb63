/* SPDX-License-Identifier: Apache-2.0
 *
 * The test runner. The parent process stays single-threaded and touches nothing of the
 * library, so that every forked test starts from the same clean state; it waits for
 * children by signal and deadline, never by polling.
 *
 * What must stay true: the last line is alone on its line and reads `N passed, N failed`
 * (`, N skipped` may follow), because tests/run_all.py adds those lines up; and a test that
 * ends in any other way than by returning has failed or was skipped.
 */
#define _GNU_SOURCE
#include "tests/harness.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_SKIPPED = 77, MAX_JOBS = 64 };

#if defined(__SANITIZE_THREAD__)
enum { BUILD_SLOWDOWN = 10 };
#elif defined(__SANITIZE_ADDRESS__)
enum { BUILD_SLOWDOWN = 4 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { BUILD_SLOWDOWN = 10 };
#elif __has_feature(address_sanitizer)
enum { BUILD_SLOWDOWN = 4 };
#else
enum { BUILD_SLOWDOWN = 1 };
#endif
#else
enum { BUILD_SLOWDOWN = 1 };
#endif

static vp__test *first_test;
static vp__test **last_test = &first_test;
static bool in_process; /* a failed check aborts, so that a debugger stops there */
static int most_seconds = INT_MAX; /* of any test, whatever its own limit */

void vp__test_register(vp__test *test) {
    *last_test = test;
    last_test = &test->next;
}

int vp__test_slowdown(void) {
    const char *text = getenv("VP_TEST_SLOWDOWN");
    long factor = text ? strtol(text, NULL, 10) : 1;
    return BUILD_SLOWDOWN * (factor > 0 && factor < 1000 ? (int)factor : 1);
}

/* ---- standard output ---- */

static struct {
    FILE *file;
    int saved; /* where standard output went before */
    char text[20000];
} captured;

void vp__test_capture_begin(void) {
    fflush(stdout);
    captured.saved = dup(STDOUT_FILENO);
    captured.file = tmpfile();
    VP_CHECK(captured.saved >= 0 && captured.file != NULL);
    dup2(fileno(captured.file), STDOUT_FILENO);
}

const char *vp__test_capture_end(void) {
    fflush(stdout);
    dup2(captured.saved, STDOUT_FILENO);
    close(captured.saved);
    rewind(captured.file);
    size_t n = fread(captured.text, 1, sizeof captured.text - 1, captured.file);
    captured.text[n] = '\0';
    fclose(captured.file);
    return captured.text;
}

/* ---- checks ---- */

static _Noreturn void end_test(int code) {
    fflush(NULL);
    if (in_process && code == EXIT_FAILED) abort();
    /* Other threads may still run; leave without tearing anything down under them. */
    _exit(code);
}

void vp__test_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fflush(stdout); /* what the test printed comes before its failure */
    fprintf(stderr, "%s:%d: failed: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    end_test(EXIT_FAILED);
}

void vp__test_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    end_test(EXIT_SKIPPED);
}

vp__test_value vp__test_from_int(int64_t x) {
    return (vp__test_value){VP__TEST_INT, {.i = x}};
}

vp__test_value vp__test_from_uint(uint64_t x) {
    return (vp__test_value){VP__TEST_UINT, {.u = x}};
}

vp__test_value vp__test_from_float(double x) {
    return (vp__test_value){VP__TEST_FLOAT, {.f = x}};
}

vp__test_value vp__test_from_pointer(const volatile void *x) {
    return (vp__test_value){VP__TEST_POINTER, {.p = x}};
}

static double as_double(vp__test_value v) {
    switch (v.kind) {
    case VP__TEST_INT: return (double)v.as.i;
    case VP__TEST_UINT: return (double)v.as.u;
    case VP__TEST_FLOAT: return v.as.f;
    case VP__TEST_POINTER: return (double)(uintptr_t)v.as.p;
    }
    return NAN;
}

/* -1, 0, 1 as a is less than, equal to, greater than b; 2 when unordered. Integers of
 * either sign and pointers are compared exactly. */
static int order(vp__test_value a, vp__test_value b) {
    if (a.kind == VP__TEST_FLOAT || b.kind == VP__TEST_FLOAT) {
        double x = as_double(a), y = as_double(b);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    }
    bool a_negative = a.kind == VP__TEST_INT && a.as.i < 0;
    bool b_negative = b.kind == VP__TEST_INT && b.as.i < 0;
    if (a_negative != b_negative) return a_negative ? -1 : 1;
    uint64_t x = a.kind == VP__TEST_POINTER ? (uintptr_t)a.as.p : a.as.u;
    uint64_t y = b.kind == VP__TEST_POINTER ? (uintptr_t)b.as.p : b.as.u;
    return x < y ? -1 : x > y ? 1 : 0;
}

static const char *show(vp__test_value v, char *text, size_t size) {
    switch (v.kind) {
    case VP__TEST_INT: snprintf(text, size, "%lld", (long long)v.as.i); break;
    case VP__TEST_UINT: snprintf(text, size, "%llu", (unsigned long long)v.as.u); break;
    case VP__TEST_FLOAT: snprintf(text, size, "%.17g (%a)", v.as.f, v.as.f); break;
    case VP__TEST_POINTER:
        snprintf(text, size, "0x%llx", (unsigned long long)(uintptr_t)v.as.p);
        break;
    }
    return text;
}

void vp__test_compare(const char *file, int line, const char *text, vp__test_value a,
                      vp__test_op op, vp__test_value b) {
    int o = order(a, b);
    bool holds = false;
    switch (op) {
    case VP__TEST_EQ: holds = o == 0; break;
    case VP__TEST_NE: holds = o != 0; break;
    case VP__TEST_LT: holds = o == -1; break;
    case VP__TEST_LE: holds = o == -1 || o == 0; break;
    }
    if (holds) return;
    char left[80], right[80];
    vp__test_fail(file, line, "%s\n    left:  %s\n    right: %s", text,
                  show(a, left, sizeof left), show(b, right, sizeof right));
}

void vp__test_near(const char *file, int line, const char *text, double a, double b,
                   double tolerance) {
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance) return;
    vp__test_fail(file, line,
                  "%s\n    left:  %.17g\n    right: %.17g\n    off by %g > %g", text, a,
                  b, fabs(a - b), tolerance);
}

void vp__test_str(const char *file, int line, const char *text, const char *a,
                  const char *b) {
    if (a == b || (a && b && strcmp(a, b) == 0)) return;
    vp__test_fail(file, line, "%s\n    left:  %s\n    right: %s", text, a ? a : "(null)",
                  b ? b : "(null)");
}

void vp__test_contains(const char *file, int line, const char *text, const char *a,
                       const char *part) {
    if (a && part && strstr(a, part)) return;
    vp__test_fail(file, line, "%s\n    text:  %s\n    part:  %s", text, a ? a : "(null)",
                  part ? part : "(null)");
}

void vp__test_bytes(const char *file, int line, const char *text, const void *a,
                    const void *b, size_t bytes) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i])
            vp__test_fail(file, line,
                          "%s\n    byte %zu of %zu: left 0x%02x, right 0x%02x", text, i,
                          bytes, x[i], y[i]);
}

/* ---- running ---- */

typedef struct {
    const vp__test *test;
    pid_t pid; /* 0: the slot is free */
    FILE *output;
    double started, deadline;
    bool timed_out;
} job;

typedef struct {
    int passed, failed, skipped;
    bool verbose;
} tally;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *full_name(const vp__test *test, char *text, size_t size) {
    const char *base = strrchr(test->file, '/');
    base = base ? base + 1 : test->file;
    if (strncmp(base, "test_", 5) == 0) base += 5;
    snprintf(text, size, "%.*s.%s", (int)strcspn(base, "."), base, test->name);
    return text;
}

static void run_child(const vp__test *test, FILE *output) {
    /* Its own group, so that a time-out also ends what the test itself forked. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(fileno(output), STDOUT_FILENO);
    dup2(fileno(output), STDERR_FILENO);
    if (!freopen("/dev/null", "r", stdin)) end_test(EXIT_FAILED);
    test->run();
    /* A plain exit, so that exit handlers run and the leak checker looks. */
    exit(EXIT_SUCCESS);
}

static void start(job *j, const vp__test *test) {
    fflush(NULL);
    *j = (job){.test = test, .output = tmpfile(), .started = now()};
    j->deadline =
        j->started + fmin((double)test->seconds * vp__test_slowdown(), most_seconds);
    if (!j->output) {
        perror("vproc-tests: no temporary file");
        exit(2);
    }
    j->pid = fork();
    if (j->pid < 0) {
        perror("vproc-tests: fork");
        exit(2);
    }
    if (j->pid == 0) run_child(test, j->output);
    setpgid(j->pid, j->pid); /* whichever of the two processes comes first */
}

static void show_output(FILE *output) {
    char line[4096];
    rewind(output);
    while (fgets(line, sizeof line, output))
        printf("    %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static void finish(job *j, int status, tally *t) {
    char name[256], why[128];
    double seconds = now() - j->started;
    const char *verdict = "FAIL";

    kill(-j->pid, SIGKILL); /* what the test left running; the group may well be empty */
    full_name(j->test, name, sizeof name);
    if (j->timed_out)
        snprintf(why, sizeof why, "still running after %.0f s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "signal %d, %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(why, sizeof why, "exit status %d", WEXITSTATUS(status));

    if (!j->timed_out && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        verdict = "ok", t->passed++;
        why[0] = 0;
    } else if (!j->timed_out && WIFEXITED(status) &&
               WEXITSTATUS(status) == EXIT_SKIPPED) {
        verdict = "skip", t->skipped++;
        why[0] = 0;
    } else {
        t->failed++;
    }
    if (t->verbose || why[0] || strcmp(verdict, "skip") == 0) {
        printf("%-4s %s (%.2f s)%s%s\n", verdict, name, seconds, why[0] ? ": " : "", why);
        if (strcmp(verdict, "ok") != 0) show_output(j->output);
        fflush(stdout);
    }
    fclose(j->output);
    j->pid = 0;
}

/* Where the threads of a test that hangs are, if there is a debugger to ask. */
static void write_stacks(const job *j) {
    char command[200];
    fflush(NULL);
    snprintf(command, sizeof command,
             "timeout 60 gdb -batch -nx -p %d -ex 'thread apply all bt 16' "
             "</dev/null >&%d 2>&1",
             (int)j->pid, fileno(j->output));
    if (system(command) != 0) fputs("(no debugger shows its threads)\n", j->output);
}

/* Sleeps until a child ends or the nearest deadline, then takes what has ended. */
static void wait_some(job *jobs, int njobs, const sigset_t *child_signal, tally *t) {
    double nearest = now() + 3600;
    for (int i = 0; i < njobs; i++)
        if (jobs[i].pid && jobs[i].deadline < nearest) nearest = jobs[i].deadline;
    double left = nearest - now();
    if (left < 0) left = 0;
    struct timespec pause = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    sigtimedwait(child_signal, NULL, &pause);

    for (int i = 0; i < njobs; i++) {
        job *j = &jobs[i];
        if (!j->pid) continue;
        int status;
        if (waitpid(j->pid, &status, WNOHANG) == j->pid) {
            finish(j, status, t);
        } else if (now() >= j->deadline) {
            j->timed_out = true;
            write_stacks(j);
            kill(-j->pid, SIGKILL);
            kill(j->pid, SIGKILL);
            if (waitpid(j->pid, &status, 0) == j->pid) finish(j, status, t);
        }
    }
}

static bool selected(const vp__test *test, const char *filter) {
    char name[256];
    return !filter || strstr(full_name(test, name, sizeof name), filter) != NULL;
}

static void run_all(const char *filter, int njobs, tally *t) {
    static job
        jobs[MAX_JOBS]; /* static: the leak checker of a child finds it reachable */
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, NULL);

    int running = 0;
    const vp__test *next = first_test;
    while (next || running) {
        for (int i = 0; i < njobs && next; i++) {
            if (jobs[i].pid) continue;
            while (next && !selected(next, filter)) next = next->next;
            if (!next) break;
            start(&jobs[i], next);
            next = next->next;
        }
        running = 0;
        for (int i = 0; i < njobs; i++) running += jobs[i].pid != 0;
        if (running) wait_some(jobs, njobs, &child_signal, t);
    }
}

static int run_in_process(const char *wanted) {
    char name[256];
    in_process = true;
    for (const vp__test *test = first_test; test; test = test->next) {
        if (strcmp(full_name(test, name, sizeof name), wanted) != 0) continue;
        test->run();
        printf("ok   %s\n", name);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "vproc-tests: there is no test %s; --list shows them\n", wanted);
    return 2;
}

static void list(const char *filter) {
    char name[256];
    for (const vp__test *test = first_test; test; test = test->next)
        if (selected(test, filter)) puts(full_name(test, name, sizeof name));
}

static const char *const usage =
    "vproc-tests [options]\n"
    "  --list             print the tests' names\n"
    "  --filter SUBSTR    only tests whose name contains SUBSTR\n"
    "  --in-process NAME  run one test in this process, for a debugger\n"
    "  -j N               run N tests at a time (1)\n"
    "  --limit SECONDS    no test takes longer, whatever its own limit\n"
    "  -v                 print every test, not only those that fail\n"
    "VP_TEST_SLOWDOWN=N multiplies the time limits.\n";

int main(int argc, char **argv) {
    const char *filter = NULL, *one = NULL;
    int njobs = 1;
    bool only_list = false;
    tally t = {0};

    static const struct option options[] = {
        {"list", no_argument, NULL, 'l'},
        {"filter", required_argument, NULL, 'f'},
        {"in-process", required_argument, NULL, 'p'},
        {"limit", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "j:v", options, NULL)) != -1;) {
        switch (c) {
        case 'l': only_list = true; break;
        case 'f': filter = optarg; break;
        case 'p': one = optarg; break;
        case 's': most_seconds = (int)strtol(optarg, NULL, 10); break;
        case 'j': njobs = (int)strtol(optarg, NULL, 10); break;
        case 'v': t.verbose = true; break;
        case 'h': fputs(usage, stdout); return EXIT_SUCCESS;
        default: fputs(usage, stderr); return 2;
        }
    }
    if (njobs < 1) njobs = 1;
    if (njobs > MAX_JOBS) njobs = MAX_JOBS;
    if (only_list) {
        list(filter);
        return EXIT_SUCCESS;
    }
    if (one) return run_in_process(one);

    run_all(filter, njobs, &t);
    printf("%d passed, %d failed", t.passed, t.failed);
    if (t.skipped) printf(", %d skipped", t.skipped);
    putchar('\n');
    if (t.passed + t.failed + t.skipped == 0) {
        fprintf(stderr, "vproc-tests: no test matches\n");
        return 2;
    }
    return t.failed ? EXIT_FAILED : EXIT_SUCCESS;
}
