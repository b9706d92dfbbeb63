/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/reads.h"

#include "net/wait.h"

bool vp__reads_enter(vp__reads *r, vp__storage *s, const vp__region *region) {
    vp__spin_lock(&s->lock);
    vp__group *g = vp__log_try(&s->log, false, region);
    bool there = vp__storage_is_on_host(s);
    vp__spin_unlock(&s->lock);
    if (g) r->group[r->count++] = g;
    return g && there;
}

void vp__reads_end(vp__reads *r) {
    for (int i = 0; i < r->count; i++) vp__observe_end(r->group[i]);
    r->count = 0;
    vp__core_alone_end(r->core);
}

bool vp__reads_is_there(vp__storage *s, const vp__region *region) {
    vp__spin_lock(&s->lock);
    bool ready = !vp__log_conflicts(&s->log, false, region) && vp__storage_is_on_host(s);
    vp__spin_unlock(&s->lock);
    return ready;
}

bool vp__reads_begin(vp__reads *r, vp__expr *const *leaves, int n) {
    bool alone = vp__reads_alone(r), ready = true;
    for (int i = 0; i < n && ready; i++) {
        const vp__expr *e = leaves[i];
        if (!e || e->kind == VP__EXPR_CONST) continue;
        vp__storage *s = e->storage;
        if (alone && vp__log_is_empty(&s->log)) {
            ready = vp__storage_is_on_host(s);
            continue;
        }
        vp__region region = vp__expr_region(e);
        ready = alone ? vp__reads_is_there(s, &region) : vp__reads_enter(r, s, &region);
    }
    if (!ready) vp__reads_end(r);
    return ready;
}

/* Everything before what runs at once is done, so what counts is all poison up to now (but
 * not the mark of the very overwrite that is about to read). */
vp__error *vp__reads_error(vp__expr *const *leaves, int n) {
    for (int i = 0; i < n; i++) {
        vp__expr *e = leaves[i];
        if (!e || e->kind == VP__EXPR_CONST ||
            !atomic_load_explicit(&e->storage->poison, memory_order_acquire))
            continue;
        vp__region r = vp__expr_region(e);
        vp__spin_lock(&e->storage->lock);
        uint64_t sequence = e->storage->log.sequence;
        vp__spin_unlock(&e->storage->lock);
        vp__error *found = vp__storage_error(e->storage, &r, sequence);
        if (found) return found;
    }
    return NULL;
}
