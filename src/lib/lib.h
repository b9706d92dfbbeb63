/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are not kernels. Each works on views alone: no arrays, no net, no
 * allocation beyond the scratch it is given, so that the net can place, gate and split
 * them like anything else. Where an operation can be split, `part` of `parts` selects a
 * share of the work that touches no output element of another share; a share's bits
 * depend on the shapes alone.
 */
#ifndef VP_LIB_LIB_H
#define VP_LIB_LIB_H

#include <stdbool.h>

#include "array/view.h"
#include "ops/ops.h"

/* --- the table ------------------------------------------------------------------------------ */

typedef enum {
#define VP_LIB(id, family, operands, rule, result, size, cost, numpy, doc) VP__LIB_##id,
#include "lib/lib.def"
    VP__LIB_KINDS
} vp__lib_kind;

/* What the dims of a result follow from. */
typedef enum {
    VP__SIZE_LIKE,      /* the operand's */
    VP__SIZE_GIVEN,     /* the instruction says them */
    VP__SIZE_VIEW,      /* the view operation */
    VP__SIZE_JOIN,      /* the operands', whose lengths along the axis add up */
    VP__SIZE_INDEX,     /* index arrays and the axes that they leave */
    VP__SIZE_TARGET,    /* there is no result, but a target */
    VP__SIZE_PRODUCT,   /* those of two stacks of matrices */
    VP__SIZE_TRANSFORM, /* the operand's, with the length of the transform */
    VP__SIZE_RUN,       /* what running finds out */
} vp__size_rule;

enum { VP__MANY = 255 }; /* operands: one or more */

typedef struct {
    const char *name;
    const char *numpy; /* NumPy's name for the same function; "" where it has none */
    const char *doc;   /* one sentence */
    uint8_t operands;
    uint8_t rule, result; /* vp__rule, vp__result */
    uint8_t size;         /* vp__size_rule */
    float cost;           /* nanoseconds an element: see lib.def */
} vp__lib_info;

extern const vp__lib_info vp__lib_rows[VP__LIB_KINDS];

/* As vp__rule_types, by the row. */
bool vp__lib_types(vp__lib_kind kind, vp_dtype t, vp_dtype *work, vp_dtype *result);

/* What a row is called together with an epilogue; NULL when the row does not take it. */
const char *vp__lib_epilogue_name(vp__lib_kind kind, int op);
/* Whether a row takes any epilogue. */
bool vp__lib_takes_epilogues(vp__lib_kind kind);
/* Whether any row takes this operation as an epilogue: most are none. */
static inline bool vp__lib_is_epilogue(int op) {
    return false
#define VP_EPILOGUE(id, epilogue) || op == VP__OP_##epilogue
#include "lib/lib.def"
        ;
}

/* --- the operations ------------------------------------------------------------------------- */

/* Copies with conversion: out[...] = (out type)in[...], same dims, any strides. Use for
 * layout changes; tiles transposes so that both sides stay in cache. */
void vp__lib_copy(const vp__view *out, const vp__view *in, int64_t part, int64_t parts);

/* Along `axis` into out, which has the same dims; parts split the other axes.
 * Sorts: NaNs last, as NumPy; complex lexicographically. argsort writes int64 positions,
 * stable: -0.0 and 0.0 are equal to it, and so are all NaNs. sort puts -0.0 before 0.0 and
 * NaNs in the order of their bits.
 * Scans: strictly left to right, as NumPy's; in has been cast to out's type. */
#define VP_ALONG(id, rule, result, cost, scratch, numpy, doc)                            \
    void vp__lib_##id(const vp__view *out, const vp__view *in, int axis, int64_t part,   \
                      int64_t parts, void *scratch);
#include "lib/lib.def"
size_t vp__lib_sort_scratch(const vp__view *in, int axis);
size_t vp__lib_no_scratch(const vp__view *in, int axis);

/* The same by the row: NULL for a row of another family. */
typedef struct {
    void (*run)(const vp__view *out, const vp__view *in, int axis, int64_t part,
                int64_t parts, void *scratch);
    size_t (*scratch)(const vp__view *in, int axis);
} vp__lane_work;
extern const vp__lane_work vp__lib_along[VP__LIB_KINDS];

/* Of the elements of a bool view from number `from` on, below `to`, in C order: counts the true
 * ones, and lists their positions: positions is int64 [count][ndim] (nonzero) or, when flat,
 * int64 [count] of C-order numbers. */
int64_t vp__lib_count_true(const vp__view *mask, int64_t from, int64_t to);
void vp__lib_list_true(int64_t *positions, const vp__view *mask, bool flat, int64_t from,
                       int64_t to);

/* The same elements of another view of the mask's dims: mask_get writes those where the mask is
 * true, `count` of them, one after another at `out`; mask_put writes the values at `value`, `step` bytes apart,
 * to those, one after another. */
void vp__lib_mask_get(char *out, const vp__view *base, const vp__view *mask, int64_t from,
                      int64_t to, int64_t count);
void vp__lib_mask_put(const vp__view *base, const vp__view *mask, const char *value,
                      int64_t step, int64_t from, int64_t to);
/* base[...] = value where the mask is true; all are of the same dims, mask and value as a rule
 * broadcast. Where the mask is false, elements are not touched, or written as they were. */
void vp__lib_mask_fill(const vp__view *base, const vp__view *mask, const vp__view *value,
                       int64_t part, int64_t parts);

/* Advanced indexing on views. The result of NumPy's rules is described by the caller as:
 * `index[i]` (i < nindex), int64 views all of the same dims (broadcast by zero strides,
 * which an axis without elements of its own has not), select along base axis `axis[i]`;
 * base has had its basic selections applied; the remaining base axes are the subspace.
 * Output dims are: the index dims placed at position `at` among the subspace dims in
 * order. gather reads base into out; scatter writes in (same dims as gather's out,
 * broadcast by zero strides, same dtype as base) into base, in C order of the index so
 * that the last of equal indices wins. Negative indices count from the end.
 * vp__lib_check_index looks at every index first, also at those that are broadcast to
 * nothing, and returns false with the first bad value in *bad, the axis number in
 * *bad_axis; gather and scatter assume it passed. gather_at_once looks at indices itself,
 * in the same pass: it returns false where it finds a bad one, or where it cannot do
 * that; out then holds anything. */
typedef struct {
    int nindex;
    const vp__view *index; /* nindex of them */
    const int *axis;
    int at;
} vp__fancy;
bool vp__lib_check_index(const vp__fancy *f, const vp__view *base, int64_t *bad,
                         int *bad_axis);
void vp__lib_gather(const vp__view *out, const vp__view *base, const vp__fancy *f,
                    int64_t part, int64_t parts);
bool vp__lib_gather_at_once(const vp__view *out, const vp__view *base,
                            const vp__fancy *f);
void vp__lib_scatter(const vp__view *base, const vp__view *in, const vp__fancy *f);

/* out = a @ b for 2-D views of one dtype (any of the 13), through OpenBLAS (opened at run
 * time, single-threaded) for float and complex types when it is there, else by a blocked
 * loop of our own; large ones of floats by gemm.h; integer types wrap, bool is or-of-ands.
 * Strides: any (copied to scratch when BLAS cannot take them). Parts cut by rows or columns
 * of out: by shape alone where bits would depend on it; where they do not, any number will
 * do, and this is the one for so many cores. */
void vp__lib_matmul(const vp__view *out, const vp__view *a, const vp__view *b,
                    int64_t part, int64_t parts, void *const scratch[2]);
int64_t vp__lib_matmul_parts(int64_t m, int64_t n, int64_t k, vp_dtype t, int cores);
void vp__lib_matmul_scratch(const vp__view *out, const vp__view *a, const vp__view *b,
                            int64_t parts, size_t bytes[2]); /* of each part */

/* Fourier transforms along `axis`, of elements of type float32, float64, complex64 or
 * complex128 that out and in share but for being complex. kind says what goes in and comes
 * out; the inverse ones are divided by n. Of in's lanes as many elements are used as the
 * transform takes, and zeros follow those that are too short. Parts split the other axes.
 *
 * A plan is everything about a length that takes time to find out. Plans are kept and
 * shared, up to a limit; they may be used by any number of threads, and must be given
 * back. NULL without memory. They are what allocates here: the transform itself has its
 * scratch alone. Where results are complex and out is real, it gets their magnitudes. */
typedef enum {
    VP__FFT_FORWARD,  /* n complex to n complex */
    VP__FFT_BACKWARD, /* the same, inverse */
    VP__FFT_HALF,     /* n real to the first n / 2 + 1 complex */
    VP__FFT_WHOLE,    /* n real to n complex, the second half mirrored */
    VP__FFT_WHOLE_BACKWARD,
    VP__FFT_REAL, /* n / 2 + 1 complex to n real, inverse */
    VP__FFT_KINDS,
    VP__FFT_NONE = VP__FFT_KINDS /* no transform */
} vp__fft_kind;
/* Which of them a row is of elements that are real or complex; NONE if it does not take them. */
vp__fft_kind vp__lib_fft_kind(vp__lib_kind kind, bool real);
bool vp__lib_is_fourier(vp__lib_kind kind);
typedef struct vp__fft_plan vp__fft_plan;

vp__fft_plan *vp__lib_fft_plan(vp__fft_kind kind, bool single, int64_t n);
void vp__lib_fft_release(vp__fft_plan *plan);
size_t vp__lib_fft_scratch(const vp__fft_plan *plan, const vp__view *out,
                           const vp__view *in, int axis); /* per part */
void vp__lib_fft(const vp__fft_plan *plan, const vp__view *out, const vp__view *in,
                 int axis, int64_t part, int64_t parts, void *scratch);

/* Gets ready for forks. Called once, before whoever stops threads that may be here registers
 * for forks: handlers run in the reverse order. */
void vp__lib_fft_init(void);

#endif
