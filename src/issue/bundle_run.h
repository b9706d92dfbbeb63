/* SPDX-License-Identifier: Apache-2.0
 *
 * What a bundle holds, and the work of it as a node: its iterations are computed in one run of an
 * axis more where they lie at even distances, else one after the other, and stored where
 * they belong, or kept in a temporary until that may be written. A device does the former, in
 * one launch, and its iterations are stored from the host; the latter is for the CPU.
 */
#ifndef VP_ISSUE_BUNDLE_RUN_H
#define VP_ISSUE_BUNDLE_RUN_H

#include "issue/recipe.h"
#include "net/node.h"

enum {
    VP__BUNDLE_BLOCKERS = 16,     /* groups its stores may wait for */
    VP__BUNDLE_READS = 4,         /* storages it may read */
    VP__BUNDLE_OWN = 4,           /* what stands for its own block in their place */
    VP__BUNDLE_SOURCES = 8,       /* a power of two beyond both */
    VP__BUNDLE_READ_BLOCKERS = 4, /* groups it may wait for in each of them */
};

/* One put. What it reads and where it writes may have no memory yet. dims and strides of its
 * target follow the leaves, and then the constants that it brings with it. */
typedef struct {
    int64_t to; /* bytes from the beginning of the target's storage; < 0: it failed */
    uint64_t sequence; /* of the write */
    int64_t leaf[];    /* vp__read_at */
} vp__iteration;

/* Where a leaf is: bytes from the beginning of one of the node's inputs, or from the first
 * iteration. Those of one source are as far apart as their reads, times VP__BUNDLE_SOURCES. */
static inline int64_t vp__read_at(int source, int64_t offset) {
    return offset * VP__BUNDLE_SOURCES + source;
}
static inline int vp__read_source(int64_t read) {
    return (int)(read & (VP__BUNDLE_SOURCES - 1));
}
static inline int64_t vp__read_offset(int64_t read) {
    return (read - vp__read_source(read)) / VP__BUNDLE_SOURCES;
}

/* The read of one storage: what it was entered after, and what it has to wait for. */
typedef struct {
    char *host; /* where it is, if it had memory then */
    uint64_t sequence;
    bool waits; /* if not, it was complete and here, and nothing of it had failed */
    int32_t nblockers;
    vp__group *blocker[VP__BUNDLE_READ_BLOCKERS];
} vp__bundle_read;

/* Who runs it looks at the storages' own records only where it must: their issuer is writing
 * there, and each look costs both cores a transfer. */
typedef struct {
    vp__recipe *recipe;
    int32_t iterations, most;
    int32_t iteration_bytes, nleaves;
    int32_t ndim; /* of targets */
    bool fits;    /* values have their target's shape */
    int32_t nblockers;
    vp__group *blocker[VP__BUNDLE_BLOCKERS];
    vp__bundle_read read[VP__BUNDLE_READS]; /* of the node's inputs */
    char *host;                             /* of the target, as of reads */
    int64_t value_bytes;                    /* of an iteration, in a temporary */
    char *room;                       /* for values that cannot be computed in place */
    struct vp__bundle_launch *launch; /* what a device is given */
    char *first;                      /* iterations follow each other */
} vp__bundle;

static inline vp__iteration *vp__iteration_of(const vp__bundle *b, int i) {
    return (vp__iteration *)(b->first + (ptrdiff_t)i * b->iteration_bytes);
}

static inline int64_t *vp__iteration_dims(const vp__bundle *b, vp__iteration *l) {
    return l->leaf + b->nleaves;
}

/* Its constants, of 16 bytes each. */
static inline char *vp__iteration_constants(const vp__bundle *b, vp__iteration *l) {
    return (char *)(vp__iteration_dims(b, l) + 2 * b->ndim);
}

extern const vp__work vp__bundle_work;

#endif
