/* SPDX-License-Identifier: Apache-2.0
 *
 * What the trace is told of instructions that never became nodes, because they ran at once.
 * With tracing off each of these is a load and a branch.
 */
#ifndef VP_ISSUE_TRACED_NOW_H
#define VP_ISSUE_TRACED_NOW_H

#include "issue/flat.h"
#include "issue/segment.h"
#include "net/traced.h"

/* For this file's functions alone. */
uint64_t vp__tell_segment(const vp__segment *seg, vp__expr *const *leaves,
                          const vp__storage *result, const char *where);
uint64_t vp__tell_flat(const vp__flat *f, const vp__storage *result, const char *where);

/* An instruction begins to run on the thread that issues it; `result` is what it
 * writes, `where` the line of the program.
 * Returns the id to end it with (vp__traced_now_end), which is 0 when tracing is off. */
static inline uint64_t vp__traced_segment_now(const vp__segment *seg,
                                              vp__expr *const *leaves,
                                              const vp__storage *result,
                                              const char *where) {
    return vp__is_traced() ? vp__tell_segment(seg, leaves, result, where) : 0;
}
static inline uint64_t vp__traced_flat_now(const vp__flat *f, const vp__storage *result,
                                           const char *where) {
    return vp__is_traced() ? vp__tell_flat(f, result, where) : 0;
}

#endif
