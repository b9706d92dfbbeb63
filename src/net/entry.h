/* SPDX-License-Identifier: Apache-2.0
 *
 * How nodes come into the net: a node that is ready to be let go, and an open one that holds
 * enough (open.h).
 */
#ifndef VP_NET_ENTRY_H
#define VP_NET_ENTRY_H

#include "net/open.h"

/* Enters the accesses and lets the node go; it is not the caller's any more. Set before:
 * inputs, dtype, result (the node takes a reference of its own), write_region; dims,
 * strides and cost unless work->size finds them; for a put the target. `held`, unless NULL, is
 * what keeps the result's array from getting another storage: it is unlocked as soon as the
 * write is entered. */
void vp__node_submit(vp__node *n, vp__spinlock *held);

/* What a node that enters the net by itself has to do as well: it counts from now on, and
 * has an id. */
void vp__node_enter(vp__core *core, vp__node *n);

/* Gives an open node that is in the caller's hand to the net: it runs when what it reads is
 * there. */
void vp__open_submit(vp__core *core, vp__node *n);

/* Gives a core's open node to the net. The core is the caller's. */
void vp__open_push(vp__core *core, int slot);
/* Gives all of them. */
static inline void vp__open_end(vp__core *core) {
    for (int slot = 0; slot < VP__OPEN; slot++)
        if (vp__open_is_there(core, slot)) vp__open_push(core, slot);
}

/* Leaves a node that is in the caller's hand open, to grow. */
void vp__open_leave(vp__core *core, int slot, vp__node *n);

#endif
