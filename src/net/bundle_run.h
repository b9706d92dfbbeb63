/* SPDX-License-Identifier: Apache-2.0
 *
 * What a bundle holds, and the work of it as a node: its lanes are computed in one run of an
 * axis more where they lie at even distances, else one after the other, and stored where
 * they belong, or kept in a temporary until that may be written.
 */
#ifndef VP_NET_BUNDLE_RUN_H
#define VP_NET_BUNDLE_RUN_H

#include "net/issue.h"

enum { VP__BUNDLE_GATES = 16 }; /* groups its stores may wait for */

/* One put. dims and strides of its target follow the leaves' addresses. */
typedef struct {
    char *to;
    uint64_t sequence; /* of the write */
    char *data[];      /* of the leaves */
} vp__lane;

typedef struct {
    vp__recipe *recipe;
    int32_t lanes, most;
    int32_t lane_bytes, nleaves;
    int32_t ndim; /* of targets */
    bool fits;    /* values have their target's shape */
    int32_t ngates;
    vp__group *gate[VP__BUNDLE_GATES];
    int64_t value_bytes; /* of a lane, in a temporary */
    char *room;          /* for values that cannot be computed in place */
    char *first;         /* lanes follow each other */
} vp__bundle;

static inline vp__lane *vp__lane_of(const vp__bundle *b, int i) {
    return (vp__lane *)(b->first + (ptrdiff_t)i * b->lane_bytes);
}

static inline int64_t *vp__lane_dims(const vp__bundle *b, vp__lane *l) {
    return (int64_t *)(l->data + b->nleaves);
}

extern const vp__work vp__bundle_work;

#endif
