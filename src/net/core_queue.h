/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues of cores: how a node gets to the thread that runs it. A core has a Chase–Lev deque
 * that its thread owns and others steal from, and an inbox: a Treiber stack anyone pushes to and
 * one thread empties whole. Nobody but the two ends ever touches a queue, and there is no global
 * one. Threads that find nothing sleep here, and are woken here.
 */
#ifndef VP_NET_CORE_QUEUE_H
#define VP_NET_CORE_QUEUE_H

#include "net/node.h"

/* Whether a node takes no longer than handing it over to another thread. */
bool vp__core_is_short(const vp__node *n);

/* A thread begins to run what it finds because it waits, and does so no more. What is left
 * then others hear of. */
void vp__core_help_begin(vp__core *self);
void vp__core_help_end(vp__core *self);

/* Puts a node, or a ticket for some of its pieces, into the caller's own deque, and wakes
 * nobody. False without memory. */
bool vp__core_queue(vp__core *self, vp__node *n, bool ticket);

/* At the end of what a device has called us for. If its thread is not one of ours in the middle
 * of something, it leaves borrowed memory that is to be given back to one of ours: the device
 * does nothing meanwhile, and what the user does then may wait for it. */
void vp__core_left_by_device(void);

/* Gives a node to a core: its own thread pushes to the deque, others to the inbox. */
void vp__core_push(vp__core *self, int core, vp__node *n);

/* Finds something to run: own deque, own inbox, then everyone else's. NULL if nothing. */
vp__node *vp__core_find(vp__core *self);

/* Wakes a sleeping worker if the unstarted work on its core, or on ours, is worth a wake. */
void vp__core_wake_if_worth(vp__core *self, int core);
void vp__core_wake(vp__core *c);
/* Wakes every worker that sleeps: one of them alone may have no time for what there is. */
void vp__core_wake_all(void);

/* Sleeps until woken or `timeout_ns` passed (< 0: no limit), unless `done` is already set. */
void vp__core_sleep(vp__core *self, const _Atomic int *done, int64_t timeout_ns);

#endif
