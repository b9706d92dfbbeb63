/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans that native code runs right on its operands, without tiles that are gathered,
 * computed and stored. A kernel fits when the loop that vectors run along is contiguous,
 * or has stride zero, in every operand, or takes every other element of a leaf; three loops
 * go into one call, the others are walked. Everything else is planned for the base kernels.
 */
#include <string.h>

#include "jit/native.h"
#include "jit/plan_parts.h"

enum {
    LEAST_X = 8, /* elements along x that make a loop along it worth while */
    LEAST_REDUCED = 16,
    COLS_MIN = 16,
    LEAST_FOLD = 16, /* numbers in a run that make a call for it worth while */
    CUT_X = 512,     /* pieces along x start at multiples of this */
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Which loops run along x, y and z; VP__NONE where there is none. */
typedef struct {
    uint8_t kind;
    uint8_t x, y, z;
} nest;

static uint8_t loop_or_none(int d) { return (uint8_t)(d >= 0 ? d : VP__NONE); }

static bool is_handled(const vp__kernel *k) {
    return (k->reduce == VP__OP_sum || k->reduce == VP__OP_prod ||
            k->reduce == VP__OP_min || k->reduce == VP__OP_max) &&
           vp__dtype[k->reduce_type].cls != VP__CLASS_C && k->reduce_type != VP_BOOL &&
           k->result == k->reduce_type;
}

bool vp__plan_may_go_native(const vp__kernel *k) {
    return k->ninstrs > 0 || is_handled(k);
}

/* The base kernels read the extreme of contiguous floats as fast as memory gives them, and
 * look for NaN beside that. */
static bool is_extreme_alone(const vp__plan *p, const vp__kernel *k) {
    return p->bare && (k->reduce == VP__OP_min || k->reduce == VP__OP_max) &&
           vp__dtype[k->reduce_type].cls == VP__CLASS_F;
}

/* Several reduced loops, of which memory walks the last one fastest: native code folds runs
 * of it. */
static bool find_folds(const vp__plan *p, const vp__space *l, nest *n) {
    const int kept = p->nkept - 1, last = p->nloops - 1;
    const int64_t reading = l->reduced[last - p->nkept]->reading;
    for (int i = 0; i < l->nreduced; i++)
        if (l->reduced[i]->reading < reading) return false;
    *n = (nest){VP__LOOPS_FOLD, (uint8_t)last, (uint8_t)kept, VP__NONE};
    const int64_t *dim = vp__plan_dim(p);
    return dim[last] >= LEAST_FOLD &&
           (l->kept[kept]->reading >= reading || dim[kept] < COLS_MIN);
}

static bool find_nest(const vp__plan *p, const vp__kernel *k, const vp__space *l,
                      nest *n) {
    const int kept = p->nkept - 1;
    const int64_t *dim = vp__plan_dim(p);
    if (k->reduce < 0) {
        *n = (nest){VP__LOOPS_MAP, (uint8_t)kept, loop_or_none(kept - 1),
                    loop_or_none(kept - 2)};
        return kept == 0 || dim[kept] >= LEAST_X;
    }
    if (!is_handled(k)) return false;
    if (l->nreduced > 1) return find_folds(p, l, n);
    const bool tree = vp__dtype[k->reduce_type].cls == VP__CLASS_F;
    if (l->kept[kept]->reading < l->reduced[0]->reading && dim[kept] >= COLS_MIN) {
        *n = (nest){VP__LOOPS_COLS, (uint8_t)kept, p->nkept, loop_or_none(kept - 1)};
        if (tree) n->kind = VP__LOOPS_STATE;
        return true;
    }
    *n = (nest){VP__LOOPS_ROWS, p->nkept, loop_or_none(kept), loop_or_none(kept - 1)};
    return p->numbers >= LEAST_REDUCED && !is_extreme_alone(p, k);
}

static int64_t stride_along(const vp__plan *p, int operand, uint8_t loop) {
    return loop == VP__NONE ? 0 : vp__plan_strides(p, operand)[loop];
}

/* Where rows read some runs together, planes of them can do so with the others. */
static void find_read_again(const vp__plan *p, const nest *n, vp__loops *loops) {
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int out = p->noperands - 1;
    const int64_t planes = n->z == VP__NONE ? 1 : vp__plan_dim(p)[n->z];
    if (n->kind != VP__LOOPS_ROWS || planes < 2) return;
    if (!memchr(loops->read, VP__READ_SHARED, (size_t)p->nleaves)) return;
    for (int o = 0; o < out; o++) {
        uint8_t *read = &loops->read[operand[o].value];
        if (*read == VP__READ_RUN && stride_along(p, o, n->z) == 0)
            *read = planes < VP__PLANES ? VP__READ_AGAIN : VP__READ_OFTEN;
    }
}

/* How each leaf is read; false when one does not fit. */
static bool find_reads(const vp__plan *p, const nest *n, vp__loops *loops) {
    const int64_t *dim = vp__plan_dim(p);
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int out = p->noperands - 1;
    loops->kind = n->kind;
    memset(loops->read, VP__READ_PLANE, sizeof loops->read);
    for (int o = 0; o < p->noperands; o++) {
        const int64_t size = (int64_t)1 << operand[o].lg, x = stride_along(p, o, n->x);
        const bool run = x == size || dim[n->x] == 1;
        if (o == out) {
            find_read_again(p, n, loops);
            return run || n->x >= p->nkept;
        }
        const bool other = x == 2 * size;
        if (!run && !other && x != 0) return false;
        const bool fixed = stride_along(p, o, n->y) == 0;
        const bool shared =
            n->kind == VP__LOOPS_ROWS && n->y != VP__NONE && dim[n->y] > 1;
        loops->read[operand[o].value] = other && !run ? VP__READ_OTHER
                                        : !run ? fixed ? VP__READ_PLANE : VP__READ_ROW
                                        : fixed && shared ? VP__READ_SHARED
                                                          : VP__READ_RUN;
    }
    return true;
}

/* Divides the kept loops of the nest into tiles of about `elements`, whole loops of x
 * first. */
static void cut(vp__plan *p, const nest *n, int64_t elements) {
    int64_t *extent = vp__plan_extent(p);
    const int64_t *dim = vp__plan_dim(p);
    for (int d = 0; d < p->nloops; d++) extent[d] = d < p->nkept ? 1 : dim[d];
    int64_t left = max64(elements / (p->numbers > 0 ? p->numbers : 1), 1);
    const uint8_t inwards[] = {n->x, n->y, n->z};
    for (int i = 0; i < 3; i++) {
        const uint8_t d = inwards[i];
        if (d == VP__NONE || d >= p->nkept) continue;
        int64_t most = left;
        if (d == n->x) most = (most + CUT_X - 1) / CUT_X * CUT_X;
        extent[d] = min64(dim[d], max64(most, 1));
        left /= extent[d];
        if (extent[d] < dim[d]) break;
    }
    p->tiles = p->tile_elements = 1;
    for (int d = 0; d < p->nkept; d++) p->tiles *= (dim[d] + extent[d] - 1) / extent[d];
    for (int d = 0; d < p->nloops; d++) p->tile_elements *= extent[d];
    p->piece_tiles = max64(elements / max64(p->tile_elements, 1), 1);
    p->pieces = (p->tiles + p->piece_tiles - 1) / p->piece_tiles;
}

/* What a plan's calls have in common. */
typedef struct {
    vp__plan *plan;
    const vp__kernel *kernel;
    const nest *nest;
    int64_t piece_elements;
    bool whole; /* calls go through all three loops, and write the output itself */
} direct_run;

/* How far the calls go along a loop. */
static int64_t extent_along(const vp__plan *p, uint8_t loop) {
    if (loop == VP__NONE) return 1;
    const int64_t dim = vp__plan_dim(p)[loop];
    return vp__plan_extent(p)[loop] == dim ? dim : VP__UNKNOWN;
}

static bool tell_direct(vp__facts *f, const void *context) {
    const direct_run *run = context;
    vp__plan *p = run->plan;
    const nest *n = run->nest;
    vp__facts_init(f, run->kernel);
    if (run->whole) {
        cut(p, n, run->piece_elements);
        f->word[0] = extent_along(p, n->x);
        f->word[1] = extent_along(p, n->y);
        f->word[2] = extent_along(p, n->z);
    }
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int out = p->noperands - 1;
    for (int o = 0; o < out + run->whole; o++) {
        int64_t *word = vp__facts_of(f, o == out ? p->nleaves : operand[o].value);
        word[0] = stride_along(p, o, n->y);
        word[1] = stride_along(p, o, n->z);
    }
    return true;
}

bool vp__plan_direct(vp__plan *p, const vp__exec_args *args, const vp__space *l,
                     int64_t piece_elements) {
    const vp__kernel *k = args->kernel;
    nest n;
    vp__loops loops;
    if (!vp__native_is_worth(args->cost, args->repeats) || (p->bare && k->reduce < 0))
        return false;
    if (!find_nest(p, k, l, &n) || !find_reads(p, &n, &loops)) return false;
    /* A few long reductions have to be cut along their numbers. */
    const bool chunks = n.kind == VP__LOOPS_ROWS && p->numbers / 2 >= piece_elements;
    if (chunks) loops.kind = VP__LOOPS_CHUNK;
    const bool folds = n.kind == VP__LOOPS_FOLD;
    const bool whole = !chunks && !folds && n.kind != VP__LOOPS_STATE;
    p->code = vp__native_want(k, &loops, args->cost, args->repeats, tell_direct,
                              &(direct_run){p, k, &n, piece_elements, whole});
    p->native = p->code.fn;
    p->nest[0] = n.x;
    p->nest[1] = n.y;
    p->nest[2] = n.z;
    if (p->native && folds) p->mode = VP__PLAN_FOLDS;
    if (!p->native || !whole) return false;
    p->mode = VP__PLAN_DIRECT;
    cut(p, &n, piece_elements);
    p->piece_elements = p->tile_elements * p->piece_tiles;
    return true;
}

/* Tiles have what size they have; only constants are always the same. */
static bool tell_body(vp__facts *f, const void *body) {
    vp__facts_init(f, body);
    return f->constants != 0;
}

vp__code vp__plan_native_body(const vp__plan *p, const vp__kernel *k, double ns,
                              int repeats) {
    if (k->ninstrs < 2 || !vp__native_is_worth(ns, repeats)) return (vp__code){0};
    vp__kernel body = *k;
    body.reduce = -1;
    body.result = k->instr[k->ninstrs - 1].result;
    vp__loops loops = {.kind = VP__LOOPS_MAP};
    memset(loops.read, VP__READ_PLANE, sizeof loops.read);
    const vp__tile_operand *operand = vp__plan_operand(p);
    for (int o = 0; o + 1 < p->noperands; o++)
        if (operand[o].reach != VP__REACH_UNIFORM)
            loops.read[operand[o].value] = VP__READ_RUN;
    return vp__native_want(&body, &loops, ns, repeats, tell_body, &body);
}

void vp__run_native_body(vp__run *r) {
    const vp__plan *p = r->plan;
    const vp__tile_value *value = vp__plan_value(p);
    static const int64_t none[VP__KERNEL_LEAVES + 1];
    char *ptr[VP__KERNEL_LEAVES + 1];
    int64_t row[VP__KERNEL_LEAVES + 1];
    for (int v = 0; v < p->nleaves; v++)
        ptr[v] = value[v].uniform ? (char *)r->uniform[v] : r->ptr[v];
    ptr[p->nleaves] = r->ptr[p->result];
    if (!p->has_rows) {
        p->body(ptr, none, none, r->width * r->height, 1, 1);
        return;
    }
    for (int v = 0; v < p->nleaves; v++) row[v] = r->row[v];
    row[p->nleaves] = r->row[p->result];
    p->body(ptr, row, none, r->width, r->height, 1);
}

/* The arguments of native code. */
typedef struct {
    char *ptr[VP__KERNEL_LEAVES + 1];
    int64_t row[VP__KERNEL_LEAVES + 1], outer[VP__KERNEL_LEAVES + 1];
} call;

static void call_init(call *c, const vp__plan *p) {
    const vp__tile_operand *operand = vp__plan_operand(p);
    vp__tile_constant *constant = vp__plan_constant(p);
    const int out = p->noperands - 1;
    for (int i = 0; i < p->nconstants; i++) {
        const int v = (int)constant[i].value;
        c->ptr[v] = (char *)constant[i].bits;
        c->row[v] = c->outer[v] = 0;
    }
    for (int o = 0; o <= out; o++) {
        const int v = o == out ? p->nleaves : operand[o].value;
        c->row[v] = stride_along(p, o, p->nest[1]);
        c->outer[v] = stride_along(p, o, p->nest[2]);
    }
}

static void call_set_addresses(call *c, const vp__run *r) {
    const vp__plan *p = r->plan;
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int out = p->noperands - 1;
    for (int o = 0; o < out; o++) c->ptr[operand[o].value] = r->at[o];
    c->ptr[p->nleaves] = r->at[out];
}

/* A call whose output is states, a row of them every so many bytes. */
static void call_for_states(const vp__run *r, char *state, int64_t bytes, int64_t x,
                            int64_t y, int64_t z) {
    const vp__plan *p = r->plan;
    call c;
    call_init(&c, p);
    call_set_addresses(&c, r);
    c.ptr[p->nleaves] = state;
    c.row[p->nleaves] = bytes;
    p->native(c.ptr, c.row, c.outer, x, y, z);
}

void vp__run_state(vp__run *r, char *state, int64_t first, int64_t rows, int64_t cols) {
    call_for_states(r, state, cols << r->plan->in_lg, cols, rows, first);
}

void vp__run_chunk(vp__run *r, char *state, int64_t state_bytes, int64_t n,
                   int64_t outputs) {
    call_for_states(r, state, state_bytes, n, outputs, 1);
}

void vp__run_fold(vp__run *r, char *state, int64_t first, int64_t n, int64_t outputs) {
    const vp__reduce_kernel *reduce = r->plan->reduce;
    call_for_states(r, state, reduce->lanes * (int64_t)reduce->state_size, n, outputs,
                    first);
}

void vp__run_direct(vp__run *r, int64_t piece) {
    const vp__plan *p = r->plan;
    call c;
    int64_t count[3];
    call_init(&c, p);
    const int64_t first = piece * p->piece_tiles;
    int64_t tiles = min64(p->tiles - first, p->piece_tiles);
    for (int d = p->nkept; d < p->nloops; d++) r->count[d] = r->dim[d];
    for (vp__run_seek(r, first);; vp__run_next(r)) {
        call_set_addresses(&c, r);
        for (int i = 0; i < 3; i++)
            count[i] = p->nest[i] == VP__NONE ? 1 : r->count[p->nest[i]];
        p->native(c.ptr, c.row, c.outer, count[0], count[1], count[2]);
        if (--tiles == 0) return;
    }
}
