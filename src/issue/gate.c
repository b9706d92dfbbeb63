/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/gate.h"

#include <string.h>

#include "array/shape.h"
#include "issue/close.h"
#include "issue/library/node.h"
#include "net/call.h"
#include "net/entry.h"
#include "net/life.h"

static void hold(vp__gate *gate, vp__node *n, vp__wait what) {
    if (!gate) return;
    gate->node = n;
    gate->what = what;
    /* One more signal to wait for; opening delivers it. */
    atomic_fetch_add_explicit(&n->waits[what], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
}

void vp__gate_copy(vp__expr *x, vp__gate *size_gate, vp__gate *run_gate,
                   const char *where, vp__value *out) {
    vp__materialise(x);
    vp__value_init(out, x);
    const vp__lib_params p = {.kind = VP__LIB_copy};
    int size = vp__dtype[x->dtype].size;
    bool late = size_gate || x->late;
    out->late = late;
    out->storage = vp__storage_new(late ? -1 : x->count * size);
    vp__node *n =
        vp__library_node(&p, (vp_dtype)x->dtype, "gate", where, 1, x->ndim, x->ndim, 0);
    vp__storage_retain(x->storage);
    vp__node_add_input(n, x->storage, (vp_dtype)x->dtype, x->offset, x->ndim,
                       x->late ? NULL : x->dims, x->strides);
    if (!late) {
        memcpy(out->dims, x->dims, (size_t)x->ndim * sizeof(int64_t));
        vp__layout_compact(x->ndim, x->dims, size, false, out->strides);
    }
    n->result = out->storage;
    n->write_region = vp__region_all();
    hold(size_gate, n, VP__WAIT_SIZE);
    hold(run_gate, n, VP__WAIT_INPUT);
    vp__node_submit(n, NULL);
    vp__expr_free(x);
}

void vp__gate_open(vp__gate *gate) {
    VP__CALL_ON_TRACK;
    vp__node *n = gate->node;
    gate->node = NULL;
    atomic_fetch_sub_explicit(&vp__nodes_outside, 1, memory_order_relaxed);
    vp__node_signal(n, gate->what);
    vp__ready_take(vp__core_self(), false);
}
