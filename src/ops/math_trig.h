/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own sine and cosine, written once for every x86 vector width that has fused
 * multiply-add.
 *
 * Method. The nearest multiple of pi is subtracted (for the cosine the nearest odd
 * multiple of pi / 2), which leaves r between -pi/2 and pi/2 and, in whether the multiple
 * is odd, the sign of the result; one odd polynomial of r does the rest. The absolute
 * value goes through and the sign is put on at the end, which keeps zeros signed and the
 * functions exactly odd and even. Polynomials are minimax fits.
 *
 * pi comes in parts. The product with the first one is subtracted without any rounding, so
 * that the next keeps r's relative error small close to a multiple too. float64 has two
 * parts and finds out where they do not do, so close or so far out (beyond about 2^41):
 * these lanes, and NaN and infinities, go one by one to libm, whose reduction knows enough
 * digits of pi for the largest. They are rare: some lanes in ten million of those below
 * 2^21. float32 has three parts, which always do up to 2^15; beyond that all lanes go
 * through the float64 function.
 */
#ifndef VP_OPS_MATH_TRIG_H
#define VP_OPS_MATH_TRIG_H

#include "ops/math_lanes.h"
#include "ops/sin_constants.h"

/* sin(r) for |r| a little above pi/2 at most. */
static inline vp__vec_F64 vp__sin_reduced_F64(vp__vec_F64 r) {
    const vp__vec_F64 r2 = r * r;
    vp__vec_F64 p = VP__FMA_F64(r2, VP__ALL_F64(VP__SIN_15), VP__ALL_F64(VP__SIN_13));
    p = VP__FMA_F64(r2, p, VP__ALL_F64(VP__SIN_11));
    p = VP__FMA_F64(r2, p, VP__ALL_F64(VP__SIN_9));
    p = VP__FMA_F64(r2, p, VP__ALL_F64(VP__SIN_7));
    p = VP__FMA_F64(r2, p, VP__ALL_F64(VP__SIN_5));
    p = VP__FMA_F64(r2, p, VP__ALL_F64(VP__SIN_3));
    return VP__FMA_F64(r2 * r, p, r);
}

/* x - m pi, where m comes as a multiple of 2^-64. The first product is subtracted without
 * any rounding. */
static inline vp__vec_F64 vp__less_pi_F64(vp__vec_F64 x, vp__vec_F64 m) {
    x = VP__FMA_F64(m, VP__ALL_F64(-VP__PI_HIGH), x);
    return VP__FMA_F64(m, VP__ALL_F64(-VP__PI_LOW), x);
}

static inline vp__vec_F64 vp__pi_less_F64(vp__vec_F64 m, vp__vec_F64 x) {
    const vp__vec_F64 r = VP__FMA_F64(m, VP__ALL_F64(VP__PI_HIGH), -x);
    return VP__FMA_F64(m, VP__ALL_F64(VP__PI_LOW), r);
}

/* As VP__SIN_LIMIT: beside it lies an odd multiple of pi/2. */
#define VP__COS_LIMIT_F64 0x1.921fb5ae9fc99p+41

/* Lanes where r is so small beside m pi that the 107 bits of pi used may not do. m is a
 * multiple of 2^-64 as above: this scale is chosen for being compared with r * r. */
#define VP__DOUBTFUL_F64(r, m) VP__BELOW_F64((r) * (r), m)

static inline vp__vec_F64 vp__own_sin(vp__vec_F64 x) {
    const vp__vec_F64 a = VP__CAPPED_F64(x, VP__SIN_LIMIT);
    const vp__vec_F64 whole = VP__ALL_F64(VP__SIN_WHOLE);
    const vp__vec_F64 shifted = VP__FMA_F64(a, VP__ALL_F64(VP__SIN_PER_PI), whole);
    const vp__vec_F64 m = shifted - whole, r = vp__less_pi_F64(a, m);
    const vp__bits_F64 sign = (vp__bits_F64)x & VP__SIGN_F64;
    const vp__bits_F64 odd = (vp__bits_F64)shifted << 63;
    const vp__vec_F64 y =
        (vp__vec_F64)((vp__bits_F64)vp__sin_reduced_F64(r) ^ odd ^ sign);
    const unsigned slow = VP__DOUBTFUL_F64(r, m);
    return __builtin_expect(slow != 0, 0) ? vp__patch_F64(x, y, slow, (sin)) : y;
}

/* With k pi below x and r = (k + 1/2) pi - x, cos(x) is sin(r) for even k, else -sin(r). */
static inline vp__vec_F64 vp__own_cos(vp__vec_F64 x) {
    const vp__vec_F64 a = VP__CAPPED_F64(x, VP__COS_LIMIT_F64);
    const vp__vec_F64 shifted =
        VP__FMA_DOWN_F64(a, VP__ALL_F64(VP__SIN_PER_PI), VP__ALL_F64(0x1p52 * 0x1p-64));
    const vp__vec_F64 m = shifted - (0x1p52 - 0.5) * 0x1p-64, r = vp__pi_less_F64(m, a);
    const vp__bits_F64 odd = (vp__bits_F64)shifted << 63;
    const vp__vec_F64 y = (vp__vec_F64)((vp__bits_F64)vp__sin_reduced_F64(r) ^ odd);
    const unsigned slow = VP__DOUBTFUL_F64(r, m);
    return __builtin_expect(slow != 0, 0) ? vp__patch_F64(x, y, slow, (cos)) : y;
}

/* Adding this leaves a value rounded to a whole number in the low bits of the sum. */
#define VP__WHOLE_F32 VP__ALL_F32(0x1.8p23f)

static inline vp__vec_F32 vp__sin_reduced_F32(vp__vec_F32 r) {
    const vp__vec_F32 r2 = r * r;
    vp__vec_F32 p =
        VP__FMA_F32(r2, VP__ALL_F32(0x1.5d95bcp-19f), VP__ALL_F32(-0x1.9f6d4cp-13f));
    p = VP__FMA_F32(r2, p, VP__ALL_F32(0x1.110ec6p-7f));
    p = VP__FMA_F32(r2, p, VP__ALL_F32(-0x1.55554cp-3f));
    return VP__FMA_F32(r2 * r, p, r);
}

static inline vp__vec_F32 vp__less_pi_F32(vp__vec_F32 x, vp__vec_F32 m) {
    x = VP__FMA_F32(m, VP__ALL_F32(-0x1.921fb6p+1f), x);
    x = VP__FMA_F32(m, VP__ALL_F32(0x1.777a5cp-24f), x);
    return VP__FMA_F32(m, VP__ALL_F32(0x1.ee59dap-49f), x);
}

/* Up to here the nearest multiple is found, or nearly. */
#define VP__TRIG_LIMIT_F32 0x1p15f

enum { VP__HALF_F32 = VP__VECTOR_BYTES / 8 };

/* f of each lane in float64. */
static VP__NOINLINE vp__vec_F32 vp__in_F64(vp__vec_F32 x, vp__vec_F32 y, unsigned which,
                                           vp__vec_F64 (*f)(vp__vec_F64)) {
    for (int part = 0; part < 2; part++) {
        vp__vec_F64 wide;
        for (int i = 0; i < VP__HALF_F32; i++)
            wide[i] = (double)x[part * VP__HALF_F32 + i];
        wide = f(wide);
        for (int i = 0; i < VP__HALF_F32; i++)
            if (which >> (part * VP__HALF_F32 + i) & 1)
                y[part * VP__HALF_F32 + i] = (float)wide[i];
    }
    return y;
}

static inline vp__vec_F32 vp__own_sinf(vp__vec_F32 x) {
    const vp__bits_F32 sign = (vp__bits_F32)x & VP__SIGN_F32;
    const vp__vec_F32 a = (vp__vec_F32)((vp__bits_F32)x ^ sign);
    const vp__vec_F32 shifted =
        VP__FMA_F32(a, VP__ALL_F32(0x1.45f306p-2f), VP__WHOLE_F32);
    const vp__vec_F32 y =
        vp__sin_reduced_F32(vp__less_pi_F32(a, shifted - VP__WHOLE_F32));
    const vp__vec_F32 result =
        (vp__vec_F32)((vp__bits_F32)y ^ (vp__bits_F32)shifted << 31 ^ sign);
    const unsigned beyond = VP__BEYOND_F32(a, VP__TRIG_LIMIT_F32);
    if (__builtin_expect(beyond != 0, 0))
        return vp__in_F64(x, result, beyond, vp__own_sin);
    return result;
}

static inline vp__vec_F32 vp__own_cosf(vp__vec_F32 x) {
    const vp__vec_F32 a = (vp__vec_F32)((vp__bits_F32)x & ~VP__SIGN_F32);
    const vp__vec_F32 shifted =
        VP__FMA_F32(a, VP__ALL_F32(0x1.45f306p-2f), VP__ALL_F32(0.5f)) + VP__WHOLE_F32;
    const vp__vec_F32 m = shifted - VP__WHOLE_F32 - 0.5f;
    const vp__vec_F32 y = vp__sin_reduced_F32(vp__less_pi_F32(a, m));
    const vp__vec_F32 result =
        (vp__vec_F32)((vp__bits_F32)y ^ (vp__bits_F32)shifted << 31);
    const unsigned beyond = VP__BEYOND_F32(a, VP__TRIG_LIMIT_F32);
    if (__builtin_expect(beyond != 0, 0))
        return vp__in_F64(x, result, beyond, vp__own_cos);
    return result;
}

#endif
