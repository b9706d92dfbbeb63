/* SPDX-License-Identifier: Apache-2.0
 *
 * Radix sort from the least significant byte up, with all histograms taken in one pass
 * and bytes that are the same everywhere left out. It does the same work for every order
 * of the input, needs no vector instructions, and is stable by nature. Short sequences,
 * for which clearing histograms would dominate, are merged from sorted runs instead; so
 * are those too long for 32-bit counters.
 *
 * One body serves every kind of item: it is inlined with a constant item size and the
 * range of key bytes that decide. Both ways give the same sequence, since both are
 * stable.
 */
#include "lib/sort/radix.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS = 8, BUCKETS = 256, RUN = 8 };

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t key_of(const char *item, int size) {
    if (size == 4) {
        uint32_t key;
        memcpy(&key, item, sizeof key);
        return key;
    }
    uint64_t key;
    memcpy(&key, item, sizeof key);
    return key;
}

INLINE void insertion(char *items, int64_t n, int size) {
    for (int64_t i = 1; i < n; i++) {
        char held[16];
        memcpy(held, items + i * size, (size_t)size);
        uint64_t key = key_of(held, size);
        char *to = items + i * size;
        for (; to > items && key_of(to - size, size) > key; to -= size)
            memcpy(to, to - size, (size_t)size);
        memcpy(to, held, (size_t)size);
    }
}

/* Merges two neighbouring sorted runs of `run` items, from both ends at once: the two
 * halves of the work do not depend on each other, and neither branches on the keys. Each
 * takes `run` steps, so neither can leave a run. Equal keys are taken from the left
 * first. */
INLINE void merge_equal(char *out, const char *items, int64_t run, int size) {
    const char *l = items, *r = items + run * size;
    const char *lend = r - size, *rend = lend + run * size;
    char *last = out + (2 * run - 1) * size;
    for (int64_t i = 0; i < run; i++) {
        bool right = key_of(r, size) < key_of(l, size);
        memcpy(out, right ? r : l, (size_t)size);
        r += right ? size : 0;
        l += right ? 0 : size;
        out += size;
        bool keep = key_of(rend, size) < key_of(lend, size); /* the left one is larger */
        memcpy(last, keep ? lend : rend, (size_t)size);
        lend -= keep ? size : 0;
        rend -= keep ? 0 : size;
        last -= size;
    }
}

/* Merges the first `left` of n items with the rest. */
INLINE void merge(char *out, const char *items, int64_t left, int64_t n, int size) {
    if (2 * left == n) {
        merge_equal(out, items, left, size);
        return;
    }
    const char *l = items, *middle = items + left * size, *r = middle;
    const char *end = items + n * size;
    while (l < middle && r < end) {
        bool right = key_of(r, size) < key_of(l, size);
        memcpy(out, right ? r : l, (size_t)size);
        r += right ? size : 0;
        l += right ? 0 : size;
        out += size;
    }
    memcpy(out, l, (size_t)(middle - l));
    memcpy(out + (middle - l), r, (size_t)(end - r));
}

INLINE char *merge_sort(char *items, char *spare, int64_t n, int size) {
    for (int64_t i = 0; i < n; i += RUN)
        insertion(items + i * size, n - i < RUN ? n - i : RUN, size);
    for (int64_t run = RUN; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t m = n - i < 2 * run ? n - i : 2 * run;
            if (m <= run)
                memcpy(spare + i * size, items + i * size, (size_t)(m * size));
            else
                merge(spare + i * size, items + i * size, run, m, size);
        }
        char *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

/* Counts how often each byte value occurs in each deciding byte of the keys. */
INLINE void count_digits(uint32_t counts[DIGITS][BUCKETS], const char *items, int64_t n,
                         int size, int first, int last) {
    memset(counts[first], 0, sizeof(counts[0]) * (size_t)(last - first));
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = key_of(items + i * size, size);
        for (int d = first; d < last; d++) counts[d][key >> 8 * d & 255]++;
    }
}

/* Distributes the items by one byte of their keys. */
INLINE void distribute(char *out, const char *items, int64_t n, int size, int digit,
                       const uint32_t *count) {
    uint32_t at[BUCKETS], sum = 0;
    for (int i = 0; i < BUCKETS; i++) {
        at[i] = sum;
        sum += count[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const char *item = items + i * size;
        int64_t to = at[key_of(item, size) >> 8 * digit & 255]++;
        memcpy(out + to * size, item, (size_t)size);
    }
}

/* Sorts by the key bytes first…last-1. */
INLINE char *sort(char *items, char *spare, int64_t n, int size, int first, int last,
                  int64_t few) {
    if (n <= few || n > UINT32_MAX) return merge_sort(items, spare, n, size);
    uint32_t counts[DIGITS][BUCKETS];
    count_digits(counts, items, n, size, first, last);
    uint64_t key = key_of(items, size);
    for (int d = first; d < last; d++) {
        if (counts[d][key >> 8 * d & 255] == (uint32_t)n) continue;
        distribute(spare, items, n, size, d, counts[d]);
        char *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

/* Below these lengths merging is quicker, as bench/lib.c shows. */
enum { FEW_U32 = 48, FEW_U64 = 96, FEW_KEYED = 96, FEW_HIGH = 48 };

uint32_t *vp__radix_u32(uint32_t *items, uint32_t *spare, int64_t n) {
    return (uint32_t *)(void *)sort((char *)items, (char *)spare, n, 4, 0, 4, FEW_U32);
}

uint64_t *vp__radix_u64(uint64_t *items, uint64_t *spare, int64_t n) {
    return (uint64_t *)(void *)sort((char *)items, (char *)spare, n, 8, 0, 8, FEW_U64);
}

uint64_t *vp__radix_high(uint64_t *items, uint64_t *spare, int64_t n) {
    return (uint64_t *)(void *)sort((char *)items, (char *)spare, n, 8, 4, 8, FEW_HIGH);
}

vp__keyed *vp__radix_keyed(vp__keyed *items, vp__keyed *spare, int64_t n) {
    return (vp__keyed *)(void *)sort((char *)items, (char *)spare, n, 16, 0, 8,
                                     FEW_KEYED);
}
