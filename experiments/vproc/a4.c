/* SPDX-License-Identifier: Apache-2.0
 *
 * A4: K-means on the columns of a matrix, one instruction stream per column, a search and a
 * size test per class. The result: every column's class, then the number of iterations.
 */
#include <stdlib.h>

#include "experiments/input.h"
#include "support.h"

enum { CLASSES = 50 };
static vp_array x, centers, classes, old;
static int64_t n, iterations;

void prepare(int64_t size) {
    n = size;
    double *input = malloc(sizeof *input * (size_t)(n * n));
    if (!input) abort();
    kmeans_input(n, input);
    x = vp_let(vp_from(VP_F64, vp_fshape(n, n), input));
    centers = vp_let(vp_zeros(VP_F64, vp_fshape(n, CLASSES)));
    classes = vp_let(vp_zeros(VP_I64, vp_shape(n)));
    old = vp_let(vp_zeros(VP_I64, vp_shape(n)));
    vp_sync();
    free(input);
}

static void assign_columns(void) {
    for (int64_t i = 0; i < n; i++) {
        vp_expr d = vp_sub(vp_get(x, VP_ALL, vp_range(i, i + 1)), centers);
        vp_put(classes, vp_at(i), vp_argmin(vp_sqrt(vp_sum(vp_square(d), 0)), 0));
    }
}

static void move_centers(void) {
    for (int64_t j = 0; j < CLASSES; j++) {
        vp_array found = vp_let(vp_find(vp_eq(classes, j)));
        if (vp_size(found) > 0) /* waits for the size, not for the result */
            vp_put(centers, vp_at(VP_ALL, j), vp_mean(vp_take(x, found, 1), 1));
        vp_drop(found);
    }
}

void evaluate(int64_t times) {
    for (int64_t t = 0; t < times; t++) {
        vp_set(centers, vp_take(x, vp_linspace(VP_I64, 0, (double)n - 2, CLASSES), 1));
        vp_set(classes, vp_zeros(VP_I64, vp_shape(n)));
        bool changed = false;
        iterations = 0;
        do {
            vp_set(old, classes); /* no copy: shares the elements until one side is written */
            assign_columns();
            move_centers();
            iterations++;
        } while (vp_test(vp_any(vp_ne(classes, old)), &changed) == VP_OK && changed);
    }
}

int64_t result(const double **numbers) {
    vp_scope s = vp_begin();
    vp_expr count = vp_cast(vp_full(VP_I64, vp_shape(1), iterations), VP_I64);
    vp_array all = vp_let(vp_concatenate(0, classes, count));
    const int64_t found = numbers_of(all, numbers);
    vp_end(s);
    return found;
}
