/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays as the program sees them: views that write through, lazy copies, storage orders,
 * strides of every kind, from no axis to 32, and the user's own memory.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/net_support.h"

/* The strides of an array's elements in memory, in bytes. */
#define CHECK_STRIDES(x, ...)                                                            \
    do {                                                                                 \
        static const int64_t expected[] = {__VA_ARGS__};                                 \
        vp_mapped m;                                                                     \
        VP_CHECK_OK(vp_map(x, &m));                                                      \
        VP_CHECK_EQ(m.ndim, (int)(sizeof expected / sizeof expected[0]));                \
        for (int i = 0; i < m.ndim; i++) VP_CHECK_EQ(m.strides[i], expected[i]);         \
        vp_unmap(&m);                                                                    \
    } while (0)

static vp_array grid(void) {
    return vp_let(vp_reshape(vp__test_counting(12), vp_shape(3, 4)));
}

/* --- views -------------------------------------------------------------------------- */

VP_TEST(views_write_through) {
    vp_array a = grid();
    vp_array row = vp_view(vp_get(a, 1)), column = vp_view(vp_get(a, VP_ALL, 2));
    vp_put(row, vp_at(VP_ALL), 50.0);
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 50, 50, 50, 50, 8, 9, 10, 11);
    VP_CHECK_VALUES(column, 2, 50, 10);
    vp_put(column, vp_at(vp_from_index(1)), -1.0);
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 50, 50, -1, 50, 8, 9, -1, 11);
    VP_CHECK_VALUES(row, 50, 50, -1, 50);
    vp_put(a, vp_at(1, 0), 7.0);
    VP_CHECK_VALUES(row, 7, 50, -1, 50);
}

VP_TEST(views_of_views_write_through) {
    vp_array a = grid();
    vp_array inner =
        vp_view(vp_get(a, vp_from_index(1), vp_every(-1))); /* 2 × 4, turned */
    vp_array corner = vp_view(vp_get(inner, VP_ALL, vp_range(0, 2)));
    vp_array column = vp_view(vp_get(vp_transpose(corner), 1));
    VP_CHECK_VALUES(column, 6, 10);
    vp_put(column, vp_at(VP_ALL), vp_mul(column, 10.0));
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 4, 5, 60, 7, 8, 9, 100, 11);
    VP_CHECK_VALUES(corner, 7, 60, 11, 100);
    vp_drop(a), vp_drop(inner); /* the view keeps the elements */
    VP_CHECK_VALUES(corner, 7, 60, 11, 100);
}

VP_TEST(every_kind_of_view_writes_through) {
    vp_array a = grid();
    vp_array flat = vp_view(vp_reshape(a, vp_shape(12)));
    vp_array turned = vp_view(vp_flip(a, vp_axes(0, 1)));
    vp_array across = vp_view(vp_permute(a, vp_axes(1, 0)));
    vp_array tall = vp_view(vp_expand(a, 1));
    vp_array back = vp_view(vp_squeeze(tall, 1));
    vp_put(flat, vp_at(0), 100.0);
    vp_put(turned, vp_at(0, 0), 101.0);
    vp_put(across, vp_at(0, 1), 102.0);
    vp_put(tall, vp_at(1, 0, 1), 103.0);
    vp_put(back, vp_at(1, 2), 104.0);
    VP_CHECK_SHAPE(tall, 3, 1, 4);
    VP_CHECK_VALUES(a, 100, 1, 2, 3, 102, 103, 104, 7, 8, 9, 10, 101);
    VP_CHECK_VALUES(turned, 101, 10, 9, 8, 7, 104, 103, 102, 3, 2, 1, 100);
}

VP_TEST(a_value_is_not_a_view) {
    vp_scope outer = vp_begin();
    vp_array a = grid();
    int64_t base = vp__test_bytes_now();
    vp_array no = vp_view(vp_add(a, 1.0));
    VP_CHECK_ERROR(vp_wait(no), VP_ERR_VALUE, "vp_view: this is a computed value");
    vp_drop(no);
    no = vp_view(3.0);
    VP_CHECK_ERROR(vp_wait(no), VP_ERR_VALUE, "vp_view");
    vp_drop(no);
    vp_array places = vp_let(vp_arange(VP_I64, 0, 2, 1));
    no = vp_view(vp_get(a, places)); /* gathered, so not a part of a */
    VP_CHECK_ERROR(vp_wait(no), VP_ERR_VALUE, "vp_view");
    vp_drop(no);
    no = vp_view(vp_reshape(vp_transpose(a), vp_shape(12))); /* needs a copy */
    VP_CHECK_ERROR(vp_wait(no), VP_ERR_VALUE, "vp_view");
    vp_drop(no), vp_drop(places);
    VP_CHECK_NO_LEAK(base);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_broadcast_view_can_be_read_but_not_written) {
    vp_scope outer = vp_begin();
    vp_array a = vp__test_counting(3);
    vp_array wide = vp_view(vp_broadcast(a, vp_shape(2, 3)));
    VP_CHECK_VALUES(wide, 0, 1, 2, 0, 1, 2);
    vp_put(wide, vp_at(0, 0), 5.0); /* one row of it is an ordinary selection */
    VP_CHECK_VALUES(wide, 5, 1, 2, 5, 1, 2);
    vp_clear_error();
    vp_put(wide, vp_at(VP_ALL), 7.0);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "a broadcast view cannot be written");
    vp_put(a, vp_at(1), 6.0);
    VP_CHECK_VALUES(vp_get(wide, VP_ALL, 1), 6, 6);
    /* A named copy of it is an ordinary array. */
    vp_array own = vp_let(wide);
    vp_put(own, vp_at(0), 1.0);
    VP_CHECK_VALUES(vp_get(own, 0), 1, 1, 1);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(naming_an_array_copies_it) {
    vp_array a = vp__test_counting(4), b = vp_let(a),
             part = vp_let(vp_get(a, vp_range(1, 3)));
    vp_put(a, vp_at(1), 10.0);
    vp_put(b, vp_at(2), 20.0);
    vp_put(part, vp_at(0), 30.0);
    VP_CHECK_VALUES(a, 0, 10, 2, 3);
    VP_CHECK_VALUES(b, 0, 1, 20, 3);
    VP_CHECK_VALUES(part, 30, 2);
    vp_set(b, a);
    vp_put(b, vp_at(0), 5.0);
    VP_CHECK_VALUES(a, 0, 10, 2, 3);
    vp_set(a, a); /* itself */
    VP_CHECK_VALUES(a, 0, 10, 2, 3);
}

VP_TEST(rebinding_changes_type_and_shape) {
    vp_array a = vp__test_counting(4), view = vp_view(vp_get(a, vp_range(0, 2)));
    vp_set(a, vp_reshape(vp_arange(VP_I32, 0, 6, 1), vp_shape(2, 3)));
    VP_CHECK_SHAPE(a, 2, 3);
    VP_CHECK_TYPE(a, VP_I32);
    vp_put(view, vp_at(0), 9.0);
    VP_CHECK_VALUES(view, 9, 1);
    VP_CHECK_VALUES(a, 0, 1, 2, 3, 4, 5);
    vp_set(a, 2.5);
    VP_CHECK_SCALAR(a);
    VP_CHECK_VALUES(a, 2.5);
}

/* --- storage orders ----------------------------------------------------------------- */

VP_TEST(results_keep_the_storage_order) {
    vp_array c = vp_let(vp_ones(VP_F64, vp_shape(3, 4)));
    vp_array f = vp_let(vp_ones(VP_F64, vp_fshape(3, 4)));
    CHECK_STRIDES(c, 32, 8);
    CHECK_STRIDES(f, 8, 24);
    CHECK_STRIDES(vp_add(f, 1.0), 8, 24);
    CHECK_STRIDES(vp_add(f, f), 8, 24);
    CHECK_STRIDES(vp_add(c, f), 32, 8);
    CHECK_STRIDES(vp_add(f, c), 32, 8); /* where operands disagree, C order wins */
    CHECK_STRIDES(vp_add(f, vp__test_counting(4)), 8, 24);
    CHECK_STRIDES(vp_add(vp__test_counting(4), f), 8, 24);
    vp_expr either = vp_where(vp_gt(f, 0.0), f, c);
    CHECK_STRIDES(either, 32, 8);
    CHECK_STRIDES(vp_cast(f, VP_F32), 4, 12);
    CHECK_STRIDES(vp_cumsum(f, 0), 8, 24);
    CHECK_STRIDES(vp_sort(f, 1), 8, 24);
    vp_array t = vp_let(vp_permute(vp_ones(VP_F64, vp_shape(2, 3, 4)), vp_axes(2, 0, 1)));
    CHECK_STRIDES(vp_add(t, 1.0), 8, 96, 32);
    vp_array deep = vp_let(vp_ones(VP_F64, vp_fshape(2, 3, 4)));
    CHECK_STRIDES(vp_sum(deep, 1), 8, 16);
    CHECK_STRIDES(vp_sum(deep, 0), 8, 24);
    CHECK_STRIDES(vp_add(vp_flip(vp__test_counting(5), 0), 1.0), 8);
    vp_array half = vp_let(vp_ones(VP_F64, vp_fshape(6, 4)));
    CHECK_STRIDES(vp_add(vp_get(half, vp_every(2)), 1.0), 8, 24);
}

VP_TEST(the_storage_order_does_not_change_values) {
    static const double memory[] = {0, 1, 2, 3, 4, 5};
    vp_array c = vp_let(vp_from(VP_F64, vp_shape(2, 3), memory));
    vp_array f = vp_let(vp_from(VP_F64, vp_fshape(2, 3), memory));
    VP_CHECK_VALUES(c, 0, 1, 2, 3, 4, 5);
    VP_CHECK_VALUES(f, 0, 2, 4, 1, 3, 5); /* the memory is read column by column */
    VP_CHECK_VALUES(vp_add(f, c), 0, 3, 6, 4, 7, 10);
    VP_CHECK_VALUES(vp_sum(f, 0), 1, 5, 9);
    VP_CHECK_VALUES(vp_reshape(f, vp_shape(6)), 0, 2, 4, 1, 3, 5);
    VP_CHECK_VALUES(vp_counter(VP_I64, vp_fshape(2, 2), 0, 1), 0, 2, 1, 3);
}

/* --- no axes, many axes, no elements ------------------------------------------------ */

VP_TEST(arrays_without_axes) {
    vp_array a = vp_let(vp_full(VP_F32, vp_scalar_shape(), 2.5));
    VP_CHECK_SCALAR(a);
    VP_CHECK_EQ(vp_size(a), 1);
    VP_CHECK_VALUES(vp_add(a, a), 5);
    VP_CHECK_TYPE(vp_add(a, 1), VP_F32);
    vp_put(a, vp_at(VP_ELLIPSIS), 7.0);
    VP_CHECK_VALUES(a, 7);
    VP_CHECK_VALUES(vp_sum(a), 7);
    VP_CHECK_VALUES(vp_reshape(a, vp_shape(1, 1)), 7);
    VP_CHECK_VALUES(vp_transpose(a), 7);
    VP_CHECK_VALUES(vp_expand(a, 0), 7);
    VP_CHECK_SHAPE(vp_get(a, VP_NEWAXIS), 1);
    VP_CHECK_VALUES(vp_add(a, vp__test_counting(2)), 7, 8);
}

VP_TEST(arrays_of_32_axes) {
    int64_t dims[VP_MAXDIM];
    for (int i = 0; i < VP_MAXDIM; i++) dims[i] = i % 8 == 3 ? 2 : 1; /* 16 elements */
    for (int order = 0; order < 2; order++) {
        vp_shape_t shape = vp_shape_of(VP_MAXDIM, dims, order);
        vp_array a = vp_let(vp_counter(VP_F64, shape, 0, 1));
        VP_CHECK_EQ(vp_ndim(a), 32);
        VP_CHECK_EQ(vp_size(a), 16);
        VP_CHECK_EQ(vp_dim(a, 3), 2);
        VP_CHECK_VALUES(vp_sum(vp_mul(a, a)), 1240);
        vp_array sum = vp_let(vp_sum(a, vp_axes(3, -5)));
        VP_CHECK_EQ(vp_ndim(sum), 30);
        if (order)
            VP_CHECK_VALUES(vp_reshape(sum, vp_shape(4)), 18, 34, 26, 42);
        else
            VP_CHECK_VALUES(vp_reshape(sum, vp_shape(4)), 18, 26, 34, 42);
        VP_CHECK_VALUES(vp_max(vp_transpose(vp_add(a, 1.0))), 16);
        vp_put(a, vp_at(VP_ALL, VP_ALL, VP_ALL, 1, VP_ELLIPSIS), 0.0);
        VP_CHECK_VALUES(vp_count_nonzero(a), 7);
        vp_array copy = vp_let(vp_add(vp_sort(a, 3), 0.0));
        VP_CHECK_EQ(vp_ndim(copy), 32);
        vp_drop(a), vp_drop(sum), vp_drop(copy);
    }
}

VP_TEST(arrays_without_elements) {
    vp_array e = vp_let(vp_zeros(VP_F64, vp_shape(0))),
             m = vp_let(vp_ones(VP_F64, vp_shape(3, 0, 2)));
    VP_CHECK_EQ(vp_size(e), 0);
    VP_CHECK_SHAPE(m, 3, 0, 2);
    VP_CHECK_OK(vp_read(e, NULL, 0));
    VP_CHECK_EQ(vp_size(vp_add(e, 1.0)), 0);
    VP_CHECK_OK(vp_wait(vp_let(vp_sin(m))));
    VP_CHECK_VALUES(vp_sum(e), 0);
    VP_CHECK_VALUES(vp_prod(e), 1);
    VP_CHECK_VALUES(vp_any(e), 0);
    VP_CHECK_VALUES(vp_all(e), 1);
    VP_CHECK_VALUES(vp_count_nonzero(m), 0);
    VP_CHECK_VALUES(vp_sum(m, 1), 0, 0, 0, 0, 0, 0);
    VP_CHECK_SHAPE(vp_sum(m, 0), 0, 2);
    VP_CHECK_SHAPE(vp_max(m, 0), 0, 2); /* nothing to compare, nothing asked for */
    VP_CHECK_ERROR(vp_wait(vp_max(m, 1)), VP_ERR_VALUE, "max");
    VP_CHECK_ERROR(vp_wait(vp_argmin(e)), VP_ERR_VALUE, "argmin");
    VP_CHECK_SHAPE(vp_transpose(m), 2, 0, 3);
    VP_CHECK_SHAPE(vp_reshape(m, vp_shape(0, 7)), 0, 7);
    VP_CHECK_SHAPE(vp_concatenate(0, e, vp__test_counting(2)), 2);
    VP_CHECK_SHAPE(vp_tile(vp__test_counting(2), vp_shape(0)), 0);
    VP_CHECK_SHAPE(vp_repeat(vp__test_counting(2), 0, 0), 0);
    VP_CHECK_SHAPE(vp_sort(e, 0), 0);
    VP_CHECK_OK(vp_wait(vp_let(vp_sort(m, 1))));
    VP_CHECK_OK(vp_wait(vp_let(vp_cumsum(m, 1))));
    VP_CHECK_SHAPE(vp_find(e), 0);
    VP_CHECK_SHAPE(vp_nonzero(m), 0, 3);
    VP_CHECK_SHAPE(vp_get(m, 0), 0, 2);
    vp_put(m, vp_at(VP_ALL), 3.0);
    VP_CHECK_OK(vp_wait(m));
    VP_CHECK_SHAPE(
        vp_matmul(vp_zeros(VP_F64, vp_shape(0, 3)), vp_zeros(VP_F64, vp_shape(3, 2))), 0,
        2);
    VP_CHECK_VALUES(
        vp_matmul(vp_zeros(VP_F64, vp_shape(2, 0)), vp_zeros(VP_F64, vp_shape(0, 2))), 0,
        0, 0, 0);
    vp_array none = vp_let(vp_arange(VP_I64, 0, 0, 1));
    VP_CHECK_SHAPE(vp_take(vp__test_counting(3), none, 0), 0);
    vp_array a = vp__test_counting(3);
    vp_put(a, vp_at(none), 9.0);
    vp_put(a, vp_at(vp_range(2, 2)), 9.0);
    VP_CHECK_VALUES(a, 0, 1, 2);
}

/* --- strides ------------------------------------------------------------------------ */

VP_TEST(negative_and_zero_strides) {
    vp_array a = grid();
    VP_CHECK_VALUES(vp_add(vp_get(a, vp_every(-1), vp_every(-2)), 0.5), 11.5, 9.5, 7.5,
                    5.5, 3.5, 1.5);
    VP_CHECK_VALUES(vp_sum(vp_flip(a, 0), 0), 12, 15, 18, 21);
    VP_CHECK_VALUES(vp_cumsum(vp_flip(vp_get(a, 0), 0), 0), 3, 5, 6, 6);
    vp_array wide = vp_let(
        vp_mul(vp_broadcast(vp_get(a, VP_ALL, vp_range(1, 2)), vp_shape(3, 2)), 1.0));
    VP_CHECK_VALUES(wide, 1, 1, 5, 5, 9, 9);
    VP_CHECK_VALUES(
        vp_sum(vp_broadcast(vp_full(VP_F64, vp_scalar_shape(), 0.5), vp_shape(10, 10))),
        50);
    VP_CHECK_VALUES(vp_argmax(vp_flip(vp_get(a, 2), 0)), 0);
    VP_CHECK_VALUES(vp_sort(vp_flip(a, 1), 1), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    VP_CHECK_VALUES(vp_matmul(vp_flip(vp_get(a, vp_until(2), vp_until(2)), 0),
                              vp_transpose(vp_get(a, vp_until(2), vp_until(2)))),
                    5, 41, 1, 5);
}

/* --- the user's memory -------------------------------------------------------------- */

static void count_release(void *context, void *memory) {
    (void)memory;
    ++*(int *)context;
}

VP_TEST(borrowed_memory_is_read_in_place) {
    int released = 0;
    double memory[6] = {0, 1, 2, 3, 4, 5};
    vp_scope s = vp_begin();
    vp_array a = vp_borrow(VP_F64, vp_shape(2, 3), NULL, memory, VP_READ_ONLY,
                           count_release, &released);
    vp_mapped m;
    VP_CHECK_OK(vp_map(a, &m));
    VP_CHECK_EQ(m.data, memory);
    vp_unmap(&m);
    VP_CHECK_VALUES(vp_add(a, a), 0, 2, 4, 6, 8, 10);
    vp_array view = vp_view(vp_get(a, 1));
    vp_drop(a);
    VP_CHECK_EQ(released, 0);
    VP_CHECK_VALUES(view, 3, 4, 5);
    vp_end(s);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(released, 1);
}

VP_TEST(borrowed_memory_has_any_strides) {
    static double memory[20];
    for (int i = 0; i < 20; i++) memory[i] = i;
    static const int64_t down[] = {-40, 16}, same[] = {0, 8}, columns[] = {8, 16};
    vp_array a =
        vp_borrow(VP_F64, vp_shape(3, 2), down, memory + 12, VP_WRITABLE, NULL, NULL);
    VP_CHECK_VALUES(a, 12, 14, 7, 9, 2, 4);
    vp_put(a, vp_at(2, 1), -1.0);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(memory[4], -1);
    vp_array b =
        vp_borrow(VP_F64, vp_shape(2, 3), same, memory, VP_READ_ONLY, NULL, NULL);
    VP_CHECK_VALUES(b, 0, 1, 2, 0, 1, 2);
    vp_array c =
        vp_borrow(VP_F64, vp_fshape(2, 2), NULL, memory, VP_READ_ONLY, NULL, NULL);
    VP_CHECK_VALUES(c, 0, 2, 1, 3);
    vp_array d =
        vp_borrow(VP_F64, vp_shape(2, 2), columns, memory, VP_READ_ONLY, NULL, NULL);
    VP_CHECK_VALUES(d, 0, 2, 1, 3);
}

VP_TEST(read_only_memory_is_refused_for_writing) {
    vp_scope outer = vp_begin();
    double memory[4] = {0, 1, 2, 3};
    vp_array a = vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_READ_ONLY, NULL, NULL);
    vp_array view = vp_view(vp_get(a, vp_range(1, 3)));
    vp_put(a, vp_at(0), 9.0);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "read-only");
    vp_put(view, vp_at(VP_ALL), 9.0);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "read-only");
    vp_put(a, vp_at(vp_gt(a, 1.0)), 9.0);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "read-only");
    VP_CHECK_OK(vp_sync());
    for (int i = 0; i < 4; i++) VP_CHECK_EQ(memory[i], i);
    /* A copy may be written, and the name may be bound to something else. */
    vp_array copy = vp_let(a);
    vp_put(copy, vp_at(0), 9.0);
    VP_CHECK_VALUES(copy, 9, 1, 2, 3);
    vp_set(a, copy);
    vp_put(a, vp_at(1), 8.0);
    VP_CHECK_VALUES(a, 9, 8, 2, 3);
    VP_CHECK_EQ(memory[0], 0);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(borrowed_memory_is_released_exactly_once) {
    double memory[3] = {1, 2, 3};
    int released = 0;
    vp_scope s = vp_begin();
    int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 20; i++) {
        vp_array a = vp_borrow(VP_F64, vp_shape(3), NULL, memory, VP_WRITABLE,
                               count_release, &released);
        vp_array b = vp_let(a), c = vp_view(vp_get(a, VP_ALL));
        vp_put(c, vp_at(0), (double)i);
        vp_set(b, vp_add(a, 1.0));
        if (i % 2) vp_set(a, 0.0);
        vp_drop(a), vp_drop(c);
        VP_CHECK_OK(vp_sync());
        VP_CHECK_EQ(released, i + 1);
        VP_CHECK_VALUES(b, i + 1.0, 3, 4);
        vp_drop(b);
    }
    /* Nothing that was never borrowed is released. */
    vp_array bad = vp_borrow((vp_dtype)77, vp_shape(3), NULL, memory, VP_WRITABLE,
                             count_release, &released);
    VP_CHECK_ERROR(vp_wait(bad), VP_ERR_TYPE, "borrow");
    vp_drop(bad);
    VP_CHECK_EQ(released, 20);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}
