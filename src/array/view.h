/* SPDX-License-Identifier: Apache-2.0
 *
 * A resolved view: where the elements are, in memory the executing thread can touch.
 * Kernels and library operations see arrays only as views; they own nothing.
 */
#ifndef VP_ARRAY_VIEW_H
#define VP_ARRAY_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "vproc.h"

enum { VP__MAXDIM = 32 };

/* dims and strides have ndim entries. Strides are bytes, may be zero or negative; data is
 * the element at index 0,0,… */
typedef struct {
    void *data;
    const int64_t *dims;
    const int64_t *strides;
    int32_t ndim;
    vp_dtype dtype;
} vp__view;

#endif
