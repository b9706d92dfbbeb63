/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own math functions of float64 for AVX-512, where libmvec's are slower than others.
 * Each takes and gives one whole vector and handles every value; lanes do not influence
 * each other.
 *
 * Method. exp: x = (n/16) ln 2 + r, so exp(x) = 2^floor(n/16) * 2^((n mod 16)/16) *
 * exp(r), with the sixteenths of 2 in two registers (one permute looks up eight of them)
 * and a short polynomial for r. log: x = 2^k m with m in [3/4, 3/2); the top four bits of
 * m pick c near 1/m from a table, r = m c - 1 is small, and log x = k log 2 - log c +
 * log(1 + r). The two entries beside m = 1 have c = 1, so nothing cancels there. c has
 * five bits after the point, so r is exact. Polynomials are Chebyshev fits.
 */
#ifndef VP_OPS_MATH_AVX512_H
#define VP_OPS_MATH_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <string.h>

typedef __m512d vp__v8;

#define VP__D(x) _mm512_set1_pd(x)

/* 2^(j/16), rounded, and what the rounding left. */
static const double vp__exp_high[16] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0,
    0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0,
    0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0,
    0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
    0x1.ea4afa2a490dap+0,
};
static const double vp__exp_low[16] = {
    0x0.0000000000000p+0,   0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55,
    0x1.9b07eb6c70573p-54,  0x1.6f46ad23182e4p-55, 0x1.ada0911f09ebcp-55,
    0x1.d4397afec42e2p-56,  0x1.6324c054647adp-54, -0x1.bdd3413b26456p-54,
    -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54, 0x1.c7c46b071f2bep-56,
    0x1.7a1cd345dcc81p-54,  0x1.11065895048ddp-55, 0x1.2ed02d75b3707p-55,
    -0x1.e9c23179c2893p-54,
};

/* c by the top four bits of m's fraction, -ln c, and -log2 c as a multiple of 2^-40 (so
 * that a whole number adds to it exactly) and what that leaves. */
static const double vp__log_c[16] = {
    1.0,    0.90625, 0.875,   0.8125,  0.78125, 0.75,    0.71875, 0.6875,
    1.3125, 1.25,    1.21875, 1.15625, 1.125,   1.09375, 1.0625,  1.0,
};
static const double vp__log_ln[16] = {
    0x0.0000000000000p+0,  0x1.9335e5d594989p-4,  0x1.1178e8227e47cp-3,
    0x1.a93ed3c8ad9e3p-3,  0x1.f991c6cb3b379p-3,  0x1.269621134db92p-2,
    0x1.522ae0738a3d8p-2,  0x1.7fafa3bd8151cp-2,  -0x1.1675cababa60ep-2,
    -0x1.c8ff7c79a9a22p-3, -0x1.9525a9cf456b4p-3, -0x1.29552f81ff523p-3,
    -0x1.e27076e2af2e6p-4, -0x1.6f0d28ae56b4cp-4, -0x1.f0a30c01162a6p-5,
    0x0.0000000000000p+0,
};
static const double vp__log_two[16] = {
    0x0.0000000000000p+0,  0x1.22dadc2ab0000p-3,  0x1.8a8980abf8000p-3,
    0x1.32bfee3710000p-2,  0x1.6cb0f6865c000p-2,  0x1.a8ff971810000p-2,
    0x1.e7df5fe538000p-2,  0x1.14c560fe68000p-1,  -0x1.91bba891f0000p-2,
    -0x1.49a784bcd0000p-2, -0x1.24407ab0e0000p-2, -0x1.acf5e2db50000p-3,
    -0x1.5c01a39fc0000p-3, -0x1.08c588cda8000p-3, -0x1.663f6fac90000p-4,
    0x0.0000000000000p+0,
};
static const double vp__log_two_low[16] = {
    0x0.0000000000000p+0,   0x1.a4b69691d7994p-42,  0x1.e9933354dbf17p-42,
    -0x1.1979a5db68722p-42, 0x1.1d406db502403p-43,  0x1.4bc302ffa76fbp-43,
    0x1.5669df6a2b592p-43,  0x1.5f101c141e670p-42,  -0x1.708b4b2b5056cp-42,
    -0x1.b8afe492bf6ffp-42, -0x1.ce60916e52e91p-44, 0x1.36c101ee13440p-43,
    0x1.4bc302ffa76fbp-42,  0x1.871a7610e40bdp-45,  -0x1.3167ccc538261p-44,
    0x0.0000000000000p+0,
};

/* Entry (index mod 16) of a table, lane by lane. */
static inline vp__v8 vp__lookup(const double *table, __m512i index) {
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), index,
                                  _mm512_loadu_pd(table + 8));
}

/* Adding this leaves a value rounded to a whole number in the low bits of the sum. */
#define VP__WHOLE VP__D(0x1.8p52)

/* x = (n / 16) ln 2 + r; *step is n / 16, the index picks 2^((n mod 16)/16), and the
 * result is exp(r) - 1. |x| below 2^40. */
static inline vp__v8 vp__exp_split(vp__v8 x, vp__v8 *step, __m512i *index) {
    const vp__v8 shifted = _mm512_fmadd_pd(x, VP__D(0x1.71547652b82fep+4), VP__WHOLE);
    const vp__v8 n = _mm512_sub_pd(shifted, VP__WHOLE);
    vp__v8 r = _mm512_fnmadd_pd(n, VP__D(0x1.62e42fefa0000p-5), x);
    r = _mm512_fnmadd_pd(n, VP__D(0x1.cf79abc9e3b3ap-44), r);
    const vp__v8 r2 = _mm512_mul_pd(r, r);
    const vp__v8 p01 = _mm512_fmadd_pd(r, VP__D(0x1.5555555555556p-3), VP__D(0.5));
    const vp__v8 p23 =
        _mm512_fmadd_pd(r, VP__D(0x1.11111110e10a8p-7), VP__D(0x1.55555554e9468p-5));
    const vp__v8 p45 =
        _mm512_fmadd_pd(r, VP__D(0x1.a01b0c2edab7cp-13), VP__D(0x1.6c17ed4cc4834p-10));
    const vp__v8 p = _mm512_fmadd_pd(r2, _mm512_fmadd_pd(r2, p45, p23), p01);
    *step = _mm512_mul_pd(n, VP__D(1.0 / 16));
    *index = _mm512_castpd_si512(shifted);
    return _mm512_fmadd_pd(r2, p, r);
}

/* The bounds give infinity and 0; a NaN passes through min and max, being their
 * second operand. */
static inline vp__v8 vp__own_exp(vp__v8 x) {
    vp__v8 step;
    __m512i index;
    x = _mm512_max_pd(VP__D(-800), _mm512_min_pd(VP__D(800), x));
    const vp__v8 p = vp__exp_split(x, &step, &index);
    const vp__v8 t = vp__lookup(vp__exp_high, index);
    return _mm512_scalef_pd(_mm512_fmadd_pd(t, p, t), step);
}

/* exp(x) - 1 for 0 <= x < 800, or NaN. */
static inline vp__v8 vp__expm1_positive(vp__v8 x, vp__v8 *half_exp) {
    vp__v8 step;
    __m512i index;
    const vp__v8 p = vp__exp_split(x, &step, &index);
    const vp__v8 t = vp__lookup(vp__exp_high, index),
                 t_low = vp__lookup(vp__exp_low, index);
    const vp__v8 high = _mm512_scalef_pd(t, step);
    const vp__v8 low = _mm512_scalef_pd(_mm512_fmadd_pd(t, p, t_low), step);
    if (half_exp)
        *half_exp =
            _mm512_scalef_pd(_mm512_fmadd_pd(t, p, t), _mm512_sub_pd(step, VP__D(1)));
    return _mm512_add_pd(_mm512_sub_pd(high, VP__D(1)), low);
}

static inline vp__v8 vp__with_sign(vp__v8 x, vp__v8 sign) {
    return _mm512_or_pd(x, _mm512_and_pd(sign, VP__D(-0.0)));
}

static inline vp__v8 vp__own_tanh(vp__v8 x) {
    const vp__v8 a = _mm512_abs_pd(x);
    const vp__v8 e =
        vp__expm1_positive(_mm512_min_pd(VP__D(44), _mm512_add_pd(a, a)), NULL);
    return vp__with_sign(_mm512_div_pd(e, _mm512_add_pd(e, VP__D(2))), x);
}

/* Beyond 22 exp(-x) is lost beside exp(x), and exp(x) may overflow where its half does
 * not. */
static inline vp__v8 vp__own_sinh(vp__v8 x) {
    const vp__v8 a = _mm512_min_pd(VP__D(750), _mm512_abs_pd(x));
    vp__v8 half_exp;
    const vp__v8 e = vp__expm1_positive(a, &half_exp);
    const vp__v8 sum = _mm512_add_pd(e, _mm512_div_pd(e, _mm512_add_pd(e, VP__D(1))));
    const __mmask8 large = _mm512_cmp_pd_mask(a, VP__D(22), _CMP_GT_OQ);
    return vp__with_sign(
        _mm512_mask_mov_pd(_mm512_mul_pd(sum, VP__D(0.5)), large, half_exp), x);
}

/* m in [3/4, 3/2) and whole *k with x = m * 2^k, subnormal x too. Zero has k = -infinity,
 * infinity +infinity, both with m = 1; below zero m is NaN. */
static inline vp__v8 vp__log_split(vp__v8 x, vp__v8 *k, __m512i *index) {
    const vp__v8 m = _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    *k = _mm512_sub_pd(_mm512_getexp_pd(x), _mm512_getexp_pd(m));
    *index = _mm512_srli_epi64(_mm512_castpd_si512(m), 48);
    return m;
}

static inline vp__v8 vp__own_log(vp__v8 x) {
    vp__v8 k;
    __m512i index;
    const vp__v8 m = vp__log_split(x, &k, &index);
    const vp__v8 r = _mm512_fmsub_pd(m, vp__lookup(vp__log_c, index), VP__D(1));
    const vp__v8 r2 = _mm512_mul_pd(r, r), r4 = _mm512_mul_pd(r2, r2);
    const vp__v8 q01 =
        _mm512_fmadd_pd(r, VP__D(-0x1.00000000004f2p-2), VP__D(0x1.555555555554ep-2));
    const vp__v8 q23 =
        _mm512_fmadd_pd(r, VP__D(-0x1.55555548fba26p-3), VP__D(0x1.99999999da56fp-3));
    const vp__v8 q45 =
        _mm512_fmadd_pd(r, VP__D(-0x1.0000321c398e8p-3), VP__D(0x1.2492460d99dd6p-3));
    const vp__v8 q67 =
        _mm512_fmadd_pd(r, VP__D(-0x1.99a019b44d17bp-4), VP__D(0x1.c7366d6dc4561p-4));
    const vp__v8 q03 = _mm512_fmadd_pd(r2, q23, q01);
    const vp__v8 q48 =
        _mm512_fmadd_pd(r4, VP__D(0x1.511aaab07ed9dp-4), _mm512_fmadd_pd(r2, q67, q45));
    const vp__v8 q = _mm512_fmadd_pd(r4, q48, q03);
    const vp__v8 high =
        _mm512_fmadd_pd(k, VP__D(0x1.62e42fefa0000p-1), vp__lookup(vp__log_ln, index));
    /* r - r^2/2 + r^3 q + k ln2_low, then the large part. */
    const vp__v8 low =
        _mm512_fmadd_pd(k, VP__D(0x1.cf79abc9e3b3ap-40),
                        _mm512_mul_pd(r2, _mm512_fmadd_pd(r, q, VP__D(-0.5))));
    return _mm512_add_pd(high, _mm512_add_pd(r, low));
}

#endif
