/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing shape. What only changes how elements are addressed makes another leaf of the
 * same storage; an operand whose size is not known yet is copied through the same view
 * operation when it is. Only roll, tile, repeat and a squeeze of unnamed axes wait for a
 * size.
 */
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/shape.h"
#include "array/viewop.h"
#include "issue/roll.h"

/* A leaf like e with another addressing; frees e. Keeps the buffer, so that it can still be
 * named as a view. */
static vp__expr *readdress(vp__expr *e, int64_t offset, int ndim, const int64_t *dims,
                           const int64_t *strides, const char *where) {
    vp__expr *r = vp__expr_leaf(e->storage, e->buffer, (vp_dtype)e->dtype, offset, ndim,
                                dims, strides, false, where);
    vp__expr_free(e);
    return r;
}

/* The elements copied into C or column order. */
static vp__expr *copy_leaf(vp__expr *e, bool column_major, const char *where) {
    const vp__lib_params p = {.kind = VP__LIB_copy,
                              .order = column_major ? VP__ORDER_F : VP__ORDER_C};
    return vp__build_library(&p, (vp_dtype)e->dtype, 1, &e, e->ndim, "copy", where);
}

/* A view operation on an expression, which is consumed. */
static vp__expr *view_expr(vp__expr *e, const vp__viewop *op, const char *where) {
    const char *name = op->name;
    if (e->kind != VP__EXPR_VIEW) e = vp__as_leaf(e);
    if (e->kind == VP__EXPR_POISON) return e;
    vp__error *error;
    int ndim = vp__viewop_ndim(op, e->ndim, &error);
    if (error) return vp__refuse(1, &e, where, vp__error_wrap(error, where, name));
    /* A view of a named array may yet be named itself: decided when it is used. */
    bool named = e->kind == VP__EXPR_VIEW || e->buffer;
    if (e->late && ndim >= 0 && named) return vp__expr_view(e, op, ndim, where);
    if (e->late && ndim >= 0) {
        const vp__lib_params p = {.kind = VP__LIB_view, .view = op};
        return vp__build_library(&p, (vp_dtype)e->dtype, 1, &e, ndim, name, where);
    }
    e = vp__as_sized_leaf(e);
    if (e->kind != VP__EXPR_LEAF) return e;
    vp__layout l;
    l.ndim = e->ndim;
    l.offset = e->offset;
    memcpy(l.dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
    memcpy(l.strides, e->strides, (size_t)e->ndim * sizeof(int64_t));
    bool copy;
    error = vp__viewop_apply(op, &l, vp__dtype[e->dtype].size, &copy);
    if (error) return vp__refuse(1, &e, where, vp__error_wrap(error, where, name));
    if (copy) {
        e = copy_leaf(e, false, where);
        if (e->kind != VP__EXPR_LEAF) return e;
    }
    return readdress(e, l.offset, l.ndim, l.dims, l.strides, where);
}

vp__expr *vp__select_expr(vp__expr *e, const vp__viewop *op, const char *where) {
    return view_expr(e, op, where);
}

static vp_expr view_operand(vp_operand x, const vp__viewop *op, const char *where) {
    return vp__give(view_expr(vp__operand_view(x, where), op, where));
}

/* All but what it is applied with. */
static void begin_op(vp__viewop *op, vp__view_kind kind, const char *name, int count) {
    op->kind = kind;
    op->name = name;
    op->count = count;
}

static vp_expr view_by_shape(vp_operand x, vp__view_kind kind, const char *name,
                             const vp_shape_t *shape, const char *where) {
    vp__viewop op;
    begin_op(&op, kind, name, shape->ndim);
    if (shape->ndim > 0 && shape->ndim <= VP_MAXDIM)
        memcpy(op.u.dims, shape->dims, (size_t)shape->ndim * sizeof(int64_t));
    return view_operand(x, &op, where);
}

static vp_expr view_by_axes(vp_operand x, vp__view_kind kind, const char *name,
                            const vp_axes_t *axes, const char *where) {
    vp__viewop op;
    begin_op(&op, kind, name, axes->count);
    vp__expr *e = vp__operand_view(x, where);
    vp__error *error =
        e->kind == VP__EXPR_POISON ? NULL : vp__axes_check(axes, name, where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    for (int i = 0; i < axes->count; i++) op.u.axis[i] = axes->axis[i];
    return vp__give(view_expr(e, &op, where));
}

vp_expr vp__reshape(const char *where, vp_operand x, vp_shape_t shape) {
    VP__CALL;
    return view_by_shape(x, VP__VIEW_RESHAPE, "reshape", &shape, where);
}

vp_expr vp__broadcast(const char *where, vp_operand x, vp_shape_t shape) {
    VP__CALL;
    return view_by_shape(x, VP__VIEW_BROADCAST, "broadcast", &shape, where);
}

vp_expr vp__permute(const char *where, vp_operand x, vp_axes_t axes) {
    VP__CALL;
    return view_by_axes(x, VP__VIEW_PERMUTE, "permute", &axes, where);
}

vp_expr vp__squeeze(const char *where, vp_operand x, vp_axes_t axes) {
    VP__CALL;
    return view_by_axes(x, VP__VIEW_SQUEEZE, "squeeze", &axes, where);
}

vp_expr vp__flip(const char *where, vp_operand x, vp_axes_t axes) {
    VP__CALL;
    return view_by_axes(x, VP__VIEW_FLIP, "flip", &axes, where);
}

static vp__expr *expand_expr(vp__expr *e, int axis, const char *name, const char *where) {
    vp__viewop op;
    begin_op(&op, VP__VIEW_EXPAND, name, 1);
    op.u.axis[0] = axis;
    return view_expr(e, &op, where);
}

vp_expr vp__expand(const char *where, vp_operand x, int axis) {
    VP__CALL;
    return vp__give(expand_expr(vp__operand_view(x, where), axis, "expand", where));
}

/* Spreads new axes of given lengths by stride 0, then copies and merges them: the common
 * half of tile and repeat. before[i]: repeat the whole of axis i; after[i]: each element.
 * When there are too many new axes, the last ones come first, in a turn of their own. */
static vp__expr *repeat_leaf(vp__expr *e, int64_t *before, int64_t *after,
                             const char *name, const char *where) {
    int spread = e->ndim;
    for (int i = 0; i < e->ndim; i++) spread += (before[i] != 1) + (after[i] != 1);
    if (spread > VP__MAXDIM && e->ndim < VP__MAXDIM) {
        int64_t own_before[VP__MAXDIM], own_after[VP__MAXDIM];
        int left = VP__MAXDIM - e->ndim;
        for (int i = e->ndim - 1; i >= 0; i--) {
            own_before[i] = own_after[i] = 1;
            if (before[i] != 1 && left > 0) {
                own_before[i] = before[i];
                before[i] = 1;
                left--;
            }
            if (after[i] != 1 && left > 0) {
                own_after[i] = after[i];
                after[i] = 1;
                left--;
            }
        }
        e = repeat_leaf(e, own_before, own_after, name, where);
        return e->kind == VP__EXPR_LEAF ? repeat_leaf(e, before, after, name, where) : e;
    }
    int64_t dims[VP__MAXDIM * 3], strides[VP__MAXDIM * 3], merged[VP__MAXDIM];
    int n = 0;
    for (int i = 0; i < e->ndim; i++) {
        merged[i] = e->dims[i];
        if (before[i] != 1) {
            dims[n] = before[i];
            strides[n++] = 0;
        }
        dims[n] = e->dims[i];
        strides[n++] = e->strides[i];
        if (after[i] != 1) {
            dims[n] = after[i];
            strides[n++] = 0;
        }
        if (__builtin_mul_overflow(merged[i], before[i], &merged[i]) ||
            __builtin_mul_overflow(merged[i], after[i], &merged[i]) || n > VP__MAXDIM)
            return vp__refuse(1, &e, where,
                              vp__error_new(VP_ERR_SHAPE, where,
                                            "%s: the result would be too large", name));
    }
    int ndim = e->ndim;
    if (vp__shape_count(ndim, merged, vp__dtype[e->dtype].size) < 0)
        return vp__refuse(1, &e, where,
                          vp__error_new(VP_ERR_SHAPE, where,
                                        "%s: the result would be too large", name));
    e = copy_leaf(readdress(e, e->offset, n, dims, strides, where), false, where);
    vp__viewop op;
    begin_op(&op, VP__VIEW_RESHAPE, name, ndim);
    memcpy(op.u.dims, merged, (size_t)ndim * sizeof(int64_t));
    return view_expr(e, &op, where);
}

vp_expr vp__tile(const char *where, vp_operand x, vp_shape_t counts) {
    VP__CALL;
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    int64_t before[VP__MAXDIM], after[VP__MAXDIM];
    bool ok = counts.ndim >= 0 && counts.ndim <= VP_MAXDIM;
    for (int i = 0; ok && i < counts.ndim; i++) ok = counts.dims[i] >= 0;
    if (!ok)
        return vp__give(vp__refuse(
            1, &e, where,
            vp__error_new(VP_ERR_VALUE, where, "tile: the counts %s",
                          counts.ndim == VP__FROM_NULL ? "are NULL"
                          : counts.ndim > VP_MAXDIM    ? "are more than 32"
                                                       : "must not be negative")));
    while (e->kind == VP__EXPR_LEAF && e->ndim < counts.ndim)
        e = expand_expr(e, 0, "tile", where);
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    for (int i = 0; i < e->ndim; i++) {
        int k = i - (e->ndim - counts.ndim);
        before[i] = k >= 0 ? counts.dims[k] : 1;
        after[i] = 1;
    }
    return vp__give(repeat_leaf(e, before, after, "tile", where));
}

vp_expr vp__repeat(const char *where, vp_operand x, int64_t count, int axis) {
    VP__CALL;
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    vp__error *error = vp__axis_check(&axis, e->ndim, "repeat", where);
    if (!error && count < 0)
        error =
            vp__error_new(VP_ERR_VALUE, where, "repeat: the count must not be negative");
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    int64_t before[VP__MAXDIM], after[VP__MAXDIM];
    for (int i = 0; i < e->ndim; i++) {
        before[i] = 1;
        after[i] = i == axis ? count : 1;
    }
    return vp__give(repeat_leaf(e, before, after, "repeat", where));
}

vp_expr vp__roll(const char *where, vp_operand x, int64_t shift, int axis) {
    VP__CALL;
    vp__expr *e = vp__operand(x, where);
    if (e->kind != VP__EXPR_ROLL) e = vp__as_sized_leaf(e);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__error *error = vp__axis_check(&axis, e->ndim, "roll", where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    if (!vp__roll_has_room(e, axis)) e = vp__as_leaf(e);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    /* Also where nothing moves, the result is a value and no view. */
    vp__expr_drop_buffer(e);
    return vp__give(vp__roll_leaf(e, axis, shift, where));
}

enum { MOST_JOINED = VP__LIBRARY_OPERANDS };

/* What keeps two arrays from being joined whatever the axis; along a new one, all their dims
 * must be the same. */
static vp__error *check_joined(const vp__expr *x, const vp__expr *y, bool stack,
                               const char *name, const char *where) {
    if (x->kind == VP__EXPR_POISON || y->kind == VP__EXPR_POISON) return NULL;
    const bool late = x->late || y->late;
    if (late && x->ndim != y->ndim)
        return vp__error_new(VP_ERR_SHAPE, where,
                             "%s: arrays of %d and %d axes do not join", name, x->ndim,
                             y->ndim);
    const bool same = late || vp__shape_equal(x->ndim, x->dims, y->ndim, y->dims);
    if (same || (x->ndim == y->ndim && !stack)) return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_SHAPE, where,
                         "%s: arrays of shapes %s and %s do not join", name,
                         vp__shape_text(a, sizeof a, x->ndim, x->dims),
                         vp__shape_text(b, sizeof b, y->ndim, y->dims));
}

vp_expr vp__concatenate(const char *where, int axis, int count, const vp_operand *xs,
                        bool stack) {
    VP__CALL;
    vp__expr *in[MOST_JOINED];
    const char *name = stack ? "stack" : "concatenate";
    if (count < 1 || count > MOST_JOINED || !xs)
        return vp__give_error(vp__error_new(VP_ERR_VALUE, where,
                                            "%s: joins 1 to %d arrays", name,
                                            MOST_JOINED),
                              where);
    for (int i = 0; i < count; i++) in[i] = vp__operand(xs[i], where);
    vp__expr *poison = vp__first_poison(count, in);
    if (poison) return vp__give(poison);
    vp_dtype types[MOST_JOINED];
    vp__error *error = NULL;
    for (int i = 0; i < count; i++) types[i] = (vp_dtype)in[i]->dtype;
    const vp_dtype t = vp__common_type(count, types);
    for (int i = 0; i < count; i++) {
        in[i] = vp__as_leaf(vp__build_cast(in[i], t, name, where));
        if (!error) error = check_joined(in[0], in[i], stack, name, where);
    }
    /* A mistake in the axis is one failure, however many arrays meet it. */
    for (int i = 0; i < count && stack && !error; i++) {
        in[i] = expand_expr(in[i], axis, name, where);
        if (in[i]->kind == VP__EXPR_POISON) break;
    }
    poison = vp__first_poison(count, in);
    if (poison) {
        vp__error_release(error);
        return vp__give(poison);
    }
    const int ndim = in[0]->ndim;
    if (!error) error = vp__axis_check(&axis, ndim, name, where);
    if (error) return vp__give(vp__refuse(count, in, where, error));
    const vp__lib_params p = {
        .kind = VP__LIB_concatenate, .order = VP__ORDER_KEEP, .axis = axis};
    return vp__give(vp__build_library(&p, t, count, in, ndim, name, where));
}
