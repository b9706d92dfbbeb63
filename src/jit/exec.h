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

enum { VP__OPERANDS = VP__KERNEL_LEAVES + 1 }; /* array leaves, then the output */

/* What a thread that runs kernels needs: 64-byte aligned, its own. */
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
