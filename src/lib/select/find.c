/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the true elements of a mask. Whatever its layout, the mask is seen as a
 * sequence of contiguous chunks in C order (its own memory, or a small buffer filled from
 * it), and the loops work on chunks.
 */
#include <string.h>

#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/move.h"
#include "lib/move/nest.h"

enum { CHUNK = 4096 };

/* What to do with a chunk: `n` mask bytes, the first of which is element `base`. */
typedef void (*chunk_fn)(void *context, const uint8_t *mask, int64_t n, int64_t base);

/* The elements from number `from` on, below `to`. */
static void for_each_chunk(const vp__view *mask, int64_t from, int64_t to, chunk_fn run,
                           void *context) {
    vp__nest nest;
    vp__nest_init(&nest, mask->ndim, mask->dims);
    vp__nest_add(&nest, mask->data, mask->strides);
    if (from >= to) return;
    vp__nest_merge(&nest);
    int last = nest.ndim - 1;
    int64_t width = last >= 0 ? nest.dims[last] : 1, first = from % width;
    int64_t stride = last >= 0 ? nest.strides[0][last] : 1;
    uint8_t buffer[CHUNK];
    int64_t base = from, held = 0; /* the next to pass on, and elements in the buffer */
    vp__walk walk;
    vp__walk_init(&walk, &nest, last > 0 ? last : 0);
    vp__walk_seek(&walk, from / width);
    do {
        const char *row = walk.at[0] + first * stride;
        int64_t cols = width - first, left = to - base - held;
        if (cols > left) cols = left;
        first = 0;
        if (stride == 1 && cols >= CHUNK / 8) { /* long rows are used where they are */
            if (held) run(context, buffer, held, base);
            base += held;
            held = 0;
            run(context, (const uint8_t *)row, cols, base);
            base += cols;
            continue;
        }
        for (int64_t done = 0; done < cols;) {
            int64_t n = cols - done < CHUNK - held ? cols - done : CHUNK - held;
            vp__move_row((char *)buffer + held, 1, row + done * stride, stride, n, 1);
            done += n;
            held += n;
            if (held == CHUNK) {
                run(context, buffer, held, base);
                base += held;
                held = 0;
            }
        }
    } while (base + held < to && vp__walk_next(&walk));
    if (held) run(context, buffer, held, base);
}

static void count_chunk(void *context, const uint8_t *mask, int64_t n, int64_t base) {
    (void)base;
    *(int64_t *)context += vp__loops_get()->count_true(mask, n);
}

int64_t vp__lib_count_true(const vp__view *mask, int64_t from, int64_t to) {
    int64_t count = 0;
    for_each_chunk(mask, from, to, count_chunk, &count);
    return count;
}

static void list_chunk(void *context, const uint8_t *mask, int64_t n, int64_t base) {
    int64_t **out = context;
    *out += vp__loops_get()->list_true(*out, mask, n, base);
}

/* Where a listing of coordinates stands: `row` is the number of the first element of the
 * row at `index`, whose last entry is unused. */
typedef struct {
    int64_t *out;
    const int64_t *dims;
    int32_t ndim;
    int64_t row;
    int64_t index[VP__MAXDIM];
} coordinates;

/* Moves on to the row that holds element `number`. */
static void enter_row(coordinates *c, int64_t number) {
    int64_t cols = c->dims[c->ndim - 1];
    if (number - c->row < 2 * cols) { /* the next one: count up */
        c->row += cols;
        for (int i = c->ndim - 2; i >= 0 && ++c->index[i] == c->dims[i]; i--)
            c->index[i] = 0;
        return;
    }
    int64_t rest = number / cols;
    c->row = rest * cols;
    for (int i = c->ndim - 2; i >= 0; i--) {
        c->index[i] = rest % c->dims[i];
        rest /= c->dims[i];
    }
}

static void list_coordinates(void *context, const uint8_t *mask, int64_t n,
                             int64_t base) {
    coordinates *c = context;
    int outer = c->ndim - 1;
    int64_t cols = c->dims[outer];
    int64_t numbers[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = n - i < CHUNK ? n - i : CHUNK;
        int64_t found = vp__loops_get()->list_true(numbers, mask + i, m, base + i);
        for (int64_t j = 0; j < found; j++) {
            if (numbers[j] - c->row >= cols) enter_row(c, numbers[j]);
            for (int d = 0; d < outer; d++) c->out[d] = c->index[d];
            c->out[outer] = numbers[j] - c->row;
            c->out += c->ndim;
        }
    }
}

void vp__lib_list_true(int64_t *positions, const vp__view *mask, bool flat, int64_t from,
                       int64_t to) {
    if (flat || mask->ndim == 1) {
        for_each_chunk(mask, from, to, list_chunk, &positions);
    } else if (mask->ndim > 1) {
        coordinates c = {.out = positions, .dims = mask->dims, .ndim = mask->ndim};
        for_each_chunk(mask, from, to, list_coordinates, &c);
    }
}
