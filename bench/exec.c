/* SPDX-License-Identifier: Apache-2.0
 *
 * The base executor alone, on one thread: reductions of contiguous arrays, the
 * expressions of the experiments, and layouts that are not contiguous. Nanoseconds per
 * evaluation, best of several runs; a plan is made once per line and its cost is measured
 * apart.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "jit/plan.h"
#include "ops/kernels.h"

/* One thing to measure: a kernel over a space, with layouts. */
typedef struct {
    vp__kernel kernel;
    vp__exec_args args;
    int64_t dims[4];
    int64_t strides[4][4]; /* of the leaves */
    int64_t out_strides[4];
    void *data[VP__KERNEL_LEAVES];
    void *out;
} task;

static void *scratch, *partial, *plan;
enum { PARTIAL = 1 << 20 };

static void fail(const char *what) {
    fprintf(stderr, "bench/exec: %s\n", what);
    exit(1);
}

/* Memory as the pool gives it: large blocks on huge pages. */
static void *room(size_t bytes) {
    const size_t align = bytes >= 4u << 20 ? 2u << 20 : 64;
    void *p = aligned_alloc(align, (bytes + align - 1) / align * align);
    if (p == NULL) fail("out of memory");
    if (align > 64) madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static void bind(task *t, int ndim, uint32_t reduced) {
    const char *wrong = vp__kernel_verify(&t->kernel);
    if (wrong != NULL) fail(wrong);
    t->args.kernel = &t->kernel;
    t->args.ndim = ndim;
    t->args.dims = t->dims;
    t->args.reduced = reduced;
    t->args.out_strides = t->out_strides;
    for (int i = 0; i < t->kernel.nleaves; i++)
        t->args.leaf_strides[i] = t->kernel.leaf[i].constant ? NULL : t->strides[i];
    if (vp__plan_size_for(&t->args) > vp__plan_size()) fail("the plan is too large");
}

static void evaluate(task *t) {
    const int64_t pieces = vp__plan_pieces(plan);
    for (int64_t i = 0; i < pieces; i++)
        vp__plan_run(plan, i, t->data, t->out, partial, scratch);
    if (vp__plan_partial_bytes(plan) > 0) vp__plan_finish(plan, t->out, partial, scratch);
}

/* Time this thread has run: what others do on a busy machine is not counted. */
static uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The best of many short samples. */
static double best_of(void (*run)(task *), task *t) {
    double best = 1e300;
    int64_t repeat = 1;
    const uint64_t end = clock_ns() + 150000000;
    do {
        const uint64_t start = clock_ns();
        for (int64_t j = 0; j < repeat; j++) run(t);
        const double ns = (double)(clock_ns() - start);
        if (ns / (double)repeat < best) best = ns / (double)repeat;
        if (ns < 20000) repeat *= 2;
    } while (clock_ns() < end);
    return best;
}

static void make_plan(task *t) { vp__plan_init(plan, &t->args, INT64_MAX / 4); }

/* Best time of an evaluation, in nanoseconds. */
static double measure(task *t) {
    make_plan(t);
    if (vp__plan_partial_bytes(plan) > PARTIAL) fail("the partial states are too large");
    evaluate(t);
    return best_of(evaluate, t);
}

static void add_instr(vp__kernel *k, int op, vp_dtype type, vp_dtype result, int a,
                      int b) {
    k->instr[k->ninstrs++] = (vp__instr){.op = (uint8_t)op,
                                         .type = (uint8_t)type,
                                         .result = (uint8_t)result,
                                         .arg = {(uint8_t)a, (uint8_t)b, 0}};
}

static void add_leaf(vp__kernel *k, vp_dtype type) {
    k->leaf[k->nleaves++].dtype = (uint8_t)type;
}
static void add_constant(vp__kernel *k, vp_dtype type, uint64_t bits) {
    k->leaf[k->nleaves].dtype = (uint8_t)type;
    k->leaf[k->nleaves].constant = true;
    k->leaf[k->nleaves++].value.u64[0] = bits;
}

static void *some(vp_dtype type, int64_t n) {
    char *x = room((size_t)(n * vp__dtype[type].size));
    uint32_t r = 1;
    for (int64_t i = 0; i < n; i++) {
        r = r * 1664525 + 1013904223;
        const double v = 1 + (r >> 8) / 16777216.0 * 99;
        if (type == VP_F64) ((double *)x)[i] = v;
        if (type == VP_F32) ((float *)x)[i] = (float)v;
        if (type == VP_I32) ((int32_t *)x)[i] = (int32_t)v;
        if (type == VP_U32) ((uint32_t *)x)[i] = r;
    }
    return x;
}

/* NumPy sums integers in 64 bits, so those have a cast before them. */
static void bench_reductions(void) {
    static const vp__op ops[] = {VP__OP_sum, VP__OP_prod,   VP__OP_min,
                                 VP__OP_max, VP__OP_argmin, VP__OP_argmax,
                                 VP__OP_any, VP__OP_all,    VP__OP_count_nonzero};
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32};
    for (int i = 0; i < 3; i++)
        for (int64_t n = 10000; n <= 1000000; n *= 100)
            for (int j = 0; j < 9; j++) {
                task t = {.kernel = {.reduce = (int)ops[j]}};
                vp_dtype work, result;
                if (!vp__reduce_types(ops[j], types[i], VP_AUTO, &work, &result))
                    fail("a reduction has no type");
                add_leaf(&t.kernel, types[i]);
                if (work != types[i])
                    add_instr(&t.kernel, VP__OP_CAST, types[i], work, 0, 0);
                t.kernel.reduce_type = (uint8_t)work;
                t.kernel.result = (uint8_t)result;
                t.dims[0] = n;
                t.strides[0][0] = vp__dtype[types[i]].size;
                t.data[0] = some(types[i], n);
                if (ops[j] == VP__OP_any)
                    memset(t.data[0], 0, (size_t)(n * t.strides[0][0]));
                t.out = room(64);
                bind(&t, 1, 1);
                printf("%-13s %-8s %8lld %12.0f\n", vp__ops[ops[j]].name,
                       vp__dtype[types[i]].name, (long long)n, measure(&t));
                free(t.data[0]);
                free(t.out);
            }
}

/* sum((m0 & (A << shift)) | (~m0 & B), axis 1), column-major. */
static void bench_a1(bool column_major) {
    task t = {.kernel = {.reduce = VP__OP_sum, .reduce_type = VP_U32, .result = VP_U32},
              .dims = {507, 10, 5, 17}};
    vp__kernel *k = &t.kernel;
    add_leaf(k, VP_U32);
    add_leaf(k, VP_U32);
    add_constant(k, VP_U32, 1142251548);
    add_constant(k, VP_U32, 17);
    add_instr(k, VP__OP_left_shift, VP_U32, VP_U32, 0, 3);
    add_instr(k, VP__OP_bitwise_and, VP_U32, VP_U32, 2, 4);
    add_instr(k, VP__OP_bitwise_not, VP_U32, VP_U32, 2, 2);
    add_instr(k, VP__OP_bitwise_and, VP_U32, VP_U32, 6, 1);
    add_instr(k, VP__OP_bitwise_or, VP_U32, VP_U32, 5, 7);
    int64_t a = 4, b = 4, r = 4;
    for (int i = 0; i < 4; i++) {
        const int d = column_major ? i : 3 - i;
        t.strides[0][d] = a;
        a *= t.dims[d];
        t.strides[1][d] = d < 2 ? 0 : b;
        b *= d < 2 ? 1 : t.dims[d];
        t.out_strides[d] = r;
        r *= d == 1 ? 1 : t.dims[d];
    }
    t.data[0] = some(VP_U32, 430950);
    t.data[1] = some(VP_U32, 85);
    t.out = room(43095 * 4);
    bind(&t, 4, 2);
    printf("A1, %s %35.0f\n", column_major ? "column-major" : "row-major   ",
           measure(&t));
    free(t.data[0]);
    free(t.data[1]);
    free(t.out);
}

/* One float64 matrix or two, in some layout. */
typedef struct {
    const char *name;
    int64_t rows, cols;
    int64_t a[2], b[2], out[2]; /* strides in elements */
    int reduce;                 /* -1, or a row of ops.def over `axis` */
    int axis;                   /* 2: both */
    int op;                     /* -1, or an operation */
} layout;

static const layout layouts[] = {
    {"sum(abs(x), 0), column-major",
     1500,
     1500,
     {1, 1500},
     {0, 0},
     {0, 1},
     VP__OP_sum,
     0,
     VP__OP_abs},
    {"sum(abs(x), 1), column-major",
     1500,
     1500,
     {1, 1500},
     {0, 0},
     {1, 0},
     VP__OP_sum,
     1,
     VP__OP_abs},
    {"sum(x, 0), row-major", 1500, 1500, {1500, 1}, {0, 0}, {0, 1}, VP__OP_sum, 0, -1},
    {"sum(x, 1), row-major", 1500, 1500, {1500, 1}, {0, 0}, {1, 0}, VP__OP_sum, 1, -1},
    {"sum(x, 0), 100 x 100", 100, 100, {100, 1}, {0, 0}, {0, 1}, VP__OP_sum, 0, -1},
    {"sum(x, 1), 100 x 100", 100, 100, {100, 1}, {0, 0}, {1, 0}, VP__OP_sum, 1, -1},
    {"sum(x, 1), 300000 x 3", 300000, 3, {3, 1}, {0, 0}, {1, 0}, VP__OP_sum, 1, -1},
    {"sum(x, 0), 300000 x 3", 300000, 3, {3, 1}, {0, 0}, {0, 1}, VP__OP_sum, 0, -1},
    {"sum(x), row-major", 1500, 1500, {1500, 1}, {0, 0}, {0, 0}, VP__OP_sum, 2, -1},
    {"sum(x), column-major", 1500, 1500, {1, 1500}, {0, 0}, {0, 0}, VP__OP_sum, 2, -1},
    {"sum(x), column-major, 150 x 15000",
     150,
     15000,
     {1, 150},
     {0, 0},
     {0, 0},
     VP__OP_sum,
     2,
     -1},
    {"sum(x[:, ::2])", 1500, 750, {1500, 2}, {0, 0}, {0, 0}, VP__OP_sum, 2, -1},
    {"argmin(x, 0), row-major",
     1500,
     1500,
     {1500, 1},
     {0, 0},
     {0, 1},
     VP__OP_argmin,
     0,
     -1},
    {"max(x, 0), row-major", 1500, 1500, {1500, 1}, {0, 0}, {0, 1}, VP__OP_max, 0, -1},
    {"x + y", 1500, 1500, {1500, 1}, {1500, 1}, {1500, 1}, -1, 0, VP__OP_add},
    {"x + y.T", 1500, 1500, {1500, 1}, {1, 1500}, {1500, 1}, -1, 0, VP__OP_add},
    {"x.T to row-major", 1500, 1500, {1, 1500}, {0, 0}, {1500, 1}, -1, 0, -1},
    {"x + y.T, 1024 x 1024",
     1024,
     1024,
     {1024, 1},
     {1, 1024},
     {1024, 1},
     -1,
     0,
     VP__OP_add},
    {"x[:, ::2] + y[:, ::2]",
     1500,
     750,
     {1500, 2},
     {1500, 2},
     {750, 1},
     -1,
     0,
     VP__OP_add},
    {"x + row", 1500, 1500, {1500, 1}, {0, 1}, {1500, 1}, -1, 0, VP__OP_add},
    {"x + column", 1500, 1500, {1500, 1}, {1, 0}, {1500, 1}, -1, 0, VP__OP_add},
    {"x + row, 500000 x 3", 500000, 3, {3, 1}, {0, 1}, {3, 1}, -1, 0, VP__OP_add},
    {"x[:, :3] + y[:, :3] of 4", 500000, 3, {4, 1}, {4, 1}, {3, 1}, -1, 0, VP__OP_add},
    {"x[::-1] + y", 1500, 1500, {-1500, 1}, {1500, 1}, {1500, 1}, -1, 0, VP__OP_add},
};

static void bench_layout(const layout *l) {
    task t = {.kernel = {.reduce = l->reduce, .reduce_type = VP_F64, .result = VP_F64},
              .dims = {l->rows, l->cols}};
    const bool two = l->op >= 0 && vp__ops[l->op].arity == 2;
    if (l->reduce == VP__OP_argmin) t.kernel.result = VP_I64;
    add_leaf(&t.kernel, VP_F64);
    if (two) add_leaf(&t.kernel, VP_F64);
    if (l->op >= 0) add_instr(&t.kernel, l->op, VP_F64, VP_F64, 0, two ? 1 : 0);
    for (int d = 0; d < 2; d++) {
        t.strides[0][d] = 8 * l->a[d];
        t.strides[1][d] = 8 * l->b[d];
        t.out_strides[d] = 8 * l->out[d];
    }
    double *x = some(VP_F64, 2250000), *y = some(VP_F64, 2250000);
    t.data[0] = l->a[0] < 0 ? x - l->a[0] * (l->rows - 1) : x;
    t.data[1] = y;
    t.out = room(2250000 * 8);
    const uint32_t axes[] = {1, 2, 3};
    bind(&t, 2, l->reduce >= 0 ? axes[l->axis] : 0);
    const double ns = measure(&t);
    printf("%-38s %12.0f  %6.3f ns/element\n", l->name, ns,
           ns / (double)(l->rows * l->cols));
    free(x);
    free(y);
    free(t.out);
}

/* x * y + z and a longer chain: what blocks in L1 are for. */
static void bench_chain(int64_t n, int links) {
    task t = {.kernel = {.reduce = -1, .result = VP_F64}, .dims = {n}};
    for (int i = 0; i < 3; i++) {
        add_leaf(&t.kernel, VP_F64);
        t.strides[i][0] = 8;
        t.data[i] = some(VP_F64, n);
    }
    add_instr(&t.kernel, VP__OP_multiply, VP_F64, VP_F64, 0, 1);
    for (int i = 1; i < links; i++)
        add_instr(&t.kernel, i % 2 ? VP__OP_add : VP__OP_multiply, VP_F64, VP_F64, 2 + i,
                  i % 3 ? 2 : 1);
    t.out_strides[0] = 8;
    t.out = room((size_t)n * 8);
    bind(&t, 1, 0);
    printf("chain of %2d, %8lld elements %24.0f\n", links, (long long)n, measure(&t));
    for (int i = 0; i < 3; i++) free(t.data[i]);
    free(t.out);
}

static void run_flat(task *t) {
    vp__exec_flat(&t->kernel, t->data, t->out, t->dims[0], scratch);
}

static void bench_small(void) {
    task t = {.kernel = {.reduce = -1, .result = VP_F64}, .dims = {10}};
    add_leaf(&t.kernel, VP_F64);
    add_leaf(&t.kernel, VP_F64);
    add_instr(&t.kernel, VP__OP_add, VP_F64, VP_F64, 0, 1);
    t.strides[0][0] = t.strides[1][0] = t.out_strides[0] = 8;
    t.data[0] = some(VP_F64, 1000000);
    t.data[1] = some(VP_F64, 1000000);
    t.out = room(8000000);
    bind(&t, 1, 0);
    printf("x + y, 10 elements, flat               %12.1f\n", best_of(run_flat, &t));
    printf("plan of x + y, 1-D                     %12.1f\n", best_of(make_plan, &t));
    make_plan(&t);
    printf("run of that plan                       %12.1f\n", best_of(evaluate, &t));
    t.dims[0] = 1000;
    printf("x + y, 1000 elements, flat             %12.1f\n", best_of(run_flat, &t));
    make_plan(&t);
    printf("x + y, 1000 elements, planned          %12.1f\n", best_of(evaluate, &t));
    t.kernel.reduce = VP__OP_sum;
    t.kernel.reduce_type = VP_F64;
    t.dims[1] = 30;
    t.strides[0][1] = t.strides[1][1] = 8000;
    bind(&t, 2, 1);
    printf("plan of sum(x + y, 0), 2-D             %12.1f\n", best_of(make_plan, &t));
    free(t.data[0]);
    free(t.data[1]);
    free(t.out);
}

int main(int argc, char **argv) {
    scratch = room(vp__exec_scratch_size());
    partial = room(PARTIAL);
    plan = room(vp__plan_size());
    const char *part = argc > 1 ? argv[1] : "all";
    const char *wanted = argc > 2 ? argv[2] : ""; /* in a layout's name */
    const bool all = strcmp(part, "all") == 0;
    printf("instruction set %s, scratch %zu, plan at most %zu bytes\n",
           vp__kernels_get()->isa, vp__exec_scratch_size(), vp__plan_size());
    if (all || strcmp(part, "small") == 0) bench_small();
    if (all || strcmp(part, "a") == 0) {
        bench_a1(true);
        bench_a1(false);
        for (int64_t n = 10000; n <= 1000000; n *= 10) {
            bench_chain(n, 2);
            bench_chain(n, 8);
        }
    }
    if (all || strcmp(part, "layouts") == 0)
        for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
            if (strstr(layouts[i].name, wanted)) bench_layout(&layouts[i]);
    if (all || strcmp(part, "reductions") == 0) bench_reductions();
    free(scratch);
    free(partial);
    free(plan);
    return 0;
}
