/* SPDX-License-Identifier: Apache-2.0
 *
 * Closing a segment: the decision between running at once on the caller and becoming a
 * node. A hand-over to another core costs 100 to 200 ns, so a tiny segment whose inputs
 * are there is done sooner than handed over.
 */
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "lib/lib.h"
#include "net/cost.h"
#include "net/flat.h"
#include "net/issue.h"
#include "net/library.h"
#include "net/traced.h"
#include "net/tuning.h"
#include "trace/trace.h"

void vp__value_release(vp__value *v) {
    if (v->storage) vp__storage_release(v->storage);
    if (v->error) vp__error_release(v->error);
    v->storage = NULL;
    v->error = NULL;
}

bool vp__reads_enter(vp__reads *r, vp__storage *s, const vp__region *region) {
    vp__spin_lock(&s->lock);
    vp__group *g = vp__log_try(&s->log, false, region);
    bool there = vp__storage_is_on_host(s);
    vp__spin_unlock(&s->lock);
    if (g) r->group[r->count++] = g;
    return g && there;
}

void vp__reads_end(vp__reads *r) {
    for (int i = 0; i < r->count; i++) vp__observe_end(r->group[i]);
    r->count = 0;
    /* release pairs with announce_issuer: what was read has been read. */
    atomic_store_explicit(&r->core->reading, false, memory_order_release);
}

bool vp__reads_is_there(vp__storage *s, const vp__region *region) {
    vp__spin_lock(&s->lock);
    bool ready = !vp__log_conflicts(&s->log, false, region) && vp__storage_is_on_host(s);
    vp__spin_unlock(&s->lock);
    return ready;
}

bool vp__reads_begin(vp__reads *r, vp__expr *const *leaves, int n) {
    bool alone = vp__reads_alone(r), ready = true;
    for (int i = 0; i < n && ready; i++) {
        const vp__expr *e = leaves[i];
        if (!e) continue;
        vp__storage *s = e->storage;
        if (alone && vp__log_is_empty(&s->log)) {
            ready = vp__storage_is_on_host(s);
            continue;
        }
        vp__region region = vp__region_of(e->offset, e->ndim, e->dims, e->strides,
                                          vp__dtype[e->dtype].size);
        ready = alone ? vp__reads_is_there(s, &region) : vp__reads_enter(r, s, &region);
    }
    if (!ready) vp__reads_end(r);
    return ready;
}

/* Everything before an inline run is done, so what counts is all poison up to now (but not
 * the mark of the very overwrite that is about to read). */
vp__error *vp__issue_leaf_error(vp__expr *const *leaves, int n) {
    for (int i = 0; i < n; i++) {
        vp__expr *e = leaves[i];
        if (!atomic_load_explicit(&e->storage->poison, memory_order_acquire)) continue;
        vp__region r = vp__region_of(e->offset, e->ndim, e->dims, e->strides,
                                     vp__dtype[e->dtype].size);
        vp__spin_lock(&e->storage->lock);
        uint64_t sequence = e->storage->log.sequence;
        vp__spin_unlock(&e->storage->lock);
        vp__error *found = vp__storage_error(e->storage, &r, sequence);
        if (found) return found;
    }
    return NULL;
}

/* How many times as long a segment may take on the caller when every core has enough to
 * do: a node of it would wait, and cost memory while it does. */
enum { BUSY_TIMES = 5 };

static int64_t ahead_of(const vp__core *core) {
    return atomic_load_explicit(&core->ahead, memory_order_relaxed); /* a hint */
}

/* Whether there is work in line for the other cores, judged by our own line and that of one
 * of them, another one each time. */
static bool others_are_busy(void) {
    vp__core *core = vp__core_self();
    if (ahead_of(core) < vp__tuning.busy_ns) return false;
    core->random = core->random * 1664525u + 1013904223u;
    return ahead_of(vp__cores[(core->random >> 8) % (uint32_t)vp__placeable]) >=
           vp__tuning.busy_ns;
}

bool vp__issue_is_tiny(const vp__expr *e) {
    const vp__config *config = vp__config_get();
    if (config->sync) return true;
    if (!config->inline_nodes || e->late) return false;
    const float cost = e->cost * (float)vp__cost_factor(e->op);
    const float most = (float)vp__tuning.inline_ns;
    return cost < most || (cost < BUSY_TIMES * most && others_are_busy());
}

vp__error *vp__issue_run_now(const vp__recipe *recipe, vp__expr *const *leaves, char *out,
                             bool to_target, const char *where) {
    vp__core *core = vp__core_self();
    char *data[VP__SEGMENT_LEAVES];
    for (int i = 0; i < recipe->seg.nleaves; i++)
        /* relaxed: complete inputs were seen through the log, or never had one. */
        data[i] = atomic_load_explicit(&leaves[i]->storage->host, memory_order_relaxed) +
                  leaves[i]->offset;
    vp__count(&core->counters.inlined, 1);
    return vp__recipe_run(recipe, data, out, to_target, core, where);
}

vp__node *vp__issue_node(vp__expr *e, vp__recipe *recipe, vp__expr **leaves,
                         int target_ndim) {
    vp__step steps[VP__SEGMENT_STEPS];
    vp__segment seg;
    const vp__segment *shape = &seg;
    if (recipe)
        shape = &recipe->seg;
    else
        vp__segment_build(&seg, steps, e, leaves);
    int axes = 0;
    for (int i = 0; i < shape->nleaves; i++) axes += leaves[i]->ndim;
    vp__node *n =
        vp__segment_node(vp__segment_name(shape), e->op, e->where, shape->nleaves, axes,
                         e->ndim, target_ndim, e->late ? shape : NULL);
    if (!n) return NULL;
    n->dtype = e->dtype;
    for (int i = 0; i < shape->nleaves; i++) {
        vp__expr *l = leaves[i];
        vp__storage_retain(l->storage);
        vp__node_add_input(n, l->storage, l->dtype, l->offset, l->ndim,
                           l->late ? NULL : l->dims, l->strides);
    }
    if (e->kind == VP__EXPR_POISON) {
        vp__node_fail(n, vp__error_retain(e->error));
    } else if (recipe) {
        vp__recipe_retain(recipe);
        vp__segment_node_follow(n, recipe);
    }
    return n;
}

vp__error *vp__issue_no_memory(const char *where) {
    return vp__error_new(VP_ERR_MEMORY, where, "out of memory");
}

/* A flat loop whose inputs are not there yet, or that is too long for the caller. */
__attribute__((noinline)) static bool submit_flat(const vp__flat *f, vp__expr *e,
                                                  vp__storage *result) {
    vp__admit(result->bytes);
    vp__node *n = vp__flat_node(f, e, -1);
    if (!n) return false;
    n->result = result;
    n->write_region = vp__region_all();
    vp__node_submit(n);
    return true;
}

/* One that runs at once; a failure of its inputs is its own. */
static void run_flat(vp__flat *f, vp__expr *e, vp__storage *result) {
    uint64_t id = vp__traced_flat_now(f, result);
    vp__error *failed = vp__error_retain(vp__flat_error(f));
    if (!failed) failed = vp__flat_run(f, e, result, NULL);
    vp__traced_now_end(id, result);
    if (!failed) return;
    vp__region all = vp__region_all();
    vp__storage_poison(result, failed, &all, 0);
}

/* Flat in the other sense too: nearly every instruction comes through here. */
__attribute__((flatten)) static void close_flat(vp__expr *e, vp__value *out) {
    vp__flat f;
    vp__flat_build(&f, e);
    vp__storage *s = vp__storage_new(e->count * vp__dtype[e->dtype].size);
    out->storage = s;
    for (int i = 0; i < e->ndim; i++) out->dims[i] = e->dims[i];
    vp__flat_strides(e, out->strides);
    if (s && vp__issue_is_tiny(e) && vp__flat_begin(&f)) {
        run_flat(&f, e, s);
        vp__reads_end(&f.reads);
    } else if (!s || !submit_flat(&f, e, s)) {
        if (s) vp__storage_release(s);
        out->storage = NULL;
        out->error = vp__issue_no_memory(e->where);
    }
}

static void set_layout(vp__value *out, const vp__recipe *recipe) {
    const vp__part *last = vp__recipe_last(recipe);
    memcpy(out->dims, last->out_dims, (size_t)out->ndim * sizeof(int64_t));
    memcpy(out->strides, last->out_strides, (size_t)out->ndim * sizeof(int64_t));
}

/* Runs it on the caller; what fails is the result's. */
static void close_now(vp__expr *e, const vp__recipe *recipe, vp__expr **leaves,
                      vp__storage *s) {
    vp__error *error =
        vp__error_retain(vp__issue_leaf_error(leaves, recipe->seg.nleaves));
    if (!error && !vp__storage_allocate(s))
        error = vp__error_new(VP_ERR_MEMORY, e->where, "out of memory for the result");
    if (!error)
        error = vp__issue_run_now(recipe, leaves,
                                  atomic_load_explicit(&s->host, memory_order_relaxed),
                                  false, e->where);
    if (!error) return;
    vp__region all = vp__region_all();
    vp__storage_poison(s, error, &all, 0);
}

/* A value of the right shape, where that is known, that only carries the error. */
static void close_failed(const vp__expr *e, vp__value *out, vp__error *error) {
    if (out->storage) vp__storage_release(out->storage);
    out->storage = NULL;
    out->error = error;
    if (e->late) return;
    memcpy(out->dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
    vp__layout_compact(e->ndim, e->dims, vp__dtype[e->dtype].size, false, out->strides);
}

static void close_segment(vp__expr *e, vp__value *out) {
    if (vp__flat_is(e)) {
        close_flat(e, out);
        return;
    }
    vp__expr *leaves[VP__SEGMENT_LEAVES];
    vp__recipe *recipe = NULL;
    int64_t bytes = e->late ? -1 : e->count * vp__dtype[e->dtype].size;
    out->late = e->late;
    vp__storage *s = out->storage = vp__storage_new(bytes);
    if (s && !e->late) recipe = vp__recipe_of(vp__core_self(), e, NULL, leaves);
    if (!s || (!e->late && !recipe)) {
        close_failed(e, out, vp__issue_no_memory(e->where));
        return;
    }
    if (recipe) set_layout(out, recipe);
    vp__reads reads;
    if (recipe && vp__issue_is_tiny(e) &&
        vp__reads_begin(&reads, leaves, recipe->seg.nleaves)) {
        uint64_t id = vp__traced_segment_now(&recipe->seg, leaves, s);
        close_now(e, recipe, leaves, s);
        vp__traced_now_end(id, s);
        vp__reads_end(&reads);
        return;
    }
    if (recipe) vp__recipe_retain(recipe); /* others may be made meanwhile */
    vp__admit(bytes);
    vp__node *n = vp__issue_node(e, recipe, leaves, 0);
    if (recipe) vp__recipe_release(recipe);
    if (!n) {
        close_failed(e, out, vp__issue_no_memory(e->where));
        return;
    }
    n->result = s;
    n->write_region = vp__region_all();
    vp__node_submit(n);
}

void vp__value_init(vp__value *v, const vp__expr *e) {
    v->storage = NULL;
    v->error = NULL;
    v->dtype = e->dtype;
    v->ndim = e->ndim;
    v->offset = 0;
    v->late = false;
}

void vp__close(vp__expr *e, vp__value *out) {
    vp__value_init(out, e);
    if (vp__flat_is(e)) {
        close_flat(e, out);
        vp__expr_free(e);
        return;
    }
    if (e->kind == VP__EXPR_FFT) vp__transform(e, false);
    switch ((vp__expr_kind)e->kind) {
    case VP__EXPR_POISON: out->error = vp__error_retain(e->error); break;
    case VP__EXPR_FFT: /* a leaf or poison by now */
    case VP__EXPR_LEAF:
        vp__storage_retain(e->storage);
        out->storage = e->storage;
        out->offset = e->offset;
        out->late = e->late;
        if (!e->late) {
            memcpy(out->dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
            memcpy(out->strides, e->strides, (size_t)e->ndim * sizeof(int64_t));
        }
        break;
    case VP__EXPR_CONST:
    case VP__EXPR_OP:
    case VP__EXPR_REDUCE:
    case VP__EXPR_COUNT:
    case VP__EXPR_VIEW:
    case VP__EXPR_FREE: close_segment(e, out); break;
    }
    vp__expr_free(e);
}

/* Makes e a leaf that reads v, which is taken over. */
static void become_leaf(vp__expr *e, const vp__value *v) {
    e->kind = VP__EXPR_LEAF;
    e->leaves = 1;
    e->like = NULL;
    e->late = v->late;
    e->storage = v->storage;
    vp__storage_capture(v->storage);
    vp__storage_release(v->storage);
    e->offset = v->offset;
    if (v->late) return;
    memcpy(e->dims, v->dims, (size_t)v->ndim * sizeof(int64_t));
    memcpy(e->strides, v->strides, (size_t)v->ndim * sizeof(int64_t));
    vp__expr_measure(e);
}

/* Decides a view of an array whose size was not known when it was selected: another leaf of
 * the same storage if it is known now, else a copy that is made when it will be. */
static void resolve_view(vp__expr *e) {
    vp__expr *leaf = e->arg[0];
    vp__materialise(leaf); /* it may be an undecided view itself */
    if (leaf->kind != VP__EXPR_LEAF) {
        vp__expr_fail(e, vp__error_retain(leaf->error));
        return;
    }
    e->nargs = 0;
    vp__storage *s = leaf->storage;
    bool copy = true;
    vp__layout l = {.ndim = leaf->ndim, .offset = leaf->offset};
    vp__error *failed = vp__storage_failure(s);
    if (failed) {
        vp__error_retain(failed);
        vp__expr_free(leaf);
        vp__expr_fail(e, failed);
        return;
    }
    if (!leaf->late || vp__storage_is_sized(s)) {
        const int64_t *dims = leaf->late ? s->late->dims : leaf->dims;
        const int64_t *strides = leaf->late ? s->late->strides : leaf->strides;
        memcpy(l.dims, dims, (size_t)l.ndim * sizeof(int64_t));
        memcpy(l.strides, strides, (size_t)l.ndim * sizeof(int64_t));
        vp__error *error = vp__viewop_apply(e->view, &l, vp__dtype[e->dtype].size, &copy);
        if (error) {
            vp__expr_free(leaf);
            vp__expr_fail(e, vp__error_wrap(error, e->where, e->view->name));
            return;
        }
    }
    vp__value v;
    vp__value_init(&v, e);
    if (copy) {
        vp__lib_params p = {.kind = VP__LIB_VIEW, .view = e->view};
        vp__library_issue(&p, (vp_dtype)e->dtype, 1, &leaf, e->ndim, NULL, e->view->name,
                          e->where, &v);
        if (v.error)
            vp__expr_fail(e, v.error);
        else
            become_leaf(e, &v);
        return;
    }
    vp__storage_retain(s);
    v.storage = s;
    v.offset = l.offset;
    memcpy(v.dims, l.dims, (size_t)l.ndim * sizeof(int64_t));
    memcpy(v.strides, l.strides, (size_t)l.ndim * sizeof(int64_t));
    become_leaf(e, &v);
    e->buffer = leaf->buffer;
    leaf->buffer = NULL;
    vp__expr_free(leaf);
}

void vp__transform(vp__expr *e, bool magnitude) {
    const vp_dtype real = e->dtype == VP_C64 ? VP_F32 : VP_F64;
    const vp__lib_params p = {.kind = (vp__lib_kind)e->op,
                              .axis = (int)e->axes,
                              .length = e->offset,
                              .magnitude = magnitude,
                              .order = VP__ORDER_KEEP};
    if (magnitude) e->dtype = (uint8_t)real;
    vp__value v;
    e->nargs = 0;
    vp__library_issue(&p, (vp_dtype)e->dtype, 1, &e->arg[0], e->ndim, e->dims,
                      vp__fft_name(p.kind, magnitude), e->where, &v);
    if (v.error)
        vp__expr_fail(e, v.error);
    else
        become_leaf(e, &v);
}

void vp__materialise(vp__expr *e) {
    if (e->kind == VP__EXPR_LEAF || e->kind == VP__EXPR_POISON) return;
    if (e->kind == VP__EXPR_FFT) {
        vp__transform(e, false);
        return;
    }
    if (e->kind == VP__EXPR_VIEW) {
        resolve_view(e);
        return;
    }
    vp__value v;
    vp__value_init(&v, e);
    close_segment(e, &v);
    for (int i = 0; i < e->nargs; i++) vp__expr_free(e->arg[i]);
    e->nargs = 0;
    e->steps = 1;
    e->cost = 0;
    if (v.error)
        vp__expr_fail(e, v.error);
    else
        become_leaf(e, &v);
}

static bool reads(const vp__expr *e, const vp__storage *s) {
    if (e->kind == VP__EXPR_LEAF) return e->storage == s;
    for (int i = 0; i < e->nargs; i++)
        if (reads(e->arg[i], s)) return true;
    return false;
}

void vp__copy_leaf(vp__expr *e) {
    vp__expr *leaf = vp__expr_leaf(e->storage, NULL, (vp_dtype)e->dtype, e->offset,
                                   e->ndim, e->dims, e->strides, false, e->where);
    vp__lib_params p = {.kind = VP__LIB_COPY, .order = VP__ORDER_KEEP};
    vp__value v;
    vp__library_issue(&p, (vp_dtype)e->dtype, 1, &leaf, e->ndim, e->dims, "copy",
                      e->where, &v);
    if (v.error) {
        vp__value_release(&v);
        return;
    }
    vp__storage_drop_capture(e->storage);
    if (e->buffer) vp__buffer_release(e->buffer);
    e->buffer = NULL;
    become_leaf(e, &v);
}

void vp__materialise_readers(vp__storage *s) {
    for (vp__expr *e = vp__expr_roots(), *next; e && e->kind != VP__EXPR_FREE; e = next) {
        next = e->next;
        if (!reads(e, s)) continue;
        if (e->kind != VP__EXPR_LEAF)
            vp__materialise(e);
        else if (s->borrowed)
            vp__copy_leaf(e);
    }
}
