/* SPDX-License-Identifier: Apache-2.0
 *
 * Library operations as nodes of the net.
 */
#ifndef VP_ISSUE_LIBRARY_NODE_H
#define VP_ISSUE_LIBRARY_NODE_H

#include "issue/library/params.h"
#include "net/node.h"

/* A node of an operation without its inputs, with room for `nin` of `axes` axes in all and a
 * target of target_ndim; NULL without memory. */
vp__node *vp__library_node(const vp__lib_params *p, vp_dtype dtype, const char *name,
                           const char *where, int nin, int axes, int ndim,
                           int target_ndim);

#endif
