/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine's CPUs are like, as far as splitting and placing work needs to know.
 * Each answer is found on the first call and kept.
 */
#ifndef VP_DEVICE_CPU_TOPOLOGY_H
#define VP_DEVICE_CPU_TOPOLOGY_H

#include <stddef.h>

/* CPUs this process may use: the affinity mask and the control group's quota. */
int vp__cpu_count(void);

/* Bytes of the data cache of level 1, 2 or 3 that one core sees; a usual value where the
 * system does not say. */
size_t vp__cpu_cache_bytes(int level);

/* The model as the system names it. */
const char *vp__cpu_name(void);

#endif
