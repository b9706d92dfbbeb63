/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own math functions of float32 for AVX-512, as those of math_avx512.h. exp: the
 * nearest multiple of ln 2 is subtracted. tan: likewise of pi/2, and an odd multiple gives
 * -1/tan; libmvec has the ones that are far out. atan: arguments above 1 give pi/2 - atan(1/x). Then a polynomial each.
 */
#ifndef VP_OPS_MATH_F32_AVX512_H
#define VP_OPS_MATH_F32_AVX512_H

#include <immintrin.h>
#include <math.h>

#include "ops/math_lanes.h"

typedef __m512 vp__v16;

#define VP__S(x) _mm512_set1_ps(x)

/* Adding this leaves a value rounded to a whole number in the low bits of the sum. */
#define VP__WHOLE_S VP__S(0x1.8p23f)

static inline vp__v16 vp__with_signf(vp__v16 x, vp__v16 sign) {
    return _mm512_or_ps(x, _mm512_and_ps(sign, VP__S(-0.0f)));
}

/* exp(r) - 1 for |r| up to half of ln 2. */
static inline vp__v16 vp__expm1f_reduced(vp__v16 r) {
    const vp__v16 r2 = _mm512_mul_ps(r, r);
    vp__v16 p =
        _mm512_fmadd_ps(r, VP__S(0.001392617611993558f), VP__S(0.008363173074513711f));
    p = _mm512_fmadd_ps(r, p, VP__S(0.041666554662050534f));
    p = _mm512_fmadd_ps(r, p, VP__S(0.1666657702559799f));
    p = _mm512_fmadd_ps(r, p, VP__S(0.5f));
    return _mm512_fmadd_ps(r2, p, r);
}

/* The bounds give infinity and 0; a NaN passes through min and max, being their second
 * operand. */
static inline vp__v16 vp__own_expf(vp__v16 x) {
    x = _mm512_max_ps(VP__S(-150), _mm512_min_ps(VP__S(130), x));
    const vp__v16 n = _mm512_sub_ps(
        _mm512_fmadd_ps(x, VP__S(0x1.715476p+0f), VP__WHOLE_S), VP__WHOLE_S);
    vp__v16 r = _mm512_fnmadd_ps(n, VP__S(0x1.62e4p-1f), x);
    r = _mm512_fnmadd_ps(n, VP__S(0x1.7f7d1cp-20f), r);
    return _mm512_scalef_ps(_mm512_add_ps(vp__expm1f_reduced(r), VP__S(1)), n);
}

static inline vp__v16 vp__own_exp2f(vp__v16 x) {
    x = _mm512_max_ps(VP__S(-200), _mm512_min_ps(VP__S(200), x));
    const vp__v16 n = _mm512_sub_ps(_mm512_add_ps(x, VP__WHOLE_S), VP__WHOLE_S);
    const vp__v16 r = _mm512_mul_ps(_mm512_sub_ps(x, n), VP__S(0x1.62e430p-1f));
    return _mm512_scalef_ps(_mm512_add_ps(vp__expm1f_reduced(r), VP__S(1)), n);
}

static inline vp__v16 vp__own_tanhf(vp__v16 x) {
    const vp__v16 a = _mm512_abs_ps(x);
    const vp__v16 y = _mm512_min_ps(VP__S(20), _mm512_add_ps(a, a));
    const vp__v16 n = _mm512_sub_ps(
        _mm512_fmadd_ps(y, VP__S(0x1.715476p+0f), VP__WHOLE_S), VP__WHOLE_S);
    const vp__v16 p = vp__expm1f_reduced(_mm512_fnmadd_ps(n, VP__S(0x1.62e430p-1f), y));
    const vp__v16 scale = _mm512_scalef_ps(VP__S(1), n);
    const vp__v16 e = _mm512_fmadd_ps(scale, p, _mm512_sub_ps(scale, VP__S(1)));
    return vp__with_signf(_mm512_div_ps(e, _mm512_add_ps(e, VP__S(2))), x);
}

/* As vp__log_c and vp__log_ln of math_avx512.h, by five bits; c has few enough of them for
 * r to be exact in float32. */
static const float vp__logf_c[32] = {
    0x1.0p+0f, 0x1.e8p-1f, 0x1.d8p-1f, 0x1.dp-1f,  0x1.cp-1f,  0x1.b8p-1f, 0x1.a8p-1f,
    0x1.ap-1f, 0x1.98p-1f, 0x1.88p-1f, 0x1.8p-1f,  0x1.78p-1f, 0x1.7p-1f,  0x1.68p-1f,
    0x1.6p-1f, 0x1.58p-1f, 0x1.5p+0f,  0x1.48p+0f, 0x1.48p+0f, 0x1.4p+0f,  0x1.38p+0f,
    0x1.3p+0f, 0x1.3p+0f,  0x1.28p+0f, 0x1.2p+0f,  0x1.2p+0f,  0x1.18p+0f, 0x1.1p+0f,
    0x1.1p+0f, 0x1.08p+0f, 0x1.08p+0f, 0x1.0p+0f,
};
static const float vp__logf_ln[32] = {
    0x0.0p+0f,       0x1.894aa2p-5f,  0x1.4d3116p-4f,  0x1.9335e6p-4f,  0x1.1178e8p-3f,
    0x1.365fccp-3f,  0x1.823c16p-3f,  0x1.a93ed4p-3f,  0x1.d1038p-3f,   0x1.1178e8p-2f,
    0x1.269622p-2f,  0x1.3c2528p-2f,  0x1.522aep-2f,   0x1.68ac84p-2f,  0x1.7fafa4p-2f,
    0x1.973a34p-2f,  -0x1.1675cap-2f, -0x1.fb9186p-3f, -0x1.fb9186p-3f, -0x1.c8ff7cp-3f,
    -0x1.9525aap-3f, -0x1.5ff308p-3f, -0x1.5ff308p-3f, -0x1.29553p-3f,  -0x1.e27076p-4f,
    -0x1.e27076p-4f, -0x1.6f0d28p-4f, -0x1.f0a30cp-5f, -0x1.f0a30cp-5f, -0x1.f829bp-6f,
    -0x1.f829bp-6f,  0x0.0p+0f,
};

static inline vp__v16 vp__lookup32(const float *table, __m512i index) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(table), index,
                                  _mm512_loadu_ps(table + 16));
}

/* As vp__log_split. */
static inline vp__v16 vp__logf_split(vp__v16 x, vp__v16 *k, __m512i *index) {
    const vp__v16 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    *k = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(m));
    *index = _mm512_srli_epi32(_mm512_castps_si512(m), 18);
    return m;
}

/* k ln 2 + ln(1/c) + ln(1 + r). */
static inline vp__v16 vp__logf_join(vp__v16 k, vp__v16 r, __m512i index) {
    vp__v16 q = _mm512_fmadd_ps(r, VP__S(0x1.9291f2p-3f), VP__S(-0x1.0015c6p-2f));
    q = _mm512_fmadd_ps(r, q, VP__S(0x1.55559ep-2f));
    q = _mm512_fmadd_ps(r, q, VP__S(-0.5f));
    const vp__v16 high =
        _mm512_fmadd_ps(k, VP__S(0x1.62e43p-1f), vp__lookup32(vp__logf_ln, index));
    return _mm512_add_ps(high, _mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r));
}

static inline vp__v16 vp__own_logf(vp__v16 x) {
    vp__v16 k;
    __m512i index;
    const vp__v16 m = vp__logf_split(x, &k, &index);
    const vp__v16 r = _mm512_fmsub_ps(m, vp__lookup32(vp__logf_c, index), VP__S(1));
    return vp__logf_join(k, r, index);
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1. What rounding 1 + w lost is put back into
 * the reduced argument. Where t * t could overflow, log(2 x) is all there is. */
static inline vp__v16 vp__own_acoshf(vp__v16 x) {
    const vp__v16 one = VP__S(1);
    const vp__v16 t = _mm512_sub_ps(x, one);
    const vp__v16 root = _mm512_sqrt_ps(_mm512_mul_ps(t, _mm512_add_ps(t, VP__S(2))));
    const vp__v16 w = _mm512_add_ps(t, root), sum = _mm512_add_ps(w, one);
    const __mmask16 large = _mm512_cmp_ps_mask(x, VP__S(0x1p30f), _CMP_GT_OQ);
    const vp__v16 lost = _mm512_mask_sub_ps(_mm512_setzero_ps(), (__mmask16)~large, w,
                                            _mm512_sub_ps(sum, one));
    vp__v16 k;
    __m512i index;
    const vp__v16 m = vp__logf_split(_mm512_mask_mov_ps(sum, large, x), &k, &index);
    const vp__v16 c = vp__lookup32(vp__logf_c, index);
    const vp__v16 minus_k = _mm512_sub_ps(_mm512_setzero_ps(), k);
    const vp__v16 r = _mm512_add_ps(_mm512_fmsub_ps(m, c, one),
                                    _mm512_scalef_ps(_mm512_mul_ps(lost, c), minus_k));
    const vp__v16 y = vp__logf_join(_mm512_mask_add_ps(k, large, k, one), r, index);
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, one, _CMP_LT_OQ), VP__S(NAN));
}

/* atan(t) for |t| <= 1. */
static inline vp__v16 vp__atanf_reduced(vp__v16 t) {
    const vp__v16 z = _mm512_mul_ps(t, t), z2 = _mm512_mul_ps(z, z);
    const vp__v16 p01 = _mm512_fmadd_ps(z, VP__S(0x1.9978ecp-3f), VP__S(-0x1.5554dcp-2f));
    const vp__v16 p23 = _mm512_fmadd_ps(z, VP__S(0x1.b4df4p-4f), VP__S(-0x1.230a9cp-3f));
    const vp__v16 p45 = _mm512_fmadd_ps(z, VP__S(0x1.61f4e6p-5f), VP__S(-0x1.3552c4p-4f));
    const vp__v16 p67 = _mm512_fmadd_ps(z, VP__S(0x1.7ebde6p-9f), VP__S(-0x1.0c2182p-6f));
    vp__v16 p = _mm512_fmadd_ps(z2, p67, p45);
    p = _mm512_fmadd_ps(z2, p, p23);
    p = _mm512_fmadd_ps(z2, p, p01);
    return _mm512_fmadd_ps(_mm512_mul_ps(z, t), p, t);
}

static inline vp__v16 vp__own_atanf(vp__v16 x) {
    const vp__v16 a = _mm512_abs_ps(x), one = VP__S(1);
    const __mmask16 large = _mm512_cmp_ps_mask(a, one, _CMP_GT_OQ);
    const vp__v16 t = _mm512_mask_div_ps(a, large, VP__S(-1), a);
    const vp__v16 y = vp__atanf_reduced(t);
    return vp__with_signf(_mm512_mask_add_ps(y, large, y, VP__S(0x1.921fb6p+0f)), x);
}

/* The smaller over the larger of |y| and |x|, and then what the angle lacks: up to pi/2
 * where |y| was larger, up to pi where x is negative. Two infinities count as two ones, and
 * two zeros as 0 over 1. */
static inline vp__v16 vp__own_atan2f(vp__v16 y, vp__v16 x) {
    const vp__v16 ay = _mm512_abs_ps(y), ax = _mm512_abs_ps(x);
    const __mmask16 steep = _mm512_cmp_ps_mask(ay, ax, _CMP_GT_OQ);
    const vp__v16 most = _mm512_max_ps(ay, ax), least = _mm512_min_ps(ay, ax);
    vp__v16 t = _mm512_div_ps(least, most);
    const __mmask16 both =
        (__mmask16)(_mm512_cmp_ps_mask(most, _mm512_setzero_ps(), _CMP_EQ_OQ) |
                    _mm512_cmp_ps_mask(least, VP__S(INFINITY), _CMP_EQ_OQ));
    t = _mm512_mask_min_ps(t, both, least, VP__S(1));
    t = vp__atanf_reduced(t);
    t = _mm512_mask_sub_ps(t, steep, VP__S(0x1.921fb6p+0f), t);
    const __mmask16 left = _mm512_movepi32_mask(_mm512_castps_si512(x));
    t = _mm512_mask_sub_ps(t, left, VP__S(0x1.921fb6p+1f), t);
    t = _mm512_mask_add_ps(t, _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), x, y);
    return vp__with_signf(t, y);
}

/* Up to here the nearest multiple of pi/2 is found, or nearly. */
#define VP__TAN_LIMIT 0x1p15f

static inline vp__v16 vp__own_tanf(vp__v16 x) {
    const vp__v16 shifted = _mm512_fmadd_ps(x, VP__S(0x1.45f306p-1f), VP__WHOLE_S);
    const vp__v16 n = _mm512_sub_ps(shifted, VP__WHOLE_S);
    /* All parts of pi/2 are positive: so a zero keeps its sign. */
    vp__v16 r = _mm512_fnmadd_ps(n, VP__S(0x1.921fb4p+0f), x);
    r = _mm512_fnmadd_ps(n, VP__S(0x1.4442dp-24f), r);
    r = _mm512_fnmadd_ps(n, VP__S(0x1.84698ap-48f), r);
    const vp__v16 z = _mm512_mul_ps(r, r);
    vp__v16 p = _mm512_fmadd_ps(z, VP__S(0x1.33e7d2p-7f), VP__S(0x1.96843cp-9f));
    p = _mm512_fmadd_ps(z, p, VP__S(0x1.9072a2p-6f));
    p = _mm512_fmadd_ps(z, p, VP__S(0x1.b5851ep-5f));
    p = _mm512_fmadd_ps(z, p, VP__S(0x1.112deap-3f));
    p = _mm512_fmadd_ps(z, p, VP__S(0x1.5554dep-2f));
    p = _mm512_fmadd_ps(_mm512_mul_ps(z, r), p, r);
    const __mmask16 odd =
        _mm512_movepi32_mask(_mm512_slli_epi32(_mm512_castps_si512(shifted), 31));
    const vp__v16 y = _mm512_mask_div_ps(p, odd, VP__S(-1), p);
    const unsigned beyond = VP__BEYOND_F32(_mm512_abs_ps(x), VP__TAN_LIMIT);
    if (__builtin_expect(beyond == 0, 1)) return y;
    return _mm512_mask_mov_ps(y, (__mmask16)beyond, VP__MVEC_F32(v, tan)(x));
}

#endif
