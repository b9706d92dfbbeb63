/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the math functions of float rows come from: one line per function says so. Each
 * is vector code that takes one whole vector and gives one; math.inc runs it over blocks.
 *
 *   MVEC  libmvec's, on x86 with a glibc that has it; elsewhere libm's, one at a time
 *   OWN   ours on AVX-512 (math_avx512.h), where libmvec's is slower than NumPy's; MVEC
 *         on other instruction sets
 *
 * All stages of one machine must take the same code for a function: versions for
 * different vector widths differ in the last bits. So these functions, all of them, are
 * the ones whose bits depend on the instruction set (VP_ISA); between any two sets results
 * were at most 4 units in the last place apart (float64 tan and arcsin; float32 cbrt, tan,
 * arcsin and arctan2), mostly 1 or 2. Every other row, complex ones among them, has the
 * same bits on every set, and fmod does because it is exact; tests/test_isa.c holds both.
 */
#ifndef VP_OPS_MATH_H
#define VP_OPS_MATH_H

#include <math.h>

/* clang-format off */
/*       function, float64, float32 */
#define VP__MATH_UNARY(F)                                                                \
    F(cbrt,  MVEC, MVEC)                                                                 \
    F(exp,   OWN,  MVEC)                                                                 \
    F(exp2,  MVEC, MVEC)                                                                 \
    F(expm1, MVEC, MVEC)                                                                 \
    F(log,   OWN,  MVEC)                                                                 \
    F(log1p, MVEC, MVEC)                                                                 \
    F(log2,  MVEC, MVEC)                                                                 \
    F(log10, MVEC, MVEC)                                                                 \
    F(sin,   MVEC, MVEC)                                                                 \
    F(cos,   MVEC, MVEC)                                                                 \
    F(tan,   MVEC, MVEC)                                                                 \
    F(asin,  MVEC, MVEC)                                                                 \
    F(acos,  MVEC, MVEC)                                                                 \
    F(atan,  MVEC, MVEC)                                                                 \
    F(sinh,  OWN,  MVEC)                                                                 \
    F(cosh,  MVEC, MVEC)                                                                 \
    F(tanh,  OWN,  OWN)                                                                  \
    F(asinh, MVEC, MVEC)                                                                 \
    F(acosh, MVEC, OWN)                                                                  \
    F(atanh, MVEC, MVEC)
#define VP__MATH_BINARY(F)                                                               \
    F(pow,   OWN,  OWN)                                                                  \
    F(atan2, MVEC, MVEC)                                                                 \
    F(hypot, MVEC, MVEC)
/* clang-format on */

#if defined __x86_64__ && defined __GLIBC__
#if __GLIBC_PREREQ(2, 35)
#define VP__LIBMVEC 1
#endif
#endif

#if !defined VP__LIBMVEC
typedef double vp__vec_F64;
typedef float vp__vec_F32;
#define VP__MVEC_F64(args, fn) (__builtin_##fn)
#define VP__MVEC_F32(args, fn) (__builtin_##fn##f)
#elif defined __AVX512F__
typedef double vp__vec_F64 __attribute__((vector_size(64)));
typedef float vp__vec_F32 __attribute__((vector_size(64)));
#define VP__MVEC_F64(args, fn) _ZGVeN8##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVeN16##args##_##fn##f
#elif defined __AVX2__
typedef double vp__vec_F64 __attribute__((vector_size(32)));
typedef float vp__vec_F32 __attribute__((vector_size(32)));
#define VP__MVEC_F64(args, fn) _ZGVdN4##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVdN8##args##_##fn##f
#else
typedef double vp__vec_F64 __attribute__((vector_size(16)));
typedef float vp__vec_F32 __attribute__((vector_size(16)));
#define VP__MVEC_F64(args, fn) _ZGVbN2##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVbN4##args##_##fn##f
#endif

#if defined VP__LIBMVEC
#define VP__DECLARE(fn, from64, from32)                                                  \
    vp__vec_F64 VP__MVEC_F64(v, fn)(vp__vec_F64);                                        \
    vp__vec_F32 VP__MVEC_F32(v, fn)(vp__vec_F32);
VP__MATH_UNARY(VP__DECLARE)
#undef VP__DECLARE
#define VP__DECLARE(fn, from64, from32)                                                  \
    vp__vec_F64 VP__MVEC_F64(vv, fn)(vp__vec_F64, vp__vec_F64);                          \
    vp__vec_F32 VP__MVEC_F32(vv, fn)(vp__vec_F32, vp__vec_F32);
VP__MATH_BINARY(VP__DECLARE)
#undef VP__DECLARE
#endif

#if defined VP__LIBMVEC && defined __AVX512F__ && defined __AVX512DQ__
#include "ops/math_pow_avx512.h"
#define VP__OWN_F64(args, fn) vp__own_##fn
#define VP__OWN_F32(args, fn) vp__own_##fn##f
#else
#define VP__OWN_F64(args, fn) VP__MVEC_F64(args, fn)
#define VP__OWN_F32(args, fn) VP__MVEC_F32(args, fn)
#endif

/* The function's vector code for one type. */
#define VP__VECTOR_F64(from64, from32, args, fn) VP__##from64##_F64(args, fn)
#define VP__VECTOR_F32(from64, from32, args, fn) VP__##from32##_F32(args, fn)

#endif
