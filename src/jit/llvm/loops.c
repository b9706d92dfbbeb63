/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops around a kernel's body, one function per form. Vectors run along x; what does
 * not fill one is done with masked loads and stores, by the same code. Reductions follow
 * the tree of ops/kernels.h, so that the bits are those of the base kernels: one vector of
 * accumulators is one row of lanes.
 */
#include <string.h>

#include "jit/llvm/emit.h"
#include "ops/kernels.h"

enum { MOST_CARRIED = 16, LEVELS = 64 };

/* A loop being written; it is tested at its end. */
typedef struct {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef i, end, step;
    int ncarried;
    LLVMValueRef first[MOST_CARRIED], carried[MOST_CARRIED];
} loop;

static LLVMTypeRef i64(vp__emitter *e) { return LLVMInt64TypeInContext(e->context); }

static LLVMBasicBlockRef new_block(vp__emitter *e) {
    return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

static LLVMBasicBlockRef here(vp__emitter *e) { return LLVMGetInsertBlock(e->builder); }

/* for (i = start; i < end; i += step), with values carried from turn to turn. */
static void begin(vp__emitter *e, loop *l, LLVMValueRef start, LLVMValueRef end,
                  int64_t step, int ncarried, const LLVMValueRef *first) {
    LLVMBuilderRef b = e->builder;
    l->before = here(e);
    l->body = new_block(e);
    l->after = new_block(e);
    l->end = end;
    l->step = vp__emit_int(e, step);
    l->ncarried = ncarried;
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, start, end, ""), l->body, l->after);
    LLVMPositionBuilderAtEnd(b, l->body);
    l->i = LLVMBuildPhi(b, i64(e), "");
    LLVMAddIncoming(l->i, &start, &l->before, 1);
    for (int k = 0; k < ncarried; k++) {
        l->first[k] = first[k];
        l->carried[k] = LLVMBuildPhi(b, LLVMTypeOf(first[k]), "");
        LLVMAddIncoming(l->carried[k], &l->first[k], &l->before, 1);
    }
}

/* Ends a turn; afterwards l->carried are the values after the loop. */
static void end(vp__emitter *e, loop *l, const LLVMValueRef *next) {
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef latch = here(e);
    LLVMValueRef i = LLVMBuildAdd(b, l->i, l->step, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, i, l->end, ""), l->body, l->after);
    LLVMAddIncoming(l->i, &i, &latch, 1);
    LLVMPositionBuilderAtEnd(b, l->after);
    for (int k = 0; k < l->ncarried; k++) {
        LLVMValueRef last = next[k];
        LLVMAddIncoming(l->carried[k], &last, &latch, 1);
        LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(last), "");
        LLVMAddIncoming(phi, &l->first[k], &l->before, 1);
        LLVMAddIncoming(phi, &last, &latch, 1);
        l->carried[k] = phi;
    }
}

/* if (condition) { … }, with values that are `otherwise` when it does not hold. */
typedef struct {
    LLVMBasicBlockRef before, after;
} branch;

static void when(vp__emitter *e, branch *f, LLVMValueRef condition) {
    f->before = here(e);
    LLVMBasicBlockRef body = new_block(e);
    f->after = new_block(e);
    LLVMBuildCondBr(e->builder, condition, body, f->after);
    LLVMPositionBuilderAtEnd(e->builder, body);
}

static void done(vp__emitter *e, branch *f, int n, LLVMValueRef *then,
                 const LLVMValueRef *otherwise) {
    LLVMBasicBlockRef last = here(e);
    LLVMBuildBr(e->builder, f->after);
    LLVMPositionBuilderAtEnd(e->builder, f->after);
    for (int i = 0; i < n; i++) {
        LLVMValueRef from[] = {then[i], otherwise[i]};
        LLVMBasicBlockRef blocks[] = {last, f->before};
        then[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(from[0]), "");
        LLVMAddIncoming(then[i], from, blocks, 2);
    }
}

/* --- operands ----------------------------------------------------------------------- */

/* The function's parameters, loaded; operand nleaves is the output. */
typedef struct {
    LLVMValueRef ptr[VP__KERNEL_LEAVES + 1], row[VP__KERNEL_LEAVES + 1],
        outer[VP__KERNEL_LEAVES + 1];
    LLVMValueRef x, y, z;
    int n;
} operands;

static LLVMValueRef moved(vp__emitter *e, LLVMValueRef at, LLVMValueRef bytes) {
    return LLVMBuildGEP2(e->builder, LLVMInt8TypeInContext(e->context), at, &bytes, 1,
                         "");
}

static LLVMValueRef times(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildMul(e->builder, a, b, "");
}

static LLVMValueRef parameter(vp__emitter *e, unsigned k, int i, LLVMTypeRef type) {
    LLVMValueRef index = vp__emit_int(e, i);
    LLVMValueRef at =
        LLVMBuildGEP2(e->builder, type, LLVMGetParam(e->function, k), &index, 1, "");
    return LLVMBuildLoad2(e->builder, type, at, "");
}

static void load_operands(vp__emitter *e, operands *o) {
    o->n = e->ir->nleaves + 1;
    for (int i = 0; i < o->n; i++) {
        o->ptr[i] = parameter(e, 0, i, LLVMPointerTypeInContext(e->context, 0));
        o->row[i] = parameter(e, 1, i, i64(e));
        o->outer[i] = parameter(e, 2, i, i64(e));
    }
    o->x = LLVMGetParam(e->function, 3);
    o->y = LLVMGetParam(e->function, 4);
    o->z = LLVMGetParam(e->function, 5);
}

static int leaf_type(vp__emitter *e, int i) { return e->ir->instr[i].type; }

/* Moves to plane z and row y; NULL: only the other. */
static void go_to(vp__emitter *e, const operands *o, LLVMValueRef y, LLVMValueRef z,
                  LLVMValueRef *at) {
    for (int i = 0; i < o->n; i++) {
        LLVMValueRef p = o->ptr[i];
        if (z) p = moved(e, p, times(e, z, o->outer[i]));
        if (y) p = moved(e, p, times(e, y, o->row[i]));
        at[i] = p;
    }
}

/* Loads the leaves of a kind of reading that do not change along x. */
static void load_fixed(vp__emitter *e, const LLVMValueRef *at, int read) {
    for (int i = 0; i < e->ir->nleaves; i++)
        if (e->form->read[i] == read)
            e->value[i] = vp__emit_load_one(e, leaf_type(e, i), at[i]);
}

/* The body's value of the vector at x. */
static vp__lanes body_at(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                         LLVMValueRef mask) {
    vp__emit_move(e, at, x, mask);
    return vp__emit_value(e, e->ir->value);
}

/* The lanes below n. */
static LLVMValueRef mask_below(vp__emitter *e, LLVMValueRef n) {
    LLVMTypeRef t = LLVMInt32TypeInContext(e->context);
    LLVMValueRef lane[256];
    for (int i = 0; i < e->width; i++) lane[i] = LLVMConstInt(t, (unsigned)i, 0);
    LLVMValueRef most = vp__emit_splat(e, LLVMBuildTrunc(e->builder, n, t, ""));
    return LLVMBuildICmp(e->builder, LLVMIntULT,
                         LLVMConstVector(lane, (unsigned)e->width), most, "");
}

static LLVMValueRef whole_vectors(vp__emitter *e, LLVMValueRef n, int64_t step) {
    return LLVMBuildAnd(e->builder, n, vp__emit_int(e, -step), "");
}

static LLVMValueRef less(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
}

static LLVMValueRef zero(vp__emitter *e) { return vp__emit_int(e, 0); }

/* --- blocks ------------------------------------------------------------------------- */

static bool has_calls(const vp__emitter *e) { return e->stages > 1; }

static LLVMValueRef least(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(e->builder, less(e, a, b), a, b, "");
}

/* All stages but the last for the elements from `from` to `to`, at most a block. */
static void run_stages(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef from,
                       LLVMValueRef to) {
    LLVMBuilderRef b = e->builder;
    e->block = from;
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, whole_vectors(e, n, e->width), "");
    for (int stage = 0; stage + 1 < e->stages; stage++) {
        loop x;
        begin(e, &x, from, whole, e->width, 0, NULL);
        vp__emit_move(e, at, x.i, NULL);
        vp__stages_store(e, stage);
        end(e, &x, NULL);
        branch tail;
        when(e, &tail, less(e, whole, to));
        vp__emit_move(e, at, whole, mask_below(e, LLVMBuildSub(b, to, whole, "")));
        vp__stages_store(e, stage);
        done(e, &tail, 0, NULL, NULL);
        vp__stages_call(e, stage, at, from, n);
    }
}

/* --- map ---------------------------------------------------------------------------- */

static void store_at(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                     LLVMValueRef mask, vp__lanes v) {
    const int out = e->ir->nleaves, type = e->ir->result;
    LLVMValueRef bytes = times(e, x, vp__emit_int(e, vp__dtype[type].size));
    vp__emit_store(e, type, v, moved(e, at[out], bytes), mask);
}

static void map_span(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef from,
                     LLVMValueRef to) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, whole_vectors(e, n, e->width), "");
    loop x;
    branch tail;
    begin(e, &x, from, whole, e->width, 0, NULL);
    store_at(e, at, x.i, NULL, body_at(e, at, x.i, NULL));
    end(e, &x, NULL);
    when(e, &tail, less(e, whole, to));
    LLVMValueRef mask = mask_below(e, LLVMBuildSub(b, to, whole, ""));
    store_at(e, at, whole, mask, body_at(e, at, whole, mask));
    done(e, &tail, 0, NULL, NULL);
}

static void emit_map(vp__emitter *e, const operands *o) {
    LLVMValueRef at[VP__KERNEL_LEAVES + 1];
    loop z, y;
    begin(e, &z, zero(e), o->z, 1, 0, NULL);
    go_to(e, o, NULL, z.i, at);
    load_fixed(e, at, VP__READ_PLANE);
    begin(e, &y, zero(e), o->y, 1, 0, NULL);
    go_to(e, o, y.i, z.i, at);
    load_fixed(e, at, VP__READ_ROW);
    if (has_calls(e)) {
        loop block;
        begin(e, &block, zero(e), o->x, VP__EMIT_BLOCK, 0, NULL);
        LLVMValueRef to = LLVMBuildAdd(e->builder, block.i, block.step, "");
        to = least(e, to, o->x);
        run_stages(e, at, block.i, to);
        map_span(e, at, block.i, to);
        end(e, &block, NULL);
    } else {
        map_span(e, at, zero(e), o->x);
    }
    end(e, &y, NULL);
    end(e, &z, NULL);
}

/* --- reductions --------------------------------------------------------------------- */

static bool is_tree(const vp__ir *ir) {
    return vp__dtype[ir->reduce_type].cls == VP__CLASS_F;
}

static LLVMValueRef fold(vp__emitter *e, LLVMValueRef a, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, op = e->ir->reduce;
    const bool f = is_tree(e->ir);
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
    if (is_tree(e->ir))
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
    if (!is_tree(e->ir)) return v;
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

/* The state of n elements from x on, fewer than a block: whole vectors, then a masked
 * one. */
static LLVMValueRef some(vp__emitter *e, LLVMValueRef *at, LLVMValueRef from,
                         LLVMValueRef to) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef start = identity(e), size = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, whole_vectors(e, size, e->width), "");
    loop x;
    begin(e, &x, from, whole, e->width, 1, &start);
    LLVMValueRef next = fold(e, x.carried[0], body_at(e, at, x.i, NULL).re);
    end(e, &x, &next);
    branch tail;
    LLVMValueRef before = x.carried[0];
    when(e, &tail, less(e, whole, to));
    LLVMValueRef mask = mask_below(e, LLVMBuildSub(b, to, whole, ""));
    LLVMValueRef v = body_at(e, at, whole, mask).re;
    v = fold(e, before, LLVMBuildSelect(b, mask, v, identity(e), ""));
    done(e, &tail, 1, &v, &before);
    return v;
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
    LLVMValueRef full = vp__emit_intrinsic(e, "llvm.cttz", i64(e), args, 2);
    LLVMValueRef last = LLVMBuildAdd(b, full, vp__emit_int(e, shift), "");
    loop i;
    begin(e, &i, vp__emit_int(e, shift), last, 1, 1, &state);
    LLVMValueRef next = fold(e, load_level(e, c, i.i), i.carried[0]);
    end(e, &i, &next);
    LLVMBuildStore(b, i.carried[0], level_at(e, c, last));
    return LLVMBuildAdd(b, count, vp__emit_int(e, (int64_t)1 << shift), "");
}

/* What is left, from the smallest subtree to the largest. */
static LLVMValueRef fold_counter(vp__emitter *e, const counter *c, LLVMValueRef count) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef args[] = {count, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, 0)};
    LLVMValueRef lowest = vp__emit_intrinsic(e, "llvm.cttz", i64(e), args, 2);
    LLVMValueRef zeros = vp__emit_intrinsic(e, "llvm.ctlz", i64(e), args, 2);
    LLVMValueRef above = LLVMBuildSub(b, vp__emit_int(e, 64), zeros, "");
    LLVMValueRef state = load_level(e, c, lowest);
    loop i;
    begin(e, &i, LLVMBuildAdd(b, lowest, vp__emit_int(e, 1), ""), above, 1, 1, &state);
    LLVMValueRef bit =
        LLVMBuildAnd(b, LLVMBuildLShr(b, count, i.i, ""), vp__emit_int(e, 1), "");
    branch f;
    LLVMValueRef old = i.carried[0];
    when(e, &f, LLVMBuildICmp(b, LLVMIntNE, bit, zero(e), ""));
    LLVMValueRef next = fold(e, load_level(e, c, i.i), old);
    done(e, &f, 1, &next, &old);
    end(e, &i, &next);
    return i.carried[0];
}

/* Whether the body is short enough to be written several times. */
static bool is_light(const vp__emitter *e) {
    return !has_calls(e) && e->ir->n - e->ir->nleaves <= 12;
}

/* The blocks from `from` to `to`, one by one; returns the new count. */
static LLVMValueRef push_blocks(vp__emitter *e, LLVMValueRef *at, const counter *c,
                                LLVMValueRef from, LLVMValueRef to, LLVMValueRef count) {
    loop k;
    begin(e, &k, from, to, VP__REDUCE_BLOCK, 1, &count);
    LLVMValueRef after = LLVMBuildAdd(e->builder, k.i, k.step, "");
    LLVMValueRef state = some(e, at, k.i, least(e, after, to));
    LLVMValueRef next = push(e, c, k.carried[0], state, 0);
    end(e, &k, &next);
    return k.carried[0];
}

static LLVMValueRef tree_state(vp__emitter *e, LLVMValueRef *at, const counter *c,
                               LLVMValueRef n) {
    LLVMValueRef from = zero(e), count = zero(e);
    if (has_calls(e)) {
        loop block;
        begin(e, &block, from, n, VP__EMIT_BLOCK, 1, &count);
        LLVMValueRef to = least(e, LLVMBuildAdd(e->builder, block.i, block.step, ""), n);
        run_stages(e, at, block.i, to);
        LLVMValueRef next = push_blocks(e, at, c, block.i, to, block.carried[0]);
        end(e, &block, &next);
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
    LLVMValueRef whole = zero(e);
    if (is_light(e)) {
        whole = whole_vectors(e, n, SIDE * e->width);
        loop x;
        begin(e, &x, zero(e), whole, SIDE * e->width, SIDE, acc);
        for (int j = 0; j < SIDE; j++) {
            LLVMValueRef i =
                LLVMBuildAdd(e->builder, x.i, vp__emit_int(e, j * e->width), "");
            acc[j] = fold(e, x.carried[j], body_at(e, at, i, NULL).re);
        }
        end(e, &x, acc);
        for (int j = 0; j < SIDE; j++) acc[j] = x.carried[j];
    }
    for (int j = 1; j < SIDE; j++) acc[0] = fold(e, acc[0], acc[j]);
    if (!has_calls(e)) return fold(e, acc[0], some(e, at, whole, n));
    loop block;
    begin(e, &block, whole, n, VP__EMIT_BLOCK, 1, acc);
    LLVMValueRef to = least(e, LLVMBuildAdd(e->builder, block.i, block.step, ""), n);
    run_stages(e, at, block.i, to);
    LLVMValueRef next = fold(e, block.carried[0], some(e, at, block.i, to));
    end(e, &block, &next);
    return block.carried[0];
}

/* --- rows together ------------------------------------------------------------------ */

/* Rows of a short body: one at a time, or, where they read a run together, several, so that
 * each of its vectors is loaded once for all of them. The last rows repeat themselves where
 * there are fewer. Blocks follow each other, because memory likes to be read in order, and
 * each is short enough for the CPU to work on several at once by itself. */
enum { TOGETHER = 4 };

typedef struct {
    int n; /* rows */
    LLVMValueRef at[TOGETHER][VP__KERNEL_LEAVES + 1];
    vp__lanes fixed[TOGETHER][VP__KERNEL_LEAVES]; /* what each row has one element of */
    counter c[TOGETHER];
} row_group;

static void group_values(vp__emitter *e, const row_group *g, LLVMValueRef x,
                         LLVMValueRef mask, LLVMValueRef *value) {
    vp__emit_move(e, g->at[0], x, mask);
    for (int j = 0; j < g->n; j++) {
        vp__emit_turn(e, g->at[j]);
        for (int i = 0; i < e->ir->nleaves; i++)
            if (e->form->read[i] == VP__READ_ROW) e->value[i] = g->fixed[j][i];
        value[j] = vp__emit_value(e, e->ir->value).re;
    }
}

/* As `some`, for all rows. */
static void group_some(vp__emitter *e, const row_group *g, LLVMValueRef from,
                       LLVMValueRef to, LLVMValueRef *state) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef value[TOGETHER], before[TOGETHER];
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, whole_vectors(e, n, e->width), "");
    for (int j = 0; j < g->n; j++) state[j] = identity(e);
    loop x;
    begin(e, &x, from, whole, e->width, g->n, state);
    group_values(e, g, x.i, NULL, value);
    for (int j = 0; j < g->n; j++) state[j] = fold(e, x.carried[j], value[j]);
    end(e, &x, state);
    for (int j = 0; j < g->n; j++) before[j] = x.carried[j];
    branch tail;
    when(e, &tail, less(e, whole, to));
    LLVMValueRef mask = mask_below(e, LLVMBuildSub(b, to, whole, ""));
    group_values(e, g, whole, mask, value);
    for (int j = 0; j < g->n; j++)
        state[j] =
            fold(e, before[j], LLVMBuildSelect(b, mask, value[j], identity(e), ""));
    done(e, &tail, g->n, state, before);
}

static LLVMValueRef group_push(vp__emitter *e, const row_group *g, LLVMValueRef count,
                               const LLVMValueRef *state, int shift) {
    LLVMValueRef next = count;
    for (int j = 0; j < g->n; j++) next = push(e, &g->c[j], count, state[j], shift);
    return next;
}

/* Whole spans of blocks: their states wait on the stack until all are there. */
static LLVMValueRef group_spans(vp__emitter *e, const row_group *g, LLVMValueRef slot,
                                LLVMValueRef n, LLVMValueRef *stop) {
    enum { BLOCKS = 8, SHIFT = 3 };
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    const int64_t span = BLOCKS * VP__REDUCE_BLOCK;
    LLVMValueRef state[TOGETHER], all[BLOCKS], count = zero(e);
    *stop = whole_vectors(e, n, span);
    loop s, k;
    begin(e, &s, zero(e), *stop, span, 1, &count);
    begin(e, &k, zero(e), vp__emit_int(e, BLOCKS), 1, 0, NULL);
    LLVMValueRef block = vp__emit_int(e, VP__REDUCE_BLOCK);
    LLVMValueRef from = LLVMBuildAdd(b, s.i, times(e, k.i, block), "");
    LLVMValueRef value[TOGETHER];
    for (int j = 0; j < g->n; j++) state[j] = identity(e);
    loop x;
    begin(e, &x, from, LLVMBuildAdd(b, from, block, ""), e->width, g->n, state);
    group_values(e, g, x.i, NULL, value);
    for (int j = 0; j < g->n; j++) state[j] = fold(e, x.carried[j], value[j]);
    end(e, &x, state);
    for (int j = 0; j < g->n; j++) {
        LLVMValueRef i = LLVMBuildAdd(b, k.i, vp__emit_int(e, j * BLOCKS), "");
        LLVMBuildStore(b, x.carried[j], LLVMBuildGEP2(b, vector, slot, &i, 1, ""));
    }
    end(e, &k, NULL);
    for (int j = 0; j < g->n; j++) {
        for (int i = 0; i < BLOCKS; i++) {
            LLVMValueRef at = vp__emit_int(e, j * BLOCKS + i);
            all[i] =
                LLVMBuildLoad2(b, vector, LLVMBuildGEP2(b, vector, slot, &at, 1, ""), "");
        }
        for (int step = 1; step < BLOCKS; step *= 2)
            for (int i = 0; i < BLOCKS; i += 2 * step)
                all[i] = fold(e, all[i], all[i + step]);
        state[j] = all[0];
    }
    LLVMValueRef next = group_push(e, g, s.carried[0], state, SHIFT);
    end(e, &s, &next);
    return s.carried[0];
}

static void group_tree(vp__emitter *e, const row_group *g, LLVMValueRef slot,
                       LLVMValueRef n, LLVMValueRef *state) {
    LLVMValueRef from, count = group_spans(e, g, slot, n, &from);
    loop k;
    begin(e, &k, from, n, VP__REDUCE_BLOCK, 1, &count);
    LLVMValueRef after = LLVMBuildAdd(e->builder, k.i, k.step, "");
    group_some(e, g, k.i, least(e, after, n), state);
    LLVMValueRef next = group_push(e, g, k.carried[0], state, 0);
    end(e, &k, &next);
    for (int j = 0; j < g->n; j++) state[j] = fold_counter(e, &g->c[j], k.carried[0]);
}

static void store_state(vp__emitter *e, LLVMValueRef state, LLVMValueRef at,
                        bool finish) {
    const int type = e->ir->reduce_type;
    if (finish || !is_tree(e->ir)) state = canonical(e, fold_lanes(e, state), false);
    LLVMSetAlignment(LLVMBuildStore(e->builder, state, at), vp__dtype[type].size);
}

static void emit_groups(vp__emitter *e, const operands *o, int rows, bool finish) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    const bool tree = is_tree(e->ir);
    row_group g = {.n = rows};
    LLVMValueRef slot = NULL, state[TOGETHER];
    if (tree) {
        slot = vp__emit_slot(e, LLVMArrayType2(vector, 8ull * (unsigned)rows));
        for (int j = 0; j < rows; j++)
            g.c[j].levels = vp__emit_slot(e, LLVMArrayType2(vector, LEVELS));
    }
    loop z, y;
    begin(e, &z, zero(e), o->z, 1, 0, NULL);
    go_to(e, o, NULL, z.i, g.at[0]);
    load_fixed(e, g.at[0], VP__READ_PLANE);
    LLVMValueRef last = LLVMBuildSub(b, o->y, vp__emit_int(e, 1), "");
    begin(e, &y, zero(e), o->y, rows, 0, NULL);
    for (int j = 0; j < rows; j++) {
        LLVMValueRef row = LLVMBuildAdd(b, y.i, vp__emit_int(e, j), "");
        go_to(e, o, least(e, row, last), z.i, g.at[j]);
        load_fixed(e, g.at[j], VP__READ_ROW);
        for (int i = 0; i < e->ir->nleaves; i++) g.fixed[j][i] = e->value[i];
    }
    if (tree)
        group_tree(e, &g, slot, o->x, state);
    else
        group_some(e, &g, zero(e), o->x, state);
    for (int j = 0; j < rows; j++)
        store_state(e, state[j], g.at[j][e->ir->nleaves], finish);
    end(e, &y, NULL);
    end(e, &z, NULL);
}

static bool reads_together(const vp__emitter *e) {
    bool shares = false;
    for (int i = 0; i < e->ir->nleaves; i++)
        shares |= e->form->read[i] == VP__READ_SHARED;
    return shares;
}

static void emit_rows(vp__emitter *e, const operands *o, bool finish) {
    const int together = reads_together(e) ? TOGETHER : 1;
    if (is_light(e) && (is_tree(e->ir) || together > 1)) {
        emit_groups(e, o, together, finish);
        return;
    }
    LLVMValueRef at[VP__KERNEL_LEAVES + 1];
    const bool tree = is_tree(e->ir);
    counter c = {NULL};
    if (tree)
        c.levels = vp__emit_slot(
            e, LLVMArrayType2(vp__emit_vector(e, e->ir->reduce_type), LEVELS));
    loop z, y;
    begin(e, &z, zero(e), o->z, 1, 0, NULL);
    go_to(e, o, NULL, z.i, at);
    load_fixed(e, at, VP__READ_PLANE);
    begin(e, &y, zero(e), o->y, 1, 0, NULL);
    go_to(e, o, y.i, z.i, at);
    load_fixed(e, at, VP__READ_ROW);
    LLVMValueRef state = tree ? tree_state(e, at, &c, o->x) : free_state(e, at, o->x);
    store_state(e, state, at[e->ir->nleaves], finish);
    end(e, &y, NULL);
    end(e, &z, NULL);
}

/* One vector, or several, of columns: x is the first column's number. */
static void columns(vp__emitter *e, const operands *o, LLVMValueRef *plane,
                    LLVMValueRef slot, LLVMValueRef x, int side, LLVMValueRef mask) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type;
    const bool tree = is_tree(e->ir);
    const int lanes = 64 / vp__dtype[type].size;
    LLVMTypeRef vector = vp__emit_vector(e, type);
    LLVMValueRef acc[MOST_CARRIED], at[VP__KERNEL_LEAVES + 1];
    for (int j = 0; j < side; j++) acc[j] = identity(e);
    if (tree)
        for (int l = 0; l < lanes; l++) {
            LLVMValueRef i = vp__emit_int(e, l);
            LLVMBuildStore(b, identity(e), LLVMBuildGEP2(b, vector, slot, &i, 1, ""));
        }
    loop y;
    begin(e, &y, zero(e), o->y, 1, tree ? 0 : side, acc);
    for (int i = 0; i < e->ir->nleaves; i++)
        at[i] = moved(e, plane[i], times(e, y.i, o->row[i]));
    load_fixed(e, at, VP__READ_ROW);
    for (int j = 0; j < side; j++) {
        LLVMValueRef i = LLVMBuildAdd(b, x, vp__emit_int(e, j * e->width), "");
        LLVMValueRef v = body_at(e, at, i, mask).re;
        if (tree) {
            LLVMValueRef lane = LLVMBuildAnd(b, y.i, vp__emit_int(e, lanes - 1), "");
            LLVMValueRef p = LLVMBuildGEP2(b, vector, slot, &lane, 1, "");
            LLVMBuildStore(b, fold(e, LLVMBuildLoad2(b, vector, p, ""), v), p);
        } else {
            acc[j] = fold(e, y.carried[j], v);
        }
    }
    end(e, &y, acc);
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
        store_at(e, plane, i, mask, (vp__lanes){acc[j], NULL});
    }
}

static void emit_cols(vp__emitter *e, const operands *o) {
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], slot = NULL;
    const bool tree = is_tree(e->ir);
    const int side = tree || !is_light(e) ? 1 : 4; /* columns of vectors at once */
    if (tree)
        slot =
            vp__emit_slot(e, LLVMArrayType2(vp__emit_vector(e, e->ir->reduce_type), 16));
    loop z, x;
    branch tail;
    begin(e, &z, zero(e), o->z, 1, 0, NULL);
    go_to(e, o, NULL, z.i, at);
    load_fixed(e, at, VP__READ_PLANE);
    LLVMValueRef from = zero(e), whole = whole_vectors(e, o->x, e->width);
    if (side > 1) {
        LLVMValueRef most = whole_vectors(e, o->x, side * e->width);
        begin(e, &x, from, most, side * e->width, 0, NULL);
        columns(e, o, at, slot, x.i, side, NULL);
        end(e, &x, NULL);
        from = most;
    }
    begin(e, &x, from, whole, e->width, 0, NULL);
    columns(e, o, at, slot, x.i, 1, NULL);
    end(e, &x, NULL);
    when(e, &tail, less(e, whole, o->x));
    LLVMValueRef mask = mask_below(e, LLVMBuildSub(e->builder, o->x, whole, ""));
    columns(e, o, at, slot, whole, 1, mask);
    done(e, &tail, 0, NULL, NULL);
    end(e, &z, NULL);
}

/* The states of columns: row y of a block is folded into lane y of their state, which has a
 * row of all columns for each lane. o->z is the number of the first row in its block. */
static void emit_state(vp__emitter *e, const operands *o) {
    LLVMBuilderRef b = e->builder;
    const int type = e->ir->reduce_type, out = e->ir->nleaves;
    const int lanes = 64 / vp__dtype[type].size;
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], state[VP__KERNEL_LEAVES + 1];
    memcpy(state, o->ptr, sizeof state);
    load_fixed(e, state, VP__READ_PLANE);
    branch fresh;
    loop y, x;
    when(e, &fresh, LLVMBuildICmp(b, LLVMIntEQ, o->z, zero(e), ""));
    begin(e, &y, zero(e), vp__emit_int(e, lanes), 1, 0, NULL);
    state[out] = moved(e, o->ptr[out], times(e, y.i, o->row[out]));
    begin(e, &x, zero(e), o->x, e->width, 0, NULL);
    LLVMValueRef mask = mask_below(e, LLVMBuildSub(b, o->x, x.i, ""));
    store_at(e, state, x.i, mask, (vp__lanes){identity(e), NULL});
    end(e, &x, NULL);
    end(e, &y, NULL);
    done(e, &fresh, 0, NULL, NULL);
    begin(e, &y, zero(e), o->y, 1, 0, NULL);
    LLVMValueRef number = LLVMBuildAdd(b, y.i, o->z, "");
    LLVMValueRef lane = LLVMBuildAnd(b, number, vp__emit_int(e, lanes - 1), "");
    go_to(e, o, y.i, NULL, at);
    at[out] = moved(e, o->ptr[out], times(e, lane, o->row[out]));
    load_fixed(e, at, VP__READ_ROW);
    LLVMValueRef whole = whole_vectors(e, o->x, e->width);
    LLVMValueRef size = vp__emit_int(e, vp__dtype[type].size);
    begin(e, &x, zero(e), whole, e->width, 0, NULL);
    LLVMValueRef v = body_at(e, at, x.i, NULL).re;
    LLVMValueRef old =
        vp__emit_load(e, type, moved(e, at[out], times(e, x.i, size)), NULL).re;
    store_at(e, at, x.i, NULL, (vp__lanes){fold(e, old, v), NULL});
    end(e, &x, NULL);
    branch tail;
    when(e, &tail, less(e, whole, o->x));
    mask = mask_below(e, LLVMBuildSub(b, o->x, whole, ""));
    v = body_at(e, at, whole, mask).re;
    old = vp__emit_load(e, type, moved(e, at[out], times(e, whole, size)), mask).re;
    store_at(e, at, whole, mask, (vp__lanes){fold(e, old, v), NULL});
    done(e, &tail, 0, NULL, NULL);
    end(e, &y, NULL);
}

/* --- the function ------------------------------------------------------------------- */

static int lanes_of(const vp__emitter *e) {
    const vp__ir *ir = e->ir;
    const bool rows = e->form->kind == VP__FORM_ROWS || e->form->kind == VP__FORM_CHUNK;
    if (rows && is_tree(ir)) return 64 / vp__dtype[ir->reduce_type].size;
    int widest = vp__dtype[vp__dtype[ir->result].real].size;
    for (int i = 0; i < ir->n; i++) {
        if (ir->instr[i].type == VP__TRUTH) continue;
        const int size = vp__dtype[vp__dtype[ir->instr[i].type].real].size;
        if (size > widest) widest = size;
    }
    return e->target->vector_bytes / widest;
}

void vp__emit_kernel(vp__emitter *e) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0), n = i64(e);
    LLVMTypeRef params[] = {ptr, ptr, ptr, n, n, n};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 6, 0);
    e->function = LLVMAddFunction(e->module, VP__KERNEL_SYMBOL, type);
    static const char *const attributes[][2] = {{"prefer-vector-width", "512"},
                                                {"min-legal-vector-width", "512"},
                                                {"no-trapping-math", "true"},
                                                {"frame-pointer", "none"}};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const char *key = attributes[i][0], *value = attributes[i][1];
        LLVMAddAttributeAtIndex(
            e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(e->context, key, (unsigned)strlen(key), value,
                                      (unsigned)strlen(value)));
    }
    e->width = lanes_of(e);
    e->entry = new_block(e);
    LLVMBasicBlockRef first = new_block(e);
    LLVMPositionBuilderAtEnd(e->builder, first);
    operands o;
    load_operands(e, &o);
    switch ((vp__form_kind)e->form->kind) {
    case VP__FORM_MAP: emit_map(e, &o); break;
    case VP__FORM_ROWS: emit_rows(e, &o, true); break;
    case VP__FORM_CHUNK: emit_rows(e, &o, false); break;
    case VP__FORM_COLS: emit_cols(e, &o); break;
    case VP__FORM_STATE: emit_state(e, &o); break;
    case VP__NFORMS: break;
    }
    LLVMBuildRetVoid(e->builder);
    LLVMPositionBuilderAtEnd(e->builder, e->entry);
    LLVMBuildBr(e->builder, first);
}
