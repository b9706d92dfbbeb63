/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "device/cpu/pair.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "device/cpu/topology.h"

enum {
    MEASURE_NS = 1000000,
    ROUNDS = 64,            /* round trips between two looks at the clock */
    PATIENCE_NS = 20000000, /* for a thread that does not get its CPU */
    NOBODY_NS = 50000, /* the answer where there is no second CPU: a sleep and a wake */
    SETS = 100,        /* of work */
    TURNS = 50000,     /* of a set: some twenty microseconds */
};

typedef struct {
    _Alignas(128) atomic_int ball; /* odd: on its way to the second thread; -1: the end */
    _Alignas(128) atomic_int started;
    int cpu[2];
    double ns, together;
} court;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set,
                           &set); /* unpinned it measures too */
}

/* Whether the other thread has begun. */
static bool has_company(court *c) {
    const uint64_t start = vp__clock_ticks();
    /* Relaxed throughout: the flags themselves are all that is communicated. */
    while (!atomic_load_explicit(&c->started, memory_order_relaxed)) {
        if (vp__clock_ns(vp__clock_ticks() - start) > PATIENCE_NS) return false;
        sched_yield();
    }
    return true;
}

/* Runs one function on each of the first two CPUs; `first` ends the game. */
static void play(court *c, void *(*first)(void *), void *(*second)(void *)) {
    cpu_set_t set;
    int found = 0;
    if (vp__cpu_count() < 2 || sched_getaffinity(0, sizeof set, &set)) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) c->cpu[found++] = cpu;
    }
    if (found < 2) return;
    vp__clock_init();
    pthread_t one, two;
    if (pthread_create(&two, NULL, second, c)) return;
    if (pthread_create(&one, NULL, first, c)) {
        atomic_store_explicit(&c->ball, -1, memory_order_relaxed);
    } else {
        pthread_join(one, NULL);
    }
    pthread_join(two, NULL);
}

/* --- hand-over ---------------------------------------------------------------------- */

/* Returns every odd ball as the next even one. */
static void *return_balls(void *argument) {
    court *c = argument;
    pin(c->cpu[1]);
    atomic_store_explicit(&c->started, 1, memory_order_relaxed);
    for (int spins = 0;;) {
        int ball = atomic_load_explicit(&c->ball, memory_order_relaxed);
        if (ball < 0) return NULL;
        if (ball & 1) {
            atomic_store_explicit(&c->ball, ball + 1, memory_order_relaxed);
            spins = 0;
        } else if (++spins > 100000) {
            sched_yield();
        }
    }
}

/* Plays until the time is over and notes the fastest set; a slow one was disturbed. */
static void *serve_balls(void *argument) {
    court *c = argument;
    pin(c->cpu[0]);
    if (!has_company(c)) goto end;
    uint64_t best = UINT64_MAX;
    const uint64_t start = vp__clock_ticks();
    for (int ball = 0; vp__clock_ns(vp__clock_ticks() - start) < MEASURE_NS;) {
        uint64_t set = vp__clock_ticks();
        for (int i = 0; i < ROUNDS; i++, ball += 2) {
            atomic_store_explicit(&c->ball, ball + 1, memory_order_relaxed);
            for (int spins = 0;
                 atomic_load_explicit(&c->ball, memory_order_relaxed) != ball + 2;) {
                if (++spins < 100000) continue;
                if (vp__clock_ns(vp__clock_ticks() - start) > PATIENCE_NS) goto end;
                sched_yield();
            }
        }
        set = vp__clock_ticks() - set;
        if (set < best) best = set;
    }
    c->ns = (double)best * vp__clock_ns_per_tick / (2 * ROUNDS);
end:
    atomic_store_explicit(&c->ball, -1, memory_order_relaxed);
    return NULL;
}

static double handover_ns = NOBODY_NS;

static void measure_handover(void) {
    court c = {.ns = NOBODY_NS};
    play(&c, serve_balls, return_balls);
    handover_ns = c.ns;
}

double vp__cpu_handover_ns(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_handover);
    return handover_ns;
}

/* --- both at once ------------------------------------------------------------------- */

/* Work that leaves no room in a core for another thread's, and needs no memory. */
static void work(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (int i = 0; i < TURNS; i++) {
        a += 3, b ^= 5, c += 7, d ^= 9, e += 11, f ^= 13;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
}

static void *work_on(void *argument) {
    court *c = argument;
    pin(c->cpu[1]);
    while (atomic_load_explicit(&c->ball, memory_order_relaxed) == 0) sched_yield();
    atomic_store_explicit(&c->started, 1, memory_order_relaxed);
    while (atomic_load_explicit(&c->ball, memory_order_relaxed) > 0) work();
    return NULL;
}

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One that takes longer than a quarter of them: what others do on these cores makes sets slow,
 * and the other thread's absence, of which there may be a little, makes them quick. */
static double usual_set(void) {
    uint64_t sets[SETS];
    for (int i = 0; i < SETS; i++) {
        sets[i] = vp__clock_ticks();
        work();
        sets[i] = vp__clock_ticks() - sets[i];
    }
    qsort(sets, SETS, sizeof *sets, by_size);
    const uint64_t usual = sets[SETS / 4];
    return (double)usual;
}

static void *work_alone_then_together(void *argument) {
    court *c = argument;
    pin(c->cpu[0]);
    usual_set(); /* until the core is awake */
    const double alone = usual_set();
    atomic_store_explicit(&c->ball, 1, memory_order_relaxed);
    if (has_company(c)) c->together = 2 * alone / usual_set();
    atomic_store_explicit(&c->ball, -1, memory_order_relaxed);
    return NULL;
}

static double together = 1;

static void measure_together(void) {
    court c = {.together = 1};
    play(&c, work_alone_then_together, work_on);
    together = c.together;
}

double vp__cpu_together(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_together);
    return together;
}
