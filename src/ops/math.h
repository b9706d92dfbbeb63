/* SPDX-License-Identifier: Apache-2.0
 *
 * The math functions: where they come from, and how accurate they are. docs/accuracy.md is
 * made of this table, and tests/accuracy measures every figure in it.
 *
 * Sources of the default mode, VP_MATH=fast, for float64 and float32. Each is vector code
 * that takes one whole vector and gives one; math.inc runs it over blocks.
 *
 *   MVEC   libmvec's, on x86 with a glibc that has it; elsewhere libm's, one at a time
 *   OWN    ours on AVX-512 (math_avx512.h, math_f32_avx512.h), where libmvec's is slower
 *          than NumPy's or SLEEF's; MVEC on other instruction sets
 *   FUSED  ours where there is fused multiply-add, that is on AVX-512 and AVX2
 *          (math_trig.h, math_arc.h, math_root.h); MVEC on baseline
 *
 * Sources of accurate mode, lane by lane: LIBM libm's function of double, where that is
 * good to 1 unit in the last place everywhere; LONG its function of long double; float32
 * always through double.
 *
 * Bounds: the largest error in units in the last place, over all arguments and whatever
 * the instruction set, of float64 and float32 (or complex128 and complex64), by default
 * and in accurate mode. They may not exceed 4 and 1. A complex result's error is its
 * distance from the exact one, in units of the exact one's magnitude. A power's bound
 * holds while exponent times logarithm of the base stays below 2^50 in magnitude.
 *
 * All stages of one machine must take the same code for a function: versions for
 * different vector widths differ in the last bits. So these functions of floats, all of
 * them, are the ones whose bits depend on the instruction set (VP_ISA) by default. Every
 * other row, complex ones among them, has the same bits on every set, and fmod does
 * because it is exact; in accurate mode all do. tests/test_isa.c holds that.
 */
#ifndef VP_OPS_MATH_H
#define VP_OPS_MATH_H

#include <limits.h> /* any header of the C library says whether it is glibc */

#if defined __x86_64__ && defined __GLIBC__
#if __GLIBC_PREREQ(2, 35)
#define VP__LIBMVEC 1
#endif
#endif

/* clang-format off */
/*    function, sources: 64, 32, accurate; bounds: 64, 32, accurate 64, 32 */
#define VP__MATH_UNARY(F)                                                                \
    F(cbrt,  MVEC,  FUSED, LONG, 2.9, 3.1, 0.55, 0.55)                                   \
    F(exp,   OWN,   OWN,   LIBM, 3,   3.1, 0.55, 0.55)                                   \
    F(exp2,  MVEC,  OWN,   LIBM, 1.8, 1.2, 0.55, 0.55)                                   \
    F(expm1, MVEC,  MVEC,  LONG, 3.1, 2.3, 0.55, 0.55)                                   \
    F(log,   OWN,   OWN,   LIBM, 1.7, 4,   0.55, 0.55)                                   \
    F(log1p, MVEC,  MVEC,  LONG, 2,   2,   0.55, 0.55)                                   \
    F(log2,  MVEC,  MVEC,  LIBM, 1.9, 2.2, 0.55, 0.55)                                   \
    F(log10, MVEC,  MVEC,  LONG, 2,   3.4, 0.55, 0.55)                                   \
    F(sin,   FUSED, FUSED, LIBM, 3.4, 2.2, 0.55, 0.55)                                   \
    F(cos,   FUSED, FUSED, LIBM, 3.6, 2.2, 0.6,  0.55)                                   \
    F(tan,   MVEC,  OWN,   LIBM, 3.5, 3.5, 0.75, 0.55)                                   \
    F(asin,  FUSED, FUSED, LIBM, 2.8, 3.2, 0.55, 0.55)                                   \
    F(acos,  FUSED, FUSED, LIBM, 2,   2.4, 0.55, 0.55)                                   \
    F(atan,  MVEC,  OWN,   LIBM, 2.6, 2.3, 0.55, 0.55)                                   \
    F(sinh,  OWN,   MVEC,  LONG, 2.7, 2.1, 0.55, 0.55)                                   \
    F(cosh,  MVEC,  MVEC,  LONG, 2.1, 2.1, 0.55, 0.55)                                   \
    F(tanh,  OWN,   OWN,   LONG, 3,   2.5, 0.55, 0.55)                                   \
    F(asinh, MVEC,  MVEC,  LONG, 2.8, 2.2, 0.55, 0.55)                                   \
    F(acosh, MVEC,  OWN,   LONG, 2.8, 2.9, 0.55, 0.55)                                   \
    F(atanh, MVEC,  MVEC,  LONG, 2.2, 2.1, 0.55, 0.55)
#define VP__MATH_BINARY(F)                                                               \
    F(pow,   OWN,   OWN,   LIBM, 1.7, 1.9, 0.55, 0.55)                                   \
    F(atan2, MVEC,  OWN,   LIBM, 2.3, 3.3, 0.55, 0.55)                                   \
    F(hypot, FUSED, FUSED, LIBM, 2.1, 1.5, 0.8,  0.55)
/*    row of ops.def, bounds: 128, 64, accurate 128, 64 */
#define VP__MATH_COMPLEX(F)                                                              \
    F(abs,     1.4, 0.6, 0.6,  0.55)                                                     \
    F(angle,   0.6, 1.4, 0.55, 0.55)                                                     \
    F(sign,    0.8, 0.8, 0.75, 0.75)                                                     \
    F(sqrt,    1.9, 1.7, 0.75, 0.75)                                                     \
    F(exp,     1.8, 2,   0.75, 0.75)                                                     \
    F(exp2,    2.1, 0.8, 0.75, 0.75)                                                     \
    F(expm1,   2.6, 2.6, 0.75, 0.75)                                                     \
    F(log,     2.4, 3,   0.75, 0.75)                                                     \
    F(log1p,   2.8, 0.8, 0.75, 0.75)                                                     \
    F(log2,    3.3, 2.9, 0.75, 0.75)                                                     \
    F(log10,   3,   3.5, 0.75, 0.75)                                                     \
    F(sin,     2.5, 2.3, 0.75, 0.75)                                                     \
    F(cos,     2.1, 2.2, 0.75, 0.75)                                                     \
    F(tan,     2.2, 0.8, 0.75, 0.75)                                                     \
    F(arcsin,  3.8, 3.8, 0.75, 0.75)                                                     \
    F(arccos,  3.7, 3.2, 0.75, 0.75)                                                     \
    F(arctan,  1.6, 0.8, 0.75, 0.75)                                                     \
    F(sinh,    2.3, 2.3, 0.75, 0.75)                                                     \
    F(cosh,    2.4, 2.3, 0.75, 0.75)                                                     \
    F(tanh,    2.4, 0.8, 0.75, 0.75)                                                     \
    F(arcsinh, 3.6, 3.6, 0.75, 0.75)                                                     \
    F(arccosh, 3.1, 2.9, 0.75, 0.75)                                                     \
    F(arctanh, 1.6, 0.8, 0.75, 0.75)                                                     \
    F(power,   0.8, 0.8, 0.75, 0.75)
/* clang-format on */

#endif
