/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans over a group of lanes: running sums, products and the like, compiled once per instruction set. The
 * bodies are written once over a value that can hold any element, and inlined with a
 * constant type, which leaves of it what that type needs.
 */
#include "lib/loops.h"

#include <math.h>

#include "ops/apart.h"

#define INLINE static inline __attribute__((always_inline))

/* Integers of every width wrap alike in 64 bits; bool is 0 or 1. */
typedef struct {
    uint64_t u;
    float f, g;
    double d, e;
} value;

/* Elements of any type may be seen as one of these. */
typedef uint8_t word8;
typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

INLINE value load(const char *from, vp_dtype t) {
    const void *p = from;
    switch (t) {
    case VP_BOOL: return (value){.u = *(const word8 *)p != 0};
    case VP_I8:
    case VP_U8: return (value){.u = *(const word8 *)p};
    case VP_I16:
    case VP_U16: return (value){.u = *(const word16 *)p};
    case VP_I32:
    case VP_U32: return (value){.u = *(const word32 *)p};
    case VP_I64:
    case VP_U64: return (value){.u = *(const word64 *)p};
    case VP_F32: return (value){.f = *(const float *)p};
    case VP_F64: return (value){.d = *(const double *)p};
    case VP_C64: return (value){.f = ((const float *)p)[0], .g = ((const float *)p)[1]};
    case VP_C128:
        return (value){.d = ((const double *)p)[0], .e = ((const double *)p)[1]};
    case VP_AUTO: break;
    }
    return (value){0};
}

INLINE void store(char *to, vp_dtype t, value x) {
    void *p = to;
    switch (t) {
    case VP_BOOL:
    case VP_I8:
    case VP_U8: *(word8 *)p = (word8)x.u; break;
    case VP_I16:
    case VP_U16: *(word16 *)p = (word16)x.u; break;
    case VP_I32:
    case VP_U32: *(word32 *)p = (word32)x.u; break;
    case VP_I64:
    case VP_U64: *(word64 *)p = x.u; break;
    case VP_F32: *(float *)p = x.f; break;
    case VP_F64: *(double *)p = x.d; break;
    case VP_C64: ((float *)p)[0] = x.f, ((float *)p)[1] = x.g; break;
    case VP_C128: ((double *)p)[0] = x.d, ((double *)p)[1] = x.e; break;
    case VP_AUTO: break;
    }
}

INLINE value multiply_c64(value a, value b) {
    return (value){.f = VP__APART(a.f * b.f) - VP__APART(a.g * b.g),
                   .g = VP__APART(a.f * b.g) + VP__APART(a.g * b.f)};
}

INLINE value multiply_c128(value a, value b) {
    return (value){.d = VP__APART(a.d * b.d) - VP__APART(a.e * b.e),
                   .e = VP__APART(a.d * b.e) + VP__APART(a.e * b.d)};
}

/* The step of each scan: what comes after `a` where the next element is b. */
INLINE value fold_cumsum(value a, value b, vp_dtype t) {
    switch (t) {
    case VP_BOOL: a.u |= b.u; break;
    case VP_F32: a.f += b.f; break;
    case VP_F64: a.d += b.d; break;
    case VP_C64:
        a.f += b.f;
        a.g += b.g;
        break;
    case VP_C128:
        a.d += b.d;
        a.e += b.e;
        break;
    default: a.u += b.u;
    }
    return a;
}

INLINE value fold_cumprod(value a, value b, vp_dtype t) {
    switch (t) {
    case VP_BOOL: a.u &= b.u; break;
    case VP_F32: a.f *= b.f; break;
    case VP_F64: a.d *= b.d; break;
    case VP_C64: return multiply_c64(a, b);
    case VP_C128: return multiply_c128(a, b);
    default: a.u *= b.u;
    }
    return a;
}

/* In either part; what a type has no use for is 0. */
INLINE bool is_nan(value x) {
    return x.f != x.f || x.g != x.g || x.d != x.d || x.e != x.e;
}

INLINE bool is_less(value a, value b, vp_dtype t) {
    switch (t) {
    case VP_I8: return (int8_t)a.u < (int8_t)b.u;
    case VP_I16: return (int16_t)a.u < (int16_t)b.u;
    case VP_I32: return (int32_t)a.u < (int32_t)b.u;
    case VP_I64: return (int64_t)a.u < (int64_t)b.u;
    case VP_F32: return a.f < b.f;
    case VP_F64: return a.d < b.d;
    case VP_C64: return a.f < b.f || (a.f == b.f && a.g < b.g);
    case VP_C128: return a.d < b.d || (a.d == b.d && a.e < b.e);
    default: return a.u < b.u;
    }
}

INLINE value fold_cummax(value a, value b, vp_dtype t) {
    if (is_nan(a)) return a;
    return is_nan(b) || is_less(a, b, t) ? b : a;
}

INLINE value fold_cummin(value a, value b, vp_dtype t) {
    if (is_nan(a)) return a;
    return is_nan(b) || is_less(b, a, t) ? b : a;
}

INLINE value fold(value a, value b, vp_dtype t, int scan) {
#define FOLD(id, unused)                                                                 \
    if (scan == VP__SCAN_##id) return fold_##id(a, b, t);
    VP__SCANS(FOLD, )
    return a;
}

/* Which of two NaNs an addition passes on is the compiler's choice, loop by loop; so one that
 * comes out is always the positive quiet one, as in reductions. */
INLINE value canonical(value x, vp_dtype t) {
    if (t == VP_F32 || t == VP_C64) x.f = x.f != x.f ? NAN : x.f;
    if (t == VP_C64) x.g = x.g != x.g ? NAN : x.g;
    if (t == VP_F64 || t == VP_C128) x.d = x.d != x.d ? (double)NAN : x.d;
    if (t == VP_C128) x.e = x.e != x.e ? (double)NAN : x.e;
    return x;
}

/* `lanes` lanes (a constant of at most 4), carried in registers; the steps are constants
 * in the contiguous case. */
INLINE void carry(const vp__scan *s, int64_t first, int lanes, int64_t out_step,
                  int64_t in_step, vp_dtype t, int scan) {
    char *out = s->out + first * s->out_fibre;
    const char *in = s->in + first * s->in_fibre;
    value held[4];
    for (int l = 0; l < lanes; l++) {
        held[l] = load(in + l * s->in_fibre, t);
        store(out + l * s->out_fibre, t, held[l]);
    }
    /* A single lane goes four steps at a time: its sums wait for each other, the loads
     * and stores need not. */
    for (int64_t left = s->n - 1; left > 0;) {
        int steps = lanes == 1 && left >= 4 ? 4 : 1;
        value x[4][4];
        for (int i = 0; i < steps; i++)
            for (int l = 0; l < lanes; l++)
                x[i][l] = load(in + (i + 1) * in_step + l * s->in_fibre, t);
        for (int i = 0; i < steps; i++)
            for (int l = 0; l < lanes; l++) {
                held[l] = fold(held[l], x[i][l], t, scan);
                store(out + (i + 1) * out_step + l * s->out_fibre, t,
                      canonical(held[l], t));
            }
        out += steps * out_step;
        in += steps * in_step;
        left -= steps;
    }
}

INLINE void along(const vp__scan *s, vp_dtype t, int size, int scan) {
    int64_t l = 0;
    for (; l + 4 <= s->lanes; l += 4) carry(s, l, 4, s->out_step, s->in_step, t, scan);
    bool contiguous = s->out_step == size && s->in_step == size;
    for (; l < s->lanes; l++) {
        if (contiguous)
            carry(s, l, 1, size, size, t, scan);
        else
            carry(s, l, 1, s->out_step, s->in_step, t, scan);
    }
}

/* One step of all lanes; strides between lanes are constants in the contiguous case. */
INLINE void step(char *out, const char *before, const char *in, int64_t lanes,
                 int64_t out_fibre, int64_t in_fibre, vp_dtype t, int scan) {
    for (int64_t l = 0; l < lanes; l++) {
        value x = load(in + l * in_fibre, t);
        if (before) x = canonical(fold(load(before + l * out_fibre, t), x, t, scan), t);
        store(out + l * out_fibre, t, x);
    }
}

INLINE void across(const vp__scan *s, vp_dtype t, int size, int scan) {
    const char *before = NULL, *in = s->in;
    char *out = s->out;
    bool contiguous = s->out_fibre == size && s->in_fibre == size;
    for (int64_t i = 0; i < s->n; i++) {
        if (contiguous)
            step(out, before, in, s->lanes, size, size, t, scan);
        else
            step(out, before, in, s->lanes, s->out_fibre, s->in_fibre, t, scan);
        before = out;
        out += s->out_step;
        in += s->in_step;
    }
}

#define FUNCTIONS(scan, id, ctype)                                                       \
    static void scan##_along_##id(const vp__scan *s) {                                   \
        along(s, VP_##id, (int)sizeof(ctype), VP__SCAN_##scan);                          \
    }                                                                                    \
    static void scan##_across_##id(const vp__scan *s) {                                  \
        across(s, VP_##id, (int)sizeof(ctype), VP__SCAN_##scan);                         \
    }
#define VP_DTYPE(id, name, ctype, class, real) VP__SCANS(FUNCTIONS, id, ctype)
#include "array/dtype.def"

#define ALONG(scan, id) [VP__SCAN_##scan] = scan##_along_##id,
const vp__scan_fn VP__LOOPS(vp__loops_scan_along)[VP__NDTYPES][VP__NSCANS] = {
#define VP_DTYPE(id, name, ctype, class, real) [VP_##id] = {VP__SCANS(ALONG, id)},
#include "array/dtype.def"
};

#define ACROSS(scan, id) [VP__SCAN_##scan] = scan##_across_##id,
const vp__scan_fn VP__LOOPS(vp__loops_scan_across)[VP__NDTYPES][VP__NSCANS] = {
#define VP_DTYPE(id, name, ctype, class, real) [VP_##id] = {VP__SCANS(ACROSS, id)},
#include "array/dtype.def"
};
