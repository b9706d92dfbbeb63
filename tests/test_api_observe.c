/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at results: reading, single numbers, mapping, printing; and scopes, which
 * decide how long things live.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/net_support.h"

VP_TEST(reading_is_row_major_and_exact) {
    vp_array f = vp_let(vp_counter(VP_I16, vp_fshape(2, 3), 0, 1));
    int16_t out[6];
    VP_CHECK_OK(vp_read(f, out, sizeof out));
    static const int16_t expected[] = {0, 2, 4, 1, 3, 5};
    VP_CHECK_BYTES(out, expected, sizeof out);
    VP_CHECK_OK(vp_read(vp_flip(f, 0), out, sizeof out));
    VP_CHECK_EQ(out[0], 1);
    VP_CHECK_ERROR(vp_read(f, out, 11), VP_ERR_VALUE, "12 bytes, 11 were offered");
    VP_CHECK_ERROR(vp_read(f, out, 13), VP_ERR_VALUE, "12 bytes");
    VP_CHECK_ERROR(vp_read(f, out, 0), VP_ERR_VALUE, "12 bytes");
    VP_CHECK_ERROR(vp_read(f, NULL, 12), VP_ERR_VALUE, "NULL");
    VP_CHECK_OK(vp_read(f, out, 12));
}

VP_TEST(single_numbers_are_converted) {
    vp_array a = vp_let(vp_full(VP_F64, vp_shape(1, 1), 2.75));
    bool b;
    signed char c;
    short s;
    int i;
    long l;
    long long ll;
    unsigned char uc;
    unsigned u;
    unsigned long ul;
    float f;
    double d;
    double _Complex z;
    VP_CHECK_OK(vp_item(a, &b));
    VP_CHECK_OK(vp_item(a, &c));
    VP_CHECK_OK(vp_item(a, &s));
    VP_CHECK_OK(vp_item(a, &i));
    VP_CHECK_OK(vp_item(a, &l));
    VP_CHECK_OK(vp_item(a, &ll));
    VP_CHECK_OK(vp_item(a, &uc));
    VP_CHECK_OK(vp_item(a, &u));
    VP_CHECK_OK(vp_item(a, &ul));
    VP_CHECK_OK(vp_item(a, &f));
    VP_CHECK_OK(vp_item(a, &d));
    VP_CHECK_OK(vp_item(a, &z));
    VP_CHECK(b && c == 2 && s == 2 && i == 2 && l == 2 && ll == 2 && uc == 2 && u == 2 &&
             ul == 2);
    VP_CHECK(f == 2.75f && d == 2.75 && creal(z) == 2.75 && cimag(z) == 0);
    VP_CHECK_OK(vp_item(7, &d));
    VP_CHECK_EQ(d, 7);
    VP_CHECK_OK(vp_test(vp_gt(a, 2.0), &b));
    VP_CHECK(b);
    VP_CHECK_ERROR(vp_item(vp__test_counting(3), &d), VP_ERR_SHAPE,
                   "item: an array of shape (3,) is not one number");
    VP_CHECK_ERROR(vp_item(vp__test_counting(0), &d), VP_ERR_SHAPE, "(0,)");
    VP_CHECK_ERROR(vp_test(vp__test_counting(3), &b), VP_ERR_SHAPE,
                   "test: an array of shape (3,) is not one number");
    VP_CHECK_ERROR(vp_test(a, NULL), VP_ERR_VALUE, "test: the result is NULL");
    VP_CHECK_ERROR(vp_item(a, (double *)NULL), VP_ERR_VALUE, "NULL");
    VP_CHECK_ERROR(vp__item(VP_HERE, vp__in_array(a), (vp_dtype)99, &d), VP_ERR_TYPE,
                   "99");
}

VP_TEST(sizes_do_not_use_expressions_up) {
    vp_expr e = vp_add(vp__test_counting(3), 1.0);
    VP_CHECK_EQ(vp_size(e), 3);
    VP_CHECK_EQ(vp_ndim(e), 1);
    VP_CHECK_EQ(vp_dim(e, 0), 3);
    VP_CHECK_EQ(vp_dtype_of(e), VP_F64);
    VP_CHECK_OK(vp_wait(e));
    VP_CHECK_EQ(vp_size(e), 3);
    VP_CHECK_VALUES(e, 1, 2, 3);
    VP_CHECK_EQ(vp_size(2.5), 1);
    VP_CHECK_EQ(vp_ndim(2), 0);
    VP_CHECK_EQ(vp_dtype_of(2), VP_I64);
}

/* --- mapping ------------------------------------------------------------------------ */

/* What the program writes while a large or small array is mapped shows in the array and
 * not in what was mapped. */
static void check_map(int64_t n, vp_index at) {
    vp_array a = vp__test_counting(n);
    vp_mapped m;
    VP_CHECK_OK(vp_map(a, &m));
    VP_CHECK_EQ(m.ndim, 1);
    VP_CHECK_EQ(m.dims[0], n);
    VP_CHECK_EQ(m.strides[0], 8);
    VP_CHECK_EQ(m.dtype, VP_F64);
    const double *data = m.data;
    vp_put(a, at, 100.0);
    VP_CHECK_VALUES(vp_get(a, vp_range(1, 3)), 100,
                    100); /* does not wait for the unmap */
    for (int64_t i = 0; i < n; i++) VP_CHECK_EQ(data[i], (double)i);
    vp_unmap(&m);
    VP_CHECK(m.data == NULL);
    vp_unmap(&m); /* again: nothing */
    VP_CHECK_VALUES(vp_get(a, vp_range(1, 3)), 100, 100);
    vp_drop(a);
}

VP_TEST_TIMEOUT(mapped_elements_stay_when_part_of_a_small_array_is_written, 10) {
    check_map(50, vp_at(vp_range(0, 5)));
}
VP_TEST_TIMEOUT(mapped_elements_stay_when_a_small_array_is_written, 10) {
    check_map(50, vp_at(VP_ALL));
}
VP_TEST_TIMEOUT(mapped_elements_stay_when_part_of_a_large_array_is_written, 10) {
    check_map(50000, vp_at(vp_range(0, 5)));
}
VP_TEST_TIMEOUT(mapped_elements_stay_when_a_large_array_is_written, 10) {
    check_map(50000, vp_at(VP_ALL));
}

VP_TEST_TIMEOUT(mapped_borrowed_memory_does_not_block_the_program, 10) {
    double memory[4] = {0, 1, 2, 3};
    vp_array a = vp_borrow(VP_F64, vp_shape(4), NULL, memory, VP_WRITABLE, NULL, NULL);
    vp_mapped m;
    VP_CHECK_OK(vp_map(a, &m));
    vp_put(a, vp_at(0), 9.0);
    VP_CHECK_VALUES(vp_get(a, 0), 9);
    VP_CHECK_EQ(((const double *)m.data)[0], 0);
    vp_unmap(&m);
    VP_CHECK_OK(vp_sync());
    VP_CHECK_EQ(memory[0], 9);
}

VP_TEST(mapping_outlives_the_name) {
    vp_mapped m, n;
    vp_array a = vp_let(vp_mul(vp__test_counting(3), 2.0));
    VP_CHECK_OK(vp_map(a, &m));
    VP_CHECK_OK(vp_map(vp_get(a, vp_every(-1)), &n));
    vp_drop(a);
    VP_CHECK_EQ(((const double *)m.data)[2], 4);
    VP_CHECK_EQ(n.strides[0], -8);
    VP_CHECK_EQ(((const double *)n.data)[0], 4);
    vp_unmap(&m);
    VP_CHECK_EQ(((const double *)n.data)[-1], 2);
    vp_unmap(&n);
    VP_CHECK_OK(vp_map(vp_sum(vp__test_counting(4)), &m));
    VP_CHECK_EQ(m.ndim, 0);
    VP_CHECK_EQ(((const double *)m.data)[0], 6);
    vp_unmap(&m);
    VP_CHECK_ERROR(vp_map(2.5, NULL), VP_ERR_VALUE, "NULL");
    vp_unmap(NULL);
}

/* --- printing ----------------------------------------------------------------------- */

/* What vp_print writes to standard output; valid until the next call. */
static const char *printed(vp_operand x) {
    vp__test_capture_begin();
    vp_status status = vp__print(VP_HERE, x);
    const char *text = vp__test_capture_end();
    VP_CHECK_OK(status);
    return text;
}
#define PRINTED(x) printed(VP__IN(x))

VP_TEST(printing) {
    VP_CHECK_STR(PRINTED(vp__test_counting(3)), "float64 (3,)\n[0 1 2]\n");
    VP_CHECK_STR(PRINTED(vp_counter(VP_I32, vp_shape(2, 2), 1, 1)),
                 "int32 (2, 2)\n[[1 2]\n [3 4]]\n");
    VP_CHECK_STR(PRINTED(vp_full(VP_BOOL, vp_scalar_shape(), true)), "bool ()\ntrue\n");
    VP_CHECK_STR(PRINTED(vp_full(VP_C64, vp_shape(1), 1.5 - 2.0 * I)),
                 "complex64 (1,)\n[1.5-2i]\n");
    VP_CHECK_STR(PRINTED(vp_full(VP_U64, vp_scalar_shape(), UINT64_MAX)),
                 "uint64 ()\n18446744073709551615\n");
    VP_CHECK_STR(PRINTED(vp_zeros(VP_F64, vp_shape(0))), "float64 (0,)\n[]\n");
    VP_CHECK_STR(PRINTED(vp_arange(VP_I64, 0, 100, 1)),
                 "int64 (100,)\n[0 1 2 3 … 96 97 98 99]\n");
    VP_CHECK_CONTAINS(PRINTED(vp_zeros(VP_I8, vp_shape(1000, 1000))), "…");
    VP_CHECK_LT(strlen(PRINTED(vp_zeros(VP_I8, vp_shape(1000, 1000)))), 1000);
}

/* --- scopes ------------------------------------------------------------------------- */

VP_TEST(scopes_free_what_was_named_in_them) {
    int64_t base = vp__test_bytes_now();
    vp_scope outer = vp_begin();
    vp_array a = vp__test_counting(10000);
    vp_scope inner = vp_begin();
    vp_array b = vp_let(vp_add(a, 1.0)), c = vp_keep(vp_let(vp_add(a, 2.0)));
    vp_array view = vp_view(vp_get(a, 0));
    vp_end(inner);
    VP_CHECK_ERROR(vp_wait(b), VP_ERR_HANDLE, "its scope has ended");
    VP_CHECK_ERROR(vp_wait(view), VP_ERR_HANDLE, "its scope has ended");
    VP_CHECK_VALUES(vp_get(c, 0), 2);
    VP_CHECK_VALUES(vp_get(a, 0), 0);
    vp_end(outer);
    VP_CHECK_ERROR(vp_wait(c), VP_ERR_HANDLE, "its scope has ended");
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(expressions_end_with_their_scope) {
    vp_array a = vp__test_counting(3);
    vp_expr before = vp_add(a, 1.0);
    vp_scope s = vp_begin();
    vp_expr inside = vp_add(a, 2.0);
    vp_end(s);
    VP_CHECK_ERROR(vp_wait(inside), VP_ERR_HANDLE, "expression");
    VP_CHECK_VALUES(before, 1, 2, 3);
}

VP_TEST(keeping_goes_one_scope_up) {
    vp_scope first = vp_begin(), second = vp_begin(), third = vp_begin();
    vp_array a = vp_keep(vp__test_counting(2));
    vp_end(third);
    VP_CHECK_VALUES(a, 0, 1);
    vp_end(second);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_HANDLE, "scope");
    vp_array b = vp__test_counting(2);
    vp_keep(b), vp_keep(b); /* once is enough, twice does no harm */
    vp_end(first);
    VP_CHECK_VALUES(b, 0, 1);
    vp_keep(b); /* no scope: nothing to do */
    VP_CHECK_VALUES(b, 0, 1);
}

VP_TEST(an_outer_scope_ends_the_inner_ones) {
    vp_scope outer = vp_begin(), inner = vp_begin();
    vp_array a = vp__test_counting(2);
    vp_end(outer);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_HANDLE, "scope");
    vp_end(inner);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "vp_end: this scope is not open");
    vp_end(inner);
    char line[64];
    snprintf(line, sizeof line, "test_api_observe.c:%d: vp_end", __LINE__ - 2);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, line);
    vp_scope again = vp_begin();
    vp_end(inner); /* an old one at the same depth */
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    vp_end(again);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    vp_end(again);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    vp_end((vp_scope){0, 0});
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    vp_end((vp_scope){4000000000u, 7});
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
}

VP_TEST(scopes_nest_255_deep) {
    vp_scope outer = vp_begin();
    for (int i = 1; i < 255; i++) vp_begin();
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    vp_scope none = vp_begin();
    int line = __LINE__ - 1;
    char text[80];
    snprintf(text, sizeof text, "test_api_observe.c:%d: vp_begin: more than 255 scopes",
             line);
    VP_CHECK_REPORTED(VP_ERR_VALUE, text);
    vp_end(none);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    vp_end(outer);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
}

static void *end_foreign(void *scope) {
    vp_end(*(vp_scope *)scope);
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "not open");
    return NULL;
}

VP_TEST(a_scope_belongs_to_its_thread) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(2);
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, end_foreign, &s));
    pthread_join(thread, NULL);
    VP_CHECK_VALUES(a, 0, 1);
    vp_end(s);
}

VP_TEST(scopes_nest_deeply_but_not_without_end) {
    int64_t base = vp__test_bytes_now();
    static vp_scope s[300];
    int opened = 0;
    for (int i = 0; i < 300; i++) {
        s[i] = vp_begin();
        if (vp_error() == VP_OK) opened++;
    }
    VP_CHECK_GE(opened, 200);
    VP_CHECK_REPORTED(VP_ERR_VALUE, "scopes are open");
    vp_array a = vp__test_counting(2);
    VP_CHECK_VALUES(a, 0, 1);
    for (int i = opened; i-- > 0;) vp_end(s[i]);
    VP_CHECK_EQ((int)vp_error(), (int)VP_OK);
    VP_CHECK_ERROR(vp_wait(a), VP_ERR_HANDLE, "scope");
    VP_CHECK_NO_LEAK(base);
}

/* Names dropped in a long-lived scope do not pile up. */
VP_TEST(a_long_scope_does_not_grow) {
    vp_scope s = vp_begin();
    vp_array a = vp__test_counting(4), kept[100];
    int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 20000; i++) {
        vp_array b = vp_let(vp_add(a, (double)i));
        if (i % 200 == 0)
            kept[i / 200] = b;
        else
            vp_drop(b);
    }
    for (int i = 0; i < 100; i++) VP_CHECK_VALUES(vp_get(kept[i], 0), i * 200);
    VP_CHECK_LT(vp__test_bytes_now() - base, 200000);
    vp_end(s);
}
