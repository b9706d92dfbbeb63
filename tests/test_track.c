/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops by replay: iterations that are like the one before are issued by noting where they
 * differ. Nobody can tell but by the count of them: not from values, not from what an
 * iteration does that is cut short, not from errors, not from another thread that begins to
 * write what was just read. Elements are whole numbers: sums are exact.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/track_support.h"

static vp_array zeros(int64_t n) { return zeros_of(VP_F64, n); }

/* The steps of an iteration, each with a line of its own. */
static vp_expr row_of(vp_array m, int64_t i) { return vp_get(m, i); }
static vp_expr absolute(vp_expr x) { return vp_abs(x); }
static vp_expr sum(vp_expr x) { return vp_sum(x); }
static void store(vp_array to, int64_t i, vp_expr x) { vp_put(to, vp_at(i), x); }

static void sum_row(vp_array to, vp_array from, int64_t i) {
    store(to, i, sum(absolute(row_of(from, i))));
}

static void check_sums(vp_array r, int64_t n) {
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = i < n ? sum_of(i) : 0;
    VP_CHECK_ARRAY(r, expected, ROWS);
}

VP_TEST(a_loop_is_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    for (int turn = 0; turn < 5; turn++)
        for (int64_t i = 0; i < ROWS; i++) sum_row(r, m, i);
    check_sums(r, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 4 * ROWS);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

static void two_arrays(vp_array to, vp_array a, vp_array b, int64_t i) {
    vp_put(to, vp_at(i),
           vp_max(vp_add(vp_mul(vp_get(a, i, vp_range(1, 9)), 2.0),
                         vp_get(b, vp_range(i, i + 8)))));
}

/* Operands of every kind, indices from the end, ranges of one length, a type of its own. */
VP_TEST(bodies_of_many_kinds_are_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), b = vp__test_counting(ROWS + 8), r = zeros(ROWS);
    VP_CHECK_OK(vp_sync());
    for (int64_t i = 0; i < ROWS; i++) two_arrays(r, m, b, i);
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = 2 * element(i, 8) + (double)i + 7;
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), ROWS / 2);

    const uint64_t before = VP_STAT(replayed);
    vp_array first = vp_let(vp_get(m, 0)),
             whole = vp_let(vp_zeros(VP_I64, vp_shape(ROWS)));
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(whole, vp_at(i - ROWS),
               vp_argmax(vp_sub(first, vp_mul(vp_get(m, i - ROWS), -1)), 0));
    for (int64_t i = 0; i < ROWS; i++) expected[i] = COLUMNS - 1;
    VP_CHECK_ARRAY(vp_let(vp_cast(whole, VP_F64)), expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed) - before, ROWS / 2);
}

/* The target grows, as in experiment A3: later iterations overwrite earlier ones. */
VP_TEST(targets_of_growing_length_are_replayed_in_order) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++)
            vp_put(r, vp_at(vp_range(0, i + 1)), vp_sum(vp_get(m, i)));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(ROWS - 1);
    VP_CHECK_ARRAY(r, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), 2 * ROWS);
}

/* Whole rows are put, and columns of a matrix that lies by rows. */
VP_TEST(values_with_axes_are_replayed) {
    vp__test_threads(2);
    vp_array m = matrix(), to = vp_let(vp_zeros(VP_F64, vp_shape(COLUMNS, ROWS)));
    VP_CHECK_OK(vp_sync());
    for (int64_t i = 0; i < ROWS; i++)
        vp_put(to, vp_at(VP_ALL, i), vp_add(vp_get(m, i), (double)1));
    vp_array sums = vp_let(vp_sum(to, 0));
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++) expected[i] = sum_of(i) + COLUMNS;
    VP_CHECK_ARRAY(sums, expected, ROWS);
    VP_CHECK_GE(VP_STAT(replayed), ROWS / 2);
}

static void nested_body(vp_array to, vp_array from, int64_t i) { sum_row(to, from, i); }

/* From two places, in two nested loops, with something else now and then. */
VP_TEST(where_and_how_the_body_is_reached_makes_no_difference) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS), odd = zeros(ROWS);
    int64_t others = 0;
    for (int64_t outer = 0; outer < 20; outer++)
        for (int64_t inner = 0; inner < ROWS / 20; inner++) {
            const int64_t i = outer * (ROWS / 20) + inner;
            if (i % 2)
                nested_body(r, m, i);
            else
                nested_body(r, m, i);
            if (i % 50 == 49) {
                vp_put(odd, vp_at(others), vp_get(m, i, 0));
                others++;
            }
        }
    check_sums(r, ROWS);
    VP_CHECK_EQ(others, 4);
    VP_CHECK_VALUES(vp_get(odd, vp_until(5)), element(49, 0), element(99, 0),
                    element(149, 0), element(199, 0), 0);
    VP_CHECK_GE(VP_STAT(replayed), ROWS / 2);
}

/* Makes sure that the calling thread follows a track: its next iteration is `ROWS / 2`. */
static void follow(vp_array to, vp_array from) {
    for (int64_t i = 0; i < ROWS / 2; i++) sum_row(to, from, i);
    VP_CHECK(vp__track_mine && vp__track_mine->at);
}

static bool is_noted(void) {
    const vp__track *t = vp__track_mine;
    return t && t->at && t->at > t->step;
}

/* What was noted is there for whatever the program does with it instead. */
VP_TEST(an_iteration_that_goes_another_way_is_built) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    const int64_t next = ROWS / 2;
    follow(r, m);
    vp_expr row = row_of(m, next);
    VP_CHECK(is_noted());
    vp_array named = vp_let(row); /* no step */
    VP_CHECK(!is_noted());
    VP_CHECK_VALUES(vp_get(named, 0), element(next, 0));

    follow(r, m);
    vp_expr size = absolute(row_of(m, next));
    VP_CHECK(is_noted());
    VP_CHECK_VALUES(vp_min(size), element(next, 0)); /* another step */

    follow(r, m);
    vp_expr total = sum(absolute(row_of(m, next)));
    VP_CHECK(is_noted());
    vp_put(r, vp_at(vp_range(next, next + 1)), total); /* another selection */
    VP_CHECK(!is_noted());
    check_sums(r, next + 1);

    follow(r, m);
    vp_expr other = absolute(row_of(m, next + 1));
    vp_expr wrong = vp_add(other, vp_get(m, 0)); /* another operation, then more */
    VP_CHECK_VALUES(vp_sum(wrong), sum_of(next + 1) + sum_of(0));
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* A result that is used twice is refused, as ever, and so is one of an iteration before. */
VP_TEST(a_noted_result_is_used_once) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_expr row = row_of(m, ROWS / 2);
    store(r, ROWS / 2, sum(absolute(row)));
    double value;
    VP_CHECK_EQ(vp_item(vp_abs(row), &value), VP_ERR_HANDLE);
    VP_CHECK(strstr(vp_message(), "used before") != NULL);

    follow(r, m);
    row = row_of(m, ROWS / 2);
    vp_expr sizes = absolute(row);
    VP_CHECK_EQ(vp_item(vp_sum(row), &value), VP_ERR_HANDLE);
    VP_CHECK_OK(vp_item(vp_sum(sizes), &value));
    VP_CHECK_EQ(value, sum_of(ROWS / 2));
    check_sums(r, ROWS / 2 + 1);
}

/* What nobody uses goes with its scope. */
VP_TEST(a_noted_result_ends_with_its_scope) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_scope s = vp_begin();
    for (int64_t i = 0; i < ROWS / 2; i++) sum_row(r, m, i);
    vp_expr row = row_of(m, ROWS / 2);
    VP_CHECK(is_noted());
    vp_end(s);
    double value;
    VP_CHECK_EQ(vp_item(vp_sum(row), &value), VP_ERR_HANDLE);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* An index beyond the array is an error of its own line, and the loop goes on. */
VP_TEST(mistakes_in_an_iteration_are_reported_there) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t row = i == ROWS / 2 ? ROWS : i;
        vp_expr x = vp__get("the line of the row", VP__IN(m), vp_at(row));
        vp_put(r, vp_at(i), vp_sum(vp_abs(x)));
    }
    double value;
    VP_CHECK_EQ(vp_item(vp_get(r, ROWS / 2), &value), VP_ERR_INDEX);
    VP_CHECK(strstr(vp_message(), "the line of the row") != NULL);
    VP_CHECK(strstr(vp_message(), "index 200") != NULL);
    VP_CHECK_VALUES(vp_get(r, ROWS / 2 - 1), sum_of(ROWS / 2 - 1));
    VP_CHECK_VALUES(vp_get(r, ROWS / 2 + 1), sum_of(ROWS / 2 + 1));
    VP_CHECK_GE(VP_STAT(replayed), ROWS / 2);
    vp_drop(r); /* with its failure */
}

/* The loop's array is written, rebound, dropped: the next iteration sees that. */
VP_TEST(what_is_done_to_arrays_in_between_is_seen) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_put(m, vp_at(ROWS / 2), 1.0);
    sum_row(r, m, ROWS / 2);
    VP_CHECK_VALUES(vp_get(r, ROWS / 2), COLUMNS);
    follow(r, m);
    vp_set(m, vp_full(VP_F64, vp_shape(ROWS, COLUMNS), 2));
    sum_row(r, m, ROWS / 2);
    VP_CHECK_VALUES(vp_get(r, ROWS / 2), 2 * COLUMNS);
    follow(r, m);
    vp_expr row = row_of(m, ROWS / 2);
    vp_drop(m);
    vp_put(r, vp_at(0), vp_sum(vp_abs(row)));
    VP_CHECK_VALUES(vp_get(r, 0), 2 * COLUMNS);
}

typedef struct {
    vp_array m;
    pthread_barrier_t *begin, *end;
} writer;

static void *write_all(void *of) {
    const writer *w = of;
    pthread_barrier_wait(w->begin);
    vp_put(w->m, vp_at(vp_range(1, ROWS)), 7.0); /* not all of it: in place */
    if (vp_sync() != VP_OK) abort();
    pthread_barrier_wait(w->end);
    return NULL;
}

/* A thread that begins to issue writes what another has noted: that reads what was there. */
VP_TEST(what_is_noted_is_kept_from_the_first_other_issuer) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    pthread_barrier_t begin, end;
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    writer w = {m, &begin, &end};
    pthread_t thread;
    pthread_create(&thread, NULL, write_all, &w);
    follow(r, m);
    vp_expr row = row_of(m, ROWS / 2);
    VP_CHECK(is_noted());
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    store(r, ROWS / 2, sum(absolute(row)));
    sum_row(r, m, ROWS / 2 + 1);
    VP_CHECK_VALUES(vp_get(r, ROWS / 2), sum_of(ROWS / 2));
    VP_CHECK_VALUES(vp_get(r, ROWS / 2 + 1), 7 * COLUMNS);
    pthread_join(thread, NULL);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(vp__storage_captures(vp__test_storage(m)), 0);
}

static void *replace_all(void *of) {
    const writer *w = of;
    pthread_barrier_wait(w->begin);
    vp_array other = vp_let(vp_full(VP_F64, vp_shape(ROWS), 5));
    vp_set(w->m, other);
    if (vp_sync() != VP_OK) abort();
    vp_drop(other);
    pthread_barrier_wait(w->end);
    return NULL;
}

/* The array that the track writes has other memory by then. */
VP_TEST(a_target_that_another_thread_replaces) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    pthread_barrier_t begin, end;
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    writer w = {r, &begin, &end};
    pthread_t thread;
    pthread_create(&thread, NULL, replace_all, &w);
    follow(r, m);
    vp_expr total = sum(absolute(row_of(m, ROWS / 2)));
    VP_CHECK(is_noted());
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    store(r, ROWS / 2, total);
    VP_CHECK_VALUES(vp_get(r, vp_range(ROWS / 2, ROWS / 2 + 2)), sum_of(ROWS / 2), 5);
    pthread_join(thread, NULL);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* A view of a noted part shows what is written later, as any view does. */
VP_TEST(a_noted_part_can_be_viewed) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_array view = vp_view(row_of(m, ROWS / 2));
    vp_put(m, vp_at(ROWS / 2, 3), -1.0);
    VP_CHECK_VALUES(vp_get(view, 3), -1);
}

/* Generations begin anew long before they end. */
VP_TEST(handles_of_a_very_long_loop_stay_good) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp__track_mine->round = (uint64_t)(VP__EXPR_GENERATIONS - 3) << 32;
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < ROWS; i++) sum_row(r, m, i);
    VP_CHECK(vp__track_mine->at != NULL);
    VP_CHECK_LT(vp__track_mine->round >> 32, ROWS * 100);
    check_sums(r, ROWS);
}

/* Input that fails late poisons what was made of it, and no more. */
VP_TEST(replayed_iterations_inherit_failures) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS),
             bad = vp_let(vp_full(VP_I64, vp_shape(1), ROWS));
    vp_put(m, vp_at(ROWS - 5), vp_sum(vp_get(m, vp_let(vp_mul(bad, 1)))));
    for (int64_t i = 0; i < ROWS; i++) sum_row(r, m, i);
    double value;
    VP_CHECK_EQ(vp_item(vp_get(r, ROWS - 5), &value), VP_ERR_INDEX);
    VP_CHECK_OK(vp_item(vp_get(r, ROWS - 6), &value));
    VP_CHECK_EQ(value, sum_of(ROWS - 6));
    VP_CHECK_OK(vp_item(vp_get(r, ROWS - 4), &value));
    VP_CHECK_EQ(value, sum_of(ROWS - 4));
    vp_drop(r); /* with their failures */
    vp_drop(m);
}

static void *loop_in_a_thread(void *of) {
    vp_array *made = of;
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    (void)row_of(m, ROWS / 2);
    VP_CHECK(is_noted());
    *made = r;
    return NULL;
}

/* A thread may end in the middle of an iteration; the next one goes on with its core. */
VP_TEST(a_thread_ends_in_the_middle_of_an_iteration) {
    vp__test_threads(2);
    vp_array r[3];
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, loop_in_a_thread, &r[i]);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 3; i++) check_sums(r[i], ROWS / 2);
}

/* --- what makes an iteration another one ------------------------------------------------- */

typedef struct {
    vp_array to, from;
    vp_sel at, row, part;
    int op, fold;
    vp_operand number;
    const vp_axes_t *axes;
    vp_dtype dtype;
    int keepdims;
} body;

static void issue(const body *b) {
    const vp_sel part[2] = {b->row, b->part};
    vp_expr x = vp__get("get", VP__IN(b->from), vp_index_of(2, part));
    vp_expr y = vp__op2(b->op, "operation", VP__IN(x), b->number);
    vp_expr z = vp__reduce(b->fold, "fold", VP__IN(y), b->axes, b->dtype, b->keepdims);
    vp__put_at("put", b->to, vp_index_of(1, &b->at), VP__IN(z));
}

/* A body that differs in one thing does what it says, also after many that do not. */
static void check_differs(const body *usual, body other) {
    other.at = vp__sel_index(ROWS - 1);
    issue(&other);
    double expected, value;
    VP_CHECK_OK(vp_item(vp_get(other.to, ROWS - 1), &expected));
    vp_put(usual->to, vp_at(ROWS - 1), -1.0);
    vp_put(other.to, vp_at(ROWS - 1), -1.0);
    for (int64_t i = 0; i < ROWS / 2; i++) {
        body b = *usual;
        b.at = vp__sel_index(i);
        b.row = vp__sel_index(i);
        issue(&b);
    }
    VP_CHECK(vp__track_mine && vp__track_mine->at);
    issue(&other);
    VP_CHECK_OK(vp_item(vp_get(other.to, ROWS - 1), &value));
    VP_CHECK_EQ(value, expected);
}

VP_TEST(every_difference_is_seen) {
    vp__test_threads(2);
    vp_array m = matrix(), n = vp_let(vp_mul(m, 3.0)), r = zeros(ROWS), q = zeros(ROWS);
    VP_CHECK_OK(vp_sync());
    const vp_axes_t first = vp_axes(0), last = vp_axes(-1);
    const body usual = {.to = r,
                        .from = m,
                        .row = vp__sel_index(0),
                        .part = vp_range(1, 9),
                        .op = VP__ADD,
                        .fold = VP__SUM,
                        .number = vp__in_float(2),
                        .axes = &first,
                        .dtype = VP_AUTO};
    body other = usual;
    other.from = n;
    check_differs(&usual, other);
    other = usual;
    other.to = q;
    check_differs(&usual, other);
    other = usual;
    other.op = VP__MULTIPLY;
    check_differs(&usual, other);
    other = usual;
    other.fold = VP__PROD;
    check_differs(&usual, other);
    other = usual;
    other.number = vp__in_float(5);
    check_differs(&usual, other);
    other = usual;
    other.number = vp__in_int(5);
    check_differs(&usual, other);
    other = usual;
    other.part = vp_range(1, 10);
    check_differs(&usual, other);
    other = usual;
    other.part = vp_range(1, 16);
    other.part.step = 2;
    check_differs(&usual, other);
    other = usual;
    other.part = vp_range(9, 1);
    other.part.step = -1;
    check_differs(&usual, other);
    other = usual;
    other.dtype = VP_F32;
    other.number = vp__in_float(1e-9);
    check_differs(&usual, other);
    other = usual;
    other.axes = &last;
    other.fold = VP__MAX;
    check_differs(&usual, other);
    other = usual;
    other.keepdims = 1;
    check_differs(&usual, other);
}

/* A range may be a column instead, of another stride; then the axis to fold tells. */
VP_TEST(items_of_another_kind_are_seen) {
    vp__test_threads(2);
    vp_array m = vp_let(
        vp_reshape(vp__test_counting(COLUMNS * COLUMNS), vp_shape(COLUMNS, COLUMNS)));
    vp_array r = zeros(ROWS);
    for (int turn = 0; turn < 3; turn++)
        for (int64_t i = 0; i < COLUMNS; i++) {
            const bool column = turn == 2 && i == COLUMNS - 1;
            const vp_sel by_row[2] = {vp__sel_index(i), vp_range(0, COLUMNS)};
            const vp_sel by_column[2] = {vp_range(0, COLUMNS), vp__sel_index(i)};
            vp_expr x =
                vp__get("get", VP__IN(m), vp_index_of(2, column ? by_column : by_row));
            vp_put(r, vp_at(i), vp_sum(x));
        }
    VP_CHECK_VALUES(vp_get(r, vp_range(COLUMNS - 2, COLUMNS)), sum_of(COLUMNS - 2),
                    sum_of(COLUMNS - 1) / COLUMNS * 0 + COLUMNS * (COLUMNS - 1) +
                        COLUMNS * COLUMNS * (COLUMNS - 1) / 2.0);
}

/* The array may be another one each time: a lane reads what it names. */
VP_TEST(iterations_of_several_arrays_read_their_own) {
    vp__test_threads(2);
    vp_array m = matrix(), n = vp_let(vp_add(m, 1.0)), r = zeros(ROWS);
    VP_CHECK_OK(vp_sync());
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < ROWS; i++) sum_row(r, (i + turn) % 15 == 3 ? n : m, i);
    double expected[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        expected[i] = sum_of(i) + ((i + 3) % 15 == 3 ? COLUMNS : 0);
    VP_CHECK_ARRAY(r, expected, ROWS);
}

/* --- order: what an iteration reads is read before it is written -------------------------- */

/* On one thread nothing runs before it is waited for, so that an order that is lost shows. */
static void check_write_after(int64_t first, int64_t step, int64_t n, int64_t jump) {
    vp__test_threads(1);
    vp_array m = matrix(), r = zeros(ROWS);
    int64_t i = first;
    for (int64_t k = 0; k < n; k++, i += step) sum_row(r, m, i);
    if (jump >= 0)
        sum_row(r, m, i = jump);
    else
        i -= step;
    VP_CHECK_GT(VP_STAT(replayed), 0);
    vp_put(m, vp_at(i), 1.0);
    VP_CHECK_VALUES(vp_get(r, i), sum_of(i));
    VP_CHECK_VALUES(vp_get(m, i, 0), 1);
}

VP_TEST(rows_read_forwards_are_read_before_they_are_written) {
    check_write_after(0, 1, 28, -1);
}
VP_TEST(rows_read_backwards_are_read_before_they_are_written) {
    check_write_after(ROWS - 1, -1, 28, -1);
}
VP_TEST(a_row_out_of_line_is_read_before_it_is_written) {
    check_write_after(0, 1, 28, 150);
}

/* Columns lie in windows. */
VP_TEST(columns_are_read_before_they_are_written) {
    vp__test_threads(1);
    vp_array m = matrix(), r = zeros(ROWS);
    for (int turn = 0; turn < 2; turn++)
        for (int64_t j = 0; j < COLUMNS; j++)
            vp_put(r, vp_at(j), vp_max(vp_get(m, VP_ALL, j)));
    VP_CHECK_GT(VP_STAT(replayed), 0);
    vp_put(m, vp_at(ROWS - 1, COLUMNS - 1), -1.0);
    VP_CHECK_VALUES(vp_get(r, COLUMNS - 1), element(ROWS - 1, COLUMNS - 1));
}

/* --- handles and records ------------------------------------------------------------------ */

VP_TEST(a_result_of_the_iteration_before_is_no_operand) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_expr before = row_of(m, ROWS / 2);
    store(r, ROWS / 2, sum(absolute(before)));
    (void)row_of(m, ROWS / 2 + 1);
    VP_CHECK(is_noted());
    double value;
    VP_CHECK_EQ(vp_item(sum(absolute(before)), &value), VP_ERR_HANDLE);
}

VP_TEST(handles_given_out_come_never_again) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_expr given = row_of(m, ROWS / 2);
    store(r, ROWS / 2, sum(absolute(given)));
    VP_CHECK_OK(vp_sync()); /* leaves the track */
    for (int i = 0; i < 3 * ROWS; i++) {
        vp_expr e = vp_get(m, 0);
        VP_CHECK(e.slot != given.slot || e.generation != given.generation);
        VP_CHECK_OK(vp_wait(e));
    }
    vp__expr *record = vp__expr_reserve();
    vp__expr_unreserve(record, UINT32_MAX);
    VP_CHECK_VALUES(vp_sum(vp_get(m, 1)), sum_of(1)); /* with that record */
}

/* The layout of a part that is built is its own, whatever becomes of the records around it. */
VP_TEST(a_built_part_keeps_its_layout) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    follow(r, m);
    vp_expr row = row_of(m, ROWS / 2);
    vp_expr column = vp_get(m, vp_until(COLUMNS), 3); /* leaves; has records of before */
    vp_expr both = vp_add(row, column);
    VP_CHECK_VALUES(vp_get(vp_let(both), vp_until(2)),
                    element(ROWS / 2, 0) + element(0, 3),
                    element(ROWS / 2, 1) + element(1, 3));
    follow(r, m);
    vp_expr ones[3];
    row = row_of(m, ROWS / 2);
    for (int i = 0; i < 3; i++) ones[i] = vp_get(m, vp_range(0, COLUMNS), i);
    VP_CHECK_VALUES(vp_get(vp_let(vp_add(row, 1.0)), vp_range(COLUMNS - 1, COLUMNS)),
                    element(ROWS / 2, COLUMNS - 1) + 1);
    for (int i = 0; i < 3; i++) VP_CHECK_OK(vp_wait(ones[i]));
    /* relaxed: our own */
    VP_CHECK_EQ(atomic_load_explicit(&vp__core_self()->npins, memory_order_relaxed), 0);
}

/* A result that no later step of the iteration uses is still there after it. */
VP_TEST(what_an_iteration_leaves_open_stays) {
    vp__test_threads(2);
    vp_array m = matrix(), r = zeros(ROWS);
    vp_expr open = {0, 0};
    for (int64_t i = 0; i < ROWS / 2; i++) {
        open = vp__get("left open", VP__IN(m), vp_at(i));
        sum_row(r, m, i);
    }
    VP_CHECK_VALUES(vp_sum(open), sum_of(ROWS / 2 - 1));
}
