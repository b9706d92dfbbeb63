/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost model and the books: how long a node will take, where it should run, how much
 * work is ahead there. Every figure is corrected by what is measured, so that a wrong guess
 * is soon a right one.
 */
#ifndef VP_NET_COST_H
#define VP_NET_COST_H

#include "device/device.h"
#include "net/node.h"

/* Estimated nanoseconds of one operation over `count` elements of a working type. `op` may
 * be VP__OP_CAST. Uses the table's cycles alone: the same on every run, fit for decisions
 * that must depend on shapes only. */
double vp__cost_static(int op, vp_dtype type, int64_t count);

/* The factor measured runs have put on estimates for this kind of work on a core. */
double vp__cost_factor(int key);

/* Chooses where a node runs whose size and inputs' places are known, and books it there:
 * sets home, device and cost. */
void vp__cost_place(vp__node *n);

/* Books a node on its home core; takes a node out of the books where it is. */
void vp__cost_book(vp__node *n);
void vp__cost_unbook(vp__node *n);

/* Books nanoseconds that the thread which compiles is going to take, or, negative, takes them
 * out again. One after the other. */
void vp__cost_book_compiling(int64_t ns);

/* Corrects the model with a node that has just run; what a core did tells of its speed. */
void vp__cost_learn(vp__core *core, const vp__node *n);

/* What a core takes for work over what the cores take on average. */
double vp__cost_slowness(const vp__core *c);

/* Makes what was learned of the cores wrong by that much, and as sure as if it had been
 * measured often; for tests. */
void vp__cost_mislead(double by);

/* The same for a device: how long a copy took; and that it begins now with what it was given
 * then. */
void vp__cost_learn_copy(vp__device *device, double ns, int64_t bytes);
void vp__cost_learn_latency(vp__device *device, uint64_t given);

#endif
