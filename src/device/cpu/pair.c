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
    ROUND_TRIPS = 64,       /* between two looks at the clock */
    PATIENCE_NS = 20000000, /* for a thread that does not get its CPU */
    ONE_CPU_NS = 50000, /* the answer where there is no second CPU: a sleep and a wake */
    SAMPLES = 100,      /* of work */
    SAMPLE_TURNS = 50000, /* of a sample's loop: some twenty microseconds */
};

/* What the two threads of a measurement share. */
typedef struct {
    /* The number that is handed over and back. Odd: the second thread has to answer; 0: the
     * first one works alone; -1: the end. */
    _Alignas(128) atomic_int token;
    _Alignas(128) atomic_int started; /* the second thread runs */
    int cpu[2];
    double ns, together; /* the results */
} measurement;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set,
                           &set); /* unpinned it measures too */
}

/* Whether the second thread has begun. The first one asks, and waits a while for it. */
static bool second_has_begun(measurement *m) {
    const uint64_t start = vp__clock_ticks();
    /* Relaxed throughout: the flags themselves are all that is communicated. */
    while (!atomic_load_explicit(&m->started, memory_order_relaxed)) {
        if (vp__clock_ns(vp__clock_ticks() - start) > PATIENCE_NS) return false;
        sched_yield();
    }
    return true;
}

/* Runs one function on each of the first two CPUs; `first` ends the measurement. */
static void run_on_two(measurement *m, void *(*first)(void *), void *(*second)(void *)) {
    cpu_set_t set;
    int found = 0;
    if (vp__cpu_count() < 2 || sched_getaffinity(0, sizeof set, &set)) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) m->cpu[found++] = cpu;
    }
    if (found < 2) return;
    vp__clock_init();
    pthread_t one, two;
    if (pthread_create(&two, NULL, second, m)) return;
    if (pthread_create(&one, NULL, first, m)) {
        atomic_store_explicit(&m->token, -1, memory_order_relaxed);
    } else {
        pthread_join(one, NULL);
    }
    pthread_join(two, NULL);
}

/* --- hand-over ---------------------------------------------------------------------- */

/* The second thread: hands every odd token back as the next even one. */
static void *hand_back(void *argument) {
    measurement *m = argument;
    pin(m->cpu[1]);
    atomic_store_explicit(&m->started, 1, memory_order_relaxed);
    for (int spins = 0;;) {
        int token = atomic_load_explicit(&m->token, memory_order_relaxed);
        if (token < 0) return NULL;
        if (token & 1) {
            atomic_store_explicit(&m->token, token + 1, memory_order_relaxed);
            spins = 0;
        } else if (++spins > 100000) {
            sched_yield();
        }
    }
}

/* The first thread: hands tokens over until the time is up, and notes the fastest sample; a
 * slow one was disturbed. */
static void *hand_over(void *argument) {
    measurement *m = argument;
    pin(m->cpu[0]);
    if (!second_has_begun(m)) goto end;
    uint64_t best = UINT64_MAX;
    const uint64_t start = vp__clock_ticks();
    for (int token = 0; vp__clock_ns(vp__clock_ticks() - start) < MEASURE_NS;) {
        uint64_t sample = vp__clock_ticks();
        for (int i = 0; i < ROUND_TRIPS; i++, token += 2) {
            atomic_store_explicit(&m->token, token + 1, memory_order_relaxed);
            for (int spins = 0;
                 atomic_load_explicit(&m->token, memory_order_relaxed) != token + 2;) {
                if (++spins < 100000) continue;
                if (vp__clock_ns(vp__clock_ticks() - start) > PATIENCE_NS) goto end;
                sched_yield();
            }
        }
        sample = vp__clock_ticks() - sample;
        if (sample < best) best = sample;
    }
    m->ns = (double)best * vp__clock_ns_per_tick / (2 * ROUND_TRIPS);
end:
    atomic_store_explicit(&m->token, -1, memory_order_relaxed);
    return NULL;
}

static double handover_ns = ONE_CPU_NS;

static void measure_handover(void) {
    measurement m = {.ns = ONE_CPU_NS};
    run_on_two(&m, hand_over, hand_back);
    handover_ns = m.ns;
}

double vp__cpu_handover_ns(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_handover);
    return handover_ns;
}

/* --- both at once ------------------------------------------------------------------- */

/* One sample of work, which leaves no room in a core for another thread's and needs no memory. */
static void work(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (int i = 0; i < SAMPLE_TURNS; i++) {
        a += 3, b ^= 5, c += 7, d ^= 9, e += 11, f ^= 13;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
}

/* The second thread: works from when the first has measured itself alone until it ends. */
static void *work_beside(void *argument) {
    measurement *m = argument;
    pin(m->cpu[1]);
    while (atomic_load_explicit(&m->token, memory_order_relaxed) == 0) sched_yield();
    atomic_store_explicit(&m->started, 1, memory_order_relaxed);
    while (atomic_load_explicit(&m->token, memory_order_relaxed) > 0) work();
    return NULL;
}

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The ticks of a sample that takes longer than a quarter of the samples: what other processes do
 * on these cores makes samples slow, and the absence of the other thread, of which there may be
 * a little, makes them quick. */
static double usual_sample(void) {
    uint64_t samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = vp__clock_ticks();
        work();
        samples[i] = vp__clock_ticks() - samples[i];
    }
    qsort(samples, SAMPLES, sizeof *samples, by_size);
    const uint64_t usual = samples[SAMPLES / 4];
    return (double)usual;
}

/* The first thread: compares its samples alone with those beside the second thread. */
static void *work_alone_then_together(void *argument) {
    measurement *m = argument;
    pin(m->cpu[0]);
    usual_sample(); /* until the core is awake */
    const double alone = usual_sample();
    atomic_store_explicit(&m->token, 1, memory_order_relaxed);
    if (second_has_begun(m)) m->together = 2 * alone / usual_sample();
    atomic_store_explicit(&m->token, -1, memory_order_relaxed);
    return NULL;
}

static double together = 1;

static void measure_together(void) {
    measurement m = {.together = 1};
    run_on_two(&m, work_alone_then_together, work_beside);
    together = m.together;
}

double vp__cpu_together(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_together);
    return together;
}
