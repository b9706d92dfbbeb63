/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans: how a kernel that is bound to shapes and layouts is run, tile by tile, and in which
 * pieces. What is in one, plan_parts.h tells those who make it.
 */
#ifndef VP_JIT_PLAN_H
#define VP_JIT_PLAN_H

#include "jit/exec.h"

typedef struct vp__plan vp__plan;

/* Makes a plan in caller's memory of vp__plan_size() bytes, or of the fewer bytes that
 * vp__plan_size_for() says these arguments need, aligned to 8 (no allocation, nothing to
 * release; what args points to is copied, and the plan itself may be). piece_elements
 * is the wish for how many elements of the iteration space one piece should have; the
 * actual pieces are a function of kernel and shapes and of it alone. */
#define VP__ONE_PIECE (INT64_MAX / 4) /* as many elements as there are */
size_t vp__plan_size(void);
size_t vp__plan_size_for(const vp__exec_args *args);
void vp__plan_init(vp__plan *plan, const vp__exec_args *args, int64_t piece_elements);

/* Whether a plan of the kernel made later may have native code, where one made now has none. */
bool vp__plan_may_go_native(const vp__kernel *kernel);

/* How many pieces the plan has, at least 1 unless the output has no elements (then 0).
 * Pieces of one reduction may need a second step: when every piece has run,
 * vp__plan_finish must run once if vp__plan_partial_bytes is not 0. */
int64_t vp__plan_pieces(const vp__plan *plan);
vp__stage vp__plan_stage(const vp__plan *plan); /* of the code that it runs */
size_t vp__plan_partial_bytes(const vp__plan *plan);

/* Runs one piece: leaf_data[i] is the address of leaf i's element 0,0,… (ignored for
 * constants), out that of the output, `partial` vp__plan_partial_bytes() bytes shared by
 * all pieces (64-byte aligned, no initialisation needed). Needs no more than
 * vp__exec_scratch_size() bytes of 64-byte aligned scratch, private to the thread. */
void vp__plan_run(const vp__plan *plan, int64_t piece, void *const *leaf_data, void *out,
                  void *partial, void *scratch);
void vp__plan_finish(const vp__plan *plan, void *out, void *partial, void *scratch);

#endif
