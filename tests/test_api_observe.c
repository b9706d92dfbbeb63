/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at results: reading, single numbers, mapping, printing; and scopes, which
 * decide how long things live.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>
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

/* Only what is like the elements, or says no type, is memory for them. */
VP_TEST(reading_converts_nothing) {
    vp_array i = vp_let(vp_arange(VP_I64, 0, 3, 1)), f = vp_let(vp_cast(i, VP_F32));
    vp_array z = vp_let(vp_mul(vp_cast(i, VP_F64), 1.0 * I));
    double d[6];
    float s[3];
    int64_t n[3];
    uint64_t u[3];
    int32_t n32[3];
    double _Complex c[3];
    unsigned char bytes[3 * sizeof *n];
    VP_CHECK_ERROR(vp_read(i, d, sizeof n), VP_ERR_TYPE,
                   "read: elements of int64 do not become float64 by reading them");
    VP_CHECK_ERROR(vp_read(f, n32, sizeof n32), VP_ERR_TYPE,
                   "convert them with vp_cast, or give memory of float32");
    VP_CHECK_ERROR(vp_read(vp_gt(i, 1), n, 3), VP_ERR_TYPE, "bool");
    VP_CHECK_ERROR(vp_read(f, c, sizeof s), VP_ERR_TYPE, "complex128");
    VP_CHECK_ERROR(vp_read(z, s, sizeof c), VP_ERR_TYPE, "complex128");
    VP_CHECK_OK(vp_read(i, n, sizeof n));
    VP_CHECK_OK(vp_read(i, u, sizeof u));
    VP_CHECK_OK(vp_read(i, bytes, sizeof bytes));
    VP_CHECK_OK(vp_read(i, (void *)d, sizeof n));
    VP_CHECK_BYTES(n, u, sizeof n);
    VP_CHECK_BYTES(n, bytes, sizeof n);
    VP_CHECK_BYTES(n, d, sizeof n);
    VP_CHECK_OK(vp_read(f, s, sizeof s));
    VP_CHECK_OK(vp_read(z, c, sizeof c));
    VP_CHECK_OK(vp_read(z, d, sizeof d));
    VP_CHECK(n[2] == 2 && s[2] == 2 && cimag(c[2]) == 2 && d[5] == 2);
}

VP_TEST(single_numbers_are_converted) {
    vp_array a = vp_let(vp_full(VP_F64, vp_shape(1, 1), 2.75));
    vp_array whole = vp_let(vp_trunc(a));
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
    VP_CHECK_OK(vp_item(vp_sub(whole, 1), &b));
    VP_CHECK_OK(vp_item(whole, &c));
    VP_CHECK_OK(vp_item(whole, &s));
    VP_CHECK_OK(vp_item(whole, &i));
    VP_CHECK_OK(vp_item(whole, &l));
    VP_CHECK_OK(vp_item(whole, &ll));
    VP_CHECK_OK(vp_item(whole, &uc));
    VP_CHECK_OK(vp_item(whole, &u));
    VP_CHECK_OK(vp_item(whole, &ul));
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

/* What a type has not is refused, and the variable stays as it was. */
VP_TEST(single_numbers_do_not_become_others) {
    int8_t c = -7;
    uint8_t u = 7;
    int64_t l = -7;
    uint64_t ul = 7;
    bool b = true;
    float f = -7;
    double d = -7;
    float _Complex w = -7;
    vp_array z = vp_let(vp_add(vp_full(VP_C128, vp_shape(1), 1), 2.0 * I));
#define REFUSED(x, out, why) VP_CHECK_ERROR(vp_item(x, out), VP_ERR_VALUE, "item: " why)
    REFUSED(z, &d, "float64 has no number 1+2i; read it as complex128, or take vp_real");
    REFUSED(z, &l, "int64 has no number 1+2i; read it as complex128, or take vp_real");
    REFUSED(vp_mul(z, NAN), &d, "float64 has no number nan+nani");
    REFUSED(vp_mul(z, 1e300), &w, "complex64 has no number 1e+300+2e+300i; read it");
    REFUSED(2.5, &l,
            "int64 has no number 2.5; read it as float64, or make it whole with");
    REFUSED(NAN, &l, "int64 has no number nan; read it as float64");
    REFUSED(INFINITY, &ul, "uint64 has no number inf; read it as float64");
    REFUSED(0x1p63, &l, "int64 has no number 9.2233");
    REFUSED(-0x1p63 - 4096, &l, "int64 has no number -9.2233");
    REFUSED(0x1p64, &ul, "uint64 has no number 1.8446");
    REFUSED(300, &c, "int8 has no number 300; read it as int64");
    REFUSED(128, &c, "int8 has no number 128");
    REFUSED(-129, &c, "int8 has no number -129");
    REFUSED(256u, &u, "uint8 has no number 256");
    REFUSED(-1, &ul, "uint64 has no number -1");
    REFUSED(UINT64_MAX, &l,
            "int64 has no number 18446744073709551615; read it as uint64");
    REFUSED(2, &b, "bool has no number 2; read it as int64, or ask vp_test whether");
    REFUSED(0.5, &b, "bool has no number 0.5; read it as float64, or ask vp_test");
    REFUSED(-1e300, &f, "float32 has no number -1e+300; read it as float64");
#undef REFUSED
    VP_CHECK(c == -7 && u == 7 && l == -7 && ul == 7 && b && f == -7 && d == -7 &&
             w == -7);
}

/* And what it has is given, or what is nearest among fractions. */
VP_TEST(single_numbers_that_are_exact_or_rounded) {
    int8_t c;
    int64_t l;
    uint64_t ul;
    bool b;
    float f;
    double d;
    float _Complex w;
    VP_CHECK_OK(vp_item(vp_add(vp_full(VP_C128, vp_shape(1), 3), 0.0 * I), &d));
    VP_CHECK_OK(vp_item(vp_full(VP_C64, vp_shape(1), 3), &l));
    VP_CHECK(d == 3 && l == 3);
    VP_CHECK_OK(vp_item(-0x1p63, &l));
    VP_CHECK_OK(vp_item(0x1p63, &ul));
    VP_CHECK(l == INT64_MIN && ul == 1ull << 63);
    VP_CHECK_OK(vp_item(UINT64_MAX, &ul));
    VP_CHECK_OK(vp_item(-128, &c));
    VP_CHECK(ul == UINT64_MAX && c == -128);
    VP_CHECK_OK(vp_item(true, &l));
    VP_CHECK_OK(vp_item(0.0, &b));
    VP_CHECK(l == 1 && !b);
    VP_CHECK_OK(vp_item(UINT64_MAX, &f));
    VP_CHECK_OK(vp_item(INT64_MAX, &d));
    VP_CHECK(f == 0x1p64f && d == 0x1p63);
    VP_CHECK_OK(vp_item(0.1, &f));
    VP_CHECK(f == 0.1f);
    VP_CHECK_OK(vp_item(1e-300, &f));
    VP_CHECK(f == 0);
    VP_CHECK_OK(vp_item(-INFINITY, &f));
    VP_CHECK_OK(vp_item(NAN, &w));
    VP_CHECK(isinf(f) && isnan(crealf(w)) && cimagf(w) == 0);
    VP_CHECK_OK(vp_test(2.5, &b)); /* not an item: whether it is nonzero */
    VP_CHECK(b);
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
    VP_CHECK_ERROR(vp_wait(inside), VP_ERR_HANDLE,
                   "its scope has ended; vp_keep takes one to the scope");
    vp_expr other = vp_add(a, 3.0);
    VP_CHECK_ERROR(vp_wait(inside), VP_ERR_HANDLE, "its scope has ended");
    VP_CHECK_VALUES(other, 3, 4, 5);
    VP_CHECK_ERROR(vp_wait(other), VP_ERR_HANDLE, "used before");
    VP_CHECK_VALUES(before, 1, 2, 3);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

/* The expression of the arrays of a scope, which ends. */
static vp_expr distance(vp_operand x, vp_operand y) {
    vp_scope s = vp_begin();
    vp_array d = vp_let(vp_sub(x, y));
    vp_expr e = vp_keep(vp_sqrt(vp_sum(vp_mul(d, d))));
    vp_end(s);
    return e;
}

VP_TEST(functions_take_any_operand_and_return_expressions) {
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_full(VP_F64, vp_shape(4), 3.0));
    VP_CHECK_VALUES(distance(vp_operand_of(a), vp_operand_of(1)), 4);
    VP_CHECK_VALUES(distance(vp_operand_of(2.5), vp_operand_of(vp_neg(a))), 11);
    VP_CHECK_VALUES(
        vp_add(distance(vp_operand_of(vp_get(a, vp_range(0, 1))), vp_operand_of(true)),
               distance(vp_operand_of(7u), vp_operand_of(vp_operand_of(a)))),
        10);
    vp_operand once = vp_operand_of(vp_neg(a));
    VP_CHECK_VALUES(once, -3, -3, -3, -3);
    VP_CHECK_ERROR(vp_wait(once), VP_ERR_HANDLE, "used before");
    vp_end(s);
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
}

VP_TEST(keeping_an_expression_goes_one_scope_up) {
    vp_array a = vp__test_counting(3);
    int64_t base = vp__test_bytes_now();
    vp_scope first = vp_begin();
    vp_expr before = vp_add(a, 1.0);
    vp_scope second = vp_begin(), third = vp_begin();
    vp_expr e = vp_keep(vp_add(a, 2.0));
    vp_keep(e), vp_keep(before); /* kept already, and of a scope around this one */
    vp_end(third);
    VP_CHECK_EQ(vp_size(e), 3);
    vp_end(second);
    VP_CHECK_ERROR(vp_wait(e), VP_ERR_HANDLE, "scope has ended");
    VP_CHECK_VALUES(before, 1, 2, 3);
    vp_expr late = vp_keep(vp_get(vp_let(vp_find(a)), vp_range(1, 2)));
    vp_clear_error();
    vp_keep(e); /* too late */
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "test_api_observe.c");
    vp_end(first);
    VP_CHECK_VALUES(late, 2);
    VP_CHECK_VALUES(vp_keep(vp_add(a, 1.0)), 1, 2, 3); /* no scope: nothing to do */
    vp_clear_error();
    vp_keep((vp_expr){0, 0});
    VP_CHECK_REPORTED(VP_ERR_HANDLE, "this is not an expression");
    VP_CHECK_EQ(vp__test_open_expressions(), 0);
    VP_CHECK_NO_LEAK(base);
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
