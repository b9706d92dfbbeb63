/* SPDX-License-Identifier: Apache-2.0
 *
 * What every thread of a hanging worker is doing, and where one that crashes was. What
 * shows itself once in a million programs cannot be repeated in a debugger; it must be
 * looked at when it is there.
 */
#ifndef FUZZ_STACKS_H
#define FUZZ_STACKS_H

#include <sys/types.h>

/* The calling process will show its stacks when asked, and before it dies of a signal the
 * one that did it, with registers and code; a thread that has no stack left shows nothing. */
void fuzz_stacks_offer(void);

/* Has the process print the stacks of its threads on stderr, for some seconds at most. */
void fuzz_stacks_ask(pid_t worker);

#endif
