/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VP_ISSUE_TINY_H
#define VP_ISSUE_TINY_H

#include <stdbool.h>

/* Whether work of so many estimated nanoseconds, of this kind for the cost model, runs on the
 * thread that issues it if it is ready: it takes no longer than handing it over, or than a
 * node of it would have to wait. The one rule for kernels and library operations. */
bool vp__is_tiny(float estimate, int key);

#endif
