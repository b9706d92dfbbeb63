/* SPDX-License-Identifier: Apache-2.0
 *
 * A2: with OpenMP the columns are shared out ("Parallel.For"). -ffast-math lets the compiler
 * use its vector sines and add in any order.
 */
#include <math.h>

#include "support.h"

static double *a, *b;
static int64_t n;

void prepare(int64_t size) {
    n = size;
    a = counted(n * n);
    b = allocate(n, sizeof *b);
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += fabs(sin(a[i * n + k]));
            b[i] = sum;
        }
        __asm__ volatile("" : : "r"(b) : "memory");
    }
}

int64_t result(const double **numbers) {
    *numbers = b;
    return n;
}
