/* SPDX-License-Identifier: Apache-2.0
 *
 * Every instruction set gives the bits of the baseline one: all rows, types and
 * conversions, reductions of contiguous and of strided elements, and the inner loops of
 * library operations, on random values of every magnitude and on the special ones. Any
 * NaN is a NaN. The rows that are made of vector math functions (ops/math.h) are within a
 * few units in the last place instead, and are all that is; in accurate mode they have the
 * same bits too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/loops.h"
#include "ops/kernels.h"
#include "tests/draw.h"
#include "tests/harness.h"

enum { MANY = 4099, ROOM = (MANY * 16 + 63) / 64 * 64, MOST_ULPS = 8 };

static const char *const isas[] = {"avx2", "avx512"};
enum { NISAS = sizeof isas / sizeof isas[0] };

/* Mostly near 1, where roundings meet; now and then any bits at all, or a special value. */
static double draw_real(bool single) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0,     -0.0,   1.0,
                                     -1., 0.5,      -2.0,      5e-324,  1e-310, 1.7e308,
                                     3e9, -3e9,     1e19,      -1.2e19, 65536., -128.0};
    const uint64_t bits = draw();
    const unsigned kind = (unsigned)(draw() >> 32) % 16;
    if (kind == 0) return special[bits % (sizeof special / sizeof special[0])];
    if (kind == 1) {
        const uint32_t half = (uint32_t)bits;
        float f;
        double d;
        memcpy(&f, &half, sizeof f);
        memcpy(&d, &bits, sizeof d);
        return single ? (double)f : d;
    }
    const double fraction = (double)(int64_t)bits / 0x1p63;
    return fraction * (double)(1 << kind % 5);
}

static void draw_elements(vp_dtype t, void *at, int64_t n) {
    static const int64_t special[] = {0, 1, -1, INT64_MAX, INT64_MIN, 127, 255, 32768};
    const int size = vp__dtype[t].size;
    for (int64_t i = 0; i < n; i++) {
        char *p = (char *)at + i * size;
        uint64_t word = draw() >> draw() % 64;
        if (draw() % 8 == 0) memcpy(&word, &special[draw() % 8], sizeof word);
        switch ((vp__class)vp__dtype[t].cls) {
        case VP__CLASS_B: *p = (char)(draw() & 1); break;
        case VP__CLASS_S:
        case VP__CLASS_U: memcpy(p, &word, (size_t)size); break;
        case VP__CLASS_F:
        case VP__CLASS_C:
            for (int at_byte = 0; at_byte < size;
                 at_byte += vp__dtype[vp__dtype[t].real].size) {
                const bool single = vp__dtype[t].real == VP_F32;
                const double d = draw_real(single);
                const float f = (float)d;
                if (single)
                    memcpy(p + at_byte, &f, sizeof f);
                else
                    memcpy(p + at_byte, &d, sizeof d);
            }
            break;
        }
    }
}

/* Floats without the NaN and infinity that would swallow all the rest of a sum. Elements
 * of other types stay as they are. */
static void draw_finite(vp_dtype t, void *at, int64_t n) {
    const vp__class cls = (vp__class)vp__dtype[t].cls;
    if (cls != VP__CLASS_F && cls != VP__CLASS_C) return;
    for (int64_t i = 0; i < n * (cls == VP__CLASS_C ? 2 : 1); i++) {
        const double d = (double)(int64_t)draw() / 0x1p62;
        if (vp__dtype[t].real == VP_F32)
            ((float *)at)[i] = (float)d;
        else
            ((double *)at)[i] = d;
    }
}

/* A float's place among all of its type, so that neighbours differ by 1. */
static int64_t rank_of(const char *p, bool single) {
    if (single) {
        int32_t bits;
        memcpy(&bits, p, sizeof bits);
        return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
    }
    int64_t bits;
    memcpy(&bits, p, sizeof bits);
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static bool is_nan(const char *p, bool single) {
    float f;
    double d;
    if (single) return memcpy(&f, p, sizeof f), f != f;
    return memcpy(&d, p, sizeof d), d != d;
}

/* The first of n elements that differs by more than `ulps` (0: in any bit), or -1. */
static int64_t first_difference(vp_dtype t, const void *a, const void *b, int64_t n,
                                int64_t ulps) {
    const vp__class cls = (vp__class)vp__dtype[t].cls;
    const bool real = cls == VP__CLASS_F || cls == VP__CLASS_C;
    const bool single = vp__dtype[t].real == VP_F32;
    const int size = vp__dtype[t].size, part = real ? (single ? 4 : 8) : size;
    const char *x = a, *y = b;
    for (int64_t at = 0; at < n * size; at += part) {
        if (memcmp(x + at, y + at, (size_t)part) == 0) continue;
        if (real && is_nan(x + at, single) && is_nan(y + at, single)) continue;
        const bool either = real && (is_nan(x + at, single) || is_nan(y + at, single));
        if (ulps == 0 || either) return at / size;
        const int64_t off = rank_of(x + at, single) - rank_of(y + at, single);
        if (off > ulps || off < -ulps) return at / size;
    }
    return -1;
}

/* Whether a row of floats is a vector math function's. fmod is exact everywhere. */
static bool is_vector_math(vp__op op, vp_dtype t) {
    static const struct {
        vp__op op;
        const char *classes, *prim;
    } calls[] = {
#define VP_CALL(id, classes, prim, expression) {VP__OP_##id, #classes, #prim},
#include "ops/ops.def"
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].op == op && strcmp(calls[i].classes, "F") == 0)
            return vp__dtype[t].cls == VP__CLASS_F && strcmp(calls[i].prim, "fmod") != 0;
    return false;
}

static vp_dtype result_of(vp__op op, vp_dtype t) {
    switch ((vp__result)vp__ops[op].result) {
    case VP__RESULT_SAME: return t;
    case VP__RESULT_BOOL: return VP_BOOL;
    case VP__RESULT_REAL: return vp__dtype[t].real;
    case VP__RESULT_INDEX: return VP_I64;
    case VP__RESULT_COMPLEX: break; /* no row of the table */
    }
    return t;
}

static _Alignas(64) char operand[3][ROOM], want[ROOM], got[ROOM], mask[MANY];

/* Rows may differ by `most` units where they are vector math. */
static void check_rows(const vp__kernels *base, const vp__kernels *k, int64_t most) {
    for (int t = 0; t < VP__NDTYPES; t++) {
        for (int i = 0; i < 3; i++) draw_elements((vp_dtype)t, operand[i], MANY);
        draw_elements(VP_BOOL, mask, MANY);
        for (int op = 0; op < VP__NOPS; op++) {
            VP_CHECK_EQ(base->op[op][t] == NULL, k->op[op][t] == NULL);
            if (!base->op[op][t]) continue;
            const void *first = vp__ops[op].rule == VP__RULE_WHERE ? mask : operand[0];
            base->op[op][t](want, first, operand[1], operand[2], MANY);
            k->op[op][t](got, first, operand[1], operand[2], MANY);
            const int64_t ulps = is_vector_math((vp__op)op, (vp_dtype)t) ? most : 0;
            const vp_dtype result = result_of((vp__op)op, (vp_dtype)t);
            const int64_t at = first_difference(result, want, got, MANY, ulps);
            if (at >= 0)
                VP_FAIL("%s %s on %s differs from baseline at element %lld",
                        vp__ops[op].name, vp__dtype[t].name, k->isa, (long long)at);
        }
        for (int to = 0; to < VP__NDTYPES; to++) {
            base->cast[t][to](want, operand[0], MANY);
            k->cast[t][to](got, operand[0], MANY);
            const int64_t at = first_difference((vp_dtype)to, want, got, MANY, 0);
            if (at >= 0)
                VP_FAIL("%s to %s on %s differs from baseline at element %lld",
                        vp__dtype[t].name, vp__dtype[to].name, k->isa, (long long)at);
        }
    }
}

VP_TEST_TIMEOUT(every_row_has_the_same_bits, 60) {
    int compared = 0;
    for (int i = 0; i < NISAS; i++) {
        const vp__kernels *k = vp__kernels_for(isas[i]);
        for (int round = 0; k && round < 8; round++, compared++)
            check_rows(vp__kernels_for("baseline"), k, MOST_ULPS);
    }
    if (compared == 0) VP_SKIP("this CPU runs baseline kernels only");
}

VP_TEST_TIMEOUT(every_row_has_the_same_bits_in_accurate_mode, 60) {
    int compared = 0;
    for (int i = 0; i < NISAS; i++) {
        const vp__kernels *k = vp__kernels_accurate_for(isas[i]);
        for (int round = 0; k && round < 4; round++, compared++)
            check_rows(vp__kernels_accurate_for("baseline"), k, 0);
    }
    if (compared == 0) VP_SKIP("this CPU runs baseline kernels only");
}

/* NaNs that can be told apart, often in two operands at once. */
static void add_nans(vp_dtype t) {
    const vp__class cls = (vp__class)vp__dtype[t].cls;
    if (cls != VP__CLASS_F && cls != VP__CLASS_C) return;
    const int64_t n =
        (int64_t)MANY * vp__dtype[t].size / vp__dtype[vp__dtype[t].real].size;
    for (int i = 0; i < 3; i++)
        for (int64_t at = 0; at < n; at += 3 + i) {
            const uint64_t payload = draw() & 0xfffff;
            const uint32_t narrow = 0x7fc00000 | (uint32_t)payload;
            const uint64_t wide = 0x7ff8000000000000 | payload;
            if (vp__dtype[t].real == VP_F32)
                memcpy(operand[i] + at * 4, &narrow, sizeof narrow);
            else
                memcpy(operand[i] + at * 8, &wide, sizeof wide);
        }
}

/* The whole set of n operands that begins `by` bytes after its place; all of them have room
 * behind them. */
static void move_operands(char (*moved)[ROOM + 64], int64_t by, int64_t bytes) {
    for (int i = 0; i < 3; i++) memcpy(moved[i] + by, operand[i], (size_t)bytes);
}

/* Some loops are other machine code where a result or an operand is aligned. */
static void check_places(const vp__kernels *k) {
    static _Alignas(64) char moved[3][ROOM + 64], moved_got[ROOM + 64];
    enum { N = MANY - 4 };
    for (int t = 0; t < VP__NDTYPES; t++) {
        const int size = vp__dtype[t].size;
        for (int i = 0; i < 3; i++) draw_elements((vp_dtype)t, operand[i], MANY);
        add_nans((vp_dtype)t);
        draw_elements(VP_BOOL, mask, MANY);
        move_operands(moved, size, N * size);
        for (int op = 0; op < VP__NOPS; op++) {
            if (!k->op[op][t]) continue;
            const bool chooses = vp__ops[op].rule == VP__RULE_WHERE;
            const int out_size = vp__dtype[result_of((vp__op)op, (vp_dtype)t)].size;
            k->op[op][t](want, chooses ? mask : operand[0], operand[1], operand[2], N);
            for (int way = 1; way < 8; way++) { /* bits: result, first, second operand */
                char *out = moved_got + (way & 1 ? out_size : 0);
                const void *first = way & 2 ? moved[0] + size : operand[0];
                k->op[op][t](out, chooses ? mask : first,
                             way & 4 ? moved[1] + size : operand[1], operand[2], N);
                if (memcmp(out, want, (size_t)(N * out_size)) != 0)
                    VP_FAIL("%s of %s on %s depends on where its operands lie (%d)",
                            vp__ops[op].name, vp__dtype[t].name, k->isa, way);
            }
        }
        for (int to = 0; to < VP__NDTYPES; to++) {
            const int out_size = vp__dtype[to].size;
            k->cast[t][to](want, operand[0], N);
            k->cast[t][to](moved_got + out_size, moved[0] + size, N);
            if (memcmp(moved_got + out_size, want, (size_t)(N * out_size)) != 0)
                VP_FAIL("%s to %s on %s depends on where its operands lie",
                        vp__dtype[t].name, vp__dtype[to].name, k->isa);
        }
    }
}

VP_TEST_TIMEOUT(a_row_has_the_same_bits_wherever_its_operands_lie, 60) {
    for (int round = 0; round < 2; round++) {
        check_places(vp__kernels_for("baseline"));
        check_places(vp__kernels_accurate_for("baseline"));
        for (int i = 0; i < NISAS; i++) {
            if (vp__kernels_for(isas[i])) check_places(vp__kernels_for(isas[i]));
            if (vp__kernels_accurate_for(isas[i]))
                check_places(vp__kernels_accurate_for(isas[i]));
        }
    }
}

/* Copies whose sides lie every way to each other modulo a page; and nothing beside them. */
static void check_copies(const vp__kernels *k) {
    static _Alignas(4096) char from[3 * 4096], to[3 * 4096], around[3 * 4096];
    static const int64_t longer[] = {1023, 4095, 4096, 4097, 8100};
    static const int apart[] = {0, 1, 8, 63, 64, 1023, 1024, 4095};
    enum { LENGTHS = 300 };
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (char)draw();
        around[i] = (char)draw();
    }
    for (int i = 0; i < LENGTHS + 5; i++) {
        const int64_t n = i < LENGTHS ? i : longer[i - LENGTHS];
        for (int j = 0; j < 16; j++) {
            const int out = apart[j % 8] * (j < 8), in = apart[j % 8] * (j >= 8);
            memcpy(to, around, sizeof to);
            k->copy(to + out, from + in, n);
            if (memcmp(to + out, from + in, (size_t)n) != 0 ||
                memcmp(to, around, (size_t)out) != 0 ||
                memcmp(to + out + n, around + out + n, sizeof to - (size_t)(out + n)) !=
                    0)
                VP_FAIL("a copy of %lld bytes on %s from %d to %d is wrong", (long long)n,
                        k->isa, in, out);
        }
    }
}

VP_TEST(copies_are_exact_wherever_they_lie) {
    check_copies(vp__kernels_for("baseline"));
    for (int i = 0; i < NISAS; i++)
        if (vp__kernels_for(isas[i])) check_copies(vp__kernels_for(isas[i]));
}

/* n contiguous elements, more than a chunk of them. */
static void reduce_all(const vp__reduce_kernel *k, void *out, const char *x, int size,
                       int64_t n) {
    static _Alignas(64) char state[2][1024];
    const int64_t first = n < VP__REDUCE_CHUNK ? n : VP__REDUCE_CHUNK;
    k->block(state[0], x, first, 0);
    if (n > first) {
        k->block(state[1], x + first * size, n - first, first);
        k->merge(state[0], state[1], k->lanes);
    }
    k->finish(out, state[0], 1);
}

/* Columns of a table whose rows are `stride` bytes apart, by block and merge. */
static void reduce_columns(const vp__reduce_kernel *k, void *out, const char *x,
                           int64_t stride, int64_t rows, int64_t cols) {
    static _Alignas(64) char state[2][1 << 16];
    for (int64_t r = 0; r < rows; r += VP__REDUCE_BLOCK) {
        const int64_t some = rows - r < VP__REDUCE_BLOCK ? rows - r : VP__REDUCE_BLOCK;
        k->block_cols(state[r > 0], x + r * stride, stride, some, cols, r);
        if (r > 0) k->merge(state[0], state[1], k->lanes * cols);
    }
    k->finish(out, state[0], cols);
}

/* All ways to reduce these elements, one result after another; returns how many. */
static int64_t reduce_each_way(const vp__reduce_kernel *k, char *out, vp_dtype t,
                               vp_dtype result, const char *x, int64_t n) {
    const int size = vp__dtype[t].size, step = vp__dtype[result].size;
    int64_t done = 0;
    reduce_all(k, out, x, size, n);
    done++;
    k->rows(out + done * step, x, 7, 701);
    done += 7;
    k->cols(out + done * step, x, 37 * size, 128, 33);
    done += 33;
    reduce_columns(k, out + done * step, x, 41 * size, 250, 37);
    done += 37;
    reduce_columns(k, out + done * step, x, 3 * size, 250, 1); /* every third element */
    return done + 1;
}

VP_TEST_TIMEOUT(every_reduction_has_the_same_bits, 60) {
    enum { N = VP__REDUCE_CHUNK + 2999, ROUNDS = 8 };
    const vp__kernels *base = vp__kernels_for("baseline");
    char *x = malloc(N * 16);
    int compared = 0;
    for (int i = 0; i < NISAS; i++) {
        const vp__kernels *k = vp__kernels_for(isas[i]);
        for (int t = 0; k && t < VP__NDTYPES; t++)
            for (int round = 0; round < ROUNDS; round++) {
                draw_elements((vp_dtype)t, x, N);
                if (round > 0) draw_finite((vp_dtype)t, x, N);
                for (int op = 0; op < VP__NOPS; op++) {
                    const vp__reduce_kernel *a = &base->reduce[op][t];
                    const vp__reduce_kernel *b = &k->reduce[op][t];
                    if (!vp__ops[op].reduces) continue;
                    const vp_dtype r = result_of((vp__op)op, (vp_dtype)t);
                    const int64_t n = reduce_each_way(a, want, (vp_dtype)t, r, x, N);
                    reduce_each_way(b, got, (vp_dtype)t, r, x, N);
                    const int64_t at = first_difference(r, want, got, n, 0);
                    if (at >= 0)
                        VP_FAIL("%s of %s on %s differs from baseline in result %lld",
                                vp__ops[op].name, vp__dtype[t].name, k->isa,
                                (long long)at);
                    compared++;
                }
            }
    }
    free(x);
    if (compared == 0) VP_SKIP("this CPU runs baseline kernels only");
}

VP__LOOPS_DECLARE(baseline)
#ifdef VP_HAVE_AVX2
VP__LOOPS_DECLARE(avx2)
#endif
#ifdef VP_HAVE_AVX512
VP__LOOPS_DECLARE(avx512)
#endif

typedef struct {
    const char *isa;
    const vp__scan_fn (*along)[VP__NSCANS], (*across)[VP__NSCANS];
    const vp__product_fn *product;
    const vp__gemm_loop *gemm;
} loops;
#define LOOPS(isa)                                                                       \
    {                                                                                    \
#isa, vp__loops_scan_along_##isa, vp__loops_scan_across_##isa,                   \
            vp__loops_product_##isa, vp__loops_gemm_##isa                                \
    }

static const loops all_loops[] = {
    LOOPS(baseline),
#ifdef VP_HAVE_AVX2
    LOOPS(avx2),
#endif
#ifdef VP_HAVE_AVX512
    LOOPS(avx512),
#endif
};
enum { NLOOPS = sizeof all_loops / sizeof all_loops[0] };

/* Lanes one after another or side by side; returns the number of results. */
static int64_t run_scan(const loops *l, vp_dtype t, int scan, bool along, char *out) {
    enum { N = 300, LANES = 7 };
    const int size = vp__dtype[t].size;
    const int64_t step = along ? size : LANES * size, lane = along ? N * size : size;
    const vp__scan s = {.out = out,
                        .in = operand[0],
                        .n = N,
                        .lanes = LANES,
                        .out_step = step,
                        .in_step = step,
                        .out_fibre = lane,
                        .in_fibre = lane};
    (along ? l->along : l->across)[t][scan](&s);
    return N * LANES;
}

/* In two passes over the depth; returns the number of results. */
static int64_t run_product(const loops *l, vp_dtype t, char *out) {
    enum { ROWS = 13, COLS = 9, DEPTH = 21 };
    const int size = vp__dtype[t].size;
    vp__product p = {.out = out,
                     .a = operand[0],
                     .b = operand[2],
                     .rows = ROWS,
                     .cols = COLS,
                     .depth = DEPTH,
                     .out_row = COLS * size,
                     .out_col = size,
                     .a_row = DEPTH * size,
                     .a_col = size,
                     .b_row = 2 * VP__PRODUCT_BYTES,
                     .b_im = VP__PRODUCT_BYTES,
                     .first = true};
    l->product[t](&p);
    p.a = operand[1];
    p.first = false;
    l->product[t](&p);
    return ROWS * COLS;
}

static void check_same(const char *what, const char *isa, vp_dtype t, int64_t n) {
    const int64_t at = first_difference(t, want, got, n, 0);
    if (at >= 0)
        VP_FAIL("%s of %s on %s differs from baseline in result %lld", what,
                vp__dtype[t].name, isa, (long long)at);
}

VP_TEST(library_loops_have_the_same_bits) {
    int compared = 0;
    for (int i = 1; i < NLOOPS; i++) {
        const loops *base = &all_loops[0], *l = &all_loops[i];
        if (!vp__kernels_for(l->isa)) continue;
        for (int turn = 0; turn < 2 * VP__NDTYPES; turn++, compared++) {
            const int t = turn / 2;
            for (int j = 0; j < 3; j++) {
                draw_elements((vp_dtype)t, operand[j], MANY);
                if (turn % 2) draw_finite((vp_dtype)t, operand[j], MANY);
            }
            for (int way = 0; way < 2 * VP__NSCANS; way++) {
                run_scan(base, (vp_dtype)t, way / 2, way % 2, want);
                const int64_t n = run_scan(l, (vp_dtype)t, way / 2, way % 2, got);
                check_same("scan", l->isa, (vp_dtype)t, n);
            }
            run_product(base, (vp_dtype)t, want);
            check_same("product", l->isa, (vp_dtype)t, run_product(l, (vp_dtype)t, got));
        }
    }
    if (compared == 0) VP_SKIP("this CPU runs baseline kernels only");
}

/* One tile of each width, twice, against terms added one by one. */
static void check_tile(const vp__gemm_loop *l, bool single, const char *isa) {
    enum { DEPTH = 77, MOST = 48 };
    static _Alignas(64) double a[DEPTH * MOST], b[DEPTH * MOST], out[MOST * MOST];
    float *a32 = (float *)a, *b32 = (float *)b, *out32 = (float *)out;
    VP_CHECK_EQ(l->cols, 3 * l->lanes);
    draw_finite(single ? VP_F32 : VP_F64, a, DEPTH * MOST);
    draw_finite(single ? VP_F32 : VP_F64, b, DEPTH * MOST);
    const int64_t row = l->cols * (single ? 4 : 8);
    for (int vectors = 1; vectors <= 3; vectors++) {
        l->tile((char *)out, row, a, b, DEPTH, vectors, true);
        l->tile((char *)out, row, a, b, DEPTH, vectors, false);
        for (int64_t r = 0; r < l->rows; r++)
            for (int64_t c = 0; c < vectors * l->lanes; c++) {
                double sum = 0;
                float sum32 = 0;
                for (int64_t k = 0; k < DEPTH; k++) {
                    const int64_t x = k * l->rows + r, y = k * l->cols + c;
                    if (single)
                        sum32 = fmaf(a32[x], b32[y], sum32);
                    else
                        sum = fma(a[x], b[y], sum);
                }
                const int64_t at = r * l->cols + c;
                if (single ? out32[at] != sum32 + sum32 : out[at] != sum + sum)
                    VP_FAIL("element %lld, %lld of a tile of %d vectors on %s",
                            (long long)r, (long long)c, vectors, isa);
            }
    }
}

VP_TEST(tiles_of_products_add_term_by_term) {
    int compared = 0;
    for (int i = 0; i < NLOOPS; i++) {
        if (!vp__kernels_for(all_loops[i].isa)) continue;
        for (int single = 0; single < 2; single++) {
            const vp__gemm_loop *l = &all_loops[i].gemm[!single];
            if (l->tile) check_tile(l, single, all_loops[i].isa), compared++;
        }
    }
    if (compared == 0) VP_SKIP("this CPU has no fused multiply-add");
}
