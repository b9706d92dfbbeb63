/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache under pressure: its bound, processes and threads that use it at once, disks
 * that are full.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "jit/cache_trim.h"
#include "tests/cache_support.h"
#include "tests/draw.h"

/* Bytes of all files, rounded as the cache does; counts those being written in *unfinished. */
static int64_t bytes_in_folder(int *unfinished) {
    int64_t bytes = 0;
    DIR *names = opendir(cache_path("c"));
    VP_CHECK(names != NULL);
    *unfinished = 0;
    for (struct dirent *d; (d = readdir(names)) != NULL;) {
        struct stat s;
        if (fstatat(dirfd(names), d->d_name, &s, 0) != 0 || !S_ISREG(s.st_mode)) continue;
        if (vp__cache_name_is_new(d->d_name)) ++*unfinished;
        bytes += vp__cache_cost(s.st_size);
    }
    closedir(names);
    return bytes;
}

VP_TEST(stays_below_its_bound) {
    enum { BOUND = 400 << 10 };
    make_root();
    vp__cache *cache = open_cache(BOUND);
    int unfinished;
    for (int i = 0; i < 300; i++) {
        VP_CHECK(put_kernel(cache, i) && has_kernel(cache, i));
        VP_CHECK_LE(bytes_in_folder(&unfinished), BOUND);
        VP_CHECK_EQ(unfinished, 0);
    }
    VP_CHECK_GE(bytes_in_folder(&unfinished), BOUND / 2);
    /* One that would take it all is not kept. */
    made_kernel k;
    make_kernel(1000, &k);
    uint8_t *large = calloc(1, BOUND / 2);
    VP_CHECK(!vp__cache_put(cache, &k.key, &k.meta, large, BOUND / 2));
    free(large);
    vp__cache_close(cache);
    /* A smaller bound takes effect with the next puts. */
    cache = open_cache(BOUND / 4);
    for (int i = 0; i < 3; i++) VP_CHECK(put_kernel(cache, i));
    VP_CHECK_LE(bytes_in_folder(&unfinished), BOUND / 4);
    vp__cache_close(cache);
    remove_root();
}

/* Processes that keep one kernel each do not exceed the bound by much. */
VP_TEST(short_processes) {
    enum { BOUND = 100 * 8192 };
    make_root();
    int unfinished;
    for (int i = 0; i < 500; i++) {
        vp__cache *cache = open_cache(BOUND);
        VP_CHECK(put_kernel(cache, i));
        vp__cache_close(cache);
        VP_CHECK_LE(bytes_in_folder(&unfinished), BOUND + 60 * 8192);
    }
    remove_root();
}

/* Says that kernel i was used some seconds ago. */
static void age(int i, int64_t seconds) {
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= (time_t)seconds;
    times[1] = times[0];
    VP_CHECK(utimensat(AT_FDCWD, kernel_path(i), times, 0) == 0);
}

VP_TEST(oldest_goes_first) {
    make_root();
    vp__cache *cache = open_cache(40 * 8192);
    for (int i = 0; i < 36; i++) VP_CHECK(put_kernel(cache, i));
    for (int i = 0; i < 36; i++) age(i, 100000 + 5000 * i);
    age(4, -1000000); /* from a clock that was wrong */
    VP_CHECK(has_kernel(cache, 35) && has_kernel(cache, 30)); /* used now */
    for (int i = 100; i < 110; i++) VP_CHECK(put_kernel(cache, i));
    VP_CHECK(has_kernel(cache, 35) && has_kernel(cache, 30));
    VP_CHECK(has_kernel(cache, 0) && has_kernel(cache, 1) && has_kernel(cache, 109));
    VP_CHECK(!has_kernel(cache, 34) && !has_kernel(cache, 33) && !has_kernel(cache, 4));
    vp__cache_close(cache);
    remove_root();
}

/* A use is noted once in a while, and not with every get. */
VP_TEST(uses_are_noted) {
    make_root();
    vp__cache *cache = open_cache(1 << 20);
    struct stat before, after;
    VP_CHECK(put_kernel(cache, 1));
    age(1, 100);
    VP_CHECK(stat(kernel_path(1), &before) == 0 && has_kernel(cache, 1));
    VP_CHECK(stat(kernel_path(1), &after) == 0);
    VP_CHECK_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    age(1, 2 * VP__CACHE_USE_SECONDS);
    VP_CHECK(has_kernel(cache, 1) && stat(kernel_path(1), &after) == 0);
    VP_CHECK_LT(time(NULL) - after.st_mtim.tv_sec, 100);
    vp__cache_close(cache);
    remove_root();
}

/* What a process that died left behind goes, what one writes now stays, and files that are
 * not the cache's are nobody's business. */
VP_TEST(remains_are_removed) {
    make_root();
    vp__cache *cache = open_cache(40000);
    static const char *const files[] = {"c/new-1-dead", "c/new-2-alive", "c/README"};
    for (int i = 0; i < 3; i++) {
        int fd = open(cache_path(files[i]), O_CREAT | O_WRONLY, 0600);
        VP_CHECK(fd >= 0);
        const struct timespec old[2] = {{1000, 0}, {1000, 0}};
        if (i != 1) VP_CHECK(futimens(fd, old) == 0);
        close(fd);
    }
    VP_CHECK(symlink("/etc/passwd", kernel_path(7)) == 0);
    VP_CHECK(put_kernel(cache, 1));
    VP_CHECK(access(cache_path(files[0]), F_OK) != 0);
    VP_CHECK(access(cache_path(files[1]), F_OK) == 0);
    VP_CHECK(access(cache_path(files[2]), F_OK) == 0);
    VP_CHECK(faccessat(AT_FDCWD, kernel_path(7), F_OK, AT_SYMLINK_NOFOLLOW) != 0);
    vp__cache_close(cache);
    remove_root();
}

/* ---- several at once ---- */

enum { SHARED_BOUND = 60 * 8192, KERNELS = 100, PROCESSES = 6 };

/* Puts, gets, damages and lists at random; has_kernel checks what it finds. */
static void work(vp__cache *cache, uint64_t first, int rounds) {
    uint64_t state = first * 0x9e3779b97f4a7c15u + 1;
    for (int round = 0; round < rounds; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int i = (int)(state >> 33) % KERNELS, what = (int)(state >> 50) % 100;
        made_kernel k;
        make_kernel(i, &k);
        if (what < 40) {
            put_kernel(cache, i);
        } else if (what < 90) {
            has_kernel(cache, i);
        } else if (what < 95) {
            vp__cache_add_usage(cache, &k.key, &(vp__cache_usage){1, 10});
        } else if (what < 98) {
            if (truncate(kernel_path(i), (off_t)(state >> 40) % 5000) != 0) continue;
        } else {
            unlink(kernel_path(i));
        }
    }
}

VP_TEST_TIMEOUT(processes_share_it, 60) {
    make_root();
    vp__cache *cache = open_cache(SHARED_BOUND);
    pid_t children[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        VP_CHECK(children[p] >= 0);
        if (children[p] == 0) {
            /* Half of them use the parent's cache, as after a fork in a program. */
            vp__cache *own = p % 2 ? cache : open_cache(SHARED_BOUND);
            work(own, (uint64_t)p, 1500);
            _exit(0);
        }
    }
    int unfinished, status;
    for (int p = 0; p < PROCESSES; p++) {
        VP_CHECK_LE(bytes_in_folder(&unfinished), 2 * SHARED_BOUND);
        VP_CHECK(waitpid(children[p], &status, 0) == children[p]);
        VP_CHECK_EQ(status, 0);
    }
    bytes_in_folder(&unfinished);
    VP_CHECK_EQ(unfinished, 0);
    VP_CHECK(put_kernel(cache, 1) && has_kernel(cache, 1));
    vp__cache_close(cache);
    remove_root();
}

static void *work_thread(void *argument) {
    vp__cache *cache = *(vp__cache **)argument;
    work(cache, (uint64_t)(uintptr_t)&cache, 500);
    return NULL;
}

VP_TEST_TIMEOUT(threads_share_it, 60) {
    make_root();
    vp__cache *cache = open_cache(SHARED_BOUND);
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        VP_CHECK(pthread_create(&threads[t], NULL, work_thread, &cache) == 0);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    VP_CHECK(put_kernel(cache, 1) && has_kernel(cache, 1));
    vp__cache_close(cache);
    remove_root();
}

/* A process that is killed at any moment leaves nothing that hurts. */
VP_TEST_TIMEOUT(processes_that_are_killed, 60) {
    make_root();
    vp__cache *cache = open_cache(SHARED_BOUND);
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        VP_CHECK(child >= 0);
        if (child == 0) {
            work(cache, (uint64_t)round, 1000000);
            _exit(0);
        }
        usleep((useconds_t)(draw() % 5000));
        kill(child, SIGKILL);
        VP_CHECK(waitpid(child, NULL, 0) == child);
        for (int i = 0; i < KERNELS; i++) has_kernel(cache, i);
        VP_CHECK(put_kernel(cache, round) && has_kernel(cache, round));
    }
    vp__cache_close(cache);
    remove_root();
}

/* ---- full disks ---- */

/* The limit would end the process with a signal if anything were written beyond it. */
VP_TEST(file_size_limit) {
    make_root();
    vp__cache *cache = open_cache(1 << 20);
    made_kernel k;
    int unfinished;
    make_kernel(1, &k);
    VP_CHECK(put_kernel(cache, 1));
    VP_CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){3000, RLIM_INFINITY}) == 0);
    VP_CHECK(!put_kernel(cache, 2) && !has_kernel(cache, 2) && has_kernel(cache, 1));
    VP_CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, RLIM_INFINITY}) == 0);
    vp__cache_add_usage(cache, &k.key, &(vp__cache_usage){1, 1});
    VP_CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) ==
             0);
    VP_CHECK(put_kernel(cache, 2) && has_kernel(cache, 2));
    bytes_in_folder(&unfinished);
    VP_CHECK_EQ(unfinished, 0);
    vp__cache_close(cache);
    remove_root();
}

VP_TEST(full_disk) {
    make_root();
    VP_CHECK(mkdir(cache_path("disk"), 0700) == 0);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", cache_path("disk"), "tmpfs", 0, "size=64k,mode=0700") != 0) {
        remove_root();
        VP_SKIP("no small disk can be mounted here");
    }
    vp__cache *cache = vp__cache_open(cache_path("disk/c"), NULL, 1 << 20, NULL);
    VP_CHECK(cache != NULL);
    int kept = 0, found = 0;
    for (int i = 0; i < 50; i++) kept += put_kernel(cache, i);
    for (int i = 0; i < 50; i++) found += has_kernel(cache, i);
    VP_CHECK(kept > 3 && kept < 17);
    VP_CHECK_EQ(found, kept);
    vp__cache_close(cache);
    VP_CHECK(umount(cache_path("disk")) == 0);
    remove_root();
}

/* No descriptor is free: nothing is found, nothing breaks. */
VP_TEST(no_descriptors) {
    make_root();
    vp__cache *cache = open_cache(1 << 20);
    VP_CHECK(put_kernel(cache, 1));
    VP_CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 4096}) == 0);
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 2));
    VP_CHECK_EQ(vp__cache_each(cache, NULL, NULL), 0);
    VP_CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){4096, 4096}) == 0);
    VP_CHECK(has_kernel(cache, 1));
    vp__cache_close(cache);
    remove_root();
}
