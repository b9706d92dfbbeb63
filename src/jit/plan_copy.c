/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between layouts, a tile at a time: what brings strided operands into blocks and
 * results out of them. Two loops are handled in one go for each element size, so that a
 * loop of three elements costs no call; whatever surrounds them is an odometer.
 */
#include "jit/plan_parts.h"

typedef struct {
    uint64_t half[2];
} sixteen;
/* A complex64 is aligned as its components are. */
typedef uint64_t eight __attribute__((aligned(4), may_alias));

/* Copies n rows of m elements; s and d are the strides within a row, S and D between
 * rows. */
#define COPY_ROWS(name, type)                                                            \
    static void name(char *to, int64_t d, int64_t D, const char *from, int64_t s,        \
                     int64_t S, int64_t m, int64_t n) {                                  \
        for (int64_t j = 0; j < n; j++, to += D, from += S)                              \
            for (int64_t i = 0; i < m; i++)                                              \
                *(type *)(to + i * d) = *(const type *)(from + i * s);                   \
    }
COPY_ROWS(copy_1, uint8_t)
COPY_ROWS(copy_2, uint16_t)
COPY_ROWS(copy_4, uint32_t)
COPY_ROWS(copy_8, eight)
COPY_ROWS(copy_16, sixteen)

/* Turning a table: m elements that follow each other in the source lie D apart in the
 * target, n that follow each other in the target lie S apart in the source. Eight source
 * rows are read side by side and the next eight fetched ahead, so that both sides use up
 * the cache lines they touch. `turn` moves a square of SIDE x SIDE. */
#define COPY_TURNED(name, type, SIDE, turn)                                              \
    static void name(char *to, int64_t D, const char *from, int64_t S, int64_t m,        \
                     int64_t n) {                                                        \
        const int64_t size = (int64_t)sizeof(type), whole = m - m % SIDE;                \
        for (int64_t j = 0; j < n; j += 8) {                                             \
            const int64_t some = n - j < 8 ? n - j : 8;                                  \
            const char *x = from + j * S;                                                \
            char *o = to + j * size;                                                     \
            if (some < 8) {                                                              \
                name##_rest(o, D, x, S, m, some);                                        \
                continue;                                                                \
            }                                                                            \
            for (int64_t i = 0; i < whole; i += SIDE) {                                  \
                if (i * size % 64 < SIDE * size && j + 16 <= n)                          \
                    for (int k = 8; k < 16; k++)                                         \
                        __builtin_prefetch(x + k * S + i * size);                        \
                for (int k = 0; k < 8; k += SIDE)                                        \
                    turn(o + i * D + k * size, D, x + k * S + i * size, S);              \
            }                                                                            \
            name##_rest(o + whole * D, D, x + whole * size, S, m - whole, 8);            \
        }                                                                                \
    }
#define COPY_TURNED_REST(name, type)                                                     \
    static void name##_rest(char *to, int64_t D, const char *from, int64_t S, int64_t m, \
                            int64_t n) {                                                 \
        for (int64_t i = 0; i < m; i++)                                                  \
            for (int64_t k = 0; k < n; k++)                                              \
                ((type *)(to + i * D))[k] = ((const type *)(from + k * S))[i];           \
    }

typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));
typedef uint32_t four_at __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t two_at __attribute__((vector_size(16), aligned(4), may_alias));

static inline void turn_one_1(char *to, int64_t D, const char *from, int64_t S) {
    (void)D, (void)S;
    *to = *from;
}
static inline void turn_one_2(char *to, int64_t D, const char *from, int64_t S) {
    (void)D, (void)S;
    *(uint16_t *)to = *(const uint16_t *)from;
}
static inline void turn_one_16(char *to, int64_t D, const char *from, int64_t S) {
    (void)D, (void)S;
    *(sixteen *)to = *(const sixteen *)from;
}
static inline void turn_two(char *to, int64_t D, const char *from, int64_t S) {
    const two a = *(const two_at *)from, b = *(const two_at *)(from + S);
    *(two_at *)to = (two){a[0], b[0]};
    *(two_at *)(to + D) = (two){a[1], b[1]};
}
static inline void turn_four(char *to, int64_t D, const char *from, int64_t S) {
    const four a = *(const four_at *)from, b = *(const four_at *)(from + S);
    const four c = *(const four_at *)(from + 2 * S), d = *(const four_at *)(from + 3 * S);
    const two ab = (two)(four){a[0], b[0], a[1], b[1]},
              AB = (two)(four){a[2], b[2], a[3], b[3]};
    const two cd = (two)(four){c[0], d[0], c[1], d[1]},
              CD = (two)(four){c[2], d[2], c[3], d[3]};
    *(two_at *)to = (two){ab[0], cd[0]};
    *(two_at *)(to + D) = (two){ab[1], cd[1]};
    *(two_at *)(to + 2 * D) = (two){AB[0], CD[0]};
    *(two_at *)(to + 3 * D) = (two){AB[1], CD[1]};
}
COPY_TURNED_REST(turn_1, uint8_t)
COPY_TURNED_REST(turn_2, uint16_t)
COPY_TURNED_REST(turn_4, uint32_t)
COPY_TURNED_REST(turn_8, eight)
COPY_TURNED_REST(turn_16, sixteen)
COPY_TURNED(turn_1, uint8_t, 1, turn_one_1)
COPY_TURNED(turn_2, uint16_t, 1, turn_one_2)
COPY_TURNED(turn_4, uint32_t, 4, turn_four)
COPY_TURNED(turn_8, eight, 2, turn_two)
COPY_TURNED(turn_16, sixteen, 1, turn_one_16)

static void copy_turned(int lg, char *to, int64_t D, const char *from, int64_t S,
                        int64_t m, int64_t n) {
    switch (lg) {
    case 0: turn_1(to, D, from, S, m, n); break;
    case 1: turn_2(to, D, from, S, m, n); break;
    case 2: turn_4(to, D, from, S, m, n); break;
    case 3: turn_8(to, D, from, S, m, n); break;
    case 4: turn_16(to, D, from, S, m, n); break;
    }
}

typedef uint64_t half_8 __attribute__((aligned(1), may_alias));
typedef uint64_t half_16 __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies n rows of 8 and more bytes; those that are not worth a call as two halves, which
 * overlap. */
static void copy_contiguous(const vp__kernels *k, char *to, int64_t D, const char *from,
                            int64_t S, int64_t bytes, int64_t n) {
    if (bytes > 32) {
        for (int64_t j = 0; j < n; j++, to += D, from += S) k->copy(to, from, bytes);
    } else if (bytes >= 16) {
        for (int64_t j = 0; j < n; j++, to += D, from += S) {
            const half_16 a = *(const half_16 *)from;
            const half_16 b = *(const half_16 *)(from + bytes - 16);
            *(half_16 *)to = a, *(half_16 *)(to + bytes - 16) = b;
        }
    } else {
        for (int64_t j = 0; j < n; j++, to += D, from += S) {
            const half_8 a = *(const half_8 *)from;
            const half_8 b = *(const half_8 *)(from + bytes - 8);
            *(half_8 *)to = a, *(half_8 *)(to + bytes - 8) = b;
        }
    }
}

static void copy_rows(const vp__kernels *k, int lg, char *to, int64_t d, int64_t D,
                      const char *from, int64_t s, int64_t S, int64_t m, int64_t n) {
    const int64_t size = (int64_t)1 << lg;
    if (m >= 4 && n >= 4) {
        if (s == size && D == size && d != size && S != 0) {
            copy_turned(lg, to, d, from, S, m, n);
            return;
        }
        if (d == size && S == size && s != size && s != 0) {
            copy_turned(lg, to, D, from, s, n, m);
            return;
        }
    }
    if (d == size && s == size && m * size >= 8) {
        copy_contiguous(k, to, D, from, S, m * size, n);
        return;
    }
    if (m >= 16 && d == size) {
        /* Long rows into a block: the vector kernels know the common strides. */
        for (int64_t j = 0; j < n; j++, to += D, from += S) {
            if (s == 0)
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
        /* Where the number is: its position in the last loop, the row, and the rest. */
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
