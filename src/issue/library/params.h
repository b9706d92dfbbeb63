/* SPDX-License-Identifier: Apache-2.0
 *
 * What a library operation is asked to do, beside its operands.
 */
#ifndef VP_ISSUE_LIBRARY_PARAMS_H
#define VP_ISSUE_LIBRARY_PARAMS_H

#include "array/viewop.h"
#include "lib/lib.h"

/* Index arrays of a selection; operands of anything. */
enum { VP__FANCY_ITEMS = 8, VP__LIBRARY_OPERANDS = 16 };

/* KEEP: as the first operand (of a family that says so: all of them) is laid out. Decided when
 * that is known, so that a value has the same layout whether its size came late or not. */
typedef enum { VP__ORDER_C, VP__ORDER_F, VP__ORDER_KEEP } vp__order;

/* Elements that follow from their numbers: number i in storage order is start + step * i. */
typedef struct {
    bool eye; /* of a unit matrix: element i, j is whether j - i is the diagonal */
    bool in_integers;
    bool ends;                       /* the last element is exactly `stop` */
    bool floors;                     /* reals are rounded down */
    int64_t istart, istep, diagonal; /* modulo 2^64 */
    double start, step, stop;
} vp__generate_params;

/* The dims that a mask must have, none of them for any, and the instruction that selects by
 * it. */
typedef struct {
    int ndim;
    int64_t dims[VP__MAXDIM];
    const char *selects;
} vp__find_params;

/* Item i selects along base axis axis[i]; a mask of m axes has become positions [count, m] and
 * selects along m axes from there: mask[i] is m then, else 0. The items' dims stand before the
 * base's axis `at` among those that are left. */
typedef struct {
    int count, at;
    int axis[VP__FANCY_ITEMS], mask[VP__FANCY_ITEMS];
} vp__index_params;

typedef struct {
    int axis;
    int64_t length; /* 0: the operand's shape decides */
} vp__fourier_params;

typedef struct vp__lib_params {
    vp__lib_kind kind;
    vp__order order; /* of the result's storage */
    int8_t
        epilogue; /* 1 + the vp__op that is applied to the result by the way; 0: none */
    union {       /* by family */
        int axis; /* along, join */
        const vp__viewop *view; /* who makes a node copies it */
        vp__find_params find;
        vp__index_params index; /* gather, scatter */
        vp__generate_params generate;
        vp__fourier_params fourier;
    };
} vp__lib_params;

#endif
