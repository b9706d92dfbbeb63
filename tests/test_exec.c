/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor against a machine that evaluates one element at a time: random bodies,
 * types, shapes, layouts and reductions, whole and in pieces, for every instruction set,
 * bit for bit. The output lies inside a larger buffer that must otherwise stay as it was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jit/plan.h"
#include "jit/plan_parts.h"
#include "tests/draw_kernel.h"
#include "tests/harness.h"
#include "tests/reduce_reference.h"

enum { AXES = 6 };

/* An array: memory of its own and strides into it. */
typedef struct {
    char *memory, *data;
    size_t bytes;
    int64_t stride[VP__MAXDIM];
} array;

typedef struct {
    vp__kernel kernel;
    int ndim;
    int64_t dims[VP__MAXDIM];
    uint32_t reduced;
    array leaf[VP__KERNEL_LEAVES];
    array out;
} problem;

/* A layout with the axes in some order, some of them reversed, padded or repeated. */
static void lay_out(array *a, const problem *p, int size, uint32_t broadcast,
                    bool plain) {
    int order[VP__MAXDIM];
    for (int i = 0; i < p->ndim; i++) order[i] = i;
    if (!plain)
        for (int i = p->ndim - 1; i > 0; i--) {
            const int j = draw_below(4) == 0 ? i : draw_below(i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    int64_t pitch = size, low = 0;
    for (int i = p->ndim - 1; i >= 0; i--) {
        const int axis = order[i];
        const int64_t n = p->dims[axis];
        if (broadcast >> axis & 1) {
            a->stride[axis] = 0;
            continue;
        }
        if (!plain && draw_below(6) == 0) pitch *= 2;
        const bool back = !plain && draw_below(6) == 0;
        a->stride[axis] = back ? -pitch : pitch;
        if (back) low += pitch * (n > 0 ? n - 1 : 0);
        pitch *= n > 0 ? n : 1;
        if (!plain && draw_below(8) == 0) pitch += 2 * size;
    }
    a->bytes = (size_t)pitch + 64;
    a->memory = malloc(a->bytes);
    a->data = a->memory + low + 16;
}

static void fill(array *a, vp_dtype t) {
    const size_t size = vp__dtype[t].size;
    for (size_t i = 0; i + size <= a->bytes; i += size) draw_element(t, a->memory + i);
}

static void draw_shape(problem *p, int64_t most) {
    static const int64_t common[] = {1,  1,  2,   3,   4,   5,   7,   8,   10,   16,  17,
                                     33, 64, 100, 127, 128, 129, 300, 513, 1025, 2100};
    p->ndim = draw_below(AXES);
    int64_t total = 1;
    for (int i = 0; i < p->ndim; i++) {
        do {
            p->dims[i] = common[draw_below(21)];
        } while (total * p->dims[i] > most);
        total *= p->dims[i];
    }
}

static void draw_problem(problem *p, int64_t most) {
    static const vp__op reductions[] = {
        VP__OP_sum, VP__OP_sum, VP__OP_prod,   VP__OP_min,    VP__OP_max,
        VP__OP_any, VP__OP_all, VP__OP_argmin, VP__OP_argmax, VP__OP_count_nonzero};
    memset(p, 0, sizeof *p);
    draw_shape(p, most);
    vp__kernel *k = &p->kernel;
    k->nleaves = 1 + draw_below(4);
    for (int i = 0; i < k->nleaves; i++) {
        k->leaf[i].dtype = (uint8_t)draw_type();
        k->leaf[i].constant = draw_below(6) == 0;
        if (k->leaf[i].constant) {
            draw_element((vp_dtype)k->leaf[i].dtype, &k->leaf[i].value);
            continue;
        }
        const uint32_t broadcast =
            draw_below(3) == 0 ? (uint32_t)draw() & (uint32_t)draw() : 0;
        lay_out(&p->leaf[i], p, vp__dtype[k->leaf[i].dtype].size, broadcast,
                draw_below(3) == 0);
        fill(&p->leaf[i], (vp_dtype)k->leaf[i].dtype);
    }
    const int most_instrs = draw_below(10);
    for (int i = 0; i < most_instrs; i++) draw_instr(k);
    k->reduce = -1;
    int body = value_type(k, k->ninstrs > 0 ? k->nleaves + k->ninstrs - 1 : 0);
    k->result = (uint8_t)body;
    if (draw_below(3) > 0) {
        k->reduce = (int)reductions[draw_below(10)];
        p->reduced = (uint32_t)draw() & ((1u << p->ndim) - 1);
        if (draw_below(3) == 0) p->reduced = (1u << p->ndim) - 1;
        vp_dtype work, result;
        VP_CHECK(
            vp__reduce_types((vp__op)k->reduce, (vp_dtype)body, VP_AUTO, &work, &result));
        if (draw_below(4) && body != (int)work) {
            add_cast(k, k->ninstrs > 0 ? k->nleaves + k->ninstrs - 1 : 0, work);
            body = (int)work;
        }
        k->reduce_type = (uint8_t)body;
        k->result = vp__ops[k->reduce].result == VP__RESULT_SAME ? (uint8_t)body
                                                                 : (uint8_t)result;
    }
    lay_out(&p->out, p, vp__dtype[k->result].size, p->reduced, draw_below(2) == 0);
    memset(p->out.memory, 0xa5, p->out.bytes);
    const char *wrong = vp__kernel_verify(k);
    if (wrong != NULL) VP_FAIL("drew a kernel in which %s", wrong);
}

static void free_problem(problem *p) {
    for (int i = 0; i < p->kernel.nleaves; i++)
        if (!p->kernel.leaf[i].constant) free(p->leaf[i].memory);
    free(p->out.memory);
}

/* The body's value at one index. */
static void element(const vp__kernels *kernels, const problem *p, const int64_t *index,
                    void *out) {
    uint64_t value[VP__VALUES][2];
    const vp__kernel *k = &p->kernel;
    for (int i = 0; i < k->nleaves; i++) {
        const char *at = p->leaf[i].data;
        if (k->leaf[i].constant)
            at = (const char *)&k->leaf[i].value;
        else
            for (int d = 0; d < p->ndim; d++) at += index[d] * p->leaf[i].stride[d];
        memcpy(value[i], at, vp__dtype[k->leaf[i].dtype].size);
    }
    for (int i = 0; i < k->ninstrs; i++) {
        const vp__instr *in = &k->instr[i];
        void *to = value[k->nleaves + i];
        if (in->op == VP__OP_CAST)
            kernels->cast[in->type][in->result](to, value[in->arg[0]], 1);
        else
            kernels->op[in->op][in->type](to, value[in->arg[0]], value[in->arg[1]],
                                          value[in->arg[2]], 1);
    }
    const int last = k->ninstrs > 0 ? k->nleaves + k->ninstrs - 1 : 0;
    memcpy(out, value[last], vp__dtype[value_type(k, last)].size);
}

/* Steps the axes in `mask`, the last fastest; false after the last index. */
static bool step(const problem *p, int64_t *index, uint32_t mask) {
    for (int d = p->ndim - 1; d >= 0; d--) {
        if (!(mask >> d & 1)) continue;
        if (++index[d] < p->dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

static void neutral(const vp__kernel *k, void *out) {
    const double one = k->reduce == VP__OP_prod || k->reduce == VP__OP_all;
    memset(out, 0, 16);
    if (k->result == VP_F32 || k->result == VP_C64)
        *(float *)out = (float)one;
    else if (k->result == VP_F64 || k->result == VP_C128)
        *(double *)out = one;
    else
        *(uint8_t *)out = (uint8_t)one;
}

/* Evaluates into `memory`, a copy of the output's untouched memory. */
static void evaluate(const vp__kernels *kernels, const problem *p, char *memory) {
    const vp__kernel *k = &p->kernel;
    const uint32_t all = (uint32_t)((1ull << p->ndim) - 1);
    int64_t index[VP__MAXDIM] = {0}, numbers = 1, outputs = 1;
    for (int d = 0; d < p->ndim; d++)
        *(p->reduced >> d & 1 ? &numbers : &outputs) *= p->dims[d];
    if (outputs == 0) return;
    const int size =
        k->reduce < 0 ? vp__dtype[k->result].size : vp__dtype[k->reduce_type].size;
    char *column = malloc((size_t)(numbers * size) + 16);
    do {
        _Alignas(16) char result[16];
        char *to = memory + (p->out.data - p->out.memory);
        for (int d = 0; d < p->ndim; d++)
            if (!(p->reduced >> d & 1)) to += index[d] * p->out.stride[d];
        if (k->reduce < 0) {
            element(kernels, p, index, result);
        } else if (numbers == 0) {
            neutral(k, result);
        } else {
            int64_t n = 0;
            do {
                element(kernels, p, index, column + n++ * size);
            } while (step(p, index, p->reduced));
            ref_reduce(result, (vp__op)k->reduce, (vp_dtype)k->reduce_type, column, n);
        }
        memcpy(to, result, vp__dtype[k->result].size);
    } while (step(p, index, all & ~p->reduced));
    free(column);
}

/* What plans are told that a run costs: above 0 they ask for native code. */
static double cost;

/* Runs it by plan into `memory`, the pieces in some order. */
static void run(const vp__kernels *kernels, const problem *p, int64_t piece, char *memory,
                void *scratch) {
    vp__exec_args args = {.kernel = &p->kernel,
                          .ndim = p->ndim,
                          .dims = p->dims,
                          .reduced = p->reduced,
                          .out_strides = p->out.stride,
                          .cost = cost};
    void *data[VP__KERNEL_LEAVES];
    for (int i = 0; i < p->kernel.nleaves; i++) {
        const bool constant = p->kernel.leaf[i].constant;
        args.leaf_strides[i] = constant ? NULL : p->leaf[i].stride;
        data[i] = p->leaf[i].data;
    }
    char *out = memory + (p->out.data - p->out.memory);
    vp__plan *plan = malloc(vp__plan_size_for(&args));
    VP_CHECK_LE(vp__plan_size_for(&args), vp__plan_size());
    vp__plan_init_for(plan, kernels, &args, piece);
    const int64_t pieces = vp__plan_pieces(plan);
    const size_t bytes = vp__plan_partial_bytes(plan);
    char *partial = aligned_alloc(64, bytes + 64);
    for (int64_t i = 0; i < pieces; i++)
        vp__plan_run(plan, pieces - 1 - i, data, out, partial, scratch);
    if (bytes > 0) vp__plan_finish(plan, out, partial, scratch);
    free(partial);
    free(plan);
}

static void describe(const problem *p) {
    vp__kernel_print(&p->kernel, stderr);
    fprintf(stderr, "dims");
    for (int d = 0; d < p->ndim; d++)
        fprintf(stderr, " %lld%s", (long long)p->dims[d], p->reduced >> d & 1 ? "r" : "");
    for (int i = 0; i <= p->kernel.nleaves; i++) {
        const bool out = i == p->kernel.nleaves;
        if (!out && p->kernel.leaf[i].constant) continue;
        fprintf(stderr, out ? "\nout" : "\n%%%d ", i);
        for (int d = 0; d < p->ndim; d++)
            fprintf(stderr, " %lld",
                    (long long)(out ? p->out.stride[d] : p->leaf[i].stride[d]));
    }
    fprintf(stderr, "\n");
}

/* Equal bits, but any NaN is as good as another. */
static bool is_same(vp_dtype t, const char *a, const char *b) {
    const int size = vp__dtype[vp__dtype[t].real].size;
    for (int i = 0; i < vp__dtype[t].size; i += size) {
        if (memcmp(a + i, b + i, (size_t)size) == 0) continue;
        if (vp__dtype[t].cls < VP__CLASS_F) return false;
        const ref_element x = ref_load((vp_dtype)vp__dtype[t].real, a + i);
        const ref_element y = ref_load((vp_dtype)vp__dtype[t].real, b + i);
        if (!ref_is_nan(x) || !ref_is_nan(y)) return false;
    }
    return true;
}

static void compare(const problem *p, const char *got, const char *want,
                    const char *what) {
    const vp_dtype t = (vp_dtype)p->kernel.result;
    const size_t size = vp__dtype[t].size;
    if (memcmp(got, want, p->out.bytes) == 0) return;
    /* Elements lie at multiples of their size from the first. */
    const size_t first = (size_t)(p->out.data - p->out.memory) % size;
    for (size_t i = 0; i < p->out.bytes; i++) {
        if (got[i] == want[i]) continue;
        const size_t at = i < first ? i : first + (i - first) / size * size;
        if (i >= first && at + size <= p->out.bytes && is_same(t, got + at, want + at))
            continue;
        describe(p);
        fprintf(stderr, "seed %llu, %s, byte %lld from element 0\n",
                (unsigned long long)seed, what,
                (long long)(i - (size_t)(p->out.data - p->out.memory)));
        VP_CHECK_BYTES(got + at, want + at, size);
    }
}

static const char *const isas[] = {"baseline", "avx2", "avx512"};

static void check(const problem *p, void *scratch) {
    const vp__kernels *best = vp__kernels_get();
    char *want = malloc(p->out.bytes), *got = malloc(p->out.bytes);
    for (int i = 0; i < 3; i++) {
        const vp__kernels *kernels = vp__kernels_for(isas[i]);
        if (kernels == NULL || (cost > 0 && kernels != best)) continue;
        memcpy(want, p->out.memory, p->out.bytes);
        evaluate(kernels, p, want);
        static const int64_t piece[] = {INT64_MAX / 4, 20000, 1000};
        for (int j = 0; j < 3; j++) {
            char what[64];
            snprintf(what, sizeof what, "%s, pieces of %lld", isas[i],
                     (long long)piece[j]);
            memcpy(got, p->out.memory, p->out.bytes);
            run(kernels, p, piece[j], got, scratch);
            compare(p, got, want, what);
        }
        if (kernels != best && draw_below(2)) break;
    }
    free(want);
    free(got);
}

static void check_random(uint64_t first, int count, int64_t most) {
    void *scratch = aligned_alloc(64, vp__exec_scratch_size());
    problem *p = malloc(sizeof *p);
    for (int i = 0; i < count / vp__test_slowdown() + 1; i++) {
        seed = (first + (uint64_t)i) * 0x9e3779b97f4a7c15u | 1;
        for (int j = 0; j < 8; j++) draw();
        draw_problem(p, most);
        check(p, scratch);
        free_problem(p);
    }
    free(p);
    free(scratch);
}

VP_TEST_TIMEOUT(small_random_kernels, 120) { check_random(1, 4000, 300); }
VP_TEST_TIMEOUT(random_kernels, 120) { check_random(100000, 1200, 5000); }
VP_TEST_TIMEOUT(large_random_kernels, 120) { check_random(200000, 60, 150000); }

/* The same with native code, in whatever way the layout lets it run; without a compiler it
 * is the base kernels again. */
static void check_stage(const char *jit, uint64_t first) {
    setenv("VP_JIT", jit, 1);
    setenv("VP_CACHE", "off", 1);
    cost = 1e6;
    check_random(first, 300, 5000);
    check_random(first + 100000, 40, 150000);
}

VP_TEST_TIMEOUT(random_kernels_as_native_code, 240) { check_stage("native", 300000); }
VP_TEST_TIMEOUT(random_kernels_as_specialised_code, 240) {
    check_stage("specialised", 500000);
}
VP_TEST_TIMEOUT(random_kernels_in_mixed_stages, 240) { check_stage("mixed", 700000); }

/* A problem with a given body-less leaf, shape and layout. */
static void pose(problem *p, vp_dtype t, int reduce, int ndim, const int64_t *dims,
                 uint32_t reduced) {
    memset(p, 0, sizeof *p);
    p->ndim = ndim;
    memcpy(p->dims, dims, (size_t)ndim * sizeof *dims);
    p->reduced = reduced;
    p->kernel.nleaves = 1;
    p->kernel.leaf[0].dtype = (uint8_t)t;
    p->kernel.reduce = reduce;
    p->kernel.reduce_type = (uint8_t)t;
    p->kernel.result = (uint8_t)t;
    vp_dtype work, result;
    if (reduce >= 0 && vp__ops[reduce].result != VP__RESULT_SAME) {
        VP_CHECK(vp__reduce_types((vp__op)reduce, t, VP_AUTO, &work, &result));
        p->kernel.result = (uint8_t)result;
    }
}

static void answer(problem *p, uint32_t broadcast, bool plain) {
    void *scratch = aligned_alloc(64, vp__exec_scratch_size());
    const char *wrong = vp__kernel_verify(&p->kernel);
    if (wrong != NULL) VP_FAIL("the kernel is wrong: %s", wrong);
    for (int i = 0; i < p->kernel.nleaves; i++) {
        if (p->kernel.leaf[i].constant) continue;
        lay_out(&p->leaf[i], p, vp__dtype[p->kernel.leaf[i].dtype].size, broadcast,
                plain);
        fill(&p->leaf[i], (vp_dtype)p->kernel.leaf[i].dtype);
    }
    lay_out(&p->out, p, vp__dtype[p->kernel.result].size, p->reduced, plain);
    memset(p->out.memory, 0xa5, p->out.bytes);
    check(p, scratch);
    free_problem(p);
    free(scratch);
}

VP_TEST(lengths_at_the_edges_of_blocks) {
    static const int64_t length[] = {1,    2,    15,   16,    17,   127,  128,
                                     129,  1023, 1024, 1025,  2047, 4095, 4097,
                                     8191, 8192, 8193, 16385, 40000};
    static const int ops[] = {VP__OP_sum,    VP__OP_prod,          VP__OP_min,
                              VP__OP_max,    VP__OP_any,           VP__OP_all,
                              VP__OP_argmin, VP__OP_count_nonzero, -1};
    problem p;
    seed = 7;
    for (int i = 0; i < 19; i++)
        for (int j = 0; j < 9; j++)
            for (int t = VP_F32; t <= VP_C128; t++) {
                pose(&p, (vp_dtype)t, ops[j], 1, &length[i], ops[j] < 0 ? 0 : 1);
                answer(&p, 0, true);
            }
}

/* Everything that is reduced, in both storage orders and in any: ranges and panels. */
VP_TEST(whole_arrays_in_any_order) {
    static const int64_t dims[][4] = {{100, 90, 1, 1},  {9, 1200, 1, 1}, {1200, 9, 1, 1},
                                      {37, 11, 29, 1},  {7, 5, 6, 50},   {3, 5000, 2, 1},
                                      {2, 30011, 1, 1}, {10, 128, 1, 1}, {16, 512, 1, 1},
                                      {40, 300, 1, 1}};
    static const int ops[] = {VP__OP_sum, VP__OP_min, VP__OP_argmax, VP__OP_any,
                              VP__OP_prod};
    problem p;
    seed = 11;
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 4; k++) {
                static const vp_dtype types[] = {VP_F64, VP_F32, VP_C128, VP_I16};
                for (int body = 0; body < 2; body++) {
                    if (draw_below(vp__test_slowdown() > 1 ? 3 : 1) != 0) continue;
                    pose(&p, types[k], ops[j], 4, dims[i], 15);
                    p.kernel.ninstrs = body;
                    p.kernel.instr[0] = (vp__instr){
                        VP__OP_negative, (uint8_t)types[k], (uint8_t)types[k], {0, 0, 0}};
                    answer(&p, 0, false);
                }
            }
}

/* Strides of so many elements of what lies further in; 0 repeats. */
static void lay_out_steps(array *a, const problem *p, int size, const int *steps) {
    int64_t pitch = size, low = 0;
    for (int axis = p->ndim - 1; axis >= 0; axis--) {
        const int64_t step = steps[axis], length = step < 0 ? -step : step;
        a->stride[axis] = step * pitch;
        if (step < 0) low += length * pitch * (p->dims[axis] - 1);
        if (step != 0) pitch *= length * p->dims[axis];
    }
    a->bytes = (size_t)pitch + 64;
    a->memory = malloc(a->bytes);
    a->data = a->memory + low + 16;
}

/* What native code walks in its own ways: columns that are wider than a tile or narrow and
 * one run, runs that blocks end in, every other element, and steps it leaves to others. */
VP_TEST_TIMEOUT(layouts_as_native_code, 240) {
    static const struct {
        int64_t dims[3];
        uint32_t reduced;
    } shapes[] = {{{1, 37, 117}, 0},  {{20, 33, 100}, 5}, {{9, 2, 133}, 5},
                  {{5, 40, 16}, 5},   {{3, 1, 1000}, 5},  {{1, 300, 601}, 2},
                  {{3, 129, 100}, 2}, {{70, 2, 260}, 1},  {{2, 50, 129}, 4},
                  {{4, 33, 40}, 3}};
    static const int steps[][2][3] = {{{1, 1, 1}, {1, 1, 1}},  {{1, 1, 2}, {1, 1, 1}},
                                      {{2, 2, 2}, {2, 1, 2}},  {{1, 1, 2}, {0, 1, 0}},
                                      {{1, 0, 1}, {1, 1, 2}},  {{-1, 1, 1}, {1, -2, 1}},
                                      {{1, 1, -2}, {1, 1, 2}}, {{1, 2, 1}, {1, 1, 3}}};
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32, VP_I8};
    static const int ops[] = {VP__OP_sum, VP__OP_max};
    setenv("VP_JIT", "native", 1);
    setenv("VP_CACHE", "off", 1);
    cost = 1e6;
    seed = 23;
    void *scratch = aligned_alloc(64, vp__exec_scratch_size());
    problem *p = malloc(sizeof *p);
    for (int i = 0; i < 10 * 8 * 4 * 2; i++) {
        const int shape = i / 64, step = i / 8 % 8, type = i / 2 % 4, op = i % 2;
        const uint8_t t = (uint8_t)types[type];
        if (draw_below(vp__test_slowdown()) != 0) continue;
        pose(p, types[type], shapes[shape].reduced ? ops[op] : -1, 3, shapes[shape].dims,
             shapes[shape].reduced);
        p->kernel.nleaves = 2;
        p->kernel.leaf[1].dtype = t;
        p->kernel.ninstrs = 1;
        p->kernel.instr[0] = (vp__instr){VP__OP_multiply, t, t, {0, 1, 0}};
        for (int l = 0; l < 2; l++) {
            lay_out_steps(&p->leaf[l], p, vp__dtype[t].size, steps[step][l]);
            fill(&p->leaf[l], types[type]);
        }
        lay_out(&p->out, p, vp__dtype[p->kernel.result].size, p->reduced, true);
        memset(p->out.memory, 0xa5, p->out.bytes);
        check(p, scratch);
        free_problem(p);
    }
    free(p);
    free(scratch);
}

/* A few columns side by side, with a body whose values grow: blocks must hold the widest. */
VP_TEST(few_columns_of_growing_values) {
    static const int64_t dims[][2] = {{1109, 8}, {1024, 8}, {5000, 3}, {300, 12}};
    problem p;
    seed = 19;
    for (int i = 0; i < 4; i++)
        for (int wide = VP_F64; wide <= VP_C128; wide++)
            for (int j = 0; j < 2; j++) {
                pose(&p, VP_U8, j ? VP__OP_prod : VP__OP_sum, 2, dims[i], 1);
                p.kernel.ninstrs = 3;
                p.kernel.instr[0] = (vp__instr){VP__OP_CAST, VP_U8, VP_F32, {0, 0, 0}};
                p.kernel.instr[1] = (vp__instr){VP__OP_sqrt, VP_F32, VP_F32, {1, 0, 0}};
                p.kernel.instr[2] =
                    (vp__instr){VP__OP_CAST, VP_F32, (uint8_t)wide, {2, 0, 0}};
                p.kernel.reduce_type = p.kernel.result = (uint8_t)wide;
                answer(&p, 0, true);
            }
}

VP_TEST(empty_spaces) {
    static const int64_t dims[][2] = {{0, 5}, {5, 0}, {0, 0}};
    problem p;
    seed = 13;
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < VP__NDTYPES; t++) {
            static const int ops[] = {VP__OP_sum, VP__OP_prod,          VP__OP_any,
                                      VP__OP_all, VP__OP_count_nonzero, -1};
            for (int j = 0; j < 6; j++)
                for (uint32_t reduced = 0; reduced < 4; reduced++) {
                    pose(&p, (vp_dtype)t, ops[j], 2, dims[i], ops[j] < 0 ? 0 : reduced);
                    answer(&p, 0, true);
                }
        }
}

VP_TEST(many_axes) {
    problem p;
    int64_t dims[VP__MAXDIM];
    seed = 17;
    for (int n = 0; n < 24; n++) {
        int64_t total = 1;
        for (int d = 0; d < VP__MAXDIM; d++) {
            dims[d] = draw_below(3) == 0 && total < 10000 ? 2 : 1;
            total *= dims[d];
        }
        const bool reduces = n % 2;
        pose(&p, VP_F32, reduces ? (int)VP__OP_sum : -1, VP__MAXDIM, dims,
             reduces ? (uint32_t)draw() : 0);
        answer(&p, (uint32_t)draw() & (uint32_t)draw(), n % 3 == 0);
    }
    /* None, and twelve that cannot be merged. */
    pose(&p, VP_F64, -1, 0, dims, 0);
    answer(&p, 0, true);
    pose(&p, VP_F64, VP__OP_sum, 0, dims, 0);
    answer(&p, 0, true);
    for (int d = 0; d < 12; d++) dims[d] = 2;
    pose(&p, VP_F64, -1, 12, dims, 0);
    answer(&p, 0x5a5, false);
}

/* The largest body there is, with as many values alive at once as can be. */
VP_TEST(large_bodies) {
    problem p;
    const int64_t dims[2] = {70, 90};
    seed = 19;
    for (int n = 0; n < 6; n++) {
        pose(&p, VP_F64, n % 2 ? (int)VP__OP_sum : -1, 2, dims,
             n % 2 ? (uint32_t)n % 3 : 0);
        vp__kernel *k = &p.kernel;
        k->nleaves = VP__KERNEL_LEAVES;
        for (int i = 0; i < k->nleaves; i++) {
            k->leaf[i].dtype = VP_F64;
            k->leaf[i].constant = n < 2 && i % 5 == 4;
            k->leaf[i].value.f64[0] = i;
        }
        for (int i = 0; i < 32; i++)
            k->instr[k->ninstrs++] =
                (vp__instr){VP__OP_square, VP_F64, VP_F64, {(uint8_t)i}};
        for (int i = 0; i < 31; i++) {
            const uint8_t so_far = (uint8_t)(i == 0 ? 32 : 63 + i);
            k->instr[k->ninstrs++] =
                (vp__instr){VP__OP_add, VP_F64, VP_F64, {so_far, (uint8_t)(33 + i)}};
        }
        answer(&p, n == 4 ? 1 : 0, n < 3);
    }
}

/* The short way gives what a plan gives, for any length. */
VP_TEST(flat_runs) {
    void *scratch = aligned_alloc(64, vp__exec_scratch_size());
    problem *p = malloc(sizeof *p);
    for (uint64_t i = 0; i < 600; i++) {
        seed = (i + 1) * 0x9e3779b97f4a7c15u | 1;
        draw_problem(p, 1);
        free_problem(p);
        p->kernel.reduce = -1;
        p->kernel.result = (uint8_t)value_type(
            &p->kernel,
            p->kernel.ninstrs > 0 ? p->kernel.nleaves + p->kernel.ninstrs - 1 : 0);
        p->reduced = 0;
        p->ndim = 1;
        p->dims[0] = draw_below(2) ? draw_below(40) : draw_below(3000);
        void *data[VP__KERNEL_LEAVES];
        for (int j = 0; j < p->kernel.nleaves; j++) {
            if (p->kernel.leaf[j].constant) continue;
            lay_out(&p->leaf[j], p, vp__dtype[p->kernel.leaf[j].dtype].size, 0, true);
            fill(&p->leaf[j], (vp_dtype)p->kernel.leaf[j].dtype);
            data[j] = p->leaf[j].data;
        }
        lay_out(&p->out, p, vp__dtype[p->kernel.result].size, 0, true);
        memset(p->out.memory, 0xa5, p->out.bytes);
        char *want = malloc(p->out.bytes);
        memcpy(want, p->out.memory, p->out.bytes);
        evaluate(vp__kernels_get(), p, want);
        vp__exec_flat(&p->kernel, data, p->out.data, p->dims[0], scratch);
        compare(p, p->out.memory, want, "flat");
        free(want);
        free_problem(p);
    }
    free(p);
    free(scratch);
}

/* The output may be a leaf itself. */
VP_TEST(runs_in_place) {
    enum { N = 5000 };
    static double x[N], y[N];
    vp__kernel k = {.nleaves = 2, .ninstrs = 2, .reduce = -1, .result = VP_F64};
    k.leaf[0].dtype = k.leaf[1].dtype = VP_F64;
    k.instr[0] = (vp__instr){VP__OP_multiply, VP_F64, VP_F64, {1, 1}};
    k.instr[1] = (vp__instr){VP__OP_add, VP_F64, VP_F64, {2, 0}};
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
    const int64_t dims[1] = {N}, stride[1] = {8};
    vp__exec_args args = {.kernel = &k, .ndim = 1, .dims = dims, .out_strides = stride};
    args.leaf_strides[0] = args.leaf_strides[1] = stride;
    vp__plan *plan = malloc(vp__plan_size());
    void *scratch = aligned_alloc(64, vp__exec_scratch_size()), *data[2] = {x, y};
    vp__plan_init(plan, &args, 700);
    for (int64_t i = 0; i < vp__plan_pieces(plan); i++)
        vp__plan_run(plan, i, data, x, NULL, scratch);
    for (int i = 0; i < N; i++) VP_CHECK_EQ(x[i], i + 4.0 * i * i);
    free(plan);
    free(scratch);
}

/* Pieces are as large as asked for, and a plan is small. */
VP_TEST(pieces_have_the_size_asked_for) {
    problem p;
    const int64_t dims[2] = {3000, 1000}, wish[] = {10000, 100000, 1000000};
    for (int n = 0; n < 8; n++) {
        pose(&p, VP_F64, n % 4 ? (int)VP__OP_sum : -1, 2, dims, (uint32_t)(n % 4));
        seed = 23;
        lay_out(&p.leaf[0], &p, 8, 0, true);
        lay_out(&p.out, &p, 8, p.reduced, true);
        vp__exec_args args = {.kernel = &p.kernel,
                              .ndim = 2,
                              .dims = p.dims,
                              .reduced = p.reduced,
                              .leaf_strides = {p.leaf[0].stride},
                              .out_strides = p.out.stride};
        if (n >= 4) {
            p.leaf[0].stride[0] = 8;
            p.leaf[0].stride[1] = 24000;
        }
        vp__plan *plan = malloc(vp__plan_size());
        VP_CHECK_LE(vp__plan_size_for(&args), 1024);
        for (int i = 0; i < 3; i++) {
            vp__plan_init(plan, &args, wish[i]);
            const int64_t pieces = vp__plan_pieces(plan), ideal = 3000000 / wish[i];
            VP_CHECK_LE(pieces, 8 * ideal);
            VP_CHECK_GE(8 * pieces, ideal);
            /* A state for every piece and no more. */
            VP_CHECK_LE(vp__plan_partial_bytes(plan), (size_t)pieces * 65536);
        }
        free(plan);
        free_problem(&p);
    }
}

static void print_to(char *text, size_t room, const vp__kernel *k) {
    FILE *f = fmemopen(text, room, "w");
    vp__kernel_print(k, f);
    fclose(f);
}

VP_TEST(kernels_print_as_text) {
    vp__kernel k = {
        .nleaves = 3, .reduce = VP__OP_sum, .reduce_type = VP_F64, .result = VP_F64};
    k.leaf[0].dtype = VP_I32;
    k.leaf[1] = (vp__leaf){.dtype = VP_F64, .constant = true, .value = {.f64 = {0.5}}};
    k.leaf[2] = (vp__leaf){.dtype = VP_I8, .constant = true, .value = {.u64 = {0xff}}};
    k.instr[k.ninstrs++] = (vp__instr){VP__OP_CAST, VP_I32, VP_F64, {0}};
    k.instr[k.ninstrs++] = (vp__instr){VP__OP_multiply, VP_F64, VP_F64, {3, 1}};
    k.instr[k.ninstrs++] = (vp__instr){VP__OP_less, VP_F64, VP_BOOL, {4, 1}};
    k.instr[k.ninstrs++] = (vp__instr){VP__OP_where, VP_F64, VP_F64, {5, 4, 1}};
    char text[1024];
    print_to(text, sizeof text, &k);
    VP_CHECK_STR(text, "%0 = array int32\n"
                       "%1 = constant float64 0.5\n"
                       "%2 = constant int8 -1\n"
                       "%3 = cast int32 to float64 %0\n"
                       "%4 = multiply float64 %3 %1\n"
                       "%5 = less float64 %4 %1 -> bool\n"
                       "%6 = where float64 %5 %4 %1\n"
                       "reduce sum float64 -> float64\n");
    VP_CHECK_STR(vp__kernel_verify(&k), NULL);
    k.reduce = -1;
    print_to(text, sizeof text, &k);
    VP_CHECK_CONTAINS(text, "\nstore float64\n");
}

VP_TEST(the_verifier_finds_mistakes) {
    vp__kernel good = {.nleaves = 2, .ninstrs = 1, .reduce = -1, .result = VP_F64}, k;
    good.leaf[0].dtype = good.leaf[1].dtype = VP_F64;
    good.instr[0] = (vp__instr){VP__OP_add, VP_F64, VP_F64, {0, 1}};
    VP_CHECK_STR(vp__kernel_verify(&good), NULL);
    k = good, k.nleaves = 0;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "number of leaves");
    k = good, k.ninstrs = 65;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "number of instructions");
    k = good, k.instr[0].arg[1] = 2;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "not computed before");
    k = good, k.leaf[1].dtype = VP_F32;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "not been cast");
    k = good, k.instr[0].result = VP_F32;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "result type");
    k = good, k.instr[0].op = VP__OP_sum;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "reduction stands in the body");
    k = good, k.result = VP_I64;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "output's type");
    k = good, k.reduce = VP__OP_argmin, k.reduce_type = VP_F64;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "output's type");
    k.result = VP_I64;
    VP_CHECK_STR(vp__kernel_verify(&k), NULL);
    k.reduce = VP__OP_add;
    VP_CHECK_CONTAINS(vp__kernel_verify(&k), "no reduction");
}
