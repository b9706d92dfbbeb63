/* SPDX-License-Identifier: Apache-2.0
 *
 * What vector math code needs beyond C's operators on vectors, for the three x86 vector
 * widths: fused multiply-add where there is one, which lanes are beyond a limit, and
 * recomputing single lanes with a scalar function.
 */
#ifndef VP_OPS_MATH_LANES_H
#define VP_OPS_MATH_LANES_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "ops/kernels_common.h"

#if defined __AVX512F__
#define VP__VECTOR_BYTES 64
#define VP__FMA_F64(x, y, z) ((vp__vec_F64)_mm512_fmadd_pd(x, y, z))
#define VP__FMA_F32(x, y, z) ((vp__vec_F32)_mm512_fmadd_ps(x, y, z))
/* Bit i is set where lane i of x is above `limit` or NaN. */
#define VP__BEYOND_F64(x, limit)                                                         \
    ((unsigned)_mm512_cmp_pd_mask(x, _mm512_set1_pd(limit), _CMP_NLE_UQ))
#define VP__BEYOND_F32(x, limit)                                                         \
    ((unsigned)_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_NLE_UQ))
/* a where x is below y, else b. */
#define VP__SELECT_F64(x, y, a, b)                                                       \
    ((vp__vec_F64)_mm512_mask_mov_pd(b, _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ), a))
#define VP__SELECT_F32(x, y, a, b)                                                       \
    ((vp__vec_F32)_mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), a))
#define VP__SQRT_F64(x) ((vp__vec_F64)_mm512_sqrt_pd(x))
#define VP__SQRT_F32(x) ((vp__vec_F32)_mm512_sqrt_ps(x))
/* Bit i is set where x is below y in lane i. */
#define VP__BELOW_F64(x, y) ((unsigned)_mm512_cmp_pd_mask(x, y, _CMP_LT_OQ))
/* z, which is 2^-12, and x y rounded down to a multiple of 2^-64; x y is 0 to 2^-12. */
#define VP__FMA_DOWN_F64(x, y, z)                                                        \
    ((vp__vec_F64)_mm512_fmadd_round_pd(x, y, z,                                         \
                                        _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
/* The smaller of |x| and limit; limit for NaN. */
#define VP__CAPPED_F64(x, limit)                                                         \
    ((vp__vec_F64)_mm512_range_pd(x, _mm512_set1_pd(limit), 0x0a))
#elif defined __AVX2__
#define VP__VECTOR_BYTES 32
#define VP__FMA_F64(x, y, z) ((vp__vec_F64)_mm256_fmadd_pd(x, y, z))
#define VP__FMA_F32(x, y, z) ((vp__vec_F32)_mm256_fmadd_ps(x, y, z))
#define VP__BEYOND_F64(x, limit)                                                         \
    ((unsigned)_mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_set1_pd(limit), _CMP_NLE_UQ)))
#define VP__BEYOND_F32(x, limit)                                                         \
    ((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_NLE_UQ)))
#define VP__SELECT_F64(x, y, a, b)                                                       \
    ((vp__vec_F64)_mm256_blendv_pd(b, a, _mm256_cmp_pd(x, y, _CMP_LT_OQ)))
#define VP__SELECT_F32(x, y, a, b)                                                       \
    ((vp__vec_F32)_mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ)))
#define VP__SQRT_F64(x) ((vp__vec_F64)_mm256_sqrt_pd(x))
#define VP__SQRT_F32(x) ((vp__vec_F32)_mm256_sqrt_ps(x))
#define VP__BELOW_F64(x, y)                                                              \
    ((unsigned)_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_LT_OQ)))
#define VP__FMA_DOWN_F64(x, y, z)                                                        \
    VP__FMA_F64(_mm256_floor_pd((x) * ((y)*0x1p64)), VP__ALL_F64(0x1p-64), z)
#define VP__CAPPED_F64(x, limit)                                                         \
    ((vp__vec_F64)_mm256_min_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), x),               \
                                _mm256_set1_pd(limit)))
#else
#define VP__VECTOR_BYTES 16
#define VP__BEYOND_F64(x, limit)                                                         \
    ((unsigned)_mm_movemask_pd(_mm_cmpnle_pd(x, _mm_set1_pd(limit))))
#define VP__BEYOND_F32(x, limit)                                                         \
    ((unsigned)_mm_movemask_ps(_mm_cmpnle_ps(x, _mm_set1_ps(limit))))
#endif

typedef double vp__vec_F64 __attribute__((vector_size(VP__VECTOR_BYTES)));
typedef float vp__vec_F32 __attribute__((vector_size(VP__VECTOR_BYTES)));
typedef uint64_t vp__bits_F64 __attribute__((vector_size(VP__VECTOR_BYTES)));
typedef uint32_t vp__bits_F32 __attribute__((vector_size(VP__VECTOR_BYTES)));

/* The same value in every lane. */
#define VP__ALL_F64(x) ((vp__vec_F64){0} + (x))
#define VP__ALL_F32(x) ((vp__vec_F32){0} + (x))
/* Not every file that includes this needs everything in it. */
#define VP__SPARE __attribute__((unused))

#define VP__SIGN_F64 (UINT64_C(1) << 63)
#define VP__SIGN_F32 (UINT32_C(1) << 31)

/* y with f(x), or f(x, x2), in the lanes of `which`. Out of line: the rare way. */
static VP__SPARE VP__NOINLINE vp__vec_F64 vp__patch_F64(vp__vec_F64 x, vp__vec_F64 y,
                                                        unsigned which,
                                                        double (*f)(double)) {
    for (; which; which &= which - 1) {
        const int i = __builtin_ctz(which);
        y[i] = f(x[i]);
    }
    return y;
}

#endif
