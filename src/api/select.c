/* SPDX-License-Identifier: Apache-2.0
 *
 * Selections: reading and writing parts of arrays, by NumPy's rules. Integers, ranges, whole
 * and new axes only change the addressing; index arrays and masks become gathers and
 * scatters over what the rest of the selection leaves.
 */
#include <string.h>

#include "api/build.h"
#include "api/held.h"
#include "api/operand.h"
#include "array/shape.h"
#include "base/failure.h"
#include "issue/put.h"
#include "net/wait.h"

/* A selection worked out against a shape. */
typedef struct {
    vp__layout layout;               /* after everything but the index arrays */
    vp__index_params p;              /* with items: advanced */
    vp__expr *item[VP__FANCY_ITEMS]; /* int64, or masks as they are: see list_masks */
} selection;

static void free_items(selection *s) {
    for (int i = 0; i < s->p.count; i++) vp__expr_free(s->item[i]);
    s->p.count = 0;
}

static bool is_bare_mask(const vp__expr *array) {
    return array->dtype == VP_BOOL && array->ndim == 0;
}

/* How many axes of the array an item uses up: none, if it is a mask without axes. */
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

static vp__error *check_mask(const vp__expr *array, const int64_t *dims, const char *name,
                             const char *where) {
    if (array->dtype != VP_BOOL) return NULL;
    int m = array->ndim;
    if (array->late || vp__shape_equal(m, array->dims, m, dims)) return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_INDEX, where,
                         "%s: a mask of shape %s does not fit axes of shape %s", name,
                         vp__shape_text(a, sizeof a, m, array->dims),
                         vp__shape_text(b, sizeof b, m, dims));
}

/* A mask without axes, as one of a new axis of length 1. */
static vp__expr *with_axis(vp__expr *mask, const char *where) {
    vp__as_sized_leaf(mask);
    if (mask->kind != VP__EXPR_LEAF) return mask;
    const int64_t dim = 1, stride = 0;
    vp__expr *e = vp__expr_leaf(mask->storage, NULL, VP_BOOL, mask->offset, 1, &dim,
                                &stride, false, where);
    vp__expr_free(mask);
    return e;
}

/* An index array as int64. A stride of 0 says that elements are repeated, which an empty one
 * has none of. */
static vp__expr *as_positions(vp__expr *array, const char *name, const char *where) {
    vp__expr *e = vp__as_leaf(vp__build_cast(array, VP_I64, name, where));
    if (e->kind == VP__EXPR_LEAF && !e->late && e->count == 0)
        vp__layout_compact(e->ndim, e->dims, sizeof(int64_t), false, e->strides);
    return e;
}

/* Adds an index array as int64, or a mask. */
static void add_item(selection *s, vp__expr *array, int axis, const char *name,
                     const char *where) {
    int k = s->p.count++;
    s->p.axis[k] = axis;
    s->p.mask[k] = array->dtype == VP_BOOL ? array->ndim : 0;
    s->item[k] = s->p.mask[k] ? array : as_positions(array, name, where);
}

/* What a mask must fit: its axes are whole in the layout. */
static vp__find_params fit_of(const selection *s, int item, const char *name) {
    vp__find_params p = {.ndim = s->p.mask[item], .selects = name};
    memcpy(p.dims, s->layout.dims + s->p.axis[item], (size_t)p.ndim * sizeof(int64_t));
    return p;
}

/* Turns masks into what gathers and scatters take: positions. */
static void list_masks(selection *s, const char *name, const char *where) {
    for (int i = 0; i < s->p.count; i++) {
        if (!s->p.mask[i]) continue;
        const vp__lib_params p = {.kind = VP__LIB_nonzero, .find = fit_of(s, i, name)};
        s->item[i] = vp__build_library(&p, VP_I64, 1, &s->item[i], 2, "mask", where);
    }
}

/* Whether all that is selected by is one mask of the first axes, which has not failed. */
static bool is_one_mask(const selection *s) {
    return s->p.count == 1 && s->p.mask[0] && s->p.axis[0] == 0 &&
           s->item[0]->kind == VP__EXPR_LEAF;
}

/* How many elements of the one mask are true before its places. */
static vp__expr *count_mask(const selection *s, const char *name, const char *where) {
    const vp__expr *mask = s->item[0];
    vp__expr *again =
        vp__expr_leaf(mask->storage, NULL, VP_BOOL, mask->offset, mask->ndim, mask->dims,
                      mask->strides, mask->late, where);
    const vp__lib_params p = {.kind = VP__LIB_mask_count, .find = fit_of(s, 0, name)};
    return vp__build_library(&p, VP_I64, 1, &again, 1, "mask", where);
}

static void plain_items(const vp_index *index, vp__viewop *op) {
    op->kind = VP__VIEW_SELECT;
    op->name = "get";
    op->count = (int)index->count;
    memcpy(op->u.item, index->item, (size_t)index->count * sizeof(vp_sel));
}

/* Works a selection out against a layout. The index arrays' axes stay whole in it; array[i]
 * are their expressions, consumed into s->item. */
static vp__error *select_from(selection *s, const vp_index *index, vp__expr **array,
                              const vp__layout *from, int size, const char *name,
                              const char *where) {
    /* For the view a mask of m axes is m whole axes, and one without axes is a new one. */
    vp__viewop op;
    op.kind = VP__VIEW_SELECT;
    op.count = 0;
    int used = 0, axis = 0, first = -1, last = -1, advanced = 0;
    for (int i = 0; i < index->count; i++) used += axes_used(&index->item[i], array[i]);
    for (int i = 0; i < index->count; i++) {
        vp_sel item = index->item[i];
        int axes = 1;
        if (item.kind == VP__SEL_ARRAY) {
            item.kind = is_bare_mask(array[i]) ? VP__SEL_NEWAXIS : VP__SEL_ALL;
            if (item.kind == VP__SEL_ALL) axes = axes_used(&index->item[i], array[i]);
        }
        if (op.count + axes > VP__SELECTED)
            return vp__error_new(VP_ERR_INDEX, where,
                                 "%s: a selection has at most %d items", name,
                                 VP__SELECTED);
        for (int k = 0; k < axes; k++) op.u.item[op.count++] = item;
    }
    s->layout = *from;
    bool copy;
    vp__error *error = vp__viewop_apply(&op, &s->layout, size, &copy);
    if (error) {
        s->layout = *from; /* what a failed write poisons: all of it */
        return vp__error_wrap(error, where, name);
    }
    int result = 0; /* axis of the view the next item makes */
    for (int i = 0; i < index->count; i++) {
        const vp_sel *item = &index->item[i];
        if (item->kind == VP__SEL_ARRAY || item->kind == VP__SEL_INDEX) {
            if (first < 0) {
                first = i;
                s->p.at = result;
            }
            last = i;
            advanced++;
        }
        int axes = axes_used(item, array[i]);
        if (item->kind == VP__SEL_ELLIPSIS) {
            axis += from->ndim - used;
            result += from->ndim - used;
            continue;
        }
        if (item->kind == VP__SEL_ARRAY) {
            if (s->p.count == VP__FANCY_ITEMS)
                return vp__error_new(VP_ERR_INDEX, where, "%s: more than %d index arrays",
                                     name, VP__FANCY_ITEMS);
            vp__expr *a = array[i];
            const bool bare = is_bare_mask(a);
            if (!bare) error = check_mask(a, from->dims + axis, name, where);
            if (error) return error;
            array[i] = NULL;
            add_item(s, bare ? with_axis(a, where) : a, result, name, where);
            result += bare;
        }
        axis += axes;
        if (item->kind != VP__SEL_INDEX)
            result += item->kind == VP__SEL_NEWAXIS ? 1 : axes;
    }
    /* `at` counts the axes left before the index arrays; those side by side leave their axes
     * in place, those apart put them first. */
    if (last - first + 1 != advanced) s->p.at = 0;
    return NULL;
}

/* Resolves the index arrays of a selection; an error when one is not an index. */
static vp__error *resolve_arrays(const vp_index *index, vp__expr **array,
                                 const char *name, const char *where) {
    vp__error *error = NULL;
    if (index->count && !index->item)
        return vp__error_new(VP_ERR_INDEX, where, "%s: the selection's items are NULL",
                             name);
    if (index->count < 0 || index->count > VP__SELECTED)
        return vp__error_new(VP_ERR_INDEX, where,
                             "%s: a selection has at most %d items, not %lld", name,
                             VP__SELECTED, (long long)index->count);
    for (int i = 0; i < index->count; i++) {
        const vp_sel *item = &index->item[i];
        if ((unsigned)item->kind > VP__SEL_ARRAY && !error)
            error = vp__error_new(VP_ERR_INDEX, where,
                                  "%s: item %d of the selection is of no kind there is "
                                  "(an uninitialised vp_sel?)",
                                  name, i);
        if (item->kind != VP__SEL_ARRAY) continue;
        const vp__in_kind kind = item->is_expr ? VP__IN_EXPR : VP__IN_ARRAY;
        const vp_operand x = vp__in_bits(kind, (uint64_t)item->start);
        array[i] = vp__as_leaf(vp__operand(x, where));
        if (error) continue;
        int cls = vp__dtype[array[i]->dtype].cls;
        if (array[i]->kind == VP__EXPR_POISON)
            error = vp__error_retain(array[i]->error);
        else if (cls == VP__CLASS_F || cls == VP__CLASS_C)
            error =
                vp__error_new(VP_ERR_TYPE, where, "%s: arrays of %s cannot be indices",
                              name, vp__dtype[array[i]->dtype].name);
    }
    return error;
}

static void free_arrays(int64_t count, vp__expr **array) {
    for (int i = 0; i < count && i < VP__SELECTED; i++)
        if (array[i]) vp__expr_free(array[i]);
}

/* The elements at which a mask of all axes is true. Consumes both. */
static vp__expr *get_by_mask(vp__expr *base, selection *s, const char *where) {
    vp__expr *in[3] = {base, s->item[0], count_mask(s, "get", where)};
    s->p.count = 0; /* the item is in[] now */
    const vp__lib_params p = {.kind = VP__LIB_mask_get};
    return vp__build_library(&p, (vp_dtype)base->dtype, 3, in, 1, "get", where);
}

/* Gathers base by the items of a selection. Consumes both. */
static vp__expr *gather(vp__expr *base, selection *s, const char *name,
                        const char *where) {
    list_masks(s, name, where);
    vp__expr *in[1 + VP__FANCY_ITEMS] = {base};
    const vp__lib_params p = {
        .kind = VP__LIB_gather, .order = VP__ORDER_KEEP, .index = s->p};
    const int count = s->p.count;
    int index_ndim = 0, selected = 0;
    for (int i = 0; i < count; i++) {
        in[i + 1] = s->item[i];
        const int mask = s->p.mask[i], own = mask ? 1 : s->item[i]->ndim;
        if (own > index_ndim) index_ndim = own;
        selected += mask ? mask : 1;
    }
    s->p.count = 0; /* the items are in[] now */
    vp__expr *poison = vp__first_poison(count + 1, in);
    if (poison) return poison;
    const int ndim = base->ndim - selected + index_ndim;
    if (ndim > VP__MAXDIM)
        return vp__refuse(count + 1, in, where,
                          vp__error_new(VP_ERR_SHAPE, where,
                                        "%s: the result would have %d axes", name, ndim));
    return vp__build_library(&p, (vp_dtype)base->dtype, count + 1, in, ndim, name, where);
}

/* Whether a selection needs no index arrays, and nothing is wrong with its items. */
static bool is_plain(const vp_index *index) {
    if (index->count < 0 || index->count > VP__SELECTED || (index->count && !index->item))
        return false;
    bool plain = true;
    for (int i = 0; i < index->count; i++)
        plain &= (unsigned)index->item[i].kind < VP__SEL_ARRAY;
    return plain;
}

vp_expr vp__get(const char *where, vp_operand x, vp_index at) {
    VP__CALL_ON_TRACK;
    vp_expr known;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_get(t, where, x, &at, &known)) return known;
    const vp_index *index = &at;
    const bool plain = is_plain(index), named = x.kind == VP__IN_ARRAY;
    vp__expr *e = plain && named ? vp__array_part(vp__bits_array(x.bits), index, where)
                                 : vp__operand_view(x, where);
    t = vp__track_recording();
    if (plain && named && !e->late) {
        if (t) {
            vp__track_note_get(t, where, x, index, e);
            vp__track_noted(t, e);
        }
        return vp__give(e);
    }
    if (t) vp__track_leave(t);
    if (e->kind != VP__EXPR_VIEW) e = vp__as_leaf(e);
    vp__expr *array[VP__SELECTED] = {NULL};
    vp__error *error = resolve_arrays(index, array, "get", where);
    if (e->kind == VP__EXPR_POISON || error) {
        free_arrays(index->count, array);
        if (!error) return vp__give(e);
        return vp__give(vp__refuse(1, &e, where, error));
    }
    if (plain) {
        vp__viewop op;
        plain_items(index, &op);
        return vp__give(vp__select_expr(e, &op, where));
    }
    e = vp__as_sized_leaf(e);
    if (e->kind != VP__EXPR_LEAF) {
        free_arrays(index->count, array);
        return vp__give(e);
    }
    selection s = {.p.count = 0};
    vp__layout from = {.ndim = e->ndim, .offset = e->offset};
    memcpy(from.dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
    memcpy(from.strides, e->strides, (size_t)e->ndim * sizeof(int64_t));
    error = select_from(&s, index, array, &from, vp__dtype[e->dtype].size, "get", where);
    free_arrays(index->count, array);
    if (error) {
        free_items(&s);
        return vp__give(vp__refuse(1, &e, where, error));
    }
    vp__expr *base =
        vp__expr_leaf(e->storage, NULL, (vp_dtype)e->dtype, s.layout.offset,
                      s.layout.ndim, s.layout.dims, s.layout.strides, false, where);
    vp__expr_free(e);
    if (is_one_mask(&s) && base->ndim == s.p.mask[0])
        return vp__give(get_by_mask(base, &s, where));
    return vp__give(gather(base, &s, "get", where));
}

vp_expr vp__take(const char *where, vp_operand x, vp_operand positions, int axis) {
    VP__CALL;
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
    selection s = {.p.count = 1};
    s.item[0] = as_positions(in[1], "take", where);
    s.p.axis[0] = axis;
    s.p.at = axis;
    return vp__give(gather(in[0], &s, "take", where));
}

vp_expr vp__find(const char *where, vp_operand x, bool flat) {
    VP__CALL;
    const vp__lib_params p = {.kind = flat ? VP__LIB_find : VP__LIB_nonzero};
    const char *name = vp__lib_rows[p.kind].name;
    vp_dtype work, result;
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__lib_types(p.kind, (vp_dtype)e->dtype, &work, &result);
    e = vp__as_leaf(vp__build_cast(e, work, name, where));
    return vp__give(vp__build_library(&p, result, 1, &e, flat ? 1 : 2, name, where));
}

/* --- writing ------------------------------------------------------------------------------- */

/* Drops leading axes of length 1 that the target has not; a late value's node does. */
static vp__expr *fit_axes(vp__expr *value, int ndim, const char *where) {
    if (value->kind == VP__EXPR_POISON || value->late || value->ndim <= ndim)
        return value;
    value = vp__as_leaf(value);
    if (value->kind != VP__EXPR_LEAF) return value;
    const int extra = vp__shape_surplus(value->ndim, value->dims, ndim);
    if (!extra) return value;
    vp__expr *r =
        vp__expr_leaf(value->storage, NULL, (vp_dtype)value->dtype, value->offset, ndim,
                      value->dims + extra, value->strides + extra, false, where);
    vp__expr_free(value);
    return r;
}

/* Whether a value may go into a selection, as far as that is known. */
static bool fits(const vp__expr *value, int ndim, const int64_t *dims) {
    if (value->late) return true;
    if (value->ndim > ndim) return false;
    if (value->ndim == 0 || vp__shape_equal(value->ndim, value->dims, ndim, dims))
        return true;
    int64_t both[VP__MAXDIM];
    int n = ndim;
    memcpy(both, dims, (size_t)ndim * sizeof(int64_t));
    return vp__shape_broadcast(&n, both, value->ndim, value->dims) &&
           vp__shape_equal(n, both, ndim, dims);
}

static vp__error *check_fit(const vp__expr *value, int ndim, const int64_t *dims,
                            const char *where) {
    if (fits(value, ndim, dims)) return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_SHAPE, where,
                         "put: a value of shape %s does not fit a selection of shape %s",
                         vp__shape_text(a, sizeof a, value->ndim, value->dims),
                         vp__shape_text(b, sizeof b, ndim, dims));
}

/* The buffer (retained), type and layout a name stands for, its size waited for. An error
 * when there is no such name, or only an error behind it. */
static vp__error *find_target(vp_array a, const char *where, vp__buffer **buffer,
                              vp_dtype *dtype, vp__layout *layout) {
    for (;;) {
        vp__name *n = vp__held_lock(a);
        if (!n) return vp__name_stale(a, where);
        vp__error *error = vp__error_retain(n->error);
        vp__storage *late = NULL;
        if (!error) {
            vp__name_refresh(n);
            const bool shared = vp__buffer_is_shared(n->buffer);
            if (shared) vp__spin_lock(&n->buffer->lock);
            vp__storage *s = n->buffer->storage;
            if (s->late) error = vp__error_retain(vp__storage_failure(s));
            if (n->late) vp__storage_retain(late = s);
            if (shared) vp__spin_unlock(&n->buffer->lock);
        }
        if (!error && !late) {
            vp__buffer_retain(n->buffer);
            *buffer = n->buffer;
            *dtype = (vp_dtype)n->dtype;
            layout->ndim = n->ndim;
            layout->offset = n->offset;
            for (int i = 0; i < n->ndim; i++) {
                layout->dims[i] = n->dims[i];
                layout->strides[i] = n->strides[i];
            }
        }
        vp__name_unlock(n);
        if (!late || error) {
            if (late) vp__storage_release(late);
            return error;
        }
        /* The name stays usable by others while we wait. */
        vp__wait_sized(late);
        vp__storage_release(late);
    }
}

static vp__error *check_writable(const vp__layout *l, const char *where) {
    bool shares = false;
    for (int i = 0; i < l->ndim; i++) shares |= l->strides[i] == 0 && l->dims[i] > 1;
    if (!shares || vp__shape_count(l->ndim, l->dims, 1) == 0) return NULL;
    return vp__error_new(VP_ERR_VALUE, where,
                         "put: a broadcast view cannot be written, its elements are one "
                         "and the same");
}

static void poison_now(vp__buffer *buffer, const vp__layout *l, int size,
                       vp__error *error) {
    vp__region region = vp__region_of(l->offset, l->ndim, l->dims, l->strides, size);
    vp__spin_lock(&buffer->lock);
    vp__storage *s = buffer->storage;
    vp__spin_lock(&s->lock);
    uint64_t sequence = s->log.sequence++;
    vp__spin_unlock(&s->lock);
    vp__storage_poison(s, vp__error_retain(error), &region, sequence);
    vp__spin_unlock(&buffer->lock);
}

/* Makes the value what the selection's elements take; an error when it does not fit. */
static vp__error *fit_value(vp__expr **value, vp_dtype dtype, const vp__layout *l,
                            const char *where) {
    const vp__expr *v = *value;
    if (v->dtype == dtype && v->kind != VP__EXPR_CONST && v->kind != VP__EXPR_POISON &&
        fits(v, l->ndim, l->dims))
        return NULL; /* nearly always */
    *value = fit_axes(vp__build_cast(*value, dtype, "put", where), l->ndim, where);
    if ((*value)->kind == VP__EXPR_POISON) return NULL;
    return check_fit(*value, l->ndim, l->dims, where);
}

/* Whether a mistake shows now or when a size is known, what should have been written is
 * poisoned: that is where the user will look. */
static vp__expr *poisoned(vp__expr *value, vp__error *error, const char *where) {
    vp__error_remember(error);
    vp__expr_free(value);
    return vp__expr_poison(error, where);
}

/* Whether a value may go where the one mask is true whatever it selects, and every element's
 * share of it follows from its place: it has one element along what the mask selects. */
static bool fits_any_mask(const selection *s, const vp__expr *value) {
    if (value->ndim == 0) return true;
    if (value->late || value->kind == VP__EXPR_POISON) return false;
    const int rest = s->layout.ndim - s->p.mask[0];
    int64_t dims[VP__MAXDIM] = {1};
    memcpy(dims + 1, s->layout.dims + s->p.mask[0], (size_t)rest * sizeof(int64_t));
    const int surplus = vp__shape_surplus(value->ndim, value->dims, rest + 1);
    int ndim = rest + 1;
    return vp__shape_broadcast(&ndim, dims, value->ndim - surplus,
                               value->dims + surplus) &&
           ndim == rest + 1 && dims[0] == 1 &&
           vp__shape_equal(rest, dims + 1, rest, s->layout.dims + s->p.mask[0]);
}

/* Writes where the one mask is true. */
static vp__error *put_by_mask(vp__lib_kind kind, selection *s, const vp__target *t,
                              const vp__region *region, vp__expr *value,
                              const char *where) {
    const vp__lib_params p = {.kind = kind, .find = fit_of(s, 0, "put")};
    vp__expr *in[3] = {s->item[0]};
    int count = 1;
    if (kind == VP__LIB_mask_put) in[count++] = count_mask(s, "put", where);
    in[count++] = value;
    return vp__library_put(&p, t, region, count, in, where);
}

/* Writes by index arrays; `whole` is the target's own layout. */
static vp__error *put_by_arrays(const char *where, vp__buffer *buffer, vp_dtype dtype,
                                const vp__layout *whole, const vp_index *index,
                                vp__expr **array, vp__error *error, vp__expr *value) {
    const int size = vp__dtype[dtype].size;
    selection s = {.p.count = 0};
    if (!error) error = select_from(&s, index, array, whole, size, "put", where);
    vp__error *refused = error ? NULL : check_writable(&s.layout, where);
    if (refused) {
        free_items(&s);
        vp__expr_free(value);
        return refused;
    }
    const bool scatters = !error && s.p.count > 0;
    if (!error && scatters)
        value = vp__build_cast(value, dtype, "put", where);
    else if (!error)
        error = fit_value(&value, dtype, &s.layout, where);
    if (error) {
        value = poisoned(value, error, where);
        s.layout = *whole;
        free_items(&s);
    }
    vp__target t = {
        buffer,           dtype, s.layout.ndim, s.layout.offset, s.layout.dims,
        s.layout.strides, whole};
    if (!scatters) {
        error = vp__put(&t, value, where);
        vp__track_pass_put(vp__core_self());
        return error;
    }
    vp__region region =
        vp__region_of(whole->offset, whole->ndim, whole->dims, whole->strides, size);
    if (is_one_mask(&s) && fits_any_mask(&s, value))
        return put_by_mask(VP__LIB_mask_fill, &s, &t, &region, value, where);
    if (is_one_mask(&s) && s.p.mask[0] == t.ndim)
        return put_by_mask(VP__LIB_mask_put, &s, &t, &region, value, where);
    list_masks(&s, "put", where);
    vp__expr *in[1 + VP__FANCY_ITEMS];
    int count = s.p.count;
    memcpy(in, s.item, (size_t)count * sizeof in[0]);
    in[count] = value;
    const vp__lib_params p = {.kind = VP__LIB_scatter, .index = s.p};
    return vp__library_put(&p, &t, &region, count + 1, in, where);
}

/* Writes a part that integers, ranges and whole axes select. */
static vp__error *put_plain(const char *where, vp_array a, vp__buffer *buffer,
                            vp_dtype dtype, const vp__layout *whole,
                            const vp_index *index, vp_operand x, vp__expr *value) {
    vp__layout l;
    const vp__layout *written = &l;
    vp__error *error = vp__select_apply(index->item, (int)index->count, whole->ndim,
                                        whole->offset, whole->dims, whole->strides, &l);
    if (error) {
        error = vp__error_wrap(error, where, "put");
        written = whole;
    } else {
        vp__error *refused = check_writable(&l, where);
        if (refused) {
            vp__expr_free(value);
            return refused;
        }
        error = fit_value(&value, dtype, &l, where);
    }
    if (error) value = poisoned(value, error, where);
    vp__target t = {
        buffer,           dtype, written->ndim, written->offset, written->dims,
        written->strides, whole};
    vp__track *track = vp__track_recording();
    if (track) vp__track_note_put(track, where, a, index, whole, &t, x, value);
    error = vp__put(&t, value, where);
    vp__track_end_put(vp__core_self(), where, a, &t);
    return error;
}

void vp__put_at(const char *where, vp_array a, vp_index at, vp_operand x) {
    VP__CALL_ON_TRACK;
    const vp_index *index = &at;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_put(t, where, a, index, x)) return;
    vp__expr *value = vp__operand(x, where);
    const bool plain = is_plain(index);
    vp__expr *array[VP__SELECTED];
    vp__error *error = NULL;
    if (!plain) {
        if (vp__track_mine) vp__track_forget(vp__track_mine);
        memset(array, 0, sizeof array);
        error = resolve_arrays(index, array, "put", where);
    }
    vp__buffer *buffer = NULL;
    vp_dtype dtype = VP_BOOL;
    vp__layout whole;
    vp__error *missing = find_target(a, where, &buffer, &dtype, &whole);
    if (missing) {
        vp__error_release(error);
        vp__failure_refuse(missing);
        if (!plain) free_arrays(index->count, array);
        vp__expr_free(value);
        return;
    }
    if (plain) {
        error = put_plain(where, a, buffer, dtype, &whole, index, x, value);
    } else {
        error = put_by_arrays(where, buffer, dtype, &whole, index, array, error, value);
        free_arrays(index->count, array);
    }
    if (error) {
        /* Nothing could be issued. Read-only memory stays as it is; a lack of memory must not
         * leave the old elements there as if nothing had been asked. */
        if (error->status == VP_ERR_MEMORY)
            poison_now(buffer, &whole, vp__dtype[dtype].size, error);
        vp__failure_refuse(error);
    }
    vp__buffer_release(buffer);
}
