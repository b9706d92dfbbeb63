/* SPDX-License-Identifier: Apache-2.0
 *
 * Native code against the base kernels, bit for bit: every row, cast and reduction, and
 * random bodies, in every kind of loops and every way of reading, for each instruction set
 * this CPU has. Operands lie right before or behind memory that cannot be touched; around
 * the output nothing may change. Any NaN is as good as another.
 *
 * Where there is no compiler plug-in the tests say so and are skipped. VP_TEST_LONG=N draws
 * N times as much.
 */
#define _GNU_SOURCE
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/compiler.h"
#include "jit/plan.h"
#include "ops/kernels.h"
#include "tests/draw_kernel.h"
#include "tests/harness.h"

enum {
    ARENA = 4 << 20,
    GUARD = 256, /* bytes around an output that must stay */
    POOL = 2048, /* elements of each type to fill operands with */
    OUT = VP__KERNEL_LEAVES,
    MOST_X = 20011,
};

/* --- memory ------------------------------------------------------------------------- */

/* Memory between two pages that fault. */
static char *arena[VP__KERNEL_LEAVES + 1];

static char *new_arena(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at =
        mmap(NULL, ARENA + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    VP_CHECK(at != MAP_FAILED);
    VP_CHECK_EQ(mprotect(at + page, ARENA, PROT_READ | PROT_WRITE), 0);
    return at + page;
}

/* A box of elements in an arena. */
typedef struct {
    char *data;
    int64_t count[3], stride[3]; /* z, y, x */
    int64_t low, high;           /* the bytes it takes, from data */
} box;

static void place(box *b, char *memory, int size, int real) {
    b->low = 0;
    b->high = size;
    for (int d = 0; d < 3; d++) {
        const int64_t span = (b->count[d] - 1) * b->stride[d];
        *(span < 0 ? &b->low : &b->high) += span;
    }
    VP_CHECK_LT(b->high - b->low, ARENA - 64);
    if (draw_below(3))
        b->data = memory + ARENA - b->high - (draw_below(2) ? 0 : real * draw_below(4));
    else
        b->data = memory - b->low + real * draw_below(4);
}

/* --- values ------------------------------------------------------------------------- */

static double draw_edge(bool single) {
    static const double edges[] = {
        0.0,           -0.0,          NAN,           -NAN,         INFINITY,
        -INFINITY,     0.5,           1.5,           -2.5,         2147483647.5,
        -2147483648.0, -2147483648.5, -2147483649.0, 1e300,        -1e300,
        1.0,           4294967296.0,  -1.0,          9.2233720e18, 9223372036854775808.0,
        1e-300,        1e19,          65535.75,      -32769.0,     DBL_TRUE_MIN,
        -DBL_MIN,      DBL_MAX,       FLT_MAX,       3e9,          FLT_TRUE_MIN,
        -FLT_MIN / 2,  16777217.0,    1e-40,         255.5};
    if (draw_below(3)) return draw_real();
    const double x = edges[draw_below((int)(sizeof edges / sizeof *edges))];
    /* What no float can hold would be undefined. */
    return single && fabs(x) > (double)FLT_MAX ? copysign(INFINITY, x) : x;
}

static void draw_value(vp_dtype t, void *at) {
    const int bits = 8 * vp__dtype[t].size, real = vp__dtype[t].real;
    const uint64_t top = 1ull << (bits > 64 ? 0 : bits - 1);
    const uint64_t edges[] = {0,
                              1,
                              2,
                              UINT64_MAX,
                              top,
                              top - 1,
                              top + 1,
                              UINT64_MAX - 1,
                              (uint64_t)bits,
                              (uint64_t)bits - 1,
                              0x80,
                              0x7f};
    if (t != VP_BOOL && vp__dtype[t].cls < VP__CLASS_F && draw_below(3) == 0) {
        const uint64_t x = edges[draw_below(12)];
        memcpy(at, &x, vp__dtype[t].size);
        return;
    }
    draw_element(t, at);
    for (int i = 0; vp__dtype[t].cls >= VP__CLASS_F && i < bits / 8;
         i += vp__dtype[real].size) {
        const double d = draw_edge(real == VP_F32);
        const float f = (float)d;
        memcpy((char *)at + i, real == VP_F32 ? (const void *)&f : &d,
               vp__dtype[real].size);
    }
}

static char pool[VP__NDTYPES][POOL * 16];

/* Runs of the pool from some place on, row by row. */
static void fill(const box *b, vp_dtype t) {
    const size_t size = vp__dtype[t].size;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++) {
            char *to = b->data + z * b->stride[0] + y * b->stride[1];
            size_t from = (size_t)draw() % POOL, left = (size_t)b->count[2];
            if (b->stride[2] == 0) left = 1;
            /* What lies between every other element is filled as well. */
            if (b->stride[2] == 2 * (int64_t)size) left = 2 * left - 1;
            while (left > 0) {
                const size_t n = left < POOL - from ? left : POOL - from;
                memcpy(to, pool[t] + from * size, n * size);
                to += n * size;
                left -= n;
                from = 0;
            }
        }
}

/* --- a problem ---------------------------------------------------------------------- */

typedef struct {
    vp__kernel kernel;
    vp__loops loops;
    int64_t x, y, z;
    box leaf[VP__KERNEL_LEAVES], out;
} problem;

static bool is_tree(const vp__kernel *k) {
    return vp__dtype[k->reduce_type].cls == VP__CLASS_F;
}

/* Whether it is the lanes' states that are stored. */
static bool has_states(const problem *p) {
    return (p->loops.kind == VP__LOOPS_CHUNK || p->loops.kind == VP__LOOPS_FOLD) &&
           is_tree(&p->kernel);
}

static int lanes(const problem *p) {
    return has_states(p) ? 64 / vp__dtype[p->kernel.reduce_type].size : 1;
}

static int64_t pick(const int64_t *from, int n) { return from[draw_below(n)]; }

static void draw_sizes(problem *p, bool large) {
    static const int64_t edges[] = {63,   64,   65,   127,  128,  129,  511,  1023,  1024,
                                    1025, 1031, 1152, 2048, 8191, 8192, 8193, MOST_X};
    static const int64_t heights[] = {1, 2, 3, 7, 15, 16, 17, 33, 127, 128};
    p->x = large ? pick(edges, 17) : 1 + draw_below(40);
    /* Rows are taken four at a time where they share a run, planes of them two or four. */
    const bool rows = p->loops.kind == VP__LOOPS_ROWS || p->loops.kind == VP__LOOPS_CHUNK;
    p->y = 1 + draw_below(large && p->x > 2000 ? 2 : rows ? 9 : 3);
    p->z = 1 + draw_below(large && p->x > 1000 ? (rows ? 3 : 1) : rows ? 6 : 3);
    if (p->loops.kind == VP__LOOPS_COLS) p->y = pick(heights, large ? 5 : 10);
    if (p->loops.kind == VP__LOOPS_FOLD) {
        p->z = 1;
        if (is_tree(&p->kernel)) p->x = 1 + draw_below(VP__REDUCE_BLOCK);
    }
}

static void draw_leaf(problem *p, int i) {
    const int size = vp__dtype[p->kernel.leaf[i].dtype].size;
    const int read = p->loops.read[i];
    box *b = &p->leaf[i];
    const int64_t x = read == VP__READ_ROW || read == VP__READ_PLANE ? 0
                      : read == VP__READ_OTHER                       ? 2 * size
                                                                     : size;
    int64_t row = x ? p->x * x : size;
    row += draw_below(3) == 0 ? size * (int64_t)draw_below(9) : 0;
    if (read == VP__READ_PLANE || read == VP__READ_SHARED || draw_below(8) == 0) row = 0;
    int64_t outer = (row ? row * p->y : p->x * 2 * size) + size * (int64_t)draw_below(5);
    if (draw_below(8) == 0 || read == VP__READ_AGAIN || read == VP__READ_OFTEN) outer = 0;
    if (draw_below(8) == 0) row = -row;
    if (draw_below(8) == 0) outer = -outer;
    *b = (box){.count = {p->z, p->y, p->x}, .stride = {outer, row, x}};
    place(b, arena[i], size, vp__dtype[vp__dtype[p->kernel.leaf[i].dtype].real].size);
    fill(b, (vp_dtype)p->kernel.leaf[i].dtype);
}

static void draw_out(problem *p) {
    const int size = vp__dtype[p->kernel.result].size;
    const bool has_x = p->loops.kind == VP__LOOPS_MAP || p->loops.kind == VP__LOOPS_COLS;
    const bool has_y = p->loops.kind != VP__LOOPS_COLS;
    const int64_t x = has_x ? p->x : lanes(p), y = has_y ? p->y : 1;
    const int64_t row = size * (x + (draw_below(2) ? draw_below(9) : 0));
    const int64_t outer = row * y + size * (int64_t)draw_below(5);
    p->out = (box){.count = {p->z, y, x}, .stride = {outer, has_y ? row : 0, size}};
    place(&p->out, arena[OUT], size, vp__dtype[vp__dtype[p->kernel.result].real].size);
}

static void draw_operands(problem *p, bool large) {
    draw_sizes(p, large);
    for (int i = 0; i < p->kernel.nleaves; i++)
        if (!p->kernel.leaf[i].constant) draw_leaf(p, i);
    draw_out(p);
}

/* Constants are like anything that does not change; only runs are worth a loop, so they
 * are most frequent. */
static void draw_loops(problem *p, vp__loops_kind kind) {
    p->loops.kind = (uint8_t)kind;
    for (int i = 0; i < p->kernel.nleaves; i++)
        p->loops.read[i] = (uint8_t)(p->kernel.leaf[i].constant ? VP__READ_PLANE
                                     : draw_below(2)            ? VP__READ_RUN
                                                                : draw_below(VP__NREADS));
}

/* --- both ways ---------------------------------------------------------------------- */

static void run_base(const problem *p, const vp__kernel *k, uint32_t reduced,
                     const int64_t *out_strides, void *out) {
    static void *scratch, *plan;
    if (!scratch) scratch = aligned_alloc(64, vp__exec_scratch_size());
    if (!plan) plan = malloc(vp__plan_size());
    const int64_t dims[3] = {p->z, p->y, p->x};
    vp__exec_args args = {.kernel = k,
                          .ndim = 3,
                          .dims = dims,
                          .reduced = reduced,
                          .out_strides = out_strides};
    void *data[VP__KERNEL_LEAVES] = {NULL};
    for (int i = 0; i < k->nleaves; i++) {
        if (k->leaf[i].constant) continue;
        args.leaf_strides[i] = p->leaf[i].stride;
        data[i] = p->leaf[i].data;
    }
    vp__plan_init(plan, &args, INT64_MAX / 4);
    const int64_t pieces = vp__plan_pieces(plan);
    const size_t bytes = vp__plan_partial_bytes(plan);
    void *partial = aligned_alloc(64, (bytes + 127) / 64 * 64);
    for (int64_t i = 0; i < pieces; i++)
        vp__plan_run(plan, i, data, out, partial, scratch);
    if (bytes > 0) vp__plan_finish(plan, out, partial, scratch);
    free(partial);
}

/* The lanes' state of n elements: the tree of ops/kernels.h as a recursion over chunks. */
static void tree_state(const vp__reduce_kernel *r, int size, const char *x, int64_t n,
                       char *state) {
    if (n <= VP__REDUCE_CHUNK) {
        r->block(state, x, n, 0);
        return;
    }
    int64_t left = VP__REDUCE_CHUNK;
    while (2 * left < n) left *= 2;
    _Alignas(64) char right[64];
    tree_state(r, size, x, left, state);
    tree_state(r, size, x + left * size, n - left, right);
    r->merge(state, right, 64 / size);
}

static void run_chunks(const problem *p) {
    vp__kernel body = p->kernel;
    const int size = vp__dtype[body.reduce_type].size;
    const vp__reduce_kernel *r =
        &vp__kernels_get()->reduce[body.reduce][body.reduce_type];
    body.reduce = -1;
    body.result = body.reduce_type;
    const int64_t stride[3] = {p->y * p->x * size, p->x * size, size};
    char *values = aligned_alloc(64, (size_t)(p->z * stride[0] + 127) / 64 * 64);
    run_base(p, &body, 0, stride, values);
    for (int64_t i = 0; i < p->z * p->y; i++) {
        _Alignas(64) char state[64];
        tree_state(r, size, values + i * stride[1], p->x, state);
        memcpy(p->out.data + i / p->y * p->out.stride[0] + i % p->y * p->out.stride[1],
               state, 64);
    }
    free(values);
}

static void run_reference(const problem *p) {
    const int kind = p->loops.kind;
    if (has_states(p))
        run_chunks(p);
    else
        run_base(p, &p->kernel,
                 kind == VP__LOOPS_MAP    ? 0
                 : kind == VP__LOOPS_COLS ? 2
                                          : 4,
                 p->out.stride, p->out.data);
}

static void run_native(const problem *p, vp__native_fn fn) {
    char *ptr[VP__KERNEL_LEAVES + 1];
    int64_t row[VP__KERNEL_LEAVES + 1] = {0}, outer[VP__KERNEL_LEAVES + 1] = {0};
    const int n = p->kernel.nleaves;
    for (int i = 0; i < n; i++) {
        const bool constant = p->kernel.leaf[i].constant;
        ptr[i] = constant ? (char *)(uintptr_t)&p->kernel.leaf[i].value : p->leaf[i].data;
        row[i] = constant ? 0 : p->leaf[i].stride[1];
        outer[i] = constant ? 0 : p->leaf[i].stride[0];
    }
    ptr[n] = p->out.data;
    row[n] = p->out.stride[1];
    outer[n] = p->out.stride[0];
    if (p->loops.kind != VP__LOOPS_FOLD) {
        fn(ptr, row, outer, p->x, p->y, p->z);
        return;
    }
    /* Some elements after the others. */
    for (int64_t done = 0, some; done < p->x; done += some) {
        some = draw_below(3) ? 1 + draw_below((int)(p->x - done)) : p->x - done;
        fn(ptr, row, outer, some, p->y, done);
        for (int i = 0; i < n; i++)
            if (!p->kernel.leaf[i].constant) ptr[i] += some * p->leaf[i].stride[2];
    }
}

/* --- comparing ---------------------------------------------------------------------- */

static const vp__facts *specialised; /* what the code at hand relies on, or NULL */

static void describe(const problem *p) {
    static const char *const kinds[] = {"map", "rows", "chunk", "cols", "segment"};
    static const char *const reads[] = {"run",   "shared", "again", "often",
                                        "other", "row",    "plane"};
    vp__kernel_print(&p->kernel, stderr);
    fprintf(stderr, "form %s, %s", kinds[p->loops.kind], vp__kernels_get()->isa);
    for (int i = 0; i < p->kernel.nleaves; i++)
        fprintf(stderr, " %s", reads[p->loops.read[i]]);
    fprintf(stderr, "\nx %lld, y %lld, z %lld\n", (long long)p->x, (long long)p->y,
            (long long)p->z);
    if (specialised) vp__facts_print(specialised, stderr);
}

static void show_bytes(const char *what, const char *at, int n) {
    fprintf(stderr, "%s", what);
    for (int i = n - 1; i >= 0; i--) fprintf(stderr, "%02x", (unsigned char)at[i]);
}

/* Makes every NaN of the output the same one. Of a state that is going to be a minimum or
 * maximum, it does not matter which lane has it. */
static void make_nans_one(const problem *p, char *data) {
    const int real = vp__dtype[p->kernel.result].real, size = vp__dtype[real].size;
    if (vp__dtype[real].cls != VP__CLASS_F) return;
    const box *b = &p->out;
    const bool spreads = has_states(p) && p->kernel.reduce != VP__OP_sum &&
                         p->kernel.reduce != VP__OP_prod;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++) {
            char *row = data + z * b->stride[0] + y * b->stride[1];
            char *end = row + b->count[2] * b->stride[2];
            for (char *at = row; at < end; at += size) {
                float f;
                double d;
                memcpy(&f, at, 4);
                memcpy(&d, at, size == 8 ? 8 : 4);
                if (!(size == 4 ? f != f : d != d)) continue;
                if (spreads)
                    memset(row, 0xff, (size_t)(end - row));
                else
                    memset(at, 0xff, (size_t)size);
            }
        }
}

static void explain(const problem *p, const char *got, const char *want) {
    const int size = vp__dtype[p->kernel.result].size;
    const box *b = &p->out;
    int shown = 0;
    describe(p);
    for (int64_t i = 0; i < b->count[0] * b->count[1] * b->count[2] && shown < 4; i++) {
        const int64_t x = i % b->count[2], y = i / b->count[2] % b->count[1],
                      z = i / b->count[2] / b->count[1];
        const int64_t at = z * b->stride[0] + y * b->stride[1] + x * b->stride[2];
        if (memcmp(got + at, want + at, (size_t)size) == 0) continue;
        shown++;
        fprintf(stderr, "[%lld,%lld,%lld]", (long long)z, (long long)y, (long long)x);
        show_bytes(" native ", got + at, size);
        show_bytes(" base ", want + at, size);
        for (int l = 0; l < p->kernel.nleaves && p->loops.kind == VP__LOOPS_MAP; l++) {
            if (p->kernel.leaf[l].constant) continue;
            const box *v = &p->leaf[l];
            show_bytes(" ",
                       v->data + z * v->stride[0] + y * v->stride[1] + x * v->stride[2],
                       vp__dtype[p->kernel.leaf[l].dtype].size);
        }
        fprintf(stderr, "\n");
    }
    if (shown == 0) fprintf(stderr, "something around the output was written\n");
    VP_FAIL("native code differs (seed %llu)", (unsigned long long)seed);
}

static void check(const problem *p, vp__native_fn fn) {
    static char want[ARENA];
    char *low = p->out.data + p->out.low - GUARD,
         *high = p->out.data + p->out.high + GUARD;
    if (low < arena[OUT]) low = arena[OUT];
    if (high > arena[OUT] + ARENA) high = arena[OUT] + ARENA;
    const size_t bytes = (size_t)(high - low);
    memset(low, 0xa5, bytes);
    run_reference(p);
    memcpy(want, low, bytes);
    memset(low, 0xa5, bytes);
    run_native(p, fn);
    if (memcmp(low, want, bytes) == 0) return;
    char *first = want + (p->out.data - low);
    make_nans_one(p, first);
    make_nans_one(p, p->out.data);
    if (memcmp(low, want, bytes) != 0) explain(p, p->out.data, first);
}

static int compiled_count;

/* Any of the facts about the problem, most of the time all of them. */
static void draw_facts(const problem *p, vp__facts *f) {
    const int most = draw_below(4) ? 0 : 3, n = p->kernel.nleaves;
    const int64_t extent[] = {p->x, p->y, p->z};
    vp__facts_init(f, &p->kernel);
    const bool varies = p->loops.kind == VP__LOOPS_FOLD;
    for (int i = 0; i < VP__FACTS_EXTENTS; i++)
        if (!draw_below(most + 1) && !(varies && i != 1)) f->word[i] = extent[i];
    for (int i = 0; i <= n; i++) {
        const box *b = i == n ? &p->out : &p->leaf[i];
        if (i < n && p->kernel.leaf[i].constant) continue;
        if (!draw_below(most + 1)) vp__facts_of(f, i)[0] = b->stride[1];
        if (!draw_below(most + 1)) vp__facts_of(f, i)[1] = b->stride[0];
    }
}

/* Compiles it once more for a shape, and for constants in place of some leaves. */
static void check_specialised(const problem *generic, bool large) {
    static problem p;
    p = *generic;
    for (int i = 1; i < p.kernel.nleaves; i++) {
        vp__leaf *leaf = &p.kernel.leaf[i];
        if (leaf->constant || draw_below(2)) continue;
        leaf->constant = true;
        draw_value((vp_dtype)leaf->dtype, &leaf->value);
        p.loops.read[i] = VP__READ_PLANE;
    }
    draw_operands(&p, large);
    vp__facts facts;
    draw_facts(&p, &facts);
    vp__compiled code;
    char *message = NULL;
    if (!vp__compile(&p.kernel, &p.loops, &facts, &code, &message)) {
        /* Constants are no runs, so calls may need more blocks. */
        if (!strstr(message, "stack")) VP_FAIL("specialised: %s", message);
        free(message);
        return;
    }
    specialised = &facts;
    check(&p, code.fn);
    specialised = NULL;
    vp__object_release(code.object);
    free(code.image);
}

/* Compiles the problem's kernel and runs it in some shapes. */
static void check_kernel(problem *p, int small, int large) {
    vp__compiled code;
    char *message = NULL;
    const char *wrong = vp__kernel_verify(&p->kernel);
    if (wrong) VP_FAIL("drew a kernel in which %s", wrong);
    if (!vp__compile(&p->kernel, &p->loops, NULL, &code, &message)) {
        /* What calls base kernels has no columns, and not too many blocks. */
        if (strstr(message, p->loops.kind == VP__LOOPS_COLS ? "columns" : "stack")) {
            free(message);
            return;
        }
        describe(p);
        VP_FAIL("it does not compile: %s", message);
    }
    compiled_count++;
    for (int i = 0; i < small + large; i++) {
        draw_operands(p, i >= small);
        check(p, code.fn);
    }
    vp__object_release(code.object);
    free(code.image);
    check_specialised(p, false);
    if (large && draw_below(2)) check_specialised(p, true);
}

/* --- tests -------------------------------------------------------------------------- */

static int effort(void) {
    const char *text = getenv("VP_TEST_LONG");
    return text && atoi(text) > 0 ? atoi(text) : 1;
}

/* Gets ready for an instruction set, or skips the test. */
static void begin(const char *isa, uint64_t first) {
    setenv("VP_ISA", isa, 1);
    setenv("VP_CACHE", "off", 1);
    if (!vp__kernels_for(isa)) VP_SKIP("this CPU has no %s", isa);
    VP_CHECK_STR(vp__kernels_get()->isa, isa);
    problem p = {.loops = {.kind = VP__LOOPS_MAP}};
    vp__compiled code;
    char *message = NULL;
    one_row(&p.kernel, VP__OP_add, VP_F64);
    if (!vp__compile(&p.kernel, &p.loops, NULL, &code, &message)) {
        if (strstr(message, "there is no compiler plug-in")) VP_SKIP("%s", message);
        VP_FAIL("%s", message);
    }
    vp__object_release(code.object);
    free(code.image);
    seed = first * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i <= VP__KERNEL_LEAVES; i++) arena[i] = new_arena();
    for (int t = 0; t < VP__NDTYPES; t++)
        for (int i = 0; i < POOL; i++)
            draw_value((vp_dtype)t, pool[t] + i * vp__dtype[t].size);
}

/* A sample of them in slow builds: the code is the same. */
static bool is_left_out(void) { return draw_below(vp__test_slowdown()) != 0; }

static void check_rows(const char *isa) {
    begin(isa, 1);
    problem *p = calloc(1, sizeof *p);
    for (int op = 0; op < VP__NOPS; op++)
        for (int t = 0; t < VP__NDTYPES; t++) {
            if (!one_row(&p->kernel, (vp__op)op, (vp_dtype)t) || is_left_out()) continue;
            draw_loops(p, VP__LOOPS_MAP);
            /* First with runs alone: what matters most. */
            memset(p->loops.read, VP__READ_RUN, (size_t)p->kernel.nleaves);
            check_kernel(p, 4, 3);
            if (draw_below(4)) continue;
            draw_loops(p, VP__LOOPS_MAP);
            check_kernel(p, 4, 1);
        }
    free(p);
    VP_CHECK_GT(compiled_count, 400 / vp__test_slowdown() / 2);
}

static void check_casts(const char *isa) {
    begin(isa, 2);
    problem *p = calloc(1, sizeof *p);
    for (int from = 0; from < VP__NDTYPES; from++)
        for (int to = 0; to < VP__NDTYPES; to++) {
            if (is_left_out()) continue;
            one_cast(&p->kernel, (vp_dtype)from, (vp_dtype)to);
            draw_loops(p, VP__LOOPS_MAP);
            p->loops.read[0] = VP__READ_RUN;
            check_kernel(p, 4, 2);
        }
    free(p);
}

static const vp__op reductions[] = {VP__OP_sum, VP__OP_prod, VP__OP_min, VP__OP_max};

/* Whether native code reduces values of this type with this row. */
static bool set_reduction(vp__kernel *k, vp__op op, vp_dtype t) {
    vp_dtype work, result;
    if (vp__dtype[t].cls == VP__CLASS_C ||
        !vp__reduce_types(op, t, vp__ops[op].rule == VP__RULE_SUM ? t : VP_AUTO, &work,
                          &result) ||
        work != t || result != t)
        return false;
    k->reduce = (int)op;
    k->reduce_type = k->result = (uint8_t)t;
    return true;
}

static void check_reductions(const char *isa) {
    begin(isa, 3);
    problem *p = calloc(1, sizeof *p);
    for (int r = 0; r < 4; r++)
        for (int t = 0; t < VP__NDTYPES; t++)
            for (int kind = VP__LOOPS_ROWS; kind < VP__LOOPS_STATE; kind++) {
                if (is_left_out()) continue;
                p->kernel = (vp__kernel){.nleaves = 1};
                p->kernel.leaf[0].dtype = (uint8_t)t;
                if (!set_reduction(&p->kernel, reductions[r], (vp_dtype)t)) continue;
                draw_loops(p, (vp__loops_kind)kind);
                p->loops.read[0] = VP__READ_RUN;
                check_kernel(p, 5, 5);
                if (draw_below(4)) continue;
                draw_loops(p, (vp__loops_kind)kind);
                check_kernel(p, 5, 2);
            }
    free(p);
}

static void draw_body(vp__kernel *k, int instrs) {
    *k = (vp__kernel){.nleaves = 1 + draw_below(4), .reduce = -1};
    for (int i = 0; i < k->nleaves; i++) {
        k->leaf[i].dtype = (uint8_t)draw_type();
        k->leaf[i].constant = draw_below(5) == 0;
        if (k->leaf[i].constant)
            draw_value((vp_dtype)k->leaf[i].dtype, &k->leaf[i].value);
    }
    while (k->ninstrs < instrs) draw_instr(k);
    k->result = k->instr[k->ninstrs - 1].result;
}

static void check_random(const char *isa, uint64_t first, int count) {
    begin(isa, first);
    problem *p = calloc(1, sizeof *p);
    for (int i = 0; i < count * effort() / vp__test_slowdown() + 1; i++) {
        seed = (first * 1000003 + (uint64_t)i) * 0x9e3779b97f4a7c15u | 1;
        for (int j = 0; j < 8; j++) draw();
        draw_body(&p->kernel, 2 + draw_below(7));
        const int kind = draw_below(2) ? VP__LOOPS_MAP : draw_below(VP__LOOPS_STATE);
        if (kind != VP__LOOPS_MAP && !set_reduction(&p->kernel, reductions[draw_below(4)],
                                                    (vp_dtype)p->kernel.result))
            continue;
        draw_loops(p, (vp__loops_kind)kind);
        check_kernel(p, 3, 2);
    }
    free(p);
    VP_CHECK_GT(compiled_count, 0);
}

/* The largest body there is, of many leaves, in every kind of loops. */
static void check_large(const char *isa) {
    begin(isa, 4);
    problem *p = calloc(1, sizeof *p);
    for (int kind = 0; kind < VP__LOOPS_STATE; kind++)
        for (int t = VP_F32; t <= VP_F64; t++) {
            vp__kernel *k = &p->kernel;
            *k = (vp__kernel){.nleaves = VP__KERNEL_LEAVES, .reduce = -1};
            k->result = (uint8_t)t;
            for (int i = 0; i < k->nleaves; i++) k->leaf[i].dtype = (uint8_t)t;
            for (int i = 0; i < VP__KERNEL_INSTRS; i++) {
                const int a = i < 32 ? i : i + 31, b = i < 32 ? 31 - i : i;
                k->instr[k->ninstrs++] = (vp__instr){i % 3 ? VP__OP_add : VP__OP_maximum,
                                                     (uint8_t)t,
                                                     (uint8_t)t,
                                                     {(uint8_t)a, (uint8_t)b}};
            }
            if (kind != VP__LOOPS_MAP) set_reduction(k, VP__OP_sum, (vp_dtype)t);
            draw_loops(p, (vp__loops_kind)kind);
            check_kernel(p, 3, 1);
        }
    free(p);
}

VP_TEST(large_bodies) { check_large("baseline"); }
VP_TEST(large_bodies_of_avx512) { check_large("avx512"); }

/* Calls that wait for each other, up to what fits on a stack. */
VP_TEST(chains_of_calls) {
    begin("baseline", 5);
    problem *p = calloc(1, sizeof *p);
    int refused = 0;
    for (int t = VP_F32; t <= VP_C128; t++)
        for (int n = 1; n <= 40; n = 2 * n + 1) {
            one_row(&p->kernel, VP__OP_sin, (vp_dtype)t);
            for (int i = 1; i < 2 * n; i++)
                p->kernel.instr[p->kernel.ninstrs++] =
                    (vp__instr){i % 2 ? VP__OP_negative : VP__OP_sin,
                                (uint8_t)t,
                                (uint8_t)t,
                                {(uint8_t)i, 0, 0}};
            draw_loops(p, VP__LOOPS_MAP);
            vp__compiled code;
            char *message = NULL;
            if (vp__compile(&p->kernel, &p->loops, NULL, &code, &message)) {
                vp__object_release(code.object);
                free(code.image);
                check_kernel(p, 2, 1);
                continue;
            }
            VP_CHECK_CONTAINS(message, "stack");
            VP_CHECK_GT(n * vp__dtype[t].size, 64);
            free(message);
            refused++;
        }
    VP_CHECK_GT(refused, 0);
    free(p);
}

VP_TEST_TIMEOUT(rows_of_baseline, 120) { check_rows("baseline"); }
VP_TEST_TIMEOUT(rows_of_avx2, 120) { check_rows("avx2"); }
VP_TEST_TIMEOUT(rows_of_avx512, 120) { check_rows("avx512"); }
VP_TEST_TIMEOUT(casts_of_baseline, 60) { check_casts("baseline"); }
VP_TEST_TIMEOUT(casts_of_avx2, 60) { check_casts("avx2"); }
VP_TEST_TIMEOUT(casts_of_avx512, 60) { check_casts("avx512"); }
VP_TEST_TIMEOUT(reductions_of_baseline, 120) { check_reductions("baseline"); }
VP_TEST_TIMEOUT(reductions_of_avx2, 120) { check_reductions("avx2"); }
VP_TEST_TIMEOUT(reductions_of_avx512, 120) { check_reductions("avx512"); }
VP_TEST_TIMEOUT(random_kernels_of_baseline, 7200) { check_random("baseline", 10, 150); }
VP_TEST_TIMEOUT(random_kernels_of_avx2, 7200) { check_random("avx2", 20, 150); }
VP_TEST_TIMEOUT(random_kernels_of_avx512, 7200) { check_random("avx512", 30, 400); }
