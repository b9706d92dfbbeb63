/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable argsort along an axis: keys with their positions. Elements of up to four bytes
 * share a 64-bit word with their position, which makes the sort stable for free and moves
 * half the memory. Those of one or two bytes are distributed by them directly.
 */
#include <string.h>

#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/sort/keys.h"
#include "lib/sort/sort.h"

/* Complex numbers compare by real, then imaginary part. Those with a NaN come last, as
 * NumPy has them: first those with a NaN in the imaginary part alone, ordered by the real
 * part, then those in the real part alone, ordered by the other, then those with two. */
static uint64_t component_key(const vp__fibre *fibre, int64_t position, int component) {
    const char *from = fibre->in + position * fibre->in_stride;
    if (fibre->dtype == VP_C64) {
        uint32_t bits;
        memcpy(&bits, from + component * 4, sizeof bits);
        return vp__key_same32(bits);
    }
    uint64_t bits;
    memcpy(&bits, from + component * 8, sizeof bits);
    return vp__key_same64(bits);
}

/* Sorts by real part, then each run of equal real parts by imaginary part. */
static vp__keyed *order_parts(const vp__fibre *fibre, vp__keyed *items,
                              vp__keyed *spare) {
    int64_t n = fibre->n;
    for (int64_t i = 0; i < n; i++) items[i] = (vp__keyed){component_key(fibre, i, 0), i};
    vp__keyed *sorted = vp__radix_keyed(items, spare, n);
    vp__keyed *other = sorted == items ? spare : items;
    for (int64_t first = 0, end; first < n; first = end) {
        vp__keyed *run = sorted + first;
        for (end = first + 1; end < n && sorted[end].key == run->key;) end++;
        if (end == first + 1) continue;
        for (int64_t i = 0; i < end - first; i++)
            run[i].key = component_key(fibre, run[i].position, 1);
        vp__keyed *result = vp__radix_keyed(run, other + first, end - first);
        if (result != run) memcpy(run, result, (size_t)(end - first) * sizeof *run);
    }
    return sorted;
}

/* 0: no NaN, 1: imaginary part, 2: real part, 3: both. */
static int nan_class(const vp__fibre *fibre, int64_t position) {
    const char *from = fibre->in + position * fibre->in_stride;
    double re, im;
    if (fibre->dtype == VP_C64) {
        vp__c64 x;
        memcpy(&x, from, sizeof x);
        re = (double)x.re;
        im = (double)x.im;
    } else {
        vp__c128 x;
        memcpy(&x, from, sizeof x);
        re = x.re;
        im = x.im;
    }
    return (re != re) * 2 + (im != im);
}

/* Puts items in the order of their NaN classes, stably. */
static vp__keyed *order_classes(const vp__fibre *fibre, vp__keyed *items,
                                vp__keyed *spare) {
    int64_t at[5] = {0};
    for (int64_t i = 0; i < fibre->n; i++) at[nan_class(fibre, items[i].position) + 1]++;
    if (at[1] == fibre->n) return items;
    for (int c = 1; c < 4; c++) at[c] += at[c - 1];
    for (int64_t i = 0; i < fibre->n; i++)
        spare[at[nan_class(fibre, items[i].position)]++] = items[i];
    return spare;
}

vp__keyed *vp__fibre_order(const vp__fibre *fibre, vp__keyed **spare) {
    vp__keyed *first = fibre->scratch, *second = first + fibre->n, *items = first;
    if (vp__dtype[fibre->dtype].cls == VP__CLASS_C) {
        items = order_parts(fibre, items, second);
        items = order_classes(fibre, items, items == first ? second : first);
    } else {
        /* The keys are made in the far half and paired with positions from there. */
        uint64_t *keys = (uint64_t *)(void *)second;
        if (vp__dtype[fibre->dtype].size == 8) {
            vp__keys_u64(keys, fibre->in, fibre->in_stride, fibre->n, fibre->dtype, true);
            for (int64_t i = 0; i < fibre->n; i++) items[i] = (vp__keyed){keys[i], i};
        } else {
            uint32_t *narrow = (uint32_t *)(void *)second;
            vp__keys_u32(narrow, fibre->in, fibre->in_stride, fibre->n, fibre->dtype,
                         true);
            for (int64_t i = 0; i < fibre->n; i++) items[i] = (vp__keyed){narrow[i], i};
        }
        items = vp__radix_keyed(items, second, fibre->n);
    }
    *spare = items == first ? second : first;
    return items;
}

/* Short fibres: contiguous in scratch, unless they are already, and sorted there. */
static bool argsort_short(const vp__fibre *fibre) {
    const vp__loops *loops = vp__loops_get();
    vp_dtype t = fibre->dtype;
    int size = vp__dtype[t].size;
    if (fibre->n > VP__SHORT_FIBRE || vp__dtype[t].cls == VP__CLASS_C) return false;
    if (size < 4 && fibre->n > VP__SHORT_NARROW) return false;
    char *copy = fibre->scratch;
    void *network = vp__fibre_network_scratch(fibre);
    const char *in = fibre->in;
    if (size < 4) {
        vp__keys_u32((uint32_t *)(void *)copy, in, fibre->in_stride, fibre->n, t, true);
        in = copy;
        t = VP_U32;
    } else if (fibre->in_stride != size) {
        vp__move_row(copy, size, in, fibre->in_stride, fibre->n, size);
        in = copy;
    }
    if (fibre->out_stride == (int64_t)sizeof(int64_t))
        return loops->argsort((int64_t *)(void *)fibre->out, in, fibre->n, t, network);
    int64_t *out = (int64_t *)(void *)(copy + fibre->n * 8);
    if (!loops->argsort(out, in, fibre->n, t, network)) return false;
    vp__move_row(fibre->out, fibre->out_stride, (char *)out, sizeof *out, fibre->n,
                 sizeof *out);
    return true;
}

enum { BYTES = 256, FEW_POSITIONS = 1 << 24 };

/* Turns how often each byte value occurs, counted twice, into where its first one goes.
 * Values are in the order of their bytes after a flip of these bits. */
static void begin_bytes(uint32_t at[2][BYTES], int flip) {
    uint32_t sum = 0;
    for (int i = 0; i < BYTES; i++) {
        const int value = i ^ flip;
        const uint32_t count = at[0][value] + at[1][value];
        at[0][value] = sum;
        sum += count;
    }
}

/* One-byte elements: a position goes straight to where the counts say. Two histograms take
 * turns, because equal neighbours would wait for each other in one. */
static void argsort_bytes(const vp__fibre *fibre) {
    uint32_t at[2][BYTES] = {{0}};
    const char *in = fibre->in;
    for (int64_t i = 0; i < fibre->n; i++) at[i & 1][(uint8_t)in[i * fibre->in_stride]]++;
    begin_bytes(at, fibre->dtype == VP_I8 ? 128 : 0);
    for (int64_t i = 0; i < fibre->n; i++) {
        const uint32_t to = at[0][(uint8_t)in[i * fibre->in_stride]]++;
        *(int64_t *)(void *)(fibre->out + to * fibre->out_stride) = i;
    }
}

/* Two-byte elements, by the lower byte and then by the upper one, which shares a word with
 * the position on the way. */
static void argsort_pairs(const vp__fibre *fibre) {
    uint32_t low[2][BYTES] = {{0}}, high[2][BYTES] = {{0}}, *words = fibre->scratch;
    const char *in = fibre->in;
    uint16_t key;
    for (int64_t i = 0; i < fibre->n; i++) {
        memcpy(&key, in + i * fibre->in_stride, sizeof key);
        low[i & 1][key & 255]++;
        high[i & 1][key >> 8]++;
    }
    begin_bytes(low, 0);
    begin_bytes(high, fibre->dtype == VP_I16 ? 128 : 0);
    for (int64_t i = 0; i < fibre->n; i++) {
        memcpy(&key, in + i * fibre->in_stride, sizeof key);
        words[low[0][key & 255]++] = (uint32_t)(key >> 8) << 24 | (uint32_t)i;
    }
    for (int64_t i = 0; i < fibre->n; i++) {
        const uint32_t to = high[0][words[i] >> 24]++;
        *(int64_t *)(void *)(fibre->out + to * fibre->out_stride) =
            words[i] % FEW_POSITIONS;
    }
}

static void argsort_small(const vp__fibre *fibre) {
    if (argsort_short(fibre)) return;
    const int size = vp__dtype[fibre->dtype].size;
    if (size == 1 || (size == 2 && fibre->n <= FEW_POSITIONS)) {
        (size == 1 ? argsort_bytes : argsort_pairs)(fibre);
        return;
    }
    uint64_t *items = fibre->scratch, *spare = items + fibre->n;
    uint32_t *keys = (uint32_t *)(void *)spare;
    vp__keys_u32(keys, fibre->in, fibre->in_stride, fibre->n, fibre->dtype, true);
    for (int64_t i = 0; i < fibre->n; i++)
        items[i] = (uint64_t)keys[i] << 32 | (uint64_t)i;
    uint64_t *sorted = vp__radix_high(items, spare, fibre->n);
    for (int64_t i = 0; i < fibre->n; i++)
        *(int64_t *)(void *)(fibre->out + i * fibre->out_stride) = (uint32_t)sorted[i];
}

static void argsort_wide(const vp__fibre *fibre) {
    if (argsort_short(fibre)) return;
    vp__keyed *spare, *order = vp__fibre_order(fibre, &spare);
    for (int64_t i = 0; i < fibre->n; i++)
        *(int64_t *)(void *)(fibre->out + i * fibre->out_stride) = order[i].position;
}

void vp__lib_argsort(const vp__view *out, const vp__view *in, int axis, int64_t part,
                     int64_t parts, void *scratch) {
    int64_t n = in->ndim > 0 ? in->dims[axis] : 1;
    bool narrow = vp__dtype[in->dtype].size <= 4 && n <= UINT32_MAX;
    vp__fibres_run(out, in, axis, part, parts, scratch,
                   narrow ? argsort_small : argsort_wide);
}
