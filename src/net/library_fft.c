/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms as work of the net: how they size themselves, split and run.
 */
#include <math.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "lib/lib.h"
#include "net/library_work.h"

/* Pieces of a transform are shorter than most: they share nothing, and a matrix of a few
 * hundred lanes is worth two cores. */
enum { PIECES_PER_USUAL = 2 };

typedef struct {
    vp__lib_params p;
    int64_t length;     /* once sized */
    vp__fft_plan *plan; /* once run */
} payload;

size_t vp__library_fft_payload(void) { return sizeof(payload); }

vp__error *vp__fft_dims(const vp__lib_params *p, int ndim, const int64_t *dims,
                        const char *name, const char *where, int64_t *length,
                        int64_t *result) {
    int64_t n = p->length, given = dims[p->axis];
    if (n == 0) n = p->kind == VP__LIB_IRFFT ? 2 * (given - 1) : given;
    if (n < 1) {
        char text[200];
        return vp__error_new(
            VP_ERR_SHAPE, where,
            "%s: axis %d of shape %s has %lld element%s, which leaves nothing to "
            "transform; give the length, as in vp_%s(x, %d, n)",
            name, p->axis, vp__shape_text(text, sizeof text, ndim, dims),
            (long long)given, given == 1 ? "" : "s", name, p->axis);
    }
    memcpy(result, dims, (size_t)ndim * sizeof(int64_t));
    result[p->axis] = p->kind == VP__LIB_RFFT ? n / 2 + 1 : n;
    *length = n;
    return NULL;
}

const char *vp__fft_name(vp__lib_kind kind, bool magnitude) {
    switch (kind) {
    case VP__LIB_IFFT: return magnitude ? "abs(ifft)" : "ifft";
    case VP__LIB_RFFT: return magnitude ? "abs(rfft)" : "rfft";
    case VP__LIB_IRFFT: return "irfft";
    default: return magnitude ? "abs(fft)" : "fft";
    }
}

/* About what all lanes take; by the shape alone. */
static double cost_of(const vp__node *n) {
    const payload *w = n->payload;
    double length = (double)w->length;
    return (20 + 0.15 * length * log2(length + 1)) *
           (double)vp__library_other_axes(n, w->p.axis);
}

static vp__error *fft_size(vp__node *n) {
    payload *w = n->payload;
    vp__error *e = vp__fft_dims(&w->p, n->ndim, n->in[0].dims, n->name, n->where,
                                &w->length, n->dims);
    if (e) return e;
    vp__library_layout(n);
    n->estimate = 500 + (float)cost_of(n);
    return NULL;
}

static vp__error *no_memory(const vp__node *n) {
    char text[200];
    return vp__error_new(VP_ERR_MEMORY, n->where,
                         "%s: out of memory for the transform of shape %s", n->name,
                         vp__shape_text(text, sizeof text, n->ndim, n->dims));
}

static vp__fft_kind kind_of(vp__lib_kind kind, bool real) {
    if (kind == VP__LIB_RFFT) return VP__FFT_HALF;
    if (kind == VP__LIB_IRFFT) return VP__FFT_REAL;
    if (kind == VP__LIB_FFT) return real ? VP__FFT_WHOLE : VP__FFT_FORWARD;
    return real ? VP__FFT_WHOLE_BACKWARD : VP__FFT_BACKWARD;
}

static void fft_begin(vp__node *n) {
    payload *w = n->payload;
    int64_t lanes = vp__library_other_axes(n, w->p.axis);
    if (lanes == 0) return;
    vp_dtype t = (vp_dtype)n->in[0].dtype;
    n->pieces = vp__library_pieces(PIECES_PER_USUAL * cost_of(n), lanes);
    w->plan = vp__lib_fft_plan(kind_of(w->p.kind, vp__dtype[t].cls == VP__CLASS_F),
                               t == VP_F32 || t == VP_C64, w->length);
    if (!w->plan) vp__node_fail(n, no_memory(n));
}

/* The transform, and the magnitudes that it has fused, of one of the pieces. */
static void count(vp__core *core, const vp__node *n, int64_t piece) {
    const payload *w = n->payload;
    const uint64_t kernels = w->p.magnitude ? 2 : 1;
    const int64_t lanes = vp__library_other_axes(n, w->p.axis);
    const int64_t mine = lanes * (piece + 1) / n->pieces - lanes * piece / n->pieces;
    if (piece == 0) vp__count(&core->counters.kernels, kernels);
    vp__count(&core->counters.elements, kernels * (uint64_t)(mine * n->dims[w->p.axis]));
}

/* Scratch comes with each piece, so that all that one thread runs have the same, which is
 * in its cache. */
static void fft_piece(vp__node *n, int64_t i, vp__core *core) {
    payload *w = n->payload;
    if (!w->plan) return;
    const vp__input *from = &n->in[0];
    vp__view out = {n->out, n->dims, n->out_strides, n->ndim, n->dtype};
    vp__view in = {vp__input_data(from), from->dims, from->strides, from->ndim,
                   from->dtype};
    size_t bytes = vp__lib_fft_scratch(w->plan, &out, &in, w->p.axis);
    void *scratch = vp__pool_alloc(bytes);
    if (!scratch) {
        vp__node_fail(n, no_memory(n));
        return;
    }
    vp__lib_fft(w->plan, &out, &in, w->p.axis, i, n->pieces, scratch);
    vp__pool_free(scratch, bytes);
    count(core, n, i);
}

static void fft_deinit(vp__node *n) {
    payload *w = n->payload;
    vp__lib_fft_release(w->plan);
}

const vp__work vp__library_fft_work = {
    .size = fft_size, .begin = fft_begin, .piece = fft_piece, .deinit = fft_deinit};
