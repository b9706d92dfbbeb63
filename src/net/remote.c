/* SPDX-License-Identifier: Apache-2.0 */
#include "net/remote.h"

#include <string.h>

#include "array/pool.h"

void vp__replica_release(vp__replica *r) {
    /* acq_rel: the last one frees what the others have used. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    r->device->driver->release(r->device, r->memory, r->bytes);
    vp__pool_free(r, sizeof *r);
}

vp__replica *vp__replica_new(vp__device *device, size_t bytes) {
    vp__replica *r = vp__pool_alloc(sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    r->device = device;
    r->bytes = bytes;
    r->memory = device->driver->allocate(device, bytes);
    if (!r->memory) {
        vp__pool_free(r, sizeof *r);
        return NULL;
    }
    atomic_init(&r->refs, 1);
    atomic_init(&r->there, NULL);
    return r;
}

vp__replica *vp__whereabouts_on(const vp__whereabouts *m, const vp__device *device) {
    vp__replica *r = m ? m->replicas : NULL;
    while (r && r->device != device) r = r->next;
    return r;
}

static void forget(vp__replica *list) {
    while (list) {
        vp__replica *next = list->next;
        list->next = NULL;
        vp__replica_release(list);
        list = next;
    }
}

static void destroy(vp__remote *m) {
    forget(((vp__whereabouts *)m)->replicas);
    vp__pool_free(m, sizeof(vp__whereabouts));
}

vp__whereabouts *vp__whereabouts_make(vp__storage *s, bool on_host) {
    vp__whereabouts *m = vp__whereabouts_of(s);
    if (m || !(m = vp__pool_alloc(sizeof *m))) return m;
    memset(m, 0, sizeof *m);
    m->base.destroy = destroy;
    atomic_init(&m->base.host, NULL);
    if (on_host) vp__waitlist_close(&m->base.host);
    /* release pairs with vp__whereabouts_of and vp__storage_is_on_host. */
    atomic_store_explicit(&s->remote, &m->base, memory_order_release);
    return m;
}

void vp__remote_forget(vp__storage *s) {
    vp__whereabouts *m = vp__whereabouts_of(s);
    /* A write that failed may not have fetched the contents at all. */
    if (!m || !vp__storage_is_on_host(s)) return;
    vp__spin_lock(&s->lock);
    vp__replica *list = m->replicas;
    m->replicas = NULL;
    vp__spin_unlock(&s->lock);
    forget(list);
}

bool vp__remote_produced(vp__storage *s, vp__replica *r, const char *name,
                         const char *where) {
    vp__spin_lock(&s->lock);
    vp__whereabouts *m = vp__whereabouts_make(s, false);
    if (m) {
        m->name = name;
        m->where = where;
        m->replicas = r;
    }
    vp__spin_unlock(&s->lock);
    if (m)
        vp__waitlist_close(&r->there);
    else
        vp__replica_release(r);
    return m != NULL;
}

bool vp__remote_will_be_on(vp__storage *s, const vp__device *device) {
    if (atomic_load_explicit(&s->home, memory_order_relaxed) ==
        VP__HOME_ON_DEVICE - device->index)
        return true;
    vp__whereabouts *m = vp__whereabouts_of(s);
    if (!m) return false;
    vp__spin_lock(&s->lock);
    bool has = vp__whereabouts_on(m, device) != NULL;
    vp__spin_unlock(&s->lock);
    return has;
}
