/* SPDX-License-Identifier: Apache-2.0
 *
 * The test harness. A test registers itself:
 *
 *     #include "tests/harness.h"
 *
 *     VP_TEST(append_keeps_order) {
 *         VP_CHECK_EQ(list_length(list), 3);
 *     }
 *
 * and is called <noun>.append_keeps_order when it stands in tests/test_<noun>.c. Every test
 * runs in a process of its own with a time limit, so a crash or a hang is one failed test;
 * its output is shown only when it fails. The first failed check ends the test: what
 * follows it would run on a broken premise. Checks may fail on any thread.
 *
 * Run `vproc-tests --help` for the options.
 */
#ifndef VP_TESTS_HARNESS_H
#define VP_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vp__test {
    const char *file;
    const char *name;
    void (*run)(void);
    int seconds;
    struct vp__test *next;
} vp__test;

void vp__test_register(vp__test *test);

/* A test with the usual time limit, and one that says its own. The limit is stretched under
 * sanitizers and by VP_TEST_SLOWDOWN (a factor). */
#define VP_TEST(name) VP_TEST_TIMEOUT(name, 30)
#define VP_TEST_TIMEOUT(name, seconds)                                                   \
    static void test_##name(void);                                                       \
    __attribute__((constructor)) static void register_##name(void) {                     \
        static vp__test test = {__FILE__, #name, test_##name, seconds, NULL};            \
        vp__test_register(&test);                                                        \
    }                                                                                    \
    static void test_##name(void)

/* Checks. The comparing ones take any mix of integers, floats and pointers, compare by
 * value (so -1 is less than 0u) and print both sides. */
#define VP_CHECK(condition)                                                              \
    ((condition) ? (void)0 : vp__test_fail(__FILE__, __LINE__, "%s", #condition))
#define VP_CHECK_EQ(a, b) VP__CHECK_OP(a, VP__TEST_EQ, "==", b)
#define VP_CHECK_NE(a, b) VP__CHECK_OP(a, VP__TEST_NE, "!=", b)
#define VP_CHECK_LT(a, b) VP__CHECK_OP(a, VP__TEST_LT, "<", b)
#define VP_CHECK_LE(a, b) VP__CHECK_OP(a, VP__TEST_LE, "<=", b)
#define VP_CHECK_GT(a, b) VP__CHECK_OP(b, VP__TEST_LT, "<", a)
#define VP_CHECK_GE(a, b) VP__CHECK_OP(b, VP__TEST_LE, "<=", a)

/* |a - b| <= tolerance; NaN is near NaN alone. */
#define VP_CHECK_NEAR(a, b, tolerance)                                                   \
    vp__test_near(__FILE__, __LINE__, #a " ~ " #b, (a), (b), (tolerance))

/* Strings: equal, and one inside the other. NULL equals NULL. */
#define VP_CHECK_STR(a, b) vp__test_str(__FILE__, __LINE__, #a " == " #b, (a), (b))
#define VP_CHECK_CONTAINS(text, part)                                                    \
    vp__test_contains(__FILE__, __LINE__, #text " contains " #part, (text), (part))

/* The same `bytes` bytes; says where the first difference is. */
#define VP_CHECK_BYTES(a, b, bytes)                                                      \
    vp__test_bytes(__FILE__, __LINE__, #a " == " #b, (a), (b), (bytes))

/* Ends the test as failed or as skipped, with a printf-style reason. */
#define VP_FAIL(...) vp__test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define VP_SKIP(...) vp__test_skip(__VA_ARGS__)

/* Between the two, standard output goes into a file; the second returns what it came to,
 * valid until the next. One at a time. */
void vp__test_capture_begin(void);
const char *vp__test_capture_end(void);

/* The factor by which this build is slower than a plain one, for tests that measure. */
int vp__test_slowdown(void);

/* What follows is what the macros expand to. */

typedef enum { VP__TEST_EQ, VP__TEST_NE, VP__TEST_LT, VP__TEST_LE } vp__test_op;

typedef struct {
    enum { VP__TEST_INT, VP__TEST_UINT, VP__TEST_FLOAT, VP__TEST_POINTER } kind;
    union {
        int64_t i;
        uint64_t u;
        double f;
        const volatile void *p;
    } as;
} vp__test_value;

vp__test_value vp__test_from_int(int64_t x);
vp__test_value vp__test_from_uint(uint64_t x);
vp__test_value vp__test_from_float(double x);
vp__test_value vp__test_from_pointer(const volatile void *x);

/* clang-format off */
#define VP__TEST_VALUE(x)                                                                \
    _Generic((x),                                                                        \
        bool: vp__test_from_uint, char: vp__test_from_int,                               \
        signed char: vp__test_from_int, unsigned char: vp__test_from_uint,               \
        short: vp__test_from_int, unsigned short: vp__test_from_uint,                    \
        int: vp__test_from_int, unsigned: vp__test_from_uint,                            \
        long: vp__test_from_int, unsigned long: vp__test_from_uint,                      \
        long long: vp__test_from_int, unsigned long long: vp__test_from_uint,            \
        float: vp__test_from_float, double: vp__test_from_float,                         \
        default: vp__test_from_pointer)(x)
/* clang-format on */

#define VP__CHECK_OP(a, op, sign, b)                                                     \
    vp__test_compare(__FILE__, __LINE__, #a " " sign " " #b, VP__TEST_VALUE(a), op,      \
                     VP__TEST_VALUE(b))

_Noreturn void vp__test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void vp__test_skip(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void vp__test_compare(const char *file, int line, const char *text, vp__test_value a,
                      vp__test_op op, vp__test_value b);
void vp__test_near(const char *file, int line, const char *text, double a, double b,
                   double tolerance);
void vp__test_str(const char *file, int line, const char *text, const char *a,
                  const char *b);
void vp__test_contains(const char *file, int line, const char *text, const char *a,
                       const char *part);
void vp__test_bytes(const char *file, int line, const char *text, const void *a,
                    const void *b, size_t bytes);

#endif
