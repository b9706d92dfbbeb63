/* SPDX-License-Identifier: Apache-2.0
 *
 * A1: a low-level expression on four-dimensional unsigned integers. The evaluations do not
 * depend on each other, so they run on all cores at once.
 */
#include "support.h"

static vp_array a, b, r;

void prepare(int64_t size) {
    (void)size; /* the paper has one */
    a = vp_let(vp_counter(VP_U32, vp_fshape(507, 10, 5, 17), 1507, 200));
    b = vp_let(vp_counter(VP_U32, vp_fshape(1, 1, 5, 17), 1507, 1));
    r = vp_let(vp_zeros(VP_U32, vp_shape(1)));
}

void evaluate(int64_t times) {
    const uint32_t m0 = 1142251548u, shift = 17;
    for (int64_t i = 0; i < times; i++)
        vp_set(r, vp_sum(vp_bitwise_or(vp_bitwise_and(m0, vp_shl(a, shift)),
                                       vp_bitwise_and(~m0, b)),
                         1, VP_U32));
}

int64_t result(const double **numbers) { return numbers_of(r, numbers); }
