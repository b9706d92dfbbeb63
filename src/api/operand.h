/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a program gives to expressions, and back: every instruction of the interface begins
 * and ends here.
 */
#ifndef VP_API_OPERAND_H
#define VP_API_OPERAND_H

#include "api/track.h"

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

/* The error for a handle that vp__expr_find does not know. */
vp__error *vp__expr_stale(vp_expr x, const char *where);

/* The part of an array that integers, ranges and whole and new axes select; all of it, late,
 * when its size is not known yet. */
vp__expr *vp__array_part(vp_array a, const vp_index *part, const char *where);

/* An operand that is only read, element by element or as a whole: what a name holds unissued
 * (held.h) stays so. */
vp__expr *vp__argument(vp_operand x, const char *where);

/* Gives an expression to the user. With VP_SYNC=1 computes it first. */
vp_expr vp__give(vp__expr *e);
/* The same, but even then it stays open. */
vp_expr vp__give_open(vp__expr *e);
vp_expr vp__give_error(vp__error *error, const char *where);

#endif
