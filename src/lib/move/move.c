/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving elements between two layouts. Rows go through the copy, gather and scatter
 * kernels; planes whose two sides disagree about order are cut into tiles in which each
 * cache line is read and written once. Elements of four, eight and sixteen bytes, where
 * transposing matters most, are turned in registers.
 */
#include "lib/move/move.h"

#include <string.h>

#include "ops/kernels.h"

enum {
    TILE = 64,        /* rows and columns of a transposed tile: 64 pages on either side */
    SHORT_ROW = 8,    /* below this, rows are walked the other way round */
    SHORT_BLOCK = 256 /* so many short rows at a time, which stay in L1 */
};

/* Element copies of constant size; memcpy so that neither type nor alignment matters. */
#define STRIDED(bytes)                                                                   \
    for (int64_t i = 0; i < n; i++)                                                      \
        memcpy(out + i * out_stride, in + i * in_stride, bytes);                         \
    break

void vp__move_row(char *out, int64_t out_stride, const char *in, int64_t in_stride,
                  int64_t n, int size) {
    if (out_stride == size) {
        if (in_stride == size)
            vp__kernels_get()->copy(out, in, n * size);
        else
            vp__kernels_get()->gather[vp__log2_size(size)](out, in, in_stride, n);
        return;
    }
    if (in_stride == size) {
        vp__kernels_get()->scatter[vp__log2_size(size)](out, out_stride, in, n);
        return;
    }
    switch (size) {
    case 1: STRIDED(1);
    case 2: STRIDED(2);
    case 4: STRIDED(4);
    case 8: STRIDED(8);
    default: STRIDED(16);
    }
}

typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint32_t quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Two by two elements of eight bytes: in's rows become out's columns. */
static inline void turn8(char *out, int64_t out_row, const char *in, int64_t in_col) {
    pair a = *(const pair *)in, b = *(const pair *)(in + in_col);
    *(pair *)out = __builtin_shufflevector(a, b, 0, 2);
    *(pair *)(out + out_row) = __builtin_shufflevector(a, b, 1, 3);
}

/* Four by four elements of four bytes. */
static inline void turn4(char *out, int64_t out_row, const char *in, int64_t in_col) {
    quad a = *(const quad *)in, b = *(const quad *)(in + in_col);
    quad c = *(const quad *)(in + 2 * in_col), d = *(const quad *)(in + 3 * in_col);
    quad ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    quad ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(quad *)out = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
    *(quad *)(out + out_row) = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
    *(quad *)(out + 2 * out_row) = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
    *(quad *)(out + 3 * out_row) = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

/* A block of a cache line's elements each way, or of `cols` columns of out. */
static void turn_block8(char *out, int64_t out_row, const char *in, int64_t in_col,
                        int64_t cols) {
    for (int r = 0; r < 8; r += 2)
        for (int64_t c = 0; c < cols; c += 2)
            turn8(out + r * out_row + c * 8, out_row, in + c * in_col + r * 8, in_col);
}

static void turn_block4(char *out, int64_t out_row, const char *in, int64_t in_col,
                        int64_t cols) {
    for (int r = 0; r < 16; r += 4)
        for (int64_t c = 0; c < cols; c += 4)
            turn4(out + r * out_row + c * 4, out_row, in + c * in_col + r * 4, in_col);
}

static void turn_block16(char *out, int64_t out_row, const char *in, int64_t in_col,
                         int64_t cols) {
    for (int r = 0; r < 4; r++)
        for (int64_t c = 0; c < cols; c++)
            *(pair *)(out + r * out_row + c * 16) =
                *(const pair *)(in + c * in_col + r * 16);
}

/* Rows of out are contiguous and so are columns of in, elements have 4, 8 or 16 bytes. */
static void transpose(const vp__plane *p, int size) {
    const int64_t side = 64 / size, unit = 16 / size;
    for (int64_t r0 = 0; r0 < p->rows; r0 += TILE) {
        int64_t r1 = r0 + TILE < p->rows ? r0 + TILE : p->rows;
        for (int64_t c0 = 0; c0 < p->cols; c0 += TILE) {
            int64_t c1 = c0 + TILE < p->cols ? c0 + TILE : p->cols;
            int64_t rb = r0 + (r1 - r0) / side * side, cb = c0 + (c1 - c0) / unit * unit;
            for (int64_t r = r0; r < rb; r += side)
                for (int64_t c = c0; c < cb; c += side) {
                    const int64_t cols = cb - c < side ? cb - c : side;
                    char *out = p->out + r * p->out_row + c * size;
                    const char *in = p->in + c * p->in_col + r * size;
                    if (size == 16)
                        turn_block16(out, p->out_row, in, p->in_col, cols);
                    else if (size == 8)
                        turn_block8(out, p->out_row, in, p->in_col, cols);
                    else
                        turn_block4(out, p->out_row, in, p->in_col, cols);
                }
            if (cb < c1)
                for (int64_t r = r0; r < rb; r++)
                    vp__move_row(p->out + r * p->out_row + cb * size, size,
                                 p->in + cb * p->in_col + r * size, p->in_col, c1 - cb,
                                 size);
            for (int64_t r = rb; r < r1; r++)
                vp__move_row(p->out + r * p->out_row + c0 * size, size,
                             p->in + c0 * p->in_col + r * size, p->in_col, c1 - c0, size);
        }
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* The plane with rows and columns exchanged: the same elements. */
static vp__plane flipped(const vp__plane *p) {
    return (vp__plane){.out = p->out,
                       .in = p->in,
                       .rows = p->cols,
                       .cols = p->rows,
                       .out_row = p->out_col,
                       .out_col = p->out_row,
                       .in_row = p->in_col,
                       .in_col = p->in_row};
}

/* Moves row by row in tiles of the given size, each tile completely. */
static void move_tiles(const vp__plane *p, int64_t tile_rows, int64_t tile_cols,
                       int size) {
    for (int64_t r0 = 0; r0 < p->rows; r0 += tile_rows) {
        int64_t r1 = r0 + tile_rows < p->rows ? r0 + tile_rows : p->rows;
        for (int64_t c0 = 0; c0 < p->cols; c0 += tile_cols) {
            int64_t n = c0 + tile_cols < p->cols ? tile_cols : p->cols - c0;
            for (int64_t r = r0; r < r1; r++)
                vp__move_row(p->out + r * p->out_row + c0 * p->out_col, p->out_col,
                             p->in + r * p->in_row + c0 * p->in_col, p->in_col, n, size);
        }
    }
}

void vp__move_plane(const vp__plane *p, int size) {
    if (p->cols < SHORT_ROW && p->rows > p->cols &&
        !(p->out_col == size && p->in_col == size && p->cols * size >= 32)) {
        vp__plane f = flipped(p);
        move_tiles(&f, f.rows, SHORT_BLOCK, size);
        return;
    }
    if (magnitude(p->in_row) >= magnitude(p->in_col) || p->rows == 1) {
        move_tiles(p, p->rows, p->cols, size);
        return;
    }
    if (p->out_col == size && p->in_row == size && size >= 4)
        transpose(p, size);
    else
        move_tiles(p, TILE, TILE, size);
}
