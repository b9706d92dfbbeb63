/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "net/workers.h"
#include "run.h"
#include "sanitized.h"
#include "stacks.h"
#include "tests/fake_device.h"

uint64_t fuzz_time_limit(void) { return (FUZZ_SANITIZED ? 200 : 20) * 1000000000ull; }

uint64_t fuzz_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- the driver's side -------------------------------------------------------------- */

static bool launch(fuzz_worker *w) {
    int request[2], reply[2];
    if (pipe2(request, O_CLOEXEC) || pipe2(reply, O_CLOEXEC)) return false;
    atomic_store_explicit(&w->channel->running, 0, memory_order_relaxed);
    memset(&w->channel->stats, 0, sizeof w->channel->stats);
    memset(&w->channel->native, 0, sizeof w->channel->native);
    w->channel->launches = w->channel->loop_puts = 0;
    w->channel->programs = w->channel->teams = 0;
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0) return false;
    if (w->pid == 0) {
        char threads[16], memory[16], in[16], out[16];
        snprintf(threads, sizeof threads, "%d", w->threads ? w->threads : 1);
        setenv("VP_SYNC", w->threads ? "0" : "1", 1);
        if (!w->threads)
            setenv("VP_JIT", "off", 1); /* the base kernels are the reference */
        setenv("VP_THREADS", threads, 1);
        setenv("VP_ERRORS", "quiet", 1);
        /* Copies of the descriptors stay open across exec; the originals do not. */
        snprintf(memory, sizeof memory, "%d", dup(w->memory));
        snprintf(in, sizeof in, "%d", dup(request[0]));
        snprintf(out, sizeof out, "%d", dup(reply[1]));
        execl("/proc/self/exe", "vproc-fuzz", "--worker", memory, in, out, (char *)NULL);
        perror("vproc-fuzz: cannot start itself");
        _exit(127);
    }
    close(request[0]);
    close(reply[1]);
    w->to = request[1];
    w->from = reply[0];
    return true;
}

bool fuzz_worker_start(fuzz_worker *w, int threads) {
    w->threads = threads;
    w->memory = memfd_create("vproc-fuzz", MFD_CLOEXEC);
    if (w->memory < 0 || ftruncate(w->memory, sizeof *w->channel)) return false;
    w->channel =
        mmap(NULL, sizeof *w->channel, PROT_READ | PROT_WRITE, MAP_SHARED, w->memory, 0);
    return w->channel != MAP_FAILED && launch(w);
}

/* The worker ends because nobody asks any more; one that does not is ended. */
static int reap(fuzz_worker *w) {
    int status = 0;
    const uint64_t began = fuzz_now();
    close(w->to);
    close(w->from);
    for (;;) {
        const pid_t ended = waitpid(w->pid, &status, WNOHANG);
        if (ended != 0) return ended < 0 ? 0 : status;
        if (fuzz_now() - began > fuzz_time_limit()) break;
        struct timespec nap = {0, 100000};
        nanosleep(&nap, NULL);
    }
    fuzz_stacks_ask(w->pid);
    kill(w->pid, SIGKILL);
    waitpid(w->pid, &status, 0);
    return status;
}

int fuzz_worker_restart(fuzz_worker *w) {
    int status = reap(w);
    if (!launch(w)) {
        perror("vproc-fuzz: cannot start a worker again");
        exit(1);
    }
    return status;
}

bool fuzz_worker_is_full(const fuzz_worker *w) {
    return w->channel->native.kernels > 700;
}

int fuzz_worker_stop(fuzz_worker *w) {
    int status = reap(w);
    munmap(w->channel, sizeof *w->channel);
    close(w->memory);
    return status;
}

bool fuzz_worker_ask(fuzz_worker *w) { return write(w->to, "", 1) == 1; }

bool fuzz_worker_reply(fuzz_worker *w) {
    char byte;
    return read(w->from, &byte, 1) == 1;
}

/* --- the worker's side -------------------------------------------------------------- */

/* New thresholds; nobody may be looking at them, so the threads stop first. The next node
 * starts them again. */
static void tune(uint64_t seed, const fuzz_mix *mix) {
    if (vp__config_get()->sync) return;
    vp__workers_stop();
    fuzz_tune(&vp__tuning, seed);
    fuzz_tune_device(seed, mix);
}

void fuzz_tune_device(uint64_t seed, const fuzz_mix *mix) {
    static const fake_properties like[FUZZ_NDEVICES] = {
        [FUZZ_MOODY] = {.slowness = 1, .moody = true},
        [FUZZ_CHEAP] = {.slowness = 0.001},
        [FUZZ_SLOW] = {.latency_ns = 20000, .ns_per_byte = 1, .slowness = 3},
        [FUZZ_REFUSING] = {.slowness = 0.001, .refuses_of_8 = 7},
        [FUZZ_FAILING] = {.slowness = 0.001, .fails_of_8 = 1}};
    const fuzz_device device = fuzz_device_of(seed, mix);
    fake_device_rest();
    if (device != FUZZ_NO_DEVICE) fake_device_become(&like[device], 1);
    vp__device_count = device != FUZZ_NO_DEVICE;
}

/* What is left when the net is empty. A thread that has just run the last node, or holds a
 * ticket for one, may still be giving memory back, and on a busy machine it may not have had
 * its turn for seconds; so what is there after a while decides. */
static void look_at_rest(vp_stats *stats, int64_t settled) {
    vp_get_stats(stats);
    for (int i = 0; i < 50000 && (stats->bytes_in_use > settled || fuzz_borrowed() ||
                                  fake_device_bytes());
         i++) {
        struct timespec nap = {0, 100000};
        nanosleep(&nap, NULL);
        vp_get_stats(stats);
    }
}

/* As in a process that has just started: one thread issues, until another one begins. Nobody
 * issues now, and what was issued is over. */
static void forget_issuers(void) {
    if (!vp__config_get()->sync && vp__has_barrier())
        atomic_store_explicit(&vp__many_issuers, false, memory_order_relaxed);
}

/* Runs a program; what its threads saw comes one after the other. */
static uint64_t run_program(fuzz_channel *c, fuzz_program *p, uint64_t seed) {
    const size_t room = sizeof c->log / FUZZ_ISSUERS;
    fuzz_log log[FUZZ_ISSUERS];
    fuzz_generate(p, seed, &c->mix);
    for (int i = 0; i < FUZZ_ISSUERS; i++)
        fuzz_log_init(&log[i], c->text ? c->log + (size_t)i * room : NULL, room);
    c->programs++;
    c->teams += p->issuers > 1;
    fuzz_run(p, c->leave_out ? c->kept : NULL, log);
    uint64_t hash = log[0].hash;
    for (int i = 1; i < p->issuers; i++) {
        hash = hash * 31 + log[i].hash;
        if (!c->text) continue;
        memmove(log[0].text + log[0].size, log[i].text, log[i].size + 1);
        log[0].size += log[i].size;
    }
    return hash;
}

static void run_one(fuzz_channel *c, fuzz_program *p, uint64_t seed,
                    fuzz_result *result) {
    /* Bytes in use after a program, the most that was seen to stay. */
    static int64_t settled;
    forget_issuers();
    uint64_t hash = run_program(c, p, seed);
    look_at_rest(&c->stats, settled);
    c->launches = fake_device_launches();
    c->loop_puts = fuzz_loop_puts();
    vp__native_get_stats(&c->native);
    *result = (fuzz_result){.hash = hash, .end = FUZZ_RAN};
    if (c->stats.in_flight != 0) {
        result->end = FUZZ_NOT_EMPTY;
        result->extra = c->stats.in_flight;
    } else if (c->stats.bytes_in_use > settled) {
        result->end = FUZZ_LEAKED;
        result->extra = c->stats.bytes_in_use - settled;
        settled = c->stats.bytes_in_use;
    } else if (fake_device_bytes() || fake_device_strays()) {
        result->end = FUZZ_DEVICE;
        result->extra = fake_device_bytes() + fake_device_strays();
    } else if (fuzz_borrowed() != 0) {
        result->end = FUZZ_HELD;
        result->extra = fuzz_borrowed();
    }
    atomic_store_explicit(&c->running, 0, memory_order_relaxed);
}

int fuzz_work(int memory, int in, int out) {
    fuzz_channel *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    fuzz_program *p = malloc(sizeof *p);
    if (c == MAP_FAILED || !p) {
        perror("vproc-fuzz: a worker has no memory");
        free(p);
        return 1;
    }
    fuzz_stacks_offer();
    char byte;
    uint64_t block = UINT64_MAX;
    while (read(in, &byte, 1) == 1) {
        for (int i = 0; i < c->count; i++) {
            uint64_t seed = c->first + (uint64_t)i;
            atomic_store_explicit(&c->since_ns, fuzz_now(), memory_order_relaxed);
            atomic_store_explicit(&c->running, seed + 1, memory_order_relaxed);
            if (seed / FUZZ_SHARED != block) tune(seed, &c->mix);
            block = seed / FUZZ_SHARED;
            run_one(c, p, seed, &c->result[i]);
        }
        if (write(out, "", 1) != 1) break;
    }
    free(p);
    return 0;
}
