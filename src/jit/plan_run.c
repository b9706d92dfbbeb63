/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a plan: which of its modes walks which tiles.
 */
#include "jit/plan.h"
#include "jit/plan_parts.h"

/* Copies the tile from leaf 0, or from a constant, to the output. */
static void copy_tile(vp__run *r) {
    const vp__plan *p = r->plan;
    const int out = p->noperands - 1;
    const int64_t *to = vp__plan_strides(p, out), *from = vp__plan_strides(p, 0);
    int64_t dst[VP__TILE_LOOPS], src[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    for (int t = 0; t < p->ntile; t++) {
        const int d = p->tile[t];
        dst[t] = to[d];
        src[t] = p->from_constant ? 0 : from[d];
        count[t] = r->count[d];
    }
    const char *source = p->from_constant ? (char *)vp__plan_constant(p)->bits : r->at[0];
    vp__copy_tile(p->kernels, p->out_lg, r->at[out], dst, source, src, count,
                  vp__plan_operand(p)[out].order, p->ntile);
}

/* Stores the tile's block where the output is strided. */
static void scatter_tile(vp__run *r) {
    const vp__plan *p = r->plan;
    const int out = p->noperands - 1;
    const int64_t *to = vp__plan_strides(p, out);
    int64_t dst[VP__TILE_LOOPS], src[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    int64_t pitch = (int64_t)1 << p->out_lg;
    for (int t = 0; t < p->ntile; t++) {
        const int d = p->tile[t];
        count[t] = r->count[d];
        dst[t] = to[d];
        src[t] = pitch;
        pitch *= count[t];
    }
    vp__copy_tile(p->kernels, p->out_lg, r->at[out], dst, r->ptr[p->result], src, count,
                  vp__plan_operand(p)[out].order, p->ntile);
}

static void run_tiles(vp__run *r, int64_t piece) {
    const vp__plan *p = r->plan;
    const int64_t first = piece * p->piece_tiles;
    int64_t tiles = p->tiles - first < p->piece_tiles ? p->tiles - first : p->piece_tiles;
    const bool scatters = p->mode == VP__PLAN_MAP &&
                          vp__plan_operand(p)[p->noperands - 1].reach == VP__REACH_COPY;
    vp__run_seek(r, first);
    for (;;) {
        if (p->mode == VP__PLAN_COPY)
            copy_tile(r);
        else
            vp__run_body(r);
        if (scatters) scatter_tile(r);
        if (--tiles == 0) return;
        vp__run_next(r);
    }
}

__attribute__((noinline)) void vp__plan_run(const vp__plan *p, int64_t piece,
                                            void *const *leaf_data, void *out,
                                            void *partial, void *scratch) {
    vp__run r;
    const uint64_t began = vp__code_begin(&p->code);
    vp__run_init(&r, p, leaf_data, out, scratch);
    if (p->mode == VP__PLAN_DIRECT)
        vp__run_direct(&r, piece);
    else if (p->mode == VP__PLAN_COPY || p->mode == VP__PLAN_MAP)
        run_tiles(&r, piece);
    else
        vp__run_reduce(&r, piece, partial);
    /* The last piece may be shorter than the others. */
    if (p->code.weight && (piece + 1 < p->pieces || piece == 0))
        vp__code_end(&p->code, began, p->piece_elements);
}

__attribute__((noinline)) void vp__plan_finish(const vp__plan *p, void *out,
                                               void *partial, void *scratch) {
    if (p->range == 0) return;
    /* The leaves are done with: only the output is walked. */
    vp__run r;
    vp__run_init(&r, p, NULL, out, scratch);
    vp__run_finish(&r, partial);
}
