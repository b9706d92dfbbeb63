/* SPDX-License-Identifier: Apache-2.0
 *
 * K-means clustering of the columns of a matrix, written as one would on paper: one
 * instruction stream per column, a search and a size test per class. No parallel construct
 * anywhere.
 */
#include <stdio.h>
#include <vproc.h>

int main(void) {
    const int64_t rows = 64, n = 400, k = 8;
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_counter(VP_F64, vp_fshape(rows, n), 0, 1));
    vp_array A = vp_let(vp_add(vp_mul(vp_sin(vp_mul(x, 0.013)), 400.0),
                               vp_mul(vp_sin(vp_mul(x, 0.031)), 250.0)));
    vp_array centers = vp_let(vp_take(A, vp_linspace(VP_I64, 0, (double)n - 2, k), 1));
    vp_array classes = vp_let(vp_zeros(VP_I64, vp_shape(n)));
    vp_array old = vp_let(vp_zeros(VP_I64, vp_shape(n)));
    bool changed = false;
    int iterations = 0;
    do {
        vp_set(old, classes); /* no copy: shares the elements until one side is written */
        for (int64_t i = 0; i < n; i++) {
            vp_expr d = vp_sub(vp_get(A, VP_ALL, vp_range(i, i + 1)), centers);
            vp_put(classes, vp_at(i), vp_argmin(vp_sqrt(vp_sum(vp_square(d), 0)), 0));
        }
        for (int64_t j = 0; j < k; j++) {
            vp_array found = vp_let(vp_find(vp_eq(classes, j)));
            if (vp_size(found) > 0) /* waits for the size, not for the result */
                vp_put(centers, vp_at(VP_ALL, j), vp_mean(vp_take(A, found, 1), 1));
            vp_drop(found);
        }
        iterations++;
    } while (vp_test(vp_any(vp_ne(classes, old)), &changed) == VP_OK && changed);
    if (vp_error() != VP_OK)
        fprintf(stderr, "%s\n", vp_message());
    else
        printf("%d iterations\n", iterations);
    vp_print(classes);
    vp_end(s);
    return vp_error() != VP_OK;
}
