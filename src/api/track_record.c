/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording a track: what the instructions of one iteration were, on the long way, between
 * one put that a bundle gathered and the next.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/build.h"
#include "api/held.h"
#include "api/track.h"
#include "array/shape.h"
#include "base/config.h"
#include "issue/issuer.h"

static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static void leave(void *track) {
    vp__track *t = track;
    vp__track_drop_puts(t);
    free(t); /* the records are its thread's, and go with that */
    vp__track_mine = NULL;
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

/* NULL without memory: nothing is recorded then. */
static vp__track *own_track(void) {
    if (vp__track_mine) return vp__track_mine;
    vp__track *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_once(&leaving_once, make_key);
    pthread_setspecific(leaving, t);
    return vp__track_mine = t;
}

/* What is recorded becomes no track. */
static void stop(vp__track *t) {
    t->records = false;
    vp__track_drop_puts(t);
}

static vp__track_step *add_step(vp__track *t, vp__track_what what, const char *where) {
    if (t->nsteps == VP__TRACK_STEPS) {
        stop(t);
        return NULL;
    }
    t->given[t->nsteps] = 0;
    vp__track_step *s = &t->step[t->nsteps++];
    memset(s, 0, sizeof *s);
    s->what = (uint8_t)what;
    s->where = where;
    s->parts = (int8_t)t->nparts;
    return s;
}

/* A part that a leaf reads, of a named array; or NULL. */
static vp__track_part *add_part(vp__track *t, uint64_t array, const vp__expr *leaf) {
    if (t->nparts == VP__PINS || leaf->kind != VP__EXPR_LEAF || leaf->late ||
        leaf->ndim > VP__EXPR_AXES) {
        stop(t);
        return NULL;
    }
    vp__track_part *p = &t->part[t->nparts];
    memset(p, 0, sizeof *p);
    p->array = array;
    p->storage = leaf->storage;
    p->buffer = leaf->buffer;
    p->base = p->offset = leaf->offset;
    p->dtype = leaf->dtype;
    p->ndim = leaf->ndim;
    memcpy(p->dims, leaf->dims, (size_t)leaf->ndim * sizeof(int64_t));
    memcpy(p->strides, leaf->strides, (size_t)leaf->ndim * sizeof(int64_t));
    t->leaf_of[t->nparts++] = leaf;
    return p;
}

/* A number, which may come to be another in each iteration. */
static void add_number(vp__track *t, vp__track_arg *a, const vp__expr *built) {
    if (t->nnumbers == VP__PACE_NUMBERS) return;
    a->from = t->nnumbers++;
    t->number[a->from] = (vp__track_number){.kind = (uint8_t)a->kind,
                                            .put = (int8_t)t->nputs,
                                            .term = -1,
                                            .bits = a->bits,
                                            .built = built};
}

/* An argument of a step; `built` is what it became. */
static void add_argument(vp__track *t, vp__track_step *s, int i, vp_operand x,
                         const vp__expr *built) {
    vp__track_arg *a = &s->arg[i];
    a->kind = x.kind;
    a->bits = x.bits;
    if (x.kind == VP__IN_ARRAY) {
        a->from = t->nparts;
        if (!add_part(t, x.bits, built)) return;
        s->reads = true;
        s->parts = (int8_t)t->nparts;
        return;
    }
    a->from = -1;
    if (x.kind == VP__IN_FLOAT || x.kind == VP__IN_INT) add_number(t, a, built);
    if (x.kind != VP__IN_EXPR) return;
    for (int k = 0; k < t->nsteps - 1; k++) {
        if (t->given[k] != x.bits) continue;
        a->from = k;
        a->mask = UINT64_MAX;
        t->given[k] = 0; /* used up */
        return;
    }
    stop(t); /* of before the iteration */
}

void vp__track_note_op(vp__track *t, int op, const char *where, int nargs,
                       const vp_operand *x, vp__expr *const *args) {
    vp__track_step *s = add_step(t, VP__TRACK_OP, where);
    if (!s) return;
    s->op = (uint8_t)op;
    s->nargs = (uint8_t)nargs;
    for (int i = 0; i < nargs; i++) add_argument(t, s, i, x[i], args[i]);
}

void vp__track_note_reduce(vp__track *t, int op, const char *where, vp_operand x,
                           const vp_axes_t *axes, vp_dtype dtype, int keepdims,
                           const vp__expr *arg) {
    vp__track_step *s = add_step(t, VP__TRACK_REDUCE, where);
    if (!s) return;
    if (op > UINT8_MAX || (axes && axes->count > VP__EXPR_AXES)) {
        stop(t);
        return;
    }
    s->op = (uint8_t)op;
    s->nargs = 1;
    s->dtype = dtype;
    s->keepdims = keepdims != 0;
    s->every = !axes;
    s->naxes = axes ? axes->count : 0;
    for (int i = 0; i < s->naxes; i++) s->axis[i] = axes->axis[i];
    add_argument(t, s, 0, x, arg);
}

/* What each item of a selection applies to. */
static void add_items(vp__track *t, vp__track_part *p, const vp_index *at,
                      const int64_t *dims, const int64_t *strides) {
    int from = 0, to = 0;
    if (at->count > VP__TRACK_ITEMS) {
        stop(t);
        return;
    }
    p->nitems = (int8_t)at->count;
    for (int i = 0; i < at->count; i++) {
        const vp_sel *s = &at->item[i];
        vp__track_item *m = &p->item[i];
        m->kind = (uint8_t)s->kind;
        m->axis = (int8_t)to;
        switch (s->kind) {
        case VP__SEL_INDEX:
        case VP__SEL_RANGE:
            m->dim = dims[from];
            m->stride = strides[from++];
            if (s->kind == VP__SEL_INDEX) break;
            m->step = s->step;
            m->length = p->dims[to++];
            if (m->length == 0) stop(t);
            break;
        case VP__SEL_ALL:
            from++;
            to++;
            break;
        case VP__SEL_NEWAXIS: to++; break;
        case VP__SEL_ELLIPSIS: /* what follows counts from the end */
        case VP__SEL_ARRAY: stop(t); return;
        }
    }
}

/* How far a part reaches, if that is the same wherever it begins. */
static void measure(vp__track_part *p) {
    const vp__region r =
        vp__region_of(p->offset, p->ndim, p->dims, p->strides, vp__dtype[p->dtype].size);
    p->from = r.period ? 0 : r.lo - p->offset;
    p->to = r.period ? 0 : r.hi - p->offset;
}

void vp__track_note_get(vp__track *t, const char *where, vp_operand x, const vp_index *at,
                        const vp__expr *e) {
    vp__track_step *s = add_step(t, VP__TRACK_GET, where);
    if (!s) return;
    s->part = (int8_t)t->nparts;
    vp__track_part *p = add_part(t, x.bits, e);
    if (!p) return;
    s->reads = true;
    s->parts = (int8_t)t->nparts;
    vp__name *n = vp__held_lock((vp_array){(uint32_t)x.bits, (uint32_t)(x.bits >> 32)});
    if (!n) {
        stop(t);
        return;
    }
    p->base = n->offset;
    add_items(t, p, at, n->dims, n->strides);
    vp__name_unlock(n);
}

void vp__track_noted(vp__track *t, const vp__expr *e) {
    if (e->kind == VP__EXPR_POISON || e->generation == 0) stop(t);
    /* As it will be when it has been given out. */
    t->given[t->nsteps - 1] = vp__handle_bits(e->slot, e->generation + 1);
}

/* The leaves of a tree, in the order of a recipe's. */
typedef struct {
    vp__track *track;
    int terms, n;
    const vp__expr *leaf[VP__PINS];
} tree;

/* Notes as which term of the recipe a number stands there. As integers and truth values, and as
 * operands of which only the truth counts, numbers have rules of their own (build.c): those stay
 * as they are. */
static void find_number(vp__track *t, const vp__expr *e, const vp__expr *user, int term) {
    vp__track_number *n = t->number, *end = n + t->nnumbers;
    while (n < end && (n->built != e || n->put != t->nputs)) n++;
    const int cls = vp__dtype[e->dtype].cls;
    if (n == end || (cls != VP__CLASS_F && cls != VP__CLASS_C) ||
        vp__op_is_logical(user->op))
        return;
    n->term = term;
    n->dtype = e->dtype;
}

static void list_leaves(tree *l, const vp__expr *e, const vp__expr *user) {
    for (int i = 0; i < e->nargs; i++) list_leaves(l, e->arg[i], e);
    if (e->kind == VP__EXPR_LEAF) {
        if (l->n < VP__PINS) l->leaf[l->n] = e;
        l->n++;
    } else if (e->kind == VP__EXPR_CONST) {
        find_number(l->track, e, user, l->terms);
    }
    l->terms++;
}

/* Finds out which part each leaf of the value is; false if there is anything else than what was
 * noted since the last put. */
static bool match_leaves(vp__track *t, vp__track_put_at *put, const vp__expr *value) {
    tree list = {.track = t};
    list_leaves(&list, value, value);
    put->nleaves = list.n;
    if (list.n != t->nparts - t->parts_before || list.n == 0) return false;
    for (int i = 0; i < list.n; i++) {
        const vp__expr *leaf = list.leaf[i];
        int k = t->parts_before;
        while (k < t->nparts && t->leaf_of[k] != leaf) k++;
        if (k == t->nparts || t->part[k].storage != leaf->storage ||
            t->part[k].offset != leaf->offset || t->part[k].ndim != leaf->ndim)
            return false;
        t->leaf_of[k] = NULL; /* each once */
        put->leaf[i] = (int8_t)k;
    }
    return true;
}

static bool all_used(const vp__track *t) {
    for (int i = 0; i < t->nsteps - 1; i++)
        if (t->given[i]) return false;
    return true;
}

static void note_target(vp__track *t, vp__track_part *p, vp_array a, const vp_index *at,
                        const vp__layout *whole, const vp__target *target) {
    memset(p, 0, sizeof *p);
    p->array = vp__handle_bits(a.slot, a.generation);
    p->buffer = target->buffer;
    p->base = whole->offset;
    p->offset = target->offset;
    p->dtype = (uint8_t)target->dtype;
    p->ndim = (int8_t)target->ndim;
    memcpy(p->dims, target->dims, (size_t)p->ndim * sizeof(int64_t));
    memcpy(p->strides, target->strides, (size_t)p->ndim * sizeof(int64_t));
    add_items(t, p, at, whole->dims, whole->strides);
}

void vp__track_note_put(vp__track *t, const char *where, vp_array a, const vp_index *at,
                        const vp__layout *whole, const vp__target *target, vp_operand x,
                        const vp__expr *value) {
    vp__track_step *s = add_step(t, VP__TRACK_PUT, where);
    if (!s) return;
    if (t->nputs == VP__TRACK_PUTS || x.kind != VP__IN_EXPR ||
        target->ndim > VP__EXPR_AXES) {
        stop(t);
        return;
    }
    s->part = (int8_t)t->nputs;
    s->any_length = value->ndim == 0 && target->ndim > 0;
    vp__track_put_at *put = &t->put[t->nputs];
    add_argument(t, s, 0, x, NULL);
    if (!t->records || !all_used(t) || !match_leaves(t, put, value)) {
        stop(t);
        return;
    }
    note_target(t, &put->target, a, at, whole, target);
    if (!t->records) return; /* its selection is none that can be followed */
    /* Its recipe is known when a bundle has gathered it. */
    put->form = vp__bundle_form_of(
        NULL, value,
        vp__shape_equal(value->ndim, value->dims, target->ndim, target->dims));
    t->nputs++;
}

/* --- from a recording to a track -------------------------------------------------------- */

static void free_records(vp__track *t) {
    for (int i = 0; i < t->nsteps; i++) {
        if (t->step[i].record)
            vp__expr_unreserve(t->step[i].record, (uint32_t)(t->round >> 32));
        t->step[i].record = NULL;
    }
}

/* Arguments are the records of earlier steps. */
static void name_arguments(vp__track *t) {
    for (int i = 0; i < t->nsteps; i++)
        for (int k = 0; k < 3; k++) {
            vp__track_arg *a = &t->step[i].arg[k];
            if (a->mask) a->bits = t->step[a->from].record->slot;
        }
}

/* A record for each step, all of one generation. */
static bool reserve_records(vp__track *t) {
    uint32_t generation = 0;
    bool all = true;
    for (int i = 0; i < t->nsteps; i++) {
        vp__expr *e = t->step[i].record ? t->step[i].record : vp__expr_reserve();
        t->step[i].record = e;
        if (!e)
            all = false;
        else if (e->generation > generation)
            generation = e->generation;
    }
    if (generation < (uint32_t)(t->round >> 32)) generation = (uint32_t)(t->round >> 32);
    t->round = ((uint64_t)generation + 1) << 32;
    all = all && generation + 1 < VP__EXPR_GENERATIONS;
    if (all)
        name_arguments(t);
    else
        free_records(t);
    return all;
}

static bool is_several(void) {
    /* relaxed: it never ends being so, and the track asks again. */
    return atomic_load_explicit(&vp__many_issuers, memory_order_relaxed);
}

/* Finds out which leaf of the recipe is which part or number. False if one is neither. */
static bool match_recipe(vp__track *t, vp__track_put_at *put, const vp__recipe *recipe) {
    const vp__segment *seg = &recipe->seg;
    int parts = 0;
    if (seg->nleaves > VP__PACE_LEAVES) return false;
    for (int k = 0; k < t->nnumbers; k++)
        if (t->number[k].put == put - t->put) t->number[k].given = false;
    for (int i = 0; i < seg->nterms; i++) {
        if (seg->term[i].kind != VP__EXPR_LEAF) continue;
        int8_t *source = &put->source[seg->term[i].leaf];
        if (!(recipe->given >> i & 1)) {
            *source = put->leaf[parts++];
            continue;
        }
        int k = 0;
        while (k < t->nnumbers &&
               (t->number[k].put != put - t->put || t->number[k].term != i))
            k++;
        if (k == t->nnumbers) return false;
        t->number[k].given = true;
        *source = (int8_t)~k;
    }
    return true;
}

static vp__storage *storage_of(vp__buffer *b) {
    vp__spin_lock(&b->lock);
    vp__storage *s = b->storage;
    vp__spin_unlock(&b->lock);
    return s;
}

/* Whether an array has still the storage that was noted. */
static bool is_current(const vp__track_part *p) {
    vp__name *n =
        vp__held_lock((vp_array){(uint32_t)p->array, (uint32_t)(p->array >> 32)});
    if (!n) return false;
    const bool current = n->buffer && storage_of(n->buffer) == p->storage;
    vp__name_unlock(n);
    return current;
}

/* A put that took the long way may have given its array another storage, which other puts of the
 * iteration read or write too. */
static bool are_current(const vp__track *t) {
    for (int i = 0; i < t->nparts; i++)
        if (!is_current(&t->part[i])) return false;
    for (int i = 0; i < t->nputs; i++)
        if (!is_current(&t->put[i].target)) return false;
    return true;
}

/* Whether the iteration reads a storage. */
static bool is_read(const vp__track *t, const vp__storage *s) {
    for (int i = 0; i < t->nparts; i++)
        if (t->part[i].storage == s) return true;
    return false;
}

/* Whether one of the first n puts has the slot for its bundles. */
static bool has_slot(const vp__track *t, int n, int slot) {
    for (int i = 0; i < n; i++)
        if (t->put[i].pace.slot == slot) return true;
    return false;
}
_Static_assert((int)VP__TRACK_PUTS <= (int)VP__OPEN, "each has a slot of its own");

/* The iteration that was recorded is the track. */
static void begin_track(vp__track *t) {
    /* Puts that share arrays are not gathered (issue/bundle.c), as a rule. Where it matters that
     * they do not, nothing relies on that. */
    bool ahead = true;
    for (int i = 0; i < t->nparts; i++) measure(&t->part[i]);
    for (int i = 0; i < t->nputs; i++) ahead &= !is_read(t, t->put[i].target.storage);
    for (int i = 0; i < t->nputs; i++) {
        vp__pace *pace = &t->put[i].pace;
        pace->ahead = ahead;
        while (has_slot(t, i, pace->slot)) pace->slot = (pace->slot + 1) % VP__OPEN;
    }
    for (int i = 0; i < t->nsteps; i++) {
        if (t->step[i].what != VP__TRACK_PUT) continue;
        vp__track_part *p = &t->put[t->step[i].part].target;
        measure(p);
        if (t->step[i].any_length) p->from = p->to; /* each is another */
    }
}

/* What is issued from now on becomes a track, if it ends with the same put again. */
static void begin_recording(vp__track *t, const char *where, vp_array a) {
    vp__track_forget(t);
    t->records = true;
    t->ends_where = where;
    t->ends_array = vp__handle_bits(a.slot, a.generation);
}

/* A put of the track has been gathered, in the long way: takes over the recipe. */
static void note_gathered(vp__track *t, vp__track_put_at *put, const vp__issuer *issuer) {
    put->pace.bundle = issuer->bundle;
    if (t->records || !has_slot(t, t->nputs, issuer->bundle_slot))
        put->pace.slot = issuer->bundle_slot;
    put->pace.left = 0;
    if (put->form.recipe) vp__recipe_release(put->form.recipe);
    put->form.recipe = issuer->bundled;
}

/* Follows the track from the step after a put on. False if it cannot be followed any more. */
static bool follow(vp__core *core, vp__track *t, int step) {
    if (!are_current(t) || !reserve_records(t)) return false;
    t->records = false;
    t->since = (step + 1) % t->nsteps;
    t->at = t->step + t->since;
    for (int k = 0; k < t->nparts; k++)
        core->pin[k] = (vp__pin){t->part[k].storage, t->part[k].buffer};
    return true;
}

/* A put that resumes the track, since only its bundle was missing. */
static bool resume(vp__core *core, vp__track *t, const vp__target *target) {
    vp__track_put_at *put = &t->put[t->step[t->since].part];
    const uint64_t given = put->form.recipe->given;
    t->resumes = false;
    note_gathered(t, put, core->issuer);
    /* With a constant in it that was given before, it is a recipe of this iteration's alone. */
    return put->target.buffer == target->buffer && !(given & ~put->form.recipe->given) &&
           match_recipe(t, put, put->form.recipe) && follow(core, t, t->since);
}

/* Whether a put before it writes the same array: one bundle may gather both, but each would have
 * its own if they were followed, and wait for the other's. */
static bool has_target(const vp__track *t, const vp__track_put_at *put) {
    for (const vp__track_put_at *p = t->put; p < put; p++)
        if (p->target.buffer == put->target.buffer) return true;
    return false;
}

/* A put that was recorded. False if the recording has come to nothing. */
static bool record_put(vp__core *core, vp__track *t, const char *where, vp_array a,
                       const vp__target *target) {
    vp__track_put_at *put = &t->put[t->nputs - 1];
    put->target.storage = storage_of(target->buffer);
    note_gathered(t, put, core->issuer);
    if (has_target(t, put) || !match_recipe(t, put, put->form.recipe)) return false;
    t->parts_before = t->nparts;
    if (where != t->ends_where || vp__handle_bits(a.slot, a.generation) != t->ends_array)
        return true; /* the iteration goes on */
    if (t->nsteps < 2) return false;
    begin_track(t);
    return follow(core, t, t->nsteps - 1);
}

void vp__track_pass_put(const vp__core *core) {
    vp__issuer *issuer = core->issuer;
    if (!issuer || !issuer->bundled) return;
    vp__recipe_release(issuer->bundled);
    issuer->bundled = NULL;
}

void vp__track_end_put(vp__core *core, const char *where, vp_array a,
                       const vp__target *target) {
    vp__issuer *issuer = core->issuer;
    vp__recipe *recipe = issuer ? issuer->bundled : NULL; /* ours from here on */
    vp__track *t = vp__track_mine;
    if (!recipe || is_several() || vp__config_get()->without & VP__WITHOUT_REPLAY) {
        if (t) vp__track_forget(t);
        if (recipe) vp__recipe_release(recipe);
    } else if (!t && !(t = own_track())) {
        vp__recipe_release(recipe);
    } else if (t->resumes) {
        if (!resume(core, t, target)) begin_recording(t, where, a);
    } else if (t->records) {
        if (!record_put(core, t, where, a, target)) begin_recording(t, where, a);
    } else {
        vp__recipe_release(recipe);
        begin_recording(t, where, a);
    }
    if (issuer) issuer->bundled = NULL;
}
