/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products: a stack of them, each cut into parts.
 */
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "issue/library/family.h"
#include "net/tuning.h"

/* Operands have at least two axes; leading ones broadcast. */
vp__error *vp__size_product(const vp__lib_params *p, int nin, const vp__shape *in,
                            const char *name, const char *where, int *ndim,
                            int64_t *dims) {
    (void)p, (void)nin;
    const vp__shape *a = &in[0], *b = &in[1];
    char ta[200], tb[200];
    if (a->dims[a->ndim - 1] != b->dims[b->ndim - 2])
        return vp__error_new(
            VP_ERR_SHAPE, where,
            "%s: shapes %s and %s do not fit; the last axis of the first "
            "must be as long as the last but one of the second",
            name, vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
            vp__shape_text(tb, sizeof tb, b->ndim, b->dims));
    int64_t both[VP__MAXDIM];
    int nd = 0;
    if (!vp__shape_broadcast(&nd, both, a->ndim - 2, a->dims) ||
        !vp__shape_broadcast(&nd, both, b->ndim - 2, b->dims))
        return vp__error_new(VP_ERR_SHAPE, where,
                             "%s: the leading axes of shapes %s and %s do not broadcast",
                             name, vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
                             vp__shape_text(tb, sizeof tb, b->ndim, b->dims));
    both[nd++] = a->dims[a->ndim - 2];
    both[nd++] = b->dims[b->ndim - 1];
    memcpy(dims, both, (size_t)nd * sizeof(int64_t));
    *ndim = nd;
    return NULL;
}

static double cost(const vp__node *n) {
    const int64_t depth = n->in[0].dims[n->in[0].ndim - 1];
    return (double)vp__lib_rows[vp__params_of(n)->kind].cost *
           (double)vp__library_count(n) * (double)depth;
}

static int64_t parts_of_each(const vp__node *n) {
    const vp__input *a = &n->in[0];
    return vp__lib_matmul_parts(n->dims[n->ndim - 2], n->dims[n->ndim - 1],
                                a->dims[a->ndim - 1], n->dtype, vp__placeable);
}

static void views(const vp__node *n, int64_t batch, vp__view *out, vp__view *a,
                  vp__view *b) {
    int lead = n->ndim - 2;
    int64_t sa[VP__MAXDIM], sb[VP__MAXDIM];
    const vp__input *ia = &n->in[0], *ib = &n->in[1];
    vp__shape_expand_strides(lead, n->dims, ia->ndim - 2, ia->dims, ia->strides, sa);
    vp__shape_expand_strides(lead, n->dims, ib->ndim - 2, ib->dims, ib->strides, sb);
    char *po = n->out, *pa = vp__input_data(ia), *pb = vp__input_data(ib);
    for (int i = lead - 1; i >= 0; i--) {
        int64_t at = batch % n->dims[i];
        batch /= n->dims[i];
        po += at * n->out_strides[i];
        pa += at * sa[i];
        pb += at * sb[i];
    }
    *out = (vp__view){po, n->dims + lead, n->out_strides + lead, 2, n->dtype};
    *a = (vp__view){pa, ia->dims + ia->ndim - 2, ia->strides + ia->ndim - 2, 2, n->dtype};
    *b = (vp__view){pb, ib->dims + ib->ndim - 2, ib->strides + ib->ndim - 2, 2, n->dtype};
}

static void begin(vp__node *n) {
    n->pieces = vp__shape_count(n->ndim - 2, n->dims, 1) * parts_of_each(n);
    if (n->pieces < 1) n->pieces = 1;
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    if (vp__library_count(n) == 0) return;
    const int64_t parts = n->pieces / vp__shape_count(n->ndim - 2, n->dims, 1);
    vp__view out, a, b;
    views(n, i / parts, &out, &a, &b);
    /* Asked for here, so that a thread has the same memory each time, which it knows. */
    size_t bytes[2];
    void *scratch[2] = {NULL, NULL};
    vp__lib_matmul_scratch(&out, &a, &b, parts, bytes);
    bool there = true;
    for (int s = 0; s < 2; s++)
        if (bytes[s]) there = (scratch[s] = vp__pool_alloc(bytes[s])) && there;
    if (there)
        vp__lib_matmul(&out, &a, &b, i % parts, parts, scratch);
    else
        vp__library_no_scratch(n);
    for (int s = 0; s < 2; s++)
        if (scratch[s]) vp__pool_free(scratch[s], bytes[s]);
}

const vp__family vp__family_product = {.work = {.size = vp__library_size_node,
                                                .begin = begin,
                                                .piece = piece,
                                                .one_kernel = true},
                                       .payload = sizeof(vp__lib_params),
                                       .cost = cost};
