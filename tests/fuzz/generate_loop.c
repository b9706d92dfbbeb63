/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that bundle: for i: B[i] = f(A[i], D[:, i], c), with all that makes a bundle think.
 * The instructions of the body are there once and are issued from the same place in every
 * iteration; what changes are positions and constants (fuzz_walk), now and then an operand
 * (fuzz_operand.other), and whether something happens at all (fuzz_when).
 */
#include <string.h>

#include "generator.h"
#include "ops/ops.h"

enum { SOURCES = 3 };

typedef struct {
    fuzz_gen *g;
    int times, around;  /* iterations; of the loop around it, 0: none */
    int target, second; /* of another put, often the same */
    int source[SOURCES], sources;
    bool safe;      /* nothing fails */
    bool scalar;    /* iterations have one value each, else a row of them */
    bool grows;     /* rows get longer with each iteration */
    int64_t length; /* of a row */
    vp_dtype dtype;
    fuzz_when sometimes; /* for all that happens now and then */
} loop;

static fuzz_operand name_of(int var) {
    return (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)var};
}

static int newest(const loop *l) { return l->g->p->count - 1; }

static fuzz_when some_iterations(fuzz_gen *g) {
    const int every = 2 + fuzz_below(&g->r, fuzz_chance(&g->r, 50) ? 4 : 30);
    return (fuzz_when){.every = (uint8_t)every,
                       .rest = (uint8_t)fuzz_below(&g->r, every)};
}

/* --- positions ---------------------------------------------------------------------- */

/* How a position below this number changes, mostly from one to the next. */
static fuzz_walk walk_below(loop *l, int64_t n, int stride) {
    fuzz_gen *g = l->g;
    fuzz_walk w = {.di = (int16_t)stride, .modulus = (int16_t)(n < 30000 ? n : 30000)};
    const int what = fuzz_below(&g->r, 20);
    if (what == 0) w.di = 0;
    if (what == 1 || what == 2) w.di = (int16_t)-stride;
    if (what == 3) w.di = (int16_t)(2 * stride);
    if (what == 4) w.di = (int16_t)fuzz_below(&g->r, 8);
    if (what == 5 || what == 6) w.wobble = (uint8_t)(1 + fuzz_below(&g->r, 3));
    if (what == 7) w.wobble = 200;
    if (l->around) w.dj = (int16_t)(fuzz_chance(&g->r, 60) ? l->times : 1) * w.di;
    return w;
}

/* A place of a target is met more seldom with others around it. */
static fuzz_item index_item(loop *l, int64_t n) {
    fuzz_item it = {.kind = VP__SEL_INDEX, .step = 1, .from = walk_below(l, n, 1)};
    if (fuzz_oops(l->g)) it.from.modulus = 0; /* beyond the end, some iterations later */
    return it;
}

/* A run of a row's length among n elements. */
static fuzz_item run_item(loop *l, int64_t n, bool target) {
    const bool tiles = target && fuzz_chance(&l->g->r, 50);
    fuzz_item it = {
        .kind = VP__SEL_RANGE, .step = 1, .has_start = true, .has_stop = true};
    it.from = walk_below(l, n - l->length + 1, tiles ? (int)l->length : 1);
    it.stop = l->length;
    it.to = it.from;
    return it;
}

/* All of a row, or what there is of it by now. */
static fuzz_item row_item(const loop *l) {
    fuzz_item it = {.kind = VP__SEL_ALL, .step = 1};
    if (!l->grows) return it;
    it.kind = VP__SEL_RANGE;
    it.has_stop = true;
    it.stop = 1;
    it.to = (fuzz_walk){.di = 1, .dj = 1, .modulus = (int16_t)l->length};
    return it;
}

/* --- what loops read ---------------------------------------------------------------- */

static int named(loop *l, fuzz_kind kind, fuzz_operand x, const fuzz_shape *s) {
    fuzz_add1(l->g, kind, x);
    fuzz_define(l->g, l->dtype, s);
    return newest(l);
}

/* Some of it fails, and that shows late: a position that is not there. */
static void poison_some(loop *l, int a) {
    fuzz_gen *g = l->g;
    const fuzz_shape four = {.ndim = 1, .dims = {4}}, one = {0};
    const fuzz_var v = g->v[a];
    const int from = fuzz_make(g, FUZZ_ARRAY, l->dtype, &four);
    fuzz_instruction *where = fuzz_add(g, FUZZ_FROM);
    where->dtype = VP_I64;
    where->low = where->high = 90;
    fuzz_define(g, VP_I64, &one);
    fuzz_operand at = fuzz_use(g, newest(l));
    if (g->gates && fuzz_chance(&g->r, 70)) {
        fuzz_add1(g, FUZZ_GATE, at);
        fuzz_define(g, VP_I64, &one);
        at = fuzz_use(g, newest(l));
        g->gates_open++;
    }
    fuzz_instruction *take = fuzz_add1(g, FUZZ_TAKE, name_of(from));
    take->in[1] = at;
    take->nin = 2;
    fuzz_define(g, l->dtype, &one);
    fuzz_item it = {.kind = VP__SEL_INDEX, .step = 1};
    it.start = fuzz_below(&g->r, (int)v.dims[0]);
    fuzz_add_put(g, a, 1, &it, fuzz_use(g, newest(l)));
}

/* Rows in rows, rows in columns, runs of one long row, or one row for all. */
static fuzz_shape source_shape(loop *l) {
    fuzz_gen *g = l->g;
    const int64_t many = 1 + fuzz_below(&g->r, fuzz_chance(&g->r, 70) ? l->times + 4 : 6);
    fuzz_shape s = {.ndim = 2, .dims = {many, l->length}};
    switch (fuzz_below(&g->r, 8)) {
    case 0:
    case 1:
    case 2: break;
    case 3:
    case 4: s.dims[0] = l->length, s.dims[1] = many; break;
    case 5:
    case 6: s.ndim = 1, s.dims[0] = l->length + many - 1; break;
    default: s.ndim = 1, s.dims[0] = l->length; break;
    }
    return s;
}

static int make_source(loop *l) {
    fuzz_gen *g = l->g;
    const fuzz_shape s = source_shape(l);
    int a = fuzz_make(g, FUZZ_ARRAY, l->dtype, &s);
    if (!l->safe && fuzz_chance(&g->r, g->mistakes ? 30 : 8)) poison_some(l, a);
    if (g->gates && fuzz_chance(&g->r, 20)) {
        const int copy = named(l, FUZZ_GATE, name_of(a), &s);
        g->gates_open++;
        a = named(l, FUZZ_LET, fuzz_use(g, copy), &s);
    }
    return a;
}

static bool has_rows(const loop *l, int a) {
    const fuzz_var *v = &l->g->v[a];
    if (!v->live || v->late || v->bad) return false;
    if (v->ndim == 1) return v->dims[0] >= l->length;
    return v->ndim == 2 && v->dims[0] > 0 && v->dims[1] > 0 &&
           (v->dims[0] == l->length || v->dims[1] == l->length);
}

/* One that was there, or the target itself; -1 if none suits. */
static int find_source(loop *l) {
    fuzz_gen *g = l->g;
    if (fuzz_chance(&g->r, 15) && has_rows(l, l->target)) return l->target;
    for (int tries = 0; tries < 4; tries++) {
        const int a = fuzz_pick(g, FUZZ_ARRAY);
        if (a >= 0 && has_rows(l, a)) return a;
    }
    return -1;
}

/* Another name with the same shape, mostly. */
static int sibling(loop *l, int a) {
    const fuzz_shape s = fuzz_shape_of(&l->g->v[a]);
    if (!l->safe && l->g->v[l->target].ndim == s.ndim && fuzz_chance(&l->g->r, 40))
        return l->target;
    return fuzz_make(l->g, FUZZ_ARRAY, l->dtype, &s);
}

static void make_sources(loop *l) {
    fuzz_gen *g = l->g;
    l->sources = 1 + fuzz_below(&g->r, SOURCES);
    for (int i = 0; i < l->sources; i++) {
        l->source[i] = !l->safe && fuzz_chance(&g->r, 35) ? find_source(l) : -1;
        if (l->source[i] < 0) l->source[i] = make_source(l);
    }
}

/* --- what they compute -------------------------------------------------------------- */

/* A row of a source; its shape goes to *s. */
static fuzz_operand add_leaf(loop *l, int a, int other, fuzz_shape *s) {
    fuzz_gen *g = l->g;
    const fuzz_var v = g->v[a];
    fuzz_operand x = name_of(a);
    *s = (fuzz_shape){.ndim = 1, .dims = {l->length}};
    if (other >= 0) {
        x.other = (int16_t)(other + 1);
        x.when = l->sometimes;
    } else if (v.ndim == 1 && v.dims[0] == l->length && v.dtype == l->dtype &&
               !l->grows) {
        return x;
    }
    fuzz_instruction *get = fuzz_add1(g, FUZZ_GET, x);
    if (v.ndim == 2) {
        const int at = v.dims[1] == l->length ? 0 : 1;
        get->item[at] = index_item(l, v.dims[at]);
        get->item[1 - at] = row_item(l);
        get->nitems = 2;
    } else {
        get->item[0] = l->grows ? row_item(l) : run_item(l, v.dims[0], false);
        get->nitems = 1;
    }
    fuzz_define(g, (vp_dtype)v.dtype, s);
    if (v.dtype != l->dtype) {
        fuzz_add1(g, FUZZ_CAST, fuzz_use(g, newest(l)))->dtype = (uint8_t)l->dtype;
        fuzz_define(g, l->dtype, s);
    }
    return fuzz_use(g, newest(l));
}

static fuzz_operand constant(loop *l) {
    fuzz_operand c = fuzz_scalar(l->g, l->dtype);
    if (c.kind == FUZZ_IN_COMPLEX || (l->safe && c.kind == VP__IN_UINT))
        c = (fuzz_operand){.kind = VP__IN_INT, .i = 2}; /* others may not fit the type */
    if (c.kind != VP__IN_BOOL && fuzz_chance(&l->g->r, 50))
        c.walk = (fuzz_walk){.di = 1, .dj = 1, .modulus = 7};
    return c;
}

/* A row of the operation table on operands of the loop's type that keeps the type. */
static fuzz_operand add_op(loop *l, int arity, fuzz_operand *in, const fuzz_shape *s) {
    fuzz_gen *g = l->g;
    vp__optype types[3] = {{l->dtype, -1}, {l->dtype, -1}, {l->dtype, -1}};
    for (int i = 0; i < arity; i++)
        if (in[i].kind > VP__IN_EXPR)
            types[i].weak = in[i].kind == VP__IN_BOOL    ? VP__WEAK_BOOL
                            : in[i].kind == VP__IN_FLOAT ? VP__WEAK_FLOAT
                                                         : VP__WEAK_INT;
    vp_dtype result = VP_AUTO;
    int op = VP__OP_where;
    for (int tries = 0; tries < 30 && result != l->dtype; tries++)
        op = fuzz_row_for(g, arity, types, &result);
    fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
    n->op = op;
    n->nin = (int8_t)arity;
    memcpy(n->in, in, (size_t)arity * sizeof in[0]);
    fuzz_define(g, result == VP_AUTO ? l->dtype : result, s);
    if (result != l->dtype) {
        fuzz_add1(g, FUZZ_CAST, fuzz_use(g, newest(l)))->dtype = (uint8_t)l->dtype;
        fuzz_define(g, l->dtype, s);
    }
    return fuzz_use(g, newest(l));
}

/* The value has a name for a moment, or a name from before the loop. */
static fuzz_operand through_name(loop *l, fuzz_operand x, const fuzz_shape *s,
                                 int known) {
    fuzz_gen *g = l->g;
    if (known >= 0) {
        fuzz_instruction *set = fuzz_add1(g, FUZZ_SET, name_of(known));
        set->in[1] = x;
        set->nin = 2;
        return name_of(known);
    }
    return name_of(named(l, FUZZ_LET, x, s));
}

static fuzz_operand add_value(loop *l, int known, const int *other) {
    fuzz_gen *g = l->g;
    fuzz_shape s;
    fuzz_operand x = add_leaf(l, l->source[0], other[0], &s);
    if (fuzz_chance(&g->r, 50)) x = add_op(l, 1, &x, &s);
    for (int i = 1; i < l->sources; i++) {
        fuzz_operand in[2] = {x, add_leaf(l, l->source[i], other[i], &s)};
        x = add_op(l, 2, in, &s);
    }
    if (fuzz_chance(&g->r, 50)) {
        fuzz_operand in[2] = {x, constant(l)};
        x = add_op(l, 2, in, &s);
    }
    int name = -1;
    if (known >= 0 || fuzz_chance(&g->r, 12)) {
        fuzz_operand y = through_name(l, x, &s, known);
        if (known < 0) name = y.var;
        fuzz_operand in[2] = {y, y};
        x = add_op(l, 2, in, &s);
    }
    if (l->scalar) {
        fuzz_instruction *n = fuzz_add1(g, FUZZ_REDUCE, x);
        n->op = fuzz_same_type_reduction(g, l->dtype);
        n->naxes = -1;
        fuzz_define(g, l->dtype, &(fuzz_shape){0});
        x = fuzz_use(g, newest(l));
    }
    if (name >= 0 && fuzz_chance(&g->r, 70)) {
        fuzz_add1(g, FUZZ_DROP, name_of(name));
        g->v[name].live = false;
    }
    return x;
}

/* --- where they put it -------------------------------------------------------------- */

/* Places for a value in the target; returns how many items there are. */
static int places(loop *l, fuzz_item *item) {
    const fuzz_var v = l->g->v[l->target];
    if (l->scalar) {
        item[0] = index_item(l, v.dims[0]);
        if (!fuzz_chance(&l->g->r, 15)) return 1;
        item[0] = row_item(l); /* one value for many places */
        if (item[0].kind == VP__SEL_ALL) item[0] = index_item(l, v.dims[0]);
        return 1;
    }
    if (v.ndim == 1) {
        item[0] = l->grows ? row_item(l) : run_item(l, v.dims[0], true);
        return 1;
    }
    const int at = v.dims[1] == l->length ? 0 : 1;
    item[at] = index_item(l, v.dims[at]);
    item[1 - at] = row_item(l);
    return 2;
}

static void add_put(loop *l, fuzz_operand value) {
    fuzz_item item[2];
    const int n = places(l, item);
    fuzz_add_put(l->g, l->target, n, item, value);
}

/* Whether the loop can write an array, which then decides how long rows are. */
static bool suits(loop *l, int a) {
    const fuzz_var v = l->g->v[a];
    if (!v.live || v.late || v.bad || v.ndim == 0 || v.ndim > 2 || v.dims[0] == 0)
        return false;
    if (v.ndim == 2 && v.dims[1] == 0) return false;
    l->dtype = (vp_dtype)v.dtype;
    l->target = a;
    if (v.ndim == 2 && v.dims[1] > 64) l->scalar = true;
    if (v.ndim == 2 && !l->scalar) l->length = v.dims[1];
    if (v.ndim == 1 && l->length > v.dims[0]) l->length = v.dims[0];
    return true;
}

static void make_target(loop *l) {
    fuzz_gen *g = l->g;
    static const uint8_t often[] = {VP_F64, VP_F64, VP_F32, VP_I64, VP_C128};
    const int all = l->times * (l->around ? l->around : 1);
    const int64_t many = 1 + fuzz_below(&g->r, fuzz_chance(&g->r, 70) ? all + 10 : 8);
    fuzz_shape s = {.ndim = 1, .dims = {many}};
    if (!l->scalar) {
        const int what = fuzz_below(&g->r, 4);
        s.ndim = what < 2 ? 2 : 1;
        s.dims[what == 1] = many;
        s.dims[what == 0] = l->length;
        if (s.ndim == 1) s.dims[0] = l->length * many;
    }
    l->dtype = fuzz_chance(&g->r, 60) ? (vp_dtype)often[fuzz_below(&g->r, 5)]
                                      : fuzz_dtype_random(g);
    l->target = fuzz_make(g, FUZZ_ARRAY, l->dtype, &s);
    if (!fuzz_chance(&g->r, 15)) return;
    fuzz_instruction *flip = fuzz_add1(g, FUZZ_FLIP, name_of(l->target));
    flip->naxes = -1;
    fuzz_define(g, l->dtype, &s);
    l->target = named(l, FUZZ_VIEW, fuzz_use(g, newest(l)), &s);
}

/* --- what comes in between ---------------------------------------------------------- */

static void observe_target(loop *l) {
    fuzz_instruction *get = fuzz_add1(l->g, FUZZ_GET, name_of(l->target));
    get->when = l->sometimes;
    for (int i = 0; i < l->g->v[l->target].ndim; i++)
        get->item[get->nitems++] = index_item(l, l->g->v[l->target].dims[i]);
    fuzz_define(l->g, l->dtype, &(fuzz_shape){0});
    fuzz_instruction *n = fuzz_add1(l->g, FUZZ_ITEM, fuzz_use(l->g, newest(l)));
    n->dtype = (uint8_t)l->dtype;
    n->when = l->sometimes;
}

static void write_between(loop *l, int a) {
    if (l->g->v[a].guarded || l->g->v[a].dims[0] == 0) return;
    const fuzz_item it = index_item(l, l->g->v[a].dims[0]);
    fuzz_add_put(l->g, a, 1, &it, constant(l))->when = l->sometimes;
}

/* A copy that shares the target's memory until either is written. */
static void copy_between(loop *l) {
    const fuzz_shape s = fuzz_shape_of(&l->g->v[l->target]);
    const int copy = named(l, FUZZ_LET, name_of(l->target), &s);
    l->g->p->at[copy].when = l->sometimes;
    if (fuzz_chance(&l->g->r, 50)) return;
    fuzz_add1(l->g, FUZZ_DROP, name_of(copy))->when = l->sometimes;
    l->g->v[copy].live = false;
}

/* An operation of the library that reads what the loop reads. */
static void library_between(loop *l) {
    fuzz_gen *g = l->g;
    const fuzz_shape s = {.ndim = 1, .late = true, .dims = {l->length}};
    const fuzz_var v = g->v[l->source[0]];
    if (v.ndim != 1) return;
    fuzz_instruction *find = fuzz_add1(g, FUZZ_FIND, name_of(l->source[0]));
    find->flag = true;
    find->when = l->sometimes;
    fuzz_define(g, VP_I64, &s);
    fuzz_instruction *let = fuzz_add1(g, FUZZ_LET, fuzz_use(g, newest(l)));
    let->when = l->sometimes;
    fuzz_define(g, VP_I64, &s);
}

static void add_between(loop *l) {
    switch (fuzz_below(&l->g->r, 12)) {
    case 0: observe_target(l); break;
    case 1: write_between(l, l->target); break;
    case 2: write_between(l, l->source[0]); break;
    case 3: copy_between(l); break;
    case 4: library_between(l); break;
    default: break;
    }
}

/* --- the loop ----------------------------------------------------------------------- */

static void add_for(loop *l, int times) { fuzz_add(l->g, FUZZ_FOR)->low = times; }

static void add_body(loop *l, int known, const int *other) {
    fuzz_gen *g = l->g;
    const int begin = g->p->count;
    add_put(l, add_value(l, known, other));
    const bool branches = fuzz_chance(&g->r, 20);
    /* An if around it all, now and then with an else. */
    for (int i = begin; branches && i < g->p->count; i++) {
        g->p->at[i].when = l->sometimes;
        g->p->at[i].when.unless = true;
    }
    add_between(l);
    if (!fuzz_chance(&g->r, branches ? 50 : 35)) return;
    const int second = g->p->count;
    loop also = *l;
    also.target = l->second;
    add_put(&also, add_value(l, -1, other));
    for (int i = second; branches && i < g->p->count; i++)
        g->p->at[i].when = l->sometimes;
}

static void choose_form(loop *l) {
    fuzz_gen *g = l->g;
    l->times = 8 + fuzz_below(&g->r, fuzz_chance(&g->r, 40) ? 53 : 16);
    if (fuzz_chance(&g->r, 20)) {
        l->around = 2 + fuzz_below(&g->r, 4);
        l->times = 4 + fuzz_below(&g->r, 12);
    }
    l->scalar = fuzz_chance(&g->r, 65);
    l->grows = fuzz_chance(&g->r, 15);
    l->length = 1 + fuzz_below(&g->r, fuzz_chance(&g->r, 60) ? 8 : 64);
    l->sometimes = some_iterations(g);
}

static void add_loop(loop *l) {
    fuzz_gen *g = l->g;
    make_sources(l);
    int other[SOURCES] = {-1, -1, -1}, known = -1;
    for (int i = 0; i < l->sources; i++)
        if (fuzz_chance(&g->r, 15)) other[i] = sibling(l, l->source[i]);
    if (fuzz_chance(&g->r, 8)) {
        const fuzz_shape row = {.ndim = 1, .dims = {l->length}};
        known = fuzz_make(g, FUZZ_ARRAY, l->dtype, &row);
    }
    const fuzz_shape shape = fuzz_shape_of(&g->v[l->target]);
    l->second =
        fuzz_chance(&g->r, 60) ? fuzz_make(g, FUZZ_ARRAY, l->dtype, &shape) : l->target;
    if (l->around) add_for(l, l->around);
    add_for(l, l->times);
    add_body(l, known, other);
    fuzz_add(g, FUZZ_NEXT);
    if (l->around) fuzz_add(g, FUZZ_NEXT);
}

bool fuzz_step_loop(fuzz_gen *g) {
    loop l = {.g = g};
    if (g->p->count > FUZZ_MAX - 130) return false;
    choose_form(&l);
    const int a = fuzz_chance(&g->r, 40) ? fuzz_pick(g, FUZZ_TARGET) : -1;
    if (a < 0 || !suits(&l, a)) make_target(&l);
    add_loop(&l);
    return true;
}

void fuzz_safe_loop(fuzz_gen *g, int target) {
    loop l = {.g = g, .safe = true};
    const int mistakes = g->mistakes;
    if (g->p->count > FUZZ_MAX - 130) return;
    g->mistakes = 0;
    choose_form(&l);
    if (suits(&l, target)) add_loop(&l);
    g->mistakes = mistakes;
}
