/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing into part of an array: whether the buffer gets new storage first (renaming),
 * whether the write can happen at once on the caller, or becomes a node whose store waits.
 */
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "lib/lib.h"
#include "net/bundle.h"
#include "net/flat.h"
#include "net/issue.h"
#include "net/library.h"
#include "net/remote.h"
#include "net/traced.h"
#include "net/tuning.h"
#include "trace/trace.h"

/* How many leaves read s, and whether any of them reads other elements than the target's
 * own in the target's order: then the value must not be computed in place. */
static int own_reads(const vp__expr *e, const vp__storage *s, const vp__target *t,
                     bool *elsewhere) {
    if (e->kind == VP__EXPR_LEAF) {
        if (e->storage != s) return 0;
        bool same = !e->late && e->offset == t->offset && e->ndim == t->ndim;
        for (int i = 0; same && i < t->ndim; i++)
            same = e->dims[i] == t->dims[i] &&
                   (e->strides[i] == t->strides[i] || e->dims[i] < 2);
        if (!same) *elsewhere = true;
        return 1;
    }
    int n = 0;
    for (int i = 0; i < e->nargs; i++) n += own_reads(e->arg[i], s, t, elsewhere);
    if (e->kind == VP__EXPR_REDUCE && n) *elsewhere = true;
    return n;
}

/* Gives the buffer a new storage with the same contents (unless `whole`), or NULL. The
 * buffer's lock is held. */
static vp__storage *rename_buffer(vp__buffer *b, bool whole, const char *where) {
    vp__storage *old = b->storage;
    vp__storage *s = vp__storage_like(old);
    if (!s) return NULL;
    vp__count(&vp__core_self()->counters.renamed, 1);
    vp__trace(VP__TR_RENAME, 0, where, (uint64_t)old->bytes);
    if (!whole && !vp__copy_storage(s, old, where)) {
        vp__storage_release(s);
        return NULL;
    }
    vp__buffer_rename(b, s);
    return s;
}

vp__storage *vp__prepare_write(vp__buffer *b, const vp__region *region, bool whole,
                               int own_captures, const char *where, vp__error **error) {
    vp__spin_lock(&b->lock);
    vp__storage *s = b->storage;
    if (s->read_only) {
        *error = vp__error_new(VP_ERR_VALUE, where,
                               "put: this array borrows read-only memory and cannot be "
                               "written");
        vp__spin_unlock(&b->lock);
        return NULL;
    }
    if (vp__storage_captures(s) > (uint32_t)own_captures) {
        /* Only our own expressions can be closed; closing may issue, so not under a lock. */
        vp__storage_retain(s);
        vp__spin_unlock(&b->lock);
        vp__materialise_readers(s);
        vp__storage_release(s);
        vp__spin_lock(&b->lock);
        s = b->storage;
    }
    vp__spin_lock(&s->lock);
    bool shared = atomic_load_explicit(&s->sharers, memory_order_relaxed) > 1;
    bool captured = vp__storage_captures(s) > (uint32_t)own_captures;
    bool readers = vp__log_has_readers(&s->log, region);
    bool busy = vp__log_conflicts(&s->log, true, region);
    vp__spin_unlock(&s->lock);
    /* A whole overwrite also leaves an earlier failure behind. */
    bool failed = atomic_load_explicit(&s->poison, memory_order_acquire) != NULL;
    bool elsewhere = !vp__storage_is_on_host(s);
    bool by_choice = (readers && s->bytes <= vp__tuning.copy_bytes) || (whole && busy);
    if (vp__config_get()->without & VP__WITHOUT_RENAMING) by_choice = false;
    bool rename = shared || captured || by_choice || (whole && (failed || elsewhere));
    if (rename && !s->borrowed) {
        vp__storage *fresh = rename_buffer(b, whole, where);
        if (!fresh) {
            *error = vp__issue_no_memory(where);
            vp__spin_unlock(&b->lock);
            return NULL;
        }
        s = fresh;
    }
    vp__storage_retain(s);
    vp__spin_unlock(&b->lock);
    return s;
}

bool vp__target_covers(const vp__target *t, const vp__storage *s) {
    int size = vp__dtype[t->dtype].size;
    return s->bytes > 0 && t->offset == 0 &&
           vp__shape_count(t->ndim, t->dims, size) * size == s->bytes &&
           vp__layout_is_dense(t->ndim, t->dims, t->strides, size);
}

/* Computes and stores on this thread; the write is entered, nothing before it is pending. */
static vp__error *put_now(const vp__target *t, vp__storage *s, vp__expr *value,
                          const vp__recipe *recipe, vp__expr *const *leaves,
                          bool in_place) {
    if (!vp__storage_allocate(s)) return vp__issue_no_memory(value->where);
    char *to = atomic_load_explicit(&s->host, memory_order_relaxed) + t->offset;
    if (in_place) return vp__issue_run_now(recipe, leaves, to, true, value->where);
    int size = vp__dtype[t->dtype].size;
    int64_t bytes = value->count * size;
    char *temporary = vp__pool_alloc((size_t)bytes);
    if (!temporary) return vp__issue_no_memory(value->where);
    vp__error *error = vp__issue_run_now(recipe, leaves, temporary, false, value->where);
    if (!error) {
        const vp__part *last = vp__recipe_last(recipe);
        int64_t strides[VP__MAXDIM];
        vp__shape_expand_strides(t->ndim, t->dims, last->out_ndim, last->out_dims,
                                 last->out_strides, strides);
        vp__view out = {to, t->dims, t->strides, t->ndim, t->dtype};
        vp__view in = {temporary, t->dims, strides, t->ndim, t->dtype};
        vp__lib_copy(&out, &in, 0, 1);
    }
    vp__pool_free(temporary, (size_t)bytes);
    return error;
}

void vp__target_written(vp__storage *s, vp_dtype dtype, int ndim, const int64_t *dims,
                        const int64_t *strides, const vp__region *region,
                        uint64_t sequence) {
    if (atomic_load_explicit(&s->poison, memory_order_acquire) &&
        vp__shape_count(ndim, dims, 1) > 0 &&
        vp__layout_is_dense(ndim, dims, strides, vp__dtype[dtype].size))
        vp__storage_heal(s, region, sequence);
}

/* Enters the write if it need not wait. */
static vp__group *enter_if_free(vp__storage *s, const vp__region *r, uint64_t *sequence) {
    vp__spin_lock(&s->lock);
    *sequence = s->log.sequence;
    vp__group *g = NULL;
    if (vp__storage_is_on_host(s)) g = vp__log_try(&s->log, true, r);
    vp__spin_unlock(&s->lock);
    return g;
}

/* Ends a write that ran on this thread: its error poisons what it should have written. */
static void end_write(vp__group *g, vp__storage *s, const vp__target *t,
                      const vp__region *region, uint64_t sequence, vp__error *error) {
    if (error) {
        vp__storage_poison(s, error, region, sequence);
    } else {
        vp__count(&vp__core_self()->counters.stored,
                  (uint64_t)vp__shape_count(t->ndim, t->dims, 1));
        vp__target_written(s, t->dtype, t->ndim, t->dims, t->strides, region, sequence);
    }
    vp__remote_forget(s);
    vp__observe_end(g);
}

/* Tries to compute and store at once. False, and nothing done, when it must wait. */
static bool put_segment(const vp__recipe *recipe, vp__expr *const *leaves,
                        vp__expr *value, const vp__target *t, vp__storage *s,
                        const vp__region *region, bool in_place) {
    const int nleaves = recipe ? recipe->seg.nleaves : 0;
    vp__reads reads;
    if (!vp__issue_is_tiny(value) || !vp__reads_begin(&reads, leaves, nleaves))
        return false;
    vp__error *error = value->kind == VP__EXPR_POISON
                           ? value->error
                           : vp__issue_leaf_error(leaves, nleaves);
    uint64_t sequence;
    vp__group *g = enter_if_free(s, region, &sequence);
    if (g) {
        uint64_t id = recipe ? vp__traced_segment_now(&recipe->seg, leaves, s) : 0;
        vp__error_retain(error);
        if (!error) error = put_now(t, s, value, recipe, leaves, in_place);
        vp__traced_now_end(id, s);
        end_write(g, s, t, region, sequence, error);
    }
    vp__reads_end(&reads);
    return g != NULL;
}

/* The same for a flat loop straight into the target. */
static bool put_flat(vp__flat *f, vp__expr *value, const vp__target *t, vp__storage *s,
                     const vp__region *region) {
    if (!vp__issue_is_tiny(value) || !vp__flat_begin(f)) return false;
    vp__error *error = vp__flat_error(f);
    uint64_t sequence;
    vp__group *g = enter_if_free(s, region, &sequence);
    if (g) {
        uint64_t id = vp__traced_flat_now(f, s);
        vp__error_retain(error);
        if (!error && !vp__storage_allocate(s)) error = vp__issue_no_memory(value->where);
        char *to = atomic_load_explicit(&s->host, memory_order_relaxed) + t->offset;
        if (!error) error = vp__flat_run(f, value, NULL, to);
        vp__traced_now_end(id, s);
        end_write(g, s, t, region, sequence, error);
    }
    vp__reads_end(&f->reads);
    return g != NULL;
}

/* Whether the target has the layout of the value's leaves. */
static bool lies_like(const vp__target *t, const vp__expr *value) {
    int64_t strides[VP__MAXDIM];
    vp__flat_strides(value, strides);
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] != 1 && t->strides[i] != strides[i]) return false;
    return true;
}

/* Nobody looks at a part without elements: what cannot be written there shows in what it was
 * selected from. */
static vp__region region_of(const vp__target *t) {
    const int size = vp__dtype[t->dtype].size;
    vp__region r = vp__region_of(t->offset, t->ndim, t->dims, t->strides, size);
    const vp__layout *l = t->within;
    if (r.period == VP__OF_NOTHING)
        r = vp__region_of(l->offset, l->ndim, l->dims, l->strides, size);
    return r;
}

vp__error *vp__put(const vp__target *t, vp__expr *value, const char *where) {
    vp__error *error = NULL;
    vp__core *core = vp__core_self();
    /* relaxed: a look; others may only have taken it. */
    if (atomic_load_explicit(&core->bundle, memory_order_relaxed) &&
        vp__bundle_next(core, t, value)) {
        vp__expr_free(value);
        return NULL;
    }
    vp__spin_lock(&t->buffer->lock);
    vp__storage *current = t->buffer->storage;
    bool whole = vp__target_covers(t, current);
    bool elsewhere = false;
    int own = own_reads(value, current, t, &elsewhere);
    vp__spin_unlock(&t->buffer->lock);
    vp__region region = region_of(t);
    /* A whole overwrite whose value reads the old contents elsewhere takes new storage
     * instead of a temporary. */
    vp__storage *s = vp__prepare_write(t->buffer, &region, whole, own, where, &error);
    if (!s) {
        vp__expr_free(value);
        return error;
    }
    bool fits =
        !value->late && vp__shape_equal(value->ndim, value->dims, t->ndim, t->dims);
    bool in_place = fits && (s != current || own == 0 || !elsewhere);
    vp__node *n = NULL;
    bool done;
    if (vp__flat_is(value) && fits && lies_like(t, value)) {
        vp__flat f;
        vp__flat_build(&f, value);
        done = in_place && put_flat(&f, value, t, s, &region);
        if (!done) n = vp__flat_node(&f, value, t->ndim);
    } else {
        vp__expr *leaves[VP__SEGMENT_LEAVES];
        const bool failed = value->kind == VP__EXPR_POISON;
        vp__recipe *recipe = NULL;
        if (!value->late && !failed)
            recipe = vp__recipe_of(core, value, fits ? t->strides : NULL, leaves);
        /* Bundles may run nodes, and those what the user wants done when memory is released. */
        if (recipe) vp__recipe_retain(recipe);
        done = recipe && own == 0 &&
               vp__bundle_put(recipe, leaves, value, t, s, &region, fits);
        if (!done && (recipe || failed))
            done = put_segment(recipe, leaves, value, t, s, &region, in_place);
        if (!done && (recipe || failed || value->late))
            n = vp__issue_node(value, recipe, leaves, t->ndim);
        if (recipe) vp__recipe_release(recipe);
    }
    if (n) {
        vp__admit(value->late ? 0 : value->count * vp__dtype[t->dtype].size);
        n->is_put = true;
        n->fits = fits;
        n->result = s;
        n->write_region = region;
        n->target_offset = t->offset;
        memcpy(n->target_dims, t->dims, (size_t)t->ndim * sizeof(int64_t));
        memcpy(n->target_strides, t->strides, (size_t)t->ndim * sizeof(int64_t));
        vp__node_submit(n);
    } else if (!done) {
        error = vp__issue_no_memory(where);
    }
    vp__expr_free(value);
    vp__storage_release(s);
    return error;
}
