/* SPDX-License-Identifier: Apache-2.0
 *
 * Nanoseconds per element of every element-wise base kernel on 10^3 contiguous float64,
 * float32, int32 and complex128, which stay in L1 or nearly, and per call on 10^4 and 10^6
 * of them: one thread, CPU time, best of several turns.
 * kernels_numpy.py sets the same figures beside NumPy's.
 *
 *   bench-kernels [row]...      VP_ISA and VP_MATH choose the table
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops/kernels.h"

enum { TINY = 1000, SMALL = 10000, LARGE = 1000000, TURNS = 9 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Operands that nearly every row can take, between 1 and 4; and UNIT, for inverse
 * functions that end at 1. */
enum { FIRST, SECOND, THIRD, UNIT, OPERANDS };
static void set_operand(const vp__kernels *k, void *out, vp_dtype t, int which) {
    static const double values[OPERANDS][4] = {
        {1.25, 2.5, 1.75, 2.0},
        {1.5, 1.0, 2.25, 3.0},
        {2.0, 3.5, 3.0, 4.0},
        {0.25, 0.5, 0.125, 0.875},
    };
    char *p = out;
    for (int64_t i = 0; i < LARGE; i += 4) {
        k->cast[VP_F64][t](p, values[which], 4);
        p += 4 * vp__dtype[t].size;
    }
}

static double time_calls(vp__op_fn run, void *out, void *const *in, int64_t n) {
    double best = 1e300;
    for (int turn = 0; turn < TURNS; turn++) {
        const int calls = n == TINY ? 200 : n == SMALL ? 20 : 1;
        const double start = now();
        for (int i = 0; i < calls; i++) run(out, in[0], in[1], in[2], n);
        const double each = (now() - start) / calls;
        best = each < best ? each : best;
    }
    return best;
}

static bool ends_at_one(vp__op op) {
    return op == VP__OP_arcsin || op == VP__OP_arccos || op == VP__OP_arctanh;
}

static bool is_chosen(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc == 1;
}

int main(int argc, char **argv) {
    static const vp_dtype types[] = {VP_F64, VP_F32, VP_I32, VP_C128};
    const vp__kernels *k = vp__kernels_get();
    enum { OUT = OPERANDS, MASK, BLOCKS };
    void *memory[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        memory[i] = aligned_alloc(64, LARGE * 16);
        if (!memory[i]) return 1;
        memset(memory[i], 0, LARGE * 16);
    }
    set_operand(k, memory[MASK], VP_BOOL, FIRST);
    printf(
        "base kernels %s %s: ns per element of %d, ns per call for %d and %d elements\n",
        k->isa, k->math, TINY, SMALL, LARGE);
    for (size_t j = 0; j < sizeof types / sizeof types[0]; j++) {
        const vp_dtype t = types[j];
        for (int i = 0; i < OPERANDS; i++) set_operand(k, memory[i], t, i);
        for (int op = 0; op < VP__NOPS; op++) {
            const vp__op_fn run = k->op[op][t];
            if (!run || !is_chosen(vp__ops[op].name, argc, argv)) continue;
            void *in[3] = {memory[FIRST], memory[SECOND], memory[THIRD]};
            if (vp__ops[op].rule == VP__RULE_WHERE) in[0] = memory[MASK];
            if (ends_at_one((vp__op)op)) in[0] = memory[UNIT];
            const double each = time_calls(run, memory[OUT], in, TINY) / TINY;
            const double few = time_calls(run, memory[OUT], in, SMALL);
            const double many = time_calls(run, memory[OUT], in, LARGE);
            printf("%-8s %-14s %8.3f %10.0f %12.0f\n", vp__dtype[t].name,
                   vp__ops[op].name, each, few, many);
        }
    }
    for (int i = 0; i < BLOCKS; i++) free(memory[i]);
    return 0;
}
