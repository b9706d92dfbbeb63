/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of reductions, one function per form. They follow the tree of ops/kernels.h, so
 * that the bits are those of the base kernels: one vector of accumulators is one row of
 * lanes.
 */
#include <string.h>

#include "jit/llvm/loops.h"
#include "ops/kernels.h"

/* Enough for all blocks of 2^64 elements; and not a power of two, so that counters one after
 * another are not all in the same few lines of the cache. */
enum { LEVELS = 58 };

bool vp__emit_is_tree(const vp__ir *ir) {
    return vp__dtype[ir->reduce_type].cls == VP__CLASS_F;
}

static LLVMValueRef fold(vp__emitter *e, LLVMValueRef a, LLVMValueRef x) {
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

static LLVMValueRef identity(vp__emitter *e) {
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
        v = fold(e, a, b);
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
        next = fold(e, x.carried[0], vp__emit_body(e, at, x.i, NULL).re);
    } while (vp__loop_end(e, &x, &next));
    vp__branch tail;
    LLVMValueRef before = x.carried[0];
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, to, whole, ""));
    LLVMValueRef v = vp__emit_body(e, at, whole, mask).re;
    v = fold(e, before, LLVMBuildSelect(b, mask, v, identity(e), ""));
    vp__branch_end(e, &tail, 1, &v, &before);
    return v;
}

static LLVMValueRef some(vp__emitter *e, LLVMValueRef *at, LLVMValueRef from,
                         LLVMValueRef to) {
    return some_more(e, at, from, to, identity(e));
}

/* A binary counter of states, as in jit/plan_reduce.c. */
typedef struct {
    LLVMValueRef levels; /* a slot of LEVELS vectors */
} counter;

static LLVMValueRef level_at(vp__emitter *e, const counter *c, LLVMValueRef i) {
    return LLVMBuildGEP2(e->builder, vp__emit_vector(e, e->ir->reduce_type), c->levels,
                         &i, 1, "");
}

static LLVMValueRef load_level(vp__emitter *e, const counter *c, LLVMValueRef i) {
    return LLVMBuildLoad2(e->builder, vp__emit_vector(e, e->ir->reduce_type),
                          level_at(e, c, i), "");
}

/* Pushes a state of 2^shift blocks; returns the new count of blocks. */
static LLVMValueRef push(vp__emitter *e, const counter *c, LLVMValueRef count,
                         LLVMValueRef state, int shift) {
    LLVMBuilderRef b = e->builder;
    /* The bits below `shift` are 0, so the run of ones ends at the lowest 0 above. */
    LLVMValueRef ones = LLVMBuildXor(
        b, LLVMBuildLShr(b, count, vp__emit_int(e, shift), ""), vp__emit_int(e, -1), "");
    LLVMValueRef args[] = {ones, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, 0)};
    LLVMValueRef full = vp__emit_intrinsic(e, "llvm.cttz", vp__emit_i64(e), args, 2);
    LLVMValueRef last = LLVMBuildAdd(b, full, vp__emit_int(e, shift), "");
    vp__loop i;
    vp__loop_begin(e, &i, vp__emit_int(e, shift), last, 1, 1, &state);
    LLVMValueRef next = fold(e, load_level(e, c, i.i), i.carried[0]);
    vp__loop_end(e, &i, &next);
    LLVMBuildStore(b, i.carried[0], level_at(e, c, last));
    return LLVMBuildAdd(b, count, vp__emit_int(e, (int64_t)1 << shift), "");
}

/* What is left, from the smallest subtree to the largest. */
static LLVMValueRef fold_counter(vp__emitter *e, const counter *c, LLVMValueRef count) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef args[] = {count, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, 0)};
    LLVMValueRef lowest = vp__emit_intrinsic(e, "llvm.cttz", vp__emit_i64(e), args, 2);
    LLVMValueRef zeros = vp__emit_intrinsic(e, "llvm.ctlz", vp__emit_i64(e), args, 2);
    LLVMValueRef above = LLVMBuildSub(b, vp__emit_int(e, 64), zeros, "");
    LLVMValueRef state = load_level(e, c, lowest);
    vp__loop i;
    vp__loop_begin(e, &i, LLVMBuildAdd(b, lowest, vp__emit_int(e, 1), ""), above, 1, 1,
                   &state);
    LLVMValueRef bit =
        LLVMBuildAnd(b, LLVMBuildLShr(b, count, i.i, ""), vp__emit_int(e, 1), "");
    vp__branch f;
    LLVMValueRef old = i.carried[0];
    vp__branch_begin(e, &f, LLVMBuildICmp(b, LLVMIntNE, bit, vp__emit_zero(e), ""));
    LLVMValueRef next = fold(e, load_level(e, c, i.i), old);
    vp__branch_end(e, &f, 1, &next, &old);
    vp__loop_end(e, &i, &next);
    return i.carried[0];
}

/* Whether a row is known to be one block at most: its state is the whole tree. */
static bool is_one_block(LLVMValueRef n) {
    int64_t known;
    return vp__emit_is_known(n, &known) && known > 0 && known <= VP__REDUCE_BLOCK;
}

/* Whether the body is short enough to be written several times. */
static bool is_light(const vp__emitter *e) {
    return !vp__emit_has_calls(e) && e->ir->n - e->ir->nleaves <= 12;
}

/* The blocks from `from` to `to`, one by one; returns the new count. */
static LLVMValueRef push_blocks(vp__emitter *e, LLVMValueRef *at, const counter *c,
                                LLVMValueRef from, LLVMValueRef to, LLVMValueRef count) {
    vp__loop k;
    vp__loop_begin(e, &k, from, to, VP__REDUCE_BLOCK, 1, &count);
    LLVMValueRef after = LLVMBuildAdd(e->builder, k.i, k.step, "");
    LLVMValueRef state = some(e, at, k.i, vp__emit_least(e, after, to));
    LLVMValueRef next = push(e, c, k.carried[0], state, 0);
    vp__loop_end(e, &k, &next);
    return k.carried[0];
}

static LLVMValueRef tree_state(vp__emitter *e, LLVMValueRef *at, const counter *c,
                               LLVMValueRef n) {
    LLVMValueRef from = vp__emit_zero(e), count = vp__emit_zero(e);
    if (!vp__emit_has_calls(e) && is_one_block(n)) return some(e, at, from, n);
    if (vp__emit_has_calls(e)) {
        vp__loop block;
        vp__loop_begin(e, &block, from, n, VP__EMIT_BLOCK, 1, &count);
        LLVMValueRef to =
            vp__emit_least(e, LLVMBuildAdd(e->builder, block.i, block.step, ""), n);
        vp__emit_stages(e, at, block.i, to);
        LLVMValueRef next = push_blocks(e, at, c, block.i, to, block.carried[0]);
        vp__loop_end(e, &block, &next);
        count = block.carried[0];
    } else {
        count = push_blocks(e, at, c, from, n, count);
    }
    return fold_counter(e, c, count);
}

/* Any order will do: four vectors side by side. */
static LLVMValueRef free_state(vp__emitter *e, LLVMValueRef *at, LLVMValueRef n) {
    enum { SIDE = 4 };
    LLVMValueRef acc[SIDE];
    for (int j = 0; j < SIDE; j++) acc[j] = identity(e);
    LLVMValueRef whole = vp__emit_zero(e);
    if (is_light(e)) {
        whole = vp__emit_whole(e, n, SIDE * e->width);
        vp__loop x;
        vp__loop_begin_inner(e, &x, vp__emit_zero(e), whole, SIDE * e->width, SIDE, acc);
        do {
            for (int j = 0; j < SIDE; j++) {
                LLVMValueRef i =
                    LLVMBuildAdd(e->builder, x.i, vp__emit_int(e, j * e->width), "");
                acc[j] = fold(e, x.carried[j], vp__emit_body(e, at, i, NULL).re);
            }
        } while (vp__loop_end(e, &x, acc));
        for (int j = 0; j < SIDE; j++) acc[j] = x.carried[j];
    }
    for (int j = 1; j < SIDE; j++) acc[0] = fold(e, acc[0], acc[j]);
    if (!vp__emit_has_calls(e)) return fold(e, acc[0], some(e, at, whole, n));
    vp__loop block;
    vp__loop_begin(e, &block, whole, n, VP__EMIT_BLOCK, 1, acc);
    LLVMValueRef to =
        vp__emit_least(e, LLVMBuildAdd(e->builder, block.i, block.step, ""), n);
    vp__emit_stages(e, at, block.i, to);
    LLVMValueRef next = fold(e, block.carried[0], some(e, at, block.i, to));
    vp__loop_end(e, &block, &next);
    return block.carried[0];
}

/* --- rows together ------------------------------------------------------------------ */

/* Rows of a short body: one at a time, or, where they read a run together, several, so that
 * each of its vectors is loaded once for all of them; likewise planes of such rows. The last
 * ones repeat themselves where there are fewer. Blocks follow each other, because memory
 * likes to be read in order, and each is short enough for the CPU to work on several at once
 * by itself. */
enum { ROWS = 4, TOGETHER = ROWS * VP__PLANES };

typedef struct {
    int rows, n; /* of each plane, and in all */
    LLVMValueRef at[TOGETHER][VP__KERNEL_LEAVES + 1];
    vp__lanes fixed[TOGETHER][VP__KERNEL_LEAVES]; /* what each row has one element of */
    LLVMValueRef one; /* NULL: all rows add with the adding units */
    /* On the stack: the rows' counters one after another, their states, BLOCKS of each, and
     * where their results go. What is not in the innermost loops goes through them row by
     * row, so that there is one piece of code for all rows. */
    LLVMValueRef levels, states, outs;
} row_group;

enum { BLOCKS = 8, BLOCKS_SHIFT = 3 };

/* Whether the body leaves the multiplying units idle while the adding units are busy. */
static bool adds_more(const vp__ir *ir) {
    int adds = 1, products = 0; /* the sum's own */
    for (int i = ir->nleaves; i < ir->n; i++) {
        if (ir->instr[i].op == VP__IR_add || ir->instr[i].op == VP__IR_sub) adds++;
        if (ir->instr[i].op == VP__IR_mul) products++;
    }
    return adds > products;
}

/* CPUs that add and multiply in different units do as many products as sums in the same
 * time. Every other row of a sum therefore adds with a fused multiply-add by one, whose bits
 * are those of the addition. The compiler must not know that it is one. */
static LLVMValueRef hidden_one(vp__emitter *e) {
    const int type = e->ir->reduce_type;
    if (!e->target->fma || !vp__emit_is_tree(e->ir) || e->ir->reduce != VP__OP_sum ||
        !adds_more(e->ir))
        return NULL;
    LLVMTypeRef vector = vp__emit_vector(e, type);
    LLVMValueRef slot = vp__emit_slot(e, vector);
    LLVMBuildStore(e->builder, vp__emit_constant(e, type, vp__emit_bits(type, 1)), slot);
    LLVMValueRef one = LLVMBuildLoad2(e->builder, vector, slot, "");
    LLVMSetVolatile(one, 1);
    return one;
}

/* Folds x into the state of row j. */
static LLVMValueRef fold_row(vp__emitter *e, const row_group *g, int j, LLVMValueRef a,
                             LLVMValueRef x) {
    if (!g->one || j % 2 == 0) return fold(e, a, x);
    LLVMValueRef args[] = {x, g->one, a};
    return vp__emit_intrinsic(e, "llvm.fma", vp__emit_vector(e, e->ir->reduce_type), args,
                              3);
}

static bool is_read_again(const vp__emitter *e, int leaf) {
    return e->form->read[leaf] == VP__READ_AGAIN || e->form->read[leaf] == VP__READ_OFTEN;
}

static bool is_fixed(const vp__emitter *e, int leaf) {
    return e->form->read[leaf] == VP__READ_ROW || e->form->read[leaf] == VP__READ_PLANE;
}

/* What the leaves are at the moment. */
static void copy_leaves(const vp__emitter *e, vp__lanes *to) {
    for (int i = 0; i < e->ir->nleaves; i++) to[i] = e->value[i];
}

static void group_values(vp__emitter *e, const row_group *g, LLVMValueRef x,
                         LLVMValueRef mask, LLVMValueRef *value) {
    vp__lanes first[ROWS][VP__KERNEL_LEAVES]; /* what the first plane has loaded */
    for (int j = 0; j < g->n; j++) {
        const int row = j % g->rows;
        if (row == 0) vp__emit_move(e, g->at[j], x, mask);
        vp__emit_turn(e, g->at[j]);
        for (int i = 0; i < e->ir->nleaves; i++) {
            if (is_fixed(e, i)) e->value[i] = g->fixed[j][i];
            if (is_read_again(e, i) && j >= g->rows) e->value[i] = first[row][i];
        }
        value[j] = vp__emit_value(e, e->ir->value).re;
        if (j < g->rows) copy_leaves(e, first[row]);
    }
}

/* As `some`, for all rows. */
static void group_some(vp__emitter *e, const row_group *g, LLVMValueRef from,
                       LLVMValueRef to, LLVMValueRef *state) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef value[TOGETHER], before[TOGETHER];
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, n, e->width), "");
    for (int j = 0; j < g->n; j++) state[j] = identity(e);
    vp__loop x;
    vp__loop_begin_inner(e, &x, from, whole, e->width, g->n, state);
    do {
        group_values(e, g, x.i, NULL, value);
        for (int j = 0; j < g->n; j++)
            state[j] = fold_row(e, g, j, x.carried[j], value[j]);
    } while (vp__loop_end(e, &x, state));
    for (int j = 0; j < g->n; j++) before[j] = x.carried[j];
    vp__branch tail;
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, to, whole, ""));
    group_values(e, g, whole, mask, value);
    for (int j = 0; j < g->n; j++)
        state[j] =
            fold(e, before[j], LLVMBuildSelect(b, mask, value[j], identity(e), ""));
    vp__branch_end(e, &tail, g->n, state, before);
}

static LLVMValueRef state_at(vp__emitter *e, const row_group *g, LLVMValueRef row,
                             LLVMValueRef block) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef first = vp__emit_times(e, row, vp__emit_int(e, BLOCKS));
    LLVMValueRef i = LLVMBuildAdd(b, first, block, "");
    return LLVMBuildGEP2(b, vp__emit_vector(e, e->ir->reduce_type), g->states, &i, 1, "");
}

static LLVMValueRef load_state(vp__emitter *e, const row_group *g, LLVMValueRef row,
                               LLVMValueRef block) {
    return LLVMBuildLoad2(e->builder, vp__emit_vector(e, e->ir->reduce_type),
                          state_at(e, g, row, block), "");
}

static void store_states(vp__emitter *e, const row_group *g, const LLVMValueRef *state,
                         LLVMValueRef block) {
    for (int j = 0; j < g->n; j++)
        LLVMBuildStore(e->builder, state[j], state_at(e, g, vp__emit_int(e, j), block));
}

static counter counter_of(vp__emitter *e, const row_group *g, LLVMValueRef row) {
    LLVMValueRef i = vp__emit_times(e, row, vp__emit_int(e, LEVELS));
    return (counter){LLVMBuildGEP2(e->builder, vp__emit_vector(e, e->ir->reduce_type),
                                   g->levels, &i, 1, "")};
}

/* Pushes 2^shift states of every row as one, from `first` on; they are the blocks from
 * `count` on. */
static void group_push(vp__emitter *e, const row_group *g, LLVMValueRef first,
                       LLVMValueRef count, int shift) {
    LLVMValueRef all[BLOCKS];
    vp__loop row;
    vp__loop_begin(e, &row, vp__emit_zero(e), vp__emit_int(e, g->n), 1, 0, NULL);
    for (int i = 0; i < 1 << shift; i++)
        all[i] = load_state(e, g, row.i,
                            LLVMBuildAdd(e->builder, first, vp__emit_int(e, i), ""));
    for (int step = 1; step < 1 << shift; step *= 2)
        for (int i = 0; i < 1 << shift; i += 2 * step)
            all[i] = fold(e, all[i], all[i + step]);
    const counter c = counter_of(e, g, row.i);
    push(e, &c, count, all[0], shift);
    vp__loop_end(e, &row, NULL);
}

/* The same where the order is given: the states of blocks wait until there are BLOCKS of
 * them, or no more. Returns the count of blocks that the counters have. */
static LLVMValueRef group_tree(vp__emitter *e, const row_group *g, LLVMValueRef n) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef zero = vp__emit_zero(e), count = zero,
                 most = vp__emit_int(e, BLOCKS - 1);
    LLVMValueRef state[TOGETHER];
    vp__loop block, left;
    vp__branch full;
    vp__loop_begin(e, &block, zero, n, VP__REDUCE_BLOCK, 1, &count);
    LLVMValueRef after = LLVMBuildAdd(b, block.i, block.step, "");
    group_some(e, g, block.i, vp__emit_least(e, after, n), state);
    LLVMValueRef waiting = LLVMBuildAnd(b, block.carried[0], most, "");
    store_states(e, g, state, waiting);
    vp__branch_begin(e, &full, LLVMBuildICmp(b, LLVMIntEQ, waiting, most, ""));
    group_push(e, g, zero, LLVMBuildSub(b, block.carried[0], most, ""), BLOCKS_SHIFT);
    vp__branch_end(e, &full, 0, NULL, NULL);
    LLVMValueRef next = LLVMBuildAdd(b, block.carried[0], vp__emit_int(e, 1), "");
    vp__loop_end(e, &block, &next);
    count = block.carried[0];
    waiting = LLVMBuildAnd(b, count, most, "");
    LLVMValueRef before = LLVMBuildSub(b, count, waiting, "");
    vp__loop_begin(e, &left, zero, waiting, 1, 0, NULL);
    group_push(e, g, left.i, LLVMBuildAdd(b, before, left.i, ""), 0);
    vp__loop_end(e, &left, NULL);
    return count;
}

static void store_state(vp__emitter *e, LLVMValueRef state, LLVMValueRef at,
                        bool finish) {
    const int type = e->ir->reduce_type;
    if (finish || !vp__emit_is_tree(e->ir))
        state = canonical(e, fold_lanes(e, state), false);
    LLVMSetAlignment(LLVMBuildStore(e->builder, state, at), vp__dtype[type].size);
}

/* Reduces all rows and stores what comes out. */
static void group_reduce(vp__emitter *e, const row_group *g, LLVMValueRef n,
                         bool finish) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0);
    LLVMValueRef state[TOGETHER], count = NULL, zero = vp__emit_zero(e);
    for (int j = 0; j < g->n; j++) {
        LLVMValueRef i = vp__emit_int(e, j);
        LLVMBuildStore(b, g->at[j][e->ir->nleaves],
                       LLVMBuildGEP2(b, pointer, g->outs, &i, 1, ""));
    }
    if (vp__emit_is_tree(e->ir) && !is_one_block(n)) {
        count = group_tree(e, g, n);
    } else {
        group_some(e, g, zero, n, state);
        store_states(e, g, state, zero);
    }
    vp__loop row;
    vp__loop_begin(e, &row, zero, vp__emit_int(e, g->n), 1, 0, NULL);
    const counter c = counter_of(e, g, row.i);
    LLVMValueRef all = count ? fold_counter(e, &c, count) : load_state(e, g, row.i, zero);
    LLVMValueRef out = LLVMBuildGEP2(b, pointer, g->outs, &row.i, 1, "");
    store_state(e, all, LLVMBuildLoad2(b, pointer, out, ""), finish);
    vp__loop_end(e, &row, NULL);
}

static void emit_groups(vp__emitter *e, const vp__operands *o, int rows, int planes,
                        bool finish) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    row_group g = {.rows = rows, .n = rows * planes};
    LLVMValueRef plane[VP__PLANES];
    vp__lanes fixed[VP__PLANES][VP__KERNEL_LEAVES];
    if (g.n > 1) g.one = hidden_one(e);
    const unsigned n = (unsigned)g.n;
    g.states = vp__emit_slot(e, LLVMArrayType2(vector, BLOCKS * n));
    g.levels = vp__emit_slot(e, LLVMArrayType2(vector, LEVELS * n));
    g.outs = vp__emit_slot(e, LLVMArrayType2(LLVMPointerTypeInContext(e->context, 0), n));
    vp__loop z, y;
    LLVMValueRef one = vp__emit_int(e, 1);
    LLVMValueRef last_z = LLVMBuildSub(b, o->z, one, "");
    LLVMValueRef last_y = LLVMBuildSub(b, o->y, one, "");
    vp__loop_begin(e, &z, vp__emit_zero(e), o->z, planes, 0, NULL);
    for (int p = 0; p < planes; p++) {
        plane[p] = z.i;
        if (planes > 1)
            plane[p] =
                vp__emit_least(e, LLVMBuildAdd(b, z.i, vp__emit_int(e, p), ""), last_z);
        vp__operands_go_to(e, o, NULL, plane[p], g.at[0]);
        vp__emit_fixed(e, g.at[0], VP__READ_PLANE);
        copy_leaves(e, fixed[p]);
    }
    vp__loop_begin(e, &y, vp__emit_zero(e), o->y, rows, 0, NULL);
    for (int j = 0; j < g.n; j++) {
        const int p = j / rows;
        LLVMValueRef row = LLVMBuildAdd(b, y.i, vp__emit_int(e, j % rows), "");
        vp__operands_go_to(e, o, vp__emit_least(e, row, last_y), plane[p], g.at[j]);
        vp__emit_fixed(e, g.at[j], VP__READ_ROW);
        for (int i = 0; i < e->ir->nleaves; i++)
            g.fixed[j][i] =
                e->form->read[i] == VP__READ_PLANE ? fixed[p][i] : e->value[i];
    }
    group_reduce(e, &g, o->x, finish);
    vp__loop_end(e, &y, NULL);
    vp__loop_end(e, &z, NULL);
}

static bool reads(const vp__emitter *e, vp__form_read how) {
    for (int i = 0; i < e->ir->nleaves; i++)
        if (e->form->read[i] == how) return true;
    return false;
}

/* How many planes' rows are done together. Of 64-byte vectors there are twice as many, and
 * they hold the states of a short body's rows: then it is not the loads that take the time,
 * most of which lie across two lines. */
static int planes_of(const vp__emitter *e) {
    enum { SHORT = 4 };
    const bool room = e->target->vector_bytes == 64 && !e->own_sin &&
                      e->ir->n - e->ir->nleaves <= SHORT;
    if (reads(e, VP__READ_OFTEN)) return room ? VP__PLANES : 2;
    return reads(e, VP__READ_AGAIN) ? 2 : 1;
}

void vp__emit_rows(vp__emitter *e, const vp__operands *o, bool finish) {
    const int rows = reads(e, VP__READ_SHARED) ? ROWS : 1;
    if (is_light(e) && (vp__emit_is_tree(e->ir) || rows > 1)) {
        emit_groups(e, o, rows, rows > 1 ? planes_of(e) : 1, finish);
        return;
    }
    LLVMValueRef at[VP__KERNEL_LEAVES + 1];
    const bool tree = vp__emit_is_tree(e->ir);
    counter c = {NULL};
    if (tree)
        c.levels = vp__emit_slot(
            e, LLVMArrayType2(vp__emit_vector(e, e->ir->reduce_type), LEVELS));
    vp__loop z, y;
    vp__rows_begin(e, o, &z, &y, at);
    LLVMValueRef state = tree ? tree_state(e, at, &c, o->x) : free_state(e, at, o->x);
    store_state(e, state, at[e->ir->nleaves], finish);
    vp__loop_end(e, &y, NULL);
    vp__loop_end(e, &z, NULL);
}

/* --- segments ----------------------------------------------------------------------- */

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
static LLVMValueRef tree_segment(vp__emitter *e, const vp__operands *o, LLVMValueRef *at,
                                 LLVMValueRef slot, LLVMValueRef is_first) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    LLVMValueRef lanes = vp__emit_int(e, e->width - 1), zero = vp__emit_zero(e);
    LLVMValueRef turn = LLVMBuildAnd(b, o->z, lanes, "");
    LLVMValueRef back = LLVMBuildAnd(b, LLVMBuildSub(b, zero, o->z, ""), lanes, "");
    LLVMValueRef old = vp__emit_load(e, type, at[out], NULL).re;
    old = LLVMBuildSelect(b, is_first, identity(e), turned(e, old, slot, turn), "");
    if (vp__emit_has_calls(e)) vp__emit_stages(e, at, zero, o->x);
    return turned(e, some_more(e, at, zero, o->x, old), slot, back);
}

void vp__emit_segment(vp__emitter *e, const vp__operands *o) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    const bool tree = vp__emit_is_tree(e->ir);
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], slot = NULL, v;
    if (tree) slot = vp__emit_slot(e, LLVMArrayType2(vp__emit_vector(e, type), 2));
    LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, o->z, vp__emit_zero(e), "");
    vp__emit_fixed(e, o->ptr, VP__READ_PLANE);
    vp__loop y;
    vp__loop_begin(e, &y, vp__emit_zero(e), o->y, 1, 0, NULL);
    vp__operands_go_to(e, o, y.i, NULL, at);
    vp__emit_fixed(e, at, VP__READ_ROW);
    if (tree) {
        v = tree_segment(e, o, at, slot, is_first);
    } else {
        LLVMTypeRef element = vp__emit_element(e, type);
        v = fold_lanes(e, free_state(e, at, o->x));
        LLVMValueRef old = LLVMBuildLoad2(b, element, at[out], "");
        v = LLVMBuildSelect(b, is_first, v, fold(e, old, v), "");
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
    for (int j = 0; j < side; j++) acc[j] = identity(e);
    if (tree)
        for (int l = 0; l < lanes; l++) {
            LLVMValueRef i = vp__emit_int(e, l);
            LLVMBuildStore(b, identity(e), LLVMBuildGEP2(b, vector, slot, &i, 1, ""));
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
                LLVMBuildStore(b, fold(e, LLVMBuildLoad2(b, vector, p, ""), v), p);
            } else {
                acc[j] = fold(e, y.carried[j], v);
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
            for (int l = 0; l < half; l++) lane[l] = fold(e, lane[l], lane[l + half]);
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
    const int side = tree || !is_light(e) ? 1 : 4; /* columns of vectors at once */
    if (tree)
        slot =
            vp__emit_slot(e, LLVMArrayType2(vp__emit_vector(e, e->ir->reduce_type), 16));
    vp__loop z, x;
    vp__branch tail;
    vp__loop_begin(e, &z, vp__emit_zero(e), o->z, 1, 0, NULL);
    vp__operands_go_to(e, o, NULL, z.i, at);
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
    row_group g = {.rows = n, .n = n};
    for (int j = 0; j < n; j++) {
        LLVMValueRef row = LLVMBuildAdd(b, y, vp__emit_int(e, (int64_t)j * lanes), "");
        vp__operands_go_to(e, o, row, NULL, g.at[j]);
        vp__emit_fixed(e, g.at[j], VP__READ_ROW);
        copy_leaves(e, g.fixed[j]);
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
        LLVMValueRef at = part == 0 ? x.i : whole, value[TOGETHER];
        LLVMValueRef bytes = vp__emit_times(e, at, vp__emit_int(e, vp__dtype[type].size));
        LLVMValueRef home = vp__emit_moved(e, state, bytes);
        LLVMValueRef v = vp__emit_load(e, type, home, mask).re;
        group_values(e, &g, at, mask, value);
        for (int j = 0; j < n; j++) v = fold(e, v, value[j]);
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
    vp__loop_begin(e, &y, vp__emit_zero(e), vp__emit_int(e, lanes), 1, 0, NULL);
    state[out] = vp__emit_moved(e, o->ptr[out], vp__emit_times(e, y.i, o->row[out]));
    vp__loop_begin(e, &x, vp__emit_zero(e), o->x, e->width, 0, NULL);
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, o->x, x.i, ""));
    vp__emit_store_at(e, state, x.i, mask, (vp__lanes){identity(e), NULL});
    vp__loop_end(e, &x, NULL);
    vp__loop_end(e, &y, NULL);
    vp__branch_end(e, &fresh, 0, NULL, NULL);
    if (is_light(e)) {
        const int64_t group = (int64_t)ROWS * lanes;
        done = LLVMBuildSelect(b, are_rows_one_run(e, o), vp__emit_zero(e),
                               vp__emit_whole(e, o->y, group), "");
        vp__loop_begin(e, &y, vp__emit_zero(e), done, group, 0, NULL);
        vp__loop_begin(e, &l, y.i, LLVMBuildAdd(b, y.i, vp__emit_int(e, lanes), ""), 1, 0,
                       NULL);
        lane_rows(e, o, l.i, ROWS);
        vp__loop_end(e, &l, NULL);
        vp__loop_end(e, &y, NULL);
    }
    vp__loop_begin(e, &y, done, o->y, 1, 0, NULL);
    lane_rows(e, o, y.i, 1);
    vp__loop_end(e, &y, NULL);
}
