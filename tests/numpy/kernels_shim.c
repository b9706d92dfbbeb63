/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation table and the base kernels as a shared object, for check_kernels.py and
 * bench/kernels_numpy.py, which load it with ctypes.
 */
#include <time.h>

#include "ops/kernels.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int shim_nops(void);
EXPORT const vp__op_info *shim_op(int op);
EXPORT const void *shim_set(const char *isa);
EXPORT const char *shim_set_name(const void *set);
EXPORT bool shim_types(int op, const int *dtype, const int *weak, int *work, int *result);
EXPORT bool shim_reduce_types(int op, int dtype, int want, int *work, int *result);
EXPORT bool shim_run(const void *set, int op, int dtype, void *out, const void *a,
                     const void *b, const void *c, int64_t n);
EXPORT double shim_time(const void *set, int op, int dtype, void *out, const void *a,
                        const void *b, const void *c, int64_t n, int64_t times);
EXPORT void shim_cast(const void *set, int from, int to, void *out, const void *in,
                      int64_t n);
EXPORT double shim_time_cast(const void *set, int from, int to, void *out, const void *in,
                             int64_t n, int64_t times);
EXPORT double shim_time_reduce(const void *set, int op, int dtype, void *out,
                               const void *x, int64_t n, int64_t times);
EXPORT void shim_move(const void *set, int kind, int log2, void *out, const void *in,
                      int64_t stride, int64_t n);

int shim_nops(void) { return VP__NOPS; }
const vp__op_info *shim_op(int op) { return &vp__ops[op]; }

/* The set for this CPU when isa is empty; NULL where the CPU cannot run the one named. */
const void *shim_set(const char *isa) {
    return isa[0] ? vp__kernels_for(isa) : vp__kernels_get();
}
const char *shim_set_name(const void *set) { return ((const vp__kernels *)set)->isa; }

bool shim_types(int op, const int *dtype, const int *weak, int *work, int *result) {
    vp__optype in[3] = {{VP_BOOL, 0}};
    vp_dtype w[3], r;
    const int n = vp__ops[op].arity;
    for (int i = 0; i < n; i++) in[i] = (vp__optype){(vp_dtype)dtype[i], (int8_t)weak[i]};
    if (!vp__op_types((vp__op)op, in, w, &r)) return false;
    for (int i = 0; i < n; i++) work[i] = (int)w[i];
    *result = (int)r;
    return true;
}

bool shim_reduce_types(int op, int dtype, int want, int *work, int *result) {
    vp_dtype w, r;
    if (!vp__reduce_types((vp__op)op, (vp_dtype)dtype, (vp_dtype)want, &w, &r))
        return false;
    *work = (int)w;
    *result = (int)r;
    return true;
}

/* False where the table has no kernel. */
bool shim_run(const void *set, int op, int dtype, void *out, const void *a, const void *b,
              const void *c, int64_t n) {
    const vp__op_fn run = ((const vp__kernels *)set)->op[op][dtype];
    if (run) run(out, a, b, c, n);
    return run != NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds of one call, averaged over `times`. */
double shim_time(const void *set, int op, int dtype, void *out, const void *a,
                 const void *b, const void *c, int64_t n, int64_t times) {
    const vp__op_fn run = ((const vp__kernels *)set)->op[op][dtype];
    const double start = now();
    for (int64_t i = 0; i < times; i++) run(out, a, b, c, n);
    return (now() - start) / (double)times;
}

void shim_cast(const void *set, int from, int to, void *out, const void *in, int64_t n) {
    ((const vp__kernels *)set)->cast[from][to](out, in, n);
}

double shim_time_cast(const void *set, int from, int to, void *out, const void *in,
                      int64_t n, int64_t times) {
    const vp__cast_fn run = ((const vp__kernels *)set)->cast[from][to];
    const double start = now();
    for (int64_t i = 0; i < times; i++) run(out, in, n);
    return (now() - start) / (double)times;
}

/* All n elements into one, along the tree of kernels.h. */
static void reduce(const vp__reduce_kernel *k, int size, void *out, const char *x,
                   int64_t n) {
    static _Alignas(64) char state[64][1024];
    if (n <= VP__REDUCE_CHUNK || k->extend) {
        k->block(state[0], x, n, 0);
        k->finish(out, state[0], 1);
        return;
    }
    int64_t count = 0;
    for (int64_t done = 0; done < n; done += VP__REDUCE_CHUNK, count++) {
        const int64_t left = n - done;
        /* As many states are held as the counter has bits set; the new one is the last. */
        int top = __builtin_popcountll((uint64_t)count);
        k->block(state[top], x + done * size,
                 left < VP__REDUCE_CHUNK ? left : VP__REDUCE_CHUNK, done);
        for (int64_t pairs = count; pairs & 1; pairs >>= 1, top--)
            k->merge(state[top - 1], state[top], k->lanes);
    }
    for (int level = __builtin_popcountll((uint64_t)count) - 1; level > 0; level--)
        k->merge(state[level - 1], state[level], k->lanes);
    k->finish(out, state[0], 1);
}

double shim_time_reduce(const void *set, int op, int dtype, void *out, const void *x,
                        int64_t n, int64_t times) {
    const vp__reduce_kernel *k = &((const vp__kernels *)set)->reduce[op][dtype];
    const double start = now();
    for (int64_t i = 0; i < times; i++) reduce(k, vp__dtype[dtype].size, out, x, n);
    return (now() - start) / (double)times;
}

/* kind 0 gathers, 1 scatters, 2 fills. */
void shim_move(const void *set, int kind, int log2, void *out, const void *in,
               int64_t stride, int64_t n) {
    const vp__kernels *k = set;
    if (kind == 0)
        k->gather[log2](out, in, stride, n);
    else if (kind == 1)
        k->scatter[log2](out, stride, in, n);
    else
        k->fill[log2](out, in, n);
}
