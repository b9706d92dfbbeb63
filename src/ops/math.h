/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the math functions of float rows come from. Each is vector code that takes one
 * whole vector and gives one; math.inc runs it over blocks. On x86 with a glibc that has
 * them they are libmvec's, elsewhere libm's scalar functions, vectors of one. Replacing a
 * function is replacing its line here by one that names our own.
 *
 * All stages of one machine must take the same code for a function: libmvec's versions for
 * different vector widths differ in the last bits.
 */
#ifndef VP_OPS_MATH_H
#define VP_OPS_MATH_H

#include <math.h>

#if defined __x86_64__ && defined __GLIBC__ && __GLIBC_PREREQ(2, 35)
#define VP__LIBMVEC 1
#if defined __AVX512F__
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
#else
#define VP__LIBMVEC 0
typedef double vp__vec_F64;
typedef float vp__vec_F32;
#define VP__MVEC_F64(args, fn) fn
#define VP__MVEC_F32(args, fn) fn##f
#endif

/* The functions of one operand and of two that are taken from there. */
#define VP__MATH_UNARY(F)                                                                 \
    F(cbrt) F(exp) F(exp2) F(expm1) F(log) F(log1p) F(log2) F(log10) F(sin) F(cos) F(tan) \
    F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh)
#define VP__MATH_BINARY(F) F(pow) F(atan2) F(hypot)

#if VP__LIBMVEC
#define VP__DECLARE(f)                                                                    \
    vp__vec_F64 VP__MVEC_F64(v, f)(vp__vec_F64);                                          \
    vp__vec_F32 VP__MVEC_F32(v, f)(vp__vec_F32);
VP__MATH_UNARY(VP__DECLARE)
#undef VP__DECLARE
#define VP__DECLARE(f)                                                                    \
    vp__vec_F64 VP__MVEC_F64(vv, f)(vp__vec_F64, vp__vec_F64);                            \
    vp__vec_F32 VP__MVEC_F32(vv, f)(vp__vec_F32, vp__vec_F32);
VP__MATH_BINARY(VP__DECLARE)
#undef VP__DECLARE
#endif

#endif
