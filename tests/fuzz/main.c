/* SPDX-License-Identifier: Apache-2.0
 *
 * vproc-fuzz: random programs, run by the net with several numbers of threads and by the
 * one-at-a-time reference (VP_SYNC=1), must see the same, bit for bit. See README.md.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "driver.h"
#include "run.h"

static void usage(FILE *to) {
    fputs(
        "usage: vproc-fuzz [options]\n"
        "  --seed N        the first seed (default 1), or `random`\n"
        "  --count N       how many programs (default 10000, or until --seconds are "
        "over)\n"
        "  --seconds S     stop after this time\n"
        "  --threads LIST  thread counts of the net (default 1,2,4,8)\n"
        "  --size S        small (default) or medium: how large arrays are\n"
        "  --issuers LIST  how many threads issue a program, in turn (default 1,1,2,4)\n"
        "  --device D      none, moody, cheap, slow, refusing or failing (default: by "
        "seed)\n"
        "  --jobs N        groups of worker processes side by side\n"
        "  --keep-going    do not stop at the first failure\n"
        "  --text          show what differed where it did; slower\n"
        "  --print SEED    print a program\n"
        "  --replay SEED   print a program, run it, show the first difference\n"
        "  --minimise SEED the same, made as small as it still fails\n"
        "  --run SEED      run a program in this process as VP_SYNC and VP_THREADS "
        "say, for\n"
        "                  a debugger; print what it saw\n"
        "  --times N       with --run: again and again in one process\n"
        "  --only LIST     with --run: only these instructions, such as 0,1,17\n"
        "  --attempts N    how often replaying tries (default 20)\n",
        to);
}

static void fail(const char *why, const char *what) {
    fprintf(stderr, "vproc-fuzz: %s%s\n", why, what);
    usage(stderr);
    exit(2);
}

static uint64_t number(const char *text, const char *option) {
    char *end;
    if (!text) fail("a number must follow ", option);
    uint64_t n = strtoull(text, &end, 10);
    if (*end || end == text) fail("not a number: ", text);
    return n;
}

static void read_threads(fuzz_options *o, const char *list) {
    o->ways = 1;
    while (list && *list) {
        char *end;
        long n = strtol(list, &end, 10);
        if (end == list || n < 1 || n > 256 || o->ways == FUZZ_WAYS)
            fail("not a list of thread counts: ", list);
        o->threads[o->ways++] = (int)n;
        list = *end == ',' ? end + 1 : end;
    }
    if (o->ways == 1) fail("a list must follow ", "--threads");
}

static void read_issuers(fuzz_mix *m, const char *list) {
    m->choices = 0;
    while (list && *list) {
        char *end;
        long n = strtol(list, &end, 10);
        if (end == list || n < 1 || n > FUZZ_ISSUERS ||
            m->choices == (int)(sizeof m->issuers))
            fail("not a list of numbers of threads, from 1 to 4: ", list);
        m->issuers[m->choices++] = (uint8_t)n;
        list = *end == ',' ? end + 1 : end;
    }
    if (m->choices == 0) fail("a list must follow ", "--issuers");
}

static void read_device(fuzz_mix *m, const char *name) {
    m->devices = true;
    for (int d = 0; name && d < FUZZ_NDEVICES; d++)
        if (!strcmp(name, fuzz_device_name[d])) {
            m->device = (fuzz_device)d;
            return;
        }
    fail("no such device: ", name ? name : "");
}

static bool some, only[FUZZ_MAX];

static void read_only(const char *list) {
    some = true;
    while (*list) {
        char *end;
        long n = strtol(list, &end, 10);
        if (end == list || n < 0 || n >= FUZZ_MAX)
            fail("not a list of instructions: ", list);
        only[n] = true;
        list = *end == ',' ? end + 1 : end;
    }
}

static int run_here(uint64_t seed, const fuzz_mix *mix, int times) {
    static fuzz_program p;
    fuzz_generate(&p, seed, mix);
    fuzz_print(&p, some ? only : NULL);
    fflush(stdout);
    char *text = malloc(FUZZ_TEXT);
    if (!text) return 1;
    fuzz_tune(&vp__tuning, seed);
    if (!vp__config_get()->sync) fuzz_tune_device(seed, mix);
    for (int i = 0; i < times; i++) {
        const size_t room = FUZZ_TEXT / FUZZ_ISSUERS;
        fuzz_log log[FUZZ_ISSUERS];
        for (int k = 0; k < FUZZ_ISSUERS; k++)
            fuzz_log_init(&log[k], text + (size_t)k * room, room);
        fuzz_run(&p, some ? only : NULL, log);
        for (int k = 0; k < FUZZ_ISSUERS; k++) fputs(log[k].text, stdout);
    }
    free(text);
    return 0;
}

int main(int argc, char **argv) {
    /* A worker that is gone is noticed when its pipe is read. */
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0); /* a long run may be stopped */
    if (argc == 5 && !strcmp(argv[1], "--worker"))
        return fuzz_work(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    fuzz_options o = {.seed = 1,
                      .count = 0,
                      .mix = {.size = FUZZ_SMALL, .choices = 4, .issuers = {1, 1, 2, 4}},
                      .attempts = 20,
                      .jobs = cpus > 8 ? (int)(cpus / 4) : 1};
    read_threads(&o, "1,2,4,8");
    enum { DRIVE, PRINT, REPLAY, MINIMISE, RUN } mode = DRIVE;
    uint64_t seed = 0;
    int times = 1;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = argv[i + 1];
        if (!strcmp(option, "--keep-going")) {
            o.keep_going = true;
            continue;
        }
        if (!strcmp(option, "--text")) {
            o.text = true;
            continue;
        }
        if (!strcmp(option, "--help")) {
            usage(stdout);
            return 0;
        }
        i++;
        if (!strcmp(option, "--seed") && value && !strcmp(value, "random"))
            o.seed = (uint64_t)time(NULL) * 1000000;
        else if (!strcmp(option, "--seed"))
            o.seed = number(value, option);
        else if (!strcmp(option, "--count"))
            o.count = number(value, option);
        else if (!strcmp(option, "--seconds"))
            o.seconds = (double)number(value, option);
        else if (!strcmp(option, "--threads"))
            read_threads(&o, value);
        else if (!strcmp(option, "--jobs"))
            o.jobs = (int)number(value, option);
        else if (!strcmp(option, "--attempts"))
            o.attempts = (int)number(value, option);
        else if (!strcmp(option, "--size") && value && !strcmp(value, "small"))
            o.mix.size = FUZZ_SMALL;
        else if (!strcmp(option, "--size") && value && !strcmp(value, "medium"))
            o.mix.size = FUZZ_MEDIUM;
        else if (!strcmp(option, "--issuers"))
            read_issuers(&o.mix, value);
        else if (!strcmp(option, "--device"))
            read_device(&o.mix, value);
        else if (!strcmp(option, "--print"))
            seed = number(value, option), mode = PRINT;
        else if (!strcmp(option, "--replay"))
            seed = number(value, option), mode = REPLAY;
        else if (!strcmp(option, "--minimise"))
            seed = number(value, option), mode = MINIMISE;
        else if (!strcmp(option, "--run"))
            seed = number(value, option), mode = RUN;
        else if (!strcmp(option, "--times"))
            times = (int)number(value, option);
        else if (!strcmp(option, "--only") && value)
            read_only(value);
        else
            fail("no such option: ", option);
    }
    if (o.jobs < 1 || o.jobs > 64) fail("--jobs must be from 1 to ", "64");
    if (o.count == 0) o.count = o.seconds > 0 ? UINT64_MAX : 10000;
    if (mode == DRIVE) return fuzz_drive(&o);
    if (mode == RUN) return run_here(seed, &o.mix, times);
    if (mode != PRINT) return fuzz_replay(&o, seed, mode == MINIMISE);
    static fuzz_program p;
    fuzz_generate(&p, seed, &o.mix);
    fuzz_print(&p, NULL);
    return 0;
}
