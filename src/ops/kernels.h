/* SPDX-License-Identifier: Apache-2.0
 *
 * The base kernels: every row of ops.def for every element type, on contiguous operands,
 * precompiled for several instruction sets. The executor (jit/) brings other layouts into
 * blocks first. These are the portable product and the fallback of every later stage, so
 * their bits are the reference.
 *
 * Rules every kernel keeps (DESIGN.md rule 2): an element's result depends on that
 * element's operands alone, never on its position in the block: tails run the same vector
 * code, masked or padded. No contraction of a multiply and an add of two instructions
 * (apart.h). Every instruction set gives the same bits but for the functions of math.h.
 */
#ifndef VP_OPS_KERNELS_H
#define VP_OPS_KERNELS_H

#include "ops/math.h"
#include "ops/ops.h"

/* out[i] = op(a[i], b[i], c[i]) for i < n. Unused operands are NULL. `out` may be exactly
 * one of the operands when element sizes agree, and never overlaps one otherwise. Nothing
 * needs more than the element type's own alignment, and nothing outside n elements is
 * touched. */
typedef void (*vp__op_fn)(void *out, const void *a, const void *b, const void *c,
                          int64_t n);

/* out[i] = (to)in[i]: C's conversions where defined, NumPy's where C leaves it open. */
typedef void (*vp__cast_fn)(void *out, const void *in, int64_t n);

/* Moves n elements of 1, 2, 4, 8 or 16 bytes between a contiguous block and a strided one
 * (stride in bytes, any value). fill stores one element n times. */
typedef void (*vp__copy_fn)(void *out, const void *in, int64_t bytes);
typedef void (*vp__gather_fn)(void *out, const void *in, int64_t stride, int64_t n);
typedef void (*vp__scatter_fn)(void *out, int64_t stride, const void *in, int64_t n);
typedef void (*vp__fill_fn)(void *out, const void *element, int64_t n);

/* Reductions follow one tree for every layout, instruction set and split:
 *  - elements are numbered by the logical index along the reduced axes;
 *  - a block is VP__REDUCE_BLOCK consecutive numbers starting at a multiple of it;
 *  - inside a block, lane l folds the numbers congruent to l modulo `lanes`, in order;
 *  - blocks are merged lane by lane, pairwise: 2k with 2k+1, then pairs of those, … as a
 *    binary counter does; what is left at the end is folded from the smallest to the
 *    largest, the larger (earlier) on the left;
 *  - at last the lanes are folded: l with l + lanes/2, then halves of that.
 * A lane without elements holds the identity, which must be neutral bit for bit
 * (-0.0 for a sum). Where the order of folding cannot change the result (integers, truth,
 * positions, the order of complex numbers) there is one lane and the tree is free. A NaN
 * that sum or prod gives, or min or max of floats, is always the positive quiet one,
 * because which of several NaNs survives an addition is the compiler's choice. min and max
 * of complex numbers give the first element that has a NaN as it is. */
enum { VP__REDUCE_BLOCK = 128, VP__REDUCE_CHUNK = 64 * VP__REDUCE_BLOCK };
/* Native code makes the states of so many elements' blocks, a batch, before it has them merged;
 * and levels that are enough for the batches of 2^63 elements. */
enum { VP__REDUCE_BATCH = 8 * VP__REDUCE_BLOCK, VP__REDUCE_LEVELS = 53 };

typedef struct {
    int32_t lanes;      /* a power of two that divides VP__REDUCE_BLOCK */
    int32_t state_size; /* bytes of one lane's state for one output */

    /* Folds n elements of one output, numbered base…base+n-1 with base a multiple of
     * VP__REDUCE_BLOCK, into state[lanes], which need not be initialised. n may exceed one
     * block up to VP__REDUCE_CHUNK: then blocks are merged as the tree says. Where there is
     * `extend`, n may be any number. */
    void (*block)(void *state, const void *x, int64_t n, int64_t base);

    /* Folds n more elements, any number of them, into a state that `block` or `extend`
     * made of the elements before. NULL where the tree is not free. */
    void (*extend)(void *state, const void *x, int64_t n, int64_t base);

    /* As block for `cols` outputs at once: element r of output c is at
     * x + r * row_stride + c * element size and has number base + r. A call whose base is
     * a multiple of VP__REDUCE_BLOCK starts a block; one with another base goes on with the
     * block that the state holds so far, and no call crosses the end of a block. The state
     * is state[lane][col]; where there is one lane, its inner layout is the kernel's own,
     * so the same `cols` must be given to every function that sees it. */
    void (*block_cols)(void *state, const void *x, int64_t row_stride, int64_t rows,
                       int64_t cols, int64_t base);

    /* dst[i] = dst[i] folded with src[i], dst being the earlier; n = lanes * cols. */
    void (*merge)(void *dst, const void *src, int64_t n);

    /* Adds a batch, the states of its blocks one after the other, each of `width` elements
     * as in merge, to a binary counter: level i holds the state of 2^i batches where bit i of
     * their number is 1. The batch is the elements `from`, … of n, or what is left of them;
     * then the result is where the state of all n is, at `states` or in a level. NULL where
     * states are not vectors. */
    void *(*add)(void *levels, void *states, int64_t width, int64_t from, int64_t n);

    /* Folds the lanes of state[lane][col] and writes `cols` contiguous results. */
    void (*finish)(void *out, void *state, int64_t cols);

    /* out[r] = reduction of the 1 <= n <= VP__REDUCE_CHUNK contiguous elements at x + r*n:
     * the short cut for many short rows. Same bits as block + finish. */
    void (*rows)(void *out, const void *x, int64_t m, int64_t n);

    /* out[c] = reduction of the 1 <= rows <= VP__REDUCE_BLOCK elements of output c, laid
     * out as for block_cols. Same bits as block_cols + finish. */
    void (*cols)(void *out, const void *x, int64_t row_stride, int64_t rows,
                 int64_t cols);
} vp__reduce_kernel;

typedef struct {
    const char *isa;                     /* "baseline", "avx2", "avx512" */
    const char *math;                    /* "fast", "accurate": VP_MATH */
    vp__op_fn op[VP__NOPS][VP__NDTYPES]; /* by working type; NULL: not taken */
    vp__reduce_kernel reduce[VP__NOPS][VP__NDTYPES]; /* likewise; block NULL: not taken */
    vp__cast_fn cast[VP__NDTYPES][VP__NDTYPES];      /* [from][to] */
    vp__copy_fn copy;                                /* what does not overlap */
    vp__gather_fn gather[5];                         /* by log2 of the element size */
    vp__scatter_fn scatter[5];
    vp__fill_fn fill[5];
} vp__kernels;

/* The kernels for this CPU, or those VP_ISA names, in the mode that VP_MATH names; chosen
 * once. */
const vp__kernels *vp__kernels_get(void);

/* A particular set, for tests; NULL where this CPU cannot run it. */
const vp__kernels *vp__kernels_for(const char *isa);          /* VP_MATH=fast */
const vp__kernels *vp__kernels_accurate_for(const char *isa); /* VP_MATH=accurate */

static inline int vp__log2_size(int size) { return __builtin_ctz((unsigned)size); }

#endif
