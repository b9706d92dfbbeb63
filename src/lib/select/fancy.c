/* SPDX-License-Identifier: Apache-2.0
 *
 * Indexing with integer arrays. Indices are turned into byte offsets into base, a block
 * at a time; then either the subspace is moved index by index (rows, as bytes where they
 * are contiguous), or the block of indices is moved for each element of the subspace,
 * whichever walks the other side's memory in order.
 *
 * Equal indices meet only at equal subspace elements, and for each of those the indices
 * are visited in C order: so the last one wins in a scatter.
 */
#include <string.h>

#include "array/dtype.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"

enum {
    BLOCK = 256,    /* indices at a time: offsets and one line each of base fit in L1 */
    SHORT_LIST = 8, /* fewer indices than this are moved one subspace after another */
};

/* One block of indices. Base is read or written at base + offset[j], the other array at
 * other + j * step. */
typedef struct {
    const int64_t *offset;
    int64_t n, step;
    int size;
    bool store; /* into base */
} block;

#define GATHER(bytes, step)                                                              \
    for (int64_t j = 0; j < n; j++) memcpy(other + j * (step), base + at[j], bytes);     \
    break
#define SCATTER(bytes)                                                                   \
    for (int64_t j = 0; j < n; j++) memcpy(base + at[j], other + j * b->step, bytes);    \
    break

static void gather_listed(const block *b, char *other, const char *base) {
    const int64_t *at = b->offset, n = b->n;
    if (b->step == b->size) {
        switch (b->size) {
        case 1: GATHER(1, 1);
        case 2: GATHER(2, 2);
        case 4: GATHER(4, 4);
        case 8: GATHER(8, 8);
        default: GATHER(16, 16);
        }
        return;
    }
    switch (b->size) {
    case 1: GATHER(1, b->step);
    case 2: GATHER(2, b->step);
    case 4: GATHER(4, b->step);
    case 8: GATHER(8, b->step);
    default: GATHER(16, b->step);
    }
}

static void scatter_listed(const block *b, const char *other, char *base) {
    const int64_t *at = b->offset, n = b->n;
    switch (b->size) {
    case 1: SCATTER(1);
    case 2: SCATTER(2);
    case 4: SCATTER(4);
    case 8: SCATTER(8);
    default: SCATTER(16);
    }
}

/* Moves a block against the whole subspace, a nest of the other array and base that does
 * not contain the selected axes; `shift` is how far the block begins into the other. */
static void move_block(const block *b, const vp__nest *space, int64_t shift) {
    int last = space->ndim - 1;
    int64_t cols = last >= 0 ? space->dims[last] : 1;
    bool rows = false;
    if (cols > 1) {
        int64_t near = space->strides[0][last], far = b->step;
        rows = b->n < SHORT_LIST || (near < 0 ? -near : near) <= (far < 0 ? -far : far);
    }
    vp__walk walk;
    vp__walk_init(&walk, space, rows ? last : space->ndim);
    do {
        char *to = walk.at[0] + shift, *base = walk.at[1];
        if (!rows && b->store)
            scatter_listed(b, to, base);
        else if (!rows)
            gather_listed(b, to, base);
        else {
            int64_t os = space->strides[0][last], bs = space->strides[1][last];
            for (int64_t j = 0; j < b->n; j++, to += b->step) {
                char *from = base + b->offset[j];
                if (b->store)
                    vp__move_row(from, bs, to, os, cols, b->size);
                else
                    vp__move_row(to, os, from, bs, cols, b->size);
            }
        }
    } while (vp__walk_next(&walk));
}

/* Splits the dims of gather's result into the index dims and the subspace. The index nest
 * has the other array as operand 0 and the indices after it; the subspace nest has the
 * other array and base. */
static void make_nests(const vp__view *base, const vp__view *other, const vp__fancy *f,
                       vp__nest *list, vp__nest *space) {
    const vp__view *index = f->index;
    vp__nest_init(list, index->ndim, index->dims);
    vp__nest_add(list, other->data, other->strides + f->at);
    for (int i = 0; i < f->nindex; i++)
        vp__nest_add(list, index[i].data, index[i].strides);

    int64_t dims[VP__MAXDIM], base_strides[VP__MAXDIM], other_strides[VP__MAXDIM];
    uint32_t selected = 0;
    for (int i = 0; i < f->nindex; i++) selected |= UINT32_C(1) << f->axis[i];
    int n = 0;
    for (int i = 0; i < base->ndim; i++) {
        if (selected >> i & 1) continue;
        dims[n] = base->dims[i];
        base_strides[n] = base->strides[i];
        other_strides[n] = other->strides[n < f->at ? n : n + index->ndim];
        n++;
    }
    vp__nest_init(space, n, dims);
    vp__nest_add(space, other->data, other_strides);
    vp__nest_add(space, base->data, base_strides);
}

/* offset[j] = where base's element for index j of this row begins. */
static void find_offsets(int64_t *offset, const vp__view *base, const vp__fancy *f,
                         const vp__walk *walk, const int64_t *steps, int64_t first,
                         int64_t n) {
    int64_t buffer[BLOCK];
    memset(offset, 0, (size_t)n * sizeof *offset);
    for (int i = 0; i < f->nindex; i++) {
        const char *from = walk->at[i + 1] + first * steps[i];
        const int64_t *index = (const int64_t *)from;
        if (steps[i] != (int64_t)sizeof(int64_t)) {
            vp__move_row((char *)buffer, sizeof *buffer, from, steps[i], n,
                         sizeof *buffer);
            index = buffer;
        }
        int axis = f->axis[i];
        vp__loops_get()->index_add(offset, index, n, base->dims[axis],
                                   base->strides[axis]);
    }
}

/* Moves every listed index of `list` against `space`. */
static void move_all(const vp__view *base, const vp__view *other, const vp__fancy *f,
                     const vp__nest *list, const vp__nest *space, bool store) {
    if (vp__nest_is_empty(list) || vp__nest_is_empty(space)) return;
    int last = list->ndim - 1;
    int64_t cols = last >= 0 ? list->dims[last] : 1;
    int64_t steps[VP__MAXDIM], offset[BLOCK];
    for (int i = 0; i < f->nindex; i++)
        steps[i] = last >= 0 ? list->strides[i + 1][last] : (int64_t)sizeof(int64_t);
    block b = {.offset = offset,
               .step = last >= 0 ? list->strides[0][last] : 0,
               .size = vp__dtype[base->dtype].size,
               .store = store};
    vp__walk walk;
    vp__walk_init(&walk, list, last > 0 ? last : 0);
    do {
        for (int64_t j = 0; j < cols; j += BLOCK) {
            b.n = cols - j < BLOCK ? cols - j : BLOCK;
            find_offsets(offset, base, f, &walk, steps, j, b.n);
            move_block(&b, space, walk.at[0] + j * b.step - (char *)other->data);
        }
    } while (vp__walk_next(&walk));
}

/* The common case: one index list into a vector, contiguous on every side. Without the
 * offsets in between, more loads are under way at once. Also false where an index is bad. */
static bool gather_vector(const vp__view *base, const vp__fancy *f, const vp__nest *list,
                          const vp__nest *space) {
    if (f->nindex != 1 || list->ndim != 1 || space->ndim != 0) return false;
    int64_t size = vp__dtype[base->dtype].size, dim = base->dims[f->axis[0]];
    if ((size != 4 && size != 8) || base->strides[f->axis[0]] != size ||
        list->strides[0][0] != size || list->strides[1][0] != (int64_t)sizeof(int64_t))
        return false;
    return vp__loops_get()->take(list->data[0], base->data,
                                 (const int64_t *)(void *)list->data[1], list->dims[0],
                                 dim, (int)size);
}

bool vp__lib_gather_at_once(const vp__view *out, const vp__view *base,
                            const vp__fancy *f) {
    vp__nest list, space;
    make_nests(base, out, f, &list, &space);
    vp__nest_sort(&list);
    return gather_vector(base, f, &list, &space);
}

void vp__lib_gather(const vp__view *out, const vp__view *base, const vp__fancy *f,
                    int64_t part, int64_t parts) {
    vp__nest list, space;
    make_nests(base, out, f, &list, &space);
    int64_t longest = 0;
    for (int i = 0; i < space.ndim; i++)
        if (space.dims[i] > longest) longest = space.dims[i];
    int64_t indices = vp__nest_count(&list);
    vp__nest_sort(&list);
    vp__nest_sort(&space);
    if (indices >= longest || indices / 8 >= parts)
        vp__nest_split(&list, part, parts);
    else
        vp__nest_split(&space, part, parts);
    if (gather_vector(base, f, &list, &space)) return;
    move_all(base, out, f, &list, &space, false);
}

void vp__lib_scatter(const vp__view *base, const vp__view *in, const vp__fancy *f) {
    vp__nest list, space;
    make_nests(base, in, f, &list, &space);
    vp__nest_merge(&list);
    vp__nest_sort(&space);
    move_all(base, in, f, &list, &space, true);
}

/* The first invalid index of one view in C order. Broadcast dimensions are looked at
 * once, also where they are broadcast to nothing beside an empty view. */
static bool check_one(const vp__view *index, int64_t dim, int64_t *bad) {
    vp__nest nest;
    vp__nest_init(&nest, index->ndim, index->dims);
    vp__nest_add(&nest, index->data, index->strides);
    for (int i = 0; i < nest.ndim; i++)
        if (nest.strides[0][i] == 0) nest.dims[i] = 1;
    if (vp__nest_is_empty(&nest)) return true;
    vp__nest_merge(&nest);
    int last = nest.ndim - 1;
    int64_t cols = last >= 0 ? nest.dims[last] : 1;
    int64_t step = last >= 0 ? nest.strides[0][last] : (int64_t)sizeof(int64_t);
    int64_t buffer[BLOCK];
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    do {
        /* All of a contiguous row at once, another one through the buffer. */
        bool dense = step == (int64_t)sizeof(int64_t);
        for (int64_t j = 0, n; j < cols; j += n) {
            n = cols - j < BLOCK || dense ? cols - j : BLOCK;
            const char *from = walk.at[0] + j * step;
            const int64_t *list = (const int64_t *)from;
            if (!dense) {
                vp__move_row((char *)buffer, sizeof *buffer, from, step, n,
                             sizeof *buffer);
                list = buffer;
            }
            if (vp__loops_get()->index_is_valid(list, n, dim)) continue;
            while (*list >= -dim && *list < dim) list++;
            *bad = *list;
            return false;
        }
    } while (vp__walk_next(&walk));
    return true;
}

bool vp__lib_check_index(const vp__fancy *f, const vp__view *base, int64_t *bad,
                         int *bad_axis) {
    for (int i = 0; i < f->nindex; i++) {
        if (check_one(&f->index[i], base->dims[f->axis[i]], bad)) continue;
        *bad_axis = f->axis[i];
        return false;
    }
    return true;
}
