/* SPDX-License-Identifier: Apache-2.0
 *
 * A random program: a list of instruction records. A program is a function of its seed
 * and nothing else, so a seed is a test case; the records are data, so a program can be
 * printed, run with some of its instructions left out (that is how a failing one is made
 * small), and run by processes that share nothing but the seed.
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/tuning.h"
#include "vproc.h"

enum {
    FUZZ_MAX = 128,   /* instructions of a program, final reads included */
    FUZZ_DIMS = 8,    /* axes an instruction can name */
    FUZZ_ITEMS = 6,   /* items of a selection */
    FUZZ_INPUTS = 4,  /* operands of an instruction */
    FUZZ_SHARED = 32, /* consecutive seeds that run with the same thresholds */
};

/* What an instruction does. The variable it defines, an array (a) or an expression (e),
 * has the instruction's own number. */
/* clang-format off */
#define FUZZ_KINDS(KIND)                                                                \
    KIND(FROM, 'e') KIND(FULL, 'e') KIND(ARANGE, 'e') KIND(LINSPACE, 'e')               \
    KIND(EYE, 'e') KIND(COUNTER, 'e') KIND(EMPTY, 'a') KIND(BORROW, 'a')                \
    KIND(OP, 'e') KIND(CAST, 'e') KIND(REDUCE, 'e') KIND(ALONG, 'e')                    \
    KIND(FOURIER, 'e') KIND(MATMUL, 'e') KIND(RESHAPE, 'e') KIND(PERMUTE, 'e') KIND(BROADCAST, 'e')        \
    KIND(SQUEEZE, 'e') KIND(EXPAND, 'e') KIND(FLIP, 'e') KIND(JOIN, 'e')                \
    KIND(TILE, 'e') KIND(REPEAT, 'e') KIND(GET, 'e') KIND(TAKE, 'e') KIND(FIND, 'e')    \
    KIND(LET, 'a') KIND(VIEW, 'a') KIND(SET, 0) KIND(PUT, 0) KIND(DROP, 0)              \
    KIND(BEGIN, 0) KIND(END, 0) KIND(KEEP, 0) KIND(GATE, 'e') KIND(OPEN, 0)             \
    KIND(READ, 0) KIND(MAP, 0) KIND(UNMAP, 0) KIND(ITEM, 0) KIND(SIZE, 0)               \
    KIND(LOOK, 0) KIND(WAIT, 0) KIND(SYNC, 0)
/* clang-format on */

typedef enum {
#define KIND(id, defines) FUZZ_##id,
    FUZZ_KINDS(KIND)
#undef KIND
        FUZZ_NKINDS
} fuzz_kind;

/* 'a' or 'e' for what an instruction defines, 0 for nothing. */
extern const char fuzz_defines[FUZZ_NKINDS];

/* A kind of operand beside those of the header, which makes an expression of it. */
enum { FUZZ_IN_COMPLEX = VP__IN_FLOAT + 1 };

typedef struct {
    uint8_t kind; /* vp__in_kind, or FUZZ_IN_COMPLEX */
    int16_t var;  /* of arrays and expressions */
    int64_t i;
    double f[2];
} fuzz_operand;

typedef struct {
    uint8_t kind; /* vp__sel_kind */
    bool has_start, has_stop;
    int64_t start, stop, step;
    fuzz_operand array;
} fuzz_item;

typedef struct {
    uint8_t kind;  /* fuzz_kind */
    uint8_t dtype; /* vp_dtype or VP_AUTO */
    bool column;   /* a column-major shape */
    /* FROM: no values outside the range. FIND: flat. JOIN: stack. REDUCE: keepdims.
     * BORROW: writable. GATE: the size is held back too. EMPTY: written in two halves. */
    bool flag;
    bool late;   /* it waits for the size of an operand that may come late */
    int op;      /* a row, a reduction, what ALONG or FOURIER does; BORROW: its strides */
    int8_t ndim; /* of the shape */
    int8_t naxes; /* -1: every axis */
    int8_t nin, nitems;
    int8_t axes[FUZZ_DIMS];
    int64_t dims[FUZZ_DIMS];
    /* FROM, BORROW: the range of whole values; REPEAT, EYE: counts; FOURIER: the length */
    int64_t low, high;
    double x[3];   /* ARANGE, LINSPACE, COUNTER: their numbers */
    uint64_t seed; /* FROM, BORROW: of the elements */
    fuzz_operand in[FUZZ_INPUTS];
    fuzz_item item[FUZZ_ITEMS];
} fuzz_instruction;

typedef struct {
    uint64_t seed;
    int count;
    fuzz_instruction at[FUZZ_MAX];
} fuzz_program;

typedef enum { FUZZ_SMALL, FUZZ_MEDIUM } fuzz_size;

/* The program of a seed. */
void fuzz_generate(fuzz_program *p, uint64_t seed, fuzz_size size);

/* The thresholds a seed's program runs with. */
void fuzz_tune(vp__tuning_t *t, uint64_t seed);

/* Elements for FROM and BORROW; `values` has room for them. */
void fuzz_fill(const fuzz_instruction *in, void *values);
int64_t fuzz_count(const fuzz_instruction *in);

/* Prints the instructions that `kept` names (all, when NULL) as C. */
void fuzz_print(const fuzz_program *p, const bool *kept);

/* The program that a second thread issues at the same time, for some seeds: its seed, or 0
 * for none. The two share no arrays, only the net. */
uint64_t fuzz_companion(uint64_t seed);

/* Whether a seed's thresholds let a program hold results back with gates: with few nodes
 * allowed in flight a held one would make every instruction wait for room. */
bool fuzz_tuned_for_gates(uint64_t seed);

/* Whether a seed's programs have a second device, a fake one that makes trouble. */
bool fuzz_with_device(uint64_t seed);

#endif
