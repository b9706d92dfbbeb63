/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner: a kernel bound to a shape, cut into pieces, run. It alone knows that a kernel
 * whose operands all lie alike needs no plan (a flat loop), that a plan may be at hand or has
 * to be made, and whether base, native or specialised code runs. Whoever runs something, the
 * thread that issues, a node on any number of cores, a bundle, asks the runner; a device is
 * given the same description.
 */
#ifndef VP_JIT_RUNNER_H
#define VP_JIT_RUNNER_H

#include "jit/plan.h"

/* What is to be run, without addresses. */
typedef struct {
    vp__exec_args args; /* flat loops: kernel and cost alone */
    int64_t count;      /* elements of the iteration space */
    bool flat; /* every operand is dense in the output's order, nothing reduced */
    const vp__plan *plan; /* made before, for one piece; or NULL */
} vp__job;

/* A job at work. */
typedef struct {
    const vp__kernel *kernel;
    const vp__plan *plan; /* NULL: flat */
    void *own_plan;       /* the same, when it is the runner's to give back */
    void *partial;        /* states of reductions between pieces */
    size_t partial_bytes;
    int64_t count, chunk; /* flat: elements in all, and of a piece */
    vp__code code;        /* flat: native code, if there is any */
} vp__runner;

/* Opens a job. `wish`: elements that one piece should have; pieces of flat loops are multiples
 * of `grain`. `room`: memory of vp__plan_size() bytes that is the caller's until the runner is
 * closed, for a plan made now; NULL: the pool's. Returns the number of pieces, at least 1, or
 * 0 without memory (nothing to close). */
int64_t vp__runner_open(vp__runner *r, const vp__job *job, int64_t wish, int64_t grain,
                        void *room);
/* The stage of the code that runs. */
vp__stage vp__runner_stage(const vp__runner *r);
/* The elements of a flat job's piece. */
static inline int64_t vp__runner_elements(const vp__runner *r, int64_t piece) {
    const int64_t left = r->count - piece * r->chunk;
    return left < r->chunk ? left : r->chunk;
}
/* Runs one piece; data[i] is the address of leaf i's first element. Pieces may run on
 * different threads at once, each with scratch of its own (vp__exec_scratch_size()). */
void vp__runner_piece(const vp__runner *r, int64_t piece, void *const *data, char *out,
                      void *scratch);
/* After the last piece, on one thread. */
void vp__runner_finish(const vp__runner *r, char *out, void *scratch);
/* Gives back what opening took. */
void vp__runner_close(vp__runner *r);

/* All of it at once, on the calling thread. False without memory. */
bool vp__runner_run(const vp__job *job, void *const *data, char *out, void *room,
                    void *scratch);

#endif
