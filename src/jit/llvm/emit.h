/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing LLVM IR: lanes (lanes.c) are a kernel's body on one vector, loops (loops.c,
 * and reduce.c for reductions) what goes around it.
 *
 * What only a base kernel can do, sines and complex roots, is done a block at a time: the
 * body falls into legs, each a loop over a block on the stack, with the calls between
 * them (legs.c). A call for a whole block costs nothing against what it does, and base
 * and native code share every bit of it.
 */
#ifndef VP_JIT_LLVM_EMIT_H
#define VP_JIT_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "jit/plugin.h"
#include "ops/sin_constants.h"

/* A value of the body: one vector, or two for the components of a complex one. */
typedef struct {
    LLVMValueRef re, im;
} vp__lanes;

typedef struct {
    const vp__ir *ir;
    const vp__loops *loops;
    const vp__facts *facts; /* what may be relied on; NULL: nothing */
    const vp__machine *target;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry; /* where stack slots are made */
    int width;               /* lanes of a vector */
    vp__lanes *value;        /* by IR instruction, of the vector at hand; NULL: not yet */
    /* Where the vector at hand is: the rows' addresses, its first element's number, the
     * lanes that count (NULL: all), and the first element of the block. */
    const LLVMValueRef *at;
    LLVMValueRef x, mask, block;
    int legs;             /* one more than calls that depend on each other */
    uint8_t *leg;         /* by IR instruction: when its value is there */
    LLVMValueRef *buffer; /* likewise: its block on the stack, or NULL */
    bool own_sin;         /* sines are written out and not called */
    LLVMValueRef sin_number[VP__SIN_COUNT]; /* then: loaded, in all lanes */
    LLVMValueRef pass;  /* then: 1 where they did not do and all is done again */
    bool again;         /* what is for that pass: they are called, vector by vector */
    LLVMValueRef doubt; /* then: where a vector is kept that is below 0 in lanes for which
                             one must be called after all */
    LLVMValueRef doubting; /* the same as a value, in an innermost loop; or NULL */
} vp__emitter;

/* Elements of a block; the reductions' blocks fit it. */
enum { VP__EMIT_BLOCK = 1024 };

/* Threads of a program's own may have small stacks; what needs more stays with the base
 * kernels. */
enum { VP__EMIT_STACK = 192 * 1024 };

LLVMTypeRef vp__emit_element(vp__emitter *e, int type);
LLVMTypeRef vp__emit_vector(vp__emitter *e, int type);
LLVMValueRef vp__emit_splat(vp__emitter *e, LLVMValueRef scalar);
LLVMValueRef vp__emit_int(vp__emitter *e, int64_t n); /* an i64 */
/* A float's bits in one of the two types. */
uint64_t vp__emit_bits(int type, double x);
LLVMValueRef vp__emit_scalar(vp__emitter *e, int type, uint64_t bits);
/* A constant in all lanes. */
LLVMValueRef vp__emit_constant(vp__emitter *e, int type, uint64_t bits);
/* A comparison of the IR, on vectors or scalars. */
LLVMValueRef vp__emit_compare(vp__emitter *e, int op, int type, LLVMValueRef a,
                              LLVMValueRef b);
LLVMValueRef vp__emit_intrinsic(vp__emitter *e, const char *name, LLVMTypeRef overload,
                                LLVMValueRef *args, unsigned n);

/* Where the i-th element is of those of `size` bytes from `p` on. */
LLVMValueRef vp__emit_nth(vp__emitter *e, LLVMValueRef p, LLVMValueRef i, int size);
/* Loads or stores a vector of elements at an address; with `mask`, only its lanes. */
vp__lanes vp__emit_load(vp__emitter *e, int type, LLVMValueRef at, LLVMValueRef mask);
void vp__emit_store(vp__emitter *e, int type, vp__lanes v, LLVMValueRef at,
                    LLVMValueRef mask);
/* Loads a vector of every other element. */
vp__lanes vp__emit_load_other(vp__emitter *e, int type, LLVMValueRef at,
                              LLVMValueRef mask);
/* One element for all lanes: loaded, or a constant's value. */
vp__lanes vp__emit_load_one(vp__emitter *e, int type, LLVMValueRef at);
vp__lanes vp__emit_value_of(vp__emitter *e, int type, const int64_t *words);

/* A sine that is written out notes the lanes for which it is not exact enough: _end says
 * whether there was one since _begin. In an innermost loop the note is in e->doubting; else it
 * is loaded from and stored to e->doubt. */
void vp__doubt_begin(vp__emitter *e);
LLVMValueRef vp__doubt_end(vp__emitter *e);
LLVMValueRef vp__doubt_load(vp__emitter *e);
void vp__doubt_store(vp__emitter *e, LLVMValueRef v);
/* A float64 sine, written out. */
LLVMValueRef vp__emit_sin(vp__emitter *e, LLVMValueRef x);
/* Loads the sine's numbers, for what is written after. */
void vp__sin_begin(vp__emitter *e);

/* A value of the vector at hand, computed or loaded if need be. */
vp__lanes vp__emit_value(vp__emitter *e, int i);
/* Computes an instruction from its operands' values. */
vp__lanes vp__emit_instr(vp__emitter *e, const vp__ir_instr *in);
/* Moves on to another vector: what changes along x is not there yet. */
void vp__emit_move(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                   LLVMValueRef mask);
/* Turns to another row at the same x: runs that the rows share stay. */
void vp__emit_turn(vp__emitter *e, const LLVMValueRef *at);
/* Whether a leaf changes along x. */
bool vp__emit_is_run(const vp__emitter *e, int leaf);

/* Divides the body into legs; false without memory. */
bool vp__legs_init(vp__emitter *e);
/* Divides it anew, after own_sin has changed. */
void vp__legs_find(vp__emitter *e);
bool vp__legs_have_sin(const vp__emitter *e);
void vp__legs_deinit(vp__emitter *e);
/* The function that adds batches to the reduction's tree; to be asked for once. */
LLVMValueRef vp__legs_reduce_add(vp__emitter *e, LLVMTypeRef signature);
/* The bytes that all blocks take of the stack. */
size_t vp__legs_bytes(const vp__emitter *e);
/* Between two legs: the calls of base kernels whose operands are there, for the n elements
 * of the block at x. */
void vp__legs_call(vp__emitter *e, int leg, const LLVMValueRef *at, LLVMValueRef x,
                   LLVMValueRef n);
/* Stores what later legs need of the vector at hand. */
void vp__legs_store(vp__emitter *e, int leg);

/* The whole function. */
void vp__emit_kernel(vp__emitter *e);

/* Makes a stack slot. */
LLVMValueRef vp__emit_slot(vp__emitter *e, LLVMTypeRef type);

#endif
