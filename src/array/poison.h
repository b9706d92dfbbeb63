/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling the address sanitizer which memory of the pool nobody may touch, so that it
 * finds uses after a free, and past the end of a block, in memory it did not allocate
 * itself. Costs nothing in other builds.
 */
#ifndef VP_ARRAY_POISON_H
#define VP_ARRAY_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define VP__HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VP__HAS_ASAN 1
#endif
#endif

#ifdef VP__HAS_ASAN
#include <sanitizer/asan_interface.h>
static inline void vp__poison(void *p, size_t bytes) {
    __asan_poison_memory_region(p, bytes);
}
static inline void vp__unpoison(void *p, size_t bytes) {
    __asan_unpoison_memory_region(p, bytes);
}
#else
static inline void vp__poison(void *p, size_t bytes) {
    (void)p;
    (void)bytes;
}
static inline void vp__unpoison(void *p, size_t bytes) {
    (void)p;
    (void)bytes;
}
#endif

#endif
