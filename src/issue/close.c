/* SPDX-License-Identifier: Apache-2.0
 *
 * Closing: an expression becomes a value with storage of its own.
 */
#include "issue/close.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "issue/library.h"
#include "issue/reuse.h"
#include "issue/roll.h"
#include "net/cost.h"

void vp__value_release(vp__value *v) {
    if (v->storage) vp__storage_release(v->storage);
    if (v->error) vp__error_release(v->error);
    v->storage = NULL;
    v->error = NULL;
}

void vp__value_init(vp__value *v, const vp__expr *e) {
    v->storage = NULL;
    v->error = NULL;
    v->dtype = e->dtype;
    v->ndim = e->ndim;
    v->offset = 0;
    v->late = false;
}

/* A value of the right shape, where that is known, that only carries the error. */
static void fail(const vp__expr *e, vp__value *out, vp__error *error) {
    out->storage = NULL;
    out->error = error;
    if (e->late) return;
    memcpy(out->dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
    vp__layout_compact(e->ndim, e->dims, vp__dtype[e->dtype].size, false, out->strides);
}

/* --- what has several users ----------------------------------------------------------------- */

typedef struct {
    uint32_t mark;
    bool repeats;
    int count;
    vp__expr *shared[VP__SEGMENT_TERMS]; /* that others use too, or did: operands first */
    const vp__expr *failed; /* there was no memory to store it, for anybody */
} walk;

static inline bool is_open(const vp__expr *e) {
    return e->kind == VP__EXPR_OP || e->kind == VP__EXPR_REDUCE;
}

static void meet(walk *w, vp__expr *e) {
    if (e->mark == w->mark) {
        e->seen++;
        w->repeats |= is_open(e);
        return;
    }
    e->mark = w->mark;
    e->seen = 1;
    if (e->kind == VP__EXPR_POISON) w->failed = e;
    for (int i = 0; i < e->nargs; i++) meet(w, e->arg[i]);
    if ((e->others || e->computed) && is_open(e) && w->count < VP__SEGMENT_TERMS)
        w->shared[w->count++] = e;
}

static void meet_all(walk *w, vp__expr *root) {
    *w = (walk){.mark = vp__expr_new_mark()};
    for (int i = 0; i < root->nargs; i++) meet(w, root->arg[i]);
}

/* Whether a value is to be stored that others than the one that met it use. If those are names
 * alone, they may go without another use. */
static bool is_wanted(vp__expr *e) {
    const uint32_t outside = 1 + e->others - e->seen;
    if (outside > e->names) return true;
    const bool again = e->computed;
    if (outside == 0 && !again) return false;
    e->computed = true;
    /* Also where nobody is left who could use it, the line learns that somebody did. */
    return vp__reuse_is_likely(e->where, e->cost * (float)vp__cost_factor(e->op),
                               again) &&
           outside > 0;
}

void vp__settle(vp__expr *root) {
    if (!root->shares) return;
    walk w;
    meet_all(&w, root);
    bool stored = false;
    for (int i = 0; i < w.count; i++) {
        vp__expr *e = w.shared[i];
        /* What it was under may have been stored meanwhile, and it with that. */
        if (!is_open(e) || !is_wanted(e)) continue;
        vp__materialise(e);
        stored = true;
    }
    if (stored) meet_all(&w, root);
    root->repeats = w.repeats;
    if (w.failed) vp__expr_fail(root, vp__error_retain(w.failed->error));
}

/* --- closing -------------------------------------------------------------------------------- */

static void close_segment(vp__expr *e, vp__value *out) {
    vp__destination d;
    const bool sent =
        vp__destination_fresh(&d, e->late ? -1 : e->count * vp__dtype[e->dtype].size) &&
        vp__roll_send(e, &d, out->dims, out->strides);
    out->storage = d.storage;
    out->late = e->late;
    if (__builtin_expect(sent, 1)) return;
    if (d.storage) vp__storage_release(d.storage);
    fail(e, out, vp__error_new(VP_ERR_MEMORY, e->where, "out of memory"));
}

void vp__close(vp__expr *e, vp__value *out) {
    vp__value_init(out, e);
    if (e->kind == VP__EXPR_LIBRARY) vp__library_finish(e, VP__NOPS);
    if (e->others) vp__materialise(e); /* for all its users */
    vp__settle(e);
    switch ((vp__expr_kind)e->kind) {
    case VP__EXPR_POISON: out->error = vp__error_retain(e->error); break;
    case VP__EXPR_LIBRARY: /* a leaf or poison by now */
    case VP__EXPR_LEAF:
        vp__storage_retain(e->storage);
        out->storage = e->storage;
        out->offset = e->offset;
        out->late = e->late;
        if (!e->late) {
            memcpy(out->dims, e->dims, (size_t)e->ndim * sizeof(int64_t));
            memcpy(out->strides, e->strides, (size_t)e->ndim * sizeof(int64_t));
        }
        break;
    case VP__EXPR_CONST:
    case VP__EXPR_OP:
    case VP__EXPR_REDUCE:
    case VP__EXPR_COUNT:
    case VP__EXPR_VIEW:
    case VP__EXPR_ROLL:
    case VP__EXPR_FREE: close_segment(e, out); break;
    }
    vp__expr_free(e);
}

/* A named part of a larger array is copied, not shared, when it is at most this share of
 * it: sharing would make the next write to the large one copy all of it. It is also copied
 * when there are gaps between its elements: what a name refers to is laid out without,
 * whether its size was known when it was named or not. */
enum { SHARE_AT_LEAST = 2 };

static bool is_part(const vp__expr *e) {
    if (e->kind != VP__EXPR_LEAF || e->late) return false;
    const int size = vp__dtype[e->dtype].size;
    return !vp__layout_is_dense(e->ndim, e->dims, e->strides, size) ||
           e->storage->borrowed || e->count * size * SHARE_AT_LEAST <= e->storage->bytes;
}

void vp__close_to_own(vp__expr *e, vp__value *out, const char *where) {
    if (!is_part(e)) {
        vp__close(e, out);
        return;
    }
    const vp__lib_params p = {.kind = VP__LIB_copy, .order = VP__ORDER_KEEP};
    vp__library_issue(&p, (vp_dtype)e->dtype, 1, &e, e->ndim, NULL, "copy", where, out);
}

void vp__value_replace(vp__expr *e, const vp__value *v) {
    for (int i = 0; i < e->nargs; i++) vp__expr_free(e->arg[i]);
    e->nargs = 0;
    e->terms = 1;
    e->cost = 0;
    e->shares = e->repeats = false;
    e->kind = VP__EXPR_LEAF;
    e->leaves = 1;
    e->rolls = 0;
    e->like = NULL;
    e->late = v->late;
    e->storage = v->storage;
    vp__storage_capture(v->storage);
    vp__storage_release(v->storage);
    e->offset = v->offset;
    if (v->late) return;
    memcpy(e->dims, v->dims, (size_t)v->ndim * sizeof(int64_t));
    memcpy(e->strides, v->strides, (size_t)v->ndim * sizeof(int64_t));
    vp__expr_measure(e);
}

/* Decides a view of an array whose size was not known when it was selected: another leaf of
 * the same storage if it is known now, else a copy that is made when it will be. */
static void resolve_view(vp__expr *e) {
    vp__expr *leaf = e->arg[0];
    vp__materialise(leaf); /* it may be an undecided view itself */
    if (leaf->kind != VP__EXPR_LEAF) {
        vp__expr_fail(e, vp__error_retain(leaf->error));
        return;
    }
    e->nargs = 0;
    vp__storage *s = leaf->storage;
    bool copy = true;
    vp__layout l = {.ndim = leaf->ndim, .offset = leaf->offset};
    vp__error *failed = vp__storage_failure(s);
    if (failed) {
        vp__error_retain(failed);
        vp__expr_free(leaf);
        vp__expr_fail(e, failed);
        return;
    }
    if (!leaf->late || vp__storage_is_sized(s)) {
        const int64_t *dims = leaf->late ? s->late->dims : leaf->dims;
        const int64_t *strides = leaf->late ? s->late->strides : leaf->strides;
        memcpy(l.dims, dims, (size_t)l.ndim * sizeof(int64_t));
        memcpy(l.strides, strides, (size_t)l.ndim * sizeof(int64_t));
        vp__error *error = vp__viewop_apply(e->view, &l, vp__dtype[e->dtype].size, &copy);
        if (error) {
            vp__expr_free(leaf);
            vp__expr_fail(e, vp__error_wrap(error, e->where, e->view->name));
            return;
        }
    }
    vp__value v;
    vp__value_init(&v, e);
    if (copy) {
        const vp__lib_params p = {.kind = VP__LIB_view, .view = e->view};
        vp__library_issue(&p, (vp_dtype)e->dtype, 1, &leaf, e->ndim, NULL, e->view->name,
                          e->where, &v);
        if (v.error)
            vp__expr_fail(e, v.error);
        else
            vp__value_replace(e, &v);
        return;
    }
    vp__storage_retain(s);
    v.storage = s;
    v.offset = l.offset;
    memcpy(v.dims, l.dims, (size_t)l.ndim * sizeof(int64_t));
    memcpy(v.strides, l.strides, (size_t)l.ndim * sizeof(int64_t));
    vp__value_replace(e, &v);
    e->buffer = leaf->buffer;
    leaf->buffer = NULL;
    vp__expr_free(leaf);
}

/* The type of an operation's results once an epilogue has been applied to them. */
static vp_dtype type_after(int epilogue, vp_dtype t) {
    const vp__optype in = {t, -1};
    vp_dtype work[3];
    vp__op_types((vp__op)epilogue, &in, work, &t);
    return t;
}

void vp__library_finish(vp__expr *e, int epilogue) {
    vp__lib_params p = *e->library;
    vp__pool_free(e->library, sizeof *e->library);
    e->library = NULL;
    const char *name = vp__lib_rows[p.kind].name;
    if (epilogue < VP__NOPS) {
        p.epilogue = (int8_t)(1 + epilogue);
        name = vp__lib_epilogue_name(p.kind, epilogue);
        e->dtype = (uint8_t)type_after(epilogue, (vp_dtype)e->dtype);
    }
    const int nin = e->nargs;
    e->nargs = 0;
    vp__value v;
    vp__library_issue(&p, (vp_dtype)e->dtype, nin, e->arg, e->ndim, NULL, name, e->where,
                      &v);
    if (v.error)
        vp__expr_fail(e, v.error);
    else
        vp__value_replace(e, &v);
}

void vp__materialise(vp__expr *e) {
    if (e->kind == VP__EXPR_LEAF || e->kind == VP__EXPR_POISON) return;
    if (e->kind == VP__EXPR_LIBRARY) {
        vp__library_finish(e, VP__NOPS);
        return;
    }
    if (e->kind == VP__EXPR_VIEW) {
        resolve_view(e);
        return;
    }
    vp__settle(e);
    if (e->kind == VP__EXPR_POISON) return;
    vp__value v;
    vp__value_init(&v, e);
    close_segment(e, &v);
    if (v.error)
        vp__expr_fail(e, v.error);
    else
        vp__value_replace(e, &v);
}

/* A tree has 48 terms at most, counted as often as they are used. */
static bool reads(const vp__expr *e, const vp__storage *s) {
    if (e->kind == VP__EXPR_LEAF) return e->storage == s;
    for (int i = 0; i < e->nargs; i++)
        if (reads(e->arg[i], s)) return true;
    return false;
}

void vp__copy_leaf(vp__expr *e) {
    vp__expr *leaf = vp__expr_leaf(e->storage, NULL, (vp_dtype)e->dtype, e->offset,
                                   e->ndim, e->dims, e->strides, false, e->where);
    const vp__lib_params p = {.kind = VP__LIB_copy, .order = VP__ORDER_KEEP};
    vp__value v;
    vp__library_issue(&p, (vp_dtype)e->dtype, 1, &leaf, e->ndim, NULL, "copy", e->where,
                      &v);
    if (v.error) {
        vp__value_release(&v);
        return;
    }
    vp__storage_drop_capture(e->storage);
    vp__expr_drop_buffer(e);
    vp__value_replace(e, &v);
}

void vp__materialise_readers(vp__storage *s) {
    for (vp__expr *e = vp__expr_roots(), *next; e && e->kind != VP__EXPR_FREE; e = next) {
        next = e->next;
        if (!reads(e, s)) continue;
        if (e->kind != VP__EXPR_LEAF)
            vp__materialise(e);
        else if (s->borrowed || (e->names && is_part(e)))
            vp__copy_leaf(e);
    }
}

void vp__library_issue(const vp__lib_params *p, vp_dtype dtype, int nin, vp__expr **in,
                       int ndim, const int64_t *dims, const char *name, const char *where,
                       vp__value *out) {
    for (int i = 0; i < nin; i++) vp__materialise(in[i]);
    vp__library_make(p, dtype, nin, in, ndim, dims, name, where, out);
    for (int i = 0; i < nin; i++) vp__expr_free(in[i]);
}
