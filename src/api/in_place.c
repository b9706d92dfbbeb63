/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations in place: a put of what an operation makes of the part that is written. What a
 * program would issue itself for that, in the same order.
 */
#include <assert.h>
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/shape.h"

static const char *const name_of[VP__NOPS] = {
#define VP_IN_PLACE(id, name) [VP__OP_##id] = #name,
#include "ops/ops.def"
};

/* Whether NumPy casts a result into an array in place: its `same_kind`. */
static bool is_same_kind(vp_dtype from, vp_dtype to) {
    static const uint8_t order[] = {[VP__CLASS_B] = 0,
                                    [VP__CLASS_U] = 1,
                                    [VP__CLASS_S] = 2,
                                    [VP__CLASS_F] = 3,
                                    [VP__CLASS_C] = 4};
    return order[vp__dtype[from].cls] <= order[vp__dtype[to].cls];
}

/* What keeps a result from being what the part becomes; NULL too where a size comes late, and
 * the put sees to it. */
static vp__error *check(const char *name, const vp__expr *result, vp_dtype dtype,
                        bool late, const vp__layout *part, const char *where) {
    if (!is_same_kind((vp_dtype)result->dtype, dtype))
        return vp__error_new(VP_ERR_TYPE, where,
                             "%s: the result is %s and does not become %s in place; put "
                             "its vp_cast",
                             name, vp__dtype[result->dtype].name, vp__dtype[dtype].name);
    if (late || result->late ||
        vp__shape_equal(result->ndim, result->dims, part->ndim, part->dims))
        return NULL;
    char a[200], b[200];
    return vp__error_new(
        VP_ERR_SHAPE, where,
        "%s: the result has shape %s, but what is written has shape %s; the operand must "
        "broadcast to that",
        name, vp__shape_text(a, sizeof a, result->ndim, result->dims),
        vp__shape_text(b, sizeof b, part->ndim, part->dims));
}

/* The operation on the part as it is, checked. An instruction that follows a track has no
 * expression yet, but the one before it that passed. */
static vp_expr compute(int op, const char *where, vp_array a, vp_index at, vp_operand x) {
    const vp_expr old = vp__get(where, vp__in_array(a), at);
    const vp__expr *e = vp__expr_find(old.slot, old.generation);
    const bool known = e && e->kind != VP__EXPR_FREE && e->kind != VP__EXPR_POISON;
    vp__layout part = {.ndim = 0};
    const vp_dtype dtype = known ? (vp_dtype)e->dtype : VP_BOOL;
    const bool late = known && e->late;
    if (known && !late) {
        part.ndim = e->ndim;
        memcpy(part.dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
    }
    const vp_expr made = vp__op2(op, where, vp__in_expr(old), x);
    vp__expr *r = known ? vp__expr_find(made.slot, made.generation) : NULL;
    if (!r || r->kind == VP__EXPR_FREE || r->kind == VP__EXPR_POISON) return made;
    vp__error *error = check(name_of[op], r, dtype, late, &part, where);
    if (!error) return made;
    vp__expr_free(r);
    return vp__give_error(error, where);
}

static bool has_expressions(const vp_index *at) {
    for (int i = 0; i < at->count && i < VP__SELECTED && at->item; i++)
        if (at->item[i].kind == VP__SEL_ARRAY && at->item[i].is_expr) return true;
    return false;
}

static void update(int op, const char *where, vp_array a, vp_index at, vp_operand x) {
    const vp_expr value = compute(op, where, a, at, x);
    vp__put_at(where, a, at, vp__in_expr(value));
}

/* By a selection that has expressions: they are used twice, so they get names. */
static void update_named(int op, const char *where, vp_array a, vp_index at,
                         vp_operand x) {
    vp_sel item[VP__SELECTED];
    memcpy(item, at.item, (size_t)at.count * sizeof *item);
    for (int i = 0; i < at.count; i++)
        if (item[i].kind == VP__SEL_ARRAY && item[i].is_expr)
            item[i] = vp__sel_array(
                vp__let(where, vp__in_bits(VP__IN_EXPR, (uint64_t)item[i].start)));
    update(op, where, a, vp_index_of((int)at.count, item), x);
    for (int i = 0; i < at.count; i++)
        if (at.item[i].kind == VP__SEL_ARRAY && at.item[i].is_expr)
            vp__drop(where, vp__bits_array((uint64_t)item[i].start));
}

void vp__in_place(int op, const char *where, vp_array a, vp_index at, vp_operand x) {
    VP__CALL_ON_TRACK;
    if ((unsigned)op >= VP__NOPS || !name_of[op]) {
        vp__error *error =
            vp__error_new(VP_ERR_VALUE, where, "no such operation in place: %d", op);
        vp__put_at(where, a, at, vp__in_expr(vp__give_error(error, where)));
    } else if (has_expressions(&at) && at.count <= VP__SELECTED) {
        update_named(op, where, a, at, x);
    } else {
        update(op, where, a, at, x);
    }
}
