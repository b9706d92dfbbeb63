/* SPDX-License-Identifier: Apache-2.0
 *
 * Making arrays: from nothing, from a rule, from the user's memory.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/shape.h"
#include "net/runtime.h"
#include "net/wait.h"

vp_shape_t vp_shape_of(int ndim, const int64_t *dims, bool column_major) {
    vp_shape_t s;
    s.ndim = ndim > 0 && !dims ? VP__FROM_NULL : ndim;
    s.column_major = column_major;
    if (s.ndim > 0 && s.ndim <= VP_MAXDIM)
        memcpy(s.dims, dims, (size_t)ndim * sizeof(int64_t));
    return s;
}

vp_axes_t vp_axes_of(int count, const int64_t *axes) {
    vp_axes_t a;
    a.count = count > 0 && !axes ? VP__FROM_NULL : count;
    for (int i = 0; i < a.count && i < VP_MAXDIM; i++) a.axis[i] = vp__axis_of(axes[i]);
    return a;
}

/* What is wrong with asking for an array of this type and shape, or NULL. */
static vp__error *check(const char *name, vp_dtype t, const vp_shape_t *s,
                        const char *where) {
    if (!vp__dtype_is_valid(t))
        return vp__error_new(VP_ERR_TYPE, where, "%s: %d is not an element type", name,
                             (int)t);
    if (s->ndim == VP__FROM_NULL)
        return vp__error_new(VP_ERR_SHAPE, where, "%s: the shape's dims are NULL", name);
    if (s->ndim < 0 || s->ndim > VP_MAXDIM)
        return vp__error_new(VP_ERR_SHAPE, where, "%s: %d axes; at most %d are possible",
                             name, s->ndim, VP_MAXDIM);
    char text[300];
    for (int i = 0; i < s->ndim; i++)
        if (s->dims[i] < 0)
            return vp__error_new(VP_ERR_SHAPE, where, "%s: a dimension cannot be %lld",
                                 name, (long long)s->dims[i]);
    if (vp__shape_count(s->ndim, s->dims, vp__dtype[t].size) < 0)
        return vp__error_new(VP_ERR_SHAPE, where, "%s: an array of shape %s is too large",
                             name, vp__shape_text(text, sizeof text, s->ndim, s->dims));
    return NULL;
}

static vp_expr generate(const vp__generate_params *by, vp_dtype t, const vp_shape_t *s,
                        const char *name, const char *where) {
    const vp__lib_params p = {.kind = VP__LIB_generate,
                              .order = s->column_major ? VP__ORDER_F : VP__ORDER_C,
                              .generate = *by};
    vp__value v;
    vp__library_issue(&p, t, 0, NULL, s->ndim, s->dims, name, where, &v);
    return vp__give(vp__value_expr(&v, where));
}

/* A constant of type t seen with stride 0 everywhere, then copied: works for every type. */
static vp_expr fill(const char *name, const char *where, vp_dtype dtype,
                    const vp_shape_t *shape, vp_operand value) {
    vp__expr *e = vp__operand(value, where);
    if (dtype == VP_AUTO) dtype = (vp_dtype)e->dtype;
    vp__error *error = check(name, dtype, shape, where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    e = vp__as_sized_leaf(vp__build_cast(e, dtype, name, where));
    if (e->kind != VP__EXPR_LEAF) return vp__give(e);
    if (e->count != 1)
        return vp__give(
            vp__refuse(1, &e, where,
                       vp__error_new(VP_ERR_SHAPE, where,
                                     "%s: the value must be one number", name)));
    int64_t strides[VP__MAXDIM] = {0};
    vp__expr *spread = vp__expr_leaf(e->storage, NULL, dtype, e->offset, shape->ndim,
                                     shape->dims, strides, false, where);
    vp__expr_free(e);
    const vp__lib_params p = {.kind = VP__LIB_copy,
                              .order = shape->column_major ? VP__ORDER_F : VP__ORDER_C};
    return vp__give(vp__build_library(&p, dtype, 1, &spread, shape->ndim, name, where));
}

vp_expr vp__full(const char *where, vp_dtype dtype, vp_shape_t shape, vp_operand value) {
    VP__CALL;
    return fill("full", where, dtype, &shape, value);
}

vp_expr vp__zeros(const char *where, vp_dtype dtype, vp_shape_t shape) {
    VP__CALL;
    return fill("zeros", where, dtype, &shape, vp__in_int(0));
}

vp_expr vp__ones(const char *where, vp_dtype dtype, vp_shape_t shape) {
    VP__CALL;
    return fill("ones", where, dtype, &shape, vp__in_int(1));
}

/* A value around memory that is there at once. */
static vp_expr give_storage(vp__storage *s, vp_dtype t, const vp_shape_t *shape,
                            const char *where) {
    vp__value v;
    memset(&v, 0, offsetof(vp__value, dims));
    if (!s || !vp__storage_allocate(s)) {
        if (s) vp__storage_release(s);
        v.error = vp__error_new(VP_ERR_MEMORY, where, "out of memory for an array");
    } else {
        v.storage = s;
        v.dtype = t;
        v.ndim = shape->ndim;
        memcpy(v.dims, shape->dims, (size_t)v.ndim * sizeof(int64_t));
        vp__layout_compact(v.ndim, v.dims, vp__dtype[t].size, shape->column_major,
                           v.strides);
    }
    return vp__give(vp__value_expr(&v, where));
}

static int64_t bytes_of(vp_dtype t, const vp_shape_t *s) {
    int size = vp__dtype[t].size;
    return vp__shape_count(s->ndim, s->dims, size) * size;
}

vp_expr vp__empty(const char *where, vp_dtype dtype, vp_shape_t shape) {
    VP__CALL;
    vp__net_init();
    vp__error *error = check("empty", dtype, &shape, where);
    if (error) return vp__give_error(error, where);
    vp__admit(bytes_of(dtype, &shape));
    return give_storage(vp__storage_new(bytes_of(dtype, &shape)), dtype, &shape, where);
}

vp_expr vp__from(const char *where, vp_dtype dtype, vp_shape_t shape,
                 const void *memory) {
    VP__CALL;
    vp__net_init();
    vp__error *error = check("from", dtype, &shape, where);
    int64_t bytes = error ? 0 : bytes_of(dtype, &shape);
    if (!error && !memory && bytes)
        error = vp__error_new(VP_ERR_VALUE, where, "from: the memory is NULL");
    if (error) return vp__give_error(error, where);
    vp__admit(bytes);
    vp__storage *s = vp__storage_new(bytes);
    if (s && vp__storage_allocate(s) && bytes)
        memcpy(atomic_load_explicit(&s->host, memory_order_relaxed), memory,
               (size_t)bytes);
    return give_storage(s, dtype, &shape, where);
}

vp_array vp__borrow(const char *where, vp_dtype dtype, vp_shape_t shape,
                    const int64_t *strides, void *memory, vp_access access,
                    void (*release)(void *, void *), void *context) {
    VP__CALL;
    vp__net_init();
    vp__value v;
    memset(&v, 0, offsetof(vp__value, dims));
    v.error = check("borrow", dtype, &shape, where);
    if (!v.error && !memory && bytes_of(dtype, &shape))
        v.error = vp__error_new(VP_ERR_VALUE, where, "borrow: the memory is NULL");
    if (!v.error && access != VP_READ_ONLY && access != VP_WRITABLE)
        v.error = vp__error_new(
            VP_ERR_VALUE, where,
            "borrow: the access is VP_READ_ONLY or VP_WRITABLE, not %d", (int)access);
    if (v.error) return vp__name_new(&v);
    int64_t own[VP__MAXDIM];
    int size = vp__dtype[dtype].size;
    vp__layout_compact(shape.ndim, shape.dims, size, shape.column_major, own);
    if (!strides) strides = own;
    int64_t reach = 0;
    for (int i = 0; i < shape.ndim && !v.error; i++) {
        int64_t extent;
        if (shape.dims[i] < 2) continue;
        if (strides[i] == INT64_MIN ||
            __builtin_mul_overflow(shape.dims[i],
                                   strides[i] < 0 ? -strides[i] : strides[i], &extent) ||
            __builtin_add_overflow(reach, extent, &reach) || reach > INT64_MAX / 2)
            v.error = vp__error_new(VP_ERR_SHAPE, where,
                                    "borrow: stride %lld of axis %d leads out of memory",
                                    (long long)strides[i], i);
    }
    if (v.error) return vp__name_new(&v);
    /* The storage begins at the lowest address the strides reach. */
    vp__region r = vp__region_of(0, shape.ndim, shape.dims, strides, size);
    v.storage = vp__storage_borrow((char *)memory + r.lo, r.hi - r.lo,
                                   access == VP_READ_ONLY, memory, context);
    if (!v.storage) {
        v.error = vp__error_new(VP_ERR_MEMORY, where, "out of memory for an array");
    } else {
        v.dtype = dtype;
        v.ndim = shape.ndim;
        v.offset = -r.lo;
        memcpy(v.dims, shape.dims, (size_t)v.ndim * sizeof(int64_t));
        memcpy(v.strides, strides, (size_t)v.ndim * sizeof(int64_t));
    }
    vp_array a = vp__name_new(&v);
    /* Only now: without memory for a name, the user's memory was never ours. */
    vp__name *n = vp__name_lock(a);
    if (n && n->buffer) n->buffer->storage->release = release;
    if (n) vp__name_unlock(n);
    return a;
}

/* --- progressions: their numbers are C numbers --- */

static bool is_integer(vp_operand x) { return x.kind != VP__IN_FLOAT; }

static vp__wide integer_of(vp_operand x) {
    return x.kind == VP__IN_UINT ? (vp__wide)x.bits : (vp__wide)(int64_t)x.bits;
}

static double real_of(vp_operand x) {
    if (is_integer(x)) return (double)integer_of(x);
    double value;
    memcpy(&value, &x.bits, sizeof value);
    return value;
}

static bool is_whole(double x) { return x == floor(x) && fabs(x) < 9e15; }

static bool holds_integers(vp_dtype t) {
    return vp__dtype[t].cls == VP__CLASS_S || vp__dtype[t].cls == VP__CLASS_U;
}

/* start, start + step, …: in integers where these, or integers alone, say it exactly. */
static vp__generate_params progression(vp_dtype t, vp_operand start, vp_operand step) {
    const double first = real_of(start), by = real_of(step);
    vp__generate_params p = {.start = first, .step = by};
    if (is_integer(start) && is_integer(step) && holds_integers(t)) {
        p.in_integers = true;
        p.istart = (int64_t)start.bits; /* of uint64, what it is modulo 2^64 */
        p.istep = (int64_t)step.bits;
    } else if (is_whole(first) && is_whole(by)) {
        p.in_integers = true;
        p.istart = (int64_t)first;
        p.istep = (int64_t)by;
    }
    return p;
}

/* How many numbers a progression has before stop; -1 for too many. */
static int64_t count_before(vp_operand start, vp_operand stop, vp_operand step) {
    if (is_integer(start) && is_integer(stop) && is_integer(step)) {
        const vp__wide by = integer_of(step), up = by > 0 ? by - 1 : by + 1;
        const vp__wide n = (integer_of(stop) - integer_of(start) + up) / by;
        return n > INT64_MAX ? -1 : n > 0 ? (int64_t)n : 0;
    }
    const double n = ceil((real_of(stop) - real_of(start)) / real_of(step));
    return n > 4e18 ? -1 : n > 0 ? (int64_t)n : 0;
}

/* As NumPy's arange: integers that int64 holds are that, all else is float64. */
static vp_dtype type_of_numbers(int n, const vp_operand *x) {
    for (int i = 0; i < n; i++)
        if (!is_integer(x[i]) || integer_of(x[i]) > INT64_MAX) return VP_F64;
    return VP_I64;
}

static const char *number_text(char *text, size_t size, vp__wide x) {
    const vp__wide distance = x < 0 ? -x : x;
    if (distance > UINT64_MAX)
        snprintf(text, size, "%.17g", (double)x);
    else
        snprintf(text, size, "%s%" PRIu64, x < 0 ? "-" : "", (uint64_t)distance);
    return text;
}

/* A progression that does not fit its type of integers from the beginning; from the third
 * number on it wraps around, as NumPy's. */
static vp__error *check_range(vp_dtype t, int64_t count, vp_operand start,
                              vp_operand step, const char *where) {
    if (!holds_integers(t)) return NULL;
    const bool exact = is_integer(start) && is_integer(step);
    for (int i = 0; i < 2 && i < count; i++) {
        const vp__wide x = exact ? integer_of(start) + i * integer_of(step)
                                 : vp__wide_of(real_of(start) + i * real_of(step));
        if (vp__dtype_has_integer(t, x)) continue;
        char text[40];
        return vp__error_new(VP_ERR_VALUE, where, "arange: the number %s does not fit %s",
                             number_text(text, sizeof text, x), vp__dtype[t].name);
    }
    return NULL;
}

vp_expr vp__arange(const char *where, vp_dtype dtype, vp_operand start, vp_operand stop,
                   vp_operand step) {
    VP__CALL;
    vp__net_init();
    vp_shape_t s = {.ndim = 1};
    vp__error *error = NULL;
    if (real_of(step) == 0 || isnan(real_of(start)) || isnan(real_of(stop)) ||
        isnan(real_of(step)))
        error = vp__error_new(VP_ERR_VALUE, where,
                              "arange: the step is 0, or an argument is NaN");
    else if ((s.dims[0] = count_before(start, stop, step)) < 0)
        error =
            vp__error_new(VP_ERR_SHAPE, where, "arange: the result would be too large");
    if (dtype == VP_AUTO) dtype = type_of_numbers(3, (vp_operand[]){start, stop, step});
    if (!error) error = check("arange", dtype, &s, where);
    if (!error) error = check_range(dtype, s.dims[0], start, step, where);
    if (error) return vp__give_error(error, where);
    const vp__generate_params p = progression(dtype, start, step);
    return generate(&p, dtype, &s, "arange", where);
}

vp_expr vp__linspace(const char *where, vp_dtype dtype, double start, double stop,
                     int64_t count) {
    VP__CALL;
    vp__net_init();
    vp_shape_t s = vp_shape_of(1, &count, false);
    if (dtype == VP_AUTO) dtype = VP_F64;
    vp__error *error = check("linspace", dtype, &s, where);
    if (error) return vp__give_error(error, where);
    const vp__generate_params p = {
        .start = start,
        .step = count > 1 ? (stop - start) / (double)(count - 1) : 0,
        .ends = count > 1,
        .floors = holds_integers(dtype),
        .stop = stop};
    return generate(&p, dtype, &s, "linspace", where);
}

vp_expr vp__eye(const char *where, vp_dtype dtype, int64_t rows, int64_t columns,
                int64_t k) {
    VP__CALL;
    vp__net_init();
    int64_t dims[2] = {rows, columns};
    vp_shape_t s = vp_shape_of(2, dims, false);
    vp__error *error = check("eye", dtype, &s, where);
    if (error) return vp__give_error(error, where);
    const vp__generate_params p = {.eye = true, .diagonal = k};
    return generate(&p, dtype, &s, "eye", where);
}

vp_expr vp__counter(const char *where, vp_dtype dtype, vp_shape_t shape, vp_operand start,
                    vp_operand step) {
    VP__CALL;
    vp__net_init();
    vp__error *error = check("counter", dtype, &shape, where);
    if (error) return vp__give_error(error, where);
    const vp__generate_params p = progression(dtype, start, step);
    return generate(&p, dtype, &shape, "counter", where);
}
