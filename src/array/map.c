/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings and their books. The counters are relaxed atomics: each is exact by itself, and
 * nothing is concluded from two of them together but how much to keep, where being off by
 * a block is harmless.
 */
#define _GNU_SOURCE
#include "array/map.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "array/poison.h"
#include "base/config.h"

enum {
    KEEP_ALWAYS = 64 << 20, /* kept beyond the peak, however small that is */
    EPOCH_FACTOR = 16,      /* an epoch ends after allocating so many times the peak */
};

static _Atomic int64_t charged, peak_charged;
static _Atomic int64_t lent, peak_lent;
static _Atomic int64_t epoch_peak,
    last_peak; /* of lent, in this epoch and the one before */
static _Atomic int64_t epoch_traffic;
static _Atomic int64_t system_calls;

static void raise_peak(_Atomic int64_t *peak, int64_t value) {
    int64_t old = atomic_load_explicit(peak, memory_order_relaxed);
    while (old < value &&
           !atomic_compare_exchange_weak_explicit(peak, &old, value, memory_order_relaxed,
                                                  memory_order_relaxed)) {}
}

static int64_t get(const _Atomic int64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void count_call(void) {
    atomic_fetch_add_explicit(&system_calls, 1, memory_order_relaxed);
}

void *vp__map_new(size_t bytes, size_t align) {
    /* The system aligns to a small page, so map more and cut off both ends. */
    if (bytes > SIZE_MAX / 2) return NULL;
    count_call();
    char *start = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)start & (align - 1);
    char *aligned = start + before;
    if (before) {
        count_call();
        munmap(start, before);
    }
    count_call();
    munmap(aligned + bytes, align - before);
    count_call();
    madvise(aligned, bytes, MADV_HUGEPAGE); /* where it is refused, small pages do */
    return aligned;
}

void vp__map_release(void *p, size_t bytes) {
    vp__unpoison(p, bytes);
    count_call();
    munmap(p, bytes);
}

void vp__map_discard(void *p, size_t bytes) {
    count_call();
    madvise(p, bytes, MADV_DONTNEED);
}

bool vp__map_charge(int64_t bytes) {
    /* Above the limit the system would end the process instead of refusing. Some is left
     * for the program itself; a larger VP_MEMORY is the user's wish. */
    const vp__config *config = vp__config_get();
    int64_t limit = config->memory_all / 100 * 95;
    if (limit < config->memory) limit = config->memory;
    int64_t now =
        atomic_fetch_add_explicit(&charged, bytes, memory_order_relaxed) + bytes;
    if (now > limit) {
        vp__map_uncharge(bytes);
        return false;
    }
    raise_peak(&peak_charged, now);
    return true;
}

void vp__map_uncharge(int64_t bytes) {
    atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed);
}

int64_t vp__map_charged(void) { return get(&charged); }

static int64_t recent_peak(void) {
    int64_t now = get(&epoch_peak), before = get(&last_peak);
    return now > before ? now : before;
}

void vp__map_lend(int64_t bytes) {
    int64_t now = atomic_fetch_add_explicit(&lent, bytes, memory_order_relaxed) + bytes;
    if (bytes <= 0) return;
    raise_peak(&peak_lent, now);
    raise_peak(&epoch_peak, now);
    int64_t traffic =
        atomic_fetch_add_explicit(&epoch_traffic, bytes, memory_order_relaxed) + bytes;
    int64_t length = recent_peak();
    if (length < KEEP_ALWAYS) length = KEEP_ALWAYS;
    if (traffic < length * EPOCH_FACTOR) return;
    /* Of the threads that come here at once, one ends the epoch. */
    if (atomic_compare_exchange_strong_explicit(
            &epoch_traffic, &traffic, 0, memory_order_relaxed, memory_order_relaxed)) {
        atomic_store_explicit(&last_peak, get(&epoch_peak), memory_order_relaxed);
        atomic_store_explicit(&epoch_peak, now, memory_order_relaxed);
    }
}

int64_t vp__map_lent(void) { return get(&lent); }

int64_t vp__map_bound(void) {
    int64_t peak = recent_peak();
    int64_t bound = peak + (peak / 2 > KEEP_ALWAYS ? peak / 2 : KEEP_ALWAYS);
    int64_t memory = vp__config_get()->memory;
    return bound < memory ? bound : memory;
}

void vp__map_stats(vp__map_stat *out) {
    out->peak_charged = get(&peak_charged);
    out->peak_lent = get(&peak_lent);
    out->system_calls = get(&system_calls);
}

void vp__map_reset_peaks(void) {
    atomic_store_explicit(&peak_charged, get(&charged), memory_order_relaxed);
    atomic_store_explicit(&peak_lent, get(&lent), memory_order_relaxed);
}
