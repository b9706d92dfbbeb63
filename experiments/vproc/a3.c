/* SPDX-License-Identifier: Apache-2.0
 *
 * A3: a loop whose iterations overwrite each other's results, so that their order matters.
 * The sums still run on all cores; only the stores wait for their turn.
 */
#include "support.h"

static vp_array a, b;
static int64_t n;

void prepare(int64_t size) {
    n = size;
    a = vp_let(vp_counter(VP_F64, vp_fshape(n, n), 1, 1));
    b = vp_let(vp_zeros(VP_F64, vp_shape(n)));
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++)
        for (int64_t i = 0; i < n; i++)
            vp_put(b, vp_at(vp_range(0, i + 1)),
                   vp_sum(vp_abs(vp_sin(vp_get(a, VP_ALL, i)))));
}

int64_t result(const double **numbers) { return numbers_of(b, numbers); }
