/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays joined along an axis, a piece for each of them.
 */
#include <string.h>

#include "array/shape.h"
#include "issue/library/family.h"

vp__error *vp__size_join(const vp__lib_params *p, int nin, const vp__shape *in,
                         const char *name, const char *where, int *ndim, int64_t *dims) {
    const int nd = *ndim = in[0].ndim;
    memcpy(dims, in[0].dims, (size_t)nd * sizeof(int64_t));
    for (int i = 1; i < nin; i++) {
        if (__builtin_add_overflow(dims[p->axis], in[i].dims[p->axis], &dims[p->axis]))
            return vp__error_new(VP_ERR_SHAPE, where, "%s: the result would be too large",
                                 name);
        for (int k = 0; k < nd; k++) {
            if (k == p->axis || in[i].dims[k] == dims[k]) continue;
            char a[200], b[200];
            return vp__error_new(
                VP_ERR_SHAPE, where,
                "%s: shapes %s and %s differ in axis %d, only axis %d may differ", name,
                vp__shape_text(a, sizeof a, nd, in[0].dims),
                vp__shape_text(b, sizeof b, nd, in[i].dims), k, p->axis);
        }
    }
    return NULL;
}

static void begin(vp__node *n) { n->pieces = n->ninputs; }

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const int axis = vp__params_of(n)->axis;
    int64_t at = 0;
    for (int64_t k = 0; k < i; k++) at += n->in[k].dims[axis];
    vp__view in = vp__library_input(n, (int)i);
    vp__view out = {n->out + at * n->out_strides[axis], n->in[i].dims, n->out_strides,
                    n->ndim, n->dtype};
    vp__lib_copy(&out, &in, 0, 1);
}

const vp__family vp__family_join = {.work = {.size = vp__library_size_node,
                                             .begin = begin,
                                             .piece = piece,
                                             .one_kernel = true},
                                    .payload = sizeof(vp__lib_params),
                                    .like_all = true};
