/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of true elements, whose size is known only when they are counted: two phases, each
 * of which has the mask in as many shares.
 */
#include "array/pool.h"
#include "array/shape.h"
#include "issue/library/family.h"
#include "lib/move/nest.h"
#include "net/life.h"

typedef struct {
    vp__lib_params p;
    bool counted;  /* the size is known, now the positions */
    int64_t *from; /* the true elements of each share, then those before it */
    int64_t shares;
} payload;

static double cost(const vp__node *n) { return vp__library_mask_cost(n, 0); }

static void begin(vp__node *n) {
    payload *w = n->payload;
    vp__error *e = vp__library_check_mask(n, 0, &w->p.find);
    if (e) {
        vp__node_fail(n, e);
        return;
    }
    vp__view in = vp__library_input(n, 0);
    n->pieces = w->shares =
        vp__library_pieces(cost(n), vp__shape_count(in.ndim, in.dims, 1));
    w->from = vp__pool_alloc((size_t)w->shares * sizeof *w->from);
    if (!w->from) vp__library_no_scratch(n);
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const payload *w = n->payload;
    vp__view in = vp__library_input(n, 0);
    const int64_t count = vp__shape_count(in.ndim, in.dims, 1);
    const int64_t from = vp__share(count, i, w->shares),
                  to = vp__share(count, i + 1, w->shares);
    if (!w->counted)
        w->from[i] = vp__lib_count_true(&in, from, to);
    else
        vp__lib_list_true((int64_t *)(void *)n->out + w->from[i] * n->strides[0] / 8, &in,
                          w->p.kind == VP__LIB_find, from, to);
}

/* What was counted gives the size to everyone who waits for it; then lists. */
static bool next(vp__node *n, vp__core *core) {
    payload *w = n->payload;
    if (w->counted) return false;
    w->counted = true;
    n->dims[0] = vp__library_sum_before(w->from, w->shares);
    if (n->ndim == 2) n->dims[1] = n->in[0].ndim;
    vp__layout_compact(n->ndim, n->dims, 8, false, n->strides);
    vp__count(&core->counters.late_sizes, 1);
    vp__node_publish_size(n);
    if (!vp__storage_allocate(n->result)) {
        vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                       "%s: out of memory for %lld positions", n->name,
                                       (long long)n->dims[0]));
        return false;
    }
    n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    n->pieces = w->shares;
    return true;
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    if (w->from) vp__pool_free(w->from, (size_t)w->shares * sizeof *w->from);
}

const vp__family vp__family_find = {.work = {.begin = begin,
                                             .piece = piece,
                                             .next = next,
                                             .deinit = deinit,
                                             .one_kernel = true,
                                             .sizes_when_run = true},
                                    .payload = sizeof(payload),
                                    .cost = cost};
