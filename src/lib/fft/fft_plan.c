/* SPDX-License-Identifier: Apache-2.0
 *
 * Making plans for Fourier transforms: what a length is made of, and its tables of roots.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/fft/fft.h"
#include "lib/fft/fftw.h"
#include "lib/loops.h"

static const int primes[] = {3, 5, 7, 11, VP__FFT_LARGEST};
enum { PRIMES = sizeof primes / sizeof *primes };

static bool is_smooth(int64_t n) {
    while (n % 2 == 0) n /= 2;
    for (int i = 0; i < PRIMES; i++)
        while (n % primes[i] == 0) n /= primes[i];
    return n == 1;
}

/* The shortest convolution that is quick: 8 * 2^a 3^b 5^c, and enough rows of 8. */
static int64_t convolution_length(int64_t numbers) {
    int64_t least = 2 * numbers - 1, best = 64;
    while (best < least) best *= 2;
    for (int64_t five = 8; five < best; five *= 5)
        for (int64_t three = five; three < best; three *= 3) {
            int64_t n = three;
            while (n < least || n < 64) n *= 2;
            if (n < best) best = n;
        }
    return best;
}

/* --- tables ------------------------------------------------------------------------------ */

/* Room for n components that the plan owns; NULL without memory. A vector may read beyond
 * the end. */
static void *table_new(vp__fft_plan *p, int64_t n) {
    size_t bytes =
        ((size_t)n * (p->single ? sizeof(float) : sizeof(double)) + 127) / 64 * 64;
    void *table = n < 0 || (size_t)n > SIZE_MAX / 32 ? NULL : aligned_alloc(64, bytes);
    if (!table) return NULL;
    p->table[p->tables++] = table;
    p->bytes += bytes;
    return table;
}

static void put(const vp__fft_plan *p, void *table, int64_t i, long double value) {
    if (p->single)
        ((float *)table)[i] = (float)value;
    else
        ((double *)table)[i] = (double)value;
}

/* Root number k as a pair of components. */
static void put_root(const vp__fft_plan *p, void *table, int64_t re, int64_t im,
                     const vp__fft_roots *roots, int64_t k) {
    long double a, b;
    vp__fft_roots_get(roots, k, &a, &b);
    put(p, table, re, a);
    put(p, table, im, b);
}

/* A pass's roots: for block p, those of order blocks * radix to the powers p, 2p, … An odd
 * radix that has no code of its own begins with its own roots. */
static const void *pass_roots(vp__fft_plan *plan, const vp__fft_pass *s,
                              const vp__fft_roots *roots) {
    int64_t own = s->radix > 5 && s->radix != 8 ? s->radix : 0;
    void *table = table_new(plan, 2 * (own + s->blocks * (s->radix - 1)));
    if (!table) return NULL;
    for (int64_t k = 0; k < own; k++)
        put_root(plan, table, 2 * k, 2 * k + 1, roots, roots->n / s->radix * k);
    int64_t at = own, unit = roots->n / (s->blocks * s->radix);
    for (int64_t p = 0; p < s->blocks; p++)
        for (int64_t k = 1; k < s->radix; k++, at++)
            put_root(plan, table, 2 * at, 2 * at + 1, roots, p * k * unit);
    return table;
}

/* Radices in the order of the passes: eights, with two fours in place of an eight and a
 * two. */
static int radices_of(int64_t rows, int *radix) {
    int count = 0, twos = 0;
    for (; rows % 2 == 0; rows /= 2) twos++;
    for (; twos >= 3 && twos != 4; twos -= 3) radix[count++] = 8;
    for (; twos >= 2; twos -= 2) radix[count++] = 4;
    if (twos) radix[count++] = 2;
    for (int i = 0; i < PRIMES; i++)
        for (; rows % primes[i] == 0; rows /= primes[i]) radix[count++] = primes[i];
    return count;
}

static bool make_core(vp__fft_plan *p, int64_t n) {
    vp__fft_core *c = &p->core;
    vp__fft_roots roots;
    int radix[VP__FFT_PASSES];
    c->n = n;
    c->folded = n % VP__FFT_LANES == 0 && n >= VP__FFT_LANES * VP__FFT_LANES;
    c->rows = c->folded ? n / VP__FFT_LANES : n;
    c->passes = radices_of(c->rows, radix);
    if (!vp__fft_roots_init(&roots, n)) return false;
    int64_t left = c->rows;
    bool made = true;
    for (int i = 0; i < c->passes && made; i++) {
        vp__fft_pass *s = &c->pass[i];
        s->radix = radix[i];
        s->count = c->rows / left;
        s->blocks = left /= radix[i];
        s->roots = pass_roots(p, s, &roots);
        made = s->roots != NULL;
    }
    if (made && c->folded) {
        void *turns = table_new(p, 2 * n);
        c->turns = turns;
        made = turns != NULL;
        for (int64_t i = 0; i < n && made; i++)
            put_root(p, turns, i, n + i, &roots, i / VP__FFT_LANES * (i % VP__FFT_LANES));
    }
    vp__fft_roots_deinit(&roots);
    return made;
}

/* Roots of order n for taking a packed real lane apart. */
static bool make_halves(vp__fft_plan *p) {
    vp__fft_roots roots;
    int64_t count = p->numbers / 2 + 1;
    void *table = table_new(p, 2 * count);
    p->halves = table;
    if (!table || !vp__fft_roots_init(&roots, p->n)) return false;
    for (int64_t k = 0; k < count; k++) put_root(p, table, k, count + k, &roots, k);
    vp__fft_roots_deinit(&roots);
    return true;
}

/* The chirp exp(-πi j²/n), and the spectrum of its inverse, laid around a circle of the
 * convolution's length. The spectrum is computed in double for either type. */
static bool make_chirp(vp__fft_plan *p) {
    int64_t n = p->numbers, all = p->core.n, square = 0;
    vp__fft_roots roots;
    void *chirp = table_new(p, 2 * n), *spectrum = table_new(p, 2 * all);
    p->chirp = chirp;
    p->spectrum = spectrum;
    if (!chirp || !spectrum || !vp__fft_roots_init(&roots, 2 * n)) return false;
    vp__fft_plan *helper = vp__fft_plan_new(VP__FFT_FORWARD, false, all, VP__FFT_BY_US);
    double *circle = aligned_alloc(64, ((size_t)all * 2 * sizeof(double) + 63) / 64 * 64);
    void *scratch = helper ? aligned_alloc(64, vp__fft_scratch(helper)) : NULL;
    bool made = helper && circle && scratch;
    if (made) {
        memset(circle, 0, (size_t)all * 2 * sizeof(double));
        for (int64_t j = 0; j < n; j++) {
            long double re, im;
            vp__fft_roots_get(&roots, square, &re, &im);
            put(p, chirp, j, re);
            put(p, chirp, n + j, im);
            int64_t mirrored = j ? all - j : 0;
            circle[2 * j] = circle[2 * mirrored] = (double)re;
            circle[2 * j + 1] = circle[2 * mirrored + 1] = (double)-im;
            square = (square + 2 * j + 1) % (2 * n); /* (j + 1)² */
        }
        size_t bytes = (size_t)all * 2 * sizeof(double);
        vp__fft_fibres lane = {.in = (const char *)circle,
                               .out = (char *)circle,
                               .in_fibre = (int64_t)bytes,
                               .out_fibre = (int64_t)bytes,
                               .have = all,
                               .lanes = 1,
                               .scratch = scratch};
        vp__fft_run(helper, &lane); /* reads all of a lane before it writes any */
        for (int64_t k = 0; k < all; k++) {
            put(p, spectrum, k, (long double)circle[2 * k] / (long double)all);
            put(p, spectrum, all + k, (long double)circle[2 * k + 1] / (long double)all);
        }
    }
    free(scratch);
    free(circle);
    vp__fft_plan_free(helper);
    vp__fft_roots_deinit(&roots);
    return made;
}

/* --- plans --------------------------------------------------------------------------------- */

/* Measured on Zen 4 with AVX-512 and with AVX2, FFTW 3.3.10 without measuring its plans: where
 * all prime factors have a radix we are quicker, in double by a tenth to a half, and so we
 * are with chirps for large factors. In between are these. In float they are not. */
static bool fftw_is_quicker(const vp__fft_plan *p) {
    int64_t rest = p->numbers;
    static const int between[] = {17, 19, 23};
    if (p->single || is_smooth(rest)) return false;
    for (int i = 0; i < 3; i++)
        while (rest % between[i] == 0) rest /= between[i];
    return is_smooth(rest);
}

vp__fft_plan *vp__fft_plan_new(vp__fft_kind kind, bool single, int64_t n, vp__fft_by by) {
    vp__fft_plan *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    bool real = kind != VP__FFT_FORWARD && kind != VP__FFT_BACKWARD;
    p->kind = kind;
    p->single = single;
    p->inverse = kind == VP__FFT_BACKWARD || kind == VP__FFT_WHOLE_BACKWARD ||
                 kind == VP__FFT_REAL;
    p->n = n;
    p->inputs = kind == VP__FFT_REAL ? n / 2 + 1 : n;
    p->outputs = kind == VP__FFT_HALF ? n / 2 + 1 : n;
    p->packed = real && n % 2 == 0;
    p->numbers = p->packed ? n / 2 : n;
    p->bytes = sizeof *p;
    bool smooth = is_smooth(p->numbers);
    bool fftw = by == VP__FFT_BY_FFTW || (by == VP__FFT_BY_QUICKER && fftw_is_quicker(p));
    if (fftw && vp__fftw_plan(p)) return p;
    bool made = make_core(p, smooth ? p->numbers : convolution_length(p->numbers));
    if (made && !smooth) made = make_chirp(p);
    if (made && p->packed) made = make_halves(p);
    if (made) return p;
    vp__fft_plan_free(p);
    return NULL;
}

void vp__fft_plan_free(vp__fft_plan *p) {
    if (!p) return;
    if (p->fftw) vp__fftw_free(p);
    for (int i = 0; i < p->tables; i++) free(p->table[i]);
    free(p);
}

size_t vp__fft_scratch(const vp__fft_plan *p) {
    if (p->fftw) return vp__fftw_scratch(p);
    int64_t plane = vp__fft_plane(&p->core, vp__fft_together(&p->core, VP__FFT_LANES));
    return (size_t)plane * 4 * (p->single ? sizeof(float) : sizeof(double));
}

void vp__fft_run(const vp__fft_plan *p, const vp__fft_fibres *lanes) {
    if (p->fftw)
        vp__fftw_run(p, lanes);
    else
        vp__loops_get()->fft(p, lanes);
}
