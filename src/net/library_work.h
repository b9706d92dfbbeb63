/* SPDX-License-Identifier: Apache-2.0
 *
 * The library operations behind vp__work: how each sizes itself, splits and runs.
 */
#ifndef VP_NET_LIBRARY_WORK_H
#define VP_NET_LIBRARY_WORK_H

#include "net/library.h"

const vp__work *vp__library_work(vp__lib_kind kind);
/* A byte copy that hands poison on instead of inheriting it. */
const vp__work *vp__library_copy_work(void);

/* Fourier transforms have a file of their own. */
extern const vp__work vp__library_fft_work;
size_t vp__library_fft_payload(void);

size_t vp__library_payload(vp__lib_kind kind);
void vp__library_set(vp__node *n, const vp__lib_params *p);

/* How many pieces work of about `ns` nanoseconds is worth, at most `most`. */
int64_t vp__library_pieces(double ns, int64_t most);
/* The number of lanes along an axis of the value. */
int64_t vp__library_other_axes(const vp__node *n, int axis);

/* With the value's dims and its operands' layouts known: sets the value's strides. */
void vp__library_layout(vp__node *n);

#endif
