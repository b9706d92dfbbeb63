/* SPDX-License-Identifier: Apache-2.0
 *
 * Native code for kernels. A thread that is about to run a kernel asks for it, and gets it if it
 * is there; if not, the asking counts, and once a kernel has been worth it a thread of its
 * own loads it from the cache or compiles it. Nobody ever waits for a compiler, and what
 * cannot be compiled stays with the base kernels.
 *
 * A kernel is known here by its instructions, the types of its leaves, which of them are
 * constants, and its loops (vp__loops); not by sizes, strides or the values of constants.
 * So a program has few of them, however often it changes its mind about those. Where it does
 * not, and runs go on long enough, code for just these is tried: special.h.
 */
#ifndef VP_JIT_NATIVE_H
#define VP_JIT_NATIVE_H

#include "base/clock.h"
#include "jit/plugin.h"

/* Gets ready for forks, and has compiling booked where its time is going to come from: `book`
 * is told nanoseconds before, and minus as many afterwards. Called once, before the code that stops
 * threads that may ask for code registers for forks: handlers run in the reverse order, and
 * ours must lock when those threads have gone. */
void vp__native_init(void (*book)(int64_t ns));

/* At the end of the process: notes in the cache how often code ran, and for how long. */
void vp__native_finish(void);

/* How specialised a kernel's code is. Same bits from all of them. */
typedef enum { VP__STAGE_BASE, VP__STAGE_NATIVE, VP__STAGE_SPECIALISED } vp__stage;

/* The code that a run was given. */
typedef struct {
    vp__native_fn fn; /* NULL: none, now; the rest says nothing then */
    struct vp__native *kernel;
    struct vp__variant *variant; /* that is running, or compared with; or NULL */
    uint8_t stage;               /* vp__stage */
    uint8_t weight; /* for how many runs the time of this one stands; 0: nobody asks */
} vp__code;

/* Finds out the facts about the run at hand; false when there is nothing to rely on. */
typedef bool (*vp__tell_facts)(vp__facts *out, const void *context);

/* Code for the kernel in these loops, for so many runs as far as one knows (0 counts as 1).
 * `ns` is what one of them would cost the base kernels; `tell`, unless it is NULL, is called
 * with `context` where the facts matter, and what it says must hold for all these runs. Any
 * thread. */
vp__code vp__native_want(const vp__kernel *kernel, const vp__loops *loops, double ns,
                         int runs, vp__tell_facts tell, const void *context);

/* Around a run, or each piece of it, of so many elements. */
void vp__native_ran(const vp__code *code, uint64_t ticks, int64_t elements);
static inline uint64_t vp__code_begin(const vp__code *code) {
    return code->weight ? vp__clock_ticks() : 0;
}
static inline void vp__code_end(const vp__code *code, uint64_t began, int64_t elements) {
    if (code->weight) vp__native_ran(code, vp__clock_ticks() - began, elements);
}

/* Whether there is any point in asking for a run that would cost so much, once for so many of
 * them. */
bool vp__native_is_worth(double ns, int repeats);

/* Waits until nothing is left to compile, for tests and benchmarks. */
void vp__native_settle(void);

typedef struct {
    uint64_t kernels;             /* known */
    uint64_t compiled, loaded;    /* by the compiler; from the cache */
    uint64_t specialised;         /* of these, for some facts */
    uint64_t kept, dropped;       /* decisions about those */
    uint64_t failed;              /* stay with the stage below */
    uint64_t bytes;               /* of code in memory */
    uint64_t compile_ns, load_ns; /* spent on them */
    uint64_t first_ns;            /* clock when the first code was there; 0: none yet */
} vp__native_stats;
void vp__native_get_stats(vp__native_stats *out);

/* Called by tests in place of the compiler's work for a stage; returns false to make it
 * fail. And what a run takes, given what was measured. */
extern bool (*vp__native_test_hook)(vp__stage stage);
extern double (*vp__native_test_time)(vp__stage stage, double ns);

#endif
