/* SPDX-License-Identifier: Apache-2.0
 *
 * Sines that reductions have written out in native code, against those that base kernels
 * make: the bits are the same, whether all arguments are ordinary, or some must be done
 * again.
 */
#include <string.h>

#include "tests/jit_support.h"
#include "tests/net_support.h"

enum { ROWS = 12, COLUMNS = 1500, RESULTS = 3 * ROWS + 2 };

/* Reductions of y, which is sin(x) or named, into numbers. */
#define REDUCE(y, results)                                                               \
    do {                                                                                 \
        const size_t row = ROWS * sizeof(double);                                        \
        VP_CHECK_OK(vp_read(vp_sum(y, 1), results, row));                                \
        VP_CHECK_OK(vp_read(vp_max(y, 1), results + ROWS, row));                         \
        VP_CHECK_OK(vp_read(vp_sum(vp_exp(y), 1), results + 2 * ROWS, row));             \
        VP_CHECK_OK(vp_item(vp_sum(y), results + 3 * ROWS));                             \
        VP_CHECK_OK(vp_item(vp_count_nonzero(vp_gt(y, 0.5)), results + 3 * ROWS + 1));   \
    } while (0)

static void check_bits(const void *a, const void *b, size_t bytes) {
    VP_CHECK_EQ(memcmp(a, b, bytes), 0);
}

static void check(const double *argument) {
    double fused[RESULTS], named[RESULTS];
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_from(VP_F64, vp_shape(ROWS, COLUMNS), argument));
    vp_array y = vp_let(vp_sin(x));
    REDUCE(vp_sin(x), fused);
    REDUCE(y, named);
    check_bits(fused, named, sizeof fused);
    vp_end(s);
}

/* Sums of sines, which native code writes out, against those of sines that are there. */
static void check_sines(const char *math) {
    need_compiler();
    setenv("VP_MATH", math, 1);
    use("native", "off");
    enum { ROWS = 5, COLUMNS = 1203 };
    static double values[ROWS * COLUMNS];
    /* Rows without and with what is beyond the code that is written out. */
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (i - 3000) * 0.37;
    values[3 * COLUMNS + 700] = 0x1p60;
    values[3 * COLUMNS + 701] = 3.14159265358979311600 * 12345678;
    values[4 * COLUMNS + 1200] = -1e300;
    for (int special = 0; special < 3; special++) {
        if (special == 1) values[2 * COLUMNS + 5] = __builtin_nan("");
        if (special == 2) values[1 * COLUMNS + 1] = -__builtin_inf();
        vp_array x = vp_let(vp_from(VP_F64, vp_shape(ROWS, COLUMNS), values));
        for (int parts = 1; parts <= ROWS; parts += 2) {
            const int64_t n = parts == 3 ? 20 : COLUMNS;
            vp_array some = vp_let(vp_get(x, vp_range(0, parts), vp_range(0, n)));
            vp_array sines = vp_let(vp_sin(some));
            VP_CHECK_OK(vp_wait(sines));
            double fused[ROWS], apart[ROWS];
            const size_t bytes = (size_t)parts * sizeof(double);
            VP_CHECK_OK(vp_read(vp_sum(vp_abs(vp_sin(some)), vp_axes(1)), fused, bytes));
            VP_CHECK_OK(vp_read(vp_sum(vp_abs(sines), vp_axes(1)), apart, bytes));
            check_bits(fused, apart, bytes);
        }
        vp_drop(x);
    }
    VP_CHECK_GE(stats().compiled, 2);
}
VP_TEST(sines_in_sums) { check_sines("fast"); }
VP_TEST(accurate_sines_in_sums) { check_sines("accurate"); }

/* --- other reductions, and elements of every block and of none ------------------------- */

VP_TEST(doubtful_sines_are_done_again) {
    need_compiler();
    use("native", "off");
    static double x[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = 0.37 * i - 999;
    check(x);
    x[3 * COLUMNS + 700] = 1e300;
    check(x);
    x[5 * COLUMNS + COLUMNS - 1] = -1e17; /* among those that do not fill a vector */
    check(x);
    x[3 * COLUMNS + 700] = 1;
    check(x);
    x[0] = __builtin_nan("");
    x[ROWS * COLUMNS - 1] = __builtin_inf();
    check(x);
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = 1e20 * (i + 1);
    check(x);
}
