/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

void finish(void) {
    if (vp_sync() == VP_OK && vp_error() == VP_OK) return;
    fprintf(stderr, "%s\n", vp_message());
    exit(1);
}

int64_t numbers_of(vp_array result, const double **numbers) {
    static double *kept;
    vp_scope s = vp_begin();
    /* Column order is C order of the transpose. */
    vp_array flat =
        vp_let(vp_reshape(vp_cast(vp_transpose(result), VP_F64), vp_shape(-1)));
    const int64_t count = vp_size(flat);
    free(kept);
    kept = malloc(sizeof *kept * (size_t)(count > 0 ? count : 1));
    if (!kept || vp_read(flat, kept, sizeof *kept * (size_t)count) != VP_OK) {
        fprintf(stderr, "%s\n", kept ? vp_message() : "no memory");
        exit(1);
    }
    vp_end(s);
    *numbers = kept;
    return count;
}

void executed(work_done *done) {
    vp_stats stats;
    vp_get_stats(&stats);
    *done = (work_done){stats.kernels, stats.elements, stats.stored};
}
