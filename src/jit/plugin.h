/* SPDX-License-Identifier: Apache-2.0
 *
 * What a compiler plug-in offers: from kernel IR to an object file in memory. It is opened
 * when a kernel first wants it, so that a process pays nothing for the compiler until
 * then, and runs without it.
 *
 * A compiled kernel is a vp__native_fn; the kind of its loops says what runs along x, y
 * and z.
 */
#ifndef VP_JIT_PLUGIN_H
#define VP_JIT_PLUGIN_H

#include <stddef.h>

#include "jit/facts.h"
#include "jit/ir.h"

typedef enum {
    VP__LOOPS_MAP,   /* out[z][y][x] = body */
    VP__LOOPS_ROWS,  /* out[z][y] = reduction of body over x */
    VP__LOOPS_CHUNK, /* the same, but out gets the lanes' state, for merging */
    VP__LOOPS_COLS,  /* out[z][x] = reduction of body over y, at most a block of it where
                       the tree is not free */
    VP__LOOPS_FOLD,  /* rows y of body, x elements each, folded into the lanes' states
                         out[y], which z elements have been folded into; where the tree is
                         not free all of them belong to one block */
    VP__LOOPS_STATE, /* rows z to z + y of a block of body, folded into the states of its
                       columns; only where the tree is not free */
    VP__NLOOPS
} vp__loops_kind;

/* How a leaf is read. */
typedef enum {
    VP__READ_RUN,    /* contiguous along x */
    VP__READ_SHARED, /* the same, and one run for all y: rows read it together */
    VP__READ_AGAIN, /* a run for each y, the same ones for all z: planes read it together */
    VP__READ_OFTEN, /* the same, where there are at least VP__PLANES of them */
    VP__READ_OTHER, /* every other element of what is contiguous along x */
    VP__READ_ROW,   /* one element for all x */
    VP__READ_PLANE, /* one element for all x and y */
    VP__NREADS
} vp__loops_read;

enum { VP__PLANES = 4 };

typedef struct {
    uint8_t kind; /* vp__loops_kind */
    uint8_t read[VP__KERNEL_LEAVES];
} vp__loops;

typedef struct {
    const char *triple, *cpu, *features;
    int vector_bytes;
    bool fma;     /* fused multiply-add is an instruction of the vector units */
    bool own_sin; /* the base kernels' sine is that of ops/sin_constants.h */
    bool halves;  /* the CPU stores a vector as two halves */
} vp__machine;

/* The name of the kernel's function in its object, and of what it refers to: the base kernel
 * of a row and type, and what adds to the tree of a reduction of a row and type. The function
 * of jit/addresses.h has its own name, and so has the table of ops/sin_constants.h. */
#define VP__KERNEL_SYMBOL "vp_kernel"
#define VP__BASE_SYMBOL "vp_base.%s.%s"
#define VP__REDUCE_SYMBOL "vp_reduce.%s.%s"
#define VP__SIN_SYMBOL "vp_sin_numbers"
/* A table of the numbers 0, 1, 2 and so on, of 32 bits, one for each lane of a vector. */
#define VP__LANES_SYMBOL "vp_lane_numbers"
enum { VP__MOST_LANES = 64 };

typedef struct {
    const char *version;
    /* An object in memory that `release` frees; NULL, and a message that it frees as well,
     * when it cannot be done. `facts` is NULL, or what the code may rely on. One thread at a
     * time. */
    void *(*compile)(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                     const vp__machine *target, size_t *bytes, char **message);
    void (*release)(void *);
    /* The same as assembly text, for looking inside. */
    char *(*assembly)(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                      const vp__machine *target, char **message);
} vp__plugin;

/* The plug-in's one symbol. */
#define VP__PLUGIN_SYMBOL "vp_plugin"
typedef const vp__plugin *(*vp__plugin_fn)(int version);
enum { VP__PLUGIN_VERSION = 5 };

#endif
