/* SPDX-License-Identifier: Apache-2.0
 *
 * Bundles: the iterations of a loop as one node. A loop that puts results of one form into an
 * array, one short instruction after the other, would hand over as many nodes, and each costs
 * both cores more than an iteration takes. So after a few of them in a row the next ones
 * gather in a node of the issuer that any thread with nothing else to do may take, as it is;
 * the issuer itself gives it to the net when it holds enough work, or when it issues
 * something else as a node.
 *
 * A bundle is in the logs of what it reads and writes from its first put on, and each further
 * one widens its accesses, so it is ordered among all others as its puts would be. It may wait
 * for what its first put reads; the others read what is complete or what it waits for anyway.
 * Their stores may have to wait, and then do so together.
 */
#ifndef VP_ISSUE_BUNDLE_H
#define VP_ISSUE_BUNDLE_H

#include "issue/destination.h"
#include "issue/recipe.h"

/* What all puts of a bundle have in common, their target's storage and axes aside. */
typedef struct {
    vp__recipe *recipe;
    const char *where;
    float cost;
    uint8_t dtype, key;
    bool fits; /* values have their target's shape */
} vp__bundle_form;

static inline vp__bundle_form vp__bundle_form_of(vp__recipe *recipe,
                                                 const vp__expr *value, bool fits) {
    return (vp__bundle_form){recipe,       value->where, value->cost,
                             value->dtype, value->op,    fits};
}

/* What a leaf reads; or a constant that the iteration brings with it: no storage. */
typedef struct {
    vp__storage *storage;
    int64_t offset;
    vp__region region;
    uint64_t value[2];
} vp__bundle_leaf;

/* Takes over a put whose value does not read its target. False: it is not to be bundled, and
 * nothing was done. */
bool vp__bundle_put(vp__recipe *recipe, vp__expr *const *leaves, const vp__expr *value,
                    const vp__destination *d);

/* The short way for the next put of a loop: into the thread's open bundle of its line, if it is
 * one like those before it. False, and nothing done, where there is anything to decide. The value stays
 * the caller's. */
bool vp__bundle_next(const vp__target *t, vp__expr *value);

/* What a loop that is followed may have: leaves that are read, and constants that differ. */
enum { VP__PACE_NUMBERS = 4, VP__PACE_LEAVES = VP__PINS + VP__PACE_NUMBERS };

/* How the reads of a loop's iterations follow each other. Those of the next `left` iterations
 * are entered in the logs already, if they keep pace. */
typedef struct {
    uint64_t bundle; /* what the iterations are gathered in */
    int slot;        /* where that is open */
    int left;
    bool ahead; /* nothing that the loop writes is read in it: it may be entered ahead */
    uint8_t input[VP__PACE_LEAVES]; /* of the bundle, that each leaf reads */
    int64_t lo[VP__PACE_LEAVES], hi[VP__PACE_LEAVES]; /* of the last iteration */
    int64_t lo_step[VP__PACE_LEAVES], hi_step[VP__PACE_LEAVES]; /* since the one before */
} vp__pace;

/* The shortest way, for a thread that follows its last iteration (api/track.h), alone: the
 * value is like the one that the bundle gathered last, but for where its leaves are and where
 * it goes. True: what vp__core_alone_begin began has ended. */
bool vp__bundle_follow(vp__core *core, vp__pace *p, const vp__bundle_form *form,
                       const vp__bundle_leaf *leaves, const vp__target *t,
                       const vp__region *written);
/* The same into a bundle that is opened for it, since the other has been taken or is full;
 * whether the thread is alone is asked here. */
bool vp__bundle_follow_anew(vp__core *core, vp__pace *p, const vp__bundle_form *form,
                            const vp__bundle_leaf *leaves, const vp__target *t,
                            vp__storage *s, const vp__region *written);

#endif
