/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels on disk. A process that finds one here runs it a few microseconds later
 * and never opens a compiler. The folder is VP_CACHE, else vproc in $XDG_CACHE_HOME, else
 * ~/.cache/vproc; it is kept below VP_CACHE_SIZE bytes by removing what was not used for
 * longest. What may be believed is said in jit/cache_dir.h, what a file looks like in
 * jit/cache_file.h.
 *
 * The cache can only save time. Whatever is wrong with it, no home, a full disk, a damaged
 * file, a get finds nothing and a put keeps nothing, and nobody is told.
 *
 * All functions may be called on any thread and by any number of processes at once. There
 * are no locks, in memory or on disk, so a fork at any moment is fine and the child uses
 * the cache on. All take a NULL cache, as an empty one that keeps nothing.
 */
#ifndef VP_JIT_CACHE_H
#define VP_JIT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/cache_file.h"

typedef struct vp__cache vp__cache;

/* The folder at `path`, made if need be, which may have `bytes` bytes. NULL when it cannot
 * be used; *why (if why is not NULL) then says the reason without its full stop. `own` is
 * NULL or as for vp__cache_dir_open. */
vp__cache *vp__cache_open(const char *path, const char *own, int64_t bytes,
                          const char **why);
void vp__cache_close(vp__cache *cache);

/* The cache that the environment asks for, opened by the first call and never closed; NULL
 * when there is none, and *why (if why is not NULL) the reason. */
vp__cache *vp__cache_get_default(const char **why);

/* The folder's name, for people. */
const char *vp__cache_path(const vp__cache *cache);

/* The key of a kernel: a hash of all four texts. */
vp__cache_key vp__cache_key_of(const vp__cache_meta *meta);

/* A kernel found; everything points into `memory`. */
typedef struct {
    const void *object;
    size_t size;
    vp__cache_usage usage;
    void *memory; /* what vp__cache_code_release frees */
} vp__cache_code;

/* Finds the kernel with this key whose texts are exactly these. False when there is none;
 * *out is then empty. */
bool vp__cache_get(vp__cache *cache, const vp__cache_key *key, const vp__cache_meta *meta,
                   vp__cache_code *out);
void vp__cache_code_release(vp__cache_code *code);

/* Keeps a kernel, in place of whatever has its key. False when that did not work out. */
bool vp__cache_put(vp__cache *cache, const vp__cache_key *key, const vp__cache_meta *meta,
                   const void *object, size_t size);

/* Adds to what is known about a kernel's runs. When two processes do it at once, one of
 * them may be forgotten. */
void vp__cache_add_usage(vp__cache *cache, const vp__cache_key *key,
                         const vp__cache_usage *more);

/* A kernel as it is shown: in file.meta its IR, whose first line names its loops (of
 * specialised code more lines follow with its facts), stage, CPU and versions; in file.usage
 * the runs and time of all processes, as far as they were noted; object and object_size, its
 * code as an object file. */
typedef struct {
    vp__cache_file file; /* valid during the visit */
    int64_t bytes;       /* of the file */
    int64_t last_use;    /* seconds since 1970; some hours may be missing */
} vp__cache_entry;

/* Shows every good kernel in the folder to `visit`, in no order, until it returns false.
 * Returns how many were shown. */
int64_t vp__cache_each(vp__cache *cache,
                       bool (*visit)(void *context, const vp__cache_entry *entry),
                       void *context);

#endif
