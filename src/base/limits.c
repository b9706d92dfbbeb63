/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the limits from /proc and /sys. Nothing here fails: a file that is missing or
 * says nothing sets no limit. A control group's own path often does not exist inside a
 * container, where only its own subtree is mounted; so the search begins at the path
 * /proc names and goes up to the root of the mount, and the smallest limit on the way
 * counts, which is also how the kernel applies them.
 */
#define _GNU_SOURCE
#include "base/limits.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024 };

/* Reads the first line of a file; false when there is none. */
static bool first_line(const char *path, char *line, int size) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(line, size, file) != NULL;
    fclose(file);
    return read;
}

/* What one group allows; INT64_MAX when nothing is said. */
typedef int64_t group_limit(const char *folder);

static int64_t number_in(const char *folder, const char *name) {
    char path[2 * PATH], line[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!first_line(path, line, sizeof line)) return INT64_MAX;
    char *end;
    long long value = strtoll(line, &end, 10);
    return end == line || value <= 0 ? INT64_MAX : value; /* "max" and -1 are no limit */
}

static int64_t memory_v1(const char *folder) {
    return number_in(folder, "memory.limit_in_bytes");
}

static int64_t memory_v2(const char *folder) { return number_in(folder, "memory.max"); }

static int64_t whole_cpus(int64_t quota, int64_t period) {
    if (quota == INT64_MAX || period == INT64_MAX) return INT64_MAX;
    return (quota + period - 1) / period;
}

static int64_t cpus_v1(const char *folder) {
    return whole_cpus(number_in(folder, "cpu.cfs_quota_us"),
                      number_in(folder, "cpu.cfs_period_us"));
}

static int64_t cpus_v2(const char *folder) {
    char path[2 * PATH], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!first_line(path, line, sizeof line)) return INT64_MAX;
    if (sscanf(line, "%lld %lld", &quota, &period) != 2) return INT64_MAX;
    return quota > 0 && period > 0 ? whole_cpus(quota, period) : INT64_MAX;
}

/* The smallest limit from the group up to the root of the mount. */
static int64_t smallest(const char *mount, const char *group, group_limit *limit) {
    char folder[PATH];
    int64_t least = INT64_MAX;
    size_t base = strlen(mount);
    snprintf(folder, sizeof folder, "%s%s", mount, group);
    for (;;) {
        int64_t here = limit(folder);
        if (here < least) least = here;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < base) return least;
        *slash = '\0';
    }
}

/* Whether a comma-separated list has this word. */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (!strncmp(at, word, length) && (at[length] == '\0' || at[length] == ',')) {
            return true;
        }
    }
    return false;
}

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* Applies the limits of the groups this process is in. A line of /proc/self/cgroup is
 * number:controllers:path; version 2 has number 0 and no controllers. */
static void apply_groups(const char *root, int64_t *cpus, int64_t *memory) {
    char path[PATH], line[PATH], mount[PATH];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers++ = '\0';
        *group++ = '\0';
        if (!strcmp(group, "/")) group = "";
        if (!*controllers) {
            static const char *const mounts[] = {"/sys/fs/cgroup",
                                                 "/sys/fs/cgroup/unified"};
            for (int i = 0; i < 2; i++) {
                snprintf(mount, sizeof mount, "%s%s", root, mounts[i]);
                *cpus = min(*cpus, smallest(mount, group, cpus_v2));
                *memory = min(*memory, smallest(mount, group, memory_v2));
            }
            continue;
        }
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
        if (lists(controllers, "cpu")) {
            *cpus = min(*cpus, smallest(mount, group, cpus_v1));
        }
        if (lists(controllers, "memory")) {
            *memory = min(*memory, smallest(mount, group, memory_v1));
        }
    }
    fclose(file);
}

/* CPUs of the affinity mask, which may be larger than a cpu_set_t. */
static int affinity_cpus(void) {
    for (int cpus = CPU_SETSIZE; cpus <= CPU_SETSIZE * 64; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set) break;
        int count = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

void vp__limits_read(const char *root, vp__limits *out) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t memory = pages > 0 && page > 0 ? (int64_t)pages * page : INT64_C(1) << 30;
    int64_t cpus = affinity_cpus();
    apply_groups(root, &cpus, &memory);
    out->cpus = (int)cpus;
    out->memory = memory;
}
