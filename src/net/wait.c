/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting. A caller that must wait works: it runs whatever is ready, here or stolen, until
 * what it waits for has happened, and sleeps only when there is nothing to run.
 */
#include "net/wait.h"

#include <sched.h>

#include "array/pool.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/spin.h"
#include "net/core_queue.h"
#include "net/entry.h"
#include "net/life.h"
#include "net/pause.h"
#include "net/run.h"
#include "net/tuning.h"
#include "trace/trace.h"

enum { SPIN_NS = 20000, NAP_NS = 200000, IDLE_NS = 2000000 };

/* Runs something; false if there was nothing. The oldest of what is queued here first: it is
 * what those who wait mostly wait for. */
static bool help(vp__core *core) {
    vp__node *n = vp__deque_steal(&core->deque);
    if (!n) n = vp__core_find(core);
    bool waits = false;
    if (!n) n = vp__open_take(core, &waits);
    if (!n) return false;
    if (waits)
        vp__open_submit(core, n);
    else
        vp__node_run(core, n);
    return true;
}

static void wait_event(vp__event *e) {
    vp__core *core = e->core;
    vp__trace(VP__TR_WAIT_BEGIN, 0, "wait", 0);
    vp__core_help_begin(core);
    uint64_t idle_since = 0;
    /* acquire pairs with the release (seq_cst store) of whoever fires the event. */
    while (!atomic_load_explicit(&e->done, memory_order_acquire)) {
        vp__call_pause(core);
        if (help(core)) {
            idle_since = 0;
            continue;
        }
        uint64_t now = vp__clock_ticks();
        if (!idle_since) idle_since = now;
        if (vp__clock_ns(now - idle_since) < SPIN_NS)
            vp__spin_pause();
        else
            vp__core_sleep(core, &e->done, NAP_NS);
    }
    vp__core_help_end(core);
    vp__trace(VP__TR_WAIT_END, 0, "wait", 0);
}

static vp__event *event_new(int remaining) {
    vp__core *core = vp__core_self();
    vp__event *e = &core->event;
    atomic_init(&e->remaining, remaining);
    atomic_init(&e->done, 0);
    e->core = core;
    return e;
}

static bool is_without(unsigned mechanism) {
    return vp__config_get()->without & mechanism;
}

/* Waits for what has been written to a region, and holds it; returns the number of the access,
 * by which failures are looked for. */
static uint64_t wait_and_hold(vp__storage *s, const vp__region *r, vp__group **group) {
    vp__event *e = event_new(VP__ATTACHING);
    vp__core *core = e->core;
    /* relaxed, here and below: others look at it only when this thread is not there. */
    int waits = 0;
    uint64_t sequence = 0;
    for (;;) {
        vp__spin_lock(&s->lock);
        sequence = s->log.sequence;
        *group = vp__log_observe(&s->log, r, e, VP__WAIT_EVENT, &waits);
        vp__spin_unlock(&s->lock);
        if (*group) break;
        vp__pool_trim();
        vp__call_pause(core);
        help(core);
    }
    atomic_store_explicit(&core->observing, *group, memory_order_relaxed);
    /* Drop what attaching held; with nothing left to wait for, done stays unset and unused. */
    int left = atomic_fetch_sub_explicit(&e->remaining, VP__ATTACHING - waits,
                                         memory_order_acq_rel) -
               (VP__ATTACHING - waits);
    if (left > 0) wait_event(e);
    if (!vp__storage_is_on_host(s)) {
        e = event_new(1);
        if (vp__remote_to_host(s, e, VP__WAIT_EVENT)) wait_event(e);
    }
    atomic_store_explicit(&core->observing, NULL, memory_order_relaxed);
    return sequence;
}

static void wait_result(vp__storage *s) {
    vp__region all = vp__region_all();
    vp__group *group;
    wait_and_hold(s, &all, &group);
    vp__observe_end(group);
}

void vp__wait_sized(vp__storage *s) {
    if (vp__storage_is_sized(s)) return;
    if (is_without(VP__WITHOUT_SIZES)) wait_result(s);
    if (vp__storage_is_sized(s)) return;
    vp__event *e = event_new(1);
    vp__waiter *w = vp__waiter_new(e, VP__WAIT_EVENT);
    if (!w) {
        /* No memory even for this: look again and again, working meanwhile. */
        while (!vp__storage_is_sized(s)) {
            vp__call_pause(e->core);
            if (!help(e->core)) vp__spin_pause();
        }
    } else if (vp__waitlist_push(&s->late->sized, w)) {
        wait_event(e);
    } else {
        vp__waiter_free(w);
    }
}

vp__error *vp__observe(vp__storage *s, const vp__region *r, vp__group **group) {
    const uint64_t sequence = wait_and_hold(s, r, group);
    vp__error *error = vp__error_retain(vp__storage_error(s, r, sequence));
    if (__builtin_expect(error != NULL, 0)) vp__storage_look_at(s, r, sequence);
    return error;
}

void vp__observe_end(vp__group *group) {
    vp__core *core = vp__core_self();
    vp__signals_deliver(core, vp__access_finish(group));
    vp__ready_take(core, false);
}

/* Nothing of ours is in hand between two nodes: what is borrowed may be given back then. */
static void give_back(vp__core *core) {
    vp__core_help_end(core);
    vp__storages_give_back(true);
    vp__core_help_begin(core);
}

static void drain(vp__core *core, vp__rounds *of) {
    vp__rounds_wait all = vp__rounds_so_far(of);
    vp__trace(VP__TR_WAIT_BEGIN, 0, "sync", 0);
    vp__core_help_begin(core);
    uint64_t idle_since = 0;
    while (!vp__rounds_are_over(of, &all)) {
        vp__call_pause(core);
        if (vp__storages_are_owed()) give_back(core);
        if (help(core)) {
            idle_since = 0;
            continue;
        }
        uint64_t now = vp__clock_ticks();
        if (!idle_since) idle_since = now;
        if (vp__clock_ns(now - idle_since) < SPIN_NS)
            vp__spin_pause();
        else
            vp__core_sleep(core, NULL, SPIN_NS);
    }
    vp__core_help_end(core);
    vp__trace(VP__TR_WAIT_END, 0, "sync", 0);
}

void vp__drain(void) {
    vp__core *core = vp__core_self();
    drain(core, &vp__nodes_in_flight);
    /* Within a `release` it would wait for its own end. */
    if (!vp__storages_are_owed() || vp__storages_is_giving()) return;
    drain(core, &vp__storages_owed);
    drain(core, &vp__nodes_in_flight); /* of whoever was given something back */
}

__attribute__((noinline)) static bool has_memory(int64_t promised, int64_t limit) {
    vp__pool_stat stat;
    vp__pool_stats(&stat);
    return promised + stat.in_use <= limit;
}

static inline bool has_room(int64_t bytes) {
    if (vp__rounds_open(&vp__nodes_in_flight) >= vp__tuning.max_nodes) return false;
    int64_t promised =
        atomic_load_explicit(&vp__bytes_promised, memory_order_relaxed) + bytes;
    int64_t limit = vp__config_get()->memory;
    /* Little enough needs no closer look. */
    return promised < limit >> 4 || has_memory(promised, limit);
}

/* Whether some node in flight is run by another thread, or waits for the world outside.
 * relaxed: looked at again and again, and a miss only costs memory. */
static bool somebody_works(const vp__core *self) {
    if (atomic_load_explicit(&vp__nodes_outside, memory_order_relaxed) > 0) {
        sched_yield();
        return true;
    }
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (vp__cores[i] != self &&
            atomic_load_explicit(&vp__cores[i]->busy, memory_order_relaxed))
            return true;
    return false;
}

__attribute__((noinline, cold)) static void wait_for_room(int64_t bytes) {
    if (!vp__pool_can_have(bytes))
        bytes = 0; /* whatever is freed, there will be no room */
    if (has_room(bytes)) return;
    vp__core *core = vp__core_self();
    vp__count(&core->counters.limit_waits, 1);
    vp__trace(VP__TR_LIMIT, 0, "limit", (uint64_t)bytes);
    uint64_t idle_since = 0;
    /* Who is in the middle of an instruction cannot pause: for a fork that waits the limit is
     * passed by one. */
    while (!has_room(bytes) && !vp__fork_waits()) {
        if (help(core) || somebody_works(core)) {
            idle_since = 0;
            continue;
        }
        uint64_t now = vp__clock_ticks();
        if (!idle_since) idle_since = now;
        /* Nothing in flight can free memory any more: go on until allocation truly fails. */
        if (vp__clock_ns(now - idle_since) > IDLE_NS) break;
        vp__spin_pause();
    }
}

/* An issuer that has many short nodes waiting in its own queue does the oldest one before it
 * adds another: every core is at work, and nodes that pile up leave the cache before their
 * turn comes. The oldest, because others may wait for it to be stored. */
__attribute__((noinline)) static void take_a_turn(vp__core *core, int64_t queued) {
    const int64_t ahead = atomic_load_explicit(&core->ahead, memory_order_relaxed);
    if (ahead / queued > vp__tuning.busy_ns) return; /* long ones: the caller goes on */
    vp__node *n = vp__deque_steal(&core->deque);
    if (n) vp__node_run(core, n);
}

void vp__admit(int64_t bytes) {
    vp__core *core = vp__core_self();
    const int64_t queued = vp__deque_size(&core->deque);
    if (__builtin_expect(queued > vp__tuning.queued, 0)) take_a_turn(core, queued);
    if (__builtin_expect(!has_room(bytes > 0 ? bytes : 0), 0)) wait_for_room(bytes);
}
