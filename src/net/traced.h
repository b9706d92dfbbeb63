/* SPDX-License-Identifier: Apache-2.0
 *
 * What the net tells the trace beyond the steps of a node's life: which storages an
 * instruction reads and writes, from which whoever reads the file finds who depends on whom;
 * which operations were fused into it; and instructions that never became nodes, because
 * they ran at once. With tracing off each of these is a load and a branch.
 */
#ifndef VP_NET_TRACED_H
#define VP_NET_TRACED_H

#include "jit/kernel.h"
#include "net/node.h"
#include "trace/trace.h"

/* For these functions and those of issue/traced_now.h alone. */
void vp__tell_accesses(const vp__node *n);
void vp__tell_place(const vp__node *n);
void vp__tell_operations(vp__node *n);
void vp__tell_kernel(uint64_t id, const vp__kernel *k);
void vp__tell_access(vp__trace_kind kind, uint64_t id, const vp__storage *s);
void vp__tell_operation(uint64_t id, int op);
uint64_t vp__tell_now_id(void);
void vp__tell_line(uint64_t id, const char *where);
void vp__tell_node(vp__node *n);
void vp__tell_end(uint64_t id, const vp__storage *result);

static inline bool vp__is_traced(void) { return __builtin_expect(vp__trace_on, 0); }

/* A node that has its id is issued. */
static inline void vp__traced_issued(const vp__node *n) {
    if (!vp__is_traced()) return;
    vp__trace_write(VP__TR_ISSUED, n->id, n->name, 0);
    vp__tell_line(n->id, n->where);
}

/* The accesses of a node that has its id. */
static inline void vp__traced_accesses(const vp__node *n) {
    if (vp__is_traced()) vp__tell_accesses(n);
}

/* Where a node has been placed. */
static inline void vp__traced_place(const vp__node *n) {
    if (vp__is_traced()) vp__tell_place(n);
}

/* The operations of a node that is about to run, or of the part of it that a device runs. */
static inline void vp__traced_operations(vp__node *n) {
    if (vp__is_traced()) vp__tell_operations(n);
}
static inline void vp__traced_kernel(uint64_t id, const vp__kernel *k) {
    if (vp__is_traced()) vp__tell_kernel(id, k);
}

/* The end of an instruction that ran on the thread that issued it; id 0: tracing is off. */
static inline void vp__traced_now_end(uint64_t id, const vp__storage *result) {
    if (__builtin_expect(id != 0, 0)) vp__tell_end(id, result);
}

/* A node nobody else knows runs on the thread that issued it; it gets an id. */
static inline void vp__traced_node_now(vp__node *n) {
    n->id = 0;
    if (vp__is_traced()) vp__tell_node(n);
}

#endif
