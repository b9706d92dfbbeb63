/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiny: an addition of ten numbers, where nothing but the cost of an instruction counts.
 */
#include "support.h"

static vp_array a, b, c;

void prepare(int64_t size) {
    a = vp_let(vp_ones(VP_F64, vp_shape(size)));
    b = vp_let(vp_counter(VP_F64, vp_shape(size), 1, 1));
    c = vp_let(vp_zeros(VP_F64, vp_shape(size)));
}

void evaluate(int64_t times) {
    for (int64_t i = 0; i < times; i++) vp_set(c, vp_add(a, b));
}

int64_t result(const double **numbers) { return numbers_of(c, numbers); }
