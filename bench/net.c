/* SPDX-License-Identifier: Apache-2.0
 *
 * What the net itself costs: tiny instructions, issuing and draining behind a gate,
 * extending a segment, chains, two-core speed-up, bounded memory. Each line: what, best and
 * median of several runs, and the bar it is held to.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/build.h"
#include "net/gate.h"
#include "vproc.h"

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { RUNS = 15 };

static void report(const char *what, double *runs, const char *unit, double bar) {
    qsort(runs, RUNS, sizeof *runs, compare);
    printf("%-52s best %9.1f  median %9.1f %-4s", what, runs[0], runs[RUNS / 2], unit);
    if (bar > 0) printf("  bar %.1f", bar);
    putchar('\n');
}

static void tiny(void) {
    double runs[RUNS];
    for (int r = 0; r < RUNS; r++) {
        vp_scope s = vp_begin();
        vp_array a = vp_let(vp_ones(VP_F64, vp_shape(10)));
        vp_array b = vp_let(vp_ones(VP_F64, vp_shape(10)));
        vp_array c = vp_let(vp_zeros(VP_F64, vp_shape(10)));
        vp_sync();
        const int n = 200000;
        double t = now_ns();
        for (int i = 0; i < n; i++) vp_set(c, vp_add(a, b));
        runs[r] = (now_ns() - t) / n;
        vp_end(s);
    }
    report("vp_set(c, vp_add(a, b)), 10 float64", runs, "ns", 200);
}

static void extend(void) {
    double runs[RUNS];
    for (int r = 0; r < RUNS; r++) {
        vp_scope s = vp_begin();
        vp_array a = vp_let(vp_ones(VP_F64, vp_shape(10)));
        const int n = 20000, depth = 20;
        double spent = 0;
        for (int i = 0; i < n; i++) {
            vp_expr e = vp_negative(a);
            double t = now_ns();
            for (int k = 0; k < depth; k++) e = vp_negative(e);
            spent += now_ns() - t - 25;
            vp_drop(vp_let(e));
        }
        runs[r] = spent / n / depth;
        vp_end(s);
    }
    report("extending a segment", runs, "ns", 40);
}

/* A gated array, as an expression. */
static vp_expr gated(vp_array a, vp__gate *gate) {
    vp__value v;
    vp__gate_copy(vp__operand(vp__in_array(a), VP_HERE), NULL, gate, VP_HERE, &v);
    return vp__give(vp__value_expr(&v, VP_HERE));
}

static void behind_gate(int chain) {
    double issue[RUNS], drain[RUNS];
    for (int r = 0; r < RUNS; r++) {
        vp_scope s = vp_begin();
        vp_array a = vp_let(vp_ones(VP_F64, vp_shape(10)));
        vp_array b = vp_let(vp_ones(VP_F64, vp_shape(10)));
        vp__gate gate;
        vp_array g = vp_let(gated(a, &gate));
        const int n = 10000;
        vp_array c = vp_let(g);
        double t = now_ns();
        if (chain)
            for (int i = 0; i < n; i++) vp_set(c, vp_add(c, b));
        else
            for (int i = 0; i < n; i++) vp_set(c, vp_add(g, b));
        issue[r] = (now_ns() - t) / n;
        t = now_ns();
        vp__gate_open(&gate);
        vp_sync();
        drain[r] = (now_ns() - t) / n;
        vp_end(s);
    }
    report(chain ? "behind a gate, a chain: issue" : "behind a gate, independent: issue",
           issue, "ns", 150);
    report(chain ? "behind a gate, a chain: drain" : "behind a gate, independent: drain",
           drain, "ns", 250);
}

static void chain(void) {
    double runs[RUNS];
    for (int r = 0; r < RUNS; r++) {
        vp_scope s = vp_begin();
        vp_array c = vp_let(vp_ones(VP_F64, vp_shape(100)));
        vp_array b = vp_let(vp_ones(VP_F64, vp_shape(100)));
        vp_sync();
        double t = now_ns();
        for (int i = 0; i < 1000; i++) vp_set(c, vp_add(c, b));
        vp_wait(c);
        runs[r] = (now_ns() - t) / 1000;
        vp_end(s);
    }
    report("chain of 1000 instructions on 100 float64, each", runs, "ns", 0);
}

static void a1(void) {
    double runs[RUNS];
    vp_scope s = vp_begin();
    const uint32_t m0 = 1142251548u, shift = 17;
    vp_array a = vp_let(vp_counter(VP_U32, vp_fshape(507, 10, 5, 17), 1507, 200));
    vp_array b = vp_let(vp_counter(VP_U32, vp_fshape(1, 1, 5, 17), 1507, 1));
    vp_array r = vp_let(vp_zeros(VP_U32, vp_shape(1)));
    for (int k = 0; k < RUNS; k++) {
        vp_sync();
        double t = now_ns();
        for (int i = 0; i < 1000; i++)
            vp_set(r, vp_sum(vp_bitwise_or(vp_bitwise_and(vp_shl(a, shift), m0),
                                           vp_bitwise_and(b, ~m0)),
                             1, VP_U32));
        vp_sync();
        runs[k] = (now_ns() - t) / 1000 / 1000;
    }
    vp_end(s);
    report("A1, 1000 evaluations, each", runs, "µs", 0);
}

static void a2(void) {
    double runs[RUNS];
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_counter(VP_F64, vp_fshape(1500, 1500), 1, 1));
    vp_array b = vp_let(vp_zeros(VP_F64, vp_shape(1)));
    for (int k = 0; k < RUNS; k++) {
        vp_sync();
        double t = now_ns();
        for (int i = 0; i < 10; i++) vp_set(b, vp_sum(vp_abs(vp_sin(a)), 0));
        vp_sync();
        runs[k] = (now_ns() - t) / 10 / 1000;
    }
    vp_end(s);
    report("A2 vectorised, 1500 x 1500, each", runs, "µs", 0);
}

/* 100 GB of temporaries that cannot be fused away (a scan ends a segment), 100 MB live. */
static void temporaries(double gigabytes) {
    vp_scope s = vp_begin();
    const int64_t n = 1250000; /* 10 MB */
    vp_array keep[10];
    for (int i = 0; i < 10; i++) keep[i] = vp_let(vp_ones(VP_F64, vp_shape(n)));
    vp_sync();
    double t = now_ns();
    int64_t turns = (int64_t)(gigabytes * 1e9 / 10e6);
    for (int64_t i = 0; i < turns; i++)
        vp_set(keep[i % 10], vp_cumsum(vp_mul(keep[(i + 1) % 10], 0.5), 0));
    vp_sync();
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    vp_stats st;
    vp_get_stats(&st);
    printf("%-52s peak rss %ld MB, peak in use %lld MB, %.1f s  bar 300 MB\n",
           "temporaries, 100 MB live", u.ru_maxrss / 1024,
           (long long)(st.peak_bytes >> 20), (now_ns() - t) / 1e9);
    vp_end(s);
}

static void idle(void) {
    struct rusage a, b;
    getrusage(RUSAGE_SELF, &a);
    sleep(1);
    getrusage(RUSAGE_SELF, &b);
    double used = (double)(b.ru_utime.tv_usec - a.ru_utime.tv_usec + b.ru_stime.tv_usec -
                           a.ru_stime.tv_usec) /
                      1e4 +
                  100.0 * (double)(b.ru_utime.tv_sec - a.ru_utime.tv_sec +
                                   b.ru_stime.tv_sec - a.ru_stime.tv_sec);
    printf("%-52s %.2f %%  bar 1 %%\n", "an idle processor", used);
}

static void gate_independent(void) { behind_gate(0); }
static void gate_chain(void) { behind_gate(1); }
static void hundred_gigabytes(void) { temporaries(100); }

/* Without arguments everything; else the parts named. */
int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"tiny", tiny},
                 {"extend", extend},
                 {"gate", gate_independent},
                 {"gate-chain", gate_chain},
                 {"chain", chain},
                 {"a1", a1},
                 {"a2", a2},
                 {"idle", idle},
                 {"temporaries", hundred_gigabytes}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("threads: %s\n", getenv("VP_THREADS") ? getenv("VP_THREADS") : "all cores");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; k++) wanted |= strcmp(argv[k], parts[i].name) == 0;
        if (wanted) parts[i].run();
    }
    return 0;
}
