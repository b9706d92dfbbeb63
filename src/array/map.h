/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pool has from the system, and the books about it.
 *
 * Two sums are kept. `charged` is all memory the pool may occupy, in use or not; `lent` is
 * what has left the shared levels of the pool, be it in a program's hands or in the cache
 * of a thread. From the largest `lent` of the recent past follows how much the pool may
 * keep (vp__map_bound): a program that frees and allocates the same gigabyte over and over
 * keeps it mapped, and one that is done with it gives it back. "Recent" is measured in
 * bytes allocated, not in time, so that runs are alike.
 */
#ifndef VP_ARRAY_MAP_H
#define VP_ARRAY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VP__HUGE_PAGE = 2 << 20 };

/* Maps memory at a multiple of `align` (a power of two, at least a huge page), on huge
 * pages where the system has them; NULL when it refuses. */
void *vp__map_new(size_t bytes, size_t align);
void vp__map_release(void *p, size_t bytes);

/* Gives the pages back but keeps the addresses; they read as zero when touched again. */
void vp__map_discard(void *p, size_t bytes);

/* Enters memory into the books before it is used; false, and nothing happened, when the
 * process would exceed what it may have at all. */
bool vp__map_charge(int64_t bytes);
void vp__map_uncharge(int64_t bytes);
int64_t vp__map_charged(void);

/* Blocks leave (bytes > 0) or return to the shared levels. */
void vp__map_lend(int64_t bytes);
int64_t vp__map_lent(void);

/* How large `charged` may be while some of it is not in use. */
int64_t vp__map_bound(void);

typedef struct {
    int64_t peak_charged, peak_lent, system_calls;
} vp__map_stat;

void vp__map_stats(vp__map_stat *out);
void vp__map_reset_peaks(void);

#endif
