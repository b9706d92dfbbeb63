/* SPDX-License-Identifier: Apache-2.0
 *
 * How soon native code is there: in a new process with nothing in the cache, for the
 * kernels after the first, and in a process that finds them in the cache; and how long a
 * new process takes until its evaluations of A1 are as fast as they will be; and what
 * compiling does to a program that has work for all cores. Every figure
 * is from processes of their own, the best and the median of them; beside it the CPU time
 * that was used, which other programs on the machine disturb less.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jit/native.h"
#include "vproc.h"

enum { PROCESSES = 15, MOST = 32 };

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void) { return (double)vp__clock_ns(vp__clock_ticks()) / 1e6; }

static vp__native_stats stats(void) {
    vp__native_stats s;
    vp__native_get_stats(&s);
    return s;
}

/* --- kernels ------------------------------------------------------------------------ */

typedef struct {
    vp__kernel kernel;
    vp__loops loops;
    const char *name;
} job;

static job new_job(const char *name, int loops, int leaves, vp_dtype t) {
    job j = {.name = name,
             .kernel = {.nleaves = leaves, .reduce = -1, .result = (uint8_t)t},
             .loops = {.kind = (uint8_t)loops, .read = {VP__READ_RUN}}};
    for (int i = 0; i < leaves; i++) j.kernel.leaf[i].dtype = (uint8_t)t;
    return j;
}

static void add(job *j, vp__op op, vp_dtype t, vp_dtype result, int a, int b, int c) {
    j->kernel.instr[j->kernel.ninstrs++] = (vp__instr){
        (uint8_t)op, (uint8_t)t, (uint8_t)result, {(uint8_t)a, (uint8_t)b, (uint8_t)c}};
    j->kernel.result = (uint8_t)result;
}

static void reduce(job *j, vp__op op) {
    j->kernel.reduce = (int)op;
    j->kernel.reduce_type = j->kernel.result;
}

static job a1_job(void) {
    job j = new_job("A1", VP__LOOPS_COLS, 5, VP_U32);
    j.loops.read[1] = VP__READ_ROW;
    for (int i = 2; i < 5; i++) {
        j.kernel.leaf[i].constant = true;
        j.loops.read[i] = VP__READ_PLANE;
    }
    add(&j, VP__OP_left_shift, VP_U32, VP_U32, 0, 2, 0);
    add(&j, VP__OP_bitwise_and, VP_U32, VP_U32, 5, 3, 0);
    add(&j, VP__OP_bitwise_and, VP_U32, VP_U32, 1, 4, 0);
    add(&j, VP__OP_bitwise_or, VP_U32, VP_U32, 6, 7, 0);
    reduce(&j, VP__OP_sum);
    return j;
}

/* Distances of K-means: four columns against four centres at a time, the longest kernel of
 * the experiments. */
static job distances_job(void) {
    job j = new_job("distances of K-means", VP__LOOPS_ROWS, 2, VP_F64);
    j.loops.read[0] = VP__READ_SHARED;
    j.loops.read[1] = VP__READ_OFTEN;
    add(&j, VP__OP_subtract, VP_F64, VP_F64, 0, 1, 0);
    add(&j, VP__OP_square, VP_F64, VP_F64, 2, 0, 0);
    reduce(&j, VP__OP_sum);
    return j;
}

/* What programs are made of: short and long, narrow and wide, with calls and without. */
static int make_jobs(job *j) {
    int n = 0;
    j[n++] = a1_job();
    j[n++] = distances_job();
    for (int i = 0; i < 2; i++) {
        const vp_dtype t = i ? VP_F32 : VP_F64;
        j[n] = new_job("a sum of two", VP__LOOPS_MAP, 2, t);
        add(&j[n++], VP__OP_add, t, t, 0, 1, 0);
        j[n] = new_job("a product and a sum", VP__LOOPS_MAP, 3, t);
        add(&j[n], VP__OP_multiply, t, t, 0, 1, 0);
        add(&j[n++], VP__OP_add, t, t, 3, 2, 0);
        for (int loops = VP__LOOPS_ROWS; loops <= VP__LOOPS_COLS; loops += 2) {
            j[n] = new_job("sums of squares", loops, 2, t);
            add(&j[n], VP__OP_subtract, t, t, 0, 1, 0);
            add(&j[n], VP__OP_square, t, t, 2, 0, 0);
            reduce(&j[n++], VP__OP_sum);
        }
        j[n] = new_job("sums of sines", VP__LOOPS_ROWS, 1, t);
        add(&j[n], VP__OP_sin, t, t, 0, 0, 0);
        add(&j[n], VP__OP_abs, t, t, 1, 0, 0);
        reduce(&j[n++], VP__OP_sum);
        j[n] = new_job("a choice", VP__LOOPS_MAP, 3, t);
        add(&j[n], VP__OP_less, t, VP_BOOL, 0, 1, 0);
        add(&j[n], VP__OP_clip, t, t, 0, 1, 2);
        add(&j[n++], VP__OP_where, t, t, 3, 4, 1);
        j[n] = new_job("a conversion", VP__LOOPS_MAP, 1, t);
        add(&j[n++], (vp__op)VP__OP_CAST, t, VP_I16, 0, 0, 0);
    }
    j[n] = new_job("a complex product", VP__LOOPS_MAP, 2, VP_C128);
    add(&j[n++], VP__OP_multiply, VP_C128, VP_C128, 0, 1, 0);
    j[n] = new_job("a floor division", VP__LOOPS_MAP, 2, VP_I32);
    add(&j[n++], VP__OP_floor_divide, VP_I32, VP_I32, 0, 1, 0);
    return n;
}

/* --- in a process of its own -------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* From the first want to code, for each kernel: by the clock, and what the CPU was used. */
static void start(void) {
    static job jobs[MOST];
    double wall[MOST], cpu[MOST];
    const int n = make_jobs(jobs);
    vp__clock_init();
    for (int i = 0; i < n; i++) {
        const double from = now_ms(), used = cpu_ms();
        vp__native_want(&jobs[i].kernel, &jobs[i].loops, 1e9, 1, NULL, NULL);
        vp__native_settle();
        wall[i] = now_ms() - from;
        cpu[i] = cpu_ms() - used;
    }
    if (stats().failed) fprintf(stderr, "%d failed\n", (int)stats().failed);
    for (int i = 0; i < n; i++) printf("%g %g ", wall[i], cpu[i]);
    printf("%d\n", (int)stats().compiled);
    fflush(stdout);
}

static void evaluate_a1(vp_array r, vp_array a, vp_array b, int times) {
    const uint32_t m0 = 1142251548u, shift = 17;
    for (int i = 0; i < times; i++)
        vp_set(r, vp_sum(vp_bitwise_or(vp_bitwise_and(vp_shl(a, shift), m0),
                                       vp_bitwise_and(b, ~m0)),
                         1, VP_U32));
    vp_sync();
}

/* Until four batches in a row are within a quarter of what is typical after a while. */
static void plateau(void) {
    enum { BATCH = 20, BATCHES = 1000 };
    static double at[BATCHES], each[BATCHES], late[BATCHES];
    vp_scope s = vp_begin();
    vp__clock_init();
    const double from = now_ms();
    vp_array a = vp_let(vp_counter(VP_U32, vp_fshape(507, 10, 5, 17), 1507, 200));
    vp_array b = vp_let(vp_counter(VP_U32, vp_fshape(1, 1, 5, 17), 1507, 1));
    vp_array r = vp_let(vp_zeros(VP_U32, vp_shape(1)));
    int n = 0;
    for (double t = from; n < BATCHES && t - from < 600; n++) {
        const double began = t;
        evaluate_a1(r, a, b, BATCH);
        t = now_ms();
        at[n] = began - from;
        each[n] = (t - began) / BATCH;
    }
    memcpy(late, each + n / 2, (size_t)(n - n / 2) * sizeof *late);
    const double level = median(late, n - n / 2);
    int i = 0, good = 0;
    for (; i < n && good < 4; i++) good = each[i] <= 1.25 * level ? good + 1 : 0;
    printf("%g %g\n", at[i - good], 1e3 * level);
    fflush(stdout);
    vp_end(s);
}

/* The time of evaluations of something that is split among all cores, until there is so much
 * code; their mean. */
static double slow; /* what one in twenty of the last ones exceeded */

static double evaluate_some(vp_array x, double *ms, int most, uint64_t until) {
    int n = 0;
    for (; n < most && (!until || stats().compiled < until); n++) {
        const double from = now_ms();
        vp_wait(vp_let(vp_sum(vp_sqrt(vp_add(vp_mul(x, x), 1.0)))));
        ms[n] = now_ms() - from;
    }
    double sum = 0;
    for (int i = 0; i < n; i++) sum += ms[i];
    if (n) qsort(ms, (size_t)n, sizeof *ms, by_size);
    slow = n ? ms[n - 1 - n / 20] : 0;
    return n ? sum / n : 0;
}

/* While nothing, and while all the jobs are compiled; and how long those take. */
static void busy(void) {
    enum { QUIET = 200, MANY = 100000 };
    static double ms[MANY];
    static job jobs[MOST];
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_linspace(VP_F64, 0, 1, 2000000));
    evaluate_some(x, ms, QUIET, 0);
    vp__native_settle();
    const double quiet = evaluate_some(x, ms, QUIET, 0);
    const double quiet_slow = slow;
    const int n = make_jobs(jobs);
    const uint64_t all = stats().compiled + (uint64_t)n;
    const double from = now_ms();
    for (int i = 0; i < n; i++)
        vp__native_want(&jobs[i].kernel, &jobs[i].loops, 1e9, 1, NULL, NULL);
    const double loud = evaluate_some(x, ms, MANY, all);
    printf("%g %g %g %g %g\n", quiet, loud / quiet, now_ms() - from, quiet_slow / quiet,
           slow / quiet);
    fflush(stdout);
    vp_end(s);
}

/* --- all of them -------------------------------------------------------------------- */

static bool run(const char *what, const char *cache, double *out, int n) {
    int ends[2];
    if (pipe(ends)) return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        setenv("VP_CACHE", cache, 1);
        setenv("VP_JIT", "on", 1);
        execl("/proc/self/exe", "bench-jit", what, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    int got = 0;
    while (got < n && fscanf(f, "%lf", &out[got]) == 1) got++;
    fclose(f);
    int status;
    waitpid(child, &status, 0);
    return got == n && status == 0;
}

static void report(const char *what, double *x, const char *unit, double target) {
    const double middle = median(x, PROCESSES);
    printf("%-58s %8.2f %8.2f %s", what, x[0], middle, unit);
    if (target > 0) printf("  (at most %g)", target);
    printf("\n");
}

enum { FIGURES = 2 * MOST + 1 }; /* that a process of start() prints at most */

/* By kernel, [0] by the clock and [1] of the CPU. */
typedef double times[MOST][2][PROCESSES];

/* The kernel after the first whose median is the largest. */
static int slowest(times ms, int n) {
    int worst = 1;
    double most = 0;
    for (int k = 1; k < n; k++) {
        double all[PROCESSES];
        memcpy(all, ms[k][0], sizeof all);
        const double middle = median(all, PROCESSES);
        if (middle > most) most = middle, worst = k;
    }
    return worst;
}

static void start_all(const char *cache, const char *how, const double *targets) {
    static job jobs[MOST];
    static times ms;
    const int n = make_jobs(jobs);
    double later[2][PROCESSES];
    int compiled = 0;
    for (int i = 0; i < PROCESSES; i++) {
        double one[FIGURES], all[2][MOST];
        if (!run("--start", cache, one, 2 * n + 1)) {
            printf("%s: a process failed\n", how);
            return;
        }
        for (int k = 0; k < n; k++)
            for (int c = 0; c < 2; c++) ms[k][c][i] = all[c][k] = one[2 * k + c];
        for (int c = 0; c < 2; c++) later[c][i] = median(all[c] + 1, n - 1);
        compiled += (int)one[2 * n];
    }
    printf("%s (%d compiled)\n", how, compiled);
    report("  first kernel, from the first want to code", ms[0][0], "ms", targets[0]);
    report("    CPU time", ms[0][1], "ms", 0);
    report("  a later kernel", later[0], "ms", targets[1]);
    report("    CPU time", later[1], "ms", 0);
    const int worst = slowest(ms, n);
    char what[80];
    snprintf(what, sizeof what, "  the slowest of them, %s", jobs[worst].name);
    report(what, ms[worst][0], "ms", targets[1]);
    report("    CPU time", ms[worst][1], "ms", 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--start") == 0) return start(), 0;
    if (argc == 2 && strcmp(argv[1], "--a1") == 0) return plateau(), 0;
    if (argc == 2 && strcmp(argv[1], "--busy") == 0) return busy(), 0;
    char folder[] = "/tmp/vproc-bench-XXXXXX", command[64], load[64] = "";
    if (!mkdtemp(folder)) return 1;
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && !fgets(load, sizeof load, f)) load[0] = 0;
    if (f) fclose(f);
    printf("%d processes each, best and median; load %.4s\n", PROCESSES, load);
    start_all("off", "without a cache", (double[]){30, 8});
    double one[FIGURES];
    run("--start", folder, one, FIGURES); /* fills it */
    start_all(folder, "from the cache", (double[]){1, 1});
    double when[PROCESSES], level[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        if (!run("--a1", "off", one, 2)) return 1;
        when[i] = one[0];
        level[i] = one[1];
    }
    report("A1 without a cache: from the start to the plateau", when, "ms", 100);
    report("  an evaluation then", level, "µs", 0);
    double busy_ms[5][PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        if (!run("--busy", "off", one, 5)) return 1;
        for (int k = 0; k < 5; k++) busy_ms[k][i] = one[k];
    }
    report("all cores busy: an evaluation", busy_ms[0], "ms", 0);
    report("  one in twenty takes longer than, in parts of that", busy_ms[3], "", 0);
    report("  while all the kernels above are compiled", busy_ms[1], "", 0);
    report("    one in twenty", busy_ms[4], "", 0);
    report("  until all of these are there", busy_ms[2], "ms", 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0;
}
