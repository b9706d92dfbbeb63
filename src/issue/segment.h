/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments as work of the net.
 */
#ifndef VP_ISSUE_SEGMENT_H
#define VP_ISSUE_SEGMENT_H

#include "issue/recipe.h"
#include "net/node.h"

/* A node of a segment with its inputs; the caller sets its destination. It follows the recipe;
 * without one, because its size is not known, it keeps the terms and finds one when the last
 * size arrives; a value that has failed only hands its error on. NULL without memory. */
vp__node *vp__segment_node_of(vp__expr *e, vp__recipe *recipe, vp__expr **leaves,
                              int target_ndim);

/* What it is called: its last operation. */
const char *vp__segment_name(const vp__segment *seg);

#endif
