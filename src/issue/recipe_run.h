/* SPDX-License-Identifier: Apache-2.0
 *
 * Running recipes on one thread: one part after the other, each given to the runner; alone,
 * or for several iterations of a bundle at once.
 */
#ifndef VP_ISSUE_RECIPE_RUN_H
#define VP_ISSUE_RECIPE_RUN_H

#include "issue/recipe.h"
#include "jit/runner.h"

/* The axes of a part with one more, the first: that of the iterations of a bundle. */
typedef struct {
    int64_t of[VP__KERNEL_LEAVES + 2][VP__MAXDIM];
} vp__lane_axes;

/* Whether all parts have room for that axis. */
bool vp__recipe_has_lanes(const vp__recipe *r);

/* The bytes from one iteration's result of a part that is not the last to the next one's. */
static inline int64_t vp__recipe_lane_bytes(const vp__recipe *r, int k) {
    return (r->cut.part[k]->out_bytes + 63) / 64 * 64;
}

/* Adds the axis to what binds part k to its operands: leaf_step and out_step are the distances
 * between iterations, of each leaf and of what the part writes. The arguments point to *axes. */
void vp__recipe_add_lanes(vp__exec_args *args, const vp__recipe *r, int k, int iterations,
                          const int64_t *leaf_step, int64_t out_step,
                          vp__lane_axes *axes);

/* Part k as a job; of the last part the output is the value's own memory, or the target's. */
void vp__recipe_job(vp__job *job, const vp__recipe *r, int k, bool to_target);

/* Runs all parts on the calling thread. leaf_data[i] is leaf i's first element; the value
 * goes to `out`, in its own layout or in the target's. NULL, or the error. */
vp__error *vp__recipe_run(const vp__recipe *r, char *const *leaf_data, char *out,
                          bool to_target, vp__core *core, const char *where);

/* The same for several runs whose operands and results lie at equal distances: one run, with
 * an axis more. leaf_data, out: of the first; step: from one to the next, of each leaf. What
 * they write must not overlap. False when that is not possible; *error is as above. */
bool vp__recipe_run_iterations(const vp__recipe *r, int iterations,
                               char *const *leaf_data, const int64_t *step, char *out,
                               int64_t out_step, bool to_target, vp__core *core,
                               const char *where, vp__error **error);

#endif
