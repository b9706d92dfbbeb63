/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements: mostly small whole numbers, which meet, repeat and cancel, so that
 * comparisons and sorts have ties; sometimes the values where arithmetic is hard.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "array/dtype.h"
#include "program.h"
#include "random.h"

int64_t fuzz_count(const fuzz_instruction *in) {
    int64_t n = 1;
    for (int i = 0; i < in->ndim; i++) n *= in->dims[i];
    return n;
}

static double real_value(uint64_t *r, bool single) {
    int what = fuzz_below(r, 32);
    if (what >= 10) return (double)fuzz_between(r, -16, 16) / 4;
    if (what >= 6) return ((double)fuzz_next(r) / 0x1p64 - 0.5) * 20;
    static const double hard[] = {INFINITY, -INFINITY, 0.0,   -0.0,
                                  1e-300,   1e300,     -1e10, 0.5};
    static const double hard_single[] = {INFINITY, -INFINITY, 0.0,  -0.0,
                                         1e-42,    1e38,      -1e5, 0.5};
    if (what >= 1) return (single ? hard_single : hard)[fuzz_below(r, 8)];
    /* NaNs of both signs; what happens to their other bits is not for us to vary. */
    return fuzz_chance(r, 50) ? (double)NAN : -(double)NAN;
}

static int64_t whole_value(uint64_t *r, const fuzz_instruction *in) {
    if ((in->kind == FUZZ_FROM && in->flag) || fuzz_below(r, 12))
        return fuzz_between(r, in->low, in->high);
    static const int64_t hard[] = {INT64_MIN, INT64_MAX, 127, -128, 255, 65535, 31, 64};
    return hard[fuzz_below(r, 8)];
}

void fuzz_fill(const fuzz_instruction *in, void *values) {
    uint64_t r = in->seed;
    int64_t n = fuzz_count(in);
    int size = vp__dtype[in->dtype].size;
    char *p = values;
    for (int64_t i = 0; i < n; i++, p += size) {
        float f[2];
        double d[2];
        int64_t v;
        uint8_t b;
        switch ((vp__class)vp__dtype[in->dtype].cls) {
        case VP__CLASS_B:
            b = (uint8_t)(fuzz_next(&r) >> 63);
            memcpy(p, &b, 1);
            break;
        case VP__CLASS_S:
        case VP__CLASS_U:
            v = whole_value(&r, in);
            memcpy(p, &v, (size_t)size); /* little end first: the low bytes */
            break;
        case VP__CLASS_F:
        case VP__CLASS_C:
            d[0] = real_value(&r, vp__dtype[in->dtype].real == VP_F32);
            d[1] = vp__dtype[in->dtype].cls == VP__CLASS_C
                       ? real_value(&r, vp__dtype[in->dtype].real == VP_F32)
                       : 0;
            f[0] = (float)d[0];
            f[1] = (float)d[1];
            if (vp__dtype[in->dtype].real == VP_F32)
                memcpy(p, f, (size_t)size);
            else
                memcpy(p, d, (size_t)size);
            break;
        }
    }
}
