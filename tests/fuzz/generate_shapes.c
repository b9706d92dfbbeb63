/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that change shapes, join and repeat.
 */
#include <string.h>

#include "generator.h"

/* Some shape of this many elements. */
static fuzz_shape factor(fuzz_gen *g, int64_t n) {
    fuzz_shape s = {.ndim = fuzz_below(&g->r, 4) + 1};
    for (int i = 0; i < s.ndim; i++) {
        s.dims[i] = 1;
        if (i + 1 == s.ndim) {
            s.dims[i] = n;
        } else if (n > 0) {
            for (int tries = 0; tries < 3; tries++) {
                int64_t d = fuzz_between(&g->r, 1, n < 8 ? n : 8);
                if (n % d == 0) s.dims[i] = d;
            }
            n /= s.dims[i];
        } else {
            s.dims[i] = fuzz_below(&g->r, 4);
        }
    }
    if (s.ndim == 1 && n == 1 && fuzz_chance(&g->r, 50)) s.ndim = 0;
    return s;
}

bool fuzz_step_reshape(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    const fuzz_var v = g->v[x];
    fuzz_shape s = fuzz_shape_of(&v), r;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_RESHAPE);
    n->in[0] = o;
    n->nin = 1;
    if (s.late) {
        r = (fuzz_shape){.ndim = 1, .late = true, .dims = {fuzz_elements(&s)}};
        fuzz_set_shape(n, &r);
        n->dims[0] = -1;
    } else {
        r = factor(g, fuzz_elements(&s));
        fuzz_set_shape(n, &r);
        if (r.ndim && fuzz_oops(g)) {
            n->dims[fuzz_below(&g->r, r.ndim)] += fuzz_chance(&g->r, 50) ? 1 : -3;
            r.bad = true;
        } else if (r.ndim && fuzz_elements(&r) && fuzz_chance(&g->r, 30)) {
            n->dims[fuzz_below(&g->r, r.ndim)] = -1;
        }
    }
    r.bad |= s.bad;
    fuzz_var *d = fuzz_define(g, (vp_dtype)v.dtype, &r);
    /* Only a reshape that needs no copy can be viewed; sometimes it is tried in vain. */
    d->plain = (v.plain || v.array) && fuzz_chance(&g->r, 50);
    return true;
}

static fuzz_shape permute(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_PERMUTE;
    if (fuzz_chance(&g->r, 50)) {
        n->naxes = -1;
        for (int i = 0; i < s->ndim; i++) r.dims[i] = s->dims[s->ndim - 1 - i];
        return r;
    }
    n->naxes = (int8_t)s->ndim;
    for (int i = 0; i < s->ndim; i++) n->axes[i] = (int8_t)i;
    for (int i = s->ndim - 1; i > 0; i--) {
        int k = fuzz_below(&g->r, i + 1);
        int8_t t = n->axes[i];
        n->axes[i] = n->axes[k];
        n->axes[k] = t;
    }
    for (int i = 0; i < s->ndim; i++) r.dims[i] = s->dims[n->axes[i]];
    if (s->ndim && fuzz_oops(g)) {
        n->axes[0] = (int8_t)fuzz_below(&g->r, 4);
        n->naxes = (int8_t)(n->naxes - fuzz_below(&g->r, 2));
        r.bad = true;
    }
    return r;
}

static fuzz_shape broadcast(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_BROADCAST;
    for (int i = 0; i < r.ndim; i++)
        if (r.dims[i] == 1 && !s->late) r.dims[i] = 1 + fuzz_below(&g->r, 5);
    if (r.ndim < 6 && fuzz_chance(&g->r, 60)) {
        memmove(r.dims + 1, r.dims, (size_t)r.ndim * sizeof r.dims[0]);
        r.dims[0] = 1 + fuzz_below(&g->r, 4);
        r.ndim++;
    }
    fuzz_set_shape(n, &r);
    if (r.ndim && fuzz_oops(g)) {
        n->dims[fuzz_below(&g->r, r.ndim)] += 1;
        r.bad = true;
    }
    return r;
}

static fuzz_shape squeeze(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_SQUEEZE;
    n->naxes = -1;
    r.ndim = 0;
    int one = -1;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dims[i] == 1)
            one = i;
        else
            r.dims[r.ndim++] = s->dims[i];
    }
    if (one < 0 && s->ndim && fuzz_oops(g)) one = 0, r.bad = true;
    if (one < 0 || s->late || fuzz_chance(&g->r, 50)) return r;
    n->naxes = 1;
    n->axes[0] = (int8_t)one;
    r.ndim = 0;
    for (int i = 0; i < s->ndim; i++)
        if (i != one) r.dims[r.ndim++] = s->dims[i];
    return r;
}

static fuzz_shape expand(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_EXPAND;
    int at = fuzz_below(&g->r, s->ndim + 1);
    memmove(r.dims + at + 1, r.dims + at, (size_t)(s->ndim - at) * sizeof r.dims[0]);
    r.dims[at] = 1;
    r.ndim++;
    if (fuzz_oops(g)) at = s->ndim + 2, r.bad = true;
    n->axes[0] = (int8_t)(fuzz_chance(&g->r, 20) && !r.bad ? at - r.ndim : at);
    return r;
}

static fuzz_shape flip(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_FLIP;
    n->naxes = -1;
    if (s->ndim && fuzz_chance(&g->r, 60)) {
        n->naxes = 1;
        n->axes[0] = (int8_t)fuzz_below(&g->r, s->ndim);
        if (fuzz_oops(g)) n->axes[0] = (int8_t)(s->ndim + 1), r.bad = true;
    }
    return r;
}

static fuzz_shape roll(fuzz_gen *g, fuzz_instruction *n, const fuzz_shape *s) {
    fuzz_shape r = *s;
    n->kind = FUZZ_ROLL;
    n->axes[0] =
        (int8_t)(fuzz_below(&g->r, s->ndim) - (fuzz_chance(&g->r, 20) ? s->ndim : 0));
    n->low =
        fuzz_chance(&g->r, 70) ? fuzz_below(&g->r, 5) - 2 : fuzz_below(&g->r, 400) - 200;
    if (fuzz_oops(g)) n->axes[0] = (int8_t)s->ndim, r.bad = true;
    return r;
}

bool fuzz_step_axes(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    const fuzz_var v = g->v[x];
    fuzz_shape s = fuzz_shape_of(&v), r = s;
    int what = fuzz_below(&g->r, 8);
    if (what >= 5 && !s.ndim) what = 4;
    if (what == 1 && fuzz_elements(&s) > g->budget / 400) what = 0;
    if (what == 3 && s.ndim >= 6) what = 2;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, FUZZ_PERMUTE);
    n->in[0] = o;
    n->nin = 1;
    switch (what) {
    case 0: r = permute(g, n, &s); break;
    case 1: r = broadcast(g, n, &s); break;
    case 2: r = squeeze(g, n, &s); break;
    case 3: r = expand(g, n, &s); break;
    case 4: r = flip(g, n, &s); break;
    default: r = roll(g, n, &s); break;
    }
    /* Of these only a roll and a squeeze of whatever has length 1 must know the size. */
    n->late =
        s.late && (n->kind == FUZZ_ROLL || (n->kind == FUZZ_SQUEEZE && n->naxes < 0));
    fuzz_define(g, (vp_dtype)v.dtype, &r)->plain =
        (v.plain || v.array) && n->kind != FUZZ_ROLL;
    return true;
}

bool fuzz_step_join(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    bool stack = fuzz_chance(&g->r, 40);
    fuzz_shape s = fuzz_shape_of(&g->v[x]);
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    if ((s.ndim == 0 && !stack && !fuzz_oops(g)) || s.ndim >= 6) return false;
    if (fuzz_elements(&s) > g->budget / 4) return false;
    int count = 1 + fuzz_below(&g->r, FUZZ_INPUTS);
    fuzz_operand in[FUZZ_INPUTS] = {fuzz_use(g, x)};
    int axis = fuzz_below(&g->r, s.ndim + stack > 0 ? s.ndim + stack : 1);
    fuzz_shape r = s;
    if (stack) {
        memmove(r.dims + axis + 1, r.dims + axis,
                (size_t)(s.ndim - axis) * sizeof r.dims[0]);
        r.dims[axis] = count;
        r.ndim++;
    }
    if (s.ndim == 0 && !stack) r.bad = true;
    for (int i = 1; i < count; i++) {
        fuzz_shape own = s;
        own.bad = own.late = false;
        bool fits = !s.late;
        if (!stack && s.ndim) own.dims[axis] = fuzz_below(&g->r, 6);
        /* An axis of length 0 may have hidden how long the others are. */
        if (fuzz_elements(&own) > g->budget / 4) own.dims[axis] = 0;
        if (fuzz_oops(g)) {
            own = fuzz_shape_random(g);
            if (fuzz_elements(&own) > 40) own = (fuzz_shape){.ndim = 1, .dims = {3}};
            r.bad = true;
        }
        if (in[0].kind == VP__IN_ARRAY && (!fits || fuzz_chance(&g->r, 40))) {
            in[i] = in[0];
            if (!stack && s.ndim) r.dims[axis] += s.dims[axis];
            continue;
        }
        if (!fits) {
            count = i; /* nothing else is sure to fit a size that comes late */
            if (stack) r.dims[axis] = count;
            break;
        }
        vp_dtype u = fuzz_chance(&g->r, 70) ? t : fuzz_dtype_random(g);
        in[i] = fuzz_use(g, fuzz_make(g, FUZZ_EXPR, u, &own));
        t = vp__dtype_promote(t, u);
        if (!stack && s.ndim && !r.bad) r.dims[axis] += own.dims[axis];
    }
    fuzz_instruction *n = fuzz_add(g, FUZZ_JOIN);
    memcpy(n->in, in, sizeof in);
    n->nin = (int8_t)count;
    n->flag = stack;
    if (fuzz_oops(g)) axis = s.ndim + 2, r.bad = true;
    n->axes[0] = (int8_t)axis;
    fuzz_define(g, t, &r);
    return true;
}

bool fuzz_step_repeat(fuzz_gen *g) {
    int x = fuzz_pick_or_make(g, FUZZ_ANY);
    fuzz_shape s = fuzz_shape_of(&g->v[x]), r = s;
    vp_dtype t = (vp_dtype)g->v[x].dtype;
    if (fuzz_elements(&s) > g->budget / 100) return false;
    bool tile = fuzz_chance(&g->r, 50);
    if (!tile && s.ndim == 0 && !fuzz_oops(g)) return false;
    fuzz_operand o = fuzz_use(g, x);
    fuzz_instruction *n = fuzz_add(g, tile ? FUZZ_TILE : FUZZ_REPEAT);
    n->in[0] = o;
    n->nin = 1;
    n->late = s.late;
    if (tile) {
        fuzz_shape counts = {.ndim = fuzz_below(&g->r, 3)};
        if (s.late && counts.ndim > s.ndim) counts.ndim = s.ndim;
        for (int i = 0; i < counts.ndim; i++) counts.dims[i] = fuzz_below(&g->r, 4);
        while (r.ndim < counts.ndim) {
            memmove(r.dims + 1, r.dims, (size_t)r.ndim * sizeof r.dims[0]);
            r.dims[0] = 1;
            r.ndim++;
        }
        for (int i = 0; i < counts.ndim; i++)
            r.dims[r.ndim - counts.ndim + i] *= counts.dims[i];
        fuzz_set_shape(n, &counts);
        if (counts.ndim && fuzz_oops(g)) n->dims[0] = -1, r.bad = true;
    } else {
        int axis = s.ndim ? fuzz_below(&g->r, s.ndim) : 0;
        n->low = fuzz_below(&g->r, 4);
        if (s.ndim)
            r.dims[axis] *= n->low;
        else
            r.bad = true;
        if (fuzz_oops(g)) n->low = -1, r.bad = true;
        n->axes[0] = (int8_t)axis;
    }
    fuzz_define(g, t, &r);
    return true;
}
