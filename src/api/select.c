/* SPDX-License-Identifier: Apache-2.0
 *
 * Selections: reading and writing parts of arrays, by NumPy's rules. Integers, ranges, whole
 * and new axes only change the addressing; index arrays and masks become gathers and
 * scatters over what the rest of the selection leaves.
 */
#include <string.h>

#include "api/build.h"
#include "array/shape.h"
#include "net/library.h"

vp_index vp_index_of(int count, const vp_sel *items) {
    vp_index index;
    index.count = count;
    for (int i = 0; i < count && i < 16; i++) index.item[i] = items[i];
    return index;
}

/* A selection worked out against a shape. */
typedef struct {
    int64_t offset;
    int ndim;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    vp__lib_params p;       /* nitems > 0: advanced */
    vp__expr *item[VP__FANCY_ITEMS];
} selection;

static void free_items(selection *s) {
    for (int i = 0; i < s->p.nitems; i++) vp__expr_free(s->item[i]);
    s->p.nitems = 0;
}

/* Python's clipping of a slice. Returns the number of elements. */
static int64_t clip_range(const vp_sel *r, int64_t dim, int64_t *start) {
    int64_t step = r->step, low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    int64_t from = r->has_start ? r->start : step < 0 ? high : low;
    int64_t to = r->has_stop ? r->stop : step < 0 ? low : high;
    if (r->has_start && from < 0) from += dim;
    if (r->has_stop && to < 0) to += dim;
    if (from < low) from = low;
    if (from > high) from = high;
    if (to < low) to = low;
    if (to > high) to = high;
    *start = from;
    if (step > 0) return to > from ? (to - from - 1) / step + 1 : 0;
    return from > to ? (from - to - 1) / -step + 1 : 0;
}

/* How many axes of the array an item uses up; an index array's operand is resolved here. */
static int axes_used(const vp_sel *s, vp__expr *array) {
    switch (s->kind) {
    case VP__SEL_INDEX:
    case VP__SEL_RANGE:
    case VP__SEL_ALL: return 1;
    case VP__SEL_NEWAXIS:
    case VP__SEL_ELLIPSIS: return 0;
    case VP__SEL_ARRAY: return array->dtype == VP_BOOL ? array->ndim : 1;
    }
    return 0;
}

/* Turns an index array into what gathers take: int64, or positions for a mask. */
static vp__error *add_item(selection *s, vp__expr *array, int axis, const int64_t *dims,
                           const char *where) {
    int k = s->p.nitems;
    if (array->dtype == VP_BOOL) {
        int m = array->ndim;
        if (m == 0)
            return vp__error_new(VP_ERR_INDEX, where, "a mask without axes cannot select");
        if (!array->late && !vp__shape_equal(m, array->dims, m, dims)) {
            char a[200], b[200];
            return vp__error_new(VP_ERR_INDEX, where,
                                 "a mask of shape %s does not fit axes of shape %s",
                                 vp__shape_text(a, sizeof a, m, array->dims),
                                 vp__shape_text(b, sizeof b, m, dims));
        }
        vp__lib_params p = {.kind = VP__LIB_NONZERO};
        vp__value v;
        vp__library_issue(&p, VP_I64, 1, &array, 2, NULL, "mask", where, &v);
        s->item[k] = vp__value_expr(&v, where);
        s->p.item_mask[k] = m;
    } else {
        s->item[k] = vp__as_leaf(vp__build_cast(array, VP_I64, where));
        s->p.item_mask[k] = 0;
    }
    s->p.item_axis[k] = axis;
    s->p.nitems++;
    return NULL;
}

/* Works a selection out. array[i] are the index arrays' expressions, consumed. */
static vp__error *select_from(selection *s, const vp_index *index, vp__expr **array, int ndim,
                              const int64_t *dims, const int64_t *strides, int64_t offset,
                              const char *where) {
    int used = 0, ellipses = 0;
    for (int i = 0; i < index->count; i++) {
        used += axes_used(&index->item[i], array[i]);
        ellipses += index->item[i].kind == VP__SEL_ELLIPSIS;
    }
    if (used > ndim)
        return vp__error_new(VP_ERR_INDEX, where,
                             "%d indices for an array of %d axes", used, ndim);
    if (ellipses > 1)
        return vp__error_new(VP_ERR_INDEX, where, "a selection has at most one ellipsis");
    s->offset = offset;
    int n = 0, from = 0, subspace = 0;
    int first_advanced = -1, last_advanced = -1, at = 0, advanced = 0;
    for (int i = 0; i <= index->count; i++) {
        vp_sel item;
        if (i < index->count) item = index->item[i];
        else item.kind = VP__SEL_ELLIPSIS; /* what is not mentioned is taken whole */
        bool is_advanced = item.kind == VP__SEL_ARRAY || item.kind == VP__SEL_INDEX;
        if (is_advanced && i < index->count) {
            if (first_advanced < 0) {
                first_advanced = i;
                at = subspace;
            }
            last_advanced = i;
            advanced++;
        }
        int whole = 0;
        switch (item.kind) {
        case VP__SEL_INDEX: {
            int64_t k = item.start < 0 ? item.start + dims[from] : item.start;
            if (k < 0 || k >= dims[from])
                return vp__error_new(VP_ERR_INDEX, where,
                                     "index %lld is out of bounds for axis %d with size %lld",
                                     (long long)item.start, from, (long long)dims[from]);
            s->offset += k * strides[from++];
            break;
        }
        case VP__SEL_RANGE: {
            if (item.step == 0)
                return vp__error_new(VP_ERR_VALUE, where, "a range's step cannot be 0");
            int64_t start;
            s->dims[n] = clip_range(&item, dims[from], &start);
            s->strides[n++] = strides[from] * item.step;
            if (s->dims[n - 1] > 0) s->offset += start * strides[from];
            from++;
            subspace++;
            break;
        }
        case VP__SEL_ALL: whole = 1; break;
        case VP__SEL_NEWAXIS:
            if (n == VP__MAXDIM)
                return vp__error_new(VP_ERR_SHAPE, where, "more than %d axes", VP__MAXDIM);
            s->dims[n] = 1;
            s->strides[n++] = 0;
            subspace++;
            break;
        case VP__SEL_ELLIPSIS:
            /* The last, implicit one takes the rest; an explicit one leaves what is used. */
            whole = i == index->count ? ndim - from : ndim - used;
            break;
        case VP__SEL_ARRAY: {
            int m = axes_used(&item, array[i]);
            if (s->p.nitems == VP__FANCY_ITEMS)
                return vp__error_new(VP_ERR_INDEX, where, "more than %d index arrays",
                                     VP__FANCY_ITEMS);
            vp__expr *a = array[i];
            array[i] = NULL;
            vp__error *error = add_item(s, a, n, dims + from, where);
            if (error) {
                array[i] = a;
                return error;
            }
            for (int k = 0; k < m; k++) {
                s->dims[n] = dims[from];
                s->strides[n++] = strides[from++];
            }
            break;
        }
        }
        for (int k = 0; k < whole; k++, subspace++) {
            if (n == VP__MAXDIM)
                return vp__error_new(VP_ERR_SHAPE, where, "more than %d axes", VP__MAXDIM);
            s->dims[n] = dims[from];
            s->strides[n++] = strides[from++];
        }
    }
    s->ndim = n;
    /* Index arrays side by side leave their axes in place; apart, they come first. */
    s->p.at = last_advanced - first_advanced + 1 == advanced ? at : 0;
    return NULL;
}

/* Resolves the index arrays of a selection; an error when one is not an index. */
static vp__error *resolve_arrays(const vp_index *index, vp__expr **array, const char *where) {
    vp__error *error = NULL;
    if (index->count < 0 || index->count > 16)
        return vp__error_new(VP_ERR_INDEX, where, "a selection has at most 16 items");
    for (int i = 0; i < index->count; i++) {
        if (index->item[i].kind != VP__SEL_ARRAY) continue;
        array[i] = vp__as_leaf(vp__operand(index->item[i].array, where));
        if (error) continue;
        int cls = vp__dtype[array[i]->dtype].cls;
        if (array[i]->kind == VP__EXPR_POISON) error = vp__error_retain(array[i]->error);
        else if (cls == VP__CLASS_F || cls == VP__CLASS_C)
            error = vp__error_new(VP_ERR_TYPE, where, "arrays of %s cannot be indices",
                                  vp__dtype[array[i]->dtype].name);
    }
    return error;
}

static void free_arrays(int count, vp__expr **array) {
    for (int i = 0; i < count && i < 16; i++)
        if (array[i]) vp__expr_free(array[i]);
}

/* Gathers base by the items of a selection. Consumes both. */
static vp__expr *gather(vp__expr *base, selection *s, const char *name, const char *where) {
    vp__expr *in[1 + VP__FANCY_ITEMS] = {base};
    int item_ndim[VP__FANCY_ITEMS], count = s->p.nitems, index_ndim = 0, selected = 0;
    const int64_t *item_dims[VP__FANCY_ITEMS];
    bool late = false;
    for (int i = 0; i < count; i++) {
        in[i + 1] = s->item[i];
        late |= in[i + 1]->late;
        item_ndim[i] = in[i + 1]->ndim;
        item_dims[i] = in[i + 1]->dims;
        int own = s->p.item_mask[i] ? 1 : item_ndim[i];
        if (own > index_ndim) index_ndim = own;
        selected += s->p.item_mask[i] ? s->p.item_mask[i] : 1;
    }
    s->p.nitems = 0; /* the items are in[] now */
    vp__expr *poison = vp__first_poison(count + 1, in);
    if (poison) return poison;
    vp__lib_params p = s->p;
    p.kind = VP__LIB_GATHER;
    p.nitems = count;
    p.column_major = vp__prefers_columns(base);
    int64_t dims[2 * VP__MAXDIM];
    int ndim = base->ndim - selected + index_ndim;
    vp__error *error = NULL;
    if (ndim > VP__MAXDIM)
        error = vp__error_new(VP_ERR_SHAPE, where, "%s: the result would have %d axes", name, ndim);
    if (!error && !late)
        error = vp__gather_dims(&p, base->ndim, base->dims, item_ndim, item_dims, where, &ndim,
                                dims);
    if (!error && !late && vp__shape_count(ndim, dims, vp__dtype[base->dtype].size) < 0)
        error = vp__error_new(VP_ERR_SHAPE, where, "%s: the result would be too large", name);
    if (error) return vp__refuse(count + 1, in, where, error);
    vp__value v;
    vp__library_issue(&p, (vp_dtype)base->dtype, count + 1, in, ndim, late ? NULL : dims, name,
                      where, &v);
    return vp__value_expr(&v, where);
}

vp_expr vp__get(const char *where, vp_operand x, vp_index index) {
    vp__expr *e = vp__as_sized_leaf(vp__operand(x, where));
    vp__expr *array[16] = {NULL};
    vp__error *error = resolve_arrays(&index, array, where);
    if (e->kind != VP__EXPR_LEAF || error) {
        free_arrays(index.count, array);
        if (!error) return vp__give(e);
        return vp__give(vp__refuse(1, &e, where, error));
    }
    selection s = {.p.nitems = 0};
    error = select_from(&s, &index, array, e->ndim, e->dims, e->strides, e->offset, where);
    free_arrays(index.count, array);
    if (error) {
        free_items(&s);
        return vp__give(vp__refuse(1, &e, where, error));
    }
    vp__expr *r = vp__expr_leaf(e->storage, e->buffer, (vp_dtype)e->dtype, s.offset, s.ndim,
                                s.dims, s.strides, false, where);
    vp__expr_free(e);
    if (s.p.nitems) r = gather(r, &s, "get", where);
    return vp__give(r);
}

vp_expr vp__take(const char *where, vp_operand x, vp_operand positions, int axis) {
    vp__expr *in[2] = {vp__as_sized_leaf(vp__operand(x, where)),
                       vp__as_leaf(vp__operand(positions, where))};
    vp__expr *poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    int cls = vp__dtype[in[1]->dtype].cls;
    vp__error *error = vp__axis_check(&axis, in[0]->ndim, "take", where);
    /* Whole numbers in floating point are allowed: linspace makes good positions. */
    if (!error && (cls == VP__CLASS_B || cls == VP__CLASS_C))
        error = vp__error_new(VP_ERR_TYPE, where, "take: positions cannot be %s",
                              vp__dtype[in[1]->dtype].name);
    if (error) return vp__give(vp__refuse(2, in, where, error));
    selection s = {.p.nitems = 1};
    s.item[0] = vp__as_leaf(vp__build_cast(in[1], VP_I64, where));
    s.p.item_axis[0] = axis;
    s.p.at = axis;
    return vp__give(gather(in[0], &s, "take", where));
}

vp_expr vp__find(const char *where, vp_operand x, bool flat) {
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    e = vp__as_leaf(vp__build_cast(e, VP_BOOL, where));
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__lib_params p = {.kind = flat ? VP__LIB_FIND : VP__LIB_NONZERO};
    vp__value v;
    vp__library_issue(&p, VP_I64, 1, &e, flat ? 1 : 2, NULL, flat ? "find" : "nonzero", where, &v);
    return vp__give(vp__value_expr(&v, where));
}

/* --- writing ------------------------------------------------------------------------------- */

static void report(vp__error *e) {
    vp__error_remember(e);
    vp__error_release(e);
}

/* Drops leading axes of length 1 that the target has not. */
static vp__expr *fit_axes(vp__expr *value, int ndim, const char *where) {
    if (value->kind == VP__EXPR_POISON || value->ndim <= ndim) return value;
    value = vp__as_sized_leaf(value);
    if (value->kind != VP__EXPR_LEAF) return value;
    int extra = value->ndim - ndim;
    for (int i = 0; i < extra; i++)
        if (value->dims[i] != 1) return value;
    vp__expr *r = vp__expr_leaf(value->storage, NULL, (vp_dtype)value->dtype, value->offset,
                                ndim, value->dims + extra, value->strides + extra, false, where);
    vp__expr_free(value);
    return r;
}

static vp__error *check_fit(const vp__expr *value, int ndim, const int64_t *dims,
                            const char *where) {
    int64_t both[VP__MAXDIM];
    int n = ndim;
    memcpy(both, dims, (size_t)ndim * sizeof(int64_t));
    if (value->ndim <= ndim &&
        (value->late || (vp__shape_broadcast(&n, both, value->ndim, value->dims) &&
                         vp__shape_equal(n, both, ndim, dims))))
        return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_SHAPE, where,
                         "put: a value of shape %s does not fit a selection of shape %s",
                         vp__shape_text(a, sizeof a, value->ndim, value->dims),
                         vp__shape_text(b, sizeof b, ndim, dims));
}

void vp__put_at(const char *where, vp_array a, vp_index index, vp_operand x) {
    vp__expr *value = vp__operand(x, where);
    vp__expr *array[16] = {NULL};
    vp__error *error = resolve_arrays(&index, array, where);
    vp__name *n = error ? NULL : vp__name_lock(a);
    if (!n || n->error) {
        if (!error) error = n ? vp__error_retain(n->error) : vp__name_stale(a, where);
        if (n) vp__name_unlock(n);
        report(error);
        free_arrays(index.count, array);
        vp__expr_free(value);
        return;
    }
    vp__buffer *buffer = n->buffer;
    vp__buffer_retain(buffer);
    if (n->late) {
        /* The name stays usable by others while we wait. */
        vp__spin_lock(&buffer->lock);
        vp__storage *s = buffer->storage;
        vp__storage_retain(s);
        vp__spin_unlock(&buffer->lock);
        vp__name_unlock(n);
        vp__wait_sized(s);
        vp__storage_release(s);
        n = vp__name_lock(a);
        if (n) vp__name_refresh(n);
    }
    selection s = {.p.nitems = 0};
    vp_dtype dtype = VP_BOOL;
    if (!n) {
        error = vp__name_stale(a, where);
    } else {
        dtype = (vp_dtype)n->dtype;
        int64_t dims[VP__MAXDIM], strides[VP__MAXDIM], offset = n->offset;
        int ndim = n->ndim;
        memcpy(dims, n->dims, (size_t)ndim * sizeof(int64_t));
        memcpy(strides, n->strides, (size_t)ndim * sizeof(int64_t));
        vp__name_unlock(n);
        error = select_from(&s, &index, array, ndim, dims, strides, offset, where);
    }
    free_arrays(index.count, array);
    for (int i = 0; i < s.ndim && !error; i++)
        if (s.strides[i] == 0 && s.dims[i] > 1)
            error = vp__error_new(VP_ERR_VALUE, where,
                                  "put: a broadcast view cannot be written, its elements are "
                                  "one and the same");
    if (!error) {
        value = vp__build_cast(value, dtype, where);
        if (!s.p.nitems) value = fit_axes(value, s.ndim, where);
        if (value->kind != VP__EXPR_POISON && !s.p.nitems)
            error = check_fit(value, s.ndim, s.dims, where);
    }
    if (error) {
        vp__expr_free(value);
    } else {
        vp__target t = {buffer, dtype, s.ndim, s.offset, s.dims, s.strides};
        if (s.p.nitems) {
            vp__expr *in[1 + VP__FANCY_ITEMS];
            int count = s.p.nitems;
            memcpy(in, s.item, (size_t)count * sizeof in[0]);
            in[count] = value;
            s.p.kind = VP__LIB_SCATTER;
            vp__lib_params p = s.p;
            s.p.nitems = 0;
            error = vp__library_put(&p, &t, count + 1, in, where);
        } else {
            error = vp__put(&t, value, where);
        }
    }
    free_items(&s);
    if (error) report(error);
    vp__buffer_release(buffer);
}
