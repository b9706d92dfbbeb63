/* SPDX-License-Identifier: Apache-2.0
 *
 * What a bundle holds, and the work of it as a node: its lanes are computed in one run of an
 * axis more where they lie at even distances, else one after the other, and stored where
 * they belong, or kept in a temporary until that may be written.
 */
#ifndef VP_NET_BUNDLE_RUN_H
#define VP_NET_BUNDLE_RUN_H

#include "net/issue.h"

enum {
    VP__BUNDLE_GATES = 16,     /* groups its stores may wait for */
    VP__BUNDLE_READS = 4,      /* storages it may read */
    VP__BUNDLE_READ_GATES = 4, /* groups it may wait for in each of them */
};

/* One put. What it reads and where it writes may have no memory yet. dims and strides of its
 * target follow the leaves. */
typedef struct {
    int64_t to; /* bytes from the beginning of the target's storage; < 0: it failed */
    uint64_t sequence; /* of the write */
    int64_t leaf[];    /* vp__place */
} vp__lane;

/* Where a leaf is: bytes from the beginning of one of the node's inputs. Those of one input
 * are as far apart as their places, times VP__BUNDLE_READS. */
static inline int64_t vp__place(int input, int64_t offset) {
    return offset * VP__BUNDLE_READS + input;
}
static inline int vp__place_input(int64_t place) {
    return (int)(place & (VP__BUNDLE_READS - 1));
}
static inline int64_t vp__place_offset(int64_t place) {
    return (place - vp__place_input(place)) / VP__BUNDLE_READS;
}

/* The read of one storage: what it was entered after, and what it has to wait for. */
typedef struct {
    char *host; /* where it is, if it had memory then */
    uint64_t sequence;
    bool waits; /* if not, it was complete, and nothing of it had failed */
    int32_t ngates;
    vp__group *gate[VP__BUNDLE_READ_GATES];
} vp__bundle_read;

/* Who runs it looks at the storages' own records only where it must: their issuer is writing
 * there, and each look costs both cores a transfer. */
typedef struct {
    vp__recipe *recipe;
    int32_t lanes, most;
    int32_t lane_bytes, nleaves;
    int32_t ndim; /* of targets */
    bool fits;    /* values have their target's shape */
    int32_t ngates;
    vp__group *gate[VP__BUNDLE_GATES];
    vp__bundle_read read[VP__BUNDLE_READS]; /* of the node's inputs */
    char *host;                             /* of the target, as of reads */
    int64_t value_bytes;                    /* of a lane, in a temporary */
    char *room;  /* for values that cannot be computed in place */
    char *first; /* lanes follow each other */
} vp__bundle;

static inline vp__lane *vp__lane_of(const vp__bundle *b, int i) {
    return (vp__lane *)(b->first + (ptrdiff_t)i * b->lane_bytes);
}

static inline int64_t *vp__lane_dims(const vp__bundle *b, vp__lane *l) {
    return l->leaf + b->nleaves;
}

extern const vp__work vp__bundle_work;

#endif
