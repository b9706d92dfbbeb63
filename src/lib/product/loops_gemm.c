/* SPDX-License-Identifier: Apache-2.0
 *
 * The innermost loop of large matrix products: a tile of sums in registers, each term a
 * fused multiply-add. Where the instruction set has none there is no such loop.
 *
 * The additions are spelled out, because a compiler is free to exchange operands, and which
 * of two NaNs a result shows depends on their order: a tile's bits must be the same in all
 * its widths.
 */
#include "lib/loops.h"

#if defined __FMA__ && (defined __GNUC__ || defined __clang__)

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

/* As many sums as leave registers for the vectors of one term. */
#if defined __AVX512F__
enum { VEC = 64, ROWS = 8, VECTORS = 3 };
#define SAME_F64(x) _mm512_set1_pd(x)
#define SAME_F32(x) _mm512_set1_ps(x)
#define REGISTER "v"
#else
enum { VEC = 32, ROWS = 4, VECTORS = 3 };
#define SAME_F64(x) _mm256_set1_pd(x)
#define SAME_F32(x) _mm256_set1_ps(x)
#define REGISTER "x"
#endif

#define REAL double
#define NAME(x) x##_f64
#define SUFFIX "pd"
#define SAME SAME_F64
#include "lib/product/gemm_tile.inc"

#define REAL float
#define NAME(x) x##_f32
#define SUFFIX "ps"
#define SAME SAME_F32
#include "lib/product/gemm_tile.inc"

const vp__gemm_loop VP__LOOPS(vp__loops_gemm)[2] = {
    {VEC / sizeof(float), ROWS, VECTORS *VEC / sizeof(float), tile_f32},
    {VEC / sizeof(double), ROWS, VECTORS *VEC / sizeof(double), tile_f64},
};

#else

const vp__gemm_loop VP__LOOPS(vp__loops_gemm)[2] = {{0}, {0}};

#endif
