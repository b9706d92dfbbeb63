/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments as work of the net.
 */
#ifndef VP_NET_SEGMENT_H
#define VP_NET_SEGMENT_H

#include "net/node.h"
#include "net/recipe.h"

/* A node for a segment whose inputs will be added in the order of its leaves; key: its kind
 * of work for the cost model. Sized ones follow a recipe; a late one's steps are copied, and
 * it finds a recipe when the last size arrives. */
vp__node *vp__segment_node(const char *name, int key, const char *where, int leaves,
                           int input_axes, int ndim, int target_ndim,
                           const vp__segment *late);

/* Takes over a reference; sets dims, strides, estimate. */
void vp__segment_node_follow(vp__node *n, vp__recipe *recipe);

/* What it is called: its last operation. */
const char *vp__segment_name(const vp__segment *seg);

#endif
