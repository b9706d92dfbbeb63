/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the generator share: the program so far and a model of its variables.
 * The model knows types and shapes, not values, and only steers: most instructions should
 * make sense, and none should make an array of millions of elements. Where it is wrong,
 * the instruction fails in the net and in the reference alike.
 */
#ifndef FUZZ_GENERATOR_H
#define FUZZ_GENERATOR_H

#include "array/dtype.h"
#include "ops/ops.h"
#include "program.h"
#include "random.h"

typedef struct {
    bool array; /* a name; else an expression */
    bool live;  /* in scope, not dropped, not used up */
    bool bad;   /* poisoned, as far as the model knows */
    /* Dims are bounds: the true ones are known only to the program. Of what has no axes they
     * are known, but whether there will be a value is not: asking for its size waits too. */
    bool late;
    bool plain;   /* an expression that vp_view takes */
    bool guarded; /* no step but those made for it may write it or its views */
    int8_t owner; /* the thread whose it is, FUZZ_ALL or FUZZ_NOBODY */
    uint8_t dtype;
    int8_t ndim;
    int8_t depth; /* of its scope */
    int64_t dims[FUZZ_DIMS];
} fuzz_var;

typedef struct {
    fuzz_program *p;
    uint64_t r;
    int64_t budget; /* elements of the largest array */
    int mistakes;   /* percent of instructions that go wrong on purpose */
    bool gates;
    bool dense; /* few arrays, written and read again and again */
    bool loops; /* hardly anything but loops */
    int depth, gates_open, maps_open;
    int issuer;         /* the thread whose stream is being made */
    int first;          /* where its stream begins */
    int prologue;       /* instructions before the streams; 0: there is but one */
    int floor;          /* scopes that stay open while the streams run */
    int64_t palette[4]; /* lengths that most axes have, so that shapes meet */
    fuzz_var v[FUZZ_MAX];
} fuzz_gen;

/* A shape with what is known of its values. */
typedef struct {
    int ndim;
    bool late, bad;
    int64_t dims[FUZZ_DIMS];
} fuzz_shape;

/* Whether the next thing should be a mistake. */
bool fuzz_oops(fuzz_gen *g);

fuzz_instruction *fuzz_add(fuzz_gen *g, fuzz_kind kind);
/* What the newest instruction defines. */
fuzz_var *fuzz_define(fuzz_gen *g, vp_dtype dtype, const fuzz_shape *s);

int64_t fuzz_elements(const fuzz_shape *s);
/* Whether an array of this shape, and what is computed along its axes (of which some may
 * have no elements), stays within the budget. */
bool fuzz_is_modest(const fuzz_gen *g, const fuzz_shape *s);
fuzz_shape fuzz_shape_of(const fuzz_var *v);
/* A shape within the budget. */
fuzz_shape fuzz_shape_random(fuzz_gen *g);
vp_dtype fuzz_dtype_random(fuzz_gen *g);
/* Broadcasts b into a; false when they do not fit as far as known. */
bool fuzz_shapes_meet(fuzz_shape *a, const fuzz_shape *b);
void fuzz_set_shape(fuzz_instruction *in, const fuzz_shape *s);

/* Who may name a variable beside one thread. */
enum { FUZZ_ALL = -1, FUZZ_NOBODY = -2 };

/* A live variable, preferably a recent one; -1 when none was found. FUZZ_TARGET: an array
 * that may be written. */
enum { FUZZ_ANY, FUZZ_ARRAY, FUZZ_EXPR, FUZZ_TARGET };
int fuzz_pick(fuzz_gen *g, int what);
/* Likewise, but makes one where there is none. */
int fuzz_pick_or_make(fuzz_gen *g, int what);
/* The operand that a variable is; an expression is used up. */
fuzz_operand fuzz_use(fuzz_gen *g, int var);
fuzz_operand fuzz_scalar(fuzz_gen *g, vp_dtype like);
/* An operand that broadcasts with (or, with `into`, to) a shape; *s and *dtype say what
 * it is, *dtype is VP_AUTO for a C number. */
fuzz_operand fuzz_partner(fuzz_gen *g, const fuzz_shape *with, bool into, vp_dtype like,
                          fuzz_shape *s, vp_dtype *dtype);
/* A new array or expression of this type and shape; returns its variable. */
int fuzz_make(fuzz_gen *g, int what, vp_dtype dtype, const fuzz_shape *s);

/* A row whose types take these operands, or sometimes any; *result is VP_AUTO then. */
int fuzz_row_for(fuzz_gen *g, int arity, const vp__optype *types, vp_dtype *result);
/* A reduction that keeps the type. */
int fuzz_same_type_reduction(fuzz_gen *g, vp_dtype t);
/* Adds an instruction with one operand. */
fuzz_instruction *fuzz_add1(fuzz_gen *g, fuzz_kind kind, fuzz_operand x);
fuzz_instruction *fuzz_add_put(fuzz_gen *g, int target, int nitems, const fuzz_item *item,
                               fuzz_operand value);

/* Takes some steps, until there are this many instructions. */
void fuzz_steps(fuzz_gen *g, int target);
/* Looks at everything that is left of the thread whose stream it is. */
void fuzz_observe_rest(fuzz_gen *g);
/* The streams of several threads, between a TEAM and a MEET. */
void fuzz_streams(fuzz_gen *g, int issuers);

/* Kinds of steps. Each adds one or a few instructions, or none and returns false. */
bool fuzz_step_create(fuzz_gen *g);
bool fuzz_step_op(fuzz_gen *g);
bool fuzz_step_cast(fuzz_gen *g);
bool fuzz_step_reduce(fuzz_gen *g);
bool fuzz_step_along(fuzz_gen *g);
bool fuzz_step_fourier(fuzz_gen *g);
bool fuzz_step_matmul(fuzz_gen *g);
bool fuzz_step_reshape(fuzz_gen *g);
bool fuzz_step_axes(fuzz_gen *g);
bool fuzz_step_join(fuzz_gen *g);
bool fuzz_step_repeat(fuzz_gen *g);
bool fuzz_step_get(fuzz_gen *g);
bool fuzz_step_take(fuzz_gen *g);
bool fuzz_step_find(fuzz_gen *g);
bool fuzz_step_put(fuzz_gen *g);
bool fuzz_step_put_self(fuzz_gen *g);
bool fuzz_step_mask(fuzz_gen *g);
bool fuzz_step_unrolled(fuzz_gen *g);
bool fuzz_step_loop(fuzz_gen *g);
/* A loop into this array where nothing can fail. */
void fuzz_safe_loop(fuzz_gen *g, int target);
bool fuzz_step_view(fuzz_gen *g);

#endif
