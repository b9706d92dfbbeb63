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

/* clang-format off */
/*       function, source of float64, float32, ulps of float64, float32, accurate ones */
#define VP__MATH_UNARY(F)                                                                \
    F(cbrt,  MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(exp,   OWN,   MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(exp2,  MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(expm1, MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(log,   OWN,   MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(log1p, MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(log2,  MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(log10, MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(sin,   FUSED, FUSED, LIBM, 4, 4, 1, 1)                                            \
    F(cos,   FUSED, FUSED, LIBM, 4, 4, 1, 1)                                            \
    F(tan,   MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(asin,  MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(acos,  MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(atan,  MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(sinh,  OWN,   MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(cosh,  MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(tanh,  OWN,   OWN,   LONG, 4, 4, 1, 1)                                            \
    F(asinh, MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            \
    F(acosh, MVEC,  OWN,   LONG, 4, 4, 1, 1)                                            \
    F(atanh, MVEC,  MVEC,  LONG, 4, 4, 1, 1)                                            
#define VP__MATH_BINARY(F)                                                               \
    F(pow,   OWN,   OWN,   LIBM, 4, 4, 1, 1)                                            \
    F(atan2, MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            \
    F(hypot, MVEC,  MVEC,  LIBM, 4, 4, 1, 1)                                            
/*       row, then as above for complex128 and complex64 */
#define VP__MATH_COMPLEX(F)                                                             \
    F(abs,     4, 4, 1, 1)                                                              \
    F(angle,   4, 4, 1, 1)                                                              \
    F(sign,    4, 4, 1, 1)                                                              \
    F(sqrt,    4, 4, 1, 1)                                                              \
    F(exp,     4, 4, 1, 1)                                                              \
    F(exp2,    4, 4, 1, 1)                                                              \
    F(expm1,   4, 4, 1, 1)                                                              \
    F(log,     4, 4, 1, 1)                                                              \
    F(log1p,   4, 4, 1, 1)                                                              \
    F(log2,    4, 4, 1, 1)                                                              \
    F(log10,   4, 4, 1, 1)                                                              \
    F(sin,     4, 4, 1, 1)                                                              \
    F(cos,     4, 4, 1, 1)                                                              \
    F(tan,     4, 4, 1, 1)                                                              \
    F(arcsin,  4, 4, 1, 1)                                                              \
    F(arccos,  4, 4, 1, 1)                                                              \
    F(arctan,  4, 4, 1, 1)                                                              \
    F(sinh,    4, 4, 1, 1)                                                              \
    F(cosh,    4, 4, 1, 1)                                                              \
    F(tanh,    4, 4, 1, 1)                                                              \
    F(arcsinh, 4, 4, 1, 1)                                                              \
    F(arccosh, 4, 4, 1, 1)                                                              \
    F(arctanh, 4, 4, 1, 1)                                                              \
    F(power,   4, 4, 1, 1)                                                              
/* Exact, by another way. */
#define VP__MATH_EXACT(F) F(fmod, , , , 0, 0, 0, 0)
/* clang-format on */

/* The functions by number. */
enum {
#define VP__NUMBER(fn, ...) VP__MATH_##fn,
    VP__MATH_UNARY(VP__NUMBER) VP__MATH_BINARY(VP__NUMBER) VP__MATH_EXACT(VP__NUMBER)
#undef VP__NUMBER
        VP__NMATH
};

#endif
