/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing shape, and joining and repeating arrays.
 */
#include "tests/net_support.h"

static vp_array grid(void) {
    return vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
}

VP_TEST(reshape) {
    vp_array a = vp__test_counting(12);
    VP_CHECK_SHAPE(vp_reshape(a, vp_shape(3, 4)), 3, 4);
    VP_CHECK_SHAPE(vp_reshape(a, vp_shape(2, -1, 3)), 2, 2, 3);
    VP_CHECK_SHAPE(vp_reshape(a, vp_shape(-1)), 12);
    VP_CHECK_VALUES(vp_reshape(vp_transpose(grid()), vp_shape(2, 3)), 0, 3, 1, 4, 2, 5);
    VP_CHECK_VALUES(vp_reshape(vp_get(a, vp_every(-3)), vp_shape(2, 2)), 11, 8, 5, 2);
    VP_CHECK_VALUES(vp_reshape(vp_add(a, 1.0), vp_shape(4, 3)), 1, 2, 3, 4, 5, 6, 7, 8, 9,
                    10, 11, 12);
    VP_CHECK_SCALAR(vp_reshape(vp_get(a, vp_until(1)), vp_scalar_shape()));
    VP_CHECK_ERROR(
        vp_wait(vp_reshape(a, vp_shape(5, 2))), VP_ERR_SHAPE,
        "reshape: an array of shape (12,) has 12 elements and cannot take shape (5, 2)");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, vp_shape(-1, -1))), VP_ERR_SHAPE, "reshape");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, vp_shape(-1, 5))), VP_ERR_SHAPE, "reshape");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, vp_shape(-2, 6))), VP_ERR_SHAPE, "-2");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, vp_shape(-1, 0))), VP_ERR_SHAPE, "reshape");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, vp_shape(INT64_MAX, INT64_MAX))), VP_ERR_SHAPE,
                   "reshape");
    VP_CHECK_ERROR(vp_wait(vp_reshape(vp_zeros(VP_F64, vp_shape(0)), vp_shape(-1, 0))),
                   VP_ERR_SHAPE, "reshape");
}

VP_TEST(transpose_and_permute) {
    vp_array a = vp_let(vp_counter(VP_I64, vp_shape(2, 3, 4), 0, 1));
    VP_CHECK_SHAPE(vp_transpose(a), 4, 3, 2);
    VP_CHECK_VALUES(vp_transpose(grid()), 0, 3, 1, 4, 2, 5);
    VP_CHECK_SHAPE(vp_permute(a, vp_axes(2, 0, 1)), 4, 2, 3);
    VP_CHECK_VALUES(vp_get(vp_permute(a, vp_axes(2, 0, 1)), 3, 1), 15, 19, 23);
    VP_CHECK_SHAPE(vp_permute(a, vp_axes(-1, 0, -2)), 4, 2, 3);
    VP_CHECK_ERROR(vp_wait(vp_permute(a, vp_axes(0, 1))), VP_ERR_INDEX,
                   "permute: 2 axes");
    VP_CHECK_ERROR(vp_wait(vp_permute(a, vp_axes(0, 1, 1))), VP_ERR_INDEX, "twice");
    VP_CHECK_ERROR(vp_wait(vp_permute(a, vp_axes(0, 1, -2))), VP_ERR_INDEX, "twice");
    VP_CHECK_ERROR(vp_wait(vp_permute(a, vp_axes(0, 1, 3))), VP_ERR_INDEX, "axis 3");
}

VP_TEST(broadcast_squeeze_expand_flip) {
    vp_array a = grid();
    VP_CHECK_VALUES(vp_broadcast(vp_get(a, 1), vp_shape(2, 3)), 3, 4, 5, 3, 4, 5);
    VP_CHECK_SHAPE(vp_broadcast(a, vp_shape(4, 2, 3)), 4, 2, 3);
    VP_CHECK_SHAPE(vp_broadcast(1.5, vp_shape(2)), 2);
    VP_CHECK_ERROR(vp_wait(vp_broadcast(a, vp_shape(3, 2))), VP_ERR_SHAPE,
                   "broadcast: shape (2, 3) does not broadcast to (3, 2)");
    VP_CHECK_ERROR(vp_wait(vp_broadcast(a, vp_shape(3))), VP_ERR_SHAPE, "broadcast");
    VP_CHECK_ERROR(vp_wait(vp_broadcast(a, vp_shape(-1, 2, 3))), VP_ERR_SHAPE,
                   "broadcast");
    vp_array b = vp_let(vp_reshape(a, vp_shape(1, 2, 1, 3, 1)));
    VP_CHECK_SHAPE(vp_squeeze(b, VP_EVERY), 2, 3);
    VP_CHECK_SHAPE(vp_squeeze(b, 0), 2, 1, 3, 1);
    VP_CHECK_SHAPE(vp_squeeze(b, vp_axes(-1, 2)), 1, 2, 3);
    VP_CHECK_ERROR(vp_wait(vp_squeeze(b, 1)), VP_ERR_SHAPE, "squeeze");
    VP_CHECK_ERROR(vp_wait(vp_squeeze(b, 5)), VP_ERR_INDEX, "axis 5");
    VP_CHECK_SHAPE(vp_expand(a, 0), 1, 2, 3);
    VP_CHECK_SHAPE(vp_expand(a, 2), 2, 3, 1);
    VP_CHECK_SHAPE(vp_expand(a, -1), 2, 3, 1);
    VP_CHECK_SHAPE(vp_expand(a, -3), 1, 2, 3);
    VP_CHECK_ERROR(vp_wait(vp_expand(a, 3)), VP_ERR_INDEX, "axis 3");
    VP_CHECK_VALUES(vp_flip(a, 0), 3, 4, 5, 0, 1, 2);
    VP_CHECK_VALUES(vp_flip(a, VP_EVERY), 5, 4, 3, 2, 1, 0);
    VP_CHECK_VALUES(vp_flip(a, -1), 2, 1, 0, 5, 4, 3);
    VP_CHECK_ERROR(vp_wait(vp_flip(a, 2)), VP_ERR_INDEX, "axis 2");
    VP_CHECK_ERROR(vp_wait(vp_flip(a, vp_axes(0, -2))), VP_ERR_INDEX, "twice");
}

VP_TEST(concatenate_and_stack) {
    vp_array a = grid(), row = vp__test_counting(3);
    VP_CHECK_VALUES(vp_concatenate(0, a, vp_get(a, vp_until(1))), 0, 1, 2, 3, 4, 5, 0, 1,
                    2);
    VP_CHECK_VALUES(vp_concatenate(1, a, a), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    VP_CHECK_VALUES(vp_concatenate(-1, a, vp_flip(a, 1)), 0, 1, 2, 2, 1, 0, 3, 4, 5, 5, 4,
                    3);
    VP_CHECK_VALUES(vp_concatenate(0, row), 0, 1, 2);
    VP_CHECK_TYPE(vp_concatenate(0, vp_arange(VP_I8, 0, 2, 1), row), VP_F64);
    VP_CHECK_VALUES(vp_stack(0, row, vp_neg(row)), 0, 1, 2, -0.0, -1, -2);
    VP_CHECK_VALUES(vp_stack(1, row, vp_add(row, 5.0)), 0, 5, 1, 6, 2, 7);
    VP_CHECK_SHAPE(vp_stack(-1, a, a, a), 2, 3, 3);
    VP_CHECK_VALUES(vp_stack(0, 1.0, 2.0), 1, 2);
    VP_CHECK_ERROR(vp_wait(vp_concatenate(0, a, row)), VP_ERR_SHAPE,
                   "concatenate: arrays of shapes (2, 3) and (3,) do not join");
    VP_CHECK_ERROR(vp_wait(vp_concatenate(1, a, vp_transpose(a))), VP_ERR_SHAPE,
                   "shapes (2, 3) and (3, 2)");
    VP_CHECK_ERROR(vp_wait(vp_concatenate(2, a, a)), VP_ERR_INDEX, "axis 2");
    VP_CHECK_ERROR(vp_wait(vp_concatenate(0, 1.0, 2.0)), VP_ERR_INDEX, "axis 0");
    VP_CHECK_ERROR(vp_wait(vp_stack(0, a, row)), VP_ERR_SHAPE,
                   "stack: arrays of shapes (2, 3) and (3,) do not join");
    VP_CHECK_ERROR(vp_wait(vp_stack(0, row, vp__test_counting(4))), VP_ERR_SHAPE,
                   "stack: arrays of shapes (3,) and (4,) do not join");
    VP_CHECK_ERROR(vp_wait(vp_stack(3, row, row)), VP_ERR_INDEX, "axis 3");
}

VP_TEST(tile_and_repeat) {
    vp_array a = vp__test_counting(2), b = grid();
    VP_CHECK_VALUES(vp_tile(a, vp_shape(2)), 0, 1, 0, 1);
    VP_CHECK_VALUES(vp_tile(a, vp_shape(2, 2)), 0, 1, 0, 1, 0, 1, 0, 1);
    VP_CHECK_SHAPE(vp_tile(a, vp_shape(2, 2)), 2, 4);
    VP_CHECK_VALUES(vp_tile(b, vp_shape(2)), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    VP_CHECK_VALUES(vp_tile(7.0, vp_shape(3)), 7, 7, 7);
    VP_CHECK_VALUES(vp_repeat(a, 3, 0), 0, 0, 0, 1, 1, 1);
    VP_CHECK_VALUES(vp_repeat(b, 2, 0), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    VP_CHECK_VALUES(vp_repeat(b, 2, -1), 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
    VP_CHECK_ERROR(vp_wait(vp_tile(a, vp_shape(-1))), VP_ERR_VALUE, "tile");
    VP_CHECK_ERROR(vp_wait(vp_repeat(a, -1, 0)), VP_ERR_VALUE, "repeat");
    VP_CHECK_ERROR(vp_wait(vp_repeat(a, 2, 1)), VP_ERR_INDEX, "axis 1");
    VP_CHECK_ERROR(vp_wait(vp_tile(a, vp_shape(INT64_MAX))), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_repeat(a, INT64_MAX / 2, 0)), VP_ERR_SHAPE, "too large");
}

/* Many axes: a tile over 20 of them. */
VP_TEST(tile_of_many_axes) {
    int64_t counts[20];
    for (int i = 0; i < 20; i++) counts[i] = i % 5 ? 1 : 2;
    vp_array a = vp_let(vp_tile(vp__test_counting(2), vp_shape_of(20, counts, false)));
    VP_CHECK_EQ(vp_ndim(a), 20);
    VP_CHECK_EQ(vp_size(a), 32);
    VP_CHECK_VALUES(vp_sum(a), 16);
    /* One count for each of twenty axes of length 2. */
    int64_t dims[20];
    for (int i = 0; i < 20; i++) dims[i] = i < 4 ? 2 : 1, counts[i] = 2 - (i >= 14);
    vp_array b = vp_let(vp_tile(vp_ones(VP_F64, vp_shape_of(20, dims, false)),
                                vp_shape_of(20, counts, false)));
    VP_CHECK_VALUES(vp_sum(b), 16 * 16384);
}
