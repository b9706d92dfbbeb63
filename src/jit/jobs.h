/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that compiles in the background, and what it has to do. It starts with the first
 * job and then stays, asleep without one. Nobody waits for it, at the end of the process
 * neither.
 *
 * What it takes stands in the books of the core that has least to do, so that nodes place
 * themselves elsewhere meanwhile. It runs at the usual priority: a thread of a low one is
 * left beside a busy thread while another CPU is idle, and code that comes ten times later
 * costs a program more than a few milliseconds of one core.
 */
#ifndef VP_JIT_JOBS_H
#define VP_JIT_JOBS_H

#include <stdbool.h>
#include <stdint.h>

/* See vp__native_init. */
void vp__jobs_init(void (*book)(int64_t ns));

/* Has the thread call work(a, b), urgent ones first, otherwise in order. False when it never
 * will: there is no memory, or compiling is not possible any more. Any thread. */
bool vp__jobs_add(void (*work)(void *a, void *b), void *a, void *b, bool urgent);

/* Around a compilation, on any thread: there is one at a time. False, and nothing to leave,
 * when it must not be tried: the process is a fork's child that began in the middle of one,
 * and the compiler may be in any state. */
bool vp__jobs_enter(void);
void vp__jobs_leave(void);

/* Waits until nothing is left to do, for tests and benchmarks. */
void vp__jobs_settle(void);

#endif
