/* SPDX-License-Identifier: Apache-2.0
 *
 * Building expressions out of operands: what every instruction of the interface does.
 */
#ifndef VP_API_BUILD_H
#define VP_API_BUILD_H

#include <assert.h>

#include "array/viewop.h"
#include "issue/close.h"

/* Whether an expression is a C number, and of which kind; -1 if not. */
int vp__weak_of(const vp__expr *e);

/* Each consumes its arguments and returns a new expression, poisoned on error. */
vp__expr *vp__build_op(int op, const char *where, int nargs, vp__expr **args);
/* A library operation of leaves, with a result of ndim axes; one that takes epilogues is issued
 * when it is used. */
vp__expr *vp__build_library(const vp__lib_params *p, vp_dtype dtype, int nin,
                            vp__expr **in, int ndim, const char *name, const char *where);
/* `name` is the instruction that wants the conversion, for messages. */
vp__expr *vp__build_cast(vp__expr *e, vp_dtype to, const char *name, const char *where);
vp__expr *vp__build_reduce(int op, const char *where, vp__expr *x, uint32_t axes,
                           vp_dtype dtype, bool keepdims);

/* The same for whatever number a program may give for an operation. */
vp__expr *vp__apply(int op, const char *where, int nargs, vp__expr **args);
/* A C number. */
vp__expr *vp__build_number(vp_operand x, const char *where);

/* The poison among the arguments, freeing the others; NULL when there is none. */
vp__expr *vp__first_poison(int nargs, vp__expr **args);

/* Frees the arguments and returns a poisoned expression. */
vp__expr *vp__refuse(int nargs, vp__expr **args, const char *where, vp__error *error);

/* An expression with the same value and no other users: itself, or a leaf. Consumes it. */
vp__expr *vp__own(vp__expr *e);
/* Such a leaf (closing what is open); its size waited for. */
vp__expr *vp__as_leaf(vp__expr *e);
vp__expr *vp__as_sized_leaf(vp__expr *e);

/* The expression of a value, which is taken over. */
vp__expr *vp__value_expr(vp__value *v, const char *where);

/* Selects by items without index arrays; consumes e. */
vp__expr *vp__select_expr(vp__expr *e, const vp__viewop *op, const char *where);

/* Turns axis numbers (NULL: every axis) into bits; an error for a wrong or repeated one. */
vp__error *vp__axes_bits(const vp_axes_t *axes, int ndim, const char *name,
                         const char *where, uint32_t *bits);
/* What is wrong with a list of axes whatever array it is for, or NULL. */
vp__error *vp__axes_check(const vp_axes_t *axes, const char *name, const char *where);
vp__error *vp__axis_check(int *axis, int ndim, const char *name, const char *where);

/* Whether only the truth of operands counts. */
static inline bool vp__op_is_logical(int op) {
    static_assert(VP__OP_logical_xor - VP__OP_logical_and == 2,
                  "the three stand together");
    return op >= VP__OP_logical_and && op <= VP__OP_logical_xor;
}

#endif
