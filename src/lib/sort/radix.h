/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable sorting of unsigned keys, alone or with a payload: what every sort comes down to
 * once its elements have been turned into keys (keys.h).
 */
#ifndef VP_LIB_SORT_RADIX_H
#define VP_LIB_SORT_RADIX_H

#include <stdint.h>

typedef struct {
    uint64_t key;
    int64_t position;
} vp__keyed;

/* Each sorts n items ascending and stably with the help of `spare`, room for n more, and
 * returns which of the two holds the result. */
uint32_t *vp__radix_u32(uint32_t *items, uint32_t *spare, int64_t n);
uint64_t *vp__radix_u64(uint64_t *items, uint64_t *spare, int64_t n);
vp__keyed *vp__radix_keyed(vp__keyed *items, vp__keyed *spare, int64_t n);

/* The same for items whose low 32 bits are already ascending among equal high halves. */
uint64_t *vp__radix_high(uint64_t *items, uint64_t *spare, int64_t n);

#endif
