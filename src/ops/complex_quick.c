/* SPDX-License-Identifier: Apache-2.0
 *
 * Complex functions of complex128 for the default mode, where libm's are more than 4 units
 * in the last place off: libm's real functions of double, put together in long double, so
 * that their own errors are nearly all there is. Infinities, NaN and what else C99 has a
 * list for go to libm's complex functions.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>

#include "ops/complex.h"

static double _Complex std(vp__c128 x) {
    return __extension__ __builtin_complex(x.re, x.im);
}
static vp__c128 of_std(double _Complex z) { return (vp__c128){creal(z), cimag(z)}; }
static bool is_finite(vp__c128 x) { return isfinite(x.re) && isfinite(x.im); }

/* With u = exp(2x) - 1, s = sin y and c = cos y, for x >= 0: real part u (u + 2),
 * imaginary part 4 (1 + u) s c, both over u^2 + 4 (1 + u) c^2, where nothing cancels. */
vp__c128 vp__quick_ctanh_C128(vp__c128 x) {
    if (!is_finite(x)) return of_std(ctanh(std(x)));
    const double a = fabs(x.re);
    double s, c;
    sincos(x.im, &s, &c);
    const long double both = (long double)s * c;
    if (a > 22) /* 1 to all digits */
        return (vp__c128){copysign(1, x.re),
                          (double)(4 * both * (long double)exp(-2 * a))};
    const long double u = (long double)expm1(2 * a);
    const long double norm = u * u + 4 * (1 + u) * ((long double)c * c);
    return (vp__c128){copysign((double)(u * (u + 2) / norm), x.re),
                      (double)(4 * (1 + u) * both / norm)};
}

/* f(x) = -i g(i x) */
vp__c128 vp__quick_ctan_C128(vp__c128 x) {
    const vp__c128 z = vp__quick_ctanh_C128((vp__c128){-x.im, x.re});
    return (vp__c128){z.im, -z.re};
}

/* A quarter of log(1 + 4x / ((1 - x)^2 + y^2)), for x >= 0, and half the angle of
 * (1 - x^2 - y^2, 2y). */
vp__c128 vp__quick_catanh_C128(vp__c128 x) {
    if (!is_finite(x)) return of_std(catanh(std(x)));
    const long double a = fabsl((long double)x.re), y = (long double)x.im;
    const long double norm = (1 - a) * (1 - a) + y * y, ratio = 4 * a / norm;
    const double re = ratio < 0x1p1000L ? log1p((double)ratio) : (double)logl(ratio);
    const long double across = (1 - a) * (1 + a) - y * y;
    /* Both scaled down where they could not be doubles. */
    const long double scale = norm > 0x1p900L ? 0x1p-1200L : 1;
    return (vp__c128){copysign(re / 4, x.re),
                      atan2((double)(2 * y * scale), (double)(across * scale)) / 2};
}

vp__c128 vp__quick_catan_C128(vp__c128 x) {
    const vp__c128 z = vp__quick_catanh_C128((vp__c128){-x.im, x.re});
    return (vp__c128){z.im, -z.re};
}

/* The angle in two parts: sine and cosine of the first, turned by the second. */
vp__c128 vp__quick_cexp2_C128(vp__c128 x) {
    if (!(fabs(x.im) < 64) || !(fabs(x.re) < 1000)) return vp__wide_cexp2_C128(x);
    const long double angle = (long double)x.im * 0.693147180559945309417232121458176568L;
    const double first = (double)angle, rest = (double)(angle - (long double)first);
    double s, c;
    sincos(first, &s, &c);
    const double norm = exp2(x.re);
    return (vp__c128){norm * (c - s * rest), norm * (s + c * rest)};
}

/* As the wide one; far out 1 + x may be rounded. */
vp__c128 vp__quick_clog1p_C128(vp__c128 x) {
    if (fabs(x.re) > 4 || fabs(x.im) > 4)
        return of_std(clog(std((vp__c128){1 + x.re, x.im})));
    if (!(fabs(x.re) < 0.5 && fabs(x.im) < 0.5)) return vp__wide_clog1p_C128(x);
    const long double re = (long double)x.re, im = (long double)x.im;
    return (vp__c128){log1p((double)(re * (2 + re) + im * im)) / 2,
                      atan2(x.im, 1 + x.re)};
}
