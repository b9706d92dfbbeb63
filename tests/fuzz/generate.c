/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs: which steps, in which mixture; names, scopes, observations, gates.
 */
#include <stddef.h>
#include <string.h>

#include "generator.h"

static bool step_let(fuzz_gen *g) {
    int x = fuzz_pick(g, fuzz_chance(&g->r, 80) ? FUZZ_EXPR : FUZZ_ARRAY);
    if (x < 0) return false;
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_LET);
    n->in[0] = o;
    n->nin = 1;
    fuzz_define(g, t, &s);
    return true;
}

static bool step_set(fuzz_gen *g) {
    int a = fuzz_pick(g, FUZZ_TARGET), x = fuzz_pick(g, FUZZ_ANY);
    if (a < 0 || x < 0) return false;
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_SET);
    n->in[0] = (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)a};
    n->in[1] = o;
    n->nin = 2;
    fuzz_var *v = &g->v[a];
    v->bad = s.bad;
    v->late = s.late;
    v->dtype = (uint8_t)t;
    v->ndim = (int8_t)s.ndim;
    memcpy(v->dims, s.dims, sizeof v->dims);
    return true;
}

static bool step_drop(fuzz_gen *g) {
    int a = fuzz_pick(g, FUZZ_TARGET);
    if (a < 0) return false;
    fuzz_instruction *n = fuzz_add(g, FUZZ_DROP);
    n->in[0] = (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)a};
    n->nin = 1;
    g->v[a].live = false;
    return true;
}

static bool step_scope(fuzz_gen *g) {
    if (g->depth < 3 && fuzz_chance(&g->r, 50)) {
        fuzz_add(g, FUZZ_BEGIN);
        g->depth++;
        return true;
    }
    if (g->depth <= g->floor) return false;
    if (fuzz_chance(&g->r, 40)) {
        int a = fuzz_pick(g, FUZZ_TARGET);
        if (a >= 0 && g->v[a].depth == g->depth) {
            fuzz_instruction *n = fuzz_add(g, FUZZ_KEEP);
            n->in[0] = (fuzz_operand){.kind = VP__IN_ARRAY, .var = (int16_t)a};
            n->nin = 1;
            g->v[a].depth--;
        }
    }
    for (int i = 0; i < g->p->count; i++)
        if (g->v[i].owner == g->issuer && g->v[i].depth == g->depth) g->v[i].live = false;
    fuzz_add(g, FUZZ_END);
    g->depth--;
    return true;
}

static bool step_gate(fuzz_gen *g) {
    if (!g->gates) return false;
    if (g->gates_open && fuzz_chance(&g->r, 50)) {
        fuzz_add(g, FUZZ_OPEN);
        g->gates_open = 0;
        return true;
    }
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_GATE);
    n->in[0] = o;
    n->nin = 1;
    n->flag = fuzz_chance(&g->r, 25);
    s.late |= n->flag;
    fuzz_define(g, t, &s);
    g->gates_open++;
    return true;
}

static void observe(fuzz_gen *g, fuzz_kind kind, int x) {
    bool late = g->v[x].late || g->v[x].bad;
    bool uses = kind == FUZZ_READ || kind == FUZZ_MAP || kind == FUZZ_ITEM;
    fuzz_operand o = {.kind = fuzz_defines[g->p->at[x].kind] == 'a' ? VP__IN_ARRAY
                                                                    : VP__IN_EXPR,
                      .var = (int16_t)x};
    if (uses) o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, kind);
    n->in[0] = o;
    n->nin = 1;
    n->late = late;
    n->axes[0] = (int8_t)(g->v[x].ndim ? fuzz_below(&g->r, g->v[x].ndim) : 0);
    if (fuzz_oops(g)) n->axes[0] = (int8_t)(g->v[x].ndim + 1);
    n->dtype = (uint8_t)fuzz_below(&g->r, VP__NDTYPES);
}

static bool step_observe(fuzz_gen *g) {
    static const uint8_t kinds[] = {FUZZ_READ, FUZZ_READ, FUZZ_MAP,  FUZZ_ITEM,
                                    FUZZ_SIZE, FUZZ_SIZE, FUZZ_SIZE, FUZZ_LOOK,
                                    FUZZ_WAIT, FUZZ_SYNC};
    int kind = kinds[fuzz_below(&g->r, 10)];
    if (kind == FUZZ_MAP && g->maps_open && fuzz_chance(&g->r, 60)) {
        fuzz_add(g, FUZZ_UNMAP);
        g->maps_open = 0;
        return true;
    }
    if (kind == FUZZ_SYNC) {
        if (fuzz_chance(&g->r, 60)) return false;
        fuzz_add(g, FUZZ_SYNC);
        return true;
    }
    int x = fuzz_pick(g, FUZZ_ANY);
    if (x < 0) return false;
    if (kind == FUZZ_ITEM && !fuzz_oops(g)) {
        fuzz_shape s = fuzz_shape_of(&g->v[x]);
        if ((s.late && s.ndim > 0) || fuzz_elements(&s) != 1) {
            fuzz_operand o = fuzz_use(g, x);
            fuzz_instruction *n = fuzz_add(g, FUZZ_REDUCE);
            n->op = fuzz_chance(&g->r, 50) ? VP__SUM : VP__ANY;
            n->in[0] = o;
            n->nin = 1;
            n->naxes = -1;
            vp_dtype t = n->op == VP__ANY ? VP_BOOL : VP_F64;
            s = (fuzz_shape){.bad = s.bad, .late = s.late};
            fuzz_define(g, t, &s);
            x = g->p->count - 1;
        }
    }
    g->maps_open += kind == FUZZ_MAP;
    observe(g, (fuzz_kind)kind, x);
    return true;
}

/* Steps and how often each is taken, out of the sum of them all. */
static const struct {
    bool (*step)(fuzz_gen *g);
    int weight;
} steps[] = {
    {fuzz_step_op, 240},      {fuzz_step_reduce, 80},  {fuzz_step_put, 110},
    {fuzz_step_put_self, 45}, {fuzz_step_get, 75},     {step_let, 110},
    {fuzz_step_view, 50},     {step_set, 35},          {step_drop, 20},
    {fuzz_step_create, 45},   {fuzz_step_cast, 15},    {fuzz_step_along, 25},
    {fuzz_step_matmul, 15},   {fuzz_step_reshape, 20}, {fuzz_step_axes, 30},
    {fuzz_step_join, 15},     {fuzz_step_repeat, 10},  {fuzz_step_take, 15},
    {fuzz_step_find, 20},     {step_scope, 20},        {step_observe, 30},
    {step_gate, 20},          {fuzz_step_fourier, 25}, {fuzz_step_unrolled, 6},
    {fuzz_step_loop, 35},     {fuzz_step_mask, 60},
};

static void take_step(fuzz_gen *g) {
    if (g->loops && fuzz_chance(&g->r, 40)) {
        fuzz_step_loop(g);
        return;
    }
    const size_t count = sizeof steps / sizeof steps[0];
    int sum = 0;
    for (size_t i = 0; i < count; i++) sum += steps[i].weight;
    int at = fuzz_below(&g->r, sum);
    size_t step = 0;
    while (at >= steps[step].weight) at -= steps[step++].weight;
    steps[step].step(g);
}

void fuzz_steps(fuzz_gen *g, int target) {
    const int room =
        FUZZ_MAX - 80; /* a step may take many, and there are reads to come */
    for (int i = 0; i < 400 && g->p->count < target && g->p->count < room; i++)
        take_step(g);
}

/* Except some expressions: scopes end with expressions left over. */
void fuzz_observe_rest(fuzz_gen *g) {
    const int made = g->p->count;
    for (int i = 0; i < made && g->p->count < FUZZ_MAX - 1; i++) {
        const fuzz_var *v = &g->v[i];
        if (v->live && v->owner == g->issuer && (v->array || fuzz_chance(&g->r, 60)))
            observe(g, fuzz_chance(&g->r, 50) ? FUZZ_READ : FUZZ_MAP, i);
    }
}

static void choose_palette(fuzz_gen *g) {
    for (int i = 0; i < 4; i++) g->palette[i] = 1 + fuzz_below(&g->r, i < 2 ? 5 : 20);
    if (fuzz_chance(&g->r, 15)) g->palette[3] = 0;
    if (fuzz_chance(&g->r, 20)) g->palette[2] = 100 + fuzz_below(&g->r, 300);
}

void fuzz_generate(fuzz_program *p, uint64_t seed, const fuzz_mix *mix) {
    fuzz_gen g;
    memset(&g, 0, offsetof(fuzz_gen, v));
    g.p = p;
    g.r = seed * 0x2545f4914f6cdd1du + 77;
    g.mistakes = fuzz_chance(&g.r, 30) ? 2 + fuzz_below(&g.r, 8) : 0;
    g.budget = mix->size == FUZZ_SMALL ? 12000 : 50000;
    g.gates = fuzz_tuned_for_gates(seed) && fuzz_chance(&g.r, 60);
    choose_palette(&g);
    p->seed = seed;
    p->count = 0;
    p->team = -1;
    p->issuers = mix->issuers[seed % (uint64_t)mix->choices];
    g.dense = fuzz_chance(&g.r, 30);
    g.loops = fuzz_chance(&g.r, 30);
    int target = 5 + fuzz_below(&g.r, 56) + (g.dense ? 20 : 0);
    for (int i = 1 + fuzz_below(&g.r, 3); i > 0; i--) {
        fuzz_shape s = fuzz_shape_random(&g);
        fuzz_make(&g, FUZZ_ARRAY, fuzz_dtype_random(&g), &s);
    }
    if (p->issuers > 1) {
        fuzz_steps(&g, fuzz_below(&g.r, 12));
        fuzz_streams(&g, p->issuers);
        fuzz_steps(&g, p->count + fuzz_below(&g.r, 8));
    } else {
        fuzz_steps(&g, target);
    }
    fuzz_observe_rest(&g);
}

static uint64_t tuning_random(uint64_t seed) {
    return seed / FUZZ_SHARED * 0x9e3779b97f4a7c15u + 5;
}

bool fuzz_tuned_for_gates(uint64_t seed) {
    uint64_t r = tuning_random(seed);
    return fuzz_chance(&r, 40);
}

const char *const fuzz_device_name[FUZZ_NDEVICES] = {"none", "moody",    "cheap",
                                                     "slow", "refusing", "failing"};

fuzz_device fuzz_device_of(uint64_t seed, const fuzz_mix *mix) {
    if (mix->devices) return mix->device;
    uint64_t r = tuning_random(seed) + 2;
    if (!fuzz_chance(&r, 40)) return FUZZ_NO_DEVICE;
    return (fuzz_device)(FUZZ_MOODY + fuzz_below(&r, FUZZ_NDEVICES - FUZZ_MOODY));
}

void fuzz_tune(vp__tuning_t *t, uint64_t seed) {
    uint64_t r = tuning_random(seed);
    bool gates = fuzz_chance(&r, 40);
    t->max_nodes = gates ? 10000 : fuzz_between(&r, 4, 64);
    t->inline_ns = fuzz_chance(&r, 60) ? 0 : fuzz_between(&r, 0, 1000);
    t->inline_elements = fuzz_chance(&r, 60) ? 0 : fuzz_between(&r, 0, 256);
    t->piece_ns =
        fuzz_chance(&r, 75) ? fuzz_between(&r, 1, 10) : fuzz_between(&r, 10, 5000);
    t->flat_grain = 1 << fuzz_below(&r, 11);
    t->copy_bytes = fuzz_chance(&r, 30) ? 0 : fuzz_between(&r, 0, 16384);
    t->wake_ns = fuzz_chance(&r, 30) ? 0 : fuzz_between(&r, 0, 20000);
    t->spin_ns = fuzz_chance(&r, 30) ? 0 : fuzz_between(&r, 0, 30000);
    t->naps = fuzz_below(&r, 20);
    t->trial_ns = fuzz_chance(&r, 50) ? 0 : fuzz_between(&r, 0, 20000);
    t->busy_ns = fuzz_chance(&r, 50) ? 0 : fuzz_between(&r, 0, 20000);
    t->queued = fuzz_below(&r, 64);
    t->bundle_after = fuzz_below(&r, 4);
    t->bundle_ns = fuzz_between(&r, 100, 20000);
    t->share_ns = fuzz_chance(&r, 60) ? 0 : fuzz_between(&r, 0, 20000);
    t->unissued_ns = fuzz_chance(&r, 50) ? 0 : fuzz_between(&r, 1, 2000);
}
