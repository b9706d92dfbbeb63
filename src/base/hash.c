/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAKE2b as RFC 7693 writes it down. A full block is kept back until more bytes come,
 * because the last one is mixed in with a mark. Words are little-endian by definition; the
 * conversion is written out and costs nothing where the machine is too.
 */
#include "base/hash.h"

#include <string.h>

enum { BLOCK = 128, ROUNDS = 12 };

static const uint64_t start[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* Which words of the block a round takes, in order. */
static const uint8_t order[ROUNDS][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static inline uint64_t rotate(uint64_t x, int by) { return x >> by | x << (64 - by); }

static inline uint64_t load(const uint8_t *p) {
    uint64_t x = 0;
    for (int i = 0; i < 8; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static inline void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x,
                       uint64_t y) {
    *a += *b + x;
    *d = rotate(*d ^ *a, 32);
    *c += *d;
    *b = rotate(*b ^ *c, 24);
    *a += *b + y;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 63);
}

/* Mixes a block into the state; `total` counts the bytes up to its end. */
static void compress(uint64_t state[8], const uint8_t *block, uint64_t total, int last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 16; i++) m[i] = load(block + 8 * (size_t)i);
    memcpy(v, state, 64);
    memcpy(v + 8, start, 64);
    v[12] ^= total;
    if (last) v[14] = ~v[14];
    for (int r = 0; r < ROUNDS; r++) {
        const uint8_t *s = order[r];
        /* Written out, the state stays in registers. */
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) /* the columns */
            mix(&v[i], &v[4 + i], &v[8 + i], &v[12 + i], m[s[2 * i]], m[s[2 * i + 1]]);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) /* the diagonals */
            mix(&v[i], &v[4 + (i + 1) % 4], &v[8 + (i + 2) % 4], &v[12 + (i + 3) % 4],
                m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++) state[i] ^= v[i] ^ v[8 + i];
}

void vp__hasher_init(vp__hasher *h) {
    memcpy(h->state, start, sizeof start);
    h->state[0] ^= 0x01010000u | sizeof(vp__hash); /* the parameters: no key, 32 bytes */
    h->total = 0;
    h->used = 0;
}

void vp__hasher_add(vp__hasher *h, const void *bytes, size_t size) {
    const uint8_t *p = bytes;
    while (size > 0) {
        if (h->used == BLOCK) {
            compress(h->state, h->block, h->total += BLOCK, 0);
            h->used = 0;
        }
        /* Whole blocks with something after them need not be copied. */
        for (; h->used == 0 && size > BLOCK; p += BLOCK, size -= BLOCK)
            compress(h->state, p, h->total += BLOCK, 0);
        size_t part = BLOCK - h->used < size ? BLOCK - h->used : size;
        memcpy(h->block + h->used, p, part);
        h->used += part;
        p += part;
        size -= part;
    }
}

vp__hash vp__hasher_result(vp__hasher *h) {
    vp__hash result;
    memset(h->block + h->used, 0, BLOCK - h->used);
    compress(h->state, h->block, h->total + h->used, 1);
    for (int i = 0; i < 32; i++)
        result.bytes[i] = (uint8_t)(h->state[i / 8] >> 8 * (i % 8));
    return result;
}

vp__hash vp__hash_of(const void *bytes, size_t size) {
    vp__hasher h;
    vp__hasher_init(&h);
    vp__hasher_add(&h, bytes, size);
    return vp__hasher_result(&h);
}
