/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a plan. The iteration space is a set of loops, what is left of the axes after
 * dropping, merging and sorting: first the kept ones, outermost first, then the reduced
 * ones in the order that numbers their elements. A tile is a small box of some of the
 * loops; its elements lie in block buffers one after another, `tile[0]` fastest, and the
 * body runs on all of them at once. The kept loops form a grid of tiles; pieces are runs
 * of consecutive tiles of that grid, or, where few outputs have many elements, aligned
 * ranges of the reduced numbers of one tile.
 *
 * A plan points at nothing but the kernel tables, so it can be copied.
 */
#ifndef VP_JIT_PLAN_PARTS_H
#define VP_JIT_PLAN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/plan_space.h"
#include "jit/scratch.h"
#include "ops/kernels.h"

enum {
    VP__TILE_LOOPS = 4,
    VP__VALUES = VP__KERNEL_LEAVES + VP__KERNEL_INSTRS,
    VP__NONE = 255,
};

/* What a plan does with its loops. */
typedef enum {
    VP__PLAN_EMPTY,      /* no output elements */
    VP__PLAN_COPY,       /* leaf 0, or a constant, to the output */
    VP__PLAN_MAP,        /* element-wise */
    VP__PLAN_ROWS,       /* whole reductions in each tile, reduced loops fastest */
    VP__PLAN_COLS,       /* whole reductions in each tile, a kept loop fastest */
    VP__PLAN_ROW_CHUNKS, /* one reduced loop, a chunk of it per tile */
    VP__PLAN_COL_CHUNKS, /* a kept loop fastest, a few reduced numbers per tile */
    VP__PLAN_RANGES,     /* several reduced loops, walked by number */
    VP__PLAN_PANEL,      /* the same, evaluated in memory's order and then transposed */
    VP__PLAN_FOLDS,  /* the same by native code, a run of the last of them at a time for
                            some outputs side by side */
    VP__PLAN_DIRECT, /* native code on whole operands; no tiles in the sense above */
} vp__plan_mode;

/* How the body reaches an array operand in a tile. */
typedef enum {
    VP__REACH_DIRECT,  /* contiguous: by its address */
    VP__REACH_ROWS,    /* each row of the tile is contiguous: row by row */
    VP__REACH_COPY,    /* gathered into a buffer, or scattered from one */
    VP__REACH_KEEP,    /* gathered, and kept while address and tile shape stay the same */
    VP__REACH_UNIFORM, /* one element for the whole tile */
    VP__REACH_RANGE,   /* gathered by reduced number */
} vp__tile_reach;

typedef struct {
    uint8_t reach;
    uint8_t value; /* the leaf's number; VP__NONE for the output */
    uint8_t lg;    /* log2 of the element size */
    uint8_t
        order[VP__TILE_LOOPS]; /* positions in tile[], innermost loop of a copy first */
} vp__tile_operand;

typedef enum {
    VP__ACTION_DIRECT,     /* value = operand's address */
    VP__ACTION_COPY,       /* value = operand gathered */
    VP__ACTION_KEEP,       /* the same unless it is still there */
    VP__ACTION_RANGE,      /* value = operand gathered by number */
    VP__ACTION_UNIFORM,    /* value = operand's one element */
    VP__ACTION_OP,         /* value = fn(args) on the whole tile */
    VP__ACTION_OP_ROWS,    /* row by row */
    VP__ACTION_OP_KEEP,    /* only when an argument changed */
    VP__ACTION_OP_UNIFORM, /* on one element, when an argument changed */
} vp__tile_action_kind;

typedef struct {
    union {
        vp__op_fn op;
        vp__cast_fn cast;
    } fn;
    uint8_t kind; /* vp__tile_action_kind */
    uint8_t is_cast;
    uint8_t out;         /* value */
    uint8_t arg[3];      /* values; an unused one repeats the first */
    uint8_t has_uniform; /* an argument is */
    uint8_t operand;     /* of a load */
} vp__tile_action;

/* A value of the body. */
typedef struct {
    uint8_t buffer;  /* block buffer, or VP__NONE */
    uint8_t lg;      /* log2 of the element size */
    uint8_t uniform; /* one element per tile */
    uint8_t rows;    /* operand whose row stride it has, or VP__NONE: contiguous */
} vp__tile_value;

typedef struct vp__plan {
    const vp__kernels *kernels;
    const vp__reduce_kernel *reduce;
    vp__native_fn native; /* of DIRECT and FOLDS; of ROW_CHUNKS and COL_CHUNKS, or NULL */
    vp__native_fn body;   /* the whole body on a tile, or NULL: action by action */
    vp__code code;        /* which of the two that is; without either, empty */
    int64_t piece_elements; /* of each but the last, where somebody asks for its time */
    int64_t pieces;
    int64_t tiles;            /* of the kept grid */
    int64_t piece_tiles;      /* tiles per piece */
    int64_t numbers;          /* elements reduced into one output */
    int64_t range;            /* numbers per piece when split by number, else 0 */
    int64_t ranges;           /* pieces per tile then, else 1 */
    int64_t tile_elements;    /* of a whole tile */
    int64_t tile_outputs;     /* of a whole tile */
    int64_t uniform_elements; /* of the block that stands for a uniform value */
    int64_t state_bytes;      /* of a whole tile's reduction state, a multiple of 64 */
    int64_t panel_rows;       /* of PANEL: indices of its fastest loop at once */
    int64_t panel_pitch;      /* and the numbers between two of them */
    int32_t buffer_bytes;
    uint8_t mode; /* vp__plan_mode */
    uint8_t nkept, nloops;
    uint8_t ntile;
    uint8_t tile[VP__TILE_LOOPS];
    uint8_t nest[3];   /* native: the loops x, y and z of a call, or VP__NONE */
    uint8_t noperands; /* array leaves, then the output */
    uint8_t nvalues, nleaves, nconstants, nactions;
    uint8_t nbuffers, nvarying; /* all of them, and those not kept from tile to tile */
    uint8_t result;             /* value the body ends with */
    uint8_t in_lg, out_lg;      /* element sizes of the body's result and of the output */
    uint8_t has_rows, has_keep;
    uint8_t bare;            /* no instructions: a leaf alone is reduced */
    uint8_t state_is_result; /* COL_CHUNKS: one block, whose state is the results */
    uint8_t from_constant;   /* COPY: the first constant, not the first operand */
    uint8_t out_direct; /* reductions: a tile's results are contiguous in the output */
    uint8_t
        out_loop[VP__TILE_LOOPS]; /* reductions: kept loops of the tile, fastest first */
    uint8_t nout;                 /* how many of those */
    uint8_t stop; /* state byte after which nothing can change, or VP__NONE */
    uint16_t at_dim, at_extent, at_stride, at_shift, at_constant, at_actions, at_operand,
        at_value;
    _Alignas(8) char data[];
} vp__plan;

/* The arrays behind the record. stride is [operand][loop]; shift is what the address of
 * element 0,0,… must be moved by because loops were reversed. */
#define VP__PLAN_ARRAY(name, type)                                                       \
    static inline type *vp__plan_##name(const vp__plan *p) {                             \
        return (type *)(uintptr_t)(p->data + p->at_##name);                              \
    }
VP__PLAN_ARRAY(dim, int64_t)
VP__PLAN_ARRAY(extent, int64_t)
VP__PLAN_ARRAY(stride, int64_t)
VP__PLAN_ARRAY(shift, int64_t)
VP__PLAN_ARRAY(actions, vp__tile_action)
VP__PLAN_ARRAY(operand, vp__tile_operand)
VP__PLAN_ARRAY(value, vp__tile_value)
#undef VP__PLAN_ARRAY

/* A constant leaf's value, kept with its number. */
typedef struct {
    uint64_t bits[2];
    uint64_t value;
} vp__tile_constant;
static inline vp__tile_constant *vp__plan_constant(const vp__plan *p) {
    return (vp__tile_constant *)(uintptr_t)(p->data + p->at_constant);
}

static inline const int64_t *vp__plan_strides(const vp__plan *p, int operand) {
    return vp__plan_stride(p) + operand * p->nloops;
}

/* As vp__plan_init with a particular set of kernels, for tests and benchmarks. */
void vp__plan_init_for(vp__plan *plan, const vp__kernels *kernels,
                       const vp__exec_args *args, int64_t piece_elements);

/* plan_body.c: turns the kernel's body into actions and gives its values buffers, knowing
 * how each leaf is reached. Fills actions, values, nbuffers, has_rows, has_keep. With native
 * code for the body (p->body) only the leaves are loaded. */
void vp__plan_body(vp__plan *p, const vp__kernel *k);

/* plan_direct.c: makes the plan a direct one if that can be; its loops are filled in. */
bool vp__plan_direct(vp__plan *p, const vp__exec_args *args, const vp__space *l,
                     int64_t piece_elements);

/* Code for the body on tiles, as its operands are reached in them; NULL: none. */
vp__code vp__plan_native_body(const vp__plan *p, const vp__kernel *k, double ns,
                              int repeats);

/* A piece being run: where it is, and where the body's values are. On the stack of the
 * thread that runs it. */
typedef struct {
    const vp__plan *plan;
    const int64_t *dim, *extent;
    int walked; /* the first operand that moves: all, or the output only */
    char *buffers, *states, *results, *panel;
    int64_t index[VP__MAXDIM]; /* of the tile's first element */
    int64_t count[VP__MAXDIM]; /* of tile loops: this tile's extent */
    char *base[VP__OPERANDS];  /* addresses of the operands' first elements */
    char *at[VP__OPERANDS];    /* and of the tile's */
    int64_t width, height;     /* the tile as rows: count of tile[0], and of the rest */
    int64_t number;            /* RANGES: first reduced number */

    char *ptr[VP__VALUES];
    int64_t row[VP__VALUES]; /* bytes from row to row, where has_rows */
    const char *last[VP__OPERANDS];
    int64_t kept[VP__TILE_LOOPS]; /* shape of the tile that kept values were made for */
    bool first;                   /* no tile has run yet */
    bool changed[VP__VALUES];
    uint64_t uniform[VP__VALUES][2];
} vp__run;

/* plan_body.c: gets ready, without leaves when leaf_data is NULL, and runs the body on
 * the tile at `at` of extent `count`. The result is then at ptr[plan->result]. */
void vp__run_init(vp__run *r, const vp__plan *p, void *const *leaf_data, void *out,
                  void *scratch);
void vp__run_body(vp__run *r);

/* plan_walk.c: moves the run to a tile of the kept grid, or moves on to the next one. */
void vp__run_seek(vp__run *r, int64_t tile);
void vp__run_next(vp__run *r);

/* plan_copy.c: copies a tile between two layouts; strides are by position in the tile. */
void vp__copy_tile(const vp__kernels *k, int lg, char *dst, const int64_t *dst_stride,
                   const char *src, const int64_t *src_stride, const int64_t *count,
                   const uint8_t *order, int nloops);

/* Copies n elements by number, starting at `number`, over reduced loops of these extents
 * and strides, the last fastest, into a contiguous block. */
void vp__copy_range(const vp__kernels *k, int lg, char *dst, const char *src,
                    const int64_t *dim, const int64_t *stride, int nloops, int64_t number,
                    int64_t n);

/* plan_direct.c: a piece of a direct plan; and with ROW_CHUNKS the states of the next n
 * numbers of each of the tile's outputs. */
void vp__run_direct(vp__run *r, int64_t piece);
void vp__run_chunk(vp__run *r, char *state, int64_t state_bytes, int64_t n,
                   int64_t outputs);
/* With COL_CHUNKS: folds rows first… of a block into the states of the tile's columns. */
void vp__run_state(vp__run *r, char *state, int64_t first, int64_t rows, int64_t cols);
/* With FOLDS: folds n numbers, which follow the `first` that were folded before them, into
 * the states of the tile's outputs. */
void vp__run_fold(vp__run *r, char *state, int64_t first, int64_t n, int64_t outputs);
/* And the body of a tile whose leaves are loaded. */
void vp__run_native_body(vp__run *r);

/* plan_reduce.c: a piece of a reduction, and what folds the pieces' states. */
void vp__run_reduce(vp__run *r, int64_t piece, char *partial);
void vp__run_finish(vp__run *r, char *partial);

#endif
