/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a node in the net, from step to step. Signals move it: whoever brings the last one
 * that a step waits for takes the step, and what that makes ready is signalled in turn. So a
 * node's steps, its run on a device and the copies of its operands follow each other in a circle
 * and are one module: life.c has the signals and the steps up to running, life_end.c what follows
 * computing, life_launch.c and life_copy.c what goes on outside of our threads.
 */
#ifndef VP_NET_LIFE_H
#define VP_NET_LIFE_H

#include "net/remote.h"

/* Lets a node go that has entered its reads, of which it has to wait for this many, and its
 * write. `configured`: every input has its size and its place. */
void vp__node_set_out(vp__node *n, int waits, bool configured);

/* Steps, called by signals. */
void vp__node_signal(vp__node *n, int what);

/* Computing is over: the value is in the result, in a temporary, or failed. Called on the
 * thread where that happened. */
void vp__node_computed(vp__core *core, vp__node *n);

/* Counts a value that exists now, if its work does not count itself. */
void vp__node_count(vp__core *core, const vp__node *n);

/* Gives a value that will never exist a size, if it has none yet, and poisons it first, so
 * that dependents move on to inherit its error. */
void vp__node_publish_failure(vp__node *n);

/* Stores the value into its target; the last of the store's signals calls it. */
void vp__node_store(vp__node *n);

/* Publishes a late size: dims and strides of n are set. Allocates nothing. */
void vp__node_publish_size(vp__node *n);

/* Adds waiters to what this thread has to signal; delivers unless it is at it already. */
void vp__signals_deliver(vp__core *core, vp__waiter *list);
/* Queues what delivering found ready; keeps the first one of this core's for the caller when
 * `keep`, and returns it. */
vp__node *vp__ready_take(vp__core *core, bool keep);

/* Waits until a storage's contents are in the host's memory: attaches a waiter and returns
 * true, or returns false when they are there already. Starts fetching them if need be. */
bool vp__remote_to_host(vp__storage *s, void *who, int what);

/* --- between the files of this module ------------------------------------------------- */

/* Brings a node whose inputs are complete to where they can be used. True: it waits for
 * operands or has been given to its device, and is not the caller's any more. False: it
 * can run on the CPU now. */
bool vp__launch_or_fetch(vp__node *n);

/* Gives back what running on a device took. */
void vp__launch_end(vp__node *n);

/* How long the device was at it. */
double vp__launch_ns(const vp__node *n);

/* Finds or makes a replica of an input on a device and, when it is not there yet, attaches
 * the node (for what) and adds to *waits; the count may be signalled before this returns.
 * The contents may have to come through the host: then there is no replica yet, and the
 * node must ask again. *failed when it cannot be had. */
vp__replica *vp__remote_to_device(const vp__input *in, vp__device *device, vp__node *n,
                                  int what, int *waits, bool *failed);

#endif
