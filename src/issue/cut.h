/* SPDX-License-Identifier: Apache-2.0
 *
 * From a segment to kernels. A segment is the flattened tree of an expression; with sizes
 * known it is cut into parts, each one kernel over one iteration space: a reduction ends a
 * part, and an operand that would be recomputed along a broadcast is stored once where that
 * is cheaper. The cut is a function of program and shapes only, never of timing.
 */
#ifndef VP_ISSUE_CUT_H
#define VP_ISSUE_CUT_H

#include "array/arena.h"
#include "issue/expr.h"
#include "jit/kernel.h"

typedef struct {
    uint8_t
        kind; /* vp__expr_kind: LEAF, CONST, OP, REDUCE, COUNT; LEAF if given at a run */
    uint8_t op, type, result, nargs;
    bool keepdims;
    int8_t ndim;
    uint8_t arg[3]; /* terms */
    uint8_t leaf;   /* LEAF: which */
    uint32_t axes;
    uint64_t form; /* of the expression it was made of */
    int64_t *dims; /* known once sized */
    uint64_t value[2];
    const char *where;
} vp__term;

/* Terms in the order of execution; the last one is the result. */
typedef struct {
    int nterms, nleaves;
    vp__term *term;
} vp__segment;

/* Where a leaf's elements are, once that is known. */
typedef struct {
    const int64_t *dims, *strides;
    int ndim;
} vp__leaf_layout;

typedef struct {
    vp__kernel kernel;
    int32_t ndim; /* of the iteration space */
    uint32_t reduced;
    int16_t source[VP__KERNEL_LEAVES]; /* leaf of the segment, or ~(earlier part) */
    bool flat;     /* no reduction, every operand dense in the output's order */
    int64_t count; /* elements of the iteration space */
    double cost;
    int64_t *dims;
    int64_t *strides[VP__KERNEL_LEAVES]; /* of each leaf along the iteration space */
    /* The output, in its own axes and along the iteration space. */
    int32_t out_ndim;
    int64_t *out_dims, *out_strides, *loop_out_strides;
    int64_t out_bytes;
} vp__part;

typedef struct {
    int nparts;
    vp__part *part[VP__SEGMENT_TERMS]; /* the last one makes the segment's result */
    double cost;
} vp__cut;

/* Flattens the tree under `root`; leaves[i] is the expression behind leaf i. Dims point
 * into the expressions. `given`: a bit for each term that is a constant which differs from run
 * to run; it becomes a leaf without axes, whose expression is the constant. */
void vp__segment_build(vp__segment *seg, vp__term *terms, vp__expr *root,
                       vp__expr **leaves, uint64_t given);

/* Computes every term's dims from the leaves'. Returns an error when shapes do not fit. */
vp__error *vp__segment_size(vp__segment *seg, const vp__leaf_layout *leaves,
                            vp__arena *arena);

/* The dims of a sized segment's value, and strides for it when nothing else is known. */
void vp__segment_layout(const vp__segment *seg, int64_t *dims, int64_t *strides);

/* Cuts a sized segment; everything is allocated from the arena. False without memory. */
bool vp__segment_cut(vp__cut *cut, const vp__segment *seg, const vp__leaf_layout *leaves,
                     vp__arena *arena);

/* The error when a reduction that needs an element (min, argmax, …) has none, else NULL. */
vp__error *vp__reduce_check(int op, int ndim, const int64_t *dims, uint32_t axes,
                            const char *where);

/* The shape of a reduction's result. */
int vp__reduced_dims(int ndim, const int64_t *dims, uint32_t axes, bool keepdims,
                     int64_t *out);

/* Writes the constant `count` in a type's representation. */
void vp__constant_count(uint64_t value[2], vp_dtype t, int64_t count);

#endif
