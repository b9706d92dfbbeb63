/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms: every kind, type, length and layout against the definition in long
 * double; that a lane's bits depend on the lane alone; plans; and the instructions.
 */
#include "lib/fft/fft.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array/dtype.h"
#include "lib/loops.h"
#include "ops/kernels.h"
#include "tests/net_support.h"

static const long double PI = 3.141592653589793238462643383279502884L;

/* Which of the kinds take complex lanes, and which give them. */
static bool takes_complex(vp__fft_kind kind) {
    return kind == VP__FFT_FORWARD || kind == VP__FFT_BACKWARD || kind == VP__FFT_REAL;
}
static bool gives_complex(vp__fft_kind kind) { return kind != VP__FFT_REAL; }

static vp_dtype type_of(bool is_complex, bool single) {
    if (is_complex) return single ? VP_C64 : VP_C128;
    return single ? VP_F32 : VP_F64;
}

static double component(const void *data, bool single, int64_t i) {
    return single ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* Numbers between -1 and 1, the same on every run. */
static void fill(void *data, bool single, int64_t components, uint64_t seed) {
    for (int64_t i = 0; i < components; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value = (double)(int64_t)(seed >> 11) * 0x1p-52 - 1;
        if (single)
            ((float *)data)[i] = (float)value;
        else
            ((double *)data)[i] = value;
    }
}

/* --- against the definition ------------------------------------------------------------- */

/* Element j of what is transformed, as the definition sees it. */
static long double complex element(const vp__fft_plan *p, const void *in, int64_t have,
                                   int64_t j) {
    bool mirrored = p->kind == VP__FFT_REAL && j > p->n / 2;
    int64_t at = mirrored ? p->n - j : j;
    if (at >= have) return 0;
    if (!takes_complex(p->kind)) return (long double)component(in, p->single, at);
    long double re = component(in, p->single, 2 * at);
    long double im = component(in, p->single, 2 * at + 1);
    if (p->kind == VP__FFT_REAL && (at == 0 || 2 * at == p->n)) im = 0;
    return re + (mirrored ? -im : im) * (long double complex)I;
}

/* The norm of what a lane's transform is off by, over the norm of the lane's transform. */
static double error_of(const vp__fft_plan *p, const void *in, int64_t have,
                       const void *out) {
    int64_t n = p->n;
    long double complex *root = malloc((size_t)n * sizeof *root),
                        *x = malloc((size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        long double angle = 2 * PI * (long double)k / (long double)n;
        root[k] =
            cosl(angle) + (p->inverse ? 1 : -1) * sinl(angle) * (long double complex)I;
        x[k] = element(p, in, have, k);
    }
    long double off = 0, norm = 0;
    for (int64_t k = 0; k < p->outputs; k++) {
        long double complex sum = 0;
        for (int64_t j = 0, at = 0; j < n; j++, at = (at + k) % n) sum += x[j] * root[at];
        if (p->inverse) sum /= (long double)n;
        long double complex got = component(out, p->single, k);
        if (gives_complex(p->kind))
            got = component(out, p->single, 2 * k) +
                  component(out, p->single, 2 * k + 1) * (long double complex)I;
        else
            sum = creall(sum);
        off += creall((got - sum) * conjl(got - sum));
        norm += creall(sum * conjl(sum));
    }
    free(root);
    free(x);
    return norm > 0 ? (double)sqrtl(off / norm) : (double)sqrtl(off);
}

/* Runs `lanes` lanes of `have` elements, packed, and returns the results, packed. */
static char *transformed(const vp__fft_plan *p, const char *in, int64_t have, int lanes) {
    size_t size = p->single ? 4 : 8;
    size_t in_fibre = (size_t)have * size * (takes_complex(p->kind) ? 2 : 1);
    size_t out_fibre = (size_t)p->outputs * size * (gives_complex(p->kind) ? 2 : 1);
    char *out = malloc(out_fibre * (size_t)lanes);
    void *scratch = aligned_alloc(64, (vp__fft_scratch(p) + 63) / 64 * 64);
    for (int first = 0; first < lanes; first += VP__FFT_LANES) {
        vp__fft_fibres l = {.in = in + (size_t)first * in_fibre,
                            .out = out + (size_t)first * out_fibre,
                            .in_fibre = (int64_t)in_fibre,
                            .out_fibre = (int64_t)out_fibre,
                            .have = have,
                            .lanes = lanes - first < VP__FFT_LANES ? lanes - first
                                                                   : VP__FFT_LANES,
                            .scratch = scratch};
        vp__fft_run(p, &l);
    }
    free(scratch);
    return out;
}

static const int64_t lengths[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,
                                  12,  13,  14,  15,  16,  17,  19,  23,  24,  26,  30,
                                  31,  34,  37,  44,  48,  49,  60,  64,  65,  72,  77,
                                  91,  96,  97,  100, 120, 121, 125, 127, 128, 129, 136,
                                  143, 144, 169, 192, 243, 256, 289, 320, 343, 360, 384};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void check_lengths(vp__fft_by by, const int64_t *n, int count) {
    for (int kind = 0; kind < VP__FFT_KINDS; kind++)
        for (int single = 0; single < 2; single++)
            for (int i = 0; i < count; i++) {
                vp__fft_plan *p = vp__fft_plan_new((vp__fft_kind)kind, single, n[i], by);
                VP_CHECK(p != NULL);
                if (by == VP__FFT_BY_FFTW && !p->fftw) VP_SKIP("there is no FFTW");
                int lanes = 1 + i % 9;
                size_t lane = (size_t)p->inputs * (single ? 4 : 8) *
                              (takes_complex(p->kind) ? 2 : 1);
                size_t out_fibre = (size_t)p->outputs * (single ? 4 : 8) *
                                   (gives_complex(p->kind) ? 2 : 1);
                char *in = malloc(lane * (size_t)lanes);
                fill(in, single, (int64_t)(lane * (size_t)lanes) / (single ? 4 : 8),
                     (uint64_t)(n[i] + kind));
                char *out = transformed(p, in, p->inputs, lanes);
                int last = lanes - 1;
                double error = error_of(p, in + lane * (size_t)last, p->inputs,
                                        out + out_fibre * (size_t)last);
                double bound = (single ? 0x1p-24 : 0x1p-53) * (1.5 + log2((double)n[i]));
                if (!(error <= bound))
                    VP_FAIL("kind %d, single %d, n = %lld: the error is %g, the bound %g",
                            kind, single, (long long)n[i], error, bound);
                free(out);
                free(in);
                vp__fft_plan_free(p);
            }
}

VP_TEST_TIMEOUT(built_in_is_accurate, 60) {
    check_lengths(VP__FFT_BY_US, lengths, LENGTHS);
}

VP_TEST_TIMEOUT(fftw_is_accurate, 60) {
    check_lengths(VP__FFT_BY_FFTW, lengths, LENGTHS);
}

VP_TEST_TIMEOUT(long_lanes_are_accurate, 120) {
    static const int64_t n[] = {1000, 1001, 1009, 1024, 1536, 2048};
    check_lengths(VP__FFT_BY_US, n, sizeof n / sizeof *n);
}

/* Too long for the definition: one frequency in, one number out, at a place that tells. */
VP_TEST_TIMEOUT(very_long_lanes, 60) {
    static const int64_t lengths_tried[] = {65536, 100003, 177147, 262144, 360360};
    for (int i = 0; i < 5; i++) {
        int64_t n = lengths_tried[i], at = n / 3;
        vp__fft_roots roots;
        VP_CHECK(vp__fft_roots_init(&roots, n));
        double *x = malloc((size_t)n * 2 * sizeof *x);
        for (int64_t j = 0; j < n; j++) {
            long double re, im;
            vp__fft_roots_get(&roots, j * at % n, &re, &im);
            x[2 * j] = (double)re;
            x[2 * j + 1] = (double)-im;
        }
        vp__fft_plan *p = vp__fft_plan_new(VP__FFT_FORWARD, false, n, VP__FFT_BY_US);
        double *y = (double *)(void *)transformed(p, (const char *)x, n, 1);
        for (int64_t k = 0; k < n; k++) {
            VP_CHECK_NEAR(y[2 * k], k == at ? (double)n : 0, (double)n * 1e-14);
            VP_CHECK_NEAR(y[2 * k + 1], 0, (double)n * 1e-14);
        }
        free(x);
        free(y);
        vp__fft_plan_free(p);
        vp__fft_roots_deinit(&roots);
    }
}

VP_TEST(roots_are_symmetric) {
    for (int64_t n = 1; n < 300; n++) {
        vp__fft_roots roots;
        VP_CHECK(vp__fft_roots_init(&roots, n));
        for (int64_t k = 0; k < n; k++) {
            long double re, im, re2, im2;
            vp__fft_roots_get(&roots, k, &re, &im);
            vp__fft_roots_get(&roots, (n - k) % n, &re2, &im2);
            VP_CHECK(re == re2 && (im == -im2 || k == 0));
            VP_CHECK_NEAR((double)re, cos(2 * M_PI * (double)k / (double)n), 3e-15);
            VP_CHECK_NEAR((double)im, -sin(2 * M_PI * (double)k / (double)n), 3e-15);
            if (4 * k == n) VP_CHECK(re == 0 && im == -1);
            if (2 * k == n) VP_CHECK(re == -1 && im == 0);
        }
        vp__fft_roots_deinit(&roots);
    }
}

/* The second half of a real lane's transform is exactly the first one's conjugate. */
VP_TEST(real_lanes_are_mirrored) {
    for (int by = VP__FFT_BY_QUICKER; by <= VP__FFT_BY_FFTW; by++)
        for (int i = 0; i < LENGTHS; i++) {
            int64_t n = lengths[i];
            double x[512];
            fill(x, false, n, 1);
            vp__fft_plan *whole =
                vp__fft_plan_new(VP__FFT_WHOLE, false, n, (vp__fft_by)by);
            vp__fft_plan *half = vp__fft_plan_new(VP__FFT_HALF, false, n, (vp__fft_by)by);
            double *y = (double *)(void *)transformed(whole, (const char *)x, n, 1);
            double *z = (double *)(void *)transformed(half, (const char *)x, n, 1);
            VP_CHECK_BYTES(y, z, (size_t)(n / 2 + 1) * 16);
            VP_CHECK(y[1] == 0);
            if (n % 2 == 0) VP_CHECK(y[n + 1] == 0);
            for (int64_t k = 1; k < n; k++)
                VP_CHECK(y[2 * k] == y[2 * (n - k)] &&
                         y[2 * k + 1] == -y[2 * (n - k) + 1]);
            free(y);
            free(z);
            vp__fft_plan_free(whole);
            vp__fft_plan_free(half);
        }
}

/* --- a lane's bits are its own ------------------------------------------------------------ */

/* Shapes and strides of a view of `lanes` lanes in a block, one way of several; returns the
 * bytes of the block, and where element 0,0 is. */
typedef struct {
    int64_t dims[3], strides[3], offset, bytes;
    int axis;
} layout;

static layout layout_of(int way, int64_t n, int64_t lanes, int64_t size) {
    switch (way) {
    case 0: /* lanes are rows */
        return (layout){{lanes, n}, {n * size, size}, 0, lanes * n * size, 1};
    case 1: /* lanes are columns, side by side */
        return (layout){{n, lanes}, {lanes * size, size}, 0, lanes * n * size, 0};
    case 2: /* columns, one after another, off the alignment by one element */
        return (layout){
            {n, lanes}, {size, (n + 1) * size}, size, (lanes * (n + 1) + 1) * size, 0};
    case 3: /* backwards both ways */
        return (layout){
            {lanes, n}, {-n * size, -size}, (lanes * n - 1) * size, lanes * n * size, 1};
    default: /* every second element */
        return (layout){{lanes, n}, {2 * n * size, 2 * size}, 0, 2 * lanes * n * size, 1};
    }
}

/* The lane's element i. */
static char *place(const layout *l, char *block, int64_t lane, int64_t i) {
    return block + l->offset + i * l->strides[l->axis] + lane * l->strides[1 - l->axis];
}

VP_TEST_TIMEOUT(bits_depend_on_the_lane_alone, 60) {
    static const int64_t n[] = {1, 2, 5, 8, 15, 17, 64, 77, 100, 128, 131, 256};
    enum { LANES = 19 };
    for (int kind = 0; kind < VP__FFT_KINDS; kind++)
        for (int single = 0; single < 2; single++)
            for (int i = 0; i < 12; i++) {
                vp__fft_plan *p = vp__lib_fft_plan((vp__fft_kind)kind, single, n[i]);
                vp_dtype ti = type_of(takes_complex(p->kind), single),
                         to = type_of(gives_complex(p->kind), single);
                int64_t in_size = vp__dtype[ti].size, out_size = vp__dtype[to].size;
                char *x = malloc((size_t)(p->inputs * in_size * LANES));
                fill(x, single, p->inputs * in_size * LANES / (single ? 4 : 8), 7);
                memset(x + 3 * in_size * p->inputs, 255, (size_t)in_size); /* a NaN */
                /* One lane at a time is the reference. */
                char *y = malloc((size_t)(p->outputs * out_size * LANES));
                for (int lane = 0; lane < LANES; lane++) {
                    char *one =
                        transformed(p, x + lane * p->inputs * in_size, p->inputs, 1);
                    memcpy(y + lane * p->outputs * out_size, one,
                           (size_t)(p->outputs * out_size));
                    free(one);
                }
                for (int way = 0; way < 25; way++) {
                    layout li = layout_of(way % 5, p->inputs, LANES, in_size);
                    layout lo = layout_of(way / 5, p->outputs, LANES, out_size);
                    if (li.axis != lo.axis) continue;
                    char *in = malloc((size_t)li.bytes), *out = malloc((size_t)lo.bytes);
                    for (int64_t lane = 0; lane < LANES; lane++)
                        for (int64_t k = 0; k < p->inputs; k++)
                            memcpy(place(&li, in, lane, k),
                                   x + (lane * p->inputs + k) * in_size, (size_t)in_size);
                    vp__view vi = {in + li.offset, li.dims, li.strides, 2, ti};
                    vp__view vo = {out + lo.offset, lo.dims, lo.strides, 2, to};
                    void *scratch = malloc(vp__lib_fft_scratch(p, &vo, &vi, li.axis));
                    int parts = 1 + (way + i) % 7;
                    for (int part = 0; part < parts; part++)
                        vp__lib_fft(p, &vo, &vi, li.axis, part, parts, scratch);
                    for (int64_t lane = 0; lane < LANES; lane++)
                        for (int64_t k = 0; k < p->outputs; k++)
                            VP_CHECK_BYTES(place(&lo, out, lane, k),
                                           y + (lane * p->outputs + k) * out_size,
                                           (size_t)out_size);
                    free(scratch);
                    free(in);
                    free(out);
                }
                free(x);
                free(y);
                vp__lib_fft_release(p);
            }
}

typedef void (*run_fn)(const struct vp__fft_plan *, const struct vp__fft_fibres *);
VP__LOOPS_DECLARE(baseline)
#ifdef VP_HAVE_AVX2
VP__LOOPS_DECLARE(avx2)
#endif
#ifdef VP_HAVE_AVX512
VP__LOOPS_DECLARE(avx512)
#endif

static const struct {
    const char *isa;
    run_fn run;
} runs[] = {
    {"baseline", vp__loops_fft_baseline},
#ifdef VP_HAVE_AVX2
    {"avx2", vp__loops_fft_avx2},
#endif
#ifdef VP_HAVE_AVX512
    {"avx512", vp__loops_fft_avx512},
#endif
};

VP_TEST_TIMEOUT(instruction_sets_have_the_same_bits, 60) {
    enum { LANES = 8, ROOM = LANES * 512 * 16 };
    static _Alignas(64) char in[ROOM], want[ROOM], got[ROOM];
    for (size_t r = 1; r < sizeof runs / sizeof *runs; r++) {
        if (!vp__kernels_for(runs[r].isa)) continue;
        for (int kind = 0; kind < VP__FFT_KINDS; kind++)
            for (int single = 0; single < 2; single++)
                for (int i = 0; i < LENGTHS; i++) {
                    vp__fft_plan *p = vp__fft_plan_new((vp__fft_kind)kind, single,
                                                       lengths[i], VP__FFT_BY_US);
                    fill(in, single, ROOM / (single ? 4 : 8), (uint64_t)i);
                    memset(want, 0, ROOM);
                    memset(got, 0, ROOM);
                    vp__fft_fibres l = {.in = in,
                                        .out = want,
                                        .in_fibre = 512 * 16 - 16,
                                        .out_fibre = 512 * 16 - 16,
                                        .have = p->inputs - i % 3,
                                        .lanes = 1 + i % 8,
                                        .streams = i % 2,
                                        .scratch = aligned_alloc(64, vp__fft_scratch(p))};
                    if (l.have < 0) l.have = 0;
                    runs[0].run(p, &l);
                    l.out = got;
                    runs[r].run(p, &l);
                    VP_CHECK_BYTES(want, got, ROOM);
                    free(l.scratch);
                    vp__fft_plan_free(p);
                }
    }
}

/* --- plans ---------------------------------------------------------------------------------- */

VP_TEST(plans_are_kept_and_shared) {
    vp__fft_plan *a = vp__lib_fft_plan(VP__FFT_FORWARD, false, 48);
    vp__fft_plan *b = vp__lib_fft_plan(VP__FFT_FORWARD, false, 48);
    VP_CHECK(a == b);
    vp__fft_plan *other = vp__lib_fft_plan(VP__FFT_FORWARD, true, 48);
    VP_CHECK(other != a);
    vp__lib_fft_release(other);
    other = vp__lib_fft_plan(VP__FFT_BACKWARD, false, 48);
    VP_CHECK(other != a);
    vp__lib_fft_release(other);
    for (int n = 1; n < 500; n++)
        vp__lib_fft_release(vp__lib_fft_plan(VP__FFT_HALF, n & 1, n));
    VP_CHECK_EQ(a->n, 48); /* thrown out by now, but not from under us */
    char zeros[48 * 16] = {0}, *out = transformed(a, zeros, 48, 1);
    free(out);
    vp__lib_fft_release(a);
    vp__lib_fft_release(b);
    /* One that is too large to be kept. */
    a = vp__lib_fft_plan(VP__FFT_FORWARD, false, 1 << 22);
    VP_CHECK(a != NULL);
    vp__lib_fft_release(a);
}

static void *plan_and_run(void *seed) {
    uint64_t r = (uintptr_t)seed;
    for (int i = 0; i < 300; i++) {
        r = r * UINT64_C(6364136223846793005) + 1;
        int64_t n = 1 + (int64_t)((r >> 33) % 130);
        vp__fft_plan *p = vp__lib_fft_plan(VP__FFT_WHOLE, r >> 63, n);
        double x[130], *y;
        fill(x, p->single, n, 3);
        y = (double *)(void *)transformed(p, (const char *)x, n, 1);
        double sum = 0, first = component(y, p->single, 0);
        for (int64_t k = 0; k < n; k++) sum += component(x, p->single, k);
        VP_CHECK_NEAR(first, sum, 1e-4);
        free(y);
        vp__lib_fft_release(p);
    }
    return NULL;
}

VP_TEST_TIMEOUT(threads_plan_at_once, 60) {
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        VP_CHECK_EQ(pthread_create(&threads[i], NULL, plan_and_run, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static _Atomic bool enough;

static void *make_plans(void *unused) {
    (void)unused;
    for (int n = 17; !enough; n = n == 600 ? 17 : n + 1)
        vp__lib_fft_release(vp__lib_fft_plan(VP__FFT_FORWARD, false, n));
    return NULL;
}

/* A fork while another thread makes plans: the child's locks are free. */
VP_TEST_TIMEOUT(children_can_plan, 60) {
    vp__test_threads(3);
    vp_sync(); /* which makes the processor ready for forks */
    pthread_t thread;
    VP_CHECK_EQ(pthread_create(&thread, NULL, make_plans, NULL), 0);
    for (int i = 0; i < 20; i++) {
        usleep(500);
        pid_t child = fork();
        VP_CHECK_GE(child, 0);
        if (child == 0) {
            double first = 0; /* the sum of ones */
            vp_expr x = vp_fft(vp_ones(VP_F64, vp_shape(700 + i)), 0);
            vp_item(vp_real(vp_get(x, 0)), &first);
            _exit(fabs(first - 700 - i) < 1e-9 ? 0 : 1);
        }
        int status;
        VP_CHECK_EQ(waitpid(child, &status, 0), child);
        VP_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    enough = true;
    pthread_join(thread, NULL);
}

/* --- the instructions ------------------------------------------------------------------------ */

VP_TEST(small_ones) {
    vp_array x = vp__test_counting(4);
    VP_CHECK_COMPLEX(vp_fft(x, 0), 6, 0, -2, 2, -2, 0, -2, -2);
    VP_CHECK_COMPLEX(vp_rfft(x, -1), 6, 0, -2, 2, -2, 0);
    VP_CHECK_COMPLEX(vp_ifft(x, 0), 1.5, 0, -.5, -.5, -.5, 0, -.5, .5);
    VP_CHECK_VALUES(vp_irfft(vp_rfft(x, 0), 0), 0, 1, 2, 3);
    VP_CHECK_COMPLEX(vp_ifft(vp_fft(x, 0), 0), 0, 0, 1, 0, 2, 0, 3, 0);
    VP_CHECK_COMPLEX(vp_fft(x, 0, 2), 1, 0, -1, 0);
    VP_CHECK_COMPLEX(vp_fft(vp_get(x, vp_until(2)), 0, 4), 1, 0, 0, -1, -1, 0, 0, 1);
    VP_CHECK_COMPLEX(vp_fft(vp_get(x, vp_until(1)), 0), 0, 0);
    VP_CHECK_VALUES(vp_irfft(x, 0, 1), 0);
    VP_CHECK_VALUES(vp_irfft(vp_get(x, vp_until(2)), 0), .5, -.5);
    VP_CHECK_SHAPE(vp_irfft(x, 0), 6);
    VP_CHECK_SHAPE(vp_rfft(x, 0, 7), 4);
    vp_array m = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    VP_CHECK_COMPLEX(vp_fft(m, 0), 3, 0, 5, 0, 7, 0, -3, 0, -3, 0, -3, 0);
    VP_CHECK_SHAPE(vp_rfft(m, 1), 2, 2);
    VP_CHECK_COMPLEX(vp_rfft(vp_transpose(m), 1), 3, 0, -3, 0, 5, 0, -3, 0, 7, 0, -3, 0);
    /* An axis without elements, and lanes of which there are none. */
    VP_CHECK_COMPLEX(vp_fft(vp_zeros(VP_F64, vp_shape(1, 0)), 1, 2), 0, 0, 0, 0);
    VP_CHECK_SHAPE(vp_rfft(vp_zeros(VP_F32, vp_shape(0, 5)), 1), 0, 3);
    VP_CHECK_OK(vp_wait(vp_rfft(vp_zeros(VP_F32, vp_shape(0, 5)), 1)));
}

VP_TEST(types_as_numpy) {
    for (int t = VP_BOOL; t <= VP_C128; t++) {
        vp_scope s = vp_begin();
        vp_array x = vp_let(vp_ones((vp_dtype)t, vp_shape(2, 4)));
        bool single = t == VP_F32 || t == VP_C64;
        VP_CHECK_TYPE(vp_fft(x, 0), single ? VP_C64 : VP_C128);
        VP_CHECK_TYPE(vp_ifft(x, 1), single ? VP_C64 : VP_C128);
        VP_CHECK_TYPE(vp_irfft(x, 1), single ? VP_F32 : VP_F64);
        VP_CHECK_COMPLEX(vp_fft(vp_get(x, 0), 0), 4, 0, 0, 0, 0, 0, 0,
                         t < VP_C64 ? -0.0 : 0);
        if (t < VP_C64) {
            VP_CHECK_TYPE(vp_rfft(x, 0), single ? VP_C64 : VP_C128);
            VP_CHECK_COMPLEX(vp_rfft(vp_get(x, 0), 0), 4, 0, 0, 0, 0, 0);
        }
        vp_end(s);
    }
}

VP_TEST(mistakes_are_named) {
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(3, 4)));
    VP_CHECK_ERROR(vp_wait(vp_fft(x, 2)), VP_ERR_INDEX, "fft: axis 2");
    VP_CHECK_ERROR(vp_wait(vp_ifft(x, -3)), VP_ERR_INDEX, "ifft: axis -3");
    VP_CHECK_ERROR(vp_wait(vp_rfft(x, 0, 0)), VP_ERR_VALUE, "rfft: the length 0");
    VP_CHECK_ERROR(vp_wait(vp_irfft(x, 0, -1)), VP_ERR_VALUE, "irfft: the length -1");
    VP_CHECK_ERROR(vp_wait(vp_fft(1.0, 0)), VP_ERR_SHAPE, "shape () has no axis");
    VP_CHECK_ERROR(vp_wait(vp_rfft(vp_cast(x, VP_C64), 0)), VP_ERR_TYPE,
                   "rfft: takes real elements, not complex64");
    VP_CHECK_ERROR(vp_wait(vp_fft(vp_zeros(VP_F64, vp_shape(3, 0)), 1)), VP_ERR_SHAPE,
                   "axis 1 of shape (3, 0)");
    VP_CHECK_ERROR(vp_wait(vp_irfft(vp_get(x, VP_ALL, vp_until(1)), 1)), VP_ERR_SHAPE,
                   "axis 1 of shape (3, 1)");
    VP_CHECK_ERROR(vp_wait(vp_fft(x, 0, INT64_MAX / 2)), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_fft(vp_fft(x, 5), 0)), VP_ERR_INDEX, "test_fft.c:");
}

/* Sizes that come late are transformed like any other, and late mistakes poison. */
VP_TEST(late_sizes) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(64);
    vp__gate size, gate;
    vp_array late = vp_let(VP_GATED_SIZE(vp_get(x, vp_lt(x, 4.0)), &size, &gate));
    vp_array y = vp_let(vp_fft(late, 0)), z = vp_let(vp_rfft(late, 0, 2));
    vp_array sum = vp_let(vp_add(vp_real(y), 1.0));
    vp_array none = vp_let(vp_fft(vp_get(x, vp_gt(x, 1000.0)), 0));
    vp_array after = vp_let(vp_add(none, 1.0));
    vp__gate_open(&size);
    VP_CHECK_EQ(vp_size(y), 4);
    VP_CHECK_EQ(vp_size(z), 2);
    vp__gate_open(&gate);
    VP_CHECK_COMPLEX(y, 6, 0, -2, 2, -2, 0, -2, -2);
    VP_CHECK_COMPLEX(z, 1, 0, -1, 0);
    VP_CHECK_VALUES(sum, 7, -1, -1, -1);
    VP_CHECK_ERROR(vp_wait(after), VP_ERR_SHAPE, "fft: axis 0 of shape (0,)");
    vp_end(s);
    VP_CHECK_OK(vp_sync());
}

/* Magnitudes of a transform that nobody else sees are computed on the way, with the bits of
 * those of a transform that is there. */
static void check_magnitudes(vp_expr fused, vp_expr transform) {
    vp_array apart = vp_let(transform);
    vp_array there = vp_let(vp_abs(apart)), close = vp_let(fused);
    const int64_t count = vp_size(there);
    VP_CHECK_EQ(vp_size(close), count);
    const size_t bytes = (size_t)(count * vp__dtype[vp_dtype_of(there)].size);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    VP_CHECK_OK(vp_read(there, a, bytes));
    VP_CHECK_OK(vp_read(close, b, bytes));
    VP_CHECK_EQ(memcmp(a, b, bytes), 0);
    free(a);
    free(b);
}

VP_TEST(magnitudes) {
    vp__test_threads(2);
    static const int64_t lengths[] = {1, 2, 7, 8, 30, 64, 97, 256, 1031, 4096};
    enum { LANES = 11 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        vp_scope s = vp_begin();
        const int64_t n = lengths[i];
        double *values = malloc((size_t)(n * LANES) * sizeof *values);
        fill(values, false, n * LANES, (uint64_t)n);
        vp_array rows = vp_let(vp_from(VP_F64, vp_shape(LANES, n), values));
        vp_array columns = vp_let(vp_from(VP_F64, vp_fshape(n, LANES), values));
        vp_array other = vp_let(vp_mul(columns, 0.5 - 2 * I));
        free(values);
        check_magnitudes(vp_abs(vp_fft(rows, 1)), vp_fft(rows, 1));
        check_magnitudes(vp_abs(vp_fft(rows, 0)), vp_fft(rows, 0)); /* scattered */
        check_magnitudes(vp_abs(vp_fft(columns, 0)), vp_fft(columns, 0));
        check_magnitudes(vp_abs(vp_rfft(columns, 0)), vp_rfft(columns, 0));
        check_magnitudes(vp_abs(vp_ifft(other, 0)), vp_ifft(other, 0));
        check_magnitudes(vp_abs(vp_fft(other, 1, 20)), vp_fft(other, 1, 20));
        vp_end(s);
    }
}

/* Numbers whose squares overflow, vanish or are none, in some lanes and not in others; results
 * that are written past the cache; and the inverse, which is scaled. */
VP_TEST(unusual_magnitudes) {
    static const int lengths[] = {1, 2, 7, 64, 100, 256, 1000};
    static const double unusual[] = {1e200, 1e-200, 0, INFINITY, NAN, -1e308, 5e-324};
    vp__test_threads(2);
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++)
        for (int k = 0; k < (int)(sizeof unusual / sizeof *unusual); k++) {
            vp_scope s = vp_begin();
            const int64_t n = lengths[i];
            vp_array x = vp_let(vp_sin(vp_counter(VP_F64, vp_fshape(n, 13), 0, 0.7)));
            vp_put(x, vp_at(n / 2, 3), unusual[k]);
            vp_put(x, vp_at(VP_ALL, 9), vp_mul(vp_get(x, VP_ALL, 9), unusual[k]));
            check_magnitudes(vp_abs(vp_fft(x, 0)), vp_fft(x, 0));
            check_magnitudes(vp_abs(vp_ifft(x, 0)), vp_ifft(x, 0));
            vp_array y = vp_let(vp_cast(x, VP_F32));
            check_magnitudes(vp_abs(vp_fft(y, 0)), vp_fft(y, 0));
            vp_end(s);
        }
    vp_scope s = vp_begin();
    vp_array large = vp_let(vp_sin(vp_counter(VP_F64, vp_fshape(1024, 1100), 0, 0.7)));
    check_magnitudes(vp_abs(vp_fft(large, 0)), vp_fft(large, 0));
    large = vp_let(vp_sin(vp_counter(VP_F64, vp_fshape(1023, 1100), 0, 0.7)));
    check_magnitudes(vp_abs(vp_fft(large, 0)), vp_fft(large, 0));
    vp_end(s);
}

VP_TEST(a_transform_waits_for_its_use) {
    vp__test_threads(2);
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_ones(VP_F64, vp_shape(4)));
    /* It is of what was there when it was issued, whoever uses it how and when. */
    vp_expr first = vp_fft(x, 0), second = vp_fft(x, 0), third = vp_fft(x, 0);
    VP_CHECK_EQ(vp_size(first), 4);
    VP_CHECK_TYPE(first, VP_C128);
    vp_put(x, vp_at(0), 5.0);
    VP_CHECK_VALUES(vp_abs(first), 4, 0, 0, 0);
    VP_CHECK_COMPLEX(vp_add(second, 1.0), 5, 0, 1, 0, 1, 0, 1, 0);
    VP_CHECK_COMPLEX(vp_get(third, vp_range(0, 2)), 4, 0, 0, 0);
    VP_CHECK_VALUES(vp_abs(vp_fft(x, 0)), 8, 4, 4, 4);
    VP_CHECK_TYPE(vp_abs(vp_fft(vp_cast(x, VP_F32), 0)), VP_F32);
    vp_fft(x, 0); /* nobody uses it */
    /* An operand that fails. */
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(4), 9));
    VP_CHECK_ERROR(vp_wait(vp_abs(vp_fft(vp_take(x, far, 0), 0))), VP_ERR_INDEX,
                   "out of bounds");
    vp_clear_error();
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
}

/* The net cuts as it likes; the bits are those of one lane at a time. */
static void check_net(vp_dtype t, int64_t rows, int64_t cols, int axis, bool column) {
    vp_scope s = vp_begin();
    int64_t count = rows * cols;
    bool single = t == VP_F32 || t == VP_C64;
    size_t size = vp_dtype_size(t);
    char *values = malloc((size_t)count * size);
    fill(values, single, count * (int64_t)size / (single ? 4 : 8), 11);
    memset(values + 5 * size, 255, size); /* a NaN stays in its lane */
    vp_array x = vp_let(vp_from(t, vp_shape(rows, cols), values));
    if (column) {
        vp_array turned = vp_let(vp_empty(t, vp_fshape(rows, cols)));
        vp_put(turned, vp_at(VP_ALL), x);
        x = turned;
    }
    int64_t n = axis ? cols : rows, lanes = axis ? rows : cols;
    double complex *got = malloc((size_t)count * 16), *lane = malloc((size_t)n * 16);
    VP_CHECK_OK(vp_read(vp_cast(vp_fft(x, axis), VP_C128), got, (size_t)count * 16));
    vp__fft_plan *p = vp__lib_fft_plan(
        t == VP_F32 || t == VP_F64 ? VP__FFT_WHOLE : VP__FFT_FORWARD, single, n);
    for (int64_t l = 0; l < lanes; l++) {
        char *in = (char *)lane;
        for (int64_t i = 0; i < n; i++)
            memcpy(in + (size_t)i * size,
                   values + (size_t)(axis ? l * cols + i : i * cols + l) * size, size);
        char *out = transformed(p, in, n, 1);
        for (int64_t i = 0; i < n; i++) {
            double want[2] = {component(out, single, 2 * i),
                              component(out, single, 2 * i + 1)};
            VP_CHECK_BYTES(&got[axis ? l * cols + i : i * cols + l], want, sizeof want);
        }
        free(out);
    }
    vp__lib_fft_release(p);
    free(lane);
    free(got);
    free(values);
    vp_end(s);
}

static void check_nets(void) {
    static const vp_dtype types[] = {VP_F32, VP_F64, VP_C64, VP_C128};
    for (int i = 0; i < 4; i++)
        for (int axis = 0; axis < 2; axis++)
            for (int column = 0; column < 2; column++) {
                check_net(types[i], 256, 200, axis, column);
                check_net(types[i], 30, 1500, axis, column);
            }
}

VP_TEST_TIMEOUT(bits_with_one_thread, 60) {
    vp__test_threads(1);
    check_nets();
}

VP_TEST_TIMEOUT(bits_with_many_threads, 60) {
    vp__test_threads(5);
    check_nets();
}

/* Results larger than the cache are written past it. */
VP_TEST_TIMEOUT(large_results, 60) {
    vp__test_threads(3);
    check_net(VP_F64, 1024, 1100, 0, true);
    check_net(VP_F64, 1024, 1100, 1, true);
}

VP_TEST_TIMEOUT(there_and_back, 60) {
    vp__test_threads(3);
    for (int64_t n = 1; n < 600; n += n < 100 ? 1 : 37) {
        vp_scope s = vp_begin();
        vp_array x = vp_let(vp_sin(vp_reshape(vp__test_counting(7 * n), vp_shape(7, n))));
        double off;
        VP_CHECK_OK(vp_item(vp_max(vp_abs(vp_sub(vp_ifft(vp_fft(x, 1), 1), x))), &off));
        VP_CHECK_LT(off, 1e-14);
        VP_CHECK_OK(
            vp_item(vp_max(vp_abs(vp_sub(vp_irfft(vp_rfft(x, 1), 1, n), x))), &off));
        VP_CHECK_LT(off, 1e-14);
        vp_end(s);
    }
}
