/* SPDX-License-Identifier: Apache-2.0 */
#include "net/library.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "net/cost.h"
#include "net/issue.h"
#include "net/library_work.h"
#include "net/remote.h"
#include "net/traced.h"
#include "net/tuning.h"

/* Begins to read the inputs if all are there. */
static bool inputs_begin(vp__reads *r, const vp__node *n) {
    bool alone = vp__reads_alone(r), ready = alone || n->ninputs <= VP__KERNEL_LEAVES;
    for (int i = 0; i < n->ninputs && ready; i++) {
        const vp__input *in = &n->in[i];
        vp__storage *s = in->storage;
        ready = vp__storage_is_sized(s) && (alone ? vp__reads_is_there(s, &in->region)
                                                  : vp__reads_enter(r, s, &in->region));
    }
    if (!ready) vp__reads_end(r);
    return ready;
}

static bool is_small(const vp__node *n) {
    const vp__config *config = vp__config_get();
    if (config->sync) return true;
    if (!config->inline_nodes) return false;
    int64_t elements = 0;
    for (int i = 0; i < n->ninputs; i++) {
        if (n->in[i].late) return false;
        elements += vp__shape_count(n->in[i].ndim, n->in[i].dims, 1);
    }
    /* A short lane may be transformed at a great length. */
    if (n->work == &vp__library_fft_work)
        elements += vp__shape_count(n->ndim, n->dims, 1);
    return elements <= vp__tuning.inline_elements &&
           n->work != vp__library_work(VP__LIB_MATMUL);
}

/* Runs a node that nobody else knows, on this thread. Its accesses are not in any log: the
 * inputs are ready and captured, the result is new or entered by the caller. */
static void run_now(vp__node *n) {
    vp__core *core = vp__core_self();
    vp__traced_node_now(n);
    for (int i = 0; i < n->ninputs; i++) {
        vp__input *in = &n->in[i];
        vp__spin_lock(&in->storage->lock);
        in->sequence = in->storage->log.sequence;
        vp__spin_unlock(&in->storage->lock);
        if (!in->late) continue;
        memcpy(in->dims, in->storage->late->dims, (size_t)in->ndim * sizeof(int64_t));
        memcpy(in->strides, in->storage->late->strides,
               (size_t)in->ndim * sizeof(int64_t));
    }
    /* In the order a node in the net would find out: sizes first. */
    vp__error *e = NULL;
    if (!n->error && n->work->size) {
        e = n->work->size(n);
        if (e) vp__node_fail(n, e);
    }
    if (n->error)
        vp__node_publish_failure(n);
    else if (!n->is_put && !n->work->sizes_when_run)
        vp__node_publish_size(n);
    e = n->error || n->work->copies_poison ? NULL : vp__node_inherited(n);
    if (e) vp__node_fail(n, vp__error_retain(e));
    bool room = n->error || n->work->sizes_when_run || vp__storage_allocate(n->result);
    if (!room) vp__node_fail(n, vp__node_no_memory(n));
    if (!n->error) {
        n->out = atomic_load_explicit(&n->result->host, memory_order_relaxed);
        n->out_strides = n->strides;
        if (n->work->stores_only) {
            n->work->store(n);
        } else {
            n->pieces = 1;
            n->work->begin(n);
            do {
                for (int64_t i = 0; i < n->pieces && !n->error; i++)
                    n->work->piece(n, i, core);
            } while (!n->error && n->work->next && n->work->next(n, core));
        }
    }
    if (n->error)
        vp__node_publish_failure(n);
    else
        vp__node_count(core, n);
    vp__traced_now_end(n->id, n->result);
    vp__count(&core->counters.inlined, 1);
}

/* Gives back what a node run here holds; its error poisons the result. */
static void end_now(vp__node *n, uint64_t sequence) {
    if (!n->is_put && n->result->late) vp__waitlist_close(&n->result->late->configured);
    if (n->error) vp__storage_poison(n->result, n->error, &n->write_region, sequence);
    if (n->work->deinit) n->work->deinit(n);
    for (int i = 0; i < n->ninputs; i++) vp__storage_release(n->in[i].storage);
    vp__node_unref(n);
}

static vp__error *first_error(int nin, vp__expr **in) {
    for (int i = 0; i < nin; i++)
        if (in[i]->kind == VP__EXPR_POISON) return in[i]->error;
    return NULL;
}

static void free_all(int nin, vp__expr **in) {
    for (int i = 0; i < nin; i++) vp__expr_free(in[i]);
}

/* A node with the operands as inputs; they stay captured by their expressions. */
static vp__node *make_node(const vp__lib_params *p, vp_dtype dtype, int nin,
                           vp__expr **in, int ndim, int target_ndim, const char *name,
                           const char *where) {
    int axes = 0;
    for (int i = 0; i < nin; i++) axes += in[i]->ndim;
    vp__node *n = vp__node_new(vp__library_work(p->kind), name, where, nin, axes, ndim,
                               target_ndim, vp__library_payload(p->kind));
    if (!n) return NULL;
    vp__library_set(n, p);
    n->dtype = (uint8_t)dtype;
    n->key = VP__NOPS + 1 + p->kind;
    for (int i = 0; i < nin; i++) {
        vp__storage_retain(in[i]->storage);
        vp__node_add_input(n, in[i]->storage, in[i]->dtype, in[i]->offset, in[i]->ndim,
                           in[i]->late ? NULL : in[i]->dims, in[i]->strides);
    }
    n->write_region = vp__region_all();
    return n;
}

void vp__library_issue(const vp__lib_params *p, vp_dtype dtype, int nin, vp__expr **in,
                       int ndim, const int64_t *dims, const char *name, const char *where,
                       vp__value *out) {
    memset(out, 0, offsetof(vp__value, dims));
    out->dtype = dtype;
    out->ndim = ndim;
    out->late = !dims;
    for (int i = 0; i < nin; i++) vp__materialise(in[i]);
    vp__error *error = first_error(nin, in);
    int size = vp__dtype[dtype].size;
    int64_t count = dims ? vp__shape_count(ndim, dims, size) : 0;
    int64_t bytes = dims ? count * size : -1;
    vp__error *too_large = NULL;
    if (count < 0 && !error)
        error = too_large =
            vp__error_new(VP_ERR_SHAPE, where, "%s: the result would be too large", name);
    vp__storage *s = error ? NULL : vp__storage_new(bytes);
    vp__node *n = s ? make_node(p, dtype, nin, in, ndim, 0, name, where) : NULL;
    if (!n) {
        out->error = too_large ? too_large
                     : error   ? vp__error_retain(error)
                               : vp__issue_no_memory(where);
        if (s) vp__storage_release(s);
        free_all(nin, in);
        return;
    }
    n->result = s;
    out->storage = s;
    if (dims) {
        memcpy(n->dims, dims, (size_t)ndim * sizeof(int64_t));
        vp__library_layout(n);
        memcpy(out->dims, n->dims, (size_t)ndim * sizeof(int64_t));
        memcpy(out->strides, n->strides, (size_t)ndim * sizeof(int64_t));
    }
    vp__reads reads;
    if (is_small(n) && inputs_begin(&reads, n)) {
        run_now(n);
        vp__reads_end(&reads);
        end_now(n, 0);
        vp__error *failed = vp__storage_failure(s);
        if (failed) {
            out->error = vp__error_retain(failed);
            out->storage = NULL;
            vp__storage_release(s);
        } else if (!dims) {
            memcpy(out->dims, s->late->dims, (size_t)ndim * sizeof(int64_t));
            memcpy(out->strides, s->late->strides, (size_t)ndim * sizeof(int64_t));
            out->late = false;
        }
    } else {
        vp__admit(bytes);
        vp__node_submit(n);
    }
    free_all(nin, in);
}

vp__error *vp__library_put(const vp__lib_params *p, const vp__target *t,
                           const vp__region *region, int nin, vp__expr **in,
                           const char *where) {
    for (int i = 0; i < nin; i++) vp__materialise(in[i]);
    vp__error *failed = vp__error_retain(first_error(nin, in)), *error = NULL;
    /* An operand that reads the target itself counts as foreign: renaming gets the target
     * out of its way. Borrowed memory is not renamed, so there the operand moves. */
    vp__spin_lock(&t->buffer->lock);
    vp__storage *target = t->buffer->storage;
    vp__spin_unlock(&t->buffer->lock);
    for (int i = 0; i < nin && target->borrowed; i++)
        if (in[i]->kind == VP__EXPR_LEAF && in[i]->storage == target)
            vp__copy_leaf(in[i]);
    vp__storage *s = vp__prepare_write(t->buffer, region, false, 0, where, &error);
    vp__node *n =
        s ? make_node(p, t->dtype, failed ? 0 : nin, in, 0, t->ndim, "put", where) : NULL;
    if (!n) {
        if (s) vp__storage_release(s);
        vp__error_release(failed);
        free_all(nin, in);
        return error ? error : vp__issue_no_memory(where);
    }
    if (failed) vp__node_fail(n, failed);
    n->is_put = true;
    n->result = s;
    n->write_region = *region;
    n->target_offset = t->offset;
    memcpy(n->target_dims, t->dims, (size_t)t->ndim * sizeof(int64_t));
    memcpy(n->target_strides, t->strides, (size_t)t->ndim * sizeof(int64_t));
    vp__group *g = NULL;
    uint64_t sequence = 0;
    vp__reads reads;
    if (is_small(n) && inputs_begin(&reads, n)) {
        vp__spin_lock(&s->lock);
        sequence = s->log.sequence;
        if (vp__storage_is_on_host(s)) g = vp__log_try(&s->log, true, region);
        vp__spin_unlock(&s->lock);
        if (!g) vp__reads_end(&reads);
    }
    if (g) {
        run_now(n);
        vp__reads_end(&reads);
        end_now(n, sequence);
        vp__remote_forget(s);
        vp__observe_end(g);
    } else {
        vp__admit(0);
        vp__node_submit(n);
    }
    free_all(nin, in);
    vp__storage_release(s);
    return NULL;
}

bool vp__copy_storage(vp__storage *to, vp__storage *from, const char *where) {
    vp__lib_params p = {.kind = VP__LIB_COPY};
    vp__node *n = vp__node_new(vp__library_copy_work(), "copy", where, 1, 1, 1, 0,
                               vp__library_payload(VP__LIB_COPY));
    if (!n) return false;
    vp__library_set(n, &p);
    int64_t bytes = from->bytes, one = 1;
    n->dtype = VP_U8;
    n->key = VP__NOPS + 1 + VP__LIB_COPY;
    n->dims[0] = bytes;
    n->strides[0] = 1;
    vp__storage_retain(from);
    vp__node_add_input(n, from, VP_U8, 0, 1, &bytes, &one);
    n->in[0].region = vp__region_all();
    n->result = to;
    n->write_region = vp__region_all();
    const vp__config *config = vp__config_get();
    bool small = config->sync || (config->inline_nodes && bytes <= vp__tuning.copy_bytes);
    vp__reads reads;
    if (small && inputs_begin(&reads, n)) {
        run_now(n);
        vp__reads_end(&reads);
        end_now(n, 0);
    } else {
        vp__node_submit(n);
    }
    return true;
}
