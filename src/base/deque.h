/* SPDX-License-Identifier: Apache-2.0
 *
 * A work-stealing deque of pointers: its owner pushes and pops at the bottom, last in first
 * out, and any thread steals at the top, first in first out.
 *
 * This is the structure of D. Chase and Y. Lev, "Dynamic circular work-stealing deque"
 * (SPAA 2005), with the C11 orders that N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli
 * proved in "Correct and efficient work-stealing for weak memory models" (PPoPP 2013),
 * except that where they put a sequentially consistent fence between two accesses, the two
 * accesses themselves are sequentially consistent here: the thread sanitizer understands
 * those and not fences, and on x86 the instruction is one xchg instead of one mfence.
 *
 * What must stay true: only the owner writes `bottom` and `array`; `top` only grows, by
 * compare and swap; an array that a thief may still read is never released, so outgrown
 * arrays stay until deinit (together they are smaller than the current one).
 */
#ifndef VP_BASE_DEQUE_H
#define VP_BASE_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vp__deque_array {
    struct vp__deque_array *outgrown; /* the smaller array this one replaced */
    int64_t mask; /* slots - 1; the number of slots is a power of two */
    _Atomic(void *) slot[];
} vp__deque_array;

/* Two cache lines for each side, because the adjacent-line prefetcher fetches pairs. */
typedef struct vp__deque {
    _Alignas(128) _Atomic int64_t top;    /* thieves */
    _Alignas(128) _Atomic int64_t bottom; /* owner */
    _Atomic(vp__deque_array *) array;
} vp__deque;

/* Makes an empty deque with room for `capacity` items before it first grows; false when
 * out of memory. The calling thread need not become the owner; whoever does must be told
 * by something that orders memory. */
bool vp__deque_init(vp__deque *d, int64_t capacity);

/* Releases the memory; nobody may be using the deque. Items left in it are not touched. */
void vp__deque_deinit(vp__deque *d);

/* Makes the array of a full deque twice as large; false when out of memory. Owner. */
bool vp__deque_grow(vp__deque *d);

/* Adds an item, not NULL. Owner. False only when out of memory, and then nothing happened. */
static inline bool vp__deque_push(vp__deque *d, void *item) {
    int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);
    /* Acquire pairs with the compare and swap in steal: the thief has read its slot before
     * we write a new item there. */
    int64_t top = atomic_load_explicit(&d->top, memory_order_acquire);
    vp__deque_array *array = atomic_load_explicit(&d->array, memory_order_relaxed);
    if (__builtin_expect(bottom - top > array->mask, 0)) {
        if (!vp__deque_grow(d)) return false;
        array = atomic_load_explicit(&d->array, memory_order_relaxed);
    }
    atomic_store_explicit(&array->slot[bottom & array->mask], item, memory_order_relaxed);
    /* Release pairs with the load of bottom in steal: a thief that sees the new bottom
     * sees the slot, what the item points to, and the array. */
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_release);
    return true;
}

/* Takes the newest item; NULL when empty. Owner. */
static inline void *vp__deque_pop(vp__deque *d) {
    int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;
    /* An empty deque costs no ordered store. A stale top can only make the deque look
     * fuller than it is, which the ordered path below sorts out. */
    if (bottom < atomic_load_explicit(&d->top, memory_order_relaxed)) return NULL;
    vp__deque_array *array = atomic_load_explicit(&d->array, memory_order_relaxed);
    /* Sequentially consistent, as are the two loads in steal: of a pop and a steal that
     * race for the last item either we see the thief's top or it sees our bottom. */
    atomic_store_explicit(&d->bottom, bottom, memory_order_seq_cst);
    int64_t top = atomic_load_explicit(&d->top, memory_order_seq_cst);
    void *item = NULL;
    if (top <= bottom) {
        item = atomic_load_explicit(&array->slot[bottom & array->mask],
                                    memory_order_relaxed);
        if (top < bottom) return item;
        /* The last item: whoever moves top has it. Pairs with the same in steal. */
        if (!atomic_compare_exchange_strong_explicit(
                &d->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed)) {
            item = NULL;
        }
    }
    /* Empty now, and bottom equals top again. Release, like every store to bottom, so that
     * a thief which reads it is ordered after all earlier pushes. */
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_release);
    return item;
}

/* Takes the oldest item; NULL when empty, or when another thread took it first. */
static inline void *vp__deque_steal(vp__deque *d) {
    /* Sequentially consistent and in this order; they pair with pop's store and load. */
    int64_t top = atomic_load_explicit(&d->top, memory_order_seq_cst);
    int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_seq_cst);
    if (top >= bottom) return NULL;
    /* Acquire pairs with the release of the array in grow. */
    vp__deque_array *array = atomic_load_explicit(&d->array, memory_order_acquire);
    /* The item must be read before top moves, since the slot is the owner's afterwards;
     * it is ours only if the swap succeeds. */
    void *item =
        atomic_load_explicit(&array->slot[top & array->mask], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(
            &d->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed)) {
        return NULL;
    }
    return item;
}

/* Where the oldest item is, and where the next one will be: positions only grow but for what
 * the owner pops. Relaxed: hints to all but the owner, whose the second is. */
static inline int64_t vp__deque_top(const vp__deque *d) {
    return atomic_load_explicit(&d->top, memory_order_relaxed);
}
static inline int64_t vp__deque_bottom(const vp__deque *d) {
    return atomic_load_explicit(&d->bottom, memory_order_relaxed);
}

/* How many items there are: a hint, never negative. Any thread. */
static inline int64_t vp__deque_size(const vp__deque *d) {
    /* Relaxed: nothing is concluded from it but whether a pop or steal is worth trying. */
    int64_t top = atomic_load_explicit(&d->top, memory_order_relaxed);
    int64_t size = atomic_load_explicit(&d->bottom, memory_order_relaxed) - top;
    return size > 0 ? size : 0;
}

#endif
