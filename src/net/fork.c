/* SPDX-License-Identifier: Apache-2.0
 *
 * The handlers of fork. Before it, in this order: no thread begins a call any more, and
 * those that are in one end it or pause; workers stop at the end of a piece and are joined;
 * nobody makes core records. So the child inherits a net that nobody is working on, and both
 * sides start workers of their own again. The handlers of those below us (the pool, native
 * code, Fourier transforms, the trace) were registered before and so run after ours: their
 * locks are taken when nobody of ours wants them any more.
 */
#include "net/fork.h"

#include <pthread.h>

#include "net/pause.h"
#include "net/wait.h"
#include "net/workers.h"

static void before_fork(void) {
    vp__storages_hold();
    vp__forks_hold();
    /* seq_cst, and the barrier: see pause.h. */
    atomic_fetch_or_explicit(&vp__forking, VP__FORK_WAITS, memory_order_seq_cst);
    vp__everybody_sees();
    vp__others_wait(vp__core_of_thread());
    vp__workers_hold();
    vp__cores_hold();
}

/* Work may be queued already, and memory be left; with workers gone both would wait for the
 * next caller. */
static void after_fork(void) {
    vp__storages_let_go();
    vp__cores_let_go();
    vp__workers_let_go();
    if (vp__rounds_open(&vp__nodes_in_flight) > 0 || vp__storages_are_left())
        vp__workers_start();
    /* release: whoever sees that it is over sees the workers' state. */
    atomic_fetch_and_explicit(&vp__forking, ~VP__FORK_WAITS, memory_order_release);
    vp__forks_let_go();
}

/* The record of a thread that is not there any more. relaxed: the child has one thread. */
static void bury(vp__core *c) {
    atomic_store_explicit(&c->reading, false, memory_order_relaxed);
    atomic_store_explicit(&c->busy, false, memory_order_relaxed);
    atomic_store_explicit(&c->helping, false, memory_order_relaxed);
    atomic_store_explicit(&c->parked, 0, memory_order_relaxed);
    /* The next thread may have its record, unless signals may still come for the event it
     * was waiting for. */
    if (atomic_load_explicit(&c->call, memory_order_relaxed) == VP__OUTSIDE &&
        (c->index == 0 || c->index >= vp__placeable))
        atomic_store_explicit(&c->used, false, memory_order_relaxed);
}

static void in_child(void) {
    const vp__core *self = vp__core_of_thread();
    int count = atomic_load_explicit(&vp__core_count, memory_order_relaxed);
    for (int i = 0; i < count; i++)
        if (vp__cores[i] != self) bury(vp__cores[i]);
    vp__storages_forget();
    after_fork();
    /* What those threads were going to read nobody reads. Only now, since this may make nodes
     * ready, and a thread without a record takes one for it. */
    for (int i = 0; i < count; i++) {
        vp__group *group = atomic_exchange_explicit(&vp__cores[i]->observing, NULL,
                                                    memory_order_relaxed); /* as above */
        if (group) vp__observe_end(group);
    }
    /* Not of a call: nobody would give back what that was the last to use. */
    vp__workers_take_storages();
}

void vp__fork_init(void) {
    /* Where there is no barrier everybody looks closer, with one of their own. */
    if (!vp__has_barrier())
        atomic_fetch_or_explicit(&vp__forking, VP__FORK_NO_BARRIER, memory_order_relaxed);
    pthread_atfork(before_fork, after_fork, in_child);
}
