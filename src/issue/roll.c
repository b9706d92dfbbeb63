/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/roll.h"

#include <string.h>

#include "array/shape.h"
#include "issue/value.h"

enum { AXES = 4, BOXES = 64, CUTS = 16 };

/* --- rolled leaves ------------------------------------------------------------------------ */

bool vp__roll_has_room(const vp__expr *e, int axis) {
    if (e->kind != VP__EXPR_ROLL || e->strides[axis]) return true;
    int rolled = 0;
    for (int i = 0; i < e->ndim; i++) rolled += e->strides[i] != 0;
    return rolled < AXES;
}

static vp__expr *unrolled(vp__expr *leaf, const char *where) {
    vp__expr *e = vp__expr_new(VP__EXPR_ROLL, leaf->ndim, where);
    if (e->generation == 0) {
        vp__expr_free(leaf);
        return e;
    }
    for (int i = 0; i < leaf->ndim; i++) {
        e->dims[i] = leaf->dims[i];
        e->strides[i] = 0;
    }
    e->dtype = leaf->dtype;
    e->count = leaf->count;
    e->leaves = e->rolls = 1;
    e->arg[0] = leaf;
    e->nargs = 1;
    return e;
}

vp__expr *vp__roll_leaf(vp__expr *e, int axis, int64_t shift, const char *where) {
    const int64_t n = e->dims[axis];
    shift = e->count > 0 ? shift % n : 0;
    if (shift == 0) return e;
    if (shift < 0) shift += n;
    if (e->kind != VP__EXPR_ROLL) e = unrolled(e, where);
    if (e->kind != VP__EXPR_ROLL) return e;
    e->strides[axis] = (e->strides[axis] + shift) % n;
    return e;
}

/* --- where a value is cut ------------------------------------------------------------------- */

/* Positions along axes of a value, ordered by axis and position. */
typedef struct {
    int count;
    struct {
        int axis;
        int64_t at;
    } cut[CUTS];
} cuts;

static bool add_cut(cuts *c, int axis, int64_t at) {
    int i = c->count;
    while (i > 0 && (c->cut[i - 1].axis > axis ||
                     (c->cut[i - 1].axis == axis && c->cut[i - 1].at >= at)))
        i--;
    if (i < c->count && c->cut[i].axis == axis && c->cut[i].at == at) return true;
    if (c->count == CUTS) return false;
    memmove(&c->cut[i + 1], &c->cut[i], (size_t)(c->count - i) * sizeof c->cut[0]);
    c->cut[i].axis = axis;
    c->cut[i].at = at;
    c->count++;
    return true;
}

/* Adds those of a tree; false when there are too many. Axes are aligned at the last one. */
static bool find_cuts(cuts *c, const vp__expr *e, int ndim) {
    for (int i = 0; i < e->ndim && e->kind == VP__EXPR_ROLL; i++)
        if (e->strides[i] && !add_cut(c, ndim - e->ndim + i, e->strides[i])) return false;
    for (int i = 0; i < e->nargs; i++)
        if (!find_cuts(c, e->arg[i], ndim)) return false;
    return true;
}

static int count_boxes(const cuts *c) {
    int boxes = 1;
    for (int i = 0, on_axis = 0; i < c->count; i++) {
        on_axis = i > 0 && c->cut[i - 1].axis == c->cut[i].axis ? on_axis + 1 : 1;
        boxes = boxes / on_axis * (on_axis + 1);
    }
    return boxes;
}

/* --- a value within a box ------------------------------------------------------------------ */

typedef struct {
    int ndim;
    int64_t start[VP__MAXDIM], dims[VP__MAXDIM];
} box;

/* The dims that a part of a tree has in a box: axes of length 1 keep it. */
static void set_dims(vp__expr *part, const vp__expr *e, const box *b) {
    const int64_t *dims = b->dims + b->ndim - e->ndim;
    for (int i = 0; i < e->ndim; i++) part->dims[i] = e->dims[i] == 1 ? 1 : dims[i];
}

static vp__expr *leaf_in(const vp__expr *e, const box *b) {
    const vp__expr *leaf = e->kind == VP__EXPR_ROLL ? e->arg[0] : e;
    const int64_t *start = b->start + b->ndim - e->ndim;
    int64_t dims[VP__MAXDIM], offset = leaf->offset;
    for (int i = 0; i < e->ndim; i++) {
        dims[i] = e->dims[i] == 1 ? 1 : b->dims[b->ndim - e->ndim + i];
        if (e->dims[i] == 1) continue;
        int64_t at = start[i] - (e == leaf ? 0 : e->strides[i]);
        if (at < 0) at += e->dims[i];
        offset += at * leaf->strides[i];
    }
    vp__expr *part = vp__expr_leaf(leaf->storage, NULL, (vp_dtype)e->dtype, offset,
                                   e->ndim, dims, leaf->strides, false, e->where);
    part->is_box = part->kind == VP__EXPR_LEAF;
    part->reads = vp__expr_region(leaf);
    return part;
}

/* The layout that all operands have in common, if they do and none is broadcast. */
static const vp__expr *common_layout(const vp__expr *e) {
    const vp__expr *like = NULL;
    for (int i = 0; i < e->nargs; i++) {
        const vp__expr *a = e->arg[i];
        if (a->kind == VP__EXPR_CONST) continue;
        if (!a->like || !vp__shape_equal(a->ndim, a->dims, e->ndim, e->dims)) return NULL;
        if (like && !vp__expr_alike(like, a->like)) return NULL;
        like = a->like;
    }
    return like;
}

static vp__expr *part_in(const vp__expr *e, const box *b) {
    if (e->kind == VP__EXPR_LEAF || e->kind == VP__EXPR_ROLL) return leaf_in(e, b);
    vp__expr *part = vp__expr_new((vp__expr_kind)e->kind, e->ndim, e->where);
    if (part->generation == 0) return part;
    part->op = e->op;
    part->type = e->type;
    part->dtype = e->dtype;
    part->terms = e->terms;
    part->leaves = e->leaves;
    memcpy(&part->value, &e->value, sizeof e->value);
    set_dims(part, e, b);
    part->count = vp__shape_count(e->ndim, part->dims, 1);
    part->cost = e->cost * (float)part->count / (float)e->count;
    for (int i = 0; i < e->nargs; i++) {
        vp__expr *arg = part_in(e->arg[i], b);
        if (arg->kind == VP__EXPR_POISON) { /* no record was left */
            vp__expr_free(part);
            return arg;
        }
        part->arg[i] = arg;
        part->nargs = (uint8_t)(i + 1);
    }
    part->like = common_layout(part);
    return part;
}

/* --- sending the boxes ---------------------------------------------------------------------- */

typedef struct {
    const vp__expr *value;
    const vp__destination *to;
    const vp__target *target; /* of the whole value */
    const cuts *cuts;
    box box;
} work;

static bool send_box(const work *w) {
    const box *b = &w->box;
    vp__expr *part = part_in(w->value, b);
    if (part->kind == VP__EXPR_POISON) {
        vp__expr_free(part);
        return false;
    }
    vp__target t = *w->target;
    t.dims = b->dims;
    for (int i = 0; i < b->ndim; i++) t.offset += b->start[i] * t.strides[i];
    vp__destination d;
    vp__destination_put(&d, &t, part);
    d.storage = w->to->storage; /* found, or made, for all of them */
    d.in_place = d.is_box = true;
    vp__storage_retain(d.storage);
    const bool sent = vp__send(part, &d, NULL, NULL);
    vp__storage_release(d.storage);
    vp__expr_free(part);
    return sent;
}

/* The boxes of those whose ranges along the axes before this one are set. */
static bool send_boxes(work *w, int axis, int cut) {
    box *b = &w->box;
    if (axis == b->ndim) return send_box(w);
    const cuts *c = w->cuts;
    int last = cut;
    while (last < c->count && c->cut[last].axis == axis) last++;
    b->start[axis] = 0;
    for (;; cut++) {
        const int64_t end = cut < last ? c->cut[cut].at : w->value->dims[axis];
        b->dims[axis] = end - b->start[axis];
        if (!send_boxes(w, axis + 1, last)) return false;
        if (cut == last) return true;
        b->start[axis] = end;
    }
}

/* The layouts of a tree's leaves along the axes of its value. */
static int list_strides(const vp__expr *e, const vp__expr *value,
                        int64_t strides[][VP__MAXDIM], int n) {
    if (e->kind == VP__EXPR_LEAF) {
        vp__shape_expand_strides(value->ndim, value->dims, e->ndim, e->dims, e->strides,
                                 strides[n]);
        return n + 1;
    }
    for (int i = 0; i < e->nargs; i++) n = list_strides(e->arg[i], value, strides, n);
    return n;
}

/* Lays a value out as its leaves are. */
static void lay_out(const vp__expr *value, int64_t *dims, int64_t *strides) {
    int64_t leaf[VP__SEGMENT_LEAVES][VP__MAXDIM];
    const int64_t *list[VP__SEGMENT_LEAVES];
    const int n = list_strides(value, value, leaf, 0);
    for (int i = 0; i < n; i++) list[i] = leaf[i];
    memcpy(dims, value->dims, (size_t)value->ndim * sizeof(int64_t));
    vp__layout_like(value->ndim, dims, vp__dtype[value->dtype].size, n, list, strides);
}

/* Into storage that nobody else knows: for its boxes it is an array like any other. */
static bool send_fresh(work *w, int64_t *dims, int64_t *strides) {
    lay_out(w->value, dims, strides);
    vp__storage_retain(w->to->storage);
    vp__buffer *buffer = vp__buffer_new(w->to->storage);
    if (!buffer) {
        vp__storage_release(w->to->storage);
        return false;
    }
    vp__layout whole = {.ndim = w->value->ndim};
    memcpy(whole.dims, dims, (size_t)whole.ndim * sizeof(int64_t));
    memcpy(whole.strides, strides, (size_t)whole.ndim * sizeof(int64_t));
    const vp__target t = {buffer, (vp_dtype)w->value->dtype, whole.ndim, 0, dims, strides,
                          &whole};
    w->target = &t;
    const bool sent = send_boxes(w, 0, 0);
    vp__buffer_release(buffer);
    return sent;
}

/* Gives a tree storage of its own; false without memory. */
static bool settle(vp__expr *e) {
    vp__value v;
    vp__value_init(&v, e);
    vp__destination d;
    if (!vp__destination_fresh(&d, e->late ? -1 : e->count * vp__dtype[e->dtype].size))
        return false;
    if (!vp__roll_send(e, &d, v.dims, v.strides)) {
        vp__storage_release(d.storage);
        return false;
    }
    v.storage = d.storage;
    v.late = e->late;
    vp__value_replace(e, &v);
    return true;
}

static bool settle_all(vp__expr *e, vp__expr_kind kind) {
    if (e->kind == kind) return settle(e);
    for (int i = 0; i < e->nargs; i++)
        if (!settle_all(e->arg[i], kind)) return false;
    return true;
}

bool vp__roll_send(vp__expr *value, vp__destination *d, int64_t *dims, int64_t *strides) {
    if (__builtin_expect(value->rolls == 0, 1)) return vp__send(value, d, dims, strides);
    cuts c = {.count = 0};
    if (value->late || value->count == 0 || !find_cuts(&c, value, value->ndim) ||
        count_boxes(&c) > BOXES)
        return settle_all(value, VP__EXPR_ROLL) && vp__send(value, d, dims, strides);
    if (!settle_all(value, VP__EXPR_REDUCE)) return false;
    if (d->target) {
        if (!settle(value)) return false;
        d->in_place = d->fits;
        d->own = 0;
        return vp__send(value, d, dims, strides);
    }
    work w = {.value = value, .to = d, .cuts = &c};
    w.box.ndim = value->ndim;
    return send_fresh(&w, dims, strides);
}
