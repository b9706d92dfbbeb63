/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own arcsine and arccosine, written once for every x86 vector width that has fused
 * multiply-add.
 *
 * Method. Where |x| is below 1/2, asin(x) = x + x^3 P(x^2). Beyond, acos(|x|) = 2 asin(s)
 * with s = sqrt((1 - |x|) / 2), which is below 1/2, and asin and acos make pi/2 together.
 * 1 - |x| is exact there. Outside -1 to 1 the root is NaN. Polynomials are minimax fits.
 */
#ifndef VP_OPS_MATH_ARC_H
#define VP_OPS_MATH_ARC_H

#include "ops/math_lanes.h"

/* P(z) for z up to 1/4. Pairs first, so that the sums wait for each other less. */
static inline vp__vec_F64 vp__arc_series_F64(vp__vec_F64 z) {
#define PAIR(low, high) VP__FMA_F64(z, VP__ALL_F64(high), VP__ALL_F64(low))
    const vp__vec_F64 z2 = z * z, z4 = z2 * z2;
    const vp__vec_F64 p0 =
        VP__FMA_F64(z2, PAIR(0x1.6db6db41d136ap-5, 0x1.f1c72c6e03cd9p-6),
                    PAIR(0x1.5555555555387p-3, 0x1.333333336f8d9p-4));
    const vp__vec_F64 p4 =
        VP__FMA_F64(z2, PAIR(0x1.c6f871dd0fa39p-7, 0x1.8ee4e913b14b4p-7),
                    PAIR(0x1.6e89ef6ba03d8p-6, 0x1.1c6c287392c84p-6));
    const vp__vec_F64 p8 =
        VP__FMA_F64(z2, PAIR(-0x1.0af6609f272c3p-6, 0x1.05cecfda7d971p-5),
                    PAIR(0x1.aab1beb191fd3p-8, 0x1.40b3046893b8ep-6));
#undef PAIR
    return VP__FMA_F64(z4, VP__FMA_F64(z4, p8, p4), p0);
}

static inline vp__vec_F32 vp__arc_series_F32(vp__vec_F32 z) {
    vp__vec_F32 p =
        VP__FMA_F32(z, VP__ALL_F32(0x1.59ccap-5f), VP__ALL_F32(0x1.8bb532p-6f));
    p = VP__FMA_F32(z, p, VP__ALL_F32(0x1.748a2cp-5f));
    p = VP__FMA_F32(z, p, VP__ALL_F32(0x1.33016ap-4f));
    return VP__FMA_F32(z, p, VP__ALL_F32(0x1.5555cap-3f));
}

/* N(arc) is asin(a) where a is below 1/2, otherwise acos(a) / 2, for a = |x|. */
#define VP__ARC(N, T, asin, acos)                                                        \
    static inline vp__vec_##N vp__arc_##N(vp__vec_##N a) {                               \
        const vp__vec_##N half = VP__ALL_##N((T)0.5);                                    \
        const vp__vec_##N beyond = VP__FMA_##N(-half, a, half);                          \
        const vp__vec_##N z = VP__SELECT_##N(a, half, a * a, beyond);                    \
        const vp__vec_##N s = VP__SELECT_##N(a, half, a, VP__SQRT_##N(beyond));          \
        return VP__FMA_##N(s * z, vp__arc_series_##N(z), s);                             \
    }                                                                                    \
    static inline vp__vec_##N vp__own_##asin(vp__vec_##N x) {                            \
        const vp__bits_##N sign = (vp__bits_##N)x & VP__SIGN_##N;                        \
        const vp__vec_##N a = (vp__vec_##N)((vp__bits_##N)x ^ sign);                     \
        const vp__vec_##N y = vp__arc_##N(a);                                            \
        const vp__vec_##N from_top =                                                     \
            VP__FMA_##N(VP__ALL_##N((T)-2), y, VP__ALL_##N((T)1.5707963267948966));      \
        const vp__vec_##N all = VP__SELECT_##N(a, VP__ALL_##N((T)0.5), y, from_top);     \
        return (vp__vec_##N)((vp__bits_##N)all ^ sign);                                  \
    }                                                                                    \
    /* pi/2 - y near 0, 2 y near 1, and pi - 2 y near -1, where y has the sign of x. */  \
    static inline vp__vec_##N vp__own_##acos(vp__vec_##N x) {                            \
        const vp__vec_##N half = VP__ALL_##N((T)0.5), zero = VP__ALL_##N((T)0);          \
        const vp__bits_##N sign = (vp__bits_##N)x & VP__SIGN_##N;                        \
        const vp__vec_##N a = (vp__vec_##N)((vp__bits_##N)x ^ sign);                     \
        const vp__vec_##N y = (vp__vec_##N)((vp__bits_##N)vp__arc_##N(a) ^ sign);        \
        const vp__vec_##N end =                                                          \
            VP__SELECT_##N(x, zero, VP__ALL_##N((T)3.141592653589793), zero);            \
        const vp__vec_##N from =                                                         \
            VP__SELECT_##N(a, half, VP__ALL_##N((T)1.5707963267948966), end);            \
        const vp__vec_##N times =                                                        \
            VP__SELECT_##N(a, half, VP__ALL_##N((T)-1), VP__ALL_##N((T)2));              \
        return VP__FMA_##N(times, y, from);                                              \
    }
VP__ARC(F64, double, asin, acos)
VP__ARC(F32, float, asinf, acosf)
#undef VP__ARC

#endif
