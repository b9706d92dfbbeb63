/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting along an axis. A lane's elements become keys, keys are sorted, and become
 * elements again. The map is one to one and the order total, so the result is the same
 * whatever the algorithm: -0.0 comes before 0.0, NaNs come last in the order of their
 * bits. One-byte elements are merely counted. Complex elements follow their argsort,
 * which leaves equal ones as they stand.
 */
#include "lib/sort.h"

#include <string.h>

#include "lib/keys.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move.h"
#include "lib/nest.h"

size_t vp__lib_sort_scratch(const vp__view *in, int axis) {
    /* Two sequences of vp__keyed, or of 64-bit words when key and position fit in one. */
    size_t n = (size_t)(in->ndim > 0 ? in->dims[axis] : 1);
    bool narrow = vp__dtype[in->dtype].size <= 4 && n <= UINT32_MAX;
    size_t bytes = 2 * n * (narrow ? sizeof(uint64_t) : sizeof(vp__keyed));
    if (n <= VP__SHORT_LANE) bytes = n * 16 + VP__NETWORK_SCRATCH(n) + 64;
    return bytes + 64; /* to align it */
}

void vp__lanes_run(const vp__view *out, const vp__view *in, int axis, int64_t part,
                   int64_t parts, void *scratch, void (*run)(const vp__lane *lane)) {
    vp__nest nest;
    vp__nest_init(&nest, in->ndim, in->dims);
    if (vp__nest_is_empty(&nest)) return;
    vp__nest_add(&nest, out->data, out->strides);
    vp__nest_add(&nest, in->data, in->strides);
    vp__lane lane = {.n = 1, .dtype = in->dtype};
    lane.scratch = (void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    if (in->ndim > 0) {
        lane.n = in->dims[axis];
        lane.out_stride = out->strides[axis];
        lane.in_stride = in->strides[axis];
        vp__nest_remove(&nest, axis);
    }
    vp__nest_merge(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;
    vp__walk walk;
    vp__walk_init(&walk, &nest, nest.ndim);
    do {
        lane.out = walk.at[0];
        lane.in = walk.at[1];
        run(&lane);
    } while (vp__walk_next(&walk));
}

/* One-byte elements: how often each value occurs says it all. Four histograms, because
 * equal neighbours would wait for each other in one. */
static void sort_bytes(const vp__lane *lane) {
    int64_t counts[4][256] = {{0}};
    const uint8_t *in = (const uint8_t *)lane->in;
    for (int64_t i = 0; i < lane->n; i++) counts[i & 3][in[i * lane->in_stride]]++;
    int first = lane->dtype == VP_I8 ? 128 : 0; /* the byte of the least value */
    char *out = lane->out;
    for (int i = 0; i < 256; i++) {
        int value = (first + i) & 255;
        int64_t n =
            counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
        char element = (char)value;
        if (n) vp__move_row(out, lane->out_stride, &element, 0, n, 1);
        out += n * lane->out_stride;
    }
}

/* Short lanes: contiguous in scratch, unless they are already, and sorted there. */
static bool sort_short(const vp__lane *lane) {
    int size = vp__dtype[lane->dtype].size;
    if (lane->n > VP__SHORT_LANE) return false;
    char *copy = lane->scratch;
    const char *in = lane->in;
    if (lane->in_stride != size) {
        vp__move_row(copy, size, in, lane->in_stride, lane->n, size);
        in = copy;
    }
    char *out = lane->out_stride == size ? lane->out : copy;
    if (!vp__loops_get()->sort(out, in, lane->n, lane->dtype,
                               vp__lane_network_scratch(lane)))
        return false;
    if (out == copy) vp__move_row(lane->out, lane->out_stride, out, size, lane->n, size);
    return true;
}

static void sort_small(const vp__lane *lane) {
    if (sort_short(lane)) return;
    uint32_t *keys = lane->scratch, *spare = keys + lane->n, *sorted = keys;
    int size = vp__dtype[lane->dtype].size;
    vp__keys_u32(keys, lane->in, lane->in_stride, lane->n, lane->dtype, false);
    if (size == 4 || lane->n > VP__SHORT_NARROW ||
        !vp__loops_get()->sort(keys, keys, lane->n, VP_U32,
                               vp__lane_network_scratch(lane)))
        sorted = vp__radix_u32(keys, spare, lane->n);
    bool direct = lane->out_stride == size;
    void *to = direct ? lane->out : (void *)(sorted == keys ? spare : keys);
    vp__keys_undo32(to, sorted, lane->n, lane->dtype);
    if (!direct) vp__move_row(lane->out, lane->out_stride, to, size, lane->n, size);
}

static void sort_wide(const vp__lane *lane) {
    if (sort_short(lane)) return;
    uint64_t *keys = lane->scratch, *spare = keys + lane->n;
    vp__keys_u64(keys, lane->in, lane->in_stride, lane->n, lane->dtype, false);
    uint64_t *sorted = vp__radix_u64(keys, spare, lane->n);
    bool direct = lane->out_stride == 8;
    void *to = direct ? lane->out : (void *)(sorted == keys ? spare : keys);
    vp__keys_undo64(to, sorted, lane->n, lane->dtype);
    if (!direct) vp__move_row(lane->out, lane->out_stride, to, 8, lane->n, 8);
}

static void sort_complex(const vp__lane *lane) {
    vp__keyed *spare, *order = vp__lane_order(lane, &spare);
    int size = vp__dtype[lane->dtype].size;
    char *to =
        (char *)spare; /* out may be in, so elements are not moved straight there */
    for (int64_t i = 0; i < lane->n; i++)
        memcpy(to + i * size, lane->in + order[i].position * lane->in_stride,
               (size_t)size);
    vp__move_row(lane->out, lane->out_stride, to, size, lane->n, size);
}

void vp__lib_sort(const vp__view *out, const vp__view *in, int axis, int64_t part,
                  int64_t parts, void *scratch) {
    int size = vp__dtype[in->dtype].size;
    bool is_complex = vp__dtype[in->dtype].cls == VP__CLASS_C;
    void (*run)(const vp__lane *) = is_complex  ? sort_complex
                                    : size == 8 ? sort_wide
                                    : size == 1 ? sort_bytes
                                                : sort_small;
    vp__lanes_run(out, in, axis, part, parts, scratch, run);
}
