/* SPDX-License-Identifier: Apache-2.0
 *
 * Element-wise instructions.
 */
#include "api/build.h"
#include "api/operand.h"
#include "lib/lib.h"

static inline vp_expr issue_op(int op, const char *where, int nargs, const vp_operand *x,
                               vp__expr **args) {
    vp__track *t = vp__track_recording();
    if (t) vp__track_note_op(t, op, where, nargs, x, args);
    vp__expr *e = vp__apply(op, where, nargs, args);
    if (t) vp__track_noted(t, e);
    return vp__give(e);
}

/* The library operation that an operand is, taken from its owner, if it is not issued yet and
 * takes this epilogue; or NULL. */
static vp__expr *take_unissued(int epilogue, vp_operand x) {
    if (x.kind != VP__IN_EXPR) return NULL;
    const vp_expr handle = vp__bits_expr(x.bits);
    vp__expr *e = vp__expr_find(handle.slot, handle.generation);
    if (!e || e->kind != VP__EXPR_LIBRARY) return NULL;
    if (!vp__lib_epilogue_name(e->library->kind, epilogue)) return NULL;
    vp__expr_unlink(e);
    return e;
}

/* Open even with VP_SYNC=1: like any C number it has no type of its own yet. */
vp_expr vp__complex(double real, double imag) {
    VP__CALL;
    const char *where = "a complex number";
    vp__expr *e = vp__build_number(vp__in_float(real), where);
    if (e->generation) {
        e->dtype = VP_C128;
        e->value.f64[1] = imag;
    }
    return vp__give_open(e);
}

vp_expr vp__op1(int op, const char *where, vp_operand a) {
    VP__CALL_ON_TRACK;
    vp_expr known;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_op(t, op, where, 1, &a, &known)) return known;
    vp__expr *unissued = vp__lib_is_epilogue(op) ? take_unissued(op, a) : NULL;
    if (unissued) {
        vp__library_finish(unissued, op);
        return vp__give(unissued);
    }
    vp__expr *args[1] = {vp__argument(a, where)};
    return issue_op(op, where, 1, &a, args);
}

vp_expr vp__op2(int op, const char *where, vp_operand a, vp_operand b) {
    VP__CALL_ON_TRACK;
    const vp_operand x[2] = {a, b};
    vp_expr known;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_op(t, op, where, 2, x, &known)) return known;
    vp__expr *args[2] = {vp__argument(a, where), vp__argument(b, where)};
    return issue_op(op, where, 2, x, args);
}

vp_expr vp__op3(int op, const char *where, vp_operand a, vp_operand b, vp_operand c) {
    VP__CALL_ON_TRACK;
    const vp_operand x[3] = {a, b, c};
    vp_expr known;
    vp__track *t = vp__track_of_thread();
    if (t && vp__track_op(t, op, where, 3, x, &known)) return known;
    vp__expr *args[3] = {vp__argument(a, where), vp__argument(b, where),
                         vp__argument(c, where)};
    return issue_op(op, where, 3, x, args);
}

vp_expr vp__cast(const char *where, vp_operand x, vp_dtype dtype) {
    VP__CALL;
    vp__expr *e = vp__build_cast(vp__argument(x, where), dtype, "cast", where);
    /* Also where there is nothing to convert, the result is a value and no view. */
    vp__expr_drop_buffer(e);
    return vp__give(e);
}
