/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/traced_now.h"

static void tell_leaves(uint64_t id, const char *name, const char *where,
                        vp__expr *const *leaves, int count, const vp__storage *result) {
    vp__trace_write(VP__TR_ISSUED, id, name, 0);
    vp__tell_line(id, where);
    for (int i = 0; i < count; i++) /* a constant is NULL, or itself */
        if (leaves[i] && leaves[i]->kind == VP__EXPR_LEAF)
            vp__tell_access(VP__TR_READ, id, leaves[i]->storage);
    vp__tell_access(VP__TR_WRITE, id, result);
}

uint64_t vp__tell_segment(const vp__segment *seg, vp__expr *const *leaves,
                          const vp__storage *result, const char *where) {
    uint64_t id = vp__tell_now_id();
    const char *name = vp__segment_name(seg);
    tell_leaves(id, name, where, leaves, seg->nleaves, result);
    for (int i = 0; i < seg->nterms; i++) {
        const vp__term *s = &seg->term[i];
        if (s->kind == VP__EXPR_OP || s->kind == VP__EXPR_REDUCE)
            vp__tell_operation(id, s->op);
    }
    vp__trace_write(VP__TR_START, id, name, 0);
    return id;
}

uint64_t vp__tell_flat(const vp__flat *f, const vp__storage *result, const char *where) {
    uint64_t id = vp__tell_now_id();
    const vp__kernel *k = &f->kernel;
    const char *name = vp__op_name(k->instr[k->ninstrs - 1].op);
    tell_leaves(id, name, where, f->leaf, k->nleaves, result);
    vp__tell_kernel(id, k);
    vp__trace_write(VP__TR_START, id, name, 0);
    return id;
}
