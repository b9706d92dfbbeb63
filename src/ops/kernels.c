/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the base kernels for this CPU, once. VP_ISA can only lower the choice: a set the
 * CPU cannot run is never handed out. The build says which sets it compiled
 * (VP_HAVE_AVX2, VP_HAVE_AVX512). A set's accurate mode is a table of its own.
 */
#include "ops/kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/config.h"

typedef void fill_fn(vp__kernels *k);
fill_fn vp__kernels_fill_baseline, vp__kernels_fill_accurate_baseline;
fill_fn vp__kernels_fill_avx2, vp__kernels_fill_accurate_avx2;
fill_fn vp__kernels_fill_avx512, vp__kernels_fill_accurate_avx512;

static bool always(void) { return true; }

#if defined VP_HAVE_AVX2 || defined VP_HAVE_AVX512
/* What -mavx2 -mfma -mbmi2 lets the compiler use. */
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}
#endif

#if defined VP_HAVE_AVX512
/* What x86-64-v4 contains. */
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* From the lowest to the highest. */
static const struct {
    const char *isa;
    bool (*runs)(void);
    fill_fn *fill, *fill_accurate;
} sets[] = {
#define SET(isa, runs)                                                                   \
    { #isa, runs, vp__kernels_fill_##isa, vp__kernels_fill_accurate_##isa }
    SET(baseline, always),
#if defined VP_HAVE_AVX2
    SET(avx2, has_avx2),
#endif
#if defined VP_HAVE_AVX512
    SET(avx512, has_avx512),
#endif
};
enum { NSETS = sizeof sets / sizeof sets[0] };

/* Tables are filled when they are first asked for; an empty one has no name. */
static vp__kernels tables[NSETS][2];
static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER; /* guards tables */

static const vp__kernels *get_set(int i, bool accurate) {
    vp__kernels *k = &tables[i][accurate];
    pthread_mutex_lock(&filling);
    if (!k->isa) {
        sets[i].fill(k);
        if (accurate) sets[i].fill_accurate(k);
        k->math = accurate ? "accurate" : "fast";
        k->isa = sets[i].isa;
    }
    pthread_mutex_unlock(&filling);
    return k;
}

static const vp__kernels *find_set(const char *isa, bool accurate) {
    for (int i = 0; i < NSETS; i++)
        if (strcmp(sets[i].isa, isa) == 0)
            return sets[i].runs() ? get_set(i, accurate) : NULL;
    return NULL;
}

const vp__kernels *vp__kernels_for(const char *isa) { return find_set(isa, false); }
const vp__kernels *vp__kernels_accurate_for(const char *isa) {
    return find_set(isa, true);
}

static _Atomic(const vp__kernels *) chosen;
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;

static void choose(void) {
    const char *wish = vp__config_get()->isa;
    int best = 0;
    for (int i = 0; i < NSETS; i++) {
        if (sets[i].runs()) best = i;
        if (wish && strcmp(sets[i].isa, wish) == 0) break;
    }
    atomic_store_explicit(&chosen, get_set(best, vp__config_get()->accurate),
                          memory_order_release);
}

const vp__kernels *vp__kernels_get(void) {
    /* acquire pairs with the release in choose: the table is filled. */
    const vp__kernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
    if (__builtin_expect(k != NULL, 1)) return k;
    pthread_once(&choose_once, choose);
    return atomic_load_explicit(&chosen, memory_order_relaxed);
}
