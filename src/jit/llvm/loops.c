/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops around a kernel's body: what all kinds share, and the maps. Vectors run along x;
 * what does not fill one is done with masked loads and stores, by the same code.
 */
#include <string.h>

#include "jit/llvm/loops.h"

LLVMTypeRef vp__emit_i64(vp__emitter *e) { return LLVMInt64TypeInContext(e->context); }

static LLVMBasicBlockRef new_block(vp__emitter *e) {
    return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

static LLVMBasicBlockRef here(vp__emitter *e) { return LLVMGetInsertBlock(e->builder); }

bool vp__emit_is_known(LLVMValueRef v, int64_t *number) {
    if (!LLVMIsAConstantInt(v)) return false;
    *number = LLVMConstIntGetSExtValue(v);
    return true;
}

/* Starts a loop of at most `most` turns without one, if it is known to have no more. */
static bool begin_written_out(vp__emitter *e, vp__loop *l, LLVMValueRef start,
                              LLVMValueRef end, int64_t step, int64_t most) {
    int64_t from, to;
    l->left = 0;
    if (!vp__emit_is_known(start, &from) || !vp__emit_is_known(end, &to) || from >= to)
        return false;
    const int64_t turns = (to - from + step - 1) / step;
    if (turns > most) return false;
    l->left = turns;
    l->at = from;
    l->i = vp__emit_int(e, from);
    return true;
}

static void begin(vp__emitter *e, vp__loop *l, LLVMValueRef start, LLVMValueRef end,
                  int64_t step, int ncarried, const LLVMValueRef *first, int64_t most,
                  bool some) {
    LLVMBuilderRef b = e->builder;
    l->some = some;
    l->step = vp__emit_int(e, step);
    l->ncarried = ncarried;
    l->doubts = false;
    for (int k = 0; k < ncarried; k++) l->first[k] = l->carried[k] = first[k];
    if (begin_written_out(e, l, start, end, step, most)) return;
    l->before = here(e);
    l->body = new_block(e);
    l->after = new_block(e);
    l->end = end;
    if (some)
        LLVMBuildBr(b, l->body);
    else
        LLVMBuildCondBr(b, vp__emit_less(e, start, end), l->body, l->after);
    LLVMPositionBuilderAtEnd(b, l->body);
    l->i = LLVMBuildPhi(b, vp__emit_i64(e), "");
    LLVMAddIncoming(l->i, &start, &l->before, 1);
    for (int k = 0; k < ncarried; k++) {
        l->carried[k] = LLVMBuildPhi(b, LLVMTypeOf(first[k]), "");
        LLVMAddIncoming(l->carried[k], &l->first[k], &l->before, 1);
    }
}

void vp__loop_begin(vp__emitter *e, vp__loop *l, LLVMValueRef start, LLVMValueRef end,
                    int64_t step, int ncarried, const LLVMValueRef *first) {
    begin(e, l, start, end, step, ncarried, first, 1, false);
}

void vp__loop_begin_some(vp__emitter *e, vp__loop *l, LLVMValueRef start,
                         LLVMValueRef end, int64_t step, int ncarried,
                         const LLVMValueRef *first) {
    begin(e, l, start, end, step, ncarried, first, 1, true);
}

void vp__loop_begin_inner(vp__emitter *e, vp__loop *l, LLVMValueRef start,
                          LLVMValueRef end, int64_t step, int ncarried,
                          const LLVMValueRef *first) {
    enum { TURNS = 8, INSTRS = 192 }; /* compiling takes longer the more is written */
    const int64_t turns = INSTRS / (e->ir->n + 1);
    const int64_t most = turns < TURNS ? turns + 1 : TURNS;
    if (!e->own_sin) {
        begin(e, l, start, end, step, ncarried, first, most, false);
        return;
    }
    LLVMValueRef with_doubt[VP__LOOP_CARRIED];
    for (int k = 0; k < ncarried; k++) with_doubt[k] = first[k];
    with_doubt[ncarried] = vp__doubt_load(e);
    begin(e, l, start, end, step, ncarried + 1, with_doubt, most, false);
    l->doubts = true;
    e->doubting = l->carried[ncarried];
}

/* Carries the values to the next turn, which is written out as well, or out. */
static bool next_written_out(vp__emitter *e, vp__loop *l, const LLVMValueRef *next) {
    for (int k = 0; k < l->ncarried; k++) l->carried[k] = next[k];
    l->at += LLVMConstIntGetSExtValue(l->step);
    l->i = vp__emit_int(e, l->at);
    return --l->left > 0;
}

static bool end_turn(vp__emitter *e, vp__loop *l, const LLVMValueRef *next) {
    LLVMBuilderRef b = e->builder;
    if (l->left > 0) return next_written_out(e, l, next);
    LLVMBasicBlockRef latch = here(e);
    /* Frozen, it is the same number; but the compiler no longer sees that it counts, and does
     * not spend a quarter of its time on finding other ways to. */
    LLVMValueRef i = LLVMBuildFreeze(b, LLVMBuildAdd(b, l->i, l->step, ""), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, i, l->end, ""), l->body, l->after);
    LLVMAddIncoming(l->i, &i, &latch, 1);
    LLVMPositionBuilderAtEnd(b, l->after);
    for (int k = 0; k < l->ncarried; k++) {
        LLVMValueRef last = next[k];
        LLVMAddIncoming(l->carried[k], &last, &latch, 1);
        l->carried[k] = last;
        if (l->some) continue;
        LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(last), "");
        LLVMAddIncoming(phi, &l->first[k], &l->before, 1);
        LLVMAddIncoming(phi, &last, &latch, 1);
        l->carried[k] = phi;
    }
    return false;
}

bool vp__loop_end(vp__emitter *e, vp__loop *l, const LLVMValueRef *next) {
    if (!l->doubts) return end_turn(e, l, next);
    LLVMValueRef with_doubt[VP__LOOP_CARRIED];
    const int last = l->ncarried - 1;
    for (int k = 0; k < last; k++) with_doubt[k] = next[k];
    with_doubt[last] = e->doubting;
    if (end_turn(e, l, with_doubt)) return true;
    e->doubting = NULL;
    vp__doubt_store(e, l->carried[last]);
    return false;
}

void vp__branch_begin(vp__emitter *e, vp__branch *f, LLVMValueRef condition) {
    int64_t holds;
    f->after = NULL;
    if (vp__emit_is_known(condition, &holds) && holds) return;
    f->before = here(e);
    LLVMBasicBlockRef body = new_block(e);
    f->after = new_block(e);
    LLVMBuildCondBr(e->builder, condition, body, f->after);
    LLVMPositionBuilderAtEnd(e->builder, body);
}

void vp__branch_end(vp__emitter *e, vp__branch *f, int n, LLVMValueRef *then,
                    const LLVMValueRef *otherwise) {
    LLVMBasicBlockRef last = here(e);
    if (!f->after) return;
    LLVMBuildBr(e->builder, f->after);
    LLVMPositionBuilderAtEnd(e->builder, f->after);
    for (int i = 0; i < n; i++) {
        LLVMValueRef from[] = {then[i], otherwise[i]};
        LLVMBasicBlockRef blocks[] = {last, f->before};
        then[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(from[0]), "");
        LLVMAddIncoming(then[i], from, blocks, 2);
    }
}

static void begin_pass(vp__emitter *e, vp__pass *p, int number) {
    p->number = number;
    LLVMValueRef now =
        LLVMBuildICmp(e->builder, LLVMIntEQ, e->pass, vp__emit_int(e, number), "");
    vp__branch_begin(e, &p->branch, now);
    e->own_sin = number == 0;
    if (e->own_sin) vp__sin_begin(e);
    e->again = number == 1;
}

void vp__pass_begin(vp__emitter *e, vp__pass *p) {
    p->count = e->own_sin ? 2 : 1;
    if (p->count == 2) begin_pass(e, p, 0);
}

bool vp__pass_end(vp__emitter *e, vp__pass *p) {
    if (p->count == 1) return false;
    vp__branch_end(e, &p->branch, 0, NULL, NULL);
    if (p->number == 0) {
        begin_pass(e, p, 1);
        return true;
    }
    e->own_sin = true;
    e->again = false;
    return false;
}

/* --- operands ----------------------------------------------------------------------- */

LLVMValueRef vp__emit_moved(vp__emitter *e, LLVMValueRef at, LLVMValueRef bytes) {
    return LLVMBuildGEP2(e->builder, LLVMInt8TypeInContext(e->context), at, &bytes, 1,
                         "");
}

LLVMValueRef vp__emit_times(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildMul(e->builder, a, b, "");
}

static LLVMValueRef parameter(vp__emitter *e, unsigned k, int i, LLVMTypeRef type) {
    LLVMValueRef index = vp__emit_int(e, i);
    LLVMValueRef at =
        LLVMBuildGEP2(e->builder, type, LLVMGetParam(e->function, k), &index, 1, "");
    return LLVMBuildLoad2(e->builder, type, at, "");
}

/* The number that is known in place of what was loaded, if one is. */
static LLVMValueRef known_or(vp__emitter *e, int64_t known, LLVMValueRef loaded) {
    return e->facts && known != VP__UNKNOWN ? vp__emit_int(e, known) : loaded;
}

static void load_operands(vp__emitter *e, vp__operands *o) {
    static const vp__facts none = {0};
    const vp__facts *f = e->facts ? e->facts : &none;
    o->n = e->ir->nleaves + 1;
    for (int i = 0; i < o->n; i++) {
        const int64_t *word = f->word + VP__FACTS_EXTENTS + (ptrdiff_t)2 * i;
        o->ptr[i] = parameter(e, 0, i, LLVMPointerTypeInContext(e->context, 0));
        if (vp__facts_is_constant(f, i)) {
            o->row[i] = o->outer[i] = vp__emit_zero(e);
            continue;
        }
        o->row[i] = known_or(e, word[0], parameter(e, 1, i, vp__emit_i64(e)));
        o->outer[i] = known_or(e, word[1], parameter(e, 2, i, vp__emit_i64(e)));
    }
    o->x = known_or(e, f->word[0], LLVMGetParam(e->function, 3));
    o->y = known_or(e, f->word[1], LLVMGetParam(e->function, 4));
    o->z = known_or(e, f->word[2], LLVMGetParam(e->function, 5));
}

void vp__operands_go(vp__emitter *e, int n, const LLVMValueRef *from,
                     const LLVMValueRef *stride, LLVMValueRef k, LLVMValueRef *at) {
    for (int i = 0; i < n; i++)
        at[i] = vp__emit_moved(e, from[i], vp__emit_times(e, k, stride[i]));
}

void vp__emit_fixed(vp__emitter *e, const LLVMValueRef *at, int read) {
    for (int i = 0; i < e->ir->nleaves; i++) {
        if (e->loops->read[i] != read) continue;
        const int type = e->ir->instr[i].type;
        if (e->facts && vp__facts_is_constant(e->facts, i))
            e->value[i] = vp__emit_value_of(
                e, type, e->facts->word + VP__FACTS_EXTENTS + (ptrdiff_t)2 * i);
        else
            e->value[i] = vp__emit_load_one(e, type, at[i]);
    }
}

vp__lanes vp__emit_body(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                        LLVMValueRef mask) {
    vp__emit_move(e, at, x, mask);
    return vp__emit_value(e, e->ir->value);
}

static LLVMValueRef constant_lanes(vp__emitter *e, LLVMTypeRef type) {
    LLVMValueRef lane[VP__MOST_LANES];
    for (int i = 0; i < e->width; i++) lane[i] = LLVMConstInt(type, (unsigned)i, 0);
    return LLVMConstVector(lane, (unsigned)e->width);
}

static LLVMValueRef loaded_lanes(vp__emitter *e, LLVMTypeRef type) {
    LLVMValueRef table = LLVMGetNamedGlobal(e->module, VP__LANES_SYMBOL);
    if (!table) table = LLVMAddGlobal(e->module, type, VP__LANES_SYMBOL);
    LLVMTypeRef vector = LLVMVectorType(type, (unsigned)e->width);
    LLVMValueRef lanes = LLVMBuildLoad2(e->builder, vector, table, "");
    LLVMSetAlignment(lanes, 4);
    return lanes;
}

/* The lanes' numbers are compared with n. As constants they cost the compiler a quarter of the
 * time it takes for a short loop; not where n is known, since so is the mask then, and in a
 * reduction, where each row has a tail, it is worth it. */
LLVMValueRef vp__emit_mask_below(vp__emitter *e, LLVMValueRef n) {
    LLVMTypeRef t = LLVMInt32TypeInContext(e->context);
    LLVMValueRef most = vp__emit_splat(e, LLVMBuildTrunc(e->builder, n, t, ""));
    int64_t known;
    const bool constant = e->ir->reduce >= 0 || vp__emit_is_known(n, &known);
    return LLVMBuildICmp(e->builder, LLVMIntULT,
                         constant ? constant_lanes(e, t) : loaded_lanes(e, t), most, "");
}

LLVMValueRef vp__emit_whole(vp__emitter *e, LLVMValueRef n, int64_t step) {
    return LLVMBuildAnd(e->builder, n, vp__emit_int(e, -step), "");
}

LLVMValueRef vp__emit_less(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
}

LLVMValueRef vp__emit_zero(vp__emitter *e) { return vp__emit_int(e, 0); }

/* --- blocks ------------------------------------------------------------------------- */

bool vp__emit_has_calls(const vp__emitter *e) { return e->legs > 1; }

LLVMValueRef vp__emit_least(vp__emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(e->builder, vp__emit_less(e, a, b), a, b, "");
}

void vp__emit_legs(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef from,
                   LLVMValueRef to) {
    LLVMBuilderRef b = e->builder;
    e->block = from;
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, n, e->width), "");
    for (int leg = 0; leg + 1 < e->legs; leg++) {
        vp__loop x;
        vp__loop_begin(e, &x, from, whole, e->width, 0, NULL);
        vp__emit_move(e, at, x.i, NULL);
        vp__legs_store(e, leg);
        vp__loop_end(e, &x, NULL);
        vp__branch tail;
        vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
        vp__emit_move(e, at, whole,
                      vp__emit_mask_below(e, LLVMBuildSub(b, to, whole, "")));
        vp__legs_store(e, leg);
        vp__branch_end(e, &tail, 0, NULL, NULL);
        vp__legs_call(e, leg, at, from, n);
    }
}

/* --- map ---------------------------------------------------------------------------- */

void vp__emit_store_at(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                       LLVMValueRef mask, vp__lanes v) {
    const int out = e->ir->nleaves, type = e->ir->result;
    vp__emit_store(e, type, v, vp__emit_nth(e, at[out], x, vp__dtype[type].size), mask);
}

static void map_span(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef from,
                     LLVMValueRef to) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef n = LLVMBuildSub(b, to, from, "");
    LLVMValueRef whole = LLVMBuildAdd(b, from, vp__emit_whole(e, n, e->width), "");
    vp__loop x;
    vp__branch tail;
    vp__loop_begin_inner(e, &x, from, whole, e->width, 0, NULL);
    do {
        vp__emit_store_at(e, at, x.i, NULL, vp__emit_body(e, at, x.i, NULL));
    } while (vp__loop_end(e, &x, NULL));
    vp__branch_begin(e, &tail, vp__emit_less(e, whole, to));
    LLVMValueRef mask = vp__emit_mask_below(e, LLVMBuildSub(b, to, whole, ""));
    vp__emit_store_at(e, at, whole, mask, vp__emit_body(e, at, whole, mask));
    vp__branch_end(e, &tail, 0, NULL, NULL);
}

void vp__rows_begin(vp__emitter *e, const vp__operands *o, vp__loop *z, vp__loop *y,
                    LLVMValueRef *at) {
    vp__loop_begin_some(e, z, vp__emit_zero(e), o->z, 1, 0, NULL);
    vp__operands_go(e, o->n, o->ptr, o->outer, z->i, at);
    vp__emit_fixed(e, at, VP__READ_PLANE);
    vp__loop_begin_some(e, y, vp__emit_zero(e), o->y, 1, 0, NULL);
    vp__operands_go(e, o->n, at, o->row, y->i, at);
    vp__emit_fixed(e, at, VP__READ_ROW);
}

static void emit_map(vp__emitter *e, const vp__operands *o) {
    LLVMValueRef at[VP__KERNEL_LEAVES + 1];
    vp__loop z, y;
    vp__rows_begin(e, o, &z, &y, at);
    if (vp__emit_has_calls(e)) {
        vp__loop block;
        vp__loop_begin_some(e, &block, vp__emit_zero(e), o->x, VP__EMIT_BLOCK, 0, NULL);
        LLVMValueRef to = LLVMBuildAdd(e->builder, block.i, block.step, "");
        to = vp__emit_least(e, to, o->x);
        vp__emit_legs(e, at, block.i, to);
        map_span(e, at, block.i, to);
        vp__loop_end(e, &block, NULL);
    } else {
        map_span(e, at, vp__emit_zero(e), o->x);
    }
    vp__loop_end(e, &y, NULL);
    vp__loop_end(e, &z, NULL);
}

/* --- the function ------------------------------------------------------------------- */

static int lanes_of(const vp__emitter *e) {
    const vp__ir *ir = e->ir;
    const int kind = e->loops->kind;
    const bool rows =
        kind == VP__LOOPS_ROWS || kind == VP__LOOPS_CHUNK || kind == VP__LOOPS_FOLD;
    if (rows && vp__emit_is_tree(ir)) return 64 / vp__dtype[ir->reduce_type].size;
    int widest = vp__dtype[vp__dtype[ir->result].real].size;
    for (int i = 0; i < ir->n; i++) {
        if (ir->instr[i].type == VP__TRUTH) continue;
        const int size = vp__dtype[vp__dtype[ir->instr[i].type].real].size;
        if (size > widest) widest = size;
    }
    return e->target->vector_bytes / widest;
}

static void emit_loops(vp__emitter *e, const vp__operands *o) {
    switch ((vp__loops_kind)e->loops->kind) {
    case VP__LOOPS_MAP: emit_map(e, o); break;
    case VP__LOOPS_ROWS: vp__emit_rows(e, o, true); break;
    case VP__LOOPS_CHUNK: vp__emit_rows(e, o, false); break;
    case VP__LOOPS_COLS: vp__emit_cols(e, o); break;
    case VP__LOOPS_STATE: vp__emit_state(e, o); break;
    case VP__LOOPS_FOLD: vp__emit_fold(e, o); break;
    case VP__NLOOPS: break;
    }
}

/* Sines are written out where everything can be done again if that does not do: what a
 * reduction writes is not what it reads. */
static bool writes_sines(const vp__emitter *e) {
    const int kind = e->loops->kind;
    return e->target->own_sin && (kind == VP__LOOPS_ROWS || kind == VP__LOOPS_CHUNK) &&
           vp__legs_have_sin(e);
}

static void emit_passes(vp__emitter *e, const vp__operands *o) {
    vp__loop pass;
    vp__legs_find(e);
    vp__doubt_begin(e);
    vp__loop_begin_some(e, &pass, vp__emit_zero(e), vp__emit_int(e, 2), 1, 0, NULL);
    e->pass = pass.i;
    emit_loops(e, o);
    pass.end =
        LLVMBuildSelect(e->builder, vp__doubt_end(e), pass.end, vp__emit_zero(e), "");
    vp__loop_end(e, &pass, NULL);
}

/* Whether vectors should be halves from the start, which the compiler makes of ours: where
 * the CPU stores them as two halves, maps whose time goes into memory take up to a fifth
 * less. Comparing and shuffling costs more then. */
static bool wants_halves(const vp__emitter *e) {
    if (!e->target->halves || e->loops->kind != VP__LOOPS_MAP) return false;
    for (int i = 0; i < e->ir->n; i++) {
        if (i < e->ir->nleaves && e->loops->read[i] == VP__READ_OTHER) return false;
        /* Bytes are multiplied by shuffling. */
        const int type = e->ir->instr[i].type;
        if (type == VP__TRUTH || vp__dtype[type].size == 1) return false;
    }
    return true;
}

void vp__emit_kernel(vp__emitter *e) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0), n = vp__emit_i64(e);
    LLVMTypeRef params[] = {ptr, ptr, ptr, n, n, n};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 6, 0);
    e->function = LLVMAddFunction(e->module, VP__KERNEL_SYMBOL, type);
    const char *bits = wants_halves(e) ? "256" : "512";
    const char *const attributes[][2] = {{"prefer-vector-width", bits},
                                         {"min-legal-vector-width", bits},
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
    vp__operands o;
    load_operands(e, &o);
    e->own_sin = writes_sines(e);
    if (e->own_sin)
        emit_passes(e, &o);
    else
        emit_loops(e, &o);
    LLVMBuildRetVoid(e->builder);
    LLVMPositionBuilderAtEnd(e->builder, e->entry);
    LLVMBuildBr(e->builder, first);
}
