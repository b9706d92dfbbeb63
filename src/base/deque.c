/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the work-stealing deque that are not on the fast path: its memory.
 */
#include "base/deque.h"

#include <stdlib.h>

static vp__deque_array *array_new(int64_t slots, vp__deque_array *outgrown) {
    size_t bytes = sizeof(vp__deque_array) + (size_t)slots * sizeof(_Atomic(void *));
    vp__deque_array *array = malloc(bytes);
    if (!array) return NULL;
    array->outgrown = outgrown;
    array->mask = slots - 1;
    for (int64_t i = 0; i < slots; i++) atomic_init(&array->slot[i], NULL);
    return array;
}

bool vp__deque_init(vp__deque *d, int64_t capacity) {
    int64_t slots = 16;
    while (slots < capacity) slots *= 2;
    vp__deque_array *array = array_new(slots, NULL);
    atomic_init(&d->top, 0);
    atomic_init(&d->bottom, 0);
    atomic_init(&d->array, array);
    return array != NULL;
}

void vp__deque_deinit(vp__deque *d) {
    vp__deque_array *array = atomic_load_explicit(&d->array, memory_order_relaxed);
    while (array) {
        vp__deque_array *outgrown = array->outgrown;
        free(array);
        array = outgrown;
    }
    atomic_store_explicit(&d->array, NULL, memory_order_relaxed);
}

bool vp__deque_grow(vp__deque *d) {
    vp__deque_array *old = atomic_load_explicit(&d->array, memory_order_relaxed);
    vp__deque_array *array = array_new((old->mask + 1) * 2, old);
    if (!array) return false;
    int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);
    /* Items that thieves take meanwhile are copied in vain, which does no harm: top decides
     * who has an item, and nobody looks below it. Relaxed: a stale top copies more. */
    int64_t top = atomic_load_explicit(&d->top, memory_order_relaxed);
    for (int64_t i = top; i < bottom; i++) {
        void *item =
            atomic_load_explicit(&old->slot[i & old->mask], memory_order_relaxed);
        atomic_store_explicit(&array->slot[i & array->mask], item, memory_order_relaxed);
    }
    /* Release pairs with the load of the array in steal: its slots are filled. */
    atomic_store_explicit(&d->array, array, memory_order_release);
    return true;
}
