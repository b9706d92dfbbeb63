/* SPDX-License-Identifier: Apache-2.0 */
#include "net/traced.h"

#include "device/device.h"
#include "net/part.h"

/* Tells ids of instructions that ran at once from those of nodes. */
#define RAN_AT_ONCE (UINT64_C(1) << 39)

void vp__tell_access(vp__trace_kind kind, uint64_t id, const vp__storage *s) {
    vp__trace_write(kind, id, NULL, vp__trace_pack(0, 0, (uintptr_t)s));
}

void vp__tell_operation(uint64_t id, int op) {
    vp__trace_write(VP__TR_OPERATION, id, vp__op_name(op), 0);
}

void vp__tell_line(uint64_t id, const char *where) {
    if (where) vp__trace_write(VP__TR_LINE, id, where, 0);
}

void vp__tell_accesses(const vp__node *n) {
    for (int i = 0; i < n->ninputs; i++)
        vp__tell_access(VP__TR_READ, n->id, n->in[i].storage);
    vp__tell_access(VP__TR_WRITE, n->id, n->result);
}

void vp__tell_place(const vp__node *n) {
    vp__trace_write(VP__TR_PLACED, n->id, n->name,
                    n->device ? vp__trace_pack((unsigned)n->device->index + 1, 0, 0)
                              : (uint64_t)n->home);
}

void vp__tell_kernel(uint64_t id, const vp__kernel *k) {
    for (int i = 0; i < k->ninstrs; i++) vp__tell_operation(id, k->instr[i].op);
    if (k->reduce >= 0) vp__tell_operation(id, k->reduce);
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

uint64_t vp__tell_now_id(void) {
    static _Thread_local uint64_t count;
    return (uint64_t)vp__core_self()->index << 40 | RAN_AT_ONCE | ++count;
}

void vp__tell_node(vp__node *n) {
    n->id = vp__tell_now_id();
    vp__traced_issued(n);
    vp__tell_accesses(n);
    vp__trace_write(VP__TR_START, n->id, n->name, 0);
}

void vp__tell_end(uint64_t id, const vp__storage *result) {
    vp__trace_write(VP__TR_FINISH, id, NULL, 0);
    vp__trace_write(VP__TR_SIZED, id, NULL, (uint64_t)result->bytes);
}
