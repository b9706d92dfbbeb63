/* SPDX-License-Identifier: Apache-2.0
 *
 * What the net itself costs: tiny instructions, issuing and draining behind a gate,
 * extending a segment, chains, what a second core is worth, records of the trace, bounded
 * memory. Each line: what, best and median of several runs, and the bar it is held to.
 *
 *     bench-net [PART...]    the parts named, or all of them
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/build.h"
#include "api/operand.h"
#include "issue/gate.h"
#include "peer.h"
#include "trace/trace.h"
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

enum { RUNS = 15, WARM_UP = 5 };

static double median(double *runs) {
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}

static void report(const char *what, double *runs, const char *unit, double bar) {
    const double middle = median(runs);
    printf("%-52s best %9.1f  median %9.1f %-4s", what, runs[0], middle, unit);
    if (bar > 0) printf("  bar %.1f", bar);
    putchar('\n');
}

/* --- processes that take turns ------------------------------------------------------ */

/* This program again, as the peer that does `job`, with one setting of its own. */
static void start_job(peer *p, const char *job, const char *name, const char *value) {
    int in, out;
    if (peer_start(p, &in, &out) != 0) return;
    if (name) setenv(name, value, 1);
    peer_become(in, out, "/proc/self/exe", "--job", job);
}

/* What peers answer in turn, once they have come to their speed. */
static void take_turns(peer *p, int count, double runs[][RUNS]) {
    for (int r = -WARM_UP; r < RUNS; r++)
        for (int i = 0; i < count; i++) {
            const double t = peer_ask(&p[i], 0);
            if (r >= 0) runs[i][r] = t;
        }
}

/* --- the cost of instructions ------------------------------------------------------- */

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

static double chain_turn(int number) {
    (void)number;
    vp_scope s = vp_begin();
    vp_array c = vp_let(vp_ones(VP_F64, vp_shape(100)));
    vp_array b = vp_let(vp_ones(VP_F64, vp_shape(100)));
    vp_sync();
    double t = now_ns();
    for (int i = 0; i < 1000; i++) vp_set(c, vp_add(c, b));
    vp_wait(c);
    t = (now_ns() - t) / 1000;
    vp_end(s);
    return t;
}

static void chain(void) {
    double runs[2][RUNS];
    peer p[2];
    int in, out;
    start_job(&p[0], "chain", NULL, NULL);
    if (peer_start(&p[1], &in, &out) == 0)
        peer_become(in, out, "python3", NET_NUMPY, NULL);
    take_turns(p, 2, runs);
    peers_end(p, 2);
    const double bar = p[1].here ? median(runs[1]) : 0;
    report("chain of 1000 instructions on 100 float64, each", runs[0], "ns", bar);
    if (p[1].here)
        report("NumPy's chain of np.add(c, b, out=c), each", runs[1], "ns", 0);
    else
        puts("NumPy not found: no bar for the chain");
}

/* --- what a second core is worth ---------------------------------------------------- */

static double a1_turn(int number) {
    (void)number;
    static vp_array a, b, r;
    const uint32_t m0 = 1142251548u, shift = 17;
    if (!a.generation) {
        a = vp_let(vp_counter(VP_U32, vp_fshape(507, 10, 5, 17), 1507, 200));
        b = vp_let(vp_counter(VP_U32, vp_fshape(1, 1, 5, 17), 1507, 1));
        r = vp_let(vp_zeros(VP_U32, vp_shape(1)));
        vp_sync();
    }
    double t = now_ns();
    for (int i = 0; i < 1000; i++)
        vp_set(r, vp_sum(vp_bitwise_or(vp_bitwise_and(vp_shl(a, shift), m0),
                                       vp_bitwise_and(b, ~m0)),
                         1, VP_U32));
    vp_sync();
    return (now_ns() - t) / 1000 / 1000;
}

static double a2_turn(int number) {
    (void)number;
    static vp_array a, b;
    if (!a.generation) {
        a = vp_let(vp_counter(VP_F64, vp_fshape(1500, 1500), 1, 1));
        b = vp_let(vp_zeros(VP_F64, vp_shape(1)));
        vp_sync();
    }
    double t = now_ns();
    for (int i = 0; i < 10; i++) vp_set(b, vp_sum(vp_abs(vp_sin(a)), 0));
    vp_sync();
    return (now_ns() - t) / 10 / 1000;
}

static void speed_up(const char *what, const char *job) {
    double runs[2][RUNS], ratio[RUNS];
    peer p[2];
    start_job(&p[0], job, "VP_THREADS", "1");
    start_job(&p[1], job, "VP_THREADS", "2");
    take_turns(p, 2, runs);
    peers_end(p, 2);
    for (int r = 0; r < RUNS; r++) ratio[r] = runs[0][r] / runs[1][r];
    char text[80];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s, each, %s", what, i ? "two cores" : "one core");
        report(text, runs[i], "µs", 0);
    }
    snprintf(text, sizeof text, "%s, one core over two", what);
    printf("%-52s best %9.2f  median %9.2f %-4s  bar 1.8\n", text,
           runs[0][0] / runs[1][0], median(ratio), "");
}

static void a1(void) { speed_up("A1, 1000 evaluations", "a1"); }
static void a2(void) { speed_up("A2 vectorised, 1500 x 1500", "a2"); }

/* --- records of the trace ----------------------------------------------------------- */

/* The trace keeps some millions of records; those beyond would cost something else. */
enum { RECORDS = 100000, TRACED = 10000 };

static double record_turn(int number) {
    (void)number;
    vp__trace_init();
    double t = now_ns();
    for (uint64_t i = 0; i < RECORDS; i++) vp__trace(VP__TR_STEAL, i, "add", i);
    return (now_ns() - t) / RECORDS;
}

/* Asked with 1, how many records there are. */
static double traced_turn(int number) {
    static vp_array a, b, c;
    if (number == 1) return (double)vp__trace_kept();
    if (!a.generation) {
        a = vp_let(vp_ones(VP_F64, vp_shape(10)));
        b = vp_let(vp_ones(VP_F64, vp_shape(10)));
        c = vp_let(vp_zeros(VP_F64, vp_shape(10)));
        vp_sync();
    }
    double t = now_ns();
    for (int i = 0; i < TRACED; i++) vp_set(c, vp_add(a, b));
    return (now_ns() - t) / TRACED;
}

static void trace(void) {
    double runs[2][RUNS];
    peer p[2];
    start_job(&p[0], "record", "VP_TRACE", "/dev/null");
    take_turns(p, 1, runs);
    peers_end(p, 1);
    report("a record of the trace", runs[0], "ns", 50);

    start_job(&p[0], "traced", NULL, NULL);
    start_job(&p[1], "traced", "VP_TRACE", "/dev/null");
    take_turns(p, 2, runs);
    const double records = peer_ask(&p[1], 1) / (TRACED * (RUNS + WARM_UP));
    peers_end(p, 2);
    for (int r = 0; r < RUNS; r++) runs[0][r] = (runs[1][r] - runs[0][r]) / records;
    char text[80];
    snprintf(text, sizeof text, "the same, of the %.1f of a tiny instruction", records);
    report(text, runs[0], "ns", 50);
}

/* --- memory and rest ---------------------------------------------------------------- */

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

/* Serves what start_job started. Nothing is written at its end, a trace least of all. */
static void serve(const char *job) {
    static const struct {
        const char *name;
        double (*turn)(int number);
    } jobs[] = {{"chain", chain_turn},
                {"a1", a1_turn},
                {"a2", a2_turn},
                {"record", record_turn},
                {"traced", traced_turn}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(job, jobs[i].name) == 0) peer_serve(0, 1, jobs[i].turn);
    _exit(0);
}

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
                 {"trace", trace},
                 {"idle", idle},
                 {"temporaries", hundred_gigabytes}};
    if (argc == 3 && strcmp(argv[1], "--job") == 0) serve(argv[2]);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("threads: %s\n", getenv("VP_THREADS") ? getenv("VP_THREADS") : "all cores");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; k++) wanted |= strcmp(argv[k], parts[i].name) == 0;
        if (wanted) parts[i].run();
    }
    return 0;
}
