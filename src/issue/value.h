/* SPDX-License-Identifier: Apache-2.0
 *
 * A value: what closing an expression gives.
 */
#ifndef VP_ISSUE_VALUE_H
#define VP_ISSUE_VALUE_H

#include "issue/expr.h"
#include "net/node.h"

/* A value: a view of a storage (one reference, held by the value), or an error. */
typedef struct {
    vp__storage *storage;
    vp__error *error;
    vp_dtype dtype;
    bool late; /* dims are not known yet: the whole storage, once it is sized */
    int ndim;
    int64_t offset;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
} vp__value;

void vp__value_release(vp__value *v);
/* Without storage, of the expression's type and number of axes. */
void vp__value_init(vp__value *v, const vp__expr *e);
/* Makes an expression, whose tree is freed, a leaf that reads the value, which is taken over. */
void vp__value_replace(vp__expr *e, const vp__value *v);

#endif
