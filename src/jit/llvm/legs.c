/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "jit/llvm/emit.h"

static bool is_sine_row(const vp__ir_instr *in) {
    return in->op == VP__IR_base1 && in->imm == VP__OP_sin * 256 + VP_F64;
}

bool vp__legs_have_sin(const vp__emitter *e) {
    for (int i = e->ir->nleaves; i < e->ir->n; i++)
        if (is_sine_row(&e->ir->instr[i])) return true;
    return false;
}

/* A base kernel's work that is written out, or would be. */
static bool is_own_sine(const vp__emitter *e, int i) {
    return (e->own_sin || e->again) && is_sine_row(&e->ir->instr[i]);
}

static bool is_call(const vp__emitter *e, int i) {
    const int op = e->ir->instr[i].op;
    return op >= VP__IR_base1 && op <= VP__IR_base3 && !is_own_sine(e, i);
}

static const char *const row_name[VP__NOPS] = {
#define VP_OP(id, arity, rule, result, cycles, numpy, doc) #id,
#define VP_REDUCE(id, rule, result, cycles, numpy, doc) #id,
#include "ops/ops.def"
};

LLVMValueRef vp__legs_reduce_add(vp__emitter *e, LLVMTypeRef signature) {
    char name[100];
    snprintf(name, sizeof name, VP__REDUCE_SYMBOL, row_name[e->ir->reduce],
             vp__dtype[e->ir->reduce_type].name);
    return LLVMAddFunction(e->module, name, signature);
}

/* Calls the base kernel of an instruction for n elements. */
static void call_base(vp__emitter *e, const vp__ir_instr *in, LLVMValueRef out,
                      const LLVMValueRef *from, LLVMValueRef n) {
    char name[100];
    snprintf(name, sizeof name, VP__BASE_SYMBOL, row_name[in->imm / 256],
             vp__dtype[in->imm % 256].name);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->context, 0);
    LLVMTypeRef params[] = {ptr, ptr, ptr, ptr, LLVMInt64TypeInContext(e->context)};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 5, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name), none = LLVMConstNull(ptr);
    LLVMValueRef args[5] = {out, none, none, none, n};
    for (int i = 0; i < vp__ir_arity(in->op); i++) args[1 + i] = from[i];
    if (!fn) fn = LLVMAddFunction(e->module, name, type);
    LLVMBuildCall2(e->builder, type, fn, args, 5, "");
}

/* The sine of one vector: seldom run, and less to compile than legs of its own. */
static LLVMValueRef sin_by_call(vp__emitter *e, const vp__ir_instr *in, LLVMValueRef x) {
    LLVMValueRef slot = vp__emit_slot(e, LLVMTypeOf(x));
    LLVMBuildStore(e->builder, x, slot);
    call_base(e, in, slot, &slot, vp__emit_int(e, e->width));
    return LLVMBuildLoad2(e->builder, LLVMTypeOf(x), slot, "");
}

static LLVMValueRef sin_value(vp__emitter *e, const vp__ir_instr *in) {
    LLVMValueRef x = vp__emit_value(e, in->arg[0]).re;
    return e->again ? sin_by_call(e, in, x) : vp__emit_sin(e, x);
}

/* Where the vector at hand is in a value's block. */
static LLVMValueRef in_block(vp__emitter *e, int i) {
    LLVMValueRef offset = LLVMBuildSub(e->builder, e->x, e->block, "");
    return vp__emit_nth(e, e->buffer[i], offset, vp__dtype[e->ir->instr[i].type].size);
}

void vp__emit_move(vp__emitter *e, const LLVMValueRef *at, LLVMValueRef x,
                   LLVMValueRef mask) {
    e->at = at;
    e->x = x;
    e->mask = mask;
    for (int i = 0; i < e->ir->n; i++)
        if (i >= e->ir->nleaves || vp__emit_is_run(e, i))
            e->value[i] = (vp__lanes){NULL, NULL};
}

void vp__emit_turn(vp__emitter *e, const LLVMValueRef *at) {
    e->at = at;
    for (int i = 0; i < e->ir->n; i++)
        if (i >= e->ir->nleaves ||
            (vp__emit_is_run(e, i) && e->loops->read[i] != VP__READ_SHARED))
            e->value[i] = (vp__lanes){NULL, NULL};
}

bool vp__emit_is_run(const vp__emitter *e, int leaf) {
    const int read = e->loops->read[leaf];
    return read != VP__READ_ROW && read != VP__READ_PLANE;
}

static vp__lanes leaf_value(vp__emitter *e, int i) {
    const int type = e->ir->instr[i].type, size = vp__dtype[type].size;
    LLVMValueRef at = vp__emit_nth(e, e->at[i], e->x, size);
    if (e->loops->read[i] != VP__READ_OTHER) return vp__emit_load(e, type, at, e->mask);
    return vp__emit_load_other(e, type, vp__emit_nth(e, at, e->x, size), e->mask);
}

vp__lanes vp__emit_value(vp__emitter *e, int i) {
    const vp__ir_instr *in = &e->ir->instr[i];
    if (e->value[i].re) return e->value[i];
    if (in->op == VP__IR_leaf)
        e->value[i] = leaf_value(e, i);
    else if (is_call(e, i))
        e->value[i] = vp__emit_load(e, in->type, in_block(e, i), NULL);
    else if (is_own_sine(e, i))
        e->value[i].re = sin_value(e, in);
    else
        e->value[i] = vp__emit_instr(e, in);
    return e->value[i];
}

/* A leaf that is a run can be given to a base kernel where it is. */
static bool is_in_place(const vp__emitter *e, int i) {
    return i < e->ir->nleaves && vp__emit_is_run(e, i) &&
           e->loops->read[i] != VP__READ_OTHER;
}

static unsigned long long block_bytes(int type) {
    return (VP__EMIT_BLOCK + 64ull) * (unsigned long long)vp__dtype[type].size;
}

static LLVMValueRef new_buffer(vp__emitter *e, int type) {
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->context);
    return vp__emit_slot(e, LLVMArrayType2(byte, block_bytes(type)));
}

/* Whether some call takes the value as an operand that must be stored for it. */
static bool is_argument(const vp__emitter *e, int i) {
    if (is_in_place(e, i) || is_call(e, i)) return false;
    for (int k = e->ir->nleaves; k < e->ir->n; k++)
        for (int a = 0; a < vp__ir_arity(e->ir->instr[k].op); a++)
            if (is_call(e, k) && e->ir->instr[k].arg[a] == i) return true;
    return false;
}

size_t vp__legs_bytes(const vp__emitter *e) {
    size_t bytes = 0;
    for (int i = 0; i < e->ir->n; i++)
        if (is_call(e, i) || is_argument(e, i))
            bytes += block_bytes(e->ir->instr[i].type);
    return bytes;
}

bool vp__legs_init(vp__emitter *e) {
    const vp__ir *ir = e->ir;
    const size_t n = (size_t)ir->n;
    e->leg = calloc(n, sizeof *e->leg);
    e->buffer = calloc(n, sizeof *e->buffer);
    e->value = calloc(n, sizeof *e->value);
    if (!e->leg || !e->buffer || !e->value) return false;
    vp__legs_find(e);
    return true;
}

void vp__legs_find(vp__emitter *e) {
    const vp__ir *ir = e->ir;
    memset(e->buffer, 0, (size_t)ir->n * sizeof *e->buffer);
    memset(e->value, 0, (size_t)ir->n * sizeof *e->value);
    e->legs = 1;
    for (int i = ir->nleaves; i < ir->n; i++) {
        const vp__ir_instr *in = &ir->instr[i];
        int leg = 0;
        for (int a = 0; a < vp__ir_arity(in->op); a++)
            if (e->leg[in->arg[a]] > leg) leg = e->leg[in->arg[a]];
        e->leg[i] = (uint8_t)(leg + is_call(e, i));
        if (e->leg[i] >= e->legs) e->legs = e->leg[i] + 1;
    }
}

void vp__legs_deinit(vp__emitter *e) {
    free(e->leg);
    free(e->buffer);
    free(e->value);
}

/* Operands of the calls after this leg that must be stored for them. What else later
 * legs need they compute again from there, or load. */
static bool is_stored(const vp__emitter *e, int i, int leg) {
    if (is_in_place(e, i) || is_call(e, i)) return false;
    for (int k = e->ir->nleaves; k < e->ir->n; k++) {
        const vp__ir_instr *in = &e->ir->instr[k];
        if (!is_call(e, k) || e->leg[k] != leg + 1) continue;
        for (int a = 0; a < vp__ir_arity(in->op); a++)
            if (in->arg[a] == i) return true;
    }
    return false;
}

void vp__legs_store(vp__emitter *e, int leg) {
    for (int i = 0; i < e->ir->n; i++) {
        if (!is_stored(e, i, leg)) continue;
        if (!e->buffer[i]) e->buffer[i] = new_buffer(e, e->ir->instr[i].type);
        vp__emit_store(e, e->ir->instr[i].type, vp__emit_value(e, i), in_block(e, i),
                       NULL);
    }
}

void vp__legs_call(vp__emitter *e, int leg, const LLVMValueRef *at, LLVMValueRef x,
                   LLVMValueRef n) {
    for (int i = e->ir->nleaves; i < e->ir->n; i++) {
        const vp__ir_instr *in = &e->ir->instr[i];
        if (!is_call(e, i) || e->leg[i] != leg + 1) continue;
        if (!e->buffer[i]) e->buffer[i] = new_buffer(e, in->type);
        LLVMValueRef from[3];
        for (int a = 0; a < vp__ir_arity(in->op); a++) {
            const int k = in->arg[a], size = vp__dtype[e->ir->instr[k].type].size;
            from[a] = is_in_place(e, k) ? vp__emit_nth(e, at[k], x, size) : e->buffer[k];
        }
        call_base(e, in, e->buffer[i], from, n);
    }
}
