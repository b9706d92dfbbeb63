/* SPDX-License-Identifier: Apache-2.0
 *
 * Open nodes: a node that is in the logs of what it reads and writes, but to which the thread
 * that issued it goes on adding (issue/bundle.h). It hangs in a slot of the core's record, where any
 * thread with nothing else to do may take it as it is; the issuer itself gives it to the net
 * when it holds enough work, or when it issues something else as a node (entry.h).
 */
#ifndef VP_NET_OPEN_H
#define VP_NET_OPEN_H

#include "net/node.h"

/* Takes the core's open node of one slot into the caller's hand; NULL if there is none. */
static inline vp__node *vp__open_grab(vp__core *core, int slot) {
    /* acquire: whoever had it last has added to it. */
    return atomic_exchange_explicit(&core->open[slot], NULL, memory_order_acquire);
}

/* Whether there is one: a look, relaxed, since others may take it at any time. */
static inline bool vp__open_is_there(vp__core *core, int slot) {
    return atomic_load_explicit(&core->open[slot], memory_order_relaxed);
}

/* Takes some core's open node for the caller, who runs it, or, when *waits, lets it go: what it
 * reads is still being made, or there are other places where it might run. NULL if there is
 * none. */
vp__node *vp__open_take(vp__core *self, bool *waits);

/* Lets a node go that is in the caller's hand: it runs when what it reads is there. The workers
 * have been started. */
void vp__open_release(vp__core *core, vp__node *n);

/* Whether what it reads is still being made. acquire: if not, it is there. */
static inline bool vp__open_is_waiting(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_INPUT], memory_order_acquire) > 1;
}

#endif
