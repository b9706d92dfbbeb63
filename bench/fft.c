/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms beside FFTW, which is opened at run time as the library does: single
 * lanes that stay in cache on one thread, in CPU time; and real matrices down their
 * columns on all threads, in wall-clock time. FFTW is timed with its own plans, estimated
 * and measured; of real lanes it computes half, so that "whole" adds the mirrored half to
 * it by a loop.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vproc.h>

#include "base/config.h"
#include "lib/fft/fft.h"

enum { ESTIMATE = 1 << 6, MEASURE = 0, LANES = 8 };

static struct {
    void *(*plan)(int, const int *, int, void *, const int *, int, int, void *,
                  const int *, int, int, int, unsigned);
    void *(*plan_r2c)(int, const int *, int, void *, const int *, int, int, void *,
                      const int *, int, int, unsigned);
    void (*execute)(const void *);
    void (*destroy)(void *);
    int (*init_threads)(void);
    void (*set_threads)(int);
    void (*forget_wisdom)(void);
    bool usable;
} fftw;

static bool find(void *library, const char *name, void *function) {
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static void open_fftw(void) {
    void *library = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_GLOBAL);
    void *threads = dlopen("libfftw3_threads.so.3", RTLD_NOW | RTLD_GLOBAL);
    fftw.usable = find(library, "fftw_plan_many_dft", &fftw.plan) &&
                  find(library, "fftw_plan_many_dft_r2c", &fftw.plan_r2c) &&
                  find(library, "fftw_execute", &fftw.execute) &&
                  find(library, "fftw_destroy_plan", &fftw.destroy) &&
                  find(library, "fftw_forget_wisdom", &fftw.forget_wisdom) &&
                  find(threads, "fftw_init_threads", &fftw.init_threads) &&
                  find(threads, "fftw_plan_with_nthreads", &fftw.set_threads) &&
                  fftw.init_threads();
    if (!fftw.usable) puts("There is no FFTW with threads to compare with.");
}

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The shortest of many batches of calls, in microseconds a call. */
static double best(void (*call)(void *), void *work, int batch, clockid_t clock) {
    double least = INFINITY, begin = now(CLOCK_MONOTONIC);
    for (int i = 0; i < 7 || (now(CLOCK_MONOTONIC) - begin < 3e5 && i < 20000); i++) {
        double start = now(clock);
        for (int k = 0; k < batch; k++) call(work);
        double took = (now(clock) - start) / batch;
        if (took < least) least = took;
    }
    return least;
}

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) abort();
    memset(p, 0, bytes);
    return p;
}

/* --- lanes ------------------------------------------------------------------------------- */

typedef struct {
    vp__fft_plan *plan;
    vp__fft_fibres lanes;
} ours;

static void run_ours(void *work) {
    ours *w = work;
    vp__fft_run(w->plan, &w->lanes);
}

static void run_fftw(void *plan) { fftw.execute(plan); }

static double time_ours(vp__fft_kind kind, int64_t n, double *in, double *out) {
    bool real = kind == VP__FFT_HALF || kind == VP__FFT_WHOLE;
    ours w = {.plan = vp__fft_plan_new(kind, false, n, VP__FFT_BY_US)};
    if (!w.plan) abort();
    w.lanes = (vp__fft_fibres){.in = (const char *)in,
                               .out = (char *)out,
                               .in_fibre = n * (real ? 8 : 16),
                               .out_fibre = n * 16,
                               .have = n,
                               .lanes = LANES,
                               .scratch = room(vp__fft_scratch(w.plan))};
    double took = best(run_ours, &w, 50, CLOCK_THREAD_CPUTIME_ID) / LANES;
    free(w.lanes.scratch);
    vp__fft_plan_free(w.plan);
    return took;
}

static double time_fftw(bool real, int n, double *in, double *out, unsigned how) {
    if (!fftw.usable) return NAN;
    fftw.forget_wisdom(); /* else an estimate would know what was measured */
    fftw.set_threads(1);
    void *plan = real ? fftw.plan_r2c(1, &n, LANES, in, NULL, 1, n, out, NULL, 1, n, how)
                      : fftw.plan(1, &n, LANES, in, NULL, 1, n, out, NULL, 1, n, -1, how);
    double took = best(run_fftw, plan, 50, CLOCK_THREAD_CPUTIME_ID) / LANES;
    fftw.destroy(plan);
    return took;
}

static void bench_lanes(void) {
    static const int lengths[] = {256, 1024, 4096, 1000, 1009};
    puts("lanes of float64 on one thread, microseconds each\n"
         "                       ours  FFTW estimated  FFTW measured");
    for (int i = 0; i < 5; i++) {
        int n = lengths[i];
        double *in = room((size_t)n * 16 * LANES), *out = room((size_t)n * 16 * LANES);
        for (int real = 0; real < 2; real++) {
            double us = time_ours(real ? VP__FFT_HALF : VP__FFT_FORWARD, n, in, out);
            double estimated = time_fftw(real, n, in, out, ESTIMATE);
            double measured = time_fftw(real, n, in, out, MEASURE);
            printf("%-13s %6d %8.3f %12.3f %14.3f\n", real ? "real to half" : "complex",
                   n, us, estimated, measured);
        }
        printf("real to whole %6d %8.3f\n", n, time_ours(VP__FFT_WHOLE, n, in, out));
        free(in);
        free(out);
    }
}

/* --- matrices ---------------------------------------------------------------------------- */

typedef struct {
    vp_array x;
    bool whole;
    void *plan; /* FFTW's */
    double *out;
    int n;
} matrix;

static void transform(void *work) {
    matrix *m = work;
    vp_scope s = vp_begin();
    vp_wait(vp_let(m->whole ? vp_fft(m->x, 0) : vp_rfft(m->x, 0)));
    vp_end(s);
}

static void transform_fftw(void *work) {
    matrix *m = work;
    fftw.execute(m->plan);
    for (int64_t column = 0; m->whole && column < m->n; column++) {
        double *x = m->out + column * 2 * m->n;
        for (int64_t k = 1; k < (m->n + 1) / 2; k++) {
            x[2 * (m->n - k)] = x[2 * k];
            x[2 * (m->n - k) + 1] = -x[2 * k + 1];
        }
    }
}

static double time_matrix_fftw(matrix *m, double *in, unsigned how) {
    if (!fftw.usable) return NAN;
    int n = m->n;
    fftw.forget_wisdom();
    fftw.set_threads(vp__config_get()->threads);
    m->plan = fftw.plan_r2c(1, &n, n, in, NULL, 1, n, m->out, NULL, 1, n, how);
    double took = best(transform_fftw, m, 1, CLOCK_MONOTONIC);
    fftw.destroy(m->plan);
    return took;
}

static void bench_matrices(void) {
    static const int sides[] = {256, 1024, 4096};
    printf("\nreal float64 matrices down the columns, %d threads, microseconds\n"
           "                       ours  FFTW estimated  FFTW measured\n",
           vp__config_get()->threads);
    for (int i = 0; i < 3; i++) {
        vp_scope s = vp_begin();
        matrix m = {.n = sides[i]};
        size_t count = (size_t)m.n * (size_t)m.n;
        double *in = room(count * 8);
        m.out = room(count * 16);
        m.x = vp_let(vp_empty(VP_F64, vp_fshape(m.n, m.n)));
        vp_put(m.x, vp_at(VP_ALL), 1.5);
        vp_sync();
        for (int whole = 0; whole < 2; whole++) {
            m.whole = whole;
            double us = best(transform, &m, 1, CLOCK_MONOTONIC);
            double estimated = time_matrix_fftw(&m, in, ESTIMATE);
            double measured = time_matrix_fftw(&m, in, MEASURE);
            printf("to the %s  %6d %8.0f %12.0f %14.0f\n", whole ? "whole" : "half ", m.n,
                   us, estimated, measured);
        }
        free(in);
        free(m.out);
        vp_end(s);
    }
}

int main(void) {
    open_fftw();
    bench_lanes();
    bench_matrices();
    return 0;
}
