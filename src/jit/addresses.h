/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the rows are that native code reduces together. A function, because code that is not
 * generated is not compiled each time.
 */
#ifndef VP_JIT_ADDRESSES_H
#define VP_JIT_ADDRESSES_H

#include <stdint.h>

/* How many rows, or planes, are found at a time. */
enum { VP__ADDRESSES = 4 };

/* Writes where so many operands are in the rows (or planes) from the first-th of n on, which
 * lie `stride` apart: in bytes from the beginning, or from `base` on if that is not NULL; row
 * by row. The last one repeats itself where there are fewer. */
void vp__addresses_find(intptr_t *addresses, char *const *base, const int64_t *stride,
                        int64_t operands, int64_t first, int64_t n);

#endif
