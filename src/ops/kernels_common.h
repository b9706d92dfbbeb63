/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel sources share. They are compiled once per instruction set, with VP_ISA
 * naming it; VP__ISA(f) is f's name in this one. Those with math functions are compiled a
 * second time for accurate mode, with VP_ACCURATE defined.
 */
#ifndef VP_OPS_KERNELS_COMMON_H
#define VP_OPS_KERNELS_COMMON_H

/* Bodies use & and | for truth values, because nothing in them may branch; and whether a
 * loop is worth vectorising differs by type, so that a refusal is no mistake. */
#if defined __clang__
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#if defined __AVX512BW__
#include <immintrin.h>
#endif

#include "ops/apart.h"
#include "ops/kernels.h"

#define VP__ISA_PASTE_(f, isa) f##_##isa
#define VP__ISA_PASTE(f, isa) VP__ISA_PASTE_(f, isa)
#define VP__ISA(f) VP__ISA_PASTE(f, VP_ISA)

/* The parts of one instruction set's table, each from its own source. */
void VP__ISA(vp__kernels_fill)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_narrow)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_wide)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_float)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_complex)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_move)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_float_accurate)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_complex_accurate)(vp__kernels *k);
void VP__ISA(vp__kernels_fill_accurate)(vp__kernels *k);
void VP__ISA(vp__reduce_fill)(vp__kernels *k);

/* Before a loop whose iterations are independent: vectorise it whatever the cost model
 * thinks of short runs, so that one machine code serves every element. */
#define VP__SIMD _Pragma("omp simd")
#define VP__NOINLINE __attribute__((noinline))

/* For loops that memory bounds. Measured on Zen 4, two 256-bit vectors a turn stream 10 %
 * faster from the outer caches than 512-bit ones do, and are no slower from L1. */
#if defined __AVX512F__ && defined __GNUC__ && !defined __clang__
#define VP__STREAMS __attribute__((target("prefer-vector-width=256")))
#define VP__SIMD_STREAM _Pragma("GCC ivdep") _Pragma("GCC unroll 2")
#else
#define VP__STREAMS
#define VP__SIMD_STREAM VP__SIMD
#endif

/* Loops that memory bounds are still faster on Zen 4, by 3 to 8 % from the outer caches and
 * by some in L2, when vectors are loaded in two halves and stored in one piece: all that
 * they read where that is one operand or the result is smaller, one of two operands where
 * it is as large (the other way about they are slower). This tuning does that to what it
 * does not know to be aligned, so what shall be left whole has to be. */
enum { VP__WHOLE_BYTES = 32 };
#if defined __AVX512F__ && defined __GNUC__ && !defined __clang__
#define VP__HALF_LOADS __attribute__((target("prefer-vector-width=256,tune=sandybridge")))
#define VP__CAN_HALVE(out, in)                                                           \
    ((((uintptr_t)(out) | (uintptr_t)(in)) & (VP__WHOLE_BYTES - 1)) == 0)
#else
#define VP__HALF_LOADS
#define VP__CAN_HALVE(out, in) false
#endif

/* The C type, component type and class of each element type. */
#define VP_DTYPE(id, name, ctype, cls, real) typedef ctype vp__elem_##id;
#include "array/dtype.def"
#define VP_DTYPE(id, name, ctype, cls, real) typedef vp__elem_##real vp__real_##id;
#include "array/dtype.def"
#define VP_DTYPE(id, name, ctype, cls, real) enum { vp__class_##id = VP__CLASS_##cls };
#include "array/dtype.def"

#if defined __AVX512BW__
/* Of 64 bytes from `at` on, those below `end`. */
static inline __mmask64 vp__bytes_below(size_t end, size_t at) {
    const size_t n = end > at ? end - at : 0;
    return n < 64 ? _bzhi_u64(~0ull, (unsigned)n) : ~0ull;
}
#endif

/* Copies `have` elements to dst and repeats the first one up to `want`, so that padding
 * meets no special case that its neighbours do not. All `want` elements together have a
 * multiple of 64 bytes. */
static inline void vp__pad_load(void *dst, const void *src, size_t size, int64_t have,
                                int64_t want) {
#if defined __AVX512BW__
    const size_t end = (size_t)have * size, room = (size_t)want * size;
    char first[64];
    for (size_t at = 0; at < 64; at += size) memcpy(first + at, src, size);
    const __m512i fill = _mm512_loadu_si512(first);
    for (size_t at = 0; at < room; at += 64)
        _mm512_storeu_si512((char *)dst + at,
                            _mm512_mask_loadu_epi8(fill, vp__bytes_below(end, at),
                                                   (const char *)src + at));
#else
    memcpy(dst, src, (size_t)have * size);
    for (int64_t i = have; i < want; i++)
        memcpy((char *)dst + (size_t)i * size, src, size);
#endif
}

/* Copies the first `have` elements of a padded run out. */
static inline void vp__pad_store(void *dst, const void *src, size_t size, int64_t have) {
#if defined __AVX512BW__
    const size_t end = (size_t)have * size;
    for (size_t at = 0; at < end; at += 64)
        _mm512_mask_storeu_epi8((char *)dst + at, vp__bytes_below(end, at),
                                _mm512_loadu_si512((const char *)src + at));
#else
    memcpy(dst, src, (size_t)have * size);
#endif
}

#endif
