/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/copy.h"

#include "issue/library/family.h"
#include "issue/library/node.h"
#include "issue/tiny.h"
#include "net/entry.h"

bool vp__copy_storage(vp__storage *to, vp__storage *from, const char *where) {
    const vp__lib_params p = {.kind = VP__LIB_duplicate};
    vp__node *n = vp__library_node(&p, VP_U8, "copy", where, 1, 1, 1, 0);
    if (!n) return false;
    int64_t bytes = from->bytes, one = 1;
    n->dims[0] = bytes;
    n->strides[0] = 1;
    n->is_sized = true;
    vp__library_estimate(n);
    vp__storage_retain(from);
    vp__node_add_input(n, from, VP_U8, 0, 1, &bytes, &one);
    n->in[0].region = vp__region_all();
    n->result = to;
    n->write_region = vp__region_all();
    n->at_once = vp__is_tiny(n->estimate, n->key);
    vp__node_submit(n, NULL);
    return true;
}
