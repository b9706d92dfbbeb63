/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: of elements into a layout, and of all of a storage.
 */
#include "array/shape.h"
#include "issue/library/family.h"

void vp__library_copy_begin(vp__node *n) {
    n->pieces = vp__library_pieces((double)vp__library_count(n),
                                   n->ndim && n->dims[0] > 1 ? 64 : 1);
}

void vp__library_copy_piece(vp__node *n, int64_t i, vp__core *core) {
    (void)core;
    vp__view out = vp__library_output(n), in = vp__library_input(n, 0);
    vp__lib_copy(&out, &in, i, n->pieces);
}

const vp__family vp__family_copy = {.work = {.size = vp__library_size_node,
                                             .begin = vp__library_copy_begin,
                                             .piece = vp__library_copy_piece,
                                             .one_kernel = true},
                                    .payload = sizeof(vp__lib_params)};

/* A storage whose producer failed may never have got its memory. */
static void duplicate_piece(vp__node *n, int64_t i, vp__core *core) {
    if (atomic_load_explicit(&n->in[0].storage->host, memory_order_relaxed))
        vp__library_copy_piece(n, i, core);
}

static bool duplicate_next(vp__node *n, vp__core *core) {
    (void)core;
    vp__storage_copy_poison(n->result, n->in[0].storage, n->in[0].sequence);
    return false;
}

const vp__family vp__family_duplicate = {.work = {.begin = vp__library_copy_begin,
                                                  .piece = duplicate_piece,
                                                  .next = duplicate_next,
                                                  .copies_poison = true},
                                         .payload = sizeof(vp__lib_params)};
