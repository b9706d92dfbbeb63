/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/recipe.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "net/tuning.h"

enum { BLOCK = 4096 - 64 }; /* most recipes fit one block of the pool */

static _Atomic int64_t kept_bytes; /* relaxed: a figure, nothing depends on it */

int64_t vp__recipe_bytes(void) {
    return atomic_load_explicit(&kept_bytes, memory_order_relaxed);
}

void vp__recipe_retain(vp__recipe *r) {
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

void vp__recipe_release(vp__recipe *r) {
    /* acq_rel: whoever frees it comes after all who used it. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    vp__arena_deinit(&r->arena);
    vp__pool_free(r, r->bytes);
}

/* --- making one --------------------------------------------------------------------- */

void vp__recipe_args(vp__exec_args *a, const vp__part *p, const int64_t *loop_out) {
    a->kernel = &p->kernel;
    a->cost = p->cost;
    a->repeats = 1;
    a->ndim = p->ndim;
    a->dims = p->dims;
    a->reduced = p->reduced;
    for (int i = 0; i < p->kernel.nleaves; i++)
        a->leaf_strides[i] = p->kernel.leaf[i].constant ? NULL : p->strides[i];
    a->out_strides = loop_out;
}

static bool copy_axes(vp__recipe *r, int ndim, const int64_t *from, int64_t **to) {
    *to = vp__arena_alloc(&r->arena, (size_t)ndim * sizeof(int64_t));
    if (*to) memcpy(*to, from, (size_t)ndim * sizeof(int64_t));
    return *to != NULL;
}

static bool make_plan(vp__recipe *r, const vp__part *p, const int64_t *loop_out,
                      int repeats, vp__plan **plan) {
    vp__exec_args args;
    vp__recipe_args(&args, p, loop_out);
    args.repeats = repeats;
    *plan = vp__arena_alloc(&r->arena, vp__plan_size_for(&args));
    if (!*plan) return false;
    vp__plan_init(*plan, &args, VP__ONE_PIECE);
    return true;
}

/* The target's strides along the iteration space; whether the part's own are the same. */
static bool spread_strides(const vp__part *p, const int64_t *own, int64_t *loop) {
    const bool keeps = p->out_ndim == p->ndim;
    bool same = true;
    for (int i = 0, k = 0; i < p->ndim; i++) {
        const bool reduced = p->reduced >> i & 1;
        loop[i] = reduced ? 0 : own[k];
        if (!reduced || keeps) k++;
        if (p->dims[i] != 1 && p->loop_out_strides[i] != loop[i]) same = false;
    }
    return same;
}

/* A part that several cores would share is planned when it runs, and so is a long one that
 * native code may come for in the meantime. */
static bool is_planned(const vp__part *p) {
    const bool stays = vp__placeable == 1 && !vp__plan_may_go_native(&p->kernel);
    return stays || p->cost < 2 * (double)vp__tuning.piece_ns;
}

static bool make_target(vp__recipe *r, const int64_t *target, int repeats) {
    const vp__part *p = vp__recipe_last(r);
    const int last = r->cut.nparts - 1;
    r->target_ndim = (int16_t)p->out_ndim;
    r->target_loop = vp__arena_alloc(&r->arena, (size_t)(p->ndim + 1) * sizeof(int64_t));
    if (!r->target_loop || !copy_axes(r, p->out_ndim, target, &r->target)) return false;
    const bool same = spread_strides(p, target, r->target_loop);
    r->target_flat = p->flat && same;
    if (r->target_flat || !is_planned(p)) return true;
    if (!make_plan(r, p, r->target_loop, repeats, &r->target_plan)) return false;
    if (same) r->plan[last] = r->target_plan;
    return true;
}

/* Cuts and plans; the segment and the leaves' layouts are there. */
static bool fill(vp__recipe *r, const vp__leaf_layout *leaves, const int64_t *target,
                 int repeats) {
    if (!vp__segment_cut(&r->cut, &r->seg, leaves, &r->arena)) return false;
    r->plan = vp__arena_alloc(&r->arena, (size_t)r->cut.nparts * sizeof *r->plan);
    if (!r->plan) return false;
    memset(r->plan, 0, (size_t)r->cut.nparts * sizeof *r->plan);
    for (int k = 0; k < r->cut.nparts; k++) {
        const vp__part *p = r->cut.part[k];
        if (p->flat || !is_planned(p)) continue;
        /* With a target it is seldom wanted any other way. */
        if (target && k + 1 == r->cut.nparts) continue;
        if (!make_plan(r, p, p->loop_out_strides, repeats, &r->plan[k])) return false;
    }
    return !target || make_target(r, target, repeats);
}

static vp__recipe *make(const vp__segment *seg, const vp__leaf_layout *leaves,
                        uint64_t given, const int64_t *target, int repeats) {
    vp__recipe *r = vp__pool_alloc(BLOCK);
    if (!r) return NULL;
    atomic_init(&r->refs, 1);
    r->uses = 1;
    r->most = 0;
    r->target_ndim = -1;
    r->bytes = BLOCK;
    r->given = given;
    r->target = r->target_loop = NULL;
    r->target_flat = false;
    r->target_plan = NULL;
    vp__arena_init(&r->arena, (char *)r + sizeof *r, BLOCK - sizeof *r);
    r->seg = *seg;
    r->seg.term = vp__arena_alloc(&r->arena, (size_t)seg->nterms * sizeof *seg->term);
    r->layout =
        vp__arena_alloc(&r->arena, (size_t)(2 * seg->nleaves + 1) * sizeof *r->layout);
    if (!r->seg.term || !r->layout) goto no_memory;
    memcpy(r->seg.term, seg->term, (size_t)seg->nterms * sizeof *seg->term);
    for (int i = 0; i < seg->nleaves; i++)
        if (!copy_axes(r, leaves[i].ndim, leaves[i].dims, &r->layout[2 * i]) ||
            !copy_axes(r, leaves[i].ndim, leaves[i].strides, &r->layout[2 * i + 1]))
            goto no_memory;
    if (!fill(r, leaves, target, repeats)) goto no_memory;
    for (int i = 0; i < seg->nterms; i++) r->seg.term[i].dims = NULL; /* the caller's */
    return r;
no_memory:
    vp__recipe_release(r);
    return NULL;
}

vp__recipe *vp__recipe_new(const vp__segment *seg, const vp__leaf_layout *leaves) {
    return make(seg, leaves, 0, NULL, 1);
}

static vp__recipe *make_for(vp__expr *root, uint64_t given, const int64_t *target,
                            int repeats, vp__expr **leaves) {
    vp__term terms[VP__SEGMENT_TERMS];
    vp__segment seg;
    vp__segment_build(&seg, terms, root, leaves, given);
    vp__leaf_layout layout[VP__SEGMENT_LEAVES];
    for (int i = 0; i < seg.nleaves; i++)
        layout[i] =
            (vp__leaf_layout){leaves[i]->dims, leaves[i]->strides, leaves[i]->ndim};
    return make(&seg, layout, given, target, repeats);
}

vp__recipe *vp__recipe_closed(const vp__recipe *r, vp__expr *root, vp__expr **leaves) {
    return make_for(root, 0, r->target, 1, leaves);
}

/* --- finding one -------------------------------------------------------------------- */

/* How far a tree has been compared with the terms of a recipe. */
typedef struct {
    const vp__term *first, *term, *end;
    int64_t *const *layout; /* of the next leaf */
    vp__expr **leaf;
    uint64_t others; /* terms that are other constants */
    uint32_t mark;
} cursor;

static bool is_value(const vp__term *s, const vp__expr *e) {
    return s->value[0] == e->value.u64[0] && s->value[1] == e->value.u64[1];
}

/* Whether an expression is the next term. What is not a leaf has its dims from the leaves. */
static inline bool is_term(cursor *c, vp__expr *e) {
    const vp__term *s = c->term++;
    if (s == c->end || s->form != vp__expr_form(e) || s->axes != e->axes) return false;
    if (e->kind == VP__EXPR_LEAF) {
        const int64_t *dims = c->layout[0], *strides = c->layout[1];
        c->layout += 2;
        *c->leaf++ = e;
        for (int i = 0; i < e->ndim; i++)
            if (dims[i] != e->dims[i] || strides[i] != e->strides[i]) return false;
        return true;
    }
    if (e->kind != VP__EXPR_CONST) return true;
    if (s->kind == VP__EXPR_LEAF) {
        c->layout += 2;
        *c->leaf++ = e;
    } else if (!is_value(s, e)) {
        c->others |= (uint64_t)1 << (s - c->first);
    }
    return true;
}

/* Whether the tree is what the terms were flattened from; lists its leaves. */
static bool is_same(cursor *c, vp__expr *e) {
    for (int i = 0; i < e->nargs; i++) {
        vp__expr *a = e->arg[i];
        if (!(a->nargs ? is_same(c, a) : is_term(c, a))) return false;
    }
    return is_term(c, e);
}

/* The same where something is used more than once: it is one term, and whoever uses it says
 * which. */
static bool is_same_net(cursor *c, vp__expr *e) {
    if (e->mark == c->mark) return true;
    for (int i = 0; i < e->nargs; i++)
        if (!is_same_net(c, e->arg[i])) return false;
    const vp__term *s = c->term;
    if (s == c->end) return false;
    for (int i = 0; i < e->nargs; i++)
        if (s->arg[i] != e->arg[i]->term) return false;
    e->mark = c->mark;
    e->term = (uint8_t)(s - c->first);
    return is_term(c, e);
}

/* As below, but for constants: *others are the terms of those that differ. */
static bool is_like(const vp__recipe *r, vp__expr *root, const int64_t *target,
                    vp__expr **leaves, uint64_t *others) {
    if (r->target_ndim != (target ? root->ndim : -1)) return false;
    if (target)
        for (int i = 0; i < root->ndim; i++)
            if (r->target[i] != target[i]) return false;
    const vp__term *first = r->seg.term, *end = first + r->seg.nterms;
    cursor c = {first, first, end, r->layout, leaves, 0, 0};
    if (root->repeats) c.mark = vp__expr_new_mark();
    const bool like =
        (c.mark ? is_same_net(&c, root) : is_same(&c, root)) && c.term == end;
    *others = c.others;
    return like;
}

bool vp__recipe_is_for(const vp__recipe *r, vp__expr *root, const int64_t *target,
                       vp__expr **leaves) {
    uint64_t others;
    return is_like(r, root, target, leaves, &others) && !others;
}

/* Adds constants to those that runs bring with them, if there is room for as many leaves. */
static uint64_t give(const vp__recipe *r, uint64_t others) {
    const int more = __builtin_popcountll(others);
    return r->seg.nleaves + more <= VP__SEGMENT_LEAVES ? r->given | others : 0;
}

/* A few facts about the form, and so many different loop bodies find places of their own. */
static int place_of(const vp__expr *root) {
    const vp__expr *inner = root->nargs ? root->arg[0] : root;
    uint64_t h = (uint64_t)root->count << 32 | (uint64_t)inner->count;
    h ^=
        (uint64_t)root->op << 8 | (uint64_t)inner->op << 16 | (uint64_t)root->terms << 24;
    h = (h ^ root->axes ^ (uint64_t)root->leaves << 40) * 0x9e3779b97f4a7c15u;
    return (int)((h >> 58) % VP__ISSUER_RECIPES);
}

static int64_t bytes_of(const vp__recipe *r) {
    size_t bytes = vp__pool_class_bytes(r->bytes);
    for (const vp__arena_block *b = r->arena.blocks; b; b = b->next)
        bytes += vp__pool_class_bytes(b->bytes);
    return (int64_t)bytes;
}

static void keep(vp__recipe **slot, vp__recipe *r) {
    const int64_t before = *slot ? bytes_of(*slot) : 0;
    if (*slot) vp__recipe_release(*slot);
    *slot = r;
    atomic_fetch_add_explicit(&kept_bytes, bytes_of(r) - before, memory_order_relaxed);
}

vp__recipe *vp__recipe_of(vp__core *core, vp__expr *root, const int64_t *target,
                          vp__expr **leaves) {
    vp__issuer *issuer = vp__issuer_of(core);
    if (!issuer) return NULL;
    /* Either of two, so that a body whose recipes meet in one place keeps both. */
    const int place = place_of(root);
    vp__recipe **slot = &issuer->recipe[place], *r = *slot;
    int repeats = 1, most = issuer->recipe_uses;
    uint32_t form = 0;
    uint64_t others, given = 0;
    bool like = r && is_like(r, root, target, leaves, &others);
    if (r && !like) {
        vp__recipe **other = &issuer->recipe[place ^ 1];
        like = *other && is_like(*other, root, target, leaves, &others);
        if (like || !*other || (*other)->made < r->made) r = *(slot = other);
    }
    if (like) {
        if (!others && vp__recipe_lasts(r)) {
            r->uses++;
            return r;
        }
        repeats = r->uses;
        most = !others && r->most < VP__RECIPE_MOST ? 2 * r->most : r->most;
        form = r->form;
        given = give(r, others);
    }
    r = make_for(root, given, target, repeats, leaves);
    if (!r) return NULL;
    r->form = form ? form : ++issuer->forms;
    r->made = ++issuer->recipes;
    r->most = (uint16_t)most;
    keep(slot, r);
    return r;
}
