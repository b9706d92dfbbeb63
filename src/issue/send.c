/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/send.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "issue/bundle.h"
#include "issue/flat.h"
#include "issue/recipe_run.h"
#include "issue/segment.h"
#include "issue/tiny.h"
#include "issue/traced_now.h"
#include "lib/lib.h"
#include "net/entry.h"
#include "net/wait.h"

/* --- at once ------------------------------------------------------------------------------ */

/* What is computed: a flat loop written on the spot, or what a recipe says. Neither: the value
 * has failed. */
typedef struct {
    vp__flat *flat;
    const vp__recipe *recipe;
    vp__expr *const *leaves; /* of the recipe */
} computation;

static bool begin(const computation *c, vp__reads *reads) {
    if (c->flat) return vp__flat_begin(c->flat, reads);
    return vp__reads_begin(reads, c->leaves, c->recipe ? c->recipe->seg.nleaves : 0);
}

/* The error it inherits, not retained. To be asked before its write is entered anywhere. */
static vp__error *inherited(const computation *c, const vp__expr *value) {
    if (c->flat) return vp__flat_error(c->flat);
    if (!c->recipe) return value->error;
    return vp__reads_error(c->leaves, c->recipe->seg.nleaves);
}

static uint64_t traced(const computation *c, const vp__destination *d,
                       const char *where) {
    if (c->flat) return vp__traced_flat_now(c->flat, d->storage, where);
    if (!c->recipe) return 0;
    return vp__traced_segment_now(&c->recipe->seg, c->leaves, d->storage, where);
}

static vp__error *no_memory(const char *where) {
    return vp__error_new(VP_ERR_MEMORY, where, "out of memory for the result");
}

/* The value goes to `out`, in its own layout or in the target's. */
static vp__error *compute(const computation *c, const vp__expr *value, char *out,
                          bool to_target) {
    vp__core *core = vp__core_self();
    vp__count(&core->counters.inlined, 1);
    if (c->flat)
        return vp__flat_run(c->flat, value, out, core) ? NULL : no_memory(value->where);
    char *data[VP__SEGMENT_LEAVES];
    for (int i = 0; i < c->recipe->seg.nleaves; i++) {
        vp__expr *e = c->leaves[i];
        /* relaxed: complete inputs were seen through the log, or never had one. */
        data[i] = e->kind == VP__EXPR_CONST
                      ? (char *)e->value.u64
                      : atomic_load_explicit(&e->storage->host, memory_order_relaxed) +
                            e->offset;
    }
    return vp__recipe_run(c->recipe, data, out, to_target, core, value->where);
}

/* Through a temporary, because the value reads elsewhere what it writes, or is broadcast. */
__attribute__((noinline)) static vp__error *compute_aside(const computation *c,
                                                          const vp__expr *value,
                                                          const vp__target *t, char *to) {
    const int64_t bytes = value->count * vp__dtype[t->dtype].size;
    char *temporary = vp__pool_alloc((size_t)bytes);
    if (!temporary) return no_memory(value->where);
    vp__error *error = compute(c, value, temporary, false);
    if (!error) {
        int64_t own[VP__MAXDIM], strides[VP__MAXDIM];
        const int64_t *made = own;
        if (c->flat)
            vp__flat_strides(value, own);
        else
            made = vp__recipe_last(c->recipe)->out_strides;
        vp__shape_expand_strides(t->ndim, t->dims, value->ndim, value->dims, made,
                                 strides);
        vp__view out = {to, t->dims, t->strides, t->ndim, t->dtype};
        vp__view in = {temporary, t->dims, strides, t->ndim, t->dtype};
        vp__lib_copy(&out, &in, 0, 1);
    }
    vp__pool_free(temporary, (size_t)bytes);
    return error;
}

/* Whether the value can be computed where it goes: also one element alone, whatever it reads of
 * the array, since a loop over it has read all before it writes. */
static inline bool goes_there(const computation *c, const vp__expr *value,
                              const vp__destination *d) {
    return d->in_place || (c->flat && value->count == 1);
}

/* Computes and stores at once. False, and nothing done, when anything has to be waited for. */
static inline bool send_now(const computation *c, const vp__expr *value,
                            const vp__destination *d) {
    vp__reads reads;
    if (!vp__is_tiny(value->cost, value->op) || !begin(c, &reads)) return false;
    vp__error *error = inherited(c, value);
    vp__writing writing;
    const bool writes = vp__writing_begin(&writing, d);
    if (writes) {
        const uint64_t id = traced(c, d, value->where);
        vp__error_retain(error);
        if (!error && !vp__storage_allocate(d->storage)) error = no_memory(value->where);
        if (!error) {
            char *to = atomic_load_explicit(&d->storage->host, memory_order_relaxed);
            if (d->target) to += d->target->offset;
            error = goes_there(c, value, d) ? compute(c, value, to, d->target != NULL)
                                            : compute_aside(c, value, d->target, to);
        }
        vp__traced_now_end(id, d->storage);
        vp__writing_end(&writing, d, error);
    }
    vp__reads_end(&reads);
    return writes;
}

/* --- as a node ---------------------------------------------------------------------------- */

__attribute__((noinline)) static bool send_node(vp__node *n, const vp__expr *value,
                                                vp__destination *d) {
    if (!n) return false;
    vp__admit(value->late ? 0 : value->count * vp__dtype[value->dtype].size);
    vp__destination_give(d, n);
    vp__destination_submit(d, n);
    return true;
}

/* --- the way ------------------------------------------------------------------------------ */

/* Whether the target has the layout of the value's leaves. */
static bool lies_like(const vp__target *t, const vp__expr *value) {
    int64_t strides[VP__MAXDIM];
    vp__flat_strides(value, strides);
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] != 1 && t->strides[i] != strides[i]) return false;
    return true;
}

/* Flat in the other sense too: nearly every instruction comes through here. What is seldom
 * needed, or runs the kernel, is kept out of it by name: all of that once more in one function
 * takes minutes to compile. */
__attribute__((flatten)) static bool send_flat(vp__expr *value, vp__destination *d,
                                               int64_t *dims, int64_t *strides) {
    vp__flat f;
    vp__flat_build(&f, value);
    if (!d->target) {
        for (int i = 0; i < value->ndim; i++) dims[i] = value->dims[i];
        vp__flat_strides(value, strides);
    }
    const computation c = {.flat = &f};
    return send_now(&c, value, d) ||
           send_node(vp__flat_node(&f, value, d->target ? d->target->ndim : -1), value,
                     d);
}

static bool send_segment(vp__expr *value, vp__destination *d, int64_t *dims,
                         int64_t *strides) {
    vp__expr *leaves[VP__SEGMENT_LEAVES];
    const vp__target *t = d->target;
    const bool failed = value->kind == VP__EXPR_POISON;
    vp__recipe *recipe = NULL;
    if (!value->late && !failed) {
        recipe = vp__recipe_of(vp__core_self(), value, t && d->fits ? t->strides : NULL,
                               leaves);
        if (!recipe) return false;
        const vp__part *last = vp__recipe_last(recipe);
        if (!t) {
            memcpy(dims, last->out_dims, (size_t)value->ndim * sizeof(int64_t));
            memcpy(strides, last->out_strides, (size_t)value->ndim * sizeof(int64_t));
        }
    }
    const computation c = {.recipe = recipe, .leaves = leaves};
    const bool gathers = recipe && t && d->own == 0 && !d->elsewhere && !d->is_box;
    if (!gathers && !value->late && send_now(&c, value, d)) return true;
    /* Bundles and admission run nodes, and those what the user wants done when memory is
     * released: other recipes may take its place meanwhile. */
    if (recipe) vp__recipe_retain(recipe);
    bool sent =
        gathers && (vp__bundle_put(recipe, leaves, value, d) || send_now(&c, value, d));
    if (!sent)
        sent = send_node(vp__segment_node_of(value, recipe, leaves, t ? t->ndim : 0),
                         value, d);
    if (recipe) vp__recipe_release(recipe);
    return sent;
}

bool vp__send(vp__expr *value, vp__destination *d, int64_t *dims, int64_t *strides) {
    const vp__target *t = d->target;
    if (vp__flat_is(value) && (!t || (d->fits && lies_like(t, value))))
        return send_flat(value, d, dims, strides);
    return send_segment(value, d, dims, strides);
}
