/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes on devices. A node that placed itself on a device has its operands copied there,
 * gives the device one kernel after another, and completes from the device's own thread. If
 * anything of this fails it runs on the CPU instead.
 */
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/clock.h"
#include "net/core_queue.h"
#include "net/cost.h"
#include "net/life.h"
#include "net/part.h"
#include "net/traced.h"
#include "trace/trace.h"

struct vp__launching {
    vp__device_event event;
    vp__node *node;
    const vp__input *input; /* what the device reads */
    int phase, operands;
    void *loaded;     /* the running part's kernel */
    vp__replica *out; /* what it writes */
    uint64_t given;
    bool alone; /* the device had nothing else to do when it got the part */
    double ns;  /* it was at this node so far */
    vp__launch command;
    void *leaf[VP__KERNEL_LEAVES];
    vp__device_part part;
    vp__replica *temp[VP__NODE_PARTS]; /* outputs of parts before */
    vp__replica *in[];                 /* of what it reads, as far as found */
};

static size_t launching_bytes(int operands) {
    return sizeof(struct vp__launching) + (size_t)operands * sizeof(vp__replica *);
}

double vp__launch_ns(const vp__node *n) { return n->launching->ns; }

void vp__launch_end(vp__node *n) {
    struct vp__launching *l = n->launching;
    if (!l) return;
    for (int i = 0; i < l->operands; i++)
        if (l->in[i]) vp__replica_release(l->in[i]);
    for (int i = 0; i < VP__NODE_PARTS; i++)
        if (l->temp[i]) vp__replica_release(l->temp[i]);
    if (l->out) vp__replica_release(l->out);
    n->launching = NULL;
    vp__pool_free(l, launching_bytes(l->operands));
}

/* The device cannot do it after all. */
static void leave_device(vp__node *n) {
    vp__launch_end(n);
    vp__cost_unbook(n);
    n->device = NULL;
    vp__cost_book(n);
}

/* Lets a node that was ready wait once more, for operands that are on their way. */
static void wait_again(vp__node *n) {
    /* relaxed: nobody else signals it now. */
    atomic_store_explicit(&n->waits[VP__WAIT_INPUT], VP__ATTACHING, memory_order_relaxed);
}

/* Ends that: true if there is something to wait for. */
static bool waits_for(vp__node *n, int waits) {
    if (waits == 0) return false;
    /* acq_rel: as every signal. The last one delivered makes the node ready again. */
    int left = atomic_fetch_sub_explicit(&n->waits[VP__WAIT_INPUT], VP__ATTACHING - waits,
                                         memory_order_acq_rel) -
               (VP__ATTACHING - waits);
    return left > 0;
}

/* --- one part after the other ------------------------------------------------------- */

static void start_part(struct vp__launching *l);

static struct vp__launching *of_event(vp__device_event *e) {
    return (struct vp__launching *)e;
}

static void part_began(vp__device_event *e) {
    struct vp__launching *l = of_event(e);
    vp__traced_kernel(l->node->id, l->part.kernel);
    vp__trace(
        VP__TR_START, l->node->id, l->node->name,
        vp__trace_pack((unsigned)l->node->device->index + 1, 0, (uint64_t)l->node->cost));
    if (l->alone) vp__cost_learn_latency(l->node->device, l->given);
}

/* Goes on with the node on a thread of the device. */
static void value_is_there(vp__node *n) {
    vp__core *core = vp__core_self();
    atomic_fetch_sub_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    vp__count(&core->counters.executed, 1);
    vp__node_computed(core, n);
    vp__ready_take(core, false);
}

/* Runs it on the CPU, as if it had just become ready. */
static void give_up(struct vp__launching *l) {
    vp__node *n = l->node;
    leave_device(n);
    if (n->temporary) vp__pool_free(n->temporary, (size_t)n->temporary_bytes);
    n->temporary = NULL;
    atomic_fetch_sub_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    atomic_store_explicit(&n->waits[VP__WAIT_INPUT], 1, memory_order_relaxed);
    vp__node_signal(n, VP__WAIT_INPUT);
    vp__ready_take(vp__core_self(), false);
}

static void value_copied(vp__device_event *e, bool failed, double ns) {
    struct vp__launching *l = of_event(e);
    vp__node *n = l->node;
    if (failed) {
        give_up(l);
    } else {
        vp__cost_learn_copy(n->device, ns, n->temporary_bytes);
        value_is_there(n);
    }
    vp__core_left_by_device();
}

/* The value of a put is stored by the CPU: it comes to the host first. */
static void bring_back(struct vp__launching *l) {
    vp__node *n = l->node;
    n->temporary_bytes = l->part.out_bytes;
    n->temporary = vp__pool_alloc((size_t)n->temporary_bytes);
    if (!n->temporary) {
        give_up(l);
        return;
    }
    l->event = (vp__device_event){NULL, value_copied};
    atomic_fetch_add_explicit(&n->device->copies_out, 1, memory_order_relaxed);
    n->device->driver->copy(n->device, VP__FROM_DEVICE, n->temporary, l->out->memory,
                            (size_t)n->temporary_bytes, &l->event);
}

static void go_on(struct vp__launching *l) {
    vp__node *n = l->node;
    vp__replica *out = l->out;
    if (!l->part.last) {
        l->out = NULL;
        l->temp[l->phase++] = out;
        start_part(l);
    } else if (n->is_put) {
        bring_back(l);
    } else {
        l->out = NULL;
        if (vp__remote_produced(n->result, out, n->name, n->where))
            value_is_there(n);
        else
            give_up(l);
    }
}

static void part_done(vp__device_event *e, bool failed, double ns) {
    struct vp__launching *l = of_event(e);
    vp__node *n = l->node;
    n->device->driver->unload(n->device, l->loaded);
    vp__trace(VP__TR_FINISH, n->id, n->name, 0);
    l->ns += ns;
    if (failed)
        give_up(l);
    else
        go_on(l);
    vp__core_left_by_device();
}

static void start_part(struct vp__launching *l) {
    vp__node *n = l->node;
    vp__device *device = n->device;
    vp__device_part *p = &l->part;
    n->work->device_part(n, l->phase, p);
    l->out = vp__replica_new(device, (size_t)p->out_bytes);
    l->loaded = l->out ? device->driver->load(device, p->kernel) : NULL;
    if (!l->loaded) {
        give_up(l);
        return;
    }
    for (int i = 0; i < p->kernel->nleaves; i++) {
        l->leaf[i] = NULL;
        if (p->kernel->leaf[i].constant) continue;
        int from = p->source[i];
        l->leaf[i] = from < 0 ? (char *)l->temp[~from]->memory
                              : (char *)l->in[from]->memory + l->input[from].offset -
                                    l->in[from]->start;
    }
    l->command = (vp__launch){l->loaded, &p->args, l->leaf, l->out->memory};
    l->event = (vp__device_event){part_began, part_done};
    l->given = vp__clock_ticks();
    l->alone =
        l->phase == 0 &&
        atomic_load_explicit(&device->ahead, memory_order_relaxed) <= (int64_t)n->cost;
    atomic_fetch_add_explicit(&device->launches, 1, memory_order_relaxed);
    device->driver->launch(device, &l->command, &l->event);
}

/* --- operands ----------------------------------------------------------------------- */

/* What running there needs, made if there is none; NULL if it cannot be. */
static struct vp__launching *launching_of(vp__node *n) {
    int operands = n->ninputs;
    const vp__input *input = n->in;
    if (n->work->device_inputs && !(input = n->work->device_inputs(n, &operands)))
        return NULL;
    if (n->launching) return n->launching;
    struct vp__launching *l = vp__pool_alloc(launching_bytes(operands));
    if (!l) return NULL;
    memset(l, 0, launching_bytes(operands));
    l->node = n;
    l->input = input;
    l->operands = operands;
    return n->launching = l;
}

/* True: the node has been given to its device or waits for operands. False: it has not, and
 * must run on the CPU. */
static bool on_device(vp__node *n) {
    /* A failure needs no device to be handed on. */
    if (n->error || vp__node_inherited(n)) return false;
    struct vp__launching *l = launching_of(n);
    if (!l) return false;
    bool failed = false;
    int waits = 0;
    wait_again(n);
    for (int i = 0; i < l->operands && !failed; i++) {
        if (!l->in[i])
            l->in[i] = vp__remote_to_device(&l->input[i], n->device, n, VP__WAIT_INPUT,
                                            &waits, &failed);
        else
            failed = l->in[i]->failed;
    }
    if (waits_for(n, waits)) return true;
    /* What was waited for has come to the host or to the device meanwhile, or has failed. */
    if (waits) return on_device(n);
    if (failed) return false;
    vp__trace(VP__TR_READY, n->id, n->name, 0);
    atomic_fetch_add_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    start_part(l);
    return true;
}

static bool fetches(vp__node *n) {
    bool all = true;
    for (int i = 0; i < n->ninputs && all; i++)
        all = vp__storage_is_on_host(n->in[i].storage);
    if (all) return false;
    int waits = 0;
    wait_again(n);
    for (int i = 0; i < n->ninputs; i++)
        waits += vp__remote_to_host(n->in[i].storage, n, VP__WAIT_INPUT);
    return waits_for(n, waits);
}

bool vp__launch_or_fetch(vp__node *n) {
    if (n->device) {
        if (on_device(n)) return true;
        leave_device(n);
    }
    return fetches(n);
}
