/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers that are the same everywhere: Steele, Lea and Flood's SplitMix64.
 */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t fuzz_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 ≤ result < n. */
static inline int fuzz_below(uint64_t *state, int n) {
    return (int)((fuzz_next(state) >> 32) * (uint64_t)n >> 32);
}

/* low ≤ result ≤ high. */
static inline int64_t fuzz_between(uint64_t *state, int64_t low, int64_t high) {
    return low + (int64_t)(fuzz_next(state) % (uint64_t)(high - low + 1));
}

static inline bool fuzz_chance(uint64_t *state, int percent) {
    return fuzz_below(state, 100) < percent;
}

#endif
