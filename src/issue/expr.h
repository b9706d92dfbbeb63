/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: results that are not issued yet. Each is a tree, because an expression is used
 * once; the tree under one expression is an open segment. What a name holds may be used more
 * often: then it is under several others, or under one in several places. Leaves have captured
 * the storages they read, so whatever the program writes next, they see what was there.
 *
 * Expressions belong to the thread that issued them; nothing here is shared.
 */
#ifndef VP_ISSUE_EXPR_H
#define VP_ISSUE_EXPR_H

#include <stddef.h>
#include <string.h>

#include "array/storage.h"
#include "array/viewop.h"
#include "ops/ops.h"

typedef enum {
    VP__EXPR_FREE,
    VP__EXPR_LEAF,  /* a view of a storage */
    VP__EXPR_CONST, /* a scalar */
    VP__EXPR_OP,    /* an element-wise operation, or a conversion */
    VP__EXPR_REDUCE,
    VP__EXPR_COUNT, /* how many elements the last reduction before it folds into one */
    VP__EXPR_VIEW,  /* a view of a named array of unknown size: decided when it is used */
    VP__EXPR_ROLL,  /* a leaf whose elements are shifted around their axes: see roll.h */
    VP__EXPR_LIBRARY, /* a library operation of leaves that takes epilogues: issued when used */
    VP__EXPR_POISON, /* an error */
} vp__expr_kind;

enum { VP__EXPR_AXES = 4 }; /* axes kept in the record itself */

/* What one segment may hold; a fuller one is closed. */
enum { VP__SEGMENT_TERMS = 48, VP__SEGMENT_LEAVES = 24 };

typedef struct vp__expr {
    uint32_t slot, generation;
    /* What the instruction is: eight bytes that are compared as one word. */
    uint8_t kind;
    int8_t ndim;
    uint8_t op, dtype, type; /* type: the working type of op */
    uint8_t nargs;
    bool late; /* dims are not known yet (ndim is) */
    bool keepdims;
    uint16_t terms, leaves; /* of the whole tree */
    uint16_t rolls;         /* how many of them are rolled leaves */
    uint16_t depth;         /* scope it was made in; of roots */
    const char *where;
    int64_t *dims, *strides; /* strides: of a LEAF; how far a ROLL shifts each axis */
    int64_t offset;          /* LEAF: of its first element */

    /* From here to `next`, a new expression is zero. */
    uint32_t axes; /* reduced */
    float cost;    /* estimated nanoseconds of the whole tree */
    int64_t count; /* elements, when not late */
    /* The leaf whose layout every leaf of the tree has, without gaps and without broadcast:
     * then the whole tree is one flat loop. NULL otherwise. */
    const struct vp__expr *like;
    vp__storage *storage; /* LEAF: captured */
    vp__buffer *buffer;   /* LEAF: held for those who may look through it; else NULL */
    vp__error *error;     /* POISON */
    union {
        vp__viewop *view;               /* VIEW, and what has become of one */
        struct vp__lib_params *library; /* LIBRARY */
    };
    struct vp__expr *previous,
        *next;       /* among the thread's open ones; only roots are linked */
    uint32_t others; /* references to it beside one: of what uses it, and of names */
    uint32_t mark;   /* of the last walk that met it, which noted: */
    uint8_t term;    /* its number in a segment, */
    uint8_t seen;    /* and how often it was met */
    uint8_t names;   /* that hold it: api/held.h */
    bool shares;     /* something under it may have other users as well */
    bool repeats;    /* something under it is used more than once: see vp__settle */
    bool computed;   /* as a part of something else, and not stored */
    bool is_box; /* LEAF: of a part of a value, which fails with all of it: see reads */

    struct vp__expr *arg[3];
    union {
        uint64_t u64[2];
        double f64[2];
    } value; /* CONST: in dtype's representation from byte 0 */
    int64_t own_axes[2 * VP__EXPR_AXES];
    vp__region reads; /* LEAF, is_box: what the whole value reads of the storage */
    uint32_t ended;   /* the last generation that was freed by its scope's end */
} __attribute__((aligned(64))) vp__expr; /* so that what is cleared fills whole lines */

/* What the instruction is, its axes (of a reduction) aside. */
static inline uint64_t vp__expr_form(const vp__expr *e) {
    uint64_t form;
    _Static_assert(offsetof(vp__expr, keepdims) + 1 - offsetof(vp__expr, kind) ==
                       sizeof form,
                   "one word");
    memcpy(&form, (const char *)e + offsetof(vp__expr, kind), sizeof form);
    return form;
}

/* A fresh expression of the calling thread with room for ndim axes (dims and strides). */
vp__expr *vp__expr_new(vp__expr_kind kind, int ndim, const char *where);
/* A view of a late leaf, which is consumed; ndim is the result's. */
vp__expr *vp__expr_view(vp__expr *leaf, const vp__viewop *op, int ndim,
                        const char *where);
/* An operation of so many leaves, which are consumed, that is to be issued when it is used. */
vp__expr *vp__expr_library(const struct vp__lib_params *p, vp_dtype dtype, int nin,
                           vp__expr **in, int ndim, const int64_t *dims,
                           const char *where);
/* Gives up a reference; with the last one the whole tree goes, and what it holds. */
void vp__expr_free(vp__expr *e);
/* One more reference. */
static inline vp__expr *vp__expr_share(vp__expr *e) {
    e->others++;
    return e;
}

/* A mark that no expression of the calling thread has: walks mark what they have met, since
 * there may be several ways to it. */
uint32_t vp__expr_new_mark(void);
/* Makes a leaf a value, which cannot be named as a view of an array any more. */
void vp__expr_drop_buffer(vp__expr *leaf);
/* Turns an expression, without its tree, into one that only carries an error. */
void vp__expr_fail(vp__expr *e, vp__error *error);
/* An expression that only carries an error; takes the error over. */
vp__expr *vp__expr_poison(vp__error *error, const char *where);

/* Generations a record goes through before it begins anew: those of handles are below. */
#define VP__EXPR_GENERATIONS (UINT32_MAX - 8)

/* A record that is nobody's for now, or NULL; back again, after a generation that handles of
 * it had. A handle may be given out before its expression is made: that then moves there. */
vp__expr *vp__expr_reserve(void);
void vp__expr_unreserve(vp__expr *e, uint32_t generation);
void vp__expr_move(vp__expr *to, vp__expr *from, uint32_t generation);

/* Roots are listed so that scopes, writes and waits find them. */
void vp__expr_link(vp__expr *e);
void vp__expr_unlink(vp__expr *e);
vp__expr *vp__expr_roots(void); /* first of the calling thread's, through ->next */

/* Handles: a slot and generation that belong to this thread, or NULL. */
vp__expr *vp__expr_find(uint32_t slot, uint32_t generation);
/* For error messages: whether the handle was made by another thread; whether its expression was
 * the last of its record that a scope's end freed. */
bool vp__expr_is_foreign(uint32_t slot);
bool vp__expr_has_ended(uint32_t slot, uint32_t generation);
/* Frees it because its scope ends. */
void vp__expr_end(vp__expr *e);

/* What a thread has of expressions. The calling thread may take the place of another one, which
 * is stopped meanwhile: returns what it had itself. */
typedef struct vp__exprs vp__exprs;
vp__exprs *vp__exprs_of_thread(void);
vp__exprs *vp__exprs_take_place(vp__exprs *of);

/* What a leaf of known size counts as reading. */
static inline vp__region vp__expr_region(const vp__expr *leaf) {
    return leaf->is_box ? leaf->reads
                        : vp__region_of(leaf->offset, leaf->ndim, leaf->dims,
                                        leaf->strides, vp__dtype[leaf->dtype].size);
}

/* With the dims of a leaf set: fills in count and like. */
void vp__expr_measure(vp__expr *leaf);

/* Whether two expressions of one shape have the same layout, up to their element sizes. */
bool vp__expr_alike(const vp__expr *a, const vp__expr *b);

/* A leaf that reads a view of a storage; captures the storage. */
vp__expr *vp__expr_leaf(vp__storage *s, vp__buffer *buffer, vp_dtype dtype,
                        int64_t offset, int ndim, const int64_t *dims,
                        const int64_t *strides, bool late, const char *where);

#endif
