/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements as unsigned keys whose order is the sort order, for every real type.
 *
 * Integers get their sign bit flipped. Floats get the usual map to ascending integers,
 * turned so that minus infinity becomes 0 and every NaN, of either sign, lies above plus
 * infinity: one to one, so that a sorted key is turned back into the very element it was.
 * Where equal elements must have equal keys (argsort), the caller asks for `same`: then
 * the zeros share a key and so do all NaNs.
 */
#ifndef VP_LIB_SORT_KEYS_H
#define VP_LIB_SORT_KEYS_H

#include <stdbool.h>

#include "array/dtype.h"

/* The bits below the sign of infinity. */
#define VP__INF32 UINT32_C(0x7F800000)
#define VP__INF64 UINT64_C(0x7FF0000000000000)

/* -inf maps to the complement of its bits, the least key that is no NaN. */
#define VP__TURN32 UINT32_C(0x007FFFFF)
#define VP__TURN64 UINT64_C(0x000FFFFFFFFFFFFF)

static inline uint32_t vp__key_f32(uint32_t bits) {
    uint32_t ascending = bits ^ (uint32_t)((int32_t)bits >> 31 | INT32_MIN);
    return ascending - VP__TURN32;
}

static inline uint64_t vp__key_f64(uint64_t bits) {
    uint64_t ascending = bits ^ (uint64_t)((int64_t)bits >> 63 | INT64_MIN);
    return ascending - VP__TURN64;
}

static inline uint32_t vp__key_same32(uint32_t bits) {
    if ((bits & INT32_MAX) > VP__INF32) return UINT32_MAX;
    return vp__key_f32(bits == UINT32_C(1) << 31 ? 0 : bits);
}

static inline uint64_t vp__key_same64(uint64_t bits) {
    if ((bits & INT64_MAX) > VP__INF64) return UINT64_MAX;
    return vp__key_f64(bits == UINT64_C(1) << 63 ? 0 : bits);
}

static inline uint32_t vp__unkey_f32(uint32_t key) {
    uint32_t ascending = key + VP__TURN32;
    return ascending ^ (ascending >> 31 ? UINT32_C(1) << 31 : UINT32_MAX);
}

static inline uint64_t vp__unkey_f64(uint64_t key) {
    uint64_t ascending = key + VP__TURN64;
    return ascending ^ (ascending >> 63 ? UINT64_C(1) << 63 : UINT64_MAX);
}

/* Keys of n elements of a real type of at most four bytes, or of eight; `stride` in
 * bytes. */
void vp__keys_u32(uint32_t *keys, const char *in, int64_t stride, int64_t n, vp_dtype t,
                  bool same);
void vp__keys_u64(uint64_t *keys, const char *in, int64_t stride, int64_t n, vp_dtype t,
                  bool same);

/* Turns keys (not `same` ones) back into contiguous elements of two, four or eight bytes,
 * which may not overlap the keys unless they are the same size. */
void vp__keys_undo32(void *out, const uint32_t *keys, int64_t n, vp_dtype t);
void vp__keys_undo64(void *out, const uint64_t *keys, int64_t n, vp_dtype t);

#endif
