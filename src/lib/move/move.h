/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving elements between two layouts, without conversion: one row, or a plane of rows.
 * What copies, gathers and matrix products do with memory they cannot use as it is.
 */
#ifndef VP_LIB_MOVE_MOVE_H
#define VP_LIB_MOVE_MOVE_H

#include <stdint.h>

/* n elements of `size` bytes (a power of two up to 16); strides are bytes, any value. */
void vp__move_row(char *out, int64_t out_stride, const char *in, int64_t in_stride,
                  int64_t n, int size);

/* `rows` rows of `cols` elements each, at the same strides throughout. Out is written in
 * some order; when planes overlap or out repeats elements, the result is undefined. */
typedef struct {
    char *out;
    const char *in;
    int64_t rows, cols;
    int64_t out_row, out_col, in_row, in_col; /* strides in bytes */
} vp__plane;

void vp__move_plane(const vp__plane *plane, int size);

#endif
