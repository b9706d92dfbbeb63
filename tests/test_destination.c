/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a value goes, as a unit: what can be told from a target, a value and a storage alone.
 */
#include "issue/destination.h"

#include "tests/harness.h"

/* Float64 elements at these byte strides. */
static bool covers(int64_t bytes, int64_t offset, int ndim, const int64_t *dims,
                   const int64_t *strides) {
    const vp__storage s = {.bytes = bytes};
    const vp__target t = {.dtype = VP_F64,
                          .ndim = ndim,
                          .offset = offset,
                          .dims = dims,
                          .strides = strides};
    return vp__target_covers(&t, &s);
}

VP_TEST(a_target_covers_its_storage_in_any_order_of_axes) {
    const int64_t dims[] = {3, 4}, rows[] = {32, 8}, columns[] = {8, 24};
    VP_CHECK(covers(96, 0, 2, dims, rows));
    VP_CHECK(covers(96, 0, 2, dims, columns));
    VP_CHECK(covers(8, 0, 0, NULL, NULL));
}

/* A storage of no size yet is covered by nothing, and whoever writes as many elements as there
 * are may still write some of them twice, and others not at all. */
VP_TEST(a_target_that_leaves_anything_does_not_cover) {
    const int64_t dims[] = {3, 4}, rows[] = {32, 8}, none[] = {0, 4};
    const int64_t square[] = {3, 3}, twice[] = {16, 16};
    VP_CHECK(!covers(104, 0, 2, dims, rows));
    VP_CHECK(!covers(104, 8, 2, dims, rows));
    VP_CHECK(!covers(96, 8, 2, dims, rows));
    VP_CHECK(!covers(0, 0, 2, none, rows));
    VP_CHECK(!covers(72, 0, 2, square, twice));
}
