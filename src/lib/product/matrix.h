/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix in memory, as products see it.
 */
#ifndef VP_LIB_PRODUCT_MATRIX_H
#define VP_LIB_PRODUCT_MATRIX_H

#include <stdint.h>

#include "lib/move/move.h"

typedef struct {
    char *data;
    int64_t rows, cols;
    int64_t row, col; /* strides in bytes */
} vp__matrix;

static inline vp__matrix vp__matrix_turned(vp__matrix x) {
    return (vp__matrix){x.data, x.cols, x.rows, x.col, x.row};
}

static inline vp__matrix vp__matrix_part(vp__matrix x, int64_t r, int64_t rows, int64_t c,
                                         int64_t cols) {
    char *data = x.data;
    if (data) data += r * x.row + c * x.col; /* an empty matrix may have no memory */
    return (vp__matrix){data, rows, cols, x.row, x.col};
}

static inline void vp__matrix_copy(vp__matrix to, vp__matrix from, int size) {
    vp__plane plane = {.out = to.data,
                       .in = from.data,
                       .rows = to.rows,
                       .cols = to.cols,
                       .out_row = to.row,
                       .out_col = to.col,
                       .in_row = from.row,
                       .in_col = from.col};
    vp__move_plane(&plane, size);
}

#endif
