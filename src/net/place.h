/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a node runs: on which core, or on which device, by what the cost model knows.
 */
#ifndef VP_NET_PLACE_H
#define VP_NET_PLACE_H

#include "net/node.h"

/* Chooses where a node runs whose size and inputs' places are known, and books it there:
 * sets home, device and cost. */
void vp__node_place(vp__node *n);

/* Places a node where it is: it is about to run on the calling thread. */
void vp__node_stay(vp__node *n);

#endif
