/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/library/node.h"

#include <assert.h>
#include <string.h>

#include "issue/library/family.h"

/* Until the size is known, work is taken for about this. */
enum { UNKNOWN_NS = 500 };

vp__node *vp__library_node(const vp__lib_params *p, vp_dtype dtype, const char *name,
                           const char *where, int nin, int axes, int ndim,
                           int target_ndim) {
    const vp__family *f = vp__family_of(p->kind);
    const int operands = vp__lib_rows[p->kind].operands;
    assert(nin == 0 || operands == VP__MANY || nin == operands);
    (void)operands;
    vp__node *n =
        vp__node_new(&f->work, name, where, nin, axes, ndim, target_ndim, f->payload);
    if (!n) return NULL;
    memset(n->payload, 0, f->payload);
    *(vp__lib_params *)n->payload = *p;
    if (f->init) f->init(n);
    n->dtype = (uint8_t)dtype;
    n->key = VP__NOPS + 1 + (int)p->kind;
    n->estimate = UNKNOWN_NS;
    return n;
}
