/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops by replay. A loop's next iteration is nearly always the last one at other offsets. So
 * where the puts of a loop gather in bundles, the thread keeps the track of one iteration:
 * each instruction with its line, its operation and its operands, and what was found out about
 * it. An instruction that matches the track's next step notes only what differs, that is the
 * offsets of parts and the constants that were others before; its result is a handle without an expression behind it. A put adds one
 * iteration to its bundle; the last put of the body is the one after which the first comes
 * again.
 *
 * An instruction that does not match leaves the track, and so does every call that no track
 * has steps for: the expressions behind the handles given out in this iteration are built
 * then, from what was noted since the last put, as if each had been built when it was issued.
 * Nothing the program
 * could tell has happened meanwhile, because:
 *  - between two steps the thread has issued nothing else, so that no name has changed: a put
 *    that is followed gives no array other storage;
 *  - no other thread issues. A second one that begins to captures what this one has noted
 *    (vp__pins); with several there are no tracks.
 * Whoever runs the bundle may take it at any time: then the put builds its value as well,
 * opens another bundle, and the track goes on.
 */
#ifndef VP_API_TRACK_H
#define VP_API_TRACK_H

#include "api/names.h"
#include "array/viewop.h"
#include "issue/bundle.h"
#include "net/call.h"

enum {
    VP__TRACK_STEPS = 24, /* of an iteration */
    VP__TRACK_PUTS = 4,
    VP__TRACK_ITEMS = 4, /* of a selection */
};

/* One item of a selection, as it applied to the array. */
typedef struct {
    uint8_t kind;        /* vp__sel_kind */
    int8_t axis;         /* RANGE: of the part */
    int64_t dim, stride; /* of the array's axis */
    int64_t step, length;
} vp__track_item;

/* The part of an array that is read or written: what stays the same, and what was noted. */
typedef struct {
    uint64_t array; /* the handle */
    vp__storage *storage;
    vp__buffer *buffer; /* NULL: nobody may look through it */
    int64_t base;       /* where the array begins */
    int64_t from, to; /* what it touches, from its offset on; from == to: that depends */
    uint8_t dtype;
    int8_t ndim, nitems;
    vp__track_item item[VP__TRACK_ITEMS];
    int64_t strides[VP__EXPR_AXES];
    int64_t dims[VP__EXPR_AXES], offset; /* noted */
} vp__track_part;

typedef enum {
    VP__TRACK_GET,
    VP__TRACK_OP,
    VP__TRACK_REDUCE,
    VP__TRACK_PUT
} vp__track_what;

typedef struct {
    uint64_t kind; /* vp__in_kind */
    uint64_t bits; /* of an expression without its generation */
    uint64_t mask; /* of vp__track.round, to be added */
    int from;      /* an expression's step, an array's part, a number's place or -1 */
} vp__track_arg;

/* A number among the operands that may be another in each iteration. */
typedef struct {
    bool given;            /* the recipe leaves it open; if not, it stays what it was */
    uint8_t kind;          /* vp__in_kind: a float, or a signed integer */
    uint8_t dtype;         /* of the constant it becomes */
    int8_t put;            /* whose value it is part of */
    int term;              /* of the recipe; -1: not known */
    uint64_t bits;         /* noted */
    const vp__expr *built; /* while it is recorded */
} vp__track_number;

typedef struct {
    uint8_t what, op, nargs;
    int8_t part;     /* GET: the part; PUT: which put it is */
    int8_t parts;    /* that have been noted after this step */
    bool reads;      /* it notes some itself */
    bool any_length; /* PUT: of one value into every element */
    const char *where;
    vp__expr *record; /* stands for the result */
    vp__track_arg arg[3];
    /* REDUCE: */
    bool every, keepdims;
    vp_dtype dtype;
    int32_t naxes, axis[VP__EXPR_AXES];
} vp__track_step;

/* A put of the iteration: what the value reads since the put before, and where it goes. */
typedef struct {
    vp__pace pace;        /* of iterations in the bundle that gathers them */
    vp__bundle_form form; /* what it gathers */
    vp__track_part target;
    int nleaves;           /* that the value reads */
    int8_t leaf[VP__PINS]; /* the parts, in their order */
    /* The recipe's leaves: these, and between them the numbers, as ~place. */
    int8_t source[VP__PACE_LEAVES];
} vp__track_put_at;

typedef struct {
    vp__track_step *at; /* the step that comes next; NULL: no track is followed */
    uint64_t round;     /* the generation of this iteration's handles, << 32 */
    bool records;       /* what is issued becomes a track, if a bundled put ends it */
    bool resumes;       /* only the bundle was missing */
    int nsteps, nparts, nnumbers, nputs;
    int since; /* the step after the last put: what was noted before has been issued */
    vp__track_number number[VP__PACE_NUMBERS];
    vp__track_put_at put[VP__TRACK_PUTS];
    /* While it records: the put that comes again at the end of an iteration; the leaf of each
     * part, the first of them since the last put, and the handle of each result not used yet. */
    const char *ends_where;
    uint64_t ends_array;
    int parts_before;
    const vp__expr *leaf_of[VP__PINS];
    uint64_t given[VP__TRACK_STEPS];
    vp__track_step step[VP__TRACK_STEPS];
    vp__track_part part[VP__PINS]; /* that are read */
} vp__track;

extern _Thread_local vp__track *vp__track_mine __attribute__((tls_model("initial-exec")));

/* The calling thread's track, if there is anything on it. */
static inline vp__track *vp__track_of_thread(void) {
    vp__track *t = vp__track_mine;
    return t && (t->at || t->records) ? t : NULL;
}

/* Leaves the track: builds what was noted, and forgets the rest. */
void vp__track_leave(vp__track *t);
/* Forgets it; nothing is noted. */
void vp__track_forget(vp__track *t);
/* Forgets its puts, and lets go what they hold. */
void vp__track_drop_puts(vp__track *t);

/* At the head of a call that no track has a step for. */
#define VP__CALL                                                                         \
    VP__CALL_ON_TRACK;                                                                   \
    do {                                                                                 \
        vp__track *left = vp__track_of_thread();                                         \
        if (__builtin_expect(left != NULL, 0)) vp__track_leave(left);                    \
    } while (0)

/* --- following: each is true if the instruction was the next step, else it left the track -- */

/* vp__op1 and its kin. */
bool vp__track_op(vp__track *t, int op, const char *where, int nargs, const vp_operand *x,
                  vp_expr *result);
bool vp__track_reduce(vp__track *t, int op, const char *where, vp_operand x,
                      const vp_axes_t *axes, vp_dtype dtype, int keepdims,
                      vp_expr *result);
bool vp__track_get(vp__track *t, const char *where, vp_operand x, const vp_index *at,
                   vp_expr *result);
bool vp__track_put(vp__track *t, const char *where, vp_array a, const vp_index *at,
                   vp_operand x);

/* --- recording, of what took the long way -------------------------------------------------- */

/* An instruction with its operands as given and as they became; then what came of it, which
 * is about to be given out. */
void vp__track_note_op(vp__track *t, int op, const char *where, int nargs,
                       const vp_operand *x, vp__expr *const *args);
void vp__track_note_reduce(vp__track *t, int op, const char *where, vp_operand x,
                           const vp_axes_t *axes, vp_dtype dtype, int keepdims,
                           const vp__expr *arg);
void vp__track_note_get(vp__track *t, const char *where, vp_operand x, const vp_index *at,
                        const vp__expr *e);
void vp__track_noted(vp__track *t, const vp__expr *e);
/* A put of a value that is about to be issued; `whole` is the array's layout. */
void vp__track_note_put(vp__track *t, const char *where, vp_array a, const vp_index *at,
                        const vp__layout *whole, const vp__target *target, vp_operand x,
                        const vp__expr *value);
/* The end of a put that took the long way: if a bundle gathered it, a track may begin. */
void vp__track_end_put(vp__core *core, const char *where, vp_array a,
                       const vp__target *target);

/* The end of a put by index arrays, which no track has; but a bundle may have gathered it. */
void vp__track_pass_put(const vp__core *core);

/* The calling thread's track, if it records. */
static inline vp__track *vp__track_recording(void) {
    vp__track *t = vp__track_mine;
    return t && __builtin_expect(t->records, 0) ? t : NULL;
}

#endif
