/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures: errors of instructions, until somebody has looked at them. An error is a failure
 * from when a value, a name or a part of an array has it in place of what should have been
 * there, or a call that returns nothing has refused it. It is one however many values inherit
 * it. It has been looked at when an observer, vp_sync, vp_error or vp_message told it; until
 * then it is kept here, whatever becomes of the values, so that vp_sync and the end of the
 * process can tell it. Errors are rare, so a list under a lock does.
 */
#ifndef VP_BASE_FAILURE_H
#define VP_BASE_FAILURE_H

#include <stdint.h>

#include "base/error.h"

/* Before any failure, and before the handlers of fork that hold threads back. `issued` says how
 * many nodes the calling thread has issued. */
void vp__failure_init(uint64_t (*issued)(void));

/* The error is a failure from now on; nothing if it has been one before. VP_ERRORS decides
 * whether it is told at once. Any thread. */
void vp__failure_raise(vp__error *e);

/* The same of one that came out of running node `issued` of its thread: it comes before what
 * was issued after that. */
void vp__failure_raise_late(vp__error *e, uint64_t issued);

/* Somebody has been told of it. */
void vp__failure_look_at(vp__error *e);

/* The first failure that nobody has looked at, in the order of issue, which counts as looked at
 * from now on; the caller gets a reference. NULL: there is none. */
vp__error *vp__failure_take(void);

/* What a call that returns nothing refuses, for vp_message; takes e over. */
void vp__failure_refuse(vp__error *e);

/* At the end of the process, when nobody issues any more: says so on stderr if there are
 * failures that nobody has looked at. */
void vp__failure_end(void);

#endif
