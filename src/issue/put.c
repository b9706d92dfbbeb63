/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/put.h"

#include "issue/bundle.h"
#include "issue/close.h"
#include "issue/roll.h"

/* Closes the thread's own expressions that read what is about to be written. */
static void close_readers(const vp__target *t) {
    vp__spin_lock(&t->buffer->lock);
    vp__storage *s = t->buffer->storage;
    vp__storage_retain(s);
    vp__spin_unlock(&t->buffer->lock);
    vp__materialise_readers(s);
    vp__storage_release(s);
}

static vp__error *no_memory(const char *where) {
    return vp__error_new(VP_ERR_MEMORY, where, "out of memory");
}

vp__error *vp__put(const vp__target *t, vp__expr *value, const char *where) {
    vp__settle(value);
    if (vp__bundle_next(t, value)) {
        vp__expr_free(value);
        return NULL;
    }
    vp__destination d;
    if (vp__destination_put(&d, t, value)) close_readers(t);
    vp__error *error = vp__destination_find(&d, where);
    if (!error) {
        if (!vp__roll_send(value, &d, NULL, NULL)) error = no_memory(where);
        vp__storage_release(d.storage);
    }
    vp__expr_free(value);
    return error;
}

vp__error *vp__library_put(const vp__lib_params *p, const vp__target *t,
                           const vp__region *region, int nin, vp__expr **in,
                           const char *where) {
    for (int i = 0; i < nin; i++) vp__materialise(in[i]);
    vp__destination d;
    if (vp__destination_scatter(&d, t, region)) close_readers(t);
    /* Borrowed memory is not renamed, so there an operand that reads the target moves. */
    for (int i = 0; i < nin; i++)
        if (in[i]->kind == VP__EXPR_LEAF && in[i]->storage == d.storage &&
            in[i]->storage->borrowed)
            vp__copy_leaf(in[i]);
    vp__error *error = vp__destination_find(&d, where);
    if (!error) {
        if (!vp__library_send(p, t->dtype, nin, in, &d, where)) error = no_memory(where);
        vp__storage_release(d.storage);
    }
    for (int i = 0; i < nin; i++) vp__expr_free(in[i]);
    return error;
}
