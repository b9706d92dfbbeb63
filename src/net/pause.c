/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pause.h"

#include <pthread.h>
#include <sched.h>

#include "array/storage.h"

_Atomic int vp__forking;
_Atomic bool vp__workers_pause;

/* Held for as long as a fork takes; others wait for the end of it by taking it. */
static pthread_mutex_t passing = PTHREAD_MUTEX_INITIALIZER;

void vp__forks_hold(void) { pthread_mutex_lock(&passing); }
void vp__forks_let_go(void) { pthread_mutex_unlock(&passing); }

__attribute__((noinline, cold)) void vp__fork_pass(vp__core *core, int state) {
    /* A `release` of the user's that issues: a fork waits for the worker that runs it. */
    if (vp__core_is_worker(core)) return;
    /* relaxed: our own. */
    const int back = atomic_load_explicit(&core->call, memory_order_relaxed);
    /* The barrier of our own, where the system has none. */
    atomic_thread_fence(memory_order_seq_cst);
    while (vp__fork_waits()) {
        /* In the child nobody would find what a wait has set free. */
        if (state == VP__PAUSED) vp__storages_leave();
        /* release pairs with vp__others_wait: what we did is done. */
        atomic_store_explicit(&core->call, state, memory_order_release);
        pthread_mutex_lock(&passing);
        pthread_mutex_unlock(&passing);
        /* relaxed, and the fence before we look again: as in vp__call_begin. */
        atomic_store_explicit(&core->call, back, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static bool is_in_the_way(const vp__core *c) {
    /* acquire pairs with the release of whoever leaves or pauses. */
    return atomic_load_explicit(&c->call, memory_order_acquire) == VP__INSIDE;
}

/* Records that are made meanwhile belong to threads that will see us. */
void vp__others_wait(const vp__core *self) {
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        while (vp__cores[i] != self && is_in_the_way(vp__cores[i])) sched_yield();
}

/* With `passing` held. */
static void stop(const vp__core *self) {
    /* seq_cst, and the barrier: see pause.h. */
    atomic_fetch_or_explicit(&vp__forking, VP__OTHER_WAITS, memory_order_seq_cst);
    vp__everybody_sees();
    vp__others_wait(self);
}

void vp__others_stop(vp__core *self) {
    const int back = atomic_load_explicit(&self->call, memory_order_relaxed);
    /* release, as in vp__fork_pass: a fork, or another one like us, need not wait for us. */
    atomic_store_explicit(&self->call, VP__PAUSED, memory_order_release);
    pthread_mutex_lock(&passing);
    atomic_store_explicit(&self->call, back, memory_order_relaxed);
    stop(self);
}

bool vp__others_try_stop(vp__core *self) {
    if (!vp__has_barrier() || pthread_mutex_trylock(&passing)) return false;
    stop(self);
    return true;
}

void vp__others_let_go(void) {
    /* release pairs with the acquire in vp__call_begin: what was done in their place. */
    atomic_fetch_and_explicit(&vp__forking, ~VP__OTHER_WAITS, memory_order_release);
    pthread_mutex_unlock(&passing);
}
