/* SPDX-License-Identifier: Apache-2.0 */
#include "net/node.h"

#include <stddef.h>
#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/failure.h"

vp__rounds vp__nodes_in_flight;
_Atomic int64_t vp__bytes_promised;
_Atomic int vp__nodes_outside;

vp__node *vp__node_new(const vp__work *work, const char *name, const char *where,
                       int ninputs, int input_axes, int ndim, int target_ndim,
                       size_t payload_bytes) {
    size_t head = (sizeof(vp__node) + 15) / 16 * 16;
    size_t inputs = (size_t)ninputs * sizeof(vp__input);
    size_t axes = 2 * sizeof(int64_t) * (size_t)(input_axes + ndim + target_ndim);
    size_t payload = (head + inputs + axes + 15) / 16 * 16;
    vp__node *n = vp__pool_alloc(payload + payload_bytes);
    if (!n) return NULL;
    memset((char *)n + offsetof(vp__node, write_sequence), 0,
           sizeof *n - offsetof(vp__node, write_sequence));
    n->work = work;
    n->name = name;
    n->where = where;
    n->bytes = payload + payload_bytes;
    _Static_assert(VP__NWAITS == 4, "one line for each");
    atomic_init(&n->waits[0], VP__ATTACHING);
    atomic_init(&n->waits[1], VP__ATTACHING);
    atomic_init(&n->waits[2], VP__ATTACHING);
    atomic_init(&n->waits[3], VP__ATTACHING);
    atomic_init(&n->refs, 1);
    n->in = (vp__input *)((char *)n + head);
    int64_t *axis = (int64_t *)((char *)n + head + inputs);
    n->dims = axis;
    n->strides = axis + ndim;
    n->target_dims = axis + 2 * ndim;
    n->target_strides = n->target_dims + target_ndim;
    n->ndim = (int8_t)ndim;
    n->target_ndim = (int8_t)target_ndim;
    n->home = -1;
    n->payload = (char *)n + payload;
    return n;
}

vp__input *vp__node_add_input(vp__node *n, vp__storage *s, vp_dtype dtype, int64_t offset,
                              int ndim, const int64_t *dims, const int64_t *strides) {
    vp__input *in = &n->in[n->ninputs];
    /* The first input's axes follow the target's; each next one's follow the one before. */
    int64_t *axes =
        n->ninputs ? in[-1].strides + in[-1].ndim : n->target_strides + n->target_ndim;
    n->ninputs++;
    *in = (vp__input){.storage = s,
                      .offset = offset,
                      .dims = axes,
                      .strides = axes + ndim,
                      .ndim = (int8_t)ndim,
                      .dtype = (uint8_t)dtype};
    if (dims) {
        for (int i = 0; i < ndim; i++) {
            in->dims[i] = dims[i];
            in->strides[i] = strides[i];
        }
        in->region = vp__region_of(offset, ndim, dims, strides, vp__dtype[dtype].size);
    } else {
        in->late = true;
        in->region = vp__region_all();
    }
    return in;
}

void vp__node_unref(vp__node *n) {
    /* acq_rel: the last reference frees what the others have used. */
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1)
        vp__pool_free(n, n->bytes);
}

void vp__node_fail(vp__node *n, vp__error *e) {
    vp__spin_lock(&n->error_lock);
    if (n->error)
        vp__error_release(e);
    else
        n->error = e;
    vp__spin_unlock(&n->error_lock);
}

void vp__node_raise(const vp__node *n, vp__error *e) {
    vp__failure_raise_late(e, n->id & ((UINT64_C(1) << VP__NODE_COUNT_BITS) - 1));
}

vp__error *vp__node_no_memory(const vp__node *n) {
    return vp__error_new(VP_ERR_MEMORY, n->where, "%s: out of memory for its result",
                         n->name);
}

int vp__node_attached(vp__node *n, vp__wait what, int waits, int marks) {
    _Atomic int32_t *count = &n->waits[what];
    int drop = VP__ATTACHING - waits - marks;
    if (waits) /* acq_rel: like the signals that may have come already */
        return atomic_fetch_sub_explicit(count, drop, memory_order_acq_rel) - drop;
    /* Nobody knows of the counter yet, so that it can be set in two steps. */
    int left = atomic_load_explicit(count, memory_order_relaxed) - drop;
    atomic_store_explicit(count, left, memory_order_relaxed);
    return left;
}

vp__error *vp__node_inherited(const vp__node *n) {
    for (int i = 0; i < n->ninputs; i++) {
        const vp__input *in = &n->in[i];
        vp__error *e = vp__storage_error(in->storage, &in->region, in->sequence);
        if (e) return e;
    }
    return NULL;
}

void vp__node_promise(vp__node *n) {
    if (n->is_put || n->result->inline_data || !vp__pool_can_have(n->result->bytes))
        return;
    n->promised = n->result->bytes;
    atomic_fetch_add_explicit(&vp__bytes_promised, n->promised, memory_order_relaxed);
}

void vp__node_unpromise(vp__node *n) {
    if (n->promised)
        atomic_fetch_sub_explicit(&vp__bytes_promised, n->promised, memory_order_relaxed);
    n->promised = 0;
}
