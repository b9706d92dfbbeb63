/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether values will be used again. A value that a name holds unissued is wanted by something
 * that is closed now. If nobody looks at it afterwards, it need not be stored: it is computed
 * as a part of that, in registers. If somebody does, it has to be computed once more. A program
 * cannot be asked, but its loops do the same each time: each thread remembers of the lines
 * whose values it saw what became of those.
 */
#ifndef VP_ISSUE_REUSE_H
#define VP_ISSUE_REUSE_H

#include <stdbool.h>

/* Whether a value of this line and of so many estimated nanoseconds is rather stored than
 * computed again when it is wanted again. `again`: it has been computed already, as a part of
 * something else. */
bool vp__reuse_is_likely(const char *where, float cost, bool again);

/* A value of this line was computed as a part of something else, and nobody wanted it again. */
void vp__reuse_was_none(const char *where);

#endif
