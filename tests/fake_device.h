/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for tests: memory of its own, a queue of its own, as slow as it is told to be.
 * It runs kernels with the base executor, so that results have the CPU's bits, and notices
 * when it is given an address that is not in its memory.
 */
#ifndef VP_TESTS_FAKE_DEVICE_H
#define VP_TESTS_FAKE_DEVICE_H

#include "device/device.h"

/* What the device is really like. It cannot be faster than the core that plays it, but its
 * clock can be slow. */
typedef struct {
    double latency_ns;   /* before each command of an idle queue */
    double ns_per_byte;  /* of copies */
    double slowness;     /* of kernels, against a core; below 1 it tells a lie */
    int64_t bytes;       /* of memory; 0: no limit */
    int64_t fails_after; /* commands; 0: never; < 0: only the first -fails_after fail */
    int64_t refuses_kernels; /* load fails */
    /* So many of eight kernels are refused, and so many of eight kernels and copies to the
     * device fail. Nobody has lost anything then that is nowhere else. */
    int refuses_of_8, fails_of_8;
    /* For random programs: now and then it refuses memory or a kernel, and the times it
     * reports are wrong by up to a thousandfold, so that nodes go anywhere. */
    bool moody;
    int64_t
        goes_in_copy; /* which one: the call lets the queue go, until all of it is done */
} fake_properties;

/* Starts a device and adds it to the processor's. The guesses of its cost model are its
 * properties times wrong_by. One per process. */
vp__device *fake_device_add(const fake_properties *p, double wrong_by);

/* Becomes another device, whose figures are guesses again; adds it when it is not there. The
 * net must be empty, and the device at rest. */
void fake_device_become(const fake_properties *p, double wrong_by);
/* Kernels that it was given so far. */
uint64_t fake_device_launches(void);

/* Holds the queue before the next command, lets it go on. */
void fake_device_hold(void);
void fake_device_go(void);
/* Waits until the device's thread has nothing to do and looks at nothing. */
void fake_device_rest(void);

int64_t fake_device_bytes(void); /* in use */
/* Addresses outside its memory that it was given. */
int64_t fake_device_strays(void);

#endif
