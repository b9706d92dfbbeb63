/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting what has begun and not ended, so that somebody can wait for all that has begun so
 * far while others go on beginning. There are two counters, used in turn: what begins counts
 * in the one of the present round, and whoever waits lets the next round begin as soon as its
 * counter is free, so that the other one runs dry. These are the counters of sleepable RCU
 * (P. McKenney, "Sleepable RCU", 2006), without a lock: a waiter needs to have seen each of
 * them at zero, or that others have.
 *
 * Somebody may read the round, be held up, and count in it when it is over. So both counters
 * are waited for, not only the one that was in use: whatever has begun is in one of them.
 */
#ifndef VP_BASE_ROUNDS_H
#define VP_BASE_ROUNDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uint64_t now;
    _Atomic int64_t open[2]; /* begun in even and in odd rounds, and not ended */
} vp__rounds;

/* Returns what the end has to say. seq_cst, here and below: who lets a round begin after a waiter
 * has read `now` finds what had begun before that waiter counted. */
static inline uint8_t vp__rounds_begin(vp__rounds *r) {
    const uint8_t round = atomic_load_explicit(&r->now, memory_order_relaxed) & 1;
    atomic_fetch_add_explicit(&r->open[round], 1, memory_order_seq_cst);
    return round;
}

/* release pairs with the acquire of whoever waits: what was done in between is seen. */
static inline void vp__rounds_end(vp__rounds *r, uint8_t round) {
    atomic_fetch_sub_explicit(&r->open[round], 1, memory_order_release);
}

/* How many there are. relaxed: a thread sees its own. */
static inline int64_t vp__rounds_open(vp__rounds *r) {
    return atomic_load_explicit(&r->open[0], memory_order_relaxed) +
           atomic_load_explicit(&r->open[1], memory_order_relaxed);
}

/* What somebody waits for: all that had begun when it was made. */
typedef struct {
    uint64_t since;
    bool over[2];
} vp__rounds_wait;

static inline vp__rounds_wait vp__rounds_so_far(vp__rounds *r) {
    return (vp__rounds_wait){.since =
                                 atomic_load_explicit(&r->now, memory_order_seq_cst)};
}

/* Whether it is over; asked again and again. seq_cst also acquires: what the ends release, and
 * the exchange of whoever has seen them and says so. */
static inline bool vp__rounds_are_over(vp__rounds *r, vp__rounds_wait *w) {
    uint64_t now = atomic_load_explicit(&r->now, memory_order_seq_cst);
    bool free[2];
    for (int i = 0; i < 2; i++) {
        free[i] = atomic_load_explicit(&r->open[i], memory_order_seq_cst) == 0;
        w->over[i] |= free[i];
    }
    /* The first round after `since` may have begun by what was seen before; each of the next
     * two begins when one of the counters has been found at zero since then. */
    if ((w->over[0] && w->over[1]) || now - w->since >= 3) return true;
    /* If it fails, somebody else has done it. */
    if (free[!(now & 1)])
        atomic_compare_exchange_strong_explicit(
            &r->now, &now, now + 1, memory_order_seq_cst, memory_order_relaxed);
    return false;
}

#endif
