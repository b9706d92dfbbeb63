/* SPDX-License-Identifier: Apache-2.0
 *
 * Cores: one record for every thread that may run nodes. The first `threads` of them are
 * the sub-devices that nodes place themselves on: core 0 is the first calling thread, which
 * works while it waits, the others are our workers. Further calling threads get records
 * beyond those; they work while they wait but nothing is placed on them. How nodes come and go
 * in a core's queues is the business of core_queue.h.
 */
#ifndef VP_NET_CORE_H
#define VP_NET_CORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "array/access.h"
#include "base/deque.h"

typedef struct vp__node vp__node;
typedef struct vp__core vp__core;

enum { VP__MAX_CORES = 4096 };

/* What happened, per core, added up when somebody asks. Plain counters of one writer. */
typedef struct {
    _Atomic uint64_t issued, inlined, executed, pieces, steals, split, renamed,
        waited_store, completed, kernels, elements, stored, late_sizes, limit_waits,
        moved, bundled, replayed;
} vp__counters;

/* What a thread waits for. */
typedef struct {
    _Atomic int remaining; /* signals to come */
    _Atomic int done;      /* 1 when none are left; the sleeping thread's condition */
    vp__core *core;
} vp__event;

/* What a thread is about to read, beside what its open expressions have captured. */
typedef struct {
    struct vp__storage *storage;
    struct vp__buffer *buffer; /* or NULL */
} vp__pin;
enum { VP__PINS = 8 };

enum { VP__OPEN = 4 }; /* nodes that a thread goes on adding to at a time */

struct vp__core {
    /* What others look at. */
    int index;
    _Atomic bool used; /* some thread owns this record */
    vp__deque deque;
    _Atomic(vp__node *) inbox;
    _Atomic int64_t ahead; /* nanoseconds of work placed here and not finished */
    _Atomic float pace;    /* what its runs took over what they should have; see cost.c */
    /* Likewise of compiling: nodes go elsewhere if they can, but there is nothing to wake
     * anybody for. */
    _Atomic int64_t compiling;
    _Atomic bool busy; /* running a node: something in flight makes progress */
    /* Its thread waits, and runs what is queued here meanwhile, nothing long at the moment. */
    _Atomic bool helping;
    bool insists; /* its worker takes what a helping thread would do itself */
    /* The deque holds short nodes from this position on; before it there may be others. */
    _Atomic int64_t short_from;
    _Atomic int parked; /* futex word: not 0 while its thread sleeps or is about to */
    /* From here on what its thread writes with every instruction: two cache lines away from
     * what idle threads look at all the time. */
    _Alignas(128) _Atomic int call; /* where it is when another one forks; see pause.h */
    _Atomic bool reading; /* its thread reads arrays outside the net; see below */
    /* Another thread that begins to issue captures the first `npins` of these, so that it can
     * write the arrays; `pinned` of them have been. */
    _Atomic int npins;
    int pinned;
    vp__pin pin[VP__PINS];
    void *scratch;       /* for kernels */
    void *plan;          /* for a loop plan made and used at once */
    vp__waiter *signals; /* to deliver; see life.h */
    bool delivering;
    vp__node *ready; /* found ready while delivering, oldest first */
    vp__node **ready_end;
    uint32_t random; /* where to look for work first */
    /* Nodes that its thread goes on adding to; whoever exchanges one for NULL has it. */
    _Atomic(vp__node *) open[VP__OPEN];
    struct vp__issuer *issuer; /* what its thread said so far; made by issue/issuer.c */
    struct vp__holder
        *holder; /* what its names hold unissued: api/held.c; and whether there is */
    _Atomic uint32_t
        unissued;  /* something long, another number each time, or 0: unissued.h */
    uint32_t kept; /* the last of them */
    vp__counters counters;
    /* What its thread waits for, and what it is going to read when that has happened: here
     * and not on its stack, so that signals find it in a child that has not the thread. */
    vp__event event;
    _Atomic(vp__group *) observing;
};

extern vp__core *vp__cores[VP__MAX_CORES];
extern _Atomic int vp__core_count; /* records made so far, used or not */
extern int vp__placeable;          /* cores nodes may be placed on: VP_THREADS */

/* The calling thread's core, made on first use. Without memory for it, or with more threads
 * issuing than there may be records, waits for another thread to end. */
vp__core *vp__core_self(void);
/* The calling thread's core if it has one, else NULL. */
vp__core *vp__core_of_thread(void);
/* Around a fork: nobody gets a core, or makes the first one wait until it is not alone. */
void vp__cores_hold(void);
void vp__cores_let_go(void);
/* The calling thread's core is this one from now on: a worker's. */
void vp__core_take_over(vp__core *c);
/* Makes the records of the cores that nodes are placed on: once, before anything else. */
void vp__cores_init(void);

/* Whether several threads have issued. What runs on the calling thread at once reads arrays
 * without entering their logs: nobody else can write them meanwhile. That holds as long as
 * one thread issues, and stops before a second one gets its core. */
extern _Atomic bool vp__many_issuers;
/* Around what relies on it; the first says whether the thread is alone. */
static inline bool vp__core_alone_begin(vp__core *self) {
    /* relaxed, and only the compiler is held: announce_issuer's barrier orders the two. */
    atomic_store_explicit(&self->reading, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return !atomic_load_explicit(&vp__many_issuers, memory_order_relaxed);
}
static inline void vp__core_alone_end(vp__core *self) {
    /* release pairs with announce_issuer: what was read has been read. */
    atomic_store_explicit(&self->reading, false, memory_order_release);
}
/* The thread's pins are captured by expressions now, or not needed any more. */
void vp__core_unpin(vp__core *self);
/* Says so when a worker begins to issue, in the `release` of borrowed memory. */
void vp__core_issues(void);

/* A barrier in every running thread of the process: at once where that was registered, else
 * the system's, which takes milliseconds. Without any it does nothing. */
void vp__everybody_sees(void);
bool vp__has_barrier(void);

/* Adds one to a counter of one's own core: a plain increment, atomic only so that readers
 * see whole values. */
static inline void vp__count(_Atomic uint64_t *c, uint64_t n) {
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Whether it is one of our workers'. */
static inline bool vp__core_is_worker(const vp__core *c) {
    return c->index > 0 && c->index < vp__placeable;
}

#endif
