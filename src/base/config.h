/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment, read once. Every variable the processor looks at is a field here, so
 * that nothing else calls getenv and a value cannot change in mid-run. A value that makes
 * no sense never stops the program: one line on stderr says what was wrong and what is
 * used instead.
 */
#ifndef VP_BASE_CONFIG_H
#define VP_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum { VP__MAX_THREADS = 1024 };

/* VP_JIT. */
typedef enum {
    VP__JIT_ON,          /* native code as soon as it is there */
    VP__JIT_OFF,         /* base kernels only */
    VP__JIT_NATIVE,      /* compile before running, for tests */
    VP__JIT_MIXED,       /* now these, now those, for tests */
    VP__JIT_SPECIALISED, /* as native, for the very sizes and constants, for tests */
} vp__jit_mode;

/* VP_ERRORS: when failures are told that nobody has looked at (failure.h). */
typedef enum {
    VP__ERRORS_AT_END, /* one line when the process ends */
    VP__ERRORS_PRINT,  /* every failure as it happens */
    VP__ERRORS_ABORT,  /* the first, and then the process is aborted */
    VP__ERRORS_QUIET,  /* never */
} vp__errors_mode;

/* VP_WITHOUT: mechanisms that are switched off, to see what each is worth. */
enum {
    VP__WITHOUT_FUSION = 1,       /* every instruction is a segment of its own */
    VP__WITHOUT_SIZES = 2,        /* whoever asks for a size waits for the result */
    VP__WITHOUT_RENAMING = 4,     /* writes wait for readers where that is possible */
    VP__WITHOUT_CONTINUATION = 8, /* what a node makes ready goes through a queue */
    VP__WITHOUT_STEALING = 16,    /* a core does what is queued there and nothing else */
    VP__WITHOUT_INLINE = 32,      /* nothing runs on the caller at once */
    VP__WITHOUT_BUNDLES = 64,   /* every iteration of a loop is a node, or runs at once */
    VP__WITHOUT_REPLAY = 128,   /* every instruction of an iteration is built */
    VP__WITHOUT_LIVENESS = 256, /* every value that gets a name is stored */
};

typedef struct {
    int threads;        /* VP_THREADS: threads that compute, callers too; default cores */
    int cores;          /* CPUs this process may use: affinity mask and cgroup quota */
    bool sync;          /* VP_SYNC: one instruction at a time */
    bool inline_nodes;  /* VP_INLINE: tiny ready nodes run on the caller; default true */
    unsigned without;   /* VP_WITHOUT */
    bool one_by_one;    /* nothing is fused: VP_SYNC or VP_WITHOUT */
    int64_t memory;     /* VP_MEMORY: bytes in flight; default 60 % of memory_all */
    int64_t memory_all; /* bytes there are for this process: RAM or the cgroup's limit */
    vp__errors_mode errors; /* VP_ERRORS; a set-user-ID program reads none */
    const char *trace;      /* VP_TRACE: name of the trace file; NULL: none */
    const char *isa;        /* VP_ISA: which base kernels; NULL: the best this CPU has */
    bool accurate;          /* VP_MATH: "accurate", or "fast", which is the default */
    bool blas;              /* VP_BLAS: matrix products may use OpenBLAS; default true */
    bool fftw;              /* VP_FFTW: Fourier transforms may use FFTW; default true */
    /* VP_CACHE: the folder of compiled kernels, "" when there shall be none; NULL: the
     * user's, in cache_home or else home. A program that runs with more rights than its
     * user has (set-user-ID) believes none of the three and has no cache. */
    const char *cache;
    const char *cache_home; /* XDG_CACHE_HOME where it is a full path, or NULL */
    const char *home;       /* HOME, or NULL */
    int64_t cache_bytes;    /* VP_CACHE_SIZE: bytes the cache may have; default 256 MB */
    int jit;                /* VP_JIT: vp__jit_mode */
    const char *llvm;       /* VP_LLVM: the compiler plug-in; NULL: the one beside us */
    bool debug_ir, debug_asm; /* VP_DEBUG: what is shown of compiled kernels */
} vp__config;

/* The configuration; the first call reads it. Any thread. */
const vp__config *vp__config_get(void);

/* Reads the environment into *out, for tests that change it; strings point into it. */
void vp__config_read(vp__config *out);

/* Says on stderr which of these variables ("NAME=value", NULL at the end) look like ours and are
 * not. vp__config_get does so with the environment. */
void vp__config_check_names(char *const *variables);

#endif
