/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between the host and devices: they begin when somebody needs the contents elsewhere,
 * and those who wait are told on the device's own thread.
 */
#include <stddef.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "net/core_queue.h"
#include "net/cost.h"
#include "net/life.h"

/* Tells everybody who waited, on a device's thread. */
static void tell(vp__waitlist *list) {
    vp__core *core = vp__core_self();
    vp__signals_deliver(core, vp__waitlist_close(list));
    vp__ready_take(core, false);
}

/* --- to the host -------------------------------------------------------------------- */

static vp__whereabouts *of_event(vp__device_event *e) {
    return (vp__whereabouts *)((char *)e - offsetof(vp__whereabouts, event));
}

/* The contents are on the host, or lost. */
static void host_done(vp__whereabouts *m, vp__error *error) {
    vp__storage *s = m->storage;
    if (error) {
        vp__region all = vp__region_all();
        vp__storage_poison(s, error, &all, 0);
    }
    vp__replica_release(m->fetched);
    atomic_fetch_sub_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    tell(&m->base.host);
    vp__storage_release(s);
}

static void host_copied(vp__device_event *e, bool failed, double ns) {
    vp__whereabouts *m = of_event(e);
    vp__device *device = m->fetched->device;
    vp__error *error = NULL;
    if (failed)
        error = vp__error_new(VP_ERR_DEVICE, m->where,
                              "%s: the device %s has lost its result", m->name,
                              device->driver->name);
    else
        vp__cost_learn_copy(device, ns, m->storage->bytes);
    host_done(m, error);
    vp__core_left_by_device();
}

static void fetch(vp__storage *s, vp__whereabouts *m) {
    vp__device *device = m->fetched->device;
    vp__storage_retain(s);
    m->storage = s;
    m->event = (vp__device_event){NULL, host_copied};
    /* Until it is there, progress is to be expected of the device. */
    atomic_fetch_add_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    if (!vp__storage_allocate(s)) {
        host_done(m, vp__error_new(VP_ERR_MEMORY, m->where,
                                   "%s: out of memory for its result", m->name));
        return;
    }
    atomic_fetch_add_explicit(&device->copies_out, 1, memory_order_relaxed);
    device->driver->copy(device, VP__FROM_DEVICE,
                         atomic_load_explicit(&s->host, memory_order_relaxed),
                         m->fetched->memory, (size_t)s->bytes, &m->event);
}

bool vp__remote_to_host(vp__storage *s, void *who, int what) {
    if (vp__storage_is_on_host(s)) return false;
    vp__whereabouts *m = vp__whereabouts_of(s);
    vp__waiter *w;
    /* Without memory for this there is none for anything: wait for some. */
    while (!(w = vp__waiter_new(who, what))) vp__pool_trim();
    vp__spin_lock(&s->lock);
    bool start = !m->fetching;
    m->fetching = true;
    if (start) m->fetched = vp__replica_retain(m->replicas);
    vp__spin_unlock(&s->lock);
    if (!vp__waitlist_push(&m->base.host, w)) {
        vp__waiter_free(w);
        return false;
    }
    /* Unless we start it, the fetch may have ended by now, and with it whoever holds the
     * storage: it must not be touched again. */
    if (start) fetch(s, m);
    return true;
}

/* --- to a device -------------------------------------------------------------------- */

static void replica_copied(vp__device_event *e, bool failed, double ns) {
    vp__replica *r = (vp__replica *)e;
    vp__storage *s = r->source;
    r->failed = failed;
    if (!failed) vp__cost_learn_copy(r->device, ns, (int64_t)r->bytes);
    if (failed && s) vp__remote_forget(s); /* nobody else shall find it */
    if (r->staging) vp__pool_free(r->staging, r->bytes);
    atomic_fetch_sub_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    /* Before anybody goes on, so that what vp_sync waits for has been given back by then. */
    if (s) vp__storage_release(s);
    tell(&r->there);
    vp__replica_release(r);
    vp__core_left_by_device();
}

/* Starts filling a replica, which the copy holds until it is done. */
static void fill(vp__replica *r, const char *from) {
    vp__replica_retain(r);
    r->event = (vp__device_event){NULL, replica_copied};
    atomic_fetch_add_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->device->copies_in, 1, memory_order_relaxed);
    r->device->driver->copy(r->device, VP__TO_DEVICE, r->memory, from, r->bytes,
                            &r->event);
}

/* False if it cannot be had. A replica that has failed may do so at any time up to here: asked
 * only when nobody can be told any more. */
static bool attach(vp__replica *r, vp__node *n, int what, int *waits) {
    vp__waiter *w = vp__waiter_new(n, what);
    if (!w) return false;
    if (vp__waitlist_push(&r->there, w)) {
        (*waits)++;
        return true;
    }
    vp__waiter_free(w);
    return !r->failed;
}

/* Whether the input is all of its storage, so that nobody writes any of it meanwhile. */
static bool is_whole(const vp__input *in) {
    if (in->late) return true;
    if (in->region.lo != 0 || in->region.hi != in->storage->bytes) return false;
    /* Without axes it is one element, or a flat loop's dense run. */
    int size = vp__dtype[in->dtype].size;
    return in->ndim == 0 ||
           (vp__layout_is_dense(in->ndim, in->dims, in->strides, size) &&
            vp__shape_count(in->ndim, in->dims, size) * size == in->storage->bytes);
}

/* A replica of all of a storage that is on the host; others will find it. */
static vp__replica *replicate(vp__storage *s, vp__device *device) {
    vp__replica *fresh = vp__replica_new(device, (size_t)s->bytes), *r = NULL;
    if (!fresh) return NULL;
    vp__spin_lock(&s->lock);
    vp__whereabouts *m = vp__whereabouts_make(s, true);
    if (m) r = vp__whereabouts_on(m, device);
    if (r) {
        vp__replica_retain(r); /* somebody was quicker */
    } else if (m && !s->borrowed) {
        /* Borrowed memory may change with the user's next move. */
        fresh->next = m->replicas;
        m->replicas = vp__replica_retain(fresh);
    }
    vp__spin_unlock(&s->lock);
    if (r || !m) {
        vp__replica_release(fresh);
        return r;
    }
    vp__storage_retain(s);
    fresh->source = s;
    fill(fresh, atomic_load_explicit(&s->host, memory_order_relaxed));
    return fresh;
}

/* A replica of a view alone, since other parts of the storage may be written meanwhile: its
 * elements where they are in the storage, and nothing in between. */
static vp__replica *pick(const vp__input *in, vp__device *device) {
    size_t bytes = (size_t)(in->region.hi - in->region.lo);
    char *staging = vp__pool_alloc(bytes);
    vp__replica *r = staging ? vp__replica_new(device, bytes) : NULL;
    if (!r) {
        if (staging) vp__pool_free(staging, bytes);
        return NULL;
    }
    char *data = vp__input_data(in), *first = staging + in->offset - in->region.lo;
    if (in->ndim == 0) {
        /* A box counts as reading more than its own elements, on both sides of them. */
        memcpy(staging, data - (in->offset - in->region.lo), bytes);
    } else {
        vp__view to = {first, in->dims, in->strides, in->ndim, (vp_dtype)in->dtype};
        vp__view from = {data, in->dims, in->strides, in->ndim, (vp_dtype)in->dtype};
        vp__lib_copy(&to, &from, 0, 1);
    }
    r->start = in->region.lo;
    r->staging = staging;
    fill(r, staging);
    return r;
}

vp__replica *vp__remote_to_device(const vp__input *in, vp__device *device, vp__node *n,
                                  int what, int *waits, bool *failed) {
    vp__storage *s = in->storage;
    vp__spin_lock(&s->lock);
    vp__replica *r = vp__whereabouts_on(vp__whereabouts_of(s), device);
    if (r) vp__replica_retain(r);
    vp__spin_unlock(&s->lock);
    if (!r) {
        if (vp__remote_to_host(s, n, what)) {
            (*waits)++;
            return NULL;
        }
        r = is_whole(in) ? replicate(s, device) : pick(in, device);
    }
    if (r && attach(r, n, what, waits)) return r;
    if (r) vp__replica_release(r);
    *failed = true;
    return NULL;
}
