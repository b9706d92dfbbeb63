/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving the elements that a mask selects. Views are walked by rows; where a row's mask or its
 * elements do not lie side by side, the places of its true elements are listed first, a chunk
 * at a time.
 */
#include "array/dtype.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"

enum { CHUNK = 1024 };

/* A stretch of a row: n mask bytes side by side, and elements `step` bytes apart. */
typedef struct {
    const uint8_t *mask;
    char *base;
    int64_t n, step;
    int size;
} stretch;

/* What goes on through all stretches: where the elements of the other side are. */
typedef struct {
    void (*run)(void *context, const stretch *s);
    char *other;
    int64_t step;
    bool few; /* true elements: at most a chunk in all, and far from each other */
} mover;

/* Calls the mover for a row, of n elements, in stretches of which the mask lies side by side. */
static void each_stretch(mover *m, const char *mask, int64_t mask_step, stretch row) {
    if (mask_step == 1) {
        row.mask = (const uint8_t *)mask;
        m->run(m, &row);
        return;
    }
    uint8_t buffer[CHUNK];
    stretch s = row;
    s.mask = buffer;
    for (int64_t left = row.n; left > 0; left -= s.n) {
        s.n = left < CHUNK ? left : CHUNK;
        vp__move_row((char *)buffer, 1, mask, mask_step, s.n, 1);
        m->run(m, &s);
        mask += s.n * mask_step;
        s.base += s.n * s.step;
    }
}

static void each_row(mover *m, const vp__view *base, const vp__view *mask, int64_t from,
                     int64_t to) {
    if (from >= to) return;
    vp__nest nest;
    vp__nest_init(&nest, mask->ndim, mask->dims);
    vp__nest_add(&nest, mask->data, mask->strides);
    vp__nest_add(&nest, base->data, base->strides);
    vp__nest_merge(&nest);
    const int last = nest.ndim - 1, size = vp__dtype[base->dtype].size;
    const int64_t width = last >= 0 ? nest.dims[last] : 1;
    const int64_t mask_step = last >= 0 ? nest.strides[0][last] : 1;
    stretch s = {.step = last >= 0 ? nest.strides[1][last] : size, .size = size};
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    vp__walk_seek(&walk, from / width);
    int64_t first = from % width;
    do {
        s.n = width - first < to - from ? width - first : to - from;
        s.base = walk.at[1] + first * s.step;
        each_stretch(m, walk.at[0] + first * mask_step, mask_step, s);
        from += s.n;
        first = 0;
    } while (from < to && vp__walk_next(&walk));
}

/* --- get and put ---------------------------------------------------------------------------- */

/* Lists all elements of a stretch, which are few, before they are moved: then many loads from far
 * memory are under way at a time. */
static bool get_few(mover *m, const stretch *s) {
    if (!m->few || s->step != s->size || (s->size != 4 && s->size != 8)) return false;
    int64_t list[CHUNK];
    const int64_t found = vp__loops_get()->list_true(list, s->mask, s->n, 0);
    vp__loops_get()->take(m->other, s->base, list, found, s->n, s->size);
    m->other += found * s->size;
    return true;
}

/* Moves the listed elements of a stretch one by one. */
static void move_listed(mover *m, const stretch *s, bool store) {
    int64_t list[CHUNK];
    for (int64_t done = 0; done < s->n; done += CHUNK) {
        const int64_t n = s->n - done < CHUNK ? s->n - done : CHUNK;
        const int64_t found = vp__loops_get()->list_true(list, s->mask + done, n, done);
        for (int64_t i = 0; i < found; i++, m->other += m->step) {
            char *at = s->base + list[i] * s->step;
            if (store)
                vp__move_row(at, 0, m->other, 0, 1, s->size);
            else
                vp__move_row(m->other, 0, at, 0, 1, s->size);
        }
    }
}

static void get_stretch(void *context, const stretch *s) {
    mover *m = context;
    if (get_few(m, s)) return;
    if (s->step != s->size) {
        move_listed(m, s, false);
        return;
    }
    m->other +=
        vp__loops_get()->mask_get(m->other, s->base, s->mask, s->n, s->size) * s->size;
}

static void put_stretch(void *context, const stretch *s) {
    mover *m = context;
    if (m->step == 0 && s->step == s->size) {
        vp__loops_get()->mask_fill(s->base, m->other, s->mask, s->n, s->size, true);
        return;
    }
    if (m->step != s->size || s->step != s->size) {
        move_listed(m, s, true);
        return;
    }
    m->other +=
        vp__loops_get()->mask_put(s->base, m->other, s->mask, s->n, s->size) * s->size;
}

void vp__lib_mask_get(char *out, const vp__view *base, const vp__view *mask, int64_t from,
                      int64_t to, int64_t count) {
    const bool few = count <= CHUNK && count <= (to - from) / 64;
    mover m = {get_stretch, out, vp__dtype[base->dtype].size, few};
    each_row(&m, base, mask, from, to);
}

void vp__lib_mask_put(const vp__view *base, const vp__view *mask, const char *value,
                      int64_t step, int64_t from, int64_t to) {
    /* The value is only read. */
    mover m = {.run = put_stretch, .other = (char *)(uintptr_t)value, .step = step};
    each_row(&m, base, mask, from, to);
}

/* --- fill ----------------------------------------------------------------------------------- */

/* Stores to the listed elements of a stretch, whose values lie beside them. */
static void fill_listed(const mover *m, const stretch *s) {
    int64_t list[CHUNK];
    for (int64_t done = 0; done < s->n; done += CHUNK) {
        const int64_t n = s->n - done < CHUNK ? s->n - done : CHUNK;
        const int64_t found = vp__loops_get()->list_true(list, s->mask + done, n, done);
        for (int64_t i = 0; i < found; i++)
            vp__move_row(s->base + list[i] * s->step, 0, m->other + list[i] * m->step, 0,
                         1, s->size);
    }
}

static void fill_stretch(void *context, const stretch *s) {
    mover *m = context;
    if (s->step == s->size && (m->step == 0 || m->step == s->size))
        vp__loops_get()->mask_fill(s->base, m->other, s->mask, s->n, s->size,
                                   m->step == 0);
    else
        fill_listed(m, s);
    m->other += s->n * m->step;
}

/* Rows that are one mask element: all or nothing. */
static void fill_rows(const vp__nest *nest, int last, int size) {
    vp__walk walk;
    vp__walk_init(&walk, nest, last);
    do
        if (*walk.at[1])
            vp__move_row(walk.at[0], nest->strides[0][last], walk.at[2],
                         nest->strides[2][last], nest->dims[last], size);
    while (vp__walk_next(&walk));
}

void vp__lib_mask_fill(const vp__view *base, const vp__view *mask, const vp__view *value,
                       int64_t part, int64_t parts) {
    vp__nest nest;
    vp__nest_init(&nest, base->ndim, base->dims);
    vp__nest_add(&nest, base->data, base->strides);
    vp__nest_add(&nest, mask->data, mask->strides);
    vp__nest_add(&nest, value->data, value->strides);
    vp__nest_sort(&nest);
    vp__nest_split(&nest, part, parts);
    if (vp__nest_is_empty(&nest)) return;
    const int last = nest.ndim - 1, size = vp__dtype[base->dtype].size;
    if (last >= 0 && nest.strides[1][last] == 0) {
        fill_rows(&nest, last, size);
        return;
    }
    const int64_t mask_step = last >= 0 ? nest.strides[1][last] : 1;
    mover m = {.run = fill_stretch, .step = last >= 0 ? nest.strides[2][last] : 0};
    stretch s = {.n = last >= 0 ? nest.dims[last] : 1,
                 .step = last >= 0 ? nest.strides[0][last] : size,
                 .size = size};
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    do {
        s.base = walk.at[0];
        m.other = walk.at[2];
        each_stretch(&m, walk.at[1], mask_step, s);
    } while (vp__walk_next(&walk));
}
