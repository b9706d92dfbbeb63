/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program: the public header alone, twice, as strict C11. The header must bring
 * everything it needs, guard itself, and give no warning. tests/run_all.py compiles this
 * with both compilers, and builds and runs it against the installed library.
 */
#include <vproc.h>

#include <vproc.h>

/* A function of the user's, which takes any operand and returns an expression. */
static vp_expr doubled(vp_operand x) {
    vp_scope s = vp_begin();
    vp_expr e = vp_keep(vp_mul(vp_let(x), 2));
    vp_end(s);
    return e;
}

int main(void) {
    double memory[6] = {1, 2, 3, 4, 5, 6};
    double total = 0, twice = 0;
    bool larger = false;

    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(2, 3), memory));
    vp_array b = vp_let(vp_add(vp_mul(a, 2), vp_sqrt(1.0)));
    vp_put(b, vp_at(0, vp_range(0, 2)), vp_get(a, 1, vp_until(2)));
    vp_set(b, vp_where(vp_gt(a, 1u), vp_add(b, 0.0L), -1.0f));
    /* b is now {-1, 5, 7, 9, 11, 13}. */
    vp_status status =
        vp_item(vp_sum(vp_sum(b, 0), VP_EVERY, VP_F64, VP_KEEPDIMS), &total);
    if (status == VP_OK) status = vp_test(vp_any(vp_gt(b, 12)), &larger);
    int64_t columns = vp_dim(b, 1);
    if (status == VP_OK)
        status = vp_item(vp_add(doubled(vp_operand_of(total)), doubled(vp_operand_of(1))),
                         &twice);
    vp_end(s);
    return status == VP_OK && total == 44 && twice == 90 && larger && columns == 3 ? 0
                                                                                   : 1;
}
