/* SPDX-License-Identifier: Apache-2.0
 *
 * Running nodes, on the calling thread.
 */
#ifndef VP_NET_RUN_H
#define VP_NET_RUN_H

#include "net/node.h"

/* Runs a node or a ticket taken from a queue, then whatever it made ready. */
void vp__node_run(vp__core *core, vp__node *n);

/* Runs a node that nobody else knows yet, and leaves what it made ready: its issuer goes on, and
 * may hold an array meanwhile. */
void vp__node_run_alone(vp__core *core, vp__node *n);

#endif
