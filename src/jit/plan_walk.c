/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking a plan's loops: an odometer over the grid of tiles that moves every operand's
 * address along with it.
 */
#include "jit/plan_parts.h"

static void set_count(vp__run *r, int d) {
    const int64_t left = r->dim[d] - r->index[d];
    r->count[d] = left < r->extent[d] ? left : r->extent[d];
}

void vp__run_seek(vp__run *r, int64_t tile) {
    const vp__plan *p = r->plan;
    for (int d = p->nkept - 1; d >= 0; d--) {
        const int64_t cells = (r->dim[d] + r->extent[d] - 1) / r->extent[d];
        r->index[d] = tile % cells * r->extent[d];
        tile /= cells;
        set_count(r, d);
    }
    for (int o = r->walked; o < p->noperands; o++) {
        const int64_t *stride = vp__plan_strides(p, o);
        char *at = r->base[o];
        for (int d = 0; d < p->nkept; d++) at += r->index[d] * stride[d];
        r->at[o] = at;
    }
}

void vp__run_next(vp__run *r) {
    const vp__plan *p = r->plan;
    const int64_t *stride = vp__plan_stride(p);
    for (int d = p->nkept - 1; d >= 0; d--) {
        int64_t move = r->extent[d];
        const bool wraps = r->index[d] + move >= r->dim[d];
        if (wraps) move = -r->index[d];
        r->index[d] += move;
        for (int o = r->walked; o < p->noperands; o++)
            r->at[o] += move * stride[o * p->nloops + d];
        set_count(r, d);
        if (!wraps) return;
    }
}
