/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of more than 16 MiB. Each has a mapping of its own, on huge pages; freed ones are
 * kept for the next allocation of their class, as far as vp__map_bound allows. The least
 * recently freed goes first.
 */
#ifndef VP_ARRAY_LARGE_H
#define VP_ARRAY_LARGE_H

#include <stdint.h>

/* A block of the class, at a multiple of a huge page; NULL when memory is exhausted even
 * though nothing is kept any more. */
void *vp__large_take(unsigned size_class);
void vp__large_give(unsigned size_class, void *block);

/* Unmaps kept blocks until the pool has no more than `bound` bytes, or none are left. */
void vp__large_evict(int64_t bound);

/* Around a fork: nobody is inside while it is locked. */
void vp__large_lock(void);
void vp__large_unlock(void);

#endif
