/* SPDX-License-Identifier: Apache-2.0
 *
 * The matrix that tests of loops by replay read. Elements are whole numbers: sums are exact.
 */
#ifndef VP_TESTS_TRACK_SUPPORT_H
#define VP_TESTS_TRACK_SUPPORT_H

#include "api/track.h"
#include "tests/net_support.h"

enum { ROWS = 200, COLUMNS = 30 };

static inline vp_array matrix(void) {
    vp_array flat = vp__test_counting(ROWS * COLUMNS);
    vp_array m = vp_let(vp_reshape(flat, vp_shape(ROWS, COLUMNS)));
    vp_drop(flat); /* which shares its memory: a write to m would give it other memory */
    VP_CHECK_OK(vp_sync());
    return m;
}

static inline vp_array zeros_of(vp_dtype t, int64_t n) {
    vp_array r = vp_let(vp_zeros(t, vp_shape(n)));
    VP_CHECK_OK(vp_sync());
    return r;
}

static inline double element(int64_t i, int64_t j) { return (double)(i * COLUMNS + j); }

static inline double sum_of(int64_t row) {
    return (double)COLUMNS * (double)(2 * row * COLUMNS + COLUMNS - 1) / 2;
}

#endif
