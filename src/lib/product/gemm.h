/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of large matrices in fused multiply-adds, where the instruction set has them.
 * An element's bits depend on its row, its column and the depth alone: not on where it lies
 * in `out`, and so not on how a product is cut. That is what this is for. A BLAS does not
 * promise it, and has to be given the same pieces whatever the number of cores: large ones,
 * or it spends its time on bringing operands into order.
 */
#ifndef VP_LIB_PRODUCT_GEMM_H
#define VP_LIB_PRODUCT_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "array/dtype.h"
#include "lib/product/matrix.h"

/* Whether there are loops for the type. */
bool vp__gemm_takes(vp_dtype t);

/* How a product is best cut: rows and columns of a tile, whose multiples pieces should be. */
void vp__gemm_tile(vp_dtype t, int64_t *rows, int64_t *cols);

/* out = a @ b, of any strides, with a depth of at least 1. scratch is for what is packed of
 * either: two, because threads have blocks of memory of their own up to half a megabyte, and
 * each of two is mostly below that. */
void vp__gemm(vp__matrix out, vp__matrix a, vp__matrix b, vp_dtype t,
              void *const scratch[2]);

/* For out of so many columns or fewer. */
void vp__gemm_scratch(int64_t cols, int64_t depth, vp_dtype t, size_t bytes[2]);

#endif
