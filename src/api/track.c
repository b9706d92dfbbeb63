/* SPDX-License-Identifier: Apache-2.0
 *
 * Following a track, and leaving it.
 */
#include "api/track.h"

#include <string.h>

#include "api/build.h"
#include "api/fold.h"
#include "array/shape.h"
#include "issue/bundle.h"
#include "net/core.h"
#include "ops/kernels.h"

_Thread_local vp__track *vp__track_mine;

/* --- leaving ------------------------------------------------------------------------------ */

static vp__expr *leaf_of(const vp__track_part *p, const char *where) {
    return vp__expr_leaf(p->storage, p->buffer, (vp_dtype)p->dtype, p->offset, p->ndim,
                         p->dims, p->strides, false, where);
}

/* Whether an operand is a number that may be another each time. */
static bool is_given(const vp__track *t, const vp__track_arg *a) {
    return a->kind >= VP__IN_BOOL && a->from >= 0 && t->number[a->from].given;
}

static vp__expr *build_operand(const vp__track *t, const vp__track_arg *a,
                               vp__expr **made, const char *where) {
    if (a->kind == VP__IN_ARRAY) return leaf_of(&t->part[a->from], where);
    if (a->kind != VP__IN_EXPR) {
        const uint64_t bits = is_given(t, a) ? t->number[a->from].bits : a->bits;
        return vp__build_number(vp__in_bits((vp__in_kind)a->kind, bits), where);
    }
    vp__expr *e = made[a->from];
    made[a->from] = NULL;
    return e;
}

static vp__expr *build_step(const vp__track *t, const vp__track_step *s,
                            vp__expr **made) {
    if (s->what == VP__TRACK_GET) return leaf_of(&t->part[s->part], s->where);
    vp__expr *args[3];
    for (int i = 0; i < s->nargs; i++)
        args[i] = build_operand(t, &s->arg[i], made, s->where);
    if (s->what == VP__TRACK_OP) return vp__apply(s->op, s->where, s->nargs, args);
    vp_axes_t axes = {.count = s->naxes};
    memcpy(axes.axis, s->axis, sizeof s->axis);
    return vp__fold(s->op, s->where, args[0], s->every ? NULL : &axes, s->dtype,
                    s->keepdims);
}

/* Builds what has been noted since the last put: the expressions that nobody has used yet get
 * the handles that were given out. */
static void build_noted(vp__track *t) {
    vp__expr *made[VP__TRACK_STEPS];
    const int noted = (int)(t->at - t->step);
    t->at = NULL;
    for (int i = t->since; i < noted; i++) made[i] = build_step(t, &t->step[i], made);
    for (int i = t->since; i < noted; i++) {
        if (!made[i]) continue;
        vp__expr_move(t->step[i].record, made[i], (uint32_t)(t->round >> 32));
        t->step[i].record->depth = (uint16_t)vp__scope_depth();
        vp__expr_link(t->step[i].record);
        t->step[i].record = NULL;
    }
    vp__core_unpin(vp__core_self());
}

void vp__track_drop_puts(vp__track *t) {
    for (int i = 0; i < t->nputs; i++) {
        if (t->put[i].form.recipe) vp__recipe_release(t->put[i].form.recipe);
        t->put[i].form.recipe = NULL;
    }
    t->nputs = 0;
}

/* None of the handles that its records stand for is valid any more. */
void vp__track_forget(vp__track *t) {
    for (int i = 0; i < t->nsteps; i++) {
        vp__expr *e = t->step[i].record;
        if (e) vp__expr_unreserve(e, (uint32_t)(t->round >> 32));
        t->step[i].record = NULL;
    }
    vp__track_drop_puts(t);
    t->at = NULL;
    t->records = t->resumes = false;
    t->nsteps = t->nparts = t->nnumbers = t->since = t->parts_before = 0;
    t->round = 0;
}

void vp__track_leave(vp__track *t) {
    if (t->at) build_noted(t);
    vp__track_forget(t);
}

/* --- following ---------------------------------------------------------------------------- */

/* Whether an operand is like the one recorded; notes it if it may differ. */
static bool is_arg(vp__track *t, const vp__track_arg *a, vp_operand x) {
    if (x.kind != a->kind) return false;
    if (!is_given(t, a)) return x.bits == a->bits + (t->round & a->mask);
    t->number[a->from].bits = x.bits;
    return true;
}

static bool is_step(const vp__track_step *s, vp__track_what what, const char *where) {
    return s->what == what && s->where == where;
}

/* Notes the parts that a step reads, where another thread that begins to issue finds them.
 * False if one has begun. */
static bool note_parts(const vp__track_step *s) {
    vp__core *core = vp__core_self();
    const bool alone = vp__core_alone_begin(core);
    /* relaxed: announce_issuer looks after its barrier, when `reading` is false. */
    if (alone) atomic_store_explicit(&core->npins, s->parts, memory_order_relaxed);
    vp__core_alone_end(core);
    return alone;
}

static vp_expr go_on(vp__track *t, const vp__track_step *s) {
    t->at++;
    return (vp_expr){s->record->slot, (uint32_t)(t->round >> 32)};
}

/* Whether a selection is like the one recorded; notes where it begins. With `any_length` its
 * ranges may be of other lengths, but not empty. */
static bool select_part(vp__track_part *p, const vp_index *at, bool any_length) {
    if (at->count != p->nitems) return false;
    int64_t offset = p->base;
    for (int i = 0; i < p->nitems; i++) {
        const vp_sel *s = &at->item[i];
        const vp__track_item *m = &p->item[i];
        if ((unsigned)s->kind != m->kind) return false;
        if (m->kind == VP__SEL_INDEX) {
            const int64_t k = s->start < 0 ? s->start + m->dim : s->start;
            if (k < 0 || k >= m->dim) return false;
            offset += k * m->stride;
        } else if (m->kind == VP__SEL_RANGE) {
            if (s->step != m->step) return false;
            int64_t start;
            const int64_t length = vp__range_clip(s, m->dim, &start);
            if (length != m->length && (!any_length || m->step != 1 || length == 0))
                return false;
            p->dims[m->axis] = length;
            offset += start * m->stride;
        }
    }
    p->offset = offset;
    return true;
}

static vp__region region_of(const vp__track_part *p) {
    if (p->from < p->to)
        return (vp__region){p->offset + p->from, p->offset + p->to, 0, 0, 0};
    return vp__region_of(p->offset, p->ndim, p->dims, p->strides,
                         vp__dtype[p->dtype].size);
}

bool vp__track_get(vp__track *t, const char *where, vp_operand x, const vp_index *at,
                   vp_expr *result) {
    const vp__track_step *s = t->at;
    if (!s) return false;
    vp__track_part *p = &t->part[s->part];
    if (is_step(s, VP__TRACK_GET, where) && x.kind == VP__IN_ARRAY &&
        x.bits == p->array && select_part(p, at, false) && note_parts(s)) {
        *result = go_on(t, s);
        return true;
    }
    vp__track_leave(t);
    return false;
}

bool vp__track_op(vp__track *t, int op, const char *where, int nargs, const vp_operand *x,
                  vp_expr *result) {
    const vp__track_step *s = t->at;
    if (!s) return false;
    bool same = is_step(s, VP__TRACK_OP, where) && s->op == op && s->nargs == nargs;
    for (int i = 0; same && i < nargs; i++) same = is_arg(t, &s->arg[i], x[i]);
    if (same && (!s->reads || note_parts(s))) {
        *result = go_on(t, s);
        return true;
    }
    vp__track_leave(t);
    return false;
}

static bool are_axes(const vp__track_step *s, const vp_axes_t *axes) {
    if (!axes || s->every) return !axes && s->every;
    if (axes->count != s->naxes) return false;
    for (int i = 0; i < s->naxes; i++)
        if (axes->axis[i] != s->axis[i]) return false;
    return true;
}

bool vp__track_reduce(vp__track *t, int op, const char *where, vp_operand x,
                      const vp_axes_t *axes, vp_dtype dtype, int keepdims,
                      vp_expr *result) {
    const vp__track_step *s = t->at;
    if (!s) return false;
    if (is_step(s, VP__TRACK_REDUCE, where) && s->op == op && is_arg(t, &s->arg[0], x) &&
        are_axes(s, axes) && s->dtype == dtype && s->keepdims == (keepdims != 0) &&
        (!s->reads || note_parts(s))) {
        *result = go_on(t, s);
        return true;
    }
    vp__track_leave(t);
    return false;
}

/* Whether a write covers its storage, which may then be renamed. */
static bool covers(const vp__track_part *p, const vp__target *t, const vp__region *r) {
    return r->hi - r->lo == p->storage->bytes && vp__target_covers(t, p->storage);
}

/* What a number is as a constant; as build.c converts it. */
static void convert(const vp__track_number *n, uint64_t value[2]) {
    const vp_dtype from = n->kind == VP__IN_FLOAT ? VP_F64 : VP_I64;
    value[0] = n->bits;
    value[1] = 0;
    if (n->dtype == from) return;
    value[0] = 0;
    vp__kernels_get()->cast[from][n->dtype](value, &n->bits, 1);
}

static void find_leaf(const vp__track *t, int source, vp__bundle_leaf *leaf) {
    leaf->storage = NULL;
    leaf->offset = 0;
    if (source < 0) {
        convert(&t->number[~source], leaf->value);
        return;
    }
    const vp__track_part *p = &t->part[source];
    leaf->storage = p->storage;
    leaf->offset = p->offset;
    leaf->region = region_of(p);
}

/* Adds the iteration to the open bundle, or to one that is opened for it. */
static bool gather(vp__core *core, vp__track *t, vp__track_put_at *put) {
    vp__bundle_leaf leaves[VP__PACE_LEAVES];
    for (int i = 0; i < put->form.recipe->seg.nleaves; i++)
        find_leaf(t, put->source[i], &leaves[i]);
    const vp__track_part *p = &put->target;
    const vp__region region = region_of(p);
    const vp__target target = {.buffer = p->buffer,
                               .dtype = (vp_dtype)p->dtype,
                               .ndim = p->ndim,
                               .offset = p->offset,
                               .dims = p->dims,
                               .strides = p->strides};
    /* Only alone may the target's storage be looked at: another thread could give the array
     * another one. */
    const bool fits = vp__core_alone_begin(core) && !covers(p, &target, &region);
    if (fits && vp__bundle_follow(core, &put->pace, &put->form, leaves, &target, &region))
        return true;
    vp__core_alone_end(core);
    return fits && vp__bundle_follow_anew(core, &put->pace, &put->form, leaves, &target,
                                          p->storage, &region);
}

/* To the step after a put, which is the first one of the next iteration after the last. */
static void go_past_put(vp__track *t) {
    if (++t->at == t->step + t->nsteps) {
        t->at = t->step;
        t->round += 1ull << 32;
    }
    t->since = (int)(t->at - t->step);
    if (t->round >> 32 >= VP__EXPR_GENERATIONS) vp__track_leave(t);
}

bool vp__track_put(vp__track *t, const char *where, vp_array a, const vp_index *at,
                   vp_operand x) {
    const vp__track_step *s = t->at;
    if (!s) return false;
    if (!is_step(s, VP__TRACK_PUT, where)) {
        vp__track_leave(t);
        return false;
    }
    vp__track_put_at *put = &t->put[s->part];
    if (vp__handle_bits(a.slot, a.generation) != put->target.array ||
        !is_arg(t, &s->arg[0], x) || !select_part(&put->target, at, s->any_length)) {
        vp__track_leave(t);
        return false;
    }
    if (gather(vp__core_self(), t, put)) {
        go_past_put(t);
        return true;
    }
    const int step = (int)(s - t->step);
    build_noted(t);
    t->resumes = true;
    t->since = step;
    return false;
}
