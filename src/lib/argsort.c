/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable argsort along an axis: keys with their positions. Elements of up to four bytes
 * share a 64-bit word with their position, which makes the sort stable for free and moves
 * half the memory. Those of one or two bytes are distributed by them directly.
 */
#include <string.h>

#include "lib/keys.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move.h"
#include "lib/sort.h"

/* Complex numbers compare by real, then imaginary part. Those with a NaN come last, as
 * NumPy has them: first those with a NaN in the imaginary part alone, ordered by the real
 * part, then those in the real part alone, ordered by the other, then those with two. */
static uint64_t component_key(const vp__lane *lane, int64_t position, int component) {
    const char *from = lane->in + position * lane->in_stride;
    if (lane->dtype == VP_C64) {
        uint32_t bits;
        memcpy(&bits, from + component * 4, sizeof bits);
        return vp__key_same32(bits);
    }
    uint64_t bits;
    memcpy(&bits, from + component * 8, sizeof bits);
    return vp__key_same64(bits);
}

/* Sorts by real part, then each run of equal real parts by imaginary part. */
static vp__keyed *order_parts(const vp__lane *lane, vp__keyed *items, vp__keyed *spare) {
    int64_t n = lane->n;
    for (int64_t i = 0; i < n; i++) items[i] = (vp__keyed){component_key(lane, i, 0), i};
    vp__keyed *sorted = vp__radix_keyed(items, spare, n);
    vp__keyed *other = sorted == items ? spare : items;
    for (int64_t first = 0, end; first < n; first = end) {
        vp__keyed *run = sorted + first;
        for (end = first + 1; end < n && sorted[end].key == run->key;) end++;
        if (end == first + 1) continue;
        for (int64_t i = 0; i < end - first; i++)
            run[i].key = component_key(lane, run[i].position, 1);
        vp__keyed *result = vp__radix_keyed(run, other + first, end - first);
        if (result != run) memcpy(run, result, (size_t)(end - first) * sizeof *run);
    }
    return sorted;
}

/* 0: no NaN, 1: imaginary part, 2: real part, 3: both. */
static int nan_class(const vp__lane *lane, int64_t position) {
    const char *from = lane->in + position * lane->in_stride;
    double re, im;
    if (lane->dtype == VP_C64) {
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
static vp__keyed *order_classes(const vp__lane *lane, vp__keyed *items,
                                vp__keyed *spare) {
    int64_t at[5] = {0};
    for (int64_t i = 0; i < lane->n; i++) at[nan_class(lane, items[i].position) + 1]++;
    if (at[1] == lane->n) return items;
    for (int c = 1; c < 4; c++) at[c] += at[c - 1];
    for (int64_t i = 0; i < lane->n; i++)
        spare[at[nan_class(lane, items[i].position)]++] = items[i];
    return spare;
}

vp__keyed *vp__lane_order(const vp__lane *lane, vp__keyed **spare) {
    vp__keyed *first = lane->scratch, *second = first + lane->n, *items = first;
    if (vp__dtype[lane->dtype].cls == VP__CLASS_C) {
        items = order_parts(lane, items, second);
        items = order_classes(lane, items, items == first ? second : first);
    } else {
        /* The keys are made in the far half and paired with positions from there. */
        uint64_t *keys = (uint64_t *)(void *)second;
        if (vp__dtype[lane->dtype].size == 8) {
            vp__keys_u64(keys, lane->in, lane->in_stride, lane->n, lane->dtype, true);
            for (int64_t i = 0; i < lane->n; i++) items[i] = (vp__keyed){keys[i], i};
        } else {
            uint32_t *narrow = (uint32_t *)(void *)second;
            vp__keys_u32(narrow, lane->in, lane->in_stride, lane->n, lane->dtype, true);
            for (int64_t i = 0; i < lane->n; i++) items[i] = (vp__keyed){narrow[i], i};
        }
        items = vp__radix_keyed(items, second, lane->n);
    }
    *spare = items == first ? second : first;
    return items;
}

/* Short lanes: contiguous in scratch, unless they are already, and sorted there. */
static bool argsort_short(const vp__lane *lane) {
    const vp__loops *loops = vp__loops_get();
    vp_dtype t = lane->dtype;
    int size = vp__dtype[t].size;
    if (lane->n > VP__SHORT_LANE || vp__dtype[t].cls == VP__CLASS_C) return false;
    if (size < 4 && lane->n > VP__SHORT_NARROW) return false;
    char *copy = lane->scratch;
    void *network = vp__lane_network_scratch(lane);
    const char *in = lane->in;
    if (size < 4) {
        vp__keys_u32((uint32_t *)(void *)copy, in, lane->in_stride, lane->n, t, true);
        in = copy;
        t = VP_U32;
    } else if (lane->in_stride != size) {
        vp__move_row(copy, size, in, lane->in_stride, lane->n, size);
        in = copy;
    }
    if (lane->out_stride == (int64_t)sizeof(int64_t))
        return loops->argsort((int64_t *)(void *)lane->out, in, lane->n, t, network);
    int64_t *out = (int64_t *)(void *)(copy + lane->n * 8);
    if (!loops->argsort(out, in, lane->n, t, network)) return false;
    vp__move_row(lane->out, lane->out_stride, (char *)out, sizeof *out, lane->n,
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
static void argsort_bytes(const vp__lane *lane) {
    uint32_t at[2][BYTES] = {{0}};
    const char *in = lane->in;
    for (int64_t i = 0; i < lane->n; i++) at[i & 1][(uint8_t)in[i * lane->in_stride]]++;
    begin_bytes(at, lane->dtype == VP_I8 ? 128 : 0);
    for (int64_t i = 0; i < lane->n; i++) {
        const uint32_t to = at[0][(uint8_t)in[i * lane->in_stride]]++;
        *(int64_t *)(void *)(lane->out + to * lane->out_stride) = i;
    }
}

/* Two-byte elements, by the lower byte and then by the upper one, which shares a word with
 * the position on the way. */
static void argsort_pairs(const vp__lane *lane) {
    uint32_t low[2][BYTES] = {{0}}, high[2][BYTES] = {{0}}, *words = lane->scratch;
    const char *in = lane->in;
    uint16_t key;
    for (int64_t i = 0; i < lane->n; i++) {
        memcpy(&key, in + i * lane->in_stride, sizeof key);
        low[i & 1][key & 255]++;
        high[i & 1][key >> 8]++;
    }
    begin_bytes(low, 0);
    begin_bytes(high, lane->dtype == VP_I16 ? 128 : 0);
    for (int64_t i = 0; i < lane->n; i++) {
        memcpy(&key, in + i * lane->in_stride, sizeof key);
        words[low[0][key & 255]++] = (uint32_t)(key >> 8) << 24 | (uint32_t)i;
    }
    for (int64_t i = 0; i < lane->n; i++) {
        const uint32_t to = high[0][words[i] >> 24]++;
        *(int64_t *)(void *)(lane->out + to * lane->out_stride) =
            words[i] % FEW_POSITIONS;
    }
}

static void argsort_small(const vp__lane *lane) {
    if (argsort_short(lane)) return;
    const int size = vp__dtype[lane->dtype].size;
    if (size == 1 || (size == 2 && lane->n <= FEW_POSITIONS)) {
        (size == 1 ? argsort_bytes : argsort_pairs)(lane);
        return;
    }
    uint64_t *items = lane->scratch, *spare = items + lane->n;
    uint32_t *keys = (uint32_t *)(void *)spare;
    vp__keys_u32(keys, lane->in, lane->in_stride, lane->n, lane->dtype, true);
    for (int64_t i = 0; i < lane->n; i++)
        items[i] = (uint64_t)keys[i] << 32 | (uint64_t)i;
    uint64_t *sorted = vp__radix_high(items, spare, lane->n);
    for (int64_t i = 0; i < lane->n; i++)
        *(int64_t *)(void *)(lane->out + i * lane->out_stride) = (uint32_t)sorted[i];
}

static void argsort_wide(const vp__lane *lane) {
    if (argsort_short(lane)) return;
    vp__keyed *spare, *order = vp__lane_order(lane, &spare);
    for (int64_t i = 0; i < lane->n; i++)
        *(int64_t *)(void *)(lane->out + i * lane->out_stride) = order[i].position;
}

void vp__lib_argsort(const vp__view *out, const vp__view *in, int axis, int64_t part,
                     int64_t parts, void *scratch) {
    int64_t n = in->ndim > 0 ? in->dims[axis] : 1;
    bool narrow = vp__dtype[in->dtype].size <= 4 && n <= UINT32_MAX;
    vp__lanes_run(out, in, axis, part, parts, scratch,
                  narrow ? argsort_small : argsort_wide);
}
