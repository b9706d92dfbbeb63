/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions that are not element-wise, as a shared object for kernels_numpy.py: each
 * is issued through vproc.h and waited for, so that what is timed is what a program gets,
 * memory for the result included.
 */
#include <string.h>
#include <time.h>
#include <vproc.h>

#define EXPORT __attribute__((visibility("default")))

/* Nanoseconds of one call of the named row, averaged over `times`, on n elements of type
 * `dtype` at x; `side` is a matrix's, y its other factor or the positions to take.
 * Negative: there is no such row, or it failed. */
EXPORT double table_time(const char *name, int dtype, void *x, void *y, int64_t n,
                         int64_t side, int64_t times);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A row is known by the number of a reduction, or by one of these. */
enum { NO_ROW = -1, CUMSUM = -10, CUMPROD, SORT, ARGSORT, TAKE, FIND, NONZERO, MATMUL };

static int row_named(const char *name) {
    static const struct {
        const char *name;
        int row;
    } rows[] = {
        {"sum", VP__SUM},
        {"prod", VP__PROD},
        {"min", VP__MIN},
        {"max", VP__MAX},
        {"any", VP__ANY},
        {"all", VP__ALL},
        {"argmin", VP__ARGMIN},
        {"argmax", VP__ARGMAX},
        {"count_nonzero", VP__COUNT_NONZERO},
        {"mean", VP__MEAN},
        {"var", VP__VAR},
        {"std", VP__STD},
        {"cumsum", CUMSUM},
        {"cumprod", CUMPROD},
        {"sort", SORT},
        {"argsort", ARGSORT},
        {"take", TAKE},
        {"find", FIND},
        {"nonzero", NONZERO},
        {"matmul", MATMUL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(name, rows[i].name) == 0) return rows[i].row;
    return NO_ROW;
}

/* Gives up with an expression of no elements where there is no such row. */
static vp_expr issue(int row, vp_array x, vp_array y) {
    switch (row) {
    case NO_ROW: return vp_empty(VP_F64, vp_shape(0));
    case CUMSUM: return vp_cumsum(x, 0);
    case CUMPROD: return vp_cumprod(x, 0);
    case SORT: return vp_sort(x, 0);
    case ARGSORT: return vp_argsort(x, 0);
    case TAKE: return vp_take(x, y, 0);
    case FIND: return vp_find(x);
    case NONZERO: return vp_nonzero(x);
    case MATMUL: return vp_matmul(x, y);
    default: return vp__reduce(row, VP_HERE, VP__IN(x), NULL, VP_AUTO, 0);
    }
}

double table_time(const char *name, int dtype, void *x, void *y, int64_t n, int64_t side,
                  int64_t times) {
    const vp_dtype t = (vp_dtype)dtype;
    const int row = row_named(name);
    const bool plane = row == MATMUL || row == NONZERO;
    const vp_shape_t shape = plane ? vp_shape(side, side) : vp_shape(n);
    vp_scope s = vp_begin();
    vp_array a = vp_borrow(t, shape, NULL, x, VP_READ_ONLY, NULL, NULL);
    vp_array b = a;
    if (row == TAKE)
        b = vp_borrow(VP_I64, vp_shape(n), NULL, y, VP_READ_ONLY, NULL, NULL);
    else if (y)
        b = vp_borrow(t, shape, NULL, y, VP_READ_ONLY, NULL, NULL);
    /* Waited for, as is everything before the clock starts and before the caller's memory
     * may go: an instruction nobody looks at would run at the next look, in its time. */
    const vp_array first = vp_let(issue(row, a, b));
    const bool number = vp_ndim(first) == 0;
    bool good = vp_size(first) > 0 && vp_sync() == VP_OK;
    double value;
    const double start = now();
    for (int64_t i = 0; i < times; i++) {
        if (number) { /* a program looks at it */
            good = good && vp_item(issue(row, a, b), &value) == VP_OK;
            continue;
        }
        vp_array r = vp_let(issue(row, a, b));
        good = good && vp_wait(r) == VP_OK;
        vp_drop(r);
    }
    const double each = (now() - start) / (double)times;
    vp_end(s);
    good = vp_sync() == VP_OK && good;
    return good ? each : -1;
}
