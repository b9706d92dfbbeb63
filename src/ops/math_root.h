/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own cube root and length of float32, written once for every x86 vector width that has
 * fused multiply-add.
 */
#ifndef VP_OPS_MATH_ROOT_H
#define VP_OPS_MATH_ROOT_H

#include <math.h>

#include "ops/math_lanes.h"

#if defined __AVX512F__
/* Dividing longer vectors takes so much longer that libmvec's is faster. */
static inline vp__vec_F32 vp__own_cbrtf(vp__vec_F32 x) {
    return VP__MVEC_F32(v, cbrt)(x);
}
#else
typedef int32_t vp__whole_F32 __attribute__((vector_size(VP__VECTOR_BYTES)));

/* A step of Halley's method for the cube root of a: t is three times as good after it. */
static inline vp__vec_F32 vp__cbrtf_step(vp__vec_F32 a, vp__vec_F32 t) {
    const vp__vec_F32 cube = t * t * t;
    return VP__FMA_F32(t, (a - cube) / VP__FMA_F32(cube, VP__ALL_F32(2), a), t);
}

/* A third of the bits, taken as a number, is nearly those of the root. All numbers are scaled,
 * for the sake of subnormal and of very large ones; zeros, infinities and NaN are their own
 * roots. */
static inline vp__vec_F32 vp__own_cbrtf(vp__vec_F32 x) {
    const vp__vec_F32 zero = VP__ALL_F32(0), one = VP__ALL_F32(1);
    const vp__vec_F32 most = VP__ALL_F32(INFINITY);
    const vp__bits_F32 sign = (vp__bits_F32)x & VP__SIGN_F32;
    const vp__vec_F32 given = (vp__vec_F32)((vp__bits_F32)x ^ sign);
    const vp__vec_F32 a =
        given * VP__SELECT_F32(given, one, VP__ALL_F32(0x1p24f), VP__ALL_F32(0x1p-24f));
    const vp__vec_F32 third =
        __builtin_convertvector((vp__whole_F32)a, vp__vec_F32) * (1.0f / 3);
    vp__vec_F32 t =
        (vp__vec_F32)(__builtin_convertvector(third, vp__whole_F32) + 0x2a5137a0);
    t = vp__cbrtf_step(a, vp__cbrtf_step(a, t));
    t *= VP__SELECT_F32(given, one, VP__ALL_F32(0x1p-8f), VP__ALL_F32(0x1p8f));
    t = VP__SELECT_F32(zero, given, VP__SELECT_F32(given, most, t, given), given);
    return (vp__vec_F32)((vp__bits_F32)t ^ sign);
}
#endif

/* libm's in the lanes of `which`. */
static VP__NOINLINE vp__vec_F32 vp__patch_hypotf(vp__vec_F32 x, vp__vec_F32 y,
                                                 vp__vec_F32 z, unsigned which) {
    for (; which; which &= which - 1) {
        const int i = __builtin_ctz(which);
        z[i] = hypotf(x[i], y[i]);
    }
    return z;
}

/* Squares that may overflow or become subnormal, infinities and NaN go to libm, but not two
 * zeros, of which there may be many. */
static inline vp__vec_F32 vp__own_hypotf(vp__vec_F32 x, vp__vec_F32 y) {
    const vp__vec_F32 squares = VP__FMA_F32(x, x, y * y), z = VP__SQRT_F32(squares);
    const vp__vec_F32 parts =
        (vp__vec_F32)(((vp__bits_F32)x | (vp__bits_F32)y) & ~VP__SIGN_F32);
    const unsigned low = VP__BEYOND_F32(-squares, -0x1p-90f) & VP__BEYOND_F32(parts, 0);
    const unsigned slow = low | VP__BEYOND_F32(squares, 0x1p120f);
    return __builtin_expect(slow != 0, 0) ? vp__patch_hypotf(x, y, z, slow) : z;
}

#endif
