/* SPDX-License-Identifier: Apache-2.0
 *
 * What sort and argsort share: walking the fibres along an axis, and the order of complex
 * numbers.
 */
#ifndef VP_LIB_SORT_SORT_H
#define VP_LIB_SORT_SORT_H

#include "array/view.h"
#include "lib/sort/radix.h"

/* Fibres up to this length are offered to the loops for short ones; elements of one or two
 * bytes have few digits, so radix sort wins earlier. */
enum { VP__SHORT_FIBRE = 32768, VP__SHORT_NARROW = 1024 };

/* One sequence to sort: n elements at these addresses and strides. */
typedef struct {
    char *out;
    const char *in;
    int64_t out_stride, in_stride, n;
    vp_dtype dtype;
    void *scratch; /* vp__lib_sort_scratch() bytes, 64-byte aligned */
} vp__fibre;

/* Calls run for every fibre of this part. */
void vp__fibres_run(const vp__view *out, const vp__view *in, int axis, int64_t part,
                    int64_t parts, void *scratch, void (*run)(const vp__fibre *fibre));

/* The sorted order of a fibre of 64-bit or complex elements, in its scratch; *spare is
 * room for n more that is free then. */
vp__keyed *vp__fibre_order(const vp__fibre *fibre, vp__keyed **spare);

/* Scratch of a short fibre: 16 bytes an element for copies, then what the loops need. */
static inline void *vp__fibre_network_scratch(const vp__fibre *fibre) {
    return (char *)fibre->scratch + (fibre->n * 16 + 63) / 64 * 64;
}

#endif
