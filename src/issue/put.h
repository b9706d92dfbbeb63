/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a value into part of an array.
 */
#ifndef VP_ISSUE_PUT_H
#define VP_ISSUE_PUT_H

#include "issue/destination.h"
#include "issue/library.h"

/* Writes a value, already of the target's type and broadcastable to its dims (checked when
 * sizes are known), into the target. Consumes the expression. Returns an error that the
 * caller reports when nothing could be issued. */
vp__error *vp__put(const vp__target *t, vp__expr *value, const char *where);

/* Writes into the target by index (SCATTER): in[] are the indices, then the value. `region` is
 * what counts as written, and is poisoned if the write fails. */
vp__error *vp__library_put(const vp__lib_params *p, const vp__target *t,
                           const vp__region *region, int nin, vp__expr **in,
                           const char *where);

#endif
