/* SPDX-License-Identifier: Apache-2.0
 *
 * However long a loop is, and however much one iteration differs from the next, what the
 * processor keeps of it is bounded: kernels it knows and compiles, recipes, memory.
 * Expected values are whole numbers that the tests reckon themselves, so sums are exact.
 */
#include "issue/recipe.h"
#include "tests/jit_support.h"
#include "tests/net_support.h"

enum {
    MILLION = 1000000,
    ROUND = 1000, /* iterations whose results are looked at together */
    ROWS = 20,
    COLUMNS = 10,
    LONGEST = ROWS * COLUMNS, /* of an iteration's arrays */
    STEPS = 3,                /* the largest distance between elements of a view */
    MOST_KERNELS = 1024,      /* whatever a program does */
};

/* A number below `below`: what an iteration draws follows from its number alone. */
static int64_t draw(uint64_t *random, int64_t below) {
    uint64_t x = *random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return (int64_t)((x ^ x >> 33) % (uint64_t)below);
}

/* Of an array 0, 1, 2, … so many elements from the first on, so far apart. */
static vp_expr some(vp_array x, int64_t n, int64_t first, int64_t step) {
    return vp_get(x, vp_range_step(first, first + n * step, step));
}

/* Of a million iterations in all; in slow builds fewer, but enough to meet the limit. */
static int rounds(void) {
    const int fewer = MILLION / ROUND / vp__test_slowdown();
    return fewer < 20 ? 20 : fewer;
}

/* What is kept, by the processor itself and in arrays, whose logs may still list some
 * accesses that are over. */
static void check_kept(int64_t base) {
    VP_CHECK_LT(vp__recipe_bytes(), VP__ISSUER_RECIPES * 16384);
    VP_CHECK_NO_LEAK(base + 1024);
}

/* --- iterations of few forms -------------------------------------------------------- */

enum { CHAIN = 8, ENDS = 4 }; /* instructions before the last, and what that one does */

/* Issues an iteration, whose result goes to r[at], and returns what that is. Sizes,
 * offsets, distances, scalars, the number of instructions and what ends them differ. */
static double iterate(uint64_t random, vp_array x, vp_array y, vp_array r, int64_t at) {
    const int64_t rows = 1 + draw(&random, ROWS), columns = 1 + draw(&random, COLUMNS);
    const int64_t n = rows * columns, first = draw(&random, LONGEST);
    const int64_t step = 1 + draw(&random, STEPS);
    const double a = (double)(1 + draw(&random, 1000));
    double b = 0;
    vp_expr e = vp_mul(some(x, n, first, step), a);
    for (int64_t k = draw(&random, CHAIN); k > 0; k--) {
        const double more = (double)draw(&random, 1000);
        e = vp_add(e, more);
        b += more;
    }
    const double last = a * (double)(first + (n - 1) * step) + b;
    switch (draw(&random, ENDS)) {
    case 0: /* reduced to a number */
        vp_put(r, vp_at(at), vp_sum(e));
        return (double)n * (a * (double)first + last + b) / 2;
    case 1: /* named */
        vp_set(y, e);
        vp_put(r, vp_at(at), vp_get(y, -1));
        return last;
    case 2: /* reduced along one axis of two */
        vp_set(y, vp_max(vp_reshape(e, vp_shape(rows, columns)), (int)draw(&random, 2)));
        vp_put(r, vp_at(at), vp_get(y, -1));
        return last;
    default: /* stored into a part of an array */
        vp_set(y, vp_zeros(VP_F64, vp_shape(n + first)));
        vp_put(y, vp_at(vp_from_index(first)), e);
        vp_put(r, vp_at(at), vp_get(y, -1));
        return last;
    }
}

VP_TEST_TIMEOUT(a_million_varying_iterations_are_few_kernels, 60) {
    use("native", "off"); /* every kernel is compiled before it first runs */
    static double expected[ROUND];
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(LONGEST * (STEPS + 1));
    vp_array y = vp_let(0.0), r = vp_let(vp_zeros(VP_F64, vp_shape(ROUND)));
    uint64_t iteration = 0;
    int64_t base = -1;
    for (int round = 0; round < rounds(); round++) {
        for (int64_t k = 0; k < ROUND; k++)
            expected[k] = iterate(iteration++ << 32, x, y, r, k);
        VP_CHECK_ARRAY(r, expected, ROUND);
        vp_set(y, 0.0);
        if (round == 0) base = vp__test_bytes_now();
    }
    const vp__native_stats got = stats();
    if (vp__compiler_is_possible()) VP_CHECK_GE(got.kernels, CHAIN);
    /* Elements side by side, or not; numbers that stay, or that each iteration brings along. */
    VP_CHECK_LE(got.kernels, 4 * CHAIN * ENDS);
    VP_CHECK_LE(got.compiled + got.failed, got.kernels);
    check_kept(base);
    vp_end(s);
}

/* --- expressions that nobody names -------------------------------------------------- */

/* Adds what an iteration does to an open expression, and to the values it stands for.
 * With `varied`, it is one of several things. */
static vp_expr extend(vp_expr e, vp_array x, int64_t n, bool varied, uint64_t *random,
                      double *values) {
    const int64_t what = varied ? draw(random, 3) : 0;
    if (what == 2) {
        for (int64_t k = 0; k < n; k++) values[k] = -values[k];
        return vp_negative(e);
    }
    const int64_t first = draw(random, LONGEST), less = what ? 0 : draw(random, 1000);
    const int64_t step = varied ? 1 + draw(random, STEPS) : STEPS;
    for (int64_t k = 0; k < n; k++) values[k] += (double)(first + k * step - less);
    e = vp_add(e, some(x, n, first, step));
    return what ? e : vp_sub(e, (double)less);
}

/* A million iterations in pieces of any length up to `longest`, each an expression that
 * is read when it is over and not cut by the program before. */
static void run_open(int64_t longest, bool varied) {
    static double values[LONGEST];
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(LONGEST * (STEPS + 1));
    uint64_t random = 0;
    int64_t base = -1;
    for (int64_t left = (int64_t)rounds() * ROUND; left > 0;) {
        const int64_t n = 1 + draw(&random, LONGEST);
        int64_t length = 1 + draw(&random, longest);
        vp_expr e = vp_zeros(VP_F64, vp_shape(n));
        for (int64_t k = 0; k < n; k++) values[k] = 0;
        for (left -= length; length > 0; length--)
            e = extend(e, x, n, varied, &random, values);
        VP_CHECK_ARRAY(e, values, n);
        if (base < 0) base = vp__test_bytes_now();
    }
    check_kept(base);
    vp_end(s);
}

static _Atomic int attempts;

static bool refuse(vp__stage stage) {
    (void)stage;
    attempts++;
    return false;
}

/* Where a full segment is cut follows from the instructions since the cut before, so a
 * loop meets the same few again and again; it may end after any of their instructions. */
VP_TEST_TIMEOUT(a_loop_is_cut_at_the_same_places, 60) {
    use("native", "off");
    vp__native_test_hook = refuse;
    run_open(10000, false);
    if (vp__compiler_is_possible()) VP_CHECK_GT(stats().kernels, 0);
    VP_CHECK_LE(stats().kernels, VP__SEGMENT_TERMS);
}

/* Iterations of several kinds in no order make ever new kernels. */
VP_TEST_TIMEOUT(kernels_without_end_meet_a_limit, 60) {
    use("native", "off");
    vp__native_test_hook = refuse;
    run_open(100, true);
    if (vp__compiler_is_possible()) VP_CHECK_EQ(stats().kernels, MOST_KERNELS);
    VP_CHECK_LE(attempts, MOST_KERNELS);
}
