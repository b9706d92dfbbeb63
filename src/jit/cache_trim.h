/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the cache below its bound.
 */
#ifndef VP_JIT_CACHE_TRIM_H
#define VP_JIT_CACHE_TRIM_H

#include <stdint.h>

#include "jit/cache_dir.h"

/* A use is noted in a file's time when the last one was noted longer ago than this. */
enum { VP__CACHE_USE_SECONDS = 3600 };

/* What a file counts as: the blocks that most file systems give it. */
static inline int64_t vp__cache_cost(int64_t bytes) {
    return (bytes + 4095) & ~INT64_C(4095);
}

/* When the file was used last, in nanoseconds since 1970. Times in the future, from a clock
 * that was wrong, are taken for very old: else they would stay for ever. */
int64_t vp__cache_last_use(const struct stat *stat);

/* Looks at the whole folder. If its files cost more than `bound`, removes those that were
 * not used for longest until they cost an eighth less. Returns what they cost then. */
int64_t vp__cache_trim(const vp__cache_dir *dir, int64_t bound);

#endif
