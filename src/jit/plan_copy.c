/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between layouts, a tile at a time: what brings strided operands into blocks and
 * results out of them. Two loops are handled in one go for each element size, so that a
 * loop of three elements costs no call; whatever surrounds them is an odometer.
 */
#include <string.h>

#include "jit/plan.h"

typedef struct {
    uint64_t half[2];
} sixteen;

/* Copies n rows of m elements; s and d are the steps within a row, S and D between rows. */
#define COPY_ROWS(name, type)                                                              \
    static void name(char *to, int64_t d, int64_t D, const char *from, int64_t s,          \
                     int64_t S, int64_t m, int64_t n) {                                    \
        for (int64_t j = 0; j < n; j++, to += D, from += S)                                \
            for (int64_t i = 0; i < m; i++)                                                \
                *(type *)(to + i * d) = *(const type *)(from + i * s);                     \
    }
COPY_ROWS(copy_1, uint8_t)
COPY_ROWS(copy_2, uint16_t)
COPY_ROWS(copy_4, uint32_t)
COPY_ROWS(copy_8, uint64_t)
COPY_ROWS(copy_16, sixteen)

static void copy_rows(const vp__kernels *k, int lg, char *to, int64_t d, int64_t D,
                      const char *from, int64_t s, int64_t S, int64_t m, int64_t n) {
    const int64_t size = (int64_t)1 << lg;
    if (m >= 16 && d == size) {
        /* Long rows into a block: the vector kernels know the common steps. */
        for (int64_t j = 0; j < n; j++, to += D, from += S) {
            if (s == size)
                memcpy(to, from, (size_t)(m * size));
            else if (s == 0)
                k->fill[lg](to, from, m);
            else
                k->gather[lg](to, from, s, m);
        }
        return;
    }
    if (m >= 16 && s == size) {
        for (int64_t j = 0; j < n; j++, to += D, from += S)
            k->scatter[lg](to, d, from, m);
        return;
    }
    switch (lg) {
    case 0: copy_1(to, d, D, from, s, S, m, n); break;
    case 1: copy_2(to, d, D, from, s, S, m, n); break;
    case 2: copy_4(to, d, D, from, s, S, m, n); break;
    case 3: copy_8(to, d, D, from, s, S, m, n); break;
    case 4: copy_16(to, d, D, from, s, S, m, n); break;
    }
}

void vp__copy_tile(const vp__kernels *k, int lg, char *dst, const int64_t *dst_stride,
                   const char *src, const int64_t *src_stride, const int64_t *count,
                   const uint8_t *order, int nloops) {
    const int a = order[0];
    if (nloops == 1) {
        copy_rows(k, lg, dst, dst_stride[a], 0, src, src_stride[a], 0, count[a], 1);
        return;
    }
    const int b = order[1];
    int64_t index[VP__TILE_LOOPS] = {0};
    for (;;) {
        copy_rows(k, lg, dst, dst_stride[a], dst_stride[b], src, src_stride[a],
                  src_stride[b], count[a], count[b]);
        int i = 2;
        for (; i < nloops; i++) {
            const int c = order[i];
            if (++index[i] < count[c]) {
                dst += dst_stride[c];
                src += src_stride[c];
                break;
            }
            dst -= (count[c] - 1) * dst_stride[c];
            src -= (count[c] - 1) * src_stride[c];
            index[i] = 0;
        }
        if (i == nloops) return;
    }
}

void vp__copy_range(const vp__kernels *k, int lg, char *dst, const char *src,
                    const int64_t *dim, const int64_t *stride, int nloops, int64_t number,
                    int64_t n) {
    const int x = nloops - 1, y = nloops - 2; /* there are at least two */
    const int64_t size = (int64_t)1 << lg;
    while (n > 0) {
        /* Where the number is: its place in the last loop, the row, and the rest. */
        int64_t rest = number, at[VP__MAXDIM];
        const char *from = src;
        for (int i = nloops - 1; i >= 0; i--) {
            at[i] = rest % dim[i];
            rest /= dim[i];
            from += at[i] * stride[i];
        }
        int64_t m = dim[x], rows = 1;
        if (at[x] != 0 || n < m) {
            m = dim[x] - at[x] < n ? dim[x] - at[x] : n;
        } else {
            rows = n / m;
            if (rows > dim[y] - at[y]) rows = dim[y] - at[y];
        }
        if (m < 16 && rows > m)
            copy_rows(k, lg, dst, m * size, size, from, stride[y], stride[x], rows, m);
        else
            copy_rows(k, lg, dst, size, m * size, from, stride[x], stride[y], m, rows);
        dst += m * rows * size;
        number += m * rows;
        n -= m * rows;
    }
}
