/* SPDX-License-Identifier: Apache-2.0
 *
 * The primitives: everything a body in ops.def may call. They are few and simple so that
 * every later stage can provide them too; what NumPy wants on top of them, the bodies
 * say. All are pure and total. "Real" is the row's type, or a complex row's component.
 *
 * VP__PRIMS lists them: PRIM(name, operands, kind, meaning), where kind is
 *   CONST    a constant, written without parentheses
 *   LANE     a few machine instructions on every CPU
 *   MATH     a function from the math code; in a float row it is what VP_CALL names
 *   COMPLEX  takes or gives complex values
 */
#ifndef VP_OPS_PRIMS_H
#define VP_OPS_PRIMS_H

/* clang-format off */
#define VP__PRIMS(PRIM)                                                                  \
    PRIM(bits,      0, CONST,   "width of the integer type")                             \
    PRIM(inf,       0, CONST,   "infinity")                                              \
    PRIM(nan,       0, CONST,   "a quiet NaN")                                           \
    PRIM(lit,       1, LANE,    "a decimal literal, rounded to the real type")           \
    PRIM(apart,     1, LANE,    "the value itself, rounded before a sum takes it")       \
    PRIM(sel,       3, LANE,    "second where the first is nonzero, else third")         \
    PRIM(min,       2, LANE,    "smaller; NaN if either is; the second of equals")       \
    PRIM(max,       2, LANE,    "larger; NaN if either is; the second of equals")        \
    PRIM(abs,       1, LANE,    "magnitude; the most negative integer stays as it is")   \
    PRIM(quot,      2, LANE,    "integer quotient towards 0; by 0 gives 0; by -1 wraps") \
    PRIM(floor,     1, LANE,    "largest whole number not above")                        \
    PRIM(ceil,      1, LANE,    "smallest whole number not below")                       \
    PRIM(trunc,     1, LANE,    "without the fraction")                                  \
    PRIM(rint,      1, LANE,    "nearest whole number, halves to even")                  \
    PRIM(nearfloor, 1, LANE,    "floor(x), plus 1 if x - floor(x) is above one half")    \
    PRIM(sqrt,      1, LANE,    "square root, correctly rounded")                        \
    PRIM(copysign,  2, LANE,    "first with the second one's sign")                      \
    PRIM(ipow,      2, MATH,    "integer power, wrapping; negative exponents truncate")  \
    PRIM(fmod,      2, MATH,    "exact remainder with the first one's sign")             \
    PRIM(pow,       2, MATH,    "as C's function")                                       \
    PRIM(atan2,     2, MATH,    "as C's function")                                       \
    PRIM(hypot,     2, MATH,    "as C's function")                                       \
    PRIM(cbrt,      1, MATH,    "as C's function")                                       \
    PRIM(exp,       1, MATH,    "as C's function")                                       \
    PRIM(exp2,      1, MATH,    "as C's function")                                       \
    PRIM(expm1,     1, MATH,    "as C's function")                                       \
    PRIM(log,       1, MATH,    "as C's function")                                       \
    PRIM(log1p,     1, MATH,    "as C's function")                                       \
    PRIM(log2,      1, MATH,    "as C's function")                                       \
    PRIM(log10,     1, MATH,    "as C's function")                                       \
    PRIM(sin,       1, MATH,    "as C's function")                                       \
    PRIM(cos,       1, MATH,    "as C's function")                                       \
    PRIM(tan,       1, MATH,    "as C's function")                                       \
    PRIM(asin,      1, MATH,    "as C's function")                                       \
    PRIM(acos,      1, MATH,    "as C's function")                                       \
    PRIM(atan,      1, MATH,    "as C's function")                                       \
    PRIM(sinh,      1, MATH,    "as C's function")                                       \
    PRIM(cosh,      1, MATH,    "as C's function")                                       \
    PRIM(tanh,      1, MATH,    "as C's function")                                       \
    PRIM(asinh,     1, MATH,    "as C's function")                                       \
    PRIM(acosh,     1, MATH,    "as C's function")                                       \
    PRIM(atanh,     1, MATH,    "as C's function")                                       \
    PRIM(cplx,      2, COMPLEX, "complex value of two real ones")                        \
    PRIM(re,        1, COMPLEX, "real part")                                             \
    PRIM(im,        1, COMPLEX, "imaginary part")                                        \
    PRIM(cmin,      2, COMPLEX, "smaller by real, then imaginary part; NaN if either is")\
    PRIM(cmax,      2, COMPLEX, "larger by real, then imaginary part; NaN if either is") \
    PRIM(cpow,      2, COMPLEX, "complex power; small whole exponents by multiplication")\
    PRIM(csign,     1, COMPLEX, "unit vector in the value's direction; 0 of 0")          \
    PRIM(cexp2,     1, COMPLEX, "two to the power of the value")                         \
    PRIM(cexpm1,    1, COMPLEX, "exponential minus one")                                 \
    PRIM(clog1p,    1, COMPLEX, "logarithm of one plus the value")                       \
    PRIM(clog2,     1, COMPLEX, "logarithm to base 2")                                   \
    PRIM(clog10,    1, COMPLEX, "logarithm to base 10")                                  \
    PRIM(csqrt,     1, COMPLEX, "as C's function")                                       \
    PRIM(cexp,      1, COMPLEX, "as C's function")                                       \
    PRIM(clog,      1, COMPLEX, "as C's function")                                       \
    PRIM(csin,      1, COMPLEX, "as C's function")                                       \
    PRIM(ccos,      1, COMPLEX, "as C's function")                                       \
    PRIM(ctan,      1, COMPLEX, "as C's function")                                       \
    PRIM(casin,     1, COMPLEX, "as C's function")                                       \
    PRIM(cacos,     1, COMPLEX, "as C's function")                                       \
    PRIM(catan,     1, COMPLEX, "as C's function")                                       \
    PRIM(csinh,     1, COMPLEX, "as C's function")                                       \
    PRIM(ccosh,     1, COMPLEX, "as C's function")                                       \
    PRIM(ctanh,     1, COMPLEX, "as C's function")                                       \
    PRIM(casinh,    1, COMPLEX, "as C's function")                                       \
    PRIM(cacosh,    1, COMPLEX, "as C's function")                                       \
    PRIM(catanh,    1, COMPLEX, "as C's function")
/* clang-format on */

#endif
