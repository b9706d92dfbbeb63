/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of vectors and of stacks of matrices, composed of what there is. Those of two vectors
 * are sums of products, which are one kernel together with what computes the vectors and run on
 * all cores; outer products are element-wise on views; all others are matrix products.
 */
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/shape.h"

/* How often two operands are folded over: the last axis of the first, and an axis of the
 * second. */
static vp__error *check_lengths(const char *name, const vp__expr *a, const vp__expr *b,
                                int axis, const char *where) {
    if (a->late || b->late || a->dims[a->ndim - 1] == b->dims[axis]) return NULL;
    char ta[200], tb[200];
    return vp__error_new(
        VP_ERR_SHAPE, where,
        "%s: shapes %s and %s do not fit; the last axis of the first must "
        "be as long as the last%s of the second",
        name, vp__shape_text(ta, sizeof ta, a->ndim, a->dims),
        vp__shape_text(tb, sizeof tb, b->ndim, b->dims),
        axis + 1 == b->ndim ? "" : " but one");
}

/* The sum of the products of two vectors, in the type of those. */
static vp__expr *sum_of_products(vp__expr **in, const char *where) {
    vp__expr *e = vp__apply(VP__OP_multiply, where, 2, in);
    return vp__build_reduce(VP__OP_sum, where, e, 1, (vp_dtype)e->dtype, false);
}

/* The axes of an array with the one before last moved to the front, or (back) the other way
 * round: the last to where the one before last is. */
static vp_expr swapped(vp_operand x, int ndim, bool to_front, const char *where) {
    vp_axes_t axes = {.count = ndim};
    for (int i = 0; i < ndim; i++) axes.axis[i] = i;
    if (to_front) {
        for (int i = ndim - 2; i > 0; i--) axes.axis[i] = i - 1;
        axes.axis[0] = ndim - 2;
    } else {
        axes.axis[ndim - 2] = ndim - 1;
        axes.axis[ndim - 1] = ndim - 2;
    }
    return vp__permute(where, x, axes);
}

static vp_shape_t two_dims(int64_t rows, int64_t columns) {
    return (vp_shape_t){.ndim = 2, .dims = {rows, columns}};
}

/* All matrices of the one with all of the other: one product of two that hold them all. */
static vp_expr product_of_stacks(vp__expr *a, vp__expr *b, const char *where) {
    const int na = a->ndim - 1, nb = b->ndim - 1;
    const int64_t length = a->dims[na];
    vp_shape_t shape = {.ndim = na + nb};
    if (shape.ndim > VP_MAXDIM) {
        vp__error *error = vp__error_new(
            VP_ERR_SHAPE, where, "dot: the result would have %d axes", shape.ndim);
        return vp__give(vp__refuse(2, (vp__expr *[]){a, b}, where, error));
    }
    int64_t rows = 1, columns = 1;
    for (int i = 0; i < na; i++) rows *= shape.dims[i] = a->dims[i];
    for (int i = 0; i < nb; i++)
        columns *= shape.dims[na + i] = b->dims[i < nb - 1 ? i : nb];
    const vp_expr in_front = swapped(vp__in_expr(vp__give(b)), nb + 1, true, where);
    const vp_expr x =
        vp__reshape(where, vp__in_expr(vp__give(a)), two_dims(rows, length));
    const vp_expr y =
        vp__reshape(where, vp__in_expr(in_front), two_dims(length, columns));
    const vp_expr all = vp__matmul(where, vp__in_expr(x), vp__in_expr(y));
    return vp__reshape(where, vp__in_expr(all), shape);
}

vp_expr vp__dot(const char *where, vp_operand x, vp_operand y, bool inner) {
    VP__CALL;
    vp__expr *in[2] = {vp__argument(x, where), vp__argument(y, where)};
    vp__expr *poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    const int na = in[0]->ndim, nb = in[1]->ndim;
    if (na == 0 || nb == 0) return vp__give(vp__apply(VP__OP_multiply, where, 2, in));
    const bool vectors = na == 1 && nb == 1;
    for (int i = 0; i < 2 && !vectors; i++) in[i] = vp__as_sized_leaf(in[i]);
    poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    const int axis = inner || nb == 1 ? nb - 1 : nb - 2;
    vp__error *error = check_lengths(inner ? "inner" : "dot", in[0], in[1], axis, where);
    if (error) return vp__give(vp__refuse(2, in, where, error));
    if (vectors) return vp__give(sum_of_products(in, where));
    if (inner && nb > 1) {
        const vp_expr a = vp__give(in[0]);
        const vp_expr b = swapped(vp__in_expr(vp__give(in[1])), nb, false, where);
        return vp__dot(where, vp__in_expr(a), vp__in_expr(b), false);
    }
    if (na > 1 && nb > 2) return product_of_stacks(in[0], in[1], where);
    const vp_expr a = vp__give(in[0]);
    return vp__matmul(where, vp__in_expr(a), vp__in_expr(vp__give(in[1])));
}

/* All elements of an operand along one axis. */
static vp__expr *flattened(vp_operand x, const char *where) {
    vp__expr *e = vp__argument(x, where);
    if (e->kind == VP__EXPR_POISON || e->ndim == 1) return e;
    const vp_shape_t all = {.ndim = 1, .dims = {-1}};
    return vp__argument(vp__in_expr(vp__reshape(where, vp__in_expr(vp__give(e)), all)),
                        where);
}

vp_expr vp__vdot(const char *where, vp_operand x, vp_operand y) {
    VP__CALL;
    vp__expr *in[2] = {flattened(x, where), flattened(y, where)};
    vp__expr *poison = vp__first_poison(2, in);
    if (poison) return vp__give(poison);
    vp__error *error = check_lengths("vdot", in[0], in[1], 0, where);
    if (error) return vp__give(vp__refuse(2, in, where, error));
    if (vp__dtype[in[0]->dtype].cls == VP__CLASS_C)
        in[0] = vp__apply(VP__OP_conj, where, 1, in);
    return vp__give(sum_of_products(in, where));
}

vp_expr vp__outer(const char *where, vp_operand x, vp_operand y) {
    VP__CALL;
    const vp_expr rows = vp__expand(where, vp__in_expr(vp__give(flattened(x, where))), 1);
    vp__expr *in[2] = {vp__argument(vp__in_expr(rows), where), flattened(y, where)};
    return vp__give(vp__apply(VP__OP_multiply, where, 2, in));
}
