/* SPDX-License-Identifier: Apache-2.0 */
#include "api/names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/failure.h"
#include "net/runtime.h"

/* The table grows by chunks that never move, so a handle can be looked up without a lock.
 * Free records are kept per thread; a thread that ends gives its own back. */
enum { CHUNK = 1024, CHUNKS = 4096, NAMES = CHUNK * CHUNKS, TAKE = 64 };

static _Atomic(vp__name *) chunks[CHUNKS];
static uint32_t made;     /* records handed out so far */
static uint32_t returned; /* head of the shared free list, by number + 1 */
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER; /* guards the two above */

typedef struct {
    vp_array *names;
    size_t count, capacity, purge_at;
    size_t start[256]; /* where each open scope's names begin */
    uint32_t generation[256];
    uint32_t depth, scopes;
    uint32_t free; /* head of this thread's free records, by number + 1 */
} thread_names;

static _Thread_local thread_names *mine __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static vp__name *record(uint32_t number) {
    /* acquire pairs with the release in refill: the chunk is initialised. */
    vp__name *chunk = atomic_load_explicit(&chunks[number / CHUNK], memory_order_acquire);
    return chunk ? &chunk[number % CHUNK] : NULL;
}

/* With `sharing` held: a free record is anybody's. A fork may come between any two
 * instructions of a thread that ends, which no call is around: the record is in the list
 * before the list says so, and the fences keep the compiler from exchanging the stores,
 * so that a child may lose records but never has one twice. */
static void share(uint32_t number) {
    atomic_signal_fence(memory_order_seq_cst);
    record(number)->next_free = returned;
    atomic_signal_fence(memory_order_seq_cst);
    returned = number + 1;
}

/* Names that a thread made outside of any scope stay valid for others when it ends; its free
 * records return. Scopes that it left open end before (scope.c), in another round of these
 * handlers if this one comes first. */
static void leave(void *arg) {
    thread_names *t = arg;
    if (t->depth > 0 && pthread_setspecific(leaving, t) == 0) return;
    pthread_mutex_lock(&sharing);
    while (t->free) {
        uint32_t number = t->free - 1;
        t->free = record(number)->next_free;
        share(number);
    }
    pthread_mutex_unlock(&sharing);
    free(t->names);
    free(t);
    mine = NULL;
}

/* Whoever held the lock is not here: a thread that ended, for all others were outside. */
static void after_fork_in_child(void) { pthread_mutex_init(&sharing, NULL); }

static void make_key(void) {
    pthread_key_create(&leaving, leave);
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* NULL without memory; the next call tries again. */
static thread_names *my_names(void) {
    if (__builtin_expect(mine != NULL, 1)) return mine;
    vp__net_init();
    mine = calloc(1, sizeof *mine);
    if (!mine) return NULL;
    mine->purge_at = 1024;
    pthread_once(&leaving_once, make_key);
    pthread_setspecific(leaving, mine);
    return mine;
}

/* What a name is that could not be had, because there is no memory or no number for one; told from
 * one never initialised. */
static const vp_array no_name = {UINT32_MAX, 0}, one_too_many = {UINT32_MAX, 2};

/* Where there are no more records, `why` is what the name becomes. */
static bool refill(thread_names *t, vp_array *why) {
    pthread_mutex_lock(&sharing);
    for (int i = 0; i < TAKE; i++) {
        uint32_t number;
        if (returned) {
            number = returned - 1;
            returned = record(number)->next_free;
        } else {
            if (made == (uint32_t)NAMES) {
                *why = one_too_many;
                break;
            }
            if (made % CHUNK == 0) {
                vp__name *chunk = calloc(CHUNK, sizeof *chunk);
                if (!chunk) break;
                atomic_store_explicit(&chunks[made / CHUNK], chunk, memory_order_release);
            }
            number = made++;
        }
        record(number)->next_free = t->free;
        t->free = number + 1;
    }
    pthread_mutex_unlock(&sharing);
    return t->free != 0;
}

/* Forgets handles in the open scopes whose names have been dropped since. */
static void purge(thread_names *t) {
    size_t kept = 0;
    uint32_t scope = 1;
    for (size_t i = 0; i < t->count; i++) {
        while (scope < t->depth + 1 && t->start[scope] == i) t->start[scope++] = kept;
        vp__name *n = vp__name_lock(t->names[i]);
        if (!n) continue;
        vp__name_unlock(n);
        t->names[kept++] = t->names[i];
    }
    while (scope < t->depth + 1) t->start[scope++] = kept;
    t->count = kept;
    t->purge_at = 2 * kept > 1024 ? 2 * kept : 1024;
}

static bool remember(thread_names *t, vp_array a) {
    if (t->count >= t->purge_at) purge(t);
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 256;
        vp_array *names = realloc(t->names, capacity * sizeof *names);
        if (!names) return false;
        t->names = names;
        t->capacity = capacity;
    }
    t->names[t->count++] = a;
    return true;
}

static bool set_axes(vp__name *n, int ndim) {
    if (n->dims && n->dims != n->own_axes)
        vp__pool_free(n->dims, (size_t)n->ndim * 2 * sizeof(int64_t));
    n->dims = n->own_axes;
    n->strides = n->own_axes + VP__NAME_AXES;
    if (ndim > VP__NAME_AXES) {
        n->dims = vp__pool_alloc((size_t)ndim * 2 * sizeof(int64_t));
        n->strides = n->dims + ndim;
        if (!n->dims) {
            n->dims = n->own_axes;
            n->ndim = 0;
            return false;
        }
    }
    n->ndim = (int8_t)ndim;
    return true;
}

static vp__error *no_memory(const char *where) {
    return vp__error_new(VP_ERR_MEMORY, where, "out of memory for a name");
}

/* The error for a name that could not be had. */
static vp__error *refusal(vp_array a, const char *where) {
    if (a.generation == no_name.generation) return no_memory(where);
    return vp__error_new(VP_ERR_MEMORY, where,
                         "there are too many arrays: %d may have names at a time; end "
                         "scopes, or drop what is not needed with vp_drop",
                         NAMES);
}

void vp__name_unbind(vp__name *n) {
    if (n->buffer) vp__buffer_release(n->buffer);
    if (n->error) vp__error_release(n->error);
    n->buffer = NULL;
    n->error = NULL;
}

/* Binds a name that has no buffer of its own, or another number of axes. */
__attribute__((noinline)) static void bind_anew(vp__name *n, vp__value *v) {
    bool axes = set_axes(n, v->error ? 0 : v->ndim);
    if (!v->error && n->buffer && axes && !vp__buffer_is_shared(n->buffer)) {
        vp__buffer_rename(n->buffer, v->storage);
        return;
    }
    vp__name_unbind(n);
    if (v->error) {
        n->error = v->error;
    } else if (!axes || !(n->buffer = vp__buffer_new(v->storage))) {
        vp__storage_release(v->storage);
        n->error = no_memory(NULL);
    }
    vp__failure_raise(n->error);
}

void vp__name_bind(vp__name *n, vp__value *v) {
    if (n->buffer && v->storage && n->ndim == v->ndim && !vp__buffer_is_shared(n->buffer))
        vp__buffer_rename(n->buffer, v->storage);
    else
        bind_anew(n, v);
    n->dtype = (uint8_t)v->dtype;
    n->late = v->late && n->buffer;
    n->offset = v->offset;
    if (n->buffer && !v->late) {
        for (int i = 0; i < v->ndim; i++) {
            n->dims[i] = v->dims[i];
            n->strides[i] = v->strides[i];
        }
    }
    v->storage = NULL;
    v->error = NULL;
}

void vp__name_refuse(vp_array a) { vp__failure_refuse(refusal(a, NULL)); }

/* A free record, locked, with its handle noted in the open scope. */
vp__name *vp__name_take(vp_array *handle) {
    thread_names *t = my_names();
    *handle = no_name;
    if (!t || (!t->free && !refill(t, handle))) return NULL;
    uint32_t number = t->free - 1;
    vp__name *n = record(number);
    /* Noting may purge, which locks names: so before we lock this one. */
    vp_array a = {number, n->generation + 1};
    if (!remember(t, a)) return NULL;
    t->free = n->next_free;
    vp__spin_lock(&n->lock);
    n->generation = a.generation;
    n->late = false;
    *handle = a;
    return n;
}

vp_array vp__name_new(vp__value *v) {
    vp_array a;
    vp__name *n = vp__name_take(&a);
    if (!n) {
        vp__value_release(v);
        vp__name_refuse(a);
        return a;
    }
    vp__name_bind(n, v);
    vp__spin_unlock(&n->lock);
    return a;
}

vp_array vp__name_view(vp__buffer *b, vp_dtype dtype, int64_t offset, int ndim,
                       const int64_t *dims, const int64_t *strides) {
    vp_array a;
    vp__name *n = vp__name_take(&a);
    if (!n) {
        vp__name_refuse(a);
        return a;
    }
    if (set_axes(n, ndim)) {
        vp__buffer_retain(b);
        n->buffer = b;
        n->dtype = (uint8_t)dtype;
        n->offset = offset;
        memcpy(n->dims, dims, (size_t)ndim * sizeof(int64_t));
        memcpy(n->strides, strides, (size_t)ndim * sizeof(int64_t));
    } else {
        n->error = no_memory(NULL);
        vp__failure_raise(n->error);
    }
    vp__spin_unlock(&n->lock);
    return a;
}

vp__name *vp__name_lock(vp_array a) {
    if (a.slot / CHUNK >= CHUNKS || !(a.generation & 1)) return NULL;
    vp__name *n = record(a.slot);
    if (!n) return NULL;
    vp__spin_lock(&n->lock);
    if (n->generation == a.generation) return n;
    vp__spin_unlock(&n->lock);
    return NULL;
}

void vp__name_refresh(vp__name *n) {
    if (!n->late) return;
    vp__spin_lock(&n->buffer->lock);
    vp__storage *s = n->buffer->storage;
    if (vp__storage_is_sized(s)) {
        memcpy(n->dims, s->late->dims, (size_t)n->ndim * sizeof(int64_t));
        memcpy(n->strides, s->late->strides, (size_t)n->ndim * sizeof(int64_t));
        n->late = false;
    }
    vp__spin_unlock(&n->buffer->lock);
}

void vp__name_free(vp__name *n, vp_array a) {
    thread_names *t = my_names();
    n->generation++;
    vp__name_unbind(n);
    set_axes(n, 0);
    vp__spin_unlock(&n->lock);
    if (t) {
        n->next_free = t->free;
        t->free = a.slot + 1;
    } else {
        pthread_mutex_lock(&sharing);
        share(a.slot);
        pthread_mutex_unlock(&sharing);
    }
}

vp__error *vp__name_stale(vp_array a, const char *where) {
    if (a.slot == no_name.slot && !(a.generation & 1)) return refusal(a, where);
    if (!(a.generation & 1) || a.slot / CHUNK >= CHUNKS || !record(a.slot))
        return vp__error_new(VP_ERR_HANDLE, where,
                             "this is not an array (an uninitialised vp_array?)");
    return vp__error_new(VP_ERR_HANDLE, where,
                         "this array was dropped, or its scope has ended");
}

vp_scope vp__scope_begin(const char *where) {
    thread_names *t = my_names();
    if (!t || t->depth == 255) {
        vp__failure_refuse(t ? vp__error_new(VP_ERR_VALUE, where,
                                             "vp_begin: more than 255 scopes are open")
                             : vp__error_new(VP_ERR_MEMORY, where,
                                             "vp_begin: out of memory for a scope"));
        return (vp_scope){0, 0};
    }
    t->depth++;
    t->start[t->depth] = t->count;
    t->generation[t->depth] = ++t->scopes;
    return (vp_scope){t->depth, t->scopes};
}

bool vp__scope_end(const char *where, vp_scope scope) {
    thread_names *t = my_names();
    if (!t || scope.depth == 0 || scope.depth > t->depth ||
        t->generation[scope.depth] != scope.generation) {
        vp__failure_refuse(
            vp__error_new(VP_ERR_HANDLE, where, "vp_end: this scope is not open"));
        return false;
    }
    for (vp__expr *e = vp__expr_roots(), *next; e && e->kind != VP__EXPR_FREE; e = next) {
        next = e->next;
        if (e->depth >= scope.depth && !e->names) vp__expr_end(e);
    }
    t->depth = scope.depth - 1;
    return true;
}

vp_scope vp__scope_outermost(void) {
    const thread_names *t = mine;
    return t && t->depth > 0 ? (vp_scope){1, t->generation[1]} : (vp_scope){0, 0};
}

bool vp__scope_left(vp_array *a) {
    thread_names *t = my_names();
    if (t->count == t->start[t->depth + 1]) return false;
    *a = t->names[--t->count];
    return true;
}

vp_array vp__name_keep(const char *where, vp_array a) {
    thread_names *t = my_names();
    vp__name *n = vp__name_lock(a);
    if (!n) {
        vp__failure_refuse(vp__name_stale(a, where));
        return a;
    }
    vp__name_unlock(n);
    if (!t || t->depth == 0) return a;
    size_t start = t->start[t->depth];
    for (size_t i = t->count; i-- > start;) {
        if (t->names[i].slot != a.slot || t->names[i].generation != a.generation)
            continue;
        /* Swap it to the front of the scope and let the scope begin behind it. */
        t->names[i] = t->names[start];
        t->names[start] = a;
        t->start[t->depth]++;
        break;
    }
    return a;
}

uint32_t vp__scope_depth(void) {
    const thread_names *t = my_names();
    return t ? t->depth : 0;
}
