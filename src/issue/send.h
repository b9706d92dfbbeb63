/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a value to its destination, the same for every value that kernels compute. It is
 * gathered with others like it (a bundle), or runs at once on the thread that issued it, or
 * becomes a node. A hand-over to another core costs 100 to 200 ns, so a tiny value whose
 * operands are there is computed sooner than handed over.
 */
#ifndef VP_ISSUE_SEND_H
#define VP_ISSUE_SEND_H

#include "issue/destination.h"

/* Sends a value, which stays the caller's to free, and tells how it lies in fresh storage
 * (dims and strides may be NULL for a put, and are not set for a late value). The destination
 * gets another storage where another thread has renamed its buffer. False, and nothing done,
 * without memory. */
bool vp__send(vp__expr *value, vp__destination *d, int64_t *dims, int64_t *strides);

#endif
