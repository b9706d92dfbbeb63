/* SPDX-License-Identifier: Apache-2.0
 *
 * Every reduction kernel of every instruction set against the plain tree: whole blocks,
 * parts of blocks, chunks, columns and short rows, with the values that hurt.
 */
#include <stdlib.h>

#include "tests/draw.h"
#include "tests/harness.h"
#include "tests/reduce_reference.h"

enum { MOST = 2048 };

static const char *const isas[] = {"baseline", "avx2", "avx512"};
static const vp__op ops[] = {VP__OP_sum,    VP__OP_prod,   VP__OP_min,
                             VP__OP_max,    VP__OP_any,    VP__OP_all,
                             VP__OP_argmin, VP__OP_argmax, VP__OP_count_nonzero};

/* One component: mostly ordinary, `rare` in 256 something special. */
static double draw_real(int rare) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e300, -1e-300};
    if ((int)(draw() % 256) < rare) return special[draw() % 7];
    return ((double)(int64_t)(draw() % 2001) - 1000) / 16;
}

static void draw_element(vp_dtype t, void *at, int rare) {
    float *f = at;
    double *d = at;
    const uint64_t bits = (int)(draw() % 256) < rare ? 0 : draw() >> draw() % 64;
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_B: *(uint8_t *)at = rare ? draw() & 1 : 1; break;
    case VP__CLASS_S:
    case VP__CLASS_U: memcpy(at, &bits, vp__dtype[t].size); break;
    case VP__CLASS_F:
    case VP__CLASS_C:
        for (int i = 0; i < (vp__dtype[t].cls == VP__CLASS_C ? 2 : 1); i++) {
            if (vp__dtype[t].real == VP_F32)
                f[i] = (float)draw_real(rare);
            else
                d[i] = draw_real(rare);
        }
        break;
    }
}

static int result_size(vp__op op, vp_dtype t) {
    vp_dtype work, result;
    VP_CHECK(vp__reduce_types(op, t, VP_AUTO, &work, &result));
    return vp__ops[op].result == VP__RESULT_SAME ? vp__dtype[t].size
                                                 : vp__dtype[result].size;
}

/* Folds n elements in chunks, by the binary counter that the tree is. */
static void by_chunks(const vp__reduce_kernel *k, char *out, const char *x, int size,
                      int64_t n, int64_t chunk) {
    static _Alignas(64) char state[40][1024];
    int64_t done = 0, count = 0;
    for (; done < n; done += chunk, count++) {
        int level = 0;
        _Alignas(64) char now[1024];
        k->block(now, x + done * size, n - done < chunk ? n - done : chunk, done);
        for (; count >> level & 1; level++) {
            k->merge(state[level], now, k->lanes);
            memcpy(now, state[level], sizeof now);
        }
        memcpy(state[level], now, sizeof now);
    }
    char *last = NULL;
    for (int level = 0; count >> level != 0; level++) {
        if (!(count >> level & 1)) continue;
        if (last != NULL) k->merge(state[level], last, k->lanes);
        last = state[level];
    }
    k->finish(out, last, 1);
}

static void check_lengths(const vp__reduce_kernel *k, vp__op op, vp_dtype t, int rare) {
    static const int64_t length[] = {1,   2,   3,   4,    5,    7,    8,    9,
                                     15,  16,  17,  31,   32,   33,   63,   64,
                                     65,  127, 128, 129,  255,  256,  257,  383,
                                     511, 700, 896, 1000, 1023, 1024, 1025, 2048};
    static _Alignas(64) char x[(MOST + 1) * 16];
    const int size = vp__dtype[t].size, bytes = result_size(op, t);
    for (size_t i = 0; i < sizeof length / sizeof length[0]; i++) {
        const int64_t n = length[i];
        char *at = x + size; /* not aligned to more than an element */
        for (int64_t j = 0; j < n; j++) draw_element(t, at + j * size, rare);
        _Alignas(16) char want[16], got[16];
        ref_reduce(want, op, t, at, n);
        by_chunks(k, got, at, size, n, VP__REDUCE_CHUNK);
        VP_CHECK_BYTES(got, want, (size_t)bytes);
        by_chunks(k, got, at, size, n, VP__REDUCE_BLOCK);
        VP_CHECK_BYTES(got, want, (size_t)bytes);
        by_chunks(k, got, at, size, n, 4 * VP__REDUCE_BLOCK);
        VP_CHECK_BYTES(got, want, (size_t)bytes);
        if (n <= VP__REDUCE_CHUNK) {
            k->rows(got, at, 1, n);
            VP_CHECK_BYTES(got, want, (size_t)bytes);
        }
        if (k->extend == NULL) continue;
        _Alignas(64) char state[64];
        const int64_t first = n < 300 ? (n + 1) / 2 : 300;
        k->block(state, at, first, 0);
        k->extend(state, at + first * size, n - first, first);
        k->finish(got, state, 1);
        VP_CHECK_BYTES(got, want, (size_t)bytes);
    }
}

/* As native code does it, several rows side by side: the states of blocks, a batch at a time. */
enum { SIDE = 3, LONGEST = 9000 };

static void by_batches(const vp__reduce_kernel *k, char (*out)[16], const char *x,
                       int size, int64_t n) {
    static _Alignas(64) char levels[VP__REDUCE_LEVELS][SIDE * 64],
        states[VP__REDUCE_BATCH / VP__REDUCE_BLOCK][SIDE][64];
    char *all = NULL;
    for (int64_t from = 0; from < n; from += VP__REDUCE_BATCH) {
        for (int64_t b = from, i = 0; b < n && b < from + VP__REDUCE_BATCH;
             b += VP__REDUCE_BLOCK, i++)
            for (int r = 0; r < SIDE; r++)
                k->block(states[i][r], x + (r + b) * size,
                         n - b < VP__REDUCE_BLOCK ? n - b : VP__REDUCE_BLOCK, b);
        all = k->add(levels, states, (int64_t)SIDE * k->lanes, from, n);
    }
    for (int r = 0; r < SIDE; r++) k->finish(out[r], all + (ptrdiff_t)r * 64, 1);
}

static void check_batches(const vp__reduce_kernel *k, vp__op op, vp_dtype t, int rare) {
    static const int64_t length[] = {1,    128,  129,  300,  500,  640,  800,
                                     1000, 1024, 1025, 1500, 2048, 2100, 3072,
                                     3500, 4096, 4097, 7000, 8192, 8193, LONGEST};
    static _Alignas(64) char x[(LONGEST + SIDE) * 16];
    const int size = vp__dtype[t].size;
    for (int64_t j = 0; j < LONGEST + SIDE; j++) draw_element(t, x + j * size, rare);
    for (size_t i = 0; i < sizeof length / sizeof length[0]; i++) {
        _Alignas(16) char want[16], got[SIDE][16];
        by_batches(k, got, x, size, length[i]);
        for (ptrdiff_t r = 0; r < SIDE; r++) {
            ref_reduce(want, op, t, x + r * size, length[i]);
            VP_CHECK_BYTES(got[r], want, (size_t)result_size(op, t));
        }
    }
}

/* A table of rows x cols, reduced both ways and in uneven helpings. */
static void check_table(const vp__reduce_kernel *k, vp__op op, vp_dtype t, int64_t rows,
                        int64_t cols, int rare) {
    const int size = vp__dtype[t].size, bytes = result_size(op, t);
    const int64_t row = (cols + 3) * size;
    char *x = malloc((size_t)(rows * row)), *column = malloc((size_t)(rows * size));
    char *packed = malloc((size_t)(rows * cols * size)), *got = malloc((size_t)cols * 16);
    char *want = malloc((size_t)cols * 16), *state = NULL;
    VP_CHECK_EQ(
        posix_memalign((void **)&state, 64, (size_t)(k->lanes * k->state_size * cols)),
        0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) draw_element(t, x + r * row + c * size, rare);
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(column + r * size, x + r * row + c * size, (size_t)size);
        ref_reduce(want + c * bytes, op, t, column, rows);
        memcpy(packed + c * rows * size, column, (size_t)(rows * size));
    }
    k->rows(got, packed, cols, rows);
    VP_CHECK_BYTES(got, want, (size_t)(cols * bytes));
    if (rows <= VP__REDUCE_BLOCK) {
        k->cols(got, x, row, rows, cols);
        VP_CHECK_BYTES(got, want, (size_t)(cols * bytes));
        for (int64_t step = 1; step <= 13; step += 4) {
            for (int64_t r = 0; r < rows; r += step)
                k->block_cols(state, x + r * row, row, rows - r < step ? rows - r : step,
                              cols, r);
            k->finish(got, state, cols);
            VP_CHECK_BYTES(got, want, (size_t)(cols * bytes));
        }
    }
    free(x);
    free(column);
    free(packed);
    free(got);
    free(want);
    free(state);
}

static void check_isa(const char *isa) {
    const vp__kernels *kernels = vp__kernels_for(isa);
    if (kernels == NULL) VP_SKIP("this CPU cannot run %s", isa);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (int t = 0; t < VP__NDTYPES; t++) {
            const vp__reduce_kernel *k = &kernels->reduce[ops[i]][t];
            VP_CHECK(k->block != NULL);
            VP_CHECK_EQ(VP__REDUCE_BLOCK % k->lanes, 0);
            for (int rare = 0; rare <= 20; rare += 4)
                check_lengths(k, ops[i], (vp_dtype)t, rare);
            if (k->add)
                for (int rare = 0; rare <= 1; rare++)
                    check_batches(k, ops[i], (vp_dtype)t, rare);
            static const int64_t sizes[] = {1,  2,  3,  7,  8,   10,  16,
                                            17, 40, 64, 65, 100, 128, 150};
            for (int n = 0; n < 40; n++)
                check_table(k, ops[i], (vp_dtype)t, sizes[draw() % 14],
                            sizes[draw() % 14], n % 3 * 6);
        }
}

VP_TEST(baseline_follows_the_tree) { check_isa(isas[0]); }
VP_TEST(avx2_follows_the_tree) { check_isa(isas[1]); }
VP_TEST(avx512_follows_the_tree) { check_isa(isas[2]); }

static void put_real(vp_dtype t, char *x, int64_t i, double value) {
    if (t == VP_F64)
        ((double *)(void *)x)[i] = value;
    else if (t == VP_F32)
        ((float *)(void *)x)[i] = (float)value;
    else if (t == VP_I32)
        ((int32_t *)(void *)x)[i] = (int32_t)value;
    else
        x[i] = (char)value;
}

static int64_t position_of(const vp__kernels *kernels, vp__op op, vp_dtype t,
                           const char *x, int64_t n) {
    const vp__reduce_kernel *k = &kernels->reduce[op][t];
    _Alignas(64) char state[64];
    int64_t at;
    k->block(state, x, n, 0);
    k->finish(&at, state, 1);
    return at;
}

/* The extreme, another one behind it, and NaN, wherever they stand: in the first and the
 * last vector, at both ends of a group, in a tail, beyond what small numbers can count. */
static void check_positions(const vp__kernels *kernels, vp_dtype t, int64_t n) {
    char *x = malloc((size_t)(n + 1) * vp__dtype[t].size);
    char *first = x + vp__dtype[t].size; /* not aligned to more than an element */
    const int64_t place[] = {0,     1,         63,    64,         511,    512,
                             n / 2, n / 2 + 1, n - 2, n - 1 - 64, n - 65, n - 1};
    const bool is_float = vp__dtype[t].cls == VP__CLASS_F;
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
        const int64_t at = place[i] < 0 ? 0 : place[i] < n ? place[i] : n - 1;
        for (int64_t j = 0; j < n; j++) put_real(t, first, j, (double)(j * 7 % 61));
        put_real(t, first, at, 100);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmax, t, first, n), at);
        put_real(t, first, n - 1, 100);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmax, t, first, n), at);
        put_real(t, first, at, -100);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmin, t, first, n), at);
        put_real(t, first, n - 1, -100);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmin, t, first, n), at);
        if (!is_float) continue;
        put_real(t, first, n - 1, NAN);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmin, t, first, n), n - 1);
        put_real(t, first, at, NAN);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmin, t, first, n), at);
        VP_CHECK_EQ(position_of(kernels, VP__OP_argmax, t, first, n), at);
    }
    free(x);
}

VP_TEST(positions_are_those_of_the_first) {
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32, VP_I8};
    static const int64_t length[] = {1, 40, 64, 77, 1000, 8192, 65536, 200003};
    for (int i = 0; i < 3; i++) {
        const vp__kernels *kernels = vp__kernels_for(isas[i]);
        for (int j = 0; kernels != NULL && j < 4; j++)
            for (int l = 0; l < 8; l++) check_positions(kernels, types[j], length[l]);
    }
}

/* Of zeros of both signs the first of its lane counts, whatever its sign, for every length
 * of what follows. */
VP_TEST(extremes_keep_the_first_zero) {
    enum { N = 3000 };
    static double x[N];
    for (int i = 0; i < 3; i++) {
        const vp__kernels *kernels = vp__kernels_for(isas[i]);
        for (int n = 1; kernels != NULL && n <= N; n += 1 + n / 9)
            for (int lane = 0; lane < 8 && lane < n; lane++) {
                for (int j = 0; j < n; j++) x[j] = j % 8 == lane ? 0.0 : -1.0;
                for (int j = lane + 8; j < n; j += 8) x[j] = -0.0;
                double top, bottom;
                kernels->reduce[VP__OP_max][VP_F64].rows(&top, x, 1, n);
                VP_CHECK(top == 0 && !signbit(top));
                for (int j = 0; j < n; j++) x[j] = -x[j];
                kernels->reduce[VP__OP_min][VP_F64].rows(&bottom, x, 1, n);
                VP_CHECK(bottom == 0 && signbit(bottom));
            }
    }
}

VP_TEST(sums_keep_negative_zero) {
    const vp__kernels *kernels = vp__kernels_get();
    const double x[3] = {-0.0, -0.0, -0.0};
    double sum;
    kernels->reduce[VP__OP_sum][VP_F64].rows(&sum, x, 1, 3);
    VP_CHECK(sum == 0 && signbit(sum));
}

/* --- accuracy --- */

__extension__ typedef __int128 whole;
enum { MOST_TERMS = 12000000, APART = 32 };

/* Random terms that are whole multiples of a grid, so that errors of sums are known exactly:
 * before[i] is what the first APART * i of them sum up to, in steps of the grid. */
typedef struct {
    double grid, *x;
    float *single; /* the same terms, or NULL */
    whole *before;
} terms;

static terms terms_new(bool single, bool mixed) {
    terms t = {.grid = single ? 0x1p-24 : 0x1p-53,
               .x = malloc(MOST_TERMS * sizeof(double)),
               .single = single ? malloc(MOST_TERMS * sizeof(float)) : NULL,
               .before = malloc((MOST_TERMS / APART + 1) * sizeof(whole))};
    whole sum = 0;
    for (int64_t i = 0; i < MOST_TERMS; i++) {
        if (i % APART == 0) t.before[i / APART] = sum;
        int64_t steps = (int64_t)(draw() >> (single ? 40 : 11));
        if (mixed && draw() & 1) steps = -steps;
        sum += steps;
        t.x[i] = (double)steps * t.grid;
        if (single) t.single[i] = (float)t.x[i];
    }
    t.before[MOST_TERMS / APART] = sum;
    return t;
}

static void terms_free(terms *t) {
    free(t->x);
    free(t->single);
    free(t->before);
}

static double rounded(double x, bool single) { return single ? (double)(float)x : x; }

/* A sum in the manner of NumPy's: blocks of 128 by 8 accumulators, then pairs. Sums of two
 * floats lose nothing by being doubles first. */
static double numpy_sum(const double *x, int64_t n, bool single) {
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        const double left = numpy_sum(x, half, single);
        return rounded(left + numpy_sum(x + half, n - half, single), single);
    }
    double r[8];
    memcpy(r, x, sizeof r);
    int64_t i = 8;
    for (; i < n - n % 8; i += 8)
        for (int k = 0; k < 8; k++) r[k] = rounded(r[k] + x[i + k], single);
    for (int step = 1; step < 8; step *= 2)
        for (int k = 0; k < 8; k += 2 * step) r[k] = rounded(r[k] + r[k + step], single);
    for (; i < n; i++) r[0] = rounded(r[0] + x[i], single);
    return r[0];
}

static double our_sum(const terms *t, int64_t at, int64_t n) {
    const vp__reduce_kernel *sums = vp__kernels_get()->reduce[VP__OP_sum];
    float single;
    double sum;
    if (!t->single) {
        by_chunks(&sums[VP_F64], (char *)&sum, (const char *)(t->x + at), 8, n,
                  VP__REDUCE_CHUNK);
        return sum;
    }
    by_chunks(&sums[VP_F32], (char *)&single, (const char *)(t->single + at), 4, n,
              VP__REDUCE_CHUNK);
    return (double)single;
}

/* The RMS error of our sums over that of NumPy's, of n terms from anywhere. */
static double error_ratio(const terms *t, int64_t n, int times) {
    double ours = 0, numpys = 0;
    for (int i = 0; i < times; i++) {
        const int64_t at = (int64_t)(draw() % (uint64_t)((MOST_TERMS - n) / APART));
        const whole exact = t->before[at + n / APART] - t->before[at];
        const double sum = our_sum(t, at * APART, n);
        const double other = numpy_sum(t->x + at * APART, n, t->single != NULL);
        const double a = (double)((whole)(sum / t->grid) - exact);
        const double b = (double)((whole)(other / t->grid) - exact);
        ours += a * a;
        numpys += b * b;
    }
    return sqrt(ours / numpys);
}

/* Terms from 0 to 1, and from -1 to 1. Of two sums that are equally good, the ratio is off 1
 * by chance, about one in the root of the times. */
static void check_accuracy(bool single, bool mixed) {
    static const struct {
        int n, times;
    } runs[] = {{100000, 500}, {1000000, 200}, {10000000, 80}};
    terms t = terms_new(single, mixed);
    const bool slow = vp__test_slowdown() > 1;
    for (int i = 0; i < (slow ? 1 : 3); i++) {
        const double ratio = error_ratio(&t, runs[i].n, slow ? 200 : runs[i].times);
        VP_CHECK(ratio <= 1.25);
    }
    terms_free(&t);
}

VP_TEST_TIMEOUT(sums_are_as_accurate_as_numpys, 60) {
    for (int i = 0; i < 4; i++) check_accuracy(i & 1, i & 2);
}
