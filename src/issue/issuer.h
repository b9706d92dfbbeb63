/* SPDX-License-Identifier: Apache-2.0
 *
 * What one issuing thread has said so far, as far as it helps with what it says next. It
 * belongs to the thread's core record and is passed on with it.
 */
#ifndef VP_ISSUE_ISSUER_H
#define VP_ISSUE_ISSUER_H

#include "array/storage.h"
#include "net/core.h"

enum {
    VP__ISSUER_RECIPES = 32,
    VP__ISSUER_LOOPS = 4, /* forms of puts in a loop's body */
    VP__STREAK_READS = 4, /* storages */
    VP__RECIPE_MOST =
        1024, /* uses; each recipe of a form has twice those of the one before */
};

/* So many puts of one form into one array came, with no other instructions between than puts
 * of loops. */
typedef struct {
    uint32_t form;
    const vp__buffer *buffer;                  /* compared, no more: it may be gone, */
    const vp__storage *target;                 /* and so may what it had last, */
    const vp__storage *read[VP__STREAK_READS]; /* and what the last put read */
    int length;
    uint32_t turn;   /* of its last put that was not followed */
    uint64_t others; /* instructions at the last of them that are no such puts */
} vp__streak;

/* Puts of one form into one array. */
typedef struct {
    const char *where;
    uint32_t form;
    const vp__buffer *buffer; /* compared, no more: it may be gone */
} vp__gathers;

/* Whether the value of a line was wanted again, the last time: reuse.c. */
typedef struct {
    const char *where;
    bool was_used;
} vp__reuse;
enum { VP__ISSUER_LINES = 64 };

typedef struct vp__issuer {
    int recipe_uses;  /* how often it uses a form's first recipe */
    uint32_t forms;   /* forms it has seen */
    uint32_t recipes; /* that it has made */
    /* Forms of puts that come again and again, by bundle.c, and how many puts there were. */
    vp__streak streak[VP__ISSUER_LOOPS];
    uint32_t turn;
    uint64_t puts; /* of its instructions */
    /* What the open nodes gather: looked at before one is grabbed. */
    vp__gathers gathers[VP__OPEN];
    int last_slot;
    /* The bundle that gathered its last put, and with which recipe, which is held until
     * api/track.h takes it over; NULL: none did. */
    uint64_t bundle;
    int bundle_slot;
    struct vp__recipe *bundled;
    struct vp__recipe *recipe[VP__ISSUER_RECIPES]; /* of forms it issued */
    vp__reuse reuse[VP__ISSUER_LINES];
} vp__issuer;

/* Without memory: NULL, and the next call tries again. */
vp__issuer *vp__issuer_new(vp__core *core);

static inline vp__issuer *vp__issuer_of(vp__core *core) {
    return __builtin_expect(core->issuer != NULL, 1) ? core->issuer
                                                     : vp__issuer_new(core);
}

#endif
