/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions, and those that are made of others: mean, variance, standard deviation.
 */
#include <string.h>

#include "api/build.h"
#include "net/cut.h"

/* The floating type in which NumPy takes the mean of t. */
static vp_dtype mean_type(vp_dtype t, vp_dtype want) {
    if (want != VP_AUTO) return want;
    int cls = vp__dtype[t].cls;
    return cls == VP__CLASS_F || cls == VP__CLASS_C ? t : VP_F64;
}

/* How many elements a reduction of x folds into one, less ddof, as an operand. */
static vp__expr *fold_count(const vp__expr *x, uint32_t axes, vp_dtype t,
                            const char *where) {
    vp__expr *e = vp__expr_new(x->late ? VP__EXPR_COUNT : VP__EXPR_CONST, 0, where);
    if (e->generation == 0) return e;
    e->dtype = (uint8_t)t;
    e->count = 1;
    int64_t n = 1;
    for (int i = 0; i < x->ndim && !x->late; i++)
        if (axes >> i & 1) n *= x->dims[i];
    vp__constant_count(e->value.u64, t, n);
    return e;
}

/* Division by a count keeps the sum's type: the count is of that type already. */
static vp__expr *divide_by_count(vp__expr *sum, vp__expr *count, const char *where) {
    vp__expr *args[2] = {sum, count};
    return vp__build_op(VP__OP_divide, where, 2, args);
}

static vp__expr *mean(vp__expr *x, uint32_t axes, vp_dtype t, bool keep,
                      const char *where) {
    vp__expr *count = fold_count(x, axes, t, where);
    return divide_by_count(vp__build_reduce(VP__OP_sum, where, x, axes, t, keep), count,
                           where);
}

/* Another leaf of the same elements. */
static vp__expr *again(const vp__expr *leaf, const char *where) {
    return vp__expr_leaf(leaf->storage, NULL, (vp_dtype)leaf->dtype, leaf->offset,
                         leaf->ndim, leaf->dims, leaf->strides, leaf->late, where);
}

/* The mean of the squared distances from the mean: two passes, as NumPy. */
static vp__expr *variance(vp__expr *x, uint32_t axes, vp_dtype t, bool keep,
                          const char *where) {
    x = vp__as_leaf(vp__build_cast(x, t, "var", where));
    if (x->kind != VP__EXPR_LEAF) return x;
    vp__expr *m = mean(again(x, where), axes, t, true, where);
    m = vp__as_leaf(m);
    vp__expr *count = fold_count(x, axes, (vp_dtype)vp__dtype[t].real, where);
    vp__expr *args[2] = {x, m};
    vp__expr *d = vp__build_op(VP__OP_subtract, where, 2, args);
    if (vp__dtype[t].cls == VP__CLASS_C) d = vp__build_op(VP__OP_abs, where, 1, &d);
    d = vp__build_op(VP__OP_square, where, 1, &d);
    vp__expr *sum = vp__build_reduce(VP__OP_sum, where, d, axes, VP_AUTO, keep);
    return divide_by_count(sum, count, where);
}

static const char *name_of(int op) {
    return op == VP__MEAN            ? "mean"
           : op == VP__VAR           ? "var"
           : op == VP__STD           ? "std"
           : (unsigned)op < VP__NOPS ? vp__ops[op].name
                                     : "reduction";
}

/* What is wrong with a reduction of x; sets the axes' bits. */
static vp__error *check(int op, const vp__expr *x, const vp_axes_t *axes, vp_dtype dtype,
                        const char *where, uint32_t *bits) {
    vp__error *error = vp__axes_bits(axes, x->ndim, name_of(op), where, bits);
    if (error) return error;
    if (dtype != VP_AUTO && !vp__dtype_is_valid(dtype))
        return vp__error_new(VP_ERR_TYPE, where, "%s: %d is not an element type",
                             name_of(op), (int)dtype);
    if ((unsigned)op < VP__NOPS && vp__ops[op].reduces) return NULL;
    if (op != VP__MEAN && op != VP__VAR && op != VP__STD)
        return vp__error_new(VP_ERR_VALUE, where, "no such reduction");
    const vp_dtype t = mean_type((vp_dtype)x->dtype, dtype);
    const int cls = vp__dtype[t].cls;
    if (cls == VP__CLASS_F || cls == VP__CLASS_C) return NULL;
    return vp__error_new(VP_ERR_TYPE, where,
                         "%s: the result type must be floating, not %s", name_of(op),
                         vp__dtype[t].name);
}

vp_expr vp__reduce(int op, const char *where, vp_operand operand, const vp_axes_t *axes,
                   vp_dtype dtype, int keepdims) {
    VP__CALL;
    vp__expr *x = vp__operand(operand, where);
    if (x->kind == VP__EXPR_POISON) return vp__give(x);
    x->type = x->kind == VP__EXPR_CONST ? 0 : x->type;
    uint32_t bits;
    vp__error *error = check(op, x, axes, dtype, where, &bits);
    if (error) return vp__give(vp__refuse(1, &x, where, error));
    const vp_dtype t = mean_type((vp_dtype)x->dtype, dtype);
    bool keep = keepdims != 0;
    vp__expr *r;
    if (op == VP__MEAN) {
        r = mean(x, bits, t, keep, where);
    } else if (op == VP__VAR || op == VP__STD) {
        r = variance(x, bits, t, keep, where);
        if (op == VP__STD) r = vp__build_op(VP__OP_sqrt, where, 1, &r);
    } else {
        r = vp__build_reduce(op, where, x, bits, dtype, keep);
    }
    return vp__give(r);
}
