// SPDX-License-Identifier: Apache-2.0
//
// The program of test_header.c as C++17: overloads take the place of _Generic, and a number
// of any C++ type may stand for an operand.
#include <vproc.h>

#include <vproc.h>

// A function of the user's, which takes any operand and returns an expression.
static vp_expr doubled(vp_operand x) {
    vp_scope s = vp_begin();
    vp_expr e = vp_keep(vp_mul(vp_let(x), 2));
    vp_end(s);
    return e;
}

int main() {
    double memory[6] = {1, 2, 3, 4, 5, 6};
    double total = 0, twice = 0;
    bool larger = false;

    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(2, 3), memory));
    vp_array b = vp_let(vp_add(vp_mul(a, 2), vp_sqrt(1.0)));
    vp_put(b, vp_at(0, vp_range(0, 2)), vp_get(a, 1, vp_until(2)));
    vp_set(b, vp_where(vp_gt(a, 1u), vp_add(b, 0.0L), -1.0f));
    vp_status status =
        vp_item(vp_sum(vp_sum(b, 0), VP_EVERY, VP_F64, VP_KEEPDIMS), &total);
    if (status == VP_OK) status = vp_test(vp_any(vp_gt(b, 12)), &larger);
    int64_t columns = vp_dim(b, 1);
    if (status == VP_OK)
        status = vp_item(vp_add(doubled(vp_operand_of(total)), doubled(vp_operand_of(1))),
                         &twice);

    /* Complex numbers of both kinds, lists of axes, an index array and a mask. */
    std::complex<double> z;
    std::complex<float> w;
    vp_array c =
        vp_let(vp_mul(vp_add(a, std::complex<float>(0, 1)), std::complex<double>(2, 0)));
    vp_array column = vp_let(vp_arange(VP_I64, 0, 3, 2));
    vp_put(c, vp_at(0, column), 0);
    vp_put(c, vp_at(vp_gt(vp_real(c), 11)), 1.0);
    if (status == VP_OK) status = vp_item(vp_sum(c, vp_axes(0, 1)), &z);
    if (status == VP_OK) status = vp_item(vp_get_at(vp_sum(c, -1, VP_C64), vp_at(1)), &w);
    bool right = z == std::complex<double>(23, 6) && w == std::complex<float>(19, 4);
    vp_end(s);
    return status == VP_OK && total == 44 && twice == 90 && larger && columns == 3 &&
                   right
               ? 0
               : 1;
}
