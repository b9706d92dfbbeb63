/* SPDX-License-Identifier: Apache-2.0 */
#include "net/bundle_run.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "ops/kernels.h"

static vp__region region_of(const vp__node *n, const vp__bundle *b, vp__lane *l) {
    const int64_t *dims = vp__lane_dims(b, l);
    /* relaxed: it had its memory when the lane was added. */
    const char *host = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    return vp__region_of(l->to - host, b->ndim, dims, dims + b->ndim,
                         vp__dtype[n->dtype].size);
}

static void copy(const vp__node *n, const vp__bundle *b, vp__lane *l, char *value) {
    if (b->ndim == 0) {
        memcpy(l->to, value, (size_t)vp__dtype[n->dtype].size);
        return;
    }
    const vp__part *last = vp__recipe_last(b->recipe);
    const int64_t *dims = vp__lane_dims(b, l), *strides = dims + b->ndim;
    const int size = vp__dtype[n->dtype].size;
    if (b->ndim == 1 && strides[0] == size && last->out_bytes == size) {
        vp__kernels_get()->fill[vp__log2_size(size)](l->to, value, dims[0]);
        return;
    }
    int64_t from[VP__MAXDIM];
    vp__shape_expand_strides(b->ndim, dims, last->out_ndim, last->out_dims,
                             last->out_strides, from);
    vp__view out = {l->to, dims, strides, b->ndim, n->dtype};
    vp__view in = {value, dims, from, b->ndim, n->dtype};
    vp__lib_copy(&out, &in, 0, 1);
}

/* Whether everything before it in the target's log is over. acquire: only the node's own
 * mark is left, and what the others did is visible. */
static bool may_store(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_acquire) == 1;
}

/* Distances between lanes, where all are the same. */
typedef struct {
    int64_t leaf[VP__SEGMENT_LEAVES];
    int64_t to;
} pace;

/* With `to`, of targets as well. */
static bool find_pace(const vp__bundle *b, bool to, pace *p) {
    const vp__lane *one = vp__lane_of(b, 0), *two = vp__lane_of(b, 1);
    for (int i = 0; i < b->nleaves; i++) p->leaf[i] = two->data[i] - one->data[i];
    p->to = two->to - one->to;
    for (int k = 2; k < b->lanes; k++) {
        one = two;
        two = vp__lane_of(b, k);
        for (int i = 0; i < b->nleaves; i++)
            if (two->data[i] - one->data[i] != p->leaf[i]) return false;
        if (to && two->to - one->to != p->to) return false;
    }
    return true;
}

/* Whether targets this far apart do not overlap. */
static bool is_apart(const vp__node *n, const vp__bundle *b, int64_t step) {
    const int64_t *dims = vp__lane_dims(b, vp__lane_of(b, 0)), *strides = dims + b->ndim;
    int64_t extent = vp__dtype[n->dtype].size;
    for (int i = 0; i < b->ndim; i++)
        extent += (dims[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
    return extent <= (step < 0 ? -step : step);
}

static void begin(vp__node *n) {
    vp__bundle *b = n->payload;
    const bool store = may_store(n);
    if (store && b->fits) return;
    n->temporary_bytes = b->lanes * b->value_bytes;
    b->room = vp__pool_alloc((size_t)n->temporary_bytes);
    if (!b->room)
        vp__node_fail(n, vp__node_no_memory(n));
    else if (!store)
        n->temporary = b->room; /* for the store to come */
}

/* A lane that fails takes nothing but its own target with it. */
static void fail(vp__node *n, const vp__bundle *b, vp__lane *l, vp__error *error) {
    const vp__region region = region_of(n, b, l);
    vp__storage_poison(n->result, error, &region, l->sequence);
    l->to = NULL;
}

static void compute_one(vp__node *n, const vp__bundle *b, int i, vp__core *core) {
    vp__lane *l = vp__lane_of(b, i);
    char *out = b->room ? b->room + i * b->value_bytes : l->to;
    vp__error *error = vp__recipe_run(b->recipe, l->data, out, !b->room, core, n->where);
    if (error) fail(n, b, l, error);
}

/* Computes all lanes in one run of an axis more, if they allow it. */
static bool compute_together(vp__node *n, const vp__bundle *b, vp__core *core) {
    pace p;
    if (b->lanes < 2 || !find_pace(b, !b->room, &p)) return false;
    if (!b->room && !is_apart(n, b, p.to)) return false;
    const vp__lane *first = vp__lane_of(b, 0);
    vp__error *error;
    if (!vp__recipe_run_lanes(
            b->recipe, b->lanes, first->data, p.leaf, b->room ? b->room : first->to,
            b->room ? b->value_bytes : p.to, !b->room, core, n->where, &error))
        return false;
    if (error) vp__node_fail(n, error);
    return true;
}

static void store(vp__node *n) {
    vp__bundle *b = n->payload;
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        if (l->to) copy(n, b, l, b->room + i * b->value_bytes);
    }
}

static void piece(vp__node *n, int64_t unused, vp__core *core) {
    (void)unused;
    vp__bundle *b = n->payload;
    if (!compute_together(n, b, core))
        for (int i = 0; i < b->lanes; i++) compute_one(n, b, i, core);
    if (b->room && !n->temporary && !n->error) store(n);
}

static void count_stored(const vp__node *n) {
    const vp__bundle *b = n->payload;
    int64_t stored = 0;
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        if (l->to) stored += vp__shape_count(b->ndim, vp__lane_dims(b, l), 1);
    }
    vp__count(&vp__core_self()->counters.stored, (uint64_t)stored);
}

static void settle(vp__node *n) {
    vp__bundle *b = n->payload;
    if (!n->error) count_stored(n);
    /* acquire pairs with whoever failed. */
    if (!n->error && !atomic_load_explicit(&n->result->poison, memory_order_acquire))
        return;
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        if (!l->to) continue;
        if (n->error) {
            fail(n, b, l, vp__error_retain(n->error));
            continue;
        }
        const int64_t *dims = vp__lane_dims(b, l);
        const vp__region region = region_of(n, b, l);
        vp__target_written(n->result, (vp_dtype)n->dtype, b->ndim, dims, dims + b->ndim,
                           &region, l->sequence);
    }
}

static void deinit(vp__node *n) {
    vp__bundle *b = n->payload;
    if (b->room && !n->temporary) vp__pool_free(b->room, (size_t)n->temporary_bytes);
    vp__recipe_release(b->recipe);
}

const vp__work vp__bundle_work = {.begin = begin,
                                  .piece = piece,
                                  .store = store,
                                  .settle = settle,
                                  .deinit = deinit,
                                  .finds_room = true};
