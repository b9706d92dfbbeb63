/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording. A thread's first record makes its log; from then on it writes to memory of
 * its own and publishes by a count. Logs outlive their threads, since the file is written
 * at the end. Blocks double in size, so that a thread which records little costs little.
 *
 * After a fork the child records into logs and a file of its own; the parent's records
 * are the parent's.
 */
#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "trace/export.h"

enum { FIRST_BLOCK = 128, LARGEST_BLOCK = 8192, FILE_NAME = 4096 };

bool vp__trace_on;
int64_t vp__trace_limit = 4 << 20;

static _Thread_local vp__trace_log *own __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards these three */
static vp__trace_log *logs;
static int log_count;
static int64_t reserved; /* records that blocks have room for */

static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER; /* one writer of the file */
static char file_name[FILE_NAME];
static uint64_t origin; /* ticks at the start */
static bool is_child;   /* of the process that began the trace */

/* Makes the calling thread's log; NULL when out of memory. */
static vp__trace_log *log_new(void) {
    vp__trace_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    pthread_mutex_lock(&lock);
    log->number = ++log_count;
    log->next = logs;
    logs = log;
    pthread_mutex_unlock(&lock);
    return own = log;
}

/* Adds a block to a log whose last one is full; NULL when the limit is reached. */
static vp__trace_block *block_new(vp__trace_log *log) {
    int64_t capacity = log->last ? (int64_t)log->last->capacity * 2 : FIRST_BLOCK;
    if (capacity > LARGEST_BLOCK) capacity = LARGEST_BLOCK;
    pthread_mutex_lock(&lock);
    if (capacity > vp__trace_limit - reserved) capacity = vp__trace_limit - reserved;
    reserved += capacity;
    pthread_mutex_unlock(&lock);
    if (capacity <= 0) return NULL;
    vp__trace_block *block =
        malloc(sizeof *block + (size_t)capacity * sizeof(vp__trace_record));
    if (!block) return NULL;
    atomic_init(&block->next, NULL);
    atomic_init(&block->count, 0);
    block->capacity = (uint32_t)capacity;
    /* Release pairs with the acquire of the same link in the reader: it sees the block's
     * fields. */
    if (log->last) {
        atomic_store_explicit(&log->last->next, block, memory_order_release);
    } else {
        atomic_store_explicit(&log->first, block, memory_order_release);
    }
    return log->last = block;
}

/* Finds room for a record where the short way found none; NULL drops it. */
__attribute__((noinline)) static vp__trace_block *make_room(void) {
    vp__trace_log *log = own ? own : log_new();
    if (!log) return NULL;
    vp__trace_block *block = block_new(log);
    if (!block) {
        /* Relaxed and without an atomic addition: its thread alone counts, and the
         * reader wants a figure. */
        int64_t dropped = atomic_load_explicit(&log->dropped, memory_order_relaxed);
        atomic_store_explicit(&log->dropped, dropped + 1, memory_order_relaxed);
    }
    return block;
}

void vp__trace_write(vp__trace_kind kind, uint64_t node, const char *name, uint64_t arg) {
    uint64_t ticks = vp__clock_ticks() - origin;
    vp__trace_block *block = own ? own->last : NULL;
    uint32_t count =
        block ? atomic_load_explicit(&block->count, memory_order_relaxed) : 0;
    if (__builtin_expect(!block || count == block->capacity, 0)) {
        block = make_room();
        if (!block) return;
        count = 0;
    }
    block->records[count] =
        (vp__trace_record){ticks << 8 | (uint64_t)kind, node, name, arg};
    /* Release pairs with the acquire of the count in the reader: the record is there. */
    atomic_store_explicit(&block->count, count + 1, memory_order_release);
}

void vp__trace_thread(const char *name) {
    if (!vp__trace_on) return;
    vp__trace_log *log = own ? own : log_new();
    char *copy = log ? strdup(name) : NULL;
    if (!copy) return;
    /* Release pairs with the acquire in the reader, which may use the name at any time;
     * so an earlier one is not freed. Threads are named once, as a rule. */
    atomic_store_explicit(&log->name, copy, memory_order_release);
}

/* The logs there are; later ones are put before them. */
static const vp__trace_log *logs_now(void) {
    pthread_mutex_lock(&lock);
    const vp__trace_log *all = logs;
    pthread_mutex_unlock(&lock);
    return all;
}

int64_t vp__trace_kept(void) {
    int64_t kept = 0;
    for (const vp__trace_log *log = logs_now(); log; log = log->next)
        kept += vp__trace_log_length(log);
    return kept;
}

void vp__trace_flush(void) {
    if (!vp__trace_on) return;
    pthread_mutex_lock(&flushing);
    const vp__trace_log *all = logs_now();
    /* A child that recorded nothing is not part of the story. */
    if (all || !is_child) {
        errno = 0;
        FILE *file = fopen(file_name, "we");
        if (file) vp__trace_export(file, all);
        bool failed = !file || ferror(file);
        if (file && fclose(file)) failed = true;
        if (failed) {
            fprintf(stderr, "vproc: the trace cannot be written to %s: %s\n", file_name,
                    strerror(errno));
        }
    }
    pthread_mutex_unlock(&flushing);
}

/* ---- fork ---- */

static void before_fork(void) {
    pthread_mutex_lock(&flushing);
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&flushing);
}

static void log_delete(vp__trace_log *log) {
    vp__trace_block *block = atomic_load_explicit(&log->first, memory_order_relaxed);
    while (block) {
        vp__trace_block *next = atomic_load_explicit(&block->next, memory_order_relaxed);
        free(block);
        block = next;
    }
    free(log);
}

static void after_fork_in_child(void) {
    vp__trace_log *old = logs;
    const char *name =
        own ? atomic_load_explicit(&own->name, memory_order_relaxed) : NULL;
    size_t length = strlen(file_name);
    snprintf(file_name + length, sizeof file_name - length, ".%ld", (long)getpid());
    own = NULL;
    logs = NULL;
    log_count = 0;
    reserved = 0;
    is_child = true;
    after_fork();
    while (old) {
        vp__trace_log *next = old->next;
        log_delete(old);
        old = next;
    }
    if (name && log_new()) atomic_store_explicit(&own->name, name, memory_order_relaxed);
}

static void begin(void) {
    const char *name = vp__config_get()->trace;
    if (!name) return;
    if (strlen(name) > FILE_NAME - 32) {
        fprintf(stderr,
                "vproc: VP_TRACE is too long for a file name; nothing is traced\n");
        return;
    }
    vp__clock_init();
    strcpy(file_name, name);
    origin = vp__clock_ticks();
    vp__trace_on = true;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    atexit(vp__trace_flush);
}

void vp__trace_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
}
