/* SPDX-License-Identifier: Apache-2.0
 *
 * A4's input: a pattern of 401 x 401 whole numbers, tiled, each row scaled. With 1203 columns
 * and 50 classes it converges in 5 iterations, and no column is so near the middle between
 * two centres that rounding could change its class.
 */
#ifndef EXPERIMENTS_INPUT_H
#define EXPERIMENTS_INPUT_H

#include <math.h>
#include <stdint.h>

/* n x n, in column order. */
static inline void kmeans_input(int64_t n, double *x) {
    for (int64_t column = 0; column < n; column++)
        for (int64_t row = 0; row < n; row++) {
            const double r = (double)(row % 401), c = (double)(column % 401);
            const double t = rint(1000 + 400 * sin(.013 * r + .021 * c) +
                                  250 * sin(.031 * r - .017 * c + 1) +
                                  120 * sin(.07 * c + .05 * r + 2) +
                                  60 * sin(.11 * r) * sin(.13 * c + .5));
            x[column * n + row] = t * sin(0.1 * (double)(row + 1));
        }
}

#endif
