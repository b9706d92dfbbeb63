/* SPDX-License-Identifier: Apache-2.0
 *
 * Native code for kernels. Whoever is about to run a kernel asks for it, and gets it if it
 * is there; if not, the asking counts, and once a kernel has been worth it a thread of its
 * own loads it from the cache or compiles it. Nobody ever waits for a compiler, and what
 * cannot be compiled stays with the base kernels.
 *
 * A kernel is known here by its instructions, the types of its leaves, which of them are
 * constants, and the form of its loops; not by sizes, strides or the values of constants.
 * So a program has few of them, however often it changes its mind about those.
 */
#ifndef VP_JIT_NATIVE_H
#define VP_JIT_NATIVE_H

#include "jit/plugin.h"

/* Gets ready for forks. Called once, before whoever stops threads that may ask for code
 * registers for forks: handlers run in the reverse order, and ours must lock when those
 * threads have gone. */
void vp__native_init(void);

/* The kernel's code in this form; NULL: not now. `ns` is what the run at hand would cost
 * the base kernels. Any thread. */
vp__native_fn vp__native_want(const vp__kernel *kernel, const vp__form *form, double ns);

/* Whether there is any point in asking for a run that would cost so much. */
bool vp__native_is_worth(double ns);

/* Waits until nothing is left to compile, for tests and benchmarks. */
void vp__native_settle(void);

typedef struct {
    uint64_t kernels;           /* known */
    uint64_t compiled, loaded;  /* by the compiler; from the cache */
    uint64_t failed;            /* stay with the base kernels */
    uint64_t bytes;             /* of code in memory */
    double compile_ns, load_ns; /* spent on them */
    uint64_t first_ns;          /* clock when the first code was there; 0: none yet */
} vp__native_stats;
void vp__native_get_stats(vp__native_stats *out);

/* Called by tests in place of the compiler's work; returns false to make it fail. */
extern bool (*vp__native_test_hook)(void);

#endif
