/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner as a unit: how many pieces a job has, and that they are all of it, whichever way
 * they run and in whatever order.
 */
#include "jit/runner.h"

#include <stdlib.h>

#include "tests/harness.h"

enum { N = 100000 };

static int32_t source[N];
static double result[N];

/* source * 2.0, whose leaves are of other sizes than the result. */
static vp__kernel doubled(void) {
    vp__kernel k = {.nleaves = 2, .ninstrs = 2, .reduce = -1, .result = VP_F64};
    k.leaf[0].dtype = VP_I32;
    k.leaf[1] = (vp__leaf){.dtype = VP_F64, .constant = true, .value = {.f64 = {2}}};
    k.instr[0] = (vp__instr){VP__OP_CAST, VP_I32, VP_F64, {0}};
    k.instr[1] = (vp__instr){VP__OP_multiply, VP_F64, VP_F64, {2, 1}};
    VP_CHECK_STR(vp__kernel_verify(&k), NULL);
    return k;
}

static void *memory_of(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    VP_CHECK(memory != NULL);
    return memory;
}

/* Runs a job in so many pieces, the last one first. */
static void run(const vp__job *job, int64_t wish, int64_t grain, int64_t pieces) {
    void *scratch = memory_of(vp__exec_scratch_size());
    void *data[] = {source, NULL};
    vp__runner r;
    for (int i = 0; i < N; i++) source[i] = i, result[i] = -1;
    VP_CHECK_EQ(vp__runner_open(&r, job, wish, grain, NULL), pieces);
    VP_CHECK_EQ(vp__runner_stage(&r), VP__STAGE_BASE);
    for (int64_t i = pieces - 1; i >= 0; i--)
        vp__runner_piece(&r, i, data, (char *)result, scratch);
    vp__runner_finish(&r, (char *)result, scratch);
    vp__runner_close(&r);
    free(scratch);
}

static void check_doubled(void) {
    for (int i = 0; i < N; i++) VP_CHECK_EQ(result[i], 2 * i);
}

VP_TEST(pieces_of_flat_loops_are_multiples_of_a_grain) {
    const vp__kernel k = doubled();
    const vp__job job = {.args = {.kernel = &k}, .count = N, .flat = true};
    run(&job, 10000, 4096, 9);
    check_doubled();
    run(&job, 10000, 1, 10);
    check_doubled();
    run(&job, VP__ONE_PIECE, 64, 1);
    check_doubled();
    vp__runner r;
    VP_CHECK_EQ(vp__runner_open(&r, &job, 10000, 4096, NULL), 9);
    VP_CHECK_EQ(vp__runner_elements(&r, 0), 3 * 4096);
    VP_CHECK_EQ(vp__runner_elements(&r, 8), N - 8 * 3 * 4096);
    vp__runner_close(&r);
}

VP_TEST(nothing_is_one_piece_that_does_nothing) {
    const vp__kernel k = doubled();
    const int64_t dims[] = {0}, from[] = {4}, to[] = {8};
    vp__job job = {.args = {.kernel = &k}, .flat = true};
    run(&job, 100, 64, 1);
    VP_CHECK_EQ(result[0], -1);
    job.flat = false;
    job.args.ndim = 1;
    job.args.dims = dims;
    job.args.leaf_strides[0] = from;
    job.args.out_strides = to;
    run(&job, 100, 64, 1);
    VP_CHECK_EQ(result[0], -1);
}

/* A plan made for one piece is not used where there are to be several. */
VP_TEST(a_plan_at_hand_is_for_one_piece) {
    enum { WISH = N / 4 };
    const vp__kernel k = doubled();
    const int64_t dims[] = {N / 10, 10}, from[] = {40, 4}, to[] = {80, 8};
    vp__job job = {.args = {.kernel = &k, .ndim = 2, .dims = dims, .out_strides = to},
                   .count = N};
    job.args.leaf_strides[0] = from;
    vp__plan *plan = memory_of(vp__plan_size()), *cut = memory_of(vp__plan_size());
    vp__plan_init(plan, &job.args, VP__ONE_PIECE);
    vp__plan_init(cut, &job.args, WISH);
    VP_CHECK_EQ(vp__plan_pieces(plan), 1);
    VP_CHECK_GT(vp__plan_pieces(cut), 1);
    job.plan = plan;
    run(&job, VP__ONE_PIECE, 1, 1);
    check_doubled();
    run(&job, WISH, 1, vp__plan_pieces(cut));
    check_doubled();
    free(plan);
    free(cut);
}
