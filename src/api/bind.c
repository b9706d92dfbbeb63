/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving names to values.
 */
#include <string.h>

#include "api/build.h"
#include "api/held.h"
#include "api/operand.h"
#include "array/shape.h"
#include "base/failure.h"

vp_array vp__let(const char *where, vp_operand x) {
    VP__CALL;
    vp__expr *e = vp__argument(x, where);
    if (vp__held_may_stay(e)) return vp__held_new(e);
    vp__value v;
    vp__close_to_own(e, &v, where);
    return vp__name_new(&v);
}

/* Stores the value; false if the handle is stale. */
static bool set_value(vp_array a, vp__expr *e, const char *where) {
    vp__value v;
    vp__close_to_own(e, &v, where);
    vp__name *n = vp__held_lock_to_bind(a);
    if (n) {
        vp__name_bind(n, &v);
        vp__name_unlock(n);
    } else {
        vp__value_release(&v);
    }
    return n != NULL;
}

void vp__set(const char *where, vp_array a, vp_operand x) {
    VP__CALL;
    vp__expr *e = vp__argument(x, where);
    const bool set = vp__held_may_stay(e) ? vp__held_set(a, e) : set_value(a, e, where);
    if (!set) vp__failure_refuse(vp__name_stale(a, where));
    vp__held_pay();
}

vp_array vp__view_of(const char *where, vp_operand x) {
    VP__CALL;
    vp__expr *e = vp__operand_view(x, where);
    vp__value v;
    memset(&v, 0, offsetof(vp__value, dims));
    if (e->kind == VP__EXPR_VIEW || (e->kind == VP__EXPR_LEAF && e->buffer))
        vp__as_sized_leaf(e);
    if (e->kind == VP__EXPR_POISON) {
        v.error = vp__error_retain(e->error);
    } else if (e->kind != VP__EXPR_LEAF || !e->buffer) {
        v.error =
            vp__error_new(VP_ERR_VALUE, where,
                          "vp_view: this is a computed value, not a selection of a named "
                          "array; name it with vp_let");
    } else {
        vp_array a = vp__name_view(e->buffer, (vp_dtype)e->dtype, e->offset, e->ndim,
                                   e->dims, e->strides);
        vp__expr_free(e);
        return a;
    }
    vp__expr_free(e);
    return vp__name_new(&v);
}

void vp__drop(const char *where, vp_array a) {
    VP__CALL;
    if (!vp__held_free(a)) vp__failure_refuse(vp__name_stale(a, where));
}
