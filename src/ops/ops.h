/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operation table says, as C: one enumerator and one info record per row of
 * ops.def, and the rules that give operands and result their types.
 */
#ifndef VP_OPS_OPS_H
#define VP_OPS_OPS_H

#include "array/dtype.h"

typedef enum {
#define VP_OP(id, arity, rule, result, cycles, numpy, doc) VP__OP_##id,
#define VP_REDUCE(id, rule, result, cycles, numpy, doc) VP__OP_##id,
#include "ops/ops.def"
    VP__NOPS
} vp__op;

typedef struct {
    const char *name;  /* C name without the prefix: vp_<name> */
    const char *numpy; /* NumPy's name for the same function, NULL where it has none */
    const char *doc;   /* one sentence */
    uint8_t arity;     /* operands of an element-wise row; 1 for a reduction */
    uint8_t rule;      /* vp__rule: which operand types are taken and what they become */
    uint8_t result;    /* vp__result: the result's type, from the working type */
    bool reduces;
    float cycles; /* per 64 bytes of operand, on contiguous data in L1: a first guess
                           that measured runs correct */
} vp__op_info;

extern const vp__op_info vp__ops[VP__NOPS];

/* What an operation is called; beyond the table it is a conversion. */
static inline const char *vp__op_name(int op) {
    return op < VP__NOPS ? vp__ops[op].name : "cast";
}

/* What a row says about types: what bool operands become, what integers become, and
 * whether floats and complex values are taken, after all operands met in one type.
 *   KEEP  the type itself
 *   FIT   float32 for bool and 8 and 16 bits, float64 for more (NumPy has float16 where we
 *         give float32 to bool and 8 bits)
 *   B8, I8, I64, F32, F64  that type     WIDE  64 bits of the same sign
 *   CPLX  complex64 for float32, complex128 for all others that are not complex
 *   NO    refused
 * WHERE's first operand is bool and takes no part in the meeting. */
#define VP__RULES(RULE)                                                                  \
    RULE(ANY, KEEP, KEEP, KEEP, KEEP)                                                    \
    RULE(WHERE, KEEP, KEEP, KEEP, KEEP)                                                  \
    RULE(SUM, I64, WIDE, KEEP, KEEP)                                                     \
    RULE(NOBOOL, NO, KEEP, KEEP, KEEP)                                                   \
    RULE(NUMBER, I8, KEEP, KEEP, KEEP)                                                   \
    RULE(MODULO, I8, KEEP, KEEP, NO)                                                     \
    RULE(REALS, KEEP, KEEP, KEEP, NO)                                                    \
    RULE(ROUND, F32, KEEP, KEEP, KEEP)                                                   \
    RULE(BITS, KEEP, KEEP, NO, NO)                                                       \
    RULE(SHIFT, I8, KEEP, NO, NO)                                                        \
    RULE(INEXACT, FIT, FIT, KEEP, KEEP)                                                  \
    RULE(ANGLE, F64, FIT, KEEP, KEEP)                                                    \
    RULE(FLOAT, FIT, FIT, KEEP, NO)                                                      \
    RULE(DIVIDE, F64, F64, KEEP, KEEP)                                                   \
    RULE(FRACTION, F64, F64, KEEP, NO)                                                   \
    RULE(SPECTRUM, CPLX, CPLX, CPLX, KEEP)                                               \
    RULE(TRUTH, B8, B8, B8, B8)

typedef enum {
#define VP__RULE(id, b, i, f, c) VP__RULE_##id,
    VP__RULES(VP__RULE)
#undef VP__RULE
} vp__rule;

/* The result's type, from the working type: itself, bool, its component, int64, the complex
 * type that has it as its component. */
typedef enum {
    VP__RESULT_SAME,
    VP__RESULT_BOOL,
    VP__RESULT_REAL,
    VP__RESULT_INDEX,
    VP__RESULT_COMPLEX,
} vp__result;

/* An operand's type as the type rules see it. */
typedef struct {
    vp_dtype dtype; /* of a strong operand; ignored for a weak one */
    int8_t weak;    /* vp__weak of a C scalar, or -1 for a strong operand */
} vp__optype;

/* The type that arrays of these types have in common. Each integer type meets the fractions
 * there are by itself, as in NumPy: int8 and uint16 need float64 together, but fit float32. */
vp_dtype vp__common_type(int n, const vp_dtype *types);

/* Finds what an operand of type t is cast to, and the result's type, by a rule and a column of
 * any table of operations. False when the rule refuses it. */
bool vp__rule_types(vp__rule rule, vp__result column, vp_dtype t, vp_dtype *work,
                    vp_dtype *result);

/* Finds the types of `op` on these operands: operand i must be cast to work[i] before the
 * kernel table entry for vp__op_key(op, work) runs, and the result has type *result.
 * Returns false when NumPy would refuse these types. */
bool vp__op_types(vp__op op, const vp__optype *in, vp_dtype *work, vp_dtype *result);

/* As vp__op_types for a reduction whose operand has type t and whose result the user wants
 * as `want` (VP_AUTO for NumPy's choice): the operand is cast to *work first. What it
 * accepts has a kernel. A result type other than the row's own is refused where that is
 * fixed (any, all, positions, counts), and so is a `want` that is no type. */
bool vp__reduce_types(vp__op op, vp_dtype t, vp_dtype want, vp_dtype *work,
                      vp_dtype *result);

/* The working type that selects the kernel: that of the last operand (where's first one
 * is always bool). */
static inline vp_dtype vp__op_key(vp__op op, const vp_dtype *work) {
    return work[vp__ops[op].arity - 1];
}

#endif
