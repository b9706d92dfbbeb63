/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/runner.h"

#include "array/pool.h"

static int64_t open_flat(vp__runner *r, const vp__job *job, int64_t wish, int64_t grain) {
    r->plan = NULL;
    r->count = job->count;
    r->chunk = job->count > 0 ? job->count : 1;
    if (wish < job->count) r->chunk = (wish + grain - 1) / grain * grain;
    const int64_t pieces = (job->count + r->chunk - 1) / r->chunk;
    r->code = vp__exec_flat_code(r->kernel, job->args.cost,
                                 pieces <= 1 ? job->count : VP__UNKNOWN);
    return pieces ? pieces : 1;
}

int64_t vp__runner_open(vp__runner *r, const vp__job *job, int64_t wish, int64_t grain,
                        void *room) {
    r->kernel = job->args.kernel;
    r->own_plan = r->partial = NULL;
    if (job->flat) return open_flat(r, job, wish, grain);
    r->plan = job->plan;
    if (!r->plan || wish < job->count) {
        vp__plan *plan = room;
        if (!plan && !(plan = r->own_plan = vp__pool_alloc(vp__plan_size()))) return 0;
        vp__plan_init(plan, &job->args, wish);
        r->plan = plan;
    }
    r->partial_bytes = vp__plan_partial_bytes(r->plan);
    if (r->partial_bytes && !(r->partial = vp__pool_alloc(r->partial_bytes))) {
        vp__runner_close(r);
        return 0;
    }
    const int64_t pieces = vp__plan_pieces(r->plan);
    return pieces ? pieces : 1; /* an empty output: one piece that does nothing */
}

vp__stage vp__runner_stage(const vp__runner *r) {
    if (r->plan) return vp__plan_stage(r->plan);
    return r->code.fn ? (vp__stage)r->code.stage : VP__STAGE_BASE;
}

static void flat_piece(const vp__runner *r, int64_t piece, void *const *data, char *out,
                       void *scratch) {
    const vp__kernel *k = r->kernel;
    const int64_t first = piece * r->chunk, count = vp__runner_elements(r, piece);
    void *at[VP__KERNEL_LEAVES];
    if (first > 0) {
        for (int i = 0; i < k->nleaves; i++)
            at[i] = k->leaf[i].constant
                        ? NULL
                        : (char *)data[i] + first * vp__dtype[k->leaf[i].dtype].size;
        data = at;
        out += first * vp__dtype[k->result].size;
    }
    if (r->code.fn)
        vp__exec_flat_native(&r->code, k, data, out, count);
    else
        vp__exec_flat(k, data, out, count, scratch);
}

void vp__runner_piece(const vp__runner *r, int64_t piece, void *const *data, char *out,
                      void *scratch) {
    if (!r->plan)
        flat_piece(r, piece, data, out, scratch);
    else if (vp__plan_pieces(r->plan))
        vp__plan_run(r->plan, piece, data, out, r->partial, scratch);
}

void vp__runner_finish(const vp__runner *r, char *out, void *scratch) {
    if (r->partial) vp__plan_finish(r->plan, out, r->partial, scratch);
}

void vp__runner_close(vp__runner *r) {
    if (r->own_plan) vp__pool_free(r->own_plan, vp__plan_size());
    if (r->partial) vp__pool_free(r->partial, r->partial_bytes);
    r->own_plan = r->partial = NULL;
}

bool vp__runner_run(const vp__job *job, void *const *data, char *out, void *room,
                    void *scratch) {
    vp__runner r;
    if (job->flat) { /* one piece that needs nothing to be opened */
        const vp__kernel *k = job->args.kernel;
        const vp__code code = vp__exec_flat_code(k, job->args.cost, job->count);
        if (code.fn)
            vp__exec_flat_native(&code, k, data, out, job->count);
        else
            vp__exec_flat(k, data, out, job->count, scratch);
        return true;
    }
    const int64_t pieces = vp__runner_open(&r, job, VP__ONE_PIECE, 1, room);
    if (pieces == 0) return false;
    for (int64_t i = 0; i < pieces; i++) vp__runner_piece(&r, i, data, out, scratch);
    vp__runner_finish(&r, out, scratch);
    vp__runner_close(&r);
    return true;
}
