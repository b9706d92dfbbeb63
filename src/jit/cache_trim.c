/* SPDX-License-Identifier: Apache-2.0
 *
 * Least recently used goes first. Whoever writes looks at the folder now and then and
 * removes; several may do so at once, and find that a file is already gone. A file that is
 * being read stays readable without its name.
 */
#define _GNU_SOURCE
#include "jit/cache_trim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

typedef struct {
    vp__cache_key key;
    int64_t used, cost;
} entry;

typedef struct {
    entry *entries;
    size_t count, room;
    int64_t cost;
} listing;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

int64_t vp__cache_last_use(const struct stat *s) {
    const int64_t used = (int64_t)s->st_mtim.tv_sec * SECOND + s->st_mtim.tv_nsec;
    return used > now_ns() + 24 * 3600 * SECOND ? 0 : used;
}

/* A file that nobody finished writing is removed when its writer must be dead. */
static void remove_stale(const vp__cache_dir *dir, const char *name,
                         const struct stat *s) {
    if (now_ns() - vp__cache_last_use(s) > VP__CACHE_USE_SECONDS * SECOND)
        unlinkat(dir->fd, name, 0);
}

static void note(listing *list, const vp__cache_key *key, const struct stat *s) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 256;
        entry *entries = realloc(list->entries, room * sizeof *entries);
        if (!entries) return; /* what is not noted is not removed this time */
        list->entries = entries;
        list->room = room;
    }
    const int64_t cost = vp__cache_cost(s->st_size);
    list->entries[list->count++] = (entry){*key, vp__cache_last_use(s), cost};
    list->cost += cost;
}

static void look_at(const vp__cache_dir *dir, const char *name, listing *list) {
    vp__cache_key key;
    struct stat s;
    const bool is_new = vp__cache_name_is_new(name);
    if (!is_new && !vp__cache_name_parse(name, &key)) return;
    if (fstatat(dir->fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (is_new) {
        remove_stale(dir, name, &s);
    } else if (!S_ISREG(s.st_mode)) {
        unlinkat(dir->fd, name, 0); /* a link or a pipe where a kernel should be */
    } else {
        note(list, &key, &s);
    }
}

static int by_use(const void *a, const void *b) {
    const int64_t x = ((const entry *)a)->used, y = ((const entry *)b)->used;
    return (x > y) - (x < y);
}

static void remove_oldest(const vp__cache_dir *dir, listing *list, int64_t bound) {
    if (list->count > 0) qsort(list->entries, list->count, sizeof(entry), by_use);
    for (size_t i = 0; i < list->count && list->cost > bound; i++) {
        char name[VP__CACHE_NAME];
        vp__cache_name(&list->entries[i].key, name);
        unlinkat(dir->fd, name, 0); /* if it fails, it is gone or will never go */
        list->cost -= list->entries[i].cost;
    }
}

int64_t vp__cache_trim(const vp__cache_dir *dir, int64_t bound) {
    listing list = {NULL, 0, 0, 0};
    DIR *names = vp__cache_dir_list(dir);
    if (!names) return 0;
    for (struct dirent *d; (d = readdir(names)) != NULL;) look_at(dir, d->d_name, &list);
    closedir(names);
    if (list.cost > bound) remove_oldest(dir, &list, bound - bound / 8);
    free(list.entries);
    return list.cost;
}
