/* SPDX-License-Identifier: Apache-2.0
 *
 * What the experiments in plain C have in common: memory, numbers to compare, and nothing to
 * wait for or to count.
 */
#ifndef EXPERIMENTS_C_SUPPORT_H
#define EXPERIMENTS_C_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>

#include "../program.h"

static inline void *allocate(int64_t count, size_t size) {
    void *memory = aligned_alloc(64, ((size_t)count * size + 63) / 64 * 64);
    if (memory) return memory;
    fprintf(stderr, "no memory\n");
    exit(1);
}

/* 1, 2, 3, …: the matrix of A2 and A3. */
static inline double *counted(int64_t count) {
    double *a = allocate(count, sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = (double)(i + 1);
    return a;
}

void finish(void) {}

void executed(work_done *done) { *done = (work_done){0}; }

#endif
