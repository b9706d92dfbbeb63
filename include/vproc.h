/* SPDX-License-Identifier: Apache-2.0
 *
 * vproc: a virtual processor for array programs.
 *
 * Issue array instructions one after another, as if a plain sequential machine ran them.
 * vproc runs them on every core, asynchronously; the program can never tell, except by the
 * clock. This header is the whole interface.
 *
 *     #include <vproc.h>
 *
 *     vp_scope s = vp_begin();
 *     vp_array a = vp_let(vp_linspace(VP_F64, 0, 1, 1000));
 *     vp_array b = vp_let(vp_mul(vp_sin(a), 2.0));
 *     double total;
 *     if (vp_item(vp_sum(b), &total) != VP_OK) puts(vp_message());
 *     vp_end(s);
 *
 * Two kinds of values. A vp_array is a name: use it as often as you like. A vp_expr is the
 * result of an instruction, used once: as an operand, or to give it a name with vp_let.
 * Wherever an operand is expected, an array, an expression or a C number may stand. A C
 * number takes the type of what it meets (NumPy's NEP 50).
 *
 * Instructions never fail visibly: a mistake gives a poisoned result, everything computed
 * from it is poisoned too, and whoever observes it (vp_read, vp_item, vp_wait, …) gets a
 * status; vp_message() then says which instruction at which line of yours caused it.
 *
 * Any thread may issue instructions. Each thread's stream is sequential; expressions belong
 * to the thread that made them, arrays to everyone.
 *
 * Environment: VP_THREADS, VP_SYNC=1 (one instruction at a time, on the caller),
 * VP_INLINE=0, VP_MEMORY (bytes in flight), VP_TRACE=file.json, VP_ISA, VP_JIT=off, VP_CACHE
 * and others. See README.md.
 */
#ifndef VPROC_H
#define VPROC_H

/* Parts of this file are generated, and clang-format 14 tears _Generic apart. */
/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
#include <complex>
#include <type_traits>
#endif

#if defined(__GNUC__)
#define VP_API __attribute__((visibility("default")))
#else
#define VP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Types ----------------------------------------------------------------------------- */

/* Element types. */
typedef enum {
    VP_BOOL,
    VP_I8,
    VP_I16,
    VP_I32,
    VP_I64,
    VP_U8,
    VP_U16,
    VP_U32,
    VP_U64,
    VP_F32,
    VP_F64,
    VP_C64,
    VP_C128,
    VP_AUTO = 255 /* let the operation choose, as NumPy would */
} vp_dtype;

/* What observers return. */
typedef enum {
    VP_OK = 0,
    VP_ERR_TYPE,   /* these element types do not go together */
    VP_ERR_SHAPE,  /* these shapes do not go together */
    VP_ERR_INDEX,  /* an index or axis out of bounds */
    VP_ERR_VALUE,  /* an argument no operation takes */
    VP_ERR_HANDLE, /* a dropped, foreign or used-up array or expression */
    VP_ERR_MEMORY, /* out of memory, after everything else was tried */
    VP_ERR_DEVICE  /* a device failed */
} vp_status;

/* A name for an array. Copying the struct copies the name, not the array. */
typedef struct {
    uint32_t slot, generation;
} vp_array;

/* The result of an instruction; used once, by the thread that issued it. */
typedef struct {
    uint32_t slot, generation;
} vp_expr;

enum { VP_MAXDIM = 32 };

/* A shape; with column_major, the storage order of what is created with it. */
typedef struct {
    int32_t ndim;
    bool column_major;
    int64_t dims[VP_MAXDIM];
} vp_shape_t;

/* Axes of an operation; negative ones count from the end. */
typedef struct {
    int32_t count; /* -1: every axis */
    int32_t axis[VP_MAXDIM];
} vp_axes_t;

/* An operand: what vp_add and the others really take. Made from arrays, expressions and C
 * numbers by the macros below; there is no need to write one. */
typedef enum {
    VP__IN_ARRAY,
    VP__IN_EXPR,
    VP__IN_BOOL,
    VP__IN_INT,
    VP__IN_UINT,
    VP__IN_FLOAT
} vp__in_kind;
/* Two words, which calls pass in registers; so a complex number is an expression. */
typedef struct {
    uint64_t kind; /* vp__in_kind */
    uint64_t bits; /* of a handle or a number */
} vp_operand;

/* One item of a selection: see vp_get. */
typedef enum {
    VP__SEL_INDEX,
    VP__SEL_RANGE,
    VP__SEL_ALL,
    VP__SEL_NEWAXIS,
    VP__SEL_ELLIPSIS,
    VP__SEL_ARRAY
} vp__sel_kind;
typedef struct {
    vp__sel_kind kind;
    bool has_start, has_stop, is_expr;
    int64_t start, stop, step; /* for VP__SEL_ARRAY, start is the handle of the index array or
                                  mask: an expression's where is_expr */
} vp_sel;

/* --- Operands and places ----------------------------------------------------------------- */

#define VP__STRING2(x) #x
#define VP__STRING(x) VP__STRING2(x)
/* The user's line, carried by every instruction so that errors can name it. */
#define VP_HERE __FILE__ ":" VP__STRING(__LINE__)

static inline uint64_t vp__handle_bits(uint32_t slot, uint32_t generation) {
    return slot | (uint64_t)generation << 32;
}
static inline vp_operand vp__in_bits(vp__in_kind kind, uint64_t bits) {
    vp_operand o;
    o.kind = (uint64_t)kind;
    o.bits = bits;
    return o;
}
static inline vp_operand vp__in_array(vp_array x) {
    return vp__in_bits(VP__IN_ARRAY, vp__handle_bits(x.slot, x.generation));
}
static inline vp_operand vp__in_expr(vp_expr x) {
    return vp__in_bits(VP__IN_EXPR, vp__handle_bits(x.slot, x.generation));
}
static inline vp_operand vp__in_operand(vp_operand x) { return x; }
static inline vp_operand vp__in_bool(bool x) { return vp__in_bits(VP__IN_BOOL, x); }
static inline vp_operand vp__in_int(int64_t x) {
    return vp__in_bits(VP__IN_INT, (uint64_t)x);
}
static inline vp_operand vp__in_uint(uint64_t x) { return vp__in_bits(VP__IN_UINT, x); }
static inline vp_operand vp__in_float(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return vp__in_bits(VP__IN_FLOAT, bits);
}
VP_API vp_expr vp__complex(double real, double imag);

static inline vp_sel vp__sel_plain(vp__sel_kind kind) {
    vp_sel s;
    s.kind = kind;
    s.has_start = s.has_stop = s.is_expr = false;
    s.start = s.stop = 0;
    s.step = 1;
    return s;
}
static inline vp_sel vp__sel_index(int64_t i) {
    vp_sel s = vp__sel_plain(VP__SEL_INDEX);
    s.start = i;
    return s;
}
static inline vp_sel vp__sel_sel(vp_sel s) { return s; }
static inline vp_sel vp__sel_array(vp_array a) {
    vp_sel s = vp__sel_plain(VP__SEL_ARRAY);
    s.start = (int64_t)vp__handle_bits(a.slot, a.generation);
    return s;
}
static inline vp_sel vp__sel_expr(vp_expr e) {
    vp_sel s = vp__sel_plain(VP__SEL_ARRAY);
    s.is_expr = true;
    s.start = (int64_t)vp__handle_bits(e.slot, e.generation);
    return s;
}
static inline vp_axes_t vp__axes_one(int32_t axis) {
    vp_axes_t a;
    a.count = 1;
    a.axis[0] = axis;
    return a;
}
static inline vp_axes_t vp__axes_axes(vp_axes_t a) { return a; }
static inline vp_axes_t vp__axes_every(void) {
    vp_axes_t a;
    a.count = -1;
    return a;
}

#ifdef __cplusplus
} /* extern "C" */
template <typename T> static inline vp_operand vp__in_cpp(T x, std::true_type) {
    return std::is_signed<T>::value ? vp__in_int((int64_t)x) : vp__in_uint((uint64_t)x);
}
static inline vp_operand vp__in(vp_array x) { return vp__in_array(x); }
static inline vp_operand vp__in(vp_expr x) { return vp__in_expr(x); }
static inline vp_operand vp__in(vp_operand x) { return x; }
static inline vp_operand vp__in(bool x) { return vp__in_bool(x); }
static inline vp_operand vp__in(float x) { return vp__in_float(x); }
static inline vp_operand vp__in(double x) { return vp__in_float(x); }
static inline vp_operand vp__in(long double x) { return vp__in_float((double)x); }
static inline vp_operand vp__in(std::complex<double> x) {
    return vp__in_expr(vp__complex(x.real(), x.imag()));
}
static inline vp_operand vp__in(std::complex<float> x) {
    return vp__in(std::complex<double>(x));
}
template <typename T> static inline vp_operand vp__in(T x) {
    return vp__in_cpp(x, std::is_integral<T>());
}
template <typename T> static inline vp_operand vp__number(T x) {
    static_assert(std::is_arithmetic<T>::value, "a number is wanted here");
    return vp__in(x);
}
static inline vp_sel vp__sel(vp_sel s) { return s; }
static inline vp_sel vp__sel(vp_array a) { return vp__sel_array(a); }
static inline vp_sel vp__sel(vp_expr e) { return vp__sel_expr(e); }
template <typename T> static inline vp_sel vp__sel(T i) {
    static_assert(!std::is_floating_point<T>::value, "an index must be an integer");
    return vp__sel_index((int64_t)i);
}
static inline vp_axes_t vp__axes(vp_axes_t a) { return a; }
template <typename T> static inline vp_axes_t vp__axes(T a) {
    static_assert(!std::is_floating_point<T>::value, "an axis must be an integer");
    return vp__axes_one((int32_t)a);
}
#define VP__IN(x) vp__in(x)
#define VP__NUMBER(x) vp__number(x)
#define VP__SEL(x) vp__sel(x)
#define VP__AXES(x) vp__axes(x)
template <typename T, int count> struct vp__list_of {
    T item[count];
    template <typename... A> vp__list_of(A... a) : item{a...} {}
};
#define VP__LIST(type, ...) vp__list_of<type, VP__COUNT(__VA_ARGS__)>(__VA_ARGS__).item
template <typename T> static inline const T *vp__address(const T &x) { return &x; }
#define VP__ADDRESS(type, x) vp__address<type>(x)
extern "C" {
#else
static inline vp_operand vp__in_complex(double _Complex x) {
    union {
        double _Complex z;
        double f[2];
    } parts = {x};
    return vp__in_expr(vp__complex(parts.f[0], parts.f[1]));
}
/* What a fraction is given to where an integer is wanted: it takes none, so that the compiler
 * stops there and says the name. */
typedef struct {
    int unused;
} vp__no_fraction;
static inline vp_sel vp__an_index_must_be_an_integer(vp__no_fraction x) {
    return vp__sel_index(x.unused);
}
static inline vp_axes_t vp__an_axis_must_be_an_integer(vp__no_fraction x) {
    return vp__axes_one(x.unused);
}
#define VP__IN(x)                                                                             \
    _Generic((x), vp_array: vp__in_array, vp_expr: vp__in_expr, vp_operand: vp__in_operand,   \
        bool: vp__in_bool, VP__IF_FRACTION(vp__in_float), VP__IF_UNSIGNED(vp__in_uint),       \
        VP__IF_COMPLEX(vp__in_complex), default: vp__in_int)(x)
#define VP__NUMBER(x)                                                                         \
    _Generic((x), VP__IF_FRACTION(vp__in_float), VP__IF_UNSIGNED(vp__in_uint),                \
        default: vp__in_int)(x)
#define VP__SEL(x)                                                                            \
    _Generic((x), vp_sel: vp__sel_sel, vp_array: vp__sel_array, vp_expr: vp__sel_expr,        \
        VP__IF_FRACTION(vp__an_index_must_be_an_integer),                                     \
        VP__IF_COMPLEX(vp__an_index_must_be_an_integer), default: vp__sel_index)(x)
#define VP__AXES(x)                                                                           \
    _Generic((x), vp_axes_t: vp__axes_axes, VP__IF_FRACTION(vp__an_axis_must_be_an_integer),  \
        VP__IF_COMPLEX(vp__an_axis_must_be_an_integer), default: vp__axes_one)(x)
#define VP__IF_UNSIGNED(f)                                                                    \
    unsigned char: f, unsigned short: f, unsigned: f, unsigned long: f, unsigned long long: f
#define VP__IF_FRACTION(f) float: f, double: f, long double: f
#define VP__IF_COMPLEX(f) float _Complex: f, double _Complex: f, long double _Complex: f
#define VP__LIST(type, ...) ((const type[]){__VA_ARGS__})
#define VP__ADDRESS(type, x) ((const type[1]){x})
#endif

/* Counting and mapping macro arguments, up to 16. */
#define VP__COUNT(...)                                                                        \
    VP__COUNT2(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define VP__COUNT2(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define VP__JOIN2(a, b) a##b
#define VP__JOIN(a, b) VP__JOIN2(a, b)
#define VP__MAP(f, ...) VP__JOIN(VP__MAP, VP__COUNT(__VA_ARGS__))(f, __VA_ARGS__)
#define VP__MAP1(f, a) f(a)
#define VP__MAP2(f, a, ...) f(a), VP__MAP1(f, __VA_ARGS__)
#define VP__MAP3(f, a, ...) f(a), VP__MAP2(f, __VA_ARGS__)
#define VP__MAP4(f, a, ...) f(a), VP__MAP3(f, __VA_ARGS__)
#define VP__MAP5(f, a, ...) f(a), VP__MAP4(f, __VA_ARGS__)
#define VP__MAP6(f, a, ...) f(a), VP__MAP5(f, __VA_ARGS__)
#define VP__MAP7(f, a, ...) f(a), VP__MAP6(f, __VA_ARGS__)
#define VP__MAP8(f, a, ...) f(a), VP__MAP7(f, __VA_ARGS__)
#define VP__MAP9(f, a, ...) f(a), VP__MAP8(f, __VA_ARGS__)
#define VP__MAP10(f, a, ...) f(a), VP__MAP9(f, __VA_ARGS__)
#define VP__MAP11(f, a, ...) f(a), VP__MAP10(f, __VA_ARGS__)
#define VP__MAP12(f, a, ...) f(a), VP__MAP11(f, __VA_ARGS__)
#define VP__MAP13(f, a, ...) f(a), VP__MAP12(f, __VA_ARGS__)
#define VP__MAP14(f, a, ...) f(a), VP__MAP13(f, __VA_ARGS__)
#define VP__MAP15(f, a, ...) f(a), VP__MAP14(f, __VA_ARGS__)
#define VP__MAP16(f, a, ...) f(a), VP__MAP15(f, __VA_ARGS__)
#define VP__INT64(x) ((int64_t)(x))

/* --- Shapes, axes, selections ------------------------------------------------------------ */

/* vp_shape(3, 4): a shape, row-major. vp_fshape(3, 4): the same, column-major (first index
 * fastest). vp_scalar_shape(): no axes. */
VP_API vp_shape_t vp_shape_of(int ndim, const int64_t *dims, bool column_major);
#define vp_shape(...)                                                                         \
    vp_shape_of(VP__COUNT(__VA_ARGS__), VP__LIST(int64_t, VP__MAP(VP__INT64, __VA_ARGS__)),   \
                false)
#define vp_fshape(...)                                                                        \
    vp_shape_of(VP__COUNT(__VA_ARGS__), VP__LIST(int64_t, VP__MAP(VP__INT64, __VA_ARGS__)),   \
                true)
#define vp_scalar_shape() vp_shape_of(0, (const int64_t *)0, false)

/* vp_axes(0, 2): several axes. VP_EVERY: all of them. */
VP_API vp_axes_t vp_axes_of(int count, const int64_t *axes);
#define vp_axes(...)                                                                          \
    vp_axes_of(VP__COUNT(__VA_ARGS__), VP__LIST(int64_t, VP__MAP(VP__INT64, __VA_ARGS__)))
#define VP_EVERY vp__axes_every()

/* Items of a selection, beside plain integers (negative ones count from the end), integer
 * arrays and boolean masks: */
#define VP_ALL vp__sel_plain(VP__SEL_ALL)           /* the whole axis */
#define VP_NEWAXIS vp__sel_plain(VP__SEL_NEWAXIS)   /* a new axis of length 1 */
#define VP_ELLIPSIS vp__sel_plain(VP__SEL_ELLIPSIS) /* as many whole axes as fit */
/* start ≤ i < stop, clipped to the axis as in Python; negative values count from the end. */
static inline vp_sel vp_range(int64_t start, int64_t stop) {
    vp_sel s = vp__sel_plain(VP__SEL_RANGE);
    s.has_start = s.has_stop = true;
    s.start = start;
    s.stop = stop;
    return s;
}
/* The same with a step, which may be negative. */
static inline vp_sel vp_range_step(int64_t start, int64_t stop, int64_t step) {
    vp_sel s = vp_range(start, stop);
    s.step = step;
    return s;
}
/* From start to the end; from the beginning to stop; every step-th (negative: reversed). */
static inline vp_sel vp_from_index(int64_t start) {
    vp_sel s = vp_range(start, 0);
    s.has_stop = false;
    return s;
}
static inline vp_sel vp_until(int64_t stop) {
    vp_sel s = vp_range(0, stop);
    s.has_start = false;
    return s;
}
static inline vp_sel vp_every(int64_t step) {
    vp_sel s = vp_range_step(0, 0, step);
    s.has_start = s.has_stop = false;
    return s;
}

/* A whole selection: vp_at(VP_ALL, 3), up to 16 items (vp_index_of: 65). It refers to them and
 * must not outlive them: those of vp_at last to the end of the innermost block it is written in
 * (a lone statement after `if` or `for` is one), in C++ of the statement. So write it where it is
 * used, and neither return nor keep it. */
typedef struct {
    int64_t count;
    const vp_sel *item;
} vp_index;
/* The same of items in memory of yours, which must outlive it. */
static inline vp_index vp_index_of(int count, const vp_sel *items) {
    vp_index index;
    index.count = items ? count : -1;
    index.item = items;
    return index;
}
#define vp_at(...)                                                                            \
    vp_index_of(VP__COUNT(__VA_ARGS__), VP__LIST(vp_sel, VP__MAP(VP__SEL, __VA_ARGS__)))

/* --- Names and scopes -------------------------------------------------------------------- */

/* A scope: what is named in it, and expressions left over, are freed at its end. Scopes of
 * one thread nest, up to 255. Nothing waits: what is still being computed goes on. A thread
 * has room for 2^20 open expressions, counting those they are made of; all threads together
 * have 2^22 names. */
typedef struct {
    uint32_t depth, generation;
} vp_scope;
#define vp_begin() vp__begin(VP_HERE)
VP_API vp_scope vp__begin(const char *where);
#define vp_end(...) vp__end(VP_HERE, __VA_ARGS__) /* one argument, commas and all */
VP_API void vp__end(const char *where, vp_scope scope);
/* Moves a name to the enclosing scope, for results. Returns it. */
#define vp_keep(...) vp__keep(VP_HERE, __VA_ARGS__)
VP_API vp_array vp__keep(const char *where, vp_array a);

/* Names a value: vp_array b = vp_let(vp_sin(a)). Naming an array makes a lazy copy. */
#define vp_let(x) vp__let(VP_HERE, VP__IN(x))
VP_API vp_array vp__let(const char *where, vp_operand x);

/* Rebinds a name to another value, whatever its type and shape; views of the old one keep
 * the old one. */
#define vp_set(a, x) vp__set(VP_HERE, a, VP__IN(x))
VP_API void vp__set(const char *where, vp_array a, vp_operand x);

/* Names a view: it shares its elements with the array it was selected from, so writing one
 * shows in the other. x must be a plain selection of an array (vp_get without index arrays,
 * vp_transpose, vp_flip, vp_squeeze, vp_expand, vp_broadcast, or a vp_reshape that needs no
 * copy). */
#define vp_view(x) vp__view_of(VP_HERE, VP__IN(x))
VP_API vp_array vp__view_of(const char *where, vp_operand x);

/* Frees a name before its scope ends. */
#define vp_drop(a) vp__drop(VP_HERE, a)
VP_API void vp__drop(const char *where, vp_array a);

/* --- Making arrays ----------------------------------------------------------------------- */

/* Every element 0. */
#define vp_zeros(dtype, shape) vp__zeros(VP_HERE, dtype, shape)
VP_API vp_expr vp__zeros(const char *where, vp_dtype dtype, vp_shape_t shape);
/* Every element 1. */
#define vp_ones(dtype, shape) vp__ones(VP_HERE, dtype, shape)
VP_API vp_expr vp__ones(const char *where, vp_dtype dtype, vp_shape_t shape);
/* Every element the same number. */
#define vp_full(dtype, shape, value) vp__full(VP_HERE, dtype, shape, VP__IN(value))
VP_API vp_expr vp__full(const char *where, vp_dtype dtype, vp_shape_t shape, vp_operand value);
/* Elements of any value: for arrays that are written whole before they are read. */
#define vp_empty(dtype, shape) vp__empty(VP_HERE, dtype, shape)
VP_API vp_expr vp__empty(const char *where, vp_dtype dtype, vp_shape_t shape);
/* start, start + step, … below stop (above, for a negative step). Exact for integers as a type
 * of integers (which must hold the first two), else computed in float64; so is vp_counter. */
#define vp_arange(dtype, start, stop, step)                                                   \
    vp__arange(VP_HERE, dtype, VP__NUMBER(start), VP__NUMBER(stop), VP__NUMBER(step))
VP_API vp_expr vp__arange(const char *where, vp_dtype dtype, vp_operand start,
                          vp_operand stop, vp_operand step);
/* count numbers evenly spaced from start to stop, both included; rounded down for a type of
 * integers. */
#define vp_linspace(dtype, start, stop, count) vp__linspace(VP_HERE, dtype, start, stop, count)
VP_API vp_expr vp__linspace(const char *where, vp_dtype dtype, double start, double stop,
                            int64_t count);
/* Ones on the k-th diagonal of a rows × columns matrix. */
#define vp_eye(dtype, rows, columns, k) vp__eye(VP_HERE, dtype, rows, columns, k)
VP_API vp_expr vp__eye(const char *where, vp_dtype dtype, int64_t rows, int64_t columns,
                       int64_t k);
/* start, start + step, start + 2 step, … in the shape's storage order. */
#define vp_counter(dtype, shape, start, step)                                                 \
    vp__counter(VP_HERE, dtype, shape, VP__NUMBER(start), VP__NUMBER(step))
VP_API vp_expr vp__counter(const char *where, vp_dtype dtype, vp_shape_t shape,
                           vp_operand start, vp_operand step);
/* A copy of the user's memory, compact in the shape's storage order. */
#define vp_from(dtype, shape, memory) vp__from(VP_HERE, dtype, shape, memory)
VP_API vp_expr vp__from(const char *where, vp_dtype dtype, vp_shape_t shape,
                        const void *memory);
/* The user's memory itself, not copied. strides: bytes per axis, or NULL for compact. It must
 * stay valid until `release` is called with context and memory (release may be NULL if it
 * outlives all use), once: at the end of a call of the thread that was the last to use it, on one
 * of vproc's own threads, or in a vp_sync (with VP_THREADS=1 in any call); not any more when the
 * library ends, after the process's exit handlers. It may issue instructions and wait for them,
 * but must return without waiting for another release, and neither fork nor wait for a thread or
 * lock of a fork; its errors are its own. vp_sync waits for it. Writable memory is written in
 * place: stay off it until vp_sync.
 * If vp_borrow fails, the memory stays the caller's and release is not called; using the array
 * gives the error. */
typedef enum { VP_READ_ONLY, VP_WRITABLE } vp_access;
#define vp_borrow(dtype, shape, strides, memory, access, release, context)                    \
    vp__borrow(VP_HERE, dtype, shape, strides, memory, access, release, context)
VP_API vp_array vp__borrow(const char *where, vp_dtype dtype, vp_shape_t shape,
                           const int64_t *strides, void *memory, vp_access access,
                           void (*release)(void *context, void *memory), void *context);

/* --- Selecting and writing ---------------------------------------------------------------- */

/* vp_get(A, VP_ALL, 3): part of an array, by integers, ranges, whole axes, new axes, an
 * ellipsis, integer arrays and boolean masks, as NumPy's A[:, 3]. */
#define vp_get(x, ...) vp__get(VP_HERE, VP__IN(x), vp_at(__VA_ARGS__))
/* The same by a selection: vp_get_at(A, vp_at(VP_ALL, 3)). */
#define vp_get_at(x, index) vp__get(VP_HERE, VP__IN(x), index)
VP_API vp_expr vp__get(const char *where, vp_operand x, vp_index index);
/* vp_put(A, vp_at(VP_ALL, 3), x): writes part of an array; x is broadcast and converted. */
#define vp_put(a, index, x) vp__put_at(VP_HERE, a, index, VP__IN(x))
VP_API void vp__put_at(const char *where, vp_array a, vp_index index, vp_operand x);
/* In place: a = a + x and its like, into all of an array or, vp_iadd_at(A, vp_at(VP_ALL, 3), x),
 * into a part. The result keeps the array's type and shape: it is converted to a type of the same
 * kind or one further on in bool, unsigned, signed, floating point, complex, else refused, and so
 * is an x that does not broadcast to what is written. Where an index array names an element
 * twice, the last result counts. */
/* <generated by tools/generate_header.py from src/ops/ops.def: in place> */
/* a = vp_add(a, x); of a part: vp_put(a, index, vp_add(part, x)). */
#define vp_iadd(a, x) \
    vp__in_place(VP__ADD, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_iadd_at(a, index, x) \
    vp__in_place(VP__ADD, VP_HERE, a, index, VP__IN(x))
/* a = vp_subtract(a, x); of a part: vp_put(a, index, vp_subtract(part, x)). */
#define vp_isub(a, x) \
    vp__in_place(VP__SUBTRACT, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_isub_at(a, index, x) \
    vp__in_place(VP__SUBTRACT, VP_HERE, a, index, VP__IN(x))
/* a = vp_multiply(a, x); of a part: vp_put(a, index, vp_multiply(part, x)). */
#define vp_imul(a, x) \
    vp__in_place(VP__MULTIPLY, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_imul_at(a, index, x) \
    vp__in_place(VP__MULTIPLY, VP_HERE, a, index, VP__IN(x))
/* a = vp_divide(a, x); of a part: vp_put(a, index, vp_divide(part, x)). */
#define vp_idiv(a, x) \
    vp__in_place(VP__DIVIDE, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_idiv_at(a, index, x) \
    vp__in_place(VP__DIVIDE, VP_HERE, a, index, VP__IN(x))
/* a = vp_floor_divide(a, x); of a part: vp_put(a, index, vp_floor_divide(part, x)). */
#define vp_ifloor_divide(a, x) \
    vp__in_place(VP__FLOOR_DIVIDE, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ifloor_divide_at(a, index, x) \
    vp__in_place(VP__FLOOR_DIVIDE, VP_HERE, a, index, VP__IN(x))
/* a = vp_remainder(a, x); of a part: vp_put(a, index, vp_remainder(part, x)). */
#define vp_imod(a, x) \
    vp__in_place(VP__REMAINDER, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_imod_at(a, index, x) \
    vp__in_place(VP__REMAINDER, VP_HERE, a, index, VP__IN(x))
/* a = vp_power(a, x); of a part: vp_put(a, index, vp_power(part, x)). */
#define vp_ipow(a, x) \
    vp__in_place(VP__POWER, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ipow_at(a, index, x) \
    vp__in_place(VP__POWER, VP_HERE, a, index, VP__IN(x))
/* a = vp_bitwise_and(a, x); of a part: vp_put(a, index, vp_bitwise_and(part, x)). */
#define vp_ibitwise_and(a, x) \
    vp__in_place(VP__BITWISE_AND, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ibitwise_and_at(a, index, x) \
    vp__in_place(VP__BITWISE_AND, VP_HERE, a, index, VP__IN(x))
/* a = vp_bitwise_or(a, x); of a part: vp_put(a, index, vp_bitwise_or(part, x)). */
#define vp_ibitwise_or(a, x) \
    vp__in_place(VP__BITWISE_OR, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ibitwise_or_at(a, index, x) \
    vp__in_place(VP__BITWISE_OR, VP_HERE, a, index, VP__IN(x))
/* a = vp_bitwise_xor(a, x); of a part: vp_put(a, index, vp_bitwise_xor(part, x)). */
#define vp_ibitwise_xor(a, x) \
    vp__in_place(VP__BITWISE_XOR, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ibitwise_xor_at(a, index, x) \
    vp__in_place(VP__BITWISE_XOR, VP_HERE, a, index, VP__IN(x))
/* a = vp_left_shift(a, x); of a part: vp_put(a, index, vp_left_shift(part, x)). */
#define vp_ishl(a, x) \
    vp__in_place(VP__LEFT_SHIFT, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ishl_at(a, index, x) \
    vp__in_place(VP__LEFT_SHIFT, VP_HERE, a, index, VP__IN(x))
/* a = vp_right_shift(a, x); of a part: vp_put(a, index, vp_right_shift(part, x)). */
#define vp_ishr(a, x) \
    vp__in_place(VP__RIGHT_SHIFT, VP_HERE, a, vp_at(VP_ELLIPSIS), VP__IN(x))
#define vp_ishr_at(a, index, x) \
    vp__in_place(VP__RIGHT_SHIFT, VP_HERE, a, index, VP__IN(x))
/* </generated> */
VP_API void vp__in_place(int op, const char *where, vp_array a, vp_index index, vp_operand x);
/* The slices of x at these positions along an axis. */
#define vp_take(x, positions, axis) vp__take(VP_HERE, VP__IN(x), VP__IN(positions), axis)
VP_API vp_expr vp__take(const char *where, vp_operand x, vp_operand positions, int axis);
/* Positions of the nonzero elements, counted in row-major order. The size is known only
 * when the elements are. */
#define vp_find(x) vp__find(VP_HERE, VP__IN(x), true)
/* The same as a [count, ndim] array of indices. */
#define vp_nonzero(x) vp__find(VP_HERE, VP__IN(x), false)
VP_API vp_expr vp__find(const char *where, vp_operand x, bool flat);

/* --- Changing shape ------------------------------------------------------------------------ */

/* The same elements in row-major order under another shape; one dimension may be -1. */
#define vp_reshape(x, shape) vp__reshape(VP_HERE, VP__IN(x), shape)
VP_API vp_expr vp__reshape(const char *where, vp_operand x, vp_shape_t shape);
/* Axes reversed, or in the given order: vp_transpose(x), vp_permute(x, vp_axes(2, 0, 1)). */
#define vp_transpose(x) vp__permute(VP_HERE, VP__IN(x), VP_EVERY)
#define vp_permute(x, axes) vp__permute(VP_HERE, VP__IN(x), axes)
VP_API vp_expr vp__permute(const char *where, vp_operand x, vp_axes_t axes);
/* Repeated along new axes and those of length 1, as NumPy's broadcast_to. */
#define vp_broadcast(x, shape) vp__broadcast(VP_HERE, VP__IN(x), shape)
VP_API vp_expr vp__broadcast(const char *where, vp_operand x, vp_shape_t shape);
/* Without the axes given (or, with VP_EVERY, without all axes) of length 1. */
#define vp_squeeze(x, axes) vp__squeeze(VP_HERE, VP__IN(x), VP__AXES(axes))
VP_API vp_expr vp__squeeze(const char *where, vp_operand x, vp_axes_t axes);
/* With a new axis of length 1 at this position. */
#define vp_expand(x, axis) vp__expand(VP_HERE, VP__IN(x), axis)
VP_API vp_expr vp__expand(const char *where, vp_operand x, int axis);
/* Reversed along these axes. */
#define vp_flip(x, axes) vp__flip(VP_HERE, VP__IN(x), VP__AXES(axes))
VP_API vp_expr vp__flip(const char *where, vp_operand x, vp_axes_t axes);
/* Element i moved to i + shift along an axis, from its end back to its beginning, as NumPy's roll
 * with an axis; vp_roll(vp_roll(x, 1, 0), -2, 1) for several. Element-wise instructions read
 * what is rolled where it is, without a copy: vp_sub(vp_roll(u, -1, 0), vp_roll(u, 1, 0)) takes
 * hardly longer than slices do. Reductions and others copy it first. */
#define vp_roll(x, shift, axis) vp__roll(VP_HERE, VP__IN(x), shift, axis)
VP_API vp_expr vp__roll(const char *where, vp_operand x, int64_t shift, int axis);
/* Joined along an existing axis: vp_concatenate(0, a, b, c). Up to 16. */
#define vp_concatenate(axis, ...)                                                             \
    vp__concatenate(VP_HERE, axis, VP__COUNT(__VA_ARGS__),                                    \
                    VP__LIST(vp_operand, VP__MAP(VP__IN, __VA_ARGS__)), false)
/* Joined along a new axis. */
#define vp_stack(axis, ...)                                                                   \
    vp__concatenate(VP_HERE, axis, VP__COUNT(__VA_ARGS__),                                    \
                    VP__LIST(vp_operand, VP__MAP(VP__IN, __VA_ARGS__)), true)
VP_API vp_expr vp__concatenate(const char *where, int axis, int count, const vp_operand *xs,
                               bool stack);
/* The whole array repeated: vp_tile(x, vp_shape(2, 3)). */
#define vp_tile(x, counts) vp__tile(VP_HERE, VP__IN(x), counts)
VP_API vp_expr vp__tile(const char *where, vp_operand x, vp_shape_t counts);
/* Every element repeated `count` times along an axis. */
#define vp_repeat(x, count, axis) vp__repeat(VP_HERE, VP__IN(x), count, axis)
VP_API vp_expr vp__repeat(const char *where, vp_operand x, int64_t count, int axis);

/* --- Element-wise instructions ------------------------------------------------------------- */

VP_API vp_expr vp__op1(int op, const char *where, vp_operand a);
VP_API vp_expr vp__op2(int op, const char *where, vp_operand a, vp_operand b);
VP_API vp_expr vp__op3(int op, const char *where, vp_operand a, vp_operand b, vp_operand c);

/* The elements as another type, converted as NumPy's astype does. */
#define vp_cast(x, dtype) vp__cast(VP_HERE, VP__IN(x), dtype)
VP_API vp_expr vp__cast(const char *where, vp_operand x, vp_dtype dtype);

/* Operands broadcast together and take their common type, as in NumPy. Math functions (vp_sqrt,
 * vp_sin and others) of bool and 8-bit integers give float32, where NumPy gives float16. */
/* <generated by tools/generate_header.py from src/ops/ops.def> */
enum {
    VP__ADD = 0,
    VP__SUBTRACT = 1,
    VP__MULTIPLY = 2,
    VP__DIVIDE = 3,
    VP__FLOOR_DIVIDE = 4,
    VP__REMAINDER = 5,
    VP__POWER = 6,
    VP__NEGATIVE = 7,
    VP__POSITIVE = 8,
    VP__ABS = 9,
    VP__SIGN = 10,
    VP__SQUARE = 11,
    VP__RECIPROCAL = 12,
    VP__MINIMUM = 13,
    VP__MAXIMUM = 14,
    VP__CLIP = 15,
    VP__WHERE = 16,
    VP__EQUAL = 17,
    VP__NOT_EQUAL = 18,
    VP__LESS = 19,
    VP__LESS_EQUAL = 20,
    VP__GREATER = 21,
    VP__GREATER_EQUAL = 22,
    VP__LOGICAL_AND = 23,
    VP__LOGICAL_OR = 24,
    VP__LOGICAL_XOR = 25,
    VP__LOGICAL_NOT = 26,
    VP__BITWISE_AND = 27,
    VP__BITWISE_OR = 28,
    VP__BITWISE_XOR = 29,
    VP__BITWISE_NOT = 30,
    VP__LEFT_SHIFT = 31,
    VP__RIGHT_SHIFT = 32,
    VP__SQRT = 33,
    VP__CBRT = 34,
    VP__HYPOT = 35,
    VP__EXP = 36,
    VP__EXP2 = 37,
    VP__EXPM1 = 38,
    VP__LOG = 39,
    VP__LOG1P = 40,
    VP__LOG2 = 41,
    VP__LOG10 = 42,
    VP__SIN = 43,
    VP__COS = 44,
    VP__TAN = 45,
    VP__ARCSIN = 46,
    VP__ARCCOS = 47,
    VP__ARCTAN = 48,
    VP__ARCTAN2 = 49,
    VP__SINH = 50,
    VP__COSH = 51,
    VP__TANH = 52,
    VP__ARCSINH = 53,
    VP__ARCCOSH = 54,
    VP__ARCTANH = 55,
    VP__FLOOR = 56,
    VP__CEIL = 57,
    VP__TRUNC = 58,
    VP__ROUND = 59,
    VP__ISNAN = 60,
    VP__ISINF = 61,
    VP__ISFINITE = 62,
    VP__SIGNBIT = 63,
    VP__COPYSIGN = 64,
    VP__REAL = 65,
    VP__IMAG = 66,
    VP__CONJ = 67,
    VP__ANGLE = 68,
    VP__SUM = 69,
    VP__PROD = 70,
    VP__MIN = 71,
    VP__MAX = 72,
    VP__ANY = 73,
    VP__ALL = 74,
    VP__ARGMIN = 75,
    VP__ARGMAX = 76,
    VP__COUNT_NONZERO = 77,
};
/* Sum of two values; or of two truth values. */
#define vp_add(a, b) vp__op2(VP__ADD, VP_HERE, VP__IN(a), VP__IN(b))
/* Difference of two values. */
#define vp_subtract(a, b) vp__op2(VP__SUBTRACT, VP_HERE, VP__IN(a), VP__IN(b))
/* Product of two values; and of truth values. */
#define vp_multiply(a, b) vp__op2(VP__MULTIPLY, VP_HERE, VP__IN(a), VP__IN(b))
/* Quotient, in floating point. */
#define vp_divide(a, b) vp__op2(VP__DIVIDE, VP_HERE, VP__IN(a), VP__IN(b))
/* Largest whole number not above the quotient. */
#define vp_floor_divide(a, b) vp__op2(VP__FLOOR_DIVIDE, VP_HERE, VP__IN(a), VP__IN(b))
/* What floor_divide leaves; has the divisor's sign. */
#define vp_remainder(a, b) vp__op2(VP__REMAINDER, VP_HERE, VP__IN(a), VP__IN(b))
/* First to the second's power; integers to a negative one: 0 or ±1 (NumPy raises). */
#define vp_power(a, b) vp__op2(VP__POWER, VP_HERE, VP__IN(a), VP__IN(b))
/* The value with its sign changed. */
#define vp_negative(a) vp__op1(VP__NEGATIVE, VP_HERE, VP__IN(a))
/* The value itself. */
#define vp_positive(a) vp__op1(VP__POSITIVE, VP_HERE, VP__IN(a))
/* Magnitude. */
#define vp_abs(a) vp__op1(VP__ABS, VP_HERE, VP__IN(a))
/* -1, 0 or 1 by the value's sign; z/|z| if complex. */
#define vp_sign(a) vp__op1(VP__SIGN, VP_HERE, VP__IN(a))
/* The value times itself. */
#define vp_square(a) vp__op1(VP__SQUARE, VP_HERE, VP__IN(a))
/* One over the value. */
#define vp_reciprocal(a) vp__op1(VP__RECIPROCAL, VP_HERE, VP__IN(a))
/* Smaller of two values; NaN if either is. */
#define vp_minimum(a, b) vp__op2(VP__MINIMUM, VP_HERE, VP__IN(a), VP__IN(b))
/* Larger of two values; NaN if either is. */
#define vp_maximum(a, b) vp__op2(VP__MAXIMUM, VP_HERE, VP__IN(a), VP__IN(b))
/* The value held between two bounds. */
#define vp_clip(a, b, c) vp__op3(VP__CLIP, VP_HERE, VP__IN(a), VP__IN(b), VP__IN(c))
/* The second value where the first is true, else the third. */
#define vp_where(a, b, c) vp__op3(VP__WHERE, VP_HERE, VP__IN(a), VP__IN(b), VP__IN(c))
/* Whether two values are equal. */
#define vp_equal(a, b) vp__op2(VP__EQUAL, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether two values differ. */
#define vp_not_equal(a, b) vp__op2(VP__NOT_EQUAL, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether the first value is below the second. */
#define vp_less(a, b) vp__op2(VP__LESS, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether the first value is not above the second. */
#define vp_less_equal(a, b) vp__op2(VP__LESS_EQUAL, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether the first value is above the second. */
#define vp_greater(a, b) vp__op2(VP__GREATER, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether the first value is not below the second. */
#define vp_greater_equal(a, b) vp__op2(VP__GREATER_EQUAL, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether both values are nonzero. */
#define vp_logical_and(a, b) vp__op2(VP__LOGICAL_AND, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether either value is nonzero. */
#define vp_logical_or(a, b) vp__op2(VP__LOGICAL_OR, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether exactly one value is nonzero. */
#define vp_logical_xor(a, b) vp__op2(VP__LOGICAL_XOR, VP_HERE, VP__IN(a), VP__IN(b))
/* Whether the value is zero. */
#define vp_logical_not(a) vp__op1(VP__LOGICAL_NOT, VP_HERE, VP__IN(a))
/* Bits set in both values. */
#define vp_bitwise_and(a, b) vp__op2(VP__BITWISE_AND, VP_HERE, VP__IN(a), VP__IN(b))
/* Bits set in either value. */
#define vp_bitwise_or(a, b) vp__op2(VP__BITWISE_OR, VP_HERE, VP__IN(a), VP__IN(b))
/* Bits set in exactly one value. */
#define vp_bitwise_xor(a, b) vp__op2(VP__BITWISE_XOR, VP_HERE, VP__IN(a), VP__IN(b))
/* Every bit inverted. */
#define vp_bitwise_not(a) vp__op1(VP__BITWISE_NOT, VP_HERE, VP__IN(a))
/* Bits moved left by the second value. */
#define vp_left_shift(a, b) vp__op2(VP__LEFT_SHIFT, VP_HERE, VP__IN(a), VP__IN(b))
/* Bits moved right by the second value. */
#define vp_right_shift(a, b) vp__op2(VP__RIGHT_SHIFT, VP_HERE, VP__IN(a), VP__IN(b))
/* Square root. */
#define vp_sqrt(a) vp__op1(VP__SQRT, VP_HERE, VP__IN(a))
/* Cube root. */
#define vp_cbrt(a) vp__op1(VP__CBRT, VP_HERE, VP__IN(a))
/* Length of the hypotenuse. */
#define vp_hypot(a, b) vp__op2(VP__HYPOT, VP_HERE, VP__IN(a), VP__IN(b))
/* Exponential. */
#define vp_exp(a) vp__op1(VP__EXP, VP_HERE, VP__IN(a))
/* Two to the power of the value. */
#define vp_exp2(a) vp__op1(VP__EXP2, VP_HERE, VP__IN(a))
/* Exponential minus one, accurate near zero. */
#define vp_expm1(a) vp__op1(VP__EXPM1, VP_HERE, VP__IN(a))
/* Natural logarithm. */
#define vp_log(a) vp__op1(VP__LOG, VP_HERE, VP__IN(a))
/* Natural logarithm of one plus the value. */
#define vp_log1p(a) vp__op1(VP__LOG1P, VP_HERE, VP__IN(a))
/* Logarithm to base 2. */
#define vp_log2(a) vp__op1(VP__LOG2, VP_HERE, VP__IN(a))
/* Logarithm to base 10. */
#define vp_log10(a) vp__op1(VP__LOG10, VP_HERE, VP__IN(a))
/* Sine. */
#define vp_sin(a) vp__op1(VP__SIN, VP_HERE, VP__IN(a))
/* Cosine. */
#define vp_cos(a) vp__op1(VP__COS, VP_HERE, VP__IN(a))
/* Tangent. */
#define vp_tan(a) vp__op1(VP__TAN, VP_HERE, VP__IN(a))
/* Inverse sine. */
#define vp_arcsin(a) vp__op1(VP__ARCSIN, VP_HERE, VP__IN(a))
/* Inverse cosine. */
#define vp_arccos(a) vp__op1(VP__ARCCOS, VP_HERE, VP__IN(a))
/* Inverse tangent. */
#define vp_arctan(a) vp__op1(VP__ARCTAN, VP_HERE, VP__IN(a))
/* Angle of the point (second, first). */
#define vp_arctan2(a, b) vp__op2(VP__ARCTAN2, VP_HERE, VP__IN(a), VP__IN(b))
/* Hyperbolic sine. */
#define vp_sinh(a) vp__op1(VP__SINH, VP_HERE, VP__IN(a))
/* Hyperbolic cosine. */
#define vp_cosh(a) vp__op1(VP__COSH, VP_HERE, VP__IN(a))
/* Hyperbolic tangent. */
#define vp_tanh(a) vp__op1(VP__TANH, VP_HERE, VP__IN(a))
/* Inverse hyperbolic sine. */
#define vp_arcsinh(a) vp__op1(VP__ARCSINH, VP_HERE, VP__IN(a))
/* Inverse hyperbolic cosine. */
#define vp_arccosh(a) vp__op1(VP__ARCCOSH, VP_HERE, VP__IN(a))
/* Inverse hyperbolic tangent. */
#define vp_arctanh(a) vp__op1(VP__ARCTANH, VP_HERE, VP__IN(a))
/* Largest whole number not above the value. */
#define vp_floor(a) vp__op1(VP__FLOOR, VP_HERE, VP__IN(a))
/* Smallest whole number not below the value. */
#define vp_ceil(a) vp__op1(VP__CEIL, VP_HERE, VP__IN(a))
/* The value without its fraction. */
#define vp_trunc(a) vp__op1(VP__TRUNC, VP_HERE, VP__IN(a))
/* Nearest whole number, halves to the even one. */
#define vp_round(a) vp__op1(VP__ROUND, VP_HERE, VP__IN(a))
/* Whether the value is not a number. */
#define vp_isnan(a) vp__op1(VP__ISNAN, VP_HERE, VP__IN(a))
/* Whether the value is infinite. */
#define vp_isinf(a) vp__op1(VP__ISINF, VP_HERE, VP__IN(a))
/* Whether the value is neither infinite nor NaN. */
#define vp_isfinite(a) vp__op1(VP__ISFINITE, VP_HERE, VP__IN(a))
/* Whether the sign bit is set. */
#define vp_signbit(a) vp__op1(VP__SIGNBIT, VP_HERE, VP__IN(a))
/* The first value with the second one's sign. */
#define vp_copysign(a, b) vp__op2(VP__COPYSIGN, VP_HERE, VP__IN(a), VP__IN(b))
/* Real part. */
#define vp_real(a) vp__op1(VP__REAL, VP_HERE, VP__IN(a))
/* Imaginary part. */
#define vp_imag(a) vp__op1(VP__IMAG, VP_HERE, VP__IN(a))
/* Complex conjugate. */
#define vp_conj(a) vp__op1(VP__CONJ, VP_HERE, VP__IN(a))
/* Angle from the positive real axis, in radians. */
#define vp_angle(a) vp__op1(VP__ANGLE, VP_HERE, VP__IN(a))
/* </generated> */

/* Short names. */
#define vp_sub(a, b) vp_subtract(a, b)
#define vp_mul(a, b) vp_multiply(a, b)
#define vp_div(a, b) vp_divide(a, b)
#define vp_mod(a, b) vp_remainder(a, b)
#define vp_pow(a, b) vp_power(a, b)
#define vp_neg(a) vp_negative(a)
#define vp_eq(a, b) vp_equal(a, b)
#define vp_ne(a, b) vp_not_equal(a, b)
#define vp_lt(a, b) vp_less(a, b)
#define vp_le(a, b) vp_less_equal(a, b)
#define vp_gt(a, b) vp_greater(a, b)
#define vp_ge(a, b) vp_greater_equal(a, b)
#define vp_not(a) vp_logical_not(a)
#define vp_shl(a, b) vp_left_shift(a, b)
#define vp_shr(a, b) vp_right_shift(a, b)

/* --- Reductions ------------------------------------------------------------------------------ */

/* Over every axis: vp_sum(x). Over some: vp_sum(x, 0), vp_sum(x, vp_axes(0, 2)). With a
 * result type: vp_sum(x, 0, VP_U32). Keeping reduced axes with length 1:
 * vp_sum(x, VP_EVERY, VP_AUTO, VP_KEEPDIMS). All reductions take the same arguments. */
enum { VP_KEEPDIMS = 1 };
VP_API vp_expr vp__reduce(int op, const char *where, vp_operand x, const vp_axes_t *axes,
                          vp_dtype dtype, int keepdims); /* axes NULL: every axis */
#define VP__REDUCE(op, ...)                                                                   \
    VP__JOIN(VP__REDUCE, VP__COUNT(__VA_ARGS__))(op, VP_HERE, __VA_ARGS__)
#define VP__REDUCE1(op, here, x)                                                              \
    vp__reduce(op, here, VP__IN(x), (const vp_axes_t *)0, VP_AUTO, 0)
#define VP__REDUCE2(op, here, x, axes)                                                        \
    vp__reduce(op, here, VP__IN(x), VP__ADDRESS(vp_axes_t, VP__AXES(axes)), VP_AUTO, 0)
#define VP__REDUCE3(op, here, x, axes, dtype)                                                 \
    vp__reduce(op, here, VP__IN(x), VP__ADDRESS(vp_axes_t, VP__AXES(axes)), dtype, 0)
#define VP__REDUCE4(op, here, x, axes, dtype, keep)                                           \
    vp__reduce(op, here, VP__IN(x), VP__ADDRESS(vp_axes_t, VP__AXES(axes)), dtype, keep)

/* <generated by tools/generate_header.py from src/ops/ops.def: reductions> */
/* Sum of the elements. */
#define vp_sum(...) VP__REDUCE(VP__SUM, __VA_ARGS__)
/* Product of the elements. */
#define vp_prod(...) VP__REDUCE(VP__PROD, __VA_ARGS__)
/* Smallest element; NaN if there is one. */
#define vp_min(...) VP__REDUCE(VP__MIN, __VA_ARGS__)
/* Largest element; NaN if there is one. */
#define vp_max(...) VP__REDUCE(VP__MAX, __VA_ARGS__)
/* Whether some element is nonzero. */
#define vp_any(...) VP__REDUCE(VP__ANY, __VA_ARGS__)
/* Whether every element is nonzero. */
#define vp_all(...) VP__REDUCE(VP__ALL, __VA_ARGS__)
/* Position of the first smallest element. */
#define vp_argmin(...) VP__REDUCE(VP__ARGMIN, __VA_ARGS__)
/* Position of the first largest element. */
#define vp_argmax(...) VP__REDUCE(VP__ARGMAX, __VA_ARGS__)
/* How many elements are nonzero. */
#define vp_count_nonzero(...) VP__REDUCE(VP__COUNT_NONZERO, __VA_ARGS__)
/* </generated> */

/* Arithmetic mean; variance and standard deviation (divided by the number of elements). */
#define vp_mean(...) VP__REDUCE(VP__MEAN, __VA_ARGS__)
#define vp_var(...) VP__REDUCE(VP__VAR, __VA_ARGS__)
#define vp_std(...) VP__REDUCE(VP__STD, __VA_ARGS__)
/* The root of the sum of the squared magnitudes: of vectors along an axis, of matrices over two
 * (Frobenius). Squares are not scaled: they overflow, and vanish, where NumPy's do. The type is
 * that of the elements, float64 for integers, and VP_AUTO the only one to ask for. */
#define vp_norm(...) VP__REDUCE(VP__NORM, __VA_ARGS__)
enum { VP__MEAN = 1000, VP__VAR, VP__STD, VP__NORM };

/* --- Along an axis, and matrices --------------------------------------------------------------- */

VP_API vp_expr vp__along(const char *where, vp_operand x, int axis, int what);

VP_API vp_expr vp__fourier(int what, const char *where, vp_operand x, int axis,
                           const int64_t *length);
#define VP__FOURIER(what, ...)                                                                \
    VP__JOIN(VP__FOURIER, VP__COUNT(__VA_ARGS__))(what, VP_HERE, __VA_ARGS__)
#define VP__FOURIER2(what, here, x, axis)                                                     \
    vp__fourier(what, here, VP__IN(x), axis, (const int64_t *)0)
#define VP__FOURIER3(what, here, x, axis, n)                                                  \
    vp__fourier(what, here, VP__IN(x), axis, VP__LIST(int64_t, VP__INT64(n)))

/* Transforms are of an axis, vp_fft(x, axis), or of a length as well, vp_fft(x, axis, n): then
 * the axis is cut, or zeros follow it. Results are complex64 for float32 and complex64, else
 * complex128. Of real x, the second half of vp_fft mirrors the first: exactly its conjugate.
 * vp_irfft has a length of 2 (m - 1) for m numbers, unless one is given; it ignores the
 * imaginary part of the first number and, where the length is even, of the last. */
/* <generated by tools/generate_header.py from src/lib/lib.def> */
enum {
    VP__CUMSUM = 5,
    VP__CUMPROD = 6,
    VP__CUMMAX = 7,
    VP__CUMMIN = 8,
    VP__SORT = 9,
    VP__ARGSORT = 10,
    VP__FFT = 20,
    VP__IFFT = 21,
    VP__RFFT = 22,
    VP__IRFFT = 23,
};
/* Running sum along an axis. */
#define vp_cumsum(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__CUMSUM)
/* Running product along an axis. */
#define vp_cumprod(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__CUMPROD)
/* Running maximum along an axis; NaN from the first one on. */
#define vp_cummax(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__CUMMAX)
/* Running minimum along an axis; NaN from the first one on. */
#define vp_cummin(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__CUMMIN)
/* Sorted along an axis, NaNs last. */
#define vp_sort(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__SORT)
/* The positions that sort along an axis; equal elements keep their order. */
#define vp_argsort(x, axis) vp__along(VP_HERE, VP__IN(x), axis, VP__ARGSORT)
/* Discrete Fourier transform along an axis. */
#define vp_fft(...) VP__FOURIER(VP__FFT, __VA_ARGS__)
/* The inverse of fft, which divides by the length. */
#define vp_ifft(...) VP__FOURIER(VP__IFFT, __VA_ARGS__)
/* The first n / 2 + 1 numbers of the transform of real elements. */
#define vp_rfft(...) VP__FOURIER(VP__RFFT, __VA_ARGS__)
/* The real elements that have these n / 2 + 1 numbers. */
#define vp_irfft(...) VP__FOURIER(VP__IRFFT, __VA_ARGS__)
/* </generated> */

/* Matrix product over the last two axes, others broadcast; vectors as NumPy's matmul. */
#define vp_matmul(a, b) vp__matmul(VP_HERE, VP__IN(a), VP__IN(b))
VP_API vp_expr vp__matmul(const char *where, vp_operand a, vp_operand b);

/* As NumPy's dot: of two vectors the sum of their products, of matrices the matrix product, and
 * else the sums over the last axis of a and the last but one of b, for all others of both. */
#define vp_dot(a, b) vp__dot(VP_HERE, VP__IN(a), VP__IN(b), false)
/* The sums over the last axes of both, for all others of both. */
#define vp_inner(a, b) vp__dot(VP_HERE, VP__IN(a), VP__IN(b), true)
VP_API vp_expr vp__dot(const char *where, vp_operand a, vp_operand b, bool inner);
/* The sum of the products of all elements, of a's complex conjugates. */
#define vp_vdot(a, b) vp__vdot(VP_HERE, VP__IN(a), VP__IN(b))
VP_API vp_expr vp__vdot(const char *where, vp_operand a, vp_operand b);
/* Every element of a, row by row, times every element of b. */
#define vp_outer(a, b) vp__outer(VP_HERE, VP__IN(a), VP__IN(b))
VP_API vp_expr vp__outer(const char *where, vp_operand a, vp_operand b);

/* --- Observing: these wait -------------------------------------------------------------------- */

/* Copies all elements, compact in row-major order, in the array's own type. `bytes` must be
 * their exact size. */
#define vp_read(x, memory, bytes) vp__read(VP_HERE, VP__IN(x), memory, bytes)
VP_API vp_status vp__read(const char *where, vp_operand x, void *memory, size_t bytes);

/* One number: double v; vp_item(vp_sum(a), &v). x must have one element, which is converted
 * to the type of *out: bool, any integer type, float, double or double complex. */
#ifdef __cplusplus
} /* extern "C" */
static inline vp_dtype vp__type_of(const bool *) { return VP_BOOL; }
static inline vp_dtype vp__type_of(const float *) { return VP_F32; }
static inline vp_dtype vp__type_of(const double *) { return VP_F64; }
static inline vp_dtype vp__type_of(const std::complex<float> *) { return VP_C64; }
static inline vp_dtype vp__type_of(const std::complex<double> *) { return VP_C128; }
template <typename T> static inline vp_dtype vp__type_of(const T *) {
    static_assert(std::is_integral<T>::value, "vp_item cannot convert to this type");
    return (vp_dtype)((std::is_signed<T>::value ? VP_I8 : VP_U8) +
                      (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3));
}
#define VP__TYPE_OF(out) vp__type_of(out)
extern "C" {
#else
#define VP__TYPE_OF(out)                                                                      \
    _Generic(*(out), bool: VP_BOOL, signed char: VP_I8, char: VP_I8, short: VP_I16,           \
        int: VP_I32, long: (sizeof(long) == 8 ? VP_I64 : VP_I32), long long: VP_I64,          \
        unsigned char: VP_U8, unsigned short: VP_U16, unsigned: VP_U32,                       \
        unsigned long: (sizeof(long) == 8 ? VP_U64 : VP_U32), unsigned long long: VP_U64,     \
        float: VP_F32, double: VP_F64, float _Complex: VP_C64, double _Complex: VP_C128)
#endif
#define vp_item(x, out) vp__item(VP_HERE, VP__IN(x), VP__TYPE_OF(out), out)
VP_API vp_status vp__item(const char *where, vp_operand x, vp_dtype type, void *out);

/* Whether the one element of x is nonzero. */
#define vp_test(x, out) vp__truth(VP_HERE, VP__IN(x), out)
VP_API vp_status vp__truth(const char *where, vp_operand x, bool *out);

/* Looks at the elements where they are: fills in data, dims and strides (in bytes). They
 * stay as they are until vp_unmap, whatever the program writes meanwhile. */
typedef struct {
    const void *data;
    vp_dtype dtype;
    int32_t ndim;
    int64_t dims[VP_MAXDIM], strides[VP_MAXDIM];
    void *token;
} vp_mapped;
#define vp_map(x, mapped) vp__map(VP_HERE, VP__IN(x), mapped)
VP_API vp_status vp__map(const char *where, vp_operand x, vp_mapped *mapped);
VP_API void vp_unmap(vp_mapped *mapped);

/* Prints the elements to standard output, shortened when there are many. */
#define vp_print(x) vp__print(VP_HERE, VP__IN(x))
VP_API vp_status vp__print(const char *where, vp_operand x);

/* Waits for this result; for everything issued so far (by any thread). */
#define vp_wait(x) vp__wait_for(VP_HERE, VP__IN(x))
VP_API vp_status vp__wait_for(const char *where, vp_operand x);
VP_API vp_status vp_sync(void);

/* These wait for the size only. An error gives -1. Expressions are not used up by them. */
enum { VP__EVERY_AXIS = -1000 };
#define vp_size(x) vp__size_of(VP_HERE, VP__IN(x), VP__EVERY_AXIS)
#define vp_dim(x, axis) vp__size_of(VP_HERE, VP__IN(x), axis)
VP_API int64_t vp__size_of(const char *where, vp_operand x, int axis);
#define vp_ndim(x) vp__ndim_of(VP_HERE, VP__IN(x))
VP_API int vp__ndim_of(const char *where, vp_operand x);
#define vp_dtype_of(x) vp__dtype_of(VP_HERE, VP__IN(x))
VP_API vp_dtype vp__dtype_of(const char *where, vp_operand x);

/* --- Errors and the processor itself ------------------------------------------------------------ */

/* The calling thread's last error and its message; VP_OK and "" when there was none. The
 * message stays valid until the thread's next error or vp_clear_error. */
VP_API vp_status vp_error(void);
VP_API const char *vp_message(void);
VP_API void vp_clear_error(void);

/* Name and size of an element type, as NumPy writes it. */
VP_API const char *vp_dtype_name(vp_dtype dtype);
VP_API size_t vp_dtype_size(vp_dtype dtype);

/* What the processor has done so far. */
typedef struct {
    uint64_t issued;       /* nodes given to the net */
    uint64_t inlined;      /* segments that ran on the caller at once */
    uint64_t bundled;      /* puts of loops that became nodes together with others */
    uint64_t replayed;     /* of those, whole iterations that were issued like the one before */
    uint64_t executed;     /* nodes run */
    uint64_t pieces;       /* pieces they were cut into */
    uint64_t split;        /* nodes offered to several cores */
    uint64_t steals;       /* nodes or pieces taken from another core's queue */
    uint64_t moved;        /* nodes run elsewhere than they were placed */
    uint64_t renamed;      /* arrays given new storage because of pending readers */
    uint64_t stores_waited;/* results that waited for earlier accesses to their target */
    uint64_t late_sizes;   /* sizes that came out of running */
    uint64_t limit_waits;  /* times an issuer helped because a limit was reached */
    uint64_t kernels, elements; /* kernels run, and elements they went over */
    uint64_t stored;       /* elements that puts have written */
    int64_t in_flight;     /* nodes issued and not finished */
    int64_t bytes_in_use, peak_bytes; /* of array memory */
    int threads;
} vp_stats;
VP_API void vp_get_stats(vp_stats *out);
/* Starts the peak again from what is in use now. */
VP_API void vp_reset_peak(void);

#ifdef __cplusplus
}
#endif
#endif
