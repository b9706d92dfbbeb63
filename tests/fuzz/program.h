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
    FUZZ_MAX = 384,   /* instructions of a program, final reads included */
    FUZZ_ISSUERS = 4, /* threads that issue a program */
    FUZZ_NEST = 2,    /* loops in each other */
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
    KIND(SQUEEZE, 'e') KIND(EXPAND, 'e') KIND(FLIP, 'e') KIND(ROLL, 'e') KIND(JOIN, 'e')                \
    KIND(TILE, 'e') KIND(REPEAT, 'e') KIND(GET, 'e') KIND(TAKE, 'e') KIND(FIND, 'e')    \
    KIND(LET, 'a') KIND(VIEW, 'a') KIND(SET, 0) KIND(PUT, 0) KIND(DROP, 0)              \
    KIND(BEGIN, 0) KIND(END, 0) KIND(KEEP, 0) KIND(GATE, 'e') KIND(OPEN, 0)             \
    KIND(READ, 0) KIND(MAP, 0) KIND(UNMAP, 0) KIND(ITEM, 0) KIND(SIZE, 0)               \
    KIND(LOOK, 0) KIND(WAIT, 0) KIND(SYNC, 0) KIND(FOR, 0) KIND(NEXT, 0)                \
    KIND(TEAM, 0) KIND(MEET, 0)
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

/* How a number changes in a loop: in iteration i, of a loop in iteration j of another one,
 * di·i + dj·j more, and up to `wobble` at random, which is the same in every run; all that
 * modulo a number, unless it is 0. */
typedef struct {
    int16_t di, dj, modulus;
    uint8_t wobble;
} fuzz_walk;

/* Iterations of a loop: every so many; 0: all of them. Or all but those. */
typedef struct {
    uint8_t every, rest;
    bool unless;
} fuzz_when;

typedef struct {
    uint8_t kind;   /* vp__in_kind, or FUZZ_IN_COMPLEX */
    int16_t var;    /* of arrays and expressions */
    int16_t other;  /* one more than the variable that it is now and then; 0: none */
    fuzz_when when; /* it is the other one */
    fuzz_walk walk; /* of the number */
    int64_t i;
    double f[2];
} fuzz_operand;

typedef struct {
    uint8_t kind; /* vp__sel_kind */
    bool has_start, has_stop;
    int64_t start, stop, step;
    fuzz_walk from, to; /* of start and stop */
    fuzz_operand array;
} fuzz_item;

typedef struct {
    uint8_t kind;   /* fuzz_kind */
    uint8_t issuer; /* which thread issues it */
    uint8_t dtype;  /* vp_dtype or VP_AUTO */
    fuzz_when when; /* it is issued, in a loop */
    bool column;    /* a column-major shape */
    /* FROM: no values outside the range. FIND: flat. JOIN: stack. REDUCE: keepdims.
     * BORROW: writable. GATE: the size is held back too. EMPTY: written in two halves.
     * TEAM: the threads wait for each other before they begin. */
    bool flag;
    bool late;   /* it waits for the size of an operand that may come late */
    int op;      /* a row, a reduction, what ALONG or FOURIER does; BORROW: its strides */
    int8_t ndim; /* of the shape */
    int8_t naxes; /* -1: every axis */
    int8_t nin, nitems;
    int8_t axes[FUZZ_DIMS];
    int64_t dims[FUZZ_DIMS];
    /* FROM, BORROW: the range of whole values; REPEAT, EYE, FOR: counts; ROLL: the shift; FOURIER: the length */
    int64_t low, high;
    double x[3];   /* ARANGE, LINSPACE, COUNTER: their numbers */
    uint64_t seed; /* FROM, BORROW: of the elements */
    fuzz_operand in[FUZZ_INPUTS];
    fuzz_item item[FUZZ_ITEMS];
} fuzz_instruction;

/* The first thread issues what comes before TEAM, then every thread its own stream, and the
 * first one alone what comes after MEET. */
typedef struct {
    uint64_t seed;
    int count;
    int issuers;
    int team; /* where the instruction TEAM is; -1: there is one issuer */
    fuzz_instruction at[FUZZ_MAX];
} fuzz_program;

typedef enum { FUZZ_SMALL, FUZZ_MEDIUM } fuzz_size;

/* What a device beside the cores is like. */
typedef enum {
    FUZZ_NO_DEVICE,
    FUZZ_MOODY, /* its times are wrong, and now and then it refuses a kernel or memory */
    FUZZ_CHEAP, /* it seems to take no time */
    FUZZ_SLOW,  /* but not so slow that nobody ever tries it */
    FUZZ_REFUSING, /* takes copies, but hardly a kernel */
    FUZZ_FAILING,  /* seems to take no time, and loses kernels and copies to it */
    FUZZ_NDEVICES
} fuzz_device;
extern const char *const fuzz_device_name[FUZZ_NDEVICES];

/* What decides about programs beside their seeds. */
typedef struct {
    fuzz_size size;
    int choices; /* how many numbers of issuers there are to choose from */
    uint8_t issuers[8];
    bool devices; /* only these, instead of none for most programs */
    fuzz_device device;
} fuzz_mix;

/* The program of a seed. */
void fuzz_generate(fuzz_program *p, uint64_t seed, const fuzz_mix *mix);

/* The thresholds a seed's program runs with. */
void fuzz_tune(vp__tuning_t *t, uint64_t seed);

/* Elements for FROM and BORROW; `values` has room for them. */
void fuzz_fill(const fuzz_instruction *in, void *values);
int64_t fuzz_count(const fuzz_instruction *in);

/* What a walk adds in an iteration, and whether something happens there. */
int64_t fuzz_walked(const fuzz_walk *w, int i, int j);
bool fuzz_happens(const fuzz_when *w, int i);

/* Prints the instructions that `kept` names (all, when NULL) as C. */
void fuzz_print(const fuzz_program *p, const bool *kept);

/* Whether a seed's thresholds let a program hold results back with gates: with few nodes
 * allowed in flight a held one would make every instruction wait for room. */
bool fuzz_tuned_for_gates(uint64_t seed);

/* The device that a seed's program runs beside. */
fuzz_device fuzz_device_of(uint64_t seed, const fuzz_mix *mix);

#endif
