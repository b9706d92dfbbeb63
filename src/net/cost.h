/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost model and the books: how long a node will take in some place, and how much work
 * is ahead there. Every figure is corrected by what is measured, so that a wrong guess
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
/* The same on a device, or with NULL on a core; and how many runs it stands on, no more than
 * VP__COST_TRIALS: with as many it is believed. */
enum { VP__COST_TRIALS = 3 };
double vp__cost_factor_on(const vp__device *device, int key);
int vp__cost_samples(const vp__device *device, int key);

/* How long a copy to or from a device takes until it is there; 0 bytes: anything at all. */
double vp__cost_copy(vp__device *device, int64_t bytes);

/* The work ahead of a core, and the one from `first` on that has least of it. */
int64_t vp__cost_ahead(int core);
int vp__cost_least_busy(int first);

/* Books a node on its home core; takes a node out of the books where it is. */
void vp__cost_book(vp__node *n);
void vp__cost_unbook(vp__node *n);

/* Books nanoseconds that the thread which compiles is going to take, or, negative, takes them
 * out again. One after the other. */
void vp__cost_book_compiling(int64_t ns);

/* Corrects the model with a node that has just run; what a core did tells of its speed. */
void vp__cost_learn(vp__core *core, const vp__node *n);
/* The same for one that took a device this long. */
void vp__cost_learn_launch(const vp__node *n, double ns);

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
