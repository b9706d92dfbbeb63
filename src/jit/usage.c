/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/usage.h"

#include "jit/cache.h"

/* Noting takes about ten microseconds. */
enum { LEAST_NS = 200000 };

static vp__cache_usage usage_of(vp__built *b) {
    return (vp__cache_usage){atomic_load_explicit(&b->runs, memory_order_relaxed),
                             atomic_load_explicit(&b->ns, memory_order_relaxed)};
}

void vp__usage_note(vp__built *b) {
    const vp__cache_usage all = usage_of(b);
    const vp__cache_usage more = {all.runs - b->noted_runs, all.ns - b->noted_ns};
    if (more.ns < LEAST_NS) return;
    b->noted_runs = all.runs;
    b->noted_ns = all.ns;
    vp__cache_add_usage(vp__cache_get_default(NULL), &b->key, &more);
}

void vp__usage_forget(vp__built *b) {
    const vp__cache_usage all = usage_of(b);
    b->noted_runs = all.runs;
    b->noted_ns = all.ns;
}
