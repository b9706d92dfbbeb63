/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms of one lane after another: what their plans hold, and what the parts
 * of the implementation owe each other.
 *
 *   fft.c          walks the lanes of two views, and keeps plans
 *   fft_plan.c     makes plans: factors, tables of roots
 *   fft_roots.c    roots of unity, exact to the last bit or nearly so
 *   loops_fft.c    the built-in transform, once per instruction set
 *   fftw.c         FFTW, where it is there and quicker
 *
 * Which of the two transforms a length, and how, follows from the length and the type
 * alone. A lane's bits are then a function of its elements: not of its neighbours, its
 * strides, its address or the number of lanes that are done together.
 *
 * The built-in transform knows sequences of complex numbers whose real and imaginary parts
 * lie apart (planes). It works on rows of VP__FFT_LANES numbers, one row of the planes a
 * vector, in one of two ways:
 *   - a length that is a multiple of the lanes is its own lanes: number j is in row j / 8
 *     and lane j % 8. Eight transforms down the lanes, a multiplication by roots, and one
 *     last step across the lanes make one long transform. Everything is as long as a
 *     lane, so it stays in cache.
 *   - any other length has eight lanes of the array side by side, or one where there are
 *     few or the length is large. One or eight make no difference to the bits.
 * Down the lanes it is Stockham's: every step of radix 2 to 13 reads one buffer and writes
 * the other, and leaves the numbers in order at the end. A length with a larger prime
 * factor becomes a convolution with a chirp (Bluestein), of a length that has none.
 *
 * A real lane of even length n is packed into n / 2 complex numbers and taken apart at the
 * end; of odd length, it is complex with zeros.
 */
#ifndef VP_LIB_FFT_FFT_H
#define VP_LIB_FFT_FFT_H

#include <stdbool.h>

#include "lib/lib.h"

enum {
    VP__FFT_LANES = 8,    /* numbers of a row, and lanes of a group */
    VP__FFT_PASSES = 64,  /* more than any length has prime factors */
    VP__FFT_PAD = 16,     /* elements behind a plane: its last row may be read beyond, and
                             planes of one buffer should not collide in the cache */
    VP__FFT_LARGEST = 13, /* radix; larger prime factors make it a convolution */
};

/* One step down the lanes: `blocks` butterflies of `radix` on each of `count` rows, which
 * is the product of the radices before. */
typedef struct {
    int radix;
    int64_t blocks, count;
    const void *roots; /* radix - 1 of them, as pairs, per block; see vp__fft_plan_new */
} vp__fft_pass;

typedef struct {
    int64_t n;    /* complex numbers */
    int64_t rows; /* n, or n / 8 where a sequence is its own lanes */
    bool folded;  /* it is */
    int passes;
    vp__fft_pass pass[VP__FFT_PASSES];
    const void *turns; /* folded: the roots by which rows are multiplied, as planes */
} vp__fft_core;

struct vp__fft_plan {
    vp__fft_kind kind;
    bool single;  /* float, not double */
    bool inverse; /* and so divided by n */
    int64_t n;
    int64_t inputs, outputs; /* of a lane, in elements of its type */
    bool packed;             /* real and of even length: half as many complex numbers */
    int64_t numbers;         /* complex numbers transformed: n, or n / 2 when packed */
    const void *halves;      /* packed: roots of order n, planes of numbers / 2 + 1 */
    vp__fft_core core;       /* of `numbers`, or of a chirp's convolution */
    const void *chirp;       /* planes of `numbers`, or NULL */
    const void *spectrum;    /* of the chirp, planes of core.n, divided by core.n */
    void *fftw;              /* FFTW's plan, where that does it; the above is not there */
    /* The plan's memory and its life; see fft_plan.c and fft.c. */
    void *table[VP__FFT_PASSES + 4];
    int tables;
    size_t bytes;
    int32_t refs;
    uint64_t used;
};

/* A group of lanes, contiguous in themselves at any address. */
typedef struct vp__fft_fibres {
    const char *in;
    char *out;
    int64_t in_fibre, out_fibre; /* bytes from one to the next */
    int64_t have;                /* elements of a lane that there are; zeros follow */
    int lanes;                   /* 1 to VP__FFT_LANES */
    bool streams;                /* out is too large for the cache to keep */
    bool half; /* leave out the second half where that mirrors the first */
    /* Half of float64, down one lane: where their magnitudes go, one lane after the other,
     * instead of them, and what computes those that are not simply roots of squares. */
    double *magnitudes;
    int64_t magnitudes_fibre;
    void (*magnitude)(void *, const void *, const void *, const void *, int64_t);
    void *scratch; /* vp__fft_scratch() bytes, 64-byte aligned */
} vp__fft_fibres;

/* Lanes of `count` reals whose first `have` are there, elsewhere; the rest mirrors them. */
typedef struct vp__fft_mirror {
    const char *from; /* as aligned as its elements */
    char *out;
    int64_t from_fibre, out_fibre, have, count;
    int lanes;
    bool single, streams; /* as above */
} vp__fft_mirror;

/* Who transforms: FFTW where it is quicker, or one of the two (FFTW if it is there). */
typedef enum { VP__FFT_BY_QUICKER, VP__FFT_BY_US, VP__FFT_BY_FFTW } vp__fft_by;

/* Makes a plan. NULL without memory. */
vp__fft_plan *vp__fft_plan_new(vp__fft_kind kind, bool single, int64_t n, vp__fft_by by);
void vp__fft_plan_free(vp__fft_plan *p);

/* Bytes that transforming a group needs. */
size_t vp__fft_scratch(const vp__fft_plan *p);
void vp__fft_run(const vp__fft_plan *p, const vp__fft_fibres *lanes);

/* exp(-2πi k/n) for 0 <= k < n, in a table's type or in long double. One object makes many
 * roots of one order; init is false without memory. */
typedef struct {
    int64_t n;
    int shift; /* the tables' step: low part below 1 << shift, high part above */
    long double *low, *high;
} vp__fft_roots;
bool vp__fft_roots_init(vp__fft_roots *r, int64_t n);
void vp__fft_roots_deinit(vp__fft_roots *r);
void vp__fft_roots_get(const vp__fft_roots *r, int64_t k, long double *re,
                       long double *im);

/* Lanes that one call keeps in registers or cache: 8 side by side, or 1. */
static inline int vp__fft_together(const vp__fft_core *c, int lanes) {
    enum { FEW = 2, LARGE = 1 << 15 };
    return c->folded || lanes <= FEW || c->n > LARGE ? 1 : VP__FFT_LANES;
}

/* Elements of one plane of a buffer. */
static inline int64_t vp__fft_plane(const vp__fft_core *c, int together) {
    return (c->n * together + 2 * VP__FFT_PAD - 1) / VP__FFT_PAD * VP__FFT_PAD;
}

#endif
