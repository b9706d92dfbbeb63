/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of floats against MPFR.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/math.h"
#include "tests/accuracy/accuracy.h"

/* The row that calls a function of math.h. */
static vp__op row_of(const char *function) {
    static const struct {
        vp__op op;
        const char *classes, *prim;
    } calls[] = {
#define VP_CALL(id, classes, prim, expression) {VP__OP_##id, #classes, #prim},
#include "ops/ops.def"
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].classes, "F") == 0 && strcmp(calls[i].prim, function) == 0)
            return calls[i].op;
    abort();
}

int rows_real(row *out) {
    int n = 0;
#define UNARY(fn, from64, from32, accurate, fast64, fast32, slow64, slow32)              \
    out[n++] = (row){.op = row_of(#fn),                                                  \
                     .type = VP_F64,                                                     \
                     .bound = {fast64, slow64},                                          \
                     .unary = mpfr_##fn,                                                 \
                     .cost = 1};                                                         \
    out[n++] = (row){.op = row_of(#fn),                                                  \
                     .type = VP_F32,                                                     \
                     .bound = {fast32, slow32},                                          \
                     .unary = mpfr_##fn,                                                 \
                     .cost = 1};
    VP__MATH_UNARY(UNARY)
#define BINARY(fn, from64, from32, accurate, fast64, fast32, slow64, slow32)             \
    out[n++] = (row){.op = row_of(#fn),                                                  \
                     .type = VP_F64,                                                     \
                     .bound = {fast64, slow64},                                          \
                     .binary = mpfr_##fn,                                                \
                     .cost = 1};                                                         \
    out[n++] = (row){.op = row_of(#fn),                                                  \
                     .type = VP_F32,                                                     \
                     .bound = {fast32, slow32},                                          \
                     .binary = mpfr_##fn,                                                \
                     .cost = 1};
    VP__MATH_BINARY(BINARY)
    return n;
}

double ulps_off(double got, mpfr_srcptr exact, bool single) {
    const int digits = single ? 24 : 53, least = single ? -149 : -1074;
    const int most = single ? 128 : 1024;
    if (mpfr_nan_p(exact)) return got != got ? 0 : INFINITY;
    if (got != got) return INFINITY;
    if (mpfr_zero_p(exact)) /* exactly zero: nothing else will do */
        return got == 0 && !signbit(got) == !mpfr_signbit(exact) ? 0 : INFINITY;
    const bool huge = mpfr_inf_p(exact) || mpfr_get_exp(exact) > most;
    if (!signbit(got) != !mpfr_signbit(exact)) return INFINITY;
    if (huge && isinf(got)) return 0;
    if (mpfr_inf_p(exact)) return INFINITY;
    mpfr_t off;
    mpfr_init2(off, PRECISION + 60);
    /* An infinity stands for the first power of two that is not finite. */
    mpfr_set_d(off, isinf(got) ? copysign(1, got) : got, MPFR_RNDN);
    if (isinf(got)) mpfr_mul_2si(off, off, most, MPFR_RNDN);
    mpfr_sub(off, off, exact, MPFR_RNDN);
    int unit = (int)mpfr_get_exp(exact) - digits;
    if (unit < least) unit = least;
    mpfr_div_2si(off, off, unit, MPFR_RNDN);
    const double ulps = fabs(mpfr_get_d(off, MPFR_RNDU));
    mpfr_clear(off);
    return ulps;
}

/* A second operand that makes something of the first: a power in range or just out of it,
 * something of like magnitude. */
static double draw_second(uint64_t *state, const row *r, double x) {
    const bool single = r->type == VP_F32;
    const double range = single ? 152 : 1080;
    double y = x;
    if (strcmp(vp__ops[r->op].name, "power") == 0)
        y = draw_moderate(state, -10, -1) * range / log2(fabs(x));
    else
        y = x * draw_moderate(state, -30, 30);
    return single ? (double)(float)y : y;
}

static void put(void *out, int i, double x, bool single) {
    if (single)
        ((float *)out)[i] = (float)x;
    else
        ((double *)out)[i] = x;
}
static double get(const void *in, int i, bool single) {
    return single ? (double)((const float *)in)[i] : ((const double *)in)[i];
}

void measure_real(const row *r, const table *tables, int ntables, int n, worst *out) {
    const bool single = r->type == VP_F32;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(r->op * 16 + r->type + 1);
    void *operand[2] = {malloc((size_t)n * 8), malloc((size_t)n * 8)};
    void *result[MOST_TABLES];
    for (int i = 0; i < n; i++) {
        double x = draw_element(&state, i % 14 == 0 ? i / 14 : i, single), y = x;
        if (r->binary) {
            const bool own = i >= 196 && draw_bits(&state) >> 63;
            y = own ? draw_second(&state, r, x) : draw_element(&state, i % 14, single);
            if (i >= 196 && !own) y = draw_element(&state, 99, single);
        }
        put(operand[0], i, x, single);
        put(operand[1], i, y, single);
    }
    for (int t = 0; t < ntables; t++) {
        result[t] = malloc((size_t)n * 8);
        tables[t].kernels->op[r->op][r->type](result[t], operand[0], operand[1], NULL, n);
        out[t] = (worst){.ulps = -1};
    }
    mpfr_t exact, x, y;
    mpfr_inits2(PRECISION, exact, x, y, (mpfr_ptr)NULL);
    for (int i = 0; i < n; i++) {
        mpfr_set_d(x, get(operand[0], i, single), MPFR_RNDN);
        mpfr_set_d(y, get(operand[1], i, single), MPFR_RNDN);
        if (r->unary)
            r->unary(exact, x, MPFR_RNDN);
        else
            r->binary(exact, x, y, MPFR_RNDN);
        for (int t = 0; t < ntables; t++) {
            const double got = get(result[t], i, single);
            const double ulps = ulps_off(got, exact, single);
            if (ulps > out[t].ulps)
                out[t] = (worst){.ulps = ulps,
                                 .operand = {{get(operand[0], i, single)},
                                             {get(operand[1], i, single)}},
                                 .got = {got}};
        }
    }
    mpfr_clears(exact, x, y, (mpfr_ptr)NULL);
    for (int t = 0; t < ntables; t++) free(result[t]);
    free(operand[0]);
    free(operand[1]);
}
