/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loop of the built-in matrix product, compiled once per instruction set: rows
 * of a pass over a panel of b that stays in L1, a few at a time, their sums in registers.
 *
 * A sum runs over the depth in order, one multiplication and one addition at a time, so
 * its bits depend neither on the instruction set nor on how the product is cut.
 */
#include "lib/loops.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* As many rows as the sums of two vectors each leave registers for. */
#if defined(__AVX512F__)
enum { VEC = 64, ROWS = 8 };
#elif defined(__AVX2__)
enum { VEC = 32, ROWS = 4 };
#else
enum { VEC = 16, ROWS = 4 };
#endif

#define MULTIPLY(sum, a, b) ((sum) + (a) * (b))
#define AND_OR(sum, a, b) ((sum) | ((a) & (b)))

#define REAL uint8_t
#define NAME(x) x##_bool
#define COMPLEX 0
#define TERM AND_OR
#include "lib/product/product_tile.inc"

#define REAL uint8_t
#define NAME(x) x##_u8
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL uint16_t
#define NAME(x) x##_u16
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL uint32_t
#define NAME(x) x##_u32
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL uint64_t
#define NAME(x) x##_u64
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL float
#define NAME(x) x##_f32
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL double
#define NAME(x) x##_f64
#define COMPLEX 0
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL float
#define NAME(x) x##_c64
#define COMPLEX 1
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

#define REAL double
#define NAME(x) x##_c128
#define COMPLEX 1
#define TERM MULTIPLY
#include "lib/product/product_tile.inc"

const vp__product_fn VP__LOOPS(vp__loops_product)[VP__NDTYPES] = {
    [VP_BOOL] = product_bool, [VP_I8] = product_u8,   [VP_U8] = product_u8,
    [VP_I16] = product_u16,   [VP_U16] = product_u16, [VP_I32] = product_u32,
    [VP_U32] = product_u32,   [VP_I64] = product_u64, [VP_U64] = product_u64,
    [VP_F32] = product_f32,   [VP_F64] = product_f64, [VP_C64] = product_c64,
    [VP_C128] = product_c128,
};
