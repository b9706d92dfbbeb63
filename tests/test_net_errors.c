/* SPDX-License-Identifier: Apache-2.0
 *
 * Late errors: an index out of bounds, sizes that turn out not to fit. They poison the
 * value and what is computed from it, a failed write poisons its target, and whoever
 * looks hears which instruction at which line caused it. A whole overwrite heals. The
 * text is the same whichever way the program runs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tuning.h"
#include "tests/net_support.h"

/* "test_net_errors.c:123", for the line it stands on plus an offset. */
static const char *at_line(int line) {
    static char text[64];
    snprintf(text, sizeof text, "test_net_errors.c:%d: ", line);
    return text;
}

/* Failed with this status; the message names the line and says the part. */
#define CHECK_CAUSE(call, status, line, part)                                            \
    do {                                                                                 \
        vp_status got = (call);                                                          \
        VP_CHECK_EQ(got, status);                                                        \
        VP_CHECK_CONTAINS(vp_message(), at_line(line));                                  \
        VP_CHECK_REPORTED(status, part);                                                 \
    } while (0)

static vp_array positions(int64_t first, int64_t second) {
    int64_t values[2] = {first, second};
    return vp_let(vp_from(VP_I64, vp_shape(2), values));
}

static bool read_fails(vp_array a) {
    char memory[4096];
    return vp_read(a, memory, (size_t)vp_size(a) * vp_dtype_size(vp_dtype_of(a))) !=
           VP_OK;
}

VP_TEST(an_index_out_of_bounds_poisons_value_and_dependents) {
    vp_scope s = vp_begin();
    int64_t base = vp__test_bytes_now();
    vp_scope inner = vp_begin();
    vp__gate gate;
    vp_array x = vp__test_counting(5);
    vp_array where = vp_let(VP_GATED(positions(0, 9), &gate));
    int line = __LINE__ + 1;
    vp_array y = vp_let(vp_take(x, where, 0));
    vp_array z = vp_let(vp_add(y, 1.0)), sum = vp_let(vp_sum(z));
    vp_array other = vp_let(vp_add(x, 1.0));
    VP_CHECK_EQ(vp_size(z), 2);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK); /* nothing is wrong yet */
    vp__gate_open(&gate);
    double value = 77;
    CHECK_CAUSE(vp_item(sum, &value), VP_ERR_INDEX, line,
                "take: index 9 is out of bounds");
    VP_CHECK_EQ(value, 77); /* untouched */
    CHECK_CAUSE(vp_wait(z), VP_ERR_INDEX, line, "size 5");
    CHECK_CAUSE(vp_wait(y), VP_ERR_INDEX, line, "axis 0");
    CHECK_CAUSE(vp_wait(vp_mul(z, 2.0)), VP_ERR_INDEX, line, "take");
    VP_CHECK_VALUES(other, 1, 2, 3, 4, 5);
    VP_CHECK_VALUES(x, 0, 1, 2, 3, 4);
    vp_end(inner);
    VP_CHECK_NO_LEAK(base);
    vp_end(s);
}

VP_TEST(every_observer_reports) {
    vp_scope outer = vp_begin();
    vp_array x = vp__test_counting(5), where = positions(0, -6);
    vp_array y = vp_let(vp_take(x, where, 0));
    int line = __LINE__ - 1;
    double memory[2];
    vp_mapped m;
    bool truth;
    CHECK_CAUSE(vp_read(y, memory, sizeof memory), VP_ERR_INDEX, line, "index -6");
    CHECK_CAUSE(vp_item(vp_get(y, 0), memory), VP_ERR_INDEX, line, "index -6");
    CHECK_CAUSE(vp_map(y, &m), VP_ERR_INDEX, line, "index -6");
    VP_CHECK(m.data == NULL);
    vp_unmap(&m);
    CHECK_CAUSE(vp_print(y), VP_ERR_INDEX, line, "index -6");
    CHECK_CAUSE(vp_wait(y), VP_ERR_INDEX, line, "index -6");
    CHECK_CAUSE(vp_test(vp_any(y), &truth), VP_ERR_INDEX, line, "index -6");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_selection_by_late_indices_poisons) {
    vp_scope outer = vp_begin();
    vp__gate gate;
    vp_array x = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    vp_array where = vp_let(VP_GATED(positions(1, 3), &gate));
    int line = __LINE__ + 1;
    vp_array y = vp_let(vp_get(x, VP_ALL, where));
    vp__gate_open(&gate);
    CHECK_CAUSE(vp_wait(y), VP_ERR_INDEX, line, "index 3 is out of bounds for axis 1");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* --- sizes that come late ----------------------------------------------------------- */

VP_TEST(sizes_that_do_not_fit_poison) {
    vp_scope outer = vp_begin();
    vp__gate gate;
    vp_array x = vp__test_counting(10), three = vp__test_counting(3);
    vp_array mask = vp_let(VP_GATED(vp_lt(x, 4.0), &gate));
    vp_array four = vp_let(vp_get(x, mask));
    int line = __LINE__ + 1;
    vp_array sum = vp_let(vp_add(four, three));
    vp_array after = vp_let(vp_sin(sum));
    vp_array fits = vp_let(vp_add(four, 1.0));
    vp__gate_open(&gate);
    CHECK_CAUSE(vp_wait(after), VP_ERR_SHAPE, line, "add: shapes (4,) and (3,)");
    VP_CHECK_EQ(vp_size(after), -1);
    VP_CHECK_REPORTED(VP_ERR_SHAPE, "(4,)");
    VP_CHECK_VALUES(fits, 1, 2, 3, 4);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* What a number was reduced from may turn out to be nothing, or not to fit: its size
 * comes no earlier than theirs, and is none then. */
VP_TEST(a_number_that_failed_has_no_size) {
    vp_scope outer = vp_begin();
    vp__gate gate;
    vp__test_opener opener;
    vp_array x = vp__test_counting(10), three = vp__test_counting(3);
    vp_array none = vp_let(vp_get(x, VP_GATED(vp_lt(x, 0.0), &gate)));
    vp_array sum = vp_let(vp_sum(none)), most = vp_let(vp_max(none));
    vp_array misfit = vp_let(vp_sum(vp_add(none, three)));
    vp__test_open_later(&opener, &gate, 20);
    VP_CHECK_EQ(vp_size(most), -1);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "max");
    VP_CHECK_EQ(vp_size(misfit), -1);
    VP_CHECK_REPORTED(VP_ERR_SHAPE, "add");
    VP_CHECK_EQ(vp_size(sum), 1);
    vp__test_join(&opener);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_late_concatenation_that_does_not_fit_poisons) {
    vp_scope outer = vp_begin();
    vp__gate gate;
    vp_array x = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    static const bool choose[] = {true, false, true};
    vp_array mask = vp_let(VP_GATED(vp_from(VP_BOOL, vp_shape(3), choose), &gate));
    vp_array narrow = vp_let(vp_get(x, VP_ALL, mask));
    int line = __LINE__ + 1;
    vp_array joined = vp_let(vp_concatenate(0, x, narrow));
    vp__gate_open(&gate);
    CHECK_CAUSE(vp_wait(joined), VP_ERR_SHAPE, line,
                "concatenate: shapes (2, 3) and (2, 2)");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_late_mask_of_another_shape_poisons) {
    vp_scope outer = vp_begin();
    vp__gate size, run;
    vp_array x = vp__test_counting(5);
    vp_array mask = vp_let(VP_GATED_SIZE(vp_ones(VP_BOOL, vp_shape(4)), &size, &run));
    int line = __LINE__ + 1;
    vp_array y = vp_let(vp_get(x, mask));
    vp__gate_open(&size);
    vp__gate_open(&run);
    CHECK_CAUSE(vp_wait(y), VP_ERR_INDEX, line, "(4,)");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(the_least_of_nothing_poisons) {
    vp_scope outer = vp_begin();
    for (int turn = 0; turn < 2; turn++) {
        vp__gate gate;
        vp_array x = vp__test_counting(5);
        vp_array mask = vp_let(vp_gt(x, 100.0));
        if (turn) vp_set(mask, VP_GATED(mask, &gate));
        vp_array none = vp_let(vp_get(x, mask));
        int line = __LINE__ + 1;
        vp_array least = vp_let(vp_min(none));
        vp_array sum = vp_let(vp_sum(none));
        if (turn) vp__gate_open(&gate);
        CHECK_CAUSE(vp_wait(least), VP_ERR_VALUE, line, "min of an array of shape (0,)");
        VP_CHECK_VALUES(sum, 0);
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* --- failed writes ------------------------------------------------------------------ */

VP_TEST(a_failed_write_poisons_its_target) {
    vp_scope outer = vp_begin();
    vp__gate gate;
    vp_array x = vp__test_counting(5), other = vp_let(x);
    vp_array view = vp_view(vp_get(x, vp_range(0, 2)));
    vp_array where = vp_let(VP_GATED(positions(1, 5), &gate));
    vp_array before = vp_let(vp_add(x, 0.0));
    int line = __LINE__ + 1;
    vp_put(x, vp_at(where), 100.0);
    vp_array after = vp_let(vp_add(x, 0.0));
    vp__gate_open(&gate);
    CHECK_CAUSE(vp_wait(x), VP_ERR_INDEX, line, "put: index 5 is out of bounds");
    CHECK_CAUSE(vp_wait(view), VP_ERR_INDEX, line, "put");
    CHECK_CAUSE(vp_wait(after), VP_ERR_INDEX, line, "put");
    VP_CHECK_VALUES(before, 0, 1, 2, 3, 4);
    VP_CHECK_VALUES(other, 0, 1, 2, 3, 4);
    /* A write to part of it does not heal the rest. */
    vp_put(x, vp_at(0), 1.0);
    CHECK_CAUSE(vp_wait(x), VP_ERR_INDEX, line, "put");
    /* A whole overwrite does, and views are healed with it. */
    vp_put(x, vp_at(VP_ALL), vp_add(other, 10.0));
    VP_CHECK_VALUES(x, 10, 11, 12, 13, 14);
    VP_CHECK_VALUES(view, 10, 11);
    VP_CHECK(read_fails(after));
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_whole_overwrite_behind_a_gate_heals) {
    vp_scope outer = vp_begin();
    for (int large = 0; large < 2; large++) {
        int64_t n = large ? 50000 : 50;
        vp__gate gate, open;
        vp_array x = vp__test_counting(n);
        vp_array where = vp_let(VP_GATED(positions(1, n), &gate));
        vp_array fresh = vp_let(VP_GATED(vp_ones(VP_F64, vp_shape(n)), &open));
        vp_put(x, vp_at(where), 100.0);
        vp_array poisoned = vp_let(vp_sum(x));
        vp_put(x, vp_at(VP_ALL), fresh); /* whatever the first write will come to */
        vp_array healthy = vp_let(vp_sum(x));
        vp__gate_open(&open);
        vp__gate_open(&gate);
        VP_CHECK_VALUES(healthy, (double)n);
        VP_CHECK_ERROR(vp_wait(poisoned), VP_ERR_INDEX, "out of bounds");
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* The new contents have nothing to do with what failed before: a loop that fails and starts
 * again does not remember ever more failures. */
VP_TEST(a_whole_overwrite_leaves_failures_behind) {
    vp_scope outer = vp_begin();
    vp_array x = vp_let(vp_take(vp__test_counting(5), positions(1, 5), 0));
    for (int turn = 0; turn < 3; turn++) {
        VP_CHECK_ERROR(vp_wait(x), VP_ERR_INDEX, "index 5");
        vp_array before = vp_let(vp_add(x, 1.0));
        vp_put(x, vp_at(VP_ALL), 3.0);
        VP_CHECK_VALUES(x, 3, 3);
        VP_CHECK(!atomic_load(&vp__test_storage(x)->poison));
        VP_CHECK_ERROR(vp_wait(before), VP_ERR_INDEX, "index 5");
        vp_put(x, vp_at(positions(0, 5)), 1.0);
    }
    vp_end(outer);
    VP_CHECK_ERROR(vp_sync(), VP_ERR_INDEX, "index 5"); /* the last one's put */
    VP_CHECK_OK(vp_sync());
}

VP_TEST(rebinding_heals) {
    vp_scope outer = vp_begin();
    vp_array x = vp__test_counting(5);
    vp_put(x, vp_at(positions(0, 7)), 1.0);
    VP_CHECK_ERROR(vp_wait(x), VP_ERR_INDEX, "index 7");
    vp_set(x, vp_ones(VP_F64, vp_shape(2)));
    VP_CHECK_VALUES(x, 1, 1);
    vp_array bad = vp_let(vp_add(x, vp__test_counting(3)));
    VP_CHECK_ERROR(vp_wait(bad), VP_ERR_SHAPE, "(2,)");
    vp_set(bad, x);
    VP_CHECK_VALUES(bad, 1, 1);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_poisoned_value_poisons_what_it_is_written_to) {
    vp_scope outer = vp_begin();
    for (int gated = 0; gated < 2; gated++) {
        vp__gate gate;
        vp_array x = vp__test_counting(8), where = positions(0, 8);
        if (gated) vp_set(where, VP_GATED(where, &gate));
        int line = __LINE__ + 1;
        vp_put(x, vp_at(vp_range(2, 4)), vp_take(x, where, 0));
        if (gated) vp__gate_open(&gate);
        CHECK_CAUSE(vp_wait(x), VP_ERR_INDEX, line, "take: index 8");
        CHECK_CAUSE(vp_wait(vp_get(x, 3)), VP_ERR_INDEX, line, "take: index 8");
        VP_CHECK_VALUES(vp_get(x, vp_until(2)), 0, 1); /* beside it all is well */
        VP_CHECK_VALUES(vp_get(x, vp_from_index(4)), 4, 5, 6, 7);
        vp_put(x, vp_at(VP_ALL), 3.0);
        VP_CHECK_VALUES(vp_sum(x), 24);
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(a_late_value_that_does_not_fit_poisons_its_target) {
    vp_scope outer = vp_begin();
    for (int gated = 0; gated < 2; gated++) {
        vp__gate gate;
        vp_array x = vp__test_counting(8);
        vp_array mask = vp_let(vp_lt(x, 3.0));
        if (gated) vp_set(mask, VP_GATED(mask, &gate));
        vp_array three = vp_let(vp_get(x, mask));
        int line = __LINE__ + 1;
        vp_put(x, vp_at(vp_range(0, 5)), three);
        if (gated) vp__gate_open(&gate);
        CHECK_CAUSE(vp_wait(x), VP_ERR_SHAPE, line,
                    "put: a value of shape (3,) does not fit a selection of shape (5,)");
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* Nobody looks at a selection without elements: the array that it was selected from shows it. */
VP_TEST(a_value_that_does_not_fit_nothing_poisons_the_array) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    vp_array seven = vp_let(vp_ones(VP_F64, vp_shape(7)));
    VP_CHECK_OK(vp_sync());
    for (int late = 0; late < 2; late++) {
        vp__gate size, run;
        vp_array a = vp_let(vp_zeros(VP_F64, vp_shape(4, 3)));
        if (late)
            vp_put(a, vp_at(vp_range(2, 2)), VP_GATED_SIZE(seven, &size, &run));
        else
            vp_put(a, vp_at(vp_range(2, 2)), seven);
        vp_array row = vp_let(vp_get(a, 0)); /* it was issued after the mistake */
        if (late) {
            VP_CHECK_EQ(vp_error(), VP_OK);
            vp__gate_open(&size);
            vp__gate_open(&run);
        }
        VP_CHECK_ERROR(vp_wait(a), VP_ERR_SHAPE, "put: a value of shape (7,)");
        VP_CHECK_ERROR(vp_wait(row), VP_ERR_SHAPE, "put: a value of shape (7,)");
        vp_clear_error();
        /* A good write of nothing mends nothing, one of everything does. */
        vp_put(a, vp_at(vp_range(2, 2)), 1.0);
        VP_CHECK_ERROR(vp_wait(a), VP_ERR_SHAPE, "put: a value of shape (7,)");
        vp_clear_error();
        vp_put(a, vp_at(VP_ALL), 1.0);
        VP_CHECK_OK(vp_wait(a));
        vp_drop(a);
    }
    vp_end(s);
}

/* Axes of length 1 that the target has not are dropped when they are known, and nobody waits
 * for that; others are a mistake. */
VP_TEST(a_late_value_may_have_leading_axes_of_one) {
    vp_scope outer = vp_begin();
    for (int wrong = 0; wrong < 2; wrong++) {
        vp__gate size, run;
        vp_array x = vp__test_counting(4);
        vp_array row = vp_let(vp_reshape(vp_mul(x, 10.0), vp_shape(1, 1, 4)));
        if (wrong) vp_set(row, vp_stack(0, row, row));
        vp_array late = vp_let(VP_GATED_SIZE(row, &size, &run));
        int line = __LINE__ + 1;
        vp_put(x, vp_at(VP_ALL), vp_add(late, 1.0));
        VP_CHECK(vp__test_closed(&size));
        vp__gate_open(&size);
        vp__gate_open(&run);
        if (!wrong)
            VP_CHECK_VALUES(x, 1, 11, 21, 31);
        else
            CHECK_CAUSE(vp_wait(x), VP_ERR_SHAPE, line,
                        "put: a value of shape (2, 1, 1, 4) does not fit a selection of "
                        "shape (4,)");
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* Poison goes with the elements: into lazy copies and renamed arrays, part by part. */
VP_TEST(poison_is_copied_with_the_elements) {
    vp__test_threads(2);
    vp_scope outer = vp_begin();
    for (int large = 0; large < 2; large++) {
        int64_t n = large ? 50000 : 20;
        vp__gate gate;
        vp_array x = vp__test_counting(n);
        vp_put(x, vp_at(vp_range(4, 6)), vp_take(x, positions(0, n), 0));
        vp_array copy = vp_let(x);
        vp_put(x, vp_at(0), 1.0); /* x gets storage of its own */
        VP_CHECK_VALUES(vp_get(x, vp_until(2)), 1, 1);
        VP_CHECK_VALUES(vp_get(copy, vp_until(2)), 0, 1);
        VP_CHECK_ERROR(vp_wait(vp_get(x, 5)), VP_ERR_INDEX, "take: index");
        VP_CHECK_ERROR(vp_wait(vp_get(copy, 5)), VP_ERR_INDEX, "take: index");
        vp_array zero = vp_let(VP_GATED(vp_zeros(VP_F64, vp_scalar_shape()), &gate));
        vp_array reader = vp_let(vp_add(vp_get(x, vp_until(4)), zero));
        vp_put(x, vp_at(1), 2.0);
        vp__gate_open(&gate);
        VP_CHECK_VALUES(vp_get(x, vp_until(4)), 1, 2, 2, 3);
        VP_CHECK_VALUES(reader, 1, 1, 2, 3);
        VP_CHECK_ERROR(vp_wait(vp_get(x, 4)), VP_ERR_INDEX, "take: index");
        vp_drop(x), vp_drop(copy), vp_drop(reader), vp_drop(zero);
    }
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(borrowed_memory_is_healed_too) {
    vp_scope outer = vp_begin();
    double memory[5] = {0, 1, 2, 3, 4};
    vp_array x = vp_borrow(VP_F64, vp_shape(5), NULL, memory, VP_WRITABLE, NULL, NULL);
    vp_put(x, vp_at(positions(1, 5)), 100.0);
    VP_CHECK_ERROR(vp_wait(x), VP_ERR_INDEX, "put: index 5");
    vp_put(x, vp_at(VP_ALL), 7.0);
    VP_CHECK_VALUES(x, 7, 7, 7, 7, 7);
    VP_CHECK_EQ(memory[4], 7);
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

VP_TEST(the_first_of_several_errors_is_told) {
    vp_scope outer = vp_begin();
    vp_array x = vp__test_counting(5);
    vp_array a = vp_let(vp_take(x, positions(0, 11), 0));
    vp_array b = vp_let(vp_take(x, positions(0, 22), 0));
    VP_CHECK_ERROR(vp_wait(vp_add(a, b)), VP_ERR_INDEX, "index 11");
    vp_put(x, vp_at(vp_range(0, 2)), b);
    vp_put(x, vp_at(vp_range(0, 2)), a);
    VP_CHECK_ERROR(vp_wait(x), VP_ERR_INDEX, "index 22");
    vp_end(outer);
    VP_CHECK_OK(vp_sync());
}

/* --- the same text everywhere ------------------------------------------------------- */

/* Errors of all kinds; what the program hears of each, line by line. */
static void collect(FILE *out) {
    vp_scope s = vp_begin();
    vp_array x = vp__test_counting(6), matrix = vp_let(vp_reshape(x, vp_shape(2, 3)));
    vp_array mask = vp_let(vp_lt(x, 4.0));
    vp_array bad = positions(0, 6), four = vp_let(vp_get(x, mask));
    double value;
#define SAY(call)                                                                        \
    do {                                                                                 \
        int status = (int)(call);                                                        \
        fprintf(out, "%d %s\n", status, vp_message());                                   \
        vp_clear_error();                                                                \
    } while (0)
    SAY(vp_wait(vp_let(vp_take(x, bad, 0))));
    SAY(vp_wait(vp_let(vp_get(matrix, bad))));
    SAY(vp_wait(vp_sum(vp_take(vp_mul(x, 2.0), bad, 0))));
    SAY(vp_wait(vp_add(four, x)));
    SAY(vp_wait(vp_add(matrix, four)));
    SAY(vp_wait(vp_concatenate(0, four, matrix)));
    SAY(vp_wait(vp_min(vp_get(x, vp_gt(x, 100.0)))));
    SAY(vp_wait(vp_matmul(matrix, matrix)));
    SAY(vp_wait(vp_bitwise_and(x, x)));
    SAY(vp_item(four, &value));
    SAY(vp_size(vp_add(four, vp_get(x, vp_until(3)))));
    SAY(vp_size(vp_min(vp_get(x, vp_gt(x, 100.0)))));
    SAY(vp_size(vp_sum(vp_add(four, x))));
    SAY((vp_put(x, vp_at(bad), 1.0), vp_wait(x)));
    SAY((vp_set(x, vp_zeros(VP_F64, vp_shape(6))), vp_wait(x)));
    SAY((vp_put(x, vp_at(vp_range(0, 2)), four), vp_wait(x)));
    SAY((vp_set(x, vp_zeros(VP_F64, vp_shape(6))), vp_wait(x)));
    SAY((vp_put(x, vp_at(vp_gt(x, -1.0)), four), vp_wait(x)));
    SAY((vp_set(x, vp_zeros(VP_F64, vp_shape(6))), vp_wait(x)));
    SAY((vp_put(x, vp_at(vp_range(0, 2)), vp_take(x, bad, 0)), vp_wait(vp_get(x, 5))));
    SAY(vp_wait(vp_get(x, 1)));
    SAY((vp_put(x, vp_at(0), vp_add(four, matrix)), vp_wait(vp_get(x, 0))));
#undef SAY
    vp_end(s);
}

static char *text_of(int way) {
    int ends[2];
    fflush(NULL);
    VP_CHECK(!pipe(ends));
    pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (!child) {
        FILE *out = fdopen(ends[1], "w");
        VP_CHECK(out != NULL);
        if (way == 1) setenv("VP_SYNC", "1", 1);
        if (way == 2) setenv("VP_INLINE", "0", 1);
        if (way == 3) {
            setenv("VP_INLINE", "0", 1);
            vp__tuning.copy_bytes = 0;
        }
        vp__test_threads(way == 3 ? 4 : 2);
        collect(out);
        fclose(out);
        _exit(0);
    }
    close(ends[1]);
    char *text = calloc(1, 20000);
    VP_CHECK(text != NULL);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], text + length, 19999 - length)) > 0;)
        length += (size_t)n;
    close(ends[0]);
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK(WIFEXITED(status));
    VP_CHECK_EQ(WEXITSTATUS(status), 0);
    return text;
}

VP_TEST(the_text_is_the_same_whichever_way_it_runs) {
    static const char *const ways[] = {"default", "VP_SYNC=1", "VP_INLINE=0",
                                       "no renaming"};
    char *reference = text_of(1);
    int different = 0;
    for (int way = 0; way < 4; way++) {
        char *text = text_of(way), *a = reference, *b = text;
        for (; *a && *b;) {
            int na = (int)strcspn(a, "\n"), nb = (int)strcspn(b, "\n");
            if (na != nb || memcmp(a, b, (size_t)na)) {
                printf("%s:\n  %.*s\nsync:\n  %.*s\n", ways[way], nb, b, na, a);
                different++;
            }
            a += na + (a[na] == '\n');
            b += nb + (b[nb] == '\n');
        }
        VP_CHECK(!*a && !*b);
        free(text);
    }
    free(reference);
    VP_CHECK_EQ(different, 0);
}

VP_TEST(errors_leak_nothing) {
    vp__test_threads(2);
    vp_scope s = vp_begin();
    FILE *nowhere = fopen("/dev/null", "w");
    VP_CHECK(nowhere != NULL);
    collect(nowhere);
    int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 20; i++) collect(nowhere);
    VP_CHECK_NO_LEAK(base);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    VP_CHECK_EQ(VP_STAT(in_flight), 0);
    fclose(nowhere);
    vp_end(s);
}
