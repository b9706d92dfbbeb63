/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements that follow from their numbers. They are computed in int64 or float64, a block at a
 * time, and converted.
 */
#include <math.h>

#include "issue/library/family.h"
#include "ops/kernels.h"

enum { BLOCK = 1024, PIECE = 1 << 16 };

static void begin(vp__node *n) {
    n->pieces = (vp__library_count(n) + PIECE - 1) / PIECE;
    if (n->pieces < 1) n->pieces = 1;
}

/* Elements number first…first+n-1 in storage order. */
static void generate(const vp__generate_params *p, const int64_t *dims, int64_t first,
                     int64_t n, void *block) {
    int64_t *ints = block;
    double *reals = block;
    if (p->eye) {
        for (int64_t i = 0; i < n; i++)
            ints[i] = (first + i) % dims[1] - (first + i) / dims[1] == p->diagonal;
    } else if (p->in_integers) {
        for (int64_t i = 0; i < n; i++) ints[i] = p->istart + (first + i) * p->istep;
    } else {
        for (int64_t i = 0; i < n; i++)
            reals[i] = p->start + (double)(first + i) * p->step;
        if (p->ends && first + n == dims[0]) reals[n - 1] = p->stop;
        if (p->floors)
            for (int64_t i = 0; i < n; i++) reals[i] = floor(reals[i]);
    }
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    const vp__generate_params *p = &vp__params_of(n)->generate;
    const vp__kernels *kernels = vp__kernels_get();
    const int64_t count = vp__library_count(n), size = vp__dtype[n->dtype].size;
    int64_t at = i * PIECE;
    const int64_t end = count - at < PIECE ? count : at + PIECE;
    const vp_dtype made = p->in_integers || p->eye ? VP_I64 : VP_F64;
    _Alignas(64) char block[BLOCK * 8];
    for (; at < end; at += BLOCK) {
        const int64_t m = end - at < BLOCK ? end - at : BLOCK;
        generate(p, n->dims, at, m, block);
        kernels->cast[made][n->dtype](n->out + at * size, block, m);
    }
}

const vp__family vp__family_generate = {.work = {.size = vp__library_size_node,
                                                 .begin = begin,
                                                 .piece = piece,
                                                 .one_kernel = true},
                                        .payload = sizeof(vp__lib_params)};
