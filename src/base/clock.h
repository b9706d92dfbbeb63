/* SPDX-License-Identifier: Apache-2.0
 *
 * A clock that costs about ten nanoseconds to read. On x86 it is the time stamp counter
 * where the CPU says that the counter runs at one speed whatever the core does; elsewhere
 * it is the monotonic clock of the system. Ticks of different cores may be compared.
 */
#ifndef VP_BASE_CLOCK_H
#define VP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Both are set by vp__clock_init and do not change afterwards. Before that, a tick is a
 * nanosecond of the system's clock. */
extern double vp__clock_ns_per_tick;
extern bool vp__clock_has_tsc;

/* Calibrates the clock, once per process; later calls return at once, and concurrent ones
 * wait for the first. Takes about a millisecond where the CPU does not tell the frequency
 * of its counter, nothing otherwise. Call it before the first vp__clock_ticks that counts. */
void vp__clock_init(void);

/* Nanoseconds of the system's monotonic clock. */
uint64_t vp__clock_system_ns(void);

/* The time now, in ticks since some point in the past. */
static inline uint64_t vp__clock_ticks(void) {
#if defined(__x86_64__)
    if (__builtin_expect(vp__clock_has_tsc, 1)) return __builtin_ia32_rdtsc();
#endif
    return vp__clock_system_ns();
}

/* A difference of ticks in nanoseconds. */
static inline uint64_t vp__clock_ns(uint64_t ticks) {
    return (uint64_t)((double)ticks * vp__clock_ns_per_tick);
}

#endif
