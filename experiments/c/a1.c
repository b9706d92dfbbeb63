/* SPDX-License-Identifier: Apache-2.0
 *
 * A1 as one writes it for speed in C: fused by hand, the sum of ten innermost, which the
 * compiler unrolls so that it can vectorise the row of 507 around it. With OpenMP the last two
 * indices are shared out.
 */
#include "support.h"

enum { I = 507, J = 10, K = 5 * 17 };
static uint32_t *a, *b, *r;

void prepare(int64_t size) {
    (void)size;
    a = allocate(I * J * K, sizeof *a);
    b = allocate(K, sizeof *b);
    r = allocate(I * K, sizeof *r);
    for (int64_t i = 0; i < I * J * K; i++) a[i] = (uint32_t)(1507 + 200 * i);
    for (int64_t i = 0; i < K; i++) b[i] = (uint32_t)(1507 + i);
}

static void once(void) {
    const uint32_t m0 = 1142251548u, shift = 17;
#pragma omp parallel for schedule(static)
    for (int k = 0; k < K; k++) {
        uint32_t *to = r + (int64_t)k * I;
        const uint32_t *from = a + (int64_t)k * I * J, other = ~m0 & b[k];
        for (int i = 0; i < I; i++) {
            uint32_t sum = 0;
            for (int j = 0; j < J; j++) sum += (m0 & (from[j * I + i] << shift)) | other;
            to[i] = sum;
        }
    }
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++) {
        once();
        __asm__ volatile("" : : "r"(r) : "memory"); /* every evaluation is wanted */
    }
}

int64_t result(const double **numbers) {
    double *x = allocate(I * K, sizeof *x);
    for (int64_t i = 0; i < I * K; i++) x[i] = r[i];
    *numbers = x;
    return I * K;
}
