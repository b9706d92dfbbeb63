/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads stop for others: for a fork, which needs every other thread outside of our code
 * or at a place where it has nothing in hand, and for the end of the workers.
 *
 * Beginning and ending a call of the interface cost a few instructions without a barrier: the
 * fork has the system put one into every thread (membarrier), the asymmetric form of Dekker's
 * pattern. After it a thread that begins a call sees that a fork waits, or is seen to have begun.
 */
#ifndef VP_NET_PAUSE_H
#define VP_NET_PAUSE_H

#include "net/core.h"

/* Where a thread that issues is: the values of vp__core.call. */
enum {
    VP__OUTSIDE,
    VP__INSIDE,
    VP__PAUSED, /* inside, for as long as a fork takes */
};

/* Not 0: look closer. VP__FORK_WAITS: a thread forks, or is about to. VP__OTHER_WAITS: a thread
 * is about to look at what belongs to another one. */
enum { VP__FORK_WAITS = 1, VP__FORK_NO_BARRIER = 2, VP__OTHER_WAITS = 4 };
extern _Atomic int vp__forking;

/* Lets forks pass that wait, if any; meanwhile the thread is in this state. */
void vp__fork_pass(vp__core *core, int state);

/* Stops all other threads that issue, outside of our code or where they have nothing in hand,
 * and lets them go. Between the two the caller must not wait for anything that pauses. */
void vp__others_stop(vp__core *self);
/* The same unless somebody forks or stops others already. For workers, whom a fork waits for. */
bool vp__others_try_stop(vp__core *self);
void vp__others_let_go(void);

/* Waits until no other thread is inside, but those that see that somebody waits. */
void vp__others_wait(const vp__core *self);

/* Around a fork: who comes to vp__fork_pass meanwhile stays there until they are let go. */
void vp__forks_hold(void);
void vp__forks_let_go(void);

/* Whether a fork waits, or another thread. relaxed: who asks does so again and again. */
static inline bool vp__fork_waits(void) {
    return __builtin_expect(atomic_load_explicit(&vp__forking, memory_order_relaxed) &
                                (VP__FORK_WAITS | VP__OTHER_WAITS),
                            0);
}

/* In a loop that waits for the net, with no lock held and nothing in hand. */
static inline void vp__call_pause(vp__core *core) {
    if (vp__fork_waits()) vp__fork_pass(core, VP__PAUSED);
}

/* Set while a fork or the end asks the workers to return. */
extern _Atomic bool vp__workers_pause;

/* Whether threads that run nodes are asked to return. relaxed: they ask again and again. */
static inline bool vp__must_pause(void) {
    return atomic_load_explicit(&vp__workers_pause, memory_order_relaxed) ||
           vp__fork_waits();
}

#endif
