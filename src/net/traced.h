/* SPDX-License-Identifier: Apache-2.0
 *
 * What the net tells the trace beyond the steps of a node's life: which storages an
 * instruction reads and writes, from which whoever reads the file finds who depends on whom;
 * which operations were fused into it; and instructions that never became nodes, because
 * they ran at once. With tracing off each of these is a load and a branch.
 */
#ifndef VP_NET_TRACED_H
#define VP_NET_TRACED_H

#include "net/flat.h"
#include "net/segment.h"
#include "trace/trace.h"

/* For this file's functions alone. */
void vp__tell_accesses(const vp__node *n);
void vp__tell_operations(vp__node *n);
void vp__tell_kernel(uint64_t id, const vp__kernel *k);
uint64_t vp__tell_segment(const vp__segment *seg, vp__expr *const *leaves,
                          const vp__storage *result);
uint64_t vp__tell_flat(const vp__flat *f, const vp__storage *result);
void vp__tell_node(vp__node *n);
void vp__tell_end(uint64_t id, const vp__storage *result);

static inline bool vp__is_traced(void) { return __builtin_expect(vp__trace_on, 0); }

/* The accesses of a node that has its id. */
static inline void vp__traced_accesses(const vp__node *n) {
    if (vp__is_traced()) vp__tell_accesses(n);
}

/* The operations of a node that is about to run, or of the part of it that a device runs. */
static inline void vp__traced_operations(vp__node *n) {
    if (vp__is_traced()) vp__tell_operations(n);
}
static inline void vp__traced_kernel(uint64_t id, const vp__kernel *k) {
    if (vp__is_traced()) vp__tell_kernel(id, k);
}

/* An instruction begins to run on the thread that issues it; `result` is what it writes.
 * Returns the id to end it with, which is 0 when tracing is off. */
static inline uint64_t vp__traced_segment_now(const vp__segment *seg,
                                              vp__expr *const *leaves,
                                              const vp__storage *result) {
    return vp__is_traced() ? vp__tell_segment(seg, leaves, result) : 0;
}
static inline uint64_t vp__traced_flat_now(const vp__flat *f, const vp__storage *result) {
    return vp__is_traced() ? vp__tell_flat(f, result) : 0;
}
static inline void vp__traced_now_end(uint64_t id, const vp__storage *result) {
    if (__builtin_expect(id != 0, 0)) vp__tell_end(id, result);
}

/* The same for a node nobody else knows; the id becomes its own. */
static inline void vp__traced_node_now(vp__node *n) {
    n->id = 0;
    if (vp__is_traced()) vp__tell_node(n);
}

#endif
