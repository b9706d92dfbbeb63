/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of true elements, whose size is known only when they are counted.
 */
#include "array/shape.h"
#include "issue/library/family.h"
#include "net/life.h"

typedef struct {
    vp__lib_params p;
    bool counted; /* the size is known, now the positions */
} payload;

static void begin(vp__node *n) { (void)n; }

static vp__error *does_not_fit(const vp__node *n, const vp__view *mask) {
    const vp__find_params *p = &vp__params_of(n)->find;
    char a[200], b[200];
    return vp__error_new(VP_ERR_INDEX, n->where,
                         "%s: a mask of shape %s does not fit axes of shape %s",
                         p->selects, vp__shape_text(a, sizeof a, mask->ndim, mask->dims),
                         vp__shape_text(b, sizeof b, p->ndim, p->dims));
}

/* First counts, which gives the size to everyone who waits for it; then lists. */
static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)i;
    const payload *w = n->payload;
    const vp__find_params *fits = &w->p.find;
    vp__view in = vp__library_input(n, 0);
    if (fits->ndim && !vp__shape_equal(in.ndim, in.dims, fits->ndim, fits->dims)) {
        vp__node_fail(n, does_not_fit(n, &in));
        return;
    }
    if (!w->counted) {
        n->dims[0] = vp__lib_count_true(&in);
        if (n->ndim == 2) n->dims[1] = n->in[0].ndim;
        vp__layout_compact(n->ndim, n->dims, 8, false, n->strides);
        vp__count(&core->counters.late_sizes, 1);
        vp__node_publish_size(n);
        return;
    }
    vp__lib_list_true((int64_t *)(void *)n->out, &in, w->p.kind == VP__LIB_find);
}

static bool next(vp__node *n, vp__core *core) {
    (void)core;
    payload *w = n->payload;
    if (w->counted) return false;
    w->counted = true;
    if (!vp__storage_allocate(n->result)) {
        vp__node_fail(n, vp__error_new(VP_ERR_MEMORY, n->where,
                                       "%s: out of memory for %lld positions", n->name,
                                       (long long)n->dims[0]));
        return false;
    }
    n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    return true;
}

const vp__family vp__family_find = {.work = {.begin = begin,
                                             .piece = piece,
                                             .next = next,
                                             .one_kernel = true,
                                             .sizes_when_run = true},
                                    .payload = sizeof(payload)};
