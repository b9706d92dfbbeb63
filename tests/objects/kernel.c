/* SPDX-License-Identifier: Apache-2.0
 *
 * Code for tests/test_object.c to load: what kernels have in them. The build compiles it in
 * many ways; it is never linked.
 */
double vp_test_outside(double x);
extern const long vp_test_number;

/* Constants in a pool, or as immediate values. */
double test_scale(const double *x, long n) {
    double sum = 0.125;
    for (long i = 0; i < n; i++) sum += x[i] * 3.75 + 1e-3;
    return sum;
}

/* Vectors of constants. */
void test_vectors(double *restrict x, float *restrict y) {
    static const double add[8] = {1.5, -2.5, 3.5, -4.5, 5.5, -6.5, 7.5, -8.5};
    for (int i = 0; i < 8; i++) x[i] += add[i];
    for (int i = 0; i < 32; i++) y[i] = y[i] * 0.5f + (float)i;
}

/* A table of jumps. */
long test_switch(int which, long x) {
    switch (which) {
    case 0: return x * 3;
    case 1: return x - 7;
    case 2: return x ^ 0x55;
    case 3: return x << 5;
    case 4: return -x;
    case 5: return x % 11;
    case 6: return x / 3;
    default: return 0;
    }
}

/* A table of addresses, and strings that linkers merge. */
const char *test_name(unsigned i) {
    static const char *const names[] = {"zero", "one", "two", "three"};
    return i < 4 ? names[i] : "many";
}

static __attribute__((noinline)) double square(double x) { return x * x; }

/* Calls within the object and out of it. */
double test_calls(double x) { return vp_test_outside(square(x) + 1) + square(x); }

#ifdef VP_OUTSIDE_DATA
long test_number(void) { return vp_test_number + 1; }
#endif
