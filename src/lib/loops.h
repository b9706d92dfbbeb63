/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of library operations that gain from wide vectors. loops_*.c are
 * compiled once per instruction set, as the base kernels are; which of them runs follows
 * the choice the kernels made. Bits do not depend on the instruction set, but for large
 * products of floats, which are made of fused multiply-adds where it has them.
 */
#ifndef VP_LIB_LOOPS_H
#define VP_LIB_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "array/dtype.h"

struct vp__fft_plan;
struct vp__fft_fibres;
struct vp__fft_mirror;

/* A group of lanes to scan: n steps along the axis, strides in bytes. */
typedef struct {
    char *out;
    const char *in;
    int64_t n, lanes;
    int64_t out_step, in_step;   /* along the axis */
    int64_t out_fibre, in_fibre; /* from lane to lane */
} vp__scan;
typedef void (*vp__scan_fn)(const vp__scan *s);

/* The scans there are: rows along an axis of lib.def, whose step is in loops_scan.c. */
#define VP__SCANS(SCAN, ...)                                                             \
    SCAN(cumsum, __VA_ARGS__)                                                            \
    SCAN(cumprod, __VA_ARGS__)                                                           \
    SCAN(cummax, __VA_ARGS__)                                                            \
    SCAN(cummin, __VA_ARGS__)
enum {
#define VP__SCAN(id, unused) VP__SCAN_##id,
    VP__SCANS(VP__SCAN, )
#undef VP__SCAN
        VP__NSCANS
};

/* Adds a[rows][depth] @ b[depth][cols] to out, or sets out when `first`: each element's
 * terms are added one after another in the order of the depth. Strides are bytes. A row
 * of b is contiguous and readable for cols rounded up to VP__PRODUCT_BYTES; a complex row
 * is split, its imaginary parts b_im bytes behind the real ones. */
typedef struct {
    char *out;
    const char *a, *b;
    int64_t rows, cols, depth;
    int64_t out_row, out_col, a_row, a_col, b_row, b_im;
    bool first;
} vp__product;
typedef void (*vp__product_fn)(const vp__product *p);

enum { VP__PRODUCT_BYTES = 128 };

/* A tile of a large product: sets out[rows][vectors of lanes], whose rows are contiguous and
 * `row` bytes apart, to a @ b or, unless `first`, adds that to it. a has `rows` elements for
 * each term and b has `cols`, packed one term after another; b is aligned to a vector. */
typedef struct {
    int64_t lanes, rows, cols; /* cols: of three vectors */
    void (*tile)(char *out, int64_t row, const void *a, const void *b, int64_t depth,
                 int vectors, bool first);
} vp__gemm_loop;

/* Bytes of scratch for sorting n elements: room for twice as many words and positions. */
#define VP__NETWORK_SCRATCH(n) ((size_t)(n)*32 + 256)

typedef struct {
    /* True elements among n bytes; any byte but zero is true. */
    int64_t (*count_true)(const uint8_t *mask, int64_t n);

    /* Writes base + i for every true mask[i] and returns how many. Touches nothing beyond
     * them. */
    int64_t (*list_true)(int64_t *out, const uint8_t *mask, int64_t n, int64_t base);

    /* Elements of 1, 2, 4, 8 or 16 bytes, contiguous on every side, where the mask is true.
     * mask_get writes those of `base` one after another to `out`, mask_put as many values to
     * their places in `base`; they return how many, and touch nothing beyond them at `out`.
     * mask_fill writes value[i] to base[i], or *value where `one`; base's other elements are
     * not touched, or written as they were. */
    int64_t (*mask_get)(void *out, const void *base, const uint8_t *mask, int64_t n,
                        int size);
    int64_t (*mask_put)(void *base, const void *values, const uint8_t *mask, int64_t n,
                        int size);
    void (*mask_fill)(void *base, const void *value, const uint8_t *mask, int64_t n,
                      int size, bool one);

    /* Whether every index lies in [-dim, dim). */
    bool (*index_is_valid)(const int64_t *index, int64_t n, int64_t dim);

    /* offset[i] += (index[i], counted from the end when negative) * stride. */
    void (*index_add)(int64_t *offset, const int64_t *index, int64_t n, int64_t dim,
                      int64_t stride);

    /* out[i] = base[index[i], counted from the end when negative], for elements of 4 or 8
     * bytes. Returns false at an index outside [-dim, dim), some of out being set. */
    bool (*take)(void *out, const void *base, const int64_t *index, int64_t n,
                 int64_t dim, int size);

    /* By type, and by the scan: lane by lane, for lanes contiguous in themselves, or step by
     * step, for lanes side by side. */
    const vp__scan_fn (*scan_along)[VP__NSCANS];
    const vp__scan_fn (*scan_across)[VP__NSCANS];

    const vp__product_fn *product; /* by type */
    const vp__gemm_loop *gemm;     /* of float32 and float64; no tile: there is none */

    /* Sort n contiguous elements of a real type of four or eight bytes, out being `in` or
     * apart from it; argsort is stable. scratch is 64-byte aligned and has
     * VP__NETWORK_SCRATCH(n) bytes. They return false and do nothing where there is no
     * way quicker than the caller's, as for long sequences. */
    bool (*sort)(void *out, const void *in, int64_t n, vp_dtype t, void *scratch);
    bool (*argsort)(int64_t *out, const void *in, int64_t n, vp_dtype t, void *scratch);

    /* Transforms a group of lanes; see fft.h. */
    void (*fft)(const struct vp__fft_plan *plan, const struct vp__fft_fibres *lanes);
    void (*fft_mirror)(const struct vp__fft_mirror *m);
} vp__loops;

const vp__loops *vp__loops_get(void);

/* The same names once per instruction set, and the table that gathers them. */
#define VP__LOOPS_DECLARE(isa)                                                           \
    int64_t vp__loops_count_true_##isa(const uint8_t *, int64_t);                        \
    int64_t vp__loops_list_true_##isa(int64_t *, const uint8_t *, int64_t, int64_t);     \
    int64_t vp__loops_mask_get_##isa(void *, const void *, const uint8_t *, int64_t,     \
                                     int);                                               \
    int64_t vp__loops_mask_put_##isa(void *, const void *, const uint8_t *, int64_t,     \
                                     int);                                               \
    void vp__loops_mask_fill_##isa(void *, const void *, const uint8_t *, int64_t, int,  \
                                   bool);                                                \
    bool vp__loops_index_is_valid_##isa(const int64_t *, int64_t, int64_t);              \
    void vp__loops_index_add_##isa(int64_t *, const int64_t *, int64_t, int64_t,         \
                                   int64_t);                                             \
    bool vp__loops_take_##isa(void *, const void *, const int64_t *, int64_t, int64_t,   \
                              int);                                                      \
    extern const vp__scan_fn vp__loops_scan_along_##isa[VP__NDTYPES][VP__NSCANS];        \
    extern const vp__scan_fn vp__loops_scan_across_##isa[VP__NDTYPES][VP__NSCANS];       \
    extern const vp__product_fn vp__loops_product_##isa[VP__NDTYPES];                    \
    extern const vp__gemm_loop vp__loops_gemm_##isa[2];                                  \
    bool vp__loops_sort_##isa(void *, const void *, int64_t, vp_dtype, void *);          \
    bool vp__loops_argsort_##isa(int64_t *, const void *, int64_t, vp_dtype, void *);    \
    void vp__loops_fft_##isa(const struct vp__fft_plan *,                                \
                             const struct vp__fft_fibres *);                             \
    void vp__loops_fft_mirror_##isa(const struct vp__fft_mirror *);

/* Inside loops_*.c: the name of something for the instruction set being compiled. */
#ifdef VP_ISA
#define VP__LOOPS_PASTE(name, isa) name##_##isa
#define VP__LOOPS_EXPAND(name, isa) VP__LOOPS_PASTE(name, isa)
#define VP__LOOPS(name) VP__LOOPS_EXPAND(name, VP_ISA)
#define VP__LOOPS_DECLARE_OWN(isa) VP__LOOPS_DECLARE(isa)
VP__LOOPS_DECLARE_OWN(VP_ISA)
#endif

#endif
