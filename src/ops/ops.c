/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation table as data, and the type rules (NEP 50): operands meet in one type,
 * the row's rule maps that type's class to the working type, and the result follows from
 * it.
 */
#include "ops/ops.h"

#include <stddef.h>

const vp__op_info vp__ops[VP__NOPS] = {
#define VP_OP(id, arity, rule, result, cycles, numpy, doc)                               \
    [VP__OP_##id] = {#id,   numpy, doc, arity, VP__RULE_##rule, VP__RESULT_##result,     \
                     false, cycles},
#define VP_REDUCE(id, rule, result, cycles, numpy, doc)                                  \
    [VP__OP_##                                                                           \
        id] = {#id, numpy, doc, 1, VP__RULE_##rule, VP__RESULT_##result, true, cycles},
#include "ops/ops.def"
};

typedef enum { NO, KEEP, FIT, WIDE, B8, I8, I64, F32, F64, CPLX } becoming;

typedef struct {
    uint8_t from_bool, from_int, from_float, from_complex;
} rule_row;

static const rule_row rules[] = {
#define VP__RULE(id, b, i, f, c) [VP__RULE_##id] = {b, i, f, c},
    VP__RULES(VP__RULE)
#undef VP__RULE
};

static becoming rule_of_class(vp__rule rule, vp__class cls) {
    switch (cls) {
    case VP__CLASS_B: return rules[rule].from_bool;
    case VP__CLASS_S:
    case VP__CLASS_U: return rules[rule].from_int;
    case VP__CLASS_F: return rules[rule].from_float;
    case VP__CLASS_C: return rules[rule].from_complex;
    }
    return NO;
}

static vp_dtype complex_of(vp_dtype t) {
    if (vp__dtype[t].cls == VP__CLASS_C) return t;
    return t == VP_F32 ? VP_C64 : VP_C128;
}

static bool apply_rule(vp__rule rule, vp_dtype t, vp_dtype *work) {
    switch (rule_of_class(rule, vp__dtype[t].cls)) {
    case NO: return false;
    case KEEP: *work = t; return true;
    case FIT: *work = vp__dtype[t].size <= 2 ? VP_F32 : VP_F64; return true;
    case WIDE: *work = vp__dtype[t].cls == VP__CLASS_U ? VP_U64 : VP_I64; return true;
    case B8: *work = VP_BOOL; return true;
    case I8: *work = VP_I8; return true;
    case I64: *work = VP_I64; return true;
    case F32: *work = VP_F32; return true;
    case F64: *work = VP_F64; return true;
    case CPLX: *work = complex_of(t); return true;
    }
    return false;
}

static vp_dtype result_type(vp__result result, vp_dtype work) {
    switch (result) {
    case VP__RESULT_SAME: return work;
    case VP__RESULT_BOOL: return VP_BOOL;
    case VP__RESULT_REAL: return vp__dtype[work].real;
    case VP__RESULT_INDEX: return VP_I64;
    case VP__RESULT_COMPLEX: return complex_of(work);
    }
    return work;
}

bool vp__rule_types(vp__rule rule, vp__result column, vp_dtype t, vp_dtype *work,
                    vp_dtype *result) {
    if (!apply_rule(rule, t, work)) return false;
    *result = result_type(column, *work);
    return true;
}

static bool is_inexact(vp_dtype t) {
    return vp__dtype[t].cls == VP__CLASS_F || vp__dtype[t].cls == VP__CLASS_C;
}

vp_dtype vp__common_type(int n, const vp_dtype *types) {
    vp_dtype t = VP_BOOL; /* which becomes whatever it meets */
    for (int i = 0; i < n; i++)
        if (is_inexact(types[i])) t = vp__dtype_promote(t, types[i]);
    for (int i = 0; i < n; i++) t = vp__dtype_promote(t, types[i]);
    return t;
}

/* The one type n operands meet in: the strong ones among themselves, then the highest
 * kind of weak scalar. */
static vp_dtype meet(const vp__optype *in, int n) {
    vp_dtype types[3] = {VP_BOOL};
    int weak = -1, strong = 0;
    for (int i = 0; i < n; i++) {
        if (in[i].weak < 0)
            types[strong++] = in[i].dtype;
        else if (in[i].weak > weak)
            weak = in[i].weak;
    }
    const vp_dtype t = vp__common_type(strong, types);
    if (weak < 0) return t;
    return strong ? vp__dtype_promote_weak(t, (vp__weak)weak)
                  : vp__dtype_of_weak((vp__weak)weak);
}

static bool all_narrow(const vp__optype *in, int n) {
    for (int i = 0; i < n; i++)
        if (in[i].weak < 0 && vp__dtype[in[i].dtype].size > 2) return false;
    return true;
}

bool vp__op_types(vp__op op, const vp__optype *in, vp_dtype *work, vp_dtype *result) {
    const vp__op_info *info = &vp__ops[op];
    const int first = info->rule == VP__RULE_WHERE ? 1 : 0;
    vp_dtype t = meet(in + first, info->arity - first);
    /* Operands that become floats meet as floats: 16 bits of either sign in float32. */
    if (rules[info->rule].from_int == FIT && t == VP_I32 && all_narrow(in, info->arity))
        t = VP_I16;
    if (!apply_rule((vp__rule)info->rule, t, &t)) return false;
    for (int i = 0; i < info->arity; i++) work[i] = i < first ? VP_BOOL : t;
    *result = result_type((vp__result)info->result, t);
    return true;
}

bool vp__reduce_types(vp__op op, vp_dtype t, vp_dtype want, vp_dtype *work,
                      vp_dtype *result) {
    const vp__op_info *info = &vp__ops[op];
    if (info->result != VP__RESULT_SAME) {
        /* The result's type is fixed, and the operand is taken as it is. */
        *work = t;
        *result = result_type((vp__result)info->result, t);
        return want == VP_AUTO || want == *result;
    }
    /* Every type has kernels of these rows, so any may be wished for: the operand is
     * converted first, as NumPy's dtype= does. */
    if (want != VP_AUTO && !vp__dtype_is_valid(want)) return false;
    if (want != VP_AUTO)
        *work = want;
    else if (!apply_rule((vp__rule)info->rule, t, work))
        return false;
    *result = *work;
    return true;
}
