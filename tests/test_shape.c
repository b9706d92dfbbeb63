/* SPDX-License-Identifier: Apache-2.0
 *
 * The pure functions on dims and strides, against counting by hand.
 */
#include "array/shape.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

static uint64_t state = 88172645463325252u;

static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

VP_TEST(counts_that_overflow_are_refused) {
    int64_t dims[] = {3, 4, 5};
    VP_CHECK_EQ(vp__shape_count(3, dims, 8), 60);
    VP_CHECK_EQ(vp__shape_count(0, NULL, 8), 1);
    int64_t zero[] = {1ll << 20, 0, 1ll << 20};
    VP_CHECK_EQ(vp__shape_count(3, zero, 8), 0);
    int64_t vast[] = {1ll << 40, 0, 1ll << 40}; /* strides would overflow: as in NumPy */
    VP_CHECK_EQ(vp__shape_count(3, vast, 8), -1);
    int64_t much[] = {1ll << 31, 1ll << 31};
    VP_CHECK_EQ(vp__shape_count(2, much, 1), 1ll << 62);
    VP_CHECK_EQ(vp__shape_count(2, much, 2), -1);
    int64_t more[] = {1ll << 32, 1ll << 32};
    VP_CHECK_EQ(vp__shape_count(2, more, 1), -1);
    int64_t most[] = {INT64_MAX};
    VP_CHECK_EQ(vp__shape_count(1, most, 1), INT64_MAX);
    VP_CHECK_EQ(vp__shape_count(1, most, 8), -1);
}

VP_TEST(shapes_as_text) {
    char text[200];
    int64_t dims[32];
    for (int i = 0; i < 32; i++) dims[i] = 1000000 + i;
    VP_CHECK_STR(vp__shape_text(text, sizeof text, 0, NULL), "()");
    VP_CHECK_STR(vp__shape_text(text, sizeof text, 1, dims), "(1000000,)");
    VP_CHECK_STR(vp__shape_text(text, sizeof text, 2, dims), "(1000000, 1000001)");
    char small[24];
    vp__shape_text(small, sizeof small, 32, dims);
    VP_CHECK_LT(strlen(small), sizeof small);
    VP_CHECK_CONTAINS(small, "…");
}

VP_TEST(broadcasting) {
    static const struct {
        int na, nb, n;
        int64_t a[3], b[3], both[3];
    } table[] = {
        {2, 1, 2, {3, 4}, {4}, {3, 4}},
        {1, 2, 2, {4}, {3, 1}, {3, 4}},
        {2, 2, 2, {3, 1}, {1, 4}, {3, 4}},
        {0, 2, 2, {0}, {2, 3}, {2, 3}},
        {3, 2, 3, {1, 0, 2}, {1, 2}, {1, 0, 2}},
        {1, 1, 1, {0}, {1}, {0}},
        {2, 1, -1, {3, 4}, {3}, {0}},
        {1, 1, -1, {0}, {2}, {0}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int64_t dims[VP__MAXDIM];
        int n = table[i].na;
        memcpy(dims, table[i].a, sizeof table[i].a);
        bool fits = vp__shape_broadcast(&n, dims, table[i].nb, table[i].b);
        VP_CHECK_EQ(fits, table[i].n >= 0);
        if (fits) VP_CHECK(vp__shape_equal(n, dims, table[i].n, table[i].both));
    }
}

VP_TEST(strides_of_a_broadcast_operand) {
    int64_t dims[] = {5, 3, 4}, own_dims[] = {3, 1}, own[] = {8, 8}, strides[3];
    vp__shape_expand_strides(3, dims, 2, own_dims, own, strides);
    VP_CHECK_EQ(strides[0], 0);
    VP_CHECK_EQ(strides[1], 8);
    VP_CHECK_EQ(strides[2], 0);
}

VP_TEST(compact_layouts) {
    int64_t dims[] = {2, 3, 4}, strides[3];
    vp__layout_compact(3, dims, 8, false, strides);
    VP_CHECK(strides[0] == 96 && strides[1] == 32 && strides[2] == 8);
    VP_CHECK(vp__layout_is_c(3, dims, strides, 8));
    VP_CHECK(vp__layout_is_dense(3, dims, strides, 8));
    vp__layout_compact(3, dims, 8, true, strides);
    VP_CHECK(strides[0] == 8 && strides[1] == 16 && strides[2] == 48);
    VP_CHECK(!vp__layout_is_c(3, dims, strides, 8));
    VP_CHECK(vp__layout_is_dense(3, dims, strides, 8));
    strides[0] = 16;
    VP_CHECK(!vp__layout_is_dense(3, dims, strides, 8));
}

/* Where operands disagree about two axes, C order wins, as in NumPy. */
VP_TEST(layouts_like_operands) {
    int64_t dims[] = {3, 4}, c[] = {32, 8}, f[] = {8, 24}, zero[] = {0, 0},
            row[] = {0, 8};
    const int64_t *ff[] = {f, f}, *cf[] = {c, f}, *fc[] = {f, c}, *zf[] = {zero, f},
                  *rf[] = {row, f};
    int64_t s[2];
    vp__layout_like(2, dims, 8, 2, ff, s);
    VP_CHECK(s[0] == 8 && s[1] == 24);
    vp__layout_like(2, dims, 8, 2, cf, s);
    VP_CHECK(s[0] == 32 && s[1] == 8);
    vp__layout_like(2, dims, 8, 2, fc, s);
    VP_CHECK(s[0] == 32 && s[1] == 8);
    vp__layout_like(2, dims, 8, 2, zf, s);
    VP_CHECK(s[0] == 8 && s[1] == 24);
    vp__layout_like(2, dims, 8, 2, rf, s);
    VP_CHECK(s[0] == 8 && s[1] == 24);
    int64_t deep[] = {4, 2, 3}, permuted[] = {8, 96, 32};
    const int64_t *one[] = {permuted};
    int64_t t[3];
    vp__layout_like(3, deep, 8, 1, one, t);
    VP_CHECK(t[0] == 8 && t[1] == 96 && t[2] == 32);
    vp__layout_like(3, deep, 4, 1, one, t); /* the order, not the distances */
    VP_CHECK(t[0] == 4 && t[1] == 48 && t[2] == 16);
}

/* The byte offset of element number `index` in row-major order. */
static int64_t offset_of(int64_t index, int ndim, const int64_t *dims,
                         const int64_t *strides) {
    int64_t offset = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        offset += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return offset;
}

/* Random views under random new shapes: where a reshape needs no copy, every element is
 * at the same place; and what is compact never needs one. */
VP_TEST(reshapes_keep_every_element) {
    int kept = 0;
    for (int k = 0; k < 100000; k++) {
        static const int64_t factors[] = {1, 2, 3, 4, 6};
        int64_t dims[4], strides[4], new_dims[6], new_strides[6], count = 1;
        int ndim = (int)below(5);
        for (int i = 0; i < ndim; i++) count *= dims[i] = factors[below(5)];
        vp__layout_compact(ndim, dims, 1, below(2), strides);
        bool compact = true;
        for (int i = 0; i < ndim; i++) {
            if (below(4)) continue;
            strides[i] *= below(5) - 2;
        }
        compact = vp__layout_is_c(ndim, dims, strides, 1);
        int64_t left = count;
        int new_ndim = 0;
        while (new_ndim < 5 && (left > 1 || below(2))) {
            int64_t f = new_ndim == 4 ? left : factors[below(5)];
            if (left % f) continue;
            new_dims[new_ndim++] = f;
            left /= f;
        }
        if (left > 1) continue;
        bool view =
            vp__layout_reshape(ndim, dims, strides, new_ndim, new_dims, new_strides);
        VP_CHECK(view || !compact);
        if (!view) continue;
        kept++;
        for (int64_t i = 0; i < count; i++)
            VP_CHECK_EQ(offset_of(i, new_ndim, new_dims, new_strides),
                        offset_of(i, ndim, dims, strides));
    }
    VP_CHECK_GT(kept, 10000);
}

/* Dense means: address order visits every element once without a gap. */
VP_TEST(dense_layouts_fill_memory) {
    for (int k = 0; k < 20000; k++) {
        int64_t dims[4], strides[4], count = 1;
        int ndim = (int)below(5);
        for (int i = 0; i < ndim; i++) {
            count *= dims[i] = 1 + below(4);
            strides[i] = below(3) ? 1ll << below(5) : 1 + below(20);
        }
        if (below(2)) vp__layout_compact(ndim, dims, 1, below(2), strides);
        if (ndim > 1 && below(2)) {
            int64_t d = dims[0], s = strides[0];
            dims[0] = dims[1], strides[0] = strides[1];
            dims[1] = d, strides[1] = s;
        }
        bool used[512] = {false}, dense = true;
        for (int64_t i = 0; i < count && dense; i++) {
            int64_t at = offset_of(i, ndim, dims, strides);
            dense = at < count && !used[at];
            if (dense) used[at] = true;
        }
        VP_CHECK_EQ(vp__layout_is_dense(ndim, dims, strides, 1), dense);
    }
}
