/* SPDX-License-Identifier: Apache-2.0
 *
 * View operations: those that only change how elements are addressed. One function applies
 * any of them to dims and strides, at issue when those are known and later when they were
 * not. Errors carry bare text; vp__error_wrap adds the instruction and the user's line.
 */
#ifndef VP_ARRAY_VIEWOP_H
#define VP_ARRAY_VIEWOP_H

#include "array/view.h"
#include "base/error.h"

typedef enum {
    VP__VIEW_SELECT, /* integers, ranges, whole and new axes, an ellipsis */
    VP__VIEW_RESHAPE,
    VP__VIEW_PERMUTE,
    VP__VIEW_BROADCAST,
    VP__VIEW_SQUEEZE,
    VP__VIEW_EXPAND,
    VP__VIEW_FLIP,
} vp__view_kind;

/* Items of a selection: one for each axis, as many new axes, and an ellipsis. */
enum { VP__SELECTED = 2 * VP__MAXDIM + 1 };

/* Large: set what there is of it, and do not clear or copy it without need. */
typedef struct {
    vp__view_kind kind;
    const char *name; /* of the instruction, for errors */
    int count;        /* items, axes or dims */
    union {
        vp_sel item[VP__SELECTED];
        int64_t dims[VP__MAXDIM];
        int axis[VP__MAXDIM];
    } u;
} vp__viewop;

typedef struct {
    int ndim;
    int64_t offset;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
} vp__layout;

/* How many axes the result has, from those of the operand; -1 when that depends on dims
 * (a squeeze of whatever has length 1), or an error (*error set). */
int vp__viewop_ndim(const vp__viewop *op, int ndim, vp__error **error);

/* Applies op to a layout in place. *copy is set, and the layout is that of a compact copy,
 * when a reshape cannot be expressed by strides. */
vp__error *vp__viewop_apply(const vp__viewop *op, vp__layout *l, int element_size,
                            bool *copy);

/* A selection of integers, ranges, whole and new axes and an ellipsis alone, applied to a
 * layout of ndim axes that is not in *out. */
vp__error *vp__select_apply(const vp_sel *item, int count, int ndim, int64_t offset,
                            const int64_t *dims, const int64_t *strides, vp__layout *out);

/* Python's clipping of a range against an axis: the number of elements and the first. */
int64_t vp__range_clip(const vp_sel *range, int64_t dim, int64_t *start);

#endif
