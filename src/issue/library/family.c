/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/library/family.h"

#include <stdlib.h>
#include <string.h>

#include "array/shape.h"
#include "net/tuning.h"

const vp__family *vp__family_of(vp__lib_kind kind) {
    static const vp__family *const families[VP__LIB_KINDS] = {
#define VP_LIB(id, family, operands, rule, result, size, cost, numpy, doc)               \
    [VP__LIB_##id] = &vp__family_##family,
#include "lib/lib.def"
    };
    return families[kind];
}

/* --- sizes ---------------------------------------------------------------------------------- */

vp__size_fn *vp__library_size_rule(vp__lib_kind kind) {
    switch ((vp__size_rule)vp__lib_rows[kind].size) {
    case VP__SIZE_LIKE: return vp__size_like;
    case VP__SIZE_JOIN: return vp__size_join;
    case VP__SIZE_INDEX: return vp__size_index;
    case VP__SIZE_PRODUCT: return vp__size_product;
    case VP__SIZE_TRANSFORM: return vp__size_transform;
    case VP__SIZE_GIVEN:
    case VP__SIZE_VIEW:
    case VP__SIZE_TARGET:
    case VP__SIZE_RUN: break;
    }
    return NULL;
}

vp__error *vp__size_like(const vp__lib_params *p, int nin, const vp__shape *in,
                         const char *name, const char *where, int *ndim, int64_t *dims) {
    (void)p, (void)nin, (void)name, (void)where;
    *ndim = in[0].ndim;
    memcpy(dims, in[0].dims, (size_t)in[0].ndim * sizeof(int64_t));
    return NULL;
}

vp__error *vp__library_size_node(vp__node *n) {
    const vp__lib_params *p = vp__params_of(n);
    vp__size_fn *rule = vp__library_size_rule(p->kind);
    if (rule) {
        vp__shape in[VP__LIBRARY_OPERANDS];
        for (int i = 0; i < n->ninputs; i++)
            in[i] = (vp__shape){n->in[i].ndim, n->in[i].dims};
        int ndim;
        vp__error *e = rule(p, n->ninputs, in, n->name, n->where, &ndim, n->dims);
        if (e) return e;
        vp__library_layout(n);
    }
    vp__library_estimate(n);
    return NULL;
}

/* What sizing and starting any operation takes. */
enum { BASE_NS = 200 };

void vp__library_estimate(vp__node *n) {
    const vp__lib_kind kind = vp__params_of(n)->kind;
    const vp__family *f = vp__family_of(kind);
    const double own =
        f->cost ? f->cost(n)
                : (double)vp__lib_rows[kind].cost * (double)vp__library_count(n);
    n->estimate = BASE_NS + (float)own;
}

/* --- layout --------------------------------------------------------------------------------- */

/* Whether an operand's first long axis has a smaller step than its last one. */
static bool prefers_columns(const vp__input *in) {
    int first = 0, last = in->ndim - 1;
    while (first < last && in->dims[first] == 1) first++;
    while (last > first && in->dims[last] == 1) last--;
    if (first >= last) return false;
    int64_t outer = llabs(in->strides[first]), inner = llabs(in->strides[last]);
    return outer < inner && outer != 0;
}

void vp__library_layout(vp__node *n) {
    const vp__lib_params *p = vp__params_of(n);
    int size = vp__dtype[n->dtype].size;
    bool columns = p->order == VP__ORDER_F;
    if (p->order == VP__ORDER_KEEP) {
        const int operands = vp__family_of(p->kind)->like_all ? n->ninputs : 1;
        if (n->ndim == n->in[0].ndim) {
            const int64_t *strides[VP__LIBRARY_OPERANDS];
            for (int i = 0; i < operands; i++) strides[i] = n->in[i].strides;
            vp__layout_like(n->ndim, n->dims, size, operands, strides, n->strides);
            return;
        }
        columns = prefers_columns(&n->in[0]);
    }
    vp__layout_compact(n->ndim, n->dims, size, columns, n->strides);
}

/* --- what families share -------------------------------------------------------------------- */

int64_t vp__library_pieces(double ns, int64_t most) {
    int64_t pieces = (int64_t)(ns / (double)vp__tuning.piece_ns);
    if (pieces > most) pieces = most;
    return pieces < 1 || vp__placeable == 1 ? 1 : pieces;
}

int64_t vp__library_count(const vp__node *n) {
    return vp__shape_count(n->ndim, n->dims, 1);
}

int64_t vp__library_lanes(const vp__node *n, int axis) {
    int64_t count = 1;
    for (int i = 0; i < n->ndim; i++)
        if (i != axis) count *= n->dims[i];
    return count;
}

vp__view vp__library_input(const vp__node *n, int i) {
    const vp__input *in = &n->in[i];
    return (vp__view){vp__input_data(in), in->dims, in->strides, in->ndim, in->dtype};
}

vp__view vp__library_output(const vp__node *n) {
    return (vp__view){n->out, n->dims, n->out_strides, n->ndim, n->dtype};
}

void vp__library_no_scratch(vp__node *n) {
    vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                   "%s: out of memory for its scratch space", n->name));
}

void vp__library_drop_axes(vp__input *in, int ndim) {
    const int surplus = vp__shape_surplus(in->ndim, in->dims, ndim);
    in->ndim = (int8_t)(in->ndim - surplus);
    in->dims += surplus;
    in->strides += surplus;
}

vp__error *vp__library_check_value(const vp__node *n, vp__input *value, int ndim,
                                   const int64_t *dims) {
    vp__library_drop_axes(value, ndim);
    int64_t both[VP__MAXDIM];
    int nboth = ndim;
    memcpy(both, dims, (size_t)ndim * sizeof(int64_t));
    if (vp__shape_broadcast(&nboth, both, value->ndim, value->dims) &&
        vp__shape_equal(nboth, both, ndim, dims))
        return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_SHAPE, n->where,
                         "%s: a value of shape %s does not fit a selection of shape %s",
                         n->name, vp__shape_text(a, sizeof a, value->ndim, value->dims),
                         vp__shape_text(b, sizeof b, ndim, dims));
}
