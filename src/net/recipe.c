/* SPDX-License-Identifier: Apache-2.0 */
#include "net/recipe.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "net/tuning.h"

enum {
    BLOCK = 4096 - 64, /* most recipes fit one block of the pool */
    /* So often a recipe is used before it is made anew: native code may be there by then,
     * and whether it is wanted is reckoned when plans are made. */
    MOST_USES = 64,
};

static _Atomic int64_t kept_bytes; /* relaxed: a figure, nothing depends on it */

int64_t vp__recipe_bytes(void) {
    return atomic_load_explicit(&kept_bytes, memory_order_relaxed);
}

void vp__recipe_retain(vp__recipe *r) {
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

void vp__recipe_release(vp__recipe *r) {
    /* acq_rel: whoever frees it comes after all who used it. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    vp__arena_deinit(&r->arena);
    vp__pool_free(r, r->bytes);
}

/* --- making one --------------------------------------------------------------------- */

void vp__recipe_args(vp__exec_args *a, const vp__part *p, const int64_t *loop_out) {
    a->kernel = &p->kernel;
    a->cost = p->cost;
    a->repeats = 1;
    a->ndim = p->ndim;
    a->dims = p->dims;
    a->reduced = p->reduced;
    for (int i = 0; i < p->kernel.nleaves; i++)
        a->leaf_strides[i] = p->kernel.leaf[i].constant ? NULL : p->strides[i];
    a->out_strides = loop_out;
}

static bool copy_axes(vp__recipe *r, int ndim, const int64_t *from, int64_t **to) {
    *to = vp__arena_alloc(&r->arena, (size_t)ndim * sizeof(int64_t));
    if (*to) memcpy(*to, from, (size_t)ndim * sizeof(int64_t));
    return *to != NULL;
}

static bool make_plan(vp__recipe *r, const vp__part *p, const int64_t *loop_out,
                      int repeats, vp__plan **plan) {
    vp__exec_args args;
    vp__recipe_args(&args, p, loop_out);
    args.repeats = repeats;
    *plan = vp__arena_alloc(&r->arena, vp__plan_size_for(&args));
    if (!*plan) return false;
    vp__plan_init(*plan, &args, INT64_MAX / 4);
    return true;
}

/* The target's strides along the iteration space; whether the part's own are the same. */
static bool spread_strides(const vp__part *p, const int64_t *own, int64_t *loop) {
    const bool keeps = p->out_ndim == p->ndim;
    bool same = true;
    for (int i = 0, k = 0; i < p->ndim; i++) {
        const bool reduced = p->reduced >> i & 1;
        loop[i] = reduced ? 0 : own[k];
        if (!reduced || keeps) k++;
        if (p->dims[i] != 1 && p->loop_out_strides[i] != loop[i]) same = false;
    }
    return same;
}

/* A part that several cores would share is planned when it runs, and so is a long one that
 * native code may come for in the meantime. */
static bool is_planned(const vp__part *p) {
    const bool stays = vp__placeable == 1 && !vp__plan_may_go_native(&p->kernel);
    return stays || p->cost < 2 * (double)vp__tuning.piece_ns;
}

static bool make_target(vp__recipe *r, const int64_t *target, int repeats) {
    const vp__part *p = vp__recipe_last(r);
    const int last = r->cut.nparts - 1;
    r->target_ndim = (int16_t)p->out_ndim;
    r->target_loop = vp__arena_alloc(&r->arena, (size_t)(p->ndim + 1) * sizeof(int64_t));
    if (!r->target_loop || !copy_axes(r, p->out_ndim, target, &r->target)) return false;
    const bool same = spread_strides(p, target, r->target_loop);
    r->target_flat = p->flat && same;
    if (r->target_flat || !is_planned(p)) return true;
    if (!make_plan(r, p, r->target_loop, repeats, &r->target_plan)) return false;
    if (same) r->plan[last] = r->target_plan;
    return true;
}

/* Cuts and plans; the segment and the leaves' layouts are there. */
static bool fill(vp__recipe *r, const vp__leaf_layout *leaves, const int64_t *target,
                 int repeats) {
    if (!vp__segment_cut(&r->cut, &r->seg, leaves, &r->arena)) return false;
    r->plan = vp__arena_alloc(&r->arena, (size_t)r->cut.nparts * sizeof *r->plan);
    if (!r->plan) return false;
    memset(r->plan, 0, (size_t)r->cut.nparts * sizeof *r->plan);
    for (int k = 0; k < r->cut.nparts; k++) {
        const vp__part *p = r->cut.part[k];
        if (p->flat || !is_planned(p)) continue;
        /* With a target it is seldom wanted any other way. */
        if (target && k + 1 == r->cut.nparts) continue;
        if (!make_plan(r, p, p->loop_out_strides, repeats, &r->plan[k])) return false;
    }
    return !target || make_target(r, target, repeats);
}

static vp__recipe *make(const vp__segment *seg, const vp__leaf_layout *leaves,
                        const int64_t *target, int repeats) {
    vp__recipe *r = vp__pool_alloc(BLOCK);
    if (!r) return NULL;
    atomic_init(&r->refs, 1);
    r->uses = 1;
    r->target_ndim = -1;
    r->bytes = BLOCK;
    r->target = r->target_loop = NULL;
    r->target_flat = false;
    r->target_plan = NULL;
    vp__arena_init(&r->arena, (char *)r + sizeof *r, BLOCK - sizeof *r);
    r->seg = *seg;
    r->seg.step = vp__arena_alloc(&r->arena, (size_t)seg->nsteps * sizeof *seg->step);
    r->layout =
        vp__arena_alloc(&r->arena, (size_t)(2 * seg->nleaves + 1) * sizeof *r->layout);
    if (!r->seg.step || !r->layout) goto no_memory;
    memcpy(r->seg.step, seg->step, (size_t)seg->nsteps * sizeof *seg->step);
    for (int i = 0; i < seg->nleaves; i++)
        if (!copy_axes(r, leaves[i].ndim, leaves[i].dims, &r->layout[2 * i]) ||
            !copy_axes(r, leaves[i].ndim, leaves[i].strides, &r->layout[2 * i + 1]))
            goto no_memory;
    if (!fill(r, leaves, target, repeats)) goto no_memory;
    for (int i = 0; i < seg->nsteps; i++) r->seg.step[i].dims = NULL; /* the caller's */
    return r;
no_memory:
    vp__recipe_release(r);
    return NULL;
}

vp__recipe *vp__recipe_new(const vp__segment *seg, const vp__leaf_layout *leaves) {
    return make(seg, leaves, NULL, 1);
}

/* --- finding one -------------------------------------------------------------------- */

/* How far a tree has been compared with the steps of a recipe. */
typedef struct {
    const vp__step *step, *end;
    int64_t *const *layout; /* of the next leaf */
    vp__expr **leaf;
} cursor;

/* Whether an expression is the next step. What is not a leaf has its dims from the leaves. */
static inline bool is_step(cursor *c, vp__expr *e) {
    const vp__step *s = c->step++;
    if (s == c->end || s->form != vp__expr_form(e) || s->axes != e->axes) return false;
    if (e->kind == VP__EXPR_LEAF) {
        const int64_t *dims = c->layout[0], *strides = c->layout[1];
        c->layout += 2;
        *c->leaf++ = e;
        for (int i = 0; i < e->ndim; i++)
            if (dims[i] != e->dims[i] || strides[i] != e->strides[i]) return false;
        return true;
    }
    return e->kind != VP__EXPR_CONST ||
           (s->value[0] == e->value.u64[0] && s->value[1] == e->value.u64[1]);
}

/* Whether the tree is what the steps were flattened from; lists its leaves. */
static bool is_same(cursor *c, vp__expr *e) {
    for (int i = 0; i < e->nargs; i++) {
        vp__expr *a = e->arg[i];
        if (!(a->nargs ? is_same(c, a) : is_step(c, a))) return false;
    }
    return is_step(c, e);
}

bool vp__recipe_is_for(const vp__recipe *r, vp__expr *root, const int64_t *target,
                       vp__expr **leaves) {
    if (r->target_ndim != (target ? root->ndim : -1)) return false;
    if (target)
        for (int i = 0; i < root->ndim; i++)
            if (r->target[i] != target[i]) return false;
    const vp__step *end = r->seg.step + r->seg.nsteps;
    cursor c = {r->seg.step, end, r->layout, leaves};
    return is_same(&c, root) && c.step == end;
}

/* A few facts about the form, and so many different loop bodies find places of their own. */
static vp__recipe **slot_of(vp__core *core, const vp__expr *root) {
    const vp__expr *inner = root->nargs ? root->arg[0] : root;
    uint64_t h = (uint64_t)root->count << 32 | (uint64_t)inner->count;
    h ^=
        (uint64_t)root->op << 8 | (uint64_t)inner->op << 16 | (uint64_t)root->steps << 24;
    h = (h ^ root->axes ^ (uint64_t)root->leaves << 40) * 0x9e3779b97f4a7c15u;
    return &core->recipe[(h >> 58) % VP__CORE_RECIPES];
}

static int64_t bytes_of(const vp__recipe *r) {
    size_t bytes = vp__pool_class_bytes(r->bytes);
    for (const vp__arena_block *b = r->arena.blocks; b; b = b->next)
        bytes += vp__pool_class_bytes(b->bytes);
    return (int64_t)bytes;
}

static void keep(vp__recipe **slot, vp__recipe *r) {
    const int64_t before = *slot ? bytes_of(*slot) : 0;
    if (*slot) vp__recipe_release(*slot);
    *slot = r;
    atomic_fetch_add_explicit(&kept_bytes, bytes_of(r) - before, memory_order_relaxed);
}

vp__recipe *vp__recipe_of(vp__core *core, vp__expr *root, const int64_t *target,
                          vp__expr **leaves) {
    vp__recipe **slot = slot_of(core, root), *r = *slot;
    int repeats = 1;
    uint32_t form = 0;
    if (r && vp__recipe_is_for(r, root, target, leaves)) {
        if (r->uses < core->recipe_uses) {
            r->uses++;
            return r;
        }
        repeats = r->uses;
        form = r->form;
    }
    vp__step steps[VP__SEGMENT_STEPS];
    vp__segment seg;
    vp__segment_build(&seg, steps, root, leaves);
    vp__leaf_layout layout[VP__SEGMENT_LEAVES];
    for (int i = 0; i < seg.nleaves; i++)
        layout[i] =
            (vp__leaf_layout){leaves[i]->dims, leaves[i]->strides, leaves[i]->ndim};
    r = make(&seg, layout, target, repeats);
    if (!r) return NULL;
    r->form = form ? form : ++core->forms;
    keep(slot, r);
    return r;
}

int vp__recipe_most_uses(void) {
    const vp__config *c = vp__config_get();
    /* Where every run's stage shall be decided anew, it is. */
    return c->sync || c->jit == VP__JIT_MIXED ? 0 : MOST_USES;
}

/* --- running ------------------------------------------------------------------------ */

static vp__error *run_plan(const vp__plan *plan, void *const *data, char *out,
                           vp__core *core, const char *where) {
    const size_t partial_bytes = vp__plan_partial_bytes(plan);
    void *partial = partial_bytes ? vp__pool_alloc(partial_bytes) : NULL;
    if (partial_bytes && !partial)
        return vp__error_new(VP_ERR_MEMORY, where, "out of memory for a reduction");
    const int64_t pieces = vp__plan_pieces(plan);
    for (int64_t i = 0; i < pieces; i++)
        vp__plan_run(plan, i, data, out, partial, core->scratch);
    if (partial_bytes) {
        vp__plan_finish(plan, out, partial, core->scratch);
        vp__pool_free(partial, partial_bytes);
    }
    return NULL;
}

static vp__error *run_part(const vp__recipe *r, int k, void *const *data, char *out,
                           bool to_target, vp__core *core, const char *where) {
    const vp__part *p = r->cut.part[k];
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)p->count);
    if (to_target ? r->target_flat : p->flat) {
        const vp__code code = vp__exec_flat_code(&p->kernel, p->cost, p->count);
        if (code.fn)
            vp__exec_flat_native(&code, &p->kernel, data, out, p->count);
        else
            vp__exec_flat(&p->kernel, data, out, p->count, core->scratch);
        return NULL;
    }
    const vp__plan *plan = to_target ? r->target_plan : r->plan[k];
    if (!plan) {
        vp__exec_args args;
        vp__recipe_args(&args, p, to_target ? r->target_loop : p->loop_out_strides);
        vp__plan_init(core->plan, &args, INT64_MAX / 4);
        plan = core->plan;
    }
    return run_plan(plan, data, out, core, where);
}

/* Where the results of parts before the last are, and how far apart those of lanes. */
typedef struct {
    char *at[VP__SEGMENT_STEPS];
    int64_t step[VP__SEGMENT_STEPS];
    int made, lanes;
} temporaries;

static bool make_temporary(temporaries *t, int k, const vp__part *p) {
    t->step[k] = (p->out_bytes + 63) / 64 * 64;
    t->at[k] = vp__pool_alloc((size_t)(t->step[k] * t->lanes));
    if (t->at[k]) t->made = k + 1;
    return t->at[k] != NULL;
}

static void free_temporaries(const temporaries *t) {
    for (int k = 0; k < t->made; k++)
        vp__pool_free(t->at[k], (size_t)(t->step[k] * t->lanes));
}

vp__error *vp__recipe_run(const vp__recipe *r, char *const *leaf_data, char *out,
                          bool to_target, vp__core *core, const char *where) {
    temporaries temp;
    temp.lanes = 1;
    temp.made = 0;
    vp__error *error = NULL;
    for (int k = 0; k < r->cut.nparts && !error; k++) {
        const vp__part *p = r->cut.part[k];
        const bool last = k + 1 == r->cut.nparts;
        void *data[VP__KERNEL_LEAVES];
        for (int i = 0; i < p->kernel.nleaves; i++)
            data[i] = p->kernel.leaf[i].constant ? NULL
                      : p->source[i] >= 0        ? leaf_data[p->source[i]]
                                                 : temp.at[~p->source[i]];
        if (!last && !make_temporary(&temp, k, p))
            error = vp__error_new(VP_ERR_MEMORY, where, "out of memory for a temporary");
        else
            error = run_part(r, k, data, last ? out : temp.at[k], last && to_target, core,
                             where);
    }
    free_temporaries(&temp);
    return error;
}

/* --- several at once ---------------------------------------------------------------- */

/* One part with an axis more, the first. */
static vp__error *run_part_lanes(const vp__part *p, const int64_t *loop_out, int lanes,
                                 void *const *data, const int64_t *step, char *out,
                                 int64_t out_step, vp__core *core, const char *where) {
    int64_t axes[VP__KERNEL_LEAVES + 2][VP__MAXDIM];
    const size_t bytes = (size_t)p->ndim * sizeof(int64_t);
    vp__exec_args args;
    args.kernel = &p->kernel;
    args.cost = p->cost * lanes;
    args.repeats = 1;
    args.ndim = p->ndim + 1;
    args.reduced = p->reduced << 1;
    const int n = p->kernel.nleaves;
    for (int i = 0; i < n; i++) {
        args.leaf_strides[i] = NULL;
        if (p->kernel.leaf[i].constant) continue;
        axes[i][0] = step[i];
        memcpy(axes[i] + 1, p->strides[i], bytes);
        args.leaf_strides[i] = axes[i];
    }
    axes[n][0] = lanes;
    memcpy(axes[n] + 1, p->dims, bytes);
    args.dims = axes[n];
    axes[n + 1][0] = out_step;
    memcpy(axes[n + 1] + 1, loop_out, bytes);
    args.out_strides = axes[n + 1];
    vp__plan_init(core->plan, &args, INT64_MAX / 4);
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)(p->count * lanes));
    return run_plan(core->plan, data, out, core, where);
}

bool vp__recipe_run_lanes(const vp__recipe *r, int lanes, char *const *leaf_data,
                          const int64_t *step, char *out, int64_t out_step,
                          bool to_target, vp__core *core, const char *where,
                          vp__error **error) {
    for (int k = 0; k < r->cut.nparts; k++)
        if (r->cut.part[k]->ndim == VP__MAXDIM) return false;
    temporaries temp;
    temp.lanes = lanes;
    temp.made = 0;
    *error = NULL;
    for (int k = 0; k < r->cut.nparts && !*error; k++) {
        const vp__part *p = r->cut.part[k];
        const bool last = k + 1 == r->cut.nparts;
        void *data[VP__KERNEL_LEAVES];
        int64_t apart[VP__KERNEL_LEAVES];
        for (int i = 0; i < p->kernel.nleaves; i++) {
            const int from = p->source[i];
            if (p->kernel.leaf[i].constant) continue;
            data[i] = from >= 0 ? leaf_data[from] : temp.at[~from];
            apart[i] = from >= 0 ? step[from] : temp.step[~from];
        }
        if (!last && !make_temporary(&temp, k, p))
            *error = vp__error_new(VP_ERR_MEMORY, where, "out of memory for a temporary");
        else
            *error = run_part_lanes(
                p, last && to_target ? r->target_loop : p->loop_out_strides, lanes, data,
                apart, last ? out : temp.at[k], last ? out_step : temp.step[k], core,
                where);
    }
    free_temporaries(&temp);
    return true;
}
