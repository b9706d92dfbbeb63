/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "device/cpu/topology.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/config.h"

int vp__cpu_count(void) { return vp__config_get()->cores; }

/* ---- caches and name ---- */

static struct {
    size_t cache[4]; /* by level */
    char name[128];
} facts;

static bool read_word(const char *path, char *word, size_t size) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(word, (int)size, file) != NULL;
    fclose(file);
    if (read) word[strcspn(word, "\n")] = '\0';
    return read;
}

static void read_caches(void) {
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[128], word[64];
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "%s%d/type", folder, i);
        if (!read_word(path, word, sizeof word)) break;
        if (!strcmp(word, "Instruction")) continue;
        snprintf(path, sizeof path, "%s%d/level", folder, i);
        int level = read_word(path, word, sizeof word) ? atoi(word) : 0;
        snprintf(path, sizeof path, "%s%d/size", folder, i);
        if (level < 1 || level > 3 || !read_word(path, word, sizeof word)) continue;
        char *unit;
        size_t bytes = strtoul(word, &unit, 10);
        facts.cache[level] = bytes << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
    }
}

static void read_name(void) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !facts.name[0] && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10)) continue;
        line[strcspn(line, "\n")] = '\0';
        colon += strspn(colon, ": \t");
        snprintf(facts.name, sizeof facts.name, "%.*s", (int)sizeof facts.name - 1,
                 colon);
    }
    if (file) fclose(file);
    struct utsname system;
    if (!facts.name[0] && !uname(&system)) {
        snprintf(facts.name, sizeof facts.name, "%s", system.machine);
    }
}

static void read_facts(void) {
    static const size_t usual[4] = {0, 32 << 10, 512 << 10, 8 << 20};
    read_caches();
    for (int level = 1; level <= 3; level++) {
        if (!facts.cache[level]) facts.cache[level] = usual[level];
    }
    read_name();
}

static pthread_once_t facts_once = PTHREAD_ONCE_INIT;

size_t vp__cpu_cache_bytes(int level) {
    pthread_once(&facts_once, read_facts);
    return level >= 1 && level <= 3 ? facts.cache[level] : 0;
}

const char *vp__cpu_name(void) {
    pthread_once(&facts_once, read_facts);
    return facts.name;
}
