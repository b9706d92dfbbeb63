/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the base kernels for this CPU, once. VP_ISA can only lower the choice: a set the
 * CPU cannot run is never handed out. The build says which sets it compiled
 * (VP_HAVE_AVX2, VP_HAVE_AVX512).
 */
#include "ops/kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/config.h"

void vp__kernels_fill_baseline(vp__kernels *k);
void vp__kernels_fill_avx2(vp__kernels *k);
void vp__kernels_fill_avx512(vp__kernels *k);

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
    void (*fill)(vp__kernels *k);
} sets[] = {
    {"baseline", always, vp__kernels_fill_baseline},
#if defined VP_HAVE_AVX2
    {"avx2", has_avx2, vp__kernels_fill_avx2},
#endif
#if defined VP_HAVE_AVX512
    {"avx512", has_avx512, vp__kernels_fill_avx512},
#endif
};
enum { NSETS = sizeof sets / sizeof sets[0] };

static vp__kernels tables[NSETS];
static pthread_once_t once[NSETS] = {
    PTHREAD_ONCE_INIT,
#if defined VP_HAVE_AVX2
    PTHREAD_ONCE_INIT,
#endif
#if defined VP_HAVE_AVX512
    PTHREAD_ONCE_INIT,
#endif
};

static void fill_set(int i) {
    tables[i].isa = sets[i].isa;
    sets[i].fill(&tables[i]);
}
static void fill_set0(void) { fill_set(0); }
static void fill_set1(void) { fill_set(1); }
static void fill_set2(void) { fill_set(2); }
static void (*const fill_once[])(void) = {fill_set0, fill_set1, fill_set2};

static const vp__kernels *get_set(int i) {
    pthread_once(&once[i], fill_once[i]);
    return &tables[i];
}

const vp__kernels *vp__kernels_for(const char *isa) {
    for (int i = 0; i < NSETS; i++)
        if (strcmp(sets[i].isa, isa) == 0) return sets[i].runs() ? get_set(i) : NULL;
    return NULL;
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
    atomic_store_explicit(&chosen, get_set(best), memory_order_release);
}

const vp__kernels *vp__kernels_get(void) {
    /* acquire pairs with the release in choose: the table is filled. */
    const vp__kernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
    if (__builtin_expect(k != NULL, 1)) return k;
    pthread_once(&choose_once, choose);
    return atomic_load_explicit(&chosen, memory_order_relaxed);
}
