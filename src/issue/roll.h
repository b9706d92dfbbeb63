/* SPDX-License-Identifier: Apache-2.0
 *
 * Rolled leaves: elements that are read shifted around their axes, without a copy. No stride
 * says that. But a rolled axis is two ranges, and where the rolled leaves of a segment are cut,
 * its value is a few boxes in each of which every leaf is a plain view. So the segment is sent
 * once for each box, into the same storage: as a program would that has nothing but
 * slices, and with the same bits, since what is computed for an element does not depend on
 * where it lies. It fails as one value all the same: each box counts as reading all that the
 * value reads, and its failure is one of all of the value's storage. That takes fresh storage;
 * what is put into an array is computed beside it first, since parts that are written one by one
 * would not undo an earlier failure of all of them.
 *
 * Reductions fold all boxes at once, so an operand of theirs that is rolled has storage of its
 * own. So have rolled leaves beside others whose sizes come late, and those of segments that
 * would fall into too many boxes.
 */
#ifndef VP_ISSUE_ROLL_H
#define VP_ISSUE_ROLL_H

#include "issue/send.h"

/* A leaf of known size, or a rolled one, with element i of an axis at i + shift, modulo the
 * axis' length. Consumes it. */
vp__expr *vp__roll_leaf(vp__expr *e, int axis, int64_t shift, const char *where);

/* Whether one more axis of an expression can be rolled: each doubles the boxes of a copy. */
bool vp__roll_has_room(const vp__expr *e, int axis);

/* As vp__send, of values with or without rolled leaves. */
bool vp__roll_send(vp__expr *value, vp__destination *d, int64_t *dims, int64_t *strides);

#endif
