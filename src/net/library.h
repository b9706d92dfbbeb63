/* SPDX-License-Identifier: Apache-2.0
 *
 * Library operations as work of the net: everything that is not a kernel. They end the
 * segments of their operands, read them as arrays, and are gated, placed and split like any
 * other node.
 */
#ifndef VP_NET_LIBRARY_H
#define VP_NET_LIBRARY_H

#include "array/viewop.h"
#include "net/net.h"

typedef enum {
    VP__LIB_COPY, /* same elements in C or column order */
    VP__LIB_VIEW, /* a copy through a view operation, for operands of unknown size */
    VP__LIB_SORT,
    VP__LIB_ARGSORT,
    VP__LIB_CUMSUM,
    VP__LIB_CUMPROD,
    VP__LIB_FIND,    /* flat positions of true elements */
    VP__LIB_NONZERO, /* their positions by axis, [count, ndim] */
    VP__LIB_GATHER,
    VP__LIB_SCATTER,
    VP__LIB_CONCATENATE,
    VP__LIB_MATMUL,
    VP__LIB_GENERATE,
    VP__LIB_FFT,
    VP__LIB_IFFT,
    VP__LIB_RFFT,  /* real in, the first half out */
    VP__LIB_IRFFT, /* the other way round */
    VP__LIB_KINDS
} vp__lib_kind;

enum { VP__FANCY_ITEMS = 8 };

/* KEEP: as the first operand (for CONCATENATE: all of them) is laid out. Decided when that is
 * known, so that a value has the same layout whether its size came late or not. */
typedef enum { VP__ORDER_C, VP__ORDER_F, VP__ORDER_KEEP } vp__order;

typedef struct {
    vp__lib_kind kind;
    int axis;
    int64_t length;         /* FFT and its kin: 0 when the operand's shape decides */
    bool magnitude;         /* likewise: of the complex results, their absolute values */
    const vp__viewop *view; /* VIEW; copied */
    vp__order order;        /* of the result's storage */
    /* GENERATE: element number i in storage order (or i, j for eye) is start + step * i. */
    bool eye, in_integers;
    bool ends;                       /* the last element is exactly `stop` */
    bool floors;                     /* reals are rounded down */
    int64_t istart, istep, diagonal; /* modulo 2^64 */
    double start, step, stop;
    /* NONZERO as a mask: the dims it must have, and the instruction that selects by it. */
    int nfit;
    int64_t fit[VP__MAXDIM];
    const char *selects;
    /* GATHER, SCATTER: item i selects along base axis item_axis[i]; a mask of m axes has
     * become positions [count, m] and selects along m axes from there. */
    int nitems, at;
    int item_axis[VP__FANCY_ITEMS], item_mask[VP__FANCY_ITEMS];
} vp__lib_params;

/* Issues an operation. in[i] are consumed. dims: the result's, NULL when they follow only
 * from late inputs or from running; ndim is always known. */
void vp__library_issue(const vp__lib_params *p, vp_dtype dtype, int nin, vp__expr **in,
                       int ndim, const int64_t *dims, const char *name, const char *where,
                       vp__value *out);

/* Issues a write into target by index (SCATTER): in[] are the indices, then the value.
 * `region` is what counts as written, and is poisoned if the write fails. */
vp__error *vp__library_put(const vp__lib_params *p, const vp__target *t,
                           const vp__region *region, int nin, vp__expr **in,
                           const char *where);

/* Copies all of one storage to another of the same size, failures included. */
bool vp__copy_storage(vp__storage *to, vp__storage *from, const char *where);

/* The length of a Fourier transform of an operand of these dims, and the dims of its result;
 * an error when there is none. */
vp__error *vp__fft_dims(const vp__lib_params *p, int ndim, const int64_t *dims,
                        const char *name, const char *where, int64_t *length,
                        int64_t *result);

/* What such a transform is called. */
const char *vp__fft_name(vp__lib_kind kind, bool magnitude);

/* The dims of a gather's result; an error when the index shapes do not broadcast. */
vp__error *vp__gather_dims(const vp__lib_params *p, int base_ndim,
                           const int64_t *base_dims, const int *item_ndim,
                           const int64_t *const *item_dims, const char *name,
                           const char *where, int *ndim, int64_t *dims);

#endif
