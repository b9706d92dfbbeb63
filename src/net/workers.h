/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker threads. Each takes nodes from its core's queues and from everyone else's until it
 * is asked to return.
 */
#ifndef VP_NET_WORKERS_H
#define VP_NET_WORKERS_H

#include "net/core_queue.h"

/* The worker threads: started with the first node that is not run inline. */
void vp__workers_start(void);
void vp__workers_stop(void); /* joins them; nodes left stay queued */
void vp__workers_end(void);  /* the same for good: nobody starts them again */
/* The same, and nobody starts them again until they are let go: around a fork, since another
 * thread that was starting them then would leave the child a lock that nobody holds. */
void vp__workers_hold(void);
void vp__workers_let_go(void);

/* Leaves borrowed memory that is to be given back to a worker: at the end of a thread, or where
 * nobody is in a call. */
void vp__workers_take_storages(void);

#endif
