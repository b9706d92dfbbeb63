/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the interface: every function of it says when it begins and when it ends, so that a
 * fork can wait for a moment when nobody is in the middle of anything (see fork.h, pause.h). A
 * thread's first call starts the runtime and takes a core.
 */
#ifndef VP_NET_CALL_H
#define VP_NET_CALL_H

#include "array/storage.h"
#include "net/pause.h"

/* The calling thread's core, at the first call of a thread. */
vp__core *vp__call_first(void);

/* A call of the interface begins; returns what says so. A call within a call (in the
 * `release` of borrowed memory) is part of the outer one and says so where nobody looks. */
extern _Thread_local _Atomic int vp__call_within
    __attribute__((tls_model("initial-exec")));

static inline _Atomic int *vp__call_begin(void) {
    vp__core *core = vp__core_of_thread();
    if (__builtin_expect(!core, 0)) core = vp__call_first();
    /* relaxed: nobody else writes it. */
    if (__builtin_expect(atomic_load_explicit(&core->call, memory_order_relaxed), 0))
        return &vp__call_within;
    atomic_store_explicit(&core->call, VP__INSIDE, memory_order_relaxed);
    /* relaxed, and only the compiler is held: the fork's barrier orders the two. */
    atomic_signal_fence(memory_order_seq_cst);
    /* acquire pairs with vp__others_let_go. */
    if (__builtin_expect(atomic_load_explicit(&vp__forking, memory_order_acquire), 0))
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

/* At the head of a function: it is a call, to its end. Most have VP__CALL of api/track.h. */
#define VP__CALL_ON_TRACK                                                                \
    _Atomic int *const call __attribute__((cleanup(vp__call_end), unused)) =             \
        vp__call_begin()

#endif
