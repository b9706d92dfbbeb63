/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers: processes that run programs one way each, the reference with VP_SYNC=1, the
 * others with a number of threads and lowered thresholds. A process of its own per way,
 * because the library reads its environment once; and because one that crashes takes
 * nobody along.
 *
 * Driver and worker share a channel in memory and a pair of pipes that carry one byte per
 * request and reply, so the two never look at the channel at the same time (except at
 * what is atomic).
 */
#ifndef FUZZ_WORKER_H
#define FUZZ_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "jit/native.h"
#include "program.h"

enum { FUZZ_TEXT = 16 << 20 };

/* How a program ended. */
typedef enum {
    FUZZ_RAN,
    FUZZ_NOT_EMPTY, /* nodes in flight after vp_sync */
    FUZZ_LEAKED,    /* more bytes in use than before */
    FUZZ_DEVICE,    /* device memory not given back, or addresses that are not in it */
    FUZZ_HELD,      /* borrowed memory that was not given back */
    FUZZ_CRASHED,
    FUZZ_HUNG,
    FUZZ_MISSING, /* not run yet */
} fuzz_end;

typedef struct {
    uint64_t hash;
    int64_t extra; /* nodes or bytes left over; the signal or exit status of a crash */
    uint8_t end;   /* fuzz_end */
} fuzz_result;

typedef struct {
    /* relaxed: the driver looks at them to find who hangs, and after a death. */
    _Atomic uint64_t running; /* the seed of the program in progress + 1; 0: none */
    _Atomic uint64_t since_ns;
    /* Of this process so far. */
    vp_stats stats;
    vp__native_stats native;
    uint64_t launches; /* on a device */
    uint64_t loop_puts;
    /* Of programs, and of them those that several threads issued. */
    uint64_t programs, teams;
    /* The request: */
    uint64_t first;
    int count;
    fuzz_mix mix;
    bool text;      /* log as text; for a single program */
    bool leave_out; /* run only what `kept` names */
    bool kept[FUZZ_MAX];
    /* The reply: */
    fuzz_result result[FUZZ_SHARED];
    char log[FUZZ_TEXT];
} fuzz_channel;

typedef struct {
    int threads; /* 0: the reference */
    pid_t pid;
    int to, from; /* pipes */
    fuzz_channel *channel;
    int memory;
} fuzz_worker;

bool fuzz_worker_start(fuzz_worker *w, int threads);
/* Starts another process after the last one has died or was killed; the channel's stats
 * begin again. Returns what waitpid said of the old one. */
int fuzz_worker_restart(fuzz_worker *w);
/* Whether the process has seen so many kernels that it will soon compile no more of them:
 * what is known of native code is bounded, and random programs know no bounds. */
bool fuzz_worker_is_full(const fuzz_worker *w);
/* Lets the worker end by itself, as a leak checker needs it; returns its wait status. */
int fuzz_worker_stop(fuzz_worker *w);
/* Hands over the request in the channel; false when the process is gone. */
bool fuzz_worker_ask(fuzz_worker *w);
/* Whether the reply came; false when the process is gone. Blocks. */
bool fuzz_worker_reply(fuzz_worker *w);

/* How long a program may take, in nanoseconds. */
uint64_t fuzz_time_limit(void);
uint64_t fuzz_now(void);

/* What a worker process does until its pipe is closed. */
int fuzz_work(int memory, int in, int out);

/* Gives the process the device a seed wants, or takes it away; the net must be empty. */
void fuzz_tune_device(uint64_t seed, const fuzz_mix *mix);

#endif
