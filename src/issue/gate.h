/* SPDX-License-Identifier: Apache-2.0
 *
 * Gated instructions, for tests: a copy of an array that knows its size, or has its result,
 * only when the test says so. No thread blocks in it; the node parks like any other.
 */
#ifndef VP_ISSUE_GATE_H
#define VP_ISSUE_GATE_H

#include "issue/value.h"

typedef struct {
    vp__node *node; /* NULL once opened */
    int what;
} vp__gate;

/* A copy of x (consumed). With size_gate the result's size stays unknown until that is
 * opened; with run_gate the copy does not start before that is. Either may be NULL. */
void vp__gate_copy(vp__expr *x, vp__gate *size_gate, vp__gate *run_gate,
                   const char *where, vp__value *out);

void vp__gate_open(vp__gate *gate);

#endif
