/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of a cached kernel: what is written can be read, and nothing else can.
 */
#include "jit/cache_file.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

static const vp__cache_meta meta = {"v2 = add f64 v0 v1\n", "native", "avx2,fma", "1 19"};
static const vp__cache_key key = {{1, 2, 3, 0xff}};
static const char object[] = "not really an object, but nobody looks";

static uint8_t *encode(size_t *size) {
    uint8_t *bytes = vp__cache_file_encode(&key, &meta, object, sizeof object, size);
    VP_CHECK(bytes != NULL);
    return bytes;
}

/* Decodes a copy of exactly these bytes, so that the address sanitizer knows their end. */
static const char *wrong_with(const uint8_t *bytes, size_t size, vp__cache_usage *usage) {
    vp__cache_file file;
    uint8_t *copy = malloc(size + (size == 0));
    VP_CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    const char *wrong = vp__cache_file_decode(copy, size, &file);
    if (!wrong) {
        VP_CHECK_BYTES(&file.key, &key, sizeof key);
        VP_CHECK_STR(file.meta.ir, meta.ir);
        VP_CHECK_STR(file.meta.stage, meta.stage);
        VP_CHECK_STR(file.meta.features, meta.features);
        VP_CHECK_STR(file.meta.versions, meta.versions);
        VP_CHECK_EQ(file.object_size, sizeof object);
        VP_CHECK_BYTES(file.object, object, sizeof object);
        if (usage) *usage = file.usage;
    }
    free(copy);
    return wrong;
}

VP_TEST(there_and_back) {
    size_t size;
    uint8_t *bytes = encode(&size);
    vp__cache_usage usage = {1, 1};
    VP_CHECK_STR(wrong_with(bytes, size, &usage), NULL);
    VP_CHECK(usage.runs == 0 && usage.ns == 0);
    vp__cache_key found;
    VP_CHECK(vp__cache_head_decode(bytes, &found, &usage));
    VP_CHECK_BYTES(&found, &key, sizeof key);
    free(bytes);
}

VP_TEST(nothing_is_small) {
    const vp__cache_meta empty = {"", "", "", ""};
    size_t size;
    uint8_t *bytes = vp__cache_file_encode(&key, &empty, NULL, 0, &size);
    vp__cache_file file;
    VP_CHECK(bytes != NULL);
    VP_CHECK_STR(vp__cache_file_decode(bytes, size, &file), NULL);
    VP_CHECK_EQ(file.object_size, 0u);
    VP_CHECK_STR(file.meta.versions, "");
    VP_CHECK(!vp__cache_file_encode(&key, &empty, bytes, VP__CACHE_FILE_MAX, &size));
    VP_CHECK(!vp__cache_file_encode(&key, &empty, bytes, SIZE_MAX - 3, &size));
    free(bytes);
}

VP_TEST(truncated_or_longer) {
    size_t size;
    uint8_t *bytes = encode(&size);
    for (size_t part = 0; part < size; part++)
        VP_CHECK(wrong_with(bytes, part, NULL) != NULL);
    uint8_t *longer = calloc(1, size + 16);
    VP_CHECK(longer != NULL);
    memcpy(longer, bytes, size);
    VP_CHECK_CONTAINS(wrong_with(longer, size + 1, NULL), "size");
    VP_CHECK_CONTAINS(wrong_with(longer, size + 16, NULL), "size");
    free(longer);
    free(bytes);
}

/* Every bit matters, but for those of the usage, which is then empty. */
VP_TEST(flipped_bits) {
    size_t size;
    uint8_t *bytes = encode(&size);
    vp__cache_usage_encode(bytes, &(vp__cache_usage){17, 4711},
                           bytes + VP__CACHE_USAGE_AT);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        vp__cache_usage usage = {1, 1};
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const char *wrong = wrong_with(bytes, size, &usage);
        if (bit / 8 >= VP__CACHE_USAGE_AT && bit / 8 < VP__CACHE_HEAD) {
            VP_CHECK_STR(wrong, NULL);
            VP_CHECK(usage.runs == 0 && usage.ns == 0);
        } else {
            VP_CHECK(wrong != NULL);
        }
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    vp__cache_usage usage;
    VP_CHECK_STR(wrong_with(bytes, size, &usage), NULL);
    VP_CHECK(usage.runs == 17 && usage.ns == 4711);
    free(bytes);
}

/* A right hash does not make up for a wrong form. */
VP_TEST(sealed_nonsense) {
    static const struct {
        int at;
        uint8_t flip;
        const char *part;
    } bad[] = {{0, 1, "no cached kernel"},
               {8, 2, "version"},
               {12, 1, "version"},
               {16, 1, "text"},
               {19, 0x80, "text"},
               {20, 4, "text"},
               {32, 1, "size"},
               {39, 0x80, "size"},
               {128, 'v', "text"}};
    size_t size;
    uint8_t *bytes = encode(&size);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bytes[bad[i].at] ^= bad[i].flip;
        vp__cache_file_seal(bytes, size);
        VP_CHECK_CONTAINS(wrong_with(bytes, size, NULL), bad[i].part);
        bytes[bad[i].at] ^= bad[i].flip;
    }
    vp__cache_file_seal(bytes, size);
    VP_CHECK_STR(wrong_with(bytes, size, NULL), NULL);
    free(bytes);
}
