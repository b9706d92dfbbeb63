/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers, storages and their milestones. A buffer is what views share; its storage is the
 * memory of its current version. Writing in place makes a new version in the same storage,
 * ordered by the storage's log; renaming gives the buffer another storage, and readers of
 * the old version keep the old one. Several buffers may share one storage until one of
 * them is written (a lazy copy).
 *
 * Milestones of a storage: nothing known -> size completed -> device configured; the result's
 * completion is per access, in the log. A storage whose size and device are known when it is
 * made has no `late` part at all.
 */
#ifndef VP_ARRAY_STORAGE_H
#define VP_ARRAY_STORAGE_H

#include <stddef.h>

#include "array/access.h"
#include "array/view.h"
#include "base/error.h"
#include "base/rounds.h"
#include "base/spin.h"

/* The contents beyond the host's memory, as far as a storage knows of them; the rest is in
 * net/remote.h. */
typedef struct vp__remote {
    vp__waitlist host; /* closed when the host's memory holds the contents */
    void (*destroy)(struct vp__remote *remote);
} vp__remote;

/* `home` of contents that will be on device i: this - i. */
enum { VP__HOME_ON_DEVICE = -2 };

/* A failed write: everything that reads this region from `sequence` on is poisoned. Without
 * an error it is the mark of a later write, which hides what failed before it there. */
typedef struct vp__poison {
    struct vp__poison *next;
    vp__error *error;
    vp__region region;
    uint64_t sequence; /* of the write */
} vp__poison;

/* The part of a storage whose size comes late: its dims, and the nodes that wait for them. */
typedef struct {
    vp__waitlist sized, configured;
    bool failed; /* its producer failed before there was a size; published with `sized` */
    int32_t ndim;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
} vp__late;

typedef struct vp__storage {
    /* Low half: references. High half: captures by expressions not closed yet. One atomic,
     * because capturing does both. */
    _Atomic uint64_t refs;
    _Atomic int32_t sharers; /* buffers whose current version this is */
    vp__spinlock lock;       /* guards the log, and changes of the poison list */
    bool borrowed, read_only;
    bool inline_data;     /* the elements follow this record in one block */
    _Atomic bool awaited; /* the node that makes it is not over; a hint, so relaxed */
    _Atomic int16_t home; /* where the elements will be: a core; a hint, so relaxed */
    int64_t bytes;        /* 0 until sized */
    _Atomic(char *) host; /* NULL until allocated */
    _Atomic(vp__poison *) poison;
    union {
        vp__late *late;
        struct vp__storage *next_released; /* of borrowed memory that nobody uses */
    };
    void (*release)(void *context, void *memory); /* of borrowed memory; may be NULL */
    void *release_context;
    _Atomic(vp__remote *) remote; /* NULL: only the host ever had the contents */
    vp__log log;
    void *given;  /* of borrowed memory: what `release` is called with */
    uint8_t owed; /* likewise: the round of vp__storages_owed */
} vp__storage;

enum { VP__CAPTURE_SHIFT = 32 };

/* A new storage with one reference. `bytes` < 0: not known yet (a late part is made).
 * Small ones carry their elements. NULL without memory. */
vp__storage *vp__storage_new(int64_t bytes);
/* A new storage of the same size, and with the same late dims, as one whose size is known. */
vp__storage *vp__storage_like(vp__storage *s);
/* Around the user's memory, which begins at `memory`, the lowest address in use; `release` (or
 * nothing) is called with what the user gave when the last use is over. */
vp__storage *vp__storage_borrow(void *memory, int64_t bytes, bool read_only, void *given,
                                void *context);
void vp__storage_release(vp__storage *s);

/* Borrowed memory that the calling thread was the last to use is given back when the thread
 * has nothing in hand: no lock, no node, no instruction, no wait. Then the user's code may do
 * anything. Owed: how much there is on all threads, until its `release` has returned. */
extern vp__rounds vp__storages_owed;
static inline bool vp__storages_are_owed(void) {
    return __builtin_expect(vp__rounds_open(&vp__storages_owed) > 0, 0);
}
/* Gives back the owed memory of the calling thread, and with `all` what others have left. */
void vp__storages_give_back(bool all);
/* Whether the calling thread is within a `release`. */
bool vp__storages_is_giving(void);

/* Leaves the owed memory of the calling thread to others, if there is any. Called on a device's
 * own thread, which must not wait, on one that ends, and on a worker that stops. */
bool vp__storages_leave(void);
/* Whether threads have left memory that may be given back now. */
bool vp__storages_are_left(void);

/* Around a fork, before any thread is stopped for it, since a `release` may wait for others:
 * waits for every `release` that runs, and lets none begin. */
void vp__storages_hold(void);
void vp__storages_let_go(void);
/* At the library's end: no `release` begins any more. */
void vp__storages_end(void);
/* In the child: forgets the owed memory of threads that are gone. */
void vp__storages_forget(void);

/* References by the counting: relaxed to add, acq_rel to drop, since the last drop frees. */
static inline void vp__storage_retain(vp__storage *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}
/* Retains a storage that no other thread knows yet. */
static inline void vp__storage_retain_new(vp__storage *s) {
    atomic_store_explicit(&s->refs,
                          atomic_load_explicit(&s->refs, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}
static inline void vp__storage_capture(vp__storage *s) {
    atomic_fetch_add_explicit(&s->refs, 1 + (1ull << VP__CAPTURE_SHIFT),
                              memory_order_relaxed);
}
/* Whether the caller's is the only reference. acquire pairs with the drops of the others:
 * what they did is visible, and nobody is left who could do anything more. */
static inline bool vp__storage_is_own(vp__storage *s) {
    return atomic_load_explicit(&s->refs, memory_order_acquire) == 1;
}
/* Turns a capture into a plain reference. release: the accesses entered before it are
 * ordered before a writer that sees no captures left. */
static inline void vp__storage_uncapture(vp__storage *s) {
    atomic_fetch_sub_explicit(&s->refs, 1ull << VP__CAPTURE_SHIFT, memory_order_release);
}
static inline uint32_t vp__storage_captures(vp__storage *s) {
    return (uint32_t)(atomic_load_explicit(&s->refs, memory_order_acquire) >>
                      VP__CAPTURE_SHIFT);
}
/* Gives up a capture and its reference. */
void vp__storage_drop_capture(vp__storage *s);

/* Makes sure the host memory exists. False without memory. The node that makes the value
 * calls it first and alone; where it has failed, stores to different parts may do so at
 * once. */
bool vp__storage_allocate(vp__storage *s);

/* Whether the host's memory holds what has been stored. acquire pairs with the publication of
 * the remote part, and with the end of a fetch. */
static inline bool vp__storage_is_on_host(vp__storage *s) {
    vp__remote *r = atomic_load_explicit(&s->remote, memory_order_acquire);
    return !r || vp__waitlist_is_closed(&r->host);
}

/* Whether its size is known; when true, late->dims are valid if there is a late part. */
static inline bool vp__storage_is_sized(vp__storage *s) {
    return !s->late || vp__waitlist_is_closed(&s->late->sized);
}

/* Marks a region as failed from access number `sequence` on; takes over the error. */
void vp__storage_poison(vp__storage *s, vp__error *error, const vp__region *region,
                        uint64_t sequence);
/* Notes that the write number `sequence`, with which all earlier ones are over that it
 * overlaps, has replaced every byte of the region: failures there are history. */
void vp__storage_heal(vp__storage *s, const vp__region *region, uint64_t sequence);
/* The write number `sequence` has stored every element of a view, whose region this is; if the
 * view has no gaps, failures there are history. */
void vp__storage_written(vp__storage *s, int element_size, int ndim, const int64_t *dims,
                         const int64_t *strides, const vp__region *region,
                         uint64_t sequence);
/* The error a read of this region at `sequence` meets, not retained; NULL if none. Of
 * several the earliest. */
vp__error *vp__storage_error(vp__storage *s, const vp__region *region, uint64_t sequence);
/* All that such a read meets has been looked at, since its reader is told of the earliest. */
void vp__storage_look_at(vp__storage *s, const vp__region *region, uint64_t sequence);
/* The error of a late storage whose producer failed before it had a size (its dims mean
 * nothing then), not retained; NULL if there is none, or it is not sized yet. */
vp__error *vp__storage_failure(vp__storage *s);
/* Hands the poison a reader at `sequence` would meet on to a copy. */
void vp__storage_copy_poison(vp__storage *to, vp__storage *from, uint64_t sequence);

typedef struct vp__buffer {
    _Atomic int32_t refs; /* names; relaxed to add, acq_rel to drop */
    vp__spinlock lock;    /* guards `storage` */
    vp__storage *storage; /* the current version's */
} vp__buffer;

/* A buffer around a storage, taking over the caller's reference to it. */
vp__buffer *vp__buffer_new(vp__storage *s);
void vp__buffer_retain(vp__buffer *b);
void vp__buffer_release(vp__buffer *b);
/* Whether anybody but the caller, who holds a reference that nobody else can use (a name it
 * has locked), can reach the buffer; if not, its lock is not needed. acquire pairs with the
 * drop of the others' references: what they did to the buffer is visible. */
static inline bool vp__buffer_is_shared(vp__buffer *b) {
    return atomic_load_explicit(&b->refs, memory_order_acquire) > 1;
}
/* Replaces the storage; takes over the caller's reference. The lock must be held, unless
 * nobody else can reach the buffer. */
void vp__buffer_rename(vp__buffer *b, vp__storage *s);

#endif
