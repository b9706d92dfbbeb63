/* SPDX-License-Identifier: Apache-2.0 */
#include "net/segment.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/clock.h"
#include "jit/exec.h"
#include "net/cost.h"
#include "net/launch.h"
#include "net/tuning.h"

typedef struct {
    vp__segment seg; /* of a late one, and its sizes */
    vp__arena arena;
    vp__recipe *recipe; /* once it is sized */
    int phase;
    /* The running phase: */
    const vp__plan *plan;
    vp__plan *own_plan; /* the same, when it is not the recipe's */
    void *partial;
    size_t partial_bytes;
    int64_t chunk; /* elements of a flat piece */
    bool flat, at_once;
    vp__code code; /* of a flat one */
    char **temps;  /* outputs of all parts but the last; NULL until then */
} payload;

/* For the sizes of a late segment. */
enum { ARENA_BYTES = 2048 };

static size_t align16(size_t n) { return (n + 15) & ~(size_t)15; }

static void shift(const vp__part *p, void *const *data, char *out, int64_t first,
                  void **shifted, char **shifted_out) {
    for (int i = 0; i < p->kernel.nleaves; i++)
        shifted[i] =
            p->kernel.leaf[i].constant
                ? NULL
                : (char *)data[i] + first * vp__dtype[p->kernel.leaf[i].dtype].size;
    *shifted_out = out + first * vp__dtype[p->kernel.result].size;
}

/* --- as a node ------------------------------------------------------------------------- */

static int64_t piece_elements(const vp__node *n, const vp__part *p) {
    double ns = p->cost * vp__cost_factor(n->key) / (double)(p->count > 0 ? p->count : 1);
    if (vp__placeable == 1 || ns * (double)p->count < 2 * (double)vp__tuning.piece_ns)
        return INT64_MAX / 4;
    return (int64_t)((double)vp__tuning.piece_ns / ns) + 1;
}

static void part_data(const vp__node *n, const payload *w, const vp__part *p,
                      void **data) {
    for (int i = 0; i < p->kernel.nleaves; i++)
        data[i] = p->kernel.leaf[i].constant ? NULL
                  : p->source[i] >= 0 ? (void *)vp__input_data(&n->in[p->source[i]])
                                      : w->temps[~p->source[i]];
}

static bool is_last(const payload *w) { return w->phase + 1 == w->recipe->cut.nparts; }

/* Whether the value goes straight into its target; without axes there is no difference. */
static bool is_in_target(const vp__node *n) {
    return n->fits && n->out_strides == n->target_strides;
}

/* A plan of the current part for several cores, or one that the recipe has not. */
static const vp__plan *plan_pieces(payload *w, const vp__part *p, const int64_t *loop_out,
                                   int64_t wish) {
    vp__exec_args args;
    vp__recipe_args(&args, p, loop_out);
    w->own_plan = vp__pool_alloc(vp__plan_size());
    if (w->own_plan) vp__plan_init(w->own_plan, &args, wish);
    return w->own_plan;
}

/* Prepares the part of the current phase. */
static void open_part(vp__node *n) {
    payload *w = n->payload;
    const vp__recipe *r = w->recipe;
    const vp__part *p = r->cut.part[w->phase];
    const bool to_target = is_last(w) && is_in_target(n);
    n->pieces = 1;
    w->own_plan = NULL;
    w->partial = NULL;
    w->partial_bytes = 0;
    if (!is_last(w)) {
        w->temps[w->phase] = vp__pool_alloc((size_t)p->out_bytes);
        if (!w->temps[w->phase]) goto no_memory;
    }
    int64_t wish = piece_elements(n, p), grain = vp__tuning.flat_grain;
    w->flat = to_target ? r->target_flat : p->flat;
    if (w->flat) {
        w->chunk = wish < p->count ? (wish + grain - 1) / grain * grain
                                   : (p->count > 0 ? p->count : 1);
        n->pieces = (p->count + w->chunk - 1) / w->chunk;
        if (n->pieces == 0) n->pieces = 1;
        w->code = vp__exec_flat_code(&p->kernel, p->cost,
                                     n->pieces == 1 ? p->count : VP__UNKNOWN);
        n->stage = w->code.fn ? w->code.stage : VP__STAGE_BASE;
        return;
    }
    w->plan = to_target ? r->target_plan : r->plan[w->phase];
    if (!w->plan || wish < p->count)
        w->plan =
            plan_pieces(w, p, to_target ? r->target_loop : p->loop_out_strides, wish);
    if (!w->plan) goto no_memory;
    w->partial_bytes = vp__plan_partial_bytes(w->plan);
    if (w->partial_bytes) {
        w->partial = vp__pool_alloc(w->partial_bytes);
        if (!w->partial) goto no_memory;
    }
    n->pieces = vp__plan_pieces(w->plan);
    n->stage = (uint8_t)vp__plan_stage(w->plan);
    if (n->pieces == 0) n->pieces = 1; /* an empty output: one piece that does nothing */
    return;
no_memory:
    vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                   "%s: out of memory for a temporary", n->name));
}

static void begin(vp__node *n) {
    payload *w = n->payload;
    const int parts = w->recipe->cut.nparts;
    w->phase = 0;
    /* Several parts that are too short to be split run one after the other in one piece. */
    w->at_once = parts > 1 && n->cost < 2 * (float)vp__tuning.piece_ns;
    if (w->at_once) {
        w->phase = parts - 1;
        return;
    }
    if (parts > 1) {
        w->temps = vp__pool_alloc((size_t)parts * sizeof *w->temps);
        if (!w->temps) {
            vp__node_fail(n, vp__node_no_memory(n));
            return;
        }
        memset(w->temps, 0, (size_t)parts * sizeof *w->temps);
    }
    open_part(n);
}

static void run_at_once(vp__node *n, vp__core *core) {
    payload *w = n->payload;
    char *data[VP__SEGMENT_LEAVES];
    for (int i = 0; i < n->ninputs; i++) data[i] = vp__input_data(&n->in[i]);
    vp__error *error =
        vp__recipe_run(w->recipe, data, n->out, is_in_target(n), core, n->where);
    if (error) vp__node_fail(n, error);
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    payload *w = n->payload;
    if (w->at_once) {
        run_at_once(n, core);
        return;
    }
    const vp__part *p = w->recipe->cut.part[w->phase];
    char *out = is_last(w) ? n->out : w->temps[w->phase];
    void *data[VP__KERNEL_LEAVES];
    part_data(n, w, p, data);
    vp__count(&core->counters.kernels, 1);
    if (w->flat) {
        int64_t first = i * w->chunk;
        int64_t count = p->count - first < w->chunk ? p->count - first : w->chunk;
        void *shifted[VP__KERNEL_LEAVES];
        shift(p, data, out, first, shifted, &out);
        if (w->code.fn)
            vp__exec_flat_native(&w->code, &p->kernel, shifted, out, count);
        else
            vp__exec_flat(&p->kernel, shifted, out, count, core->scratch);
    } else if (vp__plan_pieces(w->plan)) {
        vp__plan_run(w->plan, i, data, out, w->partial, core->scratch);
    }
}

static void drop_plan(payload *w) {
    if (w->own_plan) vp__pool_free(w->own_plan, vp__plan_size());
    if (w->partial) vp__pool_free(w->partial, w->partial_bytes);
    w->own_plan = NULL;
    w->partial = NULL;
}

static void close_part(vp__node *n, vp__core *core, bool finish) {
    payload *w = n->payload;
    const vp__part *p = w->recipe->cut.part[w->phase];
    if (finish) {
        vp__count(&core->counters.elements, (uint64_t)p->count);
        if (w->partial)
            vp__plan_finish(w->plan, is_last(w) ? n->out : w->temps[w->phase], w->partial,
                            core->scratch);
    }
    drop_plan(w);
}

static bool next(vp__node *n, vp__core *core) {
    payload *w = n->payload;
    if (w->at_once) return false;
    close_part(n, core, true);
    if (is_last(w)) return false;
    w->phase++;
    open_part(n);
    return !n->error;
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    drop_plan(w);
    if (w->temps) {
        const vp__cut *cut = &w->recipe->cut;
        for (int k = 0; k + 1 < cut->nparts; k++)
            if (w->temps[k]) vp__pool_free(w->temps[k], (size_t)cut->part[k]->out_bytes);
        vp__pool_free(w->temps, (size_t)cut->nparts * sizeof *w->temps);
    }
    if (w->recipe) vp__recipe_release(w->recipe);
    vp__arena_deinit(&w->arena);
}

const char *vp__segment_name(const vp__segment *seg) {
    const vp__step *last = &seg->step[seg->nsteps - 1];
    if (last->kind == VP__EXPR_OP || last->kind == VP__EXPR_REDUCE)
        return last->op < VP__NOPS ? vp__ops[last->op].name : "cast";
    return "copy";
}

void vp__segment_node_follow(vp__node *n, vp__recipe *recipe) {
    payload *w = n->payload;
    w->recipe = recipe;
    const vp__part *last = vp__recipe_last(recipe);
    memcpy(n->dims, last->out_dims, (size_t)n->ndim * sizeof(int64_t));
    memcpy(n->strides, last->out_strides, (size_t)n->ndim * sizeof(int64_t));
    n->estimate = (float)recipe->cut.cost;
}

static vp__error *size(vp__node *n) {
    payload *w = n->payload;
    if (!w->seg.step) return NULL; /* was cut when it was issued */
    vp__leaf_layout leaves[VP__SEGMENT_LEAVES];
    for (int i = 0; i < n->ninputs; i++)
        leaves[i] = (vp__leaf_layout){n->in[i].dims, n->in[i].strides, n->in[i].ndim};
    vp__error *e = vp__segment_size(&w->seg, leaves, &w->arena);
    if (e) return e;
    vp__recipe *recipe = vp__recipe_new(&w->seg, leaves);
    if (!recipe) {
        vp__segment_layout(&w->seg, n->dims, n->strides);
        return vp__error_new(VP_ERR_MEMORY, n->where, "%s: out of memory", n->name);
    }
    vp__segment_node_follow(n, recipe);
    return NULL;
}

static void device_part(vp__node *n, int phase, vp__device_part *out) {
    payload *w = n->payload;
    const vp__part *p = w->recipe->cut.part[phase];
    out->last = phase + 1 == w->recipe->cut.nparts;
    out->kernel = &p->kernel;
    vp__recipe_args(&out->args, p, p->loop_out_strides);
    memcpy(out->source, p->source, sizeof out->source);
    out->out_bytes = p->out_bytes;
}

static const vp__work segment_work = {.size = size,
                                      .begin = begin,
                                      .piece = piece,
                                      .next = next,
                                      .deinit = deinit,
                                      .device_part = device_part};

vp__node *vp__segment_node(const char *name, int key, const char *where, int leaves,
                           int input_axes, int ndim, int target_ndim,
                           const vp__segment *late) {
    const size_t head = align16(sizeof(payload));
    const size_t steps = late ? align16((size_t)late->nsteps * sizeof(vp__step)) : 0;
    vp__node *n = vp__node_new(&segment_work, name, where, leaves, input_axes, ndim,
                               target_ndim, head + steps + (late ? ARENA_BYTES : 0));
    if (!n) return NULL;
    payload *w = n->payload;
    w->seg.step = NULL;
    w->recipe = NULL;
    w->own_plan = NULL;
    w->partial = NULL;
    w->temps = NULL;
    n->key = key;
    if (late) {
        w->seg = *late;
        w->seg.step = (vp__step *)((char *)n->payload + head);
        memcpy(w->seg.step, late->step, (size_t)late->nsteps * sizeof(vp__step));
    }
    vp__arena_init(&w->arena, (char *)n->payload + head + steps, late ? ARENA_BYTES : 0);
    return n;
}
