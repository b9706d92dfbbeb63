/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the net and of the interface share: gated instructions as the program
 * sees them, and checks that read an array and say what was expected of it. Expected
 * values are given by the test, never by the library.
 */
#ifndef VP_TESTS_NET_SUPPORT_H
#define VP_TESTS_NET_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "issue/gate.h"
#include "net/runtime.h"
#include "tests/harness.h"
#include "vproc.h"

/* Sets VP_THREADS; call it before the processor is first used. */
void vp__test_threads(int threads);

/* Every value that gets a name is a node, or runs, at once; call it before as well. */
void vp__test_no_holding(void);

/* A copy of x whose result appears only when the gate is opened. */
#define VP_GATED(x, gate) vp__test_gated(VP_HERE, VP__IN(x), NULL, gate)
/* The same, but its size is unknown as well until the first gate is opened. */
#define VP_GATED_SIZE(x, size_gate, gate)                                                \
    vp__test_gated(VP_HERE, VP__IN(x), size_gate, gate)
vp_expr vp__test_gated(const char *where, vp_operand x, vp__gate *size_gate,
                       vp__gate *gate);

static inline bool vp__test_closed(const vp__gate *gate) { return gate->node != NULL; }

/* Opens a gate from another thread after some milliseconds; the flag is set just before.
 * The thread is joined by vp__test_join. */
typedef struct {
    vp__gate *gate;
    int milliseconds;
    _Atomic bool opened;
    unsigned long thread;
} vp__test_opener;
void vp__test_open_later(vp__test_opener *opener, vp__gate *gate, int milliseconds);
void vp__test_join(vp__test_opener *opener);

/* In a child the thread sanitizer confuses new threads with those of the parent. */
#if defined(__SANITIZE_THREAD__)
#define VP_NEEDS_THREADS_IN_A_CHILD()                                                    \
    VP_SKIP("the thread sanitizer does not know threads that a child starts")
#else
#define VP_NEEDS_THREADS_IN_A_CHILD() ((void)0)
#endif

/* Which functions of the system give the calling thread no memory. */
enum { VP__TEST_NO_ALIGNED_ALLOC = 1, VP__TEST_NO_CALLOC = 2 };
extern _Thread_local int vp__test_no_memory;

/* Barriers that the calling thread had the system put into every thread. */
extern _Thread_local int vp__test_barriers;

/* 0, 1, 2, … as a named float64 array of n elements. */
vp_array vp__test_counting(int64_t n);

/* A figure of vp_get_stats now. */
#define VP_STAT(field) (vp__test_stats().field)
vp_stats vp__test_stats(void);

/* Polls until the condition holds; fails after ten seconds (longer in slow builds). */
#define VP_CHECK_SOON(condition)                                                         \
    do {                                                                                 \
        for (int vp__ms = 0; !(condition); vp__ms++)                                     \
            if (!vp__test_pause(vp__ms)) VP_FAIL("never came true: %s", #condition);     \
    } while (0)
bool vp__test_pause(int ms);

double vp__test_seconds(void);     /* monotonic */
double vp__test_cpu_seconds(void); /* of the whole process */

/* The storage behind a name now; valid as long as the name is. */
vp__storage *vp__test_storage(vp_array a);
/* How many expressions of this thread wait to be used. */
int vp__test_open_expressions(void);

/* Waits for everything, until nobody frees any more, and returns the bytes in use. */
int64_t vp__test_bytes_now(void);
/* Nothing has leaked since: the bytes in use come back to what they were. */
#define VP_CHECK_NO_LEAK(base) vp__test_no_leak(__FILE__, __LINE__, base)
void vp__test_no_leak(const char *file, int line, int64_t base);

/* --- checks on arrays --------------------------------------------------------------- */

/* An observer succeeded, or failed with a status and a message that contains a part. */
#define VP_CHECK_OK(call) vp__test_ok(__FILE__, __LINE__, #call, call)
#define VP_CHECK_ERROR(call, status, part)                                               \
    vp__test_error(__FILE__, __LINE__, #call, call, status, part)
/* The instruction before it reported an error of this kind; forgets it. */
#define VP_CHECK_REPORTED(status, part)                                                  \
    vp__test_reported(__FILE__, __LINE__, status, part)

/* The elements in row-major order, given as doubles. An expression is used up. */
#define VP_CHECK_VALUES(x, ...)                                                          \
    vp__test_values(__FILE__, __LINE__, #x, VP__IN(x), (const double[]){__VA_ARGS__},    \
                    (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)),   \
                    0)
/* The same within a tolerance. */
#define VP_CHECK_CLOSE(x, tolerance, ...)                                                \
    vp__test_values(__FILE__, __LINE__, #x, VP__IN(x), (const double[]){__VA_ARGS__},    \
                    (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)),   \
                    tolerance)
/* The same with the values in memory. */
#define VP_CHECK_ARRAY(x, values, count)                                                 \
    vp__test_values(__FILE__, __LINE__, #x, VP__IN(x), values, count, 0)
/* Complex elements, as real and imaginary parts in turn. */
#define VP_CHECK_COMPLEX(x, ...)                                                         \
    vp__test_complex(__FILE__, __LINE__, #x, VP__IN(x), (const double[]){__VA_ARGS__},   \
                     (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))
/* The dims; nothing is used up. VP_CHECK_SCALAR: there are none. */
#define VP_CHECK_SHAPE(x, ...)                                                           \
    vp__test_shape(__FILE__, __LINE__, #x, VP__IN(x), (const int64_t[]){__VA_ARGS__},    \
                   (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define VP_CHECK_SCALAR(x) vp__test_shape(__FILE__, __LINE__, #x, VP__IN(x), NULL, 0)
#define VP_CHECK_TYPE(x, dtype) vp__test_type(__FILE__, __LINE__, #x, VP__IN(x), dtype)

void vp__test_ok(const char *file, int line, const char *text, vp_status status);
void vp__test_error(const char *file, int line, const char *text, vp_status status,
                    vp_status expected, const char *part);
void vp__test_reported(const char *file, int line, vp_status status, const char *part);
void vp__test_values(const char *file, int line, const char *text, vp_operand x,
                     const double *values, int64_t count, double tolerance);
void vp__test_complex(const char *file, int line, const char *text, vp_operand x,
                      const double *values, int64_t count);
void vp__test_shape(const char *file, int line, const char *text, vp_operand x,
                    const int64_t *dims, int ndim);
void vp__test_type(const char *file, int line, const char *text, vp_operand x,
                   vp_dtype dtype);

#endif
