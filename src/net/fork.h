/* SPDX-License-Identifier: Apache-2.0
 *
 * fork, while other threads of the program issue.
 *
 * The child has one thread: the one that forked. What another one was in the middle of, with
 * a lock of an array held, a bundle in hand or a node half run, nobody in the child would
 * ever end. So every function of the interface says when it begins and when it ends, and a
 * fork waits until each other thread that issues is outside of them all, or inside of one at
 * a place where it only waits for the net, holds no lock and has nothing in hand: there it
 * stops until the fork is over. Nobody waits for a result meanwhile, and a node of many
 * pieces is left after the next one, so a fork takes as long as the longest of the pieces
 * and of the copies to the user that are under way.
 *
 * What a child may rely on:
 *  - All arrays, the forking thread's and those of others, can be read, written and dropped.
 *    Each other thread's part of the program ends between two of its instructions; what it
 *    had issued by then, parent and child complete each for itself.
 *  - The child can issue, wait, start threads that do, fork, and exit.
 *  - A call that waits in another thread never returns in the child, and nobody waits for
 *    it: an array it was going to read may be written at once.
 *  - What other threads held without a name, open expressions and mapped arrays, stays as it
 *    was when it was captured, and its memory goes with the child.
 * What the program has of its own, locks above all, is its own business, as ever with fork.
 * So are a thread that is just making the first call of all, and the `release` of borrowed
 * memory: it must not fork, nor wait for a thread that does.
 *
 * Beginning and ending cost a few instructions without a barrier: the fork has the system
 * put one into every thread (membarrier), the asymmetric form of Dekker's pattern. After it
 * a thread that begins a call sees that a fork waits, or is seen to have begun.
 */
#ifndef VP_NET_FORK_H
#define VP_NET_FORK_H

#include "array/storage.h"
#include "net/core.h"

/* Where a thread that issues is: the values of vp__core.call. */
enum {
    VP__OUTSIDE,
    VP__INSIDE,
    VP__PAUSED, /* inside, for as long as a fork takes */
};

/* Not 0: look closer. VP__FORK_WAITS: a thread forks, or is about to. */
enum { VP__FORK_WAITS = 1, VP__FORK_NO_BARRIER = 2 };
extern _Atomic int vp__forking;

/* The handlers of fork; with them registered, forks are looked after. */
void vp__fork_init(void);

/* Lets forks pass that wait, if any; meanwhile the thread is in this state. */
void vp__fork_pass(vp__core *core, int state);

/* A call of the interface begins; returns what says so. A call within a call (in the
 * `release` of borrowed memory) is part of the outer one and says so where nobody looks. */
extern _Thread_local _Atomic int vp__call_within
    __attribute__((tls_model("initial-exec")));

static inline _Atomic int *vp__call_begin(void) {
    vp__core *core = vp__core_self();
    /* relaxed: nobody else writes it. */
    if (__builtin_expect(atomic_load_explicit(&core->call, memory_order_relaxed), 0))
        return &vp__call_within;
    atomic_store_explicit(&core->call, VP__INSIDE, memory_order_relaxed);
    /* relaxed, and only the compiler is held: the fork's barrier orders the two. */
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&vp__forking, memory_order_relaxed), 0))
        vp__fork_pass(core, VP__OUTSIDE);
    return &core->call;
}

/* Gives borrowed memory back, unless the call is within another. */
void vp__call_give_back(const _Atomic int *call);

static inline void vp__call_end(_Atomic int *const *call) {
    if (vp__storages_are_owed()) vp__call_give_back(*call);
    /* release pairs with the acquire of a fork: what the call did is done. */
    atomic_store_explicit(*call, VP__OUTSIDE, memory_order_release);
}

/* At the head of a function: it is a call, to its end. */
#define VP__CALL                                                                         \
    _Atomic int *const call __attribute__((cleanup(vp__call_end), unused)) =             \
        vp__call_begin()

/* Whether a fork waits. relaxed: who asks does so again and again. */
static inline bool vp__fork_waits(void) {
    return __builtin_expect(
        atomic_load_explicit(&vp__forking, memory_order_relaxed) & VP__FORK_WAITS, 0);
}

/* In a loop that waits for the net, with no lock held and nothing in hand. */
static inline void vp__call_pause(vp__core *core) {
    if (vp__fork_waits()) vp__fork_pass(core, VP__PAUSED);
}

#endif
