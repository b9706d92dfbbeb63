/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/tree.h"

#include <string.h>

void vp__tree_add(const vp__reduce_kernel *kernel, void *levels, const void *state,
                  int64_t rows, uint64_t count) {
    const int64_t n = rows * kernel->lanes;
    const size_t bytes = (size_t)n * (size_t)kernel->state_size;
    char *level = levels;
    for (count >>= VP__TREE_SHIFT; count & 1; count >>= 1, level += bytes) {
        kernel->merge(level, state, n);
        state = level;
    }
    memcpy(level, state, bytes);
}

/* Merges 2^k states into the first. */
static void merge_all(const vp__reduce_kernel *kernel, char *states, int64_t n,
                      size_t bytes, uint64_t blocks) {
    for (uint64_t step = 1; step < blocks; step *= 2)
        for (uint64_t i = 0; i < blocks; i += 2 * step)
            kernel->merge(states + i * bytes, states + (i + step) * bytes, n);
}

void *vp__tree_end(const vp__reduce_kernel *kernel, void *levels, void *states,
                   int64_t rows, uint64_t count) {
    const int64_t n = rows * kernel->lanes;
    const size_t bytes = (size_t)n * (size_t)kernel->state_size;
    uint64_t waiting = count % VP__TREE_BLOCKS;
    char *all = NULL, *level = levels;
    for (uint64_t size = 1; waiting; size *= 2) {
        if (!(waiting & size)) continue;
        waiting -= size;
        char *part = (char *)states + waiting * bytes;
        merge_all(kernel, part, n, bytes, size);
        if (all) kernel->merge(part, all, n);
        all = part;
    }
    for (count >>= VP__TREE_SHIFT; count; count >>= 1, level += bytes) {
        if (!(count & 1)) continue;
        if (all) kernel->merge(level, all, n);
        all = level;
    }
    return all;
}
