/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans, sorts, Fourier transforms and matrix products.
 */
#include <string.h>

#include "api/build.h"
#include "array/shape.h"
#include "net/library.h"

vp_expr vp__along(const char *where, vp_operand x, int axis, int what) {
    VP__CALL;
    static const char *const names[] = {"cumsum", "cumprod", "sort", "argsort"};
    static const vp__lib_kind kinds[] = {VP__LIB_CUMSUM, VP__LIB_CUMPROD, VP__LIB_SORT,
                                         VP__LIB_ARGSORT};
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    if (what < 0 || what > VP__ARGSORT)
        return vp__give(vp__refuse(
            1, &e, where, vp__error_new(VP_ERR_VALUE, where, "no such operation")));
    vp_dtype work = (vp_dtype)e->dtype, result;
    vp__error *error = vp__axis_check(&axis, e->ndim, names[what], where);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    if (what == VP__CUMSUM || what == VP__CUMPROD)
        vp__reduce_types(VP__OP_sum, (vp_dtype)e->dtype, VP_AUTO, &work, &result);
    result = what == VP__ARGSORT ? VP_I64 : work;
    e = vp__as_leaf(vp__build_cast(e, work, names[what], where));
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__lib_params p = {.kind = kinds[what], .axis = axis, .order = VP__ORDER_KEEP};
    int64_t dims[VP__MAXDIM];
    int ndim = e->ndim;
    bool late = e->late;
    memcpy(dims, e->dims, (size_t)ndim * sizeof(int64_t));
    vp__value v;
    vp__library_issue(&p, result, 1, &e, ndim, late ? NULL : dims, names[what], where,
                      &v);
    return vp__give(vp__value_expr(&v, where));
}

/* The type a transform takes: its operand's, or the nearest inexact one. */
static vp_dtype fourier_type(int what, vp_dtype t) {
    bool single = t == VP_F32 || t == VP_C64;
    bool complex = vp__dtype[t].cls == VP__CLASS_C || what == VP__IRFFT;
    if (single) return complex ? VP_C64 : VP_F32;
    return complex ? VP_C128 : VP_F64;
}

vp_expr vp__fourier(int what, const char *where, vp_operand x, int axis,
                    const int64_t *length) {
    VP__CALL;
    static const vp__lib_kind kinds[] = {VP__LIB_FFT, VP__LIB_IFFT, VP__LIB_RFFT,
                                         VP__LIB_IRFFT};
    vp__expr *e = vp__operand(x, where);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    if (what < 0 || what > VP__IRFFT)
        return vp__give(vp__refuse(
            1, &e, where, vp__error_new(VP_ERR_VALUE, where, "no such operation")));
    const char *name = vp__fft_name(kinds[what], false);
    vp__error *error = NULL;
    if (e->ndim == 0)
        error =
            vp__error_new(VP_ERR_SHAPE, where,
                          "%s: an operand of shape () has no axis to transform", name);
    else
        error = vp__axis_check(&axis, e->ndim, name, where);
    if (!error && length && *length < 1)
        error =
            vp__error_new(VP_ERR_VALUE, where,
                          "%s: the length %lld is not a length; it must be at least 1",
                          name, (long long)*length);
    if (!error && what == VP__RFFT && vp__dtype[e->dtype].cls == VP__CLASS_C)
        error = vp__error_new(VP_ERR_TYPE, where,
                              "rfft: takes real elements, not %s; use vp_fft",
                              vp__dtype[e->dtype].name);
    if (error) return vp__give(vp__refuse(1, &e, where, error));
    vp_dtype taken = fourier_type(what, (vp_dtype)e->dtype);
    vp_dtype result = taken;
    if (what == VP__IRFFT)
        result = taken == VP_C64 ? VP_F32 : VP_F64;
    else if (vp__dtype[taken].cls == VP__CLASS_F)
        result = taken == VP_F32 ? VP_C64 : VP_C128;
    e = vp__as_leaf(vp__build_cast(e, taken, name, where));
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__lib_params p = {.kind = kinds[what],
                        .axis = axis,
                        .length = length ? *length : 0,
                        .order = VP__ORDER_KEEP};
    int64_t dims[VP__MAXDIM], n;
    int ndim = e->ndim;
    bool late = e->late;
    if (!late) {
        error = vp__fft_dims(&p, ndim, e->dims, name, where, &n, dims);
        if (error) return vp__give(vp__refuse(1, &e, where, error));
    }
    if (!late && what != VP__IRFFT)
        return vp__give(vp__build_transform(e, &p, result, dims, where));
    vp__value v;
    vp__library_issue(&p, result, 1, &e, ndim, late ? NULL : dims, name, where, &v);
    return vp__give(vp__value_expr(&v, where));
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
    if (row) in[0] = a = with_axis(a, true, where);
    if (column) in[1] = b = with_axis(b, false, where);
    int64_t dims[VP__MAXDIM];
    int n = 0;
    if (!vp__shape_broadcast(&n, dims, a->ndim - 2, a->dims) ||
        !vp__shape_broadcast(&n, dims, b->ndim - 2, b->dims)) {
        error =
            vp__error_new(VP_ERR_SHAPE, where,
                          "matmul: the leading axes of shapes %s and %s do not broadcast",
                          vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
                          vp__shape_text(tb, sizeof tb, b->ndim, b->dims));
        return vp__give(vp__refuse(2, in, where, error));
    }
    dims[n++] = a->dims[a->ndim - 2];
    dims[n++] = b->dims[b->ndim - 1];
    vp__lib_params p = {.kind = VP__LIB_MATMUL};
    vp__value v;
    vp__library_issue(&p, t, 2, in, n, dims, "matmul", where, &v);
    vp__expr *r = vp__value_expr(&v, where);
    if (r->kind != VP__EXPR_LEAF || !(row || column)) return vp__give(r);
    int64_t strides[VP__MAXDIM];
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
