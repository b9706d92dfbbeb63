/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/recipe_run.h"

#include <string.h>

#include "array/pool.h"

void vp__recipe_job(vp__job *job, const vp__recipe *r, int k, bool to_target) {
    const vp__part *p = r->cut.part[k];
    to_target = to_target && k + 1 == r->cut.nparts;
    vp__recipe_args(&job->args, p, to_target ? r->target_loop : p->loop_out_strides);
    job->count = p->count;
    job->flat = to_target ? r->target_flat : p->flat;
    job->plan = to_target ? r->target_plan : r->plan[k];
}

/* Where parts find their operands: what the leaves are, and results of parts before. */
typedef struct {
    char *const *leaf;
    const int64_t *leaf_step; /* from one iteration to the next */
    int iterations, made;
    char *temporary[VP__SEGMENT_TERMS];
    int64_t temporary_step[VP__SEGMENT_TERMS];
} operands;

static bool make_temporary(operands *o, int k, const vp__recipe *r) {
    o->temporary_step[k] = vp__recipe_lane_bytes(r, k);
    o->temporary[k] = vp__pool_alloc((size_t)(o->temporary_step[k] * o->iterations));
    if (o->temporary[k]) o->made = k + 1;
    return o->temporary[k] != NULL;
}

static void free_temporaries(const operands *o) {
    for (int k = 0; k < o->made; k++)
        vp__pool_free(o->temporary[k], (size_t)(o->temporary_step[k] * o->iterations));
}

bool vp__recipe_has_lanes(const vp__recipe *r) {
    for (int k = 0; k < r->cut.nparts; k++)
        if (r->cut.part[k]->ndim == VP__MAXDIM) return false;
    return true;
}

void vp__recipe_add_lanes(vp__exec_args *a, const vp__recipe *r, int k, int iterations,
                          const int64_t *leaf_step, int64_t out_step,
                          vp__lane_axes *axes) {
    const vp__part *p = r->cut.part[k];
    const size_t bytes = (size_t)p->ndim * sizeof(int64_t);
    const int n = p->kernel.nleaves;
    for (int i = 0; i < n; i++) {
        if (p->kernel.leaf[i].constant) continue;
        const int from = p->source[i];
        axes->of[i][0] = from >= 0 ? leaf_step[from] : vp__recipe_lane_bytes(r, ~from);
        memcpy(axes->of[i] + 1, p->strides[i], bytes);
        a->leaf_strides[i] = axes->of[i];
    }
    axes->of[n][0] = iterations;
    memcpy(axes->of[n] + 1, p->dims, bytes);
    axes->of[n + 1][0] = out_step;
    memcpy(axes->of[n + 1] + 1, a->out_strides, bytes);
    a->dims = axes->of[n];
    a->out_strides = axes->of[n + 1];
    a->ndim++;
    a->reduced <<= 1;
    a->cost *= iterations;
}

static bool run_part(const vp__recipe *r, int k, const operands *o, char *out,
                     int64_t out_step, bool to_target, vp__core *core) {
    const vp__part *p = r->cut.part[k];
    void *data[VP__KERNEL_LEAVES];
    for (int i = 0; i < p->kernel.nleaves; i++)
        data[i] = p->kernel.leaf[i].constant ? NULL
                  : p->source[i] >= 0        ? o->leaf[p->source[i]]
                                             : o->temporary[~p->source[i]];
    vp__job job;
    vp__lane_axes axes;
    vp__recipe_job(&job, r, k, to_target);
    if (o->iterations > 1) {
        vp__recipe_add_lanes(&job.args, r, k, o->iterations, o->leaf_step, out_step,
                             &axes);
        job.count *= o->iterations;
        job.flat = false;
        job.plan = NULL;
    }
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)job.count);
    return vp__runner_run(&job, data, out, core->plan, core->scratch);
}

static vp__error *run(const vp__recipe *r, operands *o, char *out, int64_t out_step,
                      bool to_target, vp__core *core, const char *where) {
    const int last = r->cut.nparts - 1;
    bool there = true;
    o->made = 0;
    for (int k = 0; k < last && there; k++)
        there = make_temporary(o, k, r) &&
                run_part(r, k, o, o->temporary[k], o->temporary_step[k], false, core);
    there = there && run_part(r, last, o, out, out_step, to_target, core);
    free_temporaries(o);
    return there ? NULL
                 : vp__error_new(VP_ERR_MEMORY, where, "out of memory for a temporary");
}

vp__error *vp__recipe_run(const vp__recipe *r, char *const *leaf_data, char *out,
                          bool to_target, vp__core *core, const char *where) {
    operands o;
    o.leaf = leaf_data;
    o.iterations = 1;
    return run(r, &o, out, 0, to_target, core, where);
}

bool vp__recipe_run_iterations(const vp__recipe *r, int iterations,
                               char *const *leaf_data, const int64_t *step, char *out,
                               int64_t out_step, bool to_target, vp__core *core,
                               const char *where, vp__error **error) {
    if (!vp__recipe_has_lanes(r)) return false;
    operands o;
    o.leaf = leaf_data;
    o.leaf_step = step;
    o.iterations = iterations;
    *error = run(r, &o, out, out_step, to_target, core, where);
    return true;
}
