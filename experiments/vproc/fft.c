/* SPDX-License-Identifier: Apache-2.0
 *
 * F: the program of the paper's section 1.5. Its two halves are independent until the last
 * line, and every transform is one among many.
 */
#include "support.h"

static vp_array data1, data2, r1;

void prepare(int64_t size) {
    data1 = vp_let(vp_sin(vp_counter(VP_F64, vp_fshape(size, size), 0, 1)));
    data2 = vp_let(vp_cos(vp_counter(VP_F64, vp_fshape(size, size), 0, 3)));
    r1 = vp_let(vp_zeros(VP_F64, vp_shape(1)));
}

void evaluate(int64_t times) {
    for (int64_t i = 0; i < times; i++) {
        vp_set(r1, vp_abs(vp_fft(data1, 0)));
        vp_set(r1, vp_sum(vp_add(r1, vp_abs(vp_fft(data2, 0))), 1));
    }
}

int64_t result(const double **numbers) { return numbers_of(r1, numbers); }
