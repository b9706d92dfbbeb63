/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing shape. What only changes how elements are addressed edits a leaf in place; the
 * rest copies. Operations that must know dims wait for a late size, and for nothing else.
 */
#include <string.h>

#include "api/build.h"
#include "array/shape.h"
#include "net/library.h"

/* A leaf like e with another addressing; frees e. Keeps the buffer, so that it can still be
 * named as a view. */
static vp__expr *readdress(vp__expr *e, int64_t offset, int ndim, const int64_t *dims,
                           const int64_t *strides, const char *where) {
    vp__expr *r = vp__expr_leaf(e->storage, e->buffer, (vp_dtype)e->dtype, offset, ndim, dims,
                                strides, false, where);
    vp__expr_free(e);
    return r;
}

/* The elements copied into C or column order. */
static vp__expr *copy_leaf(vp__expr *e, bool column_major, const char *where) {
    vp__lib_params p = {.kind = VP__LIB_COPY, .column_major = column_major};
    int64_t dims[VP__MAXDIM];
    int ndim = e->ndim;
    vp_dtype t = (vp_dtype)e->dtype;
    memcpy(dims, e->dims, (size_t)ndim * sizeof(int64_t));
    vp__value v;
    vp__library_issue(&p, t, 1, &e, ndim, dims, "copy", where, &v);
    return vp__value_expr(&v, where);
}

static vp__expr *reshape_leaf(vp__expr *e, int ndim, const int64_t *dims, const char *where) {
    int64_t strides[VP__MAXDIM];
    int size = vp__dtype[e->dtype].size;
    if (e->count == 0) {
        vp__layout_compact(ndim, dims, size, false, strides);
    } else if (!vp__layout_reshape(e->ndim, e->dims, e->strides, ndim, dims, strides)) {
        e = copy_leaf(e, false, where);
        if (e->kind != VP__EXPR_LEAF) return e;
        vp__layout_compact(ndim, dims, size, false, strides);
    }
    return readdress(e, e->offset, ndim, dims, strides, where);
}

vp_expr vp__reshape(const char *where, vp_operand x, vp_shape_t shape) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    vp__error *error = NULL;
    int unknown = -1;
    int64_t known = 1;
    if (shape.ndim < 0 || shape.ndim > VP_MAXDIM)
        error = vp__error_new(VP_ERR_SHAPE, where, "reshape: %d axes; at most %d are possible",
                              shape.ndim, VP_MAXDIM);
    for (int i = 0; i < shape.ndim && !error; i++) {
        if (shape.dims[i] == -1 && unknown < 0) unknown = i;
        else if (shape.dims[i] < 0 || __builtin_mul_overflow(known, shape.dims[i], &known))
            error = vp__error_new(VP_ERR_SHAPE, where,
                                  "reshape: dimension %d is %lld; one may be -1, the others must "
                                  "be counts", i, (long long)shape.dims[i]);
    }
    if (!error && unknown >= 0 && known > 0) shape.dims[unknown] = e->count / known;
    if (!error && vp__shape_count(shape.ndim, shape.dims, 1) != e->count) {
        char a[200], b[200];
        error = vp__error_new(VP_ERR_SHAPE, where,
                              "reshape: an array of shape %s has %lld elements and cannot take "
                              "shape %s",
                              vp__shape_text(a, sizeof a, e->ndim, e->dims),
                              (long long)e->count,
                              vp__shape_text(b, sizeof b, shape.ndim, shape.dims));
    }
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    return vp__give(reshape_leaf(e, shape.ndim, shape.dims, where));
}

vp_expr vp__permute(const char *where, vp_operand x, vp_axes_t axes) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    uint32_t seen;
    vp__error *error = vp__axes_bits(&axes, e->ndim, "permute", where, &seen);
    if (!error && axes.count >= 0 && axes.count != e->ndim)
        error = vp__error_new(VP_ERR_INDEX, where,
                              "permute: %d axes are named, the array has %d", axes.count,
                              e->ndim);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    for (int i = 0; i < e->ndim; i++) {
        int from = axes.count < 0 ? e->ndim - 1 - i : axes.axis[i];
        if (from < 0) from += e->ndim;
        dims[i] = e->dims[from];
        strides[i] = e->strides[from];
    }
    return vp__give(readdress(e, e->offset, e->ndim, dims, strides, where));
}

vp_expr vp__broadcast(const char *where, vp_operand x, vp_shape_t shape) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    int64_t both[VP__MAXDIM], strides[VP__MAXDIM];
    int n = shape.ndim;
    bool ok = n >= e->ndim && n <= VP_MAXDIM;
    if (ok) {
        memcpy(both, shape.dims, (size_t)n * sizeof(int64_t));
        ok = vp__shape_broadcast(&n, both, e->ndim, e->dims) &&
             vp__shape_equal(n, both, shape.ndim, shape.dims) &&
             vp__shape_count(n, both, vp__dtype[e->dtype].size) >= 0;
    }
    if (!ok) {
        char a[200], b[200];
        return vp__give(vp__refuse(
            1, &e, where,
            vp__error_new(VP_ERR_SHAPE, where, "broadcast: shape %s does not broadcast to %s",
                          vp__shape_text(a, sizeof a, e->ndim, e->dims),
                          vp__shape_text(b, sizeof b, shape.ndim < 0 ? 0 : shape.ndim > VP_MAXDIM ? VP_MAXDIM : shape.ndim,
                                         shape.dims))));
    }
    vp__shape_expand_strides(n, both, e->ndim, e->dims, e->strides, strides);
    return vp__give(readdress(e, e->offset, n, both, strides, where));
}

vp_expr vp__squeeze(const char *where, vp_operand x, vp_axes_t axes) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    uint32_t bits;
    vp__error *error = vp__axes_bits(&axes, e->ndim, "squeeze", where, &bits);
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    int n = 0;
    for (int i = 0; i < e->ndim && !error; i++) {
        if (bits >> i & 1 && e->dims[i] == 1) continue;
        if (bits >> i & 1 && axes.count >= 0)
            error = vp__error_new(VP_ERR_SHAPE, where,
                                  "squeeze: axis %d has length %lld, not 1", i,
                                  (long long)e->dims[i]);
        dims[n] = e->dims[i];
        strides[n++] = e->strides[i];
    }
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    return vp__give(readdress(e, e->offset, n, dims, strides, where));
}

/* With a new axis of length 1 before axis `at`. */
static vp__expr *expand_leaf(vp__expr *e, int at, const char *where) {
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    for (int i = 0, k = 0; i <= e->ndim; i++) {
        bool fresh = i == at;
        dims[i] = fresh ? 1 : e->dims[k];
        strides[i] = fresh ? 0 : e->strides[k];
        if (!fresh) k++;
    }
    return readdress(e, e->offset, e->ndim + 1, dims, strides, where);
}

vp_expr vp__expand(const char *where, vp_operand x, int axis) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    vp__error *error = NULL;
    if (e->ndim == VP_MAXDIM)
        error = vp__error_new(VP_ERR_SHAPE, where, "expand: the array has %d axes already",
                              VP_MAXDIM);
    if (!error) error = vp__axis_check(&axis, e->ndim + 1, "expand", where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    return vp__give(expand_leaf(e, axis, where));
}

vp_expr vp__flip(const char *where, vp_operand x, vp_axes_t axes) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    uint32_t bits;
    vp__error *error = vp__axes_bits(&axes, e->ndim, "flip", where, &bits);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM], offset = e->offset;
    for (int i = 0; i < e->ndim; i++) {
        bool turn = bits >> i & 1;
        dims[i] = e->dims[i];
        strides[i] = turn ? -e->strides[i] : e->strides[i];
        if (turn && dims[i] > 0) offset += (dims[i] - 1) * e->strides[i];
    }
    return vp__give(readdress(e, offset, e->ndim, dims, strides, where));
}

/* Spreads new axes of given lengths by stride 0, then copies and merges them: the common
 * half of tile and repeat. before[i]: repeat the whole of axis i; after[i]: each element. */
static vp__expr *repeat_leaf(vp__expr *e, const int64_t *before, const int64_t *after,
                             const char *where) {
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
                                            "the repeated array would be too large"));
    }
    int ndim = e->ndim;
    if (vp__shape_count(ndim, merged, vp__dtype[e->dtype].size) < 0)
        return vp__refuse(1, &e, where,
                          vp__error_new(VP_ERR_SHAPE, where,
                                        "the repeated array would be too large"));
    e = copy_leaf(readdress(e, e->offset, n, dims, strides, where), false, where);
    return e->kind == VP__EXPR_LEAF ? reshape_leaf(e, ndim, merged, where) : e;
}

vp_expr vp__tile(const char *where, vp_operand x, vp_shape_t counts) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    int64_t before[VP__MAXDIM], after[VP__MAXDIM];
    bool ok = counts.ndim >= 0 && counts.ndim <= VP_MAXDIM;
    for (int i = 0; ok && i < counts.ndim; i++) ok = counts.dims[i] >= 0;
    if (!ok)
        return vp__give(vp__refuse(1, &e, where,
                                   vp__error_new(VP_ERR_VALUE, where,
                                                 "tile: the counts must not be negative")));
    while (e->ndim < counts.ndim) e = expand_leaf(e, 0, where);
    for (int i = 0; i < e->ndim; i++) {
        int k = i - (e->ndim - counts.ndim);
        before[i] = k >= 0 ? counts.dims[k] : 1;
        after[i] = 1;
    }
    return vp__give(repeat_leaf(e, before, after, where));
}

vp_expr vp__repeat(const char *where, vp_operand x, int64_t count, int axis) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    vp__error *error = vp__axis_check(&axis, e->ndim, "repeat", where);
    if (!error && count < 0)
        error = vp__error_new(VP_ERR_VALUE, where, "repeat: the count must not be negative");
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    int64_t before[VP__MAXDIM], after[VP__MAXDIM];
    for (int i = 0; i < e->ndim; i++) {
        before[i] = 1;
        after[i] = i == axis ? count : 1;
    }
    return vp__give(repeat_leaf(e, before, after, where));
}

enum { MOST_JOINED = 16 };

vp_expr vp__concatenate(const char *where, int axis, int count, const vp_operand *xs,
                        bool stack) {
    vp__expr *in[MOST_JOINED];
    const char *name = stack ? "stack" : "concatenate";
    if (count < 1 || count > MOST_JOINED)
        return vp__give_error(vp__error_new(VP_ERR_VALUE, where, "%s: joins 1 to %d arrays", name,
                                            MOST_JOINED), where);
    for (int i = 0; i < count; i++) in[i] = vp__operand(xs[i], where);
    vp__expr *poison = vp__first_poison(count, in);
    if (poison) return vp__give(poison);
    vp_dtype t = (vp_dtype)in[0]->dtype;
    bool late = false, columns = true;
    vp__error *error = NULL;
    for (int i = 0; i < count; i++) t = vp__dtype_promote(t, (vp_dtype)in[i]->dtype);
    for (int i = 0; i < count; i++) {
        in[i] = vp__as_leaf(vp__build_cast(in[i], t, where));
        if (stack && in[i]->kind == VP__EXPR_LEAF) {
            in[i] = vp__as_sized_leaf(in[i]);
            int at = axis;
            if (!error) error = vp__axis_check(&at, in[i]->ndim + 1, name, where);
            if (!error) in[i] = expand_leaf(in[i], at, where);
        }
        if (in[i]->ndim != in[0]->ndim && !error)
            error = vp__error_new(VP_ERR_SHAPE, where,
                                  "%s: arrays of %d and %d axes do not join", name, in[0]->ndim,
                                  in[i]->ndim);
        late |= in[i]->late;
        columns = columns && vp__prefers_columns(in[i]);
    }
    poison = vp__first_poison(count, in);
    if (poison) {
        vp__error_release(error);
        return vp__give(poison);
    }
    int64_t dims[VP__MAXDIM];
    int ndim = in[0]->ndim;
    if (!error) error = vp__axis_check(&axis, ndim, name, where);
    for (int i = 0; i < count && !error && !late; i++) {
        if (i == 0) memcpy(dims, in[0]->dims, (size_t)ndim * sizeof(int64_t));
        else dims[axis] += in[i]->dims[axis];
        for (int k = 0; k < ndim && !error; k++) {
            if (k == axis || in[i]->dims[k] == dims[k]) continue;
            char a[200], b[200];
            error = vp__error_new(VP_ERR_SHAPE, where,
                                  "%s: shapes %s and %s differ in axis %d, only axis %d may differ",
                                  name, vp__shape_text(a, sizeof a, ndim, in[0]->dims),
                                  vp__shape_text(b, sizeof b, ndim, in[i]->dims), k, axis);
        }
    }
    if (error) return vp__give(vp__refuse(count, in, where, error));
    vp__lib_params p = {.kind = VP__LIB_CONCATENATE, .axis = axis, .column_major = columns};
    vp__value v;
    vp__library_issue(&p, t, count, in, ndim, late ? NULL : dims, name, where, &v);
    return vp__give(vp__value_expr(&v, where));
}
