/* SPDX-License-Identifier: Apache-2.0
 *
 * Recipes: how a segment of one form is run, that is its cut and a plan for each part. All
 * of it follows from the instructions, the constants, and the shapes and strides of leaves
 * and target, so that a loop which issues the same form over and over, with other views of
 * its arrays, cuts and plans it once. A constant that was another the next time is none of the
 * recipe any more, but a leaf without axes. Every core keeps the recipes of the forms it issued
 * last; nodes share them. A recipe does not change any more once it is made.
 */
#ifndef VP_ISSUE_RECIPE_H
#define VP_ISSUE_RECIPE_H

#include "issue/cut.h"
#include "issue/issuer.h"
#include "jit/plan.h"

typedef struct vp__recipe {
    _Atomic int refs;
    uint16_t uses;        /* counted by the core that keeps it, and by nobody else; */
    uint16_t most;        /* so many, and it is made anew */
    uint32_t form;        /* what its core calls recipes of this form */
    uint32_t made;        /* how many its core had made by then */
    int16_t target_ndim;  /* -1: the value goes to memory of its own */
    size_t bytes;         /* of this block */
    uint64_t given;       /* terms that are constants which each run brings with it */
    vp__segment seg;      /* what it is for: its terms … */
    int64_t **layout;     /* … and dims and strides of each leaf, */
    int64_t *target;      /* and the strides of the target */
    int64_t *target_loop; /* the same along the iteration space of the last part */
    bool target_flat;     /* with those the last part is flat as well */
    vp__cut cut;
    vp__plan **plan; /* of each part, in one piece; NULL: flat, or too long for that */
    vp__plan *target_plan; /* of the last part into the target */
    vp__arena arena;
} vp__recipe;

/* The recipe of a sized expression, whose leaves are listed. `target`: strides of the place
 * the value is to be stored in, of the value's dims, or NULL. Stays as long as the core does
 * not issue anything else; retain it for longer. NULL without memory. */
vp__recipe *vp__recipe_of(vp__core *core, vp__expr *root, const int64_t *target,
                          vp__expr **leaves);

/* Whether it may be used once more by the core that keeps it. */
static inline bool vp__recipe_lasts(const vp__recipe *r) { return r->uses < r->most; }

/* The recipe of the same form that has an expression's constants in it, kept by the caller
 * alone; lists its leaves anew. NULL without memory. */
vp__recipe *vp__recipe_closed(const vp__recipe *r, vp__expr *root, vp__expr **leaves);

/* Whether a recipe is that of an expression; if so, lists its leaves. */
bool vp__recipe_is_for(const vp__recipe *r, vp__expr *root, const int64_t *target,
                       vp__expr **leaves);

/* The recipe of a sized segment, kept by the caller alone. */
vp__recipe *vp__recipe_new(const vp__segment *seg, const vp__leaf_layout *leaves);

void vp__recipe_retain(vp__recipe *r);
void vp__recipe_release(vp__recipe *r);

/* What binds part k to its operands; with `loop_out` as the output's strides. */
void vp__recipe_args(vp__exec_args *args, const vp__part *part, const int64_t *loop_out);

static inline const vp__part *vp__recipe_last(const vp__recipe *r) {
    return r->cut.part[r->cut.nparts - 1];
}

/* Memory that cores keep in recipes: it is nobody's array. */
int64_t vp__recipe_bytes(void);

#endif
