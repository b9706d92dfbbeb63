/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel IR: a kernel's body as a straight line of typed instructions on one lane,
 * lowered from the rows of ops.def (lower.c). It is what native stages compile, whatever
 * their machine, and what names a compiled kernel on disk; so it holds no sizes, strides
 * or addresses, and its text is stable.
 */
#ifndef VP_JIT_IR_H
#define VP_JIT_IR_H

#include <stdio.h>

#include "jit/kernel.h"
#include "ops/prims.h"

typedef enum {
#define VP_IR(name, operands, meaning) VP__IR_##name,
#include "jit/ir.def"
    VP__NIRS
} vp__ir_op;

typedef enum {
#define VP__PRIM(name, operands, kind, meaning) VP__PRIM_##name,
    VP__PRIMS(VP__PRIM)
#undef VP__PRIM
        VP__NPRIMS
} vp__prim;

/* Beside the element types: the type of comparisons. */
enum { VP__TRUTH = VP__NDTYPES };

typedef struct {
    uint8_t op;   /* vp__ir_op */
    uint8_t type; /* of the result: vp_dtype or VP__TRUTH */
    uint16_t arg[3];
    uint64_t imm;
} vp__ir_instr;

/* A value is the number of the instruction that makes it; the leaves come first. */
typedef struct {
    int32_t n, room, nleaves;
    vp__ir_instr *instr;
    int32_t value;       /* the body's result */
    int32_t reduce;      /* vp__op of a reduction row, or -1 */
    uint8_t reduce_type; /* its working type */
    uint8_t result;      /* vp_dtype of the output */
} vp__ir;

/* How many operands an instruction has. */
int vp__ir_arity(int op);

/* Lowers a kernel that vp__kernel_verify finds no fault with. False without memory. */
bool vp__ir_lower(vp__ir *ir, const vp__kernel *kernel);

/* Adds an instruction and returns its number, or -1 without memory. */
int vp__ir_add(vp__ir *ir, vp__ir_instr instr);
void vp__ir_deinit(vp__ir *ir);

/* What is wrong with it, as a sentence without its full stop, or NULL. */
const char *vp__ir_verify(const vp__ir *ir);

/* As text, an instruction per line, and back; parsing returns what is wrong, with an empty
 * *ir, or NULL. What it accepts has been verified. Printing wants a verified one. */
void vp__ir_print(const vp__ir *ir, FILE *f);
const char *vp__ir_parse(vp__ir *ir, const char *text);

#endif
