/* SPDX-License-Identifier: Apache-2.0
 *
 * A2, vectorised: the sums of |sin| down the columns of a matrix, as one expression.
 */
#include "support.h"

static vp_array a, b;

void prepare(int64_t size) {
    a = vp_let(vp_counter(VP_F64, vp_fshape(size, size), 1, 1));
    b = vp_let(vp_zeros(VP_F64, vp_shape(size)));
}

void evaluate(int64_t times) {
    for (int64_t i = 0; i < times; i++) vp_set(b, vp_sum(vp_abs(vp_sin(a)), 0));
}

int64_t result(const double **numbers) { return numbers_of(b, numbers); }
