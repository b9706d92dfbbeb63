/* SPDX-License-Identifier: Apache-2.0
 *
 * Running reductions. Whatever the layout, each output's elements meet the tree of
 * ops/kernels.h in the order of their numbers, so the modes differ in speed alone.
 *
 * Blocks come in order and are merged as a binary counter counts: level i holds a subtree
 * of 2^i chunks. Pushing a last chunk that is short merges it just as folding what is
 * left at the end would, so there is no special case for it; and a piece whose range of
 * numbers is a power of two of blocks, starting at a multiple of that, is itself one
 * subtree.
 */
#include <string.h>

#include "jit/plan_parts.h"

enum { LEVELS = 64 };

typedef struct {
    const vp__reduce_kernel *kernel;
    int64_t n; /* lane states of one chunk */
    uint64_t count;
    char *level[LEVELS];
    char *spare[LEVELS]; /* slots given back, reused first */
    int nspare;
    char *fresh; /* slots never used */
    int64_t slot_bytes;
} counter;

static void counter_init(counter *c, const vp__run *r, int64_t outputs) {
    c->kernel = r->plan->reduce;
    c->n = outputs * c->kernel->lanes;
    c->count = 0;
    c->nspare = 0;
    c->fresh = r->states;
    c->slot_bytes = (c->n * c->kernel->state_size + 63) / 64 * 64;
}

static char *counter_slot(counter *c) {
    if (c->nspare > 0) return c->spare[--c->nspare];
    char *slot = c->fresh;
    c->fresh += c->slot_bytes;
    return slot;
}

static void counter_push(counter *c, char *state) {
    int i = 0;
    for (; c->count >> i & 1; i++) {
        c->kernel->merge(c->level[i], state, c->n);
        if (c->nspare < LEVELS) c->spare[c->nspare++] = state;
        state = c->level[i];
    }
    c->level[i] = state;
    c->count++;
}

/* Folds the subtrees that are left, from the smallest to the largest. */
static char *counter_fold(counter *c) {
    char *state = NULL;
    for (int i = 0; c->count >> i != 0; i++) {
        if (!(c->count >> i & 1)) continue;
        if (state != NULL) c->kernel->merge(c->level[i], state, c->n);
        state = c->level[i];
    }
    return state;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Moves every leaf along the reduced loop d. */
static void move_leaves(vp__run *r, int d, int64_t by) {
    const vp__plan *p = r->plan;
    const int64_t *stride = vp__plan_stride(p);
    for (int o = 0; o + 1 < p->noperands; o++) r->at[o] += by * stride[o * p->nloops + d];
}

/* Moves every leaf to a number, in all reduced loops. */
static void go_to_number(vp__run *r, int64_t number) {
    const vp__plan *p = r->plan;
    for (int d = p->nloops - 1; d >= p->nkept; d--) {
        r->index[d] = number % r->dim[d];
        number /= r->dim[d];
        move_leaves(r, d, r->index[d]);
    }
}

/* On to the next numbers, through the outer reduced loops where one is done. */
static void go_on(vp__run *r, int64_t by) {
    const vp__plan *p = r->plan;
    const int last = p->nloops - 1;
    r->index[last] += by;
    move_leaves(r, last, by);
    for (int d = last; d > p->nkept && r->index[d] == r->dim[d]; d--) {
        move_leaves(r, d, -r->dim[d]);
        r->index[d] = 0;
        r->index[d - 1]++;
        move_leaves(r, d - 1, 1);
    }
}

static int64_t row_bytes(const vp__run *r) {
    const vp__plan *p = r->plan;
    return p->has_rows ? r->row[p->result] : r->width << p->in_lg;
}

static int64_t tile_outputs(const vp__run *r) {
    int64_t n = 1;
    for (int i = 0; i < r->plan->nout; i++) n *= r->count[r->plan->out_loop[i]];
    return n;
}

/* Folds numbers base… of every output of the tile: n elements each, `row` bytes apart,
 * the first at x. `chunk` is the unit of the counter. */
static void fold_rows(const vp__run *r, counter *c, const char *x, int64_t row,
                      int64_t base, int64_t n, int64_t chunk, int64_t outputs) {
    const vp__plan *p = r->plan;
    const vp__reduce_kernel *k = p->reduce;
    const int64_t state = k->lanes * (int64_t)k->state_size;
    if (k->extend != NULL) {
        const bool fresh = c->count == 0;
        if (fresh) counter_push(c, counter_slot(c));
        for (int64_t j = 0; j < outputs; j++)
            (fresh ? k->block : k->extend)(c->level[0] + j * state, x + j * row, n, base);
        return;
    }
    for (int64_t q = 0; q < n; q += chunk) {
        char *slot = counter_slot(c);
        for (int64_t j = 0; j < outputs; j++)
            k->block(slot + j * state, x + j * row + (q << p->in_lg), min64(chunk, n - q),
                     base + q);
        counter_push(c, slot);
    }
}

/* True when the one output's state cannot change any more. */
static bool is_decided(const vp__plan *p, const counter *c, int64_t outputs) {
    return p->stop != VP__NONE && outputs == 1 && c->count > 0 &&
           *(uint8_t *)c->level[0] == p->stop;
}

/* Reduces chunks by native code, which needs no block to compute in. */
static char *reduce_native_chunks(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    const int64_t state = p->reduce->lanes * (int64_t)p->reduce->state_size;
    const int64_t outputs = tile_outputs(r);
    move_leaves(r, p->nkept, lo);
    for (int64_t base = lo, n; base < hi; base += n) {
        char *slot = counter_slot(c);
        n = min64(VP__REDUCE_CHUNK, hi - base);
        vp__run_chunk(r, slot, state, n, outputs);
        counter_push(c, slot);
        move_leaves(r, p->nkept, n);
    }
    move_leaves(r, p->nkept, -hi);
    return counter_fold(c);
}

static char *reduce_row_chunks(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    if (p->native) return reduce_native_chunks(r, c, lo, hi);
    const int d = p->nkept;
    const int64_t extent = r->extent[d], chunk = min64(extent, VP__REDUCE_CHUNK);
    const int64_t outputs = tile_outputs(r);
    int64_t base = lo;
    move_leaves(r, d, lo);
    while (base < hi) {
        const int64_t n = r->count[d] = min64(extent, hi - base);
        vp__run_body(r);
        fold_rows(r, c, r->ptr[p->result], row_bytes(r), base, n, chunk, outputs);
        base += n;
        move_leaves(r, d, n);
        if (is_decided(p, c, outputs)) break;
    }
    move_leaves(r, d, -base);
    return counter_fold(c);
}

static char *reduce_ranges(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int64_t extent = p->tile_elements, chunk = min64(extent, VP__REDUCE_CHUNK);
    char *start[VP__OPERANDS];
    const size_t addresses = p->noperands * sizeof *start;
    memcpy(start, r->at, addresses);
    for (int64_t base = lo; base < hi; base += extent) {
        r->number = base;
        r->count[p->tile[0]] = min64(extent, hi - base);
        for (int o = 0; o + 1 < p->noperands; o++)
            if (operand[o].reach == VP__REACH_DIRECT)
                r->at[o] = start[o] + (base << operand[o].lg);
        vp__run_body(r);
        fold_rows(r, c, r->ptr[p->result], 0, base, r->width, chunk, 1);
        if (is_decided(p, c, 1)) break;
    }
    memcpy(r->at, start, addresses);
    return counter_fold(c);
}

/* Evaluates `rows` indices of the panel's fastest loop, with everything that is numbered
 * faster, in memory's order, and puts each element where its number is counted from `to`.
 * `first` is the first of the indices, counted through the loops outside as well. */
static void fill_panel(vp__run *r, char *const *start, char *to, int64_t first,
                       int64_t rows) {
    const vp__plan *p = r->plan;
    const int f = p->tile[0], last = p->tile[1];
    const int64_t size = (int64_t)1 << p->in_lg;
    int64_t pitch[VP__MAXDIM], rest = first;
    for (int d = f; d >= p->nkept; d--) {
        r->index[d] = rest % r->dim[d];
        rest /= r->dim[d];
    }
    const int64_t from = r->index[f];
    pitch[p->nloops - 1] = size;
    for (int d = p->nloops - 2; d >= f; d--) pitch[d] = pitch[d + 1] * r->dim[d + 1];
    for (int d = f + 1; d < p->nloops; d++) r->index[d] = 0;
    for (;;) {
        for (int64_t i = 0; i < rows; i += r->count[f])
            for (int64_t j = 0; j < r->dim[last]; j += r->count[last]) {
                r->index[f] = from + i;
                r->index[last] = j;
                r->count[f] = min64(r->extent[f], rows - i);
                r->count[last] = min64(r->extent[last], r->dim[last] - j);
                for (int o = 0; o + 1 < p->noperands; o++) {
                    const int64_t *stride = vp__plan_strides(p, o);
                    r->at[o] = start[o];
                    for (int d = p->nkept; d < p->nloops; d++)
                        r->at[o] += r->index[d] * stride[d];
                }
                /* A leaf alone is turned where it is. */
                if (!p->bare) vp__run_body(r);
                const char *x = p->bare ? r->at[0] : r->ptr[p->result];
                char *dst = to + i * pitch[f] + j * size;
                for (int d = f + 1; d < last; d++) dst += r->index[d] * pitch[d];
                static const uint8_t order[] = {0, 1};
                const int64_t along = p->bare ? vp__plan_strides(p, 0)[f] : size;
                const int64_t across =
                    p->bare ? vp__plan_strides(p, 0)[last] : row_bytes(r);
                vp__copy_tile(p->kernels, p->in_lg, dst, (int64_t[]){pitch[f], size}, x,
                              (int64_t[]){along, across},
                              (int64_t[]){r->count[f], r->count[last]}, order, 2);
            }
        int d = last - 1;
        for (; d > f && ++r->index[d] == r->dim[d]; d--) r->index[d] = 0;
        if (d == f) return;
    }
}

/* The panel holds numbers from `have` on, at `origin`; what is too little for a chunk is
 * carried over to the next filling. In front there is room for the numbers of one index,
 * because a range may begin in the middle of one. */
static char *reduce_panel(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    const int lg = p->in_lg;
    const int64_t pitch = p->panel_pitch, dim = r->dim[p->tile[0]];
    char *start[VP__OPERANDS], *origin = r->panel + (pitch << lg);
    const size_t addresses = p->noperands * sizeof *start;
    memcpy(start, r->at, addresses);
    int64_t have = lo, index = lo / pitch;
    while (have < hi) {
        const int64_t rows =
            min64(min64(p->panel_rows, dim - index % dim), (hi - 1) / pitch + 1 - index);
        fill_panel(r, start, origin + ((index * pitch - have) << lg), index, rows);
        index += rows;
        int64_t n = min64(index * pitch, hi) - have;
        if (have + n < hi) n -= n % VP__REDUCE_CHUNK;
        if (n > 0) fold_rows(r, c, origin, 0, have, n, VP__REDUCE_CHUNK, 1);
        have += n;
        if (is_decided(p, c, 1)) break;
        if (have < hi)
            memmove(origin, origin + (n << lg), (size_t)(index * pitch - have) << lg);
    }
    memcpy(r->at, start, addresses);
    return counter_fold(c);
}

/* Where a tile's results go before they are stored. */
static char *results_at(vp__run *r) {
    return r->plan->out_direct ? r->at[r->plan->noperands - 1] : r->results;
}

static char *reduce_col_chunks(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    const vp__reduce_kernel *k = p->reduce;
    const int last = p->nloops - 1;
    const int64_t cols = r->count[p->tile[0]];
    char *start[VP__OPERANDS], *slot = NULL;
    const size_t addresses = p->noperands * sizeof *start;
    memcpy(start, r->at, addresses);
    go_to_number(r, lo);
    for (int64_t base = lo; base < hi;) {
        const int64_t left = min64(hi - base, r->dim[last] - r->index[last]);
        const int64_t rows = r->count[last] = min64(r->extent[last], left);
        if (!p->native) vp__run_body(r);
        const int64_t row = p->native ? 0 : row_bytes(r);
        const char *x = p->native ? NULL : r->ptr[p->result];
        for (int64_t end = base + rows, done = 0; base < end;) {
            const int64_t into = base % VP__REDUCE_BLOCK;
            const int64_t n = min64(VP__REDUCE_BLOCK - into, end - base);
            if (into == 0) slot = p->state_is_result ? results_at(r) : counter_slot(c);
            if (p->native) {
                move_leaves(r, last, done);
                vp__run_state(r, slot, into, n, cols);
                move_leaves(r, last, -done);
            } else {
                k->block_cols(slot, x, row, n, cols, base);
                x += n * row;
            }
            done += n;
            base += n;
            if (into + n == VP__REDUCE_BLOCK || base == hi) counter_push(c, slot);
        }
        go_on(r, rows);
    }
    memcpy(r->at, start, addresses);
    return counter_fold(c);
}

/* Where a reduction may be split anywhere, all numbers are one block. */
static char *reduce_folds(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    const vp__plan *p = r->plan;
    const int last = p->nloops - 1;
    const int64_t block = p->reduce->extend ? hi - lo : VP__REDUCE_BLOCK;
    const int64_t outputs = tile_outputs(r);
    char *start[VP__OPERANDS], *slot = NULL;
    const size_t addresses = p->noperands * sizeof *start;
    memcpy(start, r->at, addresses);
    go_to_number(r, lo);
    for (int64_t at = lo, n; at < hi; at += n) {
        const int64_t into = (at - lo) % block;
        n = min64(min64(r->dim[last] - r->index[last], hi - at), block - into);
        if (into == 0) slot = counter_slot(c);
        vp__run_fold(r, slot, into, n, outputs);
        if (into + n == block || at + n == hi) counter_push(c, slot);
        go_on(r, n);
    }
    memcpy(r->at, start, addresses);
    return counter_fold(c);
}

static void store_results(vp__run *r) {
    const vp__plan *p = r->plan;
    if (p->out_direct) return;
    const int out = p->noperands - 1;
    const int64_t *stride = vp__plan_strides(p, out);
    int64_t to[VP__TILE_LOOPS], from[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    int64_t pitch = (int64_t)1 << p->out_lg;
    for (int i = 0; i < p->nout; i++) {
        count[i] = r->count[p->out_loop[i]];
        to[i] = stride[p->out_loop[i]];
        from[i] = pitch;
        pitch *= count[i];
    }
    static const uint8_t order[VP__TILE_LOOPS] = {0, 1, 2, 3};
    vp__copy_tile(p->kernels, p->out_lg, r->at[out], to, r->results, from, count, order,
                  p->nout);
}

/* Reductions that fit a tile as a whole. */
static void reduce_whole(vp__run *r) {
    const vp__plan *p = r->plan;
    for (int d = p->nkept; d < p->nloops; d++) r->count[d] = r->dim[d];
    vp__run_body(r);
    const char *x = r->ptr[p->result];
    char *out = results_at(r);
    if (p->mode == VP__PLAN_ROWS) {
        /* Rows that do not follow each other in memory are long enough for a call
         * each. */
        const bool apart = p->has_rows && row_bytes(r) != r->width << p->in_lg;
        const int64_t outputs = tile_outputs(r), calls = apart ? outputs : 1;
        for (int64_t i = 0; i < calls; i++) {
            p->reduce->rows(out, x, outputs / calls, p->numbers);
            out += (int64_t)1 << p->out_lg;
            x += apart ? row_bytes(r) : 0;
        }
    } else {
        const int64_t cols = r->width, row = row_bytes(r);
        for (int64_t z = tile_outputs(r) / cols; z > 0; z--) {
            p->reduce->cols(out, x, row, p->numbers, cols);
            out += cols << p->out_lg;
            x += p->numbers * row;
        }
    }
    store_results(r);
}

static char *reduce_range(vp__run *r, counter *c, int64_t lo, int64_t hi) {
    counter_init(c, r, tile_outputs(r));
    switch (r->plan->mode) {
    case VP__PLAN_ROW_CHUNKS: return reduce_row_chunks(r, c, lo, hi);
    case VP__PLAN_COL_CHUNKS: return reduce_col_chunks(r, c, lo, hi);
    case VP__PLAN_PANEL: return reduce_panel(r, c, lo, hi);
    case VP__PLAN_FOLDS: return reduce_folds(r, c, lo, hi);
    default: return reduce_ranges(r, c, lo, hi);
    }
}

/* Turns the folded states of a tile into its results. */
static void finish_tile(vp__run *r, char *state) {
    const vp__plan *p = r->plan;
    const vp__reduce_kernel *k = p->reduce;
    const int64_t outputs = tile_outputs(r);
    char *out = results_at(r);
    if (p->mode == VP__PLAN_COL_CHUNKS) {
        if (state != out) k->finish(out, state, outputs);
    } else {
        for (int64_t j = 0; j < outputs; j++)
            k->finish(out + (j << p->out_lg), state + j * k->lanes * k->state_size, 1);
    }
    store_results(r);
}

void vp__run_reduce(vp__run *r, int64_t piece, char *partial) {
    const vp__plan *p = r->plan;
    counter c;
    if (p->range > 0) {
        const int64_t lo = piece % p->ranges * p->range;
        vp__run_seek(r, piece / p->ranges);
        const char *state = reduce_range(r, &c, lo, min64(lo + p->range, p->numbers));
        memcpy(partial + piece * p->state_bytes, state,
               (size_t)(c.n * p->reduce->state_size));
        return;
    }
    const int64_t first = piece * p->piece_tiles;
    int64_t tiles = min64(p->piece_tiles, p->tiles - first);
    vp__run_seek(r, first);
    for (;;) {
        if (p->mode == VP__PLAN_ROWS || p->mode == VP__PLAN_COLS)
            reduce_whole(r);
        else
            finish_tile(r, reduce_range(r, &c, 0, p->numbers));
        if (--tiles == 0) return;
        vp__run_next(r);
    }
}

/* Merges states in the layout that the tile's mode gave them. */
void vp__run_finish(vp__run *r, char *partial) {
    const vp__plan *p = r->plan;
    vp__run_seek(r, 0);
    for (int64_t tile = 0;;) {
        counter c;
        const int64_t outputs = tile_outputs(r);
        const bool rows = p->mode != VP__PLAN_COL_CHUNKS;
        const int64_t each = p->reduce->lanes * (int64_t)p->reduce->state_size;
        /* Where states were made per output, they are laid out per output. */
        for (int64_t j = 0; j < (rows ? outputs : 1); j++) {
            counter_init(&c, r, rows ? 1 : outputs);
            for (int64_t i = 0; i < p->ranges; i++)
                counter_push(&c, partial + (tile * p->ranges + i) * p->state_bytes +
                                     (rows ? j * each : 0));
            char *state = counter_fold(&c);
            char *home =
                partial + tile * p->ranges * p->state_bytes + (rows ? j * each : 0);
            if (state != home) memcpy(home, state, (size_t)(c.n * p->reduce->state_size));
        }
        finish_tile(r, partial + tile * p->ranges * p->state_bytes);
        if (++tile == p->tiles) return;
        vp__run_next(r);
    }
}
