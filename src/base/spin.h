/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a few nanoseconds: the pause hint, and a lock for sections that are shorter
 * than a system call. A spinning thread yields the CPU after a while, because the holder's
 * virtual core may have been descheduled and would otherwise never get to unlock.
 */
#ifndef VP_BASE_SPIN_H
#define VP_BASE_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { VP__SPIN_BEFORE_YIELD = 1000 };

/* Tells the core that this is a waiting loop, so that it saves power and lets a sibling
 * hardware thread run. */
static inline void vp__spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* A test-and-test-and-set lock; zero is unlocked, so static ones need no initialiser. */
typedef struct {
    atomic_bool held;
} vp__spinlock;

static inline bool vp__spin_trylock(vp__spinlock *lock) {
    /* Acquire pairs with the release in vp__spin_unlock: what the last holder wrote inside
     * its section is visible in ours. */
    return !atomic_exchange_explicit(&lock->held, true, memory_order_acquire);
}

/* Out of line, so that those who find the lock free do not pay for this code. */
__attribute__((noinline, cold, unused)) static void vp__spin_wait(vp__spinlock *lock) {
    int spins = 0;
    do {
        /* The relaxed load only decides when the exchange is worth trying; it keeps the
         * cache line shared while somebody else holds the lock. */
        while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
            if (++spins < VP__SPIN_BEFORE_YIELD) {
                vp__spin_pause();
            } else {
                sched_yield();
            }
        }
    } while (!vp__spin_trylock(lock));
}

static inline void vp__spin_lock(vp__spinlock *lock) {
    if (__builtin_expect(!vp__spin_trylock(lock), 0)) vp__spin_wait(lock);
}

static inline void vp__spin_unlock(vp__spinlock *lock) {
    /* Release pairs with the acquire in vp__spin_trylock. */
    atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif
