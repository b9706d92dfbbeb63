/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own cube root of float32 and lengths, written once for every x86 vector width that has
 * fused multiply-add. For math_code.h, which has named libmvec's functions.
 */
#ifndef VP_OPS_MATH_ROOT_H
#define VP_OPS_MATH_ROOT_H

#include <math.h>

#include "ops/math_lanes.h"

#if defined __AVX512F__
/* libmvec's are faster on longer vectors: dividing, and roots of float64, take twice as long. */
static inline vp__vec_F32 vp__own_cbrtf(vp__vec_F32 x) {
    return VP__MVEC_F32(v, cbrt)(x);
}
static inline vp__vec_F64 vp__own_hypot(vp__vec_F64 x, vp__vec_F64 y) {
    return VP__MVEC_F64(vv, hypot)(x, y);
}
#else
typedef int32_t vp__whole_F32 __attribute__((vector_size(VP__VECTOR_BYTES)));

/* One round of Halley's method for the cube root of a: t is three times as good after it. */
static inline vp__vec_F32 vp__cbrtf_refine(vp__vec_F32 a, vp__vec_F32 t) {
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
    t = vp__cbrtf_refine(a, vp__cbrtf_refine(a, t));
    t *= VP__SELECT_F32(given, one, VP__ALL_F32(0x1p-8f), VP__ALL_F32(0x1p8f));
    t = VP__SELECT_F32(zero, given, VP__SELECT_F32(given, most, t, given), given);
    return (vp__vec_F32)((vp__bits_F32)t ^ sign);
}
#endif

/* Squares that may overflow or become subnormal, infinities and NaN are left to libmvec, but
 * not two zeros, of which there may be many. */
#define VP__HYPOT(name, N, least, most)                                                  \
    static inline vp__vec_##N vp__own_##name(vp__vec_##N x, vp__vec_##N y) {             \
        const vp__vec_##N squares = VP__FMA_##N(x, x, y * y);                            \
        const vp__vec_##N parts =                                                        \
            (vp__vec_##N)(((vp__bits_##N)x | (vp__bits_##N)y) & ~VP__SIGN_##N);          \
        const unsigned low =                                                             \
            VP__BEYOND_##N(-squares, -(least)) & VP__BEYOND_##N(parts, 0);               \
        const unsigned slow = low | VP__BEYOND_##N(squares, most);                       \
        vp__vec_##N z = VP__SQRT_##N(squares);                                           \
        if (__builtin_expect(slow == 0, 1)) return z;                                    \
        const vp__vec_##N other = VP__MVEC_##N(vv, hypot)(x, y);                         \
        for (size_t i = 0; i < sizeof z / sizeof z[0]; i++)                              \
            if (slow >> i & 1) z[i] = other[i];                                          \
        return z;                                                                        \
    }
VP__HYPOT(hypotf, F32, 0x1p-90f, 0x1p120f)
#if !defined __AVX512F__
VP__HYPOT(hypot, F64, 0x1p-960, 0x1p1020)
#endif
#undef VP__HYPOT

#endif
