/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps a node takes before it runs, and the signals that make it take them.
 */
#include "net/life.h"

#include <string.h>

#include "array/shape.h"
#include "net/core_queue.h"
#include "net/place.h"
#include "net/traced.h"
#include "trace/trace.h"

/* Attaches the node to a stage list of every input that has not reached that stage. */
static void wait_for_milestone(vp__node *n, vp__wait what) {
    int waits = 0;
    for (int i = 0; i < n->ninputs; i++) {
        vp__late *late = n->in[i].storage->late;
        if (!late) continue;
        vp__waitlist *list = what == VP__WAIT_SIZE ? &late->sized : &late->configured;
        if (vp__waitlist_is_closed(list)) continue;
        vp__waiter *w = vp__waiter_new(n, what);
        if (!w)
            vp__node_fail(n, vp__node_no_memory(n));
        else if (vp__waitlist_push(list, w))
            waits++;
        else
            vp__waiter_free(w);
    }
    vp__node_attached(n, what, waits, 1);
}

static void learn_input_sizes(vp__node *n) {
    for (int i = 0; i < n->ninputs; i++) {
        vp__input *in = &n->in[i];
        if (!in->late) continue;
        const vp__late *late = in->storage->late;
        memcpy(in->dims, late->dims, (size_t)in->ndim * sizeof *in->dims);
        memcpy(in->strides, late->strides, (size_t)in->ndim * sizeof *in->strides);
    }
}

void vp__node_publish_size(vp__node *n) {
    vp__storage *s = n->result;
    vp__late *late = s->late;
    if (!late || vp__waitlist_is_closed(&late->sized))
        return; /* a renamed storage's is */
    int size = vp__dtype[n->dtype].size;
    late->ndim = n->ndim;
    memcpy(late->dims, n->dims, (size_t)n->ndim * sizeof *n->dims);
    memcpy(late->strides, n->strides, (size_t)n->ndim * sizeof *n->strides);
    s->bytes = vp__shape_count(n->ndim, n->dims, size) * size;
    vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)s->bytes);
    vp__signals_deliver(vp__core_self(), vp__waitlist_close(&late->sized));
}

void vp__node_publish_failure(vp__node *n) {
    vp__late *late = n->is_put ? NULL : n->result->late;
    if (!late || vp__waitlist_is_closed(&late->sized)) return;
    for (int i = 0; i < n->ndim; i++) n->dims[i] = 0;
    vp__layout_compact(n->ndim, n->dims, vp__dtype[n->dtype].size, false, n->strides);
    vp__node_raise(n, n->error);
    vp__storage_poison(n->result, vp__error_retain(n->error), &n->write_region,
                       n->write_sequence);
    late->failed = true;
    vp__node_publish_size(n);
}

/* A late value must broadcast to the target it is put into. */
static void check_fit(vp__node *n) {
    const int surplus = vp__shape_surplus(n->ndim, n->dims, n->target_ndim);
    n->ndim = (int8_t)(n->ndim - surplus);
    n->dims += surplus;
    n->strides += surplus;
    int64_t both[VP__MAXDIM];
    int ndim = n->target_ndim;
    memcpy(both, n->target_dims, (size_t)ndim * sizeof *both);
    if (vp__shape_broadcast(&ndim, both, n->ndim, n->dims) &&
        vp__shape_equal(ndim, both, n->target_ndim, n->target_dims))
        return;
    char a[200], b[200];
    vp__node_fail(
        n, vp__error_new(VP_ERR_SHAPE, n->where,
                         "put: a value of shape %s does not fit a selection of shape %s",
                         vp__shape_text(a, sizeof a, n->ndim, n->dims),
                         vp__shape_text(b, sizeof b, n->target_ndim, n->target_dims)));
}

static void sized(vp__node *n) {
    learn_input_sizes(n);
    /* Only an input without a size keeps the node from its own; other failures show when it
     * runs, so that when they happened makes no difference. */
    vp__error *e = NULL;
    for (int i = 0; i < n->ninputs && !e; i++)
        if (n->in[i].late) e = vp__storage_failure(n->in[i].storage);
    if (e) vp__node_fail(n, vp__error_retain(e));
    if (!n->work->sizes_when_run || n->error) {
        if (!n->error && n->work->size) {
            e = n->work->size(n);
            if (e) vp__node_fail(n, e);
        }
        if (n->error)
            vp__node_publish_failure(n);
        else if (!n->is_put)
            vp__node_publish_size(n);
    }
    if (n->is_put || !n->result->late)
        vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)n->result->bytes);
    vp__node_promise(n);
    if (n->is_put && !n->error && !n->work->stores_only && !n->fits) check_fit(n);
    wait_for_milestone(n, VP__WAIT_CONFIG);
    vp__node_signal(n, VP__WAIT_CONFIG);
}

/* Chooses where the node runs, and tells. */
static void place(vp__node *n) {
    if (n->at_once)
        vp__node_stay(n);
    else
        vp__node_place(n);
    int home = n->device ? VP__HOME_ON_DEVICE - n->device->index : n->home;
    if (!n->is_put)
        atomic_store_explicit(&n->result->home, (int16_t)home, memory_order_relaxed);
    vp__traced_place(n);
    /* A fresh result's dependents may now place themselves; for a put there is nobody. */
    if (!n->is_put && n->result->late)
        vp__signals_deliver(vp__core_self(),
                            vp__waitlist_close(&n->result->late->configured));
}

static void ready(vp__node *n) {
    if (vp__device_count && vp__launch_or_fetch(n)) return;
    vp__core *core = vp__core_self();
    vp__trace(VP__TR_READY, n->id, n->name, 0);
    n->next = NULL;
    *core->ready_end = n;
    core->ready_end = &n->next;
}

void vp__node_signal(vp__node *n, int what) {
    /* acq_rel: the last signal's deliverer sees what every other one published. Who finds
     * that its own is the only one left need not count it. */
    _Atomic int32_t *count = &n->waits[what];
    if (atomic_load_explicit(count, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) != 1)
        return;
    switch ((vp__wait)what) {
    case VP__WAIT_SIZE: sized(n); break;
    case VP__WAIT_CONFIG:
        place(n);
        vp__node_signal(n, VP__WAIT_INPUT);
        break;
    case VP__WAIT_INPUT: ready(n); break;
    case VP__WAIT_STORE: vp__node_store(n); break;
    case VP__NWAITS: break;
    }
}

void vp__node_set_out(vp__node *n, int waits, bool configured) {
    if (n->is_sized && configured) {
        /* All in one step, and the counter of the inputs is touched once. */
        vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)n->result->bytes);
        vp__node_promise(n);
        place(n);
        if (vp__node_attached(n, VP__WAIT_INPUT, waits, 0) == 0) ready(n);
    } else {
        vp__node_attached(n, VP__WAIT_INPUT, waits, 1);
        wait_for_milestone(n, VP__WAIT_SIZE);
        vp__node_signal(n, VP__WAIT_SIZE);
    }
}

static void event_signal(vp__event *e) {
    vp__core *core = e->core;
    /* acq_rel: as for nodes. After `done` the event may be gone from its owner's stack. */
    if (atomic_fetch_sub_explicit(&e->remaining, 1, memory_order_acq_rel) != 1) return;
    atomic_store_explicit(&e->done, 1, memory_order_seq_cst);
    vp__core_wake(core);
}

void vp__signals_deliver(vp__core *core, vp__waiter *list) {
    /* Lists are newest first; pushing them one by one delivers in the order of issue. What
     * delivering adds is left to the outermost call, so that a long chain of nodes does not
     * become a deep stack. */
    while (list) {
        vp__waiter *next = list->next;
        list->next = core->signals;
        core->signals = list;
        list = next;
    }
    if (core->delivering) return;
    core->delivering = true;
    while (core->signals) {
        vp__waiter *w = core->signals;
        core->signals = w->next;
        void *who = w->who;
        int what = w->what;
        vp__waiter_free(w);
        if (what == VP__WAIT_EVENT)
            event_signal(who);
        else
            vp__node_signal(who, what);
    }
    core->delivering = false;
}

/* Out of line, because an instruction that is issued seldom finds anything ready. */
__attribute__((noinline)) static vp__node *take_ready(vp__core *core, bool keep) {
    vp__node *kept = NULL;
    while (core->ready) {
        vp__node *n = core->ready;
        core->ready = n->next;
        if (!core->ready) core->ready_end = &core->ready;
        if (keep && !kept && n->home == core->index)
            kept = n;
        else
            vp__core_push(core, n->home, n);
    }
    return kept;
}

vp__node *vp__ready_take(vp__core *core, bool keep) {
    return core->ready ? take_ready(core, keep) : NULL;
}
