/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/special.h"

#include <stdlib.h>

enum {
    /* Variants of one kernel, and in all; and the same in the modes for tests. */
    MOST_OF_ONE = 4,
    MOST_IN_ALL = 256,
    TESTED_IN_ALL = 2048,
    /* Runs until kept code must prove itself again, at first; later twice as many. */
    AGAIN = 1 << 13,
    /* A variant must gain so much in a run: finding out the facts costs no less. */
    LEAST_NS = 50,
};
static const double least_gain = 0.97; /* likewise, of the native code's time */

static _Atomic int known; /* variants; never fewer */

vp__variant *vp__special_find(vp__special *s, const vp__facts *facts) {
    for (int i = 0; i < VP__VARIANTS; i++) {
        /* acquire pairs with the release in add: the facts are there. */
        vp__variant *v = atomic_load_explicit(&s->variant[i], memory_order_acquire);
        if (!v || vp__facts_equal(&v->facts, facts)) return v;
    }
    return NULL;
}

bool vp__special_has_room(const vp__special *s) {
    return !atomic_load_explicit(&s->variant[MOST_OF_ONE - 1], memory_order_relaxed) &&
           atomic_load_explicit(&known, memory_order_relaxed) < MOST_IN_ALL;
}

/* With the lock. */
static vp__variant *add(vp__special *s, const vp__facts *facts, int most, int in_all) {
    int i = 0;
    while (i < most && atomic_load_explicit(&s->variant[i], memory_order_relaxed)) i++;
    if (i == most) return NULL;
    vp__variant *v = calloc(1, sizeof *v);
    if (!v || atomic_fetch_add_explicit(&known, 1, memory_order_relaxed) >= in_all) {
        if (v) atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
        free(v);
        return NULL;
    }
    v->facts = *facts;
    v->again = AGAIN;
    atomic_init(&v->built.state, VP__CODE_QUEUED);
    atomic_store_explicit(&s->variant[i], v, memory_order_release);
    return v;
}

/* The facts that take most of the time are among the candidates in the end: whatever is not
 * takes from them what it took itself, and they would not last if that were more. */
static vp__variant *note(vp__special *s, const vp__facts *facts, uint64_t runs, double ns,
                         double worth) {
    const int n = (int)(sizeof s->candidate / sizeof s->candidate[0]);
    int free_one = -1;
    for (int i = 0; i < n; i++) {
        if (s->candidate[i].runs == 0) {
            free_one = i;
            continue;
        }
        if (!vp__facts_equal(&s->candidate[i].facts, facts)) continue;
        s->candidate[i].runs += runs;
        if ((double)s->candidate[i].runs * ns < worth) return NULL;
        s->candidate[i].runs = 0;
        return add(s, facts, MOST_OF_ONE, MOST_IN_ALL);
    }
    if (free_one >= 0) {
        s->candidate[free_one].runs = runs;
        s->candidate[free_one].facts = *facts;
        return NULL;
    }
    for (int i = 0; i < n; i++)
        s->candidate[i].runs -= s->candidate[i].runs < runs ? s->candidate[i].runs : runs;
    return NULL;
}

vp__variant *vp__special_note(vp__special *s, const vp__facts *facts, int runs, double ns,
                              double worth) {
    if (!vp__spin_trylock(&s->lock)) return NULL;
    vp__variant *v = note(s, facts, (uint64_t)runs, ns, worth);
    vp__spin_unlock(&s->lock);
    return v;
}

vp__variant *vp__special_add(vp__special *s, const vp__facts *facts) {
    if (!vp__spin_trylock(&s->lock)) return NULL;
    vp__variant *v = vp__special_find(s, facts); /* another thread may have been faster */
    if (!v) v = add(s, facts, VP__VARIANTS, TESTED_IN_ALL);
    vp__spin_unlock(&s->lock);
    return v;
}

/* --- the trial ---------------------------------------------------------------------- */

void vp__special_start(vp__special *s, vp__variant *v, bool anyway) {
    atomic_store_explicit(&v->phase, anyway ? VP__PHASE_KEPT : VP__PHASE_TRIAL,
                          memory_order_relaxed);
    atomic_fetch_add_explicit(&s->live, 1, memory_order_relaxed);
}

bool vp__special_is_due(vp__variant *v) {
    const int phase = atomic_load_explicit(&v->phase, memory_order_relaxed);
    if (phase != VP__PHASE_TRIAL) return phase == VP__PHASE_KEPT;
    /* In turn, but in no rhythm: the program may have one of its own. */
    const uint32_t turn = atomic_fetch_add_explicit(&v->turn, 1, memory_order_relaxed);
    return turn * 0x9e3779b1u >> 31;
}

static int by_size(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The time that a quarter of the runs stay below: other programs make runs longer, never
 * shorter, and the shortest of all may be luck. */
static double typical(float *sample) {
    qsort(sample, VP__TRIAL_RUNS, sizeof *sample, by_size);
    return (double)sample[VP__TRIAL_RUNS / 4];
}

static vp__verdict decide(vp__special *s, vp__variant *v, int *permille) {
    const double native = typical(v->sample[0]), special = typical(v->sample[1]);
    const double share = native > 0 ? special / native : 1;
    const double gain = (1 - share) * v->ns / VP__TRIAL_RUNS;
    /* A variant that was kept before stays unless it gains nothing at all. */
    const bool pays = v->was_kept ? share < 1 : share < least_gain && gain >= LEAST_NS;
    *permille = (int)(share * 1000 + 0.5);
    v->count[0] = v->count[1] = 0;
    v->ns = 0;
    v->was_kept = pays;
    atomic_store_explicit(&v->phase, pays ? VP__PHASE_KEPT : VP__PHASE_DROPPED,
                          memory_order_relaxed);
    if (!pays) atomic_fetch_sub_explicit(&s->live, 1, memory_order_relaxed);
    return pays ? VP__DECIDED_KEEP : VP__DECIDED_DROP;
}

vp__verdict vp__special_measured(vp__special *s, vp__variant *v, bool specialised,
                                 double each, double ns, int *permille) {
    vp__verdict verdict = VP__NOT_DECIDED;
    if (!vp__spin_trylock(&v->lock)) return verdict;
    const int phase = atomic_load_explicit(&v->phase, memory_order_relaxed);
    if (phase == VP__PHASE_TRIAL && v->count[specialised] < VP__TRIAL_RUNS) {
        v->sample[specialised][v->count[specialised]++] = (float)each;
        if (!specialised) v->ns += ns;
        if (v->count[0] == VP__TRIAL_RUNS && v->count[1] == VP__TRIAL_RUNS)
            verdict = decide(s, v, permille);
    } else if (phase == VP__PHASE_KEPT && v->was_kept &&
               atomic_load_explicit(&v->built.runs, memory_order_relaxed) >= v->again) {
        v->again *= 2;
        atomic_store_explicit(&v->phase, VP__PHASE_TRIAL, memory_order_relaxed);
    }
    vp__spin_unlock(&v->lock);
    return verdict;
}
