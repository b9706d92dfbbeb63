/* SPDX-License-Identifier: Apache-2.0
 *
 * The base executor: runs a kernel over its iteration space with the precompiled kernels
 * of ops/kernels.h, block by block, so that intermediates stay in L1.
 */
#ifndef VP_JIT_EXEC_H
#define VP_JIT_EXEC_H

#include "jit/native.h"

/* Binds a kernel to shapes and layouts. Everything but the addresses is known when a node
 * is placed; a plan is made then, once, and its pieces may run on any threads at once. */
typedef struct vp__exec_args {
    const vp__kernel *kernel;
    int32_t ndim; /* of the iteration space */
    const int64_t *dims;
    uint32_t reduced; /* bit i: axis i is reduced (0 without a reduction) */
    const int64_t
        *leaf_strides[VP__KERNEL_LEAVES]; /* bytes, ndim entries; NULL: constant */
    /* Bytes, ndim entries; entries of reduced axes are ignored. */
    const int64_t *out_strides;
    double
        cost; /* of the base kernels in nanoseconds, to know whether native code is worth
                    asking for; 0: it is not to be used */
    int repeats; /* runs that the plan is made for, as far as one knows; 0 counts as 1 */
} vp__exec_args;

typedef struct vp__plan vp__plan;

/* Makes a plan in caller's memory of vp__plan_size() bytes, or of the fewer bytes that
 * vp__plan_size_for() says these arguments need, aligned to 8 (no allocation, nothing to
 * release; what args points to is copied, and the plan itself may be). piece_elements
 * is the wish for how many elements of the iteration space one piece should have; the
 * actual pieces are a function of kernel and shapes and of it alone. */
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
size_t vp__exec_scratch_size(void);

/* The short way for small contiguous work: runs an element-wise kernel (no reduction)
 * whose array leaves and output are all contiguous in the same order with n elements.
 * No plan. */
void vp__exec_flat(const vp__kernel *kernel, void *const *leaf_data, void *out, int64_t n,
                   void *scratch);

/* Native code for that, if there is any by now; `ns` is what the run would cost, n the
 * elements of each call, or VP__UNKNOWN where they change. */
vp__code vp__exec_flat_code(const vp__kernel *kernel, double ns, int64_t n);
void vp__exec_flat_native(const vp__code *code, const vp__kernel *kernel,
                          void *const *leaf_data, void *out, int64_t n);

#endif
