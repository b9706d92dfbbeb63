/* SPDX-License-Identifier: Apache-2.0
 *
 * What closing a segment and writing one into an array have in common.
 */
#ifndef VP_NET_ISSUE_H
#define VP_NET_ISSUE_H

#include "net/net.h"
#include "net/segment.h"

/* Whether the segment is small enough to run on the caller: shorter than handing it over, or
 * than a node of it would have to wait. */
bool vp__issue_is_tiny(const vp__expr *e);

/* Reads of leaves that happen at once, on the calling thread. */
typedef struct {
    vp__core *core;
    int count; /* entered in logs: */
    vp__group *group[VP__KERNEL_LEAVES];
} vp__reads;

/* Begins to read the leaves (NULL: skipped) if all of them are there; false, and nothing
 * begun, if not. */
bool vp__reads_begin(vp__reads *r, vp__expr *const *leaves, int n);
void vp__reads_end(vp__reads *r);

/* In parts. The first says whether this thread is alone; then nobody starts to write what it
 * has captured, and to look whether everything is there is enough. If not, reads are
 * entered. */
static inline bool vp__reads_alone(vp__reads *r) {
    r->core = vp__core_self();
    r->count = 0;
    /* relaxed, and only the compiler is held: announce_issuer's barrier orders the two. */
    atomic_store_explicit(&r->core->reading, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return !atomic_load_explicit(&vp__many_issuers, memory_order_relaxed);
}
bool vp__reads_enter(vp__reads *r, vp__storage *s, const vp__region *region);
/* Whether what was written to the region is over, and where this thread can read it. */
bool vp__reads_is_there(vp__storage *s, const vp__region *region);

/* The error an inline run inherits, not retained; NULL if none. */
vp__error *vp__issue_leaf_error(vp__expr *const *leaves, int n);

/* Runs the segment on this thread: the value goes to `out`, in its own layout or in the
 * target's. */
vp__error *vp__issue_run_now(const vp__recipe *recipe, vp__expr *const *leaves, char *out,
                             bool to_target, const char *where);

/* A node of the segment with its inputs; the caller sets the result. It follows the recipe,
 * or, without one because its size is not known or it has failed, finds its own. NULL
 * without memory. */
vp__node *vp__issue_node(vp__expr *e, vp__recipe *recipe, vp__expr **leaves,
                         int target_ndim);

/* Whether the target is all of its storage. */
bool vp__target_covers(const vp__target *t, const vp__storage *s);

/* A view of a storage was written whole; if it has no gaps, what had failed there before does
 * not count any more. */
void vp__target_written(vp__storage *s, vp_dtype dtype, int ndim, const int64_t *dims,
                        const int64_t *strides, const vp__region *region,
                        uint64_t sequence);

vp__error *vp__issue_no_memory(const char *where);
void vp__value_init(vp__value *v, const vp__expr *e);

#endif
