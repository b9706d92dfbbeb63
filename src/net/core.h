/* SPDX-License-Identifier: Apache-2.0
 *
 * Cores: one record for every thread that may run nodes. The first `threads` of them are
 * the sub-devices that nodes place themselves on: core 0 is the first calling thread, which
 * works while it waits, the others are our workers. Further calling threads get records
 * beyond those; they work while they wait but nothing is placed on them.
 *
 * A core has a Chase–Lev deque that its thread owns and others steal from, and an inbox: a
 * Treiber stack anyone pushes to and one thread empties whole. Nobody but the two ends ever
 * touches a queue, and there is no global one.
 */
#ifndef VP_NET_CORE_H
#define VP_NET_CORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "array/access.h"
#include "base/deque.h"

typedef struct vp__node vp__node;
typedef struct vp__core vp__core;

enum { VP__MAX_CORES = 4096, VP__CORE_RECIPES = 32 };

/* What happened, per core, added up when somebody asks. Plain counters of one writer. */
typedef struct {
    _Atomic uint64_t issued, inlined, executed, pieces, steals, split, renamed,
        waited_store, completed, kernels, elements, stored, late_sizes, limit_waits,
        moved, bundled;
} vp__counters;

/* What a thread waits for. */
typedef struct {
    _Atomic int remaining; /* signals to come */
    _Atomic int done;      /* 1 when none are left; the sleeping thread's condition */
    vp__core *core;
} vp__event;

struct vp__core {
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
    _Atomic bool reading; /* its thread reads arrays outside the net; see below */
    _Atomic int parked;   /* futex word: not 0 while its thread sleeps or is about to */
    void *scratch;        /* for kernels */
    void *plan;           /* for a loop plan made and used at once */
    vp__waiter *signals;  /* to deliver; see vp__signals_deliver */
    bool delivering;
    vp__node *ready; /* found ready while delivering, oldest first */
    vp__node **ready_end;
    uint32_t random; /* where to look for work first */
    int recipe_uses; /* how often its thread may use a recipe again */
    uint32_t forms;  /* forms it has seen */
    /* Puts of one form that its thread issued one after the other, by bundle.c. */
    uint32_t streak_form;
    int streak;
    uint64_t streak_at; /* instructions it has issued if no other came after them */
    _Atomic(vp__node *) bundle; /* the open one; whoever exchanges it for NULL has it */
    struct vp__recipe *recipe[VP__CORE_RECIPES]; /* of forms its thread issued */
    vp__counters counters;
    _Atomic int call; /* where its thread is when another one forks; see fork.h */
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
vp__core *vp__core_new(void);
/* The calling thread's core if it has one, else NULL. */
vp__core *vp__core_of_thread(void);
/* Around a fork: nobody gets a core, or makes the first one wait until it is not alone. */
void vp__cores_hold(void);
void vp__cores_let_go(void);

/* Whether several threads have issued. What runs on the calling thread at once reads arrays
 * without entering their logs: nobody else can write them meanwhile. That holds as long as
 * one thread issues, and stops before a second one gets its core. */
extern _Atomic bool vp__many_issuers;
/* Says so when a worker begins to issue, in the `release` of borrowed memory. */
void vp__core_issues(void);
void vp__issuers_init(void); /* once, before anybody issues */

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

/* Whether a node takes no longer than handing it over to another thread. */
bool vp__core_is_short(const vp__node *n);

/* A thread begins to run what it finds because it waits, and does so no more. What is left
 * then others hear of. */
void vp__core_help_begin(vp__core *self);
void vp__core_help_end(vp__core *self);

/* Puts a node, or a ticket for some of its pieces, into the caller's own deque, and wakes
 * nobody. False without memory. */
bool vp__core_queue(vp__core *self, vp__node *n, bool ticket);

/* At the end of what a device has called us for. If its thread is not one of ours in the middle
 * of something, it leaves borrowed memory that is to be given back to one of ours: the device
 * does nothing meanwhile, and what the user does then may wait for it. */
void vp__core_left_by_device(void);
/* The same at the end of a thread, or where nobody is in a call. */
void vp__core_leave_storages(void);

/* Gives a node to a core: its own thread pushes to the deque, others to the inbox. */
void vp__core_push(vp__core *self, int core, vp__node *n);

/* Finds something to run: own deque, own inbox, then everyone else's. NULL if nothing. */
vp__node *vp__core_find(vp__core *self);

/* Wakes a sleeping worker if the unstarted work on its core, or on ours, is worth a wake. */
void vp__core_wake_if_worth(vp__core *self, int core);
void vp__core_wake(vp__core *c);

/* Sleeps until woken or `timeout_ns` passed (< 0: no limit), unless `done` is already set. */
void vp__core_sleep(vp__core *self, const _Atomic int *done, int64_t timeout_ns);

/* The worker threads: started with the first node that is not run inline. */
void vp__workers_start(void);
void vp__workers_stop(void); /* joins them; nodes left stay queued */
void vp__workers_end(void);  /* the same for good: nobody starts them again */
/* The same, and nobody starts them again until they are let go: around a fork, since another
 * thread that was starting them then would leave the child a lock that nobody holds. */
void vp__workers_hold(void);
void vp__workers_let_go(void);
extern _Atomic bool
    vp__workers_pause; /* set while a fork or the end asks them to return */

#endif
