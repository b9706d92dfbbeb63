/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction kernels of one instruction set: every reducing row of ops.def for every
 * element type. The tree is described in kernels.h; the templates say how each family
 * walks it: reduce_tree.inc (floats on vectors), reduce_lanes.inc (element by element),
 * reduce_free.inc (where grouping cannot matter) and reduce_arg.inc (positions).
 *
 * What must stay true: every instruction set gives the same bits, so nothing here may
 * depend on the vector width but the number of blocks or columns that go side by side.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ops/kernels_common.h"
#include "ops/reduce_simd.h"

#define VP__PASTE(a, b) a##b
#define VP__GLUE(a, b) VP__PASTE(a, b)
#define VP__PASTE3(a, b) a##_##b
#define VP__CAT(a, b) VP__PASTE3(a, b)
#define VP__ALIGNED __attribute__((aligned(64)))

/* Zero exactly for the two zeros. */
static inline uint32_t bits_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u << 1;
}
static inline uint64_t bits_f64(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u << 1;
}

#define N u8
#define E uint8_t
#define U uint8_t
#include "ops/reduce_bits.inc"

#define N u16
#define E uint16_t
#define U uint16_t
#include "ops/reduce_bits.inc"

#define N u32
#define E uint32_t
#define U uint32_t
#include "ops/reduce_bits.inc"

#define N u64
#define E uint64_t
#define U uint64_t
#include "ops/reduce_bits.inc"

#define N i8
#define E int8_t
#define U uint8_t
#define LOW INT8_MIN
#define HIGH INT8_MAX
#include "ops/reduce_integer.inc"

#define N i16
#define E int16_t
#define U uint16_t
#define LOW INT16_MIN
#define HIGH INT16_MAX
#include "ops/reduce_integer.inc"

#define N i32
#define E int32_t
#define U uint32_t
#define LOW INT32_MIN
#define HIGH INT32_MAX
#include "ops/reduce_integer.inc"

#define N i64
#define E int64_t
#define U uint64_t
#define LOW INT64_MIN
#define HIGH INT64_MAX
#include "ops/reduce_integer.inc"

#define N u8
#define E uint8_t
#define U uint8_t
#define LOW 0
#define HIGH UINT8_MAX
#include "ops/reduce_integer.inc"

#define N u16
#define E uint16_t
#define U uint16_t
#define LOW 0
#define HIGH UINT16_MAX
#include "ops/reduce_integer.inc"

#define N u32
#define E uint32_t
#define U uint32_t
#define LOW 0
#define HIGH UINT32_MAX
#include "ops/reduce_integer.inc"

#define N u64
#define E uint64_t
#define U uint64_t
#define LOW 0
#define HIGH UINT64_MAX
#include "ops/reduce_integer.inc"

#define N f32
#define E float
#define U uint32_t
#include "ops/reduce_float.inc"

#define N f64
#define E double
#define U uint64_t
#include "ops/reduce_float.inc"

#define N c64
#define E vp__c64
#define U uint32_t
#define R float
#define RN f32
#include "ops/reduce_complex.inc"

#define N c128
#define E vp__c128
#define U uint64_t
#define R double
#define RN f64
#include "ops/reduce_complex.inc"

/* The rows by name, so that a row without a kernel here does not compile. */
#define SET(op, type, name) k->reduce[VP__OP_##op][VP_##type] = op##_##name##_kernel
#define SET_ORDER(type, name)                                                            \
    SET(min, type, name);                                                                \
    SET(max, type, name);                                                                \
    SET(argmin, type, name);                                                             \
    SET(argmax, type, name)
#define SET_REST(type, name)                                                             \
    SET(sum, type, name);                                                                \
    SET(prod, type, name);                                                               \
    SET(any, type, name);                                                                \
    SET(all, type, name);                                                                \
    SET(count_nonzero, type, name)

#define FILL VP__CAT(vp__reduce_fill, VP_ISA)
void FILL(vp__kernels *k);
void FILL(vp__kernels *k) {
    SET_ORDER(BOOL, u8);
    SET_REST(BOOL, u8);
    SET_ORDER(I8, i8);
    SET_REST(I8, u8);
    SET_ORDER(I16, i16);
    SET_REST(I16, u16);
    SET_ORDER(I32, i32);
    SET_REST(I32, u32);
    SET_ORDER(I64, i64);
    SET_REST(I64, u64);
    SET_ORDER(U8, u8);
    SET_REST(U8, u8);
    SET_ORDER(U16, u16);
    SET_REST(U16, u16);
    SET_ORDER(U32, u32);
    SET_REST(U32, u32);
    SET_ORDER(U64, u64);
    SET_REST(U64, u64);
    SET_ORDER(F32, f32);
    SET_REST(F32, f32);
    SET_ORDER(F64, f64);
    SET_REST(F64, f64);
    SET_ORDER(C64, c64);
    SET_REST(C64, c64);
    SET_ORDER(C128, c128);
    SET_REST(C128, c128);
    /* A sum of truth values is their or, a product their and. */
    k->reduce[VP__OP_sum][VP_BOOL] = max_u8_kernel;
    k->reduce[VP__OP_prod][VP_BOOL] = min_u8_kernel;
}
