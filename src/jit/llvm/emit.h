/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing LLVM IR: lanes (lanes.c) are a kernel's body on one vector, loops (loops.c) what
 * goes around it.
 */
#ifndef VP_JIT_LLVM_EMIT_H
#define VP_JIT_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "jit/plugin.h"

/* A value of the body: one vector, or two for the components of a complex one. */
typedef struct {
    LLVMValueRef re, im;
} vp__lanes;

typedef struct {
    const vp__ir *ir;
    const vp__form *form;
    const vp__machine *target;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry; /* where stack slots are made */
    int width;               /* lanes of a vector */
    vp__lanes *value;        /* by IR instruction, of the vector at hand */
    const char *failed;      /* what could not be done */
} vp__emitter;

LLVMTypeRef vp__emit_element(vp__emitter *e, int type);
LLVMTypeRef vp__emit_vector(vp__emitter *e, int type);
LLVMValueRef vp__emit_splat(vp__emitter *e, LLVMValueRef scalar);
LLVMValueRef vp__emit_int(vp__emitter *e, int64_t n); /* an i64 */
LLVMValueRef vp__emit_scalar(vp__emitter *e, int type, uint64_t bits);
/* The same for all lanes. */
LLVMValueRef vp__emit_constant(vp__emitter *e, int type, uint64_t bits);
/* A comparison of the IR, on vectors or scalars. */
LLVMValueRef vp__emit_compare(vp__emitter *e, int op, int type, LLVMValueRef a,
                              LLVMValueRef b);
LLVMValueRef vp__emit_intrinsic(vp__emitter *e, const char *name, LLVMTypeRef overload,
                                LLVMValueRef *args, unsigned n);

/* Loads or stores a vector of elements at an address; with `mask`, only its lanes. */
vp__lanes vp__emit_load(vp__emitter *e, int type, LLVMValueRef at, LLVMValueRef mask);
void vp__emit_store(vp__emitter *e, int type, vp__lanes v, LLVMValueRef at,
                    LLVMValueRef mask);
/* One element for all lanes. */
vp__lanes vp__emit_load_one(vp__emitter *e, int type, LLVMValueRef at);

/* The body; the leaves' values are set. */
vp__lanes vp__emit_body(vp__emitter *e);

/* The whole function. */
void vp__emit_kernel(vp__emitter *e);

/* Makes a stack slot. */
LLVMValueRef vp__emit_slot(vp__emitter *e, LLVMTypeRef type);

#endif
