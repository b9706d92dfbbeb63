/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenBLAS, opened at run time when the first large product needs it. The process pays
 * nothing for it until then, and runs without it.
 */
#ifndef VP_LIB_PRODUCT_BLAS_H
#define VP_LIB_PRODUCT_BLAS_H

#include <stdbool.h>

#include "array/dtype.h"

/* A matrix as BLAS sees it: rows `ld` elements apart, or columns when turned. */
typedef struct {
    void *data;
    int ld;
    bool turned;
} vp__blas_matrix;

/* Whether products of this type can go to BLAS: a float or complex type, VP_BLAS does not
 * forbid it, and a library was found that several threads may call at once. The first call
 * opens it; any thread may ask. */
bool vp__blas_takes(vp_dtype t);

/* The library's version and build in its own words, NULL where there is none to be used.
 * Opens it. */
const char *vp__blas_config(void);

/* out[m][n] = a[m][k] @ b[k][n] on the calling thread; out is not turned. */
void vp__blas_product(vp_dtype t, int m, int n, int k, const vp__blas_matrix *out,
                      const vp__blas_matrix *a, const vp__blas_matrix *b);

/* y[m] = a[m][k] @ x[k]; increments in elements, positive. */
void vp__blas_apply(vp_dtype t, int m, int k, void *y, int incy, const vp__blas_matrix *a,
                    const void *x, int incx);

#endif
