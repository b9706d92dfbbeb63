/* SPDX-License-Identifier: Apache-2.0
 *
 * What one issuing thread has said so far, as far as it helps with what it says next. It
 * belongs to the thread's core record and is passed on with it.
 */
#ifndef VP_ISSUE_ISSUER_H
#define VP_ISSUE_ISSUER_H

#include "net/core.h"

enum {
    VP__ISSUER_RECIPES = 32,
    VP__RECIPE_MOST =
        1024, /* uses; each recipe of a form has twice those of the one before */
};

typedef struct vp__issuer {
    int recipe_uses; /* how often it uses a form's first recipe */
    uint32_t forms;  /* forms it has seen */
    /* Puts of one form that it issued one after the other, by bundle.c. */
    uint32_t streak_form;
    int streak;
    uint64_t streak_at; /* instructions it has issued if no other came after them */
    uint64_t bundle;    /* the one that gathered its last put; 0: none did */
    struct vp__recipe *bundled; /* with which recipe, held until api/track.h takes it over */
    struct vp__recipe *recipe[VP__ISSUER_RECIPES]; /* of forms it issued */
} vp__issuer;

/* Without memory: NULL, and the next call tries again. */
vp__issuer *vp__issuer_new(vp__core *core);

static inline vp__issuer *vp__issuer_of(vp__core *core) {
    return __builtin_expect(core->issuer != NULL, 1) ? core->issuer
                                                     : vp__issuer_new(core);
}

#endif
