/* SPDX-License-Identifier: Apache-2.0
 *
 * Closing: an expression becomes a value with storage of its own, and whoever reads it reads
 * that.
 */
#ifndef VP_ISSUE_CLOSE_H
#define VP_ISSUE_CLOSE_H

#include "issue/library.h"
#include "issue/value.h"

/* Ends a segment: runs it at once if it is tiny and ready, else gives it to the net.
 * Consumes the expression. */
void vp__close(vp__expr *e, vp__value *out);

/* The same for a name, which may write into it: a leaf that is better copied than shared is. */
void vp__close_to_own(vp__expr *e, vp__value *out, const char *where);

/* The same as vp__close, but the expression stays as a leaf that reads the value. */
void vp__materialise(vp__expr *e);

/* Before an expression is flattened: of what is under it and has other users too, computes that
 * which is to be stored. What stays is the expression's own, or held by names as well and
 * computed here all the same, because it is expected that nobody will want it again. */
void vp__settle(vp__expr *root);

/* Issues a library operation that is kept as an expression (LIBRARY), together with an epilogue
 * that its row takes, which is applied to results while they are in the cache; VP__NOPS: without
 * one. The expression becomes a leaf. */
void vp__library_finish(vp__expr *e, int epilogue);

/* Makes a leaf read a copy of its elements instead: for memory that cannot be renamed. */
void vp__copy_leaf(vp__expr *leaf);

/* Closes every open expression of this thread that reads s. */
void vp__materialise_readers(vp__storage *s);

/* Issues a library operation, whose operands are closed first. in[i] are consumed. ndim and
 * dims as in vp__library_make. */
void vp__library_issue(const vp__lib_params *p, vp_dtype dtype, int nin, vp__expr **in,
                       int ndim, const int64_t *dims, const char *name, const char *where,
                       vp__value *out);

#endif
