/* SPDX-License-Identifier: Apache-2.0
 *
 * A low-level expression on four-dimensional unsigned integers, evaluated many times: the
 * evaluations do not depend on each other, so they run on all cores at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <vproc.h>

int main(void) {
    const uint32_t m0 = 1142251548u, shift = 17;
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_counter(VP_U32, vp_fshape(507, 10, 5, 17), 1507, 200));
    vp_array b = vp_let(vp_counter(VP_U32, vp_fshape(1, 1, 5, 17), 1507, 1));
    vp_array r = vp_let(vp_zeros(VP_U32, vp_shape(1)));
    for (int i = 0; i < 1000; i++)
        vp_set(r, vp_sum(vp_bitwise_or(vp_bitwise_and(vp_shl(a, shift), m0),
                                       vp_bitwise_and(b, ~m0)),
                         1, VP_U32));
    uint32_t check;
    vp_status status = vp_item(vp_sum(r, VP_EVERY, VP_U32), &check);
    if (status == VP_OK)
        printf("check sum of 1000 evaluations' last: %" PRIu32 "\n", check);
    else
        fprintf(stderr, "%s\n", vp_message());
    vp_end(s);
    return status != VP_OK;
}
