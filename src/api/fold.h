/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VP_API_FOLD_H
#define VP_API_FOLD_H

#include "issue/expr.h"

/* A reduction, or one that is made of several: mean, variance, standard deviation. Consumes x;
 * poisoned on error. axes NULL: every axis. */
vp__expr *vp__fold(int op, const char *where, vp__expr *x, const vp_axes_t *axes,
                   vp_dtype dtype, bool keepdims);

#endif
