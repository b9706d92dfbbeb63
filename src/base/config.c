/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of the environment variables. An empty value means the same as none.
 */
#define _GNU_SOURCE
#include "base/config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/limits.h"

/* The value of a variable, NULL when unset or empty. */
static const char *value_of(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void complain(const char *name, const char *value, const char *wanted,
                     const char *used) {
    fprintf(stderr, "vproc: %s=%s is not %s; using %s instead\n", name, value, wanted,
            used);
}

static int read_threads(int fallback) {
    const char *value = value_of("VP_THREADS");
    if (!value) return fallback;
    char *end, used[32], wanted[64];
    errno = 0;
    long threads = strtol(value, &end, 10);
    if (!*end && !errno && threads >= 1 && threads <= VP__MAX_THREADS)
        return (int)threads;
    snprintf(used, sizeof used, "%d", fallback);
    snprintf(wanted, sizeof wanted, "a number of threads from 1 to %d", VP__MAX_THREADS);
    complain("VP_THREADS", value, wanted, used);
    return fallback;
}

/* 1 for a way to say yes, 0 for one to say no, -1 for anything else. */
static int parse_flag(const char *value) {
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(value, yes[i])) return 1;
        if (!strcasecmp(value, no[i])) return 0;
    }
    return -1;
}

static bool read_flag(const char *name, bool fallback) {
    const char *value = value_of(name);
    if (!value) return fallback;
    int flag = parse_flag(value);
    if (flag >= 0) return flag;
    complain(name, value, "0 or 1", fallback ? "1" : "0");
    return fallback;
}

static const char *read_isa(void) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    const char *value = value_of("VP_ISA");
    for (int i = 0; value && i < 3; i++)
        if (!strcasecmp(value, names[i])) return names[i];
    if (value)
        complain("VP_ISA", value, "baseline, avx2 or avx512", "the best this CPU has");
    return NULL;
}

static bool read_math(void) {
    const char *value = value_of("VP_MATH");
    if (!value || !strcasecmp(value, "fast")) return false;
    if (!strcasecmp(value, "accurate")) return true;
    complain("VP_MATH", value, "fast or accurate", "fast");
    return false;
}

/* Bytes as "1500", "512K", "1.5G" or "40%" (of all there is); -1 when it is none of them. */
static int64_t parse_bytes(const char *text, int64_t all) {
    static const char units[] = "kmgt";
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0) return -1;
    if (*end == '%') {
        value *= (double)all / 100;
        end++;
    } else if (*end && strchr(units, *end | 0x20)) {
        for (long i = strchr(units, *end | 0x20) - units; i >= 0; i--) value *= 1024;
        end++;
        if (*end == 'i') end++;
        if (*end == 'B' || *end == 'b') end++;
    } else if (*end == 'B' || *end == 'b') {
        end++;
    }
    return *end || value < 1 || value >= 0x1p62 ? -1 : (int64_t)value;
}

static int64_t read_memory(int64_t all) {
    int64_t fallback = all / 10 * 6;
    const char *value = value_of("VP_MEMORY");
    if (!value) return fallback;
    int64_t bytes = parse_bytes(value, all);
    if (bytes > 0) return bytes;
    char used[64];
    snprintf(used, sizeof used, "60%% (%lldM)", (long long)(fallback >> 20));
    complain("VP_MEMORY", value, "a size like 500M, 2G or 40%", used);
    return fallback;
}

/* The same as value_of for what names files that are believed. */
static const char *secure_value_of(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static void read_cache(vp__config *out) {
    out->cache = secure_value_of("VP_CACHE");
    int flag = out->cache ? parse_flag(out->cache) : 1;
    if (flag == 0) out->cache = "";
    if (flag == 1) out->cache = NULL;
    out->cache_home = secure_value_of("XDG_CACHE_HOME");
    if (out->cache_home && *out->cache_home != '/') out->cache_home = NULL;
    out->home = secure_value_of("HOME");

    out->cache_bytes = INT64_C(256) << 20;
    const char *value = value_of("VP_CACHE_SIZE");
    int64_t bytes = value ? parse_bytes(value, 0) : 0;
    if (bytes > 0) out->cache_bytes = bytes;
    if (bytes < 0) complain("VP_CACHE_SIZE", value, "a size like 500M or 2G", "256M");
}

static int read_jit(void) {
    static const char *const names[] = {"on", "off", "native", "mixed", "specialised"};
    const char *value = value_of("VP_JIT");
    if (!value) return VP__JIT_ON;
    for (int i = 0; i < 5; i++)
        if (!strcasecmp(value, names[i])) return i;
    int flag = parse_flag(value);
    if (flag >= 0) return flag ? VP__JIT_ON : VP__JIT_OFF;
    complain("VP_JIT", value, "on, off, native, specialised or mixed", "on");
    return VP__JIT_ON;
}

static vp__errors_mode read_errors(void) {
    static const char *const names[] = {"print", "abort", "quiet"};
    const char *value = secure_value_of("VP_ERRORS");
    for (int i = 0; value && i < 3; i++)
        if (!strcasecmp(value, names[i])) return (vp__errors_mode)(VP__ERRORS_PRINT + i);
    if (value)
        complain("VP_ERRORS", value, "print, abort or quiet",
                 "one line at the end of the program");
    return VP__ERRORS_AT_END;
}

static void read_debug(vp__config *out) {
    out->debug_ir = out->debug_asm = false;
    const char *value = value_of("VP_DEBUG");
    for (const char *at = value; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == 2 && !strncasecmp(at, "ir", n))
            out->debug_ir = true;
        else if (n == 3 && !strncasecmp(at, "asm", n))
            out->debug_asm = true;
        else
            complain("VP_DEBUG", value, "a list of ir and asm", "what is known of it");
        at += n + (at[n] == ',');
    }
}

static unsigned read_without(void) {
    static const char *const names[] = {"fusion",       "sizes",    "renaming",
                                        "continuation", "stealing", "inline",
                                        "bundles",      "replay",   "liveness"};
    enum { NAMES = sizeof names / sizeof *names };
    unsigned found = 0;
    const char *value = value_of("VP_WITHOUT");
    for (const char *at = value; at && *at;) {
        size_t n = strcspn(at, ",");
        int k = 0;
        while (k < NAMES && (strlen(names[k]) != n || strncasecmp(at, names[k], n))) k++;
        if (k < NAMES)
            found |= 1u << k;
        else
            complain("VP_WITHOUT", value,
                     "a list of fusion, sizes, renaming, continuation, stealing, inline, "
                     "bundles, replay and liveness",
                     "what is known of it");
        at += n + (at[n] == ',');
    }
    return found;
}

void vp__config_read(vp__config *out) {
    vp__limits limits;
    vp__limits_read("", &limits);
    out->cores = limits.cpus;
    out->memory_all = limits.memory;
    out->threads =
        read_threads(limits.cpus < VP__MAX_THREADS ? limits.cpus : VP__MAX_THREADS);
    out->sync = read_flag("VP_SYNC", false);
    out->without = read_without();
    out->inline_nodes =
        read_flag("VP_INLINE", true) && !(out->without & VP__WITHOUT_INLINE);
    out->one_by_one = out->sync || out->without & VP__WITHOUT_FUSION;
    out->memory = read_memory(limits.memory);
    out->errors = read_errors();
    out->trace = secure_value_of("VP_TRACE");
    out->isa = read_isa();
    out->accurate = read_math();
    out->blas = read_flag("VP_BLAS", true);
    out->fftw = read_flag("VP_FFTW", true);
    read_cache(out);
    out->jit = read_jit();
    out->llvm = secure_value_of("VP_LLVM");
    read_debug(out);
}

/* --- names that mean nothing ---------------------------------------------------------------- */

/* All variables that are read above; tools/check_docs.py compares them. */
static const char *const known[] = {
    "VP_THREADS", "VP_SYNC",  "VP_INLINE",  "VP_MEMORY",    "VP_ISA",   "VP_MATH",
    "VP_BLAS",    "VP_FFTW",  "VP_JIT",     "VP_LLVM",      "VP_DEBUG", "VP_CACHE",
    "VP_ERRORS",  "VP_TRACE", "VP_WITHOUT", "VP_CACHE_SIZE"};
enum { KNOWN = sizeof known / sizeof *known, NAME = 32 };

static int least(int a, int b) { return a < b ? a : b; }

/* How many letters are to be changed, left out or added to make one name of another. */
static int distance(const char *a, size_t na, const char *b) {
    int row[NAME + 1];
    const int nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= (int)na; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            const int above = row[j];
            row[j] = least(corner + (a[i - 1] != b[j - 1]), 1 + least(above, row[j - 1]));
            corner = above;
        }
    }
    return row[nb];
}

/* Of a name that begins like ours; NULL if it is one, or the tests'. */
static const char *nearest_to(const char *name, size_t n) {
    int best = 0, changes = -1;
    if (!strncmp(name + 3, "TEST_", 5)) return NULL;
    for (int i = 0; i < KNOWN; i++) {
        const int d = distance(name, n, known[i]);
        if (changes >= 0 && d >= changes) continue;
        best = i;
        changes = d;
    }
    return changes ? known[best] : NULL;
}

void vp__config_check_names(char *const *variables) {
    for (; variables && *variables; variables++) {
        const char *name = *variables;
        const size_t n = strcspn(name, "=");
        const char *nearest = strncmp(name, "VP_", 3) ? NULL : nearest_to(name, n);
        if (nearest)
            fprintf(stderr,
                    "vproc: there is no setting %.*s, so it changes nothing; the nearest "
                    "name is %s\n",
                    (int)n, name, nearest);
    }
}

static vp__config config;

/* A copy, so that a program may change its environment later. */
static const char *keep(const char *text) { return text ? strdup(text) : NULL; }

static void read_once(void) {
    vp__config_read(&config);
    /* With more rights than its user has, the process says nothing of what that wrote. */
    if (!getauxval(AT_SECURE)) vp__config_check_names(environ);
    config.trace = keep(config.trace);
    config.isa = keep(config.isa);
    config.cache = keep(config.cache);
    config.cache_home = keep(config.cache_home);
    config.home = keep(config.home);
    config.llvm = keep(config.llvm);
}

const vp__config *vp__config_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Atomic bool is_read;
    /* acquire pairs with the release below: whoever sees it set sees the configuration. */
    if (__builtin_expect(atomic_load_explicit(&is_read, memory_order_acquire), 1))
        return &config;
    pthread_once(&once, read_once);
    atomic_store_explicit(&is_read, true, memory_order_release);
    return &config;
}
