/* SPDX-License-Identifier: Apache-2.0
 *
 * The library operations as a shared object, for check_lib.py, which loads it with
 * ctypes.
 */
#include <stdlib.h>

#include "array/shape.h"
#include "lib/lib.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void shim_copy(const vp__view *out, const vp__view *in, int64_t parts);
EXPORT void shim_along(int row, const vp__view *out, const vp__view *in, int axis,
                       int64_t parts);
EXPORT int64_t shim_count_true(const vp__view *mask);
EXPORT void shim_list_true(int64_t *positions, const vp__view *mask, bool flat);
EXPORT void shim_mask_get(void *out, const vp__view *base, const vp__view *mask);
EXPORT void shim_mask_put(const vp__view *base, const vp__view *mask, const vp__view *in);
EXPORT void shim_mask_fill(const vp__view *base, const vp__view *mask, const vp__view *in,
                           int64_t parts);
EXPORT bool shim_gather(const vp__view *out, const vp__view *base, const vp__fancy *f,
                        int64_t parts);
EXPORT bool shim_scatter(const vp__view *base, const vp__view *in, const vp__fancy *f);
EXPORT void shim_matmul(const vp__view *out, const vp__view *a, const vp__view *b);
EXPORT bool shim_fft(int row, const vp__view *out, const vp__view *in, int axis,
                     int64_t n, int64_t parts);

void shim_copy(const vp__view *out, const vp__view *in, int64_t parts) {
    for (int64_t part = 0; part < parts; part++) vp__lib_copy(out, in, part, parts);
}

void shim_along(int row, const vp__view *out, const vp__view *in, int axis,
                int64_t parts) {
    const vp__lane_work *along = &vp__lib_along[row];
    void *scratch = malloc(along->scratch(in, axis) + 1);
    for (int64_t part = 0; part < parts; part++)
        along->run(out, in, axis, part, parts, scratch);
    free(scratch);
}

static int64_t count_of(const vp__view *v) {
    return vp__shape_count(v->ndim, v->dims, 1);
}

int64_t shim_count_true(const vp__view *mask) {
    return vp__lib_count_true(mask, 0, count_of(mask));
}

void shim_list_true(int64_t *positions, const vp__view *mask, bool flat) {
    vp__lib_list_true(positions, mask, flat, 0, count_of(mask));
}

void shim_mask_get(void *out, const vp__view *base, const vp__view *mask) {
    vp__lib_mask_get(out, base, mask, 0, count_of(mask), shim_count_true(mask));
}

void shim_mask_put(const vp__view *base, const vp__view *mask, const vp__view *in) {
    vp__lib_mask_put(base, mask, in->data, in->strides[0], 0, count_of(mask));
}

void shim_mask_fill(const vp__view *base, const vp__view *mask, const vp__view *in,
                    int64_t parts) {
    for (int64_t part = 0; part < parts; part++)
        vp__lib_mask_fill(base, mask, in, part, parts);
}

bool shim_gather(const vp__view *out, const vp__view *base, const vp__fancy *f,
                 int64_t parts) {
    int64_t bad;
    int axis;
    if (!vp__lib_check_index(f, base, &bad, &axis)) return false;
    for (int64_t part = 0; part < parts; part++)
        vp__lib_gather(out, base, f, part, parts);
    return true;
}

bool shim_scatter(const vp__view *base, const vp__view *in, const vp__fancy *f) {
    int64_t bad;
    int axis;
    if (!vp__lib_check_index(f, base, &bad, &axis)) return false;
    vp__lib_scatter(base, in, f);
    return true;
}

bool shim_fft(int row, const vp__view *out, const vp__view *in, int axis, int64_t n,
              int64_t parts) {
    bool single = in->dtype == VP_F32 || in->dtype == VP_C64;
    bool real = in->dtype == VP_F32 || in->dtype == VP_F64;
    vp__fft_kind kind = vp__lib_fft_kind((vp__lib_kind)row, real);
    vp__fft_plan *plan = kind == VP__FFT_NONE ? NULL : vp__lib_fft_plan(kind, single, n);
    if (!plan) return false;
    void *scratch = malloc(vp__lib_fft_scratch(plan, out, in, axis));
    for (int64_t part = 0; part < parts; part++)
        vp__lib_fft(plan, out, in, axis, part, parts, scratch);
    free(scratch);
    vp__lib_fft_release(plan);
    return true;
}

void shim_matmul(const vp__view *out, const vp__view *a, const vp__view *b) {
    int64_t parts =
        vp__lib_matmul_parts(out->dims[0], out->dims[1], a->dims[1], out->dtype, 2);
    size_t bytes[2];
    vp__lib_matmul_scratch(out, a, b, parts, bytes);
    void *scratch[2] = {malloc(bytes[0] + 1), malloc(bytes[1] + 1)};
    for (int64_t part = 0; part < parts; part++)
        vp__lib_matmul(out, a, b, part, parts, scratch);
    free(scratch[0]);
    free(scratch[1]);
}
