/* SPDX-License-Identifier: Apache-2.0
 *
 * Observing: the only calls that wait, and where errors come to light.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/build.h"
#include "api/held.h"
#include "api/item.h"
#include "api/operand.h"
#include "array/pool.h"
#include "array/shape.h"
#include "base/failure.h"
#include "lib/lib.h"
#include "net/runtime.h"
#include "net/wait.h"
#include "ops/kernels.h"

static vp_status report(vp__error *e) {
    vp_status s = e->status;
    vp__failure_raise(e); /* the observer itself may be what is wrong */
    vp__failure_look_at(e);
    vp__error_remember(e);
    vp__error_release(e);
    return s;
}

/* A value complete and held for reading. */
typedef struct {
    vp__expr *leaf;
    vp__group *group;
    vp__view view;
} held;

static void let_go(held *h) {
    if (h->group) vp__observe_end(h->group);
    vp__expr_free(h->leaf);
}

/* Waits for the elements of a sized leaf, which is consumed. On error nothing is held. */
static vp_status hold_expr(held *h, vp__expr *e) {
    h->group = NULL;
    h->leaf = e;
    if (e->kind != VP__EXPR_LEAF) {
        vp__error *error = vp__error_retain(e->error);
        vp__expr_free(e);
        return report(error);
    }
    vp__region r =
        vp__region_of(e->offset, e->ndim, e->dims, e->strides, vp__dtype[e->dtype].size);
    vp__error *error = vp__observe(e->storage, &r, &h->group);
    if (error) {
        let_go(h);
        return report(error);
    }
    char *host = atomic_load_explicit(&e->storage->host, memory_order_relaxed);
    h->view =
        (vp__view){host + e->offset, e->dims, e->strides, e->ndim, (vp_dtype)e->dtype};
    return VP_OK;
}

static vp_status hold(held *h, vp_operand x, const char *where) {
    return hold_expr(h, vp__as_sized_leaf(vp__operand_view(x, where)));
}

/* Whether elements of a type may be read into memory of this one as they are: each is the same
 * number there, or two for a complex one. */
static bool is_memory_of(vp_dtype t, vp_dtype memory) {
    const vp__dtype_info *of = &vp__dtype[t], *to = &vp__dtype[memory];
    if (t == memory || of->real == memory) return true;
    const bool integers = (of->cls == VP__CLASS_S || of->cls == VP__CLASS_U) &&
                          (to->cls == VP__CLASS_S || to->cls == VP__CLASS_U);
    return integers && of->size == to->size;
}

vp_status vp__read(const char *where, vp_operand x, vp_dtype type, void *memory,
                   size_t bytes) {
    VP__CALL;
    held h;
    vp_status status = hold(&h, x, where);
    if (status != VP_OK) return status;
    if (vp__dtype_is_valid(type) && !is_memory_of(h.view.dtype, type)) {
        const char *is = vp__dtype[h.view.dtype].name, *to = vp__dtype[type].name;
        let_go(&h);
        return report(vp__error_new(
            VP_ERR_TYPE, where,
            "read: elements of %s do not become %s by reading them into memory of "
            "that type; convert them with vp_cast, or give memory of %s",
            is, to, is));
    }
    int size = vp__dtype[h.view.dtype].size;
    size_t need = (size_t)h.leaf->count * (size_t)size;
    if (bytes != need || (!memory && need)) {
        let_go(&h);
        return report(vp__error_new(VP_ERR_VALUE, where,
                                    "read: the array takes %zu bytes, %zu were offered%s",
                                    need, bytes, memory ? "" : " at NULL"));
    }
    int64_t strides[VP__MAXDIM];
    vp__layout_compact(h.view.ndim, h.view.dims, size, false, strides);
    vp__view out = {memory, h.view.dims, strides, h.view.ndim, h.view.dtype};
    if (need) vp__lib_copy(&out, &h.view, 0, 1);
    let_go(&h);
    return VP_OK;
}

/* Converts the one element of x; if it is to be exact, refuses one that the type has not. */
static vp_status read_number(const char *name, const char *where, vp_operand x,
                             vp_dtype type, bool exact, void *out) {
    if (!out)
        return report(vp__error_new(VP_ERR_VALUE, where, "%s: the result is NULL", name));
    if (!vp__dtype_is_valid(type))
        return report(vp__error_new(VP_ERR_TYPE, where, "%s: %d is not an element type",
                                    name, (int)type));
    held h;
    vp_status status = hold(&h, x, where);
    if (status != VP_OK) return status;
    if (h.leaf->count != 1) {
        char text[200];
        vp__shape_text(text, sizeof text, h.view.ndim, h.view.dims);
        let_go(&h);
        return report(vp__error_new(VP_ERR_SHAPE, where,
                                    "%s: an array of shape %s is not one number", name,
                                    text));
    }
    vp__error *error =
        exact ? vp__item_check(h.view.data, h.view.dtype, type, where) : NULL;
    if (!error) vp__kernels_get()->cast[h.view.dtype][type](out, h.view.data, 1);
    let_go(&h);
    return error ? report(error) : VP_OK;
}

vp_status vp__item(const char *where, vp_operand x, vp_dtype type, void *out) {
    VP__CALL;
    return read_number("item", where, x, type, true, out);
}

vp_status vp__truth(const char *where, vp_operand x, bool *out) {
    VP__CALL;
    return read_number("test", where, x, VP_BOOL, false, out);
}

vp_status vp__map(const char *where, vp_operand x, vp_mapped *mapped) {
    VP__CALL;
    if (!mapped)
        return report(vp__error_new(VP_ERR_VALUE, where, "map: the result is NULL"));
    memset(mapped, 0, sizeof *mapped);
    vp__expr *e = vp__as_sized_leaf(vp__operand_view(x, where));
    /* Memory that cannot be renamed is shown as a copy: it would change under the user. */
    if (e->kind == VP__EXPR_LEAF && e->storage->borrowed && !e->storage->read_only)
        vp__copy_leaf(e);
    held h;
    vp_status status = hold_expr(&h, e);
    if (status != VP_OK) return status;
    mapped->data = h.view.data;
    mapped->dtype = h.view.dtype;
    mapped->ndim = h.view.ndim;
    memcpy(mapped->dims, h.view.dims, (size_t)h.view.ndim * sizeof(int64_t));
    memcpy(mapped->strides, h.view.strides, (size_t)h.view.ndim * sizeof(int64_t));
    /* A capture, not a pending read: later writes go to renamed storage instead of waiting
     * for vp_unmap. */
    mapped->token = h.leaf->storage;
    vp__storage_capture(h.leaf->storage);
    let_go(&h);
    return VP_OK;
}

void vp_unmap(vp_mapped *mapped) {
    VP__CALL;
    if (!mapped || !mapped->token) return;
    vp__storage_drop_capture(mapped->token);
    mapped->token = NULL;
    mapped->data = NULL;
}

/* Whether the user still has the expression that an operand is. A bad handle gives one of ours
 * that tells of it, in whatever record; a complex number is nobody's but ours. */
static bool is_users(const vp__expr *e, vp_operand x) {
    return x.kind == VP__IN_EXPR && vp__handle_bits(e->slot, e->generation) == x.bits &&
           vp__weak_of(e) < 0;
}

vp_status vp__wait_for(const char *where, vp_operand x) {
    VP__CALL;
    if (x.kind == VP__IN_EXPR) {
        /* The expression stays usable: it becomes a leaf that reads what was computed. */
        vp__expr *e = vp__operand_view(x, where);
        const bool stays = is_users(e, x);
        if (e->kind != VP__EXPR_POISON) vp__as_sized_leaf(e);
        vp_status status = VP_OK;
        if (e->kind == VP__EXPR_POISON) {
            status = report(vp__error_retain(e->error));
        } else {
            vp__region r = vp__region_of(e->offset, e->ndim, e->dims, e->strides,
                                         vp__dtype[e->dtype].size);
            vp__group *g;
            vp__error *error = vp__observe(e->storage, &r, &g);
            vp__observe_end(g);
            if (error) status = report(error);
        }
        if (stays)
            vp__expr_link(e);
        else
            vp__expr_free(e);
        return status;
    }
    held h;
    vp_status status = hold(&h, x, where);
    if (status == VP_OK) let_go(&h);
    return status;
}

vp_status vp_sync(void) {
    VP__CALL;
    vp__net_init();
    vp__held_issue_all();
    vp__drain();
    vp__error *failure = vp__failure_take();
    return failure ? report(failure) : VP_OK;
}

/* --- what is known early --------------------------------------------------------------------- */

/* Looks at an operand without using it up; expressions are closed if `sized` needs it. */
static vp__expr *peek(vp_operand x, const char *where, bool sized, bool *ours) {
    vp__expr *e = x.kind == VP__IN_ARRAY ? vp__held_look(vp__bits_array(x.bits)) : NULL;
    if (!e) e = vp__operand_view(x, where);
    *ours = !is_users(e, x);
    if (sized && e->late) vp__as_sized_leaf(e);
    return e;
}

static void unpeek(vp__expr *e, bool ours) {
    if (ours)
        vp__expr_free(e);
    else
        vp__expr_link(e);
}

/* A size that came late may belong to a value that failed: this is the earliest place to
 * say so. That is why the size of a number is waited for too, although it can only be 1:
 * nobody knows before whether what it is reduced from fits, or is nothing to take a
 * maximum of, and then a machine that runs one instruction at a time shows no size. */
static vp__error *early_error(const vp__expr *e) {
    if (e->kind == VP__EXPR_POISON) return e->error;
    return e->kind == VP__EXPR_LEAF ? vp__storage_failure(e->storage) : NULL;
}

int64_t vp__size_of(const char *where, vp_operand x, int axis) {
    VP__CALL;
    bool ours;
    vp__expr *e = peek(x, where, true, &ours);
    int64_t size = -1;
    vp__error *error = vp__error_retain(early_error(e));
    bool every = axis == VP__EVERY_AXIS;
    if (!error && !every) error = vp__axis_check(&axis, e->ndim, "dim", where);
    if (error)
        report(error);
    else
        size = every ? e->count : e->dims[axis];
    unpeek(e, ours);
    return size;
}

int vp__ndim_of(const char *where, vp_operand x) {
    VP__CALL;
    bool ours;
    vp__expr *e = peek(x, where, false, &ours);
    int n = e->ndim;
    if (e->kind == VP__EXPR_POISON) {
        report(vp__error_retain(e->error));
        n = -1;
    }
    unpeek(e, ours);
    return n;
}

vp_dtype vp__dtype_of(const char *where, vp_operand x) {
    VP__CALL;
    bool ours;
    vp__expr *e = peek(x, where, false, &ours);
    vp_dtype t = (vp_dtype)e->dtype;
    if (e->kind == VP__EXPR_POISON) {
        report(vp__error_retain(e->error));
        t = VP_AUTO;
    }
    unpeek(e, ours);
    return t;
}

/* --- printing ---------------------------------------------------------------------------------- */

static void print_element(const void *p, vp_dtype t) {
    double d[2];
    const vp__kernels *k = vp__kernels_get();
    switch (vp__dtype[t].cls) {
    case VP__CLASS_B: fputs(*(const uint8_t *)p ? "true" : "false", stdout); break;
    case VP__CLASS_S: {
        int64_t v;
        k->cast[t][VP_I64](&v, p, 1);
        printf("%" PRId64, v);
        break;
    }
    case VP__CLASS_U: {
        uint64_t v;
        k->cast[t][VP_U64](&v, p, 1);
        printf("%" PRIu64, v);
        break;
    }
    case VP__CLASS_F:
        k->cast[t][VP_F64](d, p, 1);
        printf("%g", d[0]);
        break;
    default:
        k->cast[t][VP_C128](d, p, 1);
        printf("%g%+gi", d[0], d[1]);
        break;
    }
}

/* At most this many per axis; the middle of a longer one is left out. */
enum { SHOWN = 8 };

static void print_axis(const vp__view *v, int axis, const char *p) {
    if (axis == v->ndim) {
        print_element(p, v->dtype);
        return;
    }
    putchar('[');
    int64_t n = v->dims[axis];
    for (int64_t i = 0; i < n; i++) {
        if (i) printf(axis + 1 == v->ndim ? " " : "\n%*s", axis + 1, "");
        if (n > SHOWN && i == SHOWN / 2) {
            fputs("…", stdout);
            i = n - SHOWN / 2;
            printf(axis + 1 == v->ndim ? " " : "\n%*s", axis + 1, "");
        }
        print_axis(v, axis + 1, p + i * v->strides[axis]);
    }
    putchar(']');
}

vp_status vp__print(const char *where, vp_operand x) {
    VP__CALL;
    held h;
    vp_status status = hold(&h, x, where);
    if (status != VP_OK) {
        printf("%s\n", vp_message());
        return status;
    }
    char text[300];
    printf("%s %s\n", vp__dtype[h.view.dtype].name,
           vp__shape_text(text, sizeof text, h.view.ndim, h.view.dims));
    print_axis(&h.view, 0, h.view.data);
    putchar('\n');
    let_go(&h);
    return VP_OK;
}
