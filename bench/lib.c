/* SPDX-License-Identifier: Apache-2.0
 *
 * Library operations on one thread: nanoseconds of CPU time per call, the best of several
 * runs, at 10^4 and 10^6 elements. Memory is touched before it is timed, as the pool's is
 * in use.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "array/dtype.h"
#include "array/shape.h"
#include "lib/lib.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t random_bits(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* Large blocks on huge pages, as the pool and NumPy have them. */
static void *room(size_t bytes) {
    size_t unit = bytes >= (4u << 20) ? 2u << 20 : 64;
    size_t rounded = (bytes + unit) / unit * unit;
    void *p = aligned_alloc(unit, rounded);
    if (!p) abort();
    if (unit > 64) madvise(p, rounded, MADV_HUGEPAGE);
    memset(p, 1, bytes);
    return p;
}

/* What is timed: one call, on these views. */
typedef struct {
    vp__view out, in, other;
    int axis;
    int64_t parts;
    void *scratch, *rooms[2]; /* rooms: a product's */
    vp__fancy fancy;
    int64_t *list;
} work;

/* Best of repeated batches, for about a fifth of a second and at least three; a batch is
 * long enough that reading the clock does not show. */
static double best(void (*call)(const work *w), const work *w) {
    double least = INFINITY, begin = now();
    int batch = 1;
    for (int i = 0; i < 3 || (now() - begin < 2e8 && i < 1000); i++) {
        double start = now();
        for (int j = 0; j < batch; j++) call(w);
        double took = now() - start;
        if (took / batch < least) least = took / batch;
        if (took < 5e4 && batch < 1000) batch *= 4;
    }
    return least;
}

static void report(const char *name, vp_dtype t, int64_t n, double ns) {
    printf("%-22s %-10s %8lld %12.0f ns %9.3f ns each\n", name, vp__dtype[t].name,
           (long long)n, ns, ns / (double)n);
}

static void call_sort(const work *w) {
    vp__lib_sort(&w->out, &w->in, w->axis, 0, 1, w->scratch);
}
static void call_argsort(const work *w) {
    vp__lib_argsort(&w->out, &w->in, w->axis, 0, 1, w->scratch);
}
static void call_cumsum(const work *w) {
    vp__lib_cumsum(&w->out, &w->in, w->axis, 0, 1, NULL);
}
static void call_copy(const work *w) { vp__lib_copy(&w->out, &w->in, 0, 1); }
static int64_t elements(const vp__view *v) {
    return vp__shape_count(v->ndim, v->dims, 1);
}
static void call_count(const work *w) {
    volatile int64_t count = vp__lib_count_true(&w->in, 0, elements(&w->in));
    (void)count;
}
static void call_find(const work *w) {
    call_count(w);
    vp__lib_list_true(w->list, &w->in, w->in.ndim == 1, 0, elements(&w->in));
}
static void call_take(const work *w) {
    int64_t bad;
    int axis;
    if (!vp__lib_check_index(&w->fancy, &w->in, &bad, &axis)) abort();
    vp__lib_gather(&w->out, &w->in, &w->fancy, 0, 1);
}
static void call_put(const work *w) {
    int64_t bad;
    int axis;
    if (!vp__lib_check_index(&w->fancy, &w->out, &bad, &axis)) abort();
    vp__lib_scatter(&w->out, &w->in, &w->fancy);
}
static void call_mask_get(const work *w) {
    const int64_t n = elements(&w->other);
    vp__lib_mask_get(w->out.data, &w->in, &w->other, 0, n,
                     vp__lib_count_true(&w->other, 0, n));
}
static void call_mask_put(const work *w) {
    vp__lib_mask_put(&w->out, &w->other, w->in.data, 8, 0, elements(&w->other));
}
static void call_mask_fill(const work *w) {
    vp__lib_mask_fill(&w->out, &w->other, &w->in, 0, 1);
}
static void call_matmul(const work *w) {
    for (int64_t part = 0; part < w->parts; part++)
        vp__lib_matmul(&w->out, &w->in, &w->other, part, w->parts, w->rooms);
}

static void fill(void *p, vp_dtype t, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = random_bits();
        double x = (double)(int64_t)bits / 9e18,
               y = (double)(int64_t)random_bits() / 9e18;
        switch (t) {
        case VP_F64: ((double *)p)[i] = x; break;
        case VP_F32: ((float *)p)[i] = (float)x; break;
        case VP_C128: ((vp__c128 *)p)[i] = (vp__c128){x, y}; break;
        default: memcpy((char *)p + i * vp__dtype[t].size, &bits, vp__dtype[t].size);
        }
    }
}

static void bench_sorts(int64_t n) {
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32, VP_I64,
                                     VP_I16, VP_U8,  VP_C128};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        vp_dtype t = types[i];
        int64_t size = vp__dtype[t].size, eight = 8;
        work w = {.axis = 0};
        void *in = room((size_t)(n * size)), *out = room((size_t)(n * 16));
        fill(in, t, n);
        w.in = (vp__view){in, &n, &size, 1, t};
        w.out = (vp__view){out, &n, &size, 1, t};
        w.scratch = room(vp__lib_sort_scratch(&w.in, 0));
        report("sort", t, n, best(call_sort, &w));
        if (t != VP_C128) report("cumsum", t, n, best(call_cumsum, &w));
        w.out = (vp__view){out, &n, &eight, 1, VP_I64};
        report("argsort", t, n, best(call_argsort, &w));
        free(in);
        free(out);
        free(w.scratch);
    }
}

static void bench_short_sorts(void) {
    for (int64_t n = 4; n <= 32768; n *= 2) {
        static const vp_dtype types[] = {VP_F64, VP_F32};
        for (int i = 0; i < 2; i++) {
            vp_dtype t = types[i];
            int64_t size = vp__dtype[t].size, dims[] = {65536 / n, n};
            int64_t strides[] = {n * size, size}, wide[] = {n * 8, 8};
            work w = {.axis = 1};
            void *in = room((size_t)(65536 * size)), *out = room(65536 * 8);
            fill(in, t, 65536);
            w.in = (vp__view){in, dims, strides, 2, t};
            w.out = (vp__view){out, dims, strides, 2, t};
            w.scratch = room(vp__lib_sort_scratch(&w.in, 1));
            char name[32];
            snprintf(name, sizeof name, "sort lanes of %lld", (long long)n);
            report(name, t, 65536, best(call_sort, &w));
            w.out = (vp__view){out, dims, wide, 2, VP_I64};
            snprintf(name, sizeof name, "argsort lanes of %lld", (long long)n);
            report(name, t, 65536, best(call_argsort, &w));
            free(in);
            free(out);
            free(w.scratch);
        }
    }
}

static void bench_planes(int64_t side, vp_dtype t) {
    int64_t n = side * side, size = vp__dtype[t].size, half = size / 2;
    int64_t dims[] = {side, side}, rows[] = {side * size, size},
            cols[] = {size, side * size};
    int64_t narrow[] = {side * half, half};
    void *in = room((size_t)(n * size)), *out = room((size_t)(n * size));
    fill(in, t, n);
    work w = {.in = {in, dims, rows, 2, t}, .out = {out, dims, rows, 2, t}};
    report("copy", t, n, best(call_copy, &w));
    int64_t fewer[] = {side, side - 1};
    w.in.dims = w.out.dims = fewer;
    w.out.data = (char *)out + size;
    report("copy by a column", t, n, best(call_copy, &w));
    w.in.dims = w.out.dims = dims;
    w.out.data = out;
    w.axis = 0;
    report("cumsum axis 0", t, n, best(call_cumsum, &w));
    w.axis = 1;
    report("cumsum axis 1", t, n, best(call_cumsum, &w));
    w.in.strides = cols;
    report("copy transposed", t, n, best(call_copy, &w));
    if (t == VP_F64) {
        w.out = (vp__view){out, dims, narrow, 2, VP_F32};
        report("cast transposed", t, n, best(call_copy, &w));
        w.in.strides = rows;
        report("cast to float32", t, n, best(call_copy, &w));
    }
    free(in);
    free(out);
}

static void bench_masks(int64_t n) {
    static const int densities[] = {1, 50, 99};
    int64_t one = 1, dims[] = {100, n / 100}, strides[] = {n / 100, 1};
    uint8_t *mask = room((size_t)n);
    int64_t *list = room((size_t)n * 16);
    for (int d = 0; d < 3; d++) {
        for (int64_t i = 0; i < n; i++)
            mask[i] = (int)(random_bits() % 100) < densities[d];
        work w = {.in = {mask, &n, &one, 1, VP_BOOL}, .list = list};
        char name[32];
        snprintf(name, sizeof name, "count at %d %%", densities[d]);
        report(name, VP_BOOL, n, best(call_count, &w));
        snprintf(name, sizeof name, "find at %d %%", densities[d]);
        report(name, VP_BOOL, n, best(call_find, &w));
        w.in = (vp__view){mask, dims, strides, 2, VP_BOOL};
        snprintf(name, sizeof name, "nonzero at %d %%", densities[d]);
        report(name, VP_BOOL, n, best(call_find, &w));
    }
    free(mask);
    free(list);
}

/* A get, a put of as many values and of one for each place, of float64. */
static void bench_masked(int64_t n) {
    static const int densities[] = {1, 50, 99};
    int64_t one = 1, eight = 8;
    uint8_t *mask = room((size_t)n);
    void *in = room((size_t)n * 8), *out = room((size_t)n * 8);
    fill(in, VP_F64, n);
    for (int d = 0; d < 3; d++) {
        for (int64_t i = 0; i < n; i++)
            mask[i] = (int)(random_bits() % 100) < densities[d];
        const work w = {.in = {in, &n, &eight, 1, VP_F64},
                        .other = {mask, &n, &one, 1, VP_BOOL},
                        .out = {out, &n, &eight, 1, VP_F64}};
        char name[32];
        snprintf(name, sizeof name, "mask_get at %d %%", densities[d]);
        report(name, VP_F64, n, best(call_mask_get, &w));
        snprintf(name, sizeof name, "mask_put at %d %%", densities[d]);
        report(name, VP_F64, n, best(call_mask_put, &w));
        snprintf(name, sizeof name, "mask_fill at %d %%", densities[d]);
        report(name, VP_F64, n, best(call_mask_fill, &w));
    }
    free(mask);
    free(in);
    free(out);
}

static void bench_take(int64_t n, vp_dtype t) {
    int64_t size = vp__dtype[t].size, eight = 8;
    void *in = room((size_t)(n * size)), *out = room((size_t)(n * size));
    int64_t *index = room((size_t)n * 8);
    int axis = 0;
    for (int64_t i = 0; i < n; i++) index[i] = (int64_t)(random_bits() % (uint64_t)n);
    vp__view list = {index, &n, &eight, 1, VP_I64};
    work w = {.in = {in, &n, &size, 1, t},
              .out = {out, &n, &size, 1, t},
              .fancy = {1, &list, &axis, 0}};
    report("take", t, n, best(call_take, &w));
    report("put", t, n, best(call_put, &w));
    free(in);
    free(out);
    free(index);
}

/* K-means: every other column of a column-major matrix. */
static void bench_columns(void) {
    int64_t rows = 100, cols = 10000, half = 5000, eight = 8;
    int64_t dims[] = {rows, cols}, strides[] = {8, rows * 8}, taken[] = {rows, half};
    int64_t turned[] = {half * 8, 8};
    void *in = room((size_t)(rows * cols) * 8), *out = room((size_t)(rows * half) * 8);
    int64_t *index = room((size_t)half * 8);
    int axis = 1;
    for (int64_t i = 0; i < half; i++) index[i] = 2 * i;
    vp__view list = {index, &half, &eight, 1, VP_I64};
    work w = {.in = {in, dims, strides, 2, VP_F64},
              .out = {out, taken, strides, 2, VP_F64},
              .fancy = {1, &list, &axis, 1}};
    report("take columns", VP_F64, rows * half, best(call_take, &w));
    w.out.strides = turned;
    report("take columns, turned", VP_F64, rows * half, best(call_take, &w));
    free(in);
    free(out);
    free(index);
}

static void bench_matmul(int64_t side, vp_dtype t) {
    int64_t n = side * side, size = vp__dtype[t].size;
    int64_t dims[] = {side, side}, strides[] = {side * size, size};
    void *a = room((size_t)(n * size)), *b = room((size_t)(n * size));
    void *out = room((size_t)(n * size));
    fill(a, t, n);
    fill(b, t, n);
    work w = {.in = {a, dims, strides, 2, t},
              .other = {b, dims, strides, 2, t},
              .out = {out, dims, strides, 2, t}};
    w.parts = vp__lib_matmul_parts(side, side, side, t, 1);
    size_t bytes[2];
    vp__lib_matmul_scratch(&w.out, &w.in, &w.other, w.parts, bytes);
    for (int i = 0; i < 2; i++) w.rooms[i] = room(bytes[i]);
    double ns = best(call_matmul, &w);
    double flops =
        2.0 * (double)n * (double)side * (vp__dtype[t].cls == VP__CLASS_C ? 4 : 1);
    printf("matmul %-15lld %-10s %8lld parts %10.0f ns %6.1f Gop/s\n", (long long)side,
           vp__dtype[t].name, (long long)w.parts, ns, flops / ns);
    free(a);
    free(b);
    free(out);
    for (int i = 0; i < 2; i++) free(w.rooms[i]);
}

int main(int argc, char **argv) {
    const char *only =
        argc > 1 ? argv[1] : ""; /* sort, short, plane, mask, take, matmul */
#define WANTED(name) (!*only || strcmp(only, name) == 0)
    for (int64_t n = 10000; n <= 1000000; n *= 100) {
        if (WANTED("sort")) bench_sorts(n);
        int64_t side = n == 10000 ? 100 : 1000;
        if (WANTED("plane")) bench_planes(side, VP_F64);
        if (WANTED("plane")) bench_planes(side, VP_F32);
        if (WANTED("mask")) {
            bench_masks(n);
            bench_masked(n);
        }
        if (WANTED("take")) bench_take(n, VP_F64);
        if (WANTED("take")) bench_take(n, VP_F32);
    }
    if (WANTED("short")) bench_short_sorts();
    if (WANTED("take")) bench_columns();
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_C128, VP_I64, VP_I32};
    static const int64_t sides[] = {8, 16, 32, 64, 256, 1024};
    for (size_t i = 0; i < sizeof types / sizeof *types && WANTED("matmul"); i++)
        for (size_t j = 0; j < sizeof sides / sizeof *sides; j++)
            bench_matmul(sides[j], types[i]);
    return 0;
}
