/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are reduced: one at a time, or, where they read a run together, several, so that
 * each of its vectors is loaded once for all of them; likewise planes of such rows. The last
 * ones repeat themselves where there are fewer. Blocks follow each other, because memory
 * likes to be read in order, and each is short enough for the CPU to work on several at once
 * by itself. What is not in the innermost loop goes through states on the stack row by row, so
 * that there is one piece of code for all rows.
 */
#include "jit/addresses.h"
#include "jit/llvm/reduce.h"
#include "ops/kernels.h"

/* The i-th vector from `base` on. */
static LLVMValueRef vector_at(vp__emitter *e, LLVMValueRef base, LLVMValueRef i) {
    return LLVMBuildGEP2(e->builder, vp__emit_vector(e, e->ir->reduce_type), base, &i, 1,
                         "");
}

static LLVMValueRef load_vector(vp__emitter *e, LLVMValueRef base, LLVMValueRef i) {
    return LLVMBuildLoad2(e->builder, vp__emit_vector(e, e->ir->reduce_type),
                          vector_at(e, base, i), "");
}

/* Whether a row is known to be one block at most: its state is the whole tree. */
static bool is_one_block(LLVMValueRef n) {
    int64_t known;
    return vp__emit_is_known(n, &known) && known > 0 && known <= VP__REDUCE_BLOCK;
}

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
static LLVMValueRef fold_row(vp__emitter *e, const vp__band *g, int j, LLVMValueRef a,
                             LLVMValueRef x) {
    if (!g->one || j % 2 == 0) return vp__fold(e, a, x);
    LLVMValueRef args[] = {x, g->one, a};
    return vp__emit_intrinsic(e, "llvm.fma", vp__emit_vector(e, e->ir->reduce_type), args,
                              3);
}

static bool is_read_again(const vp__emitter *e, int leaf) {
    return e->loops->read[leaf] == VP__READ_AGAIN ||
           e->loops->read[leaf] == VP__READ_OFTEN;
}

static bool is_fixed(const vp__emitter *e, int leaf) {
    return e->loops->read[leaf] == VP__READ_ROW || e->loops->read[leaf] == VP__READ_PLANE;
}

void vp__band_copy_leaves(const vp__emitter *e, vp__lanes *to) {
    for (int i = 0; i < e->ir->nleaves; i++) to[i] = e->value[i];
}

void vp__band_values(vp__emitter *e, const vp__band *g, LLVMValueRef x, LLVMValueRef mask,
                     LLVMValueRef *value) {
    vp__lanes first[VP__ROWS][VP__KERNEL_LEAVES]; /* what the first plane has loaded */
    for (int j = 0; j < g->n; j++) {
        const int row = j % g->rows;
        if (row == 0) vp__emit_move(e, g->at[j], x, mask);
        vp__emit_turn(e, g->at[j]);
        for (int i = 0; i < e->ir->nleaves; i++) {
            if (is_fixed(e, i)) e->value[i] = g->fixed[j][i];
            if (is_read_again(e, i) && j >= g->rows) e->value[i] = first[row][i];
        }
        value[j] = vp__emit_value(e, e->ir->value).re;
        if (j < g->rows) vp__band_copy_leaves(e, first[row]);
    }
}

static void store_states(vp__emitter *e, const vp__band *g, const LLVMValueRef *state,
                         LLVMValueRef states) {
    for (int j = 0; j < g->n; j++)
        LLVMBuildStore(e->builder, state[j], vector_at(e, states, vp__emit_int(e, j)));
}

_Static_assert((int)VP__ROWS <= (int)VP__ADDRESSES &&
                   (int)VP__PLANES <= (int)VP__ADDRESSES,
               "tables have all rows");

/* --- where rows are ----------------------------------------------------------------- */

/* Loads the entry of a table for operand i of the k-th row, or plane. */
static LLVMValueRef entry(vp__emitter *e, LLVMTypeRef type, LLVMValueRef table,
                          LLVMValueRef k, int i) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef n = vp__emit_int(e, e->ir->nleaves + 1);
    LLVMValueRef at = LLVMBuildAdd(b, vp__emit_times(e, k, n), vp__emit_int(e, i), "");
    return LLVMBuildLoad2(b, type, LLVMBuildGEP2(b, vp__emit_i64(e), table, &at, 1, ""),
                          "");
}

/* Where operand i of the band's j-th row is. */
static LLVMValueRef address_of(vp__emitter *e, const vp__band *g, LLVMValueRef j, int i) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef rows = vp__emit_int(e, g->rows);
    LLVMValueRef plane = entry(e, LLVMPointerTypeInContext(e->context, 0), g->planes,
                               LLVMBuildUDiv(b, j, rows, ""), i);
    LLVMValueRef row =
        entry(e, vp__emit_i64(e), g->in_plane, LLVMBuildURem(b, j, rows, ""), i);
    return vp__emit_moved(e, plane, row);
}

/* Has a table filled with where rows or planes are from the first-th of n on, `base` and
 * `stride` being parameters of the function; without a base, in bytes. */
static void find_places(vp__emitter *e, LLVMValueRef table, LLVMValueRef base,
                        unsigned stride, LLVMValueRef first, LLVMValueRef n) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0), i64 = vp__emit_i64(e);
    LLVMTypeRef params[] = {ptr, ptr, ptr, i64, i64, i64};
    LLVMTypeRef signature =
        LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 6, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, "vp__addresses_find");
    if (!fn) fn = LLVMAddFunction(e->module, "vp__addresses_find", signature);
    LLVMValueRef args[] = {table,
                           base,
                           LLVMGetParam(e->function, stride),
                           vp__emit_int(e, e->ir->nleaves + 1),
                           first,
                           n};
    LLVMBuildCall2(e->builder, signature, fn, args, 6, "");
}

static LLVMValueRef new_table(vp__emitter *e) {
    const unsigned n = (unsigned)(VP__ADDRESSES * (e->ir->nleaves + 1));
    return vp__emit_slot(e, LLVMArrayType2(vp__emit_i64(e), n));
}

/* Loads the addresses of all rows, each once that several read, and what does not change along
 * them. A single row has them in g. */
static void load_addresses(vp__emitter *e, vp__band *g) {
    if (g->n == 1) return;
    for (int j = 0; j < g->n; j++) {
        const int r = j % g->rows;
        for (int i = 0; i < e->ir->nleaves; i++) {
            const int first = is_read_again(e, i)                    ? r
                              : e->loops->read[i] == VP__READ_SHARED ? j - r
                                                                     : j;
            g->at[j][i] =
                first < j ? g->at[first][i] : address_of(e, g, vp__emit_int(e, j), i);
        }
        vp__emit_fixed(e, g->at[j], VP__READ_PLANE);
        vp__emit_fixed(e, g->at[j], VP__READ_ROW);
        vp__band_copy_leaves(e, g->fixed[j]);
    }
}

/* Where the result of the band's j-th row goes. */
static LLVMValueRef result_of(vp__emitter *e, const vp__band *g, LLVMValueRef j) {
    const int i = e->ir->nleaves;
    return g->n == 1 ? g->at[0][i] : address_of(e, g, j, i);
}

/* Moves to the band's j-th row: where its leaves are. */
static void go_to_row(vp__emitter *e, const vp__band *g, LLVMValueRef j,
                      LLVMValueRef *at) {
    for (int i = 0; i < e->ir->nleaves; i++)
        at[i] = g->n == 1 ? g->at[0][i] : address_of(e, g, j, i);
    if (g->n > 1) {
        vp__emit_fixed(e, at, VP__READ_PLANE);
        vp__emit_fixed(e, at, VP__READ_ROW);
        return;
    }
    for (int i = 0; i < e->ir->nleaves; i++)
        if (is_fixed(e, i)) e->value[i] = g->fixed[0][i];
}

/* --- blocks ------------------------------------------------------------------------- */

/* Folds the n elements at x, a vector at most, into the rows' states. */
static void band_tail(vp__emitter *e, const vp__band *g, LLVMValueRef x, LLVMValueRef n,
                      LLVMValueRef states) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef at[VP__KERNEL_LEAVES], mask = vp__emit_mask_below(e, n);
    vp__loop row;
    vp__loop_begin_some(e, &row, vp__emit_zero(e), vp__emit_int(e, g->n), 1, 0, NULL);
    go_to_row(e, g, row.i, at);
    LLVMValueRef v = vp__emit_body(e, at, x, mask).re;
    v = LLVMBuildSelect(b, mask, v, vp__fold_identity(e), "");
    LLVMBuildStore(b, vp__fold(e, load_vector(e, states, row.i), v),
                   vector_at(e, states, row.i));
    vp__loop_end(e, &row, NULL);
}

/* Folds the elements vector by vector, the last one masked. */
static void band_vectors(vp__emitter *e, const vp__band *g, LLVMValueRef from,
                         LLVMValueRef to, LLVMValueRef states) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef value[VP__TOGETHER], state[VP__TOGETHER];
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, n, e->width), "");
    for (int j = 0; j < g->n; j++) state[j] = vp__fold_identity(e);
    vp__loop x;
    vp__loop_begin_inner(e, &x, from, whole, e->width, g->n, state);
    do {
        vp__band_values(e, g, x.i, NULL, value);
        for (int j = 0; j < g->n; j++)
            state[j] = fold_row(e, g, j, x.carried[j], value[j]);
    } while (vp__loop_end(e, &x, state));
    store_states(e, g, x.carried, states);
    vp__branch tail;
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    band_tail(e, g, whole, LLVMBuildSub(b, to, whole, ""), states);
    vp__branch_end(e, &tail, 0, NULL, NULL);
}

/* Folds the vectors of the band in less code: for the second pass, which is seldom run. */
static void band_vectors_again(vp__emitter *e, const vp__band *g, LLVMValueRef from,
                               LLVMValueRef to, LLVMValueRef states) {
    LLVMValueRef state[VP__TOGETHER];
    for (int j = 0; j < g->n; j++) state[j] = vp__fold_identity(e);
    store_states(e, g, state, states);
    vp__loop x;
    vp__loop_begin_some(e, &x, from, to, e->width, 0, NULL);
    LLVMValueRef left = LLVMBuildSub(e->builder, to, x.i, "");
    band_tail(e, g, x.i, vp__emit_least(e, left, x.step), states);
    vp__loop_end(e, &x, NULL);
}

/* The elements from `from` to `to` of all rows, a block at most where the order is given;
 * their states are stored. */
static void band_some(vp__emitter *e, const vp__band *g, LLVMValueRef from,
                      LLVMValueRef to, LLVMValueRef states) {
    if (e->again)
        band_vectors_again(e, g, from, to, states);
    else
        band_vectors(e, g, from, to, states);
}

/* Has the states of the batch at `from` merged: where they all are if it is the last of n
 * elements. */
static LLVMValueRef call_tree(vp__emitter *e, const vp__band *g, LLVMValueRef from,
                              LLVMValueRef n) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0), i64 = vp__emit_i64(e);
    LLVMTypeRef params[] = {ptr, ptr, i64, i64, i64};
    LLVMTypeRef signature = LLVMFunctionType(ptr, params, 5, 0);
    const int64_t width = (int64_t)g->n * e->width;
    LLVMValueRef args[] = {g->levels, g->states, vp__emit_int(e, width), from, n};
    return LLVMBuildCall2(e->builder, signature, vp__legs_reduce_add(e, signature), args,
                          5, "");
}

_Static_assert(VP__REDUCE_BATCH == (int)VP__EMIT_BLOCK,
               "base kernels are called for a batch");

/* The states of the blocks of a batch. Each pass is a loop of its own, so that what it has in
 * registers is not lost to calls: those of the second pass, and the one after the batch. */
static void batch_states(vp__emitter *e, vp__band *g, LLVMValueRef from,
                         LLVMValueRef to) {
    vp__pass pass;
    vp__pass_begin(e, &pass);
    do {
        if (vp__emit_has_calls(e)) vp__emit_legs(e, g->at[0], from, to);
        load_addresses(e, g);
        vp__loop block;
        vp__loop_begin_some(e, &block, from, to, VP__REDUCE_BLOCK, 1, &g->states);
        LLVMValueRef end = LLVMBuildAdd(e->builder, block.i, block.step, "");
        band_some(e, g, block.i, vp__emit_least(e, end, to), block.carried[0]);
        LLVMValueRef next = vector_at(e, block.carried[0], vp__emit_int(e, g->n));
        vp__loop_end(e, &block, &next);
    } while (vp__pass_end(e, &pass));
}

/* Where the states of rows of n elements are, row by row. */
static LLVMValueRef band_tree(vp__emitter *e, vp__band *g, LLVMValueRef n) {
    vp__loop batch;
    vp__branch blocks;
    vp__loop_begin_some(e, &batch, vp__emit_zero(e), n, VP__REDUCE_BATCH, 1, &g->states);
    LLVMValueRef end = LLVMBuildAdd(e->builder, batch.i, batch.step, "");
    batch_states(e, g, batch.i, vp__emit_least(e, end, n));
    vp__branch_begin(e, &blocks, vp__emit_less(e, vp__emit_int(e, VP__REDUCE_BLOCK), n));
    LLVMValueRef all = call_tree(e, g, batch.i, n);
    vp__branch_end(e, &blocks, 1, &all, &g->states);
    vp__loop_end(e, &batch, &all);
    return batch.carried[0];
}

/* Reduces all rows and stores what comes out. */
static void band_reduce(vp__emitter *e, vp__band *g, LLVMValueRef n, bool finish) {
    LLVMValueRef zero = vp__emit_zero(e), states = g->states;
    if (g->levels) {
        states = band_tree(e, g, n);
    } else {
        vp__pass pass;
        load_addresses(e, g);
        vp__pass_begin(e, &pass);
        do {
            band_some(e, g, zero, n, states);
        } while (vp__pass_end(e, &pass));
    }
    vp__loop row;
    vp__loop_begin_some(e, &row, zero, vp__emit_int(e, g->n), 1, 0, NULL);
    vp__fold_store(e, load_vector(e, states, row.i), result_of(e, g, row.i), finish);
    vp__loop_end(e, &row, NULL);
}

static void emit_bands(vp__emitter *e, const vp__operands *o, int rows, int planes,
                       bool finish) {
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    vp__band g = {.rows = rows, .n = rows * planes};
    g.states = vp__emit_slot(
        e, LLVMArrayType2(vector, (unsigned)(VP__REDUCE_BATCH / VP__REDUCE_BLOCK * g.n)));
    if (vp__emit_is_tree(e->ir) && (vp__emit_has_calls(e) || !is_one_block(o->x)))
        g.levels =
            vp__emit_slot(e, LLVMArrayType2(vector, (unsigned)(VP__REDUCE_LEVELS * g.n)));
    vp__loop z, y;
    if (g.n == 1) {
        vp__rows_begin(e, o, &z, &y, g.at[0]);
        vp__band_copy_leaves(e, g.fixed[0]);
    } else {
        g.one = hidden_one(e);
        g.planes = new_table(e);
        g.in_plane = new_table(e);
        vp__loop_begin_some(e, &z, vp__emit_zero(e), o->z, planes, 0, NULL);
        find_places(e, g.planes, LLVMGetParam(e->function, 0), 2, z.i, o->z);
        vp__loop_begin_some(e, &y, vp__emit_zero(e), o->y, rows, 0, NULL);
        LLVMValueRef none = LLVMConstNull(LLVMPointerTypeInContext(e->context, 0));
        find_places(e, g.in_plane, none, 1, y.i, o->y);
    }
    band_reduce(e, &g, o->x, finish);
    vp__loop_end(e, &y, NULL);
    vp__loop_end(e, &z, NULL);
}

static bool reads(const vp__emitter *e, vp__loops_read how) {
    for (int i = 0; i < e->ir->nleaves; i++)
        if (e->loops->read[i] == how) return true;
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
    const int rows = vp__fold_is_light(e) && reads(e, VP__READ_SHARED) ? VP__ROWS : 1;
    if (vp__emit_is_tree(e->ir) || rows > 1) {
        emit_bands(e, o, rows, rows > 1 ? planes_of(e) : 1, finish);
        return;
    }
    LLVMValueRef at[VP__KERNEL_LEAVES + 1];
    vp__loop z, y;
    vp__rows_begin(e, o, &z, &y, at);
    vp__pass pass;
    vp__pass_begin(e, &pass);
    do {
        vp__fold_store(e, vp__fold_free(e, at, o->x), at[e->ir->nleaves], finish);
    } while (vp__pass_end(e, &pass));
    vp__loop_end(e, &y, NULL);
    vp__loop_end(e, &z, NULL);
}
