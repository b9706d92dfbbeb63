/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that several threads issue. What they see must not depend on who is quicker, so
 * each has arrays of its own; beside them there are some that all read and nobody writes, and
 * some of which each has a part that nobody else looks at while the threads run.
 *
 * What fails takes the region with it that it was to write, and regions (array/region.h) are
 * kept in constant space: that of a part of a row, or of every other element, may hold more
 * than that. Therefore only runs of whole rows are written by all kinds of steps; other parts
 * by loops in which nothing fails.
 */
#include "generator.h"

static fuzz_operand name_of(int var) {
    return (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)var};
}

static int64_t length_to_share(fuzz_gen *g, int issuers) {
    return issuers * (1 + fuzz_below(&g->r, 40)) + fuzz_below(&g->r, 3);
}

/* How an array is divided. */
typedef struct {
    int issuers, axis;
    bool even;   /* every so many elements, else runs */
    bool column; /* rows do not lie in a piece */
} division;

/* The part of a thread. */
static void add_part(fuzz_gen *g, int whole, const division *d, int issuer) {
    const fuzz_var v = g->v[whole];
    const int64_t n = v.dims[d->axis], each = n / d->issuers;
    fuzz_instruction *get = fuzz_add1(g, FUZZ_GET, name_of(whole));
    for (int i = 0; i < d->axis; i++)
        get->item[get->nitems++] = (fuzz_item){.kind = VP__SEL_ALL, .step = 1};
    fuzz_item part = {.kind = VP__SEL_RANGE, .has_start = true, .step = 1};
    part.start = d->even ? issuer : issuer * each;
    part.has_stop = !d->even && issuer + 1 < d->issuers;
    part.stop = part.start + each;
    if (d->even) part.step = d->issuers;
    get->item[get->nitems++] = part;
    fuzz_shape s = fuzz_shape_of(&v);
    s.dims[d->axis] = d->even         ? (n - issuer + d->issuers - 1) / d->issuers
                      : part.has_stop ? each
                                      : n - part.start;
    fuzz_define(g, (vp_dtype)v.dtype, &s)->plain = true;
    fuzz_add1(g, FUZZ_VIEW, fuzz_use(g, g->p->count - 1));
    fuzz_var *own = fuzz_define(g, (vp_dtype)v.dtype, &s);
    own->owner = (int8_t)issuer;
    own->guarded = d->even || d->axis > 0 || d->column;
}

static void add_divided(fuzz_gen *g, int issuers) {
    fuzz_shape s = {.ndim = 1 + fuzz_below(&g->r, 2)};
    division d = {.issuers = issuers, .even = fuzz_chance(&g->r, 25)};
    if (fuzz_chance(&g->r, 30)) d.axis = s.ndim - 1;
    for (int i = 0; i < s.ndim; i++)
        s.dims[i] = i == d.axis ? length_to_share(g, issuers) : 1 + fuzz_below(&g->r, 20);
    const vp_dtype t = fuzz_dtype_random(g);
    const int whole = fuzz_make(g, FUZZ_ARRAY, t, &s);
    d.column = s.ndim > 1 && g->p->at[g->p->at[whole].in[0].var].column;
    for (int i = 0; i < issuers; i++) add_part(g, whole, &d, i);
    g->v[whole].owner = FUZZ_NOBODY;
    if (!fuzz_chance(&g->r, 30)) return;
    /* Somebody holds a copy, which has the same memory until either is written. */
    fuzz_add1(g, FUZZ_LET, name_of(whole));
    fuzz_define(g, t, &s)->owner = (int8_t)fuzz_below(&g->r, issuers);
}

/* A fresh one, or a copy: of one that was there views may exist, and be written. */
static void add_shared(fuzz_gen *g) {
    int a = fuzz_chance(&g->r, 50) ? fuzz_pick(g, FUZZ_ARRAY) : -1;
    if (a >= 0 && g->v[a].live) {
        const fuzz_shape s = fuzz_shape_of(&g->v[a]);
        fuzz_add1(g, FUZZ_LET, name_of(a));
        fuzz_define(g, (vp_dtype)g->v[a].dtype, &s);
        a = g->p->count - 1;
    } else {
        fuzz_shape s = fuzz_shape_random(g);
        a = fuzz_make(g, FUZZ_ARRAY, fuzz_dtype_random(g), &s);
    }
    g->v[a].guarded = true;
    g->v[a].owner = FUZZ_ALL;
}

static void add_stream(fuzz_gen *g, int issuer, int target) {
    g->issuer = issuer;
    g->first = g->p->count;
    fuzz_steps(g, g->p->count + target / 2);
    for (int i = 0; i < g->prologue; i++)
        if (g->v[i].owner == issuer && g->v[i].guarded) fuzz_safe_loop(g, i);
    fuzz_steps(g, g->p->count + target / 2);
}

void fuzz_streams(fuzz_gen *g, int issuers) {
    for (int i = 1 + fuzz_below(&g->r, 2); i > 0; i--) add_shared(g);
    for (int i = 1 + fuzz_below(&g->r, 2); i > 0; i--) add_divided(g, issuers);
    g->p->team = g->p->count;
    fuzz_add(g, FUZZ_TEAM)->flag = fuzz_chance(&g->r, 40);
    g->prologue = g->p->count;
    const int depth = g->depth, gates = g->gates_open, maps = g->maps_open;
    const int most = 120 / issuers;
    for (int i = 1; i < issuers; i++) {
        g->depth = g->floor = 0;
        g->gates_open = g->maps_open = 0;
        add_stream(g, i, 5 + fuzz_below(&g->r, most));
        fuzz_observe_rest(g);
    }
    g->depth = g->floor = depth;
    g->gates_open = gates;
    g->maps_open = maps;
    add_stream(g, 0, 5 + fuzz_below(&g->r, most));
    fuzz_add(g, FUZZ_MEET);
    g->floor = 0;
    for (int i = 0; i < g->prologue; i++) {
        if (g->v[i].owner == FUZZ_ALL || g->v[i].owner == FUZZ_NOBODY) g->v[i].owner = 0;
        g->v[i].guarded = false;
    }
}
