/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements to measure with. A float32 element is drawn as the double of the same value.
 */
#include <math.h>
#include <string.h>

#include "tests/accuracy/accuracy.h"

uint64_t draw_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static double unit(uint64_t *state) { return (double)(draw_bits(state) >> 11) * 0x1p-53; }

/* Any bits. */
static double draw_any(uint64_t *state, bool single) {
    const uint64_t bits = draw_bits(state);
    if (single) {
        const uint32_t half = (uint32_t)(bits >> 32);
        float f;
        memcpy(&f, &half, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

double draw_near(uint64_t *state, double x, bool single) {
    const int width = (int)(draw_bits(state) >> 40) % (single ? 16 : 40);
    const int64_t by =
        (int64_t)(draw_bits(state) >> (63 - width)) - (INT64_C(1) << width);
    if (single) {
        const float f = (float)x;
        int32_t bits;
        memcpy(&bits, &f, sizeof bits);
        bits += (int32_t)by;
        float g;
        memcpy(&g, &bits, sizeof g);
        return (double)g;
    }
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += by;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double signed_by(uint64_t *state, double x) {
    return draw_bits(state) >> 63 ? -x : x;
}

double draw_moderate(uint64_t *state, int log2_low, int log2_high) {
    const int power =
        log2_low + (int)((draw_bits(state) >> 33) % (uint64_t)(log2_high - log2_low + 1));
    return signed_by(state, ldexp(1 + unit(state), power));
}

/* Where functions overflow, underflow, end or change their method. */
static double draw_point(uint64_t *state) {
    static const double points[] = {
        0.25,
        0.5,
        0.75,
        1,
        1.5,
        2,
        3,
        4,
        0.0625,
        0.125,
        0.4375,
        0.6875,
        1.1875,
        2.4375,
        0.6931471805599453,
        0.34657359027997264,
        1.0397207708399179,
        0.28768207245178096,
        0.70710678118654757,
        1.4142135623730951,
        0.41421356237309503,
        2.4142135623730949,
        0.29289321881345243,
        709.78271289338397,
        710.47586007394386,
        745.13321910194122,
        708.39641853226408,
        88.722839052068352,
        89.415987,
        103.97207708399179,
        87.336544750553102,
        1024,
        1022,
        1074,
        1075,
        128,
        126,
        149,
        150,
        308.25471555991669,
        307.65265556858878,
        323.3,
        38.53,
        37.93,
        44.85,
        22,
        19.0615,
        9.0109,
        36.736,
        18.71,
        8.66,
        17.33,
        0x1p15,
        0x1p22,
        0x1p26,
        0x1p27,
        0x1p28,
        0x1p30,
        0x1p42,
        0x1p52,
        0x1p53,
        0x1p63,
        0x1p64,
        0x1.921fb57927153p+41,
        0x1p-8,
        0x1p-13,
        0x1p-27,
        0x1p-54,
    };
    return signed_by(state,
                     points[(draw_bits(state) >> 32) % (sizeof points / sizeof *points)]);
}

static double draw_half_pi(uint64_t *state) {
    const int width = 1 + (int)(draw_bits(state) >> 40) % 60;
    const uint64_t k = draw_bits(state) >> (64 - width);
    return signed_by(state, (double)((long double)k * 1.57079632679489661923132169164L));
}

double draw_element(uint64_t *state, int i, bool single) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 2.0};
    const double tiny = single ? 0x1p-149 : 0x1p-1074,
                 least = single ? 0x1p-126 : 0x1p-1022;
    const double most = single ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    if (i < 8) return special[i];
    if (i < 10) return i % 2 ? tiny : -tiny;
    if (i < 12) return i % 2 ? least : -least;
    if (i < 14) return i % 2 ? most : -most;
    double x;
    switch ((draw_bits(state) >> 32) % 16) {
    case 0:
    case 1:
    case 2:
    case 3: return draw_any(state, single);
    case 4: x = draw_moderate(state, single ? -149 : -1074, single ? -120 : -1010); break;
    case 5: x = draw_moderate(state, single ? 100 : 990, single ? 127 : 1023); break;
    case 6: return draw_near(state, draw_half_pi(state), single);
    case 7: x = draw_half_pi(state); break;
    case 8:
    case 9: return draw_near(state, draw_point(state), single);
    case 10: x = signed_by(state, unit(state) * (single ? 110 : 760)); break;
    case 11:
    case 12: x = signed_by(state, unit(state) * 2); break;
    case 13: x = draw_moderate(state, -40, -1); break;
    case 14: x = draw_moderate(state, 0, 42); break;
    default: x = draw_moderate(state, -4, 6); break;
    }
    return single ? (double)(float)x : x;
}
