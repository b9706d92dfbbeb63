/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pause.h"

#include <pthread.h>

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
        /* release pairs with wait_for_others: what we did is done. */
        atomic_store_explicit(&core->call, state, memory_order_release);
        pthread_mutex_lock(&passing);
        pthread_mutex_unlock(&passing);
        /* relaxed, and the fence before we look again: as in vp__call_begin. */
        atomic_store_explicit(&core->call, back, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
}
