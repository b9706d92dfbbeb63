/* SPDX-License-Identifier: Apache-2.0
 *
 * Random kernels and elements, for the tests that run kernels two ways.
 */
#ifndef VP_TESTS_DRAW_KERNEL_H
#define VP_TESTS_DRAW_KERNEL_H

#include <math.h>
#include <string.h>

#include "jit/kernel.h"
#include "tests/draw.h"

static inline int draw_below(int n) { return (int)(draw() % (uint64_t)n); }

static inline double draw_real(void) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e-30};
    if (draw_below(64) == 0) return special[draw_below(7)];
    return ((double)draw_below(401) - 200) / 16;
}

static inline void draw_element(vp_dtype t, void *at) {
    const uint64_t bits = draw() >> draw_below(64);
    float *f = at;
    double *d = at;
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_B: *(uint8_t *)at = draw() & 1; break;
    case VP__CLASS_S:
    case VP__CLASS_U: memcpy(at, &bits, vp__dtype[t].size); break;
    case VP__CLASS_F:
    case VP__CLASS_C:
        for (int i = 0; i < (vp__dtype[t].cls == VP__CLASS_C ? 2 : 1); i++) {
            if (vp__dtype[t].real == VP_F32)
                f[i] = (float)draw_real();
            else
                d[i] = draw_real();
        }
        break;
    }
}

static inline vp_dtype draw_type(void) {
    /* Often the common ones. */
    static const vp_dtype common[] = {VP_F64, VP_F64, VP_F32, VP_I32, VP_U32, VP_BOOL};
    return draw_below(2) ? common[draw_below(6)] : (vp_dtype)draw_below(VP__NDTYPES);
}

static inline int value_type(const vp__kernel *k, int v) {
    return v < k->nleaves ? k->leaf[v].dtype : k->instr[v - k->nleaves].result;
}

/* Adds a cast of value v to type t unless it has it; returns the value. */
static inline int add_cast(vp__kernel *k, int v, vp_dtype t) {
    if (value_type(k, v) == (int)t) return v;
    k->instr[k->ninstrs] = (vp__instr){.op = VP__OP_CAST,
                                       .type = (uint8_t)value_type(k, v),
                                       .result = (uint8_t)t,
                                       .arg = {(uint8_t)v, 0, 0}};
    return k->nleaves + k->ninstrs++;
}

static inline void draw_instr(vp__kernel *k) {
    for (;;) {
        const vp__op op = (vp__op)draw_below(VP__NOPS);
        const int nvalues = k->nleaves + k->ninstrs;
        if (vp__ops[op].reduces) continue;
        vp__optype types[3];
        int arg[3] = {0, 0, 0};
        for (int a = 0; a < vp__ops[op].arity; a++) {
            /* Newer values rather than older ones, so that most are used. */
            arg[a] = draw_below(3) ? nvalues - 1 - draw_below(nvalues < 3 ? nvalues : 3)
                                   : draw_below(nvalues);
            types[a] = (vp__optype){(vp_dtype)value_type(k, arg[a]), -1};
        }
        vp_dtype work[3], result;
        if (!vp__op_types(op, types, work, &result)) continue;
        if (vp__op_key(op, work) >= VP_C64 && draw_below(4))
            continue; /* they take over */
        vp__instr in = {.op = (uint8_t)op, .result = (uint8_t)result};
        in.type = (uint8_t)vp__op_key(op, work);
        for (int a = 0; a < vp__ops[op].arity; a++)
            in.arg[a] = (uint8_t)add_cast(k, arg[a], work[a]);
        k->instr[k->ninstrs++] = in;
        return;
    }
}

/* The kernel of one element-wise row on operands of type t (of where: besides its bool);
 * false where the row does not take them as they are. */
static inline bool one_row(vp__kernel *k, vp__op op, vp_dtype t) {
    const int arity = vp__ops[op].arity;
    vp__optype types[3];
    vp_dtype work[3], result;
    if (vp__ops[op].reduces) return false;
    for (int a = 0; a < arity; a++)
        types[a] =
            (vp__optype){a == 0 && vp__ops[op].rule == VP__RULE_WHERE ? VP_BOOL : t, -1};
    if (!vp__op_types(op, types, work, &result)) return false;
    *k = (vp__kernel){
        .nleaves = arity, .ninstrs = 1, .reduce = -1, .result = (uint8_t)result};
    k->instr[0] = (vp__instr){(uint8_t)op, (uint8_t)t, (uint8_t)result, {0, 1, 2}};
    for (int a = 0; a < arity; a++) {
        if (work[a] != types[a].dtype) return false;
        k->leaf[a].dtype = (uint8_t)work[a];
    }
    for (int a = arity; a < 3; a++) k->instr[0].arg[a] = 0;
    return true;
}

/* The kernel that converts one type to another. */
static inline void one_cast(vp__kernel *k, vp_dtype from, vp_dtype to) {
    *k = (vp__kernel){.nleaves = 1, .ninstrs = 1, .reduce = -1, .result = (uint8_t)to};
    k->leaf[0].dtype = (uint8_t)from;
    k->instr[0] = (vp__instr){VP__OP_CAST, (uint8_t)from, (uint8_t)to, {0, 0, 0}};
}

#endif
