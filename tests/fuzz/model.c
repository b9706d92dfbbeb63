/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables, shapes and operands as the generator sees them.
 */
#include <string.h>

#include "generator.h"

#define KIND(id, defines) defines,
const char fuzz_defines[FUZZ_NKINDS] = {FUZZ_KINDS(KIND)};
#undef KIND

bool fuzz_oops(fuzz_gen *g) { return fuzz_chance(&g->r, g->mistakes); }

fuzz_instruction *fuzz_add(fuzz_gen *g, fuzz_kind kind) {
    int i = g->p->count++;
    fuzz_instruction *in = &g->p->at[i];
    memset(in, 0, sizeof *in);
    memset(&g->v[i], 0, sizeof g->v[i]);
    in->kind = (uint8_t)kind;
    in->issuer = (uint8_t)g->issuer;
    in->dtype = VP_AUTO;
    return in;
}

fuzz_var *fuzz_define(fuzz_gen *g, vp_dtype dtype, const fuzz_shape *s) {
    int i = g->p->count - 1;
    fuzz_var *v = &g->v[i];
    v->array = fuzz_defines[g->p->at[i].kind] == 'a';
    v->live = true;
    v->owner = (int8_t)g->issuer;
    v->bad = s->bad;
    v->late = s->late;
    v->dtype = (uint8_t)dtype;
    v->ndim = (int8_t)s->ndim;
    v->depth = (int8_t)g->depth;
    memcpy(v->dims, s->dims, sizeof v->dims);
    return v;
}

int64_t fuzz_elements(const fuzz_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) n *= s->dims[i];
    return n;
}

bool fuzz_is_modest(const fuzz_gen *g, const fuzz_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) {
        n *= s->dims[i] > 1 ? s->dims[i] : 1;
        if (n > g->budget) return false;
    }
    return s->ndim <= 6;
}

fuzz_shape fuzz_shape_of(const fuzz_var *v) {
    fuzz_shape s = {.ndim = v->ndim, .late = v->late, .bad = v->bad};
    memcpy(s.dims, v->dims, sizeof s.dims);
    return s;
}

fuzz_shape fuzz_shape_random(fuzz_gen *g) {
    static const uint8_t axes[20] = {0, 1, 1, 1, 1, 1, 1, 1, 2, 2,
                                     2, 2, 2, 2, 3, 3, 3, 4, 4, 0};
    fuzz_shape s = {.ndim = axes[fuzz_below(&g->r, 20)]};
    if (s.ndim == 0 && fuzz_chance(&g->r, 25)) s.ndim = 5 + fuzz_below(&g->r, 2);
    int64_t most = 40;
    if (fuzz_chance(&g->r, 20)) most = 400;
    if (fuzz_chance(&g->r, g->budget > 20000 ? 30 : 5)) most = g->budget;
    int64_t n = 1;
    for (int i = 0; i < s.ndim; i++) {
        int64_t d = fuzz_chance(&g->r, 70) ? g->palette[fuzz_below(&g->r, 4)]
                                           : fuzz_below(&g->r, 8);
        if (most > 40 && fuzz_chance(&g->r, 50)) d = fuzz_between(&g->r, 1, most);
        while (n * d > most) d = (d + 1) / 2 < d ? (d + 1) / 2 : 1;
        s.dims[i] = d;
        n *= d ? d : 1;
    }
    return s;
}

vp_dtype fuzz_dtype_random(fuzz_gen *g) {
    /* The common ones more often, so that types meet. */
    static const uint8_t often[] = {VP_F64, VP_F64,  VP_F32, VP_I64,
                                    VP_I32, VP_BOOL, VP_U8};
    if (fuzz_chance(&g->r, 50)) return (vp_dtype)often[fuzz_below(&g->r, 7)];
    return (vp_dtype)fuzz_below(&g->r, VP__NDTYPES);
}

bool fuzz_shapes_meet(fuzz_shape *a, const fuzz_shape *b) {
    a->bad |= b->bad;
    if (b->ndim == 0) {
        a->late |= b->late;
        return true;
    }
    if (a->ndim == 0) {
        bool bad = a->bad, late = a->late;
        *a = *b;
        a->bad |= bad;
        a->late |= late;
        return true;
    }
    bool known = !a->late && !b->late;
    a->late |= b->late;
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t dims[FUZZ_DIMS];
    bool fits = true;
    for (int i = 0; i < n; i++) {
        int ia = i - (n - a->ndim), ib = i - (n - b->ndim);
        int64_t da = ia >= 0 ? a->dims[ia] : 1, db = ib >= 0 ? b->dims[ib] : 1;
        if (da != db && da != 1 && db != 1) fits = false;
        dims[i] = da == 1 ? db : db == 1 ? da : da > db ? da : db;
    }
    a->ndim = n;
    memcpy(a->dims, dims, (size_t)n * sizeof dims[0]);
    if (!known) return false; /* perhaps; the caller decides whether to try */
    return fits;
}

void fuzz_set_shape(fuzz_instruction *in, const fuzz_shape *s) {
    in->ndim = (int8_t)s->ndim;
    memcpy(in->dims, s->dims, sizeof in->dims);
}

/* Some instruction: a recent one of the thread's own, or one from before the streams. */
static int candidate(fuzz_gen *g, int what) {
    const int own = g->p->count - g->first, window = own < 30 ? own : 30;
    if (g->dense && what != FUZZ_EXPR && own && fuzz_chance(&g->r, 50))
        return g->first + fuzz_below(&g->r, own < 10 ? own : 10);
    if (g->prologue && (window == 0 || fuzz_chance(&g->r, 35)))
        return fuzz_below(&g->r, g->prologue);
    return g->p->count - 1 - fuzz_below(&g->r, window);
}

static bool is_what(const fuzz_gen *g, int i, int what) {
    const char defines = fuzz_defines[g->p->at[i].kind];
    if (what == FUZZ_TARGET && g->v[i].guarded) return false;
    if (g->v[i].owner != g->issuer && g->v[i].owner != FUZZ_ALL) return false;
    return what == FUZZ_ANY ? defines != 0 : defines == (what == FUZZ_EXPR ? 'e' : 'a');
}

int fuzz_pick(fuzz_gen *g, int what) {
    if (g->p->count == 0) return -1;
    bool stale = fuzz_oops(g) && fuzz_chance(&g->r, 25);
    for (int tries = 0; tries < 16; tries++) {
        const int i = candidate(g, what);
        const fuzz_var *v = &g->v[i];
        if (!is_what(g, i, what)) continue;
        if (stale && !v->live) return i; /* a stale name, or an expression used twice */
        if (!v->live || (v->bad && !fuzz_chance(&g->r, 20))) continue;
        return i;
    }
    return -1;
}

int fuzz_make(fuzz_gen *g, int what, vp_dtype dtype, const fuzz_shape *s) {
    fuzz_instruction *in;
    if (fuzz_chance(&g->r, 25)) {
        in = fuzz_add(g, FUZZ_COUNTER);
        in->x[0] = (double)fuzz_between(&g->r, -4, 4);
        in->x[1] = (double)fuzz_between(&g->r, -8, 8) / 4;
    } else {
        in = fuzz_add(g, FUZZ_FROM);
        in->seed = fuzz_next(&g->r);
        in->low = vp__dtype[dtype].cls == VP__CLASS_U ? 0 : -5;
        in->high = 12;
    }
    in->dtype = (uint8_t)dtype;
    in->column = fuzz_chance(&g->r, 15);
    fuzz_set_shape(in, s);
    fuzz_define(g, dtype, s);
    if (what != FUZZ_ARRAY && what != FUZZ_TARGET) return g->p->count - 1;
    fuzz_operand e = fuzz_use(g, g->p->count - 1);
    in = fuzz_add(g, FUZZ_LET);
    in->in[0] = e;
    in->nin = 1;
    fuzz_define(g, dtype, s);
    return g->p->count - 1;
}

int fuzz_pick_or_make(fuzz_gen *g, int what) {
    int i = fuzz_pick(g, what);
    if (i >= 0) return i;
    fuzz_shape s = fuzz_shape_random(g);
    return fuzz_make(g, what, fuzz_dtype_random(g), &s);
}

fuzz_operand fuzz_use(fuzz_gen *g, int var) {
    fuzz_var *v = &g->v[var];
    bool array = fuzz_defines[g->p->at[var].kind] == 'a';
    fuzz_operand o = {.kind = array ? VP__IN_ARRAY : VP__IN_EXPR, .var = (int16_t)var};
    if (!v->live) v->bad = true;
    if (!array) v->live = false;
    return o;
}

fuzz_operand fuzz_scalar(fuzz_gen *g, vp_dtype like) {
    fuzz_operand o = {.kind = VP__IN_INT, .var = -1};
    int cls = like == VP_AUTO ? VP__CLASS_F : vp__dtype[like].cls;
    int what = fuzz_below(&g->r, 20);
    o.i = fuzz_between(&g->r, cls == VP__CLASS_U && !fuzz_oops(g) ? 0 : -3, 6);
    if (what < 2 || (cls == VP__CLASS_B && what < 12)) {
        o.kind = VP__IN_BOOL;
        o.i &= 1;
    } else if (what == 2) {
        o.kind = VP__IN_UINT;
        o.i = fuzz_chance(&g->r, 10) ? -1 : o.i & 7;
    } else if (what == 3) {
        o.kind = FUZZ_IN_COMPLEX;
        o.f[0] = (double)o.i / 2;
        o.f[1] = (double)fuzz_between(&g->r, -4, 4) / 4;
    } else if (what < 10 || (cls >= VP__CLASS_F && what < 16)) {
        o.kind = VP__IN_FLOAT;
        o.f[0] = (double)fuzz_between(&g->r, -20, 20) / 8;
    }
    return o;
}

/* Whether b may stand beside (or be stored into) a. */
static bool suits(const fuzz_gen *g, const fuzz_shape *a, const fuzz_shape *b,
                  bool into) {
    if (into && (b->ndim > a->ndim || (b->late && b->ndim > 0))) return false;
    fuzz_shape both = *a;
    if (!fuzz_shapes_meet(&both, b)) return false;
    if (into)
        for (int i = 0; i < a->ndim; i++)
            if (both.dims[i] != a->dims[i]) return false;
    return fuzz_is_modest(g, &both);
}

/* The shape itself, or one that broadcasts to it. */
static fuzz_shape reduced_shape(fuzz_gen *g, const fuzz_shape *with) {
    fuzz_shape s = *with;
    s.bad = false;
    if (fuzz_chance(&g->r, 60)) return s;
    int drop = s.ndim ? fuzz_below(&g->r, s.ndim + 1) : 0;
    s.ndim -= drop;
    memmove(s.dims, s.dims + drop, (size_t)s.ndim * sizeof s.dims[0]);
    for (int i = 0; i < s.ndim; i++)
        if (fuzz_chance(&g->r, 25)) s.dims[i] = 1;
    return s;
}

fuzz_operand fuzz_partner(fuzz_gen *g, const fuzz_shape *with, bool into, vp_dtype like,
                          fuzz_shape *s, vp_dtype *dtype) {
    *s = (fuzz_shape){0};
    *dtype = VP_AUTO;
    if (fuzz_chance(&g->r, 30)) return fuzz_scalar(g, like);
    bool careless = fuzz_oops(g);
    for (int tries = 0; tries < 6; tries++) {
        int i = fuzz_pick(g, FUZZ_ANY);
        if (i < 0) break;
        fuzz_shape own = fuzz_shape_of(&g->v[i]);
        if (!careless && !suits(g, with, &own, into)) continue;
        fuzz_shape both = *with;
        fuzz_shapes_meet(&both, &own);
        if (!fuzz_is_modest(g, &both)) continue;
        *s = own;
        *dtype = (vp_dtype)g->v[i].dtype;
        return fuzz_use(g, i);
    }
    if (with->late || fuzz_chance(&g->r, 40)) return fuzz_scalar(g, like);
    fuzz_shape own = reduced_shape(g, with);
    *s = own;
    *dtype = fuzz_chance(&g->r, 50) ? like : fuzz_dtype_random(g);
    if (*dtype == VP_AUTO) *dtype = VP_F64;
    return fuzz_use(
        g, fuzz_make(g, fuzz_chance(&g->r, 40) ? FUZZ_ARRAY : FUZZ_EXPR, *dtype, &own));
}

fuzz_instruction *fuzz_add1(fuzz_gen *g, fuzz_kind kind, fuzz_operand x) {
    fuzz_instruction *n = fuzz_add(g, kind);
    n->in[0] = x;
    n->nin = 1;
    return n;
}

fuzz_instruction *fuzz_add_put(fuzz_gen *g, int target, int nitems, const fuzz_item *item,
                               fuzz_operand value) {
    const fuzz_operand to = {.kind = VP__IN_ARRAY, .var = (int16_t)target};
    fuzz_instruction *n = fuzz_add1(g, FUZZ_PUT, to);
    n->in[1] = value;
    n->nin = 2;
    n->nitems = (int8_t)nitems;
    memcpy(n->item, item, (size_t)nitems * sizeof n->item[0]);
    return n;
}
