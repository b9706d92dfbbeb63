/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes along an axis, each by itself: sorts and scans. The row has the function.
 */
#include "array/pool.h"
#include "issue/library/family.h"

typedef struct {
    vp__lib_params p;
    char *scratch; /* of all pieces */
    size_t scratch_each, scratch_bytes;
} payload;

static void want_scratch(vp__node *n, size_t each) {
    payload *w = n->payload;
    if (!each) return;
    w->scratch_each = (each + 63) / 64 * 64;
    w->scratch_bytes = w->scratch_each * (size_t)n->pieces;
    w->scratch = vp__pool_alloc(w->scratch_bytes);
    if (!w->scratch) vp__library_no_scratch(n);
}

static void begin(vp__node *n) {
    const vp__lib_params *p = vp__params_of(n);
    const double ns = (double)vp__lib_rows[p->kind].cost * (double)vp__library_count(n);
    n->pieces = vp__library_pieces(ns, vp__library_lanes(n, p->axis));
    vp__view in = vp__library_input(n, 0);
    want_scratch(n, vp__lib_along[p->kind].scratch(&in, p->axis));
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const payload *w = n->payload;
    vp__view out = vp__library_output(n), in = vp__library_input(n, 0);
    char *scratch = w->scratch ? w->scratch + (size_t)i * w->scratch_each : NULL;
    vp__lib_along[w->p.kind].run(&out, &in, w->p.axis, i, n->pieces, scratch);
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    if (w->scratch) vp__pool_free(w->scratch, w->scratch_bytes);
}

const vp__family vp__family_along = {.work = {.size = vp__library_size_node,
                                              .begin = begin,
                                              .piece = piece,
                                              .deinit = deinit,
                                              .one_kernel = true},
                                     .payload = sizeof(payload)};
