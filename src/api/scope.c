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
