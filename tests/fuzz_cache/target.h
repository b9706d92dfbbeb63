/* SPDX-License-Identifier: Apache-2.0
 *
 * What is fuzzed: bytes that could stand in the kernel cache. An input goes into the reader
 * of cache files, as it is and with its hash put right; the object in it, or the input
 * itself, goes into the object loader. Nothing is ever run.
 */
#ifndef VP_TESTS_FUZZ_CACHE_TARGET_H
#define VP_TESTS_FUZZ_CACHE_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's name for it. Always 0; what is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

typedef struct {
    long inputs, files, objects; /* given; read as a cache file; loaded */
} fuzz_counts;
extern fuzz_counts fuzz_counted;

/* The inputs to begin with: the objects the build compiled, each alone and in a file. Calls
 * `take` for each. Returns how many there were. */
int fuzz_seeds(void (*take)(void *context, const char *name, const uint8_t *bytes,
                            size_t size),
               void *context);

#endif
