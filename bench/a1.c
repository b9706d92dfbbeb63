/* SPDX-License-Identifier: Apache-2.0
 *
 * A1 on one thread, beside the loop one would write for it by hand, compiled for this very
 * machine. Both in this process and in turns; the virtual processor's time has everything in
 * it, from the instruction to the result.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vproc.h"

enum { I = 507, J = 10, K = 5 * 17, TURNS = 301, TIMES = 20 };
static const uint32_t m0 = 1142251548u, shift = 17;
static uint32_t a[K * J * I], b[K], r[K * I];

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void by_hand(void) {
    for (int k = 0; k < K; k++) {
        uint32_t *to = r + k * I;
        const uint32_t *from = a + k * I * J, other = ~m0 & b[k];
        for (int i = 0; i < I; i++) {
            uint32_t sum = 0;
            for (int j = 0; j < J; j++) sum += (m0 & (from[j * I + i] << shift)) | other;
            to[i] = sum;
        }
    }
    __asm__ volatile("" : : "r"(r) : "memory"); /* every evaluation is wanted */
}

static vp_array va, vb, vr;

static void by_vproc(void) {
    vp_set(vr, vp_sum(vp_bitwise_or(vp_bitwise_and(m0, vp_shl(va, shift)),
                                    vp_bitwise_and(~m0, vb)),
                      1, VP_U32));
    vp_sync();
}

static double time_of(void (*once)(void)) {
    const double began = now_us();
    for (int i = 0; i < TIMES; i++) once();
    return (now_us() - began) / TIMES;
}

static int by_size(const void *x, const void *y) {
    const double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* Runs until native code has come, and has been in use for a while. */
static void warm_up(void) {
    for (const double began = now_us(); now_us() - began < 500e3;) by_vproc();
}

int main(void) {
    setenv("VP_THREADS", "1", 1);
    setenv("VP_CACHE", "off", 0);
    for (int i = 0; i < K * J * I; i++) a[i] = (uint32_t)(1507 + 200 * i);
    for (int i = 0; i < K; i++) b[i] = (uint32_t)(1507 + i);
    va = vp_let(vp_from(VP_U32, vp_fshape(I, J, 5, 17), a));
    vb = vp_let(vp_from(VP_U32, vp_fshape(1, 1, 5, 17), b));
    vr = vp_let(vp_zeros(VP_U32, vp_shape(1)));
    warm_up();
    static double us[2][TURNS];
    for (int t = 0; t < TURNS; t++) {
        us[0][t] = time_of(by_hand);
        us[1][t] = time_of(by_vproc);
    }
    static uint32_t ours[K * I];
    /* In row-major order the first index is the slowest. */
    if (vp_read(vp_transpose(vr), ours, sizeof ours) != VP_OK ||
        memcmp(ours, r, sizeof r) != 0) {
        fprintf(stderr, "bench-a1: the results differ: %s\n", vp_message());
        return 1;
    }
    for (int s = 0; s < 2; s++) qsort(us[s], TURNS, sizeof us[s][0], by_size);
    printf("A1 on one thread               best    median us\n");
    printf("  the loop by hand         %8.2f  %8.2f\n", us[0][0], us[0][TURNS / 2]);
    printf("  vproc                    %8.2f  %8.2f\n", us[1][0], us[1][TURNS / 2]);
    printf("  vproc / by hand          %8.2f  %8.2f      bar 1.15\n", us[1][0] / us[0][0],
           us[1][TURNS / 2] / us[0][TURNS / 2]);
    return 0;
}
