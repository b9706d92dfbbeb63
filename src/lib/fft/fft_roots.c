/* SPDX-License-Identifier: Apache-2.0
 *
 * Roots of unity. An angle is reduced to the first eighth of the circle with integers, so
 * that symmetric roots are exactly symmetric, and 1, i and their like exact. In there,
 * a root is the product of a coarse and a fine one, both from the long double functions of
 * libm: a table of n roots takes about 2 sqrt(n) calls, and rounding the product to double
 * gives the nearest double but for one in a thousand or so.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/fft/fft.h"

static const long double QUARTER_PI = 0.785398163397448309615660845819875721L;

/* The table's unit of angle is an eighth of the circle over n: k/n of the circle is unit
 * 8k mod n of eighth 8k / n. */
bool vp__fft_roots_init(vp__fft_roots *r, int64_t n) {
    r->n = n;
    r->shift = 0;
    while (INT64_C(1) << 2 * r->shift < n) r->shift++;
    int64_t low = INT64_C(1) << r->shift, high = (n >> r->shift) + 1;
    r->low = malloc((size_t)(low + high) * 2 * sizeof(long double));
    if (!r->low) return false;
    r->high = r->low + 2 * low;
    for (int64_t i = 0; i < low + high; i++) {
        int64_t units = i < low ? i : (i - low) << r->shift;
        long double angle = QUARTER_PI * (long double)units / (long double)n;
        r->low[2 * i] = cosl(angle);
        r->low[2 * i + 1] = sinl(angle);
    }
    return true;
}

void vp__fft_roots_deinit(vp__fft_roots *r) { free(r->low); }

void vp__fft_roots_get(const vp__fft_roots *r, int64_t k, long double *re,
                       long double *im) {
    int64_t eighth = 0, unit = 8 * k;
    while (unit >= r->n) {
        unit -= r->n;
        eighth++;
    }
    /* Every other eighth runs backwards, so that both ends of all are the table's. */
    if (eighth & 1) unit = r->n - unit;
    const long double *high = r->high + 2 * (unit >> r->shift);
    const long double *low = r->low + 2 * (unit & ((INT64_C(1) << r->shift) - 1));
    long double c = high[0] * low[0] - high[1] * low[1];
    long double s = high[0] * low[1] + high[1] * low[0];
    if (unit == r->n) c = s = sqrtl(0.5L);
    if (((eighth + 1) & 3) >= 2) {
        long double t = c;
        c = s;
        s = t;
    }
    if (eighth >= 2 && eighth < 6) c = -c;
    if (eighth >= 4) s = -s;
    *re = c;
    *im = -s;
}
