/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions written as plainly as possible: the tree of ops/kernels.h as a recursion
 * over elements that lie one after another. What every kernel, layout and split is
 * compared with.
 */
#ifndef VP_TESTS_REDUCE_REFERENCE_H
#define VP_TESTS_REDUCE_REFERENCE_H

#include <math.h>
#include <string.h>

#include "ops/kernels.h"

/* One element as the widest type of its class. */
typedef struct {
    double re, im;
    int64_t i;
    uint64_t u;
} ref_element;

static ref_element ref_load(vp_dtype t, const void *at) {
    ref_element e = {0, 0, 0, 0};
    switch (t) {
    case VP_BOOL:
    case VP_U8: e.u = *(const uint8_t *)at; break;
    case VP_U16: e.u = *(const uint16_t *)at; break;
    case VP_U32: e.u = *(const uint32_t *)at; break;
    case VP_U64: e.u = *(const uint64_t *)at; break;
    case VP_I8: e.i = *(const int8_t *)at; break;
    case VP_I16: e.i = *(const int16_t *)at; break;
    case VP_I32: e.i = *(const int32_t *)at; break;
    case VP_I64: e.i = *(const int64_t *)at; break;
    case VP_F32: e.re = (double)*(const float *)at; break;
    case VP_F64: e.re = *(const double *)at; break;
    case VP_C64:
        e.re = (double)((const float *)at)[0];
        e.im = (double)((const float *)at)[1];
        break;
    case VP_C128:
        e.re = ((const double *)at)[0];
        e.im = ((const double *)at)[1];
        break;
    default: break;
    }
    if (vp__dtype[t].cls == VP__CLASS_S) e.u = (uint64_t)e.i;
    return e;
}

static bool ref_is_nan(ref_element e) { return e.re != e.re || e.im != e.im; }
static bool ref_is_true(vp_dtype t, ref_element e) {
    return vp__dtype[t].cls >= VP__CLASS_F ? e.re != 0 || e.im != 0 : e.u != 0;
}

/* Whether x is strictly below b in the order of its type; NaN is below nothing. */
static bool ref_is_below(vp_dtype t, ref_element x, ref_element b) {
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_S: return x.i < b.i;
    case VP__CLASS_B:
    case VP__CLASS_U: return x.u < b.u;
    case VP__CLASS_F: return x.re < b.re;
    case VP__CLASS_C: return x.re < b.re || (x.re == b.re && x.im < b.im);
    }
    return false;
}

static bool ref_is_beyond(vp__op op, vp_dtype t, ref_element x, ref_element b) {
    const bool low = op == VP__OP_min || op == VP__OP_argmin;
    return low ? ref_is_below(t, x, b) : ref_is_below(t, b, x);
}

/* acc = acc folded with x, for types whose tree matters. */
static void ref_fold(vp__op op, vp_dtype t, void *acc, const void *x) {
    float *f = acc;
    double *d = acc;
    const float *g = x;
    const double *e = x;
    if (op == VP__OP_sum) {
        if (t == VP_F32) f[0] += g[0];
        if (t == VP_F64) d[0] += e[0];
        if (t == VP_C64) f[0] += g[0], f[1] += g[1];
        if (t == VP_C128) d[0] += e[0], d[1] += e[1];
    } else if (op == VP__OP_prod) {
        if (t == VP_F32) f[0] *= g[0];
        if (t == VP_F64) d[0] *= e[0];
        if (t == VP_C64) {
            const float re = f[0] * g[0] - f[1] * g[1], im = f[0] * g[1] + f[1] * g[0];
            f[0] = re, f[1] = im;
        }
        if (t == VP_C128) {
            const double re = d[0] * e[0] - d[1] * e[1], im = d[0] * e[1] + d[1] * e[0];
            d[0] = re, d[1] = im;
        }
    } else {
        const ref_element a = ref_load(t, acc), b = ref_load(t, x);
        if (ref_is_nan(b) || (!ref_is_nan(a) && ref_is_beyond(op, t, b, a)))
            memcpy(acc, x, vp__dtype[t].size);
    }
}

static void ref_identity(vp__op op, vp_dtype t, void *acc) {
    const double value = op == VP__OP_sum    ? -0.0
                         : op == VP__OP_prod ? 1
                         : op == VP__OP_min  ? INFINITY
                                             : -INFINITY;
    const double imag = op == VP__OP_sum ? -0.0 : 0;
    float *f = acc;
    double *d = acc;
    if (t == VP_F32 || t == VP_C64) f[0] = (float)value;
    if (t == VP_C64) f[1] = (float)imag;
    if (t == VP_F64 || t == VP_C128) d[0] = value;
    if (t == VP_C128) d[1] = imag;
}

enum { REF_STATE = 64 }; /* bytes of a row of lanes */

static void ref_tree(vp__op op, vp_dtype t, char *state, const char *x, int64_t n) {
    const int size = vp__dtype[t].size, lanes = REF_STATE / size;
    if (n <= VP__REDUCE_BLOCK) {
        for (int l = 0; l < lanes; l++) ref_identity(op, t, state + l * size);
        for (int64_t i = 0; i < n; i++)
            ref_fold(op, t, state + i % lanes * size, x + i * size);
        return;
    }
    int64_t left = VP__REDUCE_BLOCK;
    while (2 * left < n) left *= 2;
    _Alignas(16) char right[REF_STATE];
    ref_tree(op, t, state, x, left);
    ref_tree(op, t, right, x + left * size, n - left);
    for (int l = 0; l < lanes; l++) ref_fold(op, t, state + l * size, right + l * size);
}

/* Writes the reduction of the n elements at x. n is not 0. */
static inline void ref_reduce(void *out, vp__op op, vp_dtype t, const void *x,
                              int64_t n) {
    const int size = vp__dtype[t].size;
    const char *at = x;
    const vp__class cls = (vp__class)vp__dtype[t].cls;
    if (op == VP__OP_any || op == VP__OP_all || op == VP__OP_count_nonzero) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            count += ref_is_true(t, ref_load(t, at + i * size));
        if (op == VP__OP_count_nonzero)
            memcpy(out, &count, 8);
        else
            *(uint8_t *)out = op == VP__OP_any ? count > 0 : count == n;
        return;
    }
    const bool order = op == VP__OP_min || op == VP__OP_max;
    if (op == VP__OP_argmin || op == VP__OP_argmax || (order && cls != VP__CLASS_F)) {
        int64_t best = 0;
        ref_element b = ref_load(t, at);
        for (int64_t i = 1; i < n && !ref_is_nan(b); i++) {
            const ref_element e = ref_load(t, at + i * size);
            if (!ref_is_nan(e) && !ref_is_beyond(op, t, e, b)) continue;
            best = i;
            b = e;
        }
        if (order)
            memcpy(out, at + best * size, (size_t)size);
        else
            memcpy(out, &best, 8);
        return;
    }
    if (cls < VP__CLASS_F) {
        uint64_t acc = op == VP__OP_prod;
        for (int64_t i = 0; i < n; i++) {
            const uint64_t u = ref_load(t, at + i * size).u;
            acc = op == VP__OP_prod ? acc * u : acc + u;
        }
        if (cls == VP__CLASS_B) acc = acc != 0;
        memcpy(out, &acc, (size_t)size);
        return;
    }
    _Alignas(16) char state[REF_STATE];
    ref_tree(op, t, state, at, n);
    for (int half = REF_STATE / size / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; l++)
            ref_fold(op, t, state + l * size, state + (l + half) * size);
    float *f = (float *)state;
    double *d = (double *)state;
    for (int i = 0; i < 2; i++) {
        if ((t == VP_F32 || t == VP_C64) && f[i] != f[i]) f[i] = NAN;
        if ((t == VP_F64 || t == VP_C128) && d[i] != d[i]) d[i] = (double)NAN;
    }
    memcpy(out, state, (size_t)size);
}

#endif
