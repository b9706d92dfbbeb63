/* SPDX-License-Identifier: Apache-2.0
 *
 * How a node runs. Pieces of a big node are handed out by a counter to whoever holds a ticket:
 * the thread that starts it puts tickets (the node itself, again) into its deque for others to
 * steal. No thread waits for another inside a node: the one that finishes the last piece goes on
 * with the rest of the node's life.
 */
#include "net/run.h"

#include "array/pool.h"
#include "array/shape.h"
#include "base/clock.h"
#include "base/config.h"
#include "net/core_queue.h"
#include "net/life.h"
#include "net/pause.h"
#include "net/traced.h"
#include "trace/trace.h"

enum { TURNS = 16 }; /* nodes that a waiting thread runs before it looks up */

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
        if (vp__must_pause()) {
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
    if (n->pieces == 1 || n->at_once) { /* at once: nobody else knows of it */
        for (int64_t i = 0; i < n->pieces; i++) n->work->piece(n, i, core);
        vp__count(&core->counters.pieces, (uint64_t)n->pieces);
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

/* Whether a put may write its target now. acquire: when only our own mark is left, all earlier
 * accesses are over; only then can one tell where they have left the target. */
static bool may_store(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_STORE], memory_order_acquire) == 1 &&
           vp__storage_is_on_host(n->result);
}

/* Finds memory for the value. */
static bool make_room(vp__node *n) {
    n->out_strides = n->strides;
    if (!n->is_put) {
        if (n->work->sizes_when_run) return true;
        if (!vp__storage_allocate(n->result)) return false;
        vp__node_unpromise(n);
        n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
        return true;
    }
    if (n->work->stores_only) {
        n->stored = n->work->piece && may_store(n);
        return !n->stored || vp__storage_allocate(n->result);
    }
    if (n->work->finds_room) return true;
    if (n->fits && may_store(n)) {
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
    const bool computes = !n->work->stores_only || n->stored;
    if (!n->error && computes) {
        n->pieces = 1;
        n->work->begin(n);
    }
    if (n->error || !computes) {
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

void vp__node_run_alone(vp__core *core, vp__node *n) {
    /* relaxed: nobody else can start it. */
    atomic_store_explicit(&n->started, true, memory_order_relaxed);
    atomic_store_explicit(&core->busy, true, memory_order_relaxed);
    start(core, n);
    atomic_store_explicit(&core->busy, false, memory_order_relaxed);
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
        n = vp__ready_take(core, continues && stays && !vp__must_pause() &&
                                     !vp__storages_are_owed());
    }
    atomic_store_explicit(&core->busy, false, memory_order_relaxed);
}
