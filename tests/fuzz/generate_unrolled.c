/* SPDX-License-Identifier: Apache-2.0
 *
 * A loop written out: B[0] = f(A[0]), B[1] = f(A[1]) and so on, and its like where one put
 * overwrites the result of another. All have one form, but each stands in a line of its own.
 */
#include <string.h>

#include "generator.h"

int fuzz_same_type_reduction(fuzz_gen *g, vp_dtype t) {
    if (t == VP_BOOL) return VP__ANY;
    const bool sums = t == VP_I64 || t == VP_U64 || t >= VP_F32;
    return sums && (t >= VP_C64 || fuzz_chance(&g->r, 60)) ? VP__SUM : VP__MAX;
}

static fuzz_item place_item(fuzz_gen *g, int kind, int64_t i, int64_t dim) {
    fuzz_item it = {.kind = VP__SEL_INDEX, .step = 1, .start = i % dim};
    if (kind == 1) it.start = fuzz_below(&g->r, (int)dim);
    if (kind == 2) {
        it.kind = VP__SEL_RANGE;
        it.has_stop = true;
        it.stop = i % dim + 1;
        it.start = 0;
    }
    return it;
}

bool fuzz_step_unrolled(fuzz_gen *g) {
    const int b = fuzz_pick_or_make(g, FUZZ_TARGET);
    const fuzz_var to = g->v[b];
    const vp_dtype t = (vp_dtype)to.dtype;
    if (to.late || to.bad || to.ndim == 0 || to.dims[0] == 0) return false;
    int a = fuzz_pick(g, FUZZ_ARRAY);
    if (a < 0 || g->v[a].dtype != t || g->v[a].late || g->v[a].bad || g->v[a].ndim == 0) {
        const fuzz_shape s = {.ndim = 2,
                              .dims = {1 + fuzz_below(&g->r, 9), g->palette[0]}};
        a = fuzz_make(g, FUZZ_ARRAY, t, &s);
    }
    const fuzz_var from = g->v[a];
    if (from.dims[0] == 0) return false;
    const int kind = fuzz_below(&g->r, 3), reduction = fuzz_same_type_reduction(g, t);
    const bool squares = t != VP_BOOL && fuzz_chance(&g->r, 50);
    fuzz_shape row = {.ndim = from.ndim - 1};
    memcpy(row.dims, from.dims + 1, (size_t)row.ndim * sizeof row.dims[0]);
    if (reduction == VP__MAX && fuzz_elements(&row) == 0) return false;
    int times = 2 + fuzz_below(&g->r, 14);
    for (int i = 0; i < times && g->p->count < FUZZ_MAX - 60; i++) {
        fuzz_item at = {.kind = VP__SEL_INDEX, .step = 1, .start = i % from.dims[0]};
        fuzz_instruction *get = fuzz_add1(
            g, FUZZ_GET, (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)a});
        get->item[get->nitems++] = at;
        fuzz_define(g, t, &row);
        if (squares) {
            const fuzz_operand x = fuzz_use(g, g->p->count - 1);
            fuzz_add1(g, FUZZ_OP, x)->op = VP__OP_square;
            fuzz_define(g, t, &row);
        }
        const fuzz_operand x = fuzz_use(g, g->p->count - 1);
        fuzz_instruction *n = fuzz_add1(g, FUZZ_REDUCE, x);
        n->op = reduction;
        n->naxes = -1;
        const fuzz_shape scalar = {0};
        fuzz_define(g, t, &scalar);
        at = place_item(g, kind, i, to.dims[0]);
        fuzz_add_put(g, b, 1, &at, fuzz_use(g, g->p->count - 1));
        /* Now and then something comes in between. */
        if (fuzz_chance(&g->r, 4)) fuzz_step_op(g);
    }
    return true;
}
