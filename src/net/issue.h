/* SPDX-License-Identifier: Apache-2.0
 *
 * What closing a segment and writing one into an array have in common.
 */
#ifndef VP_NET_ISSUE_H
#define VP_NET_ISSUE_H

#include "net/net.h"
#include "net/segment.h"

/* Whether the segment is small enough to run on the caller. */
bool vp__issue_is_tiny(const vp__expr *e);

/* Whether every leaf can be read now. The leaves are captured, so nobody starts to write
 * them before the expression is gone. */
bool vp__issue_leaves_ready(vp__expr *const *leaves, int n);

/* The error an inline run inherits, not retained; NULL if none. */
vp__error *vp__issue_leaf_error(vp__expr *const *leaves, int n);

/* Runs the segment on this thread into `out`, or into `fresh`, which gets its memory. It is
 * laid out by `strides` or, when NULL, as the value's natural layout, reported in v unless
 * that is NULL. */
vp__error *vp__issue_run_now(const vp__segment *seg, vp__expr *const *leaves,
                             vp__value *v, vp__storage *fresh, char *out,
                             const int64_t *strides, const char *where);

/* A node of the segment with its inputs; the caller sets the result. NULL without memory. */
vp__node *vp__issue_node(vp__expr *e, const vp__segment *seg, vp__expr *const *leaves,
                         int target_ndim);

/* A view of a storage was written whole; if it has no gaps, what had failed there before does
 * not count any more. */
void vp__target_written(vp__storage *s, vp_dtype dtype, int ndim, const int64_t *dims,
                        const int64_t *strides, const vp__region *region,
                        uint64_t sequence);

vp__error *vp__issue_no_memory(const char *where);
void vp__value_init(vp__value *v, const vp__expr *e);

#endif
