/* SPDX-License-Identifier: Apache-2.0
 *
 * The caches of threads, and what ties the levels of the pool together.
 *
 * A cache has a bin of block addresses for each class up to 512 KiB. Only its thread
 * touches the bins, so taking or leaving a block is a few plain instructions; full bins
 * give half of their blocks to the shared level and empty ones fetch as many, so memory
 * that one thread allocates and another frees goes round through it in batches. A cache
 * holds at most 2 MiB.
 *
 * What must stay true: a block is counted as lent (array/map.h) from the moment it leaves
 * the shared level, and `bytes` of a cache is the sum of what its bins hold, so the
 * difference is what programs have in hand. At every instruction a block is in at most one
 * place, so that a child forked there, which takes over the caches of threads it does not
 * have, may lose blocks but never has one twice.
 */
#define _GNU_SOURCE
#include "array/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "array/large.h"
#include "array/map.h"
#include "array/poison.h"
#include "array/slab.h"
#include "base/config.h"
#include "base/spin.h"

enum {
    CACHE_BYTES = 2 << 20, /* at most in one thread's cache */
    BIN_BYTES = 128 << 10, /* and in one bin, but no fewer than 2 blocks of any class */
    BIN_BLOCKS = 128,      /* and no more than these of the smallest */
    CACHED_CLASSES = 88, /* up to 512 KiB; larger blocks go to the shared level at once */
    PURGE_BYTES = 8 << 20, /* what must be idle to be worth the search */
    MAX_BYTES_LOG = 47,    /* an allocation beyond this is a mistake */
};

typedef struct {
    void **top; /* one past the last block */
    void **start, **end;
    int64_t block; /* bytes of one */
} bin;

typedef struct cache {
    bin bins[CACHED_CLASSES];
    _Atomic int64_t
        bytes; /* in the bins; written by its thread, read by vp__pool_stats */
    int sweep; /* the bin to empty next when there is too much */
    struct cache *next, *previous;
    void *slots[];
} cache;

_Atomic int64_t vp__pool_fail_after = -1;

/* initial-exec: a read of the address is one instruction even in a shared library. */
static _Thread_local cache *own __attribute__((tls_model("initial-exec")));

static vp__spinlock caches_lock; /* guards the list of caches, not what is in them */
static cache *caches;
static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static int bin_limit(unsigned size_class) {
    size_t blocks = BIN_BYTES / vp__class_bytes(size_class);
    return blocks < 2 ? 2 : blocks > BIN_BLOCKS ? BIN_BLOCKS : (int)blocks;
}

/* The bytes in a cache change by its own thread only, so no atomic addition is needed;
 * relaxed, because a reader wants a figure and concludes nothing else from it. */
static int64_t cache_bytes(const cache *c) {
    return atomic_load_explicit(&c->bytes, memory_order_relaxed);
}

static void set_cache_bytes(cache *c, int64_t bytes) {
    atomic_store_explicit(&c->bytes, bytes, memory_order_relaxed);
}

/* Gives memory back when more is kept than recent use justifies: large blocks first, which
 * cost one system call each, then idle parts of chunks. */
static void keep_bound(void) {
    int64_t bound = vp__map_bound();
    if (__builtin_expect(vp__map_charged() <= bound, 1)) return;
    vp__large_evict(bound);
    if (vp__map_charged() > bound && vp__slab_idle() >= PURGE_BYTES)
        vp__slab_purge(bound, false);
}

/* Puts a block into a bin that has room. The block is in its slot before the bin says so:
 * a fork copies memory between any two instructions of other threads, and the fence keeps
 * the compiler from exchanging the two stores. */
static inline void bin_put(bin *b, void *block) {
    *b->top = block;
    atomic_signal_fence(memory_order_release);
    b->top++;
}

/* Gives the oldest `count` blocks of a bin to the shared level. The bin is empty while its
 * slots move, so that a child forked meanwhile may lose blocks but never has one twice. */
static void bin_flush(cache *c, unsigned size_class, int count) {
    bin *b = &c->bins[size_class];
    int64_t bytes = (int64_t)count * (int64_t)vp__class_bytes(size_class);
    void *blocks[BIN_BLOCKS];
    int all = (int)(b->top - b->start);
    for (int i = 0; i < all; i++) blocks[i] = b->start[i];
    b->top = b->start;
    atomic_signal_fence(memory_order_seq_cst);
    for (int i = count; i < all; i++) bin_put(b, blocks[i]);
    set_cache_bytes(c, cache_bytes(c) - bytes);
    vp__map_lend(-bytes);
    vp__slab_give(size_class, blocks, count);
    keep_bound();
}

static void cache_flush(cache *c) {
    for (unsigned k = 0; k < CACHED_CLASSES; k++) {
        bin *b = &c->bins[k];
        if (b->top > b->start) bin_flush(c, k, (int)(b->top - b->start));
    }
}

/* Empties bins in turn until the cache is at half of what it may hold. */
static void cache_sweep(cache *c) {
    while (cache_bytes(c) > CACHE_BYTES / 2) {
        bin *b = &c->bins[c->sweep];
        if (b->top > b->start) bin_flush(c, (unsigned)c->sweep, (int)(b->top - b->start));
        c->sweep = (c->sweep + 1) % CACHED_CLASSES;
    }
}

static void cache_delete(cache *c) {
    cache_flush(c);
    vp__spin_lock(&caches_lock);
    if (c->next) c->next->previous = c->previous;
    if (c->previous) {
        c->previous->next = c->next;
    } else {
        caches = c->next;
    }
    vp__spin_unlock(&caches_lock);
    free(c);
}

static void thread_exits(void *c) {
    own = NULL;
    cache_delete(c);
}

static void before_fork(void) {
    vp__spin_lock(&caches_lock);
    vp__slab_lock_all();
    vp__large_lock();
}

static void after_fork(void) {
    vp__large_unlock();
    vp__slab_unlock_all();
    vp__spin_unlock(&caches_lock);
}

/* The child has one thread; what the caches of the others held is shared again. A thread
 * may have been between two steps when the process was copied, so the bins are believed;
 * what a cache said of their bytes goes with it. */
static void after_fork_in_child(void) {
    after_fork();
    for (cache *c = caches, *next; c; c = next) {
        next = c->next;
        if (c != own) cache_delete(c);
    }
}

static void pool_init(void) {
    vp__config_get(); /* now, and not later under a lock */
    has_key = !pthread_key_create(&exit_key, thread_exits);
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* Makes the calling thread's cache; NULL when there is no memory even for that, and then
 * the thread works without. */
static cache *cache_new(void) {
    pthread_once(&once, pool_init);
    size_t slots = 0;
    for (unsigned k = 0; k < CACHED_CLASSES; k++) slots += (size_t)bin_limit(k);
    cache *c = has_key ? malloc(sizeof *c + slots * sizeof(void *)) : NULL;
    if (!c) return NULL;
    void **slot = c->slots;
    for (unsigned k = 0; k < CACHED_CLASSES; k++) {
        c->bins[k] = (bin){slot, slot, slot + bin_limit(k), (int64_t)vp__class_bytes(k)};
        slot += bin_limit(k);
    }
    atomic_init(&c->bytes, 0);
    c->sweep = 0;
    c->previous = NULL;
    vp__spin_lock(&caches_lock);
    c->next = caches;
    if (caches) caches->previous = c;
    caches = c;
    vp__spin_unlock(&caches_lock);
    own = c;
    pthread_setspecific(exit_key, c);
    return c;
}

/* Takes blocks from the shared level, trimming if need be; how many. */
static int take(unsigned size_class, void **blocks, int count) {
    int got = vp__slab_take(size_class, blocks, count);
    if (!got) {
        vp__pool_trim();
        got = vp__slab_take(size_class, blocks, 1);
    }
    vp__map_lend(got * (int64_t)vp__class_bytes(size_class));
    keep_bound();
    return got;
}

__attribute__((noinline)) static void *alloc_slow(unsigned size_class) {
    void *block;
    if (size_class >= VP__SLAB_CLASSES) {
        block = vp__large_take(size_class);
        if (block) vp__map_lend((int64_t)vp__class_bytes(size_class));
        return block;
    }
    cache *c = own ? own : cache_new();
    if (!c || size_class >= CACHED_CLASSES)
        return take(size_class, &block, 1) ? block : NULL;
    int want = bin_limit(size_class) / 2;
    void *blocks[BIN_BLOCKS];
    int got = take(size_class, blocks, want);
    if (!got) return NULL;
    /* The lowest address is used first, so that a program touches memory in order. */
    bin *b = &c->bins[size_class];
    for (int i = got - 1; i > 0; i--) bin_put(b, blocks[i]);
    set_cache_bytes(c, cache_bytes(c) + (got - 1) * (int64_t)vp__class_bytes(size_class));
    if (cache_bytes(c) > CACHE_BYTES) cache_sweep(c);
    return blocks[0];
}

__attribute__((noinline)) static void free_slow(void *p, unsigned size_class) {
    int64_t bytes = (int64_t)vp__class_bytes(size_class);
    if (size_class >= VP__SLAB_CLASSES) {
        vp__map_lend(-bytes);
        vp__large_give(size_class, p);
        keep_bound();
        return;
    }
    cache *c = own ? own : cache_new();
    if (!c || size_class >= CACHED_CLASSES) {
        vp__map_lend(-bytes);
        vp__slab_give(size_class, &p, 1);
        keep_bound();
        return;
    }
    bin *b = &c->bins[size_class];
    if (b->top == b->end) bin_flush(c, size_class, bin_limit(size_class) / 2);
    bin_put(b, p);
    set_cache_bytes(c, cache_bytes(c) + bytes);
    if (cache_bytes(c) > CACHE_BYTES) cache_sweep(c);
}

/* Counts an allocation for the test hook; whether it has to fail. */
static bool must_fail(void) {
    int64_t left = atomic_load_explicit(&vp__pool_fail_after, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak_explicit(
                           &vp__pool_fail_after, &left, left - 1, memory_order_relaxed,
                           memory_order_relaxed)) {}
    return left == 0;
}

void *vp__pool_alloc(size_t bytes) {
    if (__builtin_expect(
            atomic_load_explicit(&vp__pool_fail_after, memory_order_relaxed) >= 0, 0) &&
        must_fail()) {
        return NULL;
    }
    if (__builtin_expect(bytes >> MAX_BYTES_LOG != 0, 0)) return NULL;
    unsigned k = vp__class_of(bytes);
    cache *c = own;
    void *p;
    if (__builtin_expect(c && k < CACHED_CLASSES && c->bins[k].top > c->bins[k].start,
                         1)) {
        bin *b = &c->bins[k];
        p = *--b->top;
        set_cache_bytes(c, cache_bytes(c) - b->block);
    } else {
        p = alloc_slow(k);
        if (!p) return NULL;
    }
    vp__unpoison(p, bytes);
    return p;
}

void vp__pool_free(void *p, size_t bytes) {
    if (!p) return;
    unsigned k = vp__class_of(bytes);
    vp__poison(p, vp__class_bytes(k));
    cache *c = own;
    if (__builtin_expect(c && k < CACHED_CLASSES && c->bins[k].top < c->bins[k].end, 1)) {
        int64_t held = cache_bytes(c) + c->bins[k].block;
        if (__builtin_expect(held <= CACHE_BYTES, 1)) {
            bin_put(&c->bins[k], p);
            set_cache_bytes(c, held);
            return;
        }
    }
    free_slow(p, k);
}

void vp__pool_trim(void) {
    if (own) cache_flush(own);
    vp__large_evict(0);
    vp__slab_purge(0, true);
}

size_t vp__pool_class_bytes(size_t bytes) {
    return bytes >> MAX_BYTES_LOG ? SIZE_MAX : vp__class_bytes(vp__class_of(bytes));
}

void vp__pool_thread_exit(void) {
    cache *c = own;
    if (!c) return;
    pthread_setspecific(exit_key, NULL);
    thread_exits(c);
}

void vp__pool_stats(vp__pool_stat *out) {
    vp__map_stat map;
    int64_t cached = 0;
    vp__spin_lock(&caches_lock);
    for (cache *c = caches; c; c = c->next) cached += cache_bytes(c);
    vp__spin_unlock(&caches_lock);
    vp__map_stats(&map);
    out->in_use = vp__map_lent() - cached;
    out->cached = vp__map_charged() - out->in_use;
    out->peak_in_use = map.peak_lent;
    out->peak_total = map.peak_charged;
    out->system_calls = map.system_calls;
}

void vp__pool_reset_peaks(void) { vp__map_reset_peaks(); }

bool vp__pool_can_have(int64_t bytes) {
    const vp__config *config = vp__config_get();
    return bytes <= config->memory_all || bytes <= config->memory;
}
