/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash of 256 bits: BLAKE2b (J.-P. Aumasson, S. Neves, Z. Wilcox-O'Hearn, C. Winnerlein,
 * "BLAKE2: simpler, smaller, fast as MD5", 2013; RFC 7693) with a result of 32 bytes and no
 * key. Nobody can make two inputs that agree, so it may name things and vouch for them; it
 * takes one to two nanoseconds per byte, which is too much for a hash table.
 */
#ifndef VP_BASE_HASH_H
#define VP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t bytes[32];
} vp__hash;

/* A hash under way: init, add as often as there are parts, then one result. Where the parts
 * were divided does not matter to it. */
typedef struct {
    uint64_t state[8];
    uint64_t total; /* bytes mixed in before those of the block */
    size_t used;    /* bytes of the block */
    uint8_t block[128];
} vp__hasher;

void vp__hasher_init(vp__hasher *h);
void vp__hasher_add(vp__hasher *h, const void *bytes, size_t size);
vp__hash vp__hasher_result(vp__hasher *h);

/* The hash of one piece of memory. */
vp__hash vp__hash_of(const void *bytes, size_t size);

#endif
