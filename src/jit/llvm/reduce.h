/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loops of reductions share.
 */
#ifndef VP_JIT_LLVM_REDUCE_H
#define VP_JIT_LLVM_REDUCE_H

#include "jit/llvm/loops.h"

/* The earlier a and the later x folded, and what changes nothing when it is folded. */
LLVMValueRef vp__fold(vp__emitter *e, LLVMValueRef a, LLVMValueRef x);
LLVMValueRef vp__fold_identity(vp__emitter *e);
/* Stores the state of a row: its result, or, where the order is given and it is not the end,
 * the state itself. */
void vp__fold_store(vp__emitter *e, LLVMValueRef state, LLVMValueRef at, bool finish);
/* The state of a row of n elements whose order does not matter. */
LLVMValueRef vp__fold_free(vp__emitter *e, LLVMValueRef *at, LLVMValueRef n);
/* Whether the body is short enough to be written several times. */
bool vp__fold_is_light(const vp__emitter *e);

enum { VP__ROWS = 4, VP__TOGETHER = VP__ROWS * VP__PLANES };

/* Rows that are reduced together. */
typedef struct {
    int rows, n; /* of each plane, and in all */
    LLVMValueRef at[VP__TOGETHER][VP__KERNEL_LEAVES + 1];
    vp__lanes fixed[VP__TOGETHER][VP__KERNEL_LEAVES]; /* what a row has one element of */
    LLVMValueRef one; /* NULL: all rows add with the adding units */
    /* Of several rows, on the stack: where each operand is in the planes, and how many bytes
     * each row is from there. */
    LLVMValueRef planes, in_plane;
    /* On the stack, row by row: the states of a batch of blocks, and where there may be several
     * the tree's. */
    LLVMValueRef states, levels;
} vp__band;

/* The values of all rows for the vector at x; reads only `rows`, `n`, `at` and `fixed`. */
void vp__band_values(vp__emitter *e, const vp__band *g, LLVMValueRef x, LLVMValueRef mask,
                     LLVMValueRef *value);
/* Copies the present values of the leaves. */
void vp__band_copy_leaves(const vp__emitter *e, vp__lanes *to);

#endif
