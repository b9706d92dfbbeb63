/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a node as a device runs it: one kernel, and where its operands come from.
 */
#ifndef VP_NET_PART_H
#define VP_NET_PART_H

#include "jit/exec.h"

/* How many parts one node may have. */
enum { VP__NODE_PARTS = 48 };

/* One kernel of a node, as a device runs it. */
typedef struct vp__device_part {
    const vp__kernel *kernel;
    vp__exec_args args;
    int16_t source[VP__KERNEL_LEAVES]; /* what the device reads, or ~(earlier part) */
    int64_t out_bytes;
    bool last; /* writes the node's value */
    /* Room for what a kind of work does not keep written out. */
    vp__kernel own;
    int64_t axes[VP__KERNEL_LEAVES + 2];
} vp__device_part;

#endif
