/* SPDX-License-Identifier: Apache-2.0
 *
 * What specialised code gains: kernels in one shape each, as native code and with constants,
 * sizes and strides folded in, run in turn on one thread. And what it costs a run to ask for
 * code. Times are the best and the median of many.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/compiler.h"
#include "jit/plan.h"
#include "ops/kernels.h"

enum { TURNS = 301, BYTES = 4 << 20 };

typedef struct {
    const char *name;
    vp__kernel kernel;
    vp__loops loops;
    int64_t x, y, z;
    int64_t row[VP__KERNEL_LEAVES + 1], outer[VP__KERNEL_LEAVES + 1];
} job;

static char *memory[VP__KERNEL_LEAVES + 1];

static job new_job(const char *name, int loops, int leaves, vp_dtype t, int64_t x,
                   int64_t y, int64_t z) {
    job j = {.name = name,
             .kernel = {.nleaves = leaves, .reduce = -1, .result = (uint8_t)t},
             .loops = {.kind = (uint8_t)loops},
             .x = x,
             .y = y,
             .z = z};
    const int64_t size = vp__dtype[t].size;
    for (int i = 0; i <= leaves; i++) {
        if (i < leaves) j.kernel.leaf[i].dtype = (uint8_t)t;
        j.row[i] = x * size;
        j.outer[i] = x * y * size;
    }
    if (loops == VP__LOOPS_ROWS) {
        j.row[leaves] = size;
        j.outer[leaves] = y * size;
    }
    if (loops == VP__LOOPS_COLS) {
        j.row[leaves] = 0;
        j.outer[leaves] = x * size;
    }
    return j;
}

static void make_constant(job *j, int leaf, double value) {
    vp__leaf *l = &j->kernel.leaf[leaf];
    l->constant = true;
    j->loops.read[leaf] = VP__READ_PLANE;
    j->row[leaf] = j->outer[leaf] = 0;
    if (l->dtype == VP_F64)
        l->value.f64[0] = value;
    else
        l->value.u64[0] = (uint64_t)(int64_t)value;
}

static void add(job *j, vp__op op, int a, int b, int c) {
    const uint8_t t = j->kernel.leaf[0].dtype;
    j->kernel.instr[j->kernel.ninstrs++] =
        (vp__instr){(uint8_t)op, t, t, {(uint8_t)a, (uint8_t)b, (uint8_t)c}};
}

static void sum(job *j) {
    j->kernel.reduce = VP__OP_sum;
    j->kernel.reduce_type = j->kernel.result;
}

static int make_jobs(job *j) {
    int n = 0;
    j[n] = new_job("A1: sum of a << 17 & m | b & ~m, 507x10x85", VP__LOOPS_COLS, 5,
                   VP_U32, 507, 10, 85);
    j[n].loops.read[1] = VP__READ_ROW;
    j[n].row[1] = 0;
    j[n].outer[1] = 4;
    make_constant(&j[n], 2, 17);
    make_constant(&j[n], 3, 1142251548);
    make_constant(&j[n], 4, 3152715747);
    add(&j[n], VP__OP_left_shift, 0, 2, 0);
    add(&j[n], VP__OP_bitwise_and, 5, 3, 0);
    add(&j[n], VP__OP_bitwise_and, 1, 4, 0);
    add(&j[n], VP__OP_bitwise_or, 6, 7, 0);
    sum(&j[n++]);
    static const struct {
        const char *name;
        vp_dtype type;
        int64_t x;
    } divisions[] = {{"int64 divided by 10, 1000", VP_I64, 1000},
                     {"int32 divided by 10, 1000", VP_I32, 1000},
                     {"uint8 divided by 10, 1000", VP_U8, 1000},
                     {"float64 divided by 8, 1000", VP_F64, 1000}};
    for (int i = 0; i < 4; i++, n++) {
        j[n] = new_job(divisions[i].name, VP__LOOPS_MAP, 2, divisions[i].type,
                       divisions[i].x, 1, 1);
        make_constant(&j[n], 1, i < 3 ? 10 : 8);
        add(&j[n], i < 3 ? VP__OP_floor_divide : VP__OP_divide, 0, 1, 0);
    }
    static const int64_t lengths[] = {20, 100, 1001, 100000};
    static const char *const maps[] = {"x * 2.5 + y, 20", "x * 2.5 + y, 100",
                                       "x * 2.5 + y, 1001", "x * 2.5 + y, 100000"};
    for (int i = 0; i < 4; i++, n++) {
        j[n] = new_job(maps[i], VP__LOOPS_MAP, 3, VP_F64, lengths[i], 1, 1);
        make_constant(&j[n], 1, 2.5);
        add(&j[n], VP__OP_multiply, 0, 1, 0);
        add(&j[n], VP__OP_add, 3, 2, 0);
    }
    j[n] =
        new_job("x * 2.5 + y, 20 wide, 200 rows", VP__LOOPS_MAP, 3, VP_F64, 20, 200, 1);
    make_constant(&j[n], 1, 2.5);
    add(&j[n], VP__OP_multiply, 0, 1, 0);
    add(&j[n++], VP__OP_add, 3, 2, 0);
    static const int64_t rows[] = {16, 30, 100, 1000};
    static const char *const sums[] = {"row sums of (x - y)^2, 16 wide, 200 rows",
                                       "row sums of (x - y)^2, 30 wide, 200 rows",
                                       "row sums of (x - y)^2, 100 wide, 200 rows",
                                       "row sums of (x - y)^2, 1000 wide, 200 rows"};
    for (int i = 0; i < 4; i++, n++) {
        j[n] = new_job(sums[i], VP__LOOPS_ROWS, 2, VP_F64, rows[i], 200, 1);
        add(&j[n], VP__OP_subtract, 0, 1, 0);
        add(&j[n], VP__OP_square, 2, 0, 0);
        sum(&j[n]);
    }
    return n;
}

/* --- running ------------------------------------------------------------------------ */

static void facts_of(const job *j, vp__facts *f) {
    vp__facts_init(f, &j->kernel);
    f->word[0] = j->x;
    f->word[1] = j->y;
    f->word[2] = j->z;
    for (int i = 0; i <= j->kernel.nleaves; i++) {
        if (i < j->kernel.nleaves && j->kernel.leaf[i].constant) continue;
        vp__facts_of(f, i)[0] = j->row[i];
        vp__facts_of(f, i)[1] = j->outer[i];
    }
}

static double run(const job *j, vp__native_fn fn, int times) {
    char *ptr[VP__KERNEL_LEAVES + 1];
    const int n = j->kernel.nleaves;
    for (int i = 0; i <= n; i++)
        ptr[i] = i < n && j->kernel.leaf[i].constant
                     ? (char *)(uintptr_t)&j->kernel.leaf[i].value
                     : memory[i];
    const uint64_t began = vp__clock_ticks();
    for (int i = 0; i < times; i++) fn(ptr, j->row, j->outer, j->x, j->y, j->z);
    return (double)vp__clock_ns(vp__clock_ticks() - began) / times;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const job *j) {
    static double ns[2][TURNS];
    vp__compiled code[2];
    vp__facts facts;
    double compile_ms[2];
    facts_of(j, &facts);
    for (int s = 0; s < 2; s++) {
        char *message = NULL;
        const uint64_t began = vp__clock_ticks();
        if (!vp__compile(&j->kernel, &j->loops, s ? &facts : NULL, &code[s], &message)) {
            printf("%-44s %s\n", j->name, message);
            return;
        }
        compile_ms[s] = (double)vp__clock_ns(vp__clock_ticks() - began) / 1e6;
    }
    const int times = (int)(20000 / (run(j, code[0].fn, 3) + 1)) + 1;
    for (int i = 0; i < TURNS; i++)
        for (int s = 0; s < 2; s++) ns[s][i] = run(j, code[s].fn, times);
    for (int s = 0; s < 2; s++) qsort(ns[s], TURNS, sizeof ns[s][0], by_size);
    printf("%-44s %8.0f %8.0f  %8.0f %8.0f  %5.2f %5.2f  %5.1f %5.1f\n", j->name,
           ns[0][0], ns[0][TURNS / 2], ns[1][0], ns[1][TURNS / 2], ns[1][0] / ns[0][0],
           ns[1][TURNS / 2] / ns[0][TURNS / 2], compile_ms[0], compile_ms[1]);
}

/* A run that asks for native code, without what it then runs. */
static void measure_asking(bool varies) {
    enum { TIMES = 2000 };
    static double ns[TURNS];
    job j = new_job("", VP__LOOPS_MAP, 3, VP_F64, 1000, 1, 1);
    make_constant(&j, 1, 2.5);
    add(&j, VP__OP_multiply, 0, 1, 0);
    add(&j, VP__OP_add, 3, 2, 0);
    while (!vp__exec_flat_code(&j.kernel, 3000, 1000).fn) vp__native_settle();
    for (int i = 0; i < TURNS; i++) {
        const uint64_t began = vp__clock_ticks();
        for (int k = 0; k < TIMES; k++) {
            if (varies) j.kernel.leaf[1].value.f64[0] = k;
            const vp__code code = vp__exec_flat_code(&j.kernel, 3000, 1000);
            vp__code_end(&code, vp__code_begin(&code), 1000);
        }
        ns[i] = (double)vp__clock_ns(vp__clock_ticks() - began) / TIMES;
    }
    qsort(ns, TURNS, sizeof ns[0], by_size);
    printf("asking for code, %-27s %8.1f %8.1f ns\n",
           varies ? "a new constant each time" : "always the same", ns[0], ns[TURNS / 2]);
}

int main(void) {
    static job jobs[32];
    setenv("VP_CACHE", "off", 0);
    vp__clock_init();
    for (int i = 0; i <= VP__KERNEL_LEAVES; i++) {
        memory[i] = aligned_alloc(64, BYTES);
        for (int k = 0; k < BYTES / 8; k++) ((double *)(void *)memory[i])[k] = k % 977;
    }
    printf("%-44s %17s  %17s  %11s  %11s\n", "ns: best, median", "native", "specialised",
           "share", "compile ms");
    const int n = make_jobs(jobs);
    for (int i = 0; i < n; i++) measure(&jobs[i]);
    measure_asking(false);
    measure_asking(true);
    return 0;
}
