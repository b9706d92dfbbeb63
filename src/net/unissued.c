/* SPDX-License-Identifier: Apache-2.0 */
#include "net/unissued.h"

#include "base/clock.h"
#include "net/core_queue.h"
#include "net/pause.h"
#include "net/tuning.h"

void (*_Atomic vp__unissued_issue)(vp__core *owner);

void vp__unissued_keep(vp__core *self, float cost) {
    /* Only its owner writes it; relaxed: see vp__unissued_done. 0 is nothing. */
    if (++self->kept == 0) self->kept = 1;
    atomic_store_explicit(&self->unissued, self->kept, memory_order_relaxed);
    if (cost < (float)vp__tuning.wake_ns || !vp__tuning.unissued_ns) return;
    for (int i = 1; i < vp__placeable; i++)
        if (atomic_load_explicit(&vp__cores[i]->parked, memory_order_relaxed)) {
            vp__core_wake(vp__cores[i]);
            return;
        }
}

static uint32_t kept_by(const vp__core *c) {
    return atomic_load_explicit(&c->unissued, memory_order_relaxed);
}

/* Some thread that keeps something; mostly there is one thread that issues. */
static vp__core *find(const vp__core *self) {
    const int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (vp__cores[i] != self && kept_by(vp__cores[i])) return vp__cores[i];
    return NULL;
}

bool vp__unissued_watch(vp__core *self, vp__unissued_look *look) {
    vp__core *owner = vp__tuning.unissued_ns ? find(self) : NULL;
    if (!owner) return false;
    const uint32_t value = kept_by(owner);
    const uint64_t now = vp__clock_ticks();
    if (value != look->value) *look = (vp__unissued_look){value, now};
    if (vp__clock_ns(now - look->since) < (uint64_t)vp__tuning.unissued_ns) return true;
    look->value = 0; /* whatever comes of it: it may be that a fork is on its way */
    if (!vp__others_try_stop(self)) return false;
    /* Still the same, now that its owner does nothing. */
    if (kept_by(owner) == value)
        atomic_load_explicit(&vp__unissued_issue, memory_order_relaxed)(owner);
    vp__others_let_go();
    return true;
}
