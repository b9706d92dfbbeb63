/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest program: two instructions, one number.
 */
#include <stdio.h>
#include <vproc.h>

int main(void) {
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_linspace(VP_F64, 0, 3.141592653589793, 1000001));
    double integral;
    /* One segment: sin is never stored. */
    if (vp_item(vp_mul(vp_sum(vp_sin(x)), 3.141592653589793e-6), &integral) != VP_OK)
        fprintf(stderr, "%s\n", vp_message());
    else
        printf("integral of sin over [0, pi]: %.9f\n", integral);
    vp_end(s);
    return vp_error() != VP_OK;
}
