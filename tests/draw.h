/* SPDX-License-Identifier: Apache-2.0
 *
 * Random bits for a test, the same in every run (G. Marsaglia, "Xorshift RNGs", 2003).
 */
#ifndef VP_TESTS_DRAW_H
#define VP_TESTS_DRAW_H

#include <stdint.h>

static uint64_t seed = 88172645463325252u;
static inline uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

#endif
