/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one's own that are used like instructions: they take any operand, an array, an
 * expression or a number, and return an expression.
 */
#include <stdio.h>
#include <vproc.h>

/* From a to b, as far as t. */
static vp_expr mix(vp_operand a, vp_operand b, vp_operand t) {
    vp_scope s = vp_begin();
    vp_array from =
        vp_let(a); /* an operand may be an expression: to use it twice, name it */
    vp_expr e = vp_keep(vp_add(from, vp_mul(vp_sub(b, from), t)));
    vp_end(s); /* frees the name, and not what is kept */
    return e;
}
#define mix(a, b, t) mix(vp_operand_of(a), vp_operand_of(b), vp_operand_of(t))

int main(void) {
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_linspace(VP_F64, 0, 1, 5));
    vp_array y = vp_let(mix(x, vp_sqrt(x), 0.5));
    vp_print(mix(1, y, vp_sub(1, x)));
    vp_end(s);
    if (vp_error() != VP_OK) fprintf(stderr, "%s\n", vp_message());
    return vp_error() != VP_OK;
}
