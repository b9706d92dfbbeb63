/* SPDX-License-Identifier: Apache-2.0
 *
 * What all kinds of loops are written with: loops and branches, where the operands are, and
 * the body on the vector at some position. loops.c has the maps, reduce.c the reductions.
 */
#ifndef VP_JIT_LLVM_LOOPS_H
#define VP_JIT_LLVM_LOOPS_H

#include "jit/llvm/emit.h"

enum { VP__LOOP_CARRIED = 20 };

/* A loop being written; it is tested at its end. One whose turns are known and few is no
 * loop but its body, again and again. */
typedef struct {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef i, end, step;
    int64_t at, left; /* without a loop: the turn being written, and how many are left */
    int ncarried;
    bool some;   /* there is at least one turn */
    bool doubts; /* the last of the carried values is e->doubting */
    LLVMValueRef first[VP__LOOP_CARRIED], carried[VP__LOOP_CARRIED];
} vp__loop;

/* for (i = start; i < end; i += step), with values carried from turn to turn. */
void vp__loop_begin(vp__emitter *e, vp__loop *l, LLVMValueRef start, LLVMValueRef end,
                    int64_t step, int ncarried, const LLVMValueRef *first);
/* Begins a loop that has at least one turn, which is less code. */
void vp__loop_begin_some(vp__emitter *e, vp__loop *l, LLVMValueRef start,
                         LLVMValueRef end, int64_t step, int ncarried,
                         const LLVMValueRef *first);
/* For an innermost loop, whose body may be written several times: in a do … while
 * of vp__loop_end. */
void vp__loop_begin_inner(vp__emitter *e, vp__loop *l, LLVMValueRef start,
                          LLVMValueRef end, int64_t step, int ncarried,
                          const LLVMValueRef *first);
/* Ends a turn, and says whether another one must be written; after the last, l->carried are
 * the values after the loop. */
bool vp__loop_end(vp__emitter *e, vp__loop *l, const LLVMValueRef *next);

/* Whether a value is a number that is known, and which. */
bool vp__emit_is_known(LLVMValueRef v, int64_t *number);

/* if (condition) { … }, with values that are `otherwise` when it does not hold. */
typedef struct {
    LLVMBasicBlockRef before, after; /* NULL: it is known to hold */
} vp__branch;

void vp__branch_begin(vp__emitter *e, vp__branch *f, LLVMValueRef condition);
void vp__branch_end(vp__emitter *e, vp__branch *f, int n, LLVMValueRef *then,
                    const LLVMValueRef *otherwise);

/* Around code that is written once for each pass of sines that are written out: the first,
 * and the one in which all is done again. With none, a branch that is always taken. */
typedef struct {
    vp__branch branch;
    int number, count;
} vp__pass;

void vp__pass_begin(vp__emitter *e, vp__pass *p);
/* Whether there is another one, which has then begun. */
bool vp__pass_end(vp__emitter *e, vp__pass *p);

/* The function's parameters, loaded; operand nleaves is the output. */
typedef struct {
    LLVMValueRef ptr[VP__KERNEL_LEAVES + 1], row[VP__KERNEL_LEAVES + 1],
        outer[VP__KERNEL_LEAVES + 1];
    LLVMValueRef x, y, z;
    int n;
} vp__operands;

/* Where n operands are in the k-th row, or plane. */
void vp__operands_go(vp__emitter *e, int n, const LLVMValueRef *from,
                     const LLVMValueRef *stride, LLVMValueRef k, LLVMValueRef *at);

/* Loads the leaves of a kind of reading that do not change along x. */
void vp__emit_fixed(vp__emitter *e, const LLVMValueRef *at, int read);

/* Begins the loops over planes and rows; inside, `at` is the row, and what does not change
 * along it is loaded. To be ended with vp__loop_end, the rows' first. */
void vp__rows_begin(vp__emitter *e, const vp__operands *o, vp__loop *z, vp__loop *y,
                    LLVMValueRef *at);
/* The body's value of the vector at x. */
vp__lanes vp__emit_body(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                        LLVMValueRef mask);
/* Stores a result's vector at x. */
void vp__emit_store_at(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                       LLVMValueRef mask, vp__lanes v);

/* Whether base kernels do a part of the body, a block at a time; and all legs but the last
 * for the elements from `from` to `to`, at most a block. */
bool vp__emit_has_calls(const vp__emitter *e);
void vp__emit_legs(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef from,
                   LLVMValueRef to);

LLVMTypeRef vp__emit_i64(vp__emitter *e);
LLVMValueRef vp__emit_zero(vp__emitter *e);
LLVMValueRef vp__emit_moved(vp__emitter *e, LLVMValueRef at, LLVMValueRef bytes);
LLVMValueRef vp__emit_times(vp__emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef vp__emit_less(vp__emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef vp__emit_least(vp__emitter *e, LLVMValueRef a, LLVMValueRef b);
/* The largest multiple of a power of two, `step`, that is not above n. */
LLVMValueRef vp__emit_whole(vp__emitter *e, LLVMValueRef n, int64_t step);
/* The lanes below n. */
LLVMValueRef vp__emit_mask_below(vp__emitter *e, LLVMValueRef n);

/* reduce.c: whether the order of a reduction is given, by the tree of ops/kernels.h; and its
 * loops, rows without the last merge for VP__LOOPS_CHUNK. */
bool vp__emit_is_tree(const vp__ir *ir);
void vp__emit_rows(vp__emitter *e, const vp__operands *o, bool finish);
void vp__emit_cols(vp__emitter *e, const vp__operands *o);
void vp__emit_state(vp__emitter *e, const vp__operands *o);
void vp__emit_fold(vp__emitter *e, const vp__operands *o);

#endif
