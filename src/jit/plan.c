/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a plan: which loops form a tile, how each operand is reached in it, and how the
 * tiles are cut into pieces. All of it is a function of kernel, shapes and strides, and
 * none of it can change a result's bits; it only decides how memory is walked.
 *
 * What the choices aim at: operands that are contiguous in a tile are used where they
 * are; a tile's blocks fit L1 together; where operands disagree about the order of two
 * loops, both are in the tile, so that every cache line that is touched is used up; short
 * inner loops are taken several at a time.
 */
#include "jit/plan.h"

#include <string.h>

#include "jit/plan_parts.h"

enum {
    ROWS_MIN = 64, /* elements in a row from which calls per row cost less than a copy */
    TURNED = 64,   /* width of a tile whose operands disagree about the order */
    TURNED_BYTES = 32768,        /* and of its block, which may as well live in L2 */
    COLS_MIN = 16,               /* columns from which they are reduced side by side */
    MANY_OUTPUTS = 8,            /* outputs side by side when their columns are fewer */
    BIG_TILE = 32768,            /* elements, when no block buffer limits it */
    MOST_ELEMENTS = 4096,        /* in a buffer, however small they are */
    LEAST_ELEMENTS = 256,        /* however far apart they are */
    L1_BUDGET = 16 * 1024,       /* bytes that a tile of gathered operands should touch */
    STATE_BUDGET = 16384,        /* bytes of column states that should stay in L1 */
    NATIVE_STATE_BUDGET = 32768, /* native code comes by less often */
    LEAST_RANGE = 4096,          /* numbers in a piece of a split reduction */
    LEAST_ROWS = 256,            /* the same for columns, whose states are larger */
    PANEL_GOAL =
        384 * 1024,  /* bytes of a panel that stays in L2 with what it is made of */
    PANEL_LEAST = 2, /* indices of its fastest loop that make a panel worth while */
    FOLDS = 128,     /* outputs whose runs native code folds side by side */
    FOLDS_BYTES = 128 * 1024, /* of those runs */
};

typedef struct {
    vp__plan *plan;
    const vp__kernel *kernel;
    const vp__space *loops;
    int64_t elements; /* that a block buffer holds */
    int64_t uniform_elements;
    int turned; /* a kept loop that some operand walks faster than the last one, or -1 */
    int64_t *dim, *extent;
    bool bare; /* no instructions: the leaf itself is reduced or copied */
    double cost;
    int repeats;
} maker;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t power_of_two_below(int64_t n) {
    return (int64_t)1 << (63 - __builtin_clzll((unsigned long long)n));
}

static void tile_add(maker *m, int d, int64_t extent) {
    m->extent[d] = extent;
    m->plan->tile[m->plan->ntile++] = (uint8_t)d;
}

/* Adds kept loops, the fastest first, to a tile that has `elements` so far. */
static void tile_add_kept(maker *m, int d, int64_t elements, int most) {
    for (; d >= 0 && m->plan->ntile < most; d--) {
        const int64_t fits = m->elements / elements;
        if (fits < 2 && m->plan->ntile > 0) return;
        tile_add(m, d, min64(m->dim[d], max64(fits, 1)));
        elements *= m->extent[d];
        if (m->extent[d] < m->dim[d]) return;
    }
}

/* Of those loops the one that matters most. */
static int find_turned(const maker *m) {
    const vp__plan *p = m->plan;
    const int x = p->nkept - 1;
    const vp__tile_operand *operand = vp__plan_operand(p);
    int found = -1;
    int64_t most = 0;
    if (x == 0 || m->dim[x] < 4) return -1;
    for (int o = 0; o < p->noperands; o++) {
        const int64_t *stride = vp__plan_strides(p, o);
        const int64_t slow = stride[x] < 0 ? -stride[x] : stride[x];
        if (slow <= (int64_t)1 << operand[o].lg || slow <= most) continue;
        int64_t fastest = slow;
        for (int d = 0; d < x; d++) {
            const int64_t fast = stride[d] < 0 ? -stride[d] : stride[d];
            if (fast == 0 || fast >= fastest || m->dim[d] < 4) continue;
            fastest = fast;
            found = d;
            most = slow;
        }
    }
    return found;
}

/* Moves loop d next to the last kept one. */
static void bring_in(maker *m, int d) {
    vp__plan *p = m->plan;
    for (; d + 2 < p->nkept; d++) {
        const int64_t dim = m->dim[d];
        m->dim[d] = m->dim[d + 1];
        m->dim[d + 1] = dim;
        for (int o = 0; o < p->noperands; o++) {
            int64_t *stride = vp__plan_stride(p) + o * p->nloops;
            const int64_t s = stride[d];
            stride[d] = stride[d + 1];
            stride[d + 1] = s;
        }
    }
}

static void tile_map(maker *m) {
    vp__plan *p = m->plan;
    const int x = p->nkept - 1;
    if (m->turned < 0) {
        tile_add_kept(m, x, 1, VP__TILE_LOOPS);
        return;
    }
    bring_in(m, m->turned);
    m->turned = x - 1;
    int64_t wide = min64(m->dim[x], TURNED);
    const int64_t high = min64(m->dim[x - 1], max64(m->elements / wide, 1));
    wide = min64(m->dim[x], max64(m->elements / high, 1));
    tile_add(m, x, wide);
    tile_add(m, x - 1, high);
}

/* Whether memory's fastest reduced loop is not the one that is numbered fastest, and a
 * panel that holds enough of it can be had. */
static bool tile_panel(maker *m) {
    vp__plan *p = m->plan;
    const vp__space *l = m->loops;
    const int last = p->nloops - 1;
    int fast = last;
    for (int d = last - 1; d >= p->nkept; d--)
        if (l->reduced[d - p->nkept]->reading < l->reduced[fast - p->nkept]->reading)
            fast = d;
    int64_t pitch = 1;
    for (int d = fast + 1; d <= last; d++) pitch *= m->dim[d];
    const int64_t holds = (VP__PANEL_BYTES >> p->in_lg) - VP__REDUCE_CHUNK - 64;
    const int64_t enough = max64((PANEL_GOAL >> p->in_lg) / pitch, 16);
    const int64_t rows = min64(m->dim[fast], min64(enough, holds / pitch - 1));
    if (fast == last || rows < min64(PANEL_LEAST, m->dim[fast])) return false;
    p->mode = VP__PLAN_PANEL;
    p->panel_rows = rows;
    p->panel_pitch = pitch;
    tile_add(m, fast, min64(rows, max64(m->elements / 16, 1)));
    tile_add(m, last, min64(m->dim[last], max64(m->elements / m->extent[fast], 1)));
    return true;
}

/* As many outputs as L2 keeps the runs of, because a block may end inside them. */
static void tile_folds(maker *m) {
    vp__plan *p = m->plan;
    const int kept = p->nkept - 1, last = p->nloops - 1;
    const int64_t fits = FOLDS_BYTES / (m->dim[last] << p->in_lg);
    tile_add(m, last, VP__REDUCE_BLOCK);
    tile_add(m, kept, min64(m->dim[kept], min64(max64(fits, MANY_OUTPUTS), FOLDS)));
}

/* Chooses the mode of a reduction and its tile. */
static void tile_rows(maker *m) {
    vp__plan *p = m->plan;
    const int nreduced = p->nloops - p->nkept;
    const vp__space *l = m->loops;
    if (p->numbers <= min64(m->elements, VP__REDUCE_CHUNK) && nreduced < VP__TILE_LOOPS) {
        p->mode = VP__PLAN_ROWS;
        for (int d = p->nloops - 1; d >= p->nkept; d--) tile_add(m, d, m->dim[d]);
        tile_add_kept(m, p->nkept - 1, p->numbers, VP__TILE_LOOPS);
    } else if (nreduced == 1) {
        p->mode = VP__PLAN_ROW_CHUNKS;
        const int kept = p->nkept - 1;
        int64_t outputs = 1;
        if (l->kept[kept]->reading < l->reduced[0]->reading)
            outputs =
                min64(m->dim[kept],
                      min64(MANY_OUTPUTS, max64(m->elements / VP__REDUCE_BLOCK, 1)));
        const int64_t fits = power_of_two_below(m->elements / outputs);
        tile_add(m, p->nkept, max64(fits, VP__REDUCE_BLOCK));
        if (outputs > 1) tile_add(m, kept, outputs);
    } else if (!tile_panel(m)) {
        p->mode = VP__PLAN_RANGES;
        tile_add(m, p->nloops - 1, power_of_two_below(m->elements));
    }
}

static void tile_cols(maker *m) {
    vp__plan *p = m->plan;
    const int x = p->nkept - 1, last = p->nloops - 1, nreduced = p->nloops - p->nkept;
    const vp__reduce_kernel *k = p->reduce;
    const int64_t lanes = k->lanes, width = m->dim[x];
    const bool in_place = p->native || (m->bare && nreduced == 1 &&
                                        vp__plan_strides(p, 0)[x] ==
                                            (int64_t)1 << vp__plan_operand(p)[0].lg);
    if (p->numbers <= VP__REDUCE_BLOCK && in_place && !p->native) {
        p->mode = VP__PLAN_COLS;
        tile_add(m, x, min64(width, MOST_ELEMENTS));
        tile_add(m, last, m->dim[last]);
        return;
    }
    if (p->numbers <= VP__REDUCE_BLOCK && width * p->numbers <= m->elements &&
        nreduced < VP__TILE_LOOPS - 1 && !p->native) {
        p->mode = VP__PLAN_COLS;
        tile_add(m, x, width);
        for (int d = last; d >= p->nkept; d--) tile_add(m, d, m->dim[d]);
        tile_add_kept(m, x - 1, width * p->numbers, VP__TILE_LOOPS);
        return;
    }
    p->mode = VP__PLAN_COL_CHUNKS;
    p->state_is_result = p->numbers <= VP__REDUCE_BLOCK && k->extend != NULL &&
                         k->state_size == 1 << p->out_lg;
    /* Room for one state per level of the counter, one in the making and one spare. */
    const int64_t blocks = (p->numbers + VP__REDUCE_BLOCK - 1) / VP__REDUCE_BLOCK;
    const int64_t levels = 2 + 64 - __builtin_clzll((unsigned long long)blocks);
    const int64_t each = lanes * k->state_size;
    const int64_t most = max64(VP__STATES_BYTES / levels / each - 64, 1);
    int64_t cols, rows;
    if (in_place) {
        const int64_t budget = p->native ? NATIVE_STATE_BUDGET : STATE_BUDGET;
        cols = min64(width, max64(budget / each, ROWS_MIN));
        rows = p->native ? VP__REDUCE_BLOCK : 32;
    } else if (m->elements / width >= (lanes > 4 ? lanes : 4)) {
        cols = width;
        rows = m->elements / cols;
    } else {
        rows = lanes > 8 ? lanes : 8;
        cols = min64(width, m->elements / rows);
    }
    cols = min64(cols, most);
    tile_add(m, x, cols);
    tile_add(m, last, min64(m->dim[last], rows));
}

/* Whether these loops of a tile, fastest first, are one contiguous run of an operand. */
static bool is_contiguous(const maker *m, const uint8_t *loop, int n, int o) {
    const int64_t *stride = vp__plan_strides(m->plan, o);
    int64_t expected = (int64_t)1 << vp__plan_operand(m->plan)[o].lg;
    for (int i = 0; i < n; i++) {
        const int d = loop[i];
        if (m->dim[d] > 1 && stride[d] != expected) return false;
        if (i + 1 < n && m->extent[d] != m->dim[d]) return false;
        expected *= m->dim[d];
    }
    return true;
}

/* In which order a tile's copy walks its loops: innermost the one that goes along both
 * sides best, then the longest of the rest. */
static void order_copy(const maker *m, vp__tile_operand *operand, const int64_t *src,
                       const int64_t *dst) {
    const vp__plan *p = m->plan;
    const int64_t size = (int64_t)1 << operand->lg;
    double best = 1e9;
    int inner = 0;
    for (int t = 0; t < p->ntile; t++) {
        const double n = (double)m->extent[p->tile[t]];
        const double cost = 16 / n +
                            (src[t] == size ? 1
                             : src[t] == 0  ? 1.5
                                            : 2.1) +
                            (dst[t] == size ? 1 : 2);
        if (cost >= best) continue;
        best = cost;
        inner = t;
    }
    operand->order[0] = (uint8_t)inner;
    for (int i = 1; i < p->ntile; i++) {
        int64_t longest = -1;
        int next = 0;
        for (int t = 0; t < p->ntile; t++) {
            bool used = false;
            for (int j = 0; j < i; j++) used |= operand->order[j] == t;
            if (used || m->extent[p->tile[t]] <= longest) continue;
            longest = m->extent[p->tile[t]];
            next = t;
        }
        operand->order[i] = (uint8_t)next;
    }
}

static void order_leaf(const maker *m, int o) {
    const vp__plan *p = m->plan;
    vp__tile_operand *operand = &vp__plan_operand(p)[o];
    const int64_t *stride = vp__plan_strides(p, o);
    int64_t strided[VP__TILE_LOOPS], packed[VP__TILE_LOOPS];
    int64_t pitch = (int64_t)1 << operand->lg;
    for (int t = 0; t < p->ntile; t++) {
        strided[t] = stride[p->tile[t]];
        packed[t] = pitch;
        pitch *= m->extent[p->tile[t]];
    }
    if (o == p->noperands - 1)
        order_copy(m, operand, packed, strided);
    else
        order_copy(m, operand, strided, packed);
}

/* Decides how operand o is reached in the chosen tile. */
static void reach(const maker *m, int o) {
    const vp__plan *p = m->plan;
    vp__tile_operand *operand = &vp__plan_operand(p)[o];
    const int64_t *stride = vp__plan_strides(p, o);
    const bool is_leaf = o != p->noperands - 1;
    bool uniform = is_leaf, repeats = false;
    /* Where both loops number one output's elements, a leaf alone must be one row. */
    const bool one_row = m->bare && p->mode == VP__PLAN_ROWS && p->tile[1] >= p->nkept;
    if (p->mode == VP__PLAN_RANGES) {
        int64_t expected = (int64_t)1 << operand->lg;
        bool direct = true;
        for (int d = p->nloops - 1; d >= p->nkept; d--) {
            uniform &= stride[d] == 0;
            direct &= stride[d] == expected;
            expected *= m->dim[d];
        }
        operand->reach = uniform  ? VP__REACH_UNIFORM
                         : direct ? VP__REACH_DIRECT
                                  : VP__REACH_RANGE;
        return;
    }
    for (int t = 0; t < p->ntile; t++)
        uniform &= stride[p->tile[t]] == 0 || m->dim[p->tile[t]] == 1;
    for (int d = 0; d < p->nloops; d++) repeats |= stride[d] == 0 && m->dim[d] > 1;
    /* A panel may be filled with some of its fastest loop's indices only, so that its tiles
     * are runs of memory loop by loop at most. */
    const bool one_run = p->mode != VP__PLAN_PANEL || m->dim[p->tile[1]] == 1;
    if (one_run && is_contiguous(m, p->tile, p->ntile, o))
        operand->reach = VP__REACH_DIRECT;
    else if (uniform)
        operand->reach = VP__REACH_UNIFORM;
    else if (p->ntile == 2 && !one_row && m->extent[p->tile[0]] >= ROWS_MIN &&
             stride[p->tile[0]] == (int64_t)1 << operand->lg)
        operand->reach = VP__REACH_ROWS;
    else
        operand->reach = is_leaf && repeats ? VP__REACH_KEEP : VP__REACH_COPY;
    order_leaf(m, o);
}

/* How many elements of the tile's fastest loop L1 holds when operands are gathered: whole
 * lines come in where they are strided. Shorter turns also keep several streams of memory
 * going at once. */
static int64_t gather_limit(const maker *m, int widest) {
    const vp__plan *p = m->plan;
    const vp__tile_operand *operand = vp__plan_operand(p);
    int64_t bytes = p->nvarying * (int64_t)widest;
    bool strided = false;
    for (int o = 0; o + 1 < p->noperands; o++) {
        const int64_t stride = vp__plan_strides(p, o)[p->tile[0]];
        const int64_t apart = stride < 0 ? -stride : stride;
        bytes += min64(apart, 64);
        strided |= operand[o].reach == VP__REACH_COPY && apart > (int64_t)1
                                                                     << operand[o].lg;
    }
    return strided ? L1_BUDGET / bytes : INT64_MAX;
}

/* The tile, how operands are reached in it, and the body's actions, for a block buffer of
 * buffer_bytes. */
static void lay_out(maker *m, int widest, int64_t elements) {
    vp__plan *p = m->plan;
    m->elements = elements;
    m->uniform_elements = min64(p->buffer_bytes, VP__UNIFORM_BYTES) / widest;
    p->ntile = 0;
    p->has_rows = p->has_keep = 0;
    for (int d = 0; d < p->nloops; d++) m->extent[d] = 1;
    if (p->mode == VP__PLAN_MAP || p->mode == VP__PLAN_COPY) {
        tile_map(m);
    } else if (p->mode == VP__PLAN_FOLDS) {
        tile_folds(m);
    } else {
        const vp__space_loop *kept = m->loops->kept[p->nkept - 1];
        const vp__space_loop *reduced = m->loops->reduced[0];
        for (int i = 1; i < m->loops->nreduced; i++)
            if (m->loops->reduced[i]->reading < reduced->reading)
                reduced = m->loops->reduced[i];
        if (kept->reading < reduced->reading && kept->dim >= COLS_MIN)
            tile_cols(m);
        else
            tile_rows(m);
    }
    p->nout = 0;
    for (int t = 0; t < p->ntile; t++)
        if (p->tile[t] < p->nkept) p->out_loop[p->nout++] = p->tile[t];
    const int out = p->noperands - 1;
    if (p->mode == VP__PLAN_COPY) {
        /* One copy from leaf to output: its order is kept with the output. */
        vp__tile_operand *operand = &vp__plan_operand(p)[out];
        int64_t src[VP__TILE_LOOPS], dst[VP__TILE_LOOPS];
        for (int t = 0; t < p->ntile; t++) {
            src[t] = p->from_constant ? 0 : vp__plan_strides(p, 0)[p->tile[t]];
            dst[t] = vp__plan_strides(p, out)[p->tile[t]];
        }
        order_copy(m, operand, src, dst);
        p->nbuffers = 0;
        return;
    }
    for (int o = 0; o < p->noperands; o++)
        if (o < out || p->mode == VP__PLAN_MAP) reach(m, o);
    p->out_direct = is_contiguous(m, p->out_loop, p->nout, out);
    if (!p->native) {
        p->code = vp__plan_native_body(p, m->kernel, m->cost, m->repeats);
        p->body = p->code.fn;
    }
    vp__plan_body(p, m->kernel);
}

/* Lays the tile out with blocks of at most `most` elements, and as small as all of them need to be;
 * native code for the body, which needs fewer, may come or go from one try to the next. */
static void lay_out_fitting(maker *m, int widest, int64_t most) {
    vp__plan *p = m->plan;
    for (;; p->buffer_bytes /= 2) {
        lay_out(m, widest, min64(p->buffer_bytes / widest, most));
        if (p->nbuffers * (int64_t)p->buffer_bytes <= VP__BUFFERS_BYTES) return;
    }
}

/* Cuts the tiles into pieces. */
static void cut(maker *m, int64_t piece_elements) {
    vp__plan *p = m->plan;
    const bool reduces = p->mode > VP__PLAN_MAP;
    piece_elements = max64(piece_elements, 1);
    if (p->nbuffers == 0) {
        /* Nothing needs to stay in L1, so larger tiles save calls. */
        const int slowest = p->tile[p->ntile - 1];
        int64_t others = 1;
        for (int t = 0; t + 1 < p->ntile; t++) others *= m->extent[p->tile[t]];
        const int64_t fits = min64(BIG_TILE, piece_elements) / others;
        if ((p->mode == VP__PLAN_MAP || p->mode == VP__PLAN_COPY) &&
            fits > m->extent[slowest])
            m->extent[slowest] = min64(m->dim[slowest], fits);
        /* Only a reduction that may be decided early has to look up now and then. */
        if (p->mode == VP__PLAN_ROW_CHUNKS && p->ntile == 1)
            m->extent[slowest] =
                p->stop == VP__NONE ? max64(m->dim[slowest], 1) : 16 * VP__REDUCE_CHUNK;
    }
    p->tile_elements = p->tile_outputs = p->tiles = 1;
    for (int t = 0; t < p->ntile; t++) p->tile_elements *= m->extent[p->tile[t]];
    p->uniform_elements = min64(p->tile_elements, m->uniform_elements);
    for (int i = 0; i < p->nout; i++) p->tile_outputs *= m->extent[p->out_loop[i]];
    for (int d = 0; d < p->nkept; d++)
        p->tiles *= (m->dim[d] + m->extent[d] - 1) / m->extent[d];
    const int64_t elements = p->tile_outputs * p->numbers;
    p->range = 0;
    p->ranges = 1;
    if (reduces) {
        const int64_t each = p->reduce->lanes * (int64_t)p->reduce->state_size;
        p->state_bytes = (p->tile_outputs * each + 63) / 64 * 64;
    }
    if (p->mode >= VP__PLAN_ROW_CHUNKS && elements / 2 >= piece_elements) {
        int64_t range = power_of_two_below(max64(piece_elements / p->tile_outputs, 1));
        range = max64(range, p->mode == VP__PLAN_COL_CHUNKS ? LEAST_ROWS : LEAST_RANGE);
        /* The rows of a panel that two pieces share are evaluated twice. */
        while (p->mode == VP__PLAN_PANEL && range < 8 * p->panel_pitch) range *= 2;
        if (range < p->numbers) {
            p->range = range;
            p->ranges = (p->numbers + range - 1) / range;
            p->pieces = p->tiles * p->ranges;
            return;
        }
    }
    p->piece_tiles = max64(piece_elements / max64(elements, 1), 1);
    p->pieces = (p->tiles + p->piece_tiles - 1) / p->piece_tiles;
}

/* The value of a reduction of nothing, in the result's own bits. */
static void neutral_value(const vp__kernel *k, uint64_t *bits) {
    bits[0] = bits[1] = 0;
    if (k->reduce != VP__OP_prod && k->reduce != VP__OP_all) return;
    const float one_f32 = 1;
    const double one_f64 = 1;
    switch ((vp_dtype)k->result) {
    case VP_F32:
    case VP_C64: memcpy(bits, &one_f32, sizeof one_f32); break;
    case VP_F64:
    case VP_C128: memcpy(bits, &one_f64, sizeof one_f64); break;
    default: *(uint8_t *)bits = 1; break;
    }
}

static size_t align8(size_t n) { return (n + 7) & ~(size_t)7; }

/* Where the arrays behind a plan lie; returns its size. `p` may be NULL. */
static size_t lay_out_arrays(vp__plan *p, int noperands, int nloops, int nleaves,
                             int nconstants, int ninstrs) {
    size_t at = 0;
    uint16_t none;
#define ARRAY(name, bytes)                                                               \
    *(p != NULL ? &p->at_##name : &none) = (uint16_t)at;                                 \
    at = align8(at + (size_t)(bytes));
    ARRAY(dim, nloops * 8)
    ARRAY(extent, nloops * 8)
    ARRAY(stride, noperands * nloops * 8)
    ARRAY(shift, noperands * 8)
    ARRAY(constant, nconstants * (int)sizeof(vp__tile_constant))
    ARRAY(actions, (nleaves + ninstrs + 1) * (int)sizeof(vp__tile_action))
    ARRAY(operand, noperands * (int)sizeof(vp__tile_operand))
    ARRAY(value, (nleaves + ninstrs) * (int)sizeof(vp__tile_value))
#undef ARRAY
    return sizeof(vp__plan) + at;
}

size_t vp__plan_size(void) {
    return lay_out_arrays(NULL, VP__OPERANDS, VP__MAXDIM + 1, VP__KERNEL_LEAVES,
                          VP__KERNEL_LEAVES, VP__KERNEL_INSTRS);
}

size_t vp__plan_size_for(const vp__exec_args *args) {
    const vp__kernel *k = args->kernel;
    int arrays = 0;
    for (int i = 0; i < k->nleaves; i++) arrays += args->leaf_strides[i] != NULL;
    const int nconstants = k->nleaves - arrays + 1; /* or the neutral value */
    return lay_out_arrays(NULL, arrays + 1, args->ndim + 2, k->nleaves, nconstants,
                          k->ninstrs);
}

static void fill_loops(maker *m) {
    vp__plan *p = m->plan;
    const vp__space *l = m->loops;
    int64_t *stride = vp__plan_stride(p);
    for (int d = 0; d < p->nloops; d++) {
        const vp__space_loop *loop = d < p->nkept ? l->kept[d] : l->reduced[d - p->nkept];
        m->dim[d] = loop->dim;
        for (int o = 0; o < p->noperands; o++)
            stride[o * p->nloops + d] = loop->stride[o];
    }
}

__attribute__((noinline)) void vp__plan_init(vp__plan *p, const vp__exec_args *args,
                                             int64_t piece_elements) {
    vp__plan_init_for(p, vp__kernels_get(), args, piece_elements);
}

void vp__plan_init_for(vp__plan *p, const vp__kernels *kernels, const vp__exec_args *args,
                       int64_t piece_elements) {
    const vp__kernel *k = args->kernel;
    p->kernels = kernels;
    p->native = p->body = NULL;
    p->code = (vp__code){0};
    p->reduce = k->reduce >= 0 ? &p->kernels->reduce[k->reduce][k->reduce_type] : NULL;
    /* Positions are numbers, so those two keep the order of their axes. */
    const bool free_order = p->reduce != NULL && p->reduce->extend != NULL &&
                            k->reduce != VP__OP_argmin && k->reduce != VP__OP_argmax &&
                            vp__dtype[k->reduce_type].cls != VP__CLASS_C;
    vp__space loops;
    vp__space_init(&loops, args, free_order);
    p->range = 0;
    p->ranges = 1;
    if (loops.outputs == 0) {
        p->mode = VP__PLAN_EMPTY;
        p->pieces = 0;
        return;
    }
    p->numbers = loops.numbers;
    const bool neutral = loops.numbers == 0;
    maker m = {.plan = p,
               .kernel = k,
               .loops = &loops,
               .bare = k->ninstrs == 0,
               .cost = args->cost,
               .repeats = args->repeats};
    const int nleaves = neutral ? 0 : k->nleaves,
              noperands = neutral ? 1 : loops.noperands;
    p->nconstants = (uint8_t)(neutral ? 1 : nleaves - (noperands - 1));
    p->nkept = (uint8_t)loops.nkept;
    p->nloops = (uint8_t)(loops.nkept + loops.nreduced);
    p->noperands = (uint8_t)noperands;
    p->nleaves = (uint8_t)nleaves;
    p->nvalues = (uint8_t)(nleaves + (neutral ? 0 : k->ninstrs));
    p->result = (uint8_t)(p->nvalues > nleaves ? p->nvalues - 1 : 0);
    p->mode = neutral || (m.bare && k->reduce < 0) ? VP__PLAN_COPY : VP__PLAN_MAP;
    if (k->reduce >= 0 && !neutral) p->mode = VP__PLAN_ROWS;
    p->bare = m.bare && !k->leaf[0].constant;
    p->from_constant = neutral || k->leaf[0].constant;
    p->out_lg = (uint8_t)vp__log2_size(vp__dtype[k->result].size);
    p->in_lg = k->reduce < 0 ? p->out_lg
                             : (uint8_t)vp__log2_size(vp__dtype[k->reduce_type].size);
    p->stop = k->reduce == VP__OP_any ? 1 : k->reduce == VP__OP_all ? 0 : VP__NONE;
    p->buffer_bytes = VP__BUFFER_BYTES;
    lay_out_arrays(p, noperands, p->nloops, nleaves, p->nconstants, k->ninstrs);

    m.dim = vp__plan_dim(p);
    m.extent = vp__plan_extent(p);
    vp__tile_operand *operand = vp__plan_operand(p);
    vp__tile_constant *constant = vp__plan_constant(p);
    int64_t *shift = vp__plan_shift(p);
    int o = 0, widest = 1 << p->out_lg;
    for (int i = 0; i < nleaves; i++) {
        const int size = vp__dtype[k->leaf[i].dtype].size;
        if (size > widest) widest = size;
        if (args->leaf_strides[i] == NULL) {
            constant->value = (uint64_t)i;
            memcpy(constant->bits, &k->leaf[i].value, 16);
            constant++;
            continue;
        }
        operand[o].value = (uint8_t)i;
        operand[o].lg = (uint8_t)vp__log2_size(size);
        shift[o] = loops.shift[o];
        o++;
    }
    for (int i = 0; i < k->ninstrs; i++) {
        const int size = vp__dtype[k->instr[i].result].size;
        if (size > widest) widest = size;
    }
    operand[o].value = VP__NONE;
    operand[o].lg = p->out_lg;
    shift[o] = loops.shift[loops.noperands - 1];
    if (neutral) {
        /* No leaf is looked at; the output is the only operand. */
        neutral_value(k, constant->bits);
        for (int d = 0; d < loops.nkept; d++)
            loops.kept[d]->stride[0] = loops.kept[d]->stride[loops.noperands - 1];
    }
    fill_loops(&m);
    m.turned = p->mode <= VP__PLAN_MAP ? find_turned(&m) : -1;
    if (m.turned < 0 && !neutral && vp__plan_direct(p, args, &loops, piece_elements))
        return;
    if (m.turned >= 0) p->buffer_bytes = TURNED_BYTES;
    lay_out_fitting(&m, widest, MOST_ELEMENTS);
    if (p->mode == VP__PLAN_MAP && m.turned < 0) {
        const int64_t limit = gather_limit(&m, widest);
        if (limit < m.elements) lay_out_fitting(&m, widest, max64(limit, LEAST_ELEMENTS));
    }
    cut(&m, piece_elements);
    p->piece_elements = loops.outputs * loops.numbers / max64(p->pieces, 1) + 1;
}

vp__stage vp__plan_stage(const vp__plan *p) {
    return p->pieces > 0 && p->code.fn ? (vp__stage)p->code.stage : VP__STAGE_BASE;
}

int64_t vp__plan_pieces(const vp__plan *p) { return p->pieces; }

size_t vp__plan_partial_bytes(const vp__plan *p) {
    return p->range > 0 ? (size_t)(p->pieces * p->state_bytes) : 0;
}
