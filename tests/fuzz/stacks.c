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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "sanitized.h"

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

/* The line of /proc/self/maps an address belongs to. */
static void show_mapping(const char *what, uint64_t address) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        if (sscanf(line, "%llx-%llx", &from, &to) == 2 && address >= from && address < to)
            fprintf(stderr, "%s %#llx: %s", what, (unsigned long long)address, line);
    }
    if (maps) fclose(maps);
}

#ifdef __x86_64__
static void show_registers(const ucontext_t *c) {
    static const char *const names[] = {"r8",  "r9",  "r10", "r11", "r12", "r13",
                                        "r14", "r15", "rdi", "rsi", "rbp", "rbx",
                                        "rdx", "rax", "rcx", "rsp", "rip"};
    const greg_t *r = c->uc_mcontext.gregs;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(stderr, "%s %#llx%c", names[i], (unsigned long long)r[i],
                i % 6 == 5 ? '\n' : ' ');
    fputc('\n', stderr);
    show_mapping("code", (uint64_t)r[REG_RIP]);
    show_mapping("stack", (uint64_t)r[REG_RSP]);
}

static void show_code(const ucontext_t *c) {
    const unsigned char *at = (const unsigned char *)c->uc_mcontext.gregs[REG_RIP];
    for (int i = -32; i < 32; i++) fprintf(stderr, "%s%02x", i == 0 ? " > " : " ", at[i]);
    fputc('\n', stderr);
}
#endif

/* The same: nothing here is safe in a handler, and nothing can become worse. A second fault,
 * such as in code that cannot be read, ends the process. */
static void crash(int number, siginfo_t *info, void *context) {
    signal(number, SIG_DFL);
    fprintf(stderr, "process %ld, thread %ld: %s at %p, code %d\n", (long)getpid(),
            (long)syscall(SYS_gettid), strsignal(number), info->si_addr, info->si_code);
    show_mapping("data", (uint64_t)(uintptr_t)info->si_addr);
#ifdef __x86_64__
    show_registers(context);
#endif
    show(number);
#ifdef __x86_64__
    show_code(context);
#endif
    (void)context;
    raise(number);
}

void fuzz_stacks_offer(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    void *first[1];
    backtrace(first, 1); /* loads what it needs, now and not in a handler */
    struct sigaction all = {.sa_handler = show_all, .sa_flags = SA_RESTART};
    struct sigaction one = {.sa_handler = show, .sa_flags = SA_RESTART};
    sigaction(ASK, &all, NULL);
    sigaction(SHOW, &one, NULL);
    struct sigaction dies = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly && !FUZZ_SANITIZED; i++)
        sigaction(deadly[i], &dies, NULL);
}

void fuzz_stacks_ask(pid_t worker) {
    if (kill(worker, ASK) == 0) nap(3000);
}
