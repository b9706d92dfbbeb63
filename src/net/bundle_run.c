/* SPDX-License-Identifier: Apache-2.0 */
#include "net/bundle_run.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "ops/kernels.h"

static vp__region region_of(const vp__node *n, const vp__bundle *b, vp__lane *l) {
    const int64_t *dims = vp__lane_dims(b, l);
    return vp__region_of(l->to, b->ndim, dims, dims + b->ndim, vp__dtype[n->dtype].size);
}

/* Where a storage's memory is, which it has by now: relaxed, since whoever saw to that came
 * before. */
static char *host_of(char *known, const vp__storage *s) {
    return known ? known : atomic_load_explicit(&s->host, memory_order_relaxed);
}

/* Where a lane's value goes, once it may be stored. */
static char *target_of(const vp__node *n, const vp__lane *l) {
    const vp__bundle *b = n->payload;
    return host_of(b->host, n->result) + l->to;
}

static void copy(const vp__node *n, const vp__bundle *b, vp__lane *l, char *value) {
    char *to = target_of(n, l);
    if (b->ndim == 0) {
        memcpy(to, value, (size_t)vp__dtype[n->dtype].size);
        return;
    }
    const vp__part *last = vp__recipe_last(b->recipe);
    const int64_t *dims = vp__lane_dims(b, l), *strides = dims + b->ndim;
    const int size = vp__dtype[n->dtype].size;
    if (b->ndim == 1 && strides[0] == size && last->out_bytes == size) {
        vp__kernels_get()->fill[vp__log2_size(size)](to, value, dims[0]);
        return;
    }
    int64_t from[VP__MAXDIM];
    vp__shape_expand_strides(b->ndim, dims, last->out_ndim, last->out_dims,
                             last->out_strides, from);
    vp__view out = {to, dims, strides, b->ndim, n->dtype};
    vp__view in = {value, dims, from, b->ndim, n->dtype};
    vp__lib_copy(&out, &in, 0, 1);
}

/* Whether everything before it in the target's log is over. acquire: only the node's own
 * mark is left, and what the others did is visible. */
static bool may_store(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_acquire) == 1;
}

/* Where a lane's leaves are now that they are complete. */
static void find_leaves(const vp__node *n, const vp__bundle *b, const vp__lane *l,
                        char **leaf) {
    for (int i = 0; i < b->nleaves; i++) {
        const int input = vp__place_input(l->leaf[i]);
        leaf[i] = host_of(b->read[input].host, n->in[input].storage) +
                  vp__place_offset(l->leaf[i]);
    }
}

/* Distances between lanes, where all are the same. */
typedef struct {
    int64_t leaf[VP__SEGMENT_LEAVES];
    int64_t to;
} pace;

/* With `to`, of targets as well. */
static bool find_pace(const vp__bundle *b, bool to, pace *p) {
    const vp__lane *one = vp__lane_of(b, 0), *two = vp__lane_of(b, 1);
    for (int i = 0; i < b->nleaves; i++) {
        p->leaf[i] = two->leaf[i] - one->leaf[i];
        if (vp__place_input(p->leaf[i]) != 0) return false; /* of different inputs */
    }
    p->to = two->to - one->to;
    for (int k = 2; k < b->lanes; k++) {
        one = two;
        two = vp__lane_of(b, k);
        for (int i = 0; i < b->nleaves; i++)
            if (two->leaf[i] - one->leaf[i] != p->leaf[i]) return false;
        if (to && two->to - one->to != p->to) return false;
    }
    for (int i = 0; i < b->nleaves; i++) p->leaf[i] = vp__place_offset(p->leaf[i]);
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
    if (b->lanes == 0) return;
    const bool store = may_store(n);
    /* A renamed buffer's first writer allocates; nobody else can be here then. */
    if (store && !b->host && !vp__storage_allocate(n->result)) {
        vp__node_fail(n, vp__node_no_memory(n));
        return;
    }
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
    l->to = -1;
}

/* Whether anything it had to wait for has failed, there or elsewhere. acquire: as in settle. */
static bool has_failed_input(const vp__node *n, const vp__bundle *b) {
    for (int i = 0; i < n->ninputs; i++)
        if (b->read[i].waits &&
            atomic_load_explicit(&n->in[i].storage->poison, memory_order_acquire))
            return true;
    return false;
}

/* The error that a lane inherits, retained; NULL if none. */
static vp__error *inherited(const vp__node *n, const vp__bundle *b, const vp__lane *l) {
    const vp__segment *seg = &b->recipe->seg;
    for (const vp__step *s = seg->step; s < seg->step + seg->nsteps; s++) {
        if (s->kind != VP__EXPR_LEAF) continue;
        const int64_t place = l->leaf[s->leaf], *dims = b->recipe->layout[2 * s->leaf],
                      *strides = b->recipe->layout[2 * s->leaf + 1];
        const int input = vp__place_input(place);
        const vp__region region = vp__region_of(vp__place_offset(place), s->ndim, dims,
                                                strides, vp__dtype[s->result].size);
        vp__error *e =
            vp__storage_error(n->in[input].storage, &region, b->read[input].sequence);
        if (e) return vp__error_retain(e);
    }
    return NULL;
}

static void compute_one(vp__node *n, const vp__bundle *b, int i, vp__core *core) {
    vp__lane *l = vp__lane_of(b, i);
    char *out = b->room ? b->room + i * b->value_bytes : target_of(n, l);
    char *leaf[VP__SEGMENT_LEAVES];
    find_leaves(n, b, l, leaf);
    vp__error *error = vp__recipe_run(b->recipe, leaf, out, !b->room, core, n->where);
    if (error) fail(n, b, l, error);
}

/* One after the other, those whose operands have not failed. */
static void compute_each(vp__node *n, const vp__bundle *b, bool failed, vp__core *core) {
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        vp__error *error = failed ? inherited(n, b, l) : NULL;
        if (error)
            fail(n, b, l, error);
        else
            compute_one(n, b, i, core);
    }
}

/* Computes all lanes in one run of an axis more, if they allow it. */
static bool compute_together(vp__node *n, const vp__bundle *b, vp__core *core) {
    pace p;
    if (b->lanes < 2 || !find_pace(b, !b->room, &p)) return false;
    if (!b->room && !is_apart(n, b, p.to)) return false;
    const vp__lane *first = vp__lane_of(b, 0);
    char *leaf[VP__SEGMENT_LEAVES];
    find_leaves(n, b, first, leaf);
    vp__error *error;
    if (!vp__recipe_run_lanes(
            b->recipe, b->lanes, leaf, p.leaf, b->room ? b->room : target_of(n, first),
            b->room ? b->value_bytes : p.to, !b->room, core, n->where, &error))
        return false;
    if (error) vp__node_fail(n, error);
    return true;
}

static void store(vp__node *n) {
    vp__bundle *b = n->payload;
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        if (l->to >= 0) copy(n, b, l, b->room + i * b->value_bytes);
    }
}

static void piece(vp__node *n, int64_t unused, vp__core *core) {
    (void)unused;
    vp__bundle *b = n->payload;
    const bool failed = has_failed_input(n, b);
    if (failed || !compute_together(n, b, core)) compute_each(n, b, failed, core);
    if (b->room && !n->temporary && !n->error) store(n);
}

static void count_stored(const vp__node *n) {
    const vp__bundle *b = n->payload;
    int64_t stored = 0;
    for (int i = 0; i < b->lanes; i++) {
        vp__lane *l = vp__lane_of(b, i);
        if (l->to >= 0) stored += vp__shape_count(b->ndim, vp__lane_dims(b, l), 1);
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
        if (l->to < 0) continue;
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
