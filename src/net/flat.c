/* SPDX-License-Identifier: Apache-2.0 */
#include "net/flat.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "jit/exec.h"
#include "net/cost.h"
#include "net/issue.h"
#include "net/launch.h"
#include "net/tuning.h"

enum { FIRST_INSTR = 128 }; /* until the number of leaves is known */

static inline int add_leaf(vp__flat *f, vp__expr *e) {
    vp__kernel *k = &f->kernel;
    int i = k->nleaves++;
    k->leaf[i].dtype = e->dtype;
    k->leaf[i].constant = e->kind == VP__EXPR_CONST;
    if (k->leaf[i].constant) {
        memcpy(&k->leaf[i].value, &e->value, sizeof e->value);
        f->leaf[i] = NULL;
        f->data[i] = NULL;
        return i;
    }
    vp__storage *s = e->storage;
    f->leaf[i] = e;
    /* First this, which orders what follows after all that was done to the leaf. */
    if (!vp__log_is_empty(&s->log) || !vp__storage_is_on_host(s)) f->quiet = false;
    if (atomic_load_explicit(&s->poison, memory_order_acquire)) f->poisoned = true;
    if (f->quiet)
        f->data[i] = atomic_load_explicit(&s->host, memory_order_relaxed) + e->offset;
    return i;
}

static int add_instr(vp__flat *f, vp__expr *e) {
    vp__kernel *k = &f->kernel;
    vp__instr in = {e->op, e->type, e->dtype, {0, 0, 0}};
    for (int i = 0; i < e->nargs; i++) {
        vp__expr *a = e->arg[i];
        in.arg[i] = (uint8_t)(a->kind == VP__EXPR_OP ? add_instr(f, a) : add_leaf(f, a));
    }
    k->instr[k->ninstrs] = in;
    return FIRST_INSTR + k->ninstrs++;
}

void vp__flat_build(vp__flat *f, vp__expr *e) {
    vp__kernel *k = &f->kernel;
    f->quiet = true;
    f->poisoned = false;
    k->nleaves = k->ninstrs = 0;
    k->reduce = -1;
    k->result = e->dtype;
    add_instr(f, e);
    for (int i = 1; i < k->ninstrs; i++) /* the first one has leaves only */
        for (int j = 0; j < 3; j++)
            if (k->instr[i].arg[j] >= FIRST_INSTR)
                k->instr[i].arg[j] =
                    (uint8_t)(k->instr[i].arg[j] - FIRST_INSTR + k->nleaves);
}

void vp__flat_strides(const vp__expr *e, int64_t *strides) {
    int size = vp__dtype[e->dtype].size, leaf_size = vp__dtype[e->like->dtype].size;
    if (size == leaf_size)
        for (int i = 0; i < e->ndim; i++) strides[i] = e->like->strides[i];
    else
        for (int i = 0; i < e->ndim; i++)
            strides[i] = e->like->strides[i] / leaf_size * size;
}

/* --- at once ----------------------------------------------------------------------------- */

/* As vp__region_of would say, since the leaf is dense; a view of nothing waits all the same. */
static inline vp__region leaf_region(const vp__expr *l) {
    int64_t bytes = l->count * vp__dtype[l->dtype].size;
    return bytes ? (vp__region){l->offset, l->offset + bytes, 0, 0, 0}
                 : vp__region_of_nothing();
}

/* Reads of everything, entered because another thread might write it. */
__attribute__((noinline)) static bool enter_all(vp__flat *f) {
    for (int i = 0; i < f->kernel.nleaves; i++) {
        if (!f->leaf[i]) continue;
        vp__region r = leaf_region(f->leaf[i]);
        if (!vp__reads_enter(&f->reads, f->leaf[i]->storage, &r)) return false;
    }
    f->quiet = false; /* what was found before may be another's by now */
    return true;
}

static bool all_there(const vp__flat *f) {
    for (int i = 0; i < f->kernel.nleaves; i++) {
        const vp__expr *l = f->leaf[i];
        if (!l) continue;
        /* The commonest reason to wait, without the lock. */
        if (atomic_load_explicit(&l->storage->awaited, memory_order_relaxed))
            return false;
        vp__region r = leaf_region(l);
        if (!vp__reads_is_there(l->storage, &r)) return false;
    }
    return true;
}

bool vp__flat_begin(vp__flat *f) {
    bool ready = vp__reads_alone(&f->reads) ? f->quiet || all_there(f) : enter_all(f);
    if (!ready) vp__reads_end(&f->reads);
    return ready;
}

vp__error *vp__flat_error(const vp__flat *f) {
    if (f->quiet && !f->poisoned) return NULL;
    for (int i = 0; i < f->kernel.nleaves; i++) {
        vp__expr *l = f->leaf[i];
        if (!l || !atomic_load_explicit(&l->storage->poison, memory_order_acquire))
            continue;
        vp__error *error = vp__issue_leaf_error(&l, 1);
        if (error) return error;
    }
    return NULL;
}

vp__error *vp__flat_run(vp__flat *f, vp__expr *e, vp__storage *fresh, char *out) {
    const vp__kernel *k = &f->kernel;
    for (int i = 0; i < k->nleaves && !f->quiet; i++) {
        vp__expr *l = f->leaf[i];
        if (!l) continue;
        /* relaxed: the leaf's producer was seen through the log. */
        f->data[i] =
            atomic_load_explicit(&l->storage->host, memory_order_relaxed) + l->offset;
    }
    if (fresh) {
        if (!vp__storage_allocate(fresh)) return vp__issue_no_memory(e->where);
        out = atomic_load_explicit(&fresh->host, memory_order_relaxed);
    }
    vp__core *core = vp__core_self();
    vp__exec_flat(k, f->data, out, e->count, core->scratch);
    vp__count(&core->counters.inlined, 1);
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)e->count);
    return NULL;
}

/* --- as a node --------------------------------------------------------------------------- */

/* The kernel packed: a byte for each leaf, the instructions and the constants' values
 * follow. Unpacked on the stack to run, which is cheaper than the cache lines a whole kernel
 * would take in every waiting node. */
typedef struct {
    int64_t count, chunk;
    vp__code code;
    uint8_t nleaves, ninstrs, result;
    uint8_t body[];
} payload;
enum { IS_CONSTANT = 0x80, VALUE = sizeof(((vp__leaf *)0)->value) };
static_assert((int)VP__NDTYPES <= (int)IS_CONSTANT, "a dtype and a bit fit a byte");

static void unpack(vp__kernel *k, const payload *w) {
    k->nleaves = w->nleaves;
    k->ninstrs = w->ninstrs;
    k->reduce = -1;
    k->result = w->result;
    const uint8_t *instr = w->body + w->nleaves;
    const uint8_t *value = instr + w->ninstrs * sizeof(vp__instr);
    for (int i = 0; i < k->nleaves; i++) {
        vp__leaf *leaf = &k->leaf[i];
        leaf->dtype = w->body[i] & ~IS_CONSTANT;
        leaf->constant = w->body[i] & IS_CONSTANT;
        if (!leaf->constant) continue;
        memcpy(&leaf->value, value, VALUE);
        value += VALUE;
    }
    for (int i = 0; i < k->ninstrs; i++)
        memcpy(&k->instr[i], instr + i * sizeof(vp__instr), sizeof(vp__instr));
}

static void begin(vp__node *n) {
    payload *w = n->payload;
    double cost = n->cost;
    w->chunk = w->count > 0 ? w->count : 1;
    w->code.fn = NULL;
    if (vp__placeable > 1 && cost >= 2 * (double)vp__tuning.piece_ns) {
        int64_t grain = vp__tuning.flat_grain;
        int64_t wish =
            (int64_t)((double)w->count * (double)vp__tuning.piece_ns / cost) + 1;
        w->chunk = (wish + grain - 1) / grain * grain;
        n->pieces = (w->count + w->chunk - 1) / w->chunk;
        if (n->pieces < 1) n->pieces = 1;
    }
    if (!vp__native_is_worth(n->estimate, 1)) return;
    vp__kernel k;
    unpack(&k, w);
    w->code =
        vp__exec_flat_code(&k, n->estimate, n->pieces == 1 ? w->count : VP__UNKNOWN);
    if (w->code.fn) n->stage = w->code.stage;
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    const payload *w = n->payload;
    vp__kernel k;
    unpack(&k, w);
    int64_t first = i * w->chunk;
    int64_t count = w->count - first < w->chunk ? w->count - first : w->chunk;
    void *data[VP__KERNEL_LEAVES];
    for (int j = 0, in = 0; j < k.nleaves; j++) {
        data[j] = NULL;
        if (k.leaf[j].constant) continue;
        data[j] = vp__input_data(&n->in[in++]) + first * vp__dtype[k.leaf[j].dtype].size;
    }
    char *out = n->out + first * vp__dtype[k.result].size;
    if (w->code.fn)
        vp__exec_flat_native(&w->code, &k, data, out, count);
    else
        vp__exec_flat(&k, data, out, count, core->scratch);
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)count);
}

static void device_part(vp__node *n, int phase, vp__device_part *p) {
    (void)phase; /* there is one */
    const payload *w = n->payload;
    unpack(&p->own, w);
    p->kernel = &p->own;
    p->args = (vp__exec_args){.kernel = &p->own, .ndim = 1, .dims = &p->axes[0]};
    p->axes[0] = w->count;
    p->axes[1] = vp__dtype[w->result].size;
    p->args.out_strides = &p->axes[1];
    for (int i = 0, in = 0; i < p->own.nleaves; i++) {
        if (p->own.leaf[i].constant) continue;
        p->axes[2 + i] = vp__dtype[p->own.leaf[i].dtype].size;
        p->args.leaf_strides[i] = &p->axes[2 + i];
        p->source[i] = (int16_t)in++;
    }
    p->out_bytes = w->count * vp__dtype[w->result].size;
    p->last = true;
}

static const vp__work flat_work = {
    .begin = begin, .piece = piece, .device_part = device_part};

__attribute__((flatten)) vp__node *vp__flat_node(const vp__flat *f, vp__expr *e,
                                                 int target_ndim) {
    const vp__kernel *k = &f->kernel;
    int inputs = e->leaves; /* which constants are not counted among */
    size_t instrs = (size_t)k->ninstrs * sizeof(vp__instr);
    size_t values = (size_t)(k->nleaves - inputs) * VALUE;
    /* Only a put needs the value's own axes, to store it from a temporary. */
    int ndim = target_ndim >= 0 ? e->ndim : 0;
    const char *name = e->op < VP__NOPS ? vp__ops[e->op].name : "cast";
    vp__node *n = vp__node_new(
        &flat_work, name, e->where, inputs, 0, ndim, target_ndim > 0 ? target_ndim : 0,
        offsetof(payload, body) + (size_t)k->nleaves + instrs + values);
    if (!n) return NULL;
    n->dtype = e->dtype;
    n->key = e->op;
    n->estimate = e->cost;
    n->is_sized = true;
    if (ndim) {
        memcpy(n->dims, e->dims, (size_t)ndim * sizeof(int64_t));
        vp__flat_strides(e, n->strides);
    }
    payload *w = n->payload;
    w->count = e->count;
    w->nleaves = (uint8_t)k->nleaves;
    w->ninstrs = (uint8_t)k->ninstrs;
    w->result = k->result;
    uint8_t *instr = w->body + k->nleaves, *value = instr + instrs;
    vp__input *in = n->in;
    for (int i = 0; i < k->nleaves; i++) {
        vp__expr *l = f->leaf[i];
        w->body[i] = k->leaf[i].dtype;
        if (!l) {
            w->body[i] |= IS_CONSTANT;
            memcpy(value, &k->leaf[i].value, VALUE);
            value += VALUE;
            continue;
        }
        /* Its axes are nobody's business: the loop is flat. */
        in->storage = l->storage;
        in->captured = true;
        l->storage = NULL;
        in->offset = l->offset;
        in->region = leaf_region(l);
        in->dims = in->strides = NULL;
        in->ndim = 0;
        in->dtype = l->dtype;
        in->late = false;
        in++;
    }
    assert(in == n->in + inputs);
    n->ninputs = inputs;
    for (int i = 0; i < k->ninstrs; i++)
        memcpy(instr + i * sizeof(vp__instr), &k->instr[i], sizeof(vp__instr));
    return n;
}
