/* SPDX-License-Identifier: Apache-2.0 */
#include "array/access.h"

#include <stddef.h>

#include "array/pool.h"

/* With this many groups alive a new access becomes a barrier that stands for all of them,
 * so that entering stays at constant cost. */
enum { MAX_LIVE = 16 };

vp__waiter *vp__waiter_new(void *who, int what) {
    vp__waiter *w = vp__pool_alloc(sizeof *w);
    if (w) *w = (vp__waiter){NULL, who, what, false};
    return w;
}

void vp__waiter_free(vp__waiter *w) {
    if (!w->embedded) vp__pool_free(w, sizeof *w);
}

static vp__waiter closed_mark;

bool vp__waitlist_push(vp__waitlist *list, vp__waiter *w) {
    /* acquire: when closed, see what the closer published. */
    vp__waiter *head = atomic_load_explicit(list, memory_order_acquire);
    do {
        if (head == &closed_mark) return false;
        w->next = head;
        /* release: the closer reads *w; pairs with the exchange in close. */
    } while (!atomic_compare_exchange_weak_explicit(list, &head, w, memory_order_release,
                                                    memory_order_acquire));
    return true;
}

vp__waiter *vp__waitlist_close(vp__waitlist *list) {
    /* acq_rel: acquire the pushed waiters, release our results to later pushers and
     * is_closed callers. */
    vp__waiter *waiters =
        atomic_exchange_explicit(list, &closed_mark, memory_order_acq_rel);
    return waiters == &closed_mark ? NULL : waiters;
}

bool vp__waitlist_is_closed(vp__waitlist *list) {
    return atomic_load_explicit(list, memory_order_acquire) == &closed_mark;
}

static void drop_owner(vp__group *g) {
    /* acq_rel: the last owner frees what the other may just have used. */
    if (atomic_fetch_sub_explicit(&g->owners, 1, memory_order_acq_rel) == 1)
        vp__pool_free(g, sizeof *g);
}

vp__waiter *vp__access_finish(vp__group *g) {
    /* An embedded group may be used again as soon as it is closed: look before. */
    bool embedded = g->embedded;
    /* acq_rel: every member's effects reach whoever the last one signals. */
    if (atomic_fetch_sub_explicit(&g->pending, 1, memory_order_acq_rel) != 1) return NULL;
    vp__waiter *list = vp__waitlist_close(&g->waiters);
    if (!embedded) drop_owner(g);
    return list;
}

/* Nothing of an open group is pending when only its own mark is left. acquire pairs with
 * the members' decrements: their effects are visible to whoever goes ahead without waiting. */
static bool is_idle(vp__group *g) {
    return g->open && atomic_load_explicit(&g->pending, memory_order_acquire) == 1;
}

static bool is_done(vp__group *g) { return vp__waitlist_is_closed(&g->waiters); }

static int live(const vp__log *log) {
    return atomic_load_explicit(&log->live, memory_order_relaxed);
}

/* release pairs with vp__log_is_empty: whoever sees a group unlisted sees what it did. */
static void set_live(vp__log *log, int n) {
    atomic_store_explicit(&log->live, n, memory_order_release);
}

/* Forgets what has finished. Nobody but the log knows an idle group: its members are gone,
 * and it would be sealed if anybody waited for it. */
static void prune(vp__log *log) {
    vp__group **link = &log->newest;
    for (vp__group *g; (g = *link);) {
        bool idle = is_idle(g);
        if (!idle && !is_done(g)) {
            link = &g->older;
            continue;
        }
        *link = g->older;
        set_live(log, live(log) - 1);
        if (g->embedded)
            log->first_used = false;
        else if (idle)
            vp__pool_free(g, sizeof *g);
        else
            drop_owner(g);
    }
}

static bool conflicts(const vp__group *g, bool write, const vp__region *r) {
    return vp__region_overlaps(&g->writes, r) ||
           (write && vp__region_overlaps(&g->reads, r));
}

/* Ends joining. A group is sealed by its first waiter or by its successor, so it has at most
 * that one waiter. Returns what must be signalled if everything had finished. */
static vp__waiter *seal(vp__group *g) {
    if (!g->open) return NULL;
    g->open = false;
    return vp__access_finish(g);
}

/* Attaches w to g and counts it, or frees it when g has finished. */
static void wait_for(vp__group *g, vp__waiter *w, int *waits) {
    if (g->open) {
        /* Its own mark keeps an open group from closing, and nobody else waits for it:
         * relaxed, since sealing publishes the list. */
        w->next = NULL;
        atomic_store_explicit(&g->waiters, w, memory_order_relaxed);
    } else if (!vp__waitlist_push(&g->waiters, w)) {
        vp__waiter_free(w);
        return;
    }
    vp__waiter *finished = seal(g);
    if (finished)
        vp__waiter_free(finished); /* it is w: everything had finished */
    else
        (*waits)++;
}

static vp__group *group_new(vp__log *log) {
    vp__group *g;
    if (!log->first_used) {
        g = &log->first;
        log->first_used = true;
    } else {
        g = vp__pool_alloc(sizeof *g);
        if (!g) return NULL;
        g->embedded = false;
    }
    atomic_init(&g->pending, 1);
    atomic_init(&g->waiters, NULL);
    atomic_init(&g->owners, 2);
    g->open = true;
    g->last = false;
    g->reads = g->writes = vp__region_none();
    return g;
}

/* Frees a chain of unused waiters. */
static void free_chain(vp__waiter *w) {
    while (w) {
        vp__waiter *next = w->next;
        vp__waiter_free(w);
        w = next;
    }
}

/* One waiter for each group the access must wait for, so that attaching cannot fail. */
static bool make_waiters(vp__log *log, bool barrier, bool write, const vp__region *region,
                         void *who, int what, vp__waiter *own, vp__waiter **chain) {
    *chain = NULL;
    for (vp__group *g = log->newest; g; g = g->older) {
        if (!barrier && !conflicts(g, write, region)) continue;
        vp__waiter *w = own ? own : vp__waiter_new(who, what);
        if (own) *own = (vp__waiter){NULL, who, what, true};
        own = NULL;
        if (!w) {
            free_chain(*chain);
            return false;
        }
        w->next = *chain;
        *chain = w;
        if (g->last) break;
    }
    return true;
}

static bool is_none(const vp__region *r) { return r->lo >= r->hi; }

/* The short way for a read where others read already, perhaps after one group of writes:
 * joins them. NULL, and nothing done, when it is not as simple as that. */
static vp__group *join_readers(vp__log *log, const vp__region *region, void *who,
                               int what, vp__waiter *own, int *waits) {
    vp__group *g = log->newest;
    if (!g->open || is_idle(g)) return NULL;
    vp__group *old = g->older;
    if (old) {
        if (old->older || !own || is_done(old)) return NULL;
        if (vp__region_overlaps(&old->writes, region)) {
            *own = (vp__waiter){NULL, who, what, true};
            wait_for(old, own, waits);
        }
    }
    vp__region_add(&g->reads, region);
    /* relaxed: the log's lock orders it before whoever waits for the group. */
    atomic_fetch_add_explicit(&g->pending, 1, memory_order_relaxed);
    log->sequence++;
    return g;
}

/* The short way for the first read of what one group of writes is still making. NULL, and
 * nothing done, when it is not as simple as that. */
static vp__group *follow_writers(vp__log *log, const vp__region *region, void *who,
                                 int what, vp__waiter *own, int *waits) {
    vp__group *old = log->newest;
    if (!own || !old->open || old->older || is_idle(old) || !is_none(&old->reads) ||
        !vp__region_overlaps(&old->writes, region))
        return NULL;
    vp__group *g = group_new(log);
    if (!g) return NULL;
    *own = (vp__waiter){NULL, who, what, true};
    wait_for(old, own, waits);
    g->reads = *region;
    g->older = old;
    g->last = true;
    log->newest = g;
    set_live(log, 2);
    /* relaxed: nobody else knows the group yet. */
    atomic_store_explicit(&g->pending, 2, memory_order_relaxed);
    log->sequence++;
    return g;
}

/* Enters an access; `may_leave`: it may be over before what it waits for is. */
static vp__group *enter(vp__log *log, bool write, bool may_leave,
                        const vp__region *region, void *who, int what, vp__waiter *own,
                        int *waits) {
    if (!write && log->newest) {
        vp__group *readers = is_none(&log->newest->writes)
                                 ? join_readers(log, region, who, what, own, waits)
                                 : follow_writers(log, region, who, what, own, waits);
        if (readers) return readers;
    }
    prune(log);
    vp__group *newest = log->newest;
    /* An access that may leave is no barrier: the accesses it stands for would be forgotten. */
    bool full = live(log) >= MAX_LIVE && !may_leave;
    bool join = newest && newest->open && !conflicts(newest, write, region);
    /* Reads and writes share a group only when there are too many groups. */
    if (join && !full) {
        const vp__region *other = write ? &newest->reads : &newest->writes;
        join = is_none(other);
    }
    bool barrier = full && !join;
    vp__waiter *spare;
    if (!make_waiters(log, barrier, write, region, who, what, own, &spare)) return NULL;
    vp__group *g = join ? newest : group_new(log);
    if (!g) {
        free_chain(spare);
        return NULL;
    }
    vp__region hull = *region;
    /* A group that waits for all groups before it (`last`) need alone be waited for. */
    bool last = true, implied = false;
    for (vp__group *old = newest, *older; old && (barrier || !implied); old = older) {
        older = old->older;
        if (!implied && (barrier || conflicts(old, write, region))) {
            vp__waiter *w = spare;
            spare = w->next;
            wait_for(old, w, waits);
            implied = old->last;
        } else if (!implied) {
            last = false;
        }
        if (barrier) {
            vp__region_add(&hull, &old->reads);
            vp__region_add(&hull, &old->writes);
            /* Unfinished and no longer listed: its members free it. The embedded one is
             * never handed out again. */
            if (!old->embedded) drop_owner(old);
        }
    }
    if (!join) {
        if (newest && !barrier) seal(newest); /* nobody waits for an open group */
        g->older = barrier ? NULL : newest;
        g->last = last && !may_leave;
        log->newest = g;
        set_live(log, barrier ? 1 : live(log) + 1);
    }
    if (barrier)
        g->writes = hull;
    else
        vp__region_add(write ? &g->writes : &g->reads, region);
    /* relaxed: as above; nobody else knows a new group yet. */
    if (join)
        atomic_fetch_add_explicit(&g->pending, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&g->pending, 2, memory_order_relaxed);
    log->sequence++;
    return g;
}

vp__group *vp__log_enter(vp__log *log, bool write, const vp__region *region, void *who,
                         int what, int *waits) {
    return enter(log, write, false, region, who, what, NULL, waits);
}

vp__group *vp__log_enter_own(vp__log *log, bool write, const vp__region *region,
                             void *who, int what, vp__waiter *own, int *waits) {
    return enter(log, write, false, region, who, what, own, waits);
}

vp__group *vp__log_observe(vp__log *log, const vp__region *region, void *who, int what,
                           int *waits) {
    return enter(log, false, true, region, who, what, NULL, waits);
}

void vp__log_init(vp__log *log) {
    log->newest = NULL;
    atomic_init(&log->live, 0);
    log->sequence = 1;
    log->first_used = false;
    log->first.embedded = true;
}

vp__group *vp__log_begin(vp__log *log) {
    vp__group *g = group_new(log);
    atomic_init(&g->pending, 2);
    g->writes = vp__region_all();
    g->older = NULL;
    g->last = true;
    log->newest = g;
    atomic_init(&log->live, 1);
    log->sequence++;
    return g;
}

vp__group *vp__log_try(vp__log *log, bool write, const vp__region *region) {
    if (vp__log_conflicts(log, write, region)) return NULL;
    /* A full log could only take it as a barrier, which waits for everything. */
    if (live(log) >= MAX_LIVE && !log->newest->open) return NULL;
    int waits = 0;
    return vp__log_enter(log, write, region, NULL, 0, &waits);
}

bool vp__log_conflicts(vp__log *log, bool write, const vp__region *region) {
    /* A caller that has to wait enters its access, and entering prunes; so the log is pruned here
     * only when there is nothing to wait for. */
    bool stale = false;
    for (vp__group *g = log->newest; g; g = g->older) {
        if (is_idle(g) || is_done(g))
            stale = true;
        else if (conflicts(g, write, region))
            return true;
    }
    if (stale) prune(log);
    return false;
}

int vp__log_blockers(vp__log *log, bool write, const vp__region *region, vp__group **list,
                     int most) {
    int n = 0;
    for (vp__group *g = log->newest; g; g = g->older)
        if (!is_idle(g) && !is_done(g) && conflicts(g, write, region)) {
            if (n < most) list[n] = g;
            n++;
        }
    return n;
}

/* Whether an access is the only one of its group that is not over. acquire: as in is_idle. */
static bool is_alone(vp__group *g) {
    return atomic_load_explicit(&g->pending, memory_order_acquire) == 2;
}

bool vp__log_extend(vp__log *log, vp__group *g, bool write, const vp__region *region,
                    vp__group *const *blockers, int nblockers) {
    /* Nobody waits for an open group and no later access is listed: the new region is the
     * last in the program's order. */
    if (!g->open || (conflicts(g, write, region) && !is_alone(g))) return false;
    for (vp__group *old = g->older; old; old = old->older) {
        if (!conflicts(old, write, region) || is_done(old)) continue;
        int k = 0;
        while (k < nblockers && blockers[k] != old) k++;
        if (k == nblockers) return false;
    }
    vp__region_add(write ? &g->writes : &g->reads, region);
    log->sequence++;
    return true;
}

bool vp__log_has_readers(vp__log *log, const vp__region *region) {
    prune(log);
    for (vp__group *g = log->newest; g; g = g->older)
        if (vp__region_overlaps(&g->reads, region)) return true;
    return false;
}

bool vp__log_is_busy(vp__log *log) {
    prune(log);
    for (vp__group *g = log->newest; g; g = g->older)
        if (!is_idle(g)) return true;
    return false;
}

void vp__log_deinit(vp__log *log) {
    for (vp__group *g = log->newest, *older; g; g = older) {
        older = g->older;
        seal(g);
        if (!g->embedded) drop_owner(g);
    }
    log->newest = NULL;
}
