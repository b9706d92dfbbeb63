/* SPDX-License-Identifier: Apache-2.0
 *
 * View operations on operands whose size comes late: copies of what the view will be.
 */
#include <string.h>

#include "array/shape.h"
#include "issue/library/family.h"

typedef struct {
    vp__lib_params p;
    vp__viewop op;
    vp__layout layout; /* once sized: what the operation makes of the input */
    bool copy;
} payload;

static void init(vp__node *n) {
    payload *w = n->payload;
    w->op = *w->p.view;
    w->p.view = &w->op;
}

static vp__error *size(vp__node *n) {
    payload *w = n->payload;
    const vp__input *in = &n->in[0];
    const int bytes = vp__dtype[n->dtype].size;
    w->layout.ndim = in->ndim;
    w->layout.offset = 0;
    memcpy(w->layout.dims, in->dims, (size_t)in->ndim * sizeof(int64_t));
    memcpy(w->layout.strides, in->strides, (size_t)in->ndim * sizeof(int64_t));
    vp__error *e = vp__viewop_apply(&w->op, &w->layout, bytes, &w->copy);
    if (e) return vp__error_wrap(e, n->where, n->name);
    memcpy(n->dims, w->layout.dims, (size_t)n->ndim * sizeof(int64_t));
    const int64_t *strides = w->layout.strides;
    vp__layout_like(n->ndim, n->dims, bytes, 1, &strides, n->strides);
    vp__library_estimate(n);
    return NULL;
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const payload *w = n->payload;
    vp__view out = vp__library_output(n), in = vp__library_input(n, 0);
    int64_t strides[VP__MAXDIM];
    if (w->copy) {
        /* The new shape's elements in C order are the old shape's. */
        vp__layout_compact(in.ndim, in.dims, vp__dtype[n->dtype].size, false, strides);
        out.ndim = in.ndim;
        out.dims = in.dims;
        out.strides = strides;
    } else {
        in = (vp__view){(char *)in.data + w->layout.offset, w->layout.dims,
                        w->layout.strides, w->layout.ndim, in.dtype};
    }
    vp__lib_copy(&out, &in, i, n->pieces);
}

const vp__family vp__family_view = {.work = {.size = size,
                                             .begin = vp__library_copy_begin,
                                             .piece = piece,
                                             .one_kernel = true},
                                    .payload = sizeof(payload),
                                    .init = init};
