/* SPDX-License-Identifier: Apache-2.0
 *
 * The short way for the commonest segment: an element-wise tree whose leaves all have one
 * gapless layout is one flat loop. Its kernel is written straight from the tree, without
 * segment, cut or plan, whether it runs at once or becomes a node.
 */
#ifndef VP_ISSUE_FLAT_H
#define VP_ISSUE_FLAT_H

#include "issue/reads.h"
#include "jit/kernel.h"

typedef struct {
    bool quiet;    /* every leaf was complete when it was looked at: */
    bool poisoned; /* then, whether any of them may have failed */
    vp__expr *leaf[VP__KERNEL_LEAVES]; /* NULL: a constant */
    void *data[VP__KERNEL_LEAVES];     /* and where the others are, if quiet */
    vp__kernel kernel;
} vp__flat;

/* Whether an expression is such a tree. */
static inline bool vp__flat_is(const vp__expr *e) {
    return e->kind == VP__EXPR_OP && e->like && !e->repeats;
}

void vp__flat_build(vp__flat *f, vp__expr *e);

/* Begins to read the leaves if all are there; to be ended by vp__reads_end. */
bool vp__flat_begin(vp__flat *f, vp__reads *reads);

/* The error it inherits, not retained; NULL if none. To be asked before its own write is
 * entered anywhere. */
vp__error *vp__flat_error(const vp__flat *f);

/* Runs it, ready and without error, on this thread; `out` gets the layout of its leaves. False
 * without memory. */
bool vp__flat_run(vp__flat *f, const vp__expr *e, char *out, vp__core *core);

/* Makes a node of it with its inputs, which takes over what the leaves have captured; the
 * caller sets the result. NULL, and nothing taken, without memory. */
vp__node *vp__flat_node(const vp__flat *f, vp__expr *e, int target_ndim);

/* The value's strides. */
void vp__flat_strides(const vp__expr *e, int64_t *strides);

#endif
