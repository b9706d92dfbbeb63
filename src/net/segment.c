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
    vp__segment seg; /* of a late one */
    vp__cut cut;
    vp__arena arena;
    int phase;
    char *temps[VP__SEGMENT_STEPS]; /* outputs of all parts but the last */
    /* The running phase: */
    vp__plan *plan;
    void *partial;
    size_t partial_bytes;
    int64_t chunk; /* elements of a flat piece */
    int64_t loop_out_strides[VP__MAXDIM];
    bool flat, at_once;
    vp__code code; /* of a flat one */
} payload;

enum { ARENA_BYTES = 2048 };

static size_t align16(size_t n) { return (n + 15) & ~(size_t)15; }

/* The output's strides along the iteration space, from those in its own axes. */
static void spread_strides(const vp__part *p, const int64_t *own, int64_t *loop) {
    bool keeps = p->out_ndim == p->ndim;
    for (int i = 0, k = 0; i < p->ndim; i++) {
        bool reduced = p->reduced >> i & 1;
        loop[i] = reduced ? 0 : own[k];
        if (!reduced || keeps) k++;
    }
}

static bool matches(const vp__part *p, const int64_t *loop_out) {
    for (int i = 0; i < p->ndim; i++)
        if (p->dims[i] != 1 && p->loop_out_strides[i] != loop_out[i]) return false;
    return true;
}

static void fill_args(vp__exec_args *a, const vp__part *p, const int64_t *loop_out) {
    a->kernel = &p->kernel;
    a->cost = p->cost;
    a->ndim = p->ndim;
    a->dims = p->dims;
    a->reduced = p->reduced;
    for (int i = 0; i < p->kernel.nleaves; i++)
        a->leaf_strides[i] = p->kernel.leaf[i].constant ? NULL : p->strides[i];
    a->out_strides = loop_out;
}

static void shift(const vp__part *p, void *const *data, char *out, int64_t first,
                  void **shifted, char **shifted_out) {
    for (int i = 0; i < p->kernel.nleaves; i++)
        shifted[i] =
            p->kernel.leaf[i].constant
                ? NULL
                : (char *)data[i] + first * vp__dtype[p->kernel.leaf[i].dtype].size;
    *shifted_out = out + first * vp__dtype[p->kernel.result].size;
}

/* --- running at once ---------------------------------------------------------------- */

static vp__error *run_part(const vp__part *p, void *const *data, char *out,
                           const int64_t *strides, vp__core *core, const char *where) {
    int64_t loop_out[VP__MAXDIM];
    const int64_t *loop = p->loop_out_strides;
    if (strides) {
        spread_strides(p, strides, loop_out);
        loop = loop_out;
    }
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)p->count);
    if (p->flat && (!strides || matches(p, loop))) {
        const vp__code code = vp__exec_flat_code(&p->kernel, p->cost, p->count);
        if (code.fn)
            vp__exec_flat_native(&code, &p->kernel, data, out, p->count);
        else
            vp__exec_flat(&p->kernel, data, out, p->count, core->scratch);
        return NULL;
    }
    vp__exec_args args;
    fill_args(&args, p, loop);
    vp__plan *plan = core->plan;
    vp__plan_init(plan, &args, INT64_MAX / 4);
    size_t partial_bytes = vp__plan_partial_bytes(plan);
    void *partial = partial_bytes ? vp__pool_alloc(partial_bytes) : NULL;
    if (partial_bytes && !partial)
        return vp__error_new(VP_ERR_MEMORY, where, "out of memory for a reduction");
    int64_t pieces = vp__plan_pieces(plan);
    for (int64_t i = 0; i < pieces; i++)
        vp__plan_run(plan, i, data, out, partial, core->scratch);
    if (partial_bytes) {
        vp__plan_finish(plan, out, partial, core->scratch);
        vp__pool_free(partial, partial_bytes);
    }
    return NULL;
}

vp__error *vp__segment_run(const vp__cut *cut, char *const *leaf_data, char *out,
                           const int64_t *strides, vp__core *core, const char *where) {
    char *temps[VP__SEGMENT_STEPS];
    vp__error *error = NULL;
    int made = 0;
    for (int k = 0; k < cut->nparts && !error; k++) {
        const vp__part *p = cut->part[k];
        bool last = k + 1 == cut->nparts;
        void *data[VP__KERNEL_LEAVES];
        for (int i = 0; i < p->kernel.nleaves; i++)
            data[i] = p->kernel.leaf[i].constant ? NULL
                      : p->source[i] >= 0        ? leaf_data[p->source[i]]
                                                 : temps[~p->source[i]];
        char *to = out;
        if (!last) {
            to = temps[k] = vp__pool_alloc((size_t)p->out_bytes);
            if (!to)
                return vp__error_new(VP_ERR_MEMORY, where,
                                     "out of memory for a temporary");
            made = k + 1;
        }
        error = run_part(p, data, to, last ? strides : NULL, core, where);
    }
    for (int k = 0; k < made; k++)
        vp__pool_free(temps[k], (size_t)cut->part[k]->out_bytes);
    return error;
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

static bool is_last(const payload *w) { return w->phase + 1 == w->cut.nparts; }

/* Prepares the part of the current phase. */
static void open_part(vp__node *n) {
    payload *w = n->payload;
    const vp__part *p = w->cut.part[w->phase];
    n->pieces = 1;
    w->plan = NULL;
    w->partial = NULL;
    w->partial_bytes = 0;
    if (!is_last(w)) {
        w->temps[w->phase] = vp__pool_alloc((size_t)p->out_bytes);
        if (!w->temps[w->phase]) goto no_memory;
        memcpy(w->loop_out_strides, p->loop_out_strides,
               (size_t)p->ndim * sizeof(int64_t));
    } else {
        spread_strides(p, n->out_strides, w->loop_out_strides);
    }
    int64_t wish = piece_elements(n, p), grain = vp__tuning.flat_grain;
    w->flat = p->flat && matches(p, w->loop_out_strides);
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
    vp__exec_args args;
    fill_args(&args, p, w->loop_out_strides);
    w->plan = vp__pool_alloc(vp__plan_size());
    if (!w->plan) goto no_memory;
    vp__plan_init(w->plan, &args, wish);
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
    w->phase = 0;
    /* Several parts that are too short to be split run one after the other in one piece. */
    w->at_once = w->cut.nparts > 1 && n->cost < 2 * (float)vp__tuning.piece_ns;
    if (w->at_once)
        w->phase = w->cut.nparts - 1;
    else
        open_part(n);
}

static void run_at_once(vp__node *n, vp__core *core) {
    payload *w = n->payload;
    char *data[VP__SEGMENT_LEAVES];
    for (int i = 0; i < n->ninputs; i++) data[i] = vp__input_data(&n->in[i]);
    vp__error *error =
        vp__segment_run(&w->cut, data, n->out, n->out_strides, core, n->where);
    if (error) vp__node_fail(n, error);
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    payload *w = n->payload;
    if (w->at_once) {
        run_at_once(n, core);
        return;
    }
    const vp__part *p = w->cut.part[w->phase];
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

static void close_part(vp__node *n, vp__core *core, bool finish) {
    payload *w = n->payload;
    const vp__part *p = w->cut.part[w->phase];
    if (finish) {
        vp__count(&core->counters.elements, (uint64_t)p->count);
        if (w->partial)
            vp__plan_finish(w->plan, is_last(w) ? n->out : w->temps[w->phase], w->partial,
                            core->scratch);
    }
    if (w->plan) vp__pool_free(w->plan, vp__plan_size());
    if (w->partial) vp__pool_free(w->partial, w->partial_bytes);
    w->plan = NULL;
    w->partial = NULL;
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
    if (w->plan) vp__pool_free(w->plan, vp__plan_size());
    if (w->partial) vp__pool_free(w->partial, w->partial_bytes);
    for (int k = 0; k + 1 < w->cut.nparts; k++)
        if (w->temps[k]) vp__pool_free(w->temps[k], (size_t)w->cut.part[k]->out_bytes);
    vp__arena_deinit(&w->arena);
}

vp__error *vp__segment_node_cut(vp__node *n, const vp__segment *seg) {
    payload *w = n->payload;
    vp__leaf_layout leaves[VP__SEGMENT_LEAVES];
    for (int i = 0; i < n->ninputs; i++)
        leaves[i] = (vp__leaf_layout){n->in[i].dims, n->in[i].strides, n->in[i].ndim};
    if (!vp__segment_cut(&w->cut, seg, leaves, &w->arena)) {
        vp__segment_layout(seg, n->dims, n->strides);
        w->cut.nparts = 0;
        return vp__error_new(VP_ERR_MEMORY, n->where, "%s: out of memory", n->name);
    }
    memset(w->temps, 0, (size_t)w->cut.nparts * sizeof w->temps[0]);
    const vp__part *last = w->cut.part[w->cut.nparts - 1];
    memcpy(n->dims, last->out_dims, (size_t)n->ndim * sizeof(int64_t));
    memcpy(n->strides, last->out_strides, (size_t)n->ndim * sizeof(int64_t));
    n->estimate = (float)w->cut.cost;
    return NULL;
}

static vp__error *size(vp__node *n) {
    payload *w = n->payload;
    if (!w->seg.step) return NULL; /* was cut when it was issued */
    vp__leaf_layout leaves[VP__SEGMENT_LEAVES];
    for (int i = 0; i < n->ninputs; i++)
        leaves[i] = (vp__leaf_layout){n->in[i].dims, n->in[i].strides, n->in[i].ndim};
    vp__error *e = vp__segment_size(&w->seg, leaves, &w->arena);
    return e ? e : vp__segment_node_cut(n, &w->seg);
}

static void device_part(vp__node *n, int phase, vp__device_part *out) {
    payload *w = n->payload;
    const vp__part *p = w->cut.part[phase];
    const int64_t *strides = p->loop_out_strides;
    out->last = phase + 1 == w->cut.nparts;
    if (out->last) {
        spread_strides(p, n->strides, out->out_strides);
        strides = out->out_strides;
    }
    out->kernel = &p->kernel;
    fill_args(&out->args, p, strides);
    memcpy(out->source, p->source, sizeof out->source);
    out->out_bytes = p->out_bytes;
}

static const vp__work segment_work = {.size = size,
                                      .begin = begin,
                                      .piece = piece,
                                      .next = next,
                                      .deinit = deinit,
                                      .device_part = device_part};

vp__node *vp__segment_node(const vp__segment *seg, bool late, const char *name,
                           const char *where, int input_axes, int ndim, int target_ndim) {
    size_t steps = late ? align16((size_t)seg->nsteps * sizeof(vp__step)) : 0;
    size_t head = align16(sizeof(payload));
    vp__node *n = vp__node_new(&segment_work, name, where, seg->nleaves, input_axes, ndim,
                               target_ndim, head + steps + ARENA_BYTES);
    if (!n) return NULL;
    payload *w = n->payload;
    w->seg.step = NULL;
    w->plan = NULL;
    w->partial = NULL;
    w->cut.nparts = 0;
    n->key = seg->step[seg->nsteps - 1].op;
    if (late) {
        w->seg = *seg;
        w->seg.step = (vp__step *)((char *)n->payload + head);
        memcpy(w->seg.step, seg->step, (size_t)seg->nsteps * sizeof(vp__step));
    }
    vp__arena_init(&w->arena, (char *)n->payload + head + steps, ARENA_BYTES);
    return n;
}
