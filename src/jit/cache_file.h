/* SPDX-License-Identifier: Apache-2.0
 *
 * One compiled kernel as a file: a head of 128 bytes, four texts, the object. A hash over
 * everything but itself and the usage makes truncated and damaged files known; the texts
 * say in full what the code was compiled from and for, so that it runs for nothing else.
 * The usage stands apart because it changes in place; it has a check of its own and is
 * empty when that fails, and nothing but a listing depends on it.
 *
 *       0  magic, 8 bytes
 *       8  version of this format, 4 bytes; then 4 bytes of zero
 *      16  lengths of the texts, 4 bytes each; they stand in the order of vp__cache_meta
 *      32  size of the object, 8 bytes
 *      40  key, 32 bytes
 *      72  hash of bytes 0 to 72 and 128 to the end, 32 bytes
 *     104  runs, nanoseconds, check: 8 bytes each
 *     128  the texts, each with a zero at its end; zeros up to a multiple of 16; the object
 *
 * Numbers are in the machine's order: an object is for one machine anyway.
 */
#ifndef VP_JIT_CACHE_FILE_H
#define VP_JIT_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

typedef vp__hash vp__cache_key;

/* What a kernel was compiled from and for. */
typedef struct {
    const char *ir;       /* the kernel as text */
    const char *stage;    /* how specialised it is: "native" or "specialised" */
    const char *features; /* what the CPU must have */
    const char *versions; /* of vproc, of the emitter, of the compiler */
} vp__cache_meta;

/* How often a kernel ran, as far as anybody noted it. */
typedef struct {
    uint64_t runs, ns;
} vp__cache_usage;

enum {
    VP__CACHE_HEAD = 128,
    VP__CACHE_HASH_AT = 72,
    VP__CACHE_USAGE_AT = 104,
    VP__CACHE_USAGE_BYTES = 24,
};
#define VP__CACHE_FILE_MAX ((size_t)64 << 20)

/* A file in memory; everything points into it. */
typedef struct {
    vp__cache_key key;
    vp__cache_meta meta;
    vp__cache_usage usage;
    const void *object;
    size_t object_size;
} vp__cache_file;

/* Reads a file that may say anything. NULL, or what is wrong as a sentence without its full
 * stop. The bytes must stay as long as *out is used. */
const char *vp__cache_file_decode(const void *bytes, size_t size, vp__cache_file *out);

/* A new file's bytes, to be freed; NULL when there is no memory, or it would be larger than
 * VP__CACHE_FILE_MAX. */
void *vp__cache_file_encode(const vp__cache_key *key, const vp__cache_meta *meta,
                            const void *object, size_t object_size, size_t *size);

/* Writes the hash that belongs to the rest; for a file of at least VP__CACHE_HEAD bytes. */
void vp__cache_file_seal(void *bytes, size_t size);

/* The head of a file alone: whose it is, and its usage. False when it is no head. */
bool vp__cache_head_decode(const uint8_t head[VP__CACHE_HEAD], vp__cache_key *key,
                           vp__cache_usage *usage);
/* The bytes that go to VP__CACHE_USAGE_AT in the file with this head. */
void vp__cache_usage_encode(const uint8_t head[VP__CACHE_HEAD],
                            const vp__cache_usage *usage,
                            uint8_t out[VP__CACHE_USAGE_BYTES]);

#endif
