/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: memory that grows and goes as a whole. It starts in a block its owner gives it
 * and continues in blocks of the pool only when that is full.
 */
#ifndef VP_ARRAY_ARENA_H
#define VP_ARRAY_ARENA_H

#include <stddef.h>

#include "array/pool.h"

typedef struct vp__arena_block {
    struct vp__arena_block *next;
    size_t bytes;
} vp__arena_block;

typedef struct {
    char *at, *end;
    vp__arena_block *blocks; /* from the pool */
} vp__arena;

_Static_assert(sizeof(vp__arena_block) <= 16, "leaves what follows aligned");

static inline void vp__arena_init(vp__arena *a, void *memory, size_t bytes) {
    a->at = memory;
    a->end = a->at + bytes;
    a->blocks = NULL;
}

/* 16-byte aligned; NULL without memory. */
static inline void *vp__arena_alloc(vp__arena *a, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if ((size_t)(a->end - a->at) < bytes) {
        size_t block = bytes > 4080 ? bytes : 4080;
        vp__arena_block *b = vp__pool_alloc(16 + block);
        if (!b) return NULL;
        *b = (vp__arena_block){a->blocks, 16 + block};
        a->blocks = b;
        a->at = (char *)b + 16;
        a->end = a->at + block;
    }
    void *p = a->at;
    a->at += bytes;
    return p;
}

static inline void vp__arena_deinit(vp__arena *a) {
    while (a->blocks) {
        vp__arena_block *next = a->blocks->next;
        vp__pool_free(a->blocks, a->blocks->bytes);
        a->blocks = next;
    }
}

#endif
