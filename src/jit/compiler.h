/* SPDX-License-Identifier: Apache-2.0
 *
 * From a kernel and its loops to code that can be called: from the cache on
 * disk if it is there, else through the compiler plug-in. Takes milliseconds; one thread
 * at a time.
 */
#ifndef VP_JIT_COMPILER_H
#define VP_JIT_COMPILER_H

#include "jit/cache_file.h"
#include "jit/object.h"
#include "jit/plugin.h"

typedef struct {
    vp__native_fn fn;
    vp__object *object; /* holds it, until vp__object_release */
    size_t bytes;       /* of memory it takes */
    bool from_cache;    /* not compiled */
    vp__cache_key key;  /* its name in the cache, whether or not it is there */
    /* What was compiled, to be freed, or NULL: the cache has it only when vp__compiler_keep
     * is called, after it is in use; specialised code may turn out to be worth nothing. */
    void *image;
    size_t image_bytes;
} vp__compiled;

/* `facts` is NULL, or what the code may rely on: that is specialised code. False when it
 * cannot be had; *message then says why (to be freed), and must be NULL on entry. */
bool vp__compile(const vp__kernel *kernel, const vp__loops *loops, const vp__facts *facts,
                 vp__compiled *out, char **message);
void vp__compiler_keep(const vp__kernel *kernel, const vp__loops *loops,
                       const vp__facts *facts, const void *image, size_t bytes);

/* Whether this build and machine have anything to compile for. */
bool vp__compiler_is_possible(void);

/* Around a fork, on the thread that forks: nobody is opening the plug-in then. */
void vp__compiler_before_fork(void);
void vp__compiler_after_fork(void);

#endif
