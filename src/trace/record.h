/* SPDX-License-Identifier: Apache-2.0
 *
 * How records are kept until they are written: each thread has a chain of blocks that it
 * alone appends to, and anybody may read what is complete. Nothing is ever removed while
 * the process records, so readers need no lock.
 */
#ifndef VP_TRACE_RECORD_H
#define VP_TRACE_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#include "trace/kind.h"

/* Half a cache line. The kind shares a word with the time, which has 56 bits left for
 * ticks since the start of the trace: most of a year. */
typedef struct {
    uint64_t when_kind;
    uint64_t node;
    const char *name;
    uint64_t arg;
} vp__trace_record;

_Static_assert(sizeof(vp__trace_record) == 32, "a record is half a cache line");

typedef struct vp__trace_block {
    _Atomic(struct vp__trace_block *) next; /* set by the writer when this one is full */
    _Atomic uint32_t count;                 /* complete records */
    uint32_t capacity;
    vp__trace_record records[];
} vp__trace_block;

typedef struct vp__trace_log {
    struct vp__trace_log *next; /* the log of a thread that began to record earlier */
    int number;                 /* of the thread, from 1 */
    _Atomic(const char *) name; /* what the thread is called; NULL: nothing yet */
    _Atomic int64_t dropped;    /* records beyond the limit */
    _Atomic(vp__trace_block *) first;
    vp__trace_block *last; /* writer only */
} vp__trace_log;

static inline vp__trace_kind vp__trace_record_kind(const vp__trace_record *r) {
    return (vp__trace_kind)(r->when_kind & 0xff);
}

static inline uint64_t vp__trace_record_ticks(const vp__trace_record *r) {
    return r->when_kind >> 8;
}

#endif
