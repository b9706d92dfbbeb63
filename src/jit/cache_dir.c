/* SPDX-License-Identifier: Apache-2.0
 *
 * Files and folders of the cache, at the level of system calls. There are no locks: a file
 * is complete before it has its name, and a process that dies leaves at most a file called
 * "new-…", which the next one that looks at the whole folder removes.
 */
#define _GNU_SOURCE
#include "jit/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = ".kernel", new_prefix[] = "new-";

/* ---- names ---- */

void vp__cache_name(const vp__cache_key *key, char out[VP__CACHE_NAME]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof key->bytes; i++) {
        out[2 * i] = digits[key->bytes[i] >> 4];
        out[2 * i + 1] = digits[key->bytes[i] & 15];
    }
    memcpy(out + 2 * sizeof key->bytes, suffix, sizeof suffix);
}

bool vp__cache_name_parse(const char *name, vp__cache_key *key) {
    if (strlen(name) != VP__CACHE_NAME - 1) return false;
    for (size_t i = 0; i < sizeof key->bytes; i++) {
        const char pair[] = {name[2 * i], name[2 * i + 1], 0};
        if (strspn(pair, "0123456789abcdef") != 2) return false;
        key->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return strcmp(name + 2 * sizeof key->bytes, suffix) == 0;
}

bool vp__cache_name_is_new(const char *name) {
    return strncmp(name, new_prefix, sizeof new_prefix - 1) == 0;
}

/* ---- the folder ---- */

/* Belongs to the effective user, and to nobody else by permission. (An access control list
 * that lets others write shows in the group's bits.) */
static bool is_private(const struct stat *s) {
    return s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Makes a folder and those above it that are missing. Whether it worked is seen when it is
 * opened. */
static void make_folders(char *path) {
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(path, 0700);
        *c = '/';
    }
    mkdir(path, 0700);
}

static int open_folder(const char *path) {
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

const char *vp__cache_dir_open(const char *path, const char *own, vp__cache_dir *out) {
    struct stat s;
    char *copy = strdup(path);
    out->fd = -1;
    if (!copy) return "there is no memory for its name";
    /* With a slash at its end, a symbolic link would be followed. */
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--) copy[n - 1] = '\0';
    int fd = open_folder(copy);
    if (fd < 0 && errno == ENOENT &&
        (!own || (stat(own, &s) == 0 && s.st_uid == geteuid()))) {
        make_folders(copy);
        fd = open_folder(copy);
    }
    free(copy);
    if (fd < 0) return "the folder cannot be opened or made";
    if (fstat(fd, &s) != 0 || !is_private(&s)) {
        close(fd);
        return "the folder is not the user's alone";
    }
    *out = (vp__cache_dir){fd, s.st_dev, s.st_ino};
    return NULL;
}

/* Is the descriptor still the folder's? */
static bool is_same(const vp__cache_dir *dir, struct stat *s) {
    return fstat(dir->fd, s) == 0 && S_ISDIR(s->st_mode) && s->st_dev == dir->device &&
           s->st_ino == dir->inode;
}

void vp__cache_dir_close(vp__cache_dir *dir) {
    struct stat s;
    if (is_same(dir, &s)) close(dir->fd);
    dir->fd = -1;
}

bool vp__cache_dir_trusted(const vp__cache_dir *dir) {
    struct stat s;
    return is_same(dir, &s) && is_private(&s);
}

DIR *vp__cache_dir_list(const vp__cache_dir *dir) {
    if (!vp__cache_dir_trusted(dir)) return NULL;
    /* Opened anew, because copies of a descriptor share their place in the folder. */
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return NULL;
    DIR *list = fdopendir(fd);
    if (!list) close(fd);
    return list;
}

/* ---- files ---- */

int vp__cache_file_open(const vp__cache_dir *dir, const char *name, int flags,
                        struct stat *stat) {
    if (!vp__cache_dir_trusted(dir)) return -1;
    /* O_NONBLOCK: opening a pipe that somebody put there must not wait for its other end. */
    int fd =
        openat(dir->fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (fstat(fd, stat) == 0 && S_ISREG(stat->st_mode) && is_private(stat)) return fd;
    close(fd);
    return -1;
}

bool vp__cache_may_write(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

static bool write_all(int fd, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* Makes a file with a name that no other thread or process uses: processes that share the
 * folder from different containers may have the same number, hence the time. */
static int create_new(const vp__cache_dir *dir, char *name, size_t size) {
    static _Atomic unsigned counter; /* relaxed: only its values must differ */
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, size, "%s%ld-%lx%08lx-%x", new_prefix, (long)getpid(),
                 (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec,
                 atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed));
        int fd = openat(dir->fd, name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

bool vp__cache_file_write(const vp__cache_dir *dir, const char *name, const void *bytes,
                          size_t size) {
    char new_name[96];
    if (!vp__cache_may_write(size) || !vp__cache_dir_trusted(dir)) return false;
    int fd = create_new(dir, new_name, sizeof new_name);
    if (fd < 0) return false;
    bool good = write_all(fd, bytes, size);
    /* Some file systems find out at the close that the disk is full. */
    good = close(fd) == 0 && good;
    good = good && renameat(dir->fd, new_name, dir->fd, name) == 0;
    if (!good) unlinkat(dir->fd, new_name, 0);
    return good;
}
