/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program, in C and in C++, with instructions nested deeply in each place that takes
 * one. tests/run_all.py limits the time that compiling it takes: a macro that expanded what it is
 * given twice would take a thousand times as long at the least.
 */
#include <stdio.h>
#include <vproc.h>

#define FIVE(f, x) f(f(f(f(f(x)))))
#define THREE(f, x) f(f(f(x)))
#define SIX(f, x) f(f(f(f(f(f(x))))))
#define HORNER(x) vp_add(vp_mul(x, 0.5), 1)
#define HORNER5(x) FIVE(HORNER, x)
#define ROW(x) vp_get(vp_stack(0, x, 7.0), 0, VP_ELLIPSIS)
#define ROW5(x) FIVE(ROW, x)
#define SUM(x)                                                                           \
    vp_sum(vp_squeeze(vp_expand(vp_where(true, x, 0.0), 0), 0), VP_EVERY, VP_F64)
#define SUM5(x) FIVE(SUM, x)
#define NEXT(x) vp_get(next, x)
#define NEXT5(x) FIVE(NEXT, x)
#define LENGTH(axis) vp_dim(lengths, axis)
#define LENGTH5(axis) FIVE(LENGTH, axis)
#define SIZE(n) vp_size(vp_zeros(VP_F64, vp_shape(vp_size(vp_arange(VP_I64, 0, n, 1)))))
#define SIZE5(n) FIVE(SIZE, n)
#define TYPE(t) vp_dtype_of(vp_cast(1, t))
#define TYPE5(t) FIVE(TYPE, t)

static int is(const char *what, double value, double right) {
    if (value != right) printf("%s: %.17g, not %.17g\n", what, value, right);
    return value == right;
}

int main(void) {
    const int64_t after[3] = {1, 2, 0};
    double number[4] = {0, 0, 0, 0};
    vp_scope s = vp_begin();
    vp_array x = vp_let(1.0), next = vp_let(vp_from(VP_I64, vp_shape(3), after));
    vp_array lengths = vp_let(vp_empty(VP_F64, vp_shape(1, 2, 0)));
    vp_item(SIX(HORNER5, x), &number[0]);
    vp_item(THREE(ROW5, x), &number[1]);
    vp_item(THREE(SUM5, x), &number[2]);
    vp_item(SIX(NEXT5, 2), &number[3]);
    int right = is("operands", number[0], 2 - 1 / 1073741824.0);
    right &= is("selections", number[1], 1) & is("reductions", number[2], 1);
    right &= is("indices", number[3], 2) & is("axes", (double)SIX(LENGTH5, 2), 2);
    right &= is("shapes and numbers", (double)THREE(SIZE5, 3), 3);
    right &= is("element types", SIX(TYPE5, VP_F32), VP_F32);
    vp_end(s);
    return !right;
}
