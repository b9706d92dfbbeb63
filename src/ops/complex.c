/* SPDX-License-Identifier: Apache-2.0
 *
 * Complex functions computed one precision wider than their results: complex64 in double,
 * complex128 in long double. Accurate mode takes all of them; the default mode takes those
 * whose libm functions lose more than 4 units in the last place, and our own.
 */
#include "ops/complex.h"

#include <complex.h>
#include <math.h>

typedef double _Complex wide_C64;
typedef long double _Complex wide_C128;

static wide_C64 widen_C64(vp__c64 x) {
    return __extension__ __builtin_complex((double)x.re, (double)x.im);
}
static wide_C128 widen_C128(vp__c128 x) {
    return __extension__ __builtin_complex((long double)x.re, (long double)x.im);
}
static vp__c64 narrow_C64(wide_C64 z) {
    return (vp__c64){(float)creal(z), (float)cimag(z)};
}
static vp__c128 narrow_C128(wide_C128 z) {
    return (vp__c128){(double)creall(z), (double)cimagl(z)};
}

#define WIDE(fn)                                                                         \
    vp__c64 vp__wide_##fn##_C64(vp__c64 x) { return narrow_C64(fn(widen_C64(x))); }      \
    vp__c128 vp__wide_##fn##_C128(vp__c128 x) {                                          \
        return narrow_C128(fn##l(widen_C128(x)));                                        \
    }
VP__COMPLEX_LIBM(WIDE)

/* Logarithms to other bases. */
vp__c64 vp__wide_clog2_C64(vp__c64 x) {
    return narrow_C64(clog(widen_C64(x)) * 1.442695040888963407360);
}
vp__c128 vp__wide_clog2_C128(vp__c128 x) {
    return narrow_C128(clogl(widen_C128(x)) * 1.44269504088896340735992468100189214L);
}
vp__c64 vp__wide_clog10_C64(vp__c64 x) {
    return narrow_C64(clog(widen_C64(x)) * 0.434294481903251827651);
}
vp__c128 vp__wide_clog10_C128(vp__c128 x) {
    return narrow_C128(clogl(widen_C128(x)) * 0.434294481903251827651128918916605082L);
}

/* exp(x) cos(y) - 1 as expm1(x) cos(y) - 2 sin(y/2)^2: what cancels there is small beside
 * the imaginary part. */
vp__c64 vp__wide_cexpm1_C64(vp__c64 x) {
    const double re = (double)x.re, im = (double)x.im, half = sin(im / 2);
    return (vp__c64){(float)(expm1(re) * cos(im) - 2 * (half * half)),
                     (float)(exp(re) * sin(im))};
}
vp__c128 vp__wide_cexpm1_C128(vp__c128 x) {
    const long double re = (long double)x.re, im = (long double)x.im, half = sinl(im / 2);
    return (vp__c128){(double)(expm1l(re) * cosl(im) - 2 * (half * half)),
                      (double)(expl(re) * sinl(im))};
}

/* Near 0 the magnitude's logarithm is half that of 1 + 2x + x^2 + y^2; what cancels there
 * is small beside the imaginary part. Elsewhere 1 + x loses nothing that matters. */
static wide_C128 log1p_wide(long double x, long double y) {
    if (fabsl(x) < 0.5L && fabsl(y) < 0.5L)
        return __extension__ __builtin_complex(log1pl(x * (2 + x) + y * y) / 2,
                                               atan2l(y, 1 + x));
    return clogl(__extension__ __builtin_complex(1 + x, y));
}
vp__c64 vp__wide_clog1p_C64(vp__c64 x) {
    const wide_C128 z = log1p_wide((long double)x.re, (long double)x.im);
    return (vp__c64){(float)creall(z), (float)cimagl(z)};
}
vp__c128 vp__wide_clog1p_C128(vp__c128 x) {
    return narrow_C128(log1p_wide((long double)x.re, (long double)x.im));
}

/* The unit vector in x's direction; that of an infinite component alone if there is one. */
vp__c128 vp__wide_csign_C128(vp__c128 x) {
    const long double re = (long double)x.re, im = (long double)x.im;
    const long double length = hypotl(re, im);
    if (length == 0) return (vp__c128){0, 0};
    if (isfinite(length)) return (vp__c128){(double)(re / length), (double)(im / length)};
    if (isnan(length) || (isinf(re) && isinf(im))) return (vp__c128){NAN, NAN};
    return isinf(re) ? (vp__c128){copysign(1, x.re), 0}
                     : (vp__c128){0, copysign(1, x.im)};
}
vp__c64 vp__wide_csign_C64(vp__c64 x) {
    const vp__c128 s = vp__wide_csign_C128((vp__c128){(double)x.re, (double)x.im});
    return (vp__c64){(float)s.re, (float)s.im};
}

/* Powers of two. Their angle in turns is y ln 2 / (2 pi), of which the whole turns must be
 * dropped before anything is rounded: these are the binary digits of ln 2 / (2 pi). */
static const uint64_t turns[] = {
    0x1c3dc98f7e969bbb, 0x2d82160b957fbcf7, 0x6384efb34752570d, 0x875c804ebaa7e3f2,
    0x9dba19bf26d22f92, 0x057d72dbf62fb884, 0x40e536cc0835bad4, 0x8c3fea6ba432f1cd,
    0x544d633b59f036cf, 0x1243456f76468a7d, 0x5a0900abd7a3e708, 0xeffc572f1c7c17fb,
    0x7f82ec188aa323d9, 0xdcc271169d408a0a, 0xbab43090d71549ee, 0xdd67cd178b418a3a,
    0x2c6958e894f98a46, 0x3a97ff6afab0351e, 0x73fb6c6dbf1e2d0e, 0x68cce897f71def8c,
    0x5645aa7efd59ef48,
};
enum { NTURNS = sizeof turns / sizeof turns[0] };

/* 64 of those digits from position `at` on; zeros before and after them. */
static uint64_t digits_from(int at) {
    const int word = at >= 0 ? at / 64 : -((63 - at) / 64), shift = at - word * 64;
    const uint64_t here = word >= 0 && word < NTURNS ? turns[word] : 0;
    const uint64_t next = word + 1 >= 0 && word + 1 < NTURNS ? turns[word + 1] : 0;
    return shift ? here << shift | next >> (64 - shift) : here;
}

/* y ln 2, less whole turns. */
static long double exp2_angle(double y) {
    if (fabs(y) < 1) return (long double)y * 0.693147180559945309417232121458176568L;
    __extension__ typedef unsigned __int128 wide;
    int exponent;
    const uint64_t digits = (uint64_t)(frexp(fabs(y), &exponent) * 0x1p53);
    exponent -= 53;
    /* The fraction of digits * (turns << exponent), to 128 bits and some. */
    const wide low = (wide)digits * digits_from(exponent + 128) >> 64;
    const wide middle = (wide)digits * digits_from(exponent + 64) + low;
    const uint64_t high = digits * digits_from(exponent) + (uint64_t)(middle >> 64);
    const long double turn =
        (long double)(int64_t)high * 0x1p-64L + (long double)(uint64_t)middle * 0x1p-128L;
    const long double angle = turn * 6.28318530717958647692528676655900577L;
    return y < 0 ? -angle : angle;
}

vp__c128 vp__wide_cexp2_C128(vp__c128 x) {
    if (!isfinite(x.re) || !isfinite(x.im) || x.im == 0) /* C99 has a list for exp */
        return narrow_C128(
            cexpl(widen_C128(x) * 0.693147180559945309417232121458176568L));
    const long double norm = exp2l((long double)x.re), angle = exp2_angle(x.im);
    return (vp__c128){(double)(norm * cosl(angle)), (double)(norm * sinl(angle))};
}
vp__c64 vp__wide_cexp2_C64(vp__c64 x) {
    const vp__c128 z = vp__wide_cexp2_C128((vp__c128){(double)x.re, (double)x.im});
    return (vp__c64){(float)z.re, (float)z.im};
}

/* ---- powers ---- */

#if defined __x86_64__ && defined __GLIBC__
/* 113 bits, for exponents whose product with the logarithm is large: its absolute error
 * is the result's relative one. */
__extension__ typedef _Complex float quad __attribute__((mode(TC)));
quad cpowf128(quad, quad);
static wide_C128 power_of(wide_C128 x, wide_C128 y) {
    const long double reach = cabsl(y) * cabsl(clogl(x));
    return reach < 64 ? cpowl(x, y) : (wide_C128)cpowf128((quad)x, (quad)y);
}
#else
static wide_C128 power_of(wide_C128 x, wide_C128 y) { return cpowl(x, y); }
#endif

/* The product as schools teach it and NumPy computes it: unlike C's it makes a NaN of two
 * infinities that cancel. */
static wide_C128 times(wide_C128 x, wide_C128 y) {
    return __extension__ __builtin_complex(creall(x) * creall(y) - cimagl(x) * cimagl(y),
                                           creall(x) * cimagl(y) + cimagl(x) * creall(y));
}

/* x^n for n > 0, exact where x and the result are whole numbers. The product begins with its
 * first factor: times 1 + 0i, an infinity would become NaN. */
static wide_C128 power_whole(wide_C128 x, int n) {
    for (; !(n & 1); n >>= 1) x = times(x, x);
    wide_C128 product = x;
    while (n >>= 1) {
        x = times(x, x);
        if (n & 1) product = times(product, x);
    }
    return product;
}

/* Smith's division: unlike C's it makes a NaN of one. */
static wide_C128 one_over(wide_C128 x) {
    const long double re = creall(x), im = cimagl(x);
    const bool wide = fabsl(re) >= fabsl(im);
    const long double ratio = wide ? im / re : re / im;
    const long double scale = 1 / (wide ? re + im * ratio : im + re * ratio);
    return wide ? __extension__ __builtin_complex(scale, -ratio * scale)
                : __extension__ __builtin_complex(ratio * scale, -scale);
}

/* Exponents 0, those with a positive real part of base 0, and whole ones below 100 are
 * worked out as NumPy does, which keeps small powers exact. */
vp__c128 vp__wide_cpow_C128(vp__c128 x, vp__c128 y) {
    if (y.re == 0 && y.im == 0) return (vp__c128){1, 0};
    if (x.re == 0 && x.im == 0) return y.re > 0 ? (vp__c128){0, 0} : (vp__c128){NAN, NAN};
    if (y.im == 0 && fabs(y.re) < 100 && y.re == trunc(y.re)) {
        wide_C128 z = power_whole(widen_C128(x), (int)fabs(y.re));
        if (y.re < 0) z = one_over(z);
        /* A NaN that comes of an overflow on the way is none. */
        const bool lost = isnan(creall(z)) || isnan(cimagl(z));
        if (!lost || !isfinite(x.re) || !isfinite(x.im)) return narrow_C128(z);
    }
    return narrow_C128(power_of(widen_C128(x), widen_C128(y)));
}
vp__c64 vp__wide_cpow_C64(vp__c64 x, vp__c64 y) {
    const vp__c128 z = vp__wide_cpow_C128((vp__c128){(double)x.re, (double)x.im},
                                          (vp__c128){(double)y.re, (double)y.im});
    return (vp__c64){(float)z.re, (float)z.im};
}
