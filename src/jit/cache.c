/* SPDX-License-Identifier: Apache-2.0
 *
 * Getting, putting and listing. A get is five system calls and a hash over the file; the
 * file is read and not mapped, because what was checked must not change afterwards.
 *
 * The bound: a process counts what it writes and looks at the whole folder when that could
 * be too much, and after every 32nd part of the bound because others write too. So n
 * processes that write at once exceed the bound by n/32 of it at most, for a while. A look
 * costs two microseconds per file, which is much for a process that keeps one kernel and
 * ends; hence the first look is at the first key whose last byte is a multiple of eight.
 * Keys are hashes, so of many such processes every eighth looks.
 */
#define _GNU_SOURCE
#include "jit/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "jit/cache_dir.h"
#include "jit/cache_trim.h"

struct vp__cache {
    vp__cache_dir dir;
    int64_t bound;
    /* Bytes that may be written before the folder must be looked at again. Relaxed: it is
     * an estimate, and two threads that look at once do no harm. */
    _Atomic int64_t room;
    _Atomic bool looked; /* relaxed: the same */
    char path[];
};

/* ---- opening ---- */

static const char *open_here(const char *path, const char *own, int64_t bytes,
                             vp__cache **out) {
    const size_t length = strlen(path) + 1;
    vp__cache *cache = malloc(sizeof *cache + length);
    if (!cache) return "there is no memory for it";
    const char *wrong = vp__cache_dir_open(path, own, &cache->dir);
    if (wrong) {
        free(cache);
        return wrong;
    }
    memcpy(cache->path, path, length);
    cache->bound = bytes;
    atomic_init(&cache->room, bytes / 32);
    atomic_init(&cache->looked, false);
    *out = cache;
    return NULL;
}

vp__cache *vp__cache_open(const char *path, const char *own, int64_t bytes,
                          const char **why) {
    vp__cache *cache = NULL;
    const char *wrong = open_here(path, own, bytes, &cache);
    if (why) *why = wrong;
    return cache;
}

void vp__cache_close(vp__cache *cache) {
    if (!cache) return;
    vp__cache_dir_close(&cache->dir);
    free(cache);
}

static vp__cache *open_configured(const char **why) {
    const vp__config *config = vp__config_get();
    char path[4096];
    if (config->cache && !*config->cache) {
        *why = "VP_CACHE turned it off";
        return NULL;
    }
    if (config->cache)
        return vp__cache_open(config->cache, NULL, config->cache_bytes, why);
    const char *own = config->cache_home ? config->cache_home : config->home;
    const char *rest = config->cache_home ? "vproc" : ".cache/vproc";
    if (!own || snprintf(path, sizeof path, "%s/%s", own, rest) >= (int)sizeof path) {
        *why = "there is no home folder";
        return NULL;
    }
    /* XDG_CACHE_HOME may be made where there is none, a home may not. */
    return vp__cache_open(path, config->cache_home && access(own, F_OK) != 0 ? NULL : own,
                          config->cache_bytes, why);
}

static vp__cache *the_cache;
static const char *no_cache;

static void open_once(void) {
    the_cache = open_configured(&no_cache);
    const char *asked = vp__config_get()->cache;
    if (!the_cache && asked && *asked)
        fprintf(stderr,
                "vproc: VP_CACHE=%s cannot be used: %s; compiled kernels are not kept\n",
                asked, no_cache);
}

vp__cache *vp__cache_get_default(const char **why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
    if (why) *why = no_cache;
    return the_cache;
}

const char *vp__cache_path(const vp__cache *cache) { return cache ? cache->path : ""; }

/* ---- getting ---- */

vp__cache_key vp__cache_key_of(const vp__cache_meta *meta) {
    const char *const text[] = {meta->ir, meta->stage, meta->features, meta->versions};
    vp__hasher h;
    vp__hasher_init(&h);
    /* The zero at each end keeps "ab" "c" and "a" "bc" apart. */
    for (int i = 0; i < 4; i++) vp__hasher_add(&h, text[i], strlen(text[i]) + 1);
    return vp__hasher_result(&h);
}

/* Reads up to `size` bytes from the start; how many there were. */
static size_t read_all(int fd, uint8_t *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, bytes + done, size - done, (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    return done;
}

/* Notes in the file's time that it was used; the owner may do so without writing to it. */
static void touch(int fd, const struct stat *s) {
    const int64_t since = (int64_t)time(NULL) - vp__cache_last_use(s) / 1000000000;
    if (since < 0 || since > VP__CACHE_USE_SECONDS) futimens(fd, NULL);
}

/* Reads and checks a file; its memory, to be freed, or NULL. *fd stays open. */
static void *read_file(const vp__cache *cache, const char *name, int *fd, struct stat *s,
                       vp__cache_file *file) {
    *fd = vp__cache_file_open(&cache->dir, name, O_RDONLY, s);
    if (*fd < 0) return NULL;
    const uint64_t size = (uint64_t)s->st_size;
    uint8_t *bytes = size >= VP__CACHE_HEAD && size <= VP__CACHE_FILE_MAX
                         ? malloc((size_t)size)
                         : NULL;
    if (bytes && read_all(*fd, bytes, (size_t)size) == size &&
        !vp__cache_file_decode(bytes, (size_t)size, file))
        return bytes;
    free(bytes);
    return NULL;
}

static bool same_key(const vp__cache_key *a, const vp__cache_key *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static bool same_meta(const vp__cache_meta *a, const vp__cache_meta *b) {
    return strcmp(a->ir, b->ir) == 0 && strcmp(a->stage, b->stage) == 0 &&
           strcmp(a->features, b->features) == 0 && strcmp(a->versions, b->versions) == 0;
}

bool vp__cache_get(vp__cache *cache, const vp__cache_key *key, const vp__cache_meta *meta,
                   vp__cache_code *out) {
    char name[VP__CACHE_NAME];
    vp__cache_file file;
    struct stat s;
    int fd;
    *out = (vp__cache_code){0};
    if (!cache) return false;
    vp__cache_name(key, name);
    void *memory = read_file(cache, name, &fd, &s, &file);
    const bool found = memory && same_key(&file.key, key) && same_meta(&file.meta, meta);
    if (found) {
        touch(fd, &s);
        *out = (vp__cache_code){file.object, file.object_size, file.usage, memory};
    } else {
        free(memory);
    }
    if (fd >= 0) close(fd);
    return found;
}

void vp__cache_code_release(vp__cache_code *code) {
    free(code->memory);
    *code = (vp__cache_code){0};
}

/* ---- putting ---- */

static bool must_look(vp__cache *cache, const vp__cache_key *key, int64_t cost) {
    const bool enough =
        atomic_fetch_sub_explicit(&cache->room, cost, memory_order_relaxed) >= cost;
    return !enough || (key->bytes[sizeof key->bytes - 1] % 8 == 0 &&
                       !atomic_load_explicit(&cache->looked, memory_order_relaxed));
}

/* Makes room for a file, or finds that there is some. */
static void make_room(vp__cache *cache, const vp__cache_key *key, int64_t cost) {
    if (!must_look(cache, key, cost)) return;
    const int64_t used = vp__cache_trim(&cache->dir, cache->bound - cost);
    const int64_t left = cache->bound - cost - used, slice = cache->bound / 32;
    atomic_store_explicit(&cache->room, left < slice ? left : slice,
                          memory_order_relaxed);
    atomic_store_explicit(&cache->looked, true, memory_order_relaxed);
}

bool vp__cache_put(vp__cache *cache, const vp__cache_key *key, const vp__cache_meta *meta,
                   const void *object, size_t size) {
    char name[VP__CACHE_NAME];
    size_t bytes;
    if (!cache) return false;
    uint8_t *file = vp__cache_file_encode(key, meta, object, size, &bytes);
    if (!file) return false;
    const int64_t cost = vp__cache_cost((int64_t)bytes);
    bool good = cost <= cache->bound / 4; /* one kernel does not drive out all others */
    if (good) {
        make_room(cache, key, cost);
        vp__cache_name(key, name);
        good = vp__cache_file_write(&cache->dir, name, file, bytes);
    }
    free(file);
    return good;
}

void vp__cache_add_usage(vp__cache *cache, const vp__cache_key *key,
                         const vp__cache_usage *more) {
    uint8_t head[VP__CACHE_HEAD], bytes[VP__CACHE_USAGE_BYTES];
    char name[VP__CACHE_NAME];
    vp__cache_usage usage;
    vp__cache_key found;
    struct stat s;
    if (!cache || !vp__cache_may_write(VP__CACHE_HEAD)) return;
    vp__cache_name(key, name);
    int fd = vp__cache_file_open(&cache->dir, name, O_RDWR, &s);
    if (fd < 0) return;
    if (read_all(fd, head, sizeof head) == sizeof head &&
        vp__cache_head_decode(head, &found, &usage) && same_key(&found, key)) {
        usage.runs += more->runs;
        usage.ns += more->ns;
        vp__cache_usage_encode(head, &usage, bytes);
        /* When it fails, what was there stays. */
        if (pwrite(fd, bytes, sizeof bytes, VP__CACHE_USAGE_AT) < 0) errno = 0;
    }
    close(fd);
}

/* ---- listing ---- */

int64_t vp__cache_each(vp__cache *cache,
                       bool (*visit)(void *context, const vp__cache_entry *entry),
                       void *context) {
    DIR *names = cache ? vp__cache_dir_list(&cache->dir) : NULL;
    int64_t count = 0;
    bool more = names != NULL;
    for (struct dirent *d; more && (d = readdir(names)) != NULL;) {
        vp__cache_entry entry;
        vp__cache_key key;
        struct stat s;
        int fd;
        if (!vp__cache_name_parse(d->d_name, &key)) continue;
        void *memory = read_file(cache, d->d_name, &fd, &s, &entry.file);
        if (memory && same_key(&entry.file.key, &key)) {
            entry.bytes = s.st_size;
            entry.last_use = vp__cache_last_use(&s) / 1000000000;
            count++;
            more = visit(context, &entry);
        }
        free(memory);
        if (fd >= 0) close(fd);
    }
    if (names) closedir(names);
    return count;
}
