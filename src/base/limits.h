/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system lets this process use: CPUs (the affinity mask, and the CPU quota of its
 * control group) and memory (RAM, and the group's limit). Containers set the latter two,
 * and a program that goes by the number of cores in the machine is slow or killed there.
 */
#ifndef VP_BASE_LIMITS_H
#define VP_BASE_LIMITS_H

#include <stdint.h>

typedef struct {
    int cpus;       /* at least 1 */
    int64_t memory; /* bytes */
} vp__limits;

/* Reads the limits; `root` is prefixed to /proc and /sys, "" but in tests. Both versions
 * of control groups are understood, and limits of enclosing groups count too. */
void vp__limits_read(const char *root, vp__limits *out);

#endif
