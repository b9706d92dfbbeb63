/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests: making, simplifying, sharing out and walking them.
 */
#include "lib/move/nest.h"

#include <string.h>

/* Shares of long dimensions begin at multiples of this many elements, so that two threads
 * seldom write to one cache line. */
enum { SHARE_UNIT = 64 };

void vp__nest_init(vp__nest *nest, int ndim, const int64_t *dims) {
    nest->ndim = ndim;
    nest->noperands = 0;
    for (int i = 0; i < ndim; i++) nest->dims[i] = dims[i];
}

void vp__nest_add(vp__nest *nest, const void *data, const int64_t *strides) {
    int k = nest->noperands++;
    nest->data[k] = (char *)data;
    for (int i = 0; i < nest->ndim; i++) nest->strides[k][i] = strides[i];
}

void vp__nest_remove(vp__nest *nest, int axis) {
    size_t tail = (size_t)(nest->ndim - axis - 1) * sizeof(int64_t);
    memmove(nest->dims + axis, nest->dims + axis + 1, tail);
    for (int k = 0; k < nest->noperands; k++)
        memmove(nest->strides[k] + axis, nest->strides[k] + axis + 1, tail);
    nest->ndim--;
}

/* Whether the dimension `outer`, followed by `inner`, is one longer run of `inner`. */
static bool joins(const vp__nest *nest, int outer, int inner) {
    for (int k = 0; k < nest->noperands; k++)
        if (nest->strides[k][outer] != nest->strides[k][inner] * nest->dims[inner])
            return false;
    return true;
}

void vp__nest_merge(vp__nest *nest) {
    int kept = 0;
    for (int i = 0; i < nest->ndim; i++) {
        if (nest->dims[i] == 1) continue;
        bool join = kept > 0 && joins(nest, kept - 1, i);
        int to = join ? kept - 1 : kept++;
        nest->dims[to] = join ? nest->dims[to] * nest->dims[i] : nest->dims[i];
        for (int k = 0; k < nest->noperands; k++)
            nest->strides[k][to] = nest->strides[k][i];
    }
    nest->ndim = kept;
}

static void swap(vp__nest *nest, int a, int b) {
    int64_t t = nest->dims[a];
    nest->dims[a] = nest->dims[b];
    nest->dims[b] = t;
    for (int k = 0; k < nest->noperands; k++) {
        int64_t *s = nest->strides[k];
        t = s[a];
        s[a] = s[b];
        s[b] = t;
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Whether dimension a belongs further out than b: the first operand that tells them apart
 * decides. */
static bool is_outer(const vp__nest *nest, int a, int b) {
    for (int k = 0; k < nest->noperands; k++) {
        int64_t sa = magnitude(nest->strides[k][a]), sb = magnitude(nest->strides[k][b]);
        if (sa != sb) return sa > sb;
    }
    return false;
}

void vp__nest_sort(vp__nest *nest) {
    if (vp__nest_is_empty(nest)) return; /* and may have no memory to point into */
    for (int i = 0; i < nest->ndim; i++) {
        if (nest->strides[0][i] >= 0) continue;
        for (int k = 0; k < nest->noperands; k++) {
            nest->data[k] += nest->strides[k][i] * (nest->dims[i] - 1);
            nest->strides[k][i] = -nest->strides[k][i];
        }
    }
    for (int i = 1; i < nest->ndim; i++)
        for (int j = i; j > 0 && is_outer(nest, j, j - 1); j--) swap(nest, j, j - 1);
    vp__nest_merge(nest);
}

/* Keeps [first, last) of one dimension. */
static void narrow(vp__nest *nest, int axis, int64_t first, int64_t last) {
    for (int k = 0; k < nest->noperands; k++)
        nest->data[k] += nest->strides[k][axis] * first;
    nest->dims[axis] = last - first;
}

void vp__nest_split(vp__nest *nest, int64_t part, int64_t parts) {
    uint32_t cut = 0; /* dimensions already cut down to one element */
    if (vp__nest_is_empty(nest)) return;
    while (parts > 1) {
        int longest = -1;
        for (int i = 0; i < nest->ndim; i++)
            if (!(cut >> i & 1) && (longest < 0 || nest->dims[i] > nest->dims[longest]))
                longest = i;
        if (longest < 0) { /* one element, and part 0 has it */
            if (part > 0) {
                nest->ndim = 1;
                nest->dims[0] = 0;
            }
            return;
        }
        int64_t dim = nest->dims[longest];
        if (parts <= dim) {
            int64_t unit = dim / parts >= SHARE_UNIT ? SHARE_UNIT : 1;
            int64_t units = (dim + unit - 1) / unit;
            int64_t first = vp__share(units, part, parts) * unit;
            int64_t last = vp__share(units, part + 1, parts) * unit;
            narrow(nest, longest, first < dim ? first : dim, last < dim ? last : dim);
            return;
        }
        /* Several parts share each index of this dimension: find ours, and go on with the
         * parts that share it. */
        int64_t low = 0, high = dim - 1;
        while (low < high) {
            int64_t middle = low + (high - low + 1) / 2;
            if (vp__share(parts, middle, dim) <= part)
                low = middle;
            else
                high = middle - 1;
        }
        int64_t first = vp__share(parts, low, dim);
        parts = vp__share(parts, low + 1, dim) - first;
        part -= first;
        narrow(nest, longest, low, low + 1);
        cut |= UINT32_C(1) << longest;
    }
}

bool vp__nest_is_empty(const vp__nest *nest) {
    for (int i = 0; i < nest->ndim; i++)
        if (nest->dims[i] == 0) return true;
    return false;
}

int64_t vp__nest_count(const vp__nest *nest) {
    int64_t count = 1;
    for (int i = 0; i < nest->ndim; i++) count *= nest->dims[i];
    return count;
}

void vp__walk_init(vp__walk *walk, const vp__nest *nest, int depth) {
    walk->nest = nest;
    walk->depth = depth;
    for (int i = 0; i < depth; i++) walk->index[i] = 0;
    for (int k = 0; k < nest->noperands; k++) walk->at[k] = nest->data[k];
}

bool vp__walk_next(vp__walk *walk) {
    const vp__nest *nest = walk->nest;
    for (int i = walk->depth - 1; i >= 0; i--) {
        if (++walk->index[i] < nest->dims[i]) {
            for (int k = 0; k < nest->noperands; k++) walk->at[k] += nest->strides[k][i];
            return true;
        }
        walk->index[i] = 0;
        for (int k = 0; k < nest->noperands; k++)
            walk->at[k] -= nest->strides[k][i] * (nest->dims[i] - 1);
    }
    return false;
}

void vp__walk_seek(vp__walk *walk, int64_t number) {
    const vp__nest *nest = walk->nest;
    for (int k = 0; k < nest->noperands; k++) walk->at[k] = nest->data[k];
    for (int i = walk->depth - 1; i >= 0; i--) {
        walk->index[i] = number % nest->dims[i];
        number /= nest->dims[i];
        for (int k = 0; k < nest->noperands; k++)
            walk->at[k] += nest->strides[k][i] * walk->index[i];
    }
}
