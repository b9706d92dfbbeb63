/* SPDX-License-Identifier: Apache-2.0
 *
 * Our math functions beside glibc's vector functions (libmvec) and SLEEF's, where these are
 * installed: ten thousand elements, in ns each, the best of many that took turns. SLEEF's are
 * those with errors up to 3.5 units in the last place, or 1 where there are no others; ours
 * stand in docs/accuracy.md. Ours are libmvec's in many rows: then they differ by what it
 * costs to walk an array.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ops/kernels.h"
#include "ops/ops.h"

#if !defined __x86_64__

int main(void) {
    puts("only x86 has vector functions to compare with");
    return 0;
}

#else

enum { N = 10000, ROUNDS = 41, TIMES = 5, ROOM = N + 64 };

/* The rows that have a function done for them; what C calls it. */
typedef struct {
    const char *name, *in_c, *classes;
    int op;
} row;

static const row rows[] = {
#define VP_CALL(id, classes, prim, expression) {#id, #prim, #classes, VP__OP_##id},
#include "ops/ops.def"
};

/* C's functions that vectors have only one of: ours. */
static bool is_left_out(const row *r) {
    return strcmp(r->classes, "F") != 0 || strcmp(r->in_c, "fmod") == 0;
}

static int arity(const row *r) { return vp__ops[r->op].arity; }

static struct {
    _Alignas(64) double a64[ROOM], b64[ROOM], o64[ROOM];
    _Alignas(64) float a32[ROOM], b32[ROOM], o32[ROOM];
} data;

/* Runs a vector function over the data. */
#define WALK(walk, T, bits, bytes, isa)                                                  \
    typedef T walk##_vector __attribute__((vector_size(bytes)));                         \
    __attribute__((target(isa))) static void walk(void *fn, int arity) {                 \
        walk##_vector (*unary)(walk##_vector), (*binary)(walk##_vector, walk##_vector);  \
        memcpy(&unary, &fn, sizeof fn);                                                  \
        memcpy(&binary, &fn, sizeof fn);                                                 \
        for (int i = 0; i < N; i += (bytes) / (int)sizeof(T)) {                          \
            walk##_vector x, y;                                                          \
            memcpy(&x, data.a##bits + i, sizeof x);                                      \
            memcpy(&y, data.b##bits + i, sizeof y);                                      \
            x = arity == 2 ? binary(x, y) : unary(x);                                    \
            memcpy(data.o##bits + i, &x, sizeof x);                                      \
        }                                                                                \
    }
WALK(walk_f64_512, double, 64, 64, "avx512f")
WALK(walk_f32_512, float, 32, 64, "avx512f")
WALK(walk_f64_256, double, 64, 32, "avx2,fma")
WALK(walk_f32_256, float, 32, 32, "avx2,fma")

static const struct {
    const char *isa;
    char libmvec;      /* the letter in its names */
    const char *sleef; /* how its names end */
    int bytes;
    void (*walk[2])(void *fn, int arity); /* float64, float32 */
} sets[] = {
    {"avx512", 'e', "avx512f", 64, {walk_f64_512, walk_f32_512}},
    {"avx2", 'd', "avx2", 32, {walk_f64_256, walk_f32_256}},
};

static void *find_libmvec(void *library, int set, const row *r, int narrow) {
    char name[64];
    snprintf(name, sizeof name, "_ZGV%cN%d%s_%s%s", sets[set].libmvec,
             sets[set].bytes / (narrow ? 4 : 8), arity(r) == 2 ? "vv" : "v", r->in_c,
             narrow ? "f" : "");
    return library ? dlsym(library, name) : NULL;
}

static void *find_sleef(void *library, int set, const row *r, int narrow) {
    static const char *const errors[] = {"u35", "u10"};
    void *fn = NULL;
    for (int i = 0; library && !fn && i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "Sleef_%s%s%d_%s%s", r->in_c, narrow ? "f" : "d",
                 sets[set].bytes / (narrow ? 4 : 8), errors[i], sets[set].sleef);
        fn = dlsym(library, name);
    }
    return fn;
}

static double drawn(double from, double to) {
    return from + (to - from) * (rand() + 0.5) / ((double)RAND_MAX + 1);
}

/* Whether the list has the word; it begins and ends with a space. */
static bool is_one_of(const char *name, const char *list) {
    char word[16];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

/* Arguments as programs have them, where each function has its domain: none that is so large
 * or small that a function goes another way. */
static void fill(const row *r) {
    const bool unit = is_one_of(r->in_c, " asin acos atanh ");
    const bool positive = is_one_of(r->in_c, " log log2 log10 log1p acosh pow ");
    for (int i = 0; i < ROOM; i++) {
        data.a64[i] = unit ? drawn(-1, 1) : positive ? drawn(1, 10) : drawn(-10, 10);
        data.b64[i] = drawn(-10, 10);
        data.a32[i] = (float)data.a64[i];
        data.b32[i] = (float)data.b64[i];
    }
}

/* ns an element. */
static double run(vp__op_fn ours, void *fn, int set, const row *r, int narrow) {
    const uint64_t began = vp__clock_ticks();
    for (int i = 0; i < TIMES; i++) {
        if (fn)
            sets[set].walk[narrow](fn, arity(r));
        else if (narrow)
            ours(data.o32, data.a32, data.b32, NULL, N);
        else
            ours(data.o64, data.a64, data.b64, NULL, N);
    }
    return (double)vp__clock_ns(vp__clock_ticks() - began) / TIMES / N;
}

/* Whether ours is slower than the best there is. */
static bool compare(int set, const row *r, int narrow, void *const libraries[2]) {
    const vp__kernels *kernels = vp__kernels_for(sets[set].isa);
    vp__op_fn ours = kernels->op[r->op][narrow ? VP_F32 : VP_F64];
    void *fn[3] = {NULL, find_libmvec(libraries[0], set, r, narrow),
                   find_sleef(libraries[1], set, r, narrow)};
    double best[3] = {1e9, 1e9, 1e9};
    fill(r);
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < 3; i++) {
            if (i > 0 && !fn[i]) continue;
            const double ns = run(ours, fn[i], set, r, narrow);
            if (ns < best[i]) best[i] = ns;
        }
    const double other = best[1] < best[2] ? best[1] : best[2];
    const bool slower = best[0] > 1.1 * other;
    printf("%-7s %-8s %s  %7.3f", sets[set].isa, r->name, narrow ? "float32" : "float64",
           best[0]);
    for (int i = 1; i < 3; i++)
        if (fn[i])
            printf("  %7.3f", best[i]);
        else
            printf("        -");
    if (other < 1e9) printf("  %5.2f%s", other / best[0], slower ? "  slower" : "");
    putchar('\n');
    return slower;
}

int main(void) {
    void *const libraries[2] = {dlopen("libmvec.so.1", RTLD_NOW),
                                dlopen("libsleef.so.3", RTLD_NOW)};
    int slower = 0, count = 0;
    vp__clock_init();
    if (!libraries[0]) puts("libmvec is not installed and left out");
    if (!libraries[1]) puts("SLEEF (libsleef.so.3) is not installed and left out");
    puts(
        "ns an element                  ours  libmvec    SLEEF  best of these over ours");
    for (int set = 0; set < 2; set++) {
        if (!vp__kernels_for(sets[set].isa)) continue;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int narrow = 0; narrow < 2 && !is_left_out(&rows[i]); narrow++, count++)
                slower += compare(set, &rows[i], narrow, libraries);
    }
    printf("slower by more than a tenth: %d of %d\n", slower, count);
    return 0;
}

#endif
