/* SPDX-License-Identifier: Apache-2.0 */
#include "array/shape.h"

#include <stdio.h>
#include <string.h>

int64_t vp__shape_count(int ndim, const int64_t *dims, int element_size) {
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] == 0) empty = true;
        /* An empty array must still have sensible strides, so its other dims count too. */
        else if (__builtin_mul_overflow(n, dims[i], &n))
            return -1;
    }
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)element_size, &bytes)) return -1;
    return empty ? 0 : n;
}

bool vp__shape_equal(int na, const int64_t *a, int nb, const int64_t *b) {
    if (na != nb) return false;
    for (int i = 0; i < na; i++)
        if (a[i] != b[i]) return false;
    return true;
}

int vp__shape_surplus(int ndim, const int64_t *dims, int target_ndim) {
    const int extra = ndim - target_ndim;
    for (int i = 0; i < extra; i++)
        if (dims[i] != 1) return 0;
    return extra > 0 ? extra : 0;
}

const char *vp__shape_text(char *text, size_t size, int ndim, const int64_t *dims) {
    size_t at = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < ndim; i++) {
        if (at + 24 > size) {
            at += (size_t)snprintf(text + at, size - at, "…");
            break;
        }
        if (dims[i] < 0)
            at += (size_t)snprintf(text + at, size - at, "?");
        else
            at += (size_t)snprintf(text + at, size - at, "%lld", (long long)dims[i]);
        if (i + 1 < ndim || ndim == 1)
            at += (size_t)snprintf(text + at, size - at, i + 1 < ndim ? ", " : ",");
    }
    snprintf(text + at, size - at, ")");
    return text;
}

bool vp__shape_broadcast(int *na, int64_t *a, int nb, const int64_t *b) {
    if (nb > *na) {
        int lead = nb - *na;
        memmove(a + lead, a, (size_t)*na * sizeof *a);
        for (int i = 0; i < lead; i++) a[i] = 1;
        *na = nb;
    }
    int64_t *tail = a + (*na - nb);
    for (int i = 0; i < nb; i++) {
        if (tail[i] == b[i] || b[i] == 1) continue;
        if (tail[i] != 1) return false;
        tail[i] = b[i];
    }
    return true;
}

void vp__shape_expand_strides(int ndim, const int64_t *dims, int n,
                              const int64_t *own_dims, const int64_t *own_strides,
                              int64_t *strides) {
    int lead = ndim - n;
    for (int i = 0; i < lead; i++) strides[i] = 0;
    for (int i = 0; i < n; i++)
        strides[lead + i] = own_dims[i] == 1 && dims[lead + i] != 1 ? 0 : own_strides[i];
}

void vp__layout_compact(int ndim, const int64_t *dims, int element_size,
                        bool column_major, int64_t *strides) {
    int64_t step = element_size;
    for (int k = 0; k < ndim; k++) {
        int i = column_major ? k : ndim - 1 - k;
        strides[i] = step;
        step *= dims[i] > 0 ? dims[i] : 1;
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* 1 when axis i stays outside axis j > i, -1 when it goes inside, which takes all operands
 * that have an opinion (so C order wins where they disagree, as in NumPy), 0 when none has. */
static int compare_axes(int i, int j, const int64_t *dims, int noperands,
                        const int64_t *const *strides) {
    if (dims[i] == 1 || dims[j] == 1) return 0;
    int said = 0;
    for (int k = 0; k < noperands; k++) {
        int64_t si = magnitude(strides[k][i]), sj = magnitude(strides[k][j]);
        if (si == 0 || sj == 0) continue;
        if (si >= sj) return 1;
        said = -1;
    }
    return said;
}

void vp__layout_like(int ndim, const int64_t *dims, int element_size, int noperands,
                     const int64_t *const *operand_strides, int64_t *strides) {
    int order[VP__MAXDIM]; /* outermost first */
    for (int i = 0; i < ndim; i++) {
        int at = i;
        for (int k = i - 1; k >= 0; k--) {
            int said = compare_axes(order[k], i, dims, noperands, operand_strides);
            if (said > 0) break;
            if (said < 0) at = k;
        }
        memmove(order + at + 1, order + at, (size_t)(i - at) * sizeof *order);
        order[at] = i;
    }
    int64_t step = element_size;
    for (int k = ndim - 1; k >= 0; k--) {
        strides[order[k]] = step;
        step *= dims[order[k]] > 0 ? dims[order[k]] : 1;
    }
}

bool vp__layout_is_c(int ndim, const int64_t *dims, const int64_t *strides,
                     int element_size) {
    int64_t step = element_size;
    for (int i = ndim - 1; i >= 0; i--) {
        if (dims[i] == 1) continue;
        if (strides[i] != step) return false;
        step *= dims[i];
    }
    return true;
}

bool vp__layout_is_dense(int ndim, const int64_t *dims, const int64_t *strides,
                         int element_size) {
    if (vp__layout_is_c(ndim, dims, strides, element_size)) return true;
    /* Repeatedly look for the axis whose stride continues what is covered so far. */
    uint32_t left = 0;
    for (int i = 0; i < ndim; i++)
        if (dims[i] != 1) left |= 1u << i;
    int64_t step = element_size;
    while (left) {
        int found = -1;
        for (int i = 0; i < ndim && found < 0; i++)
            if (left >> i & 1 && strides[i] == step) found = i;
        if (found < 0) return false;
        left &= ~(1u << found);
        step *= dims[found];
    }
    return true;
}

bool vp__layout_reshape(int ndim, const int64_t *dims, const int64_t *strides,
                        int new_ndim, const int64_t *new_dims, int64_t *new_strides) {
    /* Runs of old axes and of new axes with the same product are matched left to right; the
     * old axes of a run must be contiguous with each other. */
    int64_t old_dims[VP__MAXDIM], old_strides[VP__MAXDIM];
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] == 1) continue;
        old_dims[n] = dims[i];
        old_strides[n++] = strides[i];
    }
    int i = 0, j = 0;
    while (i < n && j < new_ndim) {
        int i_end = i + 1, j_end = j + 1;
        int64_t old_count = old_dims[i], new_count = new_dims[j];
        while (old_count != new_count) {
            if (new_count < old_count) {
                if (j_end >= new_ndim) return false;
                new_count *= new_dims[j_end++];
            } else {
                if (i_end >= n) return false;
                old_count *= old_dims[i_end++];
            }
        }
        for (int k = i; k < i_end - 1; k++)
            if (old_strides[k] != old_strides[k + 1] * old_dims[k + 1]) return false;
        int64_t step = old_strides[i_end - 1];
        for (int k = j_end - 1; k >= j; k--) {
            new_strides[k] = step;
            step *= new_dims[k];
        }
        i = i_end;
        j = j_end;
    }
    for (; j < new_ndim; j++) new_strides[j] = 0; /* only axes of length 1 are left */
    return true;
}
