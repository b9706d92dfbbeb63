/* SPDX-License-Identifier: Apache-2.0
 *
 * Three ways to sum |sin| down the columns of a matrix: as one expression, as a loop whose
 * iterations are independent, and as a loop whose iterations overwrite each other's results
 * and so must store in order. All three run on every core.
 */
#include <stdio.h>
#include <vproc.h>

int main(void) {
    const int64_t n = 600;
    vp_scope s = vp_begin();
    vp_array a = vp_let(vp_counter(VP_F64, vp_fshape(n, n), 1, 1));
    vp_array whole = vp_let(vp_sum(vp_abs(vp_sin(a)), 0));

    vp_array loop = vp_let(vp_zeros(VP_F64, vp_shape(n)));
    for (int64_t i = 0; i < n; i++)
        vp_put(loop, vp_at(i), vp_sum(vp_abs(vp_sin(vp_get(a, VP_ALL, i)))));

    vp_array ordered = vp_let(vp_zeros(VP_F64, vp_shape(n)));
    for (int64_t i = 0; i < n; i++)
        vp_put(ordered, vp_at(vp_range(0, i + 1)),
               vp_sum(vp_abs(vp_sin(vp_get(a, VP_ALL, i)))));

    double first, last, total;
    bool same;
    vp_status status = vp_test(vp_all(vp_eq(whole, loop)), &same);
    if (status == VP_OK) status = vp_item(vp_get(ordered, 0), &first);
    if (status == VP_OK) status = vp_item(vp_get(whole, n - 1), &last);
    if (status == VP_OK) status = vp_item(vp_sum(whole), &total);
    if (status != VP_OK)
        fprintf(stderr, "%s\n", vp_message());
    else
        printf("sum %.6f, loop %s, ordered loop %s\n", total, same ? "equal" : "DIFFERS",
               first == last ? "in order" : "OUT OF ORDER");
    vp_end(s);
    return status != VP_OK || !same || first != last;
}
