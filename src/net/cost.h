/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost model: how long a node will take, and where it should run.
 */
#ifndef VP_NET_COST_H
#define VP_NET_COST_H

#include "net/node.h"

/* Estimated nanoseconds of one operation over `count` elements of a working type. `op` may
 * be VP__OP_CAST. Uses the table's cycles alone: the same on every run, fit for decisions
 * that must depend on shapes only. */
double vp__cost_static(int op, vp_dtype type, int64_t count);

/* The factor measured runs have put on estimates for this kind of work. */
double vp__cost_factor(int key);

/* Chooses a core for a node whose size and inputs' places are known. */
int vp__cost_place(const vp__node *n);

/* Corrects the model with a node that has just run. */
void vp__cost_learn(const vp__node *n);

#endif
