/* SPDX-License-Identifier: Apache-2.0 */
#include "api/item.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ops/kernels.h"

/* An element's value, whatever its type. */
typedef struct {
    bool is_integer;
    vp__wide integer;
    double part[2]; /* real and imaginary, of what is no integer */
} number;

static number number_of(const void *element, vp_dtype t) {
    number x = {.is_integer = vp__dtype[t].cls < VP__CLASS_F};
    uint64_t bits;
    if (!x.is_integer) {
        vp__kernels_get()->cast[t][VP_C128](x.part, element, 1);
    } else if (vp__dtype[t].cls == VP__CLASS_U) {
        vp__kernels_get()->cast[t][VP_U64](&bits, element, 1);
        x.integer = bits;
    } else {
        vp__kernels_get()->cast[t][VP_I64](&bits, element, 1);
        x.integer = (int64_t)bits;
    }
    return x;
}

static bool is_real(const number *x) { return x->is_integer || x->part[1] == 0; }

static bool is_whole(const number *x) {
    return x->is_integer || x->part[0] == trunc(x->part[0]);
}

/* Whether a part stays finite, or is not to begin with, as float32. */
static bool is_float(double part) { return !isfinite(part) || isfinite((float)part); }

static bool has(vp_dtype t, const number *x) {
    const vp__wide whole = x->is_integer ? x->integer : vp__wide_of(x->part[0]);
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_B: return is_real(x) && is_whole(x) && (whole == 0 || whole == 1);
    case VP__CLASS_S:
    case VP__CLASS_U: return is_real(x) && is_whole(x) && vp__dtype_has_integer(t, whole);
    case VP__CLASS_F:
        if (!is_real(x)) return false;
        break;
    case VP__CLASS_C: break;
    }
    return x->is_integer || vp__dtype[t].real != VP_F32 ||
           (is_float(x->part[0]) && is_float(x->part[1]));
}

static void print(char *text, size_t size, const number *x, vp_dtype t) {
    if (!x->is_integer && vp__dtype[t].cls == VP__CLASS_C)
        snprintf(text, size, "%.15g%+.15gi", x->part[0], x->part[1]);
    else if (!x->is_integer)
        snprintf(text, size, "%.15g", x->part[0]);
    else if (x->integer > INT64_MAX)
        snprintf(text, size, "%" PRIu64, (uint64_t)x->integer);
    else
        snprintf(text, size, "%" PRId64, (int64_t)x->integer);
}

/* What would have worked, unless it is reading the number as what it is. */
static const char *advice(const number *x, vp_dtype to) {
    if (!is_real(x)) return ", or take vp_real or vp_abs of it";
    if (to == VP_BOOL) return ", or ask vp_test whether it is nonzero";
    if (!is_whole(x) && !isnan(x->part[0]))
        return ", or make it whole with vp_round, vp_floor or vp_trunc";
    return "";
}

vp__error *vp__item_check(const void *element, vp_dtype from, vp_dtype to,
                          const char *where) {
    if (from == to) return NULL;
    const number x = number_of(element, from);
    if (has(to, &x)) return NULL;
    char text[80];
    print(text, sizeof text, &x, from);
    return vp__error_new(VP_ERR_VALUE, where,
                         "item: %s has no number %s; read it as %s%s", vp__dtype[to].name,
                         text, vp__dtype[from].name, advice(&x, to));
}
