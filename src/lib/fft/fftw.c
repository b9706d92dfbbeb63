/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening FFTW and calling it, a lane at a time.
 *
 * FFTW's plans, and so the bits of its results, depend on alignment, strides, how many lanes
 * there are and what was planned or measured before. So every plan is for one contiguous
 * lane between two aligned buffers, it is estimated and never measured, and it is made by a
 * planner that remembers nothing. What the program itself has made the planner remember (its
 * wisdom) is put aside meanwhile.
 *
 * Making plans is for one thread at a time; the caller sees to that. The program may be
 * planning too, in a thread of its own: where FFTW can be told to lock its planner, it is.
 */
#include "lib/fft/fftw.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"

enum { ALIGNMENT = 64, FORWARD = -1, BACKWARD = 1 };
enum { DESTROY_INPUT = 1 << 0, ESTIMATE = 1 << 6 };

/* The functions that are used, of the library for one type. */
typedef struct {
    void *(*plan)(int, void *, void *, int, unsigned);
    void *(*plan_r2c)(int, void *, void *, unsigned);
    void *(*plan_c2r)(int, void *, void *, unsigned);
    void (*execute)(const void *, void *, void *);
    void (*execute_r2c)(const void *, void *, void *);
    void (*execute_c2r)(const void *, void *, void *);
    void (*destroy)(void *);
    char *(*export_wisdom)(void);
    int (*import_wisdom)(const char *);
    void (*forget_wisdom)(void);
    const char *version;
    bool opened, usable;
} library;
static library libraries[2]; /* by `single`; guarded by the callers' lock until opened */

/* The address of a function, as POSIX lets a data pointer hold it, or of a string. */
static bool find(void *handle, const char *prefix, const char *name, void *pointer) {
    char symbol[64] = "";
    strncat(symbol, prefix, 8);
    strncat(symbol, name, 48);
    void *found = dlsym(handle, symbol);
    memcpy(pointer, &found, sizeof found);
    return found != NULL;
}

static bool bind(library *l, void *handle, const char *prefix) {
    return find(handle, prefix, "_plan_dft_1d", &l->plan) &&
           find(handle, prefix, "_plan_dft_r2c_1d", &l->plan_r2c) &&
           find(handle, prefix, "_plan_dft_c2r_1d", &l->plan_c2r) &&
           find(handle, prefix, "_execute_dft", &l->execute) &&
           find(handle, prefix, "_execute_dft_r2c", &l->execute_r2c) &&
           find(handle, prefix, "_execute_dft_c2r", &l->execute_c2r) &&
           find(handle, prefix, "_destroy_plan", &l->destroy) &&
           find(handle, prefix, "_export_wisdom_to_string", &l->export_wisdom) &&
           find(handle, prefix, "_import_wisdom_from_string", &l->import_wisdom) &&
           find(handle, prefix, "_forget_wisdom", &l->forget_wisdom);
}

static const library *open_library(bool single) {
    library *l = &libraries[single];
    if (l->opened) return l;
    l->opened = true;
    if (!vp__config_get()->fftw) return l;
    const char *prefix = single ? "fftwf" : "fftw";
    void *handle =
        dlopen(single ? "libfftw3f.so.3" : "libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return l;
    l->usable = bind(l, handle, prefix);
    if (!find(handle, prefix, "_version", &l->version)) l->version = "FFTW";
    void *threads = dlopen(single ? "libfftw3f_threads.so.3" : "libfftw3_threads.so.3",
                           RTLD_NOW | RTLD_LOCAL);
    void (*lock_planner)(void);
    if (threads && find(threads, prefix, "_make_planner_thread_safe", &lock_planner))
        lock_planner();
    return l;
}

const char *vp__fftw_version(bool single) {
    const library *l = open_library(single);
    return l->usable ? l->version : NULL;
}

static bool takes_complex(const vp__fft_plan *p) {
    return p->kind == VP__FFT_FORWARD || p->kind == VP__FFT_BACKWARD ||
           p->kind == VP__FFT_REAL;
}

static size_t component(const vp__fft_plan *p) {
    return p->single ? sizeof(float) : sizeof(double);
}

/* Bytes of one buffer: room for n complex numbers. */
static size_t buffer_bytes(const vp__fft_plan *p) {
    return ((size_t)p->n * 2 * component(p) + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

bool vp__fftw_plan(vp__fft_plan *p) {
    if (p->n > INT32_MAX / 2) return false;
    const library *l = open_library(p->single);
    if (!l->usable) return false;
    void *buffers = aligned_alloc(ALIGNMENT, 2 * buffer_bytes(p)); /* not touched */
    char *wisdom = buffers ? l->export_wisdom() : NULL;
    if (wisdom) {
        void *in = buffers, *out = (char *)buffers + buffer_bytes(p);
        unsigned flags = ESTIMATE | DESTROY_INPUT;
        l->forget_wisdom();
        if (p->kind == VP__FFT_REAL)
            p->fftw = l->plan_c2r((int)p->n, in, out, flags);
        else if (takes_complex(p))
            p->fftw = l->plan((int)p->n, in, out,
                              p->kind == VP__FFT_FORWARD ? FORWARD : BACKWARD, flags);
        else
            p->fftw = l->plan_r2c((int)p->n, in, out, flags);
        l->forget_wisdom();
        l->import_wisdom(wisdom);
    }
    free(wisdom);
    free(buffers);
    /* It does not say how large its plans are; their tables are about this. */
    if (p->fftw) p->bytes += buffer_bytes(p);
    return p->fftw != NULL;
}

void vp__fftw_free(vp__fft_plan *p) { libraries[p->single].destroy(p->fftw); }

size_t vp__fftw_scratch(const vp__fft_plan *p) { return 2 * buffer_bytes(p); }

/* out[i] = in[i] * by, for pairs with a factor each; a NaN is the one the built-in transform
 * gives. */
#define SCALE(type, from)                                                                \
    for (int64_t i = 0; i < numbers; i++) {                                              \
        const type *x = (const type *)in + 2 * (from);                                   \
        type re = x[0] * (type)by, im = x[1] * (type)by_im;                              \
        ((type *)out)[2 * i] = re != re ? (type)NAN : re;                                \
        ((type *)out)[2 * i + 1] = im != im ? (type)NAN : im;                            \
    }

static void scale_pairs(bool single, void *out, const void *in, int64_t numbers,
                        double by, double by_im) {
    if (single) {
        SCALE(float, i)
    } else {
        SCALE(double, i)
    }
}

/* The same of the numbers before in, backwards. */
static void scale_mirrored(bool single, void *out, const void *in, int64_t numbers,
                           double by, double by_im) {
    if (single) {
        SCALE(float, -i)
    } else {
        SCALE(double, -i)
    }
}

static void put_im(bool single, void *numbers, int64_t i, double value) {
    if (single)
        ((float *)numbers)[2 * i + 1] = (float)value;
    else
        ((double *)numbers)[2 * i + 1] = value;
}

static void run_lane(const vp__fft_plan *p, const vp__fft_fibres *lanes, int lane) {
    const library *l = &libraries[p->single];
    char *in = lanes->scratch, *made = in + buffer_bytes(p);
    char *out = lanes->out + lane * lanes->out_fibre;
    size_t size = component(p), number = 2 * size;
    int64_t have = lanes->have < p->inputs ? lanes->have : p->inputs;
    size_t taken = takes_complex(p) ? number : size;
    if (have > 0) /* of an empty axis there is not even an address */
        memcpy(in, lanes->in + lane * lanes->in_fibre, (size_t)have * taken);
    memset(in + (size_t)have * taken, 0, (size_t)(p->inputs - have) * taken);
    double by = p->inverse ? (double)(1 / (long double)p->n) : 1;
    if (p->kind == VP__FFT_REAL) {
        l->execute_c2r(p->fftw, in, made);
        if (p->n & 1) { /* a number and a half */
            scale_pairs(p->single, made, made, p->n / 2 + 1, by, by);
            memcpy(out, made, (size_t)p->n * size);
        } else {
            scale_pairs(p->single, out, made, p->n / 2, by, by);
        }
    } else if (takes_complex(p)) {
        l->execute(p->fftw, in, made);
        scale_pairs(p->single, out, made, p->n, by, by);
    } else {
        int64_t half = p->n / 2 + 1, rest = p->outputs - half;
        double by_im = p->kind == VP__FFT_WHOLE_BACKWARD ? -by : by;
        l->execute_r2c(p->fftw, in, made);
        /* What is zero by definition shall not become -0. */
        put_im(p->single, made, 0, by_im < 0 ? -0.0 : 0);
        if (p->n % 2 == 0) put_im(p->single, made, p->n / 2, by_im < 0 ? -0.0 : 0);
        scale_pairs(p->single, out, made, half, by, by_im);
        if (lanes->half) return;
        scale_mirrored(p->single, out + (size_t)half * number,
                       made + (size_t)rest * number, rest, by, -by_im);
    }
}

void vp__fftw_run(const vp__fft_plan *p, const vp__fft_fibres *lanes) {
    for (int i = 0; i < lanes->lanes; i++) run_lane(p, lanes, i);
}
