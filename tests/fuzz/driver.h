/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver: hands seeds to workers, compares what they saw, counts.
 */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include "worker.h"

enum { FUZZ_WAYS = 9 }; /* the reference and up to eight thread counts */

typedef struct {
    uint64_t seed, count; /* the first, and how many (UINT64_MAX: until the time is up) */
    double seconds;       /* 0: no limit */
    int ways;
    int threads[FUZZ_WAYS]; /* threads[0] = 0: the reference */
    fuzz_mix mix;
    int jobs;
    bool keep_going;
    bool text;    /* compare logs as text: slower, but shows what differed */
    int attempts; /* of replaying, before a difference counts as gone */
} fuzz_options;

/* Returns the exit status. */
int fuzz_drive(const fuzz_options *o);

/* Prints a program, runs it every way and shows the first difference; with `minimise`,
 * makes it as small as the difference allows first. Returns the exit status. */
int fuzz_replay(const fuzz_options *o, uint64_t seed, bool minimise);

/* Prints the first line where the logs of the reference and another way differ. */
void fuzz_show_difference(const char *reference, const char *other, const char *way);

/* "the reference" or "4 threads". */
const char *fuzz_way_name(int threads);
/* How a program ended, as a sentence. */
const char *fuzz_end_text(const fuzz_result *r);

#endif
