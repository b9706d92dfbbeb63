/* SPDX-License-Identifier: Apache-2.0
 *
 * What the first two CPUs of this process are to each other, which the system does not tell:
 * virtual machines present the two halves of a core as two cores. Each answer is measured on the
 * first call, for a few milliseconds, and kept; by two threads of its own, which are pinned, and
 * never one of the program's.
 */
#ifndef VP_DEVICE_CPU_PAIR_H
#define VP_DEVICE_CPU_PAIR_H

/* Nanoseconds from one core's store to another's load of it. With one CPU there is nobody to
 * hand over to, and the answer is a sleep: 50 000. */
double vp__cpu_handover_ns(void);

/* How much both do at the same time over what one does alone: nearly 2, or not much more than
 * 1 where they are two threads of one physical core. 1 with one CPU. A quick hand-over does not
 * tell: two cores that share a cache need as little as 30 ns. */
double vp__cpu_together(void);

#endif
