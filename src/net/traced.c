/* SPDX-License-Identifier: Apache-2.0 */
#include "net/traced.h"

#include "net/launch.h"

/* Tells ids of instructions that ran at once from those of nodes. */
#define RAN_AT_ONCE (UINT64_C(1) << 39)

static const char *op_name(int op) { return op < VP__NOPS ? vp__ops[op].name : "cast"; }

static void access(vp__trace_kind kind, uint64_t id, const vp__storage *s) {
    vp__trace_write(kind, id, NULL, vp__trace_pack(0, 0, (uintptr_t)s));
}

static void operation(uint64_t id, int op) {
    vp__trace_write(VP__TR_OPERATION, id, op_name(op), 0);
}

void vp__tell_accesses(const vp__node *n) {
    for (int i = 0; i < n->ninputs; i++) access(VP__TR_READ, n->id, n->in[i].storage);
    access(VP__TR_WRITE, n->id, n->result);
}

void vp__tell_kernel(uint64_t id, const vp__kernel *k) {
    for (int i = 0; i < k->ninstrs; i++) operation(id, k->instr[i].op);
    if (k->reduce >= 0) operation(id, k->reduce);
}

void vp__tell_operations(vp__node *n) {
    if (!n->work->device_part || n->error) return;
    vp__device_part part;
    int phase = 0;
    do {
        n->work->device_part(n, phase++, &part);
        vp__tell_kernel(n->id, part.kernel);
    } while (!part.last);
}

static uint64_t next_id(void) {
    static _Thread_local uint64_t count;
    return (uint64_t)vp__core_self()->index << 40 | RAN_AT_ONCE | ++count;
}

static void tell_leaves(uint64_t id, const char *name, vp__expr *const *leaves, int count,
                        const vp__storage *result) {
    vp__trace_write(VP__TR_ISSUED, id, name, 0);
    for (int i = 0; i < count; i++) /* a constant is NULL */
        if (leaves[i]) access(VP__TR_READ, id, leaves[i]->storage);
    access(VP__TR_WRITE, id, result);
}

uint64_t vp__tell_segment(const vp__segment *seg, vp__expr *const *leaves,
                          const vp__storage *result) {
    uint64_t id = next_id();
    const char *name = vp__segment_name(seg);
    tell_leaves(id, name, leaves, seg->nleaves, result);
    for (int i = 0; i < seg->nsteps; i++) {
        const vp__step *s = &seg->step[i];
        if (s->kind == VP__EXPR_OP || s->kind == VP__EXPR_REDUCE) operation(id, s->op);
    }
    vp__trace_write(VP__TR_START, id, name, 0);
    return id;
}

uint64_t vp__tell_flat(const vp__flat *f, const vp__storage *result) {
    uint64_t id = next_id();
    const vp__kernel *k = &f->kernel;
    const char *name = op_name(k->instr[k->ninstrs - 1].op);
    tell_leaves(id, name, f->leaf, k->nleaves, result);
    vp__tell_kernel(id, k);
    vp__trace_write(VP__TR_START, id, name, 0);
    return id;
}

void vp__tell_node(vp__node *n) {
    n->id = next_id();
    vp__trace_write(VP__TR_ISSUED, n->id, n->name, 0);
    vp__tell_accesses(n);
    vp__trace_write(VP__TR_START, n->id, n->name, 0);
}

void vp__tell_end(uint64_t id, const vp__storage *result) {
    vp__trace_write(VP__TR_FINISH, id, NULL, 0);
    vp__trace_write(VP__TR_SIZED, id, NULL, (uint64_t)result->bytes);
}
