/* SPDX-License-Identifier: Apache-2.0 */
#include "array/storage.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/failure.h"
#include "trace/trace.h"

/* Elements up to this many bytes live behind their record: one allocation, one free. */
enum { INLINE_BYTES = 2048, RECORD = (sizeof(vp__storage) + 63) / 64 * 64 };

static size_t record_bytes(int64_t bytes) {
    return RECORD + (bytes > 0 && bytes <= INLINE_BYTES ? (size_t)bytes : 0);
}

static vp__storage *storage_init(vp__storage *s, int64_t bytes) {
    atomic_init(&s->refs, 1);
    atomic_init(&s->sharers, 0);
    s->lock = (vp__spinlock){0};
    s->borrowed = s->read_only = false;
    s->inline_data = bytes >= 0 && bytes <= INLINE_BYTES;
    atomic_init(&s->awaited, false);
    atomic_init(&s->home, -1);
    s->bytes = bytes;
    atomic_init(&s->host, s->inline_data ? (char *)s + RECORD : NULL);
    atomic_init(&s->poison, NULL);
    s->late = NULL;
    s->release = NULL;
    atomic_init(&s->remote, NULL);
    vp__log_init(&s->log);
    vp__trace(VP__TR_STORAGE, 0, NULL, (uintptr_t)s);
    return s;
}

vp__storage *vp__storage_new(int64_t bytes) {
    vp__storage *s = vp__pool_alloc(record_bytes(bytes));
    if (!s) return NULL;
    storage_init(s, bytes);
    if (bytes < 0) {
        s->bytes = 0;
        s->late = vp__pool_alloc(sizeof *s->late);
        if (!s->late) {
            vp__pool_free(s, record_bytes(bytes));
            return NULL;
        }
        atomic_init(&s->late->sized, NULL);
        atomic_init(&s->late->configured, NULL);
        s->late->failed = false;
    }
    return s;
}

vp__storage *vp__storage_like(vp__storage *old) {
    vp__storage *s = vp__storage_new(old->bytes);
    if (!s) return NULL;
    /* Accesses go on counting, so that failures handed on stay in order. */
    vp__spin_lock(&old->lock);
    s->log.sequence = old->log.sequence;
    vp__spin_unlock(&old->lock);
    if (!old->late) return s;
    /* Names that have not looked at the late dims yet must find them here. */
    s->late = vp__pool_alloc(sizeof *s->late);
    if (!s->late) {
        vp__storage_release(s);
        return NULL;
    }
    atomic_init(&s->late->sized, NULL);
    atomic_init(&s->late->configured, NULL);
    vp__waitlist_close(&s->late->sized);
    vp__waitlist_close(&s->late->configured);
    s->late->failed = false;
    s->late->ndim = old->late->ndim;
    memcpy(s->late->dims, old->late->dims, sizeof s->late->dims);
    memcpy(s->late->strides, old->late->strides, sizeof s->late->strides);
    return s;
}

vp__storage *vp__storage_borrow(void *memory, int64_t bytes, bool read_only, void *given,
                                void *context) {
    vp__storage *s = vp__pool_alloc(RECORD);
    if (!s) return NULL;
    storage_init(s, bytes);
    s->inline_data = false;
    s->borrowed = true;
    s->read_only = read_only;
    s->given = given;
    s->release_context = context;
    atomic_init(&s->host, memory);
    return s;
}

vp__rounds vp__storages_owed;
/* By threads that have no time for it: a stack, pushed to and emptied at once, so that there
 * is no ABA (R. K. Treiber, 1986). */
static _Atomic(vp__storage *) left;
static _Thread_local vp__storage *released; /* by this thread */
static _Thread_local bool giving;           /* within a `release` */
/* Threads that fork, and threads within a `release`: each says so before it looks at the other
 * (Dekker's pattern, so both are seq_cst). */
static _Atomic int held, running;

bool vp__storages_is_giving(void) { return giving; }

bool vp__storages_leave(void) {
    vp__storage *first = released, *last = first;
    if (!first) return false;
    while (last->next_released) last = last->next_released;
    released = NULL;
    /* release publishes them; seq_cst orders the push before the look at who is parked. */
    last->next_released = atomic_load_explicit(&left, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        &left, &last->next_released, first, memory_order_seq_cst, memory_order_relaxed)) {
    }
    return true;
}

/* seq_cst: for a worker that goes to sleep, which says so first. */
bool vp__storages_are_left(void) {
    return atomic_load_explicit(&left, memory_order_seq_cst) != NULL &&
           !atomic_load_explicit(&held, memory_order_seq_cst);
}

static bool begin_release(void) {
    atomic_fetch_add_explicit(&running, 1, memory_order_seq_cst);
    if (!atomic_load_explicit(&held, memory_order_seq_cst)) return true;
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    return false;
}

static void give_back(vp__storage *s) {
    void (*release)(void *, void *) = s->release;
    void *context = s->release_context, *given = s->given;
    const uint8_t owed = s->owed;
    vp__pool_free(s, RECORD);
    /* The caller's own error stays: one within `release` is not the caller's. */
    vp__error *error = vp__error_take();
    release(context, given);
    vp__error_put_back(error);
    vp__rounds_end(&vp__storages_owed, owed);
    atomic_fetch_sub_explicit(&running, 1,
                              memory_order_release); /* for vp__storages_hold */
}

void vp__storages_give_back(bool all) {
    if (giving) return; /* the call that this one came out of does the rest */
    giving = true;
    /* relaxed, as a hint; acquire pairs with the release of the push. Once: others may go on
     * leaving some. */
    if (all && atomic_load_explicit(&left, memory_order_relaxed)) {
        vp__storage **end = &released;
        while (*end) end = &(*end)->next_released;
        *end = atomic_exchange_explicit(&left, NULL, memory_order_acquire);
    }
    for (vp__storage *s; (s = released);) {
        if (!begin_release()) { /* a fork comes: after it */
            vp__storages_leave();
            break;
        }
        released = s->next_released;
        give_back(s);
    }
    giving = false;
}

void vp__storages_hold(void) {
    atomic_fetch_add_explicit(&held, 1, memory_order_seq_cst);
    const struct timespec pause = {0, 20000};
    while (atomic_load_explicit(&running, memory_order_seq_cst) > 0)
        nanosleep(&pause, NULL);
}

void vp__storages_end(void) { atomic_fetch_add_explicit(&held, 1, memory_order_seq_cst); }

void vp__storages_let_go(void) {
    atomic_fetch_sub_explicit(&held, 1, memory_order_release);
}

/* relaxed: the child has one thread. */
static void count_owed(const vp__storage *s) {
    for (; s; s = s->next_released)
        atomic_fetch_add_explicit(&vp__storages_owed.open[s->owed], 1,
                                  memory_order_relaxed);
}

void vp__storages_forget(void) {
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&vp__storages_owed.open[i], 0, memory_order_relaxed);
    count_owed(atomic_load_explicit(&left, memory_order_relaxed));
    count_owed(released);
    /* No other thread is about to fork or to release anything in the child. */
    atomic_store_explicit(&held, 1, memory_order_relaxed);
    atomic_store_explicit(&running, 0, memory_order_relaxed);
}

static void storage_free(vp__storage *s) {
    for (vp__poison *p = atomic_load_explicit(&s->poison, memory_order_relaxed), *next; p;
         p = next) {
        next = p->next;
        vp__error_release(p->error);
        free(p);
    }
    vp__log_deinit(&s->log);
    if (s->late) vp__pool_free(s->late, sizeof *s->late);
    vp__remote *remote = atomic_load_explicit(&s->remote, memory_order_relaxed);
    if (remote) remote->destroy(remote);
    char *host = atomic_load_explicit(&s->host, memory_order_relaxed);
    if (s->borrowed && s->release) {
        /* The end of the node that used it last comes after, and vp_sync waits for that. */
        s->owed = vp__rounds_begin(&vp__storages_owed);
        s->next_released = released;
        released = s;
        return;
    }
    if (host && !s->inline_data && !s->borrowed) vp__pool_free(host, (size_t)s->bytes);
    vp__pool_free(s, s->inline_data ? record_bytes(s->bytes) : RECORD);
}

void vp__storage_release(vp__storage *s) {
    /* acq_rel: the last one sees every other user's accesses before it frees. Who holds the
     * only reference need not count down, since nobody is left to count up; acquire, as the
     * counting would be. */
    if (vp__storage_is_own(s) ||
        (uint32_t)atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        storage_free(s);
}

void vp__storage_drop_capture(vp__storage *s) {
    if ((uint32_t)atomic_fetch_sub_explicit(&s->refs, 1 + (1ull << VP__CAPTURE_SHIFT),
                                            memory_order_acq_rel) == 1)
        storage_free(s);
}

bool vp__storage_allocate(vp__storage *s) {
    if (atomic_load_explicit(&s->host, memory_order_relaxed) || s->bytes == 0)
        return true;
    char *memory = vp__pool_alloc((size_t)s->bytes), *none = NULL;
    if (!memory) return false;
    /* release pairs with bundles' looks at what others still write; all others come through
     * the log or a signal, which orders this store. relaxed: of another's memory only the
     * address is wanted. */
    if (!atomic_compare_exchange_strong_explicit(
            &s->host, &none, memory, memory_order_release, memory_order_relaxed))
        vp__pool_free(memory, (size_t)s->bytes);
    return true;
}

void vp__storage_poison(vp__storage *s, vp__error *error, const vp__region *region,
                        uint64_t sequence) {
    vp__poison *p = malloc(sizeof *p);
    if (!p) abort(); /* a silent wrong number would be worse */
    vp__failure_raise(error);
    *p = (vp__poison){NULL, error, *region, sequence};
    /* A Treiber push; entries are never removed before the storage goes. release pairs with
     * the acquire in vp__storage_error. */
    p->next = atomic_load_explicit(&s->poison, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        &s->poison, &p->next, p, memory_order_release, memory_order_relaxed)) {}
}

/* A failure of everything is met even by a reader of nothing: a value that failed before it
 * had a size has no elements. A failure to write nothing is met by readers of nothing alone. */
static bool is_met(const vp__poison *p, const vp__region *reader) {
    if (p->region.lo == INT64_MIN) return true;
    return (reader->period == VP__OF_NOTHING) == (p->region.period == VP__OF_NOTHING) &&
           vp__region_overlaps(&p->region, reader);
}

void vp__storage_heal(vp__storage *s, const vp__region *region, uint64_t sequence) {
    for (vp__poison *p = atomic_load_explicit(&s->poison, memory_order_acquire); p;
         p = p->next)
        if (p->error && p->sequence < sequence &&
            vp__region_overlaps(&p->region, region)) {
            vp__storage_poison(s, NULL, region, sequence);
            return;
        }
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Whether what a reader at `sequence` sees of a failed write has been written again since.
 * Healing regions have no gaps. */
static bool is_healed(const vp__poison *first, const vp__poison *p,
                      const vp__region *reader, uint64_t sequence) {
    int64_t lo = larger(p->region.lo, reader->lo), hi = smaller(p->region.hi, reader->hi);
    for (const vp__poison *h = first; h; h = h->next)
        if (!h->error && h->sequence > p->sequence && h->sequence < sequence &&
            h->region.lo <= lo && h->region.hi >= hi)
            return true;
    return false;
}

void vp__storage_written(vp__storage *s, int element_size, int ndim, const int64_t *dims,
                         const int64_t *strides, const vp__region *region,
                         uint64_t sequence) {
    if (atomic_load_explicit(&s->poison, memory_order_acquire) &&
        vp__shape_count(ndim, dims, 1) > 0 &&
        vp__layout_is_dense(ndim, dims, strides, element_size))
        vp__storage_heal(s, region, sequence);
}

/* Whether a reader at `sequence` meets the failure p, if it is one. */
static bool meets(const vp__poison *first, const vp__poison *p, const vp__region *reader,
                  uint64_t sequence) {
    return p->error && p->sequence < sequence && is_met(p, reader) &&
           !is_healed(first, p, reader, sequence);
}

vp__error *vp__storage_error(vp__storage *s, const vp__region *region,
                             uint64_t sequence) {
    vp__poison *found = NULL,
               *first = atomic_load_explicit(&s->poison, memory_order_acquire);
    for (vp__poison *p = first; p; p = p->next)
        if ((!found || p->sequence < found->sequence) &&
            meets(first, p, region, sequence))
            found = p;
    return found ? found->error : NULL;
}

void vp__storage_look_at(vp__storage *s, const vp__region *region, uint64_t sequence) {
    const vp__poison *first = atomic_load_explicit(&s->poison, memory_order_acquire);
    for (const vp__poison *p = first; p; p = p->next)
        if (meets(first, p, region, sequence)) vp__failure_look_at(p->error);
}

vp__error *vp__storage_failure(vp__storage *s) {
    if (!s->late || !vp__storage_is_sized(s) || !s->late->failed) return NULL;
    for (vp__poison *p = atomic_load_explicit(&s->poison, memory_order_acquire); p;
         p = p->next)
        if (p->error && p->sequence == 0 && p->region.lo == INT64_MIN) return p->error;
    return NULL;
}

void vp__storage_copy_poison(vp__storage *to, vp__storage *from, uint64_t sequence) {
    for (vp__poison *p = atomic_load_explicit(&from->poison, memory_order_acquire); p;
         p = p->next)
        if (p->sequence < sequence)
            vp__storage_poison(to, vp__error_retain(p->error), &p->region, p->sequence);
}

/* Counts one more buffer whose version this is. A storage nobody else knows, as nearly all
 * are when they get a name, is counted without a locked instruction. */
static void share(vp__storage *s) {
    if (vp__storage_is_own(s))
        atomic_store_explicit(&s->sharers,
                              atomic_load_explicit(&s->sharers, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&s->sharers, 1, memory_order_relaxed);
}

vp__buffer *vp__buffer_new(vp__storage *s) {
    vp__buffer *b = vp__pool_alloc(sizeof *b);
    if (!b) return NULL;
    atomic_init(&b->refs, 1);
    b->lock = (vp__spinlock){0};
    b->storage = s;
    share(s);
    return b;
}

void vp__buffer_retain(vp__buffer *b) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void vp__buffer_release(vp__buffer *b) {
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    atomic_fetch_sub_explicit(&b->storage->sharers, 1, memory_order_relaxed);
    vp__storage_release(b->storage);
    vp__pool_free(b, sizeof *b);
}

void vp__buffer_rename(vp__buffer *b, vp__storage *s) {
    vp__storage *old = b->storage;
    share(s);
    b->storage = s;
    /* If this is the last reference, the count of sharers goes with the storage. */
    if (!vp__storage_is_own(old))
        atomic_fetch_sub_explicit(&old->sharers, 1, memory_order_relaxed);
    vp__storage_release(old);
}
