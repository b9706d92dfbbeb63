/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes and layouts: counting, broadcasting, choosing a result's storage order, and the
 * view operations that change only how elements are addressed. Pure functions on dims and
 * byte strides; they know no arrays.
 */
#ifndef VP_ARRAY_SHAPE_H
#define VP_ARRAY_SHAPE_H

#include <stdbool.h>

#include "array/view.h"

/* The count of a shape or of axes whose numbers the user gave as NULL. */
enum { VP__FROM_NULL = INT32_MIN };

/* The number of elements, or -1 when it (or its bytes) would not fit 63 bits. */
int64_t vp__shape_count(int ndim, const int64_t *dims, int element_size);

bool vp__shape_equal(int na, const int64_t *a, int nb, const int64_t *b);

/* How many leading axes, all of length 1, a value has beyond those it is stored into, where
 * they are of no account; 0 if it has others there, or none. */
int vp__shape_surplus(int ndim, const int64_t *dims, int target_ndim);

/* Writes "(3, 4)" into text, shortened with "…" when it does not fit. */
const char *vp__shape_text(char *text, size_t size, int ndim, const int64_t *dims);

/* Folds b into the broadcast shape (*na, a); a has room for VP__MAXDIM. False when the two
 * do not broadcast. */
bool vp__shape_broadcast(int *na, int64_t *a, int nb, const int64_t *b);

/* Strides of an operand seen as part of a larger shape: aligned at the last axis, zero
 * where it is broadcast. */
void vp__shape_expand_strides(int ndim, const int64_t *dims, int n,
                              const int64_t *own_dims, const int64_t *own_strides,
                              int64_t *strides);

/* Compact strides in C order or, when column_major, in Fortran order. */
void vp__layout_compact(int ndim, const int64_t *dims, int element_size,
                        bool column_major, int64_t *strides);

/* Compact strides whose axis order follows the operands', as NumPy's order 'K': an axis comes
 * inside a later one only when every operand that tells the two apart has it so.
 * operand_strides[i] has ndim entries. */
void vp__layout_like(int ndim, const int64_t *dims, int element_size, int noperands,
                     const int64_t *const *operand_strides, int64_t *strides);

/* Whether the elements fill one block of memory without gaps in some axis order, that is,
 * whether address order enumerates every element exactly once at unit distance. */
bool vp__layout_is_dense(int ndim, const int64_t *dims, const int64_t *strides,
                         int element_size);
bool vp__layout_is_c(int ndim, const int64_t *dims, const int64_t *strides,
                     int element_size);

/* New strides for the same elements in C order under another shape; false when that needs
 * a copy. Counts must agree. */
bool vp__layout_reshape(int ndim, const int64_t *dims, const int64_t *strides,
                        int new_ndim, const int64_t *new_dims, int64_t *new_strides);

#endif
