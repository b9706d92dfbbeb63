/* SPDX-License-Identifier: Apache-2.0
 *
 * Selections: reading and writing parts of arrays, views, takes and finds.
 */
#include <string.h>

#include "generator.h"
#include "ops/ops.h"

typedef struct {
    int count;
    fuzz_item item[FUZZ_ITEMS];
    fuzz_shape result;
    bool fancy;
} choice;

/* Python's rule for the length of a range. */
static int64_t range_length(const fuzz_item *r, int64_t dim) {
    int64_t step = r->step, low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    int64_t from = r->has_start ? r->start : step < 0 ? high : low;
    int64_t to = r->has_stop ? r->stop : step < 0 ? low : high;
    if (r->has_start && from < 0) from += dim;
    if (r->has_stop && to < 0) to += dim;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    if (step > 0) return to > from ? (to - from - 1) / step + 1 : 0;
    return from > to ? (from - to - 1) / -step + 1 : 0;
}

static fuzz_item range_item(fuzz_gen *g, int64_t dim) {
    fuzz_item it = {.kind = VP__SEL_RANGE, .step = 1};
    int64_t a = fuzz_between(&g->r, 0, dim), b = fuzz_between(&g->r, 0, dim);
    if (fuzz_chance(&g->r, 70)) it.has_start = true, it.start = a < b ? a : b;
    if (fuzz_chance(&g->r, 70)) it.has_stop = true, it.stop = a < b ? b : a;
    if (fuzz_chance(&g->r, 20)) it.step = 1 + fuzz_below(&g->r, 3);
    if (fuzz_chance(&g->r, 20)) {
        it.step = -it.step;
        int64_t t = it.start;
        it.start = it.stop;
        it.stop = t;
        bool has = it.has_start;
        it.has_start = it.has_stop;
        it.has_stop = has;
    }
    if (it.has_start && it.start > 0 && fuzz_chance(&g->r, 15)) it.start -= dim;
    if (it.has_stop && fuzz_chance(&g->r, 10)) it.stop += 100; /* is clipped */
    return it;
}

/* An operand of positions along an axis of this length, and its shape. */
static fuzz_operand positions(fuzz_gen *g, int64_t dim, fuzz_shape *s) {
    *s = (fuzz_shape){.ndim = 1, .dims = {fuzz_below(&g->r, 9)}};
    if (fuzz_chance(&g->r, 10)) s->ndim = 0;
    if (fuzz_chance(&g->r, 15)) s->ndim = 2, s->dims[0] = 2, s->dims[1] = 3;
    bool wrong = fuzz_oops(g);
    if (dim == 0 && !wrong) s->ndim = 1, s->dims[0] = 0;
    vp_dtype t =
        fuzz_chance(&g->r, 50) ? VP_I64 : (vp_dtype)(VP_I8 + fuzz_below(&g->r, 8));
    fuzz_instruction *n = fuzz_add(g, FUZZ_FROM);
    n->dtype = (uint8_t)t;
    n->seed = fuzz_next(&g->r);
    n->flag = true;
    int64_t most = dim < 100 ? dim : 100;
    bool is_unsigned = vp__dtype[t].cls == VP__CLASS_U;
    n->low = is_unsigned || dim == 0 ? 0 : -most;
    n->high = dim ? most - 1 : 0;
    if (wrong) n->high = most + 1; /* out of bounds, which is known late */
    fuzz_set_shape(n, s);
    fuzz_define(g, t, s);
    return fuzz_use(g, g->p->count - 1);
}

/* An operand that is a mask over these axes: bits of data, or a comparison. */
static fuzz_operand mask(fuzz_gen *g, const fuzz_shape *axes, int var) {
    if (var >= 0 && g->v[var].array && g->v[var].ndim == axes->ndim && !g->v[var].late &&
        g->v[var].dtype <= VP_F64 && fuzz_chance(&g->r, 60)) {
        fuzz_operand x = {.kind = VP__IN_ARRAY, .var = (int16_t)var};
        fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
        n->op = fuzz_chance(&g->r, 50) ? VP__OP_greater : VP__OP_less_equal;
        n->in[0] = x;
        n->in[1] = (fuzz_operand){.kind = VP__IN_INT, .i = fuzz_below(&g->r, 4)};
        n->nin = 2;
        fuzz_define(g, VP_BOOL, axes);
        return fuzz_use(g, g->p->count - 1);
    }
    return fuzz_use(g, fuzz_make(g, FUZZ_EXPR, VP_BOOL, axes));
}

/* Where the axes of index arrays go, as NumPy has it. */
typedef struct {
    int first, last, count, at;
    fuzz_shape index;
} advanced;

static void note_advanced(advanced *a, int item, int at) {
    if (a->first < 0) a->first = item, a->at = at;
    a->last = item;
    a->count++;
}

/* Chooses a selection of an array. var is the array's variable, for masks made of it. */
static void choose(fuzz_gen *g, choice *c, const fuzz_shape *s, int var,
                   bool may_be_fancy) {
    memset(c, 0, sizeof *c);
    fuzz_shape sub = {.bad = s->bad, .late = s->late};
    advanced adv = {.first = -1};
    bool fancy = may_be_fancy && s->ndim && fuzz_chance(&g->r, 35);
    int axis = 0;
    while (axis < s->ndim && c->count < FUZZ_ITEMS) {
        fuzz_item *it = &c->item[c->count];
        *it = (fuzz_item){.kind = VP__SEL_ALL, .step = 1};
        int64_t dim = s->dims[axis];
        int what = fuzz_below(&g->r, 100);
        if (what < 5 && sub.ndim + s->ndim - axis < 6) {
            it->kind = VP__SEL_NEWAXIS;
            sub.dims[sub.ndim++] = 1;
        } else if (what < 13) { /* the rest, mentioned or not */
            if (fuzz_chance(&g->r, 50)) it->kind = VP__SEL_ELLIPSIS, c->count++;
            break;
        } else if (fancy && what < 55) {
            fuzz_shape own = {0};
            it->kind = VP__SEL_ARRAY;
            if (fuzz_chance(&g->r, 30) && !s->late) {
                int m = 1 + (axis + 1 < s->ndim && fuzz_chance(&g->r, 30));
                if (axis == 0 && fuzz_chance(&g->r, 40)) m = s->ndim;
                fuzz_shape over = {.ndim = m};
                memcpy(over.dims, s->dims + axis, (size_t)m * sizeof over.dims[0]);
                if (fuzz_oops(g)) over.dims[0]++, sub.bad = true;
                it->array = mask(g, &over, axis == 0 ? var : -1);
                own =
                    (fuzz_shape){.ndim = 1, .late = true, .dims = {fuzz_elements(&over)}};
                axis += m - 1;
            } else {
                it->array = positions(g, dim, &own);
            }
            c->fancy = true;
            note_advanced(&adv, c->count, sub.ndim);
            if (!fuzz_shapes_meet(&adv.index, &own)) {
                /* A mask beside other index arrays rarely fits; that is seen late. */
                if (!adv.index.late) adv.index.bad = true;
                fancy = false;
            }
            if (adv.count > 1 || (own.late && !fuzz_chance(&g->r, 15))) fancy = false;
            axis++;
        } else if (what < 70) {
            *it = range_item(g, dim);
            if (fuzz_oops(g) && fuzz_chance(&g->r, 30))
                it->step = 0, sub.bad = true;
            else
                sub.dims[sub.ndim++] = range_length(it, dim);
            axis++;
        } else if (what < 85 && (dim > 0 || fuzz_oops(g))) {
            it->kind = VP__SEL_INDEX;
            bool wrong = dim == 0 || fuzz_oops(g);
            it->start =
                wrong ? dim + fuzz_below(&g->r, 3) : fuzz_between(&g->r, -dim, dim - 1);
            if (s->late) it->start = 0;
            sub.bad |= wrong;
            note_advanced(&adv, c->count, sub.ndim);
            axis++;
        } else {
            sub.dims[sub.ndim++] = dim;
            axis++;
        }
        c->count++;
    }
    for (; axis < s->ndim; axis++) sub.dims[sub.ndim++] = s->dims[axis];
    if (fuzz_oops(g) && c->count < FUZZ_ITEMS && fuzz_chance(&g->r, 40)) {
        c->item[c->count++] = (fuzz_item){.kind = VP__SEL_INDEX, .step = 1};
        c->item[c->count < FUZZ_ITEMS ? c->count++ : 0] = (fuzz_item){.step = 1};
        sub.bad = true;
    }
    c->result = sub;
    if (!c->fancy || sub.ndim + adv.index.ndim > FUZZ_DIMS) return;
    int at = adv.last - adv.first + 1 == adv.count ? adv.at : 0;
    fuzz_shape *r = &c->result;
    memmove(r->dims + at + adv.index.ndim, r->dims + at,
            (size_t)(sub.ndim - at) * sizeof r->dims[0]);
    memcpy(r->dims + at, adv.index.dims, (size_t)adv.index.ndim * sizeof r->dims[0]);
    r->ndim += adv.index.ndim;
    r->late |= adv.index.late;
    r->bad |= adv.index.bad;
}

static fuzz_instruction *add_get(fuzz_gen *g, fuzz_operand x, bool late,
                                 const choice *c) {
    fuzz_instruction *n = fuzz_add(g, FUZZ_GET);
    n->in[0] = x;
    n->nin = 1;
    n->late = late;
    n->nitems = (int8_t)c->count;
    memcpy(n->item, c->item, sizeof n->item);
    return n;
}

bool fuzz_step_get(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    choice c;
    choose(g, &c, &s, x, true);
    if (!fuzz_is_modest(g, &c.result)) return true; /* its index arrays are left over */
    const fuzz_var v = g->v[x];
    add_get(g, fuzz_use(g, x), s.late && c.fancy, &c);
    fuzz_define(g, (vp_dtype)v.dtype, &c.result)->plain =
        !c.fancy && (v.plain || v.array);
    return true;
}

bool fuzz_step_take(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]), own, r;
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    if (s.ndim == 0 && !fuzz_oops(g)) return false;
    int axis = s.ndim ? fuzz_below(&g->r, s.ndim) : 0;
    if (s.ndim + 1 > 6) return false;
    fuzz_operand base = fuzz_use(g, x), where;
    if (fuzz_chance(&g->r, 25) && s.ndim == 1 && base.kind == VP__IN_ARRAY) {
        /* what was found in the array itself, or the order that sorts it */
        bool find = fuzz_chance(&g->r, 50);
        fuzz_instruction *n = fuzz_add(g, find ? FUZZ_FIND : FUZZ_ALONG);
        n->op = VP__ARGSORT;
        n->flag = true;
        n->in[0] = base;
        n->nin = 1;
        own = s;
        own.late |= find;
        fuzz_define(g, VP_I64, &own);
        where = fuzz_use(g, g->p->count - 1);
    } else {
        where = positions(g, s.ndim ? s.dims[axis] : 1, &own);
    }
    r = (fuzz_shape){.late = s.late || own.late, .bad = s.bad || own.bad || s.ndim == 0};
    for (int i = 0; i < axis; i++) r.dims[r.ndim++] = s.dims[i];
    for (int i = 0; i < own.ndim; i++) r.dims[r.ndim++] = own.dims[i];
    for (int i = axis + 1; i < s.ndim; i++) r.dims[r.ndim++] = s.dims[i];
    if (!fuzz_is_modest(g, &r)) return true;
    fuzz_instruction *n = fuzz_add(g, FUZZ_TAKE);
    n->in[0] = base;
    n->in[1] = where;
    n->nin = 2;
    n->late = s.late;
    n->axes[0] = (int8_t)(fuzz_oops(g) ? (r.bad = true, s.ndim + 1) : axis);
    fuzz_define(g, t, &r);
    return true;
}

bool fuzz_step_find(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_FIND);
    n->flag = fuzz_chance(&g->r, 65);
    n->in[0] = o;
    n->nin = 1;
    fuzz_shape r = {.ndim = n->flag ? 1 : 2,
                    .late = true,
                    .bad = s.bad,
                    .dims = {fuzz_elements(&s), s.ndim}};
    fuzz_define(g, VP_I64, &r);
    return true;
}

/* --- writing ------------------------------------------------------------------------ */

static void add_put(fuzz_gen *g, int target, const choice *c, fuzz_operand value,
                    bool waits) {
    fuzz_add_put(g, target, c->count, c->item, value)->late = waits;
}

bool fuzz_step_put(fuzz_gen *g) {
    int a = fuzz_pick_or_make(g, FUZZ_TARGET);
    const fuzz_var v = g->v[a];
    fuzz_shape s = fuzz_shape_of(&v), own;
    choice c;
    choose(g, &c, &s, a, true);
    if (!fuzz_is_modest(g, &c.result)) return true;
    vp_dtype t;
    /* A late value rarely fits, but where it does nothing else shows as much. */
    fuzz_operand value;
    if (c.result.late && !c.result.bad && fuzz_chance(&g->r, 30)) {
        int x = fuzz_pick(g, FUZZ_ANY);
        if (x < 0) return true;
        own = fuzz_shape_of(&g->v[x]);
        value = fuzz_use(g, x);
    } else {
        value = fuzz_partner(g, &c.result, true, (vp_dtype)v.dtype, &own, &t);
    }
    bool bad = own.bad || c.result.bad;
    add_put(g, a, &c, value, s.late);
    /* Where the failed write is known when it is issued, the array stays as it was. */
    if (bad && fuzz_chance(&g->r, 50)) g->v[a].bad = true;
    return true;
}

/* A mask over axes as an operand, now and then of two masks, or held back by a gate. */
static fuzz_operand any_mask(fuzz_gen *g, const fuzz_shape *axes, int var) {
    fuzz_operand x = mask(g, axes, var);
    if (fuzz_chance(&g->r, 30)) {
        const fuzz_operand y = mask(g, axes, var);
        fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
        n->op = fuzz_chance(&g->r, 50) ? VP__OP_logical_or : VP__OP_bitwise_xor;
        n->in[0] = x;
        n->in[1] = y;
        n->nin = 2;
        fuzz_define(g, VP_BOOL, axes);
        x = fuzz_use(g, g->p->count - 1);
    }
    if (g->gates && fuzz_chance(&g->r, 15)) {
        fuzz_shape s = *axes;
        s.late = fuzz_chance(&g->r, 40);
        fuzz_add1(g, FUZZ_GATE, x)->flag = s.late;
        fuzz_define(g, VP_BOOL, &s);
        g->gates_open++;
        x = fuzz_use(g, g->p->count - 1);
    }
    return x;
}

/* A[m] = f(A[m]): as many values as the mask has true elements. */
static void put_back(fuzz_gen *g, int a, const fuzz_shape *s) {
    const fuzz_var v = g->v[a];
    const int m = fuzz_make(g, FUZZ_ARRAY, VP_BOOL, s);
    choice c = {.count = 1,
                .item[0] = {.kind = VP__SEL_ARRAY, .step = 1},
                .result = {.ndim = 1, .late = true, .dims = {fuzz_elements(s)}}};
    c.item[0].array = fuzz_use(g, m);
    add_get(g, fuzz_use(g, a), false, &c);
    fuzz_define(g, (vp_dtype)v.dtype, &c.result);
    fuzz_operand value = fuzz_use(g, g->p->count - 1);
    if (fuzz_chance(&g->r, 60)) {
        fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
        n->op = VP__OP_add;
        n->in[0] = value;
        n->in[1] = fuzz_scalar(g, (vp_dtype)v.dtype);
        n->nin = 2;
        fuzz_define(g, (vp_dtype)v.dtype, &c.result);
        value = fuzz_use(g, g->p->count - 1);
    }
    c.item[0].array = fuzz_use(g, m);
    add_put(g, a, &c, value, false);
}

/* Reading and writing by one mask of all axes, or of the first ones, with a number or what
 * broadcasts along the mask. */
bool fuzz_step_mask(fuzz_gen *g) {
    int a = fuzz_pick_or_make(g, FUZZ_TARGET);
    const fuzz_var v = g->v[a];
    fuzz_shape s = fuzz_shape_of(&v), over, own;
    if (s.ndim == 0 || s.late || s.bad || !v.live) return false;
    if (fuzz_chance(&g->r, 20)) {
        put_back(g, a, &s);
        return true;
    }
    over = s;
    over.ndim = fuzz_chance(&g->r, 75) ? s.ndim : 1 + fuzz_below(&g->r, s.ndim);
    const bool whole = over.ndim == s.ndim;
    bool bad = fuzz_oops(g) && fuzz_chance(&g->r, 30);
    if (bad) over.dims[0]++;
    choice c = {.count = 1, .item[0] = {.kind = VP__SEL_ARRAY, .step = 1}};
    c.item[0].array = any_mask(g, &over, whole && !bad ? a : -1);
    c.result = (fuzz_shape){.ndim = 1 + s.ndim - over.ndim,
                            .late = true,
                            .bad = bad,
                            .dims = {fuzz_elements(&over)}};
    for (int i = over.ndim; i < s.ndim; i++) c.result.dims[1 + i - over.ndim] = s.dims[i];
    if (fuzz_chance(&g->r, 25)) {
        add_get(g, fuzz_use(g, a), false, &c);
        fuzz_define(g, (vp_dtype)v.dtype, &c.result);
        return true;
    }
    fuzz_operand value = fuzz_scalar(g, (vp_dtype)v.dtype);
    if (fuzz_chance(&g->r, 40)) { /* of one element along the mask */
        fuzz_shape one = c.result;
        one.late = false;
        one.dims[0] = 1;
        vp_dtype t;
        value = fuzz_partner(g, &one, true, (vp_dtype)v.dtype, &own, &t);
        bad |= own.bad;
    }
    add_put(g, a, &c, value, false);
    if (bad && fuzz_chance(&g->r, 50)) g->v[a].bad = true;
    return true;
}

static void keep_whole(choice *c, const fuzz_shape *s) {
    memset(c, 0, sizeof *c);
    c->count = 1;
    c->item[0] = (fuzz_item){.kind = VP__SEL_ELLIPSIS, .step = 1};
    c->result = *s;
}

/* A[1:] = A[:-1], A[...] = A.T, A[...] = A[::-1] and their like, some with an operation
 * in between: the node must not see what it writes. */
bool fuzz_step_put_self(fuzz_gen *g) {
    int a = fuzz_pick_or_make(g, FUZZ_TARGET);
    const fuzz_var v = g->v[a];
    fuzz_shape s = fuzz_shape_of(&v);
    if (s.ndim == 0 || s.late || s.bad || !v.live) return false;
    fuzz_operand self = {.kind = VP__IN_ARRAY, .var = (int16_t)a};
    choice from, to;
    keep_whole(&from, &s);
    keep_whole(&to, &s);
    int axis = fuzz_below(&g->r, s.ndim);
    int64_t dim = s.dims[axis];
    int what = fuzz_below(&g->r, 4);
    if (what < 2 && s.ndim <= FUZZ_ITEMS) {
        int64_t shift = 1 + (dim > 3 ? fuzz_below(&g->r, 3) : 0);
        for (int i = 0; i <= axis; i++)
            from.item[i] = to.item[i] = (fuzz_item){.kind = VP__SEL_ALL, .step = 1};
        from.count = to.count = axis + 1;
        fuzz_item *up = &to.item[axis], *down = &from.item[axis];
        if (fuzz_chance(&g->r, 50)) up = &from.item[axis], down = &to.item[axis];
        *up = (fuzz_item){
            .kind = VP__SEL_RANGE, .step = 1, .has_start = true, .start = shift};
        *down = (fuzz_item){
            .kind = VP__SEL_RANGE, .step = 1, .has_stop = true, .stop = -shift};
        from.result.dims[axis] = to.result.dims[axis] = range_length(up, dim);
        add_get(g, self, false, &from);
    } else if (what == 2 && s.ndim >= 2 && s.dims[0] == s.dims[s.ndim - 1] &&
               (s.ndim == 2 || (s.ndim == 3))) {
        fuzz_instruction *n = fuzz_add(g, FUZZ_PERMUTE);
        n->in[0] = self;
        n->nin = 1;
        n->naxes = -1;
    } else {
        fuzz_instruction *n = fuzz_add(g, FUZZ_FLIP);
        n->in[0] = self;
        n->nin = 1;
        n->naxes = 1;
        n->axes[0] = (int8_t)axis;
    }
    fuzz_define(g, (vp_dtype)v.dtype, &from.result);
    fuzz_operand value = fuzz_use(g, g->p->count - 1);
    if (fuzz_chance(&g->r, 50)) {
        fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
        n->op = fuzz_chance(&g->r, 50) ? VP__OP_add : VP__OP_multiply;
        n->in[0] = value;
        n->in[1] = fuzz_scalar(g, (vp_dtype)v.dtype);
        n->nin = 2;
        fuzz_define(g, (vp_dtype)v.dtype, &from.result);
        value = fuzz_use(g, g->p->count - 1);
    }
    add_put(g, a, &to, value, false);
    return true;
}

/* Whether the expression is, or is made of, what may not be written. */
static bool is_guarded(const fuzz_gen *g, int var) {
    const fuzz_instruction *in = &g->p->at[var];
    if (g->v[var].guarded) return true;
    if (fuzz_defines[in->kind] == 'a') return false;
    for (int k = 0; k < in->nin; k++)
        if (in->in[k].kind <= VP__IN_EXPR && is_guarded(g, in->in[k].var)) return true;
    return false;
}

static bool has_elements(const fuzz_shape *s) {
    for (int i = 0; i < s->ndim; i++)
        if (s->dims[i] == 0) return false;
    return true;
}

bool fuzz_step_view(fuzz_gen *g) {
    int x = -1;
    for (int tries = 0; tries < 6; tries++) {
        int i = fuzz_pick(g, FUZZ_EXPR);
        if (i < 0 || !(g->v[i].plain || fuzz_oops(g))) continue;
        x = i;
        break;
    }
    if (x < 0) {
        int a = fuzz_pick_or_make(g, FUZZ_ARRAY);
        fuzz_shape s = fuzz_shape_of(&g->v[a]);
        choice c;
        choose(g, &c, &s, a, false);
        const fuzz_var v = g->v[a];
        add_get(g, fuzz_use(g, a), false, &c);
        fuzz_define(g, (vp_dtype)v.dtype, &c.result)->plain = true;
        x = g->p->count - 1;
    }
    const fuzz_var v = g->v[x];
    fuzz_shape s = fuzz_shape_of(&v);
    /* Where several threads issue: see README.md, "Several issuers". */
    if (g->prologue && !has_elements(&s)) return true;
    fuzz_operand o = fuzz_use(g, x);
    const bool guarded = is_guarded(g, x);
    fuzz_add1(g, FUZZ_VIEW, o)->late = s.late;
    fuzz_define(g, (vp_dtype)v.dtype, &s)->guarded = guarded;
    return true;
}
