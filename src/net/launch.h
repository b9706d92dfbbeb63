/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes on devices. A node that placed itself on a device has its operands copied there,
 * gives the device one kernel after another, and completes from the device's own thread. If
 * anything of this fails it runs on the CPU instead.
 */
#ifndef VP_NET_LAUNCH_H
#define VP_NET_LAUNCH_H

#include "jit/exec.h"
#include "net/remote.h"

/* One kernel of a node, as a device runs it. */
typedef struct vp__device_part {
    const vp__kernel *kernel;
    vp__exec_args args;
    int16_t source[VP__KERNEL_LEAVES]; /* input of the node, or ~(earlier part) */
    int64_t out_bytes;
    bool last; /* writes the node's value */
    /* Room for what a kind of work does not keep written out. */
    vp__kernel own;
    int64_t axes[VP__KERNEL_LEAVES + 2];
} vp__device_part;

/* Brings a node whose inputs are complete to where they can be used. True: it waits for
 * operands or has been given to its device, and is not the caller's any more. False: it
 * can run on the CPU now. */
bool vp__launch_or_fetch(vp__node *n);

/* Whether a device could run the node at all. */
bool vp__launch_is_possible(const vp__node *n);

/* Gives back what running on a device took. */
void vp__launch_end(vp__node *n);

/* How long the device was at it. */
double vp__launch_ns(const vp__node *n);

#endif
