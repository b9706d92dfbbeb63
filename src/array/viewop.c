/* SPDX-License-Identifier: Apache-2.0 */
#include "array/viewop.h"

#include <string.h>

#include "array/shape.h"

int64_t vp__range_clip(const vp_sel *r, int64_t dim, int64_t *start) {
    int64_t step = r->step, low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    int64_t from = r->has_start ? r->start : step < 0 ? high : low;
    int64_t to = r->has_stop ? r->stop : step < 0 ? low : high;
    if (r->has_start && from < 0) from += dim;
    if (r->has_stop && to < 0) to += dim;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    *start = from;
    if (step > 0) return to > from ? (to - from - 1) / step + 1 : 0;
    /* Written so that the most negative step does not overflow. */
    return from > to ? (int64_t)((uint64_t)(from - to - 1) / (0 - (uint64_t)step)) + 1
                     : 0;
}

static int uses_axis(const vp_sel *s) {
    return s->kind != VP__SEL_NEWAXIS && s->kind != VP__SEL_ELLIPSIS;
}

static vp__error *too_many_axes(void) {
    return vp__error_new(VP_ERR_SHAPE, NULL, "more than %d axes", VP__MAXDIM);
}

static vp__error *bad_axis(int axis, int ndim) {
    return vp__error_new(VP_ERR_INDEX, NULL,
                         "axis %d is out of bounds for an array of %d axes", axis, ndim);
}

/* Axis numbers with negative ones resolved; bits of those named. */
static vp__error *axis_bits(const vp__viewop *op, int ndim, uint32_t *bits) {
    *bits = 0;
    for (int i = 0; i < op->count; i++) {
        int a = op->u.axis[i] < 0 ? op->u.axis[i] + ndim : op->u.axis[i];
        if (a < 0 || a >= ndim) return bad_axis(op->u.axis[i], ndim);
        if (*bits >> a & 1)
            return vp__error_new(VP_ERR_INDEX, NULL, "axis %d is named twice", a);
        *bits |= 1u << a;
    }
    return NULL;
}

/* How many axes a selection leaves; an error when it is not one of this many. */
static vp__error *check_select(const vp_sel *item, int count, int ndim, int *result) {
    int used = 0, gone = 0, fresh = 0, ellipses = 0;
    for (int i = 0; i < count; i++) {
        const vp_sel *s = &item[i];
        used += uses_axis(s);
        gone += s->kind == VP__SEL_INDEX;
        fresh += s->kind == VP__SEL_NEWAXIS;
        ellipses += s->kind == VP__SEL_ELLIPSIS;
        if (s->kind == VP__SEL_RANGE && s->step == 0)
            return vp__error_new(VP_ERR_VALUE, NULL, "a range's step cannot be 0");
    }
    *result = ndim - gone + fresh;
    if (used > ndim)
        return vp__error_new(VP_ERR_INDEX, NULL, "%d indices for an array of %d axes",
                             used, ndim);
    if (ellipses > 1)
        return vp__error_new(VP_ERR_INDEX, NULL, "a selection has at most one ellipsis");
    return *result > VP__MAXDIM ? too_many_axes() : NULL;
}

int vp__viewop_ndim(const vp__viewop *op, int ndim, vp__error **error) {
    *error = NULL;
    uint32_t bits;
    int selected = ndim;
    if (op->count == VP__FROM_NULL) {
        const bool shape = op->kind == VP__VIEW_RESHAPE || op->kind == VP__VIEW_BROADCAST;
        *error = vp__error_new(shape ? VP_ERR_SHAPE : VP_ERR_INDEX, NULL,
                               "the %s are NULL", shape ? "shape's dims" : "axes");
        return ndim;
    }
    switch (op->kind) {
    case VP__VIEW_SELECT:
        *error = check_select(op->u.item, op->count, ndim, &selected);
        return selected;
    case VP__VIEW_RESHAPE:
    case VP__VIEW_BROADCAST:
        if (op->count < 0 || op->count > VP__MAXDIM) *error = too_many_axes();
        return op->count;
    case VP__VIEW_SQUEEZE:
        if (op->count < 0) return -1; /* whatever has length 1 */
        *error = axis_bits(op, ndim, &bits);
        return ndim - op->count;
    case VP__VIEW_EXPAND:
        if (ndim == VP__MAXDIM)
            *error = too_many_axes();
        else if (op->u.axis[0] < -ndim - 1 || op->u.axis[0] > ndim)
            *error = bad_axis(op->u.axis[0], ndim + 1);
        return ndim + 1;
    case VP__VIEW_PERMUTE:
        if (op->count >= 0 && op->count != ndim)
            *error =
                vp__error_new(VP_ERR_INDEX, NULL, "%d axes are named, the array has %d",
                              op->count, ndim);
        else if (op->count >= 0)
            *error = axis_bits(op, ndim, &bits);
        return ndim;
    case VP__VIEW_FLIP:
        if (op->count >= 0) *error = axis_bits(op, ndim, &bits);
        return ndim;
    }
    return ndim;
}

static void put_axis(vp__layout *out, int64_t dim, int64_t stride) {
    out->dims[out->ndim] = dim;
    out->strides[out->ndim++] = stride;
}

static void take_axis(vp__layout *out, const vp__layout *in, int from) {
    put_axis(out, in->dims[from], in->strides[from]);
}

/* What is wrong with a selection that could not be applied: its form, or else the index that
 * item `at` is for an axis. */
__attribute__((noinline, cold)) static vp__error *no_selection(const vp_sel *item,
                                                               int count, int ndim,
                                                               const int64_t *dims,
                                                               int at, int axis) {
    int selected;
    vp__error *error = check_select(item, count, ndim, &selected);
    if (error) return error;
    return vp__error_new(VP_ERR_INDEX, NULL,
                         "index %lld is out of bounds for axis %d with size %lld",
                         (long long)item[at].start, axis, (long long)dims[axis]);
}

/* How many axes an ellipsis stands for, which item `at` is. */
static int ellipsis_axes(const vp_sel *item, int count, int ndim, int at, int before) {
    int after = 0;
    for (int i = at + 1; i < count; i++) after += uses_axis(&item[i]);
    return ndim - before - after;
}

vp__error *vp__select_apply(const vp_sel *item, int count, int ndim, int64_t offset,
                            const int64_t *dims, const int64_t *strides, vp__layout *l) {
    int from = 0, i = 0, selected;
    bool ellipsis = false;
    if (__builtin_expect(ndim + count > VP__MAXDIM,
                         0)) { /* it might have too many axes */
        vp__error *error = check_select(item, count, ndim, &selected);
        if (error) return error;
    }
    l->ndim = 0;
    for (; i < count; i++) {
        const vp_sel *s = &item[i];
        if (uses_axis(s) && from >= ndim) goto no;
        switch (s->kind) {
        case VP__SEL_INDEX: {
            int64_t dim = dims[from], k = s->start < 0 ? s->start + dim : s->start;
            if (k < 0 || k >= dim) goto no;
            offset += k * strides[from++];
            break;
        }
        case VP__SEL_RANGE: {
            if (s->step == 0) goto no;
            int64_t start, length = vp__range_clip(s, dims[from], &start);
            /* With at most one element the step is of no account, and could overflow. */
            put_axis(l, length, length > 1 ? strides[from] * s->step : strides[from]);
            if (length > 0) offset += start * strides[from];
            from++;
            break;
        }
        case VP__SEL_ALL:
        case VP__SEL_ARRAY:
            put_axis(l, dims[from], strides[from]);
            from++;
            break;
        case VP__SEL_NEWAXIS: put_axis(l, 1, 0); break;
        case VP__SEL_ELLIPSIS:
            if (ellipsis) goto no;
            ellipsis = true;
            for (int k = ellipsis_axes(item, count, ndim, i, from); k > 0; k--, from++)
                put_axis(l, dims[from], strides[from]);
            break;
        }
    }
    for (; from < ndim; from++) put_axis(l, dims[from], strides[from]);
    l->offset = offset;
    return NULL;
no:
    return no_selection(item, count, ndim, dims, i, from);
}

static vp__error *apply_reshape(const vp__viewop *op, vp__layout *l, const vp__layout *in,
                                int size, bool *copy) {
    int unknown = -1;
    int64_t known = 1, count = vp__shape_count(in->ndim, in->dims, 1);
    l->ndim = op->count;
    memcpy(l->dims, op->u.dims, (size_t)op->count * sizeof(int64_t));
    for (int i = 0; i < op->count; i++) {
        if (l->dims[i] == -1 && unknown < 0)
            unknown = i;
        else if (l->dims[i] < 0 || __builtin_mul_overflow(known, l->dims[i], &known))
            return vp__error_new(
                VP_ERR_SHAPE, NULL,
                "dimension %d is %lld; one may be -1, the others must be counts", i,
                (long long)l->dims[i]);
    }
    if (unknown >= 0) l->dims[unknown] = known > 0 ? count / known : 0;
    if (vp__shape_count(l->ndim, l->dims, 1) != count || (unknown >= 0 && known == 0)) {
        char a[200], b[200];
        return vp__error_new(
            VP_ERR_SHAPE, NULL,
            "an array of shape %s has %lld elements and cannot take shape %s",
            vp__shape_text(a, sizeof a, in->ndim, in->dims), (long long)count,
            vp__shape_text(b, sizeof b, op->count, op->u.dims));
    }
    if (count == 0) {
        vp__layout_compact(l->ndim, l->dims, size, false, l->strides);
    } else if (!vp__layout_reshape(in->ndim, in->dims, in->strides, l->ndim, l->dims,
                                   l->strides)) {
        *copy = true;
        l->offset = 0;
        vp__layout_compact(l->ndim, l->dims, size, false, l->strides);
    }
    return NULL;
}

static vp__error *apply_broadcast(const vp__viewop *op, vp__layout *l,
                                  const vp__layout *in, int size) {
    int n = op->count;
    bool ok = n >= in->ndim;
    for (int i = 0; i < n; i++) ok = ok && op->u.dims[i] >= 0;
    if (ok) {
        memcpy(l->dims, op->u.dims, (size_t)n * sizeof(int64_t));
        ok = vp__shape_broadcast(&n, l->dims, in->ndim, in->dims) &&
             vp__shape_equal(n, l->dims, op->count, op->u.dims);
    }
    char a[200], b[200];
    if (ok && vp__shape_count(n, l->dims, size) < 0)
        return vp__error_new(VP_ERR_SHAPE, NULL, "an array of shape %s is too large",
                             vp__shape_text(b, sizeof b, n, l->dims));
    if (!ok) {
        return vp__error_new(VP_ERR_SHAPE, NULL, "shape %s does not broadcast to %s",
                             vp__shape_text(a, sizeof a, in->ndim, in->dims),
                             vp__shape_text(b, sizeof b, op->count, op->u.dims));
    }
    l->ndim = n;
    vp__shape_expand_strides(n, l->dims, in->ndim, in->dims, in->strides, l->strides);
    return NULL;
}

static vp__error *apply_squeeze(const vp__viewop *op, vp__layout *l,
                                const vp__layout *in) {
    uint32_t bits = ~0u;
    vp__error *e = op->count >= 0 ? axis_bits(op, in->ndim, &bits) : NULL;
    if (e) return e;
    for (int i = 0; i < in->ndim; i++) {
        if (bits >> i & 1 && in->dims[i] == 1) continue;
        if (bits >> i & 1 && op->count >= 0)
            return vp__error_new(VP_ERR_SHAPE, NULL, "axis %d has length %lld, not 1", i,
                                 (long long)in->dims[i]);
        take_axis(l, in, i);
    }
    return NULL;
}

static vp__error *apply_axes(const vp__viewop *op, vp__layout *l, const vp__layout *in) {
    uint32_t bits = ~0u;
    vp__error *e = op->count >= 0 ? axis_bits(op, in->ndim, &bits) : NULL;
    if (e) return e;
    for (int i = 0; i < in->ndim; i++) {
        if (op->kind == VP__VIEW_PERMUTE) {
            int from = op->count < 0 ? in->ndim - 1 - i : op->u.axis[i];
            take_axis(l, in, from < 0 ? from + in->ndim : from);
            continue;
        }
        take_axis(l, in, i);
        if (!(bits >> i & 1)) continue;
        if (in->dims[i] > 0) l->offset += (in->dims[i] - 1) * in->strides[i];
        l->strides[i] = -in->strides[i];
    }
    return NULL;
}

vp__error *vp__viewop_apply(const vp__viewop *op, vp__layout *l, int element_size,
                            bool *copy) {
    vp__error *e;
    *copy = false;
    if (vp__viewop_ndim(op, l->ndim, &e) > VP__MAXDIM && !e) e = too_many_axes();
    if (e) return e;
    vp__layout in;
    in.ndim = l->ndim;
    memcpy(in.dims, l->dims, (size_t)l->ndim * sizeof(int64_t));
    memcpy(in.strides, l->strides, (size_t)l->ndim * sizeof(int64_t));
    l->ndim = 0;
    switch (op->kind) {
    case VP__VIEW_SELECT:
        return vp__select_apply(op->u.item, op->count, in.ndim, l->offset, in.dims,
                                in.strides, l);
    case VP__VIEW_RESHAPE: return apply_reshape(op, l, &in, element_size, copy);
    case VP__VIEW_BROADCAST: return apply_broadcast(op, l, &in, element_size);
    case VP__VIEW_SQUEEZE: return apply_squeeze(op, l, &in);
    case VP__VIEW_PERMUTE:
    case VP__VIEW_FLIP: return apply_axes(op, l, &in);
    case VP__VIEW_EXPAND: {
        int at = op->u.axis[0] < 0 ? op->u.axis[0] + in.ndim + 1 : op->u.axis[0];
        for (int i = 0; i <= in.ndim; i++) {
            if (i == at) {
                l->dims[l->ndim] = 1;
                l->strides[l->ndim++] = 0;
            }
            if (i < in.ndim) take_axis(l, &in, i);
        }
        return NULL;
    }
    }
    return NULL;
}
