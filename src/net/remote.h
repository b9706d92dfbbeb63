/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the contents of a storage are, when that is not only the host's memory. A replica
 * is a copy in the memory of one device. It never changes once it is there: a node on a
 * device makes a new replica, a write on the host makes the storage forget its replicas,
 * and whoever still reads one holds a reference. So the order of accesses stays the
 * business of the storage's log, and moving contents is always only reading them; how they
 * move is told in life.h.
 *
 * The host's memory is written by the CPU's nodes only, and is made good once: a storage
 * that a device produced is either only there, or being fetched, or on the host for good.
 */
#ifndef VP_NET_REMOTE_H
#define VP_NET_REMOTE_H

#include "device/device.h"
#include "net/node.h"

typedef struct vp__replica {
    vp__device_event event; /* of the copy that fills it */
    struct vp__replica *next;
    vp__device *device;
    void *memory;
    size_t bytes;
    _Atomic int32_t refs; /* uses; and the storage's while the replica is current */
    int64_t start;        /* the byte of the storage that its first byte is */
    bool failed;          /* published by closing `there` */
    vp__waitlist there;   /* closed when the contents are there, or will never be */
    vp__storage *source;  /* held while they are copied from its host memory, or */
    char *staging;        /* from here, where a view's were picked */
} vp__replica;

static inline vp__replica *vp__replica_retain(vp__replica *r) {
    /* relaxed: whoever has a reference may make another. */
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void vp__replica_release(vp__replica *r);

/* A new replica without contents and with one reference; NULL without memory. */
vp__replica *vp__replica_new(vp__device *device, size_t bytes);

/* What a storage knows of the world beyond the host. Made once, kept to the storage's end;
 * `replicas` and `fetching` are guarded by the storage's lock. */
typedef struct {
    vp__remote base;
    vp__device_event event; /* of the fetch to the host */
    vp__storage *storage;   /* held while it is fetched */
    bool fetching;
    vp__replica *replicas; /* current ones */
    vp__replica *fetched;  /* from this one */
    const char *name, *where;
} vp__whereabouts;

/* NULL: the contents are on the host and nowhere else. */
static inline vp__whereabouts *vp__whereabouts_of(vp__storage *s) {
    /* acquire pairs with the release in vp__whereabouts_make. */
    return (vp__whereabouts *)atomic_load_explicit(&s->remote, memory_order_acquire);
}
/* The same, made if there is none; NULL without memory. The storage's lock is held. */
vp__whereabouts *vp__whereabouts_make(vp__storage *s, bool on_host);

/* The current replica on a device, or NULL; `m` may be NULL. The lock is held. */
vp__replica *vp__whereabouts_on(const vp__whereabouts *m, const vp__device *device);

/* A device has produced the whole contents of a new storage: this replica, taken over. False
 * without memory. name and where tell of the instruction in case the device loses them. */
bool vp__remote_produced(vp__storage *s, vp__replica *r, const char *name,
                         const char *where);

/* The host's memory was written: what devices have of it is out of date. */
void vp__remote_forget(vp__storage *s);

/* Whether an input's contents are, or are going to be, in a device's memory. */
bool vp__remote_will_be_on(vp__storage *s, const vp__device *device);

#endif
