/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms along an axis, and the epilogue that they take.
 */
#include <math.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "issue/library/family.h"

/* Pieces of a transform are shorter than most: they share nothing, and a matrix of a few
 * hundred fibres is worth two cores. A plan and each fibre cost something by themselves. */
enum { PIECES_PER_USUAL = 2, PLAN_NS = 300, LANE_NS = 20 };

typedef struct {
    vp__lib_params p;
    int64_t length;     /* once run */
    vp__fft_plan *plan; /* likewise */
} payload;

/* What real elements are transformed by and back says which ends have n / 2 + 1 numbers. */
static bool gives_half(vp__lib_kind kind) {
    return vp__lib_fft_kind(kind, true) == VP__FFT_HALF;
}

static bool takes_half(vp__lib_kind kind) {
    return vp__lib_fft_kind(kind, false) == VP__FFT_REAL;
}

/* The length of the transform of an axis that has so many elements. */
static int64_t length_of(const vp__lib_params *p, int64_t given) {
    if (p->fourier.length) return p->fourier.length;
    return takes_half(p->kind) ? 2 * (given - 1) : given;
}

vp__error *vp__size_transform(const vp__lib_params *p, int nin, const vp__shape *in,
                              const char *name, const char *where, int *ndim,
                              int64_t *dims) {
    (void)nin;
    const int axis = p->fourier.axis;
    const int64_t given = in[0].dims[axis], n = length_of(p, given);
    if (n < 1) {
        char text[200];
        return vp__error_new(
            VP_ERR_SHAPE, where,
            "%s: axis %d of shape %s has %lld element%s, which leaves nothing to "
            "transform; give the length, as in vp_%s(x, %d, n)",
            name, axis, vp__shape_text(text, sizeof text, in[0].ndim, in[0].dims),
            (long long)given, given == 1 ? "" : "s", vp__lib_rows[p->kind].name, axis);
    }
    *ndim = in[0].ndim;
    memcpy(dims, in[0].dims, (size_t)in[0].ndim * sizeof(int64_t));
    dims[axis] = gives_half(p->kind) ? n / 2 + 1 : n;
    return NULL;
}

/* About what all fibres take; by the shape alone. */
static double lanes_ns(const vp__node *n) {
    const vp__lib_params *p = vp__params_of(n);
    const double each = (double)vp__lib_rows[p->kind].cost;
    const double length = (double)length_of(p, n->in[0].dims[p->fourier.axis]);
    return (LANE_NS + each * length * log2(length + 1)) *
           (double)vp__library_lanes(n, p->fourier.axis);
}

static double cost(const vp__node *n) { return PLAN_NS + lanes_ns(n); }

static vp__error *no_memory(const vp__node *n) {
    char text[200];
    return vp__error_new(VP_ERR_MEMORY, n->where,
                         "%s: out of memory for the transform of shape %s", n->name,
                         vp__shape_text(text, sizeof text, n->ndim, n->dims));
}

static void begin(vp__node *n) {
    payload *w = n->payload;
    int64_t fibres = vp__library_lanes(n, w->p.fourier.axis);
    if (fibres == 0) return;
    vp_dtype t = (vp_dtype)n->in[0].dtype;
    n->pieces = vp__library_pieces(PIECES_PER_USUAL * lanes_ns(n), fibres);
    w->length = length_of(&w->p, n->in[0].dims[w->p.fourier.axis]);
    w->plan =
        vp__lib_fft_plan(vp__lib_fft_kind(w->p.kind, vp__dtype[t].cls == VP__CLASS_F),
                         t == VP_F32 || t == VP_C64, w->length);
    if (!w->plan) vp__node_fail(n, no_memory(n));
}

/* The transform, and what it has fused, of one of the pieces. */
static void count(vp__core *core, const vp__node *n, int64_t piece) {
    const vp__lib_params *p = vp__params_of(n);
    const uint64_t kernels = p->epilogue ? 2 : 1;
    const int64_t fibres = vp__library_lanes(n, p->fourier.axis);
    const int64_t mine = fibres * (piece + 1) / n->pieces - fibres * piece / n->pieces;
    if (piece == 0) vp__count(&core->counters.kernels, kernels);
    vp__count(&core->counters.elements,
              kernels * (uint64_t)(mine * n->dims[p->fourier.axis]));
}

/* Scratch comes with each piece, so that all that one thread runs have the same, which is
 * in its cache. Absolute values are what the transform writes where its results are complex
 * and the value is real: there is no other epilogue. */
static void piece(vp__node *n, int64_t i, vp__core *core) {
    const payload *w = n->payload;
    const int axis = w->p.fourier.axis;
    if (!w->plan) return;
    vp__view out = vp__library_output(n), in = vp__library_input(n, 0);
    size_t bytes = vp__lib_fft_scratch(w->plan, &out, &in, axis);
    void *scratch = vp__pool_alloc(bytes);
    if (!scratch) {
        vp__node_fail(n, no_memory(n));
        return;
    }
    vp__lib_fft(w->plan, &out, &in, axis, i, n->pieces, scratch);
    vp__pool_free(scratch, bytes);
    count(core, n, i);
}

static void deinit(vp__node *n) {
    payload *w = n->payload;
    vp__lib_fft_release(w->plan);
}

const vp__family vp__family_fourier = {.work = {.size = vp__library_size_node,
                                                .begin = begin,
                                                .piece = piece,
                                                .deinit = deinit},
                                       .payload = sizeof(payload),
                                       .cost = cost};
