/* SPDX-License-Identifier: Apache-2.0 */
#include "array/region.h"

/* Finds the widest gap between repeated runs: sorted by stride, axis k repeats whatever
 * the smaller ones cover. Quadratic in the few axes a view has. */
static void find_window(vp__region *r, int ndim, const int64_t *dims,
                        const int64_t *strides, int element_size) {
    int64_t covered = element_size, smallest = 0, best_gap = 0, width = 0;
    for (;;) {
        int64_t next = INT64_MAX, steps = 0; /* axes of one stride add up */
        for (int i = 0; i < ndim; i++) {
            int64_t s = strides[i] < 0 ? -strides[i] : strides[i];
            if (dims[i] < 2 || s <= smallest || s > next) continue;
            steps = s < next ? dims[i] - 1 : steps + dims[i] - 1;
            next = s;
        }
        if (next == INT64_MAX) break;
        if (next - covered > best_gap) {
            best_gap = next - covered;
            r->period = next;
            width = covered;
        }
        covered += next * steps;
        smallest = next;
    }
    if (!r->period) return;
    for (int i = 0; i < ndim; i++) {
        int64_t s = strides[i] < 0 ? -strides[i] : strides[i];
        if (dims[i] > 1 && s >= r->period && s % r->period) r->period = 0;
        if (!r->period) return;
    }
    r->from = r->lo % r->period;
    r->to = r->from + width;
    if (r->from < 0 || r->to > r->period) r->period = 0;
}

vp__region vp__region_of_axes(int64_t offset, int ndim, const int64_t *dims,
                              const int64_t *strides, int element_size) {
    vp__region r = {offset, offset, 0, 0, 0};
    int64_t count_bytes = element_size;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] == 0) return vp__region_of_nothing();
        int64_t extent = (dims[i] - 1) * strides[i];
        if (extent < 0)
            r.lo += extent;
        else
            r.hi += extent;
        count_bytes *= dims[i];
    }
    r.hi += element_size;
    if (r.hi - r.lo > count_bytes) find_window(&r, ndim, dims, strides, element_size);
    return r;
}

/* The window of r under another period, if it has one. */
static bool window_under(const vp__region *r, int64_t period, int64_t *from,
                         int64_t *to) {
    if (r->period == period) {
        *from = r->from;
        *to = r->to;
        return true;
    }
    if (r->period > 0 || r->lo < 0 || r->hi - r->lo > period) return false;
    *from = r->lo % period;
    *to = *from + (r->hi - r->lo);
    return *to <= period;
}

bool vp__region_windows_overlap(const vp__region *a, const vp__region *b) {
    int64_t period = a->period > 0 ? a->period : b->period;
    int64_t a_from, a_to, b_from, b_to;
    if (period <= 0 || !window_under(a, period, &a_from, &a_to) ||
        !window_under(b, period, &b_from, &b_to))
        return true;
    return a_from < b_to && b_from < a_to;
}

void vp__region_grow(vp__region *hull, const vp__region *r) {
    int64_t period = hull->period > 0 ? hull->period : r->period;
    int64_t h_from, h_to, r_from, r_to;
    if (period > 0 && window_under(hull, period, &h_from, &h_to) &&
        window_under(r, period, &r_from, &r_to)) {
        hull->from = h_from < r_from ? h_from : r_from;
        hull->to = h_to > r_to ? h_to : r_to;
        hull->period = period;
    } else {
        hull->period = 0;
    }
    if (r->lo < hull->lo) hull->lo = r->lo;
    if (r->hi > hull->hi) hull->hi = r->hi;
}
