/* SPDX-License-Identifier: Apache-2.0
 *
 * What native code has done of the tree of ops/kernels.h once it has the states of batches
 * of blocks: little of the time is spent here, and code that is not generated is not
 * compiled each time.
 */
#ifndef VP_JIT_TREE_H
#define VP_JIT_TREE_H

#include "ops/kernels.h"

/* Blocks of a batch. One that is short is filled up with states that change nothing, and so
 * gives the state that the tree has for it. */
enum { VP__TREE_BLOCKS = 8 };

/* Enough levels for all batches of 2^63 elements. */
enum { VP__TREE_LEVELS = 53 };

/* Adds the state of a batch, which follows the `count` before, to the counter at `levels`. All
 * are those of so many rows, row by row. */
void vp__tree_add(const vp__reduce_kernel *kernel, void *levels, const void *state,
                  int64_t rows, uint64_t count);

/* The state of everything, `state` being that of the last batch, which follows the `count`
 * before. It is at `state` or in `levels`. */
void *vp__tree_end(const vp__reduce_kernel *kernel, void *levels, void *state,
                   int64_t rows, uint64_t count);

#endif
