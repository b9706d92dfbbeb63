/* SPDX-License-Identifier: Apache-2.0
 *
 * What the net needs of a device beside the CPU cores: memory of its own, copies, kernels,
 * and a queue that works through what it is given in order while the net goes on. A device
 * tells of the beginning and the end of each command by calling an event from a thread of
 * its own; the net never waits for a device and never asks it how far it is.
 *
 * The first figures of the cost model are the driver's guess. The net corrects them with
 * what it measures (net/cost.h).
 */
#ifndef VP_DEVICE_DEVICE_H
#define VP_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vp__kernel;
struct vp__exec_args;

enum { VP__MAX_DEVICES = 8 };

/* Signals a command's progress. `began`, unless NULL, is called when the device comes to it,
 * `done` when it is over or has failed, with the nanoseconds it took by the device's clock;
 * both from a thread of the device, in the order of the queue. The event belongs to the
 * caller and must live until `done` has been called; `done` may give the device further
 * commands. */
typedef struct vp__device_event {
    void (*began)(struct vp__device_event *event);
    void (*done)(struct vp__device_event *event, bool failed, double ns);
} vp__device_event;

typedef enum { VP__TO_DEVICE, VP__FROM_DEVICE } vp__direction;

/* One run of a loaded kernel. Everything it points to must live until the event's `done`. */
typedef struct {
    void *kernel; /* what `load` returned */
    const struct vp__exec_args *args;
    void *const *leaf; /* device addresses of the leaves' first elements */
    void *out;
} vp__launch;

typedef struct vp__device vp__device;

typedef struct {
    const char *name;
    /* Device memory, aligned to 64 bytes; NULL when there is none left. */
    void *(*allocate)(vp__device *device, size_t bytes);
    void (*release)(vp__device *device, void *memory, size_t bytes);
    void (*copy)(vp__device *device, vp__direction direction, void *to, const void *from,
                 size_t bytes, vp__device_event *event);
    /* Makes a kernel runnable; NULL when the device cannot run it. */
    void *(*load)(vp__device *device, const struct vp__kernel *kernel);
    void (*unload)(vp__device *device, void *loaded);
    void (*launch)(vp__device *device, const vp__launch *launch, vp__device_event *event);
} vp__device_driver;

/* A figure of the cost model: a guess first, then what was measured. relaxed everywhere: a
 * lost update costs accuracy, nothing else. */
typedef struct {
    _Atomic float value;
    _Atomic int samples;
} vp__figure;

struct vp__device {
    const vp__device_driver *driver;
    void *context;          /* the driver's */
    int index;              /* set by vp__device_add */
    vp__figure latency;     /* ns from giving an idle device a command until it begins */
    vp__figure ns_per_byte; /* of copies */
    float slowness;         /* its time for a kernel over a core's, first guess */
    _Atomic int64_t ahead;  /* ns of work placed here and not finished */
    _Atomic float credit;   /* towards a trial of what seems better done elsewhere */
    _Atomic int64_t launches, copies_in, copies_out; /* how often */
};

extern vp__device *vp__devices[VP__MAX_DEVICES];
extern int vp__device_count;

/* Adds a device, before anything that could be placed on it has been issued; false when
 * there are too many. */
bool vp__device_add(vp__device *device);

#endif
