/* SPDX-License-Identifier: Apache-2.0
 *
 * What native code has done of the tree of ops/kernels.h once it has the states of blocks:
 * little of the time is spent here, and code that is not generated is not compiled each
 * time.
 */
#ifndef VP_JIT_TREE_H
#define VP_JIT_TREE_H

#include "ops/kernels.h"

/* Blocks whose states wait for each other. */
enum { VP__TREE_BLOCKS = 8, VP__TREE_SHIFT = 3 };

/* Enough levels for all blocks of 2^64 elements; and not a power of two, so that they are not
 * all in the same few lines of the cache. */
enum { VP__TREE_LEVELS = 58 };

/* Adds the state of VP__TREE_BLOCKS blocks, which follow the `count` before, to the counter
 * at `levels`. All are those of so many rows, row by row. */
void vp__tree_add(const vp__reduce_kernel *kernel, void *levels, const void *state,
                  int64_t rows, uint64_t count);

/* The state of `count` blocks, at least one, of which the last, fewer than VP__TREE_BLOCKS,
 * still wait at `states`. It is somewhere in `states` or `levels`. */
void *vp__tree_end(const vp__reduce_kernel *kernel, void *levels, void *states,
                   int64_t rows, uint64_t count);

#endif
