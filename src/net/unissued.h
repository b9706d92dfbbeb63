/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread has been told and keeps unissued (api/held.h), as far as the net has to know of
 * it. A thread keeps a long value for its next few instructions; if it does something else
 * meanwhile, an idle worker has the value issued in its place.
 */
#ifndef VP_NET_UNISSUED_H
#define VP_NET_UNISSUED_H

#include "net/core.h"

/* Issues what a thread keeps, which is stopped meanwhile; set by the first that keeps anything. */
extern void (*_Atomic vp__unissued_issue)(vp__core *owner);

/* The thread keeps a value that takes so many estimated nanoseconds, or none any more. */
void vp__unissued_keep(vp__core *self, float cost);
static inline void vp__unissued_done(vp__core *self) {
    /* relaxed: a worker that acts on it stops the thread first, and looks again. */
    atomic_store_explicit(&self->unissued, 0, memory_order_relaxed);
}

/* What an idle worker has seen of it. */
typedef struct {
    uint32_t value;
    uint64_t since;
} vp__unissued_look;

/* Looks whether a thread keeps something, and has it issued once it has been seen for long
 * enough. True: the worker looks around on. */
bool vp__unissued_watch(vp__core *self, vp__unissued_look *look);

#endif
