/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own float64 sine, written out: a call for a block of elements costs a pass over the
 * block that the vector units could have done beside it. Operation by operation it is
 * vp__own_sin of ops/math_trig.h, but for the lanes that this finds doubtful: they are noted,
 * and everything is done again with the base kernel. There are no calls, so that its many
 * constants stay in registers.
 */
#include "jit/llvm/loops.h"
#include "ops/sin_constants.h"

static LLVMValueRef number(vp__emitter *e, double x) {
    return vp__emit_constant(e, VP_F64, vp__emit_bits(VP_F64, x));
}

static LLVMValueRef multiply_add(vp__emitter *e, LLVMValueRef x, LLVMValueRef y,
                                 LLVMValueRef z) {
    LLVMValueRef args[] = {x, y, z};
    return vp__emit_intrinsic(e, "llvm.fma", vp__emit_vector(e, VP_F64), args, 3);
}

static LLVMValueRef reduced(vp__emitter *e, LLVMValueRef r, LLVMValueRef r2) {
    static const double coefficients[] = {VP__SIN_13, VP__SIN_11, VP__SIN_9,
                                          VP__SIN_7,  VP__SIN_5,  VP__SIN_3};
    LLVMValueRef p = number(e, VP__SIN_15);
    for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients; i++)
        p = multiply_add(e, r2, p, number(e, coefficients[i]));
    return multiply_add(e, LLVMBuildFMul(e->builder, r2, r, ""), p, r);
}

LLVMValueRef vp__emit_sin(vp__emitter *e, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef real = vp__emit_vector(e, VP_F64), whole = vp__emit_vector(e, VP_U64);
    LLVMValueRef bits = LLVMBuildBitCast(b, x, whole, "");
    LLVMValueRef top = vp__emit_constant(e, VP_U64, UINT64_C(1) << 63);
    LLVMValueRef sign = LLVMBuildAnd(b, bits, top, "");
    LLVMValueRef magnitude =
        LLVMBuildBitCast(b, LLVMBuildXor(b, bits, sign, ""), real, "");
    LLVMValueRef limit = number(e, VP__SIN_LIMIT);
    /* The limit for NaN. */
    LLVMValueRef a = LLVMBuildSelect(
        b, LLVMBuildFCmp(b, LLVMRealOLT, magnitude, limit, ""), magnitude, limit, "");
    LLVMValueRef shifted =
        multiply_add(e, a, number(e, VP__SIN_PER_PI), number(e, VP__SIN_WHOLE));
    LLVMValueRef m = LLVMBuildFSub(b, shifted, number(e, VP__SIN_WHOLE), "");
    LLVMValueRef r = multiply_add(e, m, number(e, -VP__PI_HIGH), a);
    r = multiply_add(e, m, number(e, -VP__PI_LOW), r);
    LLVMValueRef r2 = LLVMBuildFMul(b, r, r, "");
    LLVMValueRef odd = LLVMBuildShl(b, LLVMBuildBitCast(b, shifted, whole, ""),
                                    vp__emit_constant(e, VP_U64, 63), "");
    LLVMValueRef y = LLVMBuildBitCast(b, reduced(e, r, r2), whole, "");
    y = LLVMBuildXor(b, LLVMBuildXor(b, y, odd, ""), sign, "");
    y = LLVMBuildBitCast(b, y, real, "");
    LLVMTypeRef flags = LLVMIntTypeInContext(e->context, (unsigned)e->width);
    LLVMTypeRef word = LLVMInt64TypeInContext(e->context);
    LLVMValueRef doubtful = LLVMBuildFCmp(b, LLVMRealOLT, r2, m, "");
    doubtful = LLVMBuildZExt(b, LLVMBuildBitCast(b, doubtful, flags, ""), word, "");
    LLVMValueRef before = LLVMBuildLoad2(b, word, e->doubt, "");
    LLVMBuildStore(b, LLVMBuildOr(b, before, doubtful, ""), e->doubt);
    return y;
}
