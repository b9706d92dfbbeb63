/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/library.h"

#include <string.h>

#include "array/shape.h"
#include "issue/library/family.h"
#include "issue/library/node.h"
#include "issue/tiny.h"
#include "net/wait.h"

/* What is known of the operands' failures, not retained. */
static vp__error *first_error(int nin, vp__expr *const *in) {
    for (int i = 0; i < nin; i++)
        if (in[i]->kind == VP__EXPR_POISON) return in[i]->error;
    return NULL;
}

/* A node with the operands as inputs; they stay captured by their expressions. */
static vp__node *make_node(const vp__lib_params *p, vp_dtype dtype, int nin,
                           vp__expr *const *in, int ndim, int target_ndim,
                           const char *name, const char *where) {
    int axes = 0;
    for (int i = 0; i < nin; i++) axes += in[i]->ndim;
    vp__node *n = vp__library_node(p, dtype, name, where, nin, axes, ndim, target_ndim);
    if (!n) return NULL;
    for (int i = 0; i < nin; i++) {
        vp__storage_retain(in[i]->storage);
        vp__node_add_input(n, in[i]->storage, in[i]->dtype, in[i]->offset, in[i]->ndim,
                           in[i]->late ? NULL : in[i]->dims, in[i]->strides);
    }
    return n;
}

/* With every operand's size known a node finds its own now, or its mistake. Not where others may
 * wait for it: an operand may have got its size since the result was made. Of work that is sized
 * when it runs only the estimate is found. */
static void size_now(vp__node *n) {
    for (int i = 0; i < n->ninputs; i++)
        if (n->in[i].late) return;
    if (n->work->sizes_when_run) vp__library_estimate(n);
    if (!n->is_put && n->result->late) return;
    vp__error *e = n->error || !n->work->size ? NULL : n->work->size(n);
    if (e) vp__node_fail(n, e);
    n->is_sized = true;
}

/* Gives the node to the net, to run at once if it is tiny and its operands are there. */
static void submit(vp__node *n, vp__destination *d, int64_t bytes) {
    vp__destination_give(d, n);
    size_now(n);
    n->at_once = vp__is_tiny(n->estimate, n->key);
    vp__admit(bytes);
    vp__destination_submit(d, n);
}

/* What became of a result that may have been made at once. */
static void look_at(vp__storage *s, vp__value *out) {
    if (!s->late || !vp__storage_is_sized(s)) return;
    vp__error *failed = vp__storage_failure(s);
    if (failed) {
        out->error = vp__error_retain(failed);
        out->storage = NULL;
        vp__storage_release(s);
        return;
    }
    memcpy(out->dims, s->late->dims, (size_t)out->ndim * sizeof(int64_t));
    memcpy(out->strides, s->late->strides, (size_t)out->ndim * sizeof(int64_t));
    out->late = false;
}

vp__error *vp__library_dims(const vp__lib_params *p, vp_dtype dtype, int nin,
                            vp__expr *const *in, const char *name, const char *where,
                            int *ndim, int64_t *dims) {
    vp__shape shapes[VP__LIBRARY_OPERANDS];
    for (int i = 0; i < nin; i++) shapes[i] = (vp__shape){in[i]->ndim, in[i]->dims};
    vp__size_fn *rule = vp__library_size_rule(p->kind);
    vp__error *e = rule(p, nin, shapes, name, where, ndim, dims);
    if (e || vp__shape_count(*ndim, dims, vp__dtype[dtype].size) >= 0) return e;
    return vp__error_new(VP_ERR_SHAPE, where, "%s: the result would be too large", name);
}

/* Whether the dims of a result follow from what is known of its operands. */
static bool has_dims(vp__lib_kind kind, int nin, vp__expr *const *in) {
    if (!vp__library_size_rule(kind)) return false;
    for (int i = 0; i < nin; i++)
        if (in[i]->late) return false;
    return true;
}

void vp__library_make(const vp__lib_params *p, vp_dtype dtype, int nin,
                      vp__expr *const *in, int ndim, const int64_t *dims,
                      const char *name, const char *where, vp__value *out) {
    memset(out, 0, offsetof(vp__value, dims));
    out->dtype = dtype;
    out->ndim = ndim;
    out->error = vp__error_retain(first_error(nin, in));
    int64_t found[2 * VP__MAXDIM];
    if (!out->error && !dims && has_dims(p->kind, nin, in)) {
        out->error = vp__library_dims(p, dtype, nin, in, name, where, &out->ndim, found);
        dims = found;
    }
    out->late = !dims;
    if (out->error) return;
    const int size = vp__dtype[dtype].size;
    const int64_t bytes = dims ? vp__shape_count(ndim, dims, size) * size : -1;
    vp__destination d;
    vp__node *n = NULL;
    if (vp__destination_fresh(&d, bytes))
        n = make_node(p, dtype, nin, in, ndim, 0, name, where);
    if (!n) {
        if (d.storage) vp__storage_release(d.storage);
        out->error = vp__error_new(VP_ERR_MEMORY, where, "out of memory");
        return;
    }
    out->storage = d.storage;
    if (dims) {
        memcpy(n->dims, dims, (size_t)ndim * sizeof(int64_t));
        vp__library_layout(n);
        memcpy(out->dims, n->dims, (size_t)ndim * sizeof(int64_t));
        memcpy(out->strides, n->strides, (size_t)ndim * sizeof(int64_t));
    }
    submit(n, &d, bytes);
    look_at(d.storage, out);
}

bool vp__library_send(const vp__lib_params *p, vp_dtype dtype, int nin,
                      vp__expr *const *in, vp__destination *d, const char *where) {
    vp__error *failed = first_error(nin, in);
    vp__node *n =
        make_node(p, dtype, failed ? 0 : nin, in, 0, d->target->ndim, "put", where);
    if (!n) return false;
    if (failed) vp__node_fail(n, vp__error_retain(failed));
    submit(n, d, 0);
    return true;
}
