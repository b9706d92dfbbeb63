/* SPDX-License-Identifier: Apache-2.0
 *
 * The same arithmetic in many layouts, on one thread: base kernels, native code, a plain
 * loop in C compiled for this machine, and NumPy where python3 has it. Native code must
 * never be slower than the base kernels, and no more than half as much again slower than
 * the better of C and NumPy.
 *
 * Each is a process of its own, with its own arrays on huge pages; they take turns row by
 * row, so that all of them see the same machine. Before it is timed each runs the row once,
 * because the others have had the caches in the meantime; and each writes into memory that
 * it has written before.
 *
 *     bench-layouts [WORD]    microseconds, best and median of many turns; of rows with WORD
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"
#include "vproc.h"

enum { N = 1000, M = 100, TURNS = 41, WARM_UP = 12, TIMED = 3 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the arrays ------------------------------------------------------------------------ */

static _Alignas(64) double a[N * N], b[N * N], c[N * N], r[N];
static _Alignas(64) float f[N * N];
static _Alignas(64) int32_t i32[N * N];
static _Alignas(64) int8_t i8[N * N], j8[N * N], k8[N * N];

/* Results that somebody might look at have to be computed. */
static void *volatile shown;

/* As vproc's arrays and NumPy's are. */
static void on_huge_pages(void *x, size_t bytes) {
    const uintptr_t from = (uintptr_t)x & ~(uintptr_t)4095;
    madvise((void *)from, (uintptr_t)x + bytes - from, MADV_HUGEPAGE);
}

static void fill(void) {
    shown = c;
    shown = k8;
    on_huge_pages(a, sizeof a);
    on_huge_pages(b, sizeof b);
    on_huge_pages(c, sizeof c);
    on_huge_pages(f, sizeof f);
    on_huge_pages(i32, sizeof i32);
    on_huge_pages(i8, sizeof i8);
    on_huge_pages(j8, sizeof j8);
    on_huge_pages(k8, sizeof k8);
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 977 * 0.25;
        b[i] = i % 1009 * 0.5;
        f[i] = (float)(i % 31);
        i32[i] = i % 101;
        i8[i] = (int8_t)i;
        j8[i] = (int8_t)(i * 7);
    }
    for (int i = 0; i < N; i++) r[i] = i;
}

/* --- in C ------------------------------------------------------------------------------ */

static void c_map(void) {
    for (int i = 0; i < N * N; i++) c[i] = a[i] * b[i] + a[i];
}
static void c_turned(void) {
    enum { B = 16 };
    for (int i0 = 0; i0 < N; i0 += B)
        for (int j0 = 0; j0 < N; j0 += B)
            for (int i = i0; i < i0 + B && i < N; i++)
                for (int j = j0; j < j0 + B && j < N; j++)
                    c[i * N + j] = a[i * N + j] * 2 + b[j * N + i];
}
static void c_stride(void) {
    for (int i = 0; i < N / 2; i++)
        for (int j = 0; j < N / 2; j++)
            c[i * (N / 2) + j] = a[2 * i * N + 2 * j] * 2 + b[2 * i * N + 2 * j];
}
static void c_row(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c[i * N + j] = a[i * N + j] + r[j] * 2;
}
static void c_column(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c[i * N + j] = a[i * N + j] + r[i] * 2;
}
static void c_first(void) {
    memset(c, 0, N * sizeof *c);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c[j] += a[i * N + j] * b[i * N + j];
}
static void c_last(void) {
    for (int i = 0; i < N; i++) {
        double s[8] = {0};
        for (int j = 0; j < N; j += 8)
            for (int l = 0; l < 8; l++) s[l] += a[i * N + j + l] * b[i * N + j + l];
        c[i] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
    }
}
static void c_middle(void) {
    memset(c, 0, M * M * sizeof *c);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++)
                c[i * M + k] += a[(i * M + j) * M + k] * b[(i * M + j) * M + k];
}
static void c_several(void) {
    memset(c, 0, M * sizeof *c);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            double s[4] = {0};
            for (int k = 0; k < M; k += 4)
                for (int l = 0; l < 4; l++)
                    s[l] += a[(i * M + j) * M + k + l] * b[(i * M + j) * M + k + l];
            c[j] += s[0] + s[1] + s[2] + s[3];
        }
}
static void c_all(void) {
    double s[32] = {0}, all = 0;
    for (int i = 0; i < N * N; i += 32)
        for (int l = 0; l < 32; l++) s[l] += a[i + l] * b[i + l];
    for (int l = 0; l < 32; l++) all += s[l];
    c[0] = all;
}
static void c_mixed(void) {
    for (int i = 0; i < N * N; i++) c[i] = (double)f[i] * (double)i32[i] + a[i];
}
static void c_bytes(void) {
    for (int i = 0; i < N * N; i++) k8[i] = (int8_t)(i8[i] * j8[i] + i8[i]);
}
static void c_where(void) {
    for (int i = 0; i < N * N; i++) c[i] = a[i] < b[i] ? a[i] + 1 : b[i];
}

/* --- on the processor -------------------------------------------------------------------- */

static vp_array A, B, AF, BF, A3, B3, R, RC, F, I, I8, J8;

static void name_arrays(void) {
    A = vp_let(vp_from(VP_F64, vp_shape(N, N), a));
    B = vp_let(vp_from(VP_F64, vp_shape(N, N), b));
    AF = vp_let(vp_from(VP_F64, vp_fshape(N, N), a));
    BF = vp_let(vp_from(VP_F64, vp_fshape(N, N), b));
    A3 = vp_let(vp_from(VP_F64, vp_shape(M, M, M), a));
    B3 = vp_let(vp_from(VP_F64, vp_shape(M, M, M), b));
    R = vp_let(vp_from(VP_F64, vp_shape(N), r));
    RC = vp_let(vp_from(VP_F64, vp_shape(N, 1), r));
    F = vp_let(vp_from(VP_F32, vp_shape(N, N), f));
    I = vp_let(vp_from(VP_I32, vp_shape(N, N), i32));
    I8 = vp_let(vp_from(VP_I8, vp_shape(N, N), i8));
    J8 = vp_let(vp_from(VP_I8, vp_shape(N, N), j8));
}

static vp_expr every_other(vp_array x) {
    return vp_get(x, vp_range_step(0, N, 2), vp_range_step(0, N, 2));
}

static vp_expr v_map(void) { return vp_add(vp_mul(A, B), A); }
static vp_expr v_columns(void) { return vp_add(vp_mul(AF, BF), AF); }
static vp_expr v_turned(void) { return vp_add(vp_mul(A, 2.0), vp_transpose(B)); }
static vp_expr v_stride(void) {
    return vp_add(vp_mul(every_other(A), 2.0), every_other(B));
}
static vp_expr v_row(void) { return vp_add(A, vp_mul(R, 2.0)); }
static vp_expr v_column(void) { return vp_add(A, vp_mul(RC, 2.0)); }
static vp_expr v_first(void) { return vp_sum(vp_mul(A, B), 0); }
static vp_expr v_last(void) { return vp_sum(vp_mul(A, B), 1); }
static vp_expr v_middle(void) { return vp_sum(vp_mul(A3, B3), 1); }
static vp_expr v_several(void) { return vp_sum(vp_mul(A3, B3), vp_axes(0, 2)); }
static vp_expr v_all(void) { return vp_sum(vp_mul(A, B)); }
static vp_expr v_mixed(void) { return vp_add(vp_mul(F, I), A); }
static vp_expr v_bytes(void) { return vp_add(vp_mul(I8, J8), I8); }
static vp_expr v_where(void) { return vp_where(vp_lt(A, B), vp_add(A, 1.0), B); }

static const struct {
    const char *name;
    void (*in_c)(void);
    vp_expr (*on_vproc)(void);
} rows[] = {
    {"a*b + a, row-major", c_map, v_map},
    {"a*b + a, column-major", c_map, v_columns},
    {"2a + transposed b", c_turned, v_turned},
    {"every other row and column", c_stride, v_stride},
    {"a + broadcast row", c_row, v_row},
    {"a + broadcast column", c_column, v_column},
    {"sum(a*b) over the first axis", c_first, v_first},
    {"sum(a*b) over the last axis", c_last, v_last},
    {"sum(a*b) over the middle of three", c_middle, v_middle},
    {"sum(a*b) over first and last", c_several, v_several},
    {"sum(a*b) over everything", c_all, v_all},
    {"float32 * int32 + float64", c_mixed, v_mixed},
    {"int8 a*b + a", c_bytes, v_bytes},
    {"where(a < b, a + 1, b)", c_where, v_where},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* --- taking turns ----------------------------------------------------------------------- */

static void run_on_vproc(int row) {
    vp_array out = vp_let(rows[row].on_vproc());
    vp_wait(out);
    vp_drop(out);
}

static void run_in_c(int row) {
    rows[row].in_c();
    __asm__ volatile("" ::: "memory");
}

/* Runs a row once before it is timed. */
static double timed(int row, void (*run)(int row)) {
    run(row);
    double t = now_us();
    for (int k = 0; k < TIMED; k++) run(row);
    return (now_us() - t) / TIMED;
}

static double turn_on_vproc(int row) { return timed(row, run_on_vproc); }
static double turn_in_c(int row) { return timed(row, run_in_c); }

static void start_here(peer *p, const char *jit) {
    int in, out;
    if (peer_start(p, &in, &out) != 0) return;
    fill();
    if (jit) {
        setenv("VP_JIT", jit, 1);
        vp_scope s = vp_begin();
        name_arrays();
        peer_serve(in, out, turn_on_vproc);
        vp_end(s);
    } else {
        peer_serve(in, out, turn_in_c);
    }
    _exit(0);
}

static void start_numpy(peer *p) {
    int in, out;
    if (peer_start(p, &in, &out) == 0)
        peer_become(in, out, "python3", LAYOUTS_NUMPY, NULL);
}

static int by_size(const void *x, const void *y) {
    const double d = *(const double *)x - *(const double *)y;
    return (d > 0) - (d < 0);
}

enum { BASE, NATIVE, IN_C, NUMPY, PEERS };

static double turns[PEERS][ROWS][TURNS];

static void print_row(const peer *p, int row) {
    double best[PEERS], median[PEERS];
    for (int i = 0; i < PEERS; i++) {
        qsort(turns[i][row], TURNS, sizeof(double), by_size);
        best[i] = turns[i][row][0];
        median[i] = turns[i][row][TURNS / 2];
    }
    printf("%-34s", rows[row].name);
    for (int i = 0; i < PEERS; i++)
        if (p[i].here)
            printf(" %7.1f %7.1f", best[i], median[i]);
        else
            printf(" %7s %7s", "-", "-");
    double goal[2] = {best[IN_C], median[IN_C]};
    if (p[NUMPY].here && best[NUMPY] < goal[0]) goal[0] = best[NUMPY];
    if (p[NUMPY].here && median[NUMPY] < goal[1]) goal[1] = median[NUMPY];
    const double to_base[] = {best[NATIVE] / best[BASE], median[NATIVE] / median[BASE]};
    const double to_goal[] = {best[NATIVE] / goal[0], median[NATIVE] / goal[1]};
    printf("  %5.2f %5.2f  %5.2f %5.2f%s%s\n", to_base[0], to_base[1], to_goal[0],
           to_goal[1], to_goal[0] > 1.5 && to_goal[1] > 1.5 ? "  slow" : "",
           to_base[0] > 1.05 && to_base[1] > 1.05 ? "  slower than base" : "");
}

int main(int argc, char **argv) {
    peer peers[PEERS];
    signal(SIGPIPE, SIG_IGN);
    setenv("VP_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    start_here(&peers[BASE], "off");
    start_here(&peers[NATIVE], "on");
    start_here(&peers[IN_C], NULL);
    start_numpy(&peers[NUMPY]);
    for (int turn = -WARM_UP; turn < TURNS; turn++)
        for (int row = 0; row < ROWS; row++) {
            if (argc > 1 && !strstr(rows[row].name, argv[1])) continue;
            for (int i = 0; i < PEERS; i++) {
                const double t = peer_ask(&peers[i], row);
                if (turn >= 0) turns[i][row][turn] = t;
            }
        }
    printf("%-34s %15s %15s %15s %15s  %11s  %11s\n", "us, one thread: best, median",
           "base", "native", "C", "NumPy", "native/base", "/best other");
    for (int row = 0; row < ROWS; row++)
        if (argc < 2 || strstr(rows[row].name, argv[1])) print_row(peers, row);
    peers_end(peers, PEERS);
    return 0;
}
