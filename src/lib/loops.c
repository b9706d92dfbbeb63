/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the inner loops that match the base kernels in use.
 */
#include "lib/loops.h"

#include <stdatomic.h>
#include <string.h>

#include "ops/kernels.h"

#define TABLE(isa)                                                                       \
    {                                                                                    \
        .count_true = vp__loops_count_true_##isa,                                        \
        .list_true = vp__loops_list_true_##isa, .mask_get = vp__loops_mask_get_##isa,    \
        .mask_put = vp__loops_mask_put_##isa, .mask_fill = vp__loops_mask_fill_##isa,    \
        .index_is_valid = vp__loops_index_is_valid_##isa,                                \
        .index_add = vp__loops_index_add_##isa, .take = vp__loops_take_##isa,            \
        .scan_along = vp__loops_scan_along_##isa,                                        \
        .scan_across = vp__loops_scan_across_##isa, .product = vp__loops_product_##isa,  \
        .gemm = vp__loops_gemm_##isa, .sort = vp__loops_sort_##isa,                      \
        .argsort = vp__loops_argsort_##isa, .fft = vp__loops_fft_##isa,                  \
        .fft_mirror = vp__loops_fft_mirror_##isa,                                        \
    }

VP__LOOPS_DECLARE(baseline)
static const vp__loops loops_baseline = TABLE(baseline);
#ifdef VP_HAVE_AVX2
VP__LOOPS_DECLARE(avx2)
static const vp__loops loops_avx2 = TABLE(avx2);
#endif
#ifdef VP_HAVE_AVX512
VP__LOOPS_DECLARE(avx512)
static const vp__loops loops_avx512 = TABLE(avx512);
#endif

static const vp__loops *choose(void) {
    const char *isa = vp__kernels_get()->isa;
#ifdef VP_HAVE_AVX512
    if (strcmp(isa, "avx512") == 0) return &loops_avx512;
#endif
#ifdef VP_HAVE_AVX2
    if (strcmp(isa, "avx2") == 0) return &loops_avx2;
#endif
    (void)isa;
    return &loops_baseline;
}

const vp__loops *vp__loops_get(void) {
    /* Relaxed: the tables are constant, and every thread would choose the same one. */
    static _Atomic(const vp__loops *) chosen;
    const vp__loops *loops = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!loops) {
        loops = choose();
        atomic_store_explicit(&chosen, loops, memory_order_relaxed);
    }
    return loops;
}
