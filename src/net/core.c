/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose record is whose, and who issues.
 */
#include "net/core.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array/storage.h"
#include "base/config.h"
#include "jit/plan.h"

vp__core *vp__cores[VP__MAX_CORES];
_Atomic int vp__core_count;
int vp__placeable = 1;
_Atomic bool vp__many_issuers;

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* guards new records */
static _Thread_local vp__core *self_core __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

/* A thread that ends gives its record to the next one; what is queued there others steal. */
static void leave(void *core) {
    vp__core *c = core;
    vp__core_unpin(c);
    /* What of the program's own ends after this may call us again: it takes another record. */
    self_core = NULL;
    atomic_store_explicit(&c->used, false, memory_order_release);
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

vp__core *vp__core_of_thread(void) { return self_core; }

static vp__core *core_new(void) {
    int index = atomic_load_explicit(&vp__core_count, memory_order_relaxed);
    if (index >= VP__MAX_CORES) return NULL;
    vp__core *c = aligned_alloc(128, (sizeof *c + 127) / 128 * 128);
    void *scratch = aligned_alloc(64, (vp__exec_scratch_size() + 63) / 64 * 64);
    void *plan = aligned_alloc(64, (vp__plan_size() + 63) / 64 * 64);
    if (!c || !scratch || !plan ||
        (memset(c, 0, sizeof *c), !vp__deque_init(&c->deque, 1024))) {
        free(c);
        free(scratch);
        free(plan);
        return NULL;
    }
    c->index = index;
    c->scratch = scratch;
    c->plan = plan;
    c->ready_end = &c->ready;
    c->random = (uint32_t)index * 2654435761u + 1;
    vp__cores[index] = c;
    /* release: whoever sees the new count sees the record. */
    atomic_store_explicit(&vp__core_count, index + 1, memory_order_release);
    return c;
}

void vp__everybody_sees(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static bool has_barrier; /* set once, by barrier_init */
bool vp__has_barrier(void) { return has_barrier; }

/* A third one that comes meanwhile has to wait as well. */
static pthread_mutex_t announcing = PTHREAD_MUTEX_INITIALIZER;

/* Captures what another thread has noted; with `announcing` held. relaxed: its `reading`,
 * seen false, orders what it noted before this. */
static void pin(vp__core *c) {
    c->pinned = atomic_load_explicit(&c->npins, memory_order_relaxed);
    for (int k = 0; k < c->pinned; k++) {
        vp__storage_capture(c->pin[k].storage);
        if (c->pin[k].buffer) vp__buffer_retain(c->pin[k].buffer);
    }
}

/* Another thread begins to issue: waits until nobody reads arrays in the belief of being the
 * only one. The barrier makes every other thread's next look at vp__many_issuers see it, or
 * its `reading` be seen here (the asymmetric form of Dekker's pattern). */
static void announce_issuer(void) {
    pthread_mutex_lock(&announcing);
    if (!atomic_exchange_explicit(&vp__many_issuers, true, memory_order_seq_cst)) {
        vp__everybody_sees();
        int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
        for (int i = 0; i < count; i++)
            while (atomic_load_explicit(&vp__cores[i]->reading, memory_order_acquire))
                sched_yield();
        for (int i = 0; i < count; i++) pin(vp__cores[i]);
    }
    pthread_mutex_unlock(&announcing);
}

void vp__core_unpin(vp__core *self) {
    const bool alone = vp__core_alone_begin(self);
    if (alone) atomic_store_explicit(&self->npins, 0, memory_order_relaxed);
    vp__core_alone_end(self);
    if (alone) return;
    pthread_mutex_lock(&announcing); /* who announces itself may be about to pin */
    for (int k = 0; k < self->pinned; k++) {
        vp__storage_drop_capture(self->pin[k].storage);
        if (self->pin[k].buffer) vp__buffer_release(self->pin[k].buffer);
    }
    self->pinned = 0;
    atomic_store_explicit(&self->npins, 0, memory_order_relaxed);
    pthread_mutex_unlock(&announcing);
}

void vp__core_issues(void) {
    if (vp__core_is_worker(vp__core_self())) announce_issuer();
}

static void barrier_init(void) {
    /* Where there is no such barrier nobody is ever taken for the only one. */
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    has_barrier = commands >= 0 && commands & MEMBARRIER_CMD_GLOBAL;
    if (!has_barrier)
        atomic_store_explicit(&vp__many_issuers, true, memory_order_relaxed);
    else if (commands & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static void init(void) {
    const vp__config *config = vp__config_get();
    barrier_init();
    vp__placeable = config->sync ? 1 : config->threads;
    if (vp__placeable > VP__MAX_CORES / 2) vp__placeable = VP__MAX_CORES / 2;
    for (int i = 0; i < vp__placeable; i++) {
        vp__core *c = core_new();
        if (!c) {
            vp__placeable = i ? i : 1;
            break;
        }
        /* Core 0 waits for the first calling thread; the others are the workers'. */
        atomic_store_explicit(&c->used, i > 0, memory_order_relaxed);
    }
}

void vp__cores_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}

void vp__core_take_over(vp__core *c) { self_core = c; }

/* A free record for a calling thread: core 0 if it is free, or one beyond the workers'. */
static vp__core *adopt(void) {
    vp__cores_init();
    pthread_once(&leaving_once, make_key);
    pthread_mutex_lock(&making);
    vp__core *c = NULL;
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count && !c; i++)
        if ((i == 0 || i >= vp__placeable) &&
            !atomic_exchange_explicit(&vp__cores[i]->used, true, memory_order_acquire))
            c = vp__cores[i];
    if (!c && (c = core_new()))
        atomic_store_explicit(&c->used, true, memory_order_relaxed);
    pthread_mutex_unlock(&making);
    if (c) pthread_setspecific(leaving, c);
    if (c && c->index != 0) announce_issuer();
    return c;
}

void vp__cores_hold(void) {
    pthread_mutex_lock(&making);
    pthread_mutex_lock(&announcing);
}

void vp__cores_let_go(void) {
    pthread_mutex_unlock(&announcing);
    pthread_mutex_unlock(&making);
}

/* Out of line, so that asking for one's core is a load and a test where it is asked for. */
__attribute__((noinline, cold)) static vp__core *adopt_some(void) {
    while (!(self_core = adopt())) sched_yield();
    return self_core;
}

vp__core *vp__core_self(void) {
    return __builtin_expect(self_core != NULL, 1) ? self_core : adopt_some();
}
