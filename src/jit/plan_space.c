/* SPDX-License-Identifier: Apache-2.0
 *
 * From axes to loops; see plan_space.h. Reduced axes keep their order, because it numbers
 * their elements and so decides the tree (unless the order is free); two of them still
 * merge when they are one walk through every leaf. Kept axes are in any order we like.
 */
#include "jit/plan_space.h"

static int64_t length(int64_t stride) { return stride < 0 ? -stride : stride; }

static void reverse(vp__space *l, vp__space_loop *loop) {
    for (int o = 0; o < l->noperands; o++) {
        l->shift[o] += loop->stride[o] * (loop->dim - 1);
        loop->stride[o] = -loop->stride[o];
    }
}

/* Largest weight first; equal ones stay in the order of their axes. */
static void sort(vp__space_loop **loop, int n) {
    for (int i = 1; i < n; i++) {
        vp__space_loop *moving = loop[i];
        int j = i;
        for (; j > 0 && loop[j - 1]->weight < moving->weight; j--) loop[j] = loop[j - 1];
        loop[j] = moving;
    }
}

/* Joins neighbours that every operand walks as one. */
static int merge(vp__space_loop **loop, int n, int noperands) {
    int last = 0;
    for (int i = 1; i < n; i++) {
        vp__space_loop *outer = loop[last], *inner = loop[i];
        bool one = true;
        for (int o = 0; o < noperands; o++)
            one &= outer->stride[o] == inner->stride[o] * inner->dim;
        if (one) {
            inner->dim *= outer->dim;
            loop[last] = inner;
        } else {
            loop[++last] = inner;
        }
    }
    return n > 0 ? last + 1 : 0;
}

/* A loop of one element, which every operand may be said to walk contiguously. */
static vp__space_loop *single(vp__space_loop *loop, const vp__exec_args *args,
                              int noperands) {
    loop->dim = 1;
    loop->weight = loop->reading = 0;
    int o = 0;
    for (int i = 0; i < args->kernel->nleaves; i++)
        if (args->leaf_strides[i] != NULL)
            loop->stride[o++] = vp__dtype[args->kernel->leaf[i].dtype].size;
    loop->stride[noperands - 1] = vp__dtype[args->kernel->result].size;
    return loop;
}

void vp__space_init(vp__space *l, const vp__exec_args *args, bool free_order) {
    const vp__kernel *k = args->kernel;
    const int64_t *strides[VP__OPERANDS];
    int n = 0, used = 0;
    for (int i = 0; i < k->nleaves; i++)
        if (args->leaf_strides[i] != NULL) strides[n++] = args->leaf_strides[i];
    l->noperands = n + 1;
    for (int o = 0; o <= n; o++) l->shift[o] = 0;
    l->nkept = l->nreduced = 0;
    l->outputs = l->numbers = 1;
    for (int axis = 0; axis < args->ndim; axis++) {
        const int64_t dim = args->dims[axis];
        const bool reduced = args->reduced >> axis & 1;
        if (reduced)
            l->numbers *= dim;
        else
            l->outputs *= dim;
        if (dim <= 1) continue;
        vp__space_loop *loop = &l->pool[used++];
        loop->dim = dim;
        loop->reading = 0;
        int64_t drift = 0;
        for (int o = 0; o < n; o++) {
            loop->stride[o] = strides[o][axis];
            loop->reading += length(strides[o][axis]);
            drift += strides[o][axis];
        }
        loop->stride[n] = reduced ? 0 : args->out_strides[axis];
        loop->weight = loop->reading + length(loop->stride[n]);
        if (reduced ? free_order && drift < 0 : loop->stride[n] < 0) reverse(l, loop);
        if (reduced)
            l->reduced[l->nreduced++] = loop;
        else
            l->kept[l->nkept++] = loop;
    }
    if (l->outputs == 0) return;
    if (l->numbers == 0) l->nreduced = 0;
    sort(l->kept, l->nkept);
    if (free_order) sort(l->reduced, l->nreduced);
    l->nkept = merge(l->kept, l->nkept, n + 1);
    l->nreduced = merge(l->reduced, l->nreduced, n + 1);
    if (l->nkept == 0) l->kept[l->nkept++] = single(&l->pool[used++], args, n + 1);
    if (l->nreduced == 0 && k->reduce >= 0 && l->numbers > 0) {
        l->reduced[l->nreduced++] = single(&l->pool[used++], args, n + 1);
        l->reduced[0]->stride[n] = 0;
    }
}
