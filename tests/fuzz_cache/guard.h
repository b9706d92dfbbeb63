/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that nobody may touch around what the object loader maps, as far on both sides as
 * an object may be large: a store outside the mapping is a crash, whatever lies there in a
 * real process. The linker sends mmap and munmap here.
 */
#ifndef VP_TESTS_FUZZ_CACHE_GUARD_H
#define VP_TESTS_FUZZ_CACHE_GUARD_H

#include <stdbool.h>

/* While this is set, the next mapping is a guarded one. There is one at a time. */
extern bool fuzz_guarded;

/* Is a guarded mapping there? */
bool fuzz_guard_is_used(void);

#endif
