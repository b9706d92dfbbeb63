/* SPDX-License-Identifier: Apache-2.0
 *
 * Complex rows against MPC. The error of a complex result is its distance from the exact
 * one, in units in the last place of the exact one's magnitude, so a component that is
 * small beside the other may be less accurate by itself. Magnitude and angle are real and
 * measured as such. Only finite operands are measured here; tests/numpy has the others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/math.h"
#include "tests/accuracy/accuracy.h"

#define MPC_UNARY(name, fn)                                                              \
    static int exact_##name(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {                   \
        (void)b;                                                                         \
        return fn(out, a, MPC_RNDNN);                                                    \
    }
MPC_UNARY(sqrt, mpc_sqrt)
MPC_UNARY(exp, mpc_exp)
MPC_UNARY(log, mpc_log)
MPC_UNARY(log10, mpc_log10)
MPC_UNARY(sin, mpc_sin)
MPC_UNARY(cos, mpc_cos)
MPC_UNARY(arcsin, mpc_asin)
MPC_UNARY(arccos, mpc_acos)
MPC_UNARY(arctan, mpc_atan)
MPC_UNARY(sinh, mpc_sinh)
MPC_UNARY(cosh, mpc_cosh)
MPC_UNARY(arcsinh, mpc_asinh)
MPC_UNARY(arccosh, mpc_acosh)
MPC_UNARY(arctanh, mpc_atanh)

/* (sin x cos x + i sinh y cosh y) / (cos^2 x + sinh^2 y), where nothing cancels; mpc_tan
 * asks for too many bits where one part is much smaller than the other. */
static int exact_tan(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpfr_t s, c, sh, ch, norm;
    mpfr_inits2(PRECISION + 40, s, c, sh, ch, norm, (mpfr_ptr)NULL);
    mpfr_sin_cos(s, c, mpc_realref(a), MPFR_RNDN);
    mpfr_set(ch, mpc_imagref(a), MPFR_RNDN);
    if (mpfr_cmpabs_ui(ch, 1000000) > 0) /* as good as infinite */
        mpfr_set_si(ch, mpfr_sgn(ch) * 1000000, MPFR_RNDN);
    mpfr_sinh_cosh(sh, ch, ch, MPFR_RNDN);
    mpfr_mul(s, s, c, MPFR_RNDN);
    mpfr_mul(ch, ch, sh, MPFR_RNDN);
    mpfr_sqr(c, c, MPFR_RNDN);
    mpfr_sqr(sh, sh, MPFR_RNDN);
    mpfr_add(norm, c, sh, MPFR_RNDN);
    mpfr_div(mpc_realref(out), s, norm, MPFR_RNDN);
    mpfr_div(mpc_imagref(out), ch, norm, MPFR_RNDN);
    mpfr_clears(s, c, sh, ch, norm, (mpfr_ptr)NULL);
    return 0;
}

/* tanh(z) = -i tan(i z) */
static int exact_tanh(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    mpc_t z;
    mpc_init2(z, PRECISION);
    mpc_mul_i(z, a, 1, MPC_RNDNN);
    exact_tan(z, z, b);
    mpc_mul_i(out, z, -1, MPC_RNDNN);
    mpc_clear(z);
    return 0;
}

static int exact_abs(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpfr_set_zero(mpc_imagref(out), 1);
    return mpc_abs(mpc_realref(out), a, MPFR_RNDN);
}

static int exact_angle(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpfr_set_zero(mpc_imagref(out), 1);
    return mpc_arg(mpc_realref(out), a, MPFR_RNDN);
}

static int exact_sign(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    if (mpfr_zero_p(mpc_realref(a)) && mpfr_zero_p(mpc_imagref(a)))
        return mpc_set_ui(out, 0, MPC_RNDNN);
    mpfr_t norm;
    mpfr_init2(norm, PRECISION + 20);
    mpc_abs(norm, a, MPFR_RNDN);
    mpc_div_fr(out, a, norm, MPC_RNDNN);
    mpfr_clear(norm);
    return 0;
}

static int exact_power(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    return mpc_pow(out, a, b, MPC_RNDNN);
}

/* log of base 2 and powers of 2, through the natural ones with some more bits. */
static int exact_log2(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpc_t z;
    mpfr_t ln2;
    mpc_init2(z, PRECISION + 32);
    mpfr_init2(ln2, PRECISION + 32);
    mpfr_const_log2(ln2, MPFR_RNDN);
    mpc_log(z, a, MPC_RNDNN);
    mpc_div_fr(out, z, ln2, MPC_RNDNN);
    mpc_clear(z);
    mpfr_clear(ln2);
    return 0;
}

static int exact_exp2(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    enum { BITS = PRECISION + 1100 }; /* an angle of 2^1023 leaves this many */
    mpc_t z;
    mpfr_t ln2;
    mpc_init2(z, BITS);
    mpfr_init2(ln2, BITS);
    mpfr_const_log2(ln2, MPFR_RNDN);
    mpc_mul_fr(z, a, ln2, MPC_RNDNN);
    mpc_exp(out, z, MPC_RNDNN);
    mpc_clear(z);
    mpfr_clear(ln2);
    return 0;
}

/* The bits that a sum of 1 and the operand, or the difference, needs. */
static mpfr_prec_t bits_beside_one(mpc_srcptr a) {
    mpfr_exp_t least = 0;
    if (mpfr_regular_p(mpc_realref(a))) least = mpfr_get_exp(mpc_realref(a));
    if (mpfr_regular_p(mpc_imagref(a)) && mpfr_get_exp(mpc_imagref(a)) < least)
        least = mpfr_get_exp(mpc_imagref(a));
    return PRECISION + 1100 - (least < 0 ? least : 0);
}

/* Half the logarithm of 1 + 2x + x^2 + y^2, that sum without any rounding. */
static int exact_log1p(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpfr_t sum, part;
    mpfr_inits2(2 * bits_beside_one(a), sum, part, (mpfr_ptr)NULL);
    mpfr_add_ui(sum, mpc_realref(a), 2, MPFR_RNDN);
    mpfr_mul(sum, sum, mpc_realref(a), MPFR_RNDN);
    mpfr_sqr(part, mpc_imagref(a), MPFR_RNDN);
    mpfr_add(sum, sum, part, MPFR_RNDN);
    mpfr_add_ui(part, mpc_realref(a), 1, MPFR_RNDN);
    mpfr_atan2(mpc_imagref(out), mpc_imagref(a), part, MPFR_RNDN);
    mpfr_log1p(mpc_realref(out), sum, MPFR_RNDN);
    mpfr_div_2ui(mpc_realref(out), mpc_realref(out), 1, MPFR_RNDN);
    mpfr_clears(sum, part, (mpfr_ptr)NULL);
    return 0;
}

static int exact_expm1(mpc_ptr out, mpc_srcptr a, mpc_srcptr b) {
    (void)b;
    mpc_t z;
    mpc_init2(z, bits_beside_one(a));
    mpc_exp(z, a, MPC_RNDNN);
    mpc_sub_ui(out, z, 1, MPC_RNDNN);
    mpc_clear(z);
    return 0;
}

int rows_complex(row *out) {
    int n = 0;
#define COMPLEX(id, fast128, fast64, slow128, slow64)                                    \
    out[n++] = (row){.op = VP__OP_##id,                                                  \
                     .type = VP_C128,                                                    \
                     .bound = {fast128, slow128},                                        \
                     .complex = exact_##id,                                              \
                     .cost = 8};                                                         \
    out[n++] = (row){.op = VP__OP_##id,                                                  \
                     .type = VP_C64,                                                     \
                     .bound = {fast64, slow64},                                          \
                     .complex = exact_##id,                                              \
                     .cost = 8};
    VP__MATH_COMPLEX(COMPLEX)
    return n;
}

/* Distance in units in the last place of the exact magnitude. */
static double distance(const double *got, mpc_srcptr exact, bool single) {
    const int digits = single ? 24 : 53, least = single ? -149 : -1074;
    const int most = single ? 128 : 1024;
    if (mpfr_nan_p(mpc_realref(exact)) || mpfr_nan_p(mpc_imagref(exact))) return 0;
    mpfr_t norm, off[2];
    mpfr_inits2(PRECISION + 60, norm, off[0], off[1], (mpfr_ptr)NULL);
    mpc_abs(norm, exact, MPFR_RNDN);
    double ulps = 0;
    if (mpfr_zero_p(norm)) {
        ulps = got[0] == 0 && got[1] == 0 ? 0 : INFINITY;
    } else if (mpfr_inf_p(norm) || mpfr_get_exp(norm) > most) {
        /* Too large: something must be infinite, or as good as. */
        const double large = ldexp(1, most - 2);
        ulps = fabs(got[0]) > large || fabs(got[1]) > large ? 0 : INFINITY;
    } else if (got[0] != got[0] || got[1] != got[1]) {
        ulps = INFINITY;
    } else {
        for (int i = 0; i < 2; i++) {
            mpfr_set_d(off[i], isinf(got[i]) ? copysign(1, got[i]) : got[i], MPFR_RNDN);
            if (isinf(got[i])) mpfr_mul_2si(off[i], off[i], most, MPFR_RNDN);
            mpfr_sub(off[i], off[i], i ? mpc_imagref(exact) : mpc_realref(exact),
                     MPFR_RNDN);
        }
        const int exponent = (int)mpfr_get_exp(norm);
        mpfr_hypot(norm, off[0], off[1], MPFR_RNDN);
        mpfr_div_2si(norm, norm, exponent - digits < least ? least : exponent - digits,
                     MPFR_RNDN);
        ulps = mpfr_get_d(norm, MPFR_RNDU);
    }
    mpfr_clears(norm, off[0], off[1], (mpfr_ptr)NULL);
    return ulps;
}

/* Points about which something cancels: 0, 1, -1, i, -i, and the unit circle. */
static void draw_complex(uint64_t *state, int i, bool single, double *z) {
    const double angle = 3.15 * (double)(int64_t)draw_bits(state) * 0x1p-63;
    const double small = draw_moderate(state, -50, -2);
    z[0] = draw_element(state, 99, single), z[1] = draw_element(state, 99, single);
    switch (i % 8) {
    case 0: z[0] = draw_moderate(state, -4, 4), z[1] = draw_moderate(state, -4, 4); break;
    case 1: z[0] = cos(angle) * (1 + small), z[1] = sin(angle) * (1 + small); break;
    case 2: z[0] = cos(angle) * small, z[1] = sin(angle) * small; break;
    case 3:
        z[i / 8 % 2] = (i / 16 % 2 ? 1 : -1) + cos(angle) * small;
        z[!(i / 8 % 2)] = sin(angle) * small;
        break;
    case 4:
        z[0] = draw_moderate(state, -20, 9), z[1] = draw_moderate(state, -20, 9);
        break;
    case 5: z[1] = draw_moderate(state, -6, 6); break;
    case 6: z[0] = draw_moderate(state, -6, 6); break;
    default: break;
    }
    for (int j = 0; j < 2; j++) {
        if (single) z[j] = (double)(float)z[j];
        if (!isfinite(z[j])) z[j] = j;
    }
}

/* Exponents of powers: whole ones, and those that keep the result in range. */
static void draw_exponent(uint64_t *state, int i, bool single, const double *base,
                          double *z) {
    const double reach = draw_moderate(state, -6, single ? 6 : 9);
    const double log_norm = log(hypot(base[0], base[1])), turn = atan2(base[1], base[0]);
    const double norm = log_norm * log_norm + turn * turn;
    z[0] = (double)(int)(reach * 4), z[1] = 0;
    if (i % 3 == 1 && norm > 0) {
        const double beside = draw_moderate(state, -6, 4);
        z[0] = (reach * log_norm + beside * turn) / norm;
        z[1] = (beside * log_norm - reach * turn) / norm;
    } else if (i % 3 == 2) {
        z[0] = draw_moderate(state, -8, 3), z[1] = draw_moderate(state, -8, 3);
    }
    for (int j = 0; j < 2; j++) {
        if (single) z[j] = (double)(float)z[j];
        if (!isfinite(z[j])) z[j] = j;
    }
}

static void put(void *out, int i, const double *z, bool single) {
    for (int j = 0; j < 2; j++)
        if (single)
            ((float *)out)[2 * i + j] = (float)z[j];
        else
            ((double *)out)[2 * i + j] = z[j];
}
static void get(const void *in, int i, int parts, double *z, bool single) {
    z[0] = z[1] = 0;
    for (int j = 0; j < parts; j++)
        z[j] = single ? (double)((const float *)in)[parts * i + j]
                      : ((const double *)in)[parts * i + j];
}

void measure_complex(const row *r, const table *tables, int ntables, int n, worst *out) {
    const bool single = r->type == VP_C64, binary = vp__ops[r->op].arity == 2;
    const int parts = vp__ops[r->op].result == VP__RESULT_REAL ? 1 : 2;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(r->op * 16 + r->type + 1);
    void *operand[2] = {malloc((size_t)n * 16), malloc((size_t)n * 16)};
    void *result[MOST_TABLES];
    for (int i = 0; i < n; i++) {
        double a[2], b[2];
        draw_complex(&state, i, single, a);
        draw_exponent(&state, i, single, a, b);
        put(operand[0], i, a, single);
        put(operand[1], i, b, single);
    }
    for (int t = 0; t < ntables; t++) {
        result[t] = malloc((size_t)n * 16);
        tables[t].kernels->op[r->op][r->type](result[t], operand[0], operand[1], NULL, n);
        out[t] = (worst){.ulps = -1};
    }
    mpc_t exact, a, b;
    mpc_init2(exact, PRECISION);
    mpc_init2(a, PRECISION);
    mpc_init2(b, PRECISION);
    for (int i = 0; i < n; i++) {
        worst w;
        get(operand[0], i, 2, w.operand[0], single);
        get(operand[1], i, 2, w.operand[1], single);
        mpc_set_d_d(a, w.operand[0][0], w.operand[0][1], MPC_RNDNN);
        mpc_set_d_d(b, w.operand[1][0], w.operand[1][1], MPC_RNDNN);
        r->complex(exact, a, binary ? b : a);
        for (int t = 0; t < ntables; t++) {
            get(result[t], i, parts, w.got, single);
            w.ulps = parts == 1 ? ulps_off(w.got[0], mpc_realref(exact), single)
                                : distance(w.got, exact, single);
            if (w.ulps > out[t].ulps) out[t] = w;
        }
    }
    mpc_clear(exact);
    mpc_clear(a);
    mpc_clear(b);
    for (int t = 0; t < ntables; t++) free(result[t]);
    free(operand[0]);
    free(operand[1]);
}
