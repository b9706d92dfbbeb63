/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/segment.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/clock.h"
#include "issue/recipe_run.h"
#include "net/cost.h"
#include "net/part.h"
#include "net/tuning.h"

typedef struct {
    vp__segment seg; /* of a late one, and its sizes */
    vp__arena arena;
    vp__recipe *recipe; /* once it is sized */
    int phase;
    bool at_once;      /* all parts in one piece */
    vp__runner runner; /* of the running phase */
    char **temps;      /* outputs of all parts but the last; NULL until then */
} payload;

_Static_assert((int)VP__SEGMENT_TERMS <= (int)VP__NODE_PARTS,
               "a device runs any segment");

/* For the sizes of a late segment. */
enum { ARENA_BYTES = 2048 };

static size_t align16(size_t n) { return (n + 15) & ~(size_t)15; }

static int64_t piece_elements(const vp__node *n, const vp__part *p) {
    double ns = p->cost * vp__cost_factor(n->key) / (double)(p->count > 0 ? p->count : 1);
    if (vp__placeable == 1 || ns * (double)p->count < 2 * (double)vp__tuning.piece_ns)
        return VP__ONE_PIECE;
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

static char *part_out(const vp__node *n, const payload *w) {
    return is_last(w) ? n->out : w->temps[w->phase];
}

/* Whether the value goes straight into its target; without axes there is no difference. */
static bool is_in_target(const vp__node *n) {
    return n->fits && n->out_strides == n->target_strides;
}

/* Prepares the part of the current phase. */
static void open_part(vp__node *n) {
    payload *w = n->payload;
    const vp__part *p = w->recipe->cut.part[w->phase];
    bool there = true;
    if (!is_last(w)) {
        w->temps[w->phase] = vp__pool_alloc((size_t)p->out_bytes);
        there = w->temps[w->phase] != NULL;
    }
    vp__job job;
    vp__recipe_job(&job, w->recipe, w->phase, is_in_target(n));
    n->pieces = there ? vp__runner_open(&w->runner, &job, piece_elements(n, p),
                                        vp__tuning.flat_grain, NULL)
                      : 0;
    if (n->pieces) {
        n->stage = (uint8_t)vp__runner_stage(&w->runner);
        return;
    }
    n->pieces = 1;
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
    void *data[VP__KERNEL_LEAVES];
    part_data(n, w, p, data);
    vp__count(&core->counters.kernels, 1);
    vp__runner_piece(&w->runner, i, data, part_out(n, w), core->scratch);
}

static bool next(vp__node *n, vp__core *core) {
    payload *w = n->payload;
    if (w->at_once) return false;
    vp__count(&core->counters.elements, (uint64_t)w->recipe->cut.part[w->phase]->count);
    vp__runner_finish(&w->runner, part_out(n, w), core->scratch);
    vp__runner_close(&w->runner);
    if (is_last(w)) return false;
    w->phase++;
    open_part(n);
    return !n->error;
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    vp__runner_close(&w->runner);
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
    const vp__term *last = &seg->term[seg->nterms - 1];
    if (last->kind == VP__EXPR_OP || last->kind == VP__EXPR_REDUCE)
        return vp__op_name(last->op);
    return "copy";
}

/* Takes over a reference; sets dims, strides, estimate. */
static void follow(vp__node *n, vp__recipe *recipe) {
    payload *w = n->payload;
    w->recipe = recipe;
    const vp__part *last = vp__recipe_last(recipe);
    memcpy(n->dims, last->out_dims, (size_t)n->ndim * sizeof(int64_t));
    memcpy(n->strides, last->out_strides, (size_t)n->ndim * sizeof(int64_t));
    n->estimate = (float)recipe->cut.cost;
}

static vp__error *size(vp__node *n) {
    payload *w = n->payload;
    if (!w->seg.term) return NULL; /* was cut when it was issued */
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
    follow(n, recipe);
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

static vp__node *node_new(const char *name, int key, const char *where, int leaves,
                          int input_axes, int ndim, int target_ndim,
                          const vp__segment *late) {
    const size_t head = align16(sizeof(payload));
    const size_t terms = late ? align16((size_t)late->nterms * sizeof(vp__term)) : 0;
    vp__node *n = vp__node_new(&segment_work, name, where, leaves, input_axes, ndim,
                               target_ndim, head + terms + (late ? ARENA_BYTES : 0));
    if (!n) return NULL;
    payload *w = n->payload;
    w->seg.term = NULL;
    w->recipe = NULL;
    w->runner.own_plan = w->runner.partial = NULL;
    w->temps = NULL;
    n->key = key;
    if (late) {
        w->seg = *late;
        w->seg.term = (vp__term *)((char *)n->payload + head);
        memcpy(w->seg.term, late->term, (size_t)late->nterms * sizeof(vp__term));
    }
    vp__arena_init(&w->arena, (char *)n->payload + head + terms, late ? ARENA_BYTES : 0);
    return n;
}

vp__node *vp__segment_node_of(vp__expr *e, vp__recipe *recipe, vp__expr **leaves,
                              int target_ndim) {
    vp__recipe *closed =
        NULL; /* nothing that a node reads is a constant of the caller's */
    if (recipe && recipe->given) {
        recipe = closed = vp__recipe_closed(recipe, e, leaves);
        if (!recipe) return NULL;
    }
    vp__term terms[VP__SEGMENT_TERMS];
    vp__segment seg;
    const vp__segment *shape = &seg;
    if (recipe)
        shape = &recipe->seg;
    else
        vp__segment_build(&seg, terms, e, leaves, 0);
    int axes = 0;
    for (int i = 0; i < shape->nleaves; i++) axes += leaves[i]->ndim;
    vp__node *n = node_new(vp__segment_name(shape), e->op, e->where, shape->nleaves, axes,
                           e->ndim, target_ndim, e->late ? shape : NULL);
    if (!n) {
        if (closed) vp__recipe_release(closed);
        return NULL;
    }
    n->dtype = e->dtype;
    for (int i = 0; i < shape->nleaves; i++) {
        vp__expr *l = leaves[i];
        vp__storage_retain(l->storage);
        vp__input *in = vp__node_add_input(n, l->storage, l->dtype, l->offset, l->ndim,
                                           l->late ? NULL : l->dims, l->strides);
        if (l->is_box) in->region = l->reads;
    }
    if (e->kind == VP__EXPR_POISON) {
        vp__node_fail(n, vp__error_retain(e->error));
    } else if (recipe) {
        if (!closed) vp__recipe_retain(recipe);
        follow(n, recipe);
    }
    return n;
}
