/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program in this process, as the environment (VP_SYNC, VP_THREADS) has set the
 * library up, and logs what it saw.
 */
#ifndef FUZZ_RUN_H
#define FUZZ_RUN_H

#include "log.h"
#include "program.h"

/* Leaves out the instructions that `kept` (NULL: all are kept) does not name, and those
 * that use what they would have defined. Each issuing thread has a log of its own; with
 * VP_SYNC, or without the instruction TEAM, one thread issues all of their streams.
 * Afterwards the net is empty and every name is freed. */
void fuzz_run(const fuzz_program *p, const bool *kept, fuzz_log log[FUZZ_ISSUERS]);

/* Puts in loops that this process has issued. */
uint64_t fuzz_loop_puts(void);

/* Borrowed memory that the library has not given back; 0 after a program. */
int fuzz_borrowed(void);

#endif
