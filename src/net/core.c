/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, stealing, sleeping and the worker threads.
 *
 * Sleeping: a thread sets `parked`, looks for work once more, and sleeps on that word.
 * Whoever pushes work looks at `parked` after pushing, and pays for a wake only when the work
 * waiting there is worth it. Both are sequentially consistent where the work goes into
 * another's inbox, so that one of the two sees the other. A push to one's own deque is not,
 * so that a nap may miss it; what is not worth a wake is not lost either: a worker that has
 * run out naps for a millisecond at a time, and only then sleeps for good. Before that it has
 * the system put a barrier into every thread (the asymmetric form of Dekker's pattern), and it
 * is woken whatever the work is.
 */
#include "net/core.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "array/pool.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/spin.h"
#include "jit/exec.h"
#include "net/bundle.h"
#include "net/net.h"
#include "net/recipe.h"
#include "net/tuning.h"
#include "trace/trace.h"

vp__core *vp__cores[VP__MAX_CORES];
_Atomic int vp__core_count;
int vp__placeable = 1;
_Atomic bool vp__workers_pause;
_Atomic bool vp__many_issuers;

/* Values of `parked`. */
enum { AWAKE, NAPPING, ASLEEP };

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* guards new records */
static _Thread_local vp__core *self_core __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

/* A thread that ends gives its record to the next one; what is queued there others steal. */
static void leave(void *core) {
    vp__core *c = core;
    /* What of the program's own ends after this may call us again: it takes another record. */
    self_core = NULL;
    atomic_store_explicit(&c->used, false, memory_order_release);
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

vp__core *vp__core_of_thread(void) { return self_core; }

vp__core *vp__core_new(void) {
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
    c->recipe_uses = vp__recipe_most_uses();
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

static bool has_barrier; /* set once, by vp__issuers_init */
bool vp__has_barrier(void) { return has_barrier; }

/* A third one that comes meanwhile has to wait as well. */
static pthread_mutex_t announcing = PTHREAD_MUTEX_INITIALIZER;

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
    }
    pthread_mutex_unlock(&announcing);
}

void vp__core_issues(void) {
    if (vp__core_is_worker(vp__core_self())) announce_issuer();
}

void vp__issuers_init(void) {
    /* Where there is no such barrier nobody is ever taken for the only one. */
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    has_barrier = commands >= 0 && commands & MEMBARRIER_CMD_GLOBAL;
    if (!has_barrier)
        atomic_store_explicit(&vp__many_issuers, true, memory_order_relaxed);
    else if (commands & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

/* A free record for a calling thread: core 0 if it is free, or one beyond the workers'. */
static vp__core *adopt(void) {
    vp__net_init();
    pthread_once(&leaving_once, make_key);
    pthread_mutex_lock(&making);
    vp__core *c = NULL;
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count && !c; i++)
        if ((i == 0 || i >= vp__placeable) &&
            !atomic_exchange_explicit(&vp__cores[i]->used, true, memory_order_acquire))
            c = vp__cores[i];
    if (!c && (c = vp__core_new()))
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

void vp__core_wake(vp__core *c) {
    /* seq_cst pairs with vp__core_sleep: we pushed (or set done) before we look, it parks
     * before it looks. */
    if (atomic_load_explicit(&c->parked, memory_order_seq_cst) &&
        atomic_exchange_explicit(&c->parked, AWAKE, memory_order_seq_cst))
        syscall(SYS_futex, &c->parked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool vp__core_is_short(const vp__node *n) {
    return n->cost > 0 && n->cost < (float)vp__tuning.share_ns;
}

/* Whether all that is in the deque is so short that others who took some would cost whoever is
 * at it more than they do. relaxed: a hint to all but the owner. */
static bool is_all_short(const vp__core *c) {
    return atomic_load_explicit(&c->short_from, memory_order_relaxed) <=
           vp__deque_top(&c->deque);
}

/* Whether it is best left to a thread that waits and does it. */
static bool is_minded(vp__core *c) {
    /* seq_cst, like its end, which comes before the look at `parked`; the rest are hints. */
    return atomic_load_explicit(&c->helping, memory_order_seq_cst) &&
           !atomic_load_explicit(&c->inbox, memory_order_relaxed) && is_all_short(c);
}

/* Whether it leaves such nodes alone. Only idle workers do, and only for a while: of two that
 * wait neither may rely on the other, and one that waits may run a `release` of the user's. */
static bool is_patient(vp__core *self) {
    return vp__core_is_worker(self) && !self->insists &&
           !atomic_load_explicit(&self->helping, memory_order_relaxed);
}

static bool has_work(vp__core *c) {
    return vp__deque_size(&c->deque) > 0 ||
           atomic_load_explicit(&c->inbox, memory_order_seq_cst) != NULL;
}

void vp__core_help_begin(vp__core *self) {
    /* relaxed: only its end has to be seen in time. */
    atomic_store_explicit(&self->helping, true, memory_order_relaxed);
}

void vp__core_help_end(vp__core *self) {
    /* Of anything longer the others have heard when it came. */
    const bool kept = is_all_short(self);
    /* seq_cst: a worker that sleeps because of it sees that it is over, or is seen here. */
    atomic_store_explicit(&self->helping, false, memory_order_seq_cst);
    if (kept && has_work(self)) vp__core_wake_if_worth(self, self->index);
}

bool vp__core_queue(vp__core *self, vp__node *n, bool ticket) {
    const bool is_short = !ticket && vp__core_is_short(n);
    /* Written by this thread alone, and seldom; relaxed, because pushing publishes it. */
    const int64_t at = vp__deque_bottom(&self->deque);
    const int64_t from = atomic_load_explicit(&self->short_from, memory_order_relaxed);
    if (!is_short)
        atomic_store_explicit(&self->short_from, at + 1, memory_order_relaxed);
    else if (from > at) /* those before it have been popped */
        atomic_store_explicit(&self->short_from, at, memory_order_relaxed);
    return vp__deque_push(&self->deque, n);
}

/* Whoever sleeps looks at what was left; one of them alone may be within a `release` and have
 * no time for it. Seldom. */
static void wake_all(void) {
    for (int i = 1; i < vp__placeable; i++)
        if (atomic_load_explicit(&vp__cores[i]->parked, memory_order_seq_cst))
            vp__core_wake(vp__cores[i]);
}

void vp__core_left_by_device(void) {
    const vp__core *self = vp__core_self();
    /* relaxed: our own. */
    if (atomic_load_explicit(&self->busy, memory_order_relaxed) ||
        atomic_load_explicit(&self->call, memory_order_relaxed))
        return;
    if (vp__storages_leave()) wake_all();
}

void vp__core_leave_storages(void) {
    if (!vp__storages_leave() || vp__placeable == 1) return;
    vp__workers_start();
    wake_all();
}

void vp__core_wake_if_worth(vp__core *self, int core) {
    vp__core *c = vp__cores[core];
    bool worth =
        atomic_load_explicit(&c->ahead, memory_order_relaxed) >= vp__tuning.wake_ns;
    if (c != self) {
        int parked = atomic_load_explicit(&c->parked, memory_order_seq_cst);
        if (parked == ASLEEP || (parked && worth)) vp__core_wake(c);
        return;
    }
    if (is_minded(c)) return;
    for (int i = 1; i < vp__placeable; i++) {
        int parked = atomic_load_explicit(&vp__cores[i]->parked, memory_order_seq_cst);
        if (parked == ASLEEP || (parked && worth)) {
            vp__core_wake(vp__cores[i]);
            return;
        }
    }
}

void vp__core_push(vp__core *self, int core, vp__node *n) {
    vp__core *c = vp__cores[core];
    if (c == self && vp__core_queue(self, n, false)) {
        vp__core_wake_if_worth(self, core);
        return;
    }
    n->next = atomic_load_explicit(&c->inbox, memory_order_relaxed);
    /* release publishes the node; seq_cst orders the push before the look at `parked`. */
    while (!atomic_compare_exchange_weak_explicit(
        &c->inbox, &n->next, n, memory_order_seq_cst, memory_order_relaxed)) {}
    vp__core_wake_if_worth(self, core);
}

/* Empties an inbox into our deque and returns the oldest of it. The list is newest first,
 * so that the owner pops the oldest next and thieves take the newest. */
static vp__node *take_inbox(vp__core *self, vp__core *from) {
    if (!atomic_load_explicit(&from->inbox, memory_order_relaxed)) return NULL;
    vp__node *n = atomic_exchange_explicit(&from->inbox, NULL, memory_order_acquire);
    if (!n) return NULL;
    while (n->next) {
        vp__node *next = n->next;
        if (!vp__core_queue(self, n, false)) {
            /* No memory to grow: put the rest back where it came from, one by one. */
            vp__core_push(
                self, from == self ? (self->index + 1) % vp__placeable : from->index, n);
        }
        n = next;
    }
    return n;
}

static vp__node *steal_from(vp__core *self, vp__core *victim) {
    vp__node *n = vp__deque_steal(&victim->deque);
    if (!n) n = take_inbox(self, victim);
    if (n) {
        vp__count(&self->counters.steals, 1);
        vp__trace(VP__TR_STEAL, n->id, NULL, (uint64_t)victim->index);
    }
    return n;
}

/* Whether no thread works on what is queued there. */
static bool is_orphan(const vp__core *c) {
    return !vp__core_is_worker(c) &&
           !atomic_load_explicit(&c->used, memory_order_relaxed);
}

/* Whether a thread takes what is queued elsewhere. A caller that waits always does, or two
 * that wait for each other's queues would wait for good; and from a record without a thread
 * there is always something to take over. */
static bool may_take(vp__core *self, vp__core *from, bool patient) {
    if (patient && is_minded(from)) return false;
    return !(vp__config_get()->without & VP__WITHOUT_STEALING) || is_orphan(from) ||
           !vp__core_is_worker(self) ||
           atomic_load_explicit(&self->helping, memory_order_relaxed);
}

vp__node *vp__core_find(vp__core *self) {
    vp__node *n = vp__deque_pop(&self->deque);
    if (n || (n = take_inbox(self, self))) return n;
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    self->random = self->random * 1664525u + 1013904223u;
    int first = (int)((self->random >> 8) % (uint32_t)count);
    const bool patient = is_patient(self);
    for (int i = 0; i < count; i++) {
        vp__core *victim = vp__cores[(first + i) % count];
        if (victim != self && may_take(self, victim, patient) &&
            (n = steal_from(self, victim)))
            return n;
    }
    return NULL;
}

void vp__core_sleep(vp__core *self, const _Atomic int *done, int64_t timeout_ns) {
    const bool patient = is_patient(self);
    int how = timeout_ns < 0 ? ASLEEP : NAPPING;
    atomic_store_explicit(&self->parked, how, memory_order_seq_cst);
    if (how == ASLEEP) vp__everybody_sees();
    if (how == ASLEEP && !has_barrier) timeout_ns = 50000000;
    /* seq_cst, like the stores of both: who wakes us has set them before it looked at
     * `parked`, and we look at them after setting that. */
    bool stay = atomic_load_explicit(&vp__workers_pause, memory_order_seq_cst) ||
                (done && atomic_load_explicit(done, memory_order_seq_cst)) ||
                (how == ASLEEP && vp__storages_are_left());
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count && !stay; i++) {
        vp__core *c = vp__cores[i];
        stay = has_work(c) && (c == self || may_take(self, c, patient));
    }
    if (!stay) {
        struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
        syscall(SYS_futex, &self->parked, FUTEX_WAIT_PRIVATE, how,
                timeout_ns < 0 ? NULL : &t, NULL, 0);
    }
    atomic_store_explicit(&self->parked, AWAKE, memory_order_relaxed);
}

static pthread_t threads[VP__MAX_CORES / 2];
static int thread_count;
static _Atomic bool workers_started;
static pthread_mutex_t starting =
    PTHREAD_MUTEX_INITIALIZER; /* guards starting, stopping */

static void *worker(void *arg) {
    vp__core *self = arg;
    self_core = self;
    char name[32];
    snprintf(name, sizeof name, "vproc worker %d", self->index);
    vp__trace_thread(name);
    uint64_t idle_since = 0;
    int naps = 0;
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
            for (int i = 0; i < 16; i++) vp__spin_pause();
            continue;
        }
        /* What issuers still gather is not worth waking anybody for, but done before that. */
        if ((n = vp__bundle_take(self))) {
            vp__node_run(self, n);
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
