/* SPDX-License-Identifier: Apache-2.0
 *
 * One signal asks the process, another each of its threads. Addresses are shown as offsets
 * from where the program was loaded, for addr2line.
 */
#define _GNU_SOURCE
#include "stacks.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 48, ASK = SIGUSR1, SHOW = SIGUSR2 };

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void show(int signal) {
    (void)signal;
    void *frames[DEPTH];
    int count = backtrace(frames, DEPTH);
    char head[64];
    int bytes = snprintf(head, sizeof head, "thread %ld\n", (long)syscall(SYS_gettid));
    if (write(STDERR_FILENO, head, (size_t)bytes) != bytes) return;
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

/* A debugger's work in a signal handler: not safe in general, but the process is about to
 * be ended. */
static void show_all(int signal) {
    (void)signal;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return;
    for (struct dirent *e = readdir(tasks); e; e = readdir(tasks)) {
        if (e->d_name[0] == '.') continue;
        syscall(SYS_tgkill, getpid(), atoi(e->d_name), SHOW);
        nap(100); /* one after the other, so that lines do not mix */
    }
    closedir(tasks);
}

void fuzz_stacks_offer(void) {
    void *first[1];
    backtrace(first, 1); /* loads what it needs, now and not in a handler */
    struct sigaction all = {.sa_handler = show_all, .sa_flags = SA_RESTART};
    struct sigaction one = {.sa_handler = show, .sa_flags = SA_RESTART};
    sigaction(ASK, &all, NULL);
    sigaction(SHOW, &one, NULL);
}

void fuzz_stacks_ask(pid_t worker) {
    if (kill(worker, ASK) == 0) nap(3000);
}
