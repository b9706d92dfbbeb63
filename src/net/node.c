/* SPDX-License-Identifier: Apache-2.0
 *
 * How a node comes into the net, and the steps it takes before it runs.
 */
#include "net/node.h"

#include <stddef.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "net/bundle.h"
#include "net/cost.h"
#include "net/launch.h"
#include "net/net.h"
#include "net/traced.h"
#include "trace/trace.h"

vp__rounds vp__nodes_in_flight;
_Atomic int64_t vp__bytes_promised;
_Atomic int vp__nodes_outside;

vp__node *vp__node_new(const vp__work *work, const char *name, const char *where,
                       int ninputs, int input_axes, int ndim, int target_ndim,
                       size_t payload_bytes) {
    size_t head = (sizeof(vp__node) + 15) / 16 * 16;
    size_t inputs = (size_t)ninputs * sizeof(vp__input);
    size_t axes = 2 * sizeof(int64_t) * (size_t)(input_axes + ndim + target_ndim);
    size_t payload = (head + inputs + axes + 15) / 16 * 16;
    vp__node *n = vp__pool_alloc(payload + payload_bytes);
    if (!n) return NULL;
    memset((char *)n + offsetof(vp__node, write_sequence), 0,
           sizeof *n - offsetof(vp__node, write_sequence));
    n->work = work;
    n->name = name;
    n->where = where;
    n->bytes = payload + payload_bytes;
    _Static_assert(VP__NWAITS == 4, "one line for each");
    atomic_init(&n->waits[0], VP__ATTACHING);
    atomic_init(&n->waits[1], VP__ATTACHING);
    atomic_init(&n->waits[2], VP__ATTACHING);
    atomic_init(&n->waits[3], VP__ATTACHING);
    atomic_init(&n->refs, 1);
    n->in = (vp__input *)((char *)n + head);
    int64_t *axis = (int64_t *)((char *)n + head + inputs);
    n->dims = axis;
    n->strides = axis + ndim;
    n->target_dims = axis + 2 * ndim;
    n->target_strides = n->target_dims + target_ndim;
    n->ndim = (int8_t)ndim;
    n->target_ndim = (int8_t)target_ndim;
    n->home = -1;
    n->payload = (char *)n + payload;
    return n;
}

vp__input *vp__node_add_input(vp__node *n, vp__storage *s, vp_dtype dtype, int64_t offset,
                              int ndim, const int64_t *dims, const int64_t *strides) {
    vp__input *in = &n->in[n->ninputs];
    /* The first input's axes follow the target's; each next one's follow the one before. */
    int64_t *axes =
        n->ninputs ? in[-1].strides + in[-1].ndim : n->target_strides + n->target_ndim;
    n->ninputs++;
    *in = (vp__input){.storage = s,
                      .offset = offset,
                      .dims = axes,
                      .strides = axes + ndim,
                      .ndim = (int8_t)ndim,
                      .dtype = (uint8_t)dtype};
    if (dims) {
        for (int i = 0; i < ndim; i++) {
            in->dims[i] = dims[i];
            in->strides[i] = strides[i];
        }
        in->region = vp__region_of(offset, ndim, dims, strides, vp__dtype[dtype].size);
    } else {
        in->late = true;
        in->region = vp__region_all();
    }
    return in;
}

void vp__node_unref(vp__node *n) {
    /* acq_rel: the last reference frees what the others have used. */
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1)
        vp__pool_free(n, n->bytes);
}

void vp__node_fail(vp__node *n, vp__error *e) {
    vp__spin_lock(&n->error_lock);
    if (n->error)
        vp__error_release(e);
    else
        n->error = e;
    vp__spin_unlock(&n->error_lock);
}

vp__error *vp__node_no_memory(const vp__node *n) {
    return vp__error_new(VP_ERR_MEMORY, n->where, "%s: out of memory for its result",
                         n->name);
}

int vp__node_attached(vp__node *n, vp__wait what, int waits, int marks) {
    _Atomic int32_t *count = &n->waits[what];
    int drop = VP__ATTACHING - waits - marks;
    if (waits) /* acq_rel: like the signals that may have come already */
        return atomic_fetch_sub_explicit(count, drop, memory_order_acq_rel) - drop;
    /* Nobody knows of the counter yet, so that it can be set in two steps. */
    int left = atomic_load_explicit(count, memory_order_relaxed) - drop;
    atomic_store_explicit(count, left, memory_order_relaxed);
    return left;
}

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

/* Attaches the node to a stage list of every input that has not reached that stage. */
static void wait_for_stage(vp__node *n, vp__wait what) {
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

vp__error *vp__node_inherited(const vp__node *n) {
    for (int i = 0; i < n->ninputs; i++) {
        const vp__input *in = &n->in[i];
        vp__error *e = vp__storage_error(in->storage, &in->region, in->sequence);
        if (e) return e;
    }
    return NULL;
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

/* Counts memory the node will allocate as in flight already. */
static void promise(vp__node *n) {
    if (n->is_put || n->result->inline_data || !vp__memory_has(n->result->bytes)) return;
    n->promised = n->result->bytes;
    atomic_fetch_add_explicit(&vp__bytes_promised, n->promised, memory_order_relaxed);
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
    promise(n);
    if (n->is_put && !n->error && !n->work->stores_only && !n->fits) check_fit(n);
    wait_for_stage(n, VP__WAIT_CONFIG);
    vp__node_signal(n, VP__WAIT_CONFIG);
}

/* Chooses where the node runs, and tells. */
static void place(vp__node *n) {
    vp__cost_place(n);
    int home = n->device ? VP__HOME_ON_DEVICE - n->device->index : n->home;
    if (!n->is_put)
        atomic_store_explicit(&n->result->home, (int16_t)home, memory_order_relaxed);
    vp__trace(VP__TR_PLACED, n->id, n->name,
              n->device ? vp__trace_pack((unsigned)n->device->index + 1, 0, 0)
                        : (uint64_t)n->home);
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

void vp__node_enter(vp__core *core, vp__node *n) {
    vp__workers_start();
    vp__count(&core->counters.issued, 1);
    n->round = vp__rounds_begin(&vp__nodes_in_flight);
    n->id = (uint64_t)core->index << 40 |
            atomic_load_explicit(&core->counters.issued, memory_order_relaxed);
    vp__trace(VP__TR_ISSUED, n->id, n->name, 0);
}

void vp__node_submit(vp__node *n) {
    vp__core *core = vp__core_self();
    vp__bundle_end(core);
    vp__node_enter(core, n);
    vp__traced_accesses(n);
    if (n->is_put)
        vp__storage_retain(n->result);
    else
        vp__storage_retain_new(n->result);
    bool configured;
    int waits = enter_reads(n, &configured);
    enter_write(n);
    if (n->is_sized && configured) {
        /* All in one step, and the counter of the inputs is touched once. */
        vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)n->result->bytes);
        promise(n);
        place(n);
        if (vp__node_attached(n, VP__WAIT_INPUT, waits, 0) == 0) ready(n);
    } else {
        vp__node_attached(n, VP__WAIT_INPUT, waits, 1);
        wait_for_stage(n, VP__WAIT_SIZE);
        vp__node_signal(n, VP__WAIT_SIZE);
    }
    vp__ready_take(core, false);
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
