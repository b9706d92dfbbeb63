/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector functions that later stages call: every float math function of every
 * instruction set and mode has one, and it gives the bits of the base kernel. What the
 * functions are worth is measured in tests/accuracy.
 */
#include <math.h>
#include <string.h>

#include "ops/kernels.h"
#include "tests/draw.h"
#include "tests/harness.h"

#if defined __x86_64__ && defined __GLIBC__

enum { MANY = 256, MOST_BYTES = 64 };

static _Alignas(64) char operand[2][MANY * 8], got[MANY * 8], want[MANY * 8];

/* Calls f on one vector from a and b to out. Each width needs a caller compiled for it. */
typedef void (*caller)(void (*f)(void), bool binary, void *out, const void *a,
                       const void *b);
#define CALLER(bytes, features)                                                          \
    typedef double vector_##bytes __attribute__((vector_size(bytes)));                   \
    __attribute__((target(features))) static void call_##bytes(                          \
        void (*f)(void), bool binary, void *out, const void *a, const void *b) {         \
        vector_##bytes x, y;                                                             \
        memcpy(&x, a, bytes);                                                            \
        memcpy(&y, b, bytes);                                                            \
        x = binary ? ((vector_##bytes(*)(vector_##bytes, vector_##bytes))f)(x, y)        \
                   : ((vector_##bytes(*)(vector_##bytes))f)(x);                          \
        memcpy(out, &x, bytes);                                                          \
    }
CALLER(16, "sse2")
#if defined VP_HAVE_AVX2
CALLER(32, "avx2")
#endif
#if defined VP_HAVE_AVX512
CALLER(64, "avx512f")
#endif

static const struct {
    const char *isa;
    int bytes;
    caller call;
} widths[] = {
    {"baseline", 16, call_16},
#if defined VP_HAVE_AVX2
    {"avx2", 32, call_32},
#endif
#if defined VP_HAVE_AVX512
    {"avx512", 64, call_64},
#endif
};

/* Rows that are a function and nothing else. */
static const struct {
    vp__op op;
    const char *classes, *prim, *body;
} calls[] = {
#define VP_CALL(id, classes, prim, expression)                                           \
    {VP__OP_##id, #classes, #prim, #expression},
#include "ops/ops.def"
};
enum { NCALLS = sizeof calls / sizeof calls[0] };

static void draw_operands(vp_dtype t) {
    static const double special[] = {NAN,  INFINITY, -INFINITY, 0.0,    -0.0,    1.0,
                                     -1.0, 1e22,     -1e300,    5e-324, 0x1p-149};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < MANY; i++) {
            double x = (double)(int64_t)draw() * 0x1p-60;
            if (draw() % 8 == 0) x = special[draw() % 11];
            if (t == VP_F32)
                ((float *)(void *)operand[j])[i] = (float)x;
            else
                ((double *)(void *)operand[j])[i] = x;
        }
}

static void check_function(const vp__kernels *k, int width, int call, vp_dtype t) {
    const vp__vector_fn *f = vp__kernels_vector(k, calls[call].prim, t);
    const bool binary = vp__ops[calls[call].op].arity == 2;
    const int size = vp__dtype[t].size;
    VP_CHECK(f && f->call && f->symbol);
    VP_CHECK_CONTAINS(f->symbol, calls[call].prim);
    VP_CHECK_CONTAINS(f->symbol, k->isa);
    VP_CHECK_CONTAINS(f->symbol, k->math);
    if (strncmp(calls[call].body, calls[call].prim, strlen(calls[call].prim)) != 0)
        return;
    draw_operands(t);
    k->op[calls[call].op][t](want, operand[0], operand[1], NULL, MANY);
    for (int at = 0; at < MANY * size; at += widths[width].bytes)
        widths[width].call(f->call, binary, got + at, operand[0] + at, operand[1] + at);
    if (memcmp(got, want, (size_t)(MANY * size)) != 0)
        VP_FAIL("%s differs from the base kernel", f->symbol);
}

VP_TEST(vector_functions_are_the_base_kernels) {
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int mode = 0; mode < 2; mode++) {
            const vp__kernels *k = mode ? vp__kernels_accurate_for(widths[w].isa)
                                        : vp__kernels_for(widths[w].isa);
            for (int i = 0; k && i < NCALLS; i++) {
                if (strcmp(calls[i].classes, "F") != 0) continue;
                check_function(k, (int)w, i, VP_F32);
                check_function(k, (int)w, i, VP_F64);
            }
        }
}

#endif

VP_TEST(no_vector_function_where_there_is_none) {
    const vp__kernels *k = vp__kernels_get();
    VP_CHECK(!vp__kernels_vector(k, "sin", VP_I32));
    VP_CHECK(!vp__kernels_vector(k, "no such function", VP_F64));
}

/* Exactly, because people rely on it. */
VP_TEST(exact_values) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        const vp__kernels *k = vp__kernels_for(isas[i]);
        if (!k) continue;
        double x[2] = {0.0, -0.0}, y[2];
        k->op[VP__OP_cos][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 1 && y[1] == 1);
        k->op[VP__OP_sin][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && signbit(y[1]));
        k->op[VP__OP_exp][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 1 && y[1] == 1);
    }
}
