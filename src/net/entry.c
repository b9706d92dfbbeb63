/* SPDX-License-Identifier: Apache-2.0 */
#include "net/entry.h"

#include "net/life.h"
#include "net/run.h"
#include "net/traced.h"
#include "net/workers.h"
#include "trace/trace.h"

/* The input before this one that reads the same storage, or NULL. */
static const vp__input *same_storage(const vp__node *n, const vp__input *in) {
    for (const vp__input *other = n->in; other < in; other++)
        if (other->storage == in->storage) return other;
    return NULL;
}

/* What the node reads of an input's storage, there and in the inputs after it; in *hull if
 * it is more than the one input's. */
static const vp__region *all_of_storage(const vp__node *n, const vp__input *in,
                                        vp__region *hull) {
    const vp__region *all = &in->region;
    for (const vp__input *other = in + 1; other < n->in + n->ninputs; other++) {
        if (other->storage != in->storage) continue;
        if (all != hull) *hull = in->region;
        all = hull;
        vp__region_add(hull, &other->region);
    }
    return all;
}

/* Enters the reads, one for each storage; returns how many signals of them the node has to
 * wait for, and leaves the counter as it is. Tells whether every input has its size and its
 * place. */
__attribute__((flatten)) static int enter_reads(vp__node *n, bool *configured) {
    int waits = 0;
    *configured = true;
    for (vp__input *in = n->in, *end = in + n->ninputs; in < end; in++) {
        vp__late *late = in->storage->late;
        if (late && !vp__waitlist_is_closed(&late->configured)) *configured = false;
        const vp__input *same = in > n->in ? same_storage(n, in) : NULL;
        if (same) {
            in->group = NULL; /* the other one's does */
            in->sequence = same->sequence;
        } else {
            vp__region hull;
            const vp__region *all = all_of_storage(n, in, &hull);
            vp__spin_lock(&in->storage->lock);
            in->sequence = in->storage->log.sequence;
            int before = waits;
            in->group =
                vp__log_enter_own(&in->storage->log, false, all, n, VP__WAIT_INPUT,
                                  waits ? NULL : &n->waiter, &waits);
            if (waits > before) /* where its input will be */
                n->home = atomic_load_explicit(&in->storage->home, memory_order_relaxed);
            vp__spin_unlock(&in->storage->lock);
            if (!in->group) vp__node_fail(n, vp__node_no_memory(n));
        }
        if (in->captured) vp__storage_uncapture(in->storage);
    }
    return waits;
}

static void enter_write(vp__node *n) {
    int waits = 0;
    vp__storage *s = n->result;
    if (!n->is_put) {
        /* Nobody else knows the storage yet: no lock, nothing to wait for. */
        n->write = vp__log_begin(&s->log);
        atomic_store_explicit(&s->awaited, true, memory_order_relaxed);
        vp__node_attached(n, VP__WAIT_STORE, 0, 1);
        return;
    }
    vp__spin_lock(&s->lock);
    n->write_sequence = s->log.sequence;
    n->write = vp__log_enter(&s->log, true, &n->write_region, n, VP__WAIT_STORE, &waits);
    if (!n->write) s->log.sequence++; /* its failure still comes before what follows */
    vp__spin_unlock(&s->lock);
    if (!n->write) {
        /* Nobody will wait for this write: its failure must show at once. */
        vp__storage_poison(s, vp__node_no_memory(n), &n->write_region, n->write_sequence);
        vp__node_fail(n, vp__node_no_memory(n));
    }
    vp__node_attached(n, VP__WAIT_STORE, waits, 1);
}

void vp__node_enter(vp__core *core, vp__node *n) {
    vp__count(&core->counters.issued, 1);
    n->round = vp__rounds_begin(&vp__nodes_in_flight);
    n->id = (uint64_t)core->index << VP__NODE_COUNT_BITS |
            atomic_load_explicit(&core->counters.issued, memory_order_relaxed);
    vp__traced_issued(n);
}

/* Runs a node that has just become ready on the thread that submits it. */
static void run_at_once(vp__core *core, vp__node *n) {
    core->ready = n->next;
    if (!core->ready) core->ready_end = &core->ready;
    vp__count(&core->counters.inlined, 1);
    vp__node_run_alone(core, n);
}

void vp__node_submit(vp__node *n, vp__spinlock *held) {
    vp__core *core = vp__core_self();
    vp__open_end(core);
    vp__node_enter(core, n);
    vp__traced_accesses(n);
    if (n->is_put)
        vp__storage_retain(n->result);
    else
        vp__storage_retain_new(n->result);
    bool configured;
    int waits = enter_reads(n, &configured);
    enter_write(n);
    if (held) vp__spin_unlock(held);
    const bool at_once = n->at_once = n->at_once && waits == 0 && configured;
    if (!at_once) vp__workers_start();
    vp__node_set_out(n, waits, configured);
    if (at_once && core->ready == n) run_at_once(core, n);
    vp__ready_take(core, false);
}

void vp__open_submit(vp__core *core, vp__node *n) {
    vp__workers_start();
    vp__open_release(core, n);
}

void vp__open_push(vp__core *core, int slot) {
    vp__node *n = vp__open_grab(core, slot);
    if (n) vp__open_submit(core, n);
}

void vp__open_leave(vp__core *core, int slot, vp__node *n) {
    /* There may be another: what ran meanwhile may have called a `release` of the user's that
     * issues, and a worker may have given one back. release: whoever takes the node sees what
     * was added; acquire: as in vp__open_grab. */
    vp__node *other =
        atomic_exchange_explicit(&core->open[slot], n, memory_order_acq_rel);
    if (other) vp__open_submit(core, other);
}
