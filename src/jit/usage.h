/* SPDX-License-Identifier: Apache-2.0
 *
 * How often code ran, and for how long, noted in its file in the cache for those who want to
 * look inside. It adds up over processes; what a process that was killed has not noted is
 * lost, and so may be what two note at the same time.
 */
#ifndef VP_JIT_USAGE_H
#define VP_JIT_USAGE_H

#include "jit/special.h"

/* Adds what is not noted yet; code that hardly ran is not worth it. One thread at a time. */
void vp__usage_note(vp__built *built);

/* From now on only what is to come. */
void vp__usage_forget(vp__built *built);

#endif
