/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of math functions that people rely on. How accurate the others are is measured in
 * tests/accuracy.
 */
#include <math.h>

#include "ops/kernels.h"
#include "tests/harness.h"

VP_TEST(exact_values) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        const vp__kernels *k = vp__kernels_for(isas[i]);
        if (!k) continue;
        double x[2] = {0.0, -0.0}, y[2];
        k->op[VP__OP_cos][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 1 && y[1] == 1);
        k->op[VP__OP_sin][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && signbit(y[1]));
        k->op[VP__OP_exp][VP_F64](y, x, NULL, NULL, 2);
        VP_CHECK(y[0] == 1 && y[1] == 1);
    }
}
