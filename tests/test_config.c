/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment and the system's limits: what values mean, what happens to bad ones, and
 * control groups of both versions in a made-up file system.
 */
#define _GNU_SOURCE
#include "base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "device/cpu/pair.h"
#include "device/cpu/topology.h"
#include "tests/harness.h"

static vp__config with(const char *name, const char *value) {
    vp__config config;
    unsetenv("VP_THREADS");
    unsetenv("VP_MEMORY");
    unsetenv("VP_SYNC");
    unsetenv("VP_INLINE");
    unsetenv("VP_BLAS");
    unsetenv("VP_FFTW");
    unsetenv("VP_CACHE");
    unsetenv("VP_CACHE_SIZE");
    unsetenv("VP_ISA");
    unsetenv("VP_MATH");
    unsetenv("VP_JIT");
    unsetenv("VP_DEBUG");
    unsetenv("VP_ERRORS");
    unsetenv("VP_WITHOUT");
    if (name) setenv(name, value, 1);
    vp__config_read(&config);
    return config;
}

VP_TEST(defaults) {
    vp__config config = with(NULL, NULL);
    VP_CHECK_EQ(config.threads, config.cores);
    VP_CHECK_GE(config.cores, 1);
    VP_CHECK(!config.sync && config.inline_nodes && config.blas && config.fftw);
    VP_CHECK(!config.accurate);
    VP_CHECK_EQ(config.memory, config.memory_all / 10 * 6);
    VP_CHECK_GT(config.memory, 0);
    VP_CHECK(!config.cache);
    VP_CHECK_EQ(config.cache_bytes, 256 << 20);
}

VP_TEST(good_values) {
    VP_CHECK_EQ(with("VP_THREADS", "7").threads, 7);
    VP_CHECK(with("VP_SYNC", "1").sync);
    VP_CHECK(with("VP_SYNC", "on").sync);
    VP_CHECK(!with("VP_SYNC", "0").sync);
    VP_CHECK(!with("VP_INLINE", "0").inline_nodes);
    VP_CHECK(!with("VP_BLAS", "off").blas);
    VP_CHECK(!with("VP_FFTW", "0").fftw);
    VP_CHECK_STR(with("VP_ISA", "avx2").isa, "avx2");
    VP_CHECK_STR(with("VP_ISA", "Baseline").isa, "baseline");
    VP_CHECK(with("VP_MATH", "accurate").accurate);
    VP_CHECK(!with("VP_MATH", "fast").accurate);
    VP_CHECK_EQ(with("VP_MEMORY", "12345").memory, 12345);
    VP_CHECK_EQ(with("VP_MEMORY", "3k").memory, 3 << 10);
    VP_CHECK_EQ(with("VP_MEMORY", "1.5G").memory, INT64_C(3) << 29);
    VP_CHECK_EQ(with("VP_MEMORY", "2TiB").memory, INT64_C(2) << 40);
    vp__config half = with("VP_MEMORY", "50%");
    int64_t off = half.memory - half.memory_all / 2; /* a byte of rounding, at most */
    VP_CHECK(off >= -1 && off <= 1);
    VP_CHECK_EQ(with("VP_THREADS", "").threads, half.cores);
    VP_CHECK_EQ(with("VP_JIT", "off").jit, VP__JIT_OFF);
    VP_CHECK_EQ(with("VP_JIT", "0").jit, VP__JIT_OFF);
    VP_CHECK_EQ(with("VP_JIT", "native").jit, VP__JIT_NATIVE);
    VP_CHECK_EQ(with("VP_JIT", "Specialised").jit, VP__JIT_SPECIALISED);
    VP_CHECK_EQ(with("VP_JIT", "mixed").jit, VP__JIT_MIXED);
    VP_CHECK_EQ(with("VP_ERRORS", "print").errors, VP__ERRORS_PRINT);
    VP_CHECK_EQ(with("VP_ERRORS", "Abort").errors, VP__ERRORS_ABORT);
    VP_CHECK_EQ(with("VP_ERRORS", "quiet").errors, VP__ERRORS_QUIET);
    VP_CHECK_EQ(with("VP_ERRORS", "").errors, VP__ERRORS_AT_END);
    VP_CHECK_STR(with("VP_CACHE", "off").cache, "");
    VP_CHECK_STR(with("VP_CACHE", "0").cache, "");
    VP_CHECK_STR(with("VP_CACHE", "on").cache, NULL);
    VP_CHECK_STR(with("VP_CACHE", "/a/b").cache, "/a/b");
    VP_CHECK_EQ(with("VP_CACHE_SIZE", "10M").cache_bytes, 10 << 20);
    VP_CHECK_STR(with("XDG_CACHE_HOME", "/c").cache_home, "/c");
    VP_CHECK_STR(with("XDG_CACHE_HOME", "c").cache_home, NULL);
    VP_CHECK_STR(with("HOME", "/h").home, "/h");
}

VP_TEST(bad_values_are_reported) {
    static const struct {
        const char *name, *value;
    } bad[] = {
        {"VP_THREADS", "0"},     {"VP_THREADS", "-3"},   {"VP_THREADS", "4x"},
        {"VP_THREADS", "9999"},  {"VP_SYNC", "maybe"},   {"VP_INLINE", "2"},
        {"VP_MEMORY", "lots"},   {"VP_MEMORY", "-1G"},   {"VP_MEMORY", "0"},
        {"VP_MEMORY", "5Q"},     {"VP_MEMORY", "1e400"}, {"VP_MEMORY", "nan"},
        {"VP_CACHE_SIZE", "5%"}, {"VP_CACHE_SIZE", "0"}, {"VP_MATH", "exact"},
        {"VP_JIT", "fast"},      {"VP_DEBUG", "ir,x"},   {"VP_WITHOUT", "fusion,luck"},
        {"VP_ISA", "foo"},       {"VP_ERRORS", "loud"}};
    vp__config fallback = with(NULL, NULL);
    FILE *said = tmpfile();
    VP_CHECK(said != NULL);
    int lines = (int)(sizeof bad / sizeof bad[0]), usual = dup(STDERR_FILENO);
    VP_CHECK(dup2(fileno(said), STDERR_FILENO) >= 0);
    bool same = true;
    for (int i = 0; i < lines; i++) {
        vp__config config = with(bad[i].name, bad[i].value);
        same = same && config.threads == fallback.threads &&
               config.sync == fallback.sync &&
               config.inline_nodes == fallback.inline_nodes &&
               config.memory == fallback.memory && !config.accurate && !config.isa &&
               config.jit == fallback.jit && config.errors == fallback.errors &&
               config.cache_bytes == fallback.cache_bytes;
    }
    fflush(stderr);
    VP_CHECK(dup2(usual, STDERR_FILENO) >= 0);
    VP_CHECK(same);
    rewind(said);
    char line[256];
    for (int i = 0; i < lines; i++) {
        VP_CHECK(fgets(line, sizeof line, said) != NULL);
        VP_CHECK_CONTAINS(line, bad[i].name);
        VP_CHECK_CONTAINS(line, bad[i].value);
        VP_CHECK_CONTAINS(line, "using");
    }
    VP_CHECK(!fgets(line, sizeof line, said));
    fclose(said);
}

VP_TEST(unknown_settings_are_reported) {
    static char *const variables[] = {"VP_THREAD=4",     "VP_THREADS=4",  "PATH=/bin",
                                      "VP_CACHESIZE=1M", "VP_TEST_LONG=", "VP_=",
                                      "VP_JITT",         "vp_jit=on",     NULL};
    static const char *const nearest[][2] = {{"VP_THREAD,", "VP_THREADS"},
                                             {"VP_CACHESIZE,", "VP_CACHE_SIZE"},
                                             {"VP_,", "name is VP_"},
                                             {"VP_JITT,", "VP_JIT"}};
    FILE *said = tmpfile();
    VP_CHECK(said != NULL);
    int usual = dup(STDERR_FILENO);
    VP_CHECK(dup2(fileno(said), STDERR_FILENO) >= 0);
    vp__config_check_names(variables);
    fflush(stderr);
    VP_CHECK(dup2(usual, STDERR_FILENO) >= 0);
    rewind(said);
    char line[256];
    for (int i = 0; i < 4; i++) {
        VP_CHECK(fgets(line, sizeof line, said) != NULL);
        VP_CHECK_CONTAINS(line, nearest[i][0]);
        VP_CHECK_CONTAINS(line, nearest[i][1]);
    }
    VP_CHECK(!fgets(line, sizeof line, said));
    fclose(said);
}

/* ---- control groups ---- */

static char root[64];

/* Writes a file of the made-up system, and its folders. */
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *c = path + strlen(root) + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(path, 0700);
        *c = '/';
    }
    FILE *file = fopen(path, "w");
    VP_CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static vp__limits limits_here(void) {
    vp__limits limits;
    char command[128];
    vp__limits_read(root, &limits);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    VP_CHECK_EQ(system(command), 0);
    return limits;
}

static void make_root(void) {
    strcpy(root, "/tmp/vproc-limits-XXXXXX");
    VP_CHECK(mkdtemp(root) != NULL);
}

VP_TEST(groups_of_version_2) {
    make_root();
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a/memory.max", "104857600\n");
    put("/sys/fs/cgroup/memory.max", "1048576000\n");
    vp__limits limits = limits_here();
    VP_CHECK_EQ(limits.cpus, 1);
    VP_CHECK_EQ(limits.memory, 104857600);
}

VP_TEST(groups_of_version_1) {
    make_root();
    /* The path is the host's and does not exist in the container; its root counts. */
    put("/proc/self/cgroup",
        "5:cpuset:/\n4:memory:/docker/1234\n3:cpu,cpuacct:/docker/1234\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "90000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    vp__limits limits = limits_here();
    VP_CHECK_EQ(limits.cpus, 1);
    VP_CHECK_EQ(limits.memory, 209715200);
}

VP_TEST(no_groups_no_limits) {
    make_root();
    vp__limits all = limits_here();
    make_root();
    put("/proc/self/cgroup", "nonsense\n1:cpu:/\n2:memory:/x\n0::/\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
    vp__limits limits = limits_here();
    VP_CHECK_EQ(limits.cpus, all.cpus);
    VP_CHECK_EQ(limits.memory, all.memory);
}

/* ---- the clock and the CPUs ---- */

VP_TEST(clock_agrees_with_the_system) {
    vp__clock_init();
    uint64_t ns = vp__clock_system_ns(), ticks = vp__clock_ticks();
    usleep(50000);
    ticks = vp__clock_ticks() - ticks;
    ns = vp__clock_system_ns() - ns;
    VP_CHECK_NEAR((double)vp__clock_ns(ticks), (double)ns, 0.01 * (double)ns);
}

VP_TEST(cpus_are_described) {
    VP_CHECK_GE(vp__cpu_count(), 1);
    VP_CHECK_GE(vp__cpu_cache_bytes(1), 4096u);
    VP_CHECK_GE(vp__cpu_cache_bytes(2), vp__cpu_cache_bytes(1));
    VP_CHECK_EQ(vp__cpu_cache_bytes(9), 0u);
    VP_CHECK(vp__cpu_name()[0] != '\0');
    double ns = vp__cpu_handover_ns();
    VP_CHECK_GT(ns, 1.0);
    VP_CHECK_LE(ns, 1e6);
    VP_CHECK_EQ(vp__cpu_handover_ns(), ns);
    const double together = vp__cpu_together();
    printf("hand-over %.0f ns, together %.2f\n", ns, together);
    VP_CHECK_GT(together, 0.1); /* another process may take most of either */
    VP_CHECK_LT(together, 20);
    if (vp__cpu_count() == 1) VP_CHECK_EQ(together, 1);
    VP_CHECK_EQ(vp__cpu_together(), together);
}
