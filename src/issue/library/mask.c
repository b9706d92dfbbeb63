/* SPDX-License-Identifier: Apache-2.0
 *
 * Selecting by one mask. What is not a put, and a put of several values, need to know how many
 * elements are true before each place: that is a node of its own (mask_count), so that sizes are
 * known as soon as the mask is, whatever else there is to wait for. It counts block by block,
 * and those who use the counts take as many blocks at a time as they like.
 */
#include <string.h>

#include "array/shape.h"
#include "issue/library/family.h"
#include "lib/move/nest.h"
#include "net/life.h"

enum { BLOCK = 1 << 16 }; /* mask elements of a count */

double vp__library_mask_cost(const vp__node *n, int mask) {
    const vp__input *in = &n->in[mask];
    return (double)vp__lib_rows[vp__params_of(n)->kind].cost *
           (double)vp__shape_count(in->ndim, in->dims, 1);
}

vp__error *vp__library_check_mask(const vp__node *n, int mask, const vp__find_params *p) {
    const vp__input *in = &n->in[mask];
    if (!p->ndim || vp__shape_equal(in->ndim, in->dims, p->ndim, p->dims)) return NULL;
    char a[200], b[200];
    return vp__error_new(VP_ERR_INDEX, n->where,
                         "%s: a mask of shape %s does not fit axes of shape %s",
                         p->selects, vp__shape_text(a, sizeof a, in->ndim, in->dims),
                         vp__shape_text(b, sizeof b, p->ndim, p->dims));
}

int64_t vp__library_sum_before(int64_t *counts, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = counts[i];
        counts[i] = sum;
        sum += own;
    }
    return sum;
}

static int64_t mask_elements(const vp__node *n, int mask) {
    return vp__shape_count(n->in[mask].ndim, n->in[mask].dims, 1);
}

static int64_t blocks_of(int64_t elements) { return (elements + BLOCK - 1) / BLOCK; }

/* Where a block ends, of a mask or a share that ends at `to`. */
static int64_t block_end(int64_t block, int64_t to) {
    return (block + 1) * BLOCK < to ? (block + 1) * BLOCK : to;
}

/* The blocks of a piece, and their elements. */
typedef struct {
    int64_t first, end, from, to;
} share;

static share share_of(const vp__node *n, int mask, int64_t piece) {
    const int64_t elements = mask_elements(n, mask), blocks = blocks_of(elements);
    share s = {vp__share(blocks, piece, n->pieces),
               vp__share(blocks, piece + 1, n->pieces), 0, 0};
    s.from = s.first * BLOCK;
    s.to = block_end(s.end - 1, elements);
    return s;
}

/* --- counting ------------------------------------------------------------------------------- */

static double count_cost(const vp__node *n) { return vp__library_mask_cost(n, 0); }

/* The memory of the counts is there before their size is published: who has learned the size
 * may read the last of them (see number_of). */
static void count_begin(vp__node *n) {
    vp__error *e = vp__library_check_mask(n, 0, &vp__params_of(n)->find);
    const int64_t blocks = blocks_of(mask_elements(n, 0));
    if (!e) {
        n->result->bytes = (blocks + 1) * (int64_t)sizeof(int64_t);
        if (!vp__storage_allocate(n->result)) e = vp__node_no_memory(n);
    }
    if (e) {
        vp__node_fail(n, e);
        return;
    }
    n->dims[0] = blocks + 1;
    n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    n->pieces = vp__library_pieces(count_cost(n), blocks);
}

static void count_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    vp__view in = vp__library_input(n, 0);
    int64_t *counts = (int64_t *)(void *)n->out;
    const share s = share_of(n, 0, i);
    for (int64_t b = s.first; b < s.end; b++)
        counts[b] = vp__lib_count_true(&in, b * BLOCK, block_end(b, s.to));
}

static bool count_next(vp__node *n, vp__core *core) {
    int64_t *counts = (int64_t *)(void *)n->out;
    const int64_t blocks = n->dims[0] - 1;
    counts[blocks] = vp__library_sum_before(counts, blocks);
    vp__layout_compact(n->ndim, n->dims, sizeof *counts, false, n->strides);
    vp__count(&core->counters.late_sizes, 1);
    vp__node_publish_size(n);
    return false;
}

const vp__family vp__family_mask_count = {.work = {.begin = count_begin,
                                                   .piece = count_piece,
                                                   .next = count_next,
                                                   .one_kernel = true,
                                                   .sizes_when_run = true},
                                          .payload = sizeof(vp__lib_params),
                                          .cost = count_cost};

/* The operands are the base of a get, the mask, its counts (not of a fill), the value of a put:
 * so the error of a mask comes before that of a value, as with index arrays. */
static int mask_of(const vp__node *n) { return n->is_put ? 0 : 1; }

static const int64_t *counts_of(const vp__node *n) {
    return (const int64_t *)(const void *)vp__input_data(&n->in[mask_of(n) + 1]);
}

static int64_t number_of(const vp__node *n) {
    return counts_of(n)[n->in[mask_of(n) + 1].dims[0] - 1];
}

static double moving_cost(const vp__node *n) {
    return vp__library_mask_cost(n, mask_of(n));
}

static void moving_begin(vp__node *n) {
    n->pieces =
        vp__library_pieces(moving_cost(n), blocks_of(mask_elements(n, mask_of(n))));
}

/* --- get ------------------------------------------------------------------------------------ */

static vp__error *get_size(vp__node *n) {
    n->dims[0] = number_of(n);
    vp__layout_compact(n->ndim, n->dims, vp__dtype[n->dtype].size, false, n->strides);
    vp__library_estimate(n);
    return NULL;
}

static void get_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    vp__view base = vp__library_input(n, 0), mask = vp__library_input(n, 1);
    const share s = share_of(n, 1, i);
    const int64_t *counts = counts_of(n), size = vp__dtype[n->dtype].size;
    for (int64_t b = s.first; b < s.end; b++)
        vp__lib_mask_get(n->out + counts[b] * size, &base, &mask, b * BLOCK,
                         block_end(b, s.to), counts[b + 1] - counts[b]);
}

const vp__family vp__family_mask_get = {.work = {.size = get_size,
                                                 .begin = moving_begin,
                                                 .piece = get_piece,
                                                 .one_kernel = true},
                                        .payload = sizeof(vp__lib_params),
                                        .cost = moving_cost};

/* --- put ------------------------------------------------------------------------------------ */

static vp__view target_of(const vp__node *n) {
    char *host = atomic_load_explicit(&n->result->host, memory_order_relaxed);
    return (vp__view){host + n->target_offset, n->target_dims, n->target_strides,
                      n->target_ndim, n->dtype};
}

static void count_put(const vp__node *n, vp__core *core) {
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.stored,
              (uint64_t)vp__shape_count(n->target_ndim, n->target_dims, 1));
}

/* All of it on the thread that finds the target free. */
static void store(vp__node *n) {
    n->pieces = 1;
    n->work->piece(n, 0, vp__core_self());
}

static vp__error *put_size(vp__node *n) {
    const int64_t count = number_of(n);
    vp__error *e = vp__library_check_value(n, &n->in[2], 1, &count);
    if (!e) vp__library_estimate(n);
    return e;
}

static void put_piece(vp__node *n, int64_t i, vp__core *core) {
    const vp__input *value = &n->in[2];
    vp__view base = target_of(n), mask = vp__library_input(n, 0);
    const bool one = value->ndim == 0 || value->dims[0] == 1;
    const int64_t step = one ? 0 : value->strides[0];
    const share s = share_of(n, 0, i);
    vp__lib_mask_put(&base, &mask, vp__input_data(value) + counts_of(n)[s.first] * step,
                     step, s.from, s.to);
    if (i == 0) count_put(n, core);
}

const vp__family vp__family_mask_put = {.work = {.size = put_size,
                                                 .begin = moving_begin,
                                                 .piece = put_piece,
                                                 .store = store,
                                                 .stores_only = true},
                                        .payload = sizeof(vp__lib_params),
                                        .cost = moving_cost};

/* --- fill ----------------------------------------------------------------------------------- */

/* The value fits whatever the mask is: see api/select.c. */
static vp__error *fill_size(vp__node *n) {
    const vp__find_params *p = &vp__params_of(n)->find;
    vp__input *value = &n->in[1];
    vp__library_drop_axes(value, n->target_ndim);
    vp__error *e = vp__library_check_mask(n, 0, p);
    if (!e) vp__library_estimate(n);
    return e;
}

static double fill_cost(const vp__node *n) {
    return (double)vp__lib_rows[VP__LIB_mask_fill].cost *
           (double)vp__shape_count(n->target_ndim, n->target_dims, 1);
}

static void fill_begin(vp__node *n) {
    n->pieces = vp__library_pieces(fill_cost(n),
                                   vp__shape_count(n->target_ndim, n->target_dims, 1));
}

static void fill_piece(vp__node *n, int64_t i, vp__core *core) {
    const vp__input *mask = &n->in[0], *value = &n->in[1];
    vp__view base = target_of(n), where = vp__library_input(n, 0),
             from = vp__library_input(n, 1);
    int64_t value_strides[VP__MAXDIM], mask_strides[VP__MAXDIM] = {0};
    vp__shape_expand_strides(base.ndim, base.dims, value->ndim, value->dims,
                             value->strides, value_strides);
    /* The mask has the first axes. */
    memcpy(mask_strides, mask->strides, (size_t)mask->ndim * sizeof *mask_strides);
    from.ndim = where.ndim = base.ndim;
    from.dims = where.dims = base.dims;
    from.strides = value_strides;
    where.strides = mask_strides;
    vp__lib_mask_fill(&base, &where, &from, i, n->pieces);
    if (i == 0) count_put(n, core);
}

const vp__family vp__family_mask_fill = {.work = {.size = fill_size,
                                                  .begin = fill_begin,
                                                  .piece = fill_piece,
                                                  .store = store,
                                                  .stores_only = true},
                                         .payload = sizeof(vp__lib_params),
                                         .cost = fill_cost};
