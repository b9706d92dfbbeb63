/* SPDX-License-Identifier: Apache-2.0
 *
 * F on FFTW with its own threads: real transforms down the columns, the other half of each
 * by symmetry, and OpenMP for the rest.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <omp.h>

#include "support.h"

static double *data1, *data2, *r1, *sums;
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
    plan1 = plan(data1); /* measuring overwrites */
    plan2 = plan(data2);
    for (int64_t i = 0; i < n * n; i++) {
        data1[i] = sin((double)i);
        data2[i] = cos((double)(3 * i));
    }
}

/* The magnitude of element `row` of a transform of which the first m are there. */
static inline double magnitude(const fftw_complex *column, int64_t row) {
    const fftw_complex *z = column + (row < m ? row : n - row);
    return sqrt(creal(*z) * creal(*z) + cimag(*z) * cimag(*z));
}

static void once(void) {
    fftw_execute(plan1);
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < n; c++)
        for (int64_t r = 0; r < n; r++) r1[c * n + r] = magnitude(half + c * m, r);
    fftw_execute(plan2);
#pragma omp parallel
    {
        /* Rows are shared out, so that each thread walks columns of its own part. */
        const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
        const int64_t begin = n * me / threads, end = n * (me + 1) / threads;
        for (int64_t r = begin; r < end; r++) sums[r] = 0;
        for (int64_t c = 0; c < n; c++)
            for (int64_t r = begin; r < end; r++)
                sums[r] += r1[c * n + r] + magnitude(half + c * m, r);
    }
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++) once();
}

int64_t result(const double **numbers) {
    *numbers = sums;
    return n;
}
