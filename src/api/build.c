/* SPDX-License-Identifier: Apache-2.0 */
#include "api/build.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/shape.h"
#include "base/config.h"
#include "issue/cut.h"
#include "jit/kernel.h"
#include "net/cost.h"
#include "net/wait.h"
#include "ops/kernels.h"

/* --- numbers ----------------------------------------------------------------------------- */

vp__expr *vp__build_number(vp_operand x, const char *where) {
    vp__expr *e = vp__expr_new(VP__EXPR_CONST, 0, where);
    if (e->generation == 0) return e;
    e->count = 1;
    e->value.u64[0] = e->value.u64[1] = 0;
    switch ((vp__in_kind)x.kind) {
    case VP__IN_BOOL:
        e->dtype = VP_BOOL;
        e->value.u64[0] = x.bits != 0;
        break;
    case VP__IN_UINT:
        e->dtype = x.bits > INT64_MAX ? VP_U64 : VP_I64;
        e->value.u64[0] = x.bits;
        break;
    case VP__IN_FLOAT:
        e->dtype = VP_F64;
        e->value.u64[0] = x.bits;
        break;
    case VP__IN_INT:
    case VP__IN_ARRAY:
    case VP__IN_EXPR:
        e->dtype = VP_I64;
        e->value.u64[0] = x.bits;
        break;
    }
    e->type = 1; /* weak, until it meets something */
    return e;
}

int vp__weak_of(const vp__expr *e) {
    if (e->kind != VP__EXPR_CONST || e->type != 1) return -1;
    switch (vp__dtype[e->dtype].cls) {
    case VP__CLASS_B: return VP__WEAK_BOOL;
    case VP__CLASS_F: return VP__WEAK_FLOAT;
    case VP__CLASS_C: return VP__WEAK_COMPLEX;
    default: return VP__WEAK_INT;
    }
}

vp__expr *vp__first_poison(int nargs, vp__expr **args) {
    for (int i = 0; i < nargs; i++) {
        if (args[i]->kind != VP__EXPR_POISON) continue;
        for (int k = 0; k < nargs; k++)
            if (k != i) vp__expr_free(args[k]);
        return args[i];
    }
    return NULL;
}

vp__expr *vp__refuse(int nargs, vp__expr **args, const char *where, vp__error *error) {
    for (int i = 0; i < nargs; i++) vp__expr_free(args[i]);
    return vp__expr_poison(error, where);
}

/* --- conversions --------------------------------------------------------------------------- */

/* Whether a C integer has a value of this type; NumPy refuses those that have not. */
static bool integer_fits(const vp__expr *e, vp_dtype to) {
    int bits = vp__dtype[to].size * 8;
    bool negative = e->dtype == VP_I64 && (int64_t)e->value.u64[0] < 0;
    if (vp__dtype[to].cls == VP__CLASS_U)
        return !negative && (bits == 64 || e->value.u64[0] >> bits == 0);
    if (vp__dtype[to].cls != VP__CLASS_S) return true;
    if (e->dtype == VP_U64) return false;
    int64_t v = (int64_t)e->value.u64[0];
    return bits == 64 || (v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1));
}

static vp__error *convert_constant(vp__expr *e, vp_dtype to, const char *name,
                                   const char *where) {
    if (vp__weak_of(e) == VP__WEAK_INT && !integer_fits(e, to)) {
        if (e->dtype == VP_U64)
            return vp__error_new(VP_ERR_VALUE, where,
                                 "%s: the integer %llu does not fit %s", name,
                                 (unsigned long long)e->value.u64[0], vp__dtype[to].name);
        return vp__error_new(VP_ERR_VALUE, where, "%s: the integer %lld does not fit %s",
                             name, (long long)e->value.u64[0], vp__dtype[to].name);
    }
    uint64_t value[2] = {0, 0};
    vp__kernels_get()->cast[e->dtype][to](value, e->value.u64, 1);
    memcpy(e->value.u64, value, sizeof value);
    e->dtype = (uint8_t)to;
    e->type = 0;
    return NULL;
}

static void copy_dims(vp__expr *e, const vp__expr *from) {
    for (int i = 0; i < from->ndim; i++) e->dims[i] = from->dims[i];
    e->late = from->late;
    e->count = from->count;
}

/* Whether an array of this shape fits the address space whatever its type; one without
 * elements must still have strides. */
static bool is_modest(const vp__expr *e) {
    if (__builtin_expect(e->count > 0, 1)) return e->count <= INT64_MAX / 16;
    return vp__shape_count(e->ndim, e->dims, 16) >= 0;
}

/* Adds an argument's totals to e's. */
static void adopt(vp__expr *e, int i, vp__expr *arg) {
    e->arg[i] = arg;
    e->nargs = (uint8_t)(i + 1);
    e->terms = (uint16_t)(e->terms + arg->terms);
    e->leaves = (uint16_t)(e->leaves + arg->leaves);
    e->rolls = (uint16_t)(e->rolls + arg->rolls);
    e->cost += arg->cost;
    e->shares |= arg->shares | (arg->others != 0);
}

/* An expression that stays unissued, if there is nothing wrong with the operands' sizes. */
static vp__expr *keep_library(const vp__lib_params *p, vp_dtype dtype, int nin,
                              vp__expr **in, const char *name, const char *where) {
    int64_t dims[2 * VP__MAXDIM];
    int ndim;
    vp__error *error = vp__library_dims(p, dtype, nin, in, name, where, &ndim, dims);
    return error ? vp__refuse(nin, in, where, error)
                 : vp__expr_library(p, dtype, nin, in, ndim, dims, where);
}

vp__expr *vp__build_library(const vp__lib_params *p, vp_dtype dtype, int nin,
                            vp__expr **in, int ndim, const char *name,
                            const char *where) {
    vp__expr *poison = vp__first_poison(nin, in);
    if (poison) return poison;
    bool late = false;
    for (int i = 0; i < nin; i++) late |= in[i]->late;
    if (!late && vp__lib_takes_epilogues(p->kind))
        return keep_library(p, dtype, nin, in, name, where);
    vp__value v;
    vp__library_issue(p, dtype, nin, in, ndim, NULL, name, where, &v);
    return vp__value_expr(&v, where);
}

vp__expr *vp__build_cast(vp__expr *e, vp_dtype to, const char *name, const char *where) {
    if (e->kind == VP__EXPR_POISON) return e;
    if (!vp__dtype_is_valid(to))
        return vp__refuse(1, &e, where,
                          vp__error_new(VP_ERR_TYPE, where,
                                        "%s: %d is not an element type", name, (int)to));
    if (e->kind == VP__EXPR_CONST) {
        vp__error *error = e->dtype == to ? NULL : convert_constant(e, to, name, where);
        e->type = 0;
        return error ? vp__refuse(1, &e, where, error) : e;
    }
    if (e->dtype == to) return e;
    if (!e->late && !is_modest(e))
        return vp__refuse(1, &e, where,
                          vp__error_new(VP_ERR_SHAPE, where,
                                        "%s: the result would be too large", name));
    if (e->terms + 1 > VP__SEGMENT_TERMS) {
        vp__materialise(e);
        if (e->kind == VP__EXPR_POISON) return e;
    }
    vp__expr *c = vp__expr_new(VP__EXPR_OP, e->ndim, where);
    if (c->generation == 0) {
        vp__expr_free(e);
        return c;
    }
    c->op = VP__OP_CAST;
    c->type = e->dtype;
    c->dtype = (uint8_t)to;
    copy_dims(c, e);
    c->like = e->like;
    c->cost = (float)vp__cost_static(VP__OP_CAST, to, e->count);
    adopt(c, 0, e);
    return c;
}

/* --- element-wise ---------------------------------------------------------------------------- */

static vp__error *refuse_types(int op, int nargs, vp__expr **args, const char *where) {
    char text[160];
    int at = 0;
    for (int i = 0; i < nargs; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s",
                       i == 0           ? ""
                       : i + 1 == nargs ? " and "
                                        : ", ",
                       vp__dtype[args[i]->dtype].name);
    return vp__error_new(VP_ERR_TYPE, where, "%s does not take %s", vp__op_name(op),
                         text);
}

/* What vp__op_types said of one or two strong operands that are to have one working type:
 * 1 + work << 4 + result. The same few pairs come again and again. Every thread would write
 * the same bytes; relaxed, because one byte says it all. */
static _Atomic uint8_t known_types[VP__NOPS][VP__NDTYPES][VP__NDTYPES];
static_assert(VP__NDTYPES < 15, "two types must fit a byte");

static bool find_types(int op, int nargs, const vp__optype *in, vp_dtype *work,
                       vp_dtype *result) {
    const vp__optype *last = &in[nargs - 1];
    bool strong = nargs <= 2 && in[0].weak < 0 && last->weak < 0;
    _Atomic uint8_t *slot = strong ? &known_types[op][in[0].dtype][last->dtype] : NULL;
    uint8_t seen = strong ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (seen) {
        work[0] = work[1] = (vp_dtype)((seen - 1) >> 4);
        *result = (vp_dtype)((seen - 1) & 15);
        return true;
    }
    if (!vp__op_types((vp__op)op, in, work, result)) return false;
    if (strong && work[0] == work[nargs - 1])
        atomic_store_explicit(slot, (uint8_t)(1 + (work[0] << 4 | *result)),
                              memory_order_relaxed);
    return true;
}

static vp__error *broadcast_args(vp__expr *e, int nargs, vp__expr **args) {
    int64_t dims[VP__MAXDIM];
    int n = 0;
    for (int i = 0; i < nargs; i++) {
        if (vp__shape_broadcast(&n, dims, args[i]->ndim, args[i]->dims)) continue;
        char a[200], b[200];
        const vp__expr *other = args[i > 0 ? i - 1 : 0];
        return vp__error_new(
            VP_ERR_SHAPE, e->where, "%s: shapes %s and %s do not broadcast together",
            vp__op_name(e->op), vp__shape_text(a, sizeof a, other->ndim, other->dims),
            vp__shape_text(b, sizeof b, args[i]->ndim, args[i]->dims));
    }
    memcpy(e->dims, dims, (size_t)n * sizeof(int64_t));
    e->count = vp__shape_count(n, dims, 16);
    if (e->count < 0)
        return vp__error_new(VP_ERR_SHAPE, e->where, "%s: the result would be too large",
                             vp__op_name(e->op));
    return NULL;
}

/* The quick way for operands of one shape, possibly beside constants: takes over shape and
 * common layout. False when they have to be broadcast. */
static bool copy_shape(vp__expr *e, int nargs, vp__expr **args) {
    const vp__expr *first = NULL;
    const vp__expr *like = NULL;
    for (int i = 0; i < nargs; i++) {
        const vp__expr *a = args[i];
        if (a->kind == VP__EXPR_CONST) continue;
        if (!first) {
            first = a;
            like = a->like;
            continue;
        }
        if (!vp__shape_equal(first->ndim, first->dims, a->ndim, a->dims)) return false;
        if (like && (!a->like || !vp__expr_alike(like, a->like))) like = NULL;
    }
    if (!first || (!first->late && !is_modest(first))) return false;
    copy_dims(e, first);
    e->like = like;
    return true;
}

/* Closes the largest arguments until the new segment keeps within its limits. */
static void make_room(int nargs, vp__expr **args) {
    for (;;) {
        int terms = 2 * nargs + 1, leaves = 0, largest = 0;
        for (int i = 0; i < nargs; i++) {
            terms += args[i]->terms;
            leaves += args[i]->leaves;
            if (args[i]->terms > args[largest]->terms) largest = i;
        }
        if (terms <= VP__SEGMENT_TERMS && leaves <= VP__SEGMENT_LEAVES) return;
        vp__materialise(args[largest]);
    }
}

/* The short way for one or two operands of the same type, shape and layout, which need no
 * conversion and no broadcast. NULL, and nothing done, when it is not to be had. */
static inline vp__expr *build_alike(int op, const char *where, int nargs,
                                    vp__expr **args) {
    vp__expr *a = args[0], *b = args[nargs - 1];
    if (nargs > 2 || !a->like || !b->like || a->dtype != b->dtype) return NULL;
    uint8_t seen =
        atomic_load_explicit(&known_types[op][a->dtype][a->dtype], memory_order_relaxed);
    if ((seen - 1) >> 4 != a->dtype || !is_modest(a)) return NULL;
    if (a->terms + b->terms + 5 > VP__SEGMENT_TERMS ||
        a->leaves + b->leaves > VP__SEGMENT_LEAVES)
        return NULL;
    if (nargs == 2 && (!vp__shape_equal(a->ndim, a->dims, b->ndim, b->dims) ||
                       !vp__expr_alike(a->like, b->like)))
        return NULL;
    vp__expr *e = vp__expr_new(VP__EXPR_OP, a->ndim, where);
    if (e->generation == 0) return NULL;
    e->op = (uint8_t)op;
    e->type = a->dtype;
    e->dtype = (seen - 1) & 15;
    e->like = a->like;
    copy_dims(e, a);
    e->cost = (float)vp__cost_static(op, e->type, e->count);
    adopt(e, 0, a);
    if (nargs == 2) adopt(e, 1, b);
    return e;
}

/* --- comparisons of integers that no type of integers holds together --- */

static bool is_comparison(int op) {
    return op >= VP__OP_equal && op <= VP__OP_greater_equal;
}
static_assert(VP__OP_greater_equal - VP__OP_equal == 5, "the six stand together");

/* The comparison that says the same with its operands exchanged. */
static int mirrored(int op) {
    switch (op) {
    case VP__OP_less: return VP__OP_greater;
    case VP__OP_less_equal: return VP__OP_greater_equal;
    case VP__OP_greater: return VP__OP_less;
    case VP__OP_greater_equal: return VP__OP_less_equal;
    default: return op;
    }
}

/* Comparing with a C integer beyond type t, every element gives the same. So does comparing
 * with a limit of t, which the number becomes; returns the comparison to make. */
static int compare_with_limit(int op, vp_dtype t, vp__expr *number) {
    bool is_signed = vp__dtype[t].cls == VP__CLASS_S;
    uint64_t top = UINT64_MAX >> (64 - vp__dtype[t].size * 8 + is_signed);
    bool is_below = number->dtype == VP_I64 && (int64_t)number->value.u64[0] < 0;
    number->dtype = is_signed ? VP_I64 : VP_U64;
    number->value.u64[0] = !is_below ? top : is_signed ? ~top : 0;
    if (is_below)
        return op == VP__OP_greater || op == VP__OP_greater_equal ||
                       op == VP__OP_not_equal
                   ? VP__OP_greater_equal
                   : VP__OP_less;
    return op == VP__OP_less || op == VP__OP_less_equal || op == VP__OP_not_equal
               ? VP__OP_less_equal
               : VP__OP_greater;
}

static vp__expr *with_number(int op, vp__expr *x, vp_operand number, const char *where) {
    return vp__build_op(op, where, 2, (vp__expr *[]){x, vp__build_number(number, where)});
}

/* Makes comparisons of integers exact, as NumPy's are; returns the one to make instead. */
static int settle_comparison(int op, vp__expr **args, const char *where) {
    for (int i = 0; i < 2; i++) {
        /* Where two C integers meet, one that only uint64 holds has that type. */
        if (args[i]->dtype == VP_U64 && vp__weak_of(args[i]) >= 0 &&
            vp__weak_of(args[1 - i]) >= 0)
            args[i]->type = 0;
    }
    for (int i = 0; i < 2; i++) {
        vp__expr *number = args[i], *x = args[1 - i];
        if (vp__weak_of(number) != VP__WEAK_INT) continue;
        const vp_dtype t = vp__dtype_promote_weak((vp_dtype)x->dtype, VP__WEAK_INT);
        if (integer_fits(number, t)) continue;
        args[0] = x;
        args[1] = number;
        return compare_with_limit(i == 0 ? mirrored(op) : op, t, number);
    }
    for (int i = 0; i < 2; i++) {
        if (vp__dtype[args[i]->dtype].cls != VP__CLASS_S || vp__weak_of(args[i]) >= 0 ||
            args[1 - i]->dtype != VP_U64)
            continue;
        /* max(a, -1) + 1 and min(b, 2^64 - 2) + 1 compare as a and b do, in uint64: the top
         * that b loses is beyond every a. */
        vp__expr *a = with_number(VP__OP_maximum, args[i], vp__in_int(-1), where);
        vp__expr *b =
            with_number(VP__OP_minimum, args[1 - i], vp__in_uint(UINT64_MAX - 1), where);
        a = vp__build_cast(a, VP_U64, vp__op_name(op), where);
        args[i] = with_number(VP__OP_add, a, vp__in_int(1), where);
        args[1 - i] = with_number(VP__OP_add, b, vp__in_int(1), where);
        break;
    }
    return op;
}

/* Of a C number only its truth counts: as a value of the other's type, a large integer would
 * be refused and a small fraction be 0. */
static void settle_truth(vp__expr **args) {
    for (int i = 0; i < 2; i++) {
        if (vp__weak_of(args[i]) < 0) continue;
        uint64_t truth = 0;
        vp__kernels_get()->cast[args[i]->dtype][VP_BOOL](&truth, args[i]->value.u64, 1);
        args[i]->value.u64[0] = truth;
        args[i]->dtype = VP_BOOL;
    }
}

vp__expr *vp__build_op(int op, const char *where, int nargs, vp__expr **args) {
    vp__expr *poison = vp__first_poison(nargs, args);
    if (poison) return poison;
    if (vp__op_is_logical(op)) settle_truth(args);
    if (is_comparison(op) &&
        (args[0]->dtype != args[1]->dtype || args[0]->kind == VP__EXPR_CONST)) {
        op = settle_comparison(op, args, where);
        poison = vp__first_poison(nargs, args);
        if (poison) return poison;
    }
    vp__optype types[3] = {{VP_BOOL, -1}, {VP_BOOL, -1}, {VP_BOOL, -1}};
    vp_dtype work[3], result;
    int ndim = 0;
    bool late = false;
    for (int i = 0; i < nargs; i++) {
        types[i] = (vp__optype){(vp_dtype)args[i]->dtype, (int8_t)vp__weak_of(args[i])};
        if (args[i]->ndim > ndim) ndim = args[i]->ndim;
        late |= args[i]->late;
    }
    if (!find_types(op, nargs, types, work, &result))
        return vp__refuse(nargs, args, where, refuse_types(op, nargs, args, where));
    make_room(nargs, args);
    for (int i = 0; i < nargs; i++) {
        if (args[i]->dtype != work[i] || args[i]->kind == VP__EXPR_CONST)
            args[i] = vp__build_cast(args[i], work[i], vp__op_name(op), where);
    }
    poison = vp__first_poison(nargs, args);
    if (poison) return poison;
    vp__expr *e = vp__expr_new(VP__EXPR_OP, ndim, where);
    if (e->generation == 0)
        return vp__refuse(nargs, args, where, vp__error_retain(e->error));
    e->op = (uint8_t)op;
    e->type = (uint8_t)vp__op_key((vp__op)op, work);
    e->dtype = (uint8_t)result;
    e->late = late;
    if (!late) {
        vp__error *error = NULL;
        if (!copy_shape(e, nargs, args)) error = broadcast_args(e, nargs, args);
        if (error) {
            vp__expr_free(e);
            return vp__refuse(nargs, args, where, error);
        }
    }
    for (int i = 0; i < nargs; i++) adopt(e, i, args[i]);
    e->cost += (float)vp__cost_static(op, e->type, e->count);
    return e;
}

/* --- reductions -------------------------------------------------------------------------------- */

vp__expr *vp__build_reduce(int op, const char *where, vp__expr *x, uint32_t axes,
                           vp_dtype dtype, bool keepdims) {
    if (x->kind == VP__EXPR_POISON) return x;
    vp_dtype work, result;
    if (!vp__reduce_types((vp__op)op, (vp_dtype)x->dtype, dtype, &work, &result)) {
        vp__error *error = vp__error_new(VP_ERR_TYPE, where, "%s of %s cannot give %s",
                                         vp__ops[op].name, vp__dtype[x->dtype].name,
                                         vp__dtype_is_valid(dtype) ? vp__dtype[dtype].name
                                                                   : "that type");
        return vp__refuse(1, &x, where, error);
    }
    make_room(1, &x);
    /* The bits of a sum are those of one fold, not of several boxes. */
    if (x->rolls) vp__materialise(x);
    if (x->dtype != work || x->kind == VP__EXPR_CONST)
        x = vp__build_cast(x, work, vp__ops[op].name, where);
    if (x->kind == VP__EXPR_POISON) return x;
    int64_t dims[VP__MAXDIM];
    int ndim = vp__reduced_dims(x->ndim, x->dims, axes, keepdims, dims);
    vp__expr *e = vp__expr_new(VP__EXPR_REDUCE, ndim, where);
    if (e->generation == 0) return vp__refuse(1, &x, where, vp__error_retain(e->error));
    e->op = (uint8_t)op;
    e->type = (uint8_t)work;
    e->dtype = (uint8_t)result;
    e->axes = axes;
    e->keepdims = keepdims;
    e->late = x->late;
    adopt(e, 0, x);
    if (!x->late) {
        for (int i = 0; i < ndim; i++) e->dims[i] = dims[i];
        e->count = vp__shape_count(ndim, dims, 1);
        vp__error *error = vp__reduce_check(op, x->ndim, x->dims, axes, where);
        if (error) {
            vp__expr_free(e);
            return vp__expr_poison(error, where);
        }
        e->cost += (float)vp__cost_static(op, work, x->count) + 10 * (float)e->count;
    }
    return e;
}

/* --- small things ------------------------------------------------------------------------------- */

__attribute__((noinline, cold)) vp__expr *vp__own(vp__expr *e) {
    if (!e->others) return e;
    vp__value v;
    const char *where = e->where;
    vp__close(e, &v);
    return vp__value_expr(&v, where);
}

vp__expr *vp__as_leaf(vp__expr *e) {
    vp__materialise(e);
    return vp__own(e);
}

vp__expr *vp__as_sized_leaf(vp__expr *e) {
    const vp__expr *base = e;
    while (base->kind == VP__EXPR_VIEW) base = base->arg[0];
    if (base != e) vp__wait_sized(base->storage); /* then the view is no copy */
    e = vp__as_leaf(e);
    if (e->kind != VP__EXPR_LEAF || !e->late) return e;
    vp__storage *s = e->storage;
    vp__wait_sized(s);
    vp__error *failed = vp__storage_failure(s);
    if (failed) {
        vp__expr_fail(e, vp__error_retain(failed));
        return e;
    }
    memcpy(e->dims, s->late->dims, (size_t)e->ndim * sizeof(int64_t));
    memcpy(e->strides, s->late->strides, (size_t)e->ndim * sizeof(int64_t));
    e->late = false;
    vp__expr_measure(e);
    return e;
}

vp__expr *vp__value_expr(vp__value *v, const char *where) {
    vp__expr *e;
    if (v->error) {
        e = vp__expr_poison(v->error, where);
        v->error = NULL;
    } else {
        e = vp__expr_leaf(v->storage, NULL, v->dtype, v->offset, v->ndim, v->dims,
                          v->strides, v->late, where);
    }
    vp__value_release(v);
    return e;
}

vp__error *vp__axis_check(int *axis, int ndim, const char *name, const char *where) {
    int a = *axis < 0 ? *axis + ndim : *axis;
    if (a < 0 || a >= ndim)
        return vp__error_new(VP_ERR_INDEX, where,
                             "%s: axis %d is out of bounds for an array of %d axes", name,
                             *axis, ndim);
    *axis = a;
    return NULL;
}

vp__error *vp__axes_check(const vp_axes_t *axes, const char *name, const char *where) {
    if (axes->count == VP__FROM_NULL)
        return vp__error_new(VP_ERR_INDEX, where, "%s: the axes are NULL", name);
    if (axes->count < -1 || axes->count > VP_MAXDIM)
        return vp__error_new(VP_ERR_INDEX, where,
                             "%s: there cannot be %d axes; name up to %d, or VP_EVERY",
                             name, axes->count, VP_MAXDIM);
    return NULL;
}

vp__error *vp__axes_bits(const vp_axes_t *axes, int ndim, const char *name,
                         const char *where, uint32_t *bits) {
    vp__error *wrong = axes ? vp__axes_check(axes, name, where) : NULL;
    if (wrong) return wrong;
    if (!axes || axes->count < 0) {
        *bits = ndim == 32 ? ~0u : (1u << ndim) - 1;
        return NULL;
    }
    *bits = 0;
    for (int i = 0; i < axes->count; i++) {
        int axis = axes->axis[i];
        vp__error *e = vp__axis_check(&axis, ndim, name, where);
        if (e) return e;
        if (*bits >> axis & 1)
            return vp__error_new(VP_ERR_INDEX, where, "%s: axis %d is named twice", name,
                                 axis);
        *bits |= 1u << axis;
    }
    return NULL;
}

static vp__expr *no_op(int op, const char *where, int nargs, vp__expr **args) {
    return vp__refuse(nargs, args, where,
                      vp__error_new(VP_ERR_VALUE, where,
                                    "no such operation of %d operands: %d", nargs, op));
}

vp__expr *vp__apply(int op, const char *where, int nargs, vp__expr **args) {
    if ((unsigned)op >= VP__NOPS || vp__ops[op].arity != nargs || vp__ops[op].reduces)
        return no_op(op, where, nargs, args);
    vp__expr *e = build_alike(op, where, nargs, args);
    return e ? e : vp__build_op(op, where, nargs, args);
}
