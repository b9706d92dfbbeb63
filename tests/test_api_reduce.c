/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions over any axes, mean, variance and deviation, scans, sorts, matrix products.
 */
#include <complex.h>
#include <math.h>

#include "tests/net_support.h"

static vp_array cube(void) {
    return vp_let(vp_reshape(vp__test_counting(24), vp_shape(2, 3, 4)));
}

VP_TEST(reductions_over_axes) {
    vp_array a = cube();
    VP_CHECK_VALUES(vp_sum(a), 276);
    VP_CHECK_SCALAR(vp_sum(a));
    VP_CHECK_VALUES(vp_sum(a, 0), 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34);
    VP_CHECK_VALUES(vp_sum(a, -1), 6, 22, 38, 54, 70, 86);
    VP_CHECK_VALUES(vp_sum(a, vp_axes(0, 2)), 60, 92, 124);
    VP_CHECK_VALUES(vp_sum(a, vp_axes(2, 0)), 60, 92, 124);
    VP_CHECK_SHAPE(vp_sum(a, vp_axes(0, 2), VP_AUTO, VP_KEEPDIMS), 1, 3, 1);
    VP_CHECK_SHAPE(vp_sum(a, VP_EVERY, VP_AUTO, VP_KEEPDIMS), 1, 1, 1);
    VP_CHECK_VALUES(vp_prod(a, 2), 0, 840, 7920, 32760, 93024, 212520);
    VP_CHECK_VALUES(vp_min(a, 1), 0, 1, 2, 3, 12, 13, 14, 15);
    VP_CHECK_VALUES(vp_max(a, vp_axes(0, 1)), 20, 21, 22, 23);
    VP_CHECK_VALUES(vp_any(vp_gt(a, 22.0), 1), 0, 0, 0, 0, 0, 0, 0, 1);
    VP_CHECK_VALUES(vp_all(vp_gt(a, 3.0), 2), 0, 1, 1, 1, 1, 1);
    VP_CHECK_VALUES(vp_argmax(a, 1), 2, 2, 2, 2, 2, 2, 2, 2);
    VP_CHECK_VALUES(vp_argmin(vp_neg(a)), 23);
    VP_CHECK_VALUES(vp_argmax(vp_flip(a, 2), 2), 0, 0, 0, 0, 0, 0);
    VP_CHECK_SHAPE(vp_argmax(a, 1, VP_AUTO, VP_KEEPDIMS), 2, 1, 4);
    VP_CHECK_VALUES(vp_count_nonzero(a, 0), 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
    VP_CHECK_VALUES(vp_sum(vp_mul(vp_add(a, 1.0), 2.0), vp_axes(0, 1)), 132, 144, 156,
                    168);
    VP_CHECK_VALUES(vp_sum(5.0), 5);
}

VP_TEST(reductions_in_every_order) {
    vp_array c = cube(), f = vp_let(vp_empty(VP_F64, vp_fshape(2, 3, 4)));
    vp_put(f, vp_at(VP_ALL), c);
    vp_array t = vp_let(vp_transpose(c));
    for (int axis = 0; axis < 3; axis++) {
        double sum[12];
        VP_CHECK_OK(
            vp_read(vp_sum(c, axis), sum, (size_t)(24 / (axis + 2)) * sizeof *sum));
        VP_CHECK_ARRAY(vp_sum(f, axis), sum, 24 / (axis + 2));
        VP_CHECK_ARRAY(vp_transpose(vp_sum(t, 2 - axis)), sum, 24 / (axis + 2));
    }
    VP_CHECK_VALUES(vp_sum(f, 2), 6, 22, 38, 54, 70, 86);
    VP_CHECK_VALUES(vp_argmax(f, 2), 3, 3, 3, 3, 3, 3);
}

VP_TEST(types_of_reductions) {
    static const struct {
        vp_dtype t, sum, mean, var, max;
    } table[] = {
        {VP_BOOL, VP_I64, VP_F64, VP_F64, VP_BOOL},
        {VP_I8, VP_I64, VP_F64, VP_F64, VP_I8},
        {VP_U8, VP_U64, VP_F64, VP_F64, VP_U8},
        {VP_I32, VP_I64, VP_F64, VP_F64, VP_I32},
        {VP_U32, VP_U64, VP_F64, VP_F64, VP_U32},
        {VP_U64, VP_U64, VP_F64, VP_F64, VP_U64},
        {VP_F32, VP_F32, VP_F32, VP_F32, VP_F32},
        {VP_F64, VP_F64, VP_F64, VP_F64, VP_F64},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        vp_scope s = vp_begin();
        vp_array a = vp_let(vp_ones(table[i].t, vp_shape(3)));
        VP_CHECK_TYPE(vp_sum(a), table[i].sum);
        VP_CHECK_TYPE(vp_prod(a), table[i].sum);
        VP_CHECK_TYPE(vp_cumsum(a, 0), table[i].sum);
        VP_CHECK_TYPE(vp_mean(a), table[i].mean);
        VP_CHECK_TYPE(vp_std(a), table[i].var);
        VP_CHECK_TYPE(vp_max(a), table[i].max);
        VP_CHECK_TYPE(vp_argmax(a), VP_I64);
        VP_CHECK_TYPE(vp_count_nonzero(a), VP_I64);
        VP_CHECK_TYPE(vp_all(a), VP_BOOL);
        vp_end(s);
    }
    vp_array c = vp_let(vp_ones(VP_C64, vp_shape(3)));
    VP_CHECK_TYPE(vp_sum(c), VP_C64);
    VP_CHECK_TYPE(vp_mean(c), VP_C64);
    VP_CHECK_TYPE(vp_var(c), VP_F32);
}

VP_TEST(a_result_type_may_be_given) {
    static const uint32_t large[] = {4000000000u, 4000000000u};
    vp_array a = vp_let(vp_from(VP_U32, vp_shape(2), large));
    VP_CHECK_VALUES(vp_sum(a), 8000000000.0);
    VP_CHECK_VALUES(vp_sum(a, 0, VP_U32), 3705032704.0); /* wraps around */
    VP_CHECK_TYPE(vp_sum(a, 0, VP_F32), VP_F32);
    VP_CHECK_VALUES(vp_mean(a, 0, VP_F64), 4000000000.0);
    VP_CHECK_TYPE(vp_mean(a, 0, VP_F32), VP_F32);
    VP_CHECK_ERROR(vp_wait(vp_sum(a, 0, (vp_dtype)77)), VP_ERR_TYPE, "77");
}

/* With the type given, sums are of that type and quotients are rounded to it, as in NumPy. */
VP_TEST(means_and_variances_as_any_type) {
    static const double values[] = {1, 2, 4, 7.75};
    static const double _Complex turned[] = {1.0 + 2.0 * I, 3.0 * I, 4.0};
    static const bool truth[] = {true, false};
    vp_array x = vp_let(vp_from(VP_F64, vp_shape(4), values));
    vp_array z = vp_let(vp_from(VP_C128, vp_shape(3), turned));
    vp_array b = vp_let(vp_from(VP_BOOL, vp_shape(2), truth));
    VP_CHECK_TYPE(vp_mean(x, 0, VP_I32), VP_I32);
    VP_CHECK_VALUES(vp_mean(x, 0, VP_I32), 3);
    VP_CHECK_VALUES(vp_var(x, 0, VP_I32), 7);
    VP_CHECK_VALUES(vp_std(x, 0, VP_I8), 2);
    VP_CHECK_TYPE(vp_std(x, 0, VP_I8), VP_I8);
    VP_CHECK_VALUES(vp_mean(x, 0, VP_BOOL), 1);
    VP_CHECK_COMPLEX(vp_var(x, 0, VP_C128), 6.66796875, 0);
    VP_CHECK_TYPE(vp_std(x, 0, VP_C64), VP_C64);
    VP_CHECK_TYPE(vp_var(z), VP_F64);
    VP_CHECK_TYPE(vp_var(z, 0, VP_C128), VP_C128);
    VP_CHECK_CLOSE(vp_var(z, 0, VP_F64), 1e-14, 65 / 9.0); /* from the mean's real part */
    VP_CHECK_COMPLEX(vp_var(b, 0, VP_C128), 0.25, 0);
    VP_CHECK_ERROR(vp_wait(vp_var(b, 0, VP_BOOL)), VP_ERR_TYPE, "var of bool");
    /* A size that comes late. */
    vp_array late = vp_let(vp_get(x, vp_gt(x, 1)));
    VP_CHECK_VALUES(vp_mean(late, 0, VP_I64), 4);
    VP_CHECK_VALUES(vp_var(late, 0, VP_I64), 6);
    VP_CHECK_CLOSE(vp_var(late), 1e-15, 5.6805555555555555);
}

VP_TEST(mean_variance_deviation) {
    vp_array a = cube();
    VP_CHECK_VALUES(vp_mean(a), 11.5);
    VP_CHECK_VALUES(vp_mean(a, vp_axes(1, 2)), 5.5, 17.5);
    VP_CHECK_SHAPE(vp_mean(a, 1, VP_AUTO, VP_KEEPDIMS), 2, 1, 4);
    VP_CHECK_CLOSE(vp_var(a, 1), 1e-13, 32 / 3.0, 32 / 3.0, 32 / 3.0, 32 / 3.0, 32 / 3.0,
                   32 / 3.0, 32 / 3.0, 32 / 3.0);
    VP_CHECK_CLOSE(vp_std(a), 1e-13, sqrt(575 / 12.0));
    VP_CHECK_CLOSE(vp_mean(vp_arange(VP_I32, 1, 3, 1)), 0, 1.5);
    static const bool truth[] = {true, false, true, true};
    VP_CHECK_VALUES(vp_mean(vp_from(VP_BOOL, vp_shape(4), truth)), 0.75);
    static const double _Complex z[] = {1.0 + 1.0 * I, 2.0 - 1.0 * I, 3.0};
    VP_CHECK_CLOSE(vp_var(vp_from(VP_C128, vp_shape(3), z)), 1e-15, 4 / 3.0);
    VP_CHECK_VALUES(vp_mean(vp_zeros(VP_F64, vp_shape(0))), NAN); /* 0 / 0 */
    /* Far from zero: two passes lose nothing. */
    VP_CHECK_VALUES(vp_var(vp_add(vp__test_counting(4), 1e9)), 1.25);
}

VP_TEST(not_a_number_is_found) {
    static const double values[] = {1, NAN, 3};
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(3), values));
    VP_CHECK_VALUES(vp_max(a), NAN);
    VP_CHECK_VALUES(vp_min(a), NAN);
    VP_CHECK_VALUES(vp_argmax(a), 1);
    VP_CHECK_VALUES(vp_argmin(a), 1);
    VP_CHECK_VALUES(vp_sum(a), NAN);
    VP_CHECK_VALUES(vp_any(vp_isnan(a)), 1);
}

VP_TEST(wrong_axes) {
    vp_array a = cube();
    VP_CHECK_ERROR(vp_wait(vp_sum(a, 3)), VP_ERR_INDEX,
                   "sum: axis 3 is out of bounds for an array of 3 axes");
    VP_CHECK_ERROR(vp_wait(vp_mean(a, -4)), VP_ERR_INDEX, "mean: axis -4");
    VP_CHECK_ERROR(vp_wait(vp_max(a, vp_axes(1, 1))), VP_ERR_INDEX,
                   "max: axis 1 is named twice");
    VP_CHECK_ERROR(vp_wait(vp_std(a, vp_axes(2, -1))), VP_ERR_INDEX, "twice");
    VP_CHECK_ERROR(vp_wait(vp_sum(1.0, 0)), VP_ERR_INDEX, "axis 0");
    VP_CHECK_ERROR(vp_wait(vp_sum(a, vp_axes(4294967296))), VP_ERR_INDEX, "sum");
    VP_CHECK_ERROR(vp_wait(vp_sum(a, vp_axes_of(-5, NULL))), VP_ERR_INDEX,
                   "sum: there cannot be -5 axes");
    VP_CHECK_ERROR(vp_wait(vp_permute(a, vp_axes_of(-5, NULL))), VP_ERR_INDEX,
                   "permute: there cannot be -5 axes");
    VP_CHECK_VALUES(vp_sum(a, vp_axes_of(-1, NULL)), 276); /* that is VP_EVERY */
    VP_CHECK_ERROR(vp_wait(vp_cumsum(a, 3)), VP_ERR_INDEX, "cumsum: axis 3");
    VP_CHECK_ERROR(vp_wait(vp_sort(a, -4)), VP_ERR_INDEX, "sort: axis -4");
    VP_CHECK_ERROR(vp_wait(vp_argsort(2.0, 0)), VP_ERR_INDEX, "argsort");
    VP_CHECK_EQ(vp_dim(a, 3), -1);
    VP_CHECK_REPORTED(VP_ERR_INDEX, "axis 3");
    VP_CHECK_EQ(vp_dim(a, -1), 4); /* negative axes count from the end */
    VP_CHECK_EQ(vp_dim(a, -3), 2);
}

VP_TEST(scans) {
    vp_array a = cube();
    VP_CHECK_VALUES(vp_get(vp_cumsum(a, 1), 0), 0, 1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21);
    VP_CHECK_VALUES(vp_cumprod(vp_arange(VP_I32, 1, 6, 1), 0), 1, 2, 6, 24, 120);
    static const double values[] = {3, 0.0, -0.0, 5, -2, NAN, -7};
    vp_array b = vp_let(vp_from(VP_F64, vp_shape(7), values));
    VP_CHECK_VALUES(vp_cummin(b, 0), 3, 0.0, 0.0, 0.0, -2, NAN, NAN);
    VP_CHECK_VALUES(vp_cummax(b, 0), 3, 3, 3, 5, 5, NAN, NAN);
    VP_CHECK_VALUES(vp_cummin(vp_arange(VP_U8, 3, 0, -1), 0), 3, 2, 1);
    VP_CHECK_TYPE(vp_cumprod(vp_arange(VP_I32, 1, 6, 1), 0), VP_I64);
    VP_CHECK_VALUES(vp_cumsum(vp_gt(a, -1.0), -1), 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1,
                    2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4);
}

VP_TEST(sorts) {
    static const double values[] = {3, NAN, 1, -INFINITY, 0};
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(5), values));
    VP_CHECK_VALUES(vp_sort(a, 0), -INFINITY, 0, 1, 3, NAN);
    VP_CHECK_VALUES(vp_argsort(a, 0), 3, 4, 2, 0, 1);
    static const int8_t equal[] = {2, 1, 2, 1, 0};
    VP_CHECK_VALUES(vp_argsort(vp_from(VP_I8, vp_shape(5), equal), 0), 4, 1, 3, 0, 2);
    vp_array b = vp_let(vp_flip(cube(), VP_EVERY));
    VP_CHECK_VALUES(vp_get(vp_sort(b, 1), 0), 15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21,
                    20);
    VP_CHECK_VALUES(vp_get(vp_argsort(b, 0), VP_ALL, 0), 1, 1, 1, 1, 0, 0, 0, 0);
    VP_CHECK_TYPE(vp_sort(vp_arange(VP_U16, 0, 3, 1), 0), VP_U16);
}

VP_TEST(matrix_products) {
    vp_array a = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    vp_array b = vp_let(vp_reshape(vp__test_counting(12), vp_shape(3, 4)));
    VP_CHECK_VALUES(vp_matmul(a, b), 20, 23, 26, 29, 56, 68, 80, 92);
    VP_CHECK_VALUES(vp_matmul(a, vp__test_counting(3)), 5, 14);
    VP_CHECK_SHAPE(vp_matmul(a, vp__test_counting(3)), 2);
    VP_CHECK_VALUES(vp_matmul(vp__test_counting(2), a), 3, 4, 5);
    VP_CHECK_VALUES(vp_matmul(vp__test_counting(3), vp__test_counting(3)), 5);
    VP_CHECK_SCALAR(vp_matmul(vp__test_counting(3), vp__test_counting(3)));
    VP_CHECK_VALUES(vp_matmul(vp_transpose(a), a), 9, 12, 15, 12, 17, 22, 15, 22, 29);
    VP_CHECK_VALUES(vp_matmul(a, vp_flip(vp_transpose(a), 1)), 14, 5, 50, 14);
    VP_CHECK_TYPE(vp_matmul(vp_cast(a, VP_F32), vp_cast(b, VP_F32)), VP_F32);
    VP_CHECK_TYPE(vp_matmul(vp_cast(a, VP_I32), b), VP_F64);
}

VP_TEST(matrix_products_in_batches) {
    vp_array d = cube(), e = vp_let(vp_reshape(vp__test_counting(8), vp_shape(4, 2)));
    VP_CHECK_VALUES(vp_matmul(d, e), 28, 34, 76, 98, 124, 162, 172, 226, 220, 290, 268,
                    354);
    VP_CHECK_VALUES(vp_matmul(d, vp__test_counting(4)), 14, 38, 62, 86, 110, 134);
    VP_CHECK_VALUES(vp_matmul(vp__test_counting(3), d), 20, 23, 26, 29, 56, 59, 62, 65);
    vp_array p = vp_let(vp_counter(VP_F64, vp_shape(2, 1, 2, 3), 0, 1));
    vp_array q = vp_let(vp_counter(VP_F64, vp_shape(3, 3, 2), 0, 1)),
             r = vp_let(vp_matmul(p, q));
    VP_CHECK_SHAPE(r, 2, 3, 2, 2);
    for (int64_t i = 0; i < 2; i++)
        for (int64_t k = 0; k < 3; k++) {
            double expected[4] = {0};
            for (int m = 0; m < 2; m++)
                for (int n = 0; n < 2; n++)
                    for (int j = 0; j < 3; j++)
                        expected[m * 2 + n] +=
                            (double)((i * 6 + m * 3 + j) * (k * 6 + j * 2 + n));
            VP_CHECK_ARRAY(vp_get(r, i, k), expected, 4);
        }
    static const double _Complex z[] = {1.0 + 1.0 * I, 2.0, 0.0, 1.0 * I};
    vp_array c = vp_let(vp_from(VP_C128, vp_shape(2, 2), z));
    VP_CHECK_COMPLEX(vp_matmul(c, c), 0, 2, 2, 4, 0, 0, -1, 0);
    static const int8_t small[] = {100, 100}, weights[] = {2, 1};
    VP_CHECK_VALUES(vp_matmul(vp_from(VP_I8, vp_shape(1, 2), small),
                              vp_from(VP_I8, vp_shape(2, 1), weights)),
                    44);
    static const bool x[] = {true, false, true, true}, y[] = {true, true, false, true};
    VP_CHECK_VALUES(vp_matmul(vp_from(VP_BOOL, vp_shape(2, 2), x),
                              vp_from(VP_BOOL, vp_shape(2, 2), y)),
                    1, 1, 1, 1);
}

VP_TEST(a_large_matrix_product) {
    enum { N = 150 };
    static double x[N * N], y[N * N], z[N * N];
    for (int i = 0; i < N * N; i++) {
        x[i] = i % 7 - 3;
        y[i] = i % 11 - 5;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) z[i * N + j] += x[i * N + k] * y[k * N + j];
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(N, N), x)),
             b = vp_let(vp_from(VP_F64, vp_shape(N, N), y));
    VP_CHECK_ARRAY(vp_matmul(a, b), z, N * N);
    vp_array f = vp_let(vp_empty(VP_F64, vp_fshape(N, N)));
    vp_put(f, vp_at(VP_ALL), a);
    VP_CHECK_ARRAY(vp_matmul(f, b), z, N * N);
}

/* Whole numbers whose sums are exact in every type: multiples of `step` modulo 5. */
static vp_array small_numbers(vp_dtype t, int64_t n, int64_t rows, int64_t step) {
    static double x[300 * 300];
    for (int64_t i = 0; i < n; i++) x[i] = (double)(i * step % 5 - (t == VP_U8 ? 0 : 2));
    const vp_shape_t shape = rows ? vp_shape(rows, n / rows) : vp_shape(n);
    return vp_let(vp_cast(vp_from(VP_F64, shape, x), t));
}

/* Sides on either side of where kernels give way to the library. */
VP_TEST(products_with_vectors) {
    static const vp_dtype types[] = {VP_U8, VP_I32, VP_F32, VP_F64, VP_C64, VP_C128};
    static const int64_t sides[] = {1, 5, 63, 65, 257};
    static double left[257], right[257];
    for (int t = 0; t < 6; t++)
        for (int s = 0; s < 5; s++) {
            const int64_t n = sides[s];
            const int low = types[t] == VP_U8 ? 0 : 2;
            double dot = 0;
            for (int64_t i = 0; i < n; i++) {
                left[i] = right[i] = 0;
                dot += (double)((i * 3 % 5 - low) * (i * 3 % 5 - low));
                for (int64_t k = 0; k < n; k++) {
                    const double p = (double)(k * 3 % 5 - low);
                    left[i] += (double)((i * n + k) % 5 - low) * p;
                    right[i] += p * (double)((k * n + i) % 5 - low);
                }
                if (types[t] == VP_U8) {
                    left[i] = (double)((int)left[i] & 255);
                    right[i] = (double)((int)right[i] & 255);
                }
            }
            if (types[t] == VP_U8) dot = (double)((int)dot & 255);
            vp_array a = small_numbers(types[t], n * n, n, 1);
            vp_array p = small_numbers(types[t], n, 0, 3);
            VP_CHECK_TYPE(vp_matmul(p, p), types[t]);
            VP_CHECK_TYPE(vp_matmul(a, p), types[t]);
            VP_CHECK_ARRAY(vp_real(vp_matmul(p, p)), &dot, 1);
            VP_CHECK_ARRAY(vp_real(vp_matmul(a, p)), left, n);
            VP_CHECK_ARRAY(vp_real(vp_matmul(p, a)), right, n);
            VP_CHECK_ARRAY(vp_real(vp_matmul(vp_transpose(a), p)), right, n);
        }
}

VP_TEST(matrices_that_do_not_fit) {
    vp_array a = vp_let(vp_ones(VP_F64, vp_shape(2, 3)));
    VP_CHECK_ERROR(vp_wait(vp_matmul(a, a)), VP_ERR_SHAPE,
                   "matmul: shapes (2, 3) and (2, 3) do not fit");
    VP_CHECK_ERROR(vp_wait(vp_matmul(a, 2.0)), VP_ERR_SHAPE,
                   "matmul: a number is not a matrix");
    VP_CHECK_ERROR(vp_wait(vp_matmul(vp__test_counting(3), vp__test_counting(2))),
                   VP_ERR_SHAPE, "matmul");
    VP_CHECK_ERROR(vp_wait(vp_matmul(vp_ones(VP_F64, vp_shape(2, 2, 3)),
                                     vp_ones(VP_F64, vp_shape(3, 3, 2)))),
                   VP_ERR_SHAPE, "matmul");
}

VP_TEST(products_of_vectors_and_stacks) {
    vp_array x = vp__test_counting(3),
             m = vp_let(vp_reshape(vp__test_counting(6), vp_shape(2, 3)));
    VP_CHECK_SCALAR(vp_dot(x, x));
    VP_CHECK_VALUES(vp_dot(x, vp_add(x, 1.0)), 8);
    VP_CHECK_VALUES(vp_dot(m, x), 5, 14);
    VP_CHECK_VALUES(vp_dot(m, vp_transpose(m)), 5, 14, 14, 50);
    VP_CHECK_VALUES(vp_inner(m, m), 5, 14, 14, 50);
    VP_CHECK_VALUES(vp_dot(m, 2.0), 0, 2, 4, 6, 8, 10);
    vp_array stack = vp_let(vp_counter(VP_F64, vp_shape(2, 3, 2), 0, 1));
    VP_CHECK_SHAPE(vp_dot(m, stack), 2, 2, 2);
    VP_CHECK_VALUES(vp_get(vp_dot(m, stack), 1, 1), 100, 112);
    VP_CHECK_VALUES(vp_vdot(m, m), 55);
    VP_CHECK_VALUES(vp_outer(vp_get(m, 1), x), 0, 3, 6, 0, 4, 8, 0, 5, 10);
    VP_CHECK_TYPE(vp_dot(vp_cast(x, VP_I32), vp_cast(x, VP_I32)), VP_I32);
    VP_CHECK_ERROR(vp_wait(vp_dot(x, vp__test_counting(4))), VP_ERR_SHAPE,
                   "dot: shapes (3,) and (4,) do not fit");
    VP_CHECK_ERROR(vp_wait(vp_dot(m, m)), VP_ERR_SHAPE, "the last but one of the second");
    VP_CHECK_ERROR(vp_wait(vp_vdot(m, x)), VP_ERR_SHAPE, "vdot: shapes (6,) and (3,)");
}

VP_TEST(norms) {
    static const double values[] = {3, -4, 0, 12};
    vp_array a = vp_let(vp_from(VP_F64, vp_shape(2, 2), values));
    VP_CHECK_VALUES(vp_norm(a), 13);
    VP_CHECK_VALUES(vp_norm(a, 1), 5, 12);
    VP_CHECK_SHAPE(vp_norm(a, vp_axes(0, 1), VP_AUTO, VP_KEEPDIMS), 1, 1);
    VP_CHECK_VALUES(vp_norm(vp_cast(a, VP_I8)), 13);
    VP_CHECK_TYPE(vp_norm(vp_cast(a, VP_I8)), VP_F64);
    VP_CHECK_TYPE(vp_norm(vp_cast(a, VP_C64)), VP_F32);
    VP_CHECK_ERROR(vp_wait(vp_norm(a, 0, VP_F32)), VP_ERR_TYPE, "norm: has the type");
    VP_CHECK_ERROR(vp_wait(vp_norm(a, 2)), VP_ERR_INDEX, "norm: axis 2");
}
