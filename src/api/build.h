/* SPDX-License-Identifier: Apache-2.0
 *
 * Building expressions out of operands: what every instruction of the interface does.
 */
#ifndef VP_API_BUILD_H
#define VP_API_BUILD_H

#include "api/names.h"
#include "array/viewop.h"
#include "net/library.h"

/* What the words of an operand are. */
static inline vp_array vp__bits_array(uint64_t bits) {
    return (vp_array){(uint32_t)bits, (uint32_t)(bits >> 32)};
}
static inline vp_expr vp__bits_expr(uint64_t bits) {
    return (vp_expr){(uint32_t)bits, (uint32_t)(bits >> 32)};
}

/* The expression an operand stands for: an array becomes a leaf, a C number a constant, an
 * expression itself (used up from now on). Never NULL; poisoned when the operand is no good. */
vp__expr *vp__operand(vp_operand x, const char *where);

/* The same, but a view of a late array is left undecided. */
vp__expr *vp__operand_view(vp_operand x, const char *where);

/* The part of an array that integers, ranges and whole and new axes select; all of it, late,
 * when its size is not known yet. */
vp__expr *vp__array_part(vp_array a, const vp_index *part, const char *where);

/* Whether an expression is a C number, and of which kind; -1 if not. */
int vp__weak_of(const vp__expr *e);

/* Gives an expression to the user. With VP_SYNC=1 computes it first. */
vp_expr vp__give(vp__expr *e);
vp_expr vp__give_error(vp__error *error, const char *where);

/* Each consumes its arguments and returns a new expression, poisoned on error. */
vp__expr *vp__build_op(int op, const char *where, int nargs, vp__expr **args);
/* A transform that is issued when it is used; consumes the leaf. */
vp__expr *vp__build_transform(vp__expr *leaf, const vp__lib_params *p, vp_dtype dtype,
                              const int64_t *dims, const char *where);
/* `name` is the instruction that wants the conversion, for messages. */
vp__expr *vp__build_cast(vp__expr *e, vp_dtype to, const char *name, const char *where);
vp__expr *vp__build_reduce(int op, const char *where, vp__expr *x, uint32_t axes,
                           vp_dtype dtype, bool keepdims);

/* The poison among the arguments, freeing the others; NULL when there is none. */
vp__expr *vp__first_poison(int nargs, vp__expr **args);

/* Frees the arguments and returns a poisoned expression. */
vp__expr *vp__refuse(int nargs, vp__expr **args, const char *where, vp__error *error);

/* A leaf (closing what is open), its size waited for. */
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

uint32_t vp__scope_depth(void);

#endif
