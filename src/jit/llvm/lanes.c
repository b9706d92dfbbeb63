/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of a kernel on one vector of lanes. Every instruction means exactly what
 * ir.def and the base kernels say, bit for bit.
 */
#include <stdlib.h>
#include <string.h>

#include "jit/llvm/emit.h"

static int class_of(int type) { return type == VP__TRUTH ? -1 : vp__dtype[type].cls; }
static bool is_float(int type) { return class_of(type) == VP__CLASS_F; }
static bool is_complex(int type) { return class_of(type) == VP__CLASS_C; }
static bool is_signed(int type) { return class_of(type) == VP__CLASS_S; }
static int size_of(int type) { return vp__dtype[type].size; }

LLVMTypeRef vp__emit_element(vp__emitter *e, int type) {
    if (type == VP__TRUTH) return LLVMInt1TypeInContext(e->context);
    const int real = vp__dtype[type].real;
    if (real == VP_F32) return LLVMFloatTypeInContext(e->context);
    if (real == VP_F64) return LLVMDoubleTypeInContext(e->context);
    return LLVMIntTypeInContext(e->context, 8u * (unsigned)size_of(real));
}

LLVMTypeRef vp__emit_vector(vp__emitter *e, int type) {
    return LLVMVectorType(vp__emit_element(e, type), (unsigned)e->width);
}

LLVMValueRef vp__emit_int(vp__emitter *e, int64_t n) {
    return LLVMConstInt(LLVMInt64TypeInContext(e->context), (unsigned long long)n, 1);
}

static LLVMValueRef index_vector(vp__emitter *e, int n, int first, int step, int modulo) {
    LLVMValueRef at[256];
    for (int i = 0; i < n; i++)
        at[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context),
                             (unsigned)((first + i * step) % modulo), 0);
    return LLVMConstVector(at, (unsigned)n);
}

static LLVMValueRef shuffle(vp__emitter *e, LLVMValueRef a, LLVMValueRef b, int n,
                            int first, int step, int modulo) {
    return LLVMBuildShuffleVector(e->builder, a, b,
                                  index_vector(e, n, first, step, modulo), "");
}

LLVMValueRef vp__emit_splat(vp__emitter *e, LLVMValueRef scalar) {
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)e->width);
    LLVMValueRef undef = LLVMGetPoison(type);
    LLVMValueRef zero = LLVMConstInt(LLVMInt32TypeInContext(e->context), 0, 0);
    LLVMValueRef one = LLVMBuildInsertElement(e->builder, undef, scalar, zero, "");
    return LLVMBuildShuffleVector(e->builder, one, undef,
                                  index_vector(e, e->width, 0, 0, 1), "");
}

LLVMValueRef vp__emit_scalar(vp__emitter *e, int type, uint64_t bits) {
    LLVMTypeRef t = vp__emit_element(e, type);
    if (!is_float(type)) return LLVMConstInt(t, bits, 0);
    /* By its bits, since a double would not keep a NaN's. */
    LLVMTypeRef whole = LLVMIntTypeInContext(e->context, 8u * (unsigned)size_of(type));
    return LLVMConstBitCast(LLVMConstInt(whole, bits, 0), t);
}

LLVMValueRef vp__emit_constant(vp__emitter *e, int type, uint64_t bits) {
    LLVMValueRef all[256], one = vp__emit_scalar(e, type, bits);
    for (int i = 0; i < e->width; i++) all[i] = one;
    return LLVMConstVector(all, (unsigned)e->width);
}

uint64_t vp__emit_bits(int type, double x) {
    const float f = (float)x;
    uint64_t bits = 0;
    if (type == VP_F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &x, sizeof x);
    return bits;
}

static LLVMValueRef real_constant(vp__emitter *e, int type, double x) {
    return vp__emit_constant(e, type, vp__emit_bits(type, x));
}

LLVMValueRef vp__emit_intrinsic(vp__emitter *e, const char *name, LLVMTypeRef overload,
                                LLVMValueRef *args, unsigned n) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef over[] = {overload};
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, over, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, over, 1);
    return LLVMBuildCall2(e->builder, type, fn, args, n, "");
}

LLVMValueRef vp__emit_slot(vp__emitter *e, LLVMTypeRef type) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMValueRef first = LLVMGetFirstInstruction(e->entry);
    if (first)
        LLVMPositionBuilderBefore(e->builder, first);
    else
        LLVMPositionBuilderAtEnd(e->builder, e->entry);
    LLVMValueRef slot = LLVMBuildAlloca(e->builder, type, "");
    LLVMSetAlignment(slot, 64);
    LLVMPositionBuilderAtEnd(e->builder, here);
    return slot;
}

/* --- memory ------------------------------------------------------------------------- */

static LLVMValueRef masked_load(vp__emitter *e, LLVMTypeRef type, LLVMValueRef at,
                                LLVMValueRef mask, unsigned align) {
    LLVMTypeRef over[] = {type, LLVMPointerTypeInContext(e->context, 0)};
    unsigned id = LLVMLookupIntrinsicID("llvm.masked.load", 16);
    LLVMValueRef args[] = {at, LLVMConstInt(LLVMInt32TypeInContext(e->context), align, 0),
                           mask, LLVMConstNull(type)};
    return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, over, 2),
                          LLVMGetIntrinsicDeclaration(e->module, id, over, 2), args, 4,
                          "");
}

static void masked_store(vp__emitter *e, LLVMValueRef v, LLVMValueRef at,
                         LLVMValueRef mask, unsigned align) {
    LLVMTypeRef over[] = {LLVMTypeOf(v), LLVMPointerTypeInContext(e->context, 0)};
    unsigned id = LLVMLookupIntrinsicID("llvm.masked.store", 17);
    LLVMValueRef args[] = {
        v, at, LLVMConstInt(LLVMInt32TypeInContext(e->context), align, 0), mask};
    LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, over, 2),
                   LLVMGetIntrinsicDeclaration(e->module, id, over, 2), args, 4, "");
}

/* Each lane's truth twice, for the components of complex elements. */
static LLVMValueRef twice(vp__emitter *e, LLVMValueRef mask) {
    LLVMValueRef at[256];
    for (int i = 0; i < 2 * e->width; i++)
        at[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context),
                             (unsigned long long)i / 2, 0);
    return LLVMBuildShuffleVector(e->builder, mask, mask,
                                  LLVMConstVector(at, 2 * (unsigned)e->width), "");
}

LLVMValueRef vp__emit_nth(vp__emitter *e, LLVMValueRef p, LLVMValueRef i, int size) {
    LLVMTypeRef element = LLVMIntTypeInContext(e->context, 8 * (unsigned)size);
    return LLVMBuildGEP2(e->builder, element, p, &i, 1, "");
}

vp__lanes vp__emit_load(vp__emitter *e, int type, LLVMValueRef at, LLVMValueRef mask) {
    const int real = vp__dtype[type].real, parts = is_complex(type) ? 2 : 1;
    const unsigned align = (unsigned)size_of(real);
    LLVMTypeRef t =
        LLVMVectorType(vp__emit_element(e, real), (unsigned)(parts * e->width));
    LLVMValueRef v;
    if (mask) {
        v = masked_load(e, t, at, parts == 2 ? twice(e, mask) : mask, align);
    } else {
        v = LLVMBuildLoad2(e->builder, t, at, "");
        LLVMSetAlignment(v, align);
    }
    if (parts == 1) return (vp__lanes){v, NULL};
    return (vp__lanes){shuffle(e, v, v, e->width, 0, 2, 4 * e->width),
                       shuffle(e, v, v, e->width, 1, 2, 4 * e->width)};
}

/* Of a mask's lanes from the first-th on, each and then a lane that is not read. */
static LLVMValueRef every_other(vp__emitter *e, LLVMValueRef mask, int first) {
    LLVMValueRef at[256];
    for (int i = 0; i < e->width; i++)
        at[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context),
                             (unsigned)(i % 2 ? e->width : first + i / 2), 0);
    return LLVMBuildShuffleVector(e->builder, mask, LLVMConstNull(LLVMTypeOf(mask)),
                                  LLVMConstVector(at, (unsigned)e->width), "");
}

/* Two vectors, of which every other lane is taken. What follows the last element may not
 * exist, so the second one ends with that element, or leaves out what is not wanted. */
vp__lanes vp__emit_load_other(vp__emitter *e, int type, LLVMValueRef at,
                              LLVMValueRef mask) {
    const int w = e->width;
    LLVMValueRef order[256],
        skip = vp__emit_int(e, (int64_t)size_of(type) * (mask ? w : w - 1));
    LLVMValueRef second =
        LLVMBuildGEP2(e->builder, LLVMInt8TypeInContext(e->context), at, &skip, 1, "");
    vp__lanes low = vp__emit_load(e, type, at, mask ? every_other(e, mask, 0) : NULL);
    vp__lanes high =
        vp__emit_load(e, type, second, mask ? every_other(e, mask, w / 2) : NULL);
    for (int i = 0; i < w; i++)
        order[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context),
                                (unsigned)(2 * i + (!mask && i >= w / 2)), 0);
    LLVMValueRef lanes = LLVMConstVector(order, (unsigned)w);
    vp__lanes v = {LLVMBuildShuffleVector(e->builder, low.re, high.re, lanes, ""), NULL};
    if (low.im) v.im = LLVMBuildShuffleVector(e->builder, low.im, high.im, lanes, "");
    return v;
}

void vp__emit_store(vp__emitter *e, int type, vp__lanes v, LLVMValueRef at,
                    LLVMValueRef mask) {
    const unsigned align = (unsigned)size_of(vp__dtype[type].real);
    LLVMValueRef whole = v.re;
    if (is_complex(type)) {
        LLVMValueRef order[256];
        for (int i = 0; i < 2 * e->width; i++)
            order[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context),
                                    (unsigned)(i / 2 + i % 2 * e->width), 0);
        whole = LLVMBuildShuffleVector(
            e->builder, v.re, v.im, LLVMConstVector(order, 2 * (unsigned)e->width), "");
        if (mask) mask = twice(e, mask);
    }
    if (mask) {
        masked_store(e, whole, at, mask, align);
        return;
    }
    LLVMSetAlignment(LLVMBuildStore(e->builder, whole, at), align);
}

vp__lanes vp__emit_load_one(vp__emitter *e, int type, LLVMValueRef at) {
    const int real = vp__dtype[type].real;
    LLVMTypeRef t = vp__emit_element(e, real);
    vp__lanes v = {LLVMBuildLoad2(e->builder, t, at, ""), NULL};
    LLVMSetAlignment(v.re, (unsigned)size_of(real));
    v.re = vp__emit_splat(e, v.re);
    if (!is_complex(type)) return v;
    LLVMValueRef one = vp__emit_int(e, 1);
    LLVMValueRef second = LLVMBuildGEP2(e->builder, t, at, &one, 1, "");
    v.im = LLVMBuildLoad2(e->builder, t, second, "");
    LLVMSetAlignment(v.im, (unsigned)size_of(real));
    v.im = vp__emit_splat(e, v.im);
    return v;
}

vp__lanes vp__emit_value_of(vp__emitter *e, int type, const int64_t *words) {
    const int real = vp__dtype[type].real;
    uint64_t part[2] = {0, 0};
    for (int i = 0; i < size_of(type) / size_of(real); i++)
        memcpy(&part[i], (const char *)words + i * size_of(real), (size_t)size_of(real));
    vp__lanes v = {vp__emit_constant(e, real, part[0]), NULL};
    if (is_complex(type)) v.im = vp__emit_constant(e, real, part[1]);
    return v;
}

/* --- instructions ------------------------------------------------------------------- */

LLVMValueRef vp__emit_compare(vp__emitter *e, int op, int type, LLVMValueRef a,
                              LLVMValueRef b) {
    static const LLVMRealPredicate real[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                             LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate with_sign[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                                 LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate without[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                               LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    const int i = op - VP__IR_eq;
    if (is_float(type)) return LLVMBuildFCmp(e->builder, real[i], a, b, "");
    return LLVMBuildICmp(e->builder, is_signed(type) ? with_sign[i] : without[i], a, b,
                         "");
}

static LLVMValueRef pick(vp__emitter *e, LLVMValueRef when, LLVMValueRef a,
                         LLVMValueRef b) {
    return LLVMBuildSelect(e->builder, when, a, b, "");
}

/* By division of the narrowest floats that have mantissa enough, as the base kernels do;
 * 64 bits have no such float, and a divisor that is known is a multiplication. */
static LLVMValueRef quotient(vp__emitter *e, int type, LLVMValueRef x, LLVMValueRef y) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef t = vp__emit_vector(e, type);
    LLVMValueRef zero = LLVMConstNull(t), ones = LLVMConstAllOnes(t);
    LLVMValueRef by_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
    LLVMValueRef by_minus = LLVMBuildICmp(b, LLVMIntEQ, y, ones, "");
    LLVMValueRef bad = is_signed(type) ? LLVMBuildOr(b, by_zero, by_minus, "") : by_zero;
    LLVMValueRef safe = pick(e, bad, vp__emit_constant(e, type, 1), y), q;
    if (size_of(type) == 8 || LLVMIsConstant(safe)) {
        q = is_signed(type) ? LLVMBuildSDiv(b, x, safe, "")
                            : LLVMBuildUDiv(b, x, safe, "");
    } else {
        LLVMTypeRef f = vp__emit_vector(e, size_of(type) == 4 ? VP_F64 : VP_F32);
        if (is_signed(type))
            q = LLVMBuildFPToSI(b,
                                LLVMBuildFDiv(b, LLVMBuildSIToFP(b, x, f, ""),
                                              LLVMBuildSIToFP(b, safe, f, ""), ""),
                                t, "");
        else
            q = LLVMBuildFPToUI(b,
                                LLVMBuildFDiv(b, LLVMBuildUIToFP(b, x, f, ""),
                                              LLVMBuildUIToFP(b, safe, f, ""), ""),
                                t, "");
    }
    if (is_signed(type)) q = pick(e, by_minus, LLVMBuildNeg(b, x, ""), q);
    return pick(e, by_zero, zero, q);
}

static LLVMValueRef extreme(vp__emitter *e, bool least, int type, LLVMValueRef x,
                            LLVMValueRef y) {
    if (!is_float(type))
        return pick(e, vp__emit_compare(e, least ? VP__IR_le : VP__IR_ge, type, x, y), x,
                    y);
    LLVMValueRef one =
        pick(e, vp__emit_compare(e, least ? VP__IR_lt : VP__IR_gt, type, x, y), x, y);
    return pick(e, vp__emit_compare(e, VP__IR_ne, type, x, x), x, one);
}

/* Floats to integers as x86's scalar instructions convert them: see kernels_cast.inc. */
static LLVMValueRef to_signed(vp__emitter *e, int from, int to, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    double low = -9223372036854775808.0, high = 9223372036854775808.0;
    if (to == VP_I32) {
        low = from == VP_F32 ? -2147483648.0 : -2147483648.75;
        high = 2147483648.0;
    }
    LLVMValueRef in = LLVMBuildAnd(
        b, vp__emit_compare(e, VP__IR_ge, from, x, real_constant(e, from, low)),
        vp__emit_compare(e, VP__IR_lt, from, x, real_constant(e, from, high)), "");
    LLVMValueRef safe = pick(e, in, x, LLVMConstNull(vp__emit_vector(e, from)));
    LLVMValueRef i = LLVMBuildFPToSI(b, safe, vp__emit_vector(e, to), "");
    const uint64_t least = to == VP_I32 ? 0x80000000u : 0x8000000000000000u;
    return pick(e, in, i, vp__emit_constant(e, to, least));
}

static LLVMValueRef float_to_integer(vp__emitter *e, int from, int to, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef t = vp__emit_vector(e, to);
    if (to == VP_U64) {
        LLVMValueRef half = real_constant(e, from, 9223372036854775808.0);
        LLVMValueRef is_high = vp__emit_compare(e, VP__IR_ge, from, x, half);
        LLVMValueRef low = pick(e, is_high, LLVMBuildFSub(b, x, half, ""), x);
        LLVMValueRef top =
            pick(e, is_high, vp__emit_constant(e, VP_U64, 1ull << 63), LLVMConstNull(t));
        return LLVMBuildXor(b, to_signed(e, from, VP_I64, low), top, "");
    }
    if (to == VP_I64) return to_signed(e, from, VP_I64, x);
    if (to == VP_U32) return LLVMBuildTrunc(b, to_signed(e, from, VP_I64, x), t, "");
    LLVMValueRef i = to_signed(e, from, VP_I32, x);
    return to == VP_I32 ? i : LLVMBuildTrunc(b, i, t, "");
}

static LLVMValueRef convert(vp__emitter *e, int from, int to, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef t = vp__emit_vector(e, to);
    if (to == VP__TRUTH || to == VP_BOOL) {
        LLVMValueRef is = x;
        if (from != VP__TRUTH)
            is = vp__emit_compare(e, VP__IR_ne, from, x,
                                  LLVMConstNull(vp__emit_vector(e, from)));
        return to == VP__TRUTH ? is : LLVMBuildZExt(b, is, t, "");
    }
    if (is_float(from)) {
        if (!is_float(to)) return float_to_integer(e, from, to, x);
        return size_of(to) > size_of(from) ? LLVMBuildFPExt(b, x, t, "")
                                           : LLVMBuildFPTrunc(b, x, t, "");
    }
    if (is_float(to))
        return is_signed(from) ? LLVMBuildSIToFP(b, x, t, "")
                               : LLVMBuildUIToFP(b, x, t, "");
    if (from == VP__TRUTH) return LLVMBuildZExt(b, x, t, "");
    if (size_of(to) == size_of(from)) return x;
    if (size_of(to) < size_of(from)) return LLVMBuildTrunc(b, x, t, "");
    return is_signed(from) ? LLVMBuildSExt(b, x, t, "") : LLVMBuildZExt(b, x, t, "");
}

static LLVMValueRef unary_intrinsic(vp__emitter *e, const char *name, LLVMValueRef x) {
    return vp__emit_intrinsic(e, name, LLVMTypeOf(x), &x, 1);
}

vp__lanes vp__emit_instr(vp__emitter *e, const vp__ir_instr *in) {
    LLVMBuilderRef b = e->builder;
    const int type = in->type, from = e->ir->instr[in->arg[0]].type;
    vp__lanes arg[3] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
    for (int i = 0; i < vp__ir_arity(in->op); i++) arg[i] = vp__emit_value(e, in->arg[i]);
    LLVMValueRef x = arg[0].re, y = arg[1].re, v = NULL;
    const bool f = is_float(type);
    switch ((vp__ir_op)in->op) {
    case VP__IR_number: v = vp__emit_constant(e, type, in->imm); break;
    case VP__IR_add:
        v = f ? LLVMBuildFAdd(b, x, y, "") : LLVMBuildAdd(b, x, y, "");
        break;
    case VP__IR_sub:
        v = f ? LLVMBuildFSub(b, x, y, "") : LLVMBuildSub(b, x, y, "");
        break;
    case VP__IR_mul:
        v = f ? LLVMBuildFMul(b, x, y, "") : LLVMBuildMul(b, x, y, "");
        break;
    case VP__IR_div: v = LLVMBuildFDiv(b, x, y, ""); break;
    case VP__IR_quot: v = quotient(e, type, x, y); break;
    case VP__IR_neg: v = f ? LLVMBuildFNeg(b, x, "") : LLVMBuildNeg(b, x, ""); break;
    case VP__IR_and: v = LLVMBuildAnd(b, x, y, ""); break;
    case VP__IR_or: v = LLVMBuildOr(b, x, y, ""); break;
    case VP__IR_xor: v = LLVMBuildXor(b, x, y, ""); break;
    case VP__IR_not: v = LLVMBuildNot(b, x, ""); break;
    case VP__IR_shl: v = LLVMBuildShl(b, x, y, ""); break;
    case VP__IR_shr:
        v = is_signed(type) ? LLVMBuildAShr(b, x, y, "") : LLVMBuildLShr(b, x, y, "");
        break;
    case VP__IR_eq:
    case VP__IR_ne:
    case VP__IR_lt:
    case VP__IR_le:
    case VP__IR_gt:
    case VP__IR_ge: v = vp__emit_compare(e, in->op, from, x, y); break;
    case VP__IR_select:
        v = pick(e, x, y, arg[2].re);
        if (is_complex(type)) return (vp__lanes){v, pick(e, x, arg[1].im, arg[2].im)};
        break;
    case VP__IR_min: v = extreme(e, true, type, x, y); break;
    case VP__IR_max: v = extreme(e, false, type, x, y); break;
    case VP__IR_abs:
        v = f ? unary_intrinsic(e, "llvm.fabs", x)
              : pick(
                    e,
                    vp__emit_compare(e, VP__IR_lt, type, x, LLVMConstNull(LLVMTypeOf(x))),
                    LLVMBuildNeg(b, x, ""), x);
        break;
    case VP__IR_floor: v = unary_intrinsic(e, "llvm.floor", x); break;
    case VP__IR_ceil: v = unary_intrinsic(e, "llvm.ceil", x); break;
    case VP__IR_trunc: v = unary_intrinsic(e, "llvm.trunc", x); break;
    case VP__IR_rint: v = unary_intrinsic(e, "llvm.rint", x); break;
    case VP__IR_sqrt: v = unary_intrinsic(e, "llvm.sqrt", x); break;
    case VP__IR_copysign: {
        LLVMValueRef args[] = {x, y};
        v = vp__emit_intrinsic(e, "llvm.copysign", LLVMTypeOf(x), args, 2);
        break;
    }
    case VP__IR_to: v = convert(e, from, type, x); break;
    case VP__IR_pair: return (vp__lanes){x, y};
    case VP__IR_re: v = x; break;
    case VP__IR_im: v = arg[0].im; break;
    case VP__IR_leaf:
    case VP__IR_base1:
    case VP__IR_base2:
    case VP__IR_base3: /* loaded, not computed */
    case VP__NIRS: break;
    }
    return (vp__lanes){v, NULL};
}
