/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans, sorts, Fourier transforms and matrix products.
 */
#include <assert.h>
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/shape.h"

static_assert((int)VP__CUMSUM == VP__LIB_cumsum && (int)VP__IRFFT == VP__LIB_irfft,
              "vproc.h says which row it is");

static vp_expr no_operation(vp__expr *e, const char *where) {
    return vp__give(vp__refuse(1, &e, where,
                               vp__error_new(VP_ERR_VALUE, where, "no such operation")));
}

/* The operand as a leaf of the type that the row works with. */
static vp__expr *convert(vp__expr *e, vp__lib_kind kind, vp_dtype *result,
                         const char *where) {
    const char *name = vp__lib_rows[kind].name;
    vp_dtype work;
    if (!vp__lib_types(kind, (vp_dtype)e->dtype, &work, result))
        return vp__refuse(1, &e, where,
                          vp__error_new(VP_ERR_TYPE, where, "%s does not take %s", name,
                                        vp__dtype[e->dtype].name));
    return vp__as_leaf(vp__build_cast(e, work, name, where));
}

vp_expr vp__along(const char *where, vp_operand x, int axis, int what) {
    VP__CALL;
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    if ((unsigned)what >= VP__LIB_KINDS || !vp__lib_along[what].run)
        return no_operation(e, where);
    const char *name = vp__lib_rows[what].name;
    vp__error *error = vp__axis_check(&axis, e->ndim, name, where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    const vp__lib_params p = {
        .kind = (vp__lib_kind)what, .order = VP__ORDER_KEEP, .axis = axis};
    vp_dtype result = VP_BOOL;
    e = convert(e, p.kind, &result, where);
    return vp__give(vp__build_library(&p, result, 1, &e, e->ndim, name, where));
}

/* What is wrong with a transform of this operand; counts the axis from the front. */
static vp__error *check_fourier(const vp__expr *e, vp__lib_kind kind, int *axis,
                                const int64_t *length, const char *where) {
    const char *name = vp__lib_rows[kind].name;
    if (e->ndim == 0)
        return vp__error_new(VP_ERR_SHAPE, where,
                             "%s: an operand of shape () has no axis to transform", name);
    vp__error *error = vp__axis_check(axis, e->ndim, name, where);
    if (error) return error;
    if (length && *length < 1)
        return vp__error_new(VP_ERR_VALUE, where,
                             "%s: the length %lld is not a length; it must be at least 1",
                             name, (long long)*length);
    vp_dtype work, result;
    if (!vp__lib_types(kind, (vp_dtype)e->dtype, &work, &result))
        return vp__error_new(VP_ERR_TYPE, where,
                             "%s: takes real elements, not %s; use vp_fft", name,
                             vp__dtype[e->dtype].name);
    return NULL;
}

vp_expr vp__fourier(int what, const char *where, vp_operand x, int axis,
                    const int64_t *length) {
    VP__CALL;
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    if ((unsigned)what >= VP__LIB_KINDS || !vp__lib_is_fourier((vp__lib_kind)what))
        return no_operation(e, where);
    const vp__lib_kind kind = (vp__lib_kind)what;
    vp__error *error = check_fourier(e, kind, &axis, length, where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    const vp__lib_params p = {
        .kind = kind, .order = VP__ORDER_KEEP, .fourier = {axis, length ? *length : 0}};
    vp_dtype result = VP_BOOL;
    e = convert(e, kind, &result, where);
    return vp__give(
        vp__build_library(&p, result, 1, &e, e->ndim, vp__lib_rows[kind].name, where));
}

static vp__expr *with_axis(vp__expr *e, bool in_front, const char *where) {
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    int at = in_front ? 1 : 0;
    for (int i = 0; i < e->ndim; i++) {
        dims[i + at] = e->dims[i];
        strides[i + at] = e->strides[i];
    }
    dims[in_front ? 0 : e->ndim] = 1;
    strides[in_front ? 0 : e->ndim] = 0;
    vp__expr *r = vp__expr_leaf(e->storage, NULL, (vp_dtype)e->dtype, e->offset,
                                e->ndim + 1, dims, strides, false, where);
    vp__expr_free(e);
    return r;
}

/* Whether a kernel makes the sums of a product with a vector: it is issued in half the time
 * of a library operation, and adds in several lanes. BLAS is quicker for large matrices,
 * most of all complex ones. A matter of shape and type alone, so that the bits are. */
static bool is_sum(const vp__expr *a, const vp__expr *b, vp_dtype t) {
    enum { MOST = 1 << 16, MOST_COMPLEX = 1 << 12 };
    if (vp__dtype[t].cls == VP__CLASS_B) return false;
    if (a->ndim == 1 && b->ndim == 1) return true;
    if (a->ndim > 1 && b->ndim > 1) return false;
    const vp__expr *matrix = a->ndim > 1 ? a : b;
    const double rows = (double)matrix->dims[matrix->ndim - 2];
    const double size = rows * (double)matrix->dims[matrix->ndim - 1];
    return size <= (vp__dtype[t].cls == VP__CLASS_C ? MOST_COMPLEX : MOST);
}

/* The product of a vector and what has any number of axes, as that sum. */
static vp__expr *sum_of_products(vp__expr **in, vp_dtype t, const char *where) {
    int axis = in[0]->ndim - 1;
    if (in[1]->ndim > 1) {
        axis = in[1]->ndim - 2;
        in[0] = with_axis(in[0], false, where);
    }
    return vp__build_reduce(VP__OP_sum, where,
                            vp__build_op(VP__OP_multiply, where, 2, in),
                            UINT32_C(1) << axis, t, false);
}

vp_expr vp__matmul(const char *where, vp_operand x, vp_operand y) {
    VP__CALL;
    vp__expr *in[2] = {vp__operand(x, where), vp__operand(y, where)};
    vp__expr *poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    vp_dtype t = vp__dtype_promote((vp_dtype)in[0]->dtype, (vp_dtype)in[1]->dtype);
    for (int i = 0; i < 2; i++)
        in[i] = vp__as_sized_leaf(vp__build_cast(in[i], t, "matmul", where));
    poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    vp__expr *a = in[0], *b = in[1];
    vp__error *error = NULL;
    if (a->ndim == 0 || b->ndim == 0)
        error = vp__error_new(VP_ERR_SHAPE, where,
                              "matmul: a number is not a matrix; use vp_mul");
    bool row = a->ndim == 1, column = b->ndim == 1;
    char ta[200], tb[200];
    if (!error && a->dims[a->ndim - 1] != b->dims[column ? 0 : b->ndim - 2])
        error = vp__error_new(
            VP_ERR_SHAPE, where,
            "matmul: shapes %s and %s do not fit; the last axis of the first "
            "must be as long as the last but one of the second",
            vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
            vp__shape_text(tb, sizeof tb, b->ndim, b->dims));
    if (error) return vp__give(vp__refuse(2, in, where, error));
    if (is_sum(a, b, t)) return vp__give(sum_of_products(in, t, where));
    if (row) in[0] = a = with_axis(a, true, where);
    if (column) in[1] = b = with_axis(b, false, where);
    const vp__lib_params p = {.kind = VP__LIB_matmul};
    const int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    vp__expr *r = vp__build_library(&p, t, 2, in, n, "matmul", where);
    if (r->kind != VP__EXPR_LEAF || !(row || column)) return vp__give(r);
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    int k = 0;
    for (int i = 0; i < n; i++) {
        if ((row && i == n - 2) || (column && i == n - 1)) continue;
        dims[k] = r->dims[i];
        strides[k++] = r->strides[i];
    }
    vp__expr *s =
        vp__expr_leaf(r->storage, NULL, t, r->offset, k, dims, strides, false, where);
    vp__expr_free(r);
    return vp__give(s);
}
