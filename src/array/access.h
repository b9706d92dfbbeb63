/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of accesses to one storage. Every read and write of a node enters the log of
 * its storage in program order and learns which earlier ones it must wait for. Accesses
 * that do not conflict form a group; a later access that conflicts with a group waits until
 * the whole group is done. So a loop that walks an array joins one group at constant cost
 * per iteration, whatever its length: the group keeps the hull of its regions, and the next
 * region lies beside the hull.
 *
 * What must stay true:
 *  - An access waits only for groups entered before it, so waiting is acyclic. A group that
 *    an access waits for is sealed: a later access that joined it could depend on the waiter.
 *  - Entering happens under the storage's lock, finishing needs none: `pending` counts
 *    unfinished members plus one while the group is open, waiters hang on a Treiber stack
 *    (R. K. Treiber, "Systems programming: coping with parallelism", 1986) that the one who
 *    brings `pending` to zero takes whole and closes. Nodes are pushed once and taken all
 *    together, so the ABA problem does not arise.
 */
#ifndef VP_ARRAY_ACCESS_H
#define VP_ARRAY_ACCESS_H

#include <stdatomic.h>

#include "array/region.h"

/* A waiter: `who` waits for one signal; `what` is its own code for the signal. */
typedef struct vp__waiter {
    struct vp__waiter *next;
    void *who;
    int what;
    bool embedded; /* lives in the record of who waits, not freed alone */
} vp__waiter;

vp__waiter *vp__waiter_new(void *who, int what);
void vp__waiter_free(vp__waiter *w);

/* A stack of waiters that closes once. */
typedef _Atomic(vp__waiter *) vp__waitlist;
/* False when the list has closed: then the signal has happened, and what the signaller
 * wrote before closing is visible. */
bool vp__waitlist_push(vp__waitlist *list, vp__waiter *w);
/* Closes the list and returns who waited; nobody when it was closed already. */
vp__waiter *vp__waitlist_close(vp__waitlist *list);
bool vp__waitlist_is_closed(vp__waitlist *list);

typedef struct vp__group {
    _Atomic int64_t pending; /* unfinished accesses, + 1 while open */
    vp__waitlist waiters;
    _Atomic int owners;       /* the log while listed, the members while unfinished */
    bool embedded;            /* lives in its storage, not freed alone */
    bool open;                /* may be joined; guarded by the log's lock, as all below */
    bool last;                /* when it is over, so are all older ones */
    vp__region reads, writes; /* hulls */
    struct vp__group *older;
} vp__group;

typedef struct {
    vp__group *newest;
    _Atomic int live; /* groups listed; changed under the lock, read without it too */
    uint64_t
        sequence;    /* the next access's number; from 1, since 0 is before all of them */
    vp__group first; /* saves an allocation for nearly every storage */
    bool first_used;
} vp__log;

/* Everything below needs the lock that guards the log, unless it says otherwise. */

/* Enters an access. For each group it must wait for, a waiter (who, what) is attached and
 * counted in *waits; the count may be signalled before this returns. Returns the group to
 * finish when the access is over, or NULL without memory (nothing entered).
 * A node that reads several regions of one storage enters them as one access: of two accesses
 * the second might have to wait for the group that the first has joined. */
vp__group *vp__log_enter(vp__log *log, bool write, const vp__region *region, void *who,
                         int what, int *waits);

/* As vp__log_enter; `own`, unless NULL, is memory of the caller that the first waiter is put
 * into, to be left alone until that has been signalled. */
vp__group *vp__log_enter_own(vp__log *log, bool write, const vp__region *region,
                             void *who, int what, vp__waiter *own, int *waits);

/* Enters a read that may be over before what it waits for is: in the child after a fork the
 * thread that read is gone. So no later access relies on this read: it is never a barrier. */
vp__group *vp__log_observe(vp__log *log, const vp__region *region, void *who, int what,
                           int *waits);

/* Enters an access only if it need not wait for anything; else returns NULL. */
vp__group *vp__log_try(vp__log *log, bool write, const vp__region *region);

/* The groups an access would have to wait for now: lists at most `most` of them, and returns
 * how many there are. */
int vp__log_blockers(vp__log *log, bool write, const vp__region *region, vp__group **list,
                     int most);

/* Widens an unfinished access, which is in group g, by a region, as if that had been entered
 * on its own. False, and nothing done, when its group is sealed, when the region conflicts with
 * other members of it, or when it would have to wait for any group but the `blockers` that the
 * access waits for already. */
bool vp__log_extend(vp__log *log, vp__group *g, bool write, const vp__region *region,
                    vp__group *const *blockers, int nblockers);

/* Whether an access would have to wait now. */
bool vp__log_conflicts(vp__log *log, bool write, const vp__region *region);

/* Whether reads are pending on this region: what a write would have to wait for beyond
 * earlier writes. */
bool vp__log_has_readers(vp__log *log, const vp__region *region);

/* Whether any access is unfinished. */
bool vp__log_is_busy(vp__log *log);

/* Whether nothing is listed: then every access entered so far is over. Needs no lock.
 * acquire pairs with the release in prune, whose thread saw the last of them finish. */
static inline bool vp__log_is_empty(vp__log *log) {
    return atomic_load_explicit(&log->live, memory_order_acquire) == 0;
}

void vp__log_init(vp__log *log);

/* Enters a write of everything as the first access of all, to a storage nobody else knows. */
vp__group *vp__log_begin(vp__log *log);

/* Releases the log's groups; every access must have finished. */
void vp__log_deinit(vp__log *log);

/* Ends one access, without the lock. Returns the waiters to signal when it was the group's
 * last. */
vp__waiter *vp__access_finish(vp__group *group);

#endif
