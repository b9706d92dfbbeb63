/* SPDX-License-Identifier: Apache-2.0
 *
 * Type promotion, computed from class and size rather than kept as a 13 x 13 table: the
 * result is the smallest type that holds both operands' kinds and enough bits. NumPy's
 * one surprise, 64-bit integers of both signs meeting in float64, falls out of the same
 * rule.
 */
#include "array/dtype.h"

#include <math.h>

const vp__dtype_info vp__dtype[VP__NDTYPES] = {
#define VP_DTYPE(id, name, ctype, cls, real)                                             \
    [VP_##id] = {name, sizeof(ctype), VP__CLASS_##cls, VP_##real},
#include "array/dtype.def"
};

bool vp__dtype_has_integer(vp_dtype t, vp__wide x) {
    const int bits = vp__dtype[t].size * 8;
    const bool is_signed = vp__dtype[t].cls == VP__CLASS_S;
    const vp__wide top = (vp__wide)1 << (is_signed ? bits - 1 : bits);
    return x < top && x >= (is_signed ? -top : 0);
}

vp__wide vp__wide_of(double x) { return (vp__wide)fmax(fmin(x, 0x1p100), -0x1p100); }

/* How many bytes of float it takes to hold a type: integers need a mantissa wider than
 * they are, and NumPy counts 32-bit ones as needing float64. */
static int float_size(vp_dtype t) {
    const vp__dtype_info *info = &vp__dtype[t];
    switch ((vp__class)info->cls) {
    case VP__CLASS_B: return 4;
    case VP__CLASS_S:
    case VP__CLASS_U: return info->size <= 2 ? 4 : 8;
    case VP__CLASS_F: return info->size;
    case VP__CLASS_C: return info->size / 2;
    }
    return 8;
}

static vp_dtype signed_of_size(int size) {
    return size == 1 ? VP_I8 : size == 2 ? VP_I16 : size == 4 ? VP_I32 : VP_I64;
}

vp_dtype vp__dtype_promote(vp_dtype a, vp_dtype b) {
    const int ca = vp__dtype[a].cls, cb = vp__dtype[b].cls;
    const int size = float_size(a) > float_size(b) ? float_size(a) : float_size(b);
    if (ca == VP__CLASS_C || cb == VP__CLASS_C) return size == 4 ? VP_C64 : VP_C128;
    if (ca == VP__CLASS_F || cb == VP__CLASS_F) return size == 4 ? VP_F32 : VP_F64;
    if (ca == VP__CLASS_B) return b;
    if (cb == VP__CLASS_B) return a;
    if (ca == cb) return vp__dtype[a].size >= vp__dtype[b].size ? a : b;
    const vp_dtype s = ca == VP__CLASS_S ? a : b, u = ca == VP__CLASS_S ? b : a;
    if (vp__dtype[s].size > vp__dtype[u].size) return s;
    return vp__dtype[u].size < 8 ? signed_of_size(2 * vp__dtype[u].size) : VP_F64;
}

vp_dtype vp__dtype_of_weak(vp__weak w) {
    switch (w) {
    case VP__WEAK_BOOL: return VP_BOOL;
    case VP__WEAK_INT: return VP_I64;
    case VP__WEAK_FLOAT: return VP_F64;
    case VP__WEAK_COMPLEX: return VP_C128;
    }
    return VP_F64;
}

vp_dtype vp__dtype_promote_weak(vp_dtype t, vp__weak w) {
    const int cls = vp__dtype[t].cls;
    switch (w) {
    case VP__WEAK_BOOL: return t;
    case VP__WEAK_INT: return cls == VP__CLASS_B ? VP_I64 : t;
    case VP__WEAK_FLOAT: return cls == VP__CLASS_F || cls == VP__CLASS_C ? t : VP_F64;
    case VP__WEAK_COMPLEX: return cls == VP__CLASS_C ? t : t == VP_F32 ? VP_C64 : VP_C128;
    }
    return t;
}
