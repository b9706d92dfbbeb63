/* SPDX-License-Identifier: Apache-2.0
 *
 * Issuing library operations: everything that is not a kernel. They end the segments of their
 * operands, read them as arrays, and are gated, placed and split like any other node.
 */
#ifndef VP_ISSUE_LIBRARY_H
#define VP_ISSUE_LIBRARY_H

#include "issue/destination.h"
#include "issue/library/params.h"
#include "issue/value.h"

/* Issues an operation of operands that are leaves, or have failed; they stay the caller's.
 * ndim is the result's. dims: NULL, unless only the instruction says them (VP__SIZE_GIVEN);
 * else they follow from the operands' by the row's size rule, now or when those are known, or
 * from running. */
void vp__library_make(const vp__lib_params *p, vp_dtype dtype, int nin,
                      vp__expr *const *in, int ndim, const int64_t *dims,
                      const char *name, const char *where, vp__value *out);

/* Issues a write by index. False, and nothing done, without memory. */
bool vp__library_send(const vp__lib_params *p, vp_dtype dtype, int nin,
                      vp__expr *const *in, vp__destination *d, const char *where);

/* The dims of a result whose operands are sized leaves, by the row's size rule; an error when
 * there are none, or too many elements of this type. */
vp__error *vp__library_dims(const vp__lib_params *p, vp_dtype dtype, int nin,
                            vp__expr *const *in, const char *name, const char *where,
                            int *ndim, int64_t *dims);

#endif
