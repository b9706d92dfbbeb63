/* SPDX-License-Identifier: Apache-2.0
 *
 * The size classes of the pool, and the shared level for blocks of up to 16 MiB.
 *
 * Sizes up to 512 bytes go in steps of 64, larger ones in eight steps per doubling, so
 * that no block is more than an eighth larger than what was asked for. Blocks of one class
 * lie side by side in slabs; slabs are runs of 32 KiB pages in chunks of 64 MiB, aligned
 * to their size, so that a block's address leads to its chunk. Pages of a slab that is
 * not needed any more serve any other class, which keeps programs with many sizes of
 * arrays from holding each at its own peak. What is known about blocks
 * is at the head of the chunk and never inside a free block: freeing does not touch the
 * memory, and writing past the end of a block does not damage the pool.
 *
 * Each class has a spin lock. Blocks pass through it in batches, so it is taken once for
 * dozens of allocations and held for well under a microsecond; a lock-free stack would
 * need links inside the blocks, and tags against their reuse.
 */
#ifndef VP_ARRAY_SLAB_H
#define VP_ARRAY_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VP__CLASSES = 320,      /* up to 2^48 bytes */
    VP__SLAB_CLASSES = 128, /* those up to 16 MiB */
};

static inline unsigned vp__class_of(size_t bytes) {
    if (bytes <= 512) return (unsigned)((bytes - (bytes != 0)) >> 6);
    size_t last = bytes - 1;
    unsigned log = 63 - (unsigned)__builtin_clzl(last);
    return (log - 9) * 8 + (unsigned)(last >> (log - 3) & 7) + 8;
}

static inline size_t vp__class_bytes(unsigned size_class) {
    if (size_class < 8) return (size_t)(size_class + 1) << 6;
    unsigned log = (size_class - 8) / 8 + 9;
    return (size_t)((size_class - 8) % 8 + 9) << (log - 3);
}

/* Takes up to `count` blocks, at least one unless memory is exhausted; how many. */
int vp__slab_take(unsigned size_class, void **blocks, int count);

/* Gives blocks back; aborts on one that is not in use, which is an error in vproc. */
void vp__slab_give(unsigned size_class, void *const *blocks, int count);

/* Gives huge pages that hold no slab back to the system until the pool has no more than
 * `bound` bytes; with `empties` also slabs that are kept for their class although all
 * their blocks are free. */
void vp__slab_purge(int64_t bound, bool empties);

/* How many bytes a purge would find, without empties. */
int64_t vp__slab_idle(void);

/* Around a fork: nobody is inside while all is locked. */
void vp__slab_lock_all(void);
void vp__slab_unlock_all(void);

#endif
