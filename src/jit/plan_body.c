/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of a kernel as a list of actions, and running it on one tile. An action works on
 * the whole tile, or row by row where an operand is contiguous in rows only. What does
 * not vary inside a tile is computed on one element and stored into a block only when a
 * varying action wants it; what repeats from tile to tile is computed again only when it
 * changed. Both leave bits alone, because an element's result depends on that element's
 * operands only.
 *
 * Block buffers are given out by liveness: a value takes the buffer of an argument that
 * dies with it when the element sizes agree, else a free one.
 */
#include <string.h>

#include "jit/plan_parts.h"

typedef enum { VARYING, KEPT, UNIFORM } variance;

typedef struct {
    vp__plan *plan;
    const vp__kernel *kernel;
    vp__tile_action *next;
    uint8_t kind[VP__VALUES]; /* variance */
    uint8_t last[VP__VALUES]; /* the last instruction that uses it, plus one */
    bool spread[VP__VALUES];  /* uniform, but wanted as a block */
    bool loaded[VP__KERNEL_LEAVES];
    uint8_t operand[VP__KERNEL_LEAVES];
    uint8_t free[VP__VALUES];
    int nfree;
} builder;

static int arity_of(const vp__instr *in) {
    return in->op == VP__OP_CAST ? 1 : vp__ops[in->op].arity;
}

static uint8_t take_buffer(builder *b) {
    if (b->nfree > 0) return b->free[--b->nfree];
    return b->plan->nbuffers++;
}

static void give_buffer(builder *b, uint8_t buffer) { b->free[b->nfree++] = buffer; }

static bool is_dying(const builder *b, int v, int instr) {
    return b->last[v] == instr + 1 && b->kind[v] == VARYING &&
           vp__plan_value(b->plan)[v].buffer != VP__NONE;
}

/* Decides what varies, what is used when, and what must be spread into a block. */
static void classify(builder *b) {
    const vp__kernel *k = b->kernel;
    vp__plan *p = b->plan;
    const vp__tile_operand *operand = vp__plan_operand(p);
    memset(b->operand, VP__NONE, (size_t)k->nleaves);
    for (int o = 0; o + 1 < p->noperands; o++) b->operand[operand[o].value] = (uint8_t)o;
    for (int v = 0; v < k->nleaves; v++) {
        const uint8_t o = b->operand[v];
        const int reach = o == VP__NONE ? VP__REACH_UNIFORM : operand[o].reach;
        b->kind[v] = reach == VP__REACH_UNIFORM ? UNIFORM
                     : reach == VP__REACH_KEEP  ? KEPT
                                                : VARYING;
        b->last[v] = 0;
        b->spread[v] = false;
        b->loaded[v] = false;
    }
    for (int i = 0; i < k->ninstrs; i++) {
        const vp__instr *in = &k->instr[i];
        const int v = k->nleaves + i, n = arity_of(in);
        uint8_t kind = UNIFORM;
        for (int a = 0; a < n; a++) {
            if (b->kind[in->arg[a]] < kind) kind = b->kind[in->arg[a]];
            b->last[in->arg[a]] = (uint8_t)(i + 1);
        }
        if (i == k->ninstrs - 1) kind = VARYING;
        b->kind[v] = kind;
        b->last[v] = 0;
        b->spread[v] = false;
        if (kind == UNIFORM) continue;
        for (int a = 0; a < n; a++)
            b->spread[in->arg[a]] = b->kind[in->arg[a]] == UNIFORM;
    }
    if (k->ninstrs == 0) b->spread[0] = b->kind[0] == UNIFORM;
}

static void add_load(builder *b, int v) {
    vp__plan *p = b->plan;
    vp__tile_value *value = &vp__plan_value(p)[v];
    const uint8_t o = b->operand[v];
    b->loaded[v] = true;
    if (o == VP__NONE) return; /* a constant is there from the start */
    vp__tile_action *s = b->next++;
    s->out = (uint8_t)v;
    s->operand = o;
    switch ((vp__tile_reach)vp__plan_operand(p)[o].reach) {
    case VP__REACH_DIRECT: s->kind = VP__ACTION_DIRECT; break;
    case VP__REACH_ROWS:
        s->kind = VP__ACTION_DIRECT;
        value->rows = o;
        p->has_rows = 1;
        break;
    case VP__REACH_COPY: s->kind = VP__ACTION_COPY; break;
    case VP__REACH_KEEP:
        s->kind = VP__ACTION_KEEP;
        p->has_keep = 1;
        break;
    case VP__REACH_UNIFORM: s->kind = VP__ACTION_UNIFORM; break;
    case VP__REACH_RANGE: s->kind = VP__ACTION_RANGE; break;
    }
    if (s->kind == VP__ACTION_COPY || s->kind == VP__ACTION_RANGE)
        value->buffer = take_buffer(b);
}

/* Gives the value of instruction i its buffer. */
static void give_result_buffer(builder *b, int i) {
    const vp__kernel *k = b->kernel;
    const vp__instr *in = &k->instr[i];
    vp__plan *p = b->plan;
    const int v = k->nleaves + i, n = arity_of(in);
    vp__tile_value *value = vp__plan_value(p);
    if (b->kind[v] != VARYING) return; /* kept ones have theirs, uniform ones need none */
    if (i == k->ninstrs - 1 && p->mode == VP__PLAN_MAP) {
        const uint8_t reach = vp__plan_operand(p)[p->noperands - 1].reach;
        if (reach == VP__REACH_ROWS) {
            value[v].rows = (uint8_t)(p->noperands - 1);
            p->has_rows = 1;
        }
        if (reach != VP__REACH_COPY) return; /* straight into the output */
    }
    for (int a = 0; a < n; a++) {
        const int arg = in->arg[a];
        if (is_dying(b, arg, i) && value[arg].lg == value[v].lg) {
            value[v].buffer = value[arg].buffer;
            return;
        }
    }
    value[v].buffer = take_buffer(b);
}

static void add_instr(builder *b, int i) {
    const vp__kernel *k = b->kernel;
    const vp__instr *in = &k->instr[i];
    vp__plan *p = b->plan;
    vp__tile_value *value = vp__plan_value(p);
    const int v = k->nleaves + i, n = arity_of(in);
    for (int a = 0; a < n; a++)
        if (in->arg[a] < k->nleaves && !b->loaded[in->arg[a]]) add_load(b, in->arg[a]);
    give_result_buffer(b, i);
    for (int a = 0; a < n; a++) {
        const int arg = in->arg[a];
        if (!is_dying(b, arg, i)) continue;
        if (value[arg].buffer != value[v].buffer) give_buffer(b, value[arg].buffer);
        b->last[arg] = 0; /* once, though it may be an argument twice */
    }
    vp__tile_action *s = b->next++;
    s->is_cast = in->op == VP__OP_CAST;
    if (s->is_cast)
        s->fn.cast = p->kernels->cast[in->type][in->result];
    else
        s->fn.op = p->kernels->op[in->op][in->type];
    s->out = (uint8_t)v;
    bool rows = value[v].rows != VP__NONE;
    s->has_uniform = 0;
    for (int a = 0; a < 3; a++) {
        s->arg[a] = in->arg[a < n ? a : 0];
        rows |= value[s->arg[a]].rows != VP__NONE;
        s->has_uniform |= value[s->arg[a]].uniform;
    }
    s->kind = b->kind[v] == UNIFORM ? VP__ACTION_OP_UNIFORM
              : b->kind[v] == KEPT  ? VP__ACTION_OP_KEEP
              : rows                ? VP__ACTION_OP_ROWS
                                    : VP__ACTION_OP;
}

/* With native code: every leaf is loaded, and all of them are there at once. */
static void load_leaves(builder *b) {
    const vp__kernel *k = b->kernel;
    vp__plan *p = b->plan;
    vp__tile_value *value = &vp__plan_value(p)[p->result];
    for (int v = 0; v < k->nleaves; v++) add_load(b, v);
    const uint8_t reach = vp__plan_operand(p)[p->noperands - 1].reach;
    if (p->mode == VP__PLAN_MAP && reach == VP__REACH_ROWS) {
        value->rows = (uint8_t)(p->noperands - 1);
        p->has_rows = 1;
    }
    if (p->mode != VP__PLAN_MAP || reach == VP__REACH_COPY)
        value->buffer = take_buffer(b);
}

void vp__plan_body(vp__plan *p, const vp__kernel *k) {
    builder b;
    b.plan = p;
    b.kernel = k;
    b.next = vp__plan_actions(p);
    b.nfree = 0;
    p->nbuffers = 0;
    classify(&b);
    vp__tile_value *value = vp__plan_value(p);
    for (int v = 0; v < p->nvalues; v++) {
        const int type =
            v < k->nleaves ? k->leaf[v].dtype : k->instr[v - k->nleaves].result;
        value[v].lg = (uint8_t)vp__log2_size(vp__dtype[type].size);
        value[v].uniform = b.kind[v] == UNIFORM;
        value[v].rows = VP__NONE;
        /* Kept blocks and spread ones live as long as the run. */
        const bool stays = p->body ? b.kind[v] == KEPT && v < k->nleaves
                                   : b.kind[v] == KEPT || b.spread[v];
        value[v].buffer = stays ? p->nbuffers++ : VP__NONE;
    }
    const int kept = p->nbuffers;
    if (p->mode == VP__PLAN_MAP &&
        vp__plan_operand(p)[p->noperands - 1].reach != VP__REACH_COPY) {
        vp__tile_action *s = b.next++;
        s->kind = VP__ACTION_DIRECT;
        s->out = p->result;
        s->operand = (uint8_t)(p->noperands - 1);
    }
    if (p->body) {
        load_leaves(&b);
    } else {
        if (k->ninstrs == 0) add_load(&b, 0);
        for (int i = 0; i < k->ninstrs; i++) add_instr(&b, i);
    }
    p->nactions = (uint8_t)(b.next - vp__plan_actions(p));
    p->nvarying = (uint8_t)(p->nbuffers - kept);
}

/* Fills the block of a uniform value, where a varying action wants one. The body's
 * result is wanted whole. */
static void spread(vp__run *r, const vp__tile_value *value, int v) {
    const vp__plan *p = r->plan;
    if (value[v].buffer == VP__NONE) return;
    const int64_t n = v == p->result ? p->tile_elements : p->uniform_elements;
    p->kernels->fill[value[v].lg](r->ptr[v], r->uniform[v], n);
}

void vp__run_init(vp__run *r, const vp__plan *p, void *const *leaf_data, void *out,
                  void *scratch) {
    r->plan = p;
    r->dim = vp__plan_dim(p);
    r->extent = vp__plan_extent(p);
    r->buffers = scratch;
    r->states = r->buffers + VP__BUFFERS_BYTES;
    r->results = r->states + VP__STATES_BYTES;
    r->panel = r->results + VP__RESULTS_BYTES;
    const vp__tile_operand *operand = vp__plan_operand(p);
    const int64_t *shift = vp__plan_shift(p);
    r->walked = leaf_data == NULL ? p->noperands - 1 : 0;
    for (int o = r->walked; o < p->noperands; o++) {
        char *data = o == p->noperands - 1 ? out : leaf_data[operand[o].value];
        r->base[o] = data + shift[o];
        r->last[o] = NULL;
    }
    if (p->mode == VP__PLAN_DIRECT) return;
    for (int t = 0; t < p->ntile; t++) r->kept[t] = -1;
    r->first = true;
    if (p->mode == VP__PLAN_COPY || leaf_data == NULL) return; /* no body will run */
    const vp__tile_value *value = vp__plan_value(p);
    for (int v = 0; v < p->nvalues; v++)
        if (value[v].buffer != VP__NONE)
            r->ptr[v] = r->buffers + value[v].buffer * (int64_t)p->buffer_bytes;
    const vp__tile_constant *constant = vp__plan_constant(p);
    for (int c = 0; c < p->nconstants; c++) {
        const int v = (int)constant[c].value;
        memcpy(r->uniform[v], constant[c].bits, 16);
        r->changed[v] = true;
        spread(r, value, v);
    }
}

/* Sets the tile's shape as rows, and says whether kept blocks still have it: the same but
 * for the slowest loop, which may have become shorter. */
static bool shape_tile(vp__run *r, const vp__tile_value *value) {
    const vp__plan *p = r->plan;
    const int64_t width = r->count[p->tile[0]];
    int64_t height = 1;
    for (int t = 1; t < p->ntile; t++) height *= r->count[p->tile[t]];
    if (p->has_rows && (r->first || width != r->width)) {
        for (int v = 0; v < p->nvalues; v++)
            r->row[v] = value[v].uniform ? 0
                        : value[v].rows == VP__NONE
                            ? width << value[v].lg
                            : vp__plan_strides(p, value[v].rows)[p->tile[1]];
    }
    r->width = width;
    r->height = height;
    if (!p->has_keep) return true;
    bool same = true;
    for (int t = 0; t < p->ntile; t++) {
        const int64_t n = r->count[p->tile[t]];
        same &= t == p->ntile - 1 ? n <= r->kept[t] : n == r->kept[t];
    }
    if (!same)
        for (int t = 0; t < p->ntile; t++) r->kept[t] = r->count[p->tile[t]];
    return same;
}

static void gather(vp__run *r, const vp__tile_action *s, int lg) {
    const vp__plan *p = r->plan;
    const int64_t *stride = vp__plan_strides(p, s->operand);
    int64_t to[VP__TILE_LOOPS], from[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    int64_t pitch = (int64_t)1 << lg;
    for (int t = 0; t < p->ntile; t++) {
        count[t] = r->count[p->tile[t]];
        from[t] = stride[p->tile[t]];
        to[t] = pitch;
        pitch *= count[t];
    }
    vp__copy_tile(p->kernels, lg, r->ptr[s->out], to, r->at[s->operand], from, count,
                  vp__plan_operand(p)[s->operand].order, p->ntile);
}

/* Calls the action's kernel for n elements. A uniform argument has a short block only, so
 * longer spans are cut to its length. */
static inline void call(const vp__tile_action *s, char *out, const char *a, const char *b,
                        const char *c, int64_t n) {
    if (s->is_cast)
        s->fn.cast(out, a, n);
    else
        s->fn.op(out, a, b, c, n);
}

static void call_span(const vp__run *r, const vp__tile_action *s, char *out,
                      const char *a, const char *b, const char *c, int64_t n) {
    const int64_t most = r->plan->uniform_elements;
    if (!s->has_uniform || n <= most) {
        call(s, out, a, b, c, n);
        return;
    }
    const vp__tile_value *value = vp__plan_value(r->plan);
    const int64_t o = most << value[s->out].lg;
    int64_t move[3];
    for (int i = 0; i < 3; i++)
        move[i] = value[s->arg[i]].uniform ? 0 : most << value[s->arg[i]].lg;
    for (; n > most; n -= most, out += o, a += move[0], b += move[1], c += move[2])
        call(s, out, a, b, c, most);
    call(s, out, a, b, c, n);
}

static void run_rows(const vp__run *r, const vp__tile_action *s) {
    char *out = r->ptr[s->out];
    const char *a = r->ptr[s->arg[0]], *b = r->ptr[s->arg[1]], *c = r->ptr[s->arg[2]];
    const int64_t o = r->row[s->out], i = r->row[s->arg[0]], j = r->row[s->arg[1]],
                  k = r->row[s->arg[2]];
    for (int64_t y = 0; y < r->height; y++, out += o, a += i, b += j, c += k)
        call_span(r, s, out, a, b, c, r->width);
}

static void run_whole(const vp__run *r, const vp__tile_action *s) {
    call_span(r, s, r->ptr[s->out], r->ptr[s->arg[0]], r->ptr[s->arg[1]],
              r->ptr[s->arg[2]], r->width * r->height);
}

static bool is_changed(const vp__run *r, const vp__tile_action *s) {
    return r->changed[s->arg[0]] | r->changed[s->arg[1]] | r->changed[s->arg[2]];
}

void vp__run_body(vp__run *r) {
    const vp__plan *p = r->plan;
    const vp__tile_value *value = vp__plan_value(p);
    const bool same = shape_tile(r, value);
    const vp__tile_action *s = vp__plan_actions(p);
    for (const vp__tile_action *end = s + p->nactions; s < end; s++) {
        const int v = s->out;
        switch ((vp__tile_action_kind)s->kind) {
        case VP__ACTION_DIRECT: r->ptr[v] = r->at[s->operand]; break;
        case VP__ACTION_COPY: gather(r, s, value[v].lg); break;
        case VP__ACTION_KEEP:
            r->changed[v] = !same || r->last[s->operand] != r->at[s->operand];
            if (!r->changed[v]) break;
            r->last[s->operand] = r->at[s->operand];
            gather(r, s, value[v].lg);
            break;
        case VP__ACTION_RANGE:
            vp__copy_range(p->kernels, value[v].lg, r->ptr[v], r->at[s->operand],
                           r->dim + p->nkept, vp__plan_strides(p, s->operand) + p->nkept,
                           p->nloops - p->nkept, r->number, r->width);
            break;
        case VP__ACTION_UNIFORM:
            r->changed[v] = r->last[s->operand] != r->at[s->operand];
            if (!r->changed[v]) break;
            r->last[s->operand] = r->at[s->operand];
            memcpy(r->uniform[v], r->at[s->operand], (size_t)1 << value[v].lg);
            spread(r, value, v);
            break;
        case VP__ACTION_OP: run_whole(r, s); break;
        case VP__ACTION_OP_ROWS: run_rows(r, s); break;
        case VP__ACTION_OP_KEEP:
            r->changed[v] = is_changed(r, s);
            if (r->changed[v]) run_whole(r, s);
            break;
        case VP__ACTION_OP_UNIFORM:
            r->changed[v] = is_changed(r, s);
            if (!r->changed[v]) break;
            if (s->is_cast)
                s->fn.cast(r->uniform[v], r->uniform[s->arg[0]], 1);
            else
                s->fn.op(r->uniform[v], r->uniform[s->arg[0]], r->uniform[s->arg[1]],
                         r->uniform[s->arg[2]], 1);
            spread(r, value, v);
            break;
        }
    }
    if (p->body) vp__run_native_body(r);
    if (r->first) {
        const vp__tile_constant *constant = vp__plan_constant(p);
        for (int c = 0; c < p->nconstants; c++) r->changed[constant[c].value] = false;
        r->first = false;
    }
}
