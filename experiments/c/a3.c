/* SPDX-License-Identifier: Apache-2.0
 *
 * A3. -DORDER=0: one thread, or OpenMP that pays no heed to the order and may give a wrong
 * result; -DORDER=1: OpenMP, whose stores take place in order.
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
#if ORDER
#pragma omp parallel for ordered schedule(static, 1)
#else
#pragma omp parallel for schedule(static)
#endif
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += fabs(sin(a[i * n + k]));
#if ORDER
#pragma omp ordered
#endif
            for (int64_t k = 0; k <= i; k++) b[k] = sum;
        }
        __asm__ volatile("" : : "r"(b) : "memory");
    }
}

int64_t result(const double **numbers) {
    *numbers = b;
    return n;
}
