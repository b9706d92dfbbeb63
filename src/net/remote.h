/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the contents of a storage are, when that is not only the host's memory. A replica
 * is a copy in the memory of one device. It never changes once it is there: a node on a
 * device makes a new replica, a write on the host makes the storage forget its replicas,
 * and whoever still reads one holds a reference. So the order of accesses stays the
 * business of the storage's log, and moving contents is always only reading them.
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

void vp__replica_release(vp__replica *r);

/* A new replica without contents and with one reference; NULL without memory. */
vp__replica *vp__replica_new(vp__device *device, size_t bytes);

/* Waits until a storage's contents are in the host's memory: attaches a waiter and returns
 * true, or returns false when they are there already. Starts fetching them if need be. */
bool vp__remote_to_host(vp__storage *s, void *who, int what);

/* Finds or makes a replica of an input on a device and, when it is not there yet, attaches
 * the node (for what) and adds to *waits; the count may be signalled before this returns.
 * The contents may have to come through the host: then there is no replica yet, and the
 * node must ask again. *failed when it cannot be had. */
vp__replica *vp__remote_to_device(const vp__input *in, vp__device *device, vp__node *n,
                                  int what, int *waits, bool *failed);

/* A device has produced the whole contents of a new storage: this replica, taken over. False
 * without memory. name and where tell of the instruction in case the device loses them. */
bool vp__remote_produced(vp__storage *s, vp__replica *r, const char *name,
                         const char *where);

/* The host's memory was written: what devices have of it is out of date. */
void vp__remote_forget(vp__storage *s);

/* Whether an input's contents are, or are going to be, in a device's memory. */
bool vp__remote_will_be_on(vp__storage *s, const vp__device *device);

#endif
