/* SPDX-License-Identifier: Apache-2.0 */
#include "api/operand.h"

#include "api/build.h"
#include "api/held.h"
#include "base/config.h"

/* What a name stands for that has an error, or that is none (NULL). */
__attribute__((noinline, cold)) static vp__expr *no_array(vp__name *n, vp_array a,
                                                          const char *where) {
    if (!n) return vp__expr_poison(vp__name_stale(a, where), where);
    vp__expr *e = vp__expr_poison(vp__error_retain(n->error), where);
    vp__name_unlock(n);
    return e;
}

/* A leaf that reads a part of a named array as it is now, or all of it (NULL, or an array whose
 * size is not known); it holds the buffer for those who may want to view or write the array
 * through it. The name is locked, and no more afterwards. */
static inline vp__expr *name_leaf(vp__name *n, vp_array a, const vp_index *part,
                                  bool holds_buffer, const char *where) {
    if (__builtin_expect(!n || n->error, 0)) return no_array(n, a, where);
    vp__buffer *b = n->buffer;
    if (n->late) vp__name_refresh(n);
    bool shared = vp__buffer_is_shared(b);
    if (shared) vp__spin_lock(&b->lock);
    vp__storage *s = b->storage;
    vp__error *error = s->late ? vp__error_retain(vp__storage_failure(s)) : NULL;
    vp__layout l;
    if (part && !n->late && !error) {
        error = vp__select_apply(part->item, (int)part->count, n->ndim, n->offset,
                                 n->dims, n->strides, &l);
        if (__builtin_expect(error != NULL, 0))
            error = vp__error_wrap(error, where, "get");
    }
    vp__expr *e;
    if (__builtin_expect(error != NULL, 0))
        e = vp__expr_poison(error, where);
    else if (part && !n->late)
        e = vp__expr_leaf(s, b, n->dtype, l.offset, l.ndim, l.dims, l.strides, false,
                          where);
    else
        e = vp__expr_leaf(s, holds_buffer ? b : NULL, n->dtype, n->offset, n->ndim,
                          n->dims, n->strides, n->late, where);
    if (shared) vp__spin_unlock(&b->lock);
    vp__name_unlock(n);
    return e;
}

/* Flat, since nearly every operand is one. */
__attribute__((flatten)) static vp__expr *array_leaf(vp_array a, bool holds_buffer,
                                                     const char *where) {
    return name_leaf(vp__held_lock(a), a, NULL, holds_buffer, where);
}

__attribute__((flatten)) vp__expr *vp__array_part(vp_array a, const vp_index *part,
                                                  const char *where) {
    return name_leaf(vp__held_lock(a), a, part, true, where);
}

/* Whether it is only known by its use what becomes of an expression. */
static inline bool is_undecided(const vp__expr *e) {
    return e->kind == VP__EXPR_VIEW || e->kind == VP__EXPR_LIBRARY;
}

/* An expression taken from its owner; NULL when the handle is stale, for one that is yet to be
 * decided, and for a number. */
static inline vp__expr *take_expr(vp_expr x) {
    vp__expr *e = vp__expr_find(x.slot, x.generation);
    if (!e || is_undecided(e) || e->kind == VP__EXPR_CONST) return NULL;
    vp__expr_unlink(e);
    return e;
}

static vp__expr *any_operand(vp_operand x, const char *where) {
    vp__expr *e = vp__operand_view(x, where);
    if (is_undecided(e)) vp__materialise(e);
    return e;
}

/* What a name holds unissued, or a leaf. */
static inline vp__expr *array_value(vp_array a, const char *where) {
    vp__name *n = vp__name_lock(a);
    vp__expr *e = NULL;
    if (n && __builtin_expect(n->held != NULL, 0)) e = vp__held_use(&n, a);
    return e ? e : name_leaf(n, a, NULL, false, where);
}

vp__expr *vp__argument(vp_operand x, const char *where) {
    if (x.kind == VP__IN_ARRAY) return array_value(vp__bits_array(x.bits), where);
    vp__expr *e = x.kind == VP__IN_EXPR ? take_expr(vp__bits_expr(x.bits)) : NULL;
    return e ? e : any_operand(x, where);
}

vp__expr *vp__operand(vp_operand x, const char *where) {
    vp__expr *e = x.kind == VP__IN_EXPR ? take_expr(vp__bits_expr(x.bits)) : NULL;
    return e ? e : any_operand(x, where);
}

vp__error *vp__expr_stale(vp_expr x, const char *where) {
    if (x.slot == UINT32_MAX && x.generation == 0)
        return vp__error_new(VP_ERR_MEMORY, where, "out of memory for an expression");
    const char *why =
        "this expression was used before; name it with vp_let to use it twice";
    if (x.generation == 0)
        why = "this is not an expression (an uninitialised vp_expr?)";
    else if (vp__expr_is_foreign(x.slot))
        why = "this expression belongs to another thread; name it there with vp_let";
    else if (vp__expr_has_ended(x.slot, x.generation))
        why = "this expression is gone, since its scope has ended; vp_keep takes one to "
              "the scope around it";
    return vp__error_new(VP_ERR_HANDLE, where, "%s", why);
}

vp__expr *vp__operand_view(vp_operand x, const char *where) {
    if (x.kind == VP__IN_ARRAY) return array_leaf(vp__bits_array(x.bits), true, where);
    if (x.kind != VP__IN_EXPR) return vp__build_number(x, where);
    const vp_expr handle = vp__bits_expr(x.bits);
    vp__expr *e = vp__expr_find(handle.slot, handle.generation);
    if (e) {
        vp__expr_unlink(e);
        if (vp__weak_of(e) >= 0)
            e->where = where; /* a complex number comes from nowhere */
        return e;
    }
    return vp__expr_poison(vp__expr_stale(handle, where), where);
}

vp_expr vp__give_open(vp__expr *e) {
    vp__held_pass_one();
    if (e->others) e = vp__own(e);
    e->depth = (uint16_t)vp__scope_depth();
    vp__expr_link(e);
    /* An instruction may give its operand's record back: the operand has been used all the
     * same. Not where there is no record, whose generation stays 0. */
    e->generation += e->generation != 0;
    return (vp_expr){e->slot, e->generation};
}

vp_expr vp__give(vp__expr *e) {
    if (__builtin_expect(vp__config_get()->one_by_one, 0) && e->kind != VP__EXPR_VIEW)
        vp__materialise(e);
    return vp__give_open(e);
}

vp_expr vp__give_error(vp__error *error, const char *where) {
    return vp__give(vp__expr_poison(error, where));
}
