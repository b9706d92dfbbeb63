/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own powers for AVX-512: x^y = 2^(y log2 x), the logarithm and the product as sums
 * of two numbers, because an exponent of up to 1024 multiplies their error. math_avx512.h
 * says how logarithms and exponentials are reduced; float32 has tables of 32 entries,
 * which one permute looks up. The sign of a negative base is put on at the end.
 */
#ifndef VP_OPS_MATH_POW_AVX512_H
#define VP_OPS_MATH_POW_AVX512_H

#include "ops/kernels_common.h"
#include "ops/math_avx512.h"

/* Classes of fpclass: all but nonzero finite numbers, and all but finite ones. */
enum { VP__NAN_ZERO_INF = 0x01 | 0x02 | 0x04 | 0x08 | 0x10 | 0x80, VP__NAN_INF = 0x99 };

/* log2(x) as an unevaluated sum, for finite x > 0: relative error about 2^-62, which a
 * power's exponent of up to 1024 needs. */
static inline vp__v8 vp__log2_pair(vp__v8 x, vp__v8 *low_out) {
    vp__v8 k;
    __m512i index;
    const vp__v8 m = vp__log_split(x, &k, &index);
    const vp__v8 r = _mm512_fmsub_pd(m, vp__lookup(vp__log_c, index), VP__D(1));
    const vp__v8 r2 = _mm512_mul_pd(r, r), r4 = _mm512_mul_pd(r2, r2);
    const vp__v8 q01 =
        _mm512_fmadd_pd(r, VP__D(-0x1.fffffffffffcdp-3), VP__D(0x1.5555555555555p-2));
    const vp__v8 q23 =
        _mm512_fmadd_pd(r, VP__D(-0x1.55555555b9b07p-3), VP__D(0x1.999999999b938p-3));
    const vp__v8 q45 =
        _mm512_fmadd_pd(r, VP__D(-0x1.fffff87bc2992p-4), VP__D(0x1.2492490cc93b7p-3));
    const vp__v8 q67 =
        _mm512_fmadd_pd(r, VP__D(-0x1.99b5e564089f1p-4), VP__D(0x1.c71d12446ab9dp-4));
    const vp__v8 q89 =
        _mm512_fmadd_pd(r, VP__D(-0x1.31639f89b65f4p-4), VP__D(0x1.742b867df9d72p-4));
    const vp__v8 q03 = _mm512_fmadd_pd(r2, q23, q01);
    const vp__v8 q49 = _mm512_fmadd_pd(r4, q89, _mm512_fmadd_pd(r2, q67, q45));
    const vp__v8 q = _mm512_fmadd_pd(r4, q49, q03);
    /* log(1 + r) = r - r^2/2 + r^3 q: the first two terms exactly. */
    const vp__v8 half = _mm512_mul_pd(r, VP__D(-0.5));
    const vp__v8 square = _mm512_mul_pd(half, r);
    const vp__v8 square_low = _mm512_fmsub_pd(half, r, square);
    const vp__v8 sum = _mm512_add_pd(r, square);
    const vp__v8 sum_low = _mm512_sub_pd(square, _mm512_sub_pd(sum, r));
    const vp__v8 rest =
        _mm512_fmadd_pd(_mm512_mul_pd(r2, r), q, _mm512_add_pd(sum_low, square_low));
    /* To base 2. */
    const vp__v8 inv = VP__D(0x1.71547652b82fep+0),
                 inv_low = VP__D(0x1.777d0ffda0d24p-56);
    const vp__v8 v = _mm512_mul_pd(sum, inv);
    vp__v8 v_low = _mm512_fmsub_pd(sum, inv, v);
    v_low = _mm512_fmadd_pd(sum, inv_low, v_low);
    v_low = _mm512_fmadd_pd(rest, inv, v_low);
    /* k - log2 c is exact; either of it and v may be the larger. */
    const vp__v8 w = _mm512_add_pd(k, vp__lookup(vp__log_two, index));
    const vp__v8 high = _mm512_add_pd(w, v);
    const vp__v8 v_part = _mm512_sub_pd(high, w);
    const vp__v8 error = _mm512_add_pd(_mm512_sub_pd(w, _mm512_sub_pd(high, v_part)),
                                       _mm512_sub_pd(v, v_part));
    const vp__v8 low =
        _mm512_add_pd(error, _mm512_add_pd(v_low, vp__lookup(vp__log_two_low, index)));
    const vp__v8 result = _mm512_add_pd(high, low);
    *low_out = _mm512_sub_pd(low, _mm512_sub_pd(result, high));
    return result;
}

/* 2^(p + low) for |p| up to some thousands and small low. */
static inline vp__v8 vp__exp2_pair(vp__v8 p, vp__v8 low) {
    const vp__v8 sixteenths = VP__D(0x1.8p48);
    const vp__v8 shifted = _mm512_add_pd(p, sixteenths);
    const vp__v8 step = _mm512_sub_pd(shifted, sixteenths);
    const vp__v8 f = _mm512_add_pd(_mm512_sub_pd(p, step), low), f2 = _mm512_mul_pd(f, f);
    const vp__v8 p01 =
        _mm512_fmadd_pd(f, VP__D(0x1.ebfbdff82c590p-3), VP__D(0x1.62e42fefa39f3p-1));
    const vp__v8 p23 =
        _mm512_fmadd_pd(f, VP__D(0x1.3b2ab6fb41213p-7), VP__D(0x1.c6b08d6f2a289p-5));
    const vp__v8 p45 =
        _mm512_fmadd_pd(f, VP__D(0x1.430a1d08ec681p-13), VP__D(0x1.5d897e525c216p-10));
    const vp__v8 q = _mm512_fmadd_pd(f2, _mm512_fmadd_pd(f2, p45, p23), p01);
    const vp__v8 t = vp__lookup(vp__exp_high, _mm512_castpd_si512(shifted));
    return _mm512_scalef_pd(_mm512_fmadd_pd(t, _mm512_mul_pd(f, q), t), step);
}

/* Zeros, infinities and NaN: libm knows the list. */
static VP__NOINLINE vp__v8 vp__pow_special(vp__v8 x, vp__v8 y, vp__v8 z, __mmask8 which) {
    double base[8], exponent[8], result[8];
    _mm512_storeu_pd(base, x);
    _mm512_storeu_pd(exponent, y);
    _mm512_storeu_pd(result, z);
    for (int i = 0; i < 8; i++)
        if (which >> i & 1) result[i] = (pow)(base[i], exponent[i]);
    return _mm512_loadu_pd(result);
}

static inline vp__v8 vp__own_pow(vp__v8 x, vp__v8 y) {
    vp__v8 low;
    const vp__v8 log = vp__log2_pair(_mm512_abs_pd(x), &low);
    const vp__v8 product = _mm512_mul_pd(y, log);
    const vp__v8 product_low = _mm512_fmadd_pd(y, low, _mm512_fmsub_pd(y, log, product));
    /* Far out of range the result is 0 or infinity whatever the low part is. */
    const vp__v8 bound = VP__D(2000);
    const __mmask8 near = _mm512_cmp_pd_mask(_mm512_abs_pd(product), bound, _CMP_LT_OQ);
    vp__v8 z = vp__exp2_pair(_mm512_range_pd(product, bound, 0x02),
                             _mm512_maskz_mov_pd(near, product_low));
    const __mmask8 negative = _mm512_cmp_pd_mask(x, VP__D(0), _CMP_LT_OQ);
    if (negative) {
        const vp__v8 half = _mm512_mul_pd(y, VP__D(0.5));
        const __mmask8 whole =
            _mm512_cmp_pd_mask(y, _mm512_roundscale_pd(y, 0x08), _CMP_EQ_OQ);
        const __mmask8 odd =
            whole &
            _mm512_cmp_pd_mask(half, _mm512_roundscale_pd(half, 0x08), _CMP_NEQ_OQ);
        z = _mm512_mask_mov_pd(z, (__mmask8)(negative & ~whole), VP__D(NAN));
        z = _mm512_mask_xor_pd(z, negative & odd, z, VP__D(-0.0));
    }
    const __mmask8 special = _mm512_fpclass_pd_mask(x, VP__NAN_ZERO_INF) |
                             _mm512_fpclass_pd_mask(y, VP__NAN_INF);
    return special ? vp__pow_special(x, y, z, special) : z;
}

/* As vp__log_two and vp__log_two_low, for vp__logf_c, in multiples of 2^-14. */
static const float vp__logf_two[32] = {
    0x0.0p+0f,    0x1.1bcp-4f,  0x1.e0cp-4f,  0x1.22ep-3f,  0x1.8a8p-3f,  0x1.bfcp-3f,
    0x1.16ap-2f,  0x1.32cp-2f,  0x1.4f7p-2f,  0x1.8a9p-2f,  0x1.a9p-2f,   0x1.c82p-2f,
    0x1.e7ep-2f,  0x1.0428p-1f, 0x1.14c8p-1f, 0x1.25cp-1f,  -0x1.91cp-2f, -0x1.6e2p-2f,
    -0x1.6e2p-2f, -0x1.49ap-2f, -0x1.244p-2f, -0x1.fbcp-3f, -0x1.fbcp-3f, -0x1.adp-3f,
    -0x1.5cp-3f,  -0x1.5cp-3f,  -0x1.08cp-3f, -0x1.664p-4f, -0x1.664p-4f, -0x1.6b8p-5f,
    -0x1.6b8p-5f, 0x0.0p+0f,
};
static const float vp__logf_two_low[32] = {
    0x0.0p+0f,        -0x1.9ab4p-17f,   -0x1.ca2e1ap-17f, -0x1.48f554p-17f,
    0x1.30158p-16f,   0x1.9eap-17f,     -0x1.fd64ep-17f,  -0x1.1c8f12p-22f,
    -0x1.134c4ep-20f, -0x1.9fd502p-16f, -0x1.a39fbep-20f, -0x1.88f4aep-16f,
    -0x1.40358ep-19f, 0x1.ea5cd4p-16f,  -0x1.4f80ccp-16f, 0x1.408c78p-18f,
    0x1.15db84p-16f,  -0x1.0e6ce8p-17f, -0x1.0e6ce8p-17f, -0x1.e12f34p-16f,
    -0x1.eac382p-20f, -0x1.6b9026p-19f, -0x1.6b9026p-19f, 0x1.43a496p-16f,
    -0x1.a39fbep-19f, -0x1.a39fbep-19f, -0x1.62336ap-17f, 0x1.20a6dep-21f,
    0x1.20a6dep-21f,  -0x1.69bac8p-16f, -0x1.69bac8p-16f, 0x0.0p+0f,
};
static const float vp__exp2f_table[32] = {
    0x1.0p+0f,      0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f,
    0x1.1d4874p+0f, 0x1.2387a6p+0f, 0x1.29e9ep+0f,  0x1.306fep+0f,  0x1.371a74p+0f,
    0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f, 0x1.5ab07ep+0f,
    0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f,
    0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f, 0x1.ae89fap+0f,
    0x1.b7f77p+0f,  0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f,
    0x1.ea4afap+0f, 0x1.f50766p+0f,
};

/* log2(x) as an unevaluated sum, relative error about 2^-29, for finite x > 0. */
static inline vp__v16 vp__log2f_pair(vp__v16 x, vp__v16 *low) {
    vp__v16 k;
    __m512i index;
    const vp__v16 m = vp__logf_split(x, &k, &index);
    const vp__v16 r = _mm512_fmsub_ps(m, vp__lookup32(vp__logf_c, index), VP__S(1));
    vp__v16 g = _mm512_fmadd_ps(r, VP__S(0x1.225f32p-2f), VP__S(-0x1.71738ep-2f));
    g = _mm512_fmadd_ps(r, g, VP__S(0x1.ec7106p-2f));
    g = _mm512_fmadd_ps(r, g, VP__S(-0x1.715476p-1f));
    const vp__v16 inv = VP__S(0x1.715476p+0f);
    const vp__v16 v = _mm512_mul_ps(r, inv);
    vp__v16 v_low = _mm512_fmadd_ps(r, VP__S(0x1.4ae0cp-26f), _mm512_fmsub_ps(r, inv, v));
    v_low = _mm512_fmadd_ps(_mm512_mul_ps(r, r), g, v_low);
    /* k - log2 c is exact, and 0 or larger than v. */
    const vp__v16 w = _mm512_add_ps(k, vp__lookup32(vp__logf_two, index));
    const vp__v16 high = _mm512_add_ps(w, v);
    const vp__v16 error = _mm512_sub_ps(v, _mm512_sub_ps(high, w));
    const vp__v16 rest =
        _mm512_add_ps(_mm512_add_ps(v_low, vp__lookup32(vp__logf_two_low, index)), error);
    const vp__v16 result = _mm512_add_ps(high, rest);
    *low = _mm512_sub_ps(rest, _mm512_sub_ps(result, high));
    return result;
}

/* 2^(p + low) for |p| up to some hundreds and small low. */
static inline vp__v16 vp__exp2f_pair(vp__v16 p, vp__v16 low) {
    const vp__v16 parts = VP__S(0x1.8p18f);
    const vp__v16 shifted = _mm512_add_ps(p, parts);
    const vp__v16 step = _mm512_sub_ps(shifted, parts);
    const vp__v16 f = _mm512_add_ps(_mm512_sub_ps(p, step), low);
    vp__v16 q = _mm512_fmadd_ps(f, VP__S(0x1.c6b11p-5f), VP__S(0x1.ebfcccp-3f));
    q = _mm512_fmadd_ps(f, q, VP__S(0x1.62e43p-1f));
    const vp__v16 t = vp__lookup32(vp__exp2f_table, _mm512_castps_si512(shifted));
    return _mm512_scalef_ps(_mm512_fmadd_ps(t, _mm512_mul_ps(f, q), t), step);
}

static VP__NOINLINE vp__v16 vp__powf_special(vp__v16 x, vp__v16 y, vp__v16 z,
                                             __mmask16 which) {
    float base[16], exponent[16], result[16];
    _mm512_storeu_ps(base, x);
    _mm512_storeu_ps(exponent, y);
    _mm512_storeu_ps(result, z);
    for (int i = 0; i < 16; i++)
        if (which >> i & 1) result[i] = (powf)(base[i], exponent[i]);
    return _mm512_loadu_ps(result);
}

static inline vp__v16 vp__own_powf(vp__v16 x, vp__v16 y) {
    vp__v16 low;
    const vp__v16 log = vp__log2f_pair(_mm512_abs_ps(x), &low);
    const vp__v16 product = _mm512_mul_ps(y, log);
    const vp__v16 product_low = _mm512_fmadd_ps(y, low, _mm512_fmsub_ps(y, log, product));
    const vp__v16 bound = VP__S(400);
    const __mmask16 near = _mm512_cmp_ps_mask(_mm512_abs_ps(product), bound, _CMP_LT_OQ);
    vp__v16 z = vp__exp2f_pair(_mm512_range_ps(product, bound, 0x02),
                               _mm512_maskz_mov_ps(near, product_low));
    const __mmask16 negative = _mm512_cmp_ps_mask(x, VP__S(0), _CMP_LT_OQ);
    if (negative) {
        const vp__v16 half = _mm512_mul_ps(y, VP__S(0.5f));
        const __mmask16 whole =
            _mm512_cmp_ps_mask(y, _mm512_roundscale_ps(y, 0x08), _CMP_EQ_OQ);
        const __mmask16 odd =
            whole &
            _mm512_cmp_ps_mask(half, _mm512_roundscale_ps(half, 0x08), _CMP_NEQ_OQ);
        z = _mm512_mask_mov_ps(z, (__mmask16)(negative & ~whole), VP__S(NAN));
        z = _mm512_mask_xor_ps(z, negative & odd, z, VP__S(-0.0f));
    }
    const __mmask16 special = _mm512_fpclass_ps_mask(x, VP__NAN_ZERO_INF) |
                              _mm512_fpclass_ps_mask(y, VP__NAN_INF);
    return special ? vp__powf_special(x, y, z, special) : z;
}

#endif
