/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between any two layouts, with conversion. The nest is put in out's order, so
 * that writes are as sequential as they can be; the inner two dimensions then make a
 * plane that move.c tiles. A conversion goes through blocks that stay in L1: gather,
 * cast, scatter, each step left out where the layout already fits.
 */
#include <string.h>

#include "lib/lib.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"
#include "ops/kernels.h"

enum { BLOCK = 1024, TILE_COLS = 64 };

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Makes the dimension in which `in` is densest the last but one, unless it is last
 * already, so that the inner plane holds whole cache lines of both sides. */
static void pair_dimensions(vp__nest *nest) {
    int last = nest->ndim - 1, best = last;
    for (int i = last; i >= 0; i--)
        if (magnitude(nest->strides[1][i]) < magnitude(nest->strides[1][best]) &&
            nest->strides[1][i] != 0)
            best = i;
    if (best >= last - 1) return;
    int64_t dim = nest->dims[best], s0 = nest->strides[0][best],
            s1 = nest->strides[1][best];
    for (int i = best; i < last - 1; i++) {
        nest->dims[i] = nest->dims[i + 1];
        nest->strides[0][i] = nest->strides[0][i + 1];
        nest->strides[1][i] = nest->strides[1][i + 1];
    }
    nest->dims[last - 1] = dim;
    nest->strides[0][last - 1] = s0;
    nest->strides[1][last - 1] = s1;
}

/* Converts one block of rows that fits the buffers. */
static void convert_block(const vp__plane *p, vp__cast_fn cast, int from, int to) {
    _Alignas(64) char source[BLOCK * 16], result[BLOCK * 16];
    int64_t n = p->cols;
    const char *in = p->in;
    char *out = p->out;
    if (p->in_col != from || (p->rows > 1 && p->in_row != n * from)) {
        vp__plane load = *p;
        load.out = source;
        load.out_col = from;
        load.out_row = n * from;
        vp__move_plane(&load, from);
        in = source;
    }
    bool direct = p->out_col == to && (p->rows == 1 || p->out_row == n * to);
    if (!direct) out = result;
    cast(out, in, p->rows * n);
    if (!direct) {
        vp__plane store = *p;
        store.in = result;
        store.in_col = to;
        store.in_row = n * to;
        vp__move_plane(&store, to);
    }
}

static void convert_plane(const vp__plane *p, vp__cast_fn cast, int from, int to) {
    if (p->in_col == from && p->out_col == to && p->cols >= TILE_COLS) {
        for (int64_t r = 0; r < p->rows; r++)
            cast(p->out + r * p->out_row, p->in + r * p->in_row, p->cols);
        return;
    }
    bool turned = p->rows > 1 && magnitude(p->in_row) < magnitude(p->in_col);
    int64_t cols = turned ? TILE_COLS : BLOCK;
    if (cols > p->cols) cols = p->cols;
    int64_t rows = BLOCK / cols;
    for (int64_t r = 0; r < p->rows; r += rows)
        for (int64_t c = 0; c < p->cols; c += cols) {
            vp__plane block = *p;
            block.out += r * p->out_row + c * p->out_col;
            block.in += r * p->in_row + c * p->in_col;
            block.rows = r + rows < p->rows ? rows : p->rows - r;
            block.cols = c + cols < p->cols ? cols : p->cols - c;
            convert_block(&block, cast, from, to);
        }
}

void vp__lib_copy(const vp__view *out, const vp__view *in, int64_t part, int64_t parts) {
    vp__nest nest;
    vp__nest_init(&nest, out->ndim, out->dims);
    vp__nest_add(&nest, out->data, out->strides);
    vp__nest_add(&nest, in->data, in->strides);
    vp__nest_sort(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;
    if (nest.ndim > 2) pair_dimensions(&nest);

    int to = vp__dtype[out->dtype].size, from = vp__dtype[in->dtype].size;
    int col = nest.ndim - 1, row = nest.ndim - 2;
    vp__plane plane = {.rows = row >= 0 ? nest.dims[row] : 1,
                       .cols = col >= 0 ? nest.dims[col] : 1,
                       .out_row = row >= 0 ? nest.strides[0][row] : 0,
                       .out_col = col >= 0 ? nest.strides[0][col] : to,
                       .in_row = row >= 0 ? nest.strides[1][row] : 0,
                       .in_col = col >= 0 ? nest.strides[1][col] : from};
    vp__walk walk;
    vp__walk_init(&walk, &nest, row > 0 ? row : 0);
    do {
        plane.out = walk.at[0];
        plane.in = walk.at[1];
        if (out->dtype == in->dtype)
            vp__move_plane(&plane, to);
        else
            convert_plane(&plane, vp__kernels_get()->cast[in->dtype][out->dtype], from,
                          to);
    } while (vp__walk_next(&walk));
}
