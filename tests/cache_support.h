/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache in a folder of its own, and kernels to put into it.
 */
#ifndef VP_TESTS_CACHE_SUPPORT_H
#define VP_TESTS_CACHE_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/cache.h"
#include "jit/cache_dir.h"
#include "tests/harness.h"

static char cache_root[64]; /* the test's own folder; the cache is "c" in it */

/* A path in that folder; valid until the thread has asked for four more. */
static inline const char *cache_path(const char *name) {
    static _Thread_local char paths[4][256];
    static _Thread_local int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", cache_root, name);
    return path;
}

static inline void remove_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", cache_root);
    if (cache_root[0] && system(command) != 0) fprintf(stderr, "%s failed\n", command);
}

/* Makes the test's folder, which goes when the process that made it ends well. */
static inline void make_root(void) {
    strcpy(cache_root, "/tmp/vproc-cache-XXXXXX");
    VP_CHECK(mkdtemp(cache_root) != NULL);
}

static inline vp__cache *open_cache(int64_t bytes) {
    const char *why;
    vp__cache *cache = vp__cache_open(cache_path("c"), NULL, bytes, &why);
    VP_CHECK_STR(why, NULL);
    return cache;
}

/* Kernel number i: texts and an object that tell it from others. */
typedef struct {
    char ir[64];
    vp__cache_meta meta;
    vp__cache_key key;
    uint8_t object[5000];
    size_t size;
} made_kernel;

static inline void make_kernel(int i, made_kernel *k) {
    snprintf(k->ir, sizeof k->ir, "v%d = add f64 v0 v1\nstore v%d\n", i, i);
    k->meta = (vp__cache_meta){k->ir, "native", "avx2,fma", "vproc 0.1 llvm 19"};
    k->key = vp__cache_key_of(&k->meta);
    k->size = sizeof k->object - (size_t)(i % 50);
    for (size_t b = 0; b < k->size; b++) k->object[b] = (uint8_t)(b * 31 + (unsigned)i);
}

static inline bool put_kernel(vp__cache *cache, int i) {
    made_kernel k;
    make_kernel(i, &k);
    return vp__cache_put(cache, &k.key, &k.meta, k.object, k.size);
}

/* Is kernel i in the cache? If so, it must be right. */
static inline bool has_kernel(vp__cache *cache, int i) {
    made_kernel k;
    vp__cache_code code;
    make_kernel(i, &k);
    if (!vp__cache_get(cache, &k.key, &k.meta, &code)) {
        VP_CHECK(!code.memory && !code.object);
        return false;
    }
    VP_CHECK_EQ(code.size, k.size);
    VP_CHECK_BYTES(code.object, k.object, k.size);
    VP_CHECK_EQ((uintptr_t)code.object % 16, 0u);
    vp__cache_code_release(&code);
    return true;
}

/* The path of kernel i's file. */
static inline const char *kernel_path(int i) {
    made_kernel k;
    char name[VP__CACHE_NAME + 2] = "c/";
    make_kernel(i, &k);
    vp__cache_name(&k.key, name + 2);
    return cache_path(name);
}

#endif
