/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs do wrong: stale, foreign, used-up and uninitialised handles, NULL, absurd
 * shapes and sizes, wrong types. Each gives a clear error at the user's line, loses
 * nothing, leaks nothing, and the program can go on.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/net_support.h"

/* Runs every instruction and observer on a handle that is no good, and checks that each
 * says so at its line and that nothing stays behind. */
static void check_refused(vp_array bad, const char *part) {
    vp_array good = vp__test_counting(3);
    int open = vp__test_open_expressions();
    double memory[8];
    vp_mapped m;
#define REFUSED(call)                                                                    \
    do {                                                                                 \
        vp_scope s = vp_begin();                                                         \
        vp_status got = (call);                                                          \
        char line[32];                                                                   \
        snprintf(line, sizeof line, "misuse.c:%d:", __LINE__);                           \
        VP_CHECK_EQ(got, VP_ERR_HANDLE);                                                 \
        VP_CHECK_CONTAINS(vp_message(), line);                                           \
        VP_CHECK_REPORTED(VP_ERR_HANDLE, part);                                          \
        vp_end(s);                                                                       \
        VP_CHECK_EQ(vp__test_open_expressions(), open);                                  \
    } while (0)
    REFUSED(vp_wait(bad));
    REFUSED(vp_read(bad, memory, sizeof memory));
    REFUSED(vp_item(bad, memory));
    REFUSED(vp_map(bad, &m));
    REFUSED(vp_print(bad));
    REFUSED((VP_CHECK_EQ(vp_size(bad), -1), vp_error()));
    REFUSED((VP_CHECK_EQ(vp_dim(bad, 0), -1), vp_error()));
    REFUSED((VP_CHECK_EQ(vp_ndim(bad), -1), vp_error()));
    REFUSED((VP_CHECK_EQ(vp_dtype_of(bad), VP_AUTO), vp_error()));
    REFUSED(vp_wait(vp_let(bad)));
    REFUSED(vp_wait(vp_view(bad)));
    REFUSED((vp_set(bad, good), vp_error()));
    REFUSED((vp_put(bad, vp_at(0), 1.0), vp_error()));
    REFUSED((vp_drop(bad), vp_error()));
    REFUSED((vp_keep(bad), vp_error()));
    REFUSED(vp_wait(vp_add(good, bad)));
    REFUSED(vp_wait(vp_add(bad, good)));
    REFUSED(vp_wait(vp_neg(bad)));
    REFUSED(vp_wait(vp_clip(good, 0.0, bad)));
    REFUSED(vp_wait(vp_cast(bad, VP_F32)));
    REFUSED(vp_wait(vp_sum(bad)));
    REFUSED(vp_wait(vp_mean(bad, 0)));
    REFUSED(vp_wait(vp_var(bad)));
    REFUSED(vp_wait(vp_get(bad, 0)));
    REFUSED(vp_wait(vp_get(good, bad)));
    REFUSED(vp_wait(vp_take(bad, 0, 0)));
    REFUSED(vp_wait(vp_take(good, bad, 0)));
    REFUSED(vp_wait(vp_find(bad)));
    REFUSED(vp_wait(vp_nonzero(bad)));
    REFUSED(vp_wait(vp_reshape(bad, vp_shape(3))));
    REFUSED(vp_wait(vp_transpose(bad)));
    REFUSED(vp_wait(vp_broadcast(bad, vp_shape(3))));
    REFUSED(vp_wait(vp_squeeze(bad, 0)));
    REFUSED(vp_wait(vp_expand(bad, 0)));
    REFUSED(vp_wait(vp_flip(bad, 0)));
    REFUSED(vp_wait(vp_concatenate(0, good, bad)));
    REFUSED(vp_wait(vp_stack(0, bad, good)));
    REFUSED(vp_wait(vp_tile(bad, vp_shape(2))));
    REFUSED(vp_wait(vp_repeat(bad, 2, 0)));
    REFUSED(vp_wait(vp_cumsum(bad, 0)));
    REFUSED(vp_wait(vp_sort(bad, 0)));
    REFUSED(vp_wait(vp_matmul(bad, good)));
    REFUSED(vp_wait(vp_matmul(good, bad)));
    REFUSED(vp_wait(vp_full(VP_F64, vp_shape(2), bad)));
    /* A write of a value, or at a place, that is no good: its target is not what it was
     * meant to be. Afterwards it is made good again. */
    REFUSED((vp_put(good, vp_at(0), bad), vp_wait(good)));
    vp_set(good, vp__test_counting(3));
    REFUSED((vp_put(good, vp_at(bad), 1.0), vp_error()));
    vp_set(good, vp__test_counting(3));
    REFUSED((vp_set(good, bad), vp_wait(good)));
    vp_set(good, vp__test_counting(3));
#undef REFUSED
    VP_CHECK_VALUES(good, 0, 1, 2);
    vp_keep(bad); /* nothing to keep */
    VP_CHECK_EQ(vp_error(), VP_ERR_HANDLE);
    vp_clear_error();
}

static void check_handle(vp_array bad, const char *part) {
    vp_scope s = vp_begin();
    int64_t base = vp__test_bytes_now();
    vp_scope inner = vp_begin();
    check_refused(bad, part);
    vp_end(inner);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}

VP_TEST(dropped_arrays) {
    vp_array a = vp__test_counting(3);
    vp_drop(a);
    check_handle(a, "this array was dropped, or its scope has ended");
}

VP_TEST(arrays_dropped_and_replaced) {
    vp_array a = vp__test_counting(3);
    vp_drop(a);
    vp_array b = vp__test_counting(3); /* takes the same place */
    VP_CHECK_EQ(a.slot, b.slot);
    check_handle(a, "this array was dropped");
    VP_CHECK_VALUES(b, 0, 1, 2);
}

VP_TEST(arrays_whose_scope_has_ended) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(3);
    vp_end(s);
    check_handle(a, "its scope has ended");
}

VP_TEST(uninitialised_arrays) {
    check_handle((vp_array){0, 0}, "this is not an array (an uninitialised vp_array?)");
}

VP_TEST(nonsense_arrays) {
    vp__test_counting(1);
    check_handle((vp_array){4294967295u, 1}, "this is not an array");
    check_handle((vp_array){77, 4294967295u}, "dropped");
    check_handle((vp_array){1u << 20, 3}, "this is not an array");
    check_handle((vp_array){0, 2}, "this is not an array");
}

/* --- expressions -------------------------------------------------------------------- */

VP_TEST(expressions_used_twice) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(3);
    int64_t base = vp__test_bytes_now();
    vp_scope inner = vp_begin();
    vp_expr e = vp_add(a, 1.0);
    vp_array b = vp_let(e);
    double memory[3];
    static const char *const why = "this expression was used before; name it with vp_let";
    VP_CHECK_ERROR(vp_wait(vp_let(e)), VP_ERR_HANDLE, why);
    VP_CHECK_ERROR(vp_wait(e), VP_ERR_HANDLE, why);
    VP_CHECK_ERROR(vp_read(e, memory, sizeof memory), VP_ERR_HANDLE, why);
    VP_CHECK_EQ(vp_size(e), -1);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, why);
    VP_CHECK_EQ(vp_ndim(e), -1);
    VP_CHECK_EQ(vp_dtype_of(e), VP_AUTO);
    vp_clear_error();
    vp_expr twice = vp_sqrt(a);
    VP_CHECK_ERROR(vp_wait(vp_add(twice, twice)), VP_ERR_HANDLE, why);
    vp_expr f = vp_neg(a);
    vp_put(b, vp_at(VP_ALL), f);
    vp_put(b, vp_at(0), f);
    VP_CHECK_ERROR(vp_wait(b), VP_ERR_HANDLE, why);
    vp_set(b, a);
    vp_expr g = vp_sum(a);
    VP_CHECK_VALUES(g, 3); /* reading uses it up */
    VP_CHECK_ERROR(vp_wait(g), VP_ERR_HANDLE, why);
    VP_CHECK_VALUES(b, 0, 1, 2);
    vp_end(inner);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}

/* What an instruction makes may be in the very record of its operand. */
VP_TEST(expressions_used_twice_where_a_record_stays) {
    vp_scope s = vp_begin();
    static const char *const why = "this expression was used before; name it with vp_let";
    vp_array a = vp_let(vp_full(VP_F64, vp_shape(1), -3));
    vp_expr transform = vp_fft(a, 0), magnitude = vp_abs(transform);
    VP_CHECK_ERROR(vp_wait(vp_sin(transform)), VP_ERR_HANDLE, why);
    VP_CHECK_VALUES(magnitude, 3);
    vp_expr e = vp_add(a, 1.0), same = vp_cast(e, VP_F64);
    VP_CHECK_ERROR(vp_wait(vp_neg(e)), VP_ERR_HANDLE, why);
    VP_CHECK_VALUES(same, -2);
    vp_end(s);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

VP_TEST(uninitialised_expressions) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(3);
    int64_t base = vp__test_bytes_now();
    vp_scope inner = vp_begin();
    vp_expr none = {0, 0};
    VP_CHECK_ERROR(vp_wait(none), VP_ERR_HANDLE, "this is not an expression");
    VP_CHECK_ERROR(vp_wait(vp_add(a, none)), VP_ERR_HANDLE, "an uninitialised vp_expr?");
    VP_CHECK_EQ(vp_size(none), -1);
    vp_expr nonsense = {12345, 99}, far = {4294967295u, 1};
    VP_CHECK_ERROR(vp_wait(vp_neg(nonsense)), VP_ERR_HANDLE, "expression");
    VP_CHECK_ERROR(vp_wait(vp_neg(far)), VP_ERR_HANDLE, "expression");
    VP_CHECK_VALUES(a, 0, 1, 2);
    vp_end(inner);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}

typedef struct {
    vp_expr expr;
    vp_array array;
} meeting;

static void *use_foreign(void *argument) {
    meeting *m = argument;
    vp_scope s = vp_begin();
    static const char *const why =
        "this expression belongs to another thread; name it there";
    VP_CHECK_ERROR(vp_wait(vp_add(m->expr, 1.0)), VP_ERR_HANDLE, why);
    VP_CHECK_ERROR(vp_wait(m->expr), VP_ERR_HANDLE, why);
    VP_CHECK_ERROR(vp_wait(vp_let(m->expr)), VP_ERR_HANDLE, why);
    VP_CHECK_EQ(vp_size(m->expr), -1);
    VP_CHECK_VALUES(m->array, 0, 1, 2); /* arrays belong to everyone */
    vp_put(m->array, vp_at(0), 5.0);
    vp_end(s);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    return NULL;
}

VP_TEST(foreign_expressions) {
    meeting m = {.array = vp__test_counting(3)};
    m.expr = vp_add(m.array, 10.0);
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, use_foreign, &m));
    pthread_join(thread, NULL);
    VP_CHECK_VALUES(m.expr, 10, 11, 12); /* here it is still good, and what it saw */
    VP_CHECK_VALUES(m.array, 5, 1, 2);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK); /* errors are each thread's own */
}

/* --- NULL --------------------------------------------------------------------------- */

VP_TEST(null_pointers) {
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(2);
    VP_CHECK_ERROR(vp_wait(vp_from(VP_F64, vp_shape(2), NULL)), VP_ERR_VALUE,
                   "from: the memory is NULL");
    vp_array b = vp_borrow(VP_F64, vp_shape(2), NULL, NULL, VP_WRITABLE, NULL, NULL);
    VP_CHECK_ERROR(vp_wait(b), VP_ERR_VALUE, "borrow: the memory is NULL");
    VP_CHECK_ERROR(vp_read(a, NULL, 16), VP_ERR_VALUE, "NULL");
    VP_CHECK_ERROR(vp_item(vp_get(a, 0), (int *)NULL), VP_ERR_VALUE, "NULL");
    VP_CHECK_ERROR(vp_map(a, NULL), VP_ERR_VALUE, "NULL");
    vp_unmap(NULL);
    vp_get_stats(NULL);
    vp_shape_t shape = vp_shape_of(2, NULL, false);
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_F64, shape)), VP_ERR_SHAPE,
                   "zeros: the shape's dims are NULL");
    VP_CHECK_ERROR(vp_wait(vp_reshape(a, shape)), VP_ERR_SHAPE,
                   "reshape: the shape's dims are NULL");
    VP_CHECK_ERROR(vp_wait(vp_broadcast(a, shape)), VP_ERR_SHAPE,
                   "broadcast: the shape's dims are NULL");
    VP_CHECK_ERROR(vp_wait(vp_tile(a, shape)), VP_ERR_VALUE, "tile: the counts are NULL");
    vp_axes_t axes = vp_axes_of(1, NULL);
    VP_CHECK_ERROR(vp_wait(vp_sum(a, axes)), VP_ERR_INDEX, "sum: the axes are NULL");
    VP_CHECK_ERROR(vp_wait(vp_permute(a, axes)), VP_ERR_INDEX,
                   "permute: the axes are NULL");
    VP_CHECK_ERROR(vp_wait(vp_squeeze(a, axes)), VP_ERR_INDEX,
                   "squeeze: the axes are NULL");
    VP_CHECK_ERROR(vp_wait(vp_flip(a, axes)), VP_ERR_INDEX, "flip: the axes are NULL");
    vp_index index = {1, NULL};
    VP_CHECK_ERROR(vp_wait(vp_get_at(a, vp_index_of(1, NULL))), VP_ERR_INDEX,
                   "get: the selection's items are NULL");
    VP_CHECK_ERROR(vp_wait(vp_get_at(a, index)), VP_ERR_INDEX,
                   "get: the selection's items are NULL");
    vp_array c = vp__test_counting(2);
    vp_put(c, vp_index_of(1, NULL), 1.0);
    VP_CHECK_REPORTED(VP_ERR_INDEX, "put: the selection's items are NULL");
    VP_CHECK_ERROR(vp_wait(vp__concatenate(VP_HERE, 0, 2, NULL, false)), VP_ERR_VALUE,
                   "concatenate");
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(an_instruction_without_a_line) {
    vp_array a = vp__test_counting(2);
    VP_CHECK_ERROR(
        vp__wait_for(NULL, vp__in_expr(vp__op2(VP__ADD, NULL, vp__in_array(a),
                                               vp__in_array(vp__test_counting(3))))),
        VP_ERR_SHAPE, "(2,) and (3,)");
}

/* --- borrowing ---------------------------------------------------------------------- */

static void count_release(void *count, void *memory) {
    (void)memory;
    ++*(int *)count;
}

VP_TEST(memory_that_could_not_be_borrowed_stays_the_callers) {
    double memory[2] = {1, 2};
    static const int64_t far[] = {INT64_MAX};
    int released = 0;
    vp_scope s = vp_begin();
#define BORROW(dtype, dims, strides, access)                                             \
    vp_borrow(dtype, vp_shape(dims), strides, memory, access, count_release, &released)
    VP_CHECK_ERROR(vp_wait(BORROW(VP_AUTO, 2, NULL, VP_WRITABLE)), VP_ERR_TYPE, "borrow");
    VP_CHECK_ERROR(vp_wait(BORROW(VP_F64, -1, NULL, VP_WRITABLE)), VP_ERR_SHAPE,
                   "borrow");
    VP_CHECK_ERROR(vp_wait(BORROW(VP_F64, 2, far, VP_WRITABLE)), VP_ERR_SHAPE, "borrow");
    VP_CHECK_ERROR(vp_wait(BORROW(VP_F64, 2, NULL, (vp_access)7)), VP_ERR_VALUE,
                   "borrow: the access is VP_READ_ONLY or VP_WRITABLE, not 7");
    vp_array a = BORROW(VP_F64, 2, NULL, VP_READ_ONLY);
#undef BORROW
    VP_CHECK_VALUES(a, 1, 2);
    vp_put(a, vp_at(0), 5.0);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "put: this array borrows read-only memory");
    vp_end(s);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(released, 1);
}

/* --- selections --------------------------------------------------------------------- */

VP_TEST(a_wrong_selection_names_its_instruction) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(3), two = vp_let(vp_zeros(VP_I64, vp_shape(2)));
    vp_array mask = vp_let(vp_zeros(VP_BOOL, vp_shape(4))),
             i = vp_let(vp_arange(VP_I64, 0, 3, 1));
#define PUT(status, part, ...)                                                           \
    do {                                                                                 \
        vp_array t = vp__test_counting(3);                                               \
        vp_put(t, vp_at(__VA_ARGS__), 1.0);                                              \
        VP_CHECK_REPORTED(status, part);                                                 \
        VP_CHECK_ERROR(vp_wait(t), status, part);                                        \
    } while (0)
    PUT(VP_ERR_INDEX, ": put: index 7 is out of bounds for axis 0 with size 3", 7);
    PUT(VP_ERR_INDEX, ": put: 2 indices for an array of 1 axes", i, 7);
    PUT(VP_ERR_INDEX, ": put: a mask of shape (4,) does not fit axes of shape (3,)",
        mask);
    PUT(VP_ERR_TYPE, ": put: arrays of float64 cannot be indices", a);
#undef PUT
    VP_CHECK_ERROR(vp_wait(vp_get(a, i, 7)), VP_ERR_INDEX, ": get: 2 indices");
    VP_CHECK_ERROR(vp_wait(vp_get(a, a)), VP_ERR_TYPE,
                   ": get: arrays of float64 cannot be indices");
    VP_CHECK_ERROR(vp_wait(vp_get(vp_reshape(a, vp_shape(3, 1)), i, two)), VP_ERR_INDEX,
                   ": get: index arrays of shapes (3,) and (2,) do not broadcast");
    /* A mask whose shape is known only when it runs. */
    vp_array late = vp_let(vp_find(vp_ge(a, 1)));
    VP_CHECK_ERROR(vp_wait(vp_get(a, vp_ge(late, 0))), VP_ERR_INDEX,
                   ": get: a mask of shape (2,) does not fit axes of shape (3,)");
    vp_end(s);
}

VP_TEST(a_number_that_does_not_fit_names_its_instruction) {
    vp_scope s = vp_begin();
    vp_array u = vp_let(vp_zeros(VP_U8, vp_shape(2)));
    VP_CHECK_ERROR(vp_wait(vp_add(u, 300)), VP_ERR_VALUE,
                   ": add: the integer 300 does not fit uint8");
    VP_CHECK_ERROR(vp_wait(vp_cast(300, VP_U8)), VP_ERR_VALUE,
                   ": cast: the integer 300 does not fit uint8");
    vp_put(u, vp_at(0), -1);
    VP_CHECK_ERROR(vp_wait(u), VP_ERR_VALUE, ": put: the integer -1 does not fit uint8");
    VP_CHECK_ERROR(vp_wait(vp_ones(VP_F64, vp_shape(-1))), VP_ERR_SHAPE,
                   ": ones: a dimension cannot be -1");
    vp_end(s);
}

/* What cannot be written is not written wrongly either. */
VP_TEST(wrong_writes_of_no_elements) {
    vp_scope s = vp_begin();
    vp_array none = vp_let(vp_zeros(VP_I64, vp_shape(0)));
    vp_array three = vp_let(vp_zeros(VP_I64, vp_shape(3)));
    vp_array far = vp_let(vp_full(VP_I64, vp_shape(1), 99));
    static const char *const bounds =
        "put: index 99 is out of bounds for axis 0 with size";
#define EMPTY(...) vp_let(vp_zeros(VP_F64, vp_shape(__VA_ARGS__)))
    vp_array e = EMPTY(2, 0), f = EMPTY(2, 0), z = EMPTY(0, 2), good = EMPTY(2, 0);
    vp_put(e, vp_at(far), 1.0);
    VP_CHECK_ERROR(vp_wait(e), VP_ERR_INDEX, bounds);
    VP_CHECK_ERROR(vp_wait(vp_add(e, 1.0)), VP_ERR_INDEX, bounds);
    vp_put(f, vp_at(none), vp_zeros(VP_F64, vp_shape(5, 7)));
    VP_CHECK_ERROR(
        vp_wait(f), VP_ERR_SHAPE,
        "put: a value of shape (5, 7) does not fit a selection of shape (0, 0)");
    vp_put(z, vp_at(none, three), 1.0);
    VP_CHECK_ERROR(vp_wait(z), VP_ERR_INDEX,
                   "put: index arrays of shapes (0,) and (3,) do not broadcast");
    vp_put(good, vp_at(vp_let(vp_ones(VP_I64, vp_shape(1)))), 1.0);
    VP_CHECK_OK(vp_wait(good));
    vp_set(e, 5.0);
    VP_CHECK_VALUES(e, 5);
#undef EMPTY
    /* Through a view of nothing of an array that has elements, which stay as they are. */
    vp_array a = vp__test_counting(2), part = vp_view(vp_get(a, vp_range(1, 1)));
    vp_put(part, vp_at(far), 1.0);
    VP_CHECK_ERROR(vp_wait(part), VP_ERR_INDEX, bounds);
    VP_CHECK_VALUES(a, 0, 1);
    vp_end(s);
}

/* --- shapes and sizes --------------------------------------------------------------- */

VP_TEST(absurd_shapes) {
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    int64_t many[40];
    for (int i = 0; i < 40; i++) many[i] = 1;
    double memory[1] = {0};
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_F64, vp_shape(2, -3))), VP_ERR_SHAPE, "-3");
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_F64, vp_shape_of(33, many, false))), VP_ERR_SHAPE,
                   "33 axes");
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_F64, vp_shape_of(-1, many, false))), VP_ERR_SHAPE,
                   "-1 axes");
    VP_CHECK_ERROR(vp_wait(vp_empty(VP_F64, vp_shape_of(40, many, false))), VP_ERR_SHAPE,
                   "40 axes");
    VP_CHECK_ERROR(vp_wait(vp_from(VP_F64, vp_shape(-1), memory)), VP_ERR_SHAPE, "-1");
    VP_CHECK_ERROR(
        vp_wait(vp_borrow(VP_F64, vp_shape(-1), NULL, memory, VP_READ_ONLY, NULL, NULL)),
        VP_ERR_SHAPE, "-1");
    VP_CHECK_ERROR(vp_wait(vp_counter(VP_F64, vp_shape(-1), 0, 1)), VP_ERR_SHAPE, "-1");
    VP_CHECK_ERROR(vp_wait(vp_linspace(VP_F64, 0, 1, -5)), VP_ERR_SHAPE, "-5");
    VP_CHECK_ERROR(vp_wait(vp_broadcast(1.0, vp_shape_of(33, many, false))), VP_ERR_SHAPE,
                   "broadcast");
    VP_CHECK_ERROR(vp_wait(vp_reshape(1.0, vp_shape_of(33, many, false))), VP_ERR_SHAPE,
                   "axes");
    VP_CHECK_ERROR(vp_wait(vp_tile(1.0, vp_shape_of(33, many, false))), VP_ERR_VALUE,
                   "tile");
    VP_CHECK_ERROR(vp_wait(vp_get_at(vp_let(1.0), vp_index_of(-1, NULL))), VP_ERR_INDEX,
                   "");
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(more_axes_than_there_can_be) {
    int64_t ones[VP_MAXDIM];
    for (int i = 0; i < VP_MAXDIM; i++) ones[i] = 1;
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_ones(VP_F64, vp_shape_of(VP_MAXDIM, ones, false)));
    VP_CHECK_ERROR(vp_wait(vp_expand(a, 0)), VP_ERR_SHAPE, "32 axes");
    VP_CHECK_ERROR(vp_wait(vp_get(a, VP_NEWAXIS)), VP_ERR_SHAPE, "32 axes");
    VP_CHECK_ERROR(vp_wait(vp_stack(0, a, a)), VP_ERR_SHAPE, "stack");
    VP_CHECK_ERROR(vp_wait(vp_stack(32, a, a)), VP_ERR_SHAPE, "stack");
    vp_array i = vp_let(vp_zeros(VP_I64, vp_shape(1, 1)));
    VP_CHECK_ERROR(vp_wait(vp_get(a, i)), VP_ERR_SHAPE, "33 axes");
    VP_CHECK_ERROR(vp_wait(vp_take(a, i, 0)), VP_ERR_SHAPE, "33 axes");
    VP_CHECK_VALUES(vp_sum(a), 1);
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(sizes_that_overflow) {
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    const int64_t big = 1ll << 32;
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_F64, vp_shape(big, big))), VP_ERR_SHAPE,
                   "too large");
    VP_CHECK_ERROR(vp_wait(vp_zeros(VP_C128, vp_shape(INT64_MAX))), VP_ERR_SHAPE,
                   "too large");
    VP_CHECK_ERROR(vp_wait(vp_empty(VP_F64, vp_shape(INT64_MAX / 4))), VP_ERR_SHAPE,
                   "too large");
    VP_CHECK_ERROR(vp_wait(vp_eye(VP_F64, big, big, 0)), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_linspace(VP_F64, 0, 1, INT64_MAX)), VP_ERR_SHAPE,
                   "too large");
    VP_CHECK_ERROR(vp_wait(vp_broadcast(1.0, vp_shape(big, big))), VP_ERR_SHAPE,
                   "broadcast: an array of shape (4294967296, 4294967296) is too large");
    /* Views of one element that look large. */
    vp_array one = vp_let(vp_ones(VP_I8, vp_scalar_shape()));
#define WIDE(n) vp_broadcast(one, vp_shape(n))
    VP_CHECK_ERROR(vp_wait(vp_concatenate(0, WIDE(1ll << 62), WIDE(1ll << 62))),
                   VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_stack(0, WIDE(1ll << 62), WIDE(1ll << 62))), VP_ERR_SHAPE,
                   "too large");
    VP_CHECK_ERROR(vp_wait(vp_add(vp_broadcast(one, vp_shape(big, 1)),
                                  vp_broadcast(one, vp_shape(1, big)))),
                   VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_matmul(vp_broadcast(one, vp_shape(big, 1)),
                                     vp_broadcast(one, vp_shape(1, big)))),
                   VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_tile(WIDE(1ll << 40), vp_shape(1ll << 40))), VP_ERR_SHAPE,
                   "tile: the result would be too large");
    VP_CHECK_ERROR(vp_wait(vp_repeat(WIDE(1ll << 40), 1ll << 40, 0)), VP_ERR_SHAPE,
                   "repeat: the result would be too large");
    VP_CHECK_ERROR(vp_wait(vp_cast(WIDE(1ll << 62), VP_F64)), VP_ERR_SHAPE, "too large");
    vp_array many = vp_let(vp_broadcast(vp_let(0), vp_shape(1000)));
    VP_CHECK_ERROR(vp_wait(vp_get(vp_broadcast(one, vp_shape(2, 1ll << 61)), many)),
                   VP_ERR_SHAPE, "too large");
    double memory[4] = {0};
    static const int64_t far[] = {INT64_MAX, 8};
    VP_CHECK_ERROR(
        vp_wait(vp_borrow(VP_F64, vp_shape(3, 2), far, memory, VP_READ_ONLY, NULL, NULL)),
        VP_ERR_SHAPE, "borrow");
#undef WIDE
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
    /* Nothing in it, but its strides do not fit: not as bytes, and not as any wider type. */
    vp_array flat = vp_let(vp_full(VP_U8, vp_shape(INT64_MAX / 3, 0), 6));
    VP_CHECK_OK(vp_wait(flat));
    VP_CHECK_ERROR(vp_wait(vp_exp(flat)), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_cast(flat, VP_F64)), VP_ERR_SHAPE, "too large");
    VP_CHECK_ERROR(vp_wait(vp_add(flat, flat)), VP_ERR_SHAPE, "too large");
}

/* A size that fits an integer and no machine. */
VP_TEST(more_memory_than_there_is) {
    vp_scope s = vp_begin();
    vp_array small = vp__test_counting(3);
    int64_t base = vp__test_bytes_now();
    vp_scope inner = vp_begin();
    const int64_t much = 1ll << 50;
    VP_CHECK_ERROR(vp_wait(vp_empty(VP_F64, vp_shape(much))), VP_ERR_MEMORY,
                   "out of memory");
    vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(much)));
    VP_CHECK_EQ(vp_size(a), much);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_MEMORY, "out of memory");
    vp_array b = vp_let(vp_mul(vp_broadcast(2.0, vp_shape(much)), 2.0));
    VP_CHECK_ERROR(vp_wait(b), VP_ERR_MEMORY, "out of memory");
    VP_CHECK_ERROR(vp_wait(vp_sum(a)), VP_ERR_MEMORY, "out of memory");
    VP_CHECK_VALUES(vp_add(small, 1.0), 1, 2, 3);
    vp_end(inner);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}

/* --- types -------------------------------------------------------------------------- */

VP_TEST(types_that_are_none) {
    int64_t base = vp__test_bytes_now();
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(2);
    double memory[2] = {0};
    static const int none[] = {13, 77, 128, 254};
    for (int i = 0; i < 4; i++) {
        vp_dtype t = (vp_dtype)none[i];
        char text[16];
        snprintf(text, sizeof text, "%d is not", none[i]);
        VP_CHECK_ERROR(vp_wait(vp_zeros(t, vp_shape(2))), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_full(t, vp_shape(2), 1.5)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_empty(t, vp_shape(2))), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_arange(t, 0, 2, 1)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_linspace(t, 0, 2, 3)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_eye(t, 2, 2, 0)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_counter(t, vp_shape(2), 0, 1)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_from(t, vp_shape(2), memory)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(
            vp_wait(vp_borrow(t, vp_shape(2), NULL, memory, VP_READ_ONLY, NULL, NULL)),
            VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_cast(a, t)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_sum(a, 0, t)), VP_ERR_TYPE, text);
        VP_CHECK_ERROR(vp_wait(vp_mean(a, 0, t)), VP_ERR_TYPE, text);
    }
    VP_CHECK_ERROR(vp_wait(vp_cast(a, VP_AUTO)), VP_ERR_TYPE, "255");
    VP_CHECK_ERROR(vp_wait(vp_empty(VP_AUTO, vp_shape(2))), VP_ERR_TYPE, "255");
    vp_end(s);
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(operations_that_are_none) {
    vp_array a = vp__test_counting(2);
    vp_operand x = vp__in_array(a);
    static const int none[] = {-1, 78, 500, 1 << 30, VP__SUM};
    for (int i = 0; i < 5; i++) {
        VP_CHECK_ERROR(vp_wait(vp__op1(none[i], VP_HERE, x)), VP_ERR_VALUE,
                       "no such operation");
        VP_CHECK_ERROR(vp_wait(vp__op2(none[i], VP_HERE, x, x)), VP_ERR_VALUE,
                       "no such operation");
        VP_CHECK_ERROR(vp_wait(vp__op3(none[i], VP_HERE, x, x, x)), VP_ERR_VALUE,
                       "no such operation");
    }
    VP_CHECK_ERROR(vp_wait(vp__op1(VP__ADD, VP_HERE, x)), VP_ERR_VALUE,
                   "no such operation");
    VP_CHECK_ERROR(vp_wait(vp__op2(VP__SIN, VP_HERE, x, x)), VP_ERR_VALUE,
                   "no such operation");
    VP_CHECK_ERROR(vp_wait(vp__reduce(VP__SIN, VP_HERE, x, NULL, VP_AUTO, 0)),
                   VP_ERR_VALUE, "no such reduction");
    VP_CHECK_ERROR(vp_wait(vp__reduce(-1, VP_HERE, x, NULL, VP_AUTO, 0)), VP_ERR_VALUE,
                   "no such reduction");
    VP_CHECK_ERROR(vp_wait(vp__reduce(2000, VP_HERE, x, NULL, VP_AUTO, 0)), VP_ERR_VALUE,
                   "no such reduction");
    VP_CHECK_ERROR(vp_wait(vp__along(VP_HERE, x, 0, VP__FFT)), VP_ERR_VALUE,
                   "no such operation");
    VP_CHECK_ERROR(vp_wait(vp__along(VP_HERE, x, 0, 999)), VP_ERR_VALUE,
                   "no such operation");
    VP_CHECK_ERROR(vp_wait(vp__fourier(VP__SORT, VP_HERE, x, 0, NULL)), VP_ERR_VALUE,
                   "no such operation");
    VP_CHECK_VALUES(a, 0, 1);
}

/* --- errors themselves -------------------------------------------------------------- */

VP_TEST(the_last_error_is_kept_until_cleared) {
    vp_scope outer = vp_begin();
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    VP_CHECK_STR(vp_message(), "");
    vp_array a = vp__test_counting(2);
    VP_CHECK_EQ((int)vp_wait(vp_get(a, 5)), (int)VP_ERR_INDEX);
    VP_CHECK_OK(vp_wait(a)); /* success does not clear it */
    VP_CHECK_EQ((int)vp_error(), (int)VP_ERR_INDEX);
    VP_CHECK_CONTAINS(vp_message(), "test_api_misuse.c:");
    vp_array none = {0, 0};
    vp_drop(none);
    VP_CHECK_EQ((int)vp_error(), (int)VP_ERR_HANDLE);
    vp_clear_error();
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    VP_CHECK_STR(vp_message(), "");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_mistake_poisons_what_follows_and_says_where) {
    vp_scope outer = vp_begin();
    vp_array a = vp__test_counting(2), b = vp__test_counting(3);
    vp_array c = vp_let(vp_add(a, b)); /* the mistake */
    int line = __LINE__ - 1;
    vp_array d = vp_let(vp_sin(vp_mul(c, 2.0)));
    vp_array e = vp_let(vp_concatenate(0, a, d));
    vp_put(b, vp_at(0), vp_sum(e));
    char text[32];
    snprintf(text, sizeof text, "misuse.c:%d: add", line);
    VP_CHECK_ERROR(vp_wait(e), VP_ERR_SHAPE, text);
    VP_CHECK_ERROR(vp_wait(vp_get(b, 0)), VP_ERR_SHAPE, text);
    VP_CHECK_VALUES(vp_get(b, 1), 1);
    VP_CHECK_EQ(vp_size(d), -1);
    VP_CHECK_REPORTED(VP_ERR_SHAPE, text);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}
