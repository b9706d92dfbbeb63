/* SPDX-License-Identifier: Apache-2.0
 *
 * A binary counter: level i holds the state of 2^i batches where bit i of the count is 1.
 */
#include "jit/tree.h"

#include <string.h>

void vp__tree_add(const vp__reduce_kernel *kernel, void *levels, const void *state,
                  int64_t rows, uint64_t count) {
    const int64_t n = rows * kernel->lanes;
    const size_t bytes = (size_t)n * (size_t)kernel->state_size;
    char *level = levels;
    for (; count & 1; count >>= 1, level += bytes) {
        kernel->merge(level, state, n);
        state = level;
    }
    memcpy(level, state, bytes);
}

void *vp__tree_end(const vp__reduce_kernel *kernel, void *levels, void *state,
                   int64_t rows, uint64_t count) {
    const int64_t n = rows * kernel->lanes;
    const size_t bytes = (size_t)n * (size_t)kernel->state_size;
    for (char *level = levels; count; count >>= 1, level += bytes) {
        if (!(count & 1)) continue;
        kernel->merge(level, state, n);
        state = level;
    }
    return state;
}
