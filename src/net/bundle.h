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
#ifndef VP_NET_BUNDLE_H
#define VP_NET_BUNDLE_H

#include "net/issue.h"

/* Takes over a put whose value does not read its target. False: it is not to be bundled, and
 * nothing was done. */
bool vp__bundle_put(vp__recipe *recipe, vp__expr *const *leaves, const vp__expr *value,
                    const vp__target *t, vp__storage *s, const vp__region *region,
                    bool fits);

/* The short way for the next put of a loop: into the core's open bundle, if it is one like
 * those before it. False, and nothing done, where there is anything to decide. The core is the
 * caller's; the value stays its own. */
bool vp__bundle_next(vp__core *core, const vp__target *t, vp__expr *value);

/* Gives a core's open bundle to the net. The core is the caller's. */
void vp__bundle_push(vp__core *core);
static inline void vp__bundle_end(vp__core *core) {
    /* relaxed: a look; others may only have taken it. */
    if (atomic_load_explicit(&core->bundle, memory_order_relaxed)) vp__bundle_push(core);
}

/* Takes some core's open bundle to run it on the caller's. NULL if there is none. */
vp__node *vp__bundle_take(vp__core *self);

#endif
