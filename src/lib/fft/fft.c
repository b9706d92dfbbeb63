/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms along an axis: plans that are kept, and the walk over the lanes. Lanes
 * that are contiguous are transformed where they are; others are gathered first, a group
 * of neighbours at a time, so that lines of memory are used whole.
 */
#include "lib/fft/fft.h"

#include <pthread.h>
#include <string.h>

#include "array/dtype.h"
#include "base/config.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"
#include "ops/kernels.h"

/* --- plans --------------------------------------------------------------------------------- */

enum {
    KEPT = 64,              /* plans that are kept */
    KEPT_BYTES = 64 << 20,  /* and what they may hold */
    STREAM_BYTES = 8 << 20, /* results larger than this are written past the cache */
    MOST_GATHERED = 32,
    GATHERED_BYTES = 1 << 20, /* of a core's cache */
    LOOKED_AT_BYTES = 1 << 18,
};

static struct {
    vp__fft_plan *plan[KEPT];
    int count;
    size_t bytes;
    uint64_t clock; /* counts uses; the plan used longest ago goes first */
} kept;

/* Guards `kept` and the counts of references. Held for a look-up only. */
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
/* Held while a plan is made: FFTW and the dynamic linker can serve one thread at a time, and
 * two threads that want the same new plan should not both make it. */
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

/* A child must find both locks free, and FFTW between two plans. */
static void before_fork(void) {
    pthread_mutex_lock(&planning);
    pthread_mutex_lock(&keeping);
}

static void after_fork(void) {
    pthread_mutex_unlock(&keeping);
    pthread_mutex_unlock(&planning);
}

void vp__lib_fft_init(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static vp__fft_plan *find(vp__fft_kind kind, bool single, int64_t n) {
    pthread_mutex_lock(&keeping);
    vp__fft_plan *found = NULL;
    for (int i = 0; i < kept.count && !found; i++) {
        vp__fft_plan *p = kept.plan[i];
        if (p->kind == kind && p->single == single && p->n == n) found = p;
    }
    if (found) {
        found->refs++;
        found->used = ++kept.clock;
    }
    pthread_mutex_unlock(&keeping);
    return found;
}

/* Takes the plan used longest ago out of those kept. Its references may outlive that. */
static vp__fft_plan *drop_oldest(void) {
    int oldest = 0;
    for (int i = 1; i < kept.count; i++)
        if (kept.plan[i]->used < kept.plan[oldest]->used) oldest = i;
    vp__fft_plan *p = kept.plan[oldest];
    kept.plan[oldest] = kept.plan[--kept.count];
    kept.bytes -= p->bytes;
    return --p->refs ? NULL : p;
}

/* Keeps a new plan: one reference is the caller's, one the table's. `planning` is held, so
 * what is thrown away can be freed. */
static void keep(vp__fft_plan *p) {
    vp__fft_plan *freed[KEPT];
    int nfreed = 0;
    pthread_mutex_lock(&keeping);
    p->refs = 1;
    if (p->bytes <= KEPT_BYTES) {
        while (kept.count == KEPT || kept.bytes + p->bytes > KEPT_BYTES) {
            vp__fft_plan *old = drop_oldest();
            if (old) freed[nfreed++] = old;
        }
        p->refs = 2;
        p->used = ++kept.clock;
        kept.plan[kept.count++] = p;
        kept.bytes += p->bytes;
    }
    pthread_mutex_unlock(&keeping);
    while (nfreed > 0) vp__fft_plan_free(freed[--nfreed]);
}

vp__fft_plan *vp__lib_fft_plan(vp__fft_kind kind, bool single, int64_t n) {
    vp__fft_plan *p = find(kind, single, n);
    if (p) return p;
    pthread_mutex_lock(&planning);
    p = find(kind, single, n); /* somebody may have made it meanwhile */
    if (!p) {
        p = vp__fft_plan_new(kind, single, n, VP__FFT_BY_QUICKER);
        if (p) keep(p);
    }
    pthread_mutex_unlock(&planning);
    return p;
}

void vp__lib_fft_release(vp__fft_plan *p) {
    if (!p) return;
    pthread_mutex_lock(&keeping);
    bool last = --p->refs == 0;
    pthread_mutex_unlock(&keeping);
    if (!last) return;
    pthread_mutex_lock(&planning); /* to free FFTW's plan, nobody may be planning */
    vp__fft_plan_free(p);
    pthread_mutex_unlock(&planning);
}

/* --- lanes ---------------------------------------------------------------------------------- */

/* Elements of a lane that are used. */
static int64_t used(const vp__fft_plan *p, const vp__view *in, int axis) {
    return in->dims[axis] < p->inputs ? in->dims[axis] : p->inputs;
}

static bool is_contiguous(const vp__view *v, int axis) {
    return v->strides[axis] == vp__dtype[v->dtype].size || v->dims[axis] == 1;
}

/* Whether magnitudes of the complex results are wanted, and not these. */
static bool is_magnitude(const vp__fft_plan *p, const vp__view *out) {
    return p->kind != VP__FFT_REAL && vp__dtype[out->dtype].cls == VP__CLASS_F;
}

/* Whether the second half of the results mirrors the first: conjugates have the same
 * magnitudes. */
static bool is_mirrored(const vp__fft_plan *p) {
    return p->kind == VP__FFT_WHOLE || p->kind == VP__FFT_WHOLE_BACKWARD;
}

static size_t padded(int64_t bytes) { return ((size_t)bytes + 127) / 64 * 64; }

/* Bytes from one gathered lane to the next: an odd number of lines, so that a group's
 * lanes do not meet in the same sets of the cache. */
static int64_t gathered_fibre(const vp__view *v, int64_t count) {
    return (int64_t)(padded(count * vp__dtype[v->dtype].size) | 64);
}

/* Lanes that are gathered or scattered at a time: as many as have room in the cache, since
 * each line of memory that they share is then touched once. A multiple of a group. */
static int fibres_together(int64_t bytes_of_a_fibre) {
    int lanes = MOST_GATHERED;
    while (lanes > VP__FFT_LANES && lanes * bytes_of_a_fibre > GATHERED_BYTES) lanes /= 2;
    return lanes;
}

/* Bytes of scratch for each of the lanes that are done together; 0 where there is none. */
typedef struct {
    int64_t in;      /* gathered operands */
    int64_t complex; /* results whose magnitudes are wanted */
    int64_t half;    /* magnitudes of the half that is mirrored */
    int64_t out;     /* what is scattered */
    int together;
} room;

static room room_of(const vp__fft_plan *p, const vp__view *out, const vp__view *in,
                    int axis) {
    room r = {0};
    if (!is_contiguous(in, axis)) r.in = gathered_fibre(in, used(p, in, axis));
    if (!is_contiguous(out, axis)) r.out = gathered_fibre(out, p->outputs);
    const bool magnitude = is_magnitude(p, out);
    if (magnitude && is_mirrored(p)) r.half = gathered_fibre(out, p->n / 2 + 1);
    if (magnitude)
        r.complex = (2 * (r.half ? r.half : gathered_fibre(out, p->outputs))) | 64;
    r.together = fibres_together(r.in + r.complex + r.half + r.out);
    /* Where nothing is moved, lanes are best looked at again while they are close. */
    if (magnitude && !r.in && !r.out) {
        r.together = VP__FFT_LANES;
        while (r.together > 1 && r.together * r.complex > LOOKED_AT_BYTES)
            r.together /= 2;
    }
    return r;
}

size_t vp__lib_fft_scratch(const vp__fft_plan *p, const vp__view *out, const vp__view *in,
                           int axis) {
    const room r = room_of(p, out, in, axis);
    return padded((int64_t)vp__fft_scratch(p)) + 64 /* to align it */ +
           (size_t)(r.together * (r.in + r.complex + r.half + r.out));
}

void vp__lib_fft(const vp__fft_plan *p, const vp__view *out, const vp__view *in, int axis,
                 int64_t part, int64_t parts, void *scratch) {
    vp__nest nest;
    vp__nest_init(&nest, out->ndim, out->dims);
    vp__nest_add(&nest, out->data, out->strides);
    vp__nest_add(&nest, in->data, in->strides);
    vp__nest_remove(&nest, axis);
    if (vp__nest_is_empty(&nest)) return;
    int out_size = vp__dtype[out->dtype].size, in_size = vp__dtype[in->dtype].size;
    int64_t bytes = vp__nest_count(&nest) * p->outputs * out_size;
    vp__nest_sort(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;

    const int64_t have = used(p, in, axis);
    const room r = room_of(p, out, in, axis);
    char *base = (char *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    char *gathered = base + padded((int64_t)vp__fft_scratch(p));
    char *numbers = gathered + r.together * r.in;
    char *halves = numbers + r.together * r.complex;
    char *scattered = halves + r.together * r.half;
    int last = nest.ndim - 1;
    int64_t count = last >= 0 ? nest.dims[last] : 1;
    int64_t out_fibre = last >= 0 ? nest.strides[0][last] : 0;
    int64_t in_fibre = last >= 0 ? nest.strides[1][last] : 0;
    const vp__op_fn magnitude =
        vp__kernels_get()->op[VP__OP_abs][p->single ? VP_C64 : VP_C128];
    vp__fft_fibres lanes = {.have = have, .scratch = base};
    lanes.half = r.half > 0;
    lanes.magnitude = magnitude;
    lanes.magnitudes_fibre = r.half;
    /* Only where a lane is transformed by itself, and `abs` is no call of C's function. */
    const bool measures =
        r.half && !p->single && !p->fftw && p->core.folded && !vp__config_get()->accurate;
    const bool streams = bytes > STREAM_BYTES && !r.out;
    lanes.streams = streams && !r.complex;
    lanes.in_fibre = r.in ? r.in : in_fibre;
    lanes.out_fibre = r.complex ? r.complex : r.out ? r.out : out_fibre;
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    do {
        for (int64_t i = 0; i < count; i += r.together) {
            int64_t some = count - i < r.together ? count - i : r.together;
            char *from = walk.at[1] + i * in_fibre, *to = walk.at[0] + i * out_fibre;
            char *source = r.in ? gathered : from;
            char *result = r.out ? scattered : to;
            char *target = r.complex ? numbers : result;
            if (r.in) {
                vp__plane plane = {gathered,       from,    some,     have,
                                   lanes.in_fibre, in_size, in_fibre, in->strides[axis]};
                vp__move_plane(&plane, in_size);
            }
            for (int64_t k = 0; k < some; k += VP__FFT_LANES) {
                lanes.lanes = (int)(some - k < VP__FFT_LANES ? some - k : VP__FFT_LANES);
                lanes.in = source + k * lanes.in_fibre;
                lanes.out = target + k * lanes.out_fibre;
                if (measures) lanes.magnitudes = (double *)(halves + k * r.half);
                vp__fft_run(p, &lanes);
            }
            const int64_t result_fibre = r.out ? r.out : out_fibre;
            const int64_t looked_at = r.half ? p->n / 2 + 1 : p->outputs;
            for (int64_t k = 0; k < some && r.complex && !measures; k++)
                magnitude(r.half ? halves + k * r.half : result + k * result_fibre,
                          numbers + k * r.complex, NULL, NULL, looked_at);
            if (r.half) {
                const vp__fft_mirror mirror = {halves,       result,    r.half,
                                               result_fibre, looked_at, p->outputs,
                                               (int)some,    p->single, streams};
                vp__loops_get()->fft_mirror(&mirror);
            }
            if (r.out) {
                vp__plane plane = {
                    to,        scattered, p->outputs, some, out->strides[axis],
                    out_fibre, out_size,  r.out};
                vp__move_plane(&plane, out_size);
            }
        }
    } while (vp__walk_next(&walk));
}
