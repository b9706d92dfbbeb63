/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans (running sums, products and the like), strictly left to right: the order NumPy has,
 * and for sums of floats the only one whose bits do not depend on how the work is cut. A lane's steps wait for each
 * other, so several lanes are carried at once: as vectors where lanes lie side by side, a
 * few at a time where each lane is contiguous in itself.
 */
#include "array/dtype.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/nest.h"

/* Lanes side by side are done in blocks of this many bytes; the last row stays in L1. */
enum { ROW_BYTES = 4096 };

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void run(const vp__view *out, const vp__view *in, int axis, int64_t part,
                int64_t parts, int what) {
    vp__nest nest;
    vp__nest_init(&nest, in->ndim, in->dims);
    if (vp__nest_is_empty(&nest)) return;
    vp__nest_add(&nest, out->data, out->strides);
    vp__nest_add(&nest, in->data, in->strides);
    vp__scan scan = {.n = 1, .lanes = 1};
    if (in->ndim > 0) {
        scan.n = in->dims[axis];
        scan.out_step = out->strides[axis];
        scan.in_step = in->strides[axis];
        vp__nest_remove(&nest, axis);
    }
    vp__nest_sort(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;

    int last = nest.ndim - 1;
    int64_t lanes = 1, block = 1;
    const vp__loops *loops = vp__loops_get();
    vp__scan_fn fold = loops->scan_along[in->dtype][what];
    if (last >= 0) {
        block = lanes = nest.dims[last];
        scan.out_fibre = nest.strides[0][last];
        scan.in_fibre = nest.strides[1][last];
        if (magnitude(scan.out_fibre) < magnitude(scan.out_step) && lanes > 1) {
            fold = loops->scan_across[in->dtype][what];
            block = ROW_BYTES / vp__dtype[in->dtype].size;
        }
    }
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    do {
        for (int64_t l = 0; l < lanes; l += block) {
            scan.lanes = lanes - l < block ? lanes - l : block;
            scan.out = walk.at[0] + l * scan.out_fibre;
            scan.in = walk.at[1] + l * scan.in_fibre;
            fold(&scan);
        }
    } while (vp__walk_next(&walk));
}

#define FUNCTION(id, unused)                                                             \
    void vp__lib_##id(const vp__view *out, const vp__view *in, int axis, int64_t part,   \
                      int64_t parts, void *scratch) {                                    \
        (void)scratch;                                                                   \
        run(out, in, axis, part, parts, VP__SCAN_##id);                                  \
    }
VP__SCANS(FUNCTION, )
