/* SPDX-License-Identifier: Apache-2.0 */
#include "api/fold.h"
#include "api/operand.h"

vp_expr vp__reduce(int op, const char *where, vp_operand operand, const vp_axes_t *axes,
                   vp_dtype dtype, int keepdims) {
    VP__CALL_ON_TRACK;
    vp_expr known;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_reduce(t, op, where, operand, axes, dtype, keepdims, &known))
        return known;
    vp__expr *x = vp__argument(operand, where);
    t = vp__track_recording();
    if (t) vp__track_note_reduce(t, op, where, operand, axes, dtype, keepdims, x);
    x = vp__fold(op, where, x, axes, dtype, keepdims != 0);
    if (t) vp__track_noted(t, x);
    return vp__give(x);
}
