/* SPDX-License-Identifier: Apache-2.0 */
#include "net/open.h"

#include "device/device.h"
#include "net/life.h"
#include "net/place.h"
#include "net/traced.h"
#include "trace/trace.h"

void vp__open_release(vp__core *core, vp__node *n) {
    vp__traced_accesses(n);
    vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)n->result->bytes);
    vp__node_place(n);
    vp__traced_place(n);
    vp__node_signal(n, VP__WAIT_INPUT);
    vp__ready_take(core, false);
}

/* A worker gives back what it cannot run yet, so that it goes on growing; one that has napped
 * in vain, and who waits, sees to it that it runs as soon as it can, whatever its issuer does. */
static bool give_back(vp__core *self, vp__core *owner, int slot, vp__node *n) {
    vp__node *none = NULL;
    /* release: whoever takes the node sees what was added. */
    return vp__core_is_worker(self) && !self->insists &&
           atomic_compare_exchange_strong_explicit(
               &owner->open[slot], &none, n, memory_order_release, memory_order_relaxed);
}

/* Takes one of a core's open nodes, unless it has to wait and is given back. */
static vp__node *take_from(vp__core *self, vp__core *c, bool *waits) {
    for (int slot = 0; slot < VP__OPEN; slot++) {
        if (!vp__open_is_there(c, slot)) continue;
        vp__node *n = vp__open_grab(c, slot);
        if (!n) continue;
        *waits = vp__open_is_waiting(n);
        if (!*waits || !give_back(self, c, slot, n)) return n;
    }
    return NULL;
}

vp__node *vp__open_take(vp__core *self, bool *waits) {
    const int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        vp__node *n = take_from(self, vp__cores[(self->index + i) % count], waits);
        if (!n) continue;
        /* Where there are devices it may be better done there, and what it reads may be. */
        *waits |= vp__device_count > 0;
        if (!*waits) {
            vp__traced_accesses(n);
            vp__node_stay(n);
        }
        return n;
    }
    return NULL;
}
