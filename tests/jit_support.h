/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of native code share. Settings are read once, so they are set in a process
 * that has not used the library yet.
 */
#ifndef VP_TESTS_JIT_SUPPORT_H
#define VP_TESTS_JIT_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/compiler.h"
#include "jit/native.h"
#include "tests/harness.h"

static inline void use(const char *jit, const char *cache) {
    setenv("VP_JIT", jit, 1);
    setenv("VP_CACHE", cache, 1);
    setenv("VP_THREADS", "2", 1);
}

/* Skips the test where nothing can be compiled; asked in a process of its own, since that
 * opens the compiler. */
static inline void need_compiler(void) {
    use("off", "off");
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        vp__kernel k = {.nleaves = 1, .reduce = -1, .result = VP_F64};
        vp__loops loops = {.kind = VP__LOOPS_MAP};
        vp__compiled code;
        char *message = NULL;
        k.leaf[0].dtype = VP_F64;
        _exit(vp__compile(&k, &loops, NULL, &code, &message) ? 0 : 1);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    if (status != 0) VP_SKIP("there is no compiler plug-in (vproc-llvm.so)");
}

static inline vp__native_stats stats(void) {
    vp__native_stats s;
    vp__native_get_stats(&s);
    return s;
}

static inline int wait_for(pid_t child) {
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

/* A file as text, to be freed. */
static inline char *contents(const char *path) {
    FILE *f = fopen(path, "r");
    VP_CHECK(f);
    char *text = calloc(1, 1 << 20);
    VP_CHECK_GT(fread(text, 1, (1 << 20) - 1, f), 0);
    fclose(f);
    return text;
}

#endif
