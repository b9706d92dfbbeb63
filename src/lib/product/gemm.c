/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops around the innermost one, after Goto and van de Geijn, "Anatomy of High-
 * Performance Matrix Multiplication" (2008): a panel of b that the outer caches hold, and
 * blocks of a that L2 holds, both packed in the order in which tiles read them.
 */
#include "lib/product/gemm.h"

#include <string.h>

#include "lib/loops.h"

enum {
    /* Terms that are added in registers. Every instruction set takes as many at a time:
     * bits depend on it. */
    DEPTH = 384,
    A_BYTES = 320 * 1024,  /* of a block of a: less than half of a small L2 */
    B_BYTES = 3200 * 1024, /* of a panel of b, which L3 holds */
    ALIGNMENT = 64,
    MOST_TILE = 8 * 3 * 64 /* bytes of the largest tile */
};

static const vp__gemm_loop *loop_of(vp_dtype t) {
    if (t != VP_F32 && t != VP_F64) return NULL;
    const vp__gemm_loop *l = &vp__loops_get()->gemm[t == VP_F64];
    return l->tile ? l : NULL;
}

bool vp__gemm_takes(vp_dtype t) { return loop_of(t) != NULL; }

void vp__gemm_tile(vp_dtype t, int64_t *rows, int64_t *cols) {
    const vp__gemm_loop *l = loop_of(t);
    *rows = l->rows;
    *cols = l->cols;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* Columns of b that are packed at a time, at most: whole tiles. */
static int64_t most_cols(const vp__gemm_loop *l, int64_t depth, int size) {
    return B_BYTES / (min64(depth, DEPTH) * size) / l->cols * l->cols;
}

/* About as many each time. */
static int64_t panel_cols(const vp__gemm_loop *l, int64_t cols, int64_t depth, int size) {
    const int64_t most = most_cols(l, depth, size), panels = (cols + most - 1) / most;
    return round_up((cols + panels - 1) / panels, l->cols);
}

static int64_t block_rows(const vp__gemm_loop *l, int64_t depth, int size) {
    return A_BYTES / (min64(depth, DEPTH) * size) / l->rows * l->rows;
}

void vp__gemm_scratch(int64_t cols, int64_t depth, vp_dtype t, size_t bytes[2]) {
    const vp__gemm_loop *l = loop_of(t);
    const int size = vp__dtype[t].size;
    const int64_t term = min64(depth, DEPTH) * size;
    const int64_t width = min64(round_up(cols, l->cols), most_cols(l, depth, size));
    bytes[0] = (size_t)(block_rows(l, depth, size) * term) + ALIGNMENT;
    bytes[1] = (size_t)(width * term) + ALIGNMENT;
}

static char *aligned(void *p) {
    return (char *)(((uintptr_t)p + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

/* Brings x, some rows of a or (turned) some columns of b, into strips of `width` of them,
 * term by term; what the last strip has not is zero. */
static void pack(char *to, vp__matrix x, int64_t width, int size) {
    const int64_t strip = width * x.cols * size;
    for (int64_t r = 0; r < x.rows; r += width, to += strip) {
        const int64_t rows = min64(width, x.rows - r);
        if (rows < width) memset(to, 0, (size_t)strip);
        const vp__matrix from = vp__matrix_part(x, r, rows, 0, x.cols);
        const vp__matrix turned = {to, x.cols, rows, width * size, size};
        vp__matrix_copy(turned, vp__matrix_turned(from), size);
    }
}

/* One tile, through a copy where it is not whole or out's rows are not contiguous. */
static void run_tile(const vp__gemm_loop *l, vp__matrix out, const char *a, const char *b,
                     int64_t depth, bool first, int size) {
    const int64_t lanes = l->lanes;
    const int vectors = (int)((out.cols + lanes - 1) / lanes);
    if (out.rows == l->rows && out.cols == vectors * lanes && out.col == size) {
        l->tile(out.data, out.row, a, b, depth, vectors, first);
        return;
    }
    _Alignas(ALIGNMENT) char room[MOST_TILE];
    const vp__matrix copy = {room, out.rows, out.cols, l->cols * size, size};
    if (!first) {
        memset(room, 0, sizeof room); /* what lies around it is computed as well */
        vp__matrix_copy(copy, out, size);
    }
    l->tile(room, copy.row, a, b, depth, vectors, first);
    vp__matrix_copy(out, copy, size);
}

static void run_block(const vp__gemm_loop *l, vp__matrix out, const char *a,
                      const char *b, int64_t depth, bool first, int size) {
    for (int64_t c = 0; c < out.cols; c += l->cols)
        for (int64_t r = 0; r < out.rows; r += l->rows) {
            const vp__matrix tile = vp__matrix_part(out, r, min64(l->rows, out.rows - r),
                                                    c, min64(l->cols, out.cols - c));
            run_tile(l, tile, a + r * depth * size, b + c * depth * size, depth, first,
                     size);
        }
}

void vp__gemm(vp__matrix out, vp__matrix a, vp__matrix b, vp_dtype t,
              void *const scratch[2]) {
    const vp__gemm_loop *l = loop_of(t);
    const int size = vp__dtype[t].size;
    const int64_t width = panel_cols(l, out.cols, a.cols, size);
    const int64_t height = block_rows(l, a.cols, size);
    char *packed_a = aligned(scratch[0]), *packed_b = aligned(scratch[1]);
    for (int64_t c = 0; c < out.cols; c += width)
        for (int64_t k = 0; k < a.cols; k += DEPTH) {
            const int64_t cols = min64(width, out.cols - c);
            const int64_t depth = min64(DEPTH, a.cols - k);
            const vp__matrix panel = vp__matrix_part(b, k, depth, c, cols);
            pack(packed_b, vp__matrix_turned(panel), l->cols, size);
            for (int64_t r = 0; r < out.rows; r += height) {
                const int64_t rows = min64(height, out.rows - r);
                pack(packed_a, vp__matrix_part(a, r, rows, k, depth), l->rows, size);
                run_block(l, vp__matrix_part(out, r, rows, c, cols), packed_a, packed_b,
                          depth, k == 0, size);
            }
        }
}
