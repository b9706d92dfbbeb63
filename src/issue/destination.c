/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/destination.h"

#include <string.h>

#include "array/shape.h"
#include "base/config.h"
#include "issue/copy.h"
#include "net/remote.h"
#include "net/tuning.h"
#include "net/wait.h"
#include "trace/trace.h"

bool vp__destination_fresh(vp__destination *d, int64_t bytes) {
    d->storage = vp__storage_new(bytes);
    d->target = NULL;
    d->region = vp__region_all();
    d->is_box = false;
    d->fits = d->in_place = true;
    return d->storage != NULL;
}

/* --- renaming ------------------------------------------------------------------------- */

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

/* Whether the write should go to a new storage. */
static bool should_rename(vp__storage *s, const vp__destination *d) {
    vp__spin_lock(&s->lock);
    bool shared = atomic_load_explicit(&s->sharers, memory_order_relaxed) > 1;
    bool captured = vp__storage_captures(s) > d->own;
    bool readers = vp__log_has_readers(&s->log, &d->region);
    bool busy = vp__log_conflicts(&s->log, true, &d->region);
    vp__spin_unlock(&s->lock);
    if (s->borrowed) return false;
    /* A whole overwrite also leaves an earlier failure behind. */
    bool failed = atomic_load_explicit(&s->poison, memory_order_acquire) != NULL;
    bool elsewhere = !vp__storage_is_on_host(s);
    bool by_choice = (readers && s->bytes <= vp__tuning.copy_bytes) || (d->whole && busy);
    if (vp__config_get()->without & VP__WITHOUT_RENAMING) by_choice = false;
    return shared || captured || by_choice || (d->whole && (failed || elsewhere));
}

/* With the buffer's lock held. The storage stays as it was where there is an error. */
static vp__error *find(vp__destination *d, const char *where) {
    vp__buffer *b = d->target->buffer;
    vp__storage *s = b->storage;
    const bool same = s == d->storage; /* a pointer compared, no more: it may be gone */
    if (s->read_only)
        return vp__error_new(
            VP_ERR_VALUE, where,
            "put: this array borrows read-only memory and cannot be written");
    if (should_rename(s, d)) s = rename_buffer(b, d->whole, where);
    if (!s) return vp__error_new(VP_ERR_MEMORY, where, "out of memory");
    vp__storage_retain(s);
    /* A whole overwrite whose value reads the old contents elsewhere has got new storage
     * instead of a temporary. */
    d->in_place = d->fits && (!same || s != d->storage || !d->elsewhere);
    d->storage = s;
    return NULL;
}

vp__error *vp__destination_find(vp__destination *d, const char *where) {
    vp__buffer *b = d->target->buffer;
    vp__spin_lock(&b->lock);
    vp__error *error = find(d, where);
    vp__spin_unlock(&b->lock);
    return error;
}

bool vp__target_hold(const vp__target *t, const vp__storage *s) {
    vp__spin_lock(&t->buffer->lock);
    if (t->buffer->storage == s) return true;
    vp__spin_unlock(&t->buffer->lock);
    return false;
}

void vp__target_let_go(const vp__target *t) { vp__spin_unlock(&t->buffer->lock); }

/* --- puts ------------------------------------------------------------------------------ */

/* How many leaves read s, and whether any of them reads other elements than the target's
 * own in the target's order: then the value must not be computed in place. What has other users
 * too, and the leaves under it, are `theirs`: not counted, and elsewhere. */
static uint32_t own_reads(const vp__expr *e, const vp__storage *s, const vp__target *t,
                          bool theirs, bool *elsewhere) {
    theirs |= e->others != 0;
    if (e->kind == VP__EXPR_LEAF) {
        if (e->storage != s) return 0;
        bool same = !theirs && !e->late && e->offset == t->offset && e->ndim == t->ndim;
        for (int i = 0; same && i < t->ndim; i++)
            same = e->dims[i] == t->dims[i] &&
                   (e->strides[i] == t->strides[i] || e->dims[i] < 2);
        if (!same) *elsewhere = true;
        return !theirs;
    }
    uint32_t n = 0;
    for (int i = 0; i < e->nargs; i++) n += own_reads(e->arg[i], s, t, theirs, elsewhere);
    if ((e->kind == VP__EXPR_REDUCE || e->kind == VP__EXPR_ROLL) && n) *elsewhere = true;
    return n;
}

bool vp__target_covers(const vp__target *t, const vp__storage *s) {
    int size = vp__dtype[t->dtype].size;
    return s->bytes > 0 && t->offset == 0 &&
           vp__shape_count(t->ndim, t->dims, size) * size == s->bytes &&
           vp__layout_is_dense(t->ndim, t->dims, t->strides, size);
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

/* Whether others than the value have captured what is written; the buffer's lock is held. */
static bool is_captured(vp__storage *s, const vp__destination *d) {
    return !s->read_only && vp__storage_captures(s) > d->own;
}

bool vp__destination_put(vp__destination *d, const vp__target *t, const vp__expr *value) {
    d->target = t;
    d->region = region_of(t);
    d->elsewhere = d->is_box = false;
    vp__spin_lock(&t->buffer->lock);
    vp__storage *s = d->storage = t->buffer->storage;
    d->whole = vp__target_covers(t, s);
    d->own = own_reads(value, s, t, false, &d->elsewhere);
    const bool captured = is_captured(s, d);
    vp__spin_unlock(&t->buffer->lock);
    d->fits = !value->late && vp__shape_equal(value->ndim, value->dims, t->ndim, t->dims);
    return captured;
}

bool vp__destination_scatter(vp__destination *d, const vp__target *t,
                             const vp__region *region) {
    d->target = t;
    d->region = *region;
    d->own = 0;
    d->whole = d->fits = d->elsewhere = d->is_box = false;
    vp__spin_lock(&t->buffer->lock);
    d->storage = t->buffer->storage;
    const bool captured = is_captured(d->storage, d);
    vp__spin_unlock(&t->buffer->lock);
    return captured;
}

/* --- at once ------------------------------------------------------------------------------ */

bool vp__writing_begin(vp__writing *w, const vp__destination *d) {
    w->group = NULL;
    w->sequence = 0;
    if (!d->target) return true;
    vp__storage *s = d->storage;
    if (!vp__target_hold(d->target, s)) return false;
    vp__spin_lock(&s->lock);
    w->sequence = s->log.sequence;
    if (vp__storage_is_on_host(s)) w->group = vp__log_try(&s->log, true, &d->region);
    vp__spin_unlock(&s->lock);
    vp__target_let_go(d->target);
    return w->group != NULL;
}

void vp__writing_end(const vp__writing *w, const vp__destination *d, vp__error *error) {
    const vp__target *t = d->target;
    if (error) {
        const vp__region all = vp__region_all();
        vp__storage_poison(d->storage, error, d->is_box ? &all : &d->region, w->sequence);
    } else if (t) {
        vp__count(&vp__core_self()->counters.stored,
                  (uint64_t)vp__shape_count(t->ndim, t->dims, 1));
        vp__storage_written(d->storage, vp__dtype[t->dtype].size, t->ndim, t->dims,
                            t->strides, &d->region, w->sequence);
    }
    if (!t) return;
    vp__remote_forget(d->storage);
    vp__observe_end(w->group);
}

/* --- as a node ---------------------------------------------------------------------------- */

/* Holds the target while it has the storage found, or one that is found anew now: the error
 * when there is no memory for that. */
static vp__error *hold(vp__destination *d, const char *where) {
    vp__buffer *b = d->target->buffer;
    vp__storage *before = d->storage;
    vp__spin_lock(&b->lock);
    if (b->storage == before) return NULL;
    d->own = 0; /* leaves read the storage of before */
    vp__error *error = find(d, where);
    if (error) { /* it is to be met where the value would have been */
        d->storage = b->storage;
        vp__storage_retain(d->storage);
    }
    vp__storage_release(before);
    return error;
}

void vp__destination_give(const vp__destination *d, vp__node *n) {
    const vp__target *t = d->target;
    n->result = d->storage;
    n->write_region = d->region;
    n->is_put = t != NULL;
    n->is_box = d->is_box;
    n->fits = d->fits && t;
    if (!t) return;
    n->target_offset = t->offset;
    memcpy(n->target_dims, t->dims, (size_t)t->ndim * sizeof(int64_t));
    memcpy(n->target_strides, t->strides, (size_t)t->ndim * sizeof(int64_t));
}

void vp__destination_submit(vp__destination *d, vp__node *n) {
    vp__open_end(vp__core_self()); /* before anything is held */
    vp__error *error = d->target ? hold(d, n->where) : NULL;
    if (error) vp__node_fail(n, error);
    n->result = d->storage;
    vp__node_submit(n, d->target ? &d->target->buffer->lock : NULL);
}
