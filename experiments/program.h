/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program of an experiment is, whatever it is written in and runs on: four functions
 * that one driver (driver.c) times in the same way for all of them.
 */
#ifndef EXPERIMENTS_PROGRAM_H
#define EXPERIMENTS_PROGRAM_H

#include <stdint.h>

/* Makes the input for arrays of side `size`; not timed. */
void prepare(int64_t size);

/* Evaluates so many times, one after the other. Results need not be there on return. */
void evaluate(int64_t times);

/* Returns when every result is there. */
void finish(void);

/* The last evaluation's result, as numbers: how many, and where. Called after finish. */
int64_t result(const double **numbers);

/* What was executed so far, where the program can tell; 0 where not. */
typedef struct {
    uint64_t kernels, elements; /* kernels run, and elements they went over */
    uint64_t stored;            /* elements written into existing arrays */
} work_done;
void executed(work_done *done);

#endif
