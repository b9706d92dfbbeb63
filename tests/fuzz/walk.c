/* SPDX-License-Identifier: Apache-2.0
 *
 * What changes from one iteration of a program's loop to the next.
 */
#include "program.h"
#include "random.h"

int64_t fuzz_walked(const fuzz_walk *w, int i, int j) {
    int64_t n = (int64_t)w->di * i + (int64_t)w->dj * j;
    if (w->wobble) {
        uint64_t state = (uint64_t)i * 64 + (uint64_t)j + w->wobble;
        n += fuzz_below(&state, w->wobble + 1);
    }
    if (w->modulus <= 0) return n;
    n %= w->modulus;
    return n < 0 ? n + w->modulus : n;
}

bool fuzz_happens(const fuzz_when *w, int i) {
    return !w->every || (i % w->every == w->rest) != w->unless;
}
