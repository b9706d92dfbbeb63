/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting: for a size, for contents, for everything, for room. A thread that waits works.
 */
#ifndef VP_NET_WAIT_H
#define VP_NET_WAIT_H

#include "net/node.h"

/* Waits until the size is known. */
void vp__wait_sized(vp__storage *s);

/* Waits until everything issued before has been stored into this region and enters a read.
 * Returns an error (retained) if the region is poisoned. End with vp__observe_end in either
 * case. */
vp__error *vp__observe(vp__storage *s, const vp__region *r, vp__group **group);
void vp__observe_end(vp__group *group);

/* Waits until the net is empty. */
void vp__drain(void);

/* Helps until there is room for another node of this many bytes. */
void vp__admit(int64_t bytes);

#endif
