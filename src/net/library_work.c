/* SPDX-License-Identifier: Apache-2.0 */
#include "net/library_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "net/tuning.h"
#include "ops/kernels.h"

typedef struct {
    vp__lib_params p;
    void *scratch; /* per piece where the operation wants some */
    size_t scratch_each;
    int64_t scratch_pieces;
    bool counted; /* FIND: the size is known, now the positions */
} payload;

/* A VIEW's payload goes on with the operation and, once sized, what it makes of its input. */
typedef struct {
    payload head;
    vp__viewop op;
    vp__layout layout;
    bool copy;
} view_payload;

size_t vp__library_payload(vp__lib_kind kind) {
    if (vp__library_work(kind) == &vp__library_fft_work) return vp__library_fft_payload();
    return kind == VP__LIB_VIEW ? sizeof(view_payload) : sizeof(payload);
}

/* Every payload begins with the parameters. */
void vp__library_set(vp__node *n, const vp__lib_params *p) {
    memset(n->payload, 0,
           p->kind == VP__LIB_VIEW ? sizeof(payload) : vp__library_payload(p->kind));
    *(vp__lib_params *)n->payload = *p;
    if (p->kind == VP__LIB_VIEW) ((view_payload *)n->payload)->op = *p->view;
    n->estimate = 500;
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    if (w->scratch)
        vp__pool_free(w->scratch, w->scratch_each * (size_t)w->scratch_pieces);
}

static vp__view input_view(const vp__node *n, int i) {
    const vp__input *in = &n->in[i];
    return (vp__view){vp__input_data(in), in->dims, in->strides, in->ndim, in->dtype};
}

static vp__view output_view(const vp__node *n) {
    return (vp__view){n->out, n->dims, n->out_strides, n->ndim, n->dtype};
}

static int64_t count_of(const vp__input *in) {
    return vp__shape_count(in->ndim, in->dims, 1);
}

int64_t vp__library_pieces(double ns, int64_t most) {
    int64_t pieces = (int64_t)(ns / (double)vp__tuning.piece_ns);
    if (pieces > most) pieces = most;
    return pieces < 1 || vp__placeable == 1 ? 1 : pieces;
}

static void fail_without_scratch(vp__node *n) {
    vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                   "%s: out of memory for its scratch space", n->name));
}

static void want_scratch(vp__node *n, size_t each) {
    payload *w = n->payload;
    if (!each) return;
    w->scratch_each = (each + 63) / 64 * 64;
    w->scratch_pieces = n->pieces;
    w->scratch = vp__pool_alloc(w->scratch_each * (size_t)n->pieces);
    if (!w->scratch) fail_without_scratch(n);
}

static void *scratch_of(const payload *w, int64_t piece) {
    return w->scratch ? (char *)w->scratch + (size_t)piece * w->scratch_each : NULL;
}

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
    const vp__lib_params *p = n->payload;
    int size = vp__dtype[n->dtype].size;
    bool columns = p->order == VP__ORDER_F;
    if (p->order == VP__ORDER_KEEP) {
        int operands = p->kind == VP__LIB_CONCATENATE ? n->ninputs : 1;
        if (operands > VP__SEGMENT_LEAVES) operands = VP__SEGMENT_LEAVES;
        if (n->ndim == n->in[0].ndim) {
            const int64_t *strides[VP__SEGMENT_LEAVES];
            for (int i = 0; i < operands; i++) strides[i] = n->in[i].strides;
            vp__layout_like(n->ndim, n->dims, size, operands, strides, n->strides);
            return;
        }
        columns = prefers_columns(&n->in[0]);
    }
    vp__layout_compact(n->ndim, n->dims, size, columns, n->strides);
}

/* Value dims equal to input 0's. */
static vp__error *size_like_input(vp__node *n) {
    memcpy(n->dims, n->in[0].dims, (size_t)n->ndim * sizeof(int64_t));
    vp__library_layout(n);
    n->estimate = 200 + (float)count_of(&n->in[0]);
    return NULL;
}

/* --- copy ------------------------------------------------------------------------------ */

static void copy_begin(vp__node *n) {
    int64_t count = vp__shape_count(n->ndim, n->dims, 1);
    n->pieces = vp__library_pieces((double)count, n->ndim && n->dims[0] > 1 ? 64 : 1);
}

static void copy_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    vp__view out = output_view(n), in = input_view(n, 0);
    vp__lib_copy(&out, &in, i, n->pieces);
}

static const vp__work copy_work = {.size = size_like_input,
                                   .begin = copy_begin,
                                   .piece = copy_piece,
                                   .deinit = deinit,
                                   .one_kernel = true};

static bool copy_next(vp__node *n, vp__core *core) {
    (void)core;
    vp__storage_copy_poison(n->result, n->in[0].storage, n->in[0].sequence);
    return false;
}

/* A storage whose producer failed may never have got its memory. */
static void storage_copy_piece(vp__node *n, int64_t i, vp__core *core) {
    if (atomic_load_explicit(&n->in[0].storage->host, memory_order_relaxed))
        copy_piece(n, i, core);
}

static const vp__work storage_copy_work = {.begin = copy_begin,
                                           .piece = storage_copy_piece,
                                           .next = copy_next,
                                           .deinit = deinit,
                                           .copies_poison = true};

const vp__work *vp__library_copy_work(void) { return &storage_copy_work; }

static vp__error *view_size(vp__node *n) {
    view_payload *w = n->payload;
    const vp__input *in = &n->in[0];
    int size = vp__dtype[n->dtype].size;
    w->layout.ndim = in->ndim;
    w->layout.offset = 0;
    memcpy(w->layout.dims, in->dims, (size_t)in->ndim * sizeof(int64_t));
    memcpy(w->layout.strides, in->strides, (size_t)in->ndim * sizeof(int64_t));
    vp__error *e = vp__viewop_apply(&w->op, &w->layout, size, &w->copy);
    if (e) return vp__error_wrap(e, n->where, n->name);
    memcpy(n->dims, w->layout.dims, (size_t)n->ndim * sizeof(int64_t));
    const int64_t *strides = w->layout.strides;
    vp__layout_like(n->ndim, n->dims, size, 1, &strides, n->strides);
    n->estimate = 200 + (float)vp__shape_count(n->ndim, n->dims, 1);
    return NULL;
}

static void view_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const view_payload *w = n->payload;
    vp__view out = output_view(n), in = input_view(n, 0);
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

static const vp__work view_work = {.size = view_size,
                                   .begin = copy_begin,
                                   .piece = view_piece,
                                   .deinit = deinit,
                                   .one_kernel = true};

/* --- along an axis --------------------------------------------------------------------- */

int64_t vp__library_other_axes(const vp__node *n, int axis) {
    int64_t count = 1;
    for (int i = 0; i < n->ndim; i++)
        if (i != axis) count *= n->dims[i];
    return count;
}

static void axis_begin(vp__node *n) {
    payload *w = n->payload;
    int64_t count = vp__shape_count(n->ndim, n->dims, 1);
    bool sorts = w->p.kind == VP__LIB_SORT || w->p.kind == VP__LIB_ARGSORT;
    n->pieces = vp__library_pieces((double)count * (sorts ? 20 : 1),
                                   vp__library_other_axes(n, w->p.axis));
    vp__view in = input_view(n, 0);
    if (sorts) want_scratch(n, vp__lib_sort_scratch(&in, w->p.axis));
}

static void axis_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    payload *w = n->payload;
    vp__view out = output_view(n), in = input_view(n, 0);
    void *scratch = scratch_of(w, i);
    switch (w->p.kind) {
    case VP__LIB_SORT: vp__lib_sort(&out, &in, w->p.axis, i, n->pieces, scratch); break;
    case VP__LIB_ARGSORT:
        vp__lib_argsort(&out, &in, w->p.axis, i, n->pieces, scratch);
        break;
    case VP__LIB_CUMSUM: vp__lib_cumsum(&out, &in, w->p.axis, i, n->pieces); break;
    default: vp__lib_cumprod(&out, &in, w->p.axis, i, n->pieces); break;
    }
}

static const vp__work axis_work = {.size = size_like_input,
                                   .begin = axis_begin,
                                   .piece = axis_piece,
                                   .deinit = deinit,
                                   .one_kernel = true};

/* --- find ------------------------------------------------------------------------------ */

static void find_begin(vp__node *n) { (void)n; }

/* First counts, which gives the size to everyone who waits for it; then lists. */
static void find_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)i;
    payload *w = n->payload;
    vp__view in = input_view(n, 0);
    if (w->p.nfit && !vp__shape_equal(in.ndim, in.dims, w->p.nfit, w->p.fit)) {
        char a[200], b[200];
        vp__node_fail(
            n, vp__error_new(VP_ERR_INDEX, n->where,
                             "%s: a mask of shape %s does not fit axes of shape "
                             "%s",
                             w->p.selects, vp__shape_text(a, sizeof a, in.ndim, in.dims),
                             vp__shape_text(b, sizeof b, w->p.nfit, w->p.fit)));
        return;
    }
    if (!w->counted) {
        n->dims[0] = vp__lib_count_true(&in);
        if (n->ndim == 2) n->dims[1] = n->in[0].ndim;
        vp__layout_compact(n->ndim, n->dims, 8, false, n->strides);
        vp__count(&core->counters.late_sizes, 1);
        vp__node_publish_size(n);
        return;
    }
    vp__lib_list_true((int64_t *)(void *)n->out, &in, w->p.kind == VP__LIB_FIND);
}

static bool find_next(vp__node *n, vp__core *core) {
    (void)core;
    payload *w = n->payload;
    if (w->counted) return false;
    w->counted = true;
    if (!vp__storage_allocate(n->result)) {
        vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                       "%s: out of memory for %lld positions", n->name,
                                       (long long)n->dims[0]));
        return false;
    }
    n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    return true;
}

static const vp__work find_work = {.begin = find_begin,
                                   .piece = find_piece,
                                   .next = find_next,
                                   .deinit = deinit,
                                   .one_kernel = true,
                                   .sizes_when_run = true};

/* --- advanced indexing ------------------------------------------------------------------ */

vp__error *vp__gather_dims(const vp__lib_params *p, int base_ndim,
                           const int64_t *base_dims, const int *item_ndim,
                           const int64_t *const *item_dims, const char *name,
                           const char *where, int *ndim, int64_t *dims) {
    int64_t index[VP__MAXDIM];
    int nindex = 0;
    uint32_t selected = 0;
    for (int i = 0; i < p->nitems; i++) {
        int axes = p->item_mask[i] ? p->item_mask[i] : 1;
        for (int k = 0; k < axes; k++) selected |= 1u << (p->item_axis[i] + k);
        int n = p->item_mask[i] ? 1 : item_ndim[i];
        if (!vp__shape_broadcast(&nindex, index, n, item_dims[i])) {
            char a[200], b[200];
            return vp__error_new(
                VP_ERR_INDEX, where,
                "%s: index arrays of shapes %s and %s do not broadcast together", name,
                vp__shape_text(a, sizeof a, nindex, index),
                vp__shape_text(b, sizeof b, n, item_dims[i]));
        }
    }
    int64_t subspace[VP__MAXDIM];
    int nsubspace = 0;
    for (int i = 0; i < base_ndim; i++)
        if (!(selected >> i & 1)) subspace[nsubspace++] = base_dims[i];
    memcpy(dims, subspace, (size_t)p->at * sizeof(int64_t));
    memcpy(dims + p->at, index, (size_t)nindex * sizeof(int64_t));
    memcpy(dims + p->at + nindex, subspace + p->at,
           (size_t)(nsubspace - p->at) * sizeof(int64_t));
    *ndim = nsubspace + nindex;
    return NULL;
}

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
    const payload *w = n->payload;
    int k = 0;
    f->index_ndim = 0;
    for (int i = 0; i < w->p.nitems; i++) {
        const vp__input *in = &n->in[first + i];
        vp__shape_broadcast(&f->index_ndim, f->index_dims,
                            w->p.item_mask[i] ? 1 : in->ndim, in->dims);
    }
    for (int i = 0; i < w->p.nitems; i++) {
        const vp__input *in = &n->in[first + i];
        int columns = w->p.item_mask[i] ? w->p.item_mask[i] : 1;
        int ndim = w->p.item_mask[i] ? 1 : in->ndim;
        for (int c = 0; c < columns; c++, k++) {
            vp__shape_expand_strides(f->index_ndim, f->index_dims, ndim, in->dims,
                                     in->strides, f->strides[k]);
            char *data =
                vp__input_data(in) + (w->p.item_mask[i] ? c * in->strides[1] : 0);
            f->view[k] =
                (vp__view){data, f->index_dims, f->strides[k], f->index_ndim, VP_I64};
            f->axis[k] = w->p.item_axis[i] + c;
        }
    }
    f->fancy = (vp__fancy){k, f->view, f->axis, w->p.at};
}

static vp__error *out_of_bounds(const vp__node *n, const int64_t *dims, int64_t bad,
                                int axis) {
    return vp__error_new(VP_ERR_INDEX, n->where,
                         "%s: index %lld is out of bounds for axis %d with size %lld",
                         n->name, (long long)bad, axis, (long long)dims[axis]);
}

static vp__error *fancy_size(const vp__node *n, int first, int base_ndim,
                             const int64_t *base_dims, int *ndim, int64_t *dims) {
    const payload *w = n->payload;
    int item_ndim[VP__FANCY_ITEMS];
    const int64_t *item_dims[VP__FANCY_ITEMS];
    for (int i = 0; i < w->p.nitems; i++) {
        item_ndim[i] = n->in[first + i].ndim;
        item_dims[i] = n->in[first + i].dims;
    }
    return vp__gather_dims(&w->p, base_ndim, base_dims, item_ndim, item_dims, n->name,
                           n->where, ndim, dims);
}

static vp__error *gather_size(vp__node *n) {
    int ndim;
    int64_t dims[VP__MAXDIM];
    vp__error *e = fancy_size(n, 1, n->in[0].ndim, n->in[0].dims, &ndim, dims);
    if (e) return e;
    memcpy(n->dims, dims, (size_t)n->ndim * sizeof(int64_t));
    vp__library_layout(n);
    n->estimate = 200 + (float)vp__shape_count(n->ndim, dims, 1);
    return NULL;
}

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
    vp__view base = input_view(n, 0);
    int64_t count = vp__shape_count(n->ndim, n->dims, 1);
    n->pieces =
        vp__library_pieces((double)count, vp__shape_count(f.index_ndim, f.index_dims, 1));
    if (!gathers_at_once(n)) gather_check(n, &f, &base);
}

static void gather_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    fancy_views f;
    make_fancy(n, 1, &f);
    vp__view out = output_view(n), base = input_view(n, 0);
    if (gathers_at_once(n)) {
        if (vp__lib_gather_at_once(&out, &base, &f.fancy)) return;
        if (!gather_check(n, &f, &base)) return;
    }
    vp__lib_gather(&out, &base, &f.fancy, i, n->pieces);
}

static const vp__work gather_work = {.size = gather_size,
                                     .begin = gather_begin,
                                     .piece = gather_piece,
                                     .deinit = deinit,
                                     .one_kernel = true};

/* The value is the last input. */
static vp__error *scatter_size(vp__node *n) {
    int ndim;
    int64_t dims[VP__MAXDIM];
    vp__error *e = fancy_size(n, 0, n->target_ndim, n->target_dims, &ndim, dims);
    if (e) return e;
    vp__input *value = &n->in[n->ninputs - 1];
    const int surplus = vp__shape_surplus(value->ndim, value->dims, ndim);
    value->ndim = (int8_t)(value->ndim - surplus);
    value->dims += surplus;
    value->strides += surplus;
    int64_t both[VP__MAXDIM];
    int nboth = ndim;
    memcpy(both, dims, (size_t)ndim * sizeof(int64_t));
    if (!vp__shape_broadcast(&nboth, both, value->ndim, value->dims) ||
        !vp__shape_equal(nboth, both, ndim, dims)) {
        char a[200], b[200];
        return vp__error_new(
            VP_ERR_SHAPE, n->where,
            "%s: a value of shape %s does not fit a selection of shape %s", n->name,
            vp__shape_text(a, sizeof a, value->ndim, value->dims),
            vp__shape_text(b, sizeof b, ndim, dims));
    }
    n->estimate = 200 + 2 * (float)vp__shape_count(ndim, dims, 1);
    return NULL;
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
    vp__error *e = fancy_size(n, 0, n->target_ndim, n->target_dims, &ndim, dims);
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

static const vp__work scatter_work = {
    .size = scatter_size, .store = scatter_store, .deinit = deinit, .stores_only = true};

/* --- concatenate ------------------------------------------------------------------------ */

static vp__error *concatenate_size(vp__node *n) {
    const payload *w = n->payload;
    memcpy(n->dims, n->in[0].dims, (size_t)n->ndim * sizeof(int64_t));
    float cost = 200;
    for (int i = 0; i < n->ninputs; i++) {
        cost += (float)count_of(&n->in[i]);
        for (int k = 0; k < n->ndim; k++) {
            if (k == w->p.axis) {
                if (i) n->dims[k] += n->in[i].dims[k];
            } else if (n->in[i].dims[k] != n->dims[k]) {
                char a[200], b[200];
                return vp__error_new(
                    VP_ERR_SHAPE, n->where,
                    "%s: shapes %s and %s differ in axis %d, only axis %d may differ",
                    n->name, vp__shape_text(a, sizeof a, n->ndim, n->in[0].dims),
                    vp__shape_text(b, sizeof b, n->ndim, n->in[i].dims), k, w->p.axis);
            }
        }
    }
    vp__library_layout(n);
    n->estimate = cost;
    return NULL;
}

static void concatenate_begin(vp__node *n) { n->pieces = n->ninputs; }

static void concatenate_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const payload *w = n->payload;
    int64_t at = 0;
    for (int64_t k = 0; k < i; k++) at += n->in[k].dims[w->p.axis];
    vp__view in = input_view(n, (int)i);
    vp__view out = {n->out + at * n->out_strides[w->p.axis], n->in[i].dims,
                    n->out_strides, n->ndim, n->dtype};
    vp__lib_copy(&out, &in, 0, 1);
}

static const vp__work concatenate_work = {.size = concatenate_size,
                                          .begin = concatenate_begin,
                                          .piece = concatenate_piece,
                                          .deinit = deinit,
                                          .one_kernel = true};

/* --- matrix product --------------------------------------------------------------------- */

/* Operands have at least two axes; leading ones broadcast. */
static vp__error *matmul_size(vp__node *n) {
    const vp__input *a = &n->in[0], *b = &n->in[1];
    int64_t dims[VP__MAXDIM];
    int nd = 0;
    bool ok = a->dims[a->ndim - 1] == b->dims[b->ndim - 2] &&
              vp__shape_broadcast(&nd, dims, a->ndim - 2, a->dims) &&
              vp__shape_broadcast(&nd, dims, b->ndim - 2, b->dims);
    if (!ok) {
        char ta[200], tb[200];
        return vp__error_new(
            VP_ERR_SHAPE, n->where,
            "%s: shapes %s and %s do not fit; the last axis of the first "
            "must be as long as the last but one of the second",
            n->name, vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
            vp__shape_text(tb, sizeof tb, b->ndim, b->dims));
    }
    dims[nd++] = a->dims[a->ndim - 2];
    dims[nd++] = b->dims[b->ndim - 1];
    memcpy(n->dims, dims, (size_t)nd * sizeof(int64_t));
    vp__library_layout(n);
    n->estimate =
        200 + 0.05f * (float)vp__shape_count(nd, dims, 1) * (float)a->dims[a->ndim - 1];
    return NULL;
}

static int64_t matmul_parts(const vp__node *n) {
    const vp__input *a = &n->in[0];
    return vp__lib_matmul_parts(n->dims[n->ndim - 2], n->dims[n->ndim - 1],
                                a->dims[a->ndim - 1], n->dtype, vp__placeable);
}

static void matmul_views(const vp__node *n, int64_t batch, vp__view *out, vp__view *a,
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

static void matmul_begin(vp__node *n) {
    n->pieces = vp__shape_count(n->ndim - 2, n->dims, 1) * matmul_parts(n);
    if (n->pieces < 1) n->pieces = 1;
}

static void matmul_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    if (vp__shape_count(n->ndim, n->dims, 1) == 0) return;
    const int64_t parts = n->pieces / vp__shape_count(n->ndim - 2, n->dims, 1);
    vp__view out, a, b;
    matmul_views(n, i / parts, &out, &a, &b);
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
        fail_without_scratch(n);
    for (int s = 0; s < 2; s++)
        if (scratch[s]) vp__pool_free(scratch[s], bytes[s]);
}

static const vp__work matmul_work = {.size = matmul_size,
                                     .begin = matmul_begin,
                                     .piece = matmul_piece,
                                     .one_kernel = true};

/* --- generate --------------------------------------------------------------------------- */

enum { GENERATE_BLOCK = 1024, GENERATE_PIECE = 1 << 16 };

static vp__error *generate_size(vp__node *n) {
    n->estimate = 100 + (float)vp__shape_count(n->ndim, n->dims, 1);
    return NULL;
}

static void generate_begin(vp__node *n) {
    int64_t count = vp__shape_count(n->ndim, n->dims, 1);
    n->pieces = (count + GENERATE_PIECE - 1) / GENERATE_PIECE;
    if (n->pieces < 1) n->pieces = 1;
}

/* Elements number first…first+n-1 in storage order, in int64 or float64. */
static void generate_block(const vp__lib_params *p, const int64_t *dims, int64_t first,
                           int64_t n, void *block) {
    int64_t *ints = block;
    double *reals = block;
    if (p->eye) {
        for (int64_t i = 0; i < n; i++)
            ints[i] = (first + i) % dims[1] - (first + i) / dims[1] == p->diagonal;
    } else if (p->in_integers) {
        for (int64_t i = 0; i < n; i++) ints[i] = p->istart + (first + i) * p->istep;
    } else {
        for (int64_t i = 0; i < n; i++)
            reals[i] = p->start + (double)(first + i) * p->step;
        if (p->ends && first + n == dims[0]) reals[n - 1] = p->stop;
        if (p->floors)
            for (int64_t i = 0; i < n; i++) reals[i] = floor(reals[i]);
    }
}

static void generate_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const payload *w = n->payload;
    const vp__kernels *kernels = vp__kernels_get();
    int64_t count = vp__shape_count(n->ndim, n->dims, 1);
    int64_t at = i * GENERATE_PIECE;
    int64_t end = count - at < GENERATE_PIECE ? count : at + GENERATE_PIECE;
    int size = vp__dtype[n->dtype].size;
    vp_dtype made = w->p.in_integers || w->p.eye ? VP_I64 : VP_F64;
    _Alignas(64) char block[GENERATE_BLOCK * 8];
    for (; at < end; at += GENERATE_BLOCK) {
        int64_t m = end - at < GENERATE_BLOCK ? end - at : GENERATE_BLOCK;
        generate_block(&w->p, n->dims, at, m, block);
        kernels->cast[made][n->dtype](n->out + at * size, block, m);
    }
}

static const vp__work generate_work = {.size = generate_size,
                                       .begin = generate_begin,
                                       .piece = generate_piece,
                                       .deinit = deinit,
                                       .one_kernel = true};

const vp__work *vp__library_work(vp__lib_kind kind) {
    switch (kind) {
    case VP__LIB_COPY: return &copy_work;
    case VP__LIB_VIEW: return &view_work;
    case VP__LIB_SORT:
    case VP__LIB_ARGSORT:
    case VP__LIB_CUMSUM:
    case VP__LIB_CUMPROD: return &axis_work;
    case VP__LIB_FIND:
    case VP__LIB_NONZERO: return &find_work;
    case VP__LIB_GATHER: return &gather_work;
    case VP__LIB_SCATTER: return &scatter_work;
    case VP__LIB_CONCATENATE: return &concatenate_work;
    case VP__LIB_MATMUL: return &matmul_work;
    case VP__LIB_GENERATE: return &generate_work;
    case VP__LIB_FFT:
    case VP__LIB_IFFT:
    case VP__LIB_RFFT:
    case VP__LIB_IRFFT: return &vp__library_fft_work;
    case VP__LIB_KINDS: break;
    }
    return NULL;
}
