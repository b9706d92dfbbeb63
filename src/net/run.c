/* SPDX-License-Identifier: Apache-2.0
 *
 * How a node runs, stores and completes. Pieces of a big node are handed out by a counter
 * to whoever holds a ticket: the thread that starts it puts tickets (the node itself, again)
 * into its deque for others to steal. No thread waits for another inside a node: the one
 * that finishes the last piece goes on with the rest of the node's life.
 */
#include "array/pool.h"
#include "array/shape.h"
#include "base/clock.h"
#include "base/config.h"
#include "lib/lib.h"
#include "net/cost.h"
#include "net/fork.h"
#include "net/issue.h"
#include "net/launch.h"
#include "net/node.h"
#include "net/traced.h"
#include "trace/trace.h"

enum { TURNS = 16 }; /* nodes that a waiting thread runs before it looks up */

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

static void unpromise(vp__node *n) {
    if (n->promised)
        atomic_fetch_sub_explicit(&vp__bytes_promised, n->promised, memory_order_relaxed);
    n->promised = 0;
}

/* The node's life is over: signals dependents, gives everything back. */
static void complete(vp__core *core, vp__node *n) {
    if (n->work->settle) {
        n->work->settle(n);
        vp__error_release(n->error);
        n->error = NULL;
    } else if (n->error) {
        vp__storage_poison(n->result, n->error, &n->write_region, n->write_sequence);
        n->error = NULL;
    } else if (n->is_put && !n->work->stores_only) {
        vp__count(&core->counters.stored,
                  (uint64_t)vp__shape_count(n->target_ndim, n->target_dims, 1));
        vp__target_written(n->result, n->dtype, n->target_ndim, n->target_dims,
                           n->target_strides, &n->write_region, n->write_sequence);
    }
    if (n->temporary) vp__pool_free(n->temporary, (size_t)n->temporary_bytes);
    if (n->work->deinit) n->work->deinit(n);
    unpromise(n);
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
        vp__cost_learn(core, n);
        vp__node_count(core, n);
    } else {
        vp__node_publish_failure(n);
    }
    if (n->is_put && (n->temporary || n->work->stores_only || n->error)) {
        /* What only the store reads (indices, values) must stay until then. */
        if (!n->work->stores_only) release_inputs(core, n);
        if (atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_relaxed) > 1)
            vp__count(&core->counters.waited_store, 1);
        vp__node_signal(n, VP__WAIT_STORE);
        return;
    }
    release_inputs(core, n);
    complete(core, n);
}

/* Hands tickets for the other pieces to whoever is idle. */
static void offer_pieces(vp__core *core, vp__node *n, int64_t pieces) {
    int64_t tickets = pieces - 1;
    if (tickets > vp__placeable - 1) tickets = vp__placeable - 1;
    if (tickets <= 0) return;
    atomic_fetch_add_explicit(&n->refs, (int)tickets, memory_order_relaxed);
    vp__count(&core->counters.split, 1);
    for (int64_t i = 0; i < tickets; i++) {
        if (!vp__core_queue(core, n, true)) vp__node_unref(n);
        vp__core_wake_if_worth(core, core->index);
    }
}

/* Whether threads that run nodes are asked to return. relaxed: they ask again and again. */
static bool must_pause(void) {
    return atomic_load_explicit(&vp__workers_pause, memory_order_relaxed) ||
           vp__fork_waits();
}

/* Takes pieces until none is left. True if this thread finished the phase's last one. */
static bool run_pieces(vp__core *core, vp__node *n) {
    bool last = false;
    for (;;) {
        /* acquire pairs with run_phase's release. Counting down makes a stale taker's
         * result negative whatever the next phase's number of pieces is. */
        int64_t left = atomic_fetch_sub_explicit(&n->next_piece, 1, memory_order_acq_rel);
        if (left <= 0) return last;
        const uint64_t began = vp__clock_ticks();
        n->work->piece(n, n->pieces - left, core);
        /* relaxed: pieces_left orders it for whoever finishes the last one. */
        atomic_fetch_add_explicit(&n->piece_ticks, (int64_t)(vp__clock_ticks() - began),
                                  memory_order_relaxed);
        vp__count(&core->counters.pieces, 1);
        /* acq_rel: the one who brings it to zero sees every piece's output. */
        last = atomic_fetch_sub_explicit(&n->pieces_left, 1, memory_order_acq_rel) == 1;
        if (last) return true;
        if (must_pause()) {
            /* Asked to return: leave a ticket so that the rest is not forgotten. */
            atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
            vp__core_push(core, core->index, n);
            return false;
        }
    }
}

/* Runs a phase's pieces. True if this thread finished the last one, and so owns what comes
 * next; if not, the node may be gone already. */
static bool run_phase(vp__core *core, vp__node *n) {
    if (n->pieces == 1) {
        n->work->piece(n, 0, core);
        vp__count(&core->counters.pieces, 1);
        return true;
    }
    /* The release of next_piece publishes pieces, pieces_left and the payload to whoever
     * takes a piece; a late taker of the phase before finds the counter used up, or takes
     * a piece of this phase like anyone else. */
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    const int64_t pieces = n->pieces; /* others may be in the next phase soon */
    atomic_store_explicit(&n->pieces_left, pieces, memory_order_relaxed);
    atomic_store_explicit(&n->next_piece, pieces, memory_order_release);
    offer_pieces(core, n, pieces);
    bool last = run_pieces(core, n);
    vp__node_unref(n);
    return last;
}

/* Goes on after a phase this thread finished, to the end of computing or of its part. */
static void go_on(vp__core *core, vp__node *n) {
    uint64_t id = n->id; /* without the last piece the node may be gone */
    while (!n->error && n->work->next && n->work->next(n, core))
        if (!run_phase(core, n)) {
            vp__trace(VP__TR_FINISH, id, NULL, 0);
            return;
        }
    vp__node_computed(core, n);
}

/* Finds memory for the value. */
static bool make_room(vp__node *n) {
    n->out_strides = n->strides;
    if (!n->is_put) {
        if (n->work->sizes_when_run) return true;
        if (!vp__storage_allocate(n->result)) return false;
        unpromise(n);
        n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
        return true;
    }
    if (n->work->stores_only || n->work->finds_room) return true;
    /* acquire: when only our own mark is left, all earlier accesses are over; only then can
     * one tell where they have left the target. */
    if (n->fits &&
        atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_acquire) == 1 &&
        vp__storage_is_on_host(n->result)) {
        /* A renamed buffer's first writer allocates; nobody else can be here then. */
        if (!vp__storage_allocate(n->result)) return false;
        n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed) +
                 n->target_offset;
        n->out_strides = n->target_strides;
        return true;
    }
    int size = vp__dtype[n->dtype].size;
    n->temporary_bytes = vp__shape_count(n->ndim, n->dims, size) * size;
    n->temporary = vp__pool_alloc((size_t)n->temporary_bytes);
    n->out = n->temporary;
    return n->temporary != NULL;
}

/* Runs the node up to the end of its computing, or as far as its pieces allow. */
static void start(vp__core *core, vp__node *n) {
    vp__traced_operations(n);
    vp__trace(VP__TR_START, n->id, n->name, (uint64_t)n->cost);
    n->began = vp__clock_ticks();
    vp__count(&core->counters.executed, 1);
    if (n->home != core->index) vp__count(&core->counters.moved, 1);
    if (!n->error) {
        vp__error *e = n->work->copies_poison ? NULL : vp__node_inherited(n);
        if (e)
            vp__node_fail(n, vp__error_retain(e));
        else if (!make_room(n))
            vp__node_fail(n, vp__node_no_memory(n));
    }
    if (!n->error && !n->work->stores_only) {
        n->pieces = 1;
        n->work->begin(n);
    }
    if (n->error || n->work->stores_only) {
        vp__node_computed(core, n);
        return;
    }
    uint64_t id = n->id; /* without the last piece the node may be gone */
    if (run_phase(core, n))
        go_on(core, n);
    else
        vp__trace(VP__TR_FINISH, id, NULL, 0);
}

/* Helps with the pieces of a node that somebody else started. */
static void join(vp__core *core, vp__node *n) {
    /* relaxed: a ticket that comes too late leaves no trace; taking a piece decides. */
    if (atomic_load_explicit(&n->next_piece, memory_order_relaxed) > 0) {
        vp__trace(VP__TR_START, n->id, n->name, 0);
        if (run_pieces(core, n))
            go_on(core, n);
        else
            vp__trace(VP__TR_FINISH, n->id, NULL, 0);
    }
    vp__node_unref(n); /* the ticket */
}

void vp__node_run(vp__core *core, vp__node *n) {
    const bool continues = !(vp__config_get()->without & VP__WITHOUT_CONTINUATION);
    atomic_store_explicit(&core->busy, true, memory_order_relaxed);
    /* relaxed: our own. */
    const bool helps = atomic_load_explicit(&core->helping, memory_order_relaxed);
    int turns = 0;
    while (n) {
        /* Who is at something long does not keep the rest. */
        const bool is_long = helps && !vp__core_is_short(n);
        if (is_long) vp__core_help_end(core);
        /* acq_rel: exactly one taker starts the node; the others hold tickets. */
        if (!atomic_exchange_explicit(&n->started, true, memory_order_acq_rel))
            start(core, n);
        else
            join(core, n);
        if (is_long) vp__core_help_begin(core);
        /* A chain that another thread goes on issuing has no end: who waits looks now and then
         * whether that is over. */
        const bool stays = !helps || ++turns < TURNS;
        n = vp__ready_take(core, continues && stays && !must_pause() &&
                                     !vp__storages_are_owed());
    }
    atomic_store_explicit(&core->busy, false, memory_order_relaxed);
}
