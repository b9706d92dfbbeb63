/* SPDX-License-Identifier: Apache-2.0 */
#include "net/cost.h"

#include <math.h>

#include "base/clock.h"
#include "jit/kernel.h"

/* Measured over estimated, per kind of work (an operation of the table, or beyond it a
 * library operation). Relaxed everywhere: a lost update costs accuracy, nothing else. */
enum { KEYS = 256, OVERHEAD_NS = 300 };
static _Atomic float factors[KEYS];

/* Cycles per 64 bytes are for data in L1 at about this clock. */
static const double ns_per_cycle = 0.35;

double vp__cost_static(int op, vp_dtype type, int64_t count) {
    double cycles = op < VP__NOPS ? vp__ops[op].cycles : 2.0;
    return (double)count * vp__dtype[type].size / 64.0 * cycles * ns_per_cycle;
}

double vp__cost_factor(int key) {
    float f = atomic_load_explicit(&factors[key % KEYS], memory_order_relaxed);
    return f > 0 ? f : 1.0;
}

int vp__cost_place(const vp__node *n) {
    /* A node that waits for an input goes where that will be: the work ahead of it there is
     * what it waits for anyway. Stealing mends the rest. */
    if (n->home >= 0 && n->home < vp__placeable &&
        atomic_load_explicit(&n->waits[VP__WAIT_INPUT], memory_order_relaxed) > 1)
        return n->home;
    int best = 0;
    int64_t least = INT64_MAX;
    for (int i = 0; i < vp__placeable; i++) {
        int64_t ahead = atomic_load_explicit(&vp__cores[i]->ahead, memory_order_relaxed);
        if (ahead < least) {
            least = ahead;
            best = i;
        }
    }
    return best;
}

void vp__cost_learn(const vp__node *n) {
    double took = (double)vp__clock_ns(vp__clock_ticks() - n->began);
    /* Shorter than this is mostly the clock; split nodes ran on several cores at once. */
    if (took < 300 || n->pieces > 1 || n->estimate <= 0) return;
    /* What a node costs whatever it does: without this, a tiny one that was interrupted
     * would teach that its kind of work takes a thousand times as long. */
    double ratio = took / ((double)n->estimate + OVERHEAD_NS);
    /* A quarter of the way to what this run says, in the logarithm: a factor wrong by a
     * hundred is within a third after ten runs, and one odd run does little harm. */
    double f = vp__cost_factor(n->key);
    f = sqrt(sqrt(f * f * f * ratio));
    if (f < 1e-4) f = 1e-4;
    if (f > 1e4) f = 1e4;
    atomic_store_explicit(&factors[n->key % KEYS], (float)f, memory_order_relaxed);
}
