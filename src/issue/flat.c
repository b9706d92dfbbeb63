/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/flat.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "jit/runner.h"
#include "net/cost.h"
#include "net/part.h"
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
    if (l->is_box) return l->reads;
    int64_t bytes = l->count * vp__dtype[l->dtype].size;
    return bytes ? (vp__region){l->offset, l->offset + bytes, 0, 0, 0}
                 : vp__region_of_nothing();
}

/* Reads of everything, entered because another thread might write it. */
__attribute__((noinline)) static bool enter_all(vp__flat *f, vp__reads *reads) {
    for (int i = 0; i < f->kernel.nleaves; i++) {
        if (!f->leaf[i]) continue;
        vp__region r = leaf_region(f->leaf[i]);
        if (!vp__reads_enter(reads, f->leaf[i]->storage, &r)) return false;
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

bool vp__flat_begin(vp__flat *f, vp__reads *reads) {
    const bool ready =
        vp__reads_alone(reads) ? f->quiet || all_there(f) : enter_all(f, reads);
    if (!ready) vp__reads_end(reads);
    return ready;
}

vp__error *vp__flat_error(const vp__flat *f) {
    if (f->quiet && !f->poisoned) return NULL;
    return vp__reads_error(f->leaf, f->kernel.nleaves);
}

/* The loop as a job, of this cost. */
static vp__job job_of(const vp__kernel *k, int64_t count, double cost) {
    vp__job job;
    job.args.kernel = k;
    job.args.cost = cost;
    job.count = count;
    job.flat = true;
    return job;
}

bool vp__flat_run(vp__flat *f, const vp__expr *e, char *out, vp__core *core) {
    const vp__kernel *k = &f->kernel;
    for (int i = 0; i < k->nleaves && !f->quiet; i++) {
        const vp__expr *l = f->leaf[i];
        if (!l) continue;
        /* relaxed: the leaf's producer was seen through the log. */
        f->data[i] =
            atomic_load_explicit(&l->storage->host, memory_order_relaxed) + l->offset;
    }
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)e->count);
    const vp__job job = job_of(k, e->count, e->cost);
    return vp__runner_run(&job, f->data, out, core->plan, core->scratch);
}

/* --- as a node --------------------------------------------------------------------------- */

/* The kernel packed: a byte for each leaf, the instructions and the constants' values
 * follow. Unpacked on the stack to run, which is cheaper than the cache lines a whole kernel
 * would take in every waiting node. */
typedef struct {
    int64_t count;
    vp__runner runner; /* its kernel is unpacked where it is used */
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
    int64_t wish = VP__ONE_PIECE;
    if (vp__placeable > 1 && n->cost >= 2 * (float)vp__tuning.piece_ns)
        wish = (int64_t)((double)w->count * (double)vp__tuning.piece_ns / n->cost) + 1;
    vp__kernel k;
    k.ninstrs = 0;
    if (vp__native_is_worth(n->estimate, 1)) unpack(&k, w); /* who asks for its code */
    const vp__job job = job_of(&k, w->count, n->estimate);
    n->pieces = vp__runner_open(&w->runner, &job, wish, vp__tuning.flat_grain, NULL);
    n->stage = (uint8_t)vp__runner_stage(&w->runner);
}

static void piece(vp__node *n, int64_t i, vp__core *core) {
    const payload *w = n->payload;
    vp__kernel k;
    unpack(&k, w);
    vp__runner runner = w->runner;
    runner.kernel = &k;
    void *data[VP__KERNEL_LEAVES];
    for (int j = 0, in = 0; j < k.nleaves; j++)
        data[j] = k.leaf[j].constant ? NULL : vp__input_data(&n->in[in++]);
    vp__runner_piece(&runner, i, data, n->out, core->scratch);
    vp__count(&core->counters.kernels, 1);
    vp__count(&core->counters.elements, (uint64_t)vp__runner_elements(&runner, i));
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
    int inputs = 0; /* what has become a leaf since is one of them, however many it had */
    for (int i = 0; i < k->nleaves; i++) inputs += f->leaf[i] != NULL;
    size_t instrs = (size_t)k->ninstrs * sizeof(vp__instr);
    size_t values = (size_t)(k->nleaves - inputs) * VALUE;
    /* Only a put needs the value's own axes, to store it from a temporary. */
    int ndim = target_ndim >= 0 ? e->ndim : 0;
    const char *name = vp__op_name(e->op);
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
        if (e->shares) /* somebody else may want it later */
            vp__storage_capture(l->storage);
        else
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
