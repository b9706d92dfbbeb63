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
static bool give_back(vp__core *self, vp__core *owner, vp__node *n) {
    vp__node *none = NULL;
    /* release: whoever takes the node sees what was added. */
    return vp__core_is_worker(self) && !self->insists &&
           atomic_compare_exchange_strong_explicit(
               &owner->open, &none, n, memory_order_release, memory_order_relaxed);
}

vp__node *vp__open_take(vp__core *self, bool *waits) {
    const int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        vp__core *c = vp__cores[(self->index + i) % count];
        /* relaxed: a look before the exchange. */
        if (!atomic_load_explicit(&c->open, memory_order_relaxed)) continue;
        vp__node *n = vp__open_grab(c);
        if (!n) continue;
        const bool is_waiting = vp__open_is_waiting(n);
        if (is_waiting && give_back(self, c, n)) continue;
        /* Where there are devices it may be better done there, and what it reads may be. */
        *waits = is_waiting || vp__device_count > 0;
        if (!*waits) {
            vp__traced_accesses(n);
            vp__node_stay(n);
        }
        return n;
    }
    return NULL;
}
