/* SPDX-License-Identifier: Apache-2.0
 *
 * What the processor says of itself.
 */
#include <string.h>

#include "array/dtype.h"
#include "array/pool.h"
#include "base/error.h"
#include "base/failure.h"
#include "issue/recipe.h"
#include "net/node.h"
#include "net/runtime.h"

const char *vp_dtype_name(vp_dtype t) {
    return vp__dtype_is_valid(t) ? vp__dtype[t].name : "not an element type";
}

size_t vp_dtype_size(vp_dtype t) { return vp__dtype_is_valid(t) ? vp__dtype[t].size : 0; }

/* The last error, which its thread knows of from now on. */
static const vp__error *tell_last(void) {
    vp__error *e = vp__error_last();
    vp__failure_look_at(e);
    return e;
}

vp_status vp_error(void) {
    const vp__error *e = tell_last();
    return e ? e->status : VP_OK;
}

const char *vp_message(void) {
    const vp__error *e = tell_last();
    return e ? e->message : "";
}

void vp_clear_error(void) { vp__error_forget(); }

/* relaxed: figures for people; exact when nothing runs. */
static uint64_t get(const _Atomic uint64_t *c) {
    return atomic_load_explicit(c, memory_order_relaxed);
}

void vp_get_stats(vp_stats *out) {
    if (!out) return;
    vp__net_init();
    memset(out, 0, sizeof *out);
    int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        const vp__counters *c = &vp__cores[i]->counters;
        out->issued += get(&c->issued);
        out->inlined += get(&c->inlined);
        out->bundled += get(&c->bundled);
        out->replayed += get(&c->replayed);
        out->executed += get(&c->executed);
        out->pieces += get(&c->pieces);
        out->split += get(&c->split);
        out->steals += get(&c->steals);
        out->moved += get(&c->moved);
        out->renamed += get(&c->renamed);
        out->stores_waited += get(&c->waited_store);
        out->late_sizes += get(&c->late_sizes);
        out->limit_waits += get(&c->limit_waits);
        out->kernels += get(&c->kernels);
        out->elements += get(&c->elements);
        out->stored += get(&c->stored);
    }
    vp__pool_stat pool;
    vp__pool_stats(&pool);
    out->in_flight = vp__rounds_open(&vp__nodes_in_flight);
    out->bytes_in_use = pool.in_use - vp__recipe_bytes();
    out->peak_bytes = pool.peak_in_use;
    out->threads = vp__placeable;
}

void vp_reset_peak(void) { vp__pool_reset_peaks(); }
