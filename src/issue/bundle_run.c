/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/bundle_run.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "issue/recipe_run.h"
#include "lib/lib.h"
#include "net/part.h"
#include "ops/kernels.h"

static vp__region region_of(const vp__node *n, const vp__bundle *b, vp__iteration *l) {
    const int64_t *dims = vp__iteration_dims(b, l);
    return vp__region_of(l->to, b->ndim, dims, dims + b->ndim, vp__dtype[n->dtype].size);
}

/* Where a storage's memory is, which it has by now: relaxed, since whoever saw to that came
 * before. */
static char *host_of(char *known, const vp__storage *s) {
    return known ? known : atomic_load_explicit(&s->host, memory_order_relaxed);
}

/* Where an iteration's value goes, once it may be stored. */
static char *target_of(const vp__node *n, const vp__iteration *l) {
    const vp__bundle *b = n->payload;
    return host_of(b->host, n->result) + l->to;
}

static void copy(const vp__node *n, const vp__bundle *b, vp__iteration *l, char *value) {
    char *to = target_of(n, l);
    if (b->ndim == 0) {
        memcpy(to, value, (size_t)vp__dtype[n->dtype].size);
        return;
    }
    const vp__part *last = vp__recipe_last(b->recipe);
    const int64_t *dims = vp__iteration_dims(b, l), *strides = dims + b->ndim;
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

/* Whether everything before it in the target's log is over, and has left the target here.
 * acquire: only the node's own mark is left, and what the others did is visible. */
static bool may_store(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_acquire) == 1 &&
           vp__storage_is_on_host(n->result);
}

/* Where an iteration's leaves are now that they are complete. */
static void find_leaves(const vp__node *n, const vp__bundle *b, const vp__iteration *l,
                        char **leaf) {
    for (int i = 0; i < b->nleaves; i++) {
        const int source = vp__read_source(l->leaf[i]);
        leaf[i] = source == VP__BUNDLE_OWN
                      ? b->first
                      : host_of(b->read[source].host, n->in[source].storage);
        leaf[i] += vp__read_offset(l->leaf[i]);
    }
}

/* Distances between iterations, where all are the same. */
typedef struct {
    int64_t leaf[VP__SEGMENT_LEAVES];
    int64_t to;
} pace;

/* With `to`, of targets as well. */
static bool find_pace(const vp__bundle *b, bool to, pace *p) {
    const vp__iteration *one = vp__iteration_of(b, 0),
                        *two = vp__iteration_of(b, b->iterations > 1);
    for (int i = 0; i < b->nleaves; i++) {
        p->leaf[i] = two->leaf[i] - one->leaf[i];
        if (vp__read_source(p->leaf[i]) != 0) return false; /* of different sources */
    }
    p->to = two->to - one->to;
    for (int k = 2; k < b->iterations; k++) {
        one = two;
        two = vp__iteration_of(b, k);
        for (int i = 0; i < b->nleaves; i++)
            if (two->leaf[i] - one->leaf[i] != p->leaf[i]) return false;
        if (to && two->to - one->to != p->to) return false;
    }
    for (int i = 0; i < b->nleaves; i++) p->leaf[i] = vp__read_offset(p->leaf[i]);
    return true;
}

/* Whether targets this far apart do not overlap. */
static bool is_apart(const vp__node *n, const vp__bundle *b, int64_t step) {
    const int64_t *dims = vp__iteration_dims(b, vp__iteration_of(b, 0)),
                  *strides = dims + b->ndim;
    int64_t extent = vp__dtype[n->dtype].size;
    for (int i = 0; i < b->ndim; i++)
        extent += (dims[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
    return extent <= (step < 0 ? -step : step);
}

static void begin(vp__node *n) {
    vp__bundle *b = n->payload;
    if (b->iterations == 0) return;
    const bool store = may_store(n);
    /* A renamed buffer's first writer allocates; nobody else can be here then. */
    if (store && !b->host && !vp__storage_allocate(n->result)) {
        vp__node_fail(n, vp__node_no_memory(n));
        return;
    }
    if (store && b->fits) return;
    n->temporary_bytes = b->iterations * b->value_bytes;
    b->room = vp__pool_alloc((size_t)n->temporary_bytes);
    if (!b->room)
        vp__node_fail(n, vp__node_no_memory(n));
    else if (!store)
        n->temporary = b->room; /* for the store to come */
}

/* An iteration that fails takes nothing but its own target with it. */
static void fail(vp__node *n, const vp__bundle *b, vp__iteration *l, vp__error *error) {
    const vp__region region = region_of(n, b, l);
    vp__node_raise(n, error);
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

/* The error that an iteration inherits, retained; NULL if none. */
static vp__error *inherited(const vp__node *n, const vp__bundle *b,
                            const vp__iteration *l) {
    const vp__segment *seg = &b->recipe->seg;
    for (const vp__term *s = seg->term; s < seg->term + seg->nterms; s++) {
        if (s->kind != VP__EXPR_LEAF) continue;
        const int64_t read = l->leaf[s->leaf], *dims = b->recipe->layout[2 * s->leaf],
                      *strides = b->recipe->layout[2 * s->leaf + 1];
        const int input = vp__read_source(read);
        if (input == VP__BUNDLE_OWN) continue;
        const vp__region region = vp__region_of(vp__read_offset(read), s->ndim, dims,
                                                strides, vp__dtype[s->result].size);
        vp__error *e =
            vp__storage_error(n->in[input].storage, &region, b->read[input].sequence);
        if (e) return vp__error_retain(e);
    }
    return NULL;
}

static void compute_one(vp__node *n, const vp__bundle *b, int i, vp__core *core) {
    vp__iteration *l = vp__iteration_of(b, i);
    char *out = b->room ? b->room + i * b->value_bytes : target_of(n, l);
    char *leaf[VP__SEGMENT_LEAVES];
    find_leaves(n, b, l, leaf);
    vp__error *error = vp__recipe_run(b->recipe, leaf, out, !b->room, core, n->where);
    if (error) fail(n, b, l, error);
}

/* One after the other, those whose operands have not failed. */
static void compute_each(vp__node *n, const vp__bundle *b, bool failed, vp__core *core) {
    for (int i = 0; i < b->iterations; i++) {
        vp__iteration *l = vp__iteration_of(b, i);
        vp__error *error = failed ? inherited(n, b, l) : NULL;
        if (error)
            fail(n, b, l, error);
        else
            compute_one(n, b, i, core);
    }
}

/* Computes all iterations in one run of an axis more, if they allow it. */
static bool compute_together(vp__node *n, const vp__bundle *b, vp__core *core) {
    pace p;
    if (b->iterations < 2 || !find_pace(b, !b->room, &p)) return false;
    if (!b->room && !is_apart(n, b, p.to)) return false;
    const vp__iteration *first = vp__iteration_of(b, 0);
    char *leaf[VP__SEGMENT_LEAVES];
    find_leaves(n, b, first, leaf);
    vp__error *error;
    if (!vp__recipe_run_iterations(b->recipe, b->iterations, leaf, p.leaf,
                                   b->room ? b->room : target_of(n, first),
                                   b->room ? b->value_bytes : p.to, !b->room, core,
                                   n->where, &error))
        return false;
    if (error) vp__node_fail(n, error);
    return true;
}

static void store(vp__node *n) {
    vp__bundle *b = n->payload;
    char *values = n->temporary ? n->temporary : b->room;
    for (int i = 0; i < b->iterations; i++) {
        vp__iteration *l = vp__iteration_of(b, i);
        if (l->to >= 0) copy(n, b, l, values + i * b->value_bytes);
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
    for (int i = 0; i < b->iterations; i++) {
        vp__iteration *l = vp__iteration_of(b, i);
        if (l->to >= 0) stored += vp__shape_count(b->ndim, vp__iteration_dims(b, l), 1);
    }
    vp__count(&vp__core_self()->counters.stored, (uint64_t)stored);
}

static void settle(vp__node *n) {
    vp__bundle *b = n->payload;
    if (!n->error) count_stored(n);
    /* acquire pairs with whoever failed. */
    if (!n->error && !atomic_load_explicit(&n->result->poison, memory_order_acquire))
        return;
    for (int i = 0; i < b->iterations; i++) {
        vp__iteration *l = vp__iteration_of(b, i);
        if (l->to < 0) continue;
        if (n->error) {
            fail(n, b, l, vp__error_retain(n->error));
            continue;
        }
        const int64_t *dims = vp__iteration_dims(b, l);
        const vp__region region = region_of(n, b, l);
        vp__storage_written(n->result, vp__dtype[n->dtype].size, b->ndim, dims,
                            dims + b->ndim, &region, l->sequence);
    }
}

/* --- on a device ---------------------------------------------------------------------- */

/* All iterations as one run of an axis more; it lives as long as the node. */
struct vp__bundle_launch {
    size_t bytes; /* of this block */
    pace pace;
    vp__lane_axes axes; /* of the part that runs */
    vp__input input[];  /* a view for each leaf, whose axes follow */
};

/* What leaf `at` reads in all iterations, its axes being written to dims and strides. */
static vp__input input_of(const vp__node *n, const vp__bundle *b, const vp__term *at,
                          int64_t step, int64_t *dims, int64_t *strides) {
    const int64_t read = vp__iteration_of(b, 0)->leaf[at->leaf];
    /* What all iterations read in the same place is there once. */
    const int more = step != 0;
    dims[0] = b->iterations;
    strides[0] = step;
    memcpy(dims + more, b->recipe->layout[2 * at->leaf], (size_t)at->ndim * sizeof *dims);
    memcpy(strides + more, b->recipe->layout[2 * at->leaf + 1],
           (size_t)at->ndim * sizeof *strides);
    vp__input in = {.storage = n->in[vp__read_source(read)].storage,
                    .offset = vp__read_offset(read),
                    .dims = dims,
                    .strides = strides,
                    .ndim = (int8_t)(at->ndim + more),
                    .dtype = at->result};
    in.region =
        vp__region_of(in.offset, in.ndim, dims, strides, vp__dtype[in.dtype].size);
    return in;
}

/* Uneven ones stay here: a launch for each even run of them would cost more than the launch of
 * an iteration is to save. So do those whose constants differ, which no storage has. */
static bool suits_device(vp__node *n) {
    const vp__bundle *b = n->payload;
    const vp__segment *seg = &b->recipe->seg;
    pace p;
    if (b->iterations == 0 || b->recipe->given || !find_pace(b, false, &p)) return false;
    for (const vp__term *s = seg->term; s < seg->term + seg->nterms; s++) {
        if (s->kind != VP__EXPR_LEAF) continue;
        if (s->ndim == VP__MAXDIM)
            return false; /* parts have no more than their leaves */
        int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
        const vp__input in = input_of(n, b, s, p.leaf[s->leaf], dims, strides);
        if (in.region.period == VP__OF_NOTHING)
            return false; /* there is nothing to copy */
        const int i = vp__read_source(vp__iteration_of(b, 0)->leaf[s->leaf]);
        vp__region_add(&n->in[i].region, &in.region);
    }
    return true;
}

static const vp__input *device_inputs(vp__node *n, int *count) {
    vp__bundle *b = n->payload;
    const vp__segment *seg = &b->recipe->seg;
    *count = b->nleaves;
    /* Iterations that fail do so one by one. */
    if (has_failed_input(n, b)) return NULL;
    if (b->launch) return b->launch->input;
    size_t axes = 0, head = sizeof *b->launch + (size_t)b->nleaves * sizeof(vp__input);
    for (const vp__term *s = seg->term; s < seg->term + seg->nterms; s++)
        if (s->kind == VP__EXPR_LEAF) axes += 2 * ((size_t)s->ndim + 1);
    const size_t bytes = head + axes * sizeof(int64_t);
    struct vp__bundle_launch *l = vp__pool_alloc(bytes);
    if (!l) return NULL;
    l->bytes = bytes;
    find_pace(b, false, &l->pace);
    int64_t *at = (int64_t *)(void *)((char *)l + head);
    for (const vp__term *s = seg->term; s < seg->term + seg->nterms; s++) {
        if (s->kind != VP__EXPR_LEAF) continue;
        l->input[s->leaf] =
            input_of(n, b, s, l->pace.leaf[s->leaf], at, at + s->ndim + 1);
        at += 2 * (s->ndim + 1);
    }
    b->launch = l;
    return l->input;
}

static void device_part(vp__node *n, int phase, vp__device_part *out) {
    const vp__bundle *b = n->payload;
    const vp__recipe *r = b->recipe;
    const vp__part *p = r->cut.part[phase];
    out->last = phase + 1 == r->cut.nparts;
    out->kernel = &p->kernel;
    if (!b->launch) return; /* the trace asks for kernels wherever they run */
    const int64_t step = out->last ? b->value_bytes : vp__recipe_lane_bytes(r, phase);
    vp__recipe_args(&out->args, p, p->loop_out_strides);
    vp__recipe_add_lanes(&out->args, r, phase, b->iterations, b->launch->pace.leaf, step,
                         &b->launch->axes);
    memcpy(out->source, p->source, sizeof out->source);
    out->out_bytes = b->iterations * step;
}

static void deinit(vp__node *n) {
    vp__bundle *b = n->payload;
    if (b->room && !n->temporary) vp__pool_free(b->room, (size_t)n->temporary_bytes);
    if (b->launch) vp__pool_free(b->launch, b->launch->bytes);
    vp__recipe_release(b->recipe);
}

const vp__work vp__bundle_work = {.begin = begin,
                                  .piece = piece,
                                  .store = store,
                                  .settle = settle,
                                  .deinit = deinit,
                                  .device_part = device_part,
                                  .suits_device = suits_device,
                                  .device_inputs = device_inputs,
                                  .finds_room = true};
