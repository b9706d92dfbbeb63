/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of our own float64 sine: base kernels (ops/math_trig.h) and native code
 * (jit/llvm/trig.c) do the same with them, operation by operation.
 */
#ifndef VP_OPS_SIN_CONSTANTS_H
#define VP_OPS_SIN_CONSTANTS_H

/* Multiples of pi are counted in units of 2^-64, so that what is compared with the square of
 * the remainder has the right scale. */
#define VP__SIN_WHOLE (0x1.8p52 * 0x1p-64)   /* leaves a rounded count in the low bits */
#define VP__SIN_PER_PI 0x1.45f306dc9c883p-66 /* 1 / pi */
/* The largest argument of the vector code: beside it lies a multiple of pi, so that whatever
 * is cut down to it is found doubtful. */
#define VP__SIN_LIMIT 0x1.921fb57927153p+41
/* pi in two parts. */
#define VP__PI_HIGH 0x1.921fb54442d18p+65
#define VP__PI_LOW 0x1.1a62633145c07p+11

/* Coefficients of r^3 to r^15, a minimax fit for |r| a little above pi/2 at most. Of
 * polynomials with about the same error this one gives 1 for pi/2, and so the cosine of 0. */
#define VP__SIN_3 (-0x1.5555555555494p-3)
#define VP__SIN_5 0x1.1111111109a13p-7
#define VP__SIN_7 (-0x1.a01a0199e7238p-13)
#define VP__SIN_9 0x1.71de37deaf8e2p-19
#define VP__SIN_11 (-0x1.ae6348f29e287p-26)
#define VP__SIN_13 0x1.60e4c3e9a7f35p-33
#define VP__SIN_15 (-0x1.9ed79f6e652dcp-41)

/* What native code needs of them, in the order in which a table has them for it: it loads them
 * before its loops. Numbers that are in the code itself the compiler moves about, which took an
 * eighth of the time that a sum of sines takes to compile. */
#define VP__SIN_NUMBERS                                                                  \
    {                                                                                    \
        VP__SIN_LIMIT, VP__SIN_PER_PI, VP__SIN_WHOLE, -VP__PI_HIGH, -VP__PI_LOW,         \
            VP__SIN_15, VP__SIN_13, VP__SIN_11, VP__SIN_9, VP__SIN_7, VP__SIN_5,         \
            VP__SIN_3                                                                    \
    }
enum {
    VP__SIN_AT_LIMIT,
    VP__SIN_AT_PER_PI,
    VP__SIN_AT_WHOLE,
    VP__SIN_AT_PI_HIGH, /* this and the next are negative */
    VP__SIN_AT_PI_LOW,
    VP__SIN_AT_15, /* from here on down to that of r^3 */
    VP__SIN_COUNT = VP__SIN_AT_15 + 7,
};

#endif
