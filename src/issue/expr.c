/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/expr.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/failure.h"
#include "issue/library/params.h"
#include "net/workers.h"

/* A handle's slot is the owning thread's number and the record's, so that an expression of
 * another thread is recognised without looking at that thread. */
enum { INDEX_BITS = 20, CHUNK = 256, CHUNKS = (1 << INDEX_BITS) / CHUNK };

struct vp__exprs {
    uint32_t number; /* of the thread */
    uint32_t mark;   /* the last one given out */
    uint32_t made;   /* records made so far */
    vp__expr *chunk[CHUNKS];
    vp__expr *unused; /* through ->next */
    vp__expr roots;   /* head of the ring of open roots */
};

/* Made with a thread's first record. */
static _Thread_local vp__exprs *table __attribute__((tls_model("initial-exec")));
/* What every caller gets when not even a record can be had. */
static _Thread_local vp__expr no_record __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t threads;
static pthread_key_t leaving; /* of threads that have one or the other */
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static void free_table(vp__exprs *t) {
    while (t->roots.next != &t->roots) vp__expr_free(t->roots.next);
    for (int i = 0; i < CHUNKS && t->chunk[i]; i++) free(t->chunk[i]);
    free(t);
    table = NULL;
}

static bool is_held(const vp__exprs *t) {
    for (const vp__expr *e = t->roots.next; e != &t->roots; e = e->next)
        if (e->names) return true;
    return false;
}

static void leave(void *of) {
    if (table && is_held(table)) { /* names.c has not been here yet, which issues it */
        pthread_setspecific(leaving, of);
        return;
    }
    if (table) free_table(table);
    vp__error_release(no_record.error);
    no_record.error = NULL;
    vp__workers_take_storages();
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

/* What is seldom needed is out of line, here and below, so that what is always needed saves
 * no registers for it. */
#define SELDOM __attribute__((noinline, cold))

static void leave_later(void *of) {
    pthread_once(&leaving_once, make_key);
    pthread_setspecific(leaving, of);
}

/* NULL without memory; the next record tries again. */
SELDOM static vp__exprs *new_table(void) {
    vp__exprs *t = aligned_alloc(_Alignof(vp__exprs), sizeof *t);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    /* relaxed: only uniqueness counts. Numbers wrap after 4095 threads; then a foreign
     * handle is merely reported as stale, since its generation does not fit. */
    t->number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % 4095;
    t->roots.next = t->roots.previous = &t->roots;
    leave_later(t);
    vp__core_issues();
    return table = t;
}

SELDOM static bool grow(vp__exprs *t) {
    uint32_t c = t->made / CHUNK;
    if (c >= CHUNKS) return false;
    vp__expr *e = aligned_alloc(_Alignof(vp__expr), CHUNK * sizeof *e);
    if (!e) return false;
    memset(e, 0, CHUNK * sizeof *e);
    t->chunk[c] = e;
    for (uint32_t i = CHUNK; i-- > 0;) {
        e[i].slot = t->number << INDEX_BITS | (t->made + i);
        e[i].next = t->unused;
        t->unused = &e[i];
    }
    t->made += CHUNK;
    return true;
}

SELDOM static vp__expr *out_of_records(const char *where) {
    vp__expr *e = &no_record;
    e->kind = VP__EXPR_POISON;
    e->slot = UINT32_MAX; /* how its handle is told from one never initialised */
    e->generation = 0;
    e->previous = e->next = NULL;
    vp__error_release(e->error);
    e->error = vp__error_new(VP_ERR_MEMORY, where,
                             "too many open expressions (a thread has room for %d), or "
                             "out of memory",
                             CHUNK * CHUNKS);
    vp__failure_raise(e->error);
    if (!table) leave_later(e);
    return e;
}

static inline vp__expr *init_record(vp__expr *e, vp__expr_kind kind, int ndim,
                                    int64_t *axes, int room, const char *where) {
    table->unused = e->next;
    /* 0 is no record's; one more is to come when it is given out. */
    e->generation = e->generation < VP__EXPR_GENERATIONS ? e->generation + 1 : 1;
    e->kind = (uint8_t)kind;
    e->ndim = (int8_t)ndim;
    e->op = e->dtype = e->type = e->nargs = 0;
    e->late = e->keepdims = false;
    e->terms = 1;
    e->leaves = 0;
    e->rolls = 0;
    e->where = where;
    e->dims = axes;
    e->strides = axes + room;
    memset((char *)e + offsetof(vp__expr, axes), 0,
           offsetof(vp__expr, arg) - offsetof(vp__expr, axes));
    return e;
}

/* The table has no record left, or those there are have not enough axes. */
SELDOM static vp__expr *new_record(vp__expr_kind kind, int ndim, const char *where) {
    vp__exprs *t = table ? table : new_table();
    if (!t || (!t->unused && !grow(t))) return out_of_records(where);
    if (ndim <= VP__EXPR_AXES)
        return init_record(t->unused, kind, ndim, t->unused->own_axes, VP__EXPR_AXES,
                           where);
    int64_t *axes = vp__pool_alloc((size_t)ndim * 2 * sizeof(int64_t));
    if (!axes) return out_of_records(where);
    return init_record(t->unused, kind, ndim, axes, ndim, where);
}

vp__expr *vp__expr_new(vp__expr_kind kind, int ndim, const char *where) {
    vp__expr *e = table ? table->unused : NULL;
    if (__builtin_expect(!e || ndim > VP__EXPR_AXES, 0))
        return new_record(kind, ndim, where);
    return init_record(e, kind, ndim, e->own_axes, VP__EXPR_AXES, where);
}

SELDOM static void release_rest(vp__expr *e) {
    if (e->buffer) vp__buffer_release(e->buffer);
    if (e->error) vp__error_release(e->error);
    if (e->kind == VP__EXPR_LIBRARY)
        vp__pool_free(e->library, sizeof *e->library);
    else if (e->view)
        vp__pool_free(e->view, sizeof *e->view);
    if (e->dims != e->own_axes)
        vp__pool_free(e->dims, (size_t)e->ndim * 2 * sizeof(int64_t));
}

static inline void free_record(vp__expr *e) {
    if (e->previous) vp__expr_unlink(e);
    if (e->storage) vp__storage_drop_capture(e->storage);
    if (e->buffer || e->error || e->view || e->dims != e->own_axes) release_rest(e);
    e->kind = VP__EXPR_FREE;
    e->next = table->unused;
    table->unused = e;
}

void vp__expr_free(vp__expr *e) {
    if (e->generation == 0) return; /* out_of_records' */
    if (e->others) {
        e->others--;
        return;
    }
    for (int i = 0; i < e->nargs; i++) {
        vp__expr *a = e->arg[i];
        if (a->nargs || a->others)
            vp__expr_free(a); /* a segment is shallow */
        else if (a->generation)
            free_record(a);
    }
    free_record(e);
}

uint32_t vp__expr_new_mark(void) {
    if (++table->mark == 0) table->mark = 1; /* 0 is that of new records */
    return table->mark;
}

vp__exprs *vp__exprs_of_thread(void) { return table; }

vp__exprs *vp__exprs_take_place(vp__exprs *of) {
    vp__exprs *own = table;
    table = of;
    return own;
}

vp__expr *vp__expr_reserve(void) {
    vp__expr *e = vp__expr_new(VP__EXPR_FREE, 0, NULL);
    if (e->generation == 0) return NULL;
    e->previous = e->next = NULL;
    return e;
}

void vp__expr_unreserve(vp__expr *e, uint32_t generation) {
    if (e->generation < generation) e->generation = generation;
    e->next = table->unused;
    table->unused = e;
}

void vp__expr_move(vp__expr *to, vp__expr *from, uint32_t generation) {
    const uint32_t slot = to->slot;
    const bool own = from->dims == from->own_axes, none = from->generation == 0;
    *to = *from;
    to->slot = slot;
    to->generation = generation;
    if (own) {
        to->dims = to->own_axes;
        to->strides = to->own_axes + VP__EXPR_AXES;
    }
    if (to->like == from) to->like = to;
    if (none) { /* out_of_records' */
        to->dims = to->own_axes;
        to->error = vp__error_retain(from->error);
        return;
    }
    from->kind = VP__EXPR_FREE;
    from->next = table->unused;
    table->unused = from;
}

void vp__expr_drop_buffer(vp__expr *leaf) {
    if (leaf->buffer) vp__buffer_release(leaf->buffer);
    leaf->buffer = NULL;
}

void vp__expr_fail(vp__expr *e, vp__error *error) {
    for (int i = 0; i < e->nargs; i++) vp__expr_free(e->arg[i]);
    if (e->storage) vp__storage_drop_capture(e->storage);
    vp__expr_drop_buffer(e);
    e->nargs = 0;
    e->terms = 1;
    e->rolls = 0;
    e->cost = 0;
    e->storage = NULL;
    e->late = false;
    e->like = NULL;
    e->kind = VP__EXPR_POISON;
    e->error = error;
    vp__failure_raise(error);
}

vp__expr *vp__expr_view(vp__expr *leaf, const vp__viewop *op, int ndim,
                        const char *where) {
    vp__expr *e = vp__expr_new(VP__EXPR_VIEW, ndim, where);
    vp__viewop *view = e->generation ? vp__pool_alloc(sizeof *view) : NULL;
    if (!view) {
        vp__expr_free(leaf);
        if (!e->generation) return e;
        vp__expr_free(e);
        return vp__expr_poison(vp__error_new(VP_ERR_MEMORY, where, "out of memory"),
                               where);
    }
    *view = *op;
    e->view = view;
    e->late = true;
    e->dtype = leaf->dtype;
    e->arg[0] = leaf;
    e->nargs = 1;
    return e;
}

vp__expr *vp__expr_library(const vp__lib_params *p, vp_dtype dtype, int nin,
                           vp__expr **in, int ndim, const int64_t *dims,
                           const char *where) {
    vp__expr *e = vp__expr_new(VP__EXPR_LIBRARY, ndim, where);
    vp__lib_params *own = e->generation ? vp__pool_alloc(sizeof *own) : NULL;
    if (!own) {
        for (int i = 0; i < nin; i++) vp__expr_free(in[i]);
        if (!e->generation) return e;
        e->kind = VP__EXPR_POISON; /* it has no parameters to free */
        vp__expr_free(e);
        return vp__expr_poison(vp__error_new(VP_ERR_MEMORY, where, "out of memory"),
                               where);
    }
    *own = *p;
    e->library = own;
    e->dtype = (uint8_t)dtype;
    memcpy(e->dims, dims, (size_t)ndim * sizeof(int64_t));
    e->count = vp__shape_count(ndim, dims, 1);
    for (int i = 0; i < nin; i++) {
        e->arg[i] = in[i];
        e->terms = (uint16_t)(e->terms + in[i]->terms);
        e->leaves = (uint16_t)(e->leaves + in[i]->leaves);
    }
    e->nargs = (uint8_t)nin;
    return e;
}

vp__expr *vp__expr_poison(vp__error *error, const char *where) {
    vp__failure_raise(error);
    vp__expr *e = vp__expr_new(VP__EXPR_POISON, 0, where);
    if (e->generation == 0)
        vp__error_release(error);
    else
        e->error = error;
    return e;
}

void vp__expr_link(vp__expr *e) {
    if (e->generation == 0) return;
    e->previous = table->roots.previous;
    e->next = &table->roots;
    e->previous->next = e;
    table->roots.previous = e;
}

void vp__expr_unlink(vp__expr *e) {
    if (!e->previous) return;
    e->previous->next = e->next;
    e->next->previous = e->previous;
    e->previous = e->next = NULL;
}

vp__expr *vp__expr_roots(void) {
    /* The head's kind is FREE, which ends a walk as well as NULL would. */
    return !table || table->roots.next == &table->roots ? NULL : table->roots.next;
}

/* The calling thread's record of a handle; NULL for a handle that is none of this thread's. */
static inline vp__expr *record_of(const vp__exprs *t, uint32_t slot) {
    uint32_t index = slot & ((1u << INDEX_BITS) - 1);
    if (slot >> INDEX_BITS != t->number || index >= t->made) return NULL;
    return &t->chunk[index / CHUNK][index % CHUNK];
}

vp__expr *vp__expr_find(uint32_t slot, uint32_t generation) {
    const vp__exprs *t = table;
    if (__builtin_expect(!t, 0)) return NULL;
    vp__expr *last = t->roots.previous; /* nearly always the one */
    if (last->slot == slot && last->generation == generation && last != &t->roots)
        return last;
    vp__expr *e = record_of(t, slot);
    return e && e->generation == generation && e->kind != VP__EXPR_FREE && e->previous
               ? e
               : NULL;
}

bool vp__expr_has_ended(uint32_t slot, uint32_t generation) {
    const vp__expr *e = table ? record_of(table, slot) : NULL;
    return e && e->ended == generation;
}

void vp__expr_end(vp__expr *e) {
    e->ended = e->generation;
    vp__expr_free(e);
}

bool vp__expr_is_foreign(uint32_t slot) {
    return slot >> INDEX_BITS && (!table || slot >> INDEX_BITS != table->number);
}

void vp__expr_measure(vp__expr *e) {
    int size = vp__dtype[e->dtype].size;
    if (e->ndim == 1) { /* nearly all */
        e->count = e->dims[0];
        e->like = e->strides[0] == size || e->dims[0] == 1 ? e : NULL;
        return;
    }
    e->count = vp__shape_count(e->ndim, e->dims, 1);
    e->like = vp__layout_is_dense(e->ndim, e->dims, e->strides, size) ? e : NULL;
}

bool vp__expr_alike(const vp__expr *a, const vp__expr *b) {
    int sa = vp__dtype[a->dtype].size, sb = vp__dtype[b->dtype].size;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != 1 && a->strides[i] * sb != b->strides[i] * sa) return false;
    return true;
}

vp__expr *vp__expr_leaf(vp__storage *s, vp__buffer *buffer, vp_dtype dtype,
                        int64_t offset, int ndim, const int64_t *dims,
                        const int64_t *strides, bool late, const char *where) {
    vp__expr *e = vp__expr_new(VP__EXPR_LEAF, ndim, where);
    if (e->generation == 0) return e;
    vp__storage_capture(s);
    e->storage = s;
    if (buffer) vp__buffer_retain(buffer);
    e->buffer = buffer;
    e->dtype = (uint8_t)dtype;
    e->offset = offset;
    e->leaves = 1;
    e->late = late;
    if (!late) {
        for (int i = 0; i < ndim; i++) {
            e->dims[i] = dims[i];
            e->strides[i] = strides[i];
        }
        vp__expr_measure(e);
    }
    return e;
}
