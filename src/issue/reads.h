/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of leaves that happen at once, on the thread that issues.
 */
#ifndef VP_ISSUE_READS_H
#define VP_ISSUE_READS_H

#include "issue/expr.h"
#include "jit/kernel.h"
#include "net/node.h"

typedef struct {
    vp__core *core;
    int count; /* entered in logs: */
    vp__group *group[VP__KERNEL_LEAVES];
} vp__reads;

/* Begins to read the leaves (NULL: skipped) if all of them are there; false, and nothing
 * begun, if not. */
bool vp__reads_begin(vp__reads *r, vp__expr *const *leaves, int n);
void vp__reads_end(vp__reads *r);

/* In parts. The first says whether this thread is alone; then nobody starts to write what it
 * has captured, and to look whether everything is there is enough. If not, reads are
 * entered. */
static inline bool vp__reads_alone(vp__reads *r) {
    r->core = vp__core_self();
    r->count = 0;
    return vp__core_alone_begin(r->core);
}
bool vp__reads_enter(vp__reads *r, vp__storage *s, const vp__region *region);
/* Whether what was written to the region is over, and where this thread can read it. */
bool vp__reads_is_there(vp__storage *s, const vp__region *region);

/* The error that reading the leaves now meets, not retained; NULL if none. */
vp__error *vp__reads_error(vp__expr *const *leaves, int n);

#endif
