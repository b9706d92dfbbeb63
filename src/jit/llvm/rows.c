/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are reduced: one at a time, or, where they read a run together, several, so that
 * each of its vectors is loaded once for all of them; likewise planes of such rows. The last
 * ones repeat themselves where there are fewer. Blocks follow each other, because memory
 * likes to be read in order, and each is short enough for the CPU to work on several at once
 * by itself. What is not in the innermost loop goes through states on the stack row by row, so
 * that there is one piece of code for all rows.
 */
#include "jit/llvm/reduce.h"
#include "jit/tree.h"

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
static LLVMValueRef fold_row(vp__emitter *e, const vp__row_group *g, int j,
                             LLVMValueRef a, LLVMValueRef x) {
    if (!g->one || j % 2 == 0) return vp__fold(e, a, x);
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

void vp__group_copy_leaves(const vp__emitter *e, vp__lanes *to) {
    for (int i = 0; i < e->ir->nleaves; i++) to[i] = e->value[i];
}

void vp__group_values(vp__emitter *e, const vp__row_group *g, LLVMValueRef x,
                      LLVMValueRef mask, LLVMValueRef *value) {
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
        if (j < g->rows) vp__group_copy_leaves(e, first[row]);
    }
}

static void store_states(vp__emitter *e, const vp__row_group *g,
                         const LLVMValueRef *state, LLVMValueRef states) {
    for (int j = 0; j < g->n; j++)
        LLVMBuildStore(e->builder, state[j], vector_at(e, states, vp__emit_int(e, j)));
}

/* The k-th number from `first` on, or the last there is. */
static LLVMValueRef nth(vp__emitter *e, LLVMValueRef first, LLVMValueRef k,
                        LLVMValueRef last) {
    return vp__emit_least(e, LLVMBuildAdd(e->builder, first, k, ""), last);
}

/* Where the group's j-th row is. */
static void go_to_row(vp__emitter *e, const vp__row_group *g, LLVMValueRef j,
                      LLVMValueRef *at) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef rows = vp__emit_int(e, g->rows), y = g->y, z = g->z;
    if (g->n > g->rows) z = nth(e, z, LLVMBuildUDiv(b, j, rows, ""), g->last_z);
    if (g->rows > 1) y = nth(e, y, LLVMBuildURem(b, j, rows, ""), g->last_y);
    vp__operands_go_to(e, g->o, y, z, at);
}

/* Folds the n elements at x, which do not fill a vector, into the rows' states. */
static void group_tail(vp__emitter *e, const vp__row_group *g, LLVMValueRef x,
                       LLVMValueRef n, LLVMValueRef states) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], mask = vp__emit_mask_below(e, n);
    vp__loop row;
    vp__loop_begin(e, &row, vp__emit_zero(e), vp__emit_int(e, g->n), 1, 0, NULL);
    go_to_row(e, g, row.i, at);
    vp__emit_fixed(e, at, VP__READ_PLANE);
    vp__emit_fixed(e, at, VP__READ_ROW);
    LLVMValueRef v = vp__emit_body(e, at, x, mask).re;
    v = LLVMBuildSelect(b, mask, v, vp__fold_identity(e), "");
    LLVMBuildStore(b, vp__fold(e, load_vector(e, states, row.i), v),
                   vector_at(e, states, row.i));
    vp__loop_end(e, &row, NULL);
}

static void group_pass(vp__emitter *e, const vp__row_group *g, LLVMValueRef from,
                       LLVMValueRef to, LLVMValueRef states) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef value[VP__TOGETHER], state[VP__TOGETHER];
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, n, e->width), "");
    for (int j = 0; j < g->n; j++) state[j] = vp__fold_identity(e);
    vp__loop x;
    vp__loop_begin_inner(e, &x, from, whole, e->width, g->n, state);
    do {
        vp__group_values(e, g, x.i, NULL, value);
        for (int j = 0; j < g->n; j++)
            state[j] = fold_row(e, g, j, x.carried[j], value[j]);
    } while (vp__loop_end(e, &x, state));
    store_states(e, g, x.carried, states);
    vp__branch tail;
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    group_tail(e, g, whole, LLVMBuildSub(b, to, whole, ""), states);
    vp__branch_end(e, &tail, 0, NULL, NULL);
}

/* The elements from `from` to `to` of all rows, fewer than a block where the order is given;
 * their states are stored. */
static void group_some(vp__emitter *e, const vp__row_group *g, LLVMValueRef from,
                       LLVMValueRef to, LLVMValueRef states) {
    vp__pass pass;
    vp__pass_begin(e, &pass);
    do {
        group_pass(e, g, from, to, states);
    } while (vp__pass_end(e, &pass));
}

/* Calls one of the functions of jit/tree.h. */
static LLVMValueRef call_tree(vp__emitter *e, const vp__row_group *g, const char *name,
                              LLVMTypeRef result, LLVMValueRef state,
                              LLVMValueRef count) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0), n = vp__emit_i64(e);
    LLVMTypeRef params[] = {ptr, ptr, ptr, n, n};
    LLVMTypeRef signature = LLVMFunctionType(result, params, 5, 0);
    LLVMValueRef fn = LLVMAddFunction(e->module, name, signature);
    LLVMValueRef args[] = {vp__stages_reduce_kernel(e), g->levels, state,
                           vp__emit_int(e, g->n), count};
    return LLVMBuildCall2(e->builder, signature, fn, args, 5, "");
}

/* Merges the states of a batch into the first, row by row. */
static void merge_batch(vp__emitter *e, const vp__row_group *g, LLVMValueRef states) {
    LLVMValueRef all[VP__TREE_BLOCKS], of[VP__TREE_BLOCKS];
    for (int i = 0; i < VP__TREE_BLOCKS; i++)
        of[i] = vector_at(e, states, vp__emit_int(e, (int64_t)i * g->n));
    vp__loop row;
    vp__loop_begin(e, &row, vp__emit_zero(e), vp__emit_int(e, g->n), 1, 0, NULL);
    for (int i = 0; i < VP__TREE_BLOCKS; i++) all[i] = load_vector(e, of[i], row.i);
    for (int step = 1; step < VP__TREE_BLOCKS; step *= 2)
        for (int i = 0; i < VP__TREE_BLOCKS; i += 2 * step)
            all[i] = vp__fold(e, all[i], all[i + step]);
    LLVMBuildStore(e->builder, all[0], vector_at(e, states, row.i));
    vp__loop_end(e, &row, NULL);
}

static void call_stages(vp__emitter *e, const vp__row_group *g, LLVMValueRef from,
                        LLVMValueRef to) {
    vp__pass pass;
    vp__pass_begin(e, &pass);
    do {
        vp__emit_stages(e, g->at[0], from, to);
    } while (vp__pass_end(e, &pass));
}

enum { BATCH = VP__TREE_BLOCKS * VP__REDUCE_BLOCK };
_Static_assert(BATCH == (int)VP__EMIT_BLOCK, "base kernels are called for a batch");

/* The states of the blocks of a batch. They are done in a loop of their own, so that what
 * they have in registers is not lost to the call after them. */
static void batch_states(vp__emitter *e, const vp__row_group *g, LLVMValueRef from,
                         LLVMValueRef to, LLVMValueRef states) {
    if (vp__emit_has_calls(e)) call_stages(e, g, from, to);
    vp__loop block;
    vp__loop_begin(e, &block, from, to, VP__REDUCE_BLOCK, 1, &states);
    LLVMValueRef end = LLVMBuildAdd(e->builder, block.i, block.step, "");
    group_some(e, g, block.i, vp__emit_least(e, end, to), block.carried[0]);
    LLVMValueRef next = vector_at(e, block.carried[0], vp__emit_int(e, g->n));
    vp__loop_end(e, &block, &next);
}

/* The states of rows of n elements, row by row: in g->last, or where the tree has them. */
static LLVMValueRef group_tree(vp__emitter *e, const vp__row_group *g, LLVMValueRef n) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0);
    LLVMValueRef zero = vp__emit_zero(e), one = vp__emit_int(e, 1);
    vp__loop batch;
    vp__branch blocks, more, several;
    vp__loop_begin(e, &batch, zero, n, BATCH, 1, &zero);
    LLVMValueRef count = batch.carried[0];
    LLVMValueRef end = LLVMBuildAdd(b, batch.i, batch.step, "");
    LLVMValueRef is_not_last = vp__emit_less(e, end, n);
    LLVMValueRef states = LLVMBuildSelect(b, is_not_last, g->states, g->last, "");
    batch_states(e, g, batch.i, vp__emit_least(e, end, n), states);
    vp__branch_begin(e, &blocks, vp__emit_less(e, vp__emit_int(e, VP__REDUCE_BLOCK), n));
    merge_batch(e, g, states);
    vp__branch_end(e, &blocks, 0, NULL, NULL);
    vp__branch_begin(e, &more, is_not_last);
    call_tree(e, g, "vp__tree_add", LLVMVoidTypeInContext(e->context), states, count);
    vp__branch_end(e, &more, 0, NULL, NULL);
    LLVMValueRef next = LLVMBuildAdd(b, count, one, "");
    vp__loop_end(e, &batch, &next);
    count = LLVMBuildSub(b, batch.carried[0], one, "");
    vp__branch_begin(e, &several, vp__emit_less(e, zero, count));
    LLVMValueRef all = call_tree(e, g, "vp__tree_end", pointer, g->last, count);
    vp__branch_end(e, &several, 1, &all, &g->last);
    return all;
}

/* A batch of states that change nothing. */
static LLVMValueRef new_batch(vp__emitter *e, int rows) {
    const int n = rows * VP__TREE_BLOCKS;
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    LLVMValueRef states = vp__emit_slot(e, LLVMArrayType2(vector, (unsigned)n));
    vp__loop i;
    vp__loop_begin(e, &i, vp__emit_zero(e), vp__emit_int(e, n), 1, 0, NULL);
    LLVMBuildStore(e->builder, vp__fold_identity(e), vector_at(e, states, i.i));
    vp__loop_end(e, &i, NULL);
    return states;
}

/* Reduces all rows and stores what comes out. */
static void group_reduce(vp__emitter *e, const vp__row_group *g, LLVMValueRef n,
                         bool finish) {
    LLVMValueRef at[VP__KERNEL_LEAVES + 1], zero = vp__emit_zero(e), states = g->states;
    if (g->levels)
        states = group_tree(e, g, n);
    else
        group_some(e, g, zero, n, states);
    vp__loop row;
    vp__loop_begin(e, &row, zero, vp__emit_int(e, g->n), 1, 0, NULL);
    go_to_row(e, g, row.i, at);
    vp__fold_store(e, load_vector(e, states, row.i), at[e->ir->nleaves], finish);
    vp__loop_end(e, &row, NULL);
}

/* The rows of the p-th plane, which begins at `plane` and has one element each of what is
 * `fixed` there. Who reads the same shares the place. */
static void go_to_rows(vp__emitter *e, vp__row_group *g, int p, const LLVMValueRef *plane,
                       const vp__lanes *fixed, LLVMValueRef (*bytes)[VP__KERNEL_LEAVES]) {
    for (int r = 0; r < g->rows; r++) {
        const int j = p * g->rows + r;
        for (int i = 0; i < e->ir->nleaves; i++) {
            const int read = e->form->read[i];
            if (p > 0 && is_read_again(e, i))
                g->at[j][i] = g->at[r][i];
            else if (r > 0 && read == VP__READ_SHARED)
                g->at[j][i] = g->at[j - r][i];
            else
                g->at[j][i] = vp__emit_moved(e, plane[i], bytes[r][i]);
        }
        vp__emit_fixed(e, g->at[j], VP__READ_ROW);
        for (int i = 0; i < e->ir->nleaves; i++)
            g->fixed[j][i] = e->form->read[i] == VP__READ_PLANE ? fixed[i] : e->value[i];
    }
}

static void emit_groups(vp__emitter *e, const vp__operands *o, int rows, int planes,
                        bool finish) {
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vector = vp__emit_vector(e, e->ir->reduce_type);
    vp__row_group g = {.rows = rows, .n = rows * planes, .o = o};
    LLVMValueRef plane[VP__PLANES][VP__KERNEL_LEAVES + 1],
        bytes[VP__ROWS][VP__KERNEL_LEAVES];
    vp__lanes fixed[VP__PLANES][VP__KERNEL_LEAVES];
    if (g.n > 1) g.one = hidden_one(e);
    g.states =
        vp__emit_slot(e, LLVMArrayType2(vector, (unsigned)(VP__TREE_BLOCKS * g.n)));
    if (vp__emit_is_tree(e->ir) && (vp__emit_has_calls(e) || !is_one_block(o->x))) {
        g.last = new_batch(e, g.n);
        g.levels =
            vp__emit_slot(e, LLVMArrayType2(vector, (unsigned)(VP__TREE_LEVELS * g.n)));
    }
    g.last_z = LLVMBuildSub(b, o->z, vp__emit_int(e, 1), "");
    g.last_y = LLVMBuildSub(b, o->y, vp__emit_int(e, 1), "");
    vp__loop z, y;
    vp__loop_begin(e, &z, vp__emit_zero(e), o->z, planes, 0, NULL);
    g.z = z.i;
    for (int p = 0; p < planes; p++) {
        LLVMValueRef at = p ? nth(e, z.i, vp__emit_int(e, p), g.last_z) : z.i;
        vp__operands_go_to(e, o, NULL, at, plane[p]);
        vp__emit_fixed(e, plane[p], VP__READ_PLANE);
        vp__group_copy_leaves(e, fixed[p]);
    }
    vp__loop_begin(e, &y, vp__emit_zero(e), o->y, rows, 0, NULL);
    g.y = y.i;
    for (int r = 0; r < rows; r++) {
        LLVMValueRef at = r ? nth(e, y.i, vp__emit_int(e, r), g.last_y) : y.i;
        for (int i = 0; i < e->ir->nleaves; i++)
            bytes[r][i] = vp__emit_times(e, at, o->row[i]);
    }
    for (int p = 0; p < planes; p++) go_to_rows(e, &g, p, plane[p], fixed[p], bytes);
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
    const int rows = vp__fold_is_light(e) && reads(e, VP__READ_SHARED) ? VP__ROWS : 1;
    if (vp__emit_is_tree(e->ir) || rows > 1) {
        emit_groups(e, o, rows, rows > 1 ? planes_of(e) : 1, finish);
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
