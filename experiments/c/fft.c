/* SPDX-License-Identifier: Apache-2.0
 *
 * F on FFTW with its threads, which are OpenMP's, as for the rest: real transforms down the
 * columns, magnitudes of half of each, and the other half by symmetry.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <omp.h>

#include "support.h"

static double *data1, *data2, *r1, *sums, *magnitudes_of_thread;
static fftw_complex *half;
static fftw_plan plan1, plan2;
static int64_t n, m;

static fftw_plan plan(double *from) {
    const int length = (int)n;
    return fftw_plan_many_dft_r2c(1, &length, length, from, NULL, 1, length, half, NULL, 1,
                                  (int)m, FFTW_MEASURE);
}

void prepare(int64_t size) {
    n = size;
    m = n / 2 + 1;
    fftw_init_threads();
    fftw_plan_with_nthreads(omp_get_max_threads());
    data1 = allocate(n * n, sizeof *data1);
    data2 = allocate(n * n, sizeof *data2);
    half = allocate(m * n, sizeof *half);
    r1 = allocate(n * n, sizeof *r1);
    sums = allocate(n, sizeof *sums);
    magnitudes_of_thread = allocate(m, sizeof *magnitudes_of_thread);
    plan1 = plan(data1); /* measuring overwrites */
    plan2 = plan(data2);
    for (int64_t i = 0; i < n * n; i++) {
        data1[i] = sin((double)i);
        data2[i] = cos((double)(3 * i));
    }
}

static inline double magnitude(const fftw_complex *z) {
    return sqrt(creal(*z) * creal(*z) + cimag(*z) * cimag(*z));
}

/* Adds a column of r1 and one of magnitudes to rows begin to end of the first half, and to
 * those that mirror them: what is conjugate has the same magnitude. */
static void add_column(const double *of_r1, const fftw_complex *z, int64_t begin,
                       int64_t end, double *magnitudes) {
    for (int64_t r = begin; r < end; r++) {
        magnitudes[r - begin] = magnitude(z + r);
        sums[r] += of_r1[r] + magnitudes[r - begin];
    }
    const int64_t first = begin > 1 ? begin : 1, last = end < n - m + 1 ? end : n - m + 1;
    for (int64_t r = first; r < last; r++)
        sums[n - r] += of_r1[n - r] + magnitudes[r - begin];
}

static void once(void) {
    fftw_execute(plan1);
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < n; c++) {
        double *column = r1 + c * n;
        for (int64_t r = 0; r < m; r++) column[r] = magnitude(half + c * m + r);
        for (int64_t r = m; r < n; r++) column[r] = column[n - r];
    }
    fftw_execute(plan2);
#pragma omp parallel
    {
        /* Rows are shared out, so that each thread walks columns of its own part. */
        const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
        const int64_t begin = m * me / threads, end = m * (me + 1) / threads;
        double *magnitudes = magnitudes_of_thread + begin;
        for (int64_t r = begin; r < end; r++) sums[r] = sums[(n - r) % n] = 0;
        for (int64_t c = 0; c < n; c++)
            add_column(r1 + c * n, half + c * m, begin, end, magnitudes);
    }
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++) once();
}

int64_t result(const double **numbers) {
    *numbers = sums;
    return n;
}
