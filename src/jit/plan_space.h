/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of a plan while it is being made: what is left of the axes of an iteration
 * space once those of one element are dropped, reversed where the output runs backwards,
 * sorted so that memory is walked in order, and merged where that is one walk.
 */
#ifndef VP_JIT_PLAN_SPACE_H
#define VP_JIT_PLAN_SPACE_H

#include "jit/exec.h"

typedef struct {
    int64_t dim;
    int64_t weight;  /* sum of the operands' strides: small is fast */
    int64_t reading; /* the same for the leaves alone */
    int64_t stride[VP__OPERANDS];
} vp__space_loop;

typedef struct {
    int noperands; /* array leaves, then the output */
    int nkept, nreduced;
    int64_t outputs, numbers;
    vp__space_loop *kept[VP__MAXDIM + 1];
    vp__space_loop *reduced[VP__MAXDIM + 1];
    int64_t shift[VP__OPERANDS];
    vp__space_loop pool[VP__MAXDIM + 2];
} vp__space;

/* `free_order` when reduced elements may be numbered in any order. There is at least one
 * loop of each sort afterwards (one of a single element if need be), no reduced one
 * without a reduction or when it has no elements, and none at all when there are no
 * outputs. */
void vp__space_init(vp__space *l, const vp__exec_args *args, bool free_order);

#endif
