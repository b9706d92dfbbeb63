/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/cut.h"

#include <string.h>

#include "array/shape.h"
#include "net/cost.h"

static uint8_t last_reduction(const vp__segment *seg) {
    int i = seg->nterms - 1;
    while (seg->term[i].kind != VP__EXPR_REDUCE) i--;
    return (uint8_t)i;
}

typedef struct {
    vp__segment *seg;
    vp__expr **leaves;
    uint64_t given;
    uint32_t mark; /* 0: nothing is met twice */
} flattening;

static uint8_t flatten(const flattening *f, vp__expr *e) {
    vp__segment *seg = f->seg;
    if (f->mark && e->mark == f->mark) return e->term;
    uint8_t arg[3] = {0, 0, 0};
    for (int i = 0; i < e->nargs; i++) arg[i] = flatten(f, e->arg[i]);
    e->mark = f->mark;
    e->term = (uint8_t)seg->nterms;
    vp__term *s = &seg->term[seg->nterms];
    s->kind = e->kind;
    s->op = e->op;
    s->type = e->type;
    s->result = e->dtype;
    s->nargs = e->nargs;
    s->keepdims = e->keepdims;
    s->ndim = e->ndim;
    memcpy(s->arg, arg, sizeof arg);
    s->axes = e->axes;
    s->form = vp__expr_form(e);
    s->dims = e->dims;
    s->where = e->where;
    s->value[0] = e->value.u64[0];
    s->value[1] = e->value.u64[1];
    if (e->kind == VP__EXPR_COUNT) s->arg[0] = last_reduction(seg);
    if (e->kind == VP__EXPR_CONST && f->given >> seg->nterms & 1) s->kind = VP__EXPR_LEAF;
    if (s->kind == VP__EXPR_LEAF) {
        s->leaf = (uint8_t)seg->nleaves;
        f->leaves[seg->nleaves++] = e;
    }
    return (uint8_t)seg->nterms++;
}

void vp__segment_build(vp__segment *seg, vp__term *terms, vp__expr *root,
                       vp__expr **leaves, uint64_t given) {
    seg->nterms = seg->nleaves = 0;
    seg->term = terms;
    const flattening f = {seg, leaves, given, root->repeats ? vp__expr_new_mark() : 0};
    flatten(&f, root);
}

int vp__reduced_dims(int ndim, const int64_t *dims, uint32_t axes, bool keepdims,
                     int64_t *out) {
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (!(axes >> i & 1))
            out[n++] = dims[i];
        else if (keepdims)
            out[n++] = 1;
    }
    return n;
}

static int64_t count_axes(const int64_t *dims, int ndim, uint32_t axes) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        if (axes >> i & 1) n *= dims[i];
    return n;
}

void vp__constant_count(uint64_t value[2], vp_dtype t, int64_t count) {
    value[0] = value[1] = 0;
    float f = (float)count;
    double d = (double)count;
    switch (vp__dtype[t].real) {
    case VP_F32: memcpy(value, &f, sizeof f); break;
    case VP_F64: memcpy(value, &d, sizeof d); break;
    default: value[0] = (uint64_t)count; break;
    }
}

static vp__error *size_op(vp__segment *seg, vp__term *s) {
    s->ndim = 0;
    int n = 0;
    for (int i = 0; i < s->nargs; i++) {
        const vp__term *a = &seg->term[s->arg[i]];
        if (!vp__shape_broadcast(&n, s->dims, a->ndim, a->dims)) {
            char ta[200], tb[200];
            const vp__term *b = &seg->term[s->arg[i ? i - 1 : 0]];
            return vp__error_new(
                VP_ERR_SHAPE, s->where, "%s: shapes %s and %s do not broadcast together",
                vp__op_name(s->op), vp__shape_text(ta, sizeof ta, b->ndim, b->dims),
                vp__shape_text(tb, sizeof tb, a->ndim, a->dims));
        }
    }
    s->ndim = (int8_t)n;
    return NULL;
}

vp__error *vp__reduce_check(int op, int ndim, const int64_t *dims, uint32_t axes,
                            const char *where) {
    bool needs = op == VP__OP_min || op == VP__OP_max || op == VP__OP_argmin ||
                 op == VP__OP_argmax;
    if (!needs || count_axes(dims, ndim, axes) > 0 || count_axes(dims, ndim, ~axes) == 0)
        return NULL;
    char text[200];
    return vp__error_new(VP_ERR_VALUE, where,
                         "%s of an array of shape %s: there is no element",
                         vp__ops[op].name, vp__shape_text(text, sizeof text, ndim, dims));
}

vp__error *vp__segment_size(vp__segment *seg, const vp__leaf_layout *leaves,
                            vp__arena *arena) {
    for (int i = 0; i < seg->nterms; i++) {
        vp__term *s = &seg->term[i];
        vp__error *e = NULL;
        s->dims = vp__arena_alloc(arena, VP__MAXDIM * sizeof(int64_t));
        if (!s->dims) return vp__error_new(VP_ERR_MEMORY, s->where, "out of memory");
        switch ((vp__expr_kind)s->kind) {
        case VP__EXPR_LEAF:
            memcpy(s->dims, leaves[s->leaf].dims, (size_t)s->ndim * sizeof(int64_t));
            break;
        case VP__EXPR_CONST: s->ndim = 0; break;
        case VP__EXPR_OP: e = size_op(seg, s); break;
        case VP__EXPR_REDUCE: {
            const vp__term *a = &seg->term[s->arg[0]];
            e = vp__reduce_check(s->op, a->ndim, a->dims, s->axes, s->where);
            s->ndim =
                (int8_t)vp__reduced_dims(a->ndim, a->dims, s->axes, s->keepdims, s->dims);
            break;
        }
        case VP__EXPR_COUNT: {
            /* Counts what the reduction `arg[0]` folds, then is a plain constant. */
            const vp__term *r = &seg->term[s->arg[0]];
            const vp__term *a = &seg->term[r->arg[0]];
            vp__constant_count(s->value, s->result,
                               count_axes(a->dims, a->ndim, r->axes));
            s->kind = VP__EXPR_CONST;
            s->ndim = 0;
            break;
        }
        case VP__EXPR_FREE:
        case VP__EXPR_VIEW:
        case VP__EXPR_ROLL:
        case VP__EXPR_LIBRARY:
        case VP__EXPR_POISON: break;
        }
        if (e) return e;
    }
    return NULL;
}

enum { NOT_YET = -1 };

typedef struct {
    vp__cut *cut;
    const vp__segment *seg;
    const vp__leaf_layout *leaves;
    vp__arena *arena;
    bool stored[VP__SEGMENT_TERMS]; /* terms that are parts of their own for all users */
    int8_t part_of[VP__SEGMENT_TERMS]; /* the part that has made a term; or NOT_YET */
} cutter;

/* A part that is being made. */
typedef struct {
    vp__part *part;
    int16_t value[VP__SEGMENT_TERMS]; /* what a term is in it; or NOT_YET */
} making;

/* Estimated cost of computing one term's whole subtree once per element, by the table. */
static double subtree_cost(const vp__segment *seg, int term, int64_t count) {
    const vp__term *s = &seg->term[term];
    if (s->kind != VP__EXPR_OP) return 0;
    double cost = vp__cost_static(s->op, s->type, count);
    for (int i = 0; i < s->nargs; i++) cost += subtree_cost(seg, s->arg[i], count);
    return cost;
}

/* Whether an inner result of `own` elements is better stored once than recomputed for each
 * of `count` elements of the loop that reads it. Storing costs a write, a read and starting
 * another loop. */
static bool store_once(const vp__segment *seg, int term, int64_t own, int64_t count) {
    if (own >= count) return false;
    double again = subtree_cost(seg, term, count) - subtree_cost(seg, term, own);
    return again > 300.0 + 0.3 * (double)own;
}

/* Finds the terms that several parts use and that are cheaper stored than computed in each. Who
 * uses a term stands behind it; `home` is the part's last term, or one that stands for several
 * parts. */
static void find_stored(const vp__segment *seg, bool *stored) {
    enum { NOWHERE = -1, SEVERAL = VP__SEGMENT_TERMS };
    int8_t home[VP__SEGMENT_TERMS];
    memset(home, NOWHERE, sizeof home);
    home[seg->nterms - 1] = (int8_t)(seg->nterms - 1);
    for (int i = seg->nterms - 1; i >= 0; i--) {
        const vp__term *s = &seg->term[i];
        stored[i] = false;
        if (home[i] == SEVERAL && s->kind == VP__EXPR_OP) {
            const int64_t own = vp__shape_count(s->ndim, s->dims, 1);
            stored[i] = subtree_cost(seg, i, own) > 300.0 + 0.3 * (double)own;
        }
        if (s->kind == VP__EXPR_REDUCE || stored[i]) home[i] = (int8_t)i;
        for (int k = 0; k < s->nargs; k++) {
            int8_t *h = &home[s->arg[k]];
            *h = *h == NOWHERE || *h == home[i] ? home[i] : SEVERAL;
        }
    }
}

static int cut_part(cutter *c, int root);

/* Adds a leaf to a part; returns its value number or -1 without memory. */
static int add_leaf(const cutter *c, vp__part *p, vp_dtype t, int source, int ndim,
                    const int64_t *dims, const int64_t *strides) {
    int i = p->kernel.nleaves++;
    p->kernel.leaf[i].dtype = (uint8_t)t;
    p->kernel.leaf[i].constant = false;
    p->source[i] = (int16_t)source;
    p->strides[i] = vp__arena_alloc(c->arena, (size_t)(p->ndim + 1) * sizeof(int64_t));
    if (!p->strides[i]) return -1;
    vp__shape_expand_strides(p->ndim, p->dims, ndim, dims, strides, p->strides[i]);
    return i;
}

/* Values get their final numbers when the leaves are all known: instructions count from
 * here until then. */
enum { FIRST_INSTR = 128 };

static int visit(cutter *c, making *m, int term);

static int visit_op(cutter *c, making *m, const vp__term *s) {
    vp__part *p = m->part;
    uint8_t arg[3] = {0, 0, 0};
    for (int i = 0; i < s->nargs; i++) {
        int v = visit(c, m, s->arg[i]);
        if (v < 0) return -1;
        arg[i] = (uint8_t)v;
    }
    int i = p->kernel.ninstrs++;
    p->kernel.instr[i] = (vp__instr){s->op, s->type, s->result, {arg[0], arg[1], arg[2]}};
    p->cost += vp__cost_static(s->op, s->type, p->count);
    return FIRST_INSTR + i;
}

/* What another part makes, which is made now if it has not been. */
static int visit_part(cutter *c, making *m, int term) {
    int part = c->part_of[term];
    if (part == NOT_YET) part = cut_part(c, term);
    if (part < 0) return -1;
    const vp__part *q = c->cut->part[part];
    return add_leaf(c, m->part, c->seg->term[term].result, ~part, q->out_ndim,
                    q->out_dims, q->out_strides);
}

static int visit_new(cutter *c, making *m, int term) {
    const vp__term *s = &c->seg->term[term];
    vp__part *p = m->part;
    switch ((vp__expr_kind)s->kind) {
    case VP__EXPR_LEAF: {
        const vp__leaf_layout *l = &c->leaves[s->leaf];
        return add_leaf(c, p, s->result, s->leaf, l->ndim, l->dims, l->strides);
    }
    case VP__EXPR_CONST: {
        int i = p->kernel.nleaves++;
        p->kernel.leaf[i].dtype = s->result;
        p->kernel.leaf[i].constant = true;
        memcpy(p->kernel.leaf[i].value.u64, s->value, sizeof s->value);
        p->strides[i] = NULL;
        return i;
    }
    case VP__EXPR_OP: {
        int64_t own = vp__shape_count(s->ndim, s->dims, 1);
        if (c->part_of[term] != NOT_YET || c->stored[term] ||
            store_once(c->seg, term, own, p->count))
            break;
        return visit_op(c, m, s);
    }
    case VP__EXPR_REDUCE:
    case VP__EXPR_COUNT:
    case VP__EXPR_FREE:
    case VP__EXPR_VIEW:
    case VP__EXPR_ROLL:
    case VP__EXPR_LIBRARY:
    case VP__EXPR_POISON: break;
    }
    return visit_part(c, m, term);
}

static int visit(cutter *c, making *m, int term) {
    int16_t *value = &m->value[term];
    if (*value == NOT_YET) *value = (int16_t)visit_new(c, m, term);
    return *value;
}

static void number_values(vp__kernel *k) {
    for (int i = 0; i < k->ninstrs; i++)
        for (int j = 0; j < 3; j++)
            if (k->instr[i].arg[j] >= FIRST_INSTR)
                k->instr[i].arg[j] =
                    (uint8_t)(k->instr[i].arg[j] - FIRST_INSTR + k->nleaves);
}

/* Whether every array operand is laid out exactly as the output. */
static bool is_flat(const vp__part *p) {
    if (p->reduced || p->kernel.reduce >= 0) return false;
    int size = vp__dtype[p->kernel.result].size;
    for (int i = 0; i < p->kernel.nleaves; i++) {
        if (p->kernel.leaf[i].constant) continue;
        int leaf_size = vp__dtype[p->kernel.leaf[i].dtype].size;
        for (int k = 0; k < p->ndim; k++)
            if (p->dims[k] != 1 &&
                p->strides[i][k] * size != p->loop_out_strides[k] * leaf_size)
                return false;
    }
    return true;
}

/* Lays the output out as the operands are, and relates it to the iteration space. */
static bool lay_out(cutter *c, vp__part *p, const vp__term *s) {
    int size = vp__dtype[s->result].size;
    int n = s->ndim;
    int64_t *axes =
        vp__arena_alloc(c->arena, (size_t)(2 * n + p->ndim + 1) * sizeof(int64_t));
    if (!axes) return false;
    p->out_ndim = n;
    p->out_dims = axes;
    p->out_strides = axes + n;
    p->loop_out_strides = axes + 2 * n;
    memcpy(p->out_dims, s->dims, (size_t)n * sizeof(int64_t));
    const int64_t *operand[VP__KERNEL_LEAVES];
    int operands = 0;
    for (int i = 0; i < p->kernel.nleaves; i++)
        if (!p->kernel.leaf[i].constant) operand[operands++] = p->strides[i];
    int64_t loop_dims[VP__MAXDIM];
    for (int i = 0; i < p->ndim; i++) loop_dims[i] = p->reduced >> i & 1 ? 1 : p->dims[i];
    vp__layout_like(p->ndim, loop_dims, size, operands, operand, p->loop_out_strides);
    for (int i = 0, k = 0; i < p->ndim; i++) {
        if (!(p->reduced >> i & 1) || (s->kind == VP__EXPR_REDUCE && s->keepdims))
            p->out_strides[k++] = p->loop_out_strides[i];
    }
    p->out_bytes = vp__shape_count(n, p->out_dims, size) * size;
    return true;
}

static int cut_part(cutter *c, int root) {
    const vp__term *s = &c->seg->term[root];
    vp__part *p = vp__arena_alloc(c->arena, sizeof *p);
    if (!p) return -1;
    bool reduces = s->kind == VP__EXPR_REDUCE;
    const vp__term *body = reduces ? &c->seg->term[s->arg[0]] : s;
    p->kernel.nleaves = p->kernel.ninstrs = 0;
    p->kernel.reduce = reduces ? s->op : -1;
    p->kernel.reduce_type = s->type;
    p->kernel.result = s->result;
    p->ndim = body->ndim;
    p->reduced = reduces ? s->axes : 0;
    p->dims = vp__arena_alloc(c->arena, (size_t)(body->ndim + 1) * sizeof(int64_t));
    if (!p->dims) return -1;
    memcpy(p->dims, body->dims, (size_t)body->ndim * sizeof(int64_t));
    p->count = vp__shape_count(p->ndim, p->dims, 1);
    p->cost = 20;
    if (reduces) p->cost += vp__cost_static(s->op, s->type, p->count);
    making m = {.part = p};
    memset(m.value, NOT_YET, sizeof m.value);
    const bool computes = !reduces && s->kind == VP__EXPR_OP;
    if ((computes ? visit_op(c, &m, s) : visit_new(c, &m, reduces ? s->arg[0] : root)) <
        0)
        return -1;
    number_values(&p->kernel);
    if (!lay_out(c, p, s)) return -1;
    p->flat = is_flat(p);
    c->cut->cost += p->cost;
    c->cut->part[c->cut->nparts] = p;
    c->part_of[root] = (int8_t)c->cut->nparts;
    return c->cut->nparts++;
}

bool vp__segment_cut(vp__cut *cut, const vp__segment *seg, const vp__leaf_layout *leaves,
                     vp__arena *arena) {
    cutter c = {.cut = cut, .seg = seg, .leaves = leaves, .arena = arena};
    memset(c.part_of, NOT_YET, sizeof c.part_of);
    find_stored(seg, c.stored);
    cut->nparts = 0;
    cut->cost = 0;
    return cut_part(&c, seg->nterms - 1) >= 0;
}

void vp__segment_layout(const vp__segment *seg, int64_t *dims, int64_t *strides) {
    const vp__term *last = &seg->term[seg->nterms - 1];
    memcpy(dims, last->dims, (size_t)last->ndim * sizeof *dims);
    vp__layout_compact(last->ndim, dims, vp__dtype[last->result].size, false, strides);
}
