/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor against a machine that evaluates one element at a time: random bodies, types,
 * shapes, layouts and reductions, whole and in pieces, for every instruction set, bit for
 * bit. The output lies inside a larger buffer that must otherwise stay as it was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jit/exec.h"
#include "jit/plan.h"
#include "tests/harness.h"
#include "tests/reduce_reference.h"

enum { AXES = 6 };

static uint64_t seed;
static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}
static int draw_below(int n) { return (int)(draw() % (uint64_t)n); }

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
static void lay_out(array *a, const problem *p, int size, uint32_t broadcast, bool plain) {
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

static double draw_real(void) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e-30};
    if (draw_below(64) == 0) return special[draw_below(7)];
    return ((double)draw_below(401) - 200) / 16;
}

static void draw_element(vp_dtype t, void *at) {
    const uint64_t bits = draw() >> draw_below(64);
    float *f = at;
    double *d = at;
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_B: *(uint8_t *)at = draw() & 1; break;
    case VP__CLASS_S:
    case VP__CLASS_U: memcpy(at, &bits, vp__dtype[t].size); break;
    case VP__CLASS_F:
    case VP__CLASS_C:
        for (int i = 0; i < (vp__dtype[t].cls == VP__CLASS_C ? 2 : 1); i++) {
            if (vp__dtype[t].real == VP_F32)
                f[i] = (float)draw_real();
            else
                d[i] = draw_real();
        }
        break;
    }
}

static void fill(array *a, vp_dtype t) {
    const size_t size = vp__dtype[t].size;
    for (size_t i = 0; i + size <= a->bytes; i += size) draw_element(t, a->memory + i);
}

static void draw_shape(problem *p, int64_t most) {
    static const int64_t common[] = {1,  1,  2,   3,   4,   5,   7,   8,   10,  16,   17,
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

static vp_dtype draw_type(void) {
    /* Often the common ones. */
    static const vp_dtype common[] = {VP_F64, VP_F64, VP_F32, VP_I32, VP_U32, VP_BOOL};
    return draw_below(2) ? common[draw_below(6)] : (vp_dtype)draw_below(VP__NDTYPES);
}

static int value_type(const vp__kernel *k, int v) {
    return v < k->nleaves ? k->leaf[v].dtype : k->instr[v - k->nleaves].result;
}

/* Adds a cast of value v to type t unless it has it; returns the value. */
static int add_cast(vp__kernel *k, int v, vp_dtype t) {
    if (value_type(k, v) == (int)t) return v;
    k->instr[k->ninstrs] = (vp__instr){.op = VP__OP_CAST,
                                       .type = (uint8_t)value_type(k, v),
                                       .result = (uint8_t)t,
                                       .arg = {(uint8_t)v, 0, 0}};
    return k->nleaves + k->ninstrs++;
}

static void draw_instr(vp__kernel *k) {
    for (;;) {
        const vp__op op = (vp__op)draw_below(VP__NOPS);
        const int nvalues = k->nleaves + k->ninstrs;
        if (vp__ops[op].reduces) continue;
        vp__optype types[3];
        int arg[3] = {0, 0, 0};
        for (int a = 0; a < vp__ops[op].arity; a++) {
            /* Newer values rather than older ones, so that most are used. */
            arg[a] = draw_below(3) ? nvalues - 1 - draw_below(nvalues < 3 ? nvalues : 3)
                                   : draw_below(nvalues);
            types[a] = (vp__optype){(vp_dtype)value_type(k, arg[a]), -1};
        }
        vp_dtype work[3], result;
        if (!vp__op_types(op, types, work, &result)) continue;
        if (vp__op_key(op, work) >= VP_C64 && draw_below(4)) continue; /* they take over */
        vp__instr in = {.op = (uint8_t)op, .result = (uint8_t)result};
        in.type = (uint8_t)vp__op_key(op, work);
        for (int a = 0; a < vp__ops[op].arity; a++)
            in.arg[a] = (uint8_t)add_cast(k, arg[a], work[a]);
        k->instr[k->ninstrs++] = in;
        return;
    }
}

static void draw_problem(problem *p, int64_t most) {
    static const vp__op reductions[] = {
        VP__OP_sum,    VP__OP_sum,    VP__OP_prod,   VP__OP_min,          VP__OP_max, VP__OP_any,
        VP__OP_all,    VP__OP_argmin, VP__OP_argmax, VP__OP_count_nonzero};
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
        const uint32_t broadcast = draw_below(3) == 0 ? (uint32_t)draw() & (uint32_t)draw() : 0;
        lay_out(&p->leaf[i], p, vp__dtype[k->leaf[i].dtype].size, broadcast, draw_below(3) == 0);
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
        VP_CHECK(vp__reduce_types((vp__op)k->reduce, (vp_dtype)body, VP_AUTO, &work, &result));
        if (draw_below(4) && body != (int)work) {
            add_cast(k, k->ninstrs > 0 ? k->nleaves + k->ninstrs - 1 : 0, work);
            body = (int)work;
        }
        k->reduce_type = (uint8_t)body;
        k->result = vp__ops[k->reduce].result == VP__RESULT_SAME ? (uint8_t)body : (uint8_t)result;
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
    const int size = k->reduce < 0 ? vp__dtype[k->result].size : vp__dtype[k->reduce_type].size;
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

/* Runs it by plan into `memory`, the pieces in some order. */
static void run(const vp__kernels *kernels, const problem *p, int64_t piece, char *memory,
                void *scratch) {
    vp__exec_args args = {.kernel = &p->kernel,
                          .ndim = p->ndim,
                          .dims = p->dims,
                          .reduced = p->reduced,
                          .out_strides = p->out.stride};
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

static void compare(const problem *p, const char *got, const char *want, const char *what) {
    const vp_dtype t = (vp_dtype)p->kernel.result;
    const size_t size = vp__dtype[t].size;
    if (memcmp(got, want, p->out.bytes) == 0) return;
    /* Elements lie at multiples of their size from the first. */
    const size_t first = (size_t)(p->out.data - p->out.memory) % size;
    for (size_t i = 0; i < p->out.bytes; i++) {
        if (got[i] == want[i]) continue;
        const size_t at = i < first ? i : first + (i - first) / size * size;
        if (i >= first && at + size <= p->out.bytes && is_same(t, got + at, want + at)) continue;
        describe(p);
        fprintf(stderr, "seed %llu, %s, byte %lld from element 0\n", (unsigned long long)seed,
                what, (long long)(i - (size_t)(p->out.data - p->out.memory)));
        VP_CHECK_BYTES(got + at, want + at, size);
    }
}

static const char *const isas[] = {"baseline", "avx2", "avx512"};

static void check(const problem *p, void *scratch) {
    const vp__kernels *best = vp__kernels_get();
    char *want = malloc(p->out.bytes), *got = malloc(p->out.bytes);
    for (int i = 0; i < 3; i++) {
        const vp__kernels *kernels = vp__kernels_for(isas[i]);
        if (kernels == NULL) continue;
        memcpy(want, p->out.memory, p->out.bytes);
        evaluate(kernels, p, want);
        static const int64_t piece[] = {INT64_MAX / 4, 20000, 1000};
        for (int j = 0; j < 3; j++) {
            char what[64];
            snprintf(what, sizeof what, "%s, pieces of %lld", isas[i], (long long)piece[j]);
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
