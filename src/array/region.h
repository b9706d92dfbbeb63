/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a storage an access touches, in constant space: a byte interval and, where
 * the elements lie in a window that repeats with a period (a row of a column-major
 * matrix), that window. Two regions that overlap by this description may be disjoint in
 * truth, never the other way round.
 */
#ifndef VP_ARRAY_REGION_H
#define VP_ARRAY_REGION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t lo, hi;   /* bytes [lo, hi) from the storage's start; lo >= hi: nothing */
    int64_t period;   /* 0: no window; VP__OF_NOTHING: a view without elements */
    int64_t from, to; /* the window [from, to) within a period, to <= period */
} vp__region;

/* A view of nothing waits for what it is a view of, but meets only the failure of all of it
 * and of other writes of nothing. Where it begins is an accident of its strides, so it counts
 * as the first byte. */
enum { VP__OF_NOTHING = -1 };
static inline vp__region vp__region_of_nothing(void) {
    return (vp__region){0, 1, VP__OF_NOTHING, 0, 0};
}

/* Everything, for accesses whose extent is not known yet. */
static inline vp__region vp__region_all(void) {
    return (vp__region){INT64_MIN, INT64_MAX, 0, 0, 0};
}
static inline vp__region vp__region_none(void) { return (vp__region){0, 0, 0, 0, 0}; }

/* The region of a view that starts `offset` bytes into its storage. */
vp__region vp__region_of_axes(int64_t offset, int ndim, const int64_t *dims,
                              const int64_t *strides, int element_size);
static inline vp__region vp__region_of(int64_t offset, int ndim, const int64_t *dims,
                                       const int64_t *strides, int element_size) {
    if (ndim == 1 && strides[0] == element_size && dims[0] > 0) /* nearly all */
        return (vp__region){offset, offset + dims[0] * element_size, 0, 0, 0};
    return vp__region_of_axes(offset, ndim, dims, strides, element_size);
}

/* For regions whose intervals overlap: whether their windows, if any, do. */
bool vp__region_windows_overlap(const vp__region *a, const vp__region *b);

static inline bool vp__region_overlaps(const vp__region *a, const vp__region *b) {
    if (a->hi <= b->lo || b->hi <= a->lo || a->lo >= a->hi || b->lo >= b->hi)
        return false;
    return (a->period <= 0 && b->period <= 0) || vp__region_windows_overlap(a, b);
}

/* Grows hull to contain r as well. */
void vp__region_grow(vp__region *hull, const vp__region *r);

static inline void vp__region_add(vp__region *hull, const vp__region *r) {
    if (r->lo >= r->hi) return;
    if (hull->lo >= hull->hi)
        *hull = *r;
    else if (hull->period || hull->lo > r->lo || hull->hi < r->hi)
        vp__region_grow(hull, r);
}

#endif
