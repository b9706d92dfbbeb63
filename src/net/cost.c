/* SPDX-License-Identifier: Apache-2.0 */
#include "net/cost.h"

#include <math.h>

#include "base/clock.h"
#include "jit/kernel.h"
#include "net/tuning.h"

/* Measured over estimated, per kind of work (an operation of the table, or beyond it a
 * library operation), for the cores and for each device. */
enum { KEYS = 256, OVERHEAD_NS = 300 };
static vp__figure factors[1 + VP__MAX_DEVICES][KEYS];

/* Cycles per 64 bytes are for data in L1 at about this clock. */
static const double ns_per_cycle = 0.35;

double vp__cost_static(int op, vp_dtype type, int64_t count) {
    double cycles = op < VP__NOPS ? vp__ops[op].cycles : 2.0;
    return (double)count * vp__dtype[type].size / 64.0 * cycles * ns_per_cycle;
}

/* --- figures ------------------------------------------------------------------------ */

static double value(vp__figure *f) {
    return (double)atomic_load_explicit(&f->value, memory_order_relaxed);
}

static int samples(vp__figure *f) {
    return atomic_load_explicit(&f->samples, memory_order_relaxed);
}

/* Moves a figure towards what was just measured, in the logarithm: all the way the first
 * time, then half the way down or an eighth up. What took longer than usual was some other
 * program's fault, as a rule; what was shorter shows what can be done. */
static void correct(vp__figure *f, double measured, double least, double most) {
    if (measured < least) measured = least;
    if (measured > most) measured = most;
    int n = samples(f);
    double old = value(f), now = measured;
    if (n && old > 0) {
        const double half = sqrt(measured / old);
        now = old * (measured < old ? half : sqrt(sqrt(half)));
    }
    atomic_store_explicit(&f->value, (float)now, memory_order_relaxed);
    if (n < VP__COST_TRIALS)
        atomic_store_explicit(&f->samples, n + 1, memory_order_relaxed);
}

static vp__figure *factor_of(const vp__device *device, int key) {
    return &factors[device ? 1 + device->index : 0][key % KEYS];
}

static double factor(const vp__device *device, int key) {
    double f = value(factor_of(device, key));
    if (f > 0) return f;
    return device ? (double)device->slowness : 1.0;
}

double vp__cost_factor(int key) { return factor(NULL, key); }

double vp__cost_factor_on(const vp__device *device, int key) {
    return factor(device, key);
}

int vp__cost_samples(const vp__device *device, int key) {
    return samples(factor_of(device, key));
}

double vp__cost_copy(vp__device *device, int64_t bytes) {
    return value(&device->latency) + (double)bytes * value(&device->ns_per_byte);
}

void vp__cost_mislead(double by) {
    for (int i = 0; i < KEYS; i++) {
        vp__figure *f = factor_of(NULL, i);
        atomic_store_explicit(&f->value, (float)(by * factor(NULL, i)),
                              memory_order_relaxed);
        atomic_store_explicit(&f->samples, VP__COST_TRIALS, memory_order_relaxed);
    }
}

/* --- speeds of cores ----------------------------------------------------------------------- */

/* Measured over expected, of a core and of all of them: what they have in common, a factor
 * that is not right yet or a machine that others use too, says nothing about the core. Racy
 * and relaxed: a lost update is one of many. */
static _Atomic float common_pace;

static float pace(const _Atomic float *p) {
    const float value = atomic_load_explicit(p, memory_order_relaxed);
    return value > 0 ? value : 1; /* before the first run */
}

static void keep_pace(_Atomic float *p, float ratio) {
    const float now = pace(p), next = now + (ratio - now) / 32;
    /* Not for next to nothing: all cores look at one of them with every node. */
    if (fabsf(next - now) > now / 1024)
        atomic_store_explicit(p, next, memory_order_relaxed);
}

static void learn_speed(vp__core *core, double ratio) {
    /* A thread that was interrupted is not a slow core. */
    const float r = ratio < 0.25 ? 0.25f : ratio > 4 ? 4 : (float)ratio;
    keep_pace(&core->pace, r);
    keep_pace(&common_pace, r);
}

static float slowness(const vp__core *c) { return pace(&c->pace) / pace(&common_pace); }

double vp__cost_slowness(const vp__core *c) { return (double)slowness(c); }

/* --- books -------------------------------------------------------------------------- */

int64_t vp__cost_ahead(int core) {
    return atomic_load_explicit(&vp__cores[core]->ahead, memory_order_relaxed) +
           atomic_load_explicit(&vp__cores[core]->compiling, memory_order_relaxed);
}

int vp__cost_least_busy(int first) {
    int best = first;
    int64_t least = INT64_MAX;
    for (int i = first; i < vp__placeable; i++) {
        int64_t ahead = vp__cost_ahead(i);
        if (ahead < least) {
            least = ahead;
            best = i;
        }
    }
    return best;
}

static _Atomic int64_t *book_of(const vp__node *n) {
    return n->device ? &n->device->ahead : &vp__cores[n->home]->ahead;
}

static inline void book(vp__node *n) {
    n->cost = n->estimate * (float)factor(n->device, n->key);
    if (!n->device) n->cost *= slowness(vp__cores[n->home]);
    /* relaxed, as all of the books: a hint. */
    if (n->cost >= 1)
        atomic_fetch_add_explicit(book_of(n), (int64_t)n->cost, memory_order_relaxed);
}

void vp__cost_book(vp__node *n) { book(n); }

void vp__cost_unbook(vp__node *n) {
    if (n->cost >= 1)
        atomic_fetch_sub_explicit(book_of(n), (int64_t)n->cost, memory_order_relaxed);
}

void vp__cost_book_compiling(int64_t ns) {
    /* Of the one thread that compiles, or of whoever undoes it after a fork. */
    static int core;
    /* Core 0 is the caller's: what it waits for should not have to wait too. */
    if (ns > 0) core = vp__placeable > 1 ? vp__cost_least_busy(1) : 0;
    atomic_fetch_add_explicit(&vp__cores[core]->compiling, ns, memory_order_relaxed);
}

/* --- learning ----------------------------------------------------------------------- */

enum { MOSTLY_CLOCK_NS = 300 }; /* what took no longer says little */

/* What a node costs whatever it does: without this, a tiny one that was interrupted would
 * teach that its kind of work takes a thousand times as long. */
static double expected(const vp__node *n) { return (double)n->estimate + OVERHEAD_NS; }

static void learn(const vp__node *n, double took) {
    correct(factor_of(n->device, n->key), took / expected(n), 1e-4, 1e4);
}

void vp__cost_learn(vp__core *core, const vp__node *n) {
    /* Split nodes ran on several cores at once: what counts is the time of all of them. */
    const int64_t split = atomic_load_explicit(&n->piece_ticks, memory_order_relaxed);
    const double took = split ? (double)vp__clock_ns((uint64_t)split)
                              : (double)vp__clock_ns(vp__clock_ticks() - n->began);
    if (took < MOSTLY_CLOCK_NS || n->estimate <= 0) return;
    if (!split) learn_speed(core, took / (expected(n) * factor(NULL, n->key)));
    learn(n, took);
}

void vp__cost_learn_launch(const vp__node *n, double ns) {
    if (ns >= MOSTLY_CLOCK_NS && n->estimate > 0) learn(n, ns);
}

void vp__cost_learn_copy(vp__device *device, double ns, int64_t bytes) {
    enum { ENOUGH = 4096 }; /* less says little about bandwidth */
    if (bytes >= ENOUGH) correct(&device->ns_per_byte, ns / (double)bytes, 1e-6, 1e6);
}

void vp__cost_learn_latency(vp__device *device, uint64_t given) {
    correct(&device->latency, (double)vp__clock_ns(vp__clock_ticks() - given), 1, 1e10);
}
