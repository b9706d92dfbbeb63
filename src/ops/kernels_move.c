/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving elements between contiguous and strided memory, and filling, by element size
 * alone; copying bytes; and the table of one instruction set put together from its parts.
 */
#include "ops/kernels_common.h"

typedef struct {
    uint64_t half[2];
} pair;

typedef uint64_t eight __attribute__((aligned(4), may_alias));

/* From some kilobytes on, memcpy is a string instruction: the fastest there is, but where the
 * target begins shortly behind the source modulo NEAR_PAGE. Many processors are slow there,
 * some ten times as slow. Arrays lie alike modulo a page, so the rows of a copy by a few
 * columns all do that. */
enum { LONG_COPY = 4096, NEAR_PAGE = 4096, NEAR_BYTES = 1024 };

static bool memcpy_is_best(const char *out, const char *in, int64_t bytes) {
    const uintptr_t behind = ((uintptr_t)out - (uintptr_t)in) % NEAR_PAGE;
    return bytes >= LONG_COPY && (behind == 0 || behind >= NEAR_BYTES);
}

#if defined __AVX__
enum { COPY_BYTES = 32 }; /* from the outer caches no slower than 64 */
#else
enum { COPY_BYTES = 16 };
#endif
typedef uint8_t copied __attribute__((vector_size(COPY_BYTES), aligned(1), may_alias));

static inline void copy_one(char *out, const char *in) {
    *(copied *)out = *(const copied *)in;
}

static inline void copy_two(char *out, const char *in) {
    const copied a = ((const copied *)in)[0], b = ((const copied *)in)[1];
    ((copied *)out)[0] = a, ((copied *)out)[1] = b;
}

static inline void copy_four(char *out, const char *in) {
    const copied *p = (const copied *)in;
    const copied a = p[0], b = p[1], c = p[2], d = p[3];
    copied *o = (copied *)out;
    o[0] = a, o[1] = b, o[2] = c, o[3] = d;
}

/* The last vectors overlap those before them: any number of bytes is whole ones. */
static void copy(void *out, const void *in, int64_t bytes) {
    enum { ONE = COPY_BYTES, TWO = 2 * ONE, FOUR = 4 * ONE };
    char *o = out;
    const char *p = in;
    if (bytes < ONE || memcpy_is_best(o, p, bytes)) {
        memcpy(o, p, (size_t)bytes);
    } else if (bytes <= TWO) {
        copy_one(o, p);
        copy_one(o + bytes - ONE, p + bytes - ONE);
    } else if (bytes <= FOUR) {
        copy_two(o, p);
        copy_two(o + bytes - TWO, p + bytes - TWO);
    } else {
        for (int64_t i = 0; i + FOUR < bytes; i += FOUR) copy_four(o + i, p + i);
        copy_four(o + bytes - FOUR, p + bytes - FOUR);
    }
}

/* Elements are only aligned as their own type: a pair has the alignment of complex128, and
 * what has eight bytes may be a complex64. */
#define VP__MOVES(type)                                                                  \
    static void fill_##type(void *out, const void *element, int64_t n) {                 \
        type *o = out;                                                                   \
        const type x = *(const type *)element;                                           \
        VP__SIMD for (int64_t i = 0; i < n; i++) o[i] = x;                               \
    }                                                                                    \
    static void gather_##type(void *out, const void *in, int64_t stride, int64_t n) {    \
        type *o = out;                                                                   \
        const char *p = in;                                                              \
        if (stride == sizeof(type))                                                      \
            copy(out, in, n *(int64_t)sizeof(type));                                     \
        else if (stride == 0)                                                            \
            fill_##type(out, in, n);                                                     \
        else if (stride == -(int64_t)sizeof(type))                                       \
            for (int64_t i = 0; i < n; i++) o[i] = ((const type *)in)[-i];               \
        else if (stride == 2 * (int64_t)sizeof(type))                                    \
            for (int64_t i = 0; i < n; i++) o[i] = ((const type *)in)[2 * i];            \
        else                                                                             \
            for (int64_t i = 0; i < n; i++, p += stride) o[i] = *(const type *)p;        \
    }                                                                                    \
    static void scatter_##type(void *out, int64_t stride, const void *in, int64_t n) {   \
        const type *x = in;                                                              \
        char *p = out;                                                                   \
        if (stride == sizeof(type))                                                      \
            copy(out, in, n *(int64_t)sizeof(type));                                     \
        else                                                                             \
            for (int64_t i = 0; i < n; i++, p += stride) *(type *)p = x[i];              \
    }
VP__MOVES(uint8_t)
VP__MOVES(uint16_t)
VP__MOVES(uint32_t)
VP__MOVES(eight)
VP__MOVES(pair)

#define VP__ENTER(log2, type)                                                            \
    k->fill[log2] = fill_##type;                                                         \
    k->gather[log2] = gather_##type;                                                     \
    k->scatter[log2] = scatter_##type

void VP__ISA(vp__kernels_fill_move)(vp__kernels *k) {
    k->copy = copy;
    VP__ENTER(0, uint8_t);
    VP__ENTER(1, uint16_t);
    VP__ENTER(2, uint32_t);
    VP__ENTER(3, eight);
    VP__ENTER(4, pair);
}

void VP__ISA(vp__kernels_fill)(vp__kernels *k) {
    VP__ISA(vp__kernels_fill_narrow)(k);
    VP__ISA(vp__kernels_fill_wide)(k);
    VP__ISA(vp__kernels_fill_float)(k);
    VP__ISA(vp__kernels_fill_complex)(k);
    VP__ISA(vp__kernels_fill_move)(k);
    VP__ISA(vp__reduce_fill)(k);
}

/* Puts the kernels of accurate mode over those of the same rows. */
void VP__ISA(vp__kernels_fill_accurate)(vp__kernels *k) {
    VP__ISA(vp__kernels_fill_float_accurate)(k);
    VP__ISA(vp__kernels_fill_complex_accurate)(k);
}
