/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of a cached kernel. Decoding checks lengths first, each against what is left of
 * the file, and the hash before anything is handed out.
 */
#include "jit/cache_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NTEXTS = 4, VERSION = 1, OBJECT_ALIGN = 16 };

typedef struct {
    uint8_t magic[8];
    uint32_t version, zero;
    uint32_t length[NTEXTS];
    uint64_t object_size;
    vp__cache_key key;
    vp__hash hash;
    uint64_t runs, ns, check;
} head;

static_assert(sizeof(head) == VP__CACHE_HEAD, "the head is what the header says");
static_assert(offsetof(head, hash) == VP__CACHE_HASH_AT, "and so is the hash's place");
static_assert(offsetof(head, runs) == VP__CACHE_USAGE_AT, "and the usage's");

static const uint8_t magic[8] = {0x7f, 'v', 'p', 'k', 'e', 'r', 'n', '\n'};

/* ---- the hash and the usage's check ---- */

static vp__hash hash_of_file(const uint8_t *bytes, size_t size) {
    vp__hasher h;
    vp__hasher_init(&h);
    vp__hasher_add(&h, bytes, VP__CACHE_HASH_AT);
    vp__hasher_add(&h, bytes + VP__CACHE_HEAD, size - VP__CACHE_HEAD);
    return vp__hasher_result(&h);
}

void vp__cache_file_seal(void *bytes, size_t size) {
    const vp__hash hash = hash_of_file(bytes, size);
    memcpy((uint8_t *)bytes + VP__CACHE_HASH_AT, &hash, sizeof hash);
}

/* Two processes may write the usage at once, and a reader may see half of each. The file's
 * hash is part of the check, so a usage does not fit another file. */
static uint64_t usage_check(const head *h, uint64_t runs, uint64_t ns) {
    uint64_t x;
    memcpy(&x, h->hash.bytes, sizeof x);
    x = (x ^ runs) * 0x9e3779b97f4a7c15u; /* odd constants that spread the bits */
    x = (x ^ x >> 29 ^ ns) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static vp__cache_usage usage_of(const head *h) {
    vp__cache_usage usage = {h->runs, h->ns};
    return h->check == usage_check(h, h->runs, h->ns) ? usage : (vp__cache_usage){0, 0};
}

static const char *head_decode(const uint8_t *bytes, head *h) {
    memcpy(h, bytes, sizeof *h);
    if (memcmp(h->magic, magic, sizeof magic) != 0) return "it is no cached kernel";
    if (h->version != VERSION || h->zero != 0) return "it is of another version";
    return NULL;
}

bool vp__cache_head_decode(const uint8_t bytes[VP__CACHE_HEAD], vp__cache_key *key,
                           vp__cache_usage *usage) {
    head h;
    if (head_decode(bytes, &h)) return false;
    *key = h.key;
    *usage = usage_of(&h);
    return true;
}

void vp__cache_usage_encode(const uint8_t bytes[VP__CACHE_HEAD],
                            const vp__cache_usage *usage,
                            uint8_t out[VP__CACHE_USAGE_BYTES]) {
    head h;
    memcpy(&h, bytes, sizeof h);
    const uint64_t words[] = {usage->runs, usage->ns,
                              usage_check(&h, usage->runs, usage->ns)};
    static_assert(sizeof words == VP__CACHE_USAGE_BYTES, "three words");
    memcpy(out, words, sizeof words);
}

/* ---- the whole file ---- */

static size_t pad(size_t at) {
    return (at + OBJECT_ALIGN - 1) & ~(size_t)(OBJECT_ALIGN - 1);
}

/* Finds the texts; *at goes behind the last one. Each must be as long as its length says,
 * or a comparison would see less than was hashed. */
static const char *texts_decode(const head *h, const uint8_t *bytes, size_t size,
                                const char *text[NTEXTS], size_t *at) {
    for (int i = 0; i < NTEXTS; i++) {
        const size_t length = h->length[i];
        if (length >= size - *at) return "a text is longer than the file";
        text[i] = (const char *)bytes + *at;
        if (memchr(text[i], 0, length + 1) != text[i] + length)
            return "a text does not end where it should";
        *at += length + 1;
    }
    return NULL;
}

const char *vp__cache_file_decode(const void *memory, size_t size, vp__cache_file *out) {
    const uint8_t *bytes = memory;
    const char *text[NTEXTS];
    head h;
    if (size < VP__CACHE_HEAD) return "it is shorter than its head";
    if (size > VP__CACHE_FILE_MAX) return "it is too large for a kernel";
    const char *wrong = head_decode(bytes, &h);
    size_t at = VP__CACHE_HEAD;
    if (!wrong) wrong = texts_decode(&h, bytes, size, text, &at);
    if (wrong) return wrong;
    at = pad(at);
    if (at > size || h.object_size != size - at) return "its size is not what it says";
    const vp__hash hash = hash_of_file(bytes, size);
    if (memcmp(&hash, &h.hash, sizeof hash) != 0) return "its hash is wrong";
    *out = (vp__cache_file){
        .key = h.key,
        .meta = {text[0], text[1], text[2], text[3]},
        .usage = usage_of(&h),
        .object = bytes + at,
        .object_size = size - at,
    };
    return NULL;
}

/* How large the file is; 0 when that is too large. */
static size_t total_size(const char *const text[NTEXTS], size_t object_size) {
    size_t total = VP__CACHE_HEAD;
    for (int i = 0; i < NTEXTS; i++) {
        const size_t length = strlen(text[i]);
        if (length >= VP__CACHE_FILE_MAX - total) return 0;
        total += length + 1;
    }
    total = pad(total);
    return total <= VP__CACHE_FILE_MAX && object_size <= VP__CACHE_FILE_MAX - total
               ? total + object_size
               : 0;
}

void *vp__cache_file_encode(const vp__cache_key *key, const vp__cache_meta *meta,
                            const void *object, size_t object_size, size_t *size) {
    const char *const text[NTEXTS] = {meta->ir, meta->stage, meta->features,
                                      meta->versions};
    *size = total_size(text, object_size);
    uint8_t *bytes = *size > 0 ? calloc(1, *size) : NULL;
    if (!bytes) return NULL;
    head h = {.version = VERSION, .object_size = object_size, .key = *key};
    memcpy(h.magic, magic, sizeof magic);
    size_t at = VP__CACHE_HEAD;
    for (int i = 0; i < NTEXTS; i++) {
        h.length[i] = (uint32_t)strlen(text[i]);
        memcpy(bytes + at, text[i], h.length[i]);
        at += h.length[i] + (size_t)1;
    }
    if (object_size > 0) memcpy(bytes + pad(at), object, object_size);
    memcpy(bytes, &h, sizeof h);
    vp__cache_file_seal(bytes, *size);
    vp__cache_usage_encode(bytes, &(vp__cache_usage){0, 0}, bytes + VP__CACHE_USAGE_AT);
    return bytes;
}
