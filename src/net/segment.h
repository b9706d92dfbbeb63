/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments as work of the net, and the short way for those that can run at once.
 */
#ifndef VP_NET_SEGMENT_H
#define VP_NET_SEGMENT_H

#include "net/cut.h"
#include "net/node.h"

/* A node for a segment whose inputs will be added in the order of its leaves. `cut_now`:
 * sizes are known (vp__segment_node_cut will be called); else the steps are copied and cut
 * when the last size arrives. */
vp__node *vp__segment_node(const vp__segment *seg, bool late, const char *name,
                           const char *where, int input_axes, int ndim, int target_ndim);

/* What it is called: its last operation. */
const char *vp__segment_name(const vp__segment *seg);

/* Cuts a node's segment with the sizes of its inputs; sets dims, strides, cost. */
vp__error *vp__segment_node_cut(vp__node *n, const vp__segment *seg);

/* Runs a cut segment on the calling thread. leaf_data[i] is leaf i's first element; the
 * value goes to `out` in the last part's own layout, or with `strides` if given. */
vp__error *vp__segment_run(const vp__cut *cut, char *const *leaf_data, char *out,
                           const int64_t *strides, vp__core *core, const char *where);

#endif
