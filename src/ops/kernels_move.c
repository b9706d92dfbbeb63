/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving elements between contiguous and strided memory, and filling, by element size
 * alone; and the table of one instruction set put together from its parts.
 */
#include "ops/kernels_common.h"

typedef struct {
    uint64_t half[2];
} pair;

typedef uint64_t eight __attribute__((aligned(4), may_alias));

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
            memcpy(out, in, (size_t)n * sizeof(type));                                   \
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
            memcpy(out, in, (size_t)n * sizeof(type));                                   \
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
