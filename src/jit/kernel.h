/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel: one loop nest over one iteration space, a straight line of instructions in
 * its body, at most one reduction at its end, one output. It is what the net cuts its
 * segments into, what the base executor interprets block by block, and what native stages
 * compile. It holds no memory of its own and no addresses: the leaves' views come at run
 * time, so one kernel serves every run of the same form.
 */
#ifndef VP_JIT_KERNEL_H
#define VP_JIT_KERNEL_H

#include <stdio.h>

#include "array/view.h"
#include "ops/ops.h"

enum { VP__KERNEL_LEAVES = 32, VP__KERNEL_INSTRS = 64 };

/* Pseudo-operation beside the rows of ops.def: a conversion from `from` to `type`. */
enum { VP__OP_CAST = VP__NOPS };

/* Values are numbered: leaves first, then instructions in order. */
typedef struct {
    uint8_t op;     /* vp__op of an element-wise row, or VP__OP_CAST */
    uint8_t type;   /* vp_dtype that selects the kernel (for a cast: the source type) */
    uint8_t result; /* vp_dtype of the value */
    uint8_t arg[3]; /* values */
} vp__instr;

/* A leaf is an array (its view is given at run time, with exactly the kernel's dims: zero
 * strides where it is broadcast), a constant, or the number of an output's element. */
typedef struct {
    uint8_t dtype;
    bool constant;
    union {
        uint64_t u64[2];
        double f64[2];
    } value; /* of a constant, in its own type's representation from byte 0 */
} vp__leaf;

typedef struct vp__kernel {
    int32_t nleaves, ninstrs;
    vp__leaf leaf[VP__KERNEL_LEAVES];
    vp__instr instr[VP__KERNEL_INSTRS];
    /* The body's result is its last instruction, or leaf 0 when there is none. */
    int32_t reduce;      /* vp__op of a reduction row, or -1 */
    uint8_t reduce_type; /* the reduction's working type = the body's result type */
    uint8_t result;      /* vp_dtype of the output */
} vp__kernel;

/* A kernel as native code. ptr holds the address of each leaf's first element and, last, of
 * the output's; row and outer the bytes from one row, and from one plane, to the next, in
 * the same order. There is at least one element. */
typedef void (*vp__native_fn)(char *const *ptr, const int64_t *row, const int64_t *outer,
                              int64_t x, int64_t y, int64_t z);

/* Writes the kernel as text, a value per line. */
void vp__kernel_print(const vp__kernel *kernel, FILE *f);

/* What is wrong with the kernel, as a sentence without its full stop, or NULL. */
const char *vp__kernel_verify(const vp__kernel *kernel);

#endif
