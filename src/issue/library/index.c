/* SPDX-License-Identifier: Apache-2.0
 *
 * Advanced indexing: elements read (gather) and written (scatter) by index arrays.
 */
#include <string.h>

#include "array/shape.h"
#include "issue/library/family.h"

/* --- sizes ---------------------------------------------------------------------------------- */

/* How many axes of the base item i selects along, and how many its positions have. */
static int axes_of(const vp__index_params *p, int i) {
    return p->mask[i] ? p->mask[i] : 1;
}

static int ndim_of(const vp__index_params *p, int i, int ndim) {
    return p->mask[i] ? 1 : ndim;
}

static vp__error *index_dims(const vp__index_params *p, const vp__shape *base,
                             const vp__shape *item, const char *name, const char *where,
                             int *ndim, int64_t *dims) {
    int64_t index[VP__MAXDIM];
    int nindex = 0;
    uint32_t selected = 0;
    for (int i = 0; i < p->count; i++) {
        for (int k = 0; k < axes_of(p, i); k++) selected |= 1u << (p->axis[i] + k);
        const int n = ndim_of(p, i, item[i].ndim);
        if (!vp__shape_broadcast(&nindex, index, n, item[i].dims)) {
            char a[200], b[200];
            return vp__error_new(
                VP_ERR_INDEX, where,
                "%s: index arrays of shapes %s and %s do not broadcast together", name,
                vp__shape_text(a, sizeof a, nindex, index),
                vp__shape_text(b, sizeof b, n, item[i].dims));
        }
    }
    int64_t subspace[VP__MAXDIM];
    int nsubspace = 0;
    for (int i = 0; i < base->ndim; i++)
        if (!(selected >> i & 1)) subspace[nsubspace++] = base->dims[i];
    memcpy(dims, subspace, (size_t)p->at * sizeof(int64_t));
    memcpy(dims + p->at, index, (size_t)nindex * sizeof(int64_t));
    memcpy(dims + p->at + nindex, subspace + p->at,
           (size_t)(nsubspace - p->at) * sizeof(int64_t));
    *ndim = nsubspace + nindex;
    return NULL;
}

/* The base, then the items. */
vp__error *vp__size_index(const vp__lib_params *p, int nin, const vp__shape *in,
                          const char *name, const char *where, int *ndim, int64_t *dims) {
    (void)nin;
    return index_dims(&p->index, &in[0], in + 1, name, where, ndim, dims);
}

/* --- views ---------------------------------------------------------------------------------- */

typedef struct {
    vp__fancy fancy;
    vp__view view[VP__MAXDIM];
    int axis[VP__MAXDIM];
    int64_t strides[VP__MAXDIM][VP__MAXDIM];
    int64_t index_dims[VP__MAXDIM];
    int index_ndim;
} fancy_views;

/* Builds one index view per selected axis, all broadcast to the same dims. `first` is the
 * input that holds item 0. */
static void make_fancy(const vp__node *n, int first, fancy_views *f) {
    const vp__index_params *p = &vp__params_of(n)->index;
    int k = 0;
    f->index_ndim = 0;
    for (int i = 0; i < p->count; i++) {
        const vp__input *in = &n->in[first + i];
        vp__shape_broadcast(&f->index_ndim, f->index_dims, ndim_of(p, i, in->ndim),
                            in->dims);
    }
    for (int i = 0; i < p->count; i++) {
        const vp__input *in = &n->in[first + i];
        const int ndim = ndim_of(p, i, in->ndim);
        for (int c = 0; c < axes_of(p, i); c++, k++) {
            vp__shape_expand_strides(f->index_ndim, f->index_dims, ndim, in->dims,
                                     in->strides, f->strides[k]);
            char *data = vp__input_data(in) + (p->mask[i] ? c * in->strides[1] : 0);
            f->view[k] =
                (vp__view){data, f->index_dims, f->strides[k], f->index_ndim, VP_I64};
            f->axis[k] = p->axis[i] + c;
        }
    }
    f->fancy = (vp__fancy){k, f->view, f->axis, p->at};
}

static vp__error *out_of_bounds(const vp__node *n, const int64_t *dims, int64_t bad,
                                int axis) {
    return vp__error_new(VP_ERR_INDEX, n->where,
                         "%s: index %lld is out of bounds for axis %d with size %lld",
                         n->name, (long long)bad, axis, (long long)dims[axis]);
}

/* --- gather --------------------------------------------------------------------------------- */

/* Whether the one piece looks at the indices as it goes; not where memory is written that
 * has a value, which a bad index must leave alone. */
static bool gathers_at_once(const vp__node *n) { return n->pieces == 1 && !n->is_put; }

static bool gather_check(vp__node *n, const fancy_views *f, const vp__view *base) {
    int64_t bad;
    int axis;
    if (vp__lib_check_index(&f->fancy, base, &bad, &axis)) return true;
    vp__node_fail(n, out_of_bounds(n, n->in[0].dims, bad, axis));
    return false;
}

static void gather_begin(vp__node *n) {
    fancy_views f;
    make_fancy(n, 1, &f);
    vp__view base = vp__library_input(n, 0);
    n->pieces = vp__library_pieces((double)vp__library_count(n),
                                   vp__shape_count(f.index_ndim, f.index_dims, 1));
    if (!gathers_at_once(n)) gather_check(n, &f, &base);
}

static void gather_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    fancy_views f;
    make_fancy(n, 1, &f);
    vp__view out = vp__library_output(n), base = vp__library_input(n, 0);
    if (gathers_at_once(n)) {
        if (vp__lib_gather_at_once(&out, &base, &f.fancy)) return;
        if (!gather_check(n, &f, &base)) return;
    }
    vp__lib_gather(&out, &base, &f.fancy, i, n->pieces);
}

const vp__family vp__family_gather = {.work = {.size = vp__library_size_node,
                                               .begin = gather_begin,
                                               .piece = gather_piece,
                                               .one_kernel = true},
                                      .payload = sizeof(vp__lib_params)};

/* --- scatter -------------------------------------------------------------------------------- */

/* The dims that the value is written with: the items are the first operands. */
static vp__error *scatter_dims(const vp__node *n, int *ndim, int64_t *dims) {
    const vp__index_params *p = &vp__params_of(n)->index;
    const vp__shape base = {n->target_ndim, n->target_dims};
    vp__shape item[VP__FANCY_ITEMS];
    for (int i = 0; i < p->count; i++)
        item[i] = (vp__shape){n->in[i].ndim, n->in[i].dims};
    return index_dims(p, &base, item, n->name, n->where, ndim, dims);
}

/* The value is the last operand. */
static vp__error *scatter_size(vp__node *n) {
    int ndim;
    int64_t dims[VP__MAXDIM];
    vp__error *e = scatter_dims(n, &ndim, dims);
    if (e) return e;
    e = vp__library_check_value(n, &n->in[n->ninputs - 1], ndim, dims);
    if (e) return e;
    vp__library_estimate(n);
    return NULL;
}

static double scatter_cost(const vp__node *n) {
    int ndim;
    int64_t dims[VP__MAXDIM];
    vp__error *e = scatter_dims(n, &ndim, dims);
    vp__error_release(e); /* sizing has passed */
    return (double)vp__lib_rows[VP__LIB_scatter].cost *
           (double)vp__shape_count(ndim, dims, 1);
}

static void scatter_store(vp__node *n) {
    fancy_views f;
    make_fancy(n, 0, &f);
    char *host = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    vp__view base = {host + n->target_offset, n->target_dims, n->target_strides,
                     n->target_ndim, n->dtype};
    int64_t bad;
    int axis;
    if (!vp__lib_check_index(&f.fancy, &base, &bad, &axis)) {
        vp__node_fail(n, out_of_bounds(n, n->target_dims, bad, axis));
        return;
    }
    int ndim;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    vp__error *e = scatter_dims(n, &ndim, dims);
    if (e) {
        vp__node_fail(n, e);
        return;
    }
    const vp__input *value = &n->in[n->ninputs - 1];
    vp__shape_expand_strides(ndim, dims, value->ndim, value->dims, value->strides,
                             strides);
    vp__view in = {vp__input_data(value), dims, strides, ndim, n->dtype};
    vp__lib_scatter(&base, &in, &f.fancy);
    vp__core *core = vp__core_self();
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.stored, (uint64_t)vp__shape_count(ndim, dims, 1));
}

const vp__family vp__family_scatter = {
    .work = {.size = scatter_size, .store = scatter_store, .stores_only = true},
    .payload = sizeof(vp__lib_params),
    .cost = scatter_cost};
