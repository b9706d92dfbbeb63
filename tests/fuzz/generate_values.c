/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that make and compute values: creation, rows of the operation table,
 * reductions, scans, sorts, matrix products.
 */
#include <string.h>

#include "generator.h"
#include "lib/lib.h"

bool fuzz_step_create(fuzz_gen *g) {
    fuzz_shape s = fuzz_shape_random(g);
    vp_dtype t = fuzz_dtype_random(g);
    if (fuzz_oops(g)) {
        s.bad = true;
        if (fuzz_chance(&g->r, 30))
            t = (vp_dtype)(13 + fuzz_below(&g->r, 3));
        else if (s.ndim)
            s.dims[fuzz_below(&g->r, s.ndim)] =
                fuzz_chance(&g->r, 50) ? -2 : INT64_MAX / 3;
    }
    int what = s.bad ? fuzz_below(&g->r, 3) : fuzz_below(&g->r, 12);
    fuzz_instruction *in;
    switch (what) {
    case 0:
    case 1: {
        fuzz_operand value = fuzz_scalar(g, s.bad ? VP_F64 : t);
        if (fuzz_chance(&g->r, 50))
            value = (fuzz_operand){.kind = VP__IN_INT, .i = fuzz_below(&g->r, 2)};
        in = fuzz_add(g, FUZZ_FULL);
        in->in[0] = value;
        in->nin = 1;
        break;
    }
    case 2:
        in = fuzz_add(g, FUZZ_COUNTER);
        in->x[0] = (double)fuzz_between(&g->r, -8, 8) / 2;
        in->x[1] = (double)fuzz_between(&g->r, -8, 8) / 4;
        break;
    case 3:
        in = fuzz_add(g, FUZZ_ARANGE);
        in->x[0] = (double)fuzz_between(&g->r, -5, 5);
        in->x[1] = in->x[0] + (double)fuzz_between(&g->r, -10, 40);
        in->x[2] = (double)fuzz_between(&g->r, fuzz_oops(g) ? 0 : 1, 12) / 4;
        if (fuzz_chance(&g->r, 20)) t = VP_AUTO;
        s = (fuzz_shape){.ndim = 1};
        /* ceil((stop - start) / step), in whole quarters */
        if (in->x[1] > in->x[0] && in->x[2] > 0) {
            int64_t span = (int64_t)((in->x[1] - in->x[0]) * 4),
                    step = (int64_t)(in->x[2] * 4);
            s.dims[0] = (span + step - 1) / step;
        }
        break;
    case 4:
        in = fuzz_add(g, FUZZ_LINSPACE);
        in->x[0] = (double)fuzz_between(&g->r, -5, 5);
        in->x[1] = (double)fuzz_between(&g->r, -5, 25) / 2;
        s.dims[0] = s.ndim ? s.dims[0] : 7;
        s.ndim = 1;
        in->low = s.dims[0];
        break;
    case 5:
        in = fuzz_add(g, FUZZ_EYE);
        if (s.ndim < 2 || s.dims[0] * s.dims[1] > g->budget) s.dims[0] = s.dims[1] = 4;
        s.ndim = 2;
        in->low = fuzz_between(&g->r, -3, 3);
        break;
    case 6:
    case 7:
        in = fuzz_add(g, FUZZ_EMPTY);
        in->flag = fuzz_chance(&g->r, 50);
        in->x[0] = (double)fuzz_between(&g->r, -8, 8) / 2;
        in->x[1] = (double)fuzz_between(&g->r, -8, 8) / 4;
        break;
    case 8:
    case 9:
        in = fuzz_add(g, FUZZ_BORROW);
        in->flag = fuzz_chance(&g->r, 60);
        in->seed = fuzz_next(&g->r);
        in->low = vp__dtype[t].cls == VP__CLASS_U ? 0 : -5;
        in->high = 12;
        if (fuzz_chance(&g->r, 30)) { /* every other element, or backwards */
            in->op = 1 + fuzz_below(&g->r, 2);
        }
        break;
    default:
        fuzz_make(g, fuzz_chance(&g->r, 60) ? FUZZ_ARRAY : FUZZ_EXPR, t, &s);
        return true;
    }
    in->dtype = (uint8_t)t;
    if (what != 3 && what != 4 && what != 5) in->column = fuzz_chance(&g->r, 20);
    fuzz_set_shape(in, &s);
    if (s.bad) /* nobody should take an absurd shape as a model */
        for (int i = 0; i < s.ndim; i++) s.dims[i] = 2;
    if (t == VP_AUTO) t = VP_F64;
    fuzz_define(g, vp__dtype_is_valid(t) ? t : VP_F64, &s);
    return true;
}

int fuzz_row_for(fuzz_gen *g, int arity, const vp__optype *types, vp_dtype *result) {
    bool careless = fuzz_oops(g);
    for (int tries = 0; tries < 12; tries++) {
        int op = fuzz_below(&g->r, VP__NOPS);
        vp_dtype work[3];
        if (vp__ops[op].reduces || vp__ops[op].arity != arity) continue;
        if (vp__op_types((vp__op)op, types, work, result)) return op;
        *result = VP_AUTO;
        if (careless) return op;
    }
    *result = VP_BOOL;
    return arity == 1 ? VP__OP_logical_not : arity == 2 ? VP__OP_not_equal : VP__OP_where;
}

static vp__optype type_of(const fuzz_operand *o, vp_dtype t) {
    static const int8_t weak[] = {-1,
                                  -1,
                                  VP__WEAK_BOOL,
                                  VP__WEAK_INT,
                                  VP__WEAK_INT,
                                  VP__WEAK_FLOAT,
                                  VP__WEAK_COMPLEX};
    return (vp__optype){t == VP_AUTO ? VP_I64 : t, weak[o->kind]};
}

bool fuzz_step_op(fuzz_gen *g) {
    static const int arities[] = {1, 1, 1, 2, 2, 2, 2, 2, 2, 3};
    int arity = arities[fuzz_below(&g->r, 10)];
    int first = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[first]);
    vp_dtype t = (vp_dtype)g->v[first].dtype;
    fuzz_operand in[3] = {fuzz_use(g, first)};
    vp__optype types[3] = {{t, -1}};
    for (int i = 1; i < arity; i++) {
        fuzz_shape own;
        vp_dtype own_type;
        if (in[0].kind == VP__IN_ARRAY && fuzz_chance(&g->r, s.late ? 50 : 8)) {
            in[i] = in[0]; /* the same array twice */
            types[i] = types[0];
            continue;
        }
        in[i] = fuzz_partner(g, &s, false, t, &own, &own_type);
        if (!fuzz_shapes_meet(&s, &own) && !s.late) s.bad = true;
        types[i] = type_of(&in[i], own_type);
    }
    if (arity > 1 && fuzz_chance(&g->r, 25)) {
        fuzz_operand o = in[0];
        in[0] = in[arity - 1];
        in[arity - 1] = o;
        vp__optype y = types[0];
        types[0] = types[arity - 1];
        types[arity - 1] = y;
    }
    vp_dtype result;
    int op = fuzz_row_for(g, arity, types, &result);
    fuzz_instruction *n = fuzz_add(g, FUZZ_OP);
    n->op = op;
    n->nin = (int8_t)arity;
    memcpy(n->in, in, sizeof in);
    if (result == VP_AUTO) {
        s.bad = true;
        result = VP_F64;
    }
    fuzz_define(g, result, &s);
    return true;
}

bool fuzz_step_cast(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_CAST);
    vp_dtype t = fuzz_dtype_random(g);
    if (fuzz_oops(g)) {
        n->dtype = (uint8_t)(13 + fuzz_below(&g->r, 4));
        s.bad = true;
    } else {
        n->dtype = (uint8_t)t;
    }
    n->in[0] = o;
    n->nin = 1;
    fuzz_define(g, t, &s);
    return true;
}

/* Chooses axes of an instruction: bits of them, or every one. */
static uint32_t choose_axes(fuzz_gen *g, fuzz_instruction *n, int ndim, bool *bad) {
    if (fuzz_chance(&g->r, 25) || ndim == 0) {
        n->naxes = -1;
        if (ndim || !fuzz_oops(g)) return (1u << ndim) - 1;
    }
    uint32_t bits = 0;
    n->naxes = 0;
    for (int tries = 0; tries < 1 + fuzz_below(&g->r, 3); tries++) {
        bool wrong = ndim == 0 || fuzz_oops(g);
        int axis = wrong ? ndim + fuzz_below(&g->r, 2) : fuzz_below(&g->r, ndim);
        bool again = !wrong && bits >> axis & 1;
        if (again && !fuzz_oops(g)) continue;
        *bad |= wrong || again;
        if (!wrong) bits |= 1u << axis;
        n->axes[n->naxes++] =
            (int8_t)(fuzz_chance(&g->r, 20) && !wrong ? axis - ndim : axis);
    }
    return bits;
}

static bool is_floating(vp_dtype t) { return vp__dtype[t].cls >= VP__CLASS_F; }

bool fuzz_step_reduce(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    vp_dtype t = (vp_dtype)g->v[x].dtype, want = VP_AUTO, work, result = VP_F64;
    fuzz_operand o = fuzz_use(g, x);
    int op;
    bool composed = fuzz_chance(&g->r, 30), empty_fails = false, bad = s.bad;
    if (composed) {
        op = VP__MEAN + fuzz_below(&g->r, 3);
        if (fuzz_chance(&g->r, 25)) want = VP_F32 + fuzz_below(&g->r, 4);
        if (fuzz_oops(g)) want = VP_I32;
        result = want != VP_AUTO ? want : is_floating(t) ? t : VP_F64;
        bad |= !is_floating(result);
        if (op != VP__MEAN) result = (vp_dtype)vp__dtype[result].real;
    } else {
        do op = fuzz_below(&g->r, VP__NOPS);
        while (!vp__ops[op].reduces);
        if (fuzz_chance(&g->r, 15)) want = fuzz_dtype_random(g);
        if (!vp__reduce_types((vp__op)op, t, want, &work, &result)) {
            if (!fuzz_oops(g)) want = VP_AUTO;
            if (!vp__reduce_types((vp__op)op, t, want, &work, &result)) {
                bad = true;
                result = VP_F64;
            }
        }
        empty_fails = op == VP__OP_min || op == VP__OP_max || op == VP__OP_argmin ||
                      op == VP__OP_argmax;
    }
    fuzz_instruction *n = fuzz_add(g, FUZZ_REDUCE);
    n->op = op;
    n->dtype = (uint8_t)want;
    n->flag = fuzz_chance(&g->r, 30);
    n->in[0] = o;
    n->nin = 1;
    uint32_t axes = choose_axes(g, n, s.ndim, &bad);
    fuzz_shape r = {.late = s.late, .bad = bad};
    for (int i = 0; i < s.ndim; i++) {
        if (!(axes >> i & 1))
            r.dims[r.ndim++] = s.dims[i];
        else if (n->flag)
            r.dims[r.ndim++] = 1;
    }
    if (empty_fails && fuzz_elements(&s) == 0 && fuzz_elements(&r) != 0) r.bad = true;
    fuzz_define(g, result, &r);
    return true;
}

bool fuzz_step_along(fuzz_gen *g) {
    static const int rows[] = {
#define VP_ALONG(id, rule, result, cost, scratch, numpy, doc) VP__LIB_##id,
#include "lib/lib.def"
    };
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    if (s.ndim == 0 && !fuzz_oops(g)) return false;
    vp_dtype work = (vp_dtype)g->v[x].dtype, result;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_ALONG);
    n->op = rows[fuzz_below(&g->r, (int)(sizeof rows / sizeof rows[0]))];
    vp__lib_types((vp__lib_kind)n->op, work, &work, &result);
    n->in[0] = o;
    n->nin = 1;
    int axis = s.ndim ? fuzz_below(&g->r, s.ndim) : 0;
    if (fuzz_oops(g) || s.ndim == 0) {
        axis = s.ndim + 1;
        s.bad = true;
    } else if (fuzz_chance(&g->r, 20)) {
        axis -= s.ndim;
    }
    n->axes[0] = (int8_t)axis;
    fuzz_define(g, result, &s);
    return true;
}

/* The length of the transformed axis becomes n, which is known only if the axis is. */
bool fuzz_step_fourier(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    if (s.ndim == 0 && !fuzz_oops(g)) return false;
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    bool single = t == VP_F32 || t == VP_C64;
    static const int rows[] = {
#define VP_FOURIER(id, rule, result, of_real, of_complex, cost, numpy, doc) VP__LIB_##id,
#include "lib/lib.def"
    };
    int what = rows[fuzz_below(&g->r, (int)(sizeof rows / sizeof rows[0]))];
    int axis = s.ndim ? fuzz_below(&g->r, s.ndim) : 0;
    bool given = fuzz_chance(&g->r, 40);
    int64_t n = given ? 1 + fuzz_below(&g->r, 40) : s.ndim ? s.dims[axis] : 0;
    if (fuzz_oops(g) && given) n = -fuzz_below(&g->r, 2);
    int64_t length = n;
    if (!given && what == VP__IRFFT) n = 2 * (n - 1);
    if (n < 1) s.bad = true;
    if (what == VP__RFFT && vp__dtype[t].cls == VP__CLASS_C) {
        if (!fuzz_oops(g)) return false;
        s.bad = true;
    }
    if (s.ndim && !s.bad) s.dims[axis] = what == VP__RFFT ? n / 2 + 1 : n;
    if (!fuzz_is_modest(g, &s)) return false;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *f = fuzz_add(g, FUZZ_FOURIER);
    f->op = what;
    f->in[0] = o;
    f->nin = 1;
    f->flag = given;
    f->low = length;
    if (fuzz_oops(g) || s.ndim == 0) {
        axis = s.ndim + 1;
        s.bad = true;
    } else if (fuzz_chance(&g->r, 20)) {
        axis -= s.ndim;
    }
    f->axes[0] = (int8_t)axis;
    vp_dtype result = single ? VP_C64 : VP_C128;
    if (what == VP__IRFFT) result = single ? VP_F32 : VP_F64;
    fuzz_define(g, result, &s);
    return true;
}

/* One that is cut into pieces, which is larger than all else that programs do. */
static void add_large_product(fuzz_gen *g) {
    vp_dtype t = fuzz_chance(&g->r, 40)   ? VP_F64
                 : fuzz_chance(&g->r, 60) ? VP_F32
                                          : VP_C64;
    int64_t side[3];
    for (int i = 0; i < 3; i++) side[i] = fuzz_between(&g->r, 128, 150);
    fuzz_shape a = {.ndim = 2, .dims = {side[0], side[1]}};
    fuzz_shape b = {.ndim = 2, .dims = {side[1], side[2]}};
    fuzz_shape r = {.ndim = 2, .dims = {side[0], side[2]}};
    fuzz_operand in[2] = {fuzz_use(g, fuzz_make(g, FUZZ_EXPR, t, &a))};
    in[1] = fuzz_use(g, fuzz_make(g, FUZZ_EXPR, t, &b));
    fuzz_instruction *m = fuzz_add(g, FUZZ_MATMUL);
    memcpy(m->in, in, sizeof in);
    m->nin = 2;
    fuzz_define(g, t, &r);
}

bool fuzz_step_matmul(fuzz_gen *g) {
    if (fuzz_chance(&g->r, 3)) {
        add_large_product(g);
        return true;
    }
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape a = fuzz_shape_of(&g->v[x]);
    if ((a.ndim == 0 || a.late) && !fuzz_oops(g)) return false;
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    int64_t k = a.ndim ? a.dims[a.ndim - 1] : 1;
    fuzz_shape b = {.ndim = 1 + fuzz_below(&g->r, 2)};
    if (a.ndim > 2 && fuzz_chance(&g->r, 50)) { /* a stack of matrices, or one for all */
        b.ndim = a.ndim;
        for (int i = 0; i < a.ndim - 2; i++)
            b.dims[i] = fuzz_chance(&g->r, 60) ? a.dims[i] : 1;
    }
    int64_t n = b.ndim == 1 ? 1 : g->palette[fuzz_below(&g->r, 4)];
    b.dims[b.ndim > 1 ? b.ndim - 2 : 0] = fuzz_oops(g) ? k + 1 : k;
    if (b.ndim > 1) b.dims[b.ndim - 1] = n;
    int64_t rows = a.ndim > 1 ? fuzz_elements(&a) / (k ? k : 1) : 1;
    if (fuzz_elements(&a) * n > 40 * g->budget || rows * n > g->budget ||
        !fuzz_is_modest(g, &b))
        return false;
    fuzz_operand in[2] = {fuzz_use(g, x)};
    vp_dtype other = fuzz_chance(&g->r, 70) ? t : fuzz_dtype_random(g);
    if (fuzz_chance(&g->r, 15) && in[0].kind == VP__IN_ARRAY && a.ndim == 2) {
        b = a; /* with itself */
        in[1] = in[0];
        other = t;
    } else {
        in[1] = fuzz_use(g, fuzz_make(g, FUZZ_EXPR, other, &b));
    }
    fuzz_shape r = {.bad = a.bad, .late = a.late};
    int64_t kb = b.dims[b.ndim > 1 ? b.ndim - 2 : 0];
    if (a.ndim == 0 || kb != k) r.bad = true;
    int lead = a.ndim > b.ndim ? a.ndim : b.ndim;
    for (int i = 0; i < lead - 2; i++) {
        int ia = i - (lead - a.ndim), ib = i - (lead - b.ndim);
        int64_t da = ia >= 0 ? a.dims[ia] : 1, db = ib >= 0 ? b.dims[ib] : 1;
        if (da != db && da != 1 && db != 1) r.bad = true;
        r.dims[r.ndim++] = da == 1 ? db : da;
    }
    if (a.ndim > 1) r.dims[r.ndim++] = a.dims[a.ndim - 2];
    if (b.ndim > 1) r.dims[r.ndim++] = b.dims[b.ndim - 1];
    fuzz_instruction *m = fuzz_add(g, FUZZ_MATMUL);
    memcpy(m->in, in, sizeof in);
    m->nin = 2;
    m->late = a.late;
    fuzz_define(g, vp__dtype_promote(t, other), &r);
    return true;
}
