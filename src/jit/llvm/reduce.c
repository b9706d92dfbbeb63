/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of reductions, one function per kind. They follow the tree of ops/kernels.h, so
 * that the bits are those of the base kernels: one vector of accumulators is one row of
 * lanes.
 */
#include <string.h>

#include "jit/llvm/reduce.h"
#include "ops/kernels.h"

bool vp__emit_is_tree(const vp__ir *ir) {
    return vp__dtype[ir->reduce_type].cls == VP__CLASS_F;
}

LLVMValueRef vp__fold(vp__emitter *e, LLVMValueRef a, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, op = e->ir->reduce;
    const bool f = vp__emit_is_tree(e->ir);
    if (type == VP_BOOL) /* sum and max are "any", prod and min "all" */
        return op == VP__OP_sum || op == VP__OP_max ? LLVMBuildOr(b, a, x, "")
                                                    : LLVMBuildAnd(b, a, x, "");
    if (op == VP__OP_sum)
        return f ? LLVMBuildFAdd(b, a, x, "") : LLVMBuildAdd(b, a, x, "");
    if (op == VP__OP_prod)
        return f ? LLVMBuildFMul(b, a, x, "") : LLVMBuildMul(b, a, x, "");
    LLVMValueRef better =
        vp__emit_compare(e, op == VP__OP_min ? VP__IR_lt : VP__IR_gt, type, x, a);
    LLVMValueRef best = LLVMBuildSelect(b, better, x, a, "");
    if (!f) return best;
    return LLVMBuildSelect(b, vp__emit_compare(e, VP__IR_ne, type, x, x), x, best, "");
}

LLVMValueRef vp__fold_identity(vp__emitter *e) {
    const int type = e->ir->reduce_type, op = e->ir->reduce;
    const uint64_t top = 1ull << (8 * vp__dtype[type].size - 1);
    uint64_t bits = 0;
    if (vp__emit_is_tree(e->ir))
        bits = vp__emit_bits(type, op == VP__OP_sum    ? -0.0
                                   : op == VP__OP_prod ? 1
                                   : op == VP__OP_min  ? __builtin_inf()
                                                       : -__builtin_inf());
    else if (op == VP__OP_prod || type == VP_BOOL)
        bits = op == VP__OP_prod || op == VP__OP_min;
    else if (op == VP__OP_min)
        bits = vp__dtype[type].cls == VP__CLASS_S ? top - 1 : UINT64_MAX;
    else if (op == VP__OP_max)
        bits = vp__dtype[type].cls == VP__CLASS_S ? top : 0;
    return vp__emit_constant(e, type, bits);
}

/* A NaN that comes out is the positive quiet one. */
static LLVMValueRef canonical(vp__emitter *e, LLVMValueRef v, bool vector) {
    const int type = e->ir->reduce_type;
    if (!vp__emit_is_tree(e->ir)) return v;
    const uint64_t bits = vp__emit_bits(type, __builtin_nan(""));
    LLVMValueRef nan =
        vector ? vp__emit_constant(e, type, bits) : vp__emit_scalar(e, type, bits);
    return LLVMBuildSelect(e->builder, vp__emit_compare(e, VP__IR_ne, type, v, v), nan, v,
                           "");
}

/* Folds the lanes of one vector: l with l + half, then halves of that. */
static LLVMValueRef fold_lanes(vp__emitter *e, LLVMValueRef v) {
    LLVMTypeRef t = LLVMInt32TypeInContext(e->context);
    for (int half = e->width / 2; half >= 1; half /= 2) {
        LLVMValueRef low[128], high[128];
        for (int i = 0; i < half; i++) {
            low[i] = LLVMConstInt(t, (unsigned)i, 0);
            high[i] = LLVMConstInt(t, (unsigned)(half + i), 0);
        }
        LLVMValueRef a = LLVMBuildShuffleVector(e->builder, v, v,
                                                LLVMConstVector(low, (unsigned)half), "");
        LLVMValueRef b = LLVMBuildShuffleVector(
            e->builder, v, v, LLVMConstVector(high, (unsigned)half), "");
        v = vp__fold(e, a, b);
    }
    return LLVMBuildExtractElement(e->builder, v, LLVMConstInt(t, 0, 0), "");
}

/* The elements from `from` to `to`, fewer than a block, folded into the state `start`: whole
 * vectors, then a masked one. */
static LLVMValueRef some_more(vp__emitter *e, LLVMValueRef *at, LLVMValueRef from,
                              LLVMValueRef to, LLVMValueRef start) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef size = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, size, e->width), "");
    vp__loop x;
    vp__loop_begin_inner(e, &x, from, whole, e->width, 1, &start);
    LLVMValueRef next;
    do {
        next = vp__fold(e, x.carried[0], vp__emit_body(e, at, x.i, NULL).re);
    } while (vp__loop_end(e, &x, &next));
    vp__branch tail;
    LLVMValueRef before = x.carried[0];
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, to, whole, ""));
    LLVMValueRef v = vp__emit_body(e, at, whole, mask).re;
    v = vp__fold(e, before, LLVMBuildSelect(b, mask, v, vp__fold_identity(e), ""));
    vp__branch_end(e, &tail, 1, &v, &before);
    return v;
}

static LLVMValueRef some(vp__emitter *e, LLVMValueRef *at, LLVMValueRef from,
                         LLVMValueRef to) {
    return some_more(e, at, from, to, vp__fold_identity(e));
}

bool vp__fold_is_light(const vp__emitter *e) {
    return !vp__emit_has_calls(e) && e->ir->n - e->ir->nleaves <= 12;
}

/* Any order will do: four vectors side by side. */
LLVMValueRef vp__fold_free(vp__emitter *e, LLVMValueRef *at, LLVMValueRef n) {
    enum { SIDE = 4 };
    LLVMValueRef acc[SIDE];
    for (int j = 0; j < SIDE; j++) acc[j] = vp__fold_identity(e);
    LLVMValueRef whole = vp__emit_zero(e);
    if (vp__fold_is_light(e)) {
        whole = vp__emit_whole(e, n, SIDE * e->width);
        vp__loop x;
        vp__loop_begin_inner(e, &x, vp__emit_zero(e), whole, SIDE * e->width, SIDE, acc);
        do {
            for (int j = 0; j < SIDE; j++) {
                LLVMValueRef i =
                    LLVMBuildAdd(e->builder, x.i, vp__emit_int(e, j * e->width), "");
                acc[j] = vp__fold(e, x.carried[j], vp__emit_body(e, at, i, NULL).re);
            }
        } while (vp__loop_end(e, &x, acc));
        for (int j = 0; j < SIDE; j++) acc[j] = x.carried[j];
    }
    for (int j = 1; j < SIDE; j++) acc[0] = vp__fold(e, acc[0], acc[j]);
    if (!vp__emit_has_calls(e)) return vp__fold(e, acc[0], some(e, at, whole, n));
    vp__loop block;
    vp__loop_begin_some(e, &block, whole, n, VP__EMIT_BLOCK, 1, acc);
    LLVMValueRef to =
        vp__emit_least(e, LLVMBuildAdd(e->builder, block.i, block.step, ""), n);
    vp__emit_legs(e, at, block.i, to);
    LLVMValueRef next = vp__fold(e, block.carried[0], some(e, at, block.i, to));
    vp__loop_end(e, &block, &next);
    return block.carried[0];
}

void vp__fold_store(vp__emitter *e, LLVMValueRef state, LLVMValueRef at, bool finish) {
    const int type = e->ir->reduce_type;
    if (finish || !vp__emit_is_tree(e->ir))
        state = canonical(e, fold_lanes(e, state), false);
    LLVMSetAlignment(LLVMBuildStore(e->builder, state, at), vp__dtype[type].size);
}

/* --- folds -------------------------------------------------------------------------- */

/* The lanes from the first-th on, and then those before it: through memory, where a vector
 * that lies there twice holds all of these. */
static LLVMValueRef turned(vp__emitter *e, LLVMValueRef v, LLVMValueRef slot,
                           LLVMValueRef first) {
    LLVMBuilderRef b = e->builder;
    const int size = vp__dtype[e->ir->reduce_type].size;
    LLVMBuildStore(b, v, slot);
    LLVMBuildStore(b, v, vp__emit_moved(e, slot, vp__emit_int(e, 64)));
    LLVMValueRef bytes = vp__emit_times(e, first, vp__emit_int(e, size));
    return vp__emit_load(e, e->ir->reduce_type, vp__emit_moved(e, slot, bytes), NULL).re;
}

/* Elements that do not begin with lane 0 meet a state whose lanes are turned. */
static LLVMValueRef tree_fold(vp__emitter *e, const vp__operands *o, LLVMValueRef *at,
                              LLVMValueRef slot, LLVMValueRef is_first) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    LLVMValueRef lanes = vp__emit_int(e, e->width - 1), zero = vp__emit_zero(e);
    LLVMValueRef turn = LLVMBuildAnd(b, o->z, lanes, "");
    LLVMValueRef back = LLVMBuildAnd(b, LLVMBuildSub(b, zero, o->z, ""), lanes, "");
    LLVMValueRef old = vp__emit_load(e, type, at[out], NULL).re;
    old = LLVMBuildSelect(b, is_first, vp__fold_identity(e), turned(e, old, slot, turn),
                          "");
    if (vp__emit_has_calls(e)) vp__emit_legs(e, at, zero, o->x);
    return turned(e, some_more(e, at, zero, o->x, old), slot, back);
}

void vp__emit_fold(vp__emitter *e, const vp__operands *o) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    const bool tree = vp__emit_is_tree(e->ir);
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], slot = NULL, v;
    if (tree) slot = vp__emit_slot(e, LLVMArrayType2(vp__emit_vector(e, type), 2));
    LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, o->z, vp__emit_zero(e), "");
    vp__emit_fixed(e, o->ptr, VP__READ_PLANE);
    vp__loop y;
    vp__loop_begin_some(e, &y, vp__emit_zero(e), o->y, 1, 0, NULL);
    vp__operands_go(e, o->n, o->ptr, o->row, y.i, at);
    vp__emit_fixed(e, at, VP__READ_ROW);
    if (tree) {
        v = tree_fold(e, o, at, slot, is_first);
    } else {
        LLVMTypeRef element = vp__emit_element(e, type);
        v = fold_lanes(e, vp__fold_free(e, at, o->x));
        LLVMValueRef old = LLVMBuildLoad2(b, element, at[out], "");
        v = LLVMBuildSelect(b, is_first, v, vp__fold(e, old, v), "");
    }
    LLVMSetAlignment(LLVMBuildStore(b, v, at[out]), vp__dtype[type].size);
    vp__loop_end(e, &y, NULL);
}

/* --- columns ------------------------------------------------------------------------ */

/* One vector, or several, of columns: x is the first column's number. */
static void columns(vp__emitter *e, const vp__operands *o, LLVMValueRef *plane,
                    LLVMValueRef slot, LLVMValueRef x, int side, LLVMValueRef mask) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type;
    const bool tree = vp__emit_is_tree(e->ir);
    const int lanes = 64 / vp__dtype[type].size;
    LLVMTypeRef vector = vp__emit_vector(e, type);
    LLVMValueRef acc[VP__LOOP_CARRIED], at[VP__KERNEL_LEAVES + 1];
    for (int j = 0; j < side; j++) acc[j] = vp__fold_identity(e);
    if (tree)
        for (int l = 0; l < lanes; l++) {
            LLVMValueRef i = vp__emit_int(e, l);
            LLVMBuildStore(b, vp__fold_identity(e),
                           LLVMBuildGEP2(b, vector, slot, &i, 1, ""));
        }
    vp__loop y;
    vp__loop_begin_inner(e, &y, vp__emit_zero(e), o->y, 1, tree ? 0 : side, acc);
    do {
        for (int i = 0; i < e->ir->nleaves; i++)
            at[i] = vp__emit_moved(e, plane[i], vp__emit_times(e, y.i, o->row[i]));
        vp__emit_fixed(e, at, VP__READ_ROW);
        for (int j = 0; j < side; j++) {
            LLVMValueRef i = LLVMBuildAdd(b, x, vp__emit_int(e, j * e->width), "");
            LLVMValueRef v = vp__emit_body(e, at, i, mask).re;
            if (tree) {
                LLVMValueRef lane = LLVMBuildAnd(b, y.i, vp__emit_int(e, lanes - 1), "");
                LLVMValueRef p = LLVMBuildGEP2(b, vector, slot, &lane, 1, "");
                LLVMBuildStore(b, vp__fold(e, LLVMBuildLoad2(b, vector, p, ""), v), p);
            } else {
                acc[j] = vp__fold(e, y.carried[j], v);
            }
        }
    } while (vp__loop_end(e, &y, acc));
    if (tree) {
        LLVMValueRef lane[16];
        for (int l = 0; l < lanes; l++) {
            LLVMValueRef i = vp__emit_int(e, l);
            lane[l] =
                LLVMBuildLoad2(b, vector, LLVMBuildGEP2(b, vector, slot, &i, 1, ""), "");
        }
        for (int half = lanes / 2; half >= 1; half /= 2)
            for (int l = 0; l < half; l++) lane[l] = vp__fold(e, lane[l], lane[l + half]);
        acc[0] = canonical(e, lane[0], true);
    } else {
        for (int j = 0; j < side; j++) acc[j] = y.carried[j];
    }
    for (int j = 0; j < side; j++) {
        LLVMValueRef i = LLVMBuildAdd(b, x, vp__emit_int(e, j * e->width), "");
        vp__emit_store_at(e, plane, i, mask, (vp__lanes){acc[j], NULL});
    }
}

void vp__emit_cols(vp__emitter *e, const vp__operands *o) {
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], slot = NULL;
    const bool tree = vp__emit_is_tree(e->ir);
    const int side =
        tree || !vp__fold_is_light(e) ? 1 : 4; /* columns of vectors at once */
    if (tree)
        slot =
            vp__emit_slot(e, LLVMArrayType2(vp__emit_vector(e, e->ir->reduce_type), 16));
    vp__loop z, x;
    vp__branch tail;
    vp__loop_begin_some(e, &z, vp__emit_zero(e), o->z, 1, 0, NULL);
    vp__operands_go(e, o->n, o->ptr, o->outer, z.i, at);
    vp__emit_fixed(e, at, VP__READ_PLANE);
    LLVMValueRef from = vp__emit_zero(e), whole = vp__emit_whole(e, o->x, e->width);
    if (side > 1) {
        LLVMValueRef most = vp__emit_whole(e, o->x, side * e->width);
        vp__loop_begin(e, &x, from, most, side * e->width, 0, NULL);
        columns(e, o, at, slot, x.i, side, NULL);
        vp__loop_end(e, &x, NULL);
        from = most;
    }
    vp__loop_begin(e, &x, from, whole, e->width, 0, NULL);
    columns(e, o, at, slot, x.i, 1, NULL);
    vp__loop_end(e, &x, NULL);
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, o->x));
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(e->builder, o->x, whole, ""));
    columns(e, o, at, slot, whole, 1, mask);
    vp__branch_end(e, &tail, 0, NULL, NULL);
    vp__loop_end(e, &z, NULL);
}

/* Folds n rows that meet in one lane, the first of them at y, into that lane's state, which
 * is read and written once for all of them. */
static void lane_rows(vp__emitter *e, const vp__operands *o, LLVMValueRef y, int n) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    const int lanes = 64 / vp__dtype[type].size;
    vp__band g = {.rows = n, .n = n};
    for (int j = 0; j < n; j++) {
        LLVMValueRef row = LLVMBuildAdd(b, y, vp__emit_int(e, (int64_t)j * lanes), "");
        vp__operands_go(e, o->n, o->ptr, o->row, row, g.at[j]);
        vp__emit_fixed(e, g.at[j], VP__READ_ROW);
        vp__band_copy_leaves(e, g.fixed[j]);
    }
    LLVMValueRef lane =
        LLVMBuildAnd(b, LLVMBuildAdd(b, y, o->z, ""), vp__emit_int(e, lanes - 1), "");
    LLVMValueRef state =
        vp__emit_moved(e, o->ptr[out], vp__emit_times(e, lane, o->row[out]));
    LLVMValueRef whole = vp__emit_whole(e, o->x, e->width), mask = NULL;
    vp__loop x;
    vp__branch tail;
    for (int part = 0; part < 2; part++) {
        if (part == 0) {
            vp__loop_begin(e, &x, vp__emit_zero(e), whole, e->width, 0, NULL);
        } else {
            vp__branch_begin(e, &tail, vp__emit_less(e, whole, o->x));
            mask = vp__emit_mask_below(e, LLVMBuildSub(b, o->x, whole, ""));
        }
        LLVMValueRef at = part == 0 ? x.i : whole, value[VP__TOGETHER];
        LLVMValueRef home = vp__emit_nth(e, state, at, vp__dtype[type].size);
        LLVMValueRef v = vp__emit_load(e, type, home, mask).re;
        vp__band_values(e, &g, at, mask, value);
        for (int j = 0; j < n; j++) v = vp__fold(e, v, value[j]);
        vp__emit_store(e, type, (vp__lanes){v, NULL}, home, mask);
        if (part == 0)
            vp__loop_end(e, &x, NULL);
        else
            vp__branch_end(e, &tail, 0, NULL, NULL);
    }
}

/* Whether rows follow each other in memory, and are so short that L1 keeps their columns'
 * states: then nothing is better than one after the other. */
static LLVMValueRef are_rows_one_run(vp__emitter *e, const vp__operands *o) {
    enum { SHORT = 256 };
    LLVMBuilderRef b = e->builder;
    LLVMValueRef all = vp__emit_less(e, o->x, vp__emit_int(e, SHORT));
    for (int i = 0; i < e->ir->nleaves; i++) {
        if (!vp__emit_is_run(e, i)) continue;
        const int size = vp__dtype[e->ir->instr[i].type].size;
        LLVMValueRef bytes = vp__emit_times(e, o->x, vp__emit_int(e, size));
        LLVMValueRef one = LLVMBuildICmp(b, LLVMIntEQ, o->row[i], bytes, "");
        all = LLVMBuildAnd(b, all, one, "");
    }
    return all;
}

/* The states of columns: row y of a block is folded into lane y of their state, which has a
 * row of all columns for each lane. o->z is the number of the first row in its block. Some
 * rows of a lane are taken together, few enough that all of them are read ahead by the CPU,
 * and the others follow one by one. */
void vp__emit_state(vp__emitter *e, const vp__operands *o) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    const int lanes = 64 / vp__dtype[type].size;
    LLVMValueRef state[VP__KERNEL_LEAVES + 1], done = vp__emit_zero(e);
    memcpy(state, o->ptr, sizeof state);
    vp__emit_fixed(e, state, VP__READ_PLANE);
    vp__branch fresh;
    vp__loop y, x, l;
    vp__branch_begin(e, &fresh, LLVMBuildICmp(b, LLVMIntEQ, o->z, vp__emit_zero(e), ""));
    vp__loop_begin_some(e, &y, vp__emit_zero(e), vp__emit_int(e, lanes), 1, 0, NULL);
    state[out] = vp__emit_moved(e, o->ptr[out], vp__emit_times(e, y.i, o->row[out]));
    vp__loop_begin_some(e, &x, vp__emit_zero(e), o->x, e->width, 0, NULL);
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, o->x, x.i, ""));
    vp__emit_store_at(e, state, x.i, mask, (vp__lanes){vp__fold_identity(e), NULL});
    vp__loop_end(e, &x, NULL);
    vp__loop_end(e, &y, NULL);
    vp__branch_end(e, &fresh, 0, NULL, NULL);
    if (vp__fold_is_light(e)) {
        const int64_t band = (int64_t)VP__ROWS * lanes;
        done = LLVMBuildSelect(b, are_rows_one_run(e, o), vp__emit_zero(e),
                               vp__emit_whole(e, o->y, band), "");
        vp__loop_begin(e, &y, vp__emit_zero(e), done, band, 0, NULL);
        vp__loop_begin_some(e, &l, y.i, LLVMBuildAdd(b, y.i, vp__emit_int(e, lanes), ""),
                            1, 0, NULL);
        lane_rows(e, o, l.i, VP__ROWS);
        vp__loop_end(e, &l, NULL);
        vp__loop_end(e, &y, NULL);
    }
    vp__loop_begin(e, &y, done, o->y, 1, 0, NULL);
    lane_rows(e, o, y.i, 1);
    vp__loop_end(e, &y, NULL);
}
