/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a value goes: into storage that is made for it, when it is named, or into a view of an
 * array, when it is put there. A close is a put into fresh storage that the value covers.
 */
#ifndef VP_ISSUE_DESTINATION_H
#define VP_ISSUE_DESTINATION_H

#include "issue/expr.h"
#include "net/entry.h"
#include "net/life.h"

/* The part of a buffer that is written. */
typedef struct {
    vp__buffer *buffer;
    vp_dtype dtype;
    int ndim;
    int64_t offset;
    const int64_t *dims, *strides;
    const vp__layout *within; /* what it was selected from */
} vp__target;

typedef struct {
    vp__storage *storage;     /* one reference */
    const vp__target *target; /* NULL: fresh storage, of which nobody else knows */
    vp__region region;        /* what counts as written, and is poisoned by a failure */
    bool fits;                /* the value has the target's shape, */
    bool in_place;            /* and may be computed there */
    bool whole;               /* nothing of the old contents stays */
    bool elsewhere; /* the value reads what is written in another place or order */
    bool
        is_box; /* a part of a value in fresh storage, which is made part by part (roll.h) */
    uint32_t own; /* leaves of the value that read what the target is a part of */
} vp__destination;

/* Fresh storage of so many bytes (< 0: not known yet). False without memory. */
bool vp__destination_fresh(vp__destination *d, int64_t bytes);

/* A put of a value: what follows from the two alone, and whether there are others who have
 * captured the target's storage; the caller closes those of its own thread then. */
bool vp__destination_put(vp__destination *d, const vp__target *t, const vp__expr *value);
/* The same for a write by index of parts of a region, whose operands only the store reads. One
 * that reads the target counts as another: renaming gets the target out of its way. */
bool vp__destination_scatter(vp__destination *d, const vp__target *t,
                             const vp__region *region);
/* Finds the storage for it: the target's, or one that its buffer gets instead because of what
 * is still to be read or written there. The error when there is no memory, or when it must not
 * be written. */
vp__error *vp__destination_find(vp__destination *d, const char *where);

/* Between finding a storage and entering the write in its log another thread may write another
 * part of the array and rename the buffer: the copy that makes would miss a write entered
 * after it. So who enters one holds the buffer meanwhile, and has it only as long as the buffer
 * has the storage. False: it has another one by now, and nothing is held. */
bool vp__target_hold(const vp__target *t, const vp__storage *s);
void vp__target_let_go(const vp__target *t);

/* Whether the target is all of its storage. */
bool vp__target_covers(const vp__target *t, const vp__storage *s);

/* A write that happens at once, on the thread that issues. */
typedef struct {
    vp__group *group; /* NULL: of fresh storage */
    uint64_t sequence;
} vp__writing;

/* Begins the write if it need not wait for anything; false, and nothing begun, if it must. */
bool vp__writing_begin(vp__writing *w, const vp__destination *d);
/* Ends it; takes over the error, which poisons what should have been written. */
void vp__writing_end(const vp__writing *w, const vp__destination *d, vp__error *error);

/* Makes the destination a node's. */
void vp__destination_give(const vp__destination *d, vp__node *n);
/* Lets such a node go, with a storage found anew where the array has another one by now. */
void vp__destination_submit(vp__destination *d, vp__node *n);

#endif
