/* SPDX-License-Identifier: Apache-2.0 */
#include "net/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/spin.h"
#include "net/open.h"
#include "net/pause.h"
#include "net/run.h"
#include "net/tuning.h"
#include "net/unissued.h"
#include "trace/trace.h"

static pthread_t threads[VP__MAX_CORES / 2];
static int thread_count;
static _Atomic bool workers_started;
static pthread_mutex_t starting =
    PTHREAD_MUTEX_INITIALIZER; /* guards starting, stopping */

static void pause_a_little(void) {
    for (int i = 0; i < 16; i++) vp__spin_pause();
}

static void *worker(void *arg) {
    vp__core *self = arg;
    vp__core_take_over(self);
    char name[32];
    snprintf(name, sizeof name, "vproc worker %d", self->index);
    vp__trace_thread(name);
    uint64_t idle_since = 0;
    int naps = 0;
    vp__unissued_look look = {0, 0};
    while (!atomic_load_explicit(&vp__workers_pause, memory_order_acquire)) {
        if (vp__storages_are_owed()) vp__storages_give_back(true);
        vp__node *n = vp__core_find(self);
        if (n) {
            vp__node_run(self, n);
            idle_since = 0;
            naps = 0;
            self->insists = false;
            continue;
        }
        uint64_t now = vp__clock_ticks();
        if (!idle_since) idle_since = now;
        if (naps == 0 && vp__clock_ns(now - idle_since) < (uint64_t)vp__tuning.spin_ns) {
            pause_a_little();
            continue;
        }
        /* What issuers still gather is not worth waking anybody for, but done before that. */
        bool waits;
        if ((n = vp__open_take(self, &waits))) {
            if (waits)
                vp__open_release(self, n);
            else
                vp__node_run(self, n);
            continue;
        }
        if (vp__unissued_watch(self, &look)) {
            pause_a_little();
            continue;
        }
        vp__core_sleep(self, NULL, naps < vp__tuning.naps ? 1000000 : -1);
        if (naps < vp__tuning.naps) naps++;
        self->insists = naps > 0;
    }
    vp__storages_leave(); /* to who comes after the fork; at the process's end to nobody */
    return NULL;
}

void vp__workers_start(void) {
    if (atomic_load_explicit(&workers_started, memory_order_acquire)) return;
    pthread_mutex_lock(&starting);
    if (!atomic_load_explicit(&workers_started, memory_order_relaxed)) {
        atomic_store_explicit(&vp__workers_pause, false, memory_order_release);
        thread_count = 0;
        for (int i = 1; i < vp__placeable; i++) {
            if (pthread_create(&threads[thread_count], NULL, worker, vp__cores[i])) {
                fprintf(stderr,
                        "vproc: only %d of %d worker threads could be started: %s\n",
                        thread_count, vp__placeable - 1, strerror(errno));
                break;
            }
            thread_count++;
        }
        atomic_store_explicit(&workers_started, true, memory_order_release);
    }
    pthread_mutex_unlock(&starting);
}

void vp__workers_hold(void) {
    pthread_mutex_lock(&starting);
    if (atomic_load_explicit(&workers_started, memory_order_relaxed)) {
        atomic_store_explicit(&vp__workers_pause, true, memory_order_seq_cst);
        for (int i = 0; i < thread_count; i++) {
            vp__core_wake(vp__cores[i + 1]);
            pthread_join(threads[i], NULL);
        }
        thread_count = 0;
        atomic_store_explicit(&vp__workers_pause, false, memory_order_release);
        atomic_store_explicit(&workers_started, false, memory_order_release);
    }
}

void vp__workers_let_go(void) { pthread_mutex_unlock(&starting); }

void vp__workers_stop(void) {
    vp__workers_hold();
    vp__workers_let_go();
}

void vp__workers_end(void) {
    vp__workers_hold();
    atomic_store_explicit(&workers_started, true, memory_order_release); /* no more */
    vp__workers_let_go();
}

void vp__workers_take_storages(void) {
    if (!vp__storages_leave() || vp__placeable == 1) return;
    vp__workers_start();
    vp__core_wake_all();
}
