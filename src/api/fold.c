/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions, and those that are made of others: mean, variance, standard deviation, norm.
 */
#include "api/fold.h"

#include <string.h>

#include "api/build.h"
#include "issue/cut.h"

static bool is_inexact(vp_dtype t) {
    return vp__dtype[t].cls == VP__CLASS_F || vp__dtype[t].cls == VP__CLASS_C;
}

/* The type in which NumPy takes the mean of t. */
static vp_dtype mean_type(vp_dtype t, vp_dtype want) {
    if (want != VP_AUTO) return want;
    return is_inexact(t) ? t : VP_F64;
}

/* How many elements a reduction of x folds into one, as an operand of a sum of type t: of its
 * own type if that has fractions. */
static vp__expr *fold_count(const vp__expr *x, uint32_t axes, vp_dtype t,
                            const char *where) {
    vp__expr *e = vp__expr_new(x->late ? VP__EXPR_COUNT : VP__EXPR_CONST, 0, where);
    if (e->generation == 0) return e;
    if (!is_inexact(t)) t = VP_F64;
    e->dtype = (uint8_t)t;
    e->count = 1;
    int64_t n = 1;
    for (int i = 0; i < x->ndim && !x->late; i++)
        if (axes >> i & 1) n *= x->dims[i];
    vp__constant_count(e->value.u64, t, n);
    return e;
}

/* The sum over the axes as type t, divided by a count of elements, again as t. */
static vp__expr *mean_by(vp__expr *x, vp__expr *count, uint32_t axes, vp_dtype t,
                         bool keep, const char *name, const char *where) {
    vp__expr *args[2] = {vp__build_reduce(VP__OP_sum, where, x, axes, t, keep), count};
    return vp__build_cast(vp__build_op(VP__OP_divide, where, 2, args), t, name, where);
}

static vp__expr *mean(vp__expr *x, uint32_t axes, vp_dtype t, bool keep, const char *name,
                      const char *where) {
    vp__expr *count = fold_count(x, axes, t, where);
    return mean_by(x, count, axes, t, keep, name, where);
}

/* Another leaf of the same elements. */
static vp__expr *again(const vp__expr *leaf, const char *where) {
    return vp__expr_leaf(leaf->storage, NULL, (vp_dtype)leaf->dtype, leaf->offset,
                         leaf->ndim, leaf->dims, leaf->strides, leaf->late, where);
}

/* The square of how far x is from m (NULL: from 0), both leaves, in the part that `part` takes
 * of them. */
static vp__expr *squared_part(int part, const vp__expr *x, const vp__expr *m,
                              const char *where) {
    vp__expr *args[2] = {again(x, where), m ? again(m, where) : NULL};
    for (int i = 0; i < 2 && args[i]; i++)
        args[i] = vp__build_op(part, where, 1, &args[i]);
    vp__expr *d = m ? vp__build_op(VP__OP_subtract, where, 2, args) : args[0];
    return vp__build_op(VP__OP_square, where, 1, &d);
}

/* The squared distances of x from m; consumes both. They are real if x is complex (or bool),
 * but complex if only m is: as in NumPy. */
static vp__expr *squared_distance(vp__expr *x, vp__expr *m, const char *where) {
    vp__expr *args[2] = {x, m}, *poison = vp__first_poison(2, args);
    if (poison) return poison;
    const int cls = vp__dtype[x->dtype].cls;
    const bool of_numbers = cls != VP__CLASS_C && cls != VP__CLASS_B;
    if (of_numbers || (cls == VP__CLASS_B && vp__dtype[m->dtype].cls != VP__CLASS_C)) {
        vp__expr *d = vp__build_op(VP__OP_subtract, where, 2, args);
        return vp__build_op(VP__OP_square, where, 1, &d);
    }
    vp__expr *parts[2] = {squared_part(VP__OP_real, x, m, where),
                          squared_part(VP__OP_imag, x, m, where)};
    vp__expr_free(x);
    vp__expr_free(m);
    return vp__build_op(VP__OP_add, where, 2, parts);
}

/* The mean of the squared distances from the mean: two passes, as NumPy, which also has the
 * types: the mean and the sum of the squares are of the type wanted, the distances of what
 * that and the elements have in common. */
static vp__expr *variance(vp__expr *x, uint32_t axes, vp_dtype want, bool keep,
                          const char *name, const char *where) {
    x = vp__as_leaf(x);
    if (x->kind != VP__EXPR_LEAF) return x;
    const vp_dtype t = mean_type((vp_dtype)x->dtype, want);
    const vp_dtype sum = want == VP_AUTO ? (vp_dtype)vp__dtype[t].real : t;
    vp__expr *m = vp__as_leaf(mean(again(x, where), axes, t, true, name, where));
    vp__expr *count = fold_count(x, axes, sum, where);
    return mean_by(squared_distance(x, m, where), count, axes, sum, keep, name, where);
}

/* The root of a variance, as its type. */
static vp__expr *deviation(vp__expr *v, const char *where) {
    if (v->kind == VP__EXPR_POISON) return v;
    const vp_dtype t = (vp_dtype)v->dtype;
    return vp__build_cast(vp__build_op(VP__OP_sqrt, where, 1, &v), t, "std", where);
}

/* The root of the sum of the squared magnitudes. */
static vp__expr *norm(vp__expr *x, uint32_t axes, bool keep, const char *where) {
    x = vp__build_cast(x, mean_type((vp_dtype)x->dtype, VP_AUTO), "norm", where);
    vp__expr *squares;
    if (vp__dtype[x->dtype].cls == VP__CLASS_C) {
        x = vp__as_leaf(x);
        if (x->kind != VP__EXPR_LEAF) return x;
        vp__expr *parts[2] = {squared_part(VP__OP_real, x, NULL, where),
                              squared_part(VP__OP_imag, x, NULL, where)};
        vp__expr_free(x);
        squares = vp__build_op(VP__OP_add, where, 2, parts);
    } else {
        squares = vp__build_op(VP__OP_square, where, 1, &x);
    }
    vp__expr *sum = vp__build_reduce(VP__OP_sum, where, squares, axes, VP_AUTO, keep);
    return vp__build_op(VP__OP_sqrt, where, 1, &sum);
}

static const char *name_of(int op) {
    return op == VP__MEAN            ? "mean"
           : op == VP__NORM          ? "norm"
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
    if (op < VP__MEAN || op > VP__NORM)
        return vp__error_new(VP_ERR_VALUE, where, "no such reduction");
    if (op == VP__NORM && dtype != VP_AUTO)
        return vp__error_new(VP_ERR_TYPE, where,
                             "norm: has the type of the elements, not %s; cast those",
                             vp__dtype[dtype].name);
    if (op == VP__MEAN || op == VP__NORM || x->dtype != VP_BOOL || dtype != VP_BOOL)
        return NULL;
    return vp__error_new(VP_ERR_TYPE, where,
                         "%s of bool cannot give bool: there are no differences of truth "
                         "values; give it a type of numbers",
                         name_of(op));
}

vp__expr *vp__fold(int op, const char *where, vp__expr *x, const vp_axes_t *axes,
                   vp_dtype dtype, bool keep) {
    if (x->kind == VP__EXPR_POISON) return x;
    x->type = x->kind == VP__EXPR_CONST ? 0 : x->type;
    uint32_t bits;
    vp__error *error = check(op, x, axes, dtype, where, &bits);
    if (error) return vp__refuse(1, &x, where, error);
    const vp_dtype t = mean_type((vp_dtype)x->dtype, dtype);
    /* A late count counts what the sum before it folds: both must be in one segment, with room
     * for the conversion of a sum of integers. */
    if (op >= VP__MEAN && op != VP__NORM && x->late && !is_inexact(t)) x = vp__as_leaf(x);
    vp__expr *r;
    if (op == VP__MEAN) {
        r = mean(x, bits, t, keep, "mean", where);
    } else if (op == VP__VAR || op == VP__STD) {
        r = variance(x, bits, dtype, keep, name_of(op), where);
        if (op == VP__STD) r = deviation(r, where);
    } else if (op == VP__NORM) {
        r = norm(x, bits, keep, where);
    } else {
        r = vp__build_reduce(op, where, x, bits, dtype, keep);
    }
    return r;
}
