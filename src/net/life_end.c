/* SPDX-License-Identifier: Apache-2.0
 *
 * How a node's life ends: computed, stored, completed.
 */
#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "net/cost.h"
#include "net/life.h"
#include "net/remote.h"
#include "trace/trace.h"

static void finish_access(vp__core *core, vp__group *g) {
    if (g) vp__signals_deliver(core, vp__access_finish(g));
}

static void release_inputs(vp__core *core, vp__node *n) {
    for (int i = 0; i < n->ninputs; i++) {
        finish_access(core, n->in[i].group);
        vp__storage_release(n->in[i].storage);
    }
    n->ninputs = 0;
}

/* The node's life is over: signals dependents, gives everything back. */
static void complete(vp__core *core, vp__node *n) {
    if (n->work->settle) {
        n->work->settle(n);
        vp__error_release(n->error);
        n->error = NULL;
    } else if (n->error) {
        const vp__region all = vp__region_all();
        vp__node_raise(n, n->error);
        vp__storage_poison(n->result, n->error, n->is_box ? &all : &n->write_region,
                           n->write_sequence);
        n->error = NULL;
    } else if (n->is_put && !n->work->stores_only) {
        vp__count(&core->counters.stored,
                  (uint64_t)vp__shape_count(n->target_ndim, n->target_dims, 1));
        vp__storage_written(n->result, vp__dtype[n->dtype].size, n->target_ndim,
                            n->target_dims, n->target_strides, &n->write_region,
                            n->write_sequence);
    }
    if (n->temporary) vp__pool_free(n->temporary, (size_t)n->temporary_bytes);
    if (n->work->deinit) n->work->deinit(n);
    vp__node_unpromise(n);
    vp__cost_unbook(n);
    vp__launch_end(n);
    vp__count(&core->counters.completed, 1);
    if (n->is_put)
        vp__remote_forget(n->result);
    else
        atomic_store_explicit(&n->result->awaited, false, memory_order_relaxed);
    finish_access(core, n->write);
    vp__storage_release(n->result);
    const uint8_t round = n->round;
    vp__node_unref(n);
    /* After vp_sync the user may touch memory that this node has written, and the borrowed
     * memory that it was the last to use counts as owed. */
    vp__rounds_end(&vp__nodes_in_flight, round);
}

static void store_copy(vp__node *n) {
    int64_t strides[VP__MAXDIM];
    char *target = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    vp__shape_expand_strides(n->target_ndim, n->target_dims, n->ndim, n->dims, n->strides,
                             strides);
    vp__view to = {target + n->target_offset, n->target_dims, n->target_strides,
                   n->target_ndim, n->dtype};
    vp__view from = {n->temporary, n->target_dims, strides, n->target_ndim, n->dtype};
    vp__lib_copy(&to, &from, 0, 1);
}

/* Everything before it in the target's log is done, and so is computing. */
void vp__node_store(vp__node *n) {
    if (!n->error && !vp__storage_is_on_host(n->result)) {
        /* relaxed: nobody else signals it now. The fetch's end comes back here. */
        atomic_store_explicit(&n->waits[VP__WAIT_STORE], 1, memory_order_relaxed);
        if (vp__remote_to_host(n->result, n, VP__WAIT_STORE)) return;
    }
    vp__core *core = vp__core_self();
    if (!n->error && !vp__storage_allocate(n->result))
        vp__node_fail(n, vp__node_no_memory(n));
    if (!n->error) {
        if (n->work->store)
            n->work->store(n);
        else
            store_copy(n);
    }
    vp__trace(VP__TR_STORE, n->id, n->name, 0);
    release_inputs(core, n);
    complete(core, n);
}

void vp__node_count(vp__core *core, const vp__node *n) {
    if (!n->work->one_kernel) return;
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)vp__shape_count(n->ndim, n->dims, 1));
}

/* The value exists. */
void vp__node_computed(vp__core *core, vp__node *n) {
    if (!n->device)
        vp__trace(VP__TR_FINISH, n->id, n->name,
                  vp__trace_pack(0, n->stage, (uint64_t)n->cost));
    if (!n->error) {
        if (n->device)
            vp__cost_learn_launch(n, vp__launch_ns(n));
        else
            vp__cost_learn(core, n);
        vp__node_count(core, n);
    } else {
        vp__node_publish_failure(n);
    }
    const bool only_stores = n->work->stores_only && !n->stored;
    if (n->is_put && (n->temporary || only_stores || n->error)) {
        /* What only the store reads (indices, values) must stay until then. */
        if (!only_stores) release_inputs(core, n);
        if (atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_relaxed) > 1)
            vp__count(&core->counters.waited_store, 1);
        vp__node_signal(n, VP__WAIT_STORE);
        return;
    }
    release_inputs(core, n);
    complete(core, n);
}
