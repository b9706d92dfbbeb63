/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting along an axis. A fibre's elements become keys, keys are sorted, and become
 * elements again. The map is one to one and the order total, so the result is the same
 * whatever the algorithm: -0.0 comes before 0.0, NaNs come last in the order of their
 * bits. One-byte elements are merely counted. Complex elements follow their argsort,
 * which leaves equal ones as they stand.
 */
#include "lib/sort/sort.h"

#include <string.h>

#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"
#include "lib/sort/keys.h"

size_t vp__lib_sort_scratch(const vp__view *in, int axis) {
    /* Two sequences of vp__keyed, or of 64-bit words when key and position fit in one. */
    size_t n = (size_t)(in->ndim > 0 ? in->dims[axis] : 1);
    bool narrow = vp__dtype[in->dtype].size <= 4 && n <= UINT32_MAX;
    size_t bytes = 2 * n * (narrow ? sizeof(uint64_t) : sizeof(vp__keyed));
    if (n <= VP__SHORT_FIBRE) bytes = n * 16 + VP__NETWORK_SCRATCH(n) + 64;
    return bytes + 64; /* to align it */
}

void vp__fibres_run(const vp__view *out, const vp__view *in, int axis, int64_t part,
                    int64_t parts, void *scratch, void (*run)(const vp__fibre *fibre)) {
    vp__nest nest;
    vp__nest_init(&nest, in->ndim, in->dims);
    if (vp__nest_is_empty(&nest)) return;
    vp__nest_add(&nest, out->data, out->strides);
    vp__nest_add(&nest, in->data, in->strides);
    vp__fibre fibre = {.n = 1, .dtype = in->dtype};
    fibre.scratch = (void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    if (in->ndim > 0) {
        fibre.n = in->dims[axis];
        fibre.out_stride = out->strides[axis];
        fibre.in_stride = in->strides[axis];
        vp__nest_remove(&nest, axis);
    }
    vp__nest_merge(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;
    vp__walk walk;
    vp__walk_init(&walk, &nest, nest.ndim);
    do {
        fibre.out = walk.at[0];
        fibre.in = walk.at[1];
        run(&fibre);
    } while (vp__walk_next(&walk));
}

/* One-byte elements: how often each value occurs says it all. Four histograms, because
 * equal neighbours would wait for each other in one. */
static void sort_bytes(const vp__fibre *fibre) {
    int64_t counts[4][256] = {{0}};
    const uint8_t *in = (const uint8_t *)fibre->in;
    for (int64_t i = 0; i < fibre->n; i++) counts[i & 3][in[i * fibre->in_stride]]++;
    int first = fibre->dtype == VP_I8 ? 128 : 0; /* the byte of the least value */
    char *out = fibre->out;
    for (int i = 0; i < 256; i++) {
        int value = (first + i) & 255;
        int64_t n =
            counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
        char element = (char)value;
        if (n) vp__move_row(out, fibre->out_stride, &element, 0, n, 1);
        out += n * fibre->out_stride;
    }
}

/* Short fibres: contiguous in scratch, unless they are already, and sorted there. */
static bool sort_short(const vp__fibre *fibre) {
    int size = vp__dtype[fibre->dtype].size;
    if (fibre->n > VP__SHORT_FIBRE) return false;
    char *copy = fibre->scratch;
    const char *in = fibre->in;
    if (fibre->in_stride != size) {
        vp__move_row(copy, size, in, fibre->in_stride, fibre->n, size);
        in = copy;
    }
    char *out = fibre->out_stride == size ? fibre->out : copy;
    if (!vp__loops_get()->sort(out, in, fibre->n, fibre->dtype,
                               vp__fibre_network_scratch(fibre)))
        return false;
    if (out == copy)
        vp__move_row(fibre->out, fibre->out_stride, out, size, fibre->n, size);
    return true;
}

static void sort_small(const vp__fibre *fibre) {
    if (sort_short(fibre)) return;
    uint32_t *keys = fibre->scratch, *spare = keys + fibre->n, *sorted = keys;
    int size = vp__dtype[fibre->dtype].size;
    vp__keys_u32(keys, fibre->in, fibre->in_stride, fibre->n, fibre->dtype, false);
    if (size == 4 || fibre->n > VP__SHORT_NARROW ||
        !vp__loops_get()->sort(keys, keys, fibre->n, VP_U32,
                               vp__fibre_network_scratch(fibre)))
        sorted = vp__radix_u32(keys, spare, fibre->n);
    bool direct = fibre->out_stride == size;
    void *to = direct ? fibre->out : (void *)(sorted == keys ? spare : keys);
    vp__keys_undo32(to, sorted, fibre->n, fibre->dtype);
    if (!direct) vp__move_row(fibre->out, fibre->out_stride, to, size, fibre->n, size);
}

static void sort_wide(const vp__fibre *fibre) {
    if (sort_short(fibre)) return;
    uint64_t *keys = fibre->scratch, *spare = keys + fibre->n;
    vp__keys_u64(keys, fibre->in, fibre->in_stride, fibre->n, fibre->dtype, false);
    uint64_t *sorted = vp__radix_u64(keys, spare, fibre->n);
    bool direct = fibre->out_stride == 8;
    void *to = direct ? fibre->out : (void *)(sorted == keys ? spare : keys);
    vp__keys_undo64(to, sorted, fibre->n, fibre->dtype);
    if (!direct) vp__move_row(fibre->out, fibre->out_stride, to, 8, fibre->n, 8);
}

static void sort_complex(const vp__fibre *fibre) {
    vp__keyed *spare, *order = vp__fibre_order(fibre, &spare);
    int size = vp__dtype[fibre->dtype].size;
    char *to =
        (char *)spare; /* out may be in, so elements are not moved straight there */
    for (int64_t i = 0; i < fibre->n; i++)
        memcpy(to + i * size, fibre->in + order[i].position * fibre->in_stride,
               (size_t)size);
    vp__move_row(fibre->out, fibre->out_stride, to, size, fibre->n, size);
}

void vp__lib_sort(const vp__view *out, const vp__view *in, int axis, int64_t part,
                  int64_t parts, void *scratch) {
    int size = vp__dtype[in->dtype].size;
    bool is_complex = vp__dtype[in->dtype].cls == VP__CLASS_C;
    void (*run)(const vp__fibre *) = is_complex  ? sort_complex
                                     : size == 8 ? sort_wide
                                     : size == 1 ? sort_bytes
                                                 : sort_small;
    vp__fibres_run(out, in, axis, part, parts, scratch, run);
}
