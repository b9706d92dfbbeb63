/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own float64 sine, written out: a call for a block of elements costs a pass over the
 * block that the vector units could have done beside it. Operation by operation it is
 * vp__own_sin of ops/math_trig.h, but for the lanes that this finds doubtful: they are noted,
 * and everything is done again with the base kernel. There are no calls, so that its many
 * constants stay in registers.
 */
#include "jit/llvm/loops.h"

void vp__sin_begin(vp__emitter *e) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef real = vp__emit_element(e, VP_F64);
    LLVMValueRef table = LLVMGetNamedGlobal(e->module, VP__SIN_SYMBOL);
    if (!table) table = LLVMAddGlobal(e->module, real, VP__SIN_SYMBOL);
    for (int i = 0; i < VP__SIN_COUNT; i++) {
        LLVMValueRef k = vp__emit_int(e, i);
        LLVMValueRef at = LLVMBuildGEP2(b, real, table, &k, 1, "");
        e->sin_number[i] = vp__emit_splat(e, LLVMBuildLoad2(b, real, at, ""));
    }
}

static LLVMValueRef multiply_add(vp__emitter *e, LLVMValueRef x, LLVMValueRef y,
                                 LLVMValueRef z) {
    LLVMValueRef args[] = {x, y, z};
    return vp__emit_intrinsic(e, "llvm.fma", vp__emit_vector(e, VP_F64), args, 3);
}

static LLVMValueRef reduced(vp__emitter *e, LLVMValueRef r, LLVMValueRef r2) {
    LLVMValueRef p = e->sin_number[VP__SIN_AT_15];
    for (int i = VP__SIN_AT_15 + 1; i < VP__SIN_COUNT; i++)
        p = multiply_add(e, r2, p, e->sin_number[i]);
    return multiply_add(e, LLVMBuildFMul(e->builder, r2, r, ""), p, r);
}

static LLVMValueRef smaller(vp__emitter *e, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOLT, x, y, ""),
                           x, y, "");
}

/* The smaller of |x| and the limit; the limit for NaN, but for a signalling one, which the
 * instruction of AVX-512 keeps, here and in the base kernels. */
static LLVMValueRef capped(vp__emitter *e, LLVMValueRef x, LLVMValueRef limit) {
    LLVMTypeRef real = LLVMTypeOf(x);
    if (e->target->vector_bytes != 64 || e->width != 8)
        return smaller(e, vp__emit_intrinsic(e, "llvm.fabs", real, &x, 1), limit);
    /* AVX-512 has an instruction for it. */
    static const char name[] = "llvm.x86.avx512.mask.range.pd.512";
    const unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef word = LLVMInt32TypeInContext(e->context);
    LLVMValueRef args[] = {x,
                           limit,
                           LLVMConstInt(word, 0x0a, 0), /* of magnitudes, without sign */
                           LLVMGetUndef(real),
                           LLVMConstInt(LLVMInt8TypeInContext(e->context), 0xff, 0),
                           LLVMConstInt(word, 4, 0)}; /* rounded as always */
    return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, NULL, 0),
                          LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0), args, 6,
                          "");
}

LLVMValueRef vp__doubt_load(vp__emitter *e) {
    return LLVMBuildLoad2(e->builder, vp__emit_vector(e, VP_F64), e->doubt, "");
}

void vp__doubt_store(vp__emitter *e, LLVMValueRef v) {
    LLVMBuildStore(e->builder, v, e->doubt);
}

/* Lanes are doubtful where r2 is less than m. The smallest difference is kept: unlike a
 * comparison, that leaves the units which multiply alone. */
static void note_doubt(vp__emitter *e, LLVMValueRef r2, LLVMValueRef m) {
    LLVMValueRef difference = LLVMBuildFSub(e->builder, r2, m, "");
    if (e->doubting)
        e->doubting = smaller(e, difference, e->doubting);
    else
        vp__doubt_store(e, smaller(e, difference, vp__doubt_load(e)));
}

void vp__doubt_begin(vp__emitter *e) {
    e->doubt = vp__emit_slot(e, vp__emit_vector(e, VP_F64));
    e->doubting = NULL;
    vp__doubt_store(e, LLVMConstNull(vp__emit_vector(e, VP_F64)));
}

LLVMValueRef vp__doubt_end(vp__emitter *e) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef doubt = vp__doubt_load(e);
    LLVMValueRef below =
        LLVMBuildFCmp(b, LLVMRealOLT, doubt, LLVMConstNull(LLVMTypeOf(doubt)), "");
    LLVMTypeRef flags = LLVMIntTypeInContext(e->context, (unsigned)e->width);
    return LLVMBuildICmp(b, LLVMIntNE, LLVMBuildBitCast(b, below, flags, ""),
                         LLVMConstNull(flags), "");
}

LLVMValueRef vp__emit_sin(vp__emitter *e, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef real = vp__emit_vector(e, VP_F64), whole = vp__emit_vector(e, VP_U64);
    LLVMValueRef top = vp__emit_constant(e, VP_U64, UINT64_C(1) << 63);
    LLVMValueRef sign = LLVMBuildAnd(b, LLVMBuildBitCast(b, x, whole, ""), top, "");
    const LLVMValueRef *number = e->sin_number;
    LLVMValueRef a = capped(e, x, number[VP__SIN_AT_LIMIT]);
    LLVMValueRef shifted =
        multiply_add(e, a, number[VP__SIN_AT_PER_PI], number[VP__SIN_AT_WHOLE]);
    LLVMValueRef m = LLVMBuildFSub(b, shifted, number[VP__SIN_AT_WHOLE], "");
    LLVMValueRef r = multiply_add(e, m, number[VP__SIN_AT_PI_HIGH], a);
    r = multiply_add(e, m, number[VP__SIN_AT_PI_LOW], r);
    LLVMValueRef r2 = LLVMBuildFMul(b, r, r, "");
    LLVMValueRef odd = LLVMBuildShl(b, LLVMBuildBitCast(b, shifted, whole, ""),
                                    vp__emit_constant(e, VP_U64, 63), "");
    LLVMValueRef y = LLVMBuildBitCast(b, reduced(e, r, r2), whole, "");
    y = LLVMBuildXor(b, LLVMBuildXor(b, y, odd, ""), sign, "");
    note_doubt(e, r2, m);
    return LLVMBuildBitCast(b, y, real, "");
}
