/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding out whether the time stamp counter can be used, and how fast it runs.
 *
 * The counter is used only if the CPU declares it invariant: it then runs at one speed on
 * all cores, whatever their clock does and while they sleep. Its frequency comes from the
 * CPU or the hypervisor where they tell; otherwise from comparing it with the system's
 * clock over at least a millisecond, which starts when the library is loaded, so that by
 * the time the processor starts the wait is mostly over.
 */
#include "base/clock.h"

#include <pthread.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

double vp__clock_ns_per_tick = 1.0;
bool vp__clock_has_tsc = false;

uint64_t vp__clock_system_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)

enum { CALIBRATION_NS = 1000000 };

typedef struct {
    uint64_t ticks, ns;
} moment;

static moment loaded; /* when the library was loaded */

static bool tsc_is_invariant(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

/* Ticks per second, or 0 where neither the CPU nor the hypervisor tells. */
static double tsc_told_frequency(void) {
    unsigned a, b, c, d;
    /* Leaf 15: the counter runs at b / a times the crystal, which runs at c hertz. */
    if (__get_cpuid(0x15, &a, &b, &c, &d) && a && b && c) return (double)c * b / a;
    /* Leaf 40000010 of a hypervisor: the frequency in kilohertz. */
    if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 31 & 1)) {
        __cpuid(0x40000000, a, b, c, d);
        if (a >= 0x40000010 && a < 0x40010000) {
            __cpuid(0x40000010, a, b, c, d);
            if (a) return a * 1000.0;
        }
    }
    return 0;
}

/* Reads both clocks as close together as they get: of several tries the one in which
 * least time passed between two reads of the counter, since the thread may be interrupted
 * in any of them. */
static moment both_clocks(void) {
    moment best = {0, 0};
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        uint64_t ns = vp__clock_system_ns();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < closest) {
            closest = after - before;
            best = (moment){before + (after - before) / 2, ns};
        }
    }
    return best;
}

__attribute__((constructor)) static void remember_load(void) {
    if (tsc_is_invariant()) loaded = both_clocks();
}

static void calibrate(void) {
    if (!tsc_is_invariant()) return;
    double frequency = tsc_told_frequency();
    if (frequency > 0) {
        vp__clock_ns_per_tick = 1e9 / frequency;
    } else {
        if (!loaded.ns) loaded = both_clocks();
        moment now;
        do {
            now = both_clocks();
        } while (now.ns - loaded.ns < CALIBRATION_NS || now.ticks == loaded.ticks);
        vp__clock_ns_per_tick =
            (double)(now.ns - loaded.ns) / (double)(now.ticks - loaded.ticks);
    }
    vp__clock_has_tsc = true;
}

#else

static void calibrate(void) {}

#endif

void vp__clock_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, calibrate);
}
