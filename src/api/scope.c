/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes.
 */
#include "api/held.h"
#include "api/operand.h"

vp_scope vp__begin(const char *where) {
    VP__CALL;
    return vp__scope_begin(where);
}

void vp__end(const char *where, vp_scope scope) {
    VP__CALL;
    if (!vp__scope_end(where, scope)) return;
    for (vp_array a; vp__scope_left(&a);) vp__held_free(a);
}

vp_array vp__keep(const char *where, vp_array a) {
    VP__CALL;
    return vp__name_keep(where, a);
}

vp_expr vp__keep_expr(const char *where, vp_expr x) {
    VP__CALL;
    vp__expr *e = vp__expr_find(x.slot, x.generation);
    if (!e) {
        vp__error *error = vp__expr_stale(x, where);
        vp__error_remember(error);
        vp__error_release(error);
    } else if (e->depth > 0 && e->depth == vp__scope_depth()) {
        e->depth--;
    }
    return x;
}
