/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/net_support.h"

#include <linux/membarrier.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "api/build.h"
#include "api/held.h"
#include "api/operand.h"
#include "net/runtime.h"

void vp__test_threads(int threads) {
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("VP_THREADS", text, 1);
}

void vp__test_no_holding(void) { setenv("VP_WITHOUT", "liveness", 1); }

vp_expr vp__test_gated(const char *where, vp_operand x, vp__gate *size_gate,
                       vp__gate *gate) {
    VP__CALL; /* as of the interface: others wait for its end */
    vp__value v;
    vp__gate_copy(vp__operand(x, where), size_gate, gate, where, &v);
    return vp__give(vp__value_expr(&v, where));
}

static void *open_now(void *arg) {
    vp__test_opener *o = arg;
    usleep((useconds_t)o->milliseconds * 1000);
    atomic_store(&o->opened, true);
    vp__gate_open(o->gate);
    return NULL;
}

void vp__test_open_later(vp__test_opener *o, vp__gate *gate, int milliseconds) {
    o->gate = gate;
    o->milliseconds = milliseconds;
    atomic_init(&o->opened, false);
    VP_CHECK(!pthread_create(&o->thread, NULL, open_now, o));
}

void vp__test_join(vp__test_opener *o) { VP_CHECK(!pthread_join(o->thread, NULL)); }

/* The linker has all calls come here; the names are its own. */
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

_Thread_local int vp__test_no_memory;

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    if (vp__test_no_memory & VP__TEST_NO_ALIGNED_ALLOC) return NULL;
    return __real_aligned_alloc(alignment, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return vp__test_no_memory & VP__TEST_NO_CALLOC ? NULL : __real_calloc(count, bytes);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

_Thread_local int vp__test_barriers;

long __wrap_syscall(long number, ...) {
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_membarrier &&
        (a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED || a[0] == MEMBARRIER_CMD_GLOBAL))
        vp__test_barriers++;
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

vp_array vp__test_counting(int64_t n) {
    double *values = malloc((size_t)(n ? n : 1) * sizeof *values);
    VP_CHECK(values != NULL);
    for (int64_t i = 0; i < n; i++) values[i] = (double)i;
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(n), values));
    free(values);
    return a;
}

vp_stats vp__test_stats(void) {
    vp_stats stats;
    vp_get_stats(&stats);
    return stats;
}

bool vp__test_pause(int ms) {
    usleep(1000);
    return ms < 10000 * vp__test_slowdown();
}

static double seconds_of(struct timespec t) {
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double vp__test_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return seconds_of(t);
}

double vp__test_cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return seconds_of(t);
}

vp__storage *vp__test_storage(vp_array a) {
    VP__CALL; /* as of the interface: others wait for its end */
    vp__name *n = vp__held_lock(a);
    VP_CHECK(n != NULL && n->buffer != NULL);
    vp__storage *s = n->buffer->storage;
    vp__name_unlock(n);
    return s;
}

int vp__test_open_expressions(void) {
    int count = 0;
    for (vp__expr *e = vp__expr_roots(); e && e->kind != VP__EXPR_FREE; e = e->next)
        count++;
    return count;
}

int64_t vp__test_bytes_now(void) {
    VP_CHECK_OK(vp_sync());
    int64_t bytes = -1;
    for (int same = 0; same < 3; usleep(500)) {
        int64_t now = VP_STAT(bytes_in_use);
        same = now == bytes ? same + 1 : 0;
        bytes = now;
    }
    return bytes;
}

void vp__test_no_leak(const char *file, int line, int64_t base) {
    int64_t bytes = vp__test_bytes_now();
    for (int i = 0; bytes > base && i < 100 * vp__test_slowdown(); i++)
        bytes = vp__test_bytes_now();
    /* Fewer is no leak: a ticket of a split node may have been left when base was read. */
    if (bytes > base)
        vp__test_fail(file, line, "%lld bytes are in use, %lld more than before",
                      (long long)bytes, (long long)(bytes - base));
}

/* --- checks on arrays --------------------------------------------------------------- */

void vp__test_ok(const char *file, int line, const char *text, vp_status status) {
    if (status != VP_OK)
        vp__test_fail(file, line, "%s gave status %d: %s", text, (int)status,
                      vp_message());
}

void vp__test_error(const char *file, int line, const char *text, vp_status status,
                    vp_status expected, const char *part) {
    if (status != expected)
        vp__test_fail(file, line, "%s gave status %d, not %d: %s", text, (int)status,
                      (int)expected, vp_message());
    vp__test_reported(file, line, expected, part);
}

void vp__test_reported(const char *file, int line, vp_status status, const char *part) {
    if (vp_error() != status)
        vp__test_fail(file, line, "vp_error() is %d, not %d: %s", (int)vp_error(),
                      (int)status, vp_message());
    if (!strstr(vp_message(), part))
        vp__test_fail(file, line, "the message does not say \"%s\": %s", part,
                      vp_message());
    vp_clear_error();
}

static double element(const void *memory, int64_t i, vp_dtype t) {
    switch (t) {
    case VP_BOOL: return ((const uint8_t *)memory)[i];
    case VP_I8: return ((const int8_t *)memory)[i];
    case VP_I16: return ((const int16_t *)memory)[i];
    case VP_I32: return ((const int32_t *)memory)[i];
    case VP_I64: return (double)((const int64_t *)memory)[i];
    case VP_U8: return ((const uint8_t *)memory)[i];
    case VP_U16: return ((const uint16_t *)memory)[i];
    case VP_U32: return ((const uint32_t *)memory)[i];
    case VP_U64: return (double)((const uint64_t *)memory)[i];
    case VP_F32: return ((const float *)memory)[i];
    case VP_F64: return ((const double *)memory)[i];
    case VP_C64:
    case VP_C128:
    case VP_AUTO: break;
    }
    return NAN;
}

/* All elements of x, to be freed. */
static void *read_all(const char *file, int line, const char *text, vp_operand x,
                      int64_t *count, vp_dtype *dtype) {
    *count = vp__size_of(VP_HERE, x, VP__EVERY_AXIS);
    *dtype = vp__dtype_of(VP_HERE, x);
    if (*count < 0) vp__test_fail(file, line, "%s: %s", text, vp_message());
    size_t bytes = (size_t)*count * vp_dtype_size(*dtype);
    void *memory = malloc(bytes ? bytes : 1);
    VP_CHECK(memory != NULL);
    vp__test_ok(file, line, text, vp__read(VP_HERE, x, VP_AUTO, memory, bytes));
    return memory;
}

static bool is_same(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (a == b) return tolerance > 0 || signbit(a) == signbit(b);
    return fabs(a - b) <= tolerance;
}

void vp__test_values(const char *file, int line, const char *text, vp_operand x,
                     const double *values, int64_t count, double tolerance) {
    int64_t n;
    vp_dtype t;
    void *memory = read_all(file, line, text, x, &n, &t);
    if (n != count)
        vp__test_fail(file, line, "%s has %lld elements, not %lld", text, (long long)n,
                      (long long)count);
    bool integral = t < VP_F32;
    for (int64_t i = 0; i < n; i++) {
        double is = element(memory, i, t);
        if (integral ? is != values[i] : !is_same(is, values[i], tolerance))
            vp__test_fail(file, line, "%s: element %lld is %.17g, not %.17g", text,
                          (long long)i, is, values[i]);
    }
    free(memory);
}

void vp__test_complex(const char *file, int line, const char *text, vp_operand x,
                      const double *values, int64_t count) {
    int64_t n;
    vp_dtype t;
    void *memory = read_all(file, line, text, x, &n, &t);
    if (t != VP_C64 && t != VP_C128)
        vp__test_fail(file, line, "%s is %s, not complex", text, vp_dtype_name(t));
    if (2 * n != count)
        vp__test_fail(file, line, "%s has %lld elements, not %lld", text, (long long)n,
                      (long long)count / 2);
    for (int64_t i = 0; i < count; i++) {
        double is = element(memory, i, t == VP_C64 ? VP_F32 : VP_F64);
        if (!is_same(is, values[i], 0))
            vp__test_fail(file, line, "%s: part %lld is %.17g, not %.17g", text,
                          (long long)i, is, values[i]);
    }
    free(memory);
}

void vp__test_shape(const char *file, int line, const char *text, vp_operand x,
                    const int64_t *dims, int ndim) {
    int n = vp__ndim_of(VP_HERE, x);
    if (n < 0) vp__test_fail(file, line, "%s: %s", text, vp_message());
    if (n != ndim) vp__test_fail(file, line, "%s has %d axes, not %d", text, n, ndim);
    int64_t count = 1;
    for (int i = 0; i < n; i++) {
        /* Axis -1 asks for the size, so axes are counted from the front here. */
        int64_t d = vp__size_of(VP_HERE, x, i);
        if (d != dims[i])
            vp__test_fail(file, line, "%s: axis %d is %lld long, not %lld", text, i,
                          (long long)d, (long long)dims[i]);
        count *= d;
    }
    int64_t size = vp__size_of(VP_HERE, x, VP__EVERY_AXIS);
    if (size != count)
        vp__test_fail(file, line, "%s: size %lld, not %lld", text, (long long)size,
                      (long long)count);
}

void vp__test_type(const char *file, int line, const char *text, vp_operand x,
                   vp_dtype dtype) {
    vp_dtype is = vp__dtype_of(VP_HERE, x);
    if (is != dtype)
        vp__test_fail(file, line, "%s is %s, not %s", text, vp_dtype_name(is),
                      vp_dtype_name(dtype));
}
