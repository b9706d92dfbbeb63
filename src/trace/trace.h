/* SPDX-License-Identifier: Apache-2.0
 *
 * The lives of nodes, recorded while they happen and written as a Chrome trace
 * (chrome://tracing, ui.perfetto.dev) when VP_TRACE names a file. Recording is a store of
 * 32 bytes into a buffer of the thread; everything that costs happens when the file is
 * written. When tracing is off, a call is one load and a branch that is never taken.
 */
#ifndef VP_TRACE_TRACE_H
#define VP_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/kind.h"

/* Set by vp__trace_init before other threads of the processor exist, and by nobody else. */
extern bool vp__trace_on;

/* How many records are kept in all, over all threads; those beyond it are counted and
 * dropped. For tests, to be changed before vp__trace_init. */
extern int64_t vp__trace_limit;

/* Turns tracing on if VP_TRACE asks for it. Later calls do nothing. */
void vp__trace_init(void);

/* Writes everything recorded so far to the file, replacing it. Other threads may go on
 * recording. Happens by itself at exit. */
void vp__trace_flush(void);

/* How many records are kept so far, of all threads. */
int64_t vp__trace_kept(void);

/* Names the calling thread in the trace; the text is copied. */
void vp__trace_thread(const char *name);

/* Packs where a node runs, which kernel stage it uses, and a number below 2^48 into the
 * `arg` of a record; the file shows the three apart. A plain small number is a detail. */
static inline uint64_t vp__trace_pack(unsigned where, unsigned stage, uint64_t detail) {
    return (uint64_t)(where & 0xff) << 56 | (uint64_t)(stage & 0xff) << 48 |
           (detail & 0xffffffffffff);
}

void vp__trace_write(vp__trace_kind kind, uint64_t node, const char *name, uint64_t arg);

/* Records that something happened to a node. `name` must live as long as the process, or
 * be NULL; a name given at any point of a node's life names all of it. */
static inline void vp__trace(vp__trace_kind kind, uint64_t node, const char *name,
                             uint64_t arg) {
    if (__builtin_expect(vp__trace_on, 0)) vp__trace_write(kind, node, name, arg);
}

#endif
