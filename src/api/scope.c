/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes.
 */
#include "api/operand.h"

vp_scope vp__begin(const char *where) {
    VP__CALL;
    return vp__scope_begin(where);
}

void vp__end(const char *where, vp_scope scope) {
    VP__CALL;
    vp__scope_end(where, scope);
}

vp_array vp__keep(const char *where, vp_array a) {
    VP__CALL;
    return vp__name_keep(where, a);
}
