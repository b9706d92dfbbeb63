/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the system about its CPUs, and measuring what it does not tell: virtual machines
 * present the two halves of a core as two cores, and only the time a value takes from one
 * to the other gives them away. The measurement pins two threads of its own and never one
 * of the program's.
 */
#define _GNU_SOURCE
#include "device/cpu/topology.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/config.h"

int vp__cpu_count(void) { return vp__config_get()->cores; }

/* ---- caches and name ---- */

static struct {
    size_t cache[4]; /* by level */
    char name[128];
} facts;

static bool read_word(const char *path, char *word, size_t size) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(word, (int)size, file) != NULL;
    fclose(file);
    if (read) word[strcspn(word, "\n")] = '\0';
    return read;
}

static void read_caches(void) {
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[128], word[64];
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "%s%d/type", folder, i);
        if (!read_word(path, word, sizeof word)) break;
        if (!strcmp(word, "Instruction")) continue;
        snprintf(path, sizeof path, "%s%d/level", folder, i);
        int level = read_word(path, word, sizeof word) ? atoi(word) : 0;
        snprintf(path, sizeof path, "%s%d/size", folder, i);
        if (level < 1 || level > 3 || !read_word(path, word, sizeof word)) continue;
        char *unit;
        size_t bytes = strtoul(word, &unit, 10);
        facts.cache[level] = bytes << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
    }
}

static void read_name(void) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !facts.name[0] && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10)) continue;
        line[strcspn(line, "\n")] = '\0';
        colon += strspn(colon, ": \t");
        snprintf(facts.name, sizeof facts.name, "%.*s", (int)sizeof facts.name - 1,
                 colon);
    }
    if (file) fclose(file);
    struct utsname system;
    if (!facts.name[0] && !uname(&system)) {
        snprintf(facts.name, sizeof facts.name, "%s", system.machine);
    }
}

static void read_facts(void) {
    static const size_t usual[4] = {0, 32 << 10, 512 << 10, 8 << 20};
    read_caches();
    for (int level = 1; level <= 3; level++) {
        if (!facts.cache[level]) facts.cache[level] = usual[level];
    }
    read_name();
}

static pthread_once_t facts_once = PTHREAD_ONCE_INIT;

size_t vp__cpu_cache_bytes(int level) {
    pthread_once(&facts_once, read_facts);
    return level >= 1 && level <= 3 ? facts.cache[level] : 0;
}

const char *vp__cpu_name(void) {
    pthread_once(&facts_once, read_facts);
    return facts.name;
}

/* ---- hand-over ---- */

enum {
    MEASURE_NS = 1000000,
    ROUNDS = 64,            /* round trips between two looks at the clock */
    PATIENCE_NS = 20000000, /* for a thread that does not get its CPU */
    NOBODY_NS = 50000, /* the answer where there is no second CPU: a sleep and a wake */
};

typedef struct {
    _Alignas(128) atomic_int ball; /* odd: on its way to the second thread; -1: the end */
    _Alignas(128) atomic_int started;
    int cpu[2];
    double ns;
} court;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set,
                           &set); /* unpinned it measures too */
}

/* Returns every odd ball as the next even one. */
static void *return_balls(void *argument) {
    court *c = argument;
    pin(c->cpu[1]);
    /* Relaxed throughout: the ball itself is all that is communicated. */
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
    uint64_t start = vp__clock_ticks(), best = UINT64_MAX;
    while (!atomic_load_explicit(&c->started, memory_order_relaxed)) {
        if (vp__clock_ns(vp__clock_ticks() - start) > PATIENCE_NS) goto end;
        sched_yield();
    }
    start = vp__clock_ticks();
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
    cpu_set_t set;
    court c = {.ns = NOBODY_NS};
    int found = 0;
    if (vp__cpu_count() < 2 || sched_getaffinity(0, sizeof set, &set)) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) c.cpu[found++] = cpu;
    }
    if (found < 2) return;
    vp__clock_init();
    pthread_t server, returner;
    if (pthread_create(&returner, NULL, return_balls, &c)) return;
    if (pthread_create(&server, NULL, serve_balls, &c)) {
        atomic_store_explicit(&c.ball, -1, memory_order_relaxed);
    } else {
        pthread_join(server, NULL);
    }
    pthread_join(returner, NULL);
    handover_ns = c.ns;
}

double vp__cpu_handover_ns(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_handover);
    return handover_ns;
}
