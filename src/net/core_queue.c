/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, stealing and sleeping.
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
#include "net/core_queue.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "net/pause.h"
#include "net/tuning.h"
#include "trace/trace.h"

/* Values of `parked`. */
enum { AWAKE, NAPPING, ASLEEP };

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
void vp__core_wake_all(void) {
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
    if (vp__storages_leave()) vp__core_wake_all();
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
    if (how == ASLEEP && !vp__has_barrier()) timeout_ns = 50000000;
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
