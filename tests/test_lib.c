/* SPDX-License-Identifier: Apache-2.0
 *
 * Library operations against naive loops: random shapes, layouts and element types, cut
 * into random numbers of parts.
 */
#include "tests/harness.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/product/gemm.h"
#include "ops/kernels.h"

/* How many random rounds: fewer where each of them takes longer. */
static int rounds_of(int most) { return most / vp__test_slowdown() + 1; }

/* A small generator of our own: the same numbers on every machine. */
static uint64_t seed = 1;

static uint64_t random_bits(void) {
    seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = seed;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static int64_t below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

/* An array with its own memory and a random layout. */
typedef struct {
    vp__view view;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
    char *memory;
    size_t bytes;
} array;

enum { PLAIN, ANY_ORDER, BROADCAST }; /* C order; any strides; also zero strides */

static array *array_new(vp_dtype t, int ndim, const int64_t *dims, int layout) {
    array *a = calloc(1, sizeof *a);
    int64_t size = vp__dtype[t].size, span = size, offset = 0;
    int order[VP__MAXDIM];
    for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
    if (layout != PLAIN && below(3) > 0)
        for (int i = ndim - 1; i > 0; i--) {
            int j = (int)below(i + 1), held = order[i];
            order[i] = order[j];
            order[j] = held;
        }
    for (int k = 0; k < ndim; k++) {
        int i = order[k];
        a->dims[i] = dims[i];
        int64_t stride = span;
        if (layout != PLAIN && below(4) == 0) stride *= 1 + below(3);
        if (layout == BROADCAST && below(5) == 0) stride = 0;
        if (stride != 0 && dims[i] > 0) span = stride * dims[i];
        if (layout != PLAIN && below(4) == 0 && dims[i] > 0) {
            offset += stride * (dims[i] - 1);
            stride = -stride;
        }
        a->strides[i] = stride;
    }
    a->bytes = (size_t)span;
    a->memory = malloc(a->bytes);
    a->view = (vp__view){a->memory + offset, a->dims, a->strides, ndim, t};
    memset(a->memory, 0xA5, a->bytes);
    return a;
}

static void array_free(array *a) {
    free(a->memory);
    free(a);
}

static int64_t count_of(const vp__view *v) {
    int64_t n = 1;
    for (int i = 0; i < v->ndim; i++) n *= v->dims[i];
    return n;
}

/* The element with this number in C order. */
static char *element(const vp__view *v, int64_t number) {
    char *p = v->data;
    for (int i = v->ndim - 1; i >= 0; i--) {
        p += number % v->dims[i] * v->strides[i];
        number /= v->dims[i];
    }
    return p;
}

static double special(void) {
    static const double values[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1, -1};
    return values[below(8)];
}

static double random_float(void) {
    if (below(6) == 0) return special();
    return (double)(below(2001) - 1000) / (double)(1 + below(64));
}

static void set_random(char *p, vp_dtype t) {
    uint64_t bits = random_bits() >> below(64);
    double x = random_float(), y = random_float();
    switch (t) {
    case VP_BOOL: *(uint8_t *)p = bits & 1; break;
    case VP_F32: *(float *)(void *)p = (float)x; break;
    case VP_F64: *(double *)(void *)p = x; break;
    case VP_C64: *(vp__c64 *)(void *)p = (vp__c64){(float)x, (float)y}; break;
    case VP_C128: *(vp__c128 *)(void *)p = (vp__c128){x, y}; break;
    default: memcpy(p, &bits, vp__dtype[t].size);
    }
}

static void fill_random(array *a) {
    int64_t n = count_of(&a->view);
    for (int64_t i = 0; i < n; i++) set_random(element(&a->view, i), a->view.dtype);
}

/* Dims for about `most` elements. */
static int random_dims(int64_t *dims, int64_t most) {
    int ndim = (int)below(6);
    for (int i = 0; i < ndim; i++) {
        dims[i] = below(12) == 0 ? below(2)
                                 : 1 + below(most < 12  ? most
                                             : below(3) ? 12
                                                        : most);
        if (dims[i] > 0) most /= dims[i];
        if (most < 1) most = 1;
    }
    return ndim;
}

/* Runs fn for every part of a random number of parts, last part first now and then. */
#define FOR_PARTS(part, parts)                                                           \
    for (int64_t parts = below(2) ? 1 : 1 + below(9), turn = below(2), i_ = 0, part;     \
         part = turn ? parts - 1 - i_ : i_, i_ < parts; i_++)

static void *scratch_new(size_t bytes) {
    char *p = malloc(bytes ? bytes : 1);
    memset(p, 0x5A, bytes);
    return p;
}

static void copy_rounds(int rounds) {
    for (int round = 0; round < rounds; round++) {
        int64_t dims[VP__MAXDIM];
        int ndim = random_dims(dims, round % 20 ? 300 : 30000);
        vp_dtype from = (vp_dtype)below(VP__NDTYPES);
        vp_dtype to = below(2) ? from : (vp_dtype)below(VP__NDTYPES);
        array *in = array_new(from, ndim, dims, BROADCAST);
        array *out = array_new(to, ndim, dims, ANY_ORDER);
        fill_random(in);
        array *untouched = array_new(to, 1, (int64_t[]){(int64_t)out->bytes}, PLAIN);
        memcpy(untouched->memory, out->memory, out->bytes);
        FOR_PARTS(part, parts) vp__lib_copy(&out->view, &in->view, part, parts);
        int size = vp__dtype[to].size;
        for (int64_t i = 0; i < count_of(&out->view); i++) {
            char expected[16];
            vp__kernels_get()->cast[from][to](expected, element(&in->view, i), 1);
            if (from == to) memcpy(expected, element(&in->view, i), (size_t)size);
            char *got = element(&out->view, i);
            if (memcmp(got, expected, (size_t)size) != 0)
                VP_FAIL("round %d: %s to %s, element %lld of %lld", round,
                        vp__dtype[from].name, vp__dtype[to].name, (long long)i,
                        (long long)count_of(&out->view));
            memcpy(untouched->memory + (got - out->memory), got, (size_t)size);
        }
        VP_CHECK_BYTES(out->memory, untouched->memory,
                       out->bytes); /* gaps stay as they were */
        array_free(in);
        array_free(out);
        array_free(untouched);
    }
}

VP_TEST(copy_takes_any_layout) { copy_rounds(rounds_of(4000)); }

VP_TEST(copy_transposes_large_matrices) {
    for (int t = 0; t < VP__NDTYPES; t++) {
        int64_t dims[] = {130 + below(9), 70 + below(90)};
        int64_t size = vp__dtype[t].size;
        array *in = array_new((vp_dtype)t, 2, dims, PLAIN), *out;
        fill_random(in);
        out = array_new((vp_dtype)t, 2, (int64_t[]){dims[1], dims[0]}, PLAIN);
        vp__view turned = in->view;
        int64_t strides[] = {size, size * dims[1]};
        turned.dims = out->dims;
        turned.strides = strides;
        FOR_PARTS(part, parts) vp__lib_copy(&out->view, &turned, part, parts);
        for (int64_t i = 0; i < count_of(&turned); i++)
            VP_CHECK_BYTES(element(&out->view, i), element(&turned, i), (size_t)size);
        array_free(in);
        array_free(out);
    }
}

VP_TEST(copy_takes_32_dimensions) {
    int64_t dims[VP__MAXDIM];
    for (int i = 0; i < VP__MAXDIM; i++) dims[i] = i % 3 == 0 ? 2 : 1;
    array *in = array_new(VP_I32, VP__MAXDIM, dims, BROADCAST);
    array *out = array_new(VP_F64, VP__MAXDIM, dims, ANY_ORDER);
    fill_random(in);
    FOR_PARTS(part, parts) vp__lib_copy(&out->view, &in->view, part, parts);
    for (int64_t i = 0; i < count_of(&in->view); i++)
        VP_CHECK_EQ(*(double *)(void *)element(&out->view, i),
                    *(int32_t *)(void *)element(&in->view, i));
    array_free(in);
    array_free(out);
}

/* -1, 0 or 1 as NumPy's sort orders two elements: NaNs last and alike, zeros alike. */
static int compare_float(double a, double b) {
    bool x = a != a, y = b != b;
    if (x || y) return x - y;
    return (a > b) - (a < b);
}

static double component(const char *p, vp_dtype t, int which) {
    if (t == VP_F32 || t == VP_C64)
        return (double)((const float *)(const void *)p)[which];
    return ((const double *)(const void *)p)[which];
}

static int compare(const char *a, const char *b, vp_dtype t) {
    int64_t x = 0, y = 0;
    switch (vp__dtype[t].cls) {
    case VP__CLASS_F: return compare_float(component(a, t, 0), component(b, t, 0));
    case VP__CLASS_C: {
        double ar = component(a, t, 0), ai = component(a, t, 1);
        double br = component(b, t, 0), bi = component(b, t, 1);
        int ca = (ar != ar) * 2 + (ai != ai), cb = (br != br) * 2 + (bi != bi);
        if (ca != cb) return ca < cb ? -1 : 1;
        int order = compare_float(ar, br);
        return order ? order : compare_float(ai, bi);
    }
    case VP__CLASS_S: {
        int shift = 64 - 8 * vp__dtype[t].size;
        memcpy(&x, a, vp__dtype[t].size);
        memcpy(&y, b, vp__dtype[t].size);
        x = (int64_t)((uint64_t)x << shift) >> shift;
        y = (int64_t)((uint64_t)y << shift) >> shift;
        return (x > y) - (x < y);
    }
    default:
        memcpy(&x, a, vp__dtype[t].size);
        memcpy(&y, b, vp__dtype[t].size);
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    }
}

static int compare_bits(const void *a, const void *b) { return memcmp(a, b, 16); }

/* The view of one lane along an axis: number `lane` of the other axes in C order. */
static vp__view fibre_of(const vp__view *v, int axis, int64_t lane, int64_t *dims,
                         int64_t *strides) {
    char *p = v->data;
    for (int i = v->ndim - 1; i >= 0; i--) {
        if (i == axis) continue;
        p += lane % v->dims[i] * v->strides[i];
        lane /= v->dims[i];
    }
    dims[0] = v->dims[axis];
    strides[0] = v->strides[axis];
    return (vp__view){p, dims, strides, 1, v->dtype};
}

/* Checks one sorted lane: ascending, and the very elements of the input. */
static void check_sorted(const vp__view *out, const vp__view *in) {
    int64_t n = out->dims[0];
    int size = vp__dtype[in->dtype].size;
    char(*before)[16] = calloc((size_t)n + 1, 16),
    (*after)[16] = calloc((size_t)n + 1, 16);
    for (int64_t i = 0; i < n; i++) {
        memcpy(before[i], element(in, i), (size_t)size);
        memcpy(after[i], element(out, i), (size_t)size);
        if (i == 0) continue;
        int order = compare(after[i - 1], after[i], in->dtype);
        VP_CHECK(order <= 0);
        if (order == 0 && vp__dtype[in->dtype].cls == VP__CLASS_F) {
            double x = component(after[i - 1], in->dtype, 0);
            double y = component(after[i], in->dtype, 0);
            VP_CHECK(x != x || signbit(x) >= signbit(y)); /* -0.0 first */
        }
    }
    qsort(before, (size_t)n, 16, compare_bits);
    qsort(after, (size_t)n, 16, compare_bits);
    VP_CHECK_BYTES(before, after, (size_t)n * 16);
    free(before);
    free(after);
}

/* Checks one argsorted lane: ascending, and by position among equals, which leaves one
 * permutation only. */
static void check_order(const vp__view *out, const vp__view *in) {
    int64_t n = out->dims[0];
    char *seen = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = *(int64_t *)(void *)element(out, i);
        VP_CHECK(at >= 0 && at < n && !seen[at]);
        seen[at] = 1;
        if (i == 0) continue;
        int64_t before = *(int64_t *)(void *)element(out, i - 1);
        int order = compare(element(in, before), element(in, at), in->dtype);
        VP_CHECK(order < 0 || (order == 0 && before < at));
    }
    free(seen);
}

static void sort_round(int ndim, const int64_t *dims, vp_dtype t) {
    int axis = ndim ? (int)below(ndim) : 0;
    array *in = array_new(t, ndim, dims, BROADCAST);
    array *out = array_new(t, ndim, dims, ANY_ORDER);
    array *order = array_new(VP_I64, ndim, dims, ANY_ORDER);
    fill_random(in);
    void *scratch = scratch_new(vp__lib_sort_scratch(&in->view, axis));
    FOR_PARTS(part, parts) {
        vp__lib_sort(&out->view, &in->view, axis, part, parts, scratch);
        vp__lib_argsort(&order->view, &in->view, axis, part, parts, scratch);
    }
    int64_t n = count_of(&in->view);
    if (ndim == 0) {
        VP_CHECK_BYTES(out->view.data, in->view.data, vp__dtype[t].size);
        VP_CHECK_EQ(*(int64_t *)order->view.data, 0);
    } else if (n > 0) {
        for (int64_t lane = 0; lane < n / dims[axis]; lane++) {
            int64_t d[3], s[3];
            vp__view from = fibre_of(&in->view, axis, lane, &d[0], &s[0]);
            vp__view to = fibre_of(&out->view, axis, lane, &d[1], &s[1]);
            vp__view by = fibre_of(&order->view, axis, lane, &d[2], &s[2]);
            check_sorted(&to, &from);
            check_order(&by, &from);
        }
    }
    free(scratch);
    array_free(in);
    array_free(out);
    array_free(order);
}

VP_TEST(sort_orders_every_lane) {
    for (int round = 0; round < rounds_of(2000); round++) {
        int64_t dims[VP__MAXDIM];
        int ndim = random_dims(dims, 400);
        sort_round(ndim, dims, (vp_dtype)below(VP__NDTYPES));
    }
}

VP_TEST(sort_orders_long_lanes) {
    for (int t = 0; t < VP__NDTYPES; t++)
        for (int64_t n = 1; n < 30000; n = n * 3 / 2 + below(20))
            sort_round(1, &n, (vp_dtype)t);
}

VP_TEST(sort_puts_every_nan_last) {
    uint64_t in[] = {0xFFF8000000000000, 0x7FF8000000000001, 0x7FF0000000000000,
                     0xFFF0000000000000, 0x8000000000000000, 0,
                     0xFFFFFFFFFFFFFFFF, 0x7FF0000000000001, 0x3FF0000000000000};
    uint64_t sorted[] = {0xFFF0000000000000, 0x8000000000000000, 0, 0x3FF0000000000000,
                         0x7FF0000000000000};
    int64_t order[] = {3, 4, 5, 8, 2, 0, 1, 6, 7}, dims[] = {9}, strides[] = {8};
    uint64_t out[9];
    int64_t positions[9];
    vp__view x = {in, dims, strides, 1, VP_F64}, y = {out, dims, strides, 1, VP_F64};
    vp__view z = {positions, dims, strides, 1, VP_I64};
    void *scratch = scratch_new(vp__lib_sort_scratch(&x, 0));
    vp__lib_sort(&y, &x, 0, 0, 1, scratch);
    vp__lib_argsort(&z, &x, 0, 0, 1, scratch);
    VP_CHECK_BYTES(out, sorted, sizeof sorted);
    VP_CHECK_BYTES(positions, order, sizeof order);
    free(scratch);
}

/* The naive running sum or product of one lane. */
static void scan_naive(char *to, const vp__view *in, bool product) {
    int size = vp__dtype[in->dtype].size;
    for (int64_t i = 0; i < in->dims[0]; i++, to += size) {
        memcpy(to, element(in, i), (size_t)size);
        if (i == 0) continue;
        void *p = to, *before = to - size;
        uint64_t x = 0, y = 0;
        switch (in->dtype) {
        case VP_F32: {
            float a = *(float *)before, b = *(float *)p;
            *(float *)p = product ? a * b : a + b;
            break;
        }
        case VP_F64: {
            double a = *(double *)before, b = *(double *)p;
            *(double *)p = product ? a * b : a + b;
            break;
        }
        case VP_C64: {
            vp__c64 a = *(vp__c64 *)before, b = *(vp__c64 *)p,
                    c = {a.re + b.re, a.im + b.im};
            if (product)
                c = (vp__c64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
            *(vp__c64 *)p = c;
            break;
        }
        case VP_C128: {
            vp__c128 a = *(vp__c128 *)before, b = *(vp__c128 *)p;
            vp__c128 c = {a.re + b.re, a.im + b.im};
            if (product)
                c = (vp__c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
            *(vp__c128 *)p = c;
            break;
        }
        default:
            memcpy(&x, before, (size_t)size);
            memcpy(&y, p, (size_t)size);
            if (in->dtype == VP_BOOL)
                x = product ? x & y : x | y;
            else
                x = product ? x * y : x + y;
            memcpy(p, &x, (size_t)size);
        }
    }
}

/* The same bits, but any NaN stands for any other: which one an operation returns is the
 * processor's choice. */
static bool same(const char *a, const char *b, vp_dtype t) {
    int size = vp__dtype[t].size;
    if (memcmp(a, b, (size_t)size) == 0) return true;
    if (vp__dtype[t].cls != VP__CLASS_F && vp__dtype[t].cls != VP__CLASS_C) return false;
    int real = vp__dtype[vp__dtype[t].real].size;
    for (int i = 0; i < size / real; i++) {
        double x = component(a, t, i), y = component(b, t, i);
        if (memcmp(a + i * real, b + i * real, (size_t)real) != 0 && !(x != x && y != y))
            return false;
    }
    return true;
}

VP_TEST(scans_run_left_to_right) {
    for (int round = 0; round < rounds_of(4000); round++) {
        int64_t dims[VP__MAXDIM];
        int ndim = random_dims(dims, round % 20 ? 300 : 20000);
        if (ndim == 0) ndim = 1, dims[0] = 1 + below(50);
        int axis = (int)below(ndim);
        bool product = below(2);
        vp_dtype t = (vp_dtype)below(VP__NDTYPES);
        array *in = array_new(t, ndim, dims, BROADCAST);
        array *out = array_new(t, ndim, dims, ANY_ORDER);
        fill_random(in);
        FOR_PARTS(part, parts) {
            if (product)
                vp__lib_cumprod(&out->view, &in->view, axis, part, parts, NULL);
            else
                vp__lib_cumsum(&out->view, &in->view, axis, part, parts, NULL);
        }
        int64_t n = count_of(&in->view), size = vp__dtype[t].size;
        char *expected = malloc((size_t)(dims[axis] * size + 1));
        for (int64_t lane = 0; n > 0 && lane < n / dims[axis]; lane++) {
            int64_t d[2], s[2];
            vp__view from = fibre_of(&in->view, axis, lane, &d[0], &s[0]);
            vp__view to = fibre_of(&out->view, axis, lane, &d[1], &s[1]);
            scan_naive(expected, &from, product);
            for (int64_t i = 0; i < dims[axis]; i++)
                if (!same(element(&to, i), expected + i * size, t))
                    VP_FAIL("round %d: %s, step %lld of %lld", round, vp__dtype[t].name,
                            (long long)i, (long long)dims[axis]);
        }
        free(expected);
        array_free(in);
        array_free(out);
    }
}

/* Runs a row along an axis; returns its result, of the row's type. */
static array *run_along(int row, const array *in, int axis, int layout, int64_t parts) {
    vp_dtype work, result;
    VP_CHECK(vp__lib_types((vp__lib_kind)row, in->view.dtype, &work, &result));
    array *out = array_new(work == in->view.dtype ? result : in->view.dtype,
                           in->view.ndim, in->dims, layout);
    const vp__lane_work *along = &vp__lib_along[row];
    void *scratch = scratch_new(along->scratch(&in->view, axis) + 1);
    for (int64_t part = 0; part < parts; part++)
        along->run(&out->view, &in->view, axis, part, parts, scratch);
    free(scratch);
    return out;
}

/* Whatever the row computes, NumPy's scripts say; here it is the same bits for every layout
 * and cut. */
static void along_round(int row, vp_dtype t) {
    int64_t dims[VP__MAXDIM];
    int ndim = random_dims(dims, below(20) ? 300 : 20000);
    if (ndim == 0) ndim = 1, dims[0] = 1 + below(50);
    const int axis = (int)below(ndim);
    array *in = array_new(t, ndim, dims, BROADCAST), *same_in;
    fill_random(in);
    same_in = array_new(t, ndim, dims, PLAIN);
    vp__lib_copy(&same_in->view, &in->view, 0, 1);
    array *plain = run_along(row, same_in, axis, PLAIN, 1);
    array *cut = run_along(row, in, axis, ANY_ORDER, 1 + below(5));
    const int size = vp__dtype[plain->view.dtype].size;
    for (int64_t i = 0; i < count_of(&plain->view); i++)
        if (memcmp(element(&plain->view, i), element(&cut->view, i), (size_t)size) != 0)
            VP_FAIL("%s of %s: element %lld", vp__lib_rows[row].name, vp__dtype[t].name,
                    (long long)i);
    array_free(in);
    array_free(same_in);
    array_free(plain);
    array_free(cut);
}

VP_TEST(rows_along_an_axis_have_the_same_bits_however_cut) {
    for (int row = 0; row < VP__LIB_KINDS; row++)
        for (int t = 0; t < VP__NDTYPES && vp__lib_along[row].run; t++)
            for (int round = 0; round < rounds_of(60); round++)
                along_round(row, (vp_dtype)t);
}

VP_TEST(rows_say_what_they_are) {
    for (int row = 0; row < VP__LIB_KINDS; row++) {
        const vp__lib_info *info = &vp__lib_rows[row];
        const size_t length = strlen(info->doc);
        VP_CHECK(length > 1 && info->doc[length - 1] == '.');
        VP_CHECK(info->cost > 0);
    }
}

VP_TEST(find_lists_in_c_order) {
    for (int round = 0; round < rounds_of(3000); round++) {
        int64_t dims[VP__MAXDIM];
        int ndim = random_dims(dims, round % 20 ? 300 : 50000);
        array *mask = array_new(VP_BOOL, ndim, dims, BROADCAST);
        int64_t n = count_of(&mask->view), count = 0;
        int64_t density = below(3) ? 1 + below(100) : below(2) * 100;
        for (int64_t i = 0; i < n; i++)
            *(uint8_t *)element(&mask->view, i) = below(100) < density;
        for (int64_t i = 0; i < n; i++) count += *(uint8_t *)element(&mask->view, i);
        VP_CHECK_EQ(vp__lib_count_true(&mask->view, 0, n), count);
        int64_t *flat = malloc((size_t)(count + 1) * sizeof *flat);
        int64_t *rows = malloc((size_t)(count * ndim + 1) * sizeof *rows);
        flat[count] = rows[count * ndim] = -7;
        vp__lib_list_true(flat, &mask->view, true, 0, n);
        vp__lib_list_true(rows, &mask->view, false, 0, n);
        VP_CHECK_EQ(flat[count], -7);
        VP_CHECK_EQ(rows[count * ndim], -7);
        int64_t at = 0;
        for (int64_t i = 0; i < n; i++) {
            if (!*(uint8_t *)element(&mask->view, i)) continue;
            VP_CHECK_EQ(flat[at], i);
            int64_t number = 0;
            for (int d = 0; d < ndim; d++)
                number = number * dims[d] + rows[at * ndim + d];
            VP_CHECK_EQ(number, i);
            at++;
        }
        free(flat);
        free(rows);
        array_free(mask);
    }
}

/* Some elements of a random range, in shares of random lengths, against a plain loop. */
VP_TEST(masks_move_elements_in_c_order) {
    for (int round = 0; round < rounds_of(2000); round++) {
        int64_t dims[VP__MAXDIM];
        const int ndim = random_dims(dims, round % 20 ? 300 : 60000);
        const vp_dtype t = (vp_dtype)below(VP__NDTYPES);
        const int64_t size = vp__dtype[t].size;
        array *mask = array_new(VP_BOOL, ndim, dims, BROADCAST);
        array *base = array_new(t, ndim, dims, ANY_ORDER);
        array *back = array_new(t, ndim, dims, ANY_ORDER);
        fill_random(base);
        fill_random(back);
        const int64_t n = count_of(&mask->view);
        const int64_t density = below(3) ? below(101) : below(2) * 100;
        for (int64_t i = 0; i < n; i++)
            *(uint8_t *)element(&mask->view, i) = below(100) < density;
        char *packed = malloc((size_t)((n + 1) * size)),
             *old = malloc((size_t)(n * size) + 1);
        for (int64_t i = 0; i < n; i++)
            memcpy(old + i * size, element(&back->view, i), (size_t)size);
        int64_t from = 0, at = 0;
        while (from < n) {
            const int64_t to = from + 1 + below(n - from);
            const int64_t count = vp__lib_count_true(&mask->view, from, to);
            memset(packed + (at + count) * size, 0x5A, (size_t)size);
            vp__lib_mask_get(packed + at * size, &base->view, &mask->view, from, to,
                             count);
            VP_CHECK_EQ((uint8_t)packed[(at + count) * size], 0x5A);
            vp__lib_mask_put(&back->view, &mask->view, packed + at * size, size, from,
                             to);
            from = to;
            at += count;
        }
        at = 0;
        for (int64_t i = 0; i < n; i++) {
            const bool chosen = *(uint8_t *)element(&mask->view, i);
            const char *is = element(&back->view, i), *was = element(&base->view, i);
            if (chosen) VP_CHECK(memcmp(packed + at++ * size, was, (size_t)size) == 0);
            VP_CHECK(memcmp(is, chosen ? was : old + i * size, (size_t)size) == 0);
        }
        free(packed);
        free(old);
        array_free(mask);
        array_free(base);
        array_free(back);
    }
}

VP_TEST(masks_fill_elements) {
    for (int round = 0; round < rounds_of(2000); round++) {
        int64_t dims[VP__MAXDIM];
        const int ndim = random_dims(dims, round % 20 ? 300 : 60000);
        const vp_dtype t = (vp_dtype)below(VP__NDTYPES);
        const size_t size = vp__dtype[t].size;
        array *mask = array_new(VP_BOOL, ndim, dims, BROADCAST);
        array *value = array_new(t, ndim, dims, BROADCAST);
        array *base = array_new(t, ndim, dims, ANY_ORDER);
        fill_random(value);
        fill_random(base);
        const int64_t n = count_of(&mask->view), density = below(101);
        for (int64_t i = 0; i < n; i++)
            *(uint8_t *)element(&mask->view, i) = below(100) < density;
        char *expected = malloc((size_t)n * size + 1);
        for (int64_t i = 0; i < n; i++)
            memcpy(
                expected + (size_t)i * size,
                element(*(uint8_t *)element(&mask->view, i) ? &value->view : &base->view,
                        i),
                size);
        const int64_t parts = 1 + below(5);
        for (int64_t part = 0; part < parts; part++)
            vp__lib_mask_fill(&base->view, &mask->view, &value->view, part, parts);
        for (int64_t i = 0; i < n; i++)
            VP_CHECK(memcmp(element(&base->view, i), expected + (size_t)i * size, size) ==
                     0);
        free(expected);
        array_free(mask);
        array_free(value);
        array_free(base);
    }
}

/* A random selection: which axes are indexed, the index arrays, and the result's dims. */
typedef struct {
    vp__fancy fancy;
    vp__view views[VP__MAXDIM];
    array *arrays[VP__MAXDIM];
    int axis[VP__MAXDIM];
    int64_t dims[VP__MAXDIM];
    int ndim;
} selection;

static void selection_init(selection *s, const vp__view *base) {
    int64_t dims[VP__MAXDIM];
    int nd = (int)below(4);
    for (int i = 0; i < nd; i++) dims[i] = below(8) ? 1 + below(6) : 0;
    if (nd > 0 && below(4) == 0) dims[nd - 1] = below(600);
    memset(s, 0, sizeof *s);
    for (int i = 0; i < base->ndim; i++)
        if (below(2)) s->axis[s->fancy.nindex++] = i;
    if (s->fancy.nindex == 0) s->axis[s->fancy.nindex++] = (int)below(base->ndim);
    int rest = base->ndim - s->fancy.nindex;
    s->fancy.at = (int)below(rest + 1);
    s->fancy.index = s->views;
    s->fancy.axis = s->axis;
    for (int i = 0; i < s->fancy.nindex; i++) {
        s->arrays[i] = array_new(VP_I64, nd, dims, BROADCAST);
        s->views[i] = s->arrays[i]->view;
        int64_t size = base->dims[s->axis[i]];
        for (int64_t j = 0; j < count_of(&s->views[i]); j++)
            *(int64_t *)(void *)element(&s->views[i], j) = below(2 * size) - size;
        /* One that is empty is one index, broadcast to nothing. */
        static int64_t zero, strides[VP__MAXDIM];
        if (count_of(&s->views[i]) == 0)
            s->views[i] = (vp__view){&zero, s->views[i].dims, strides, nd, VP_I64};
    }
    int sub = 0;
    for (int i = 0; i <= base->ndim; i++) {
        if (sub == s->fancy.at && i == base->ndim) break;
        bool selected = false;
        for (int j = 0; j < s->fancy.nindex; j++) selected |= s->axis[j] == i;
        if (selected || i == base->ndim) continue;
        s->dims[sub < s->fancy.at ? sub : sub + nd] = base->dims[i];
        sub++;
    }
    for (int i = 0; i < nd; i++) s->dims[s->fancy.at + i] = dims[i];
    s->ndim = sub + nd;
}

static void selection_free(selection *s) {
    for (int i = 0; i < s->fancy.nindex; i++) array_free(s->arrays[i]);
}

/* The element of base that element `number` of the result selects. */
static char *selected(const selection *s, const vp__view *base, int64_t number) {
    int64_t at[VP__MAXDIM], sub[VP__MAXDIM];
    int nd = s->views[0].ndim, nsub = 0;
    int64_t which = 0;
    for (int i = s->ndim - 1; i >= 0; i--) {
        at[i] = number % s->dims[i];
        number /= s->dims[i];
    }
    for (int i = 0; i < s->ndim; i++) {
        if (i >= s->fancy.at && i < s->fancy.at + nd)
            which = which * s->dims[i] + at[i];
        else
            sub[nsub++] = at[i];
    }
    char *p = base->data;
    nsub = 0;
    for (int i = 0; i < base->ndim; i++) {
        int64_t x = -1;
        for (int j = 0; j < s->fancy.nindex; j++)
            if (s->axis[j] == i) {
                x = *(int64_t *)(void *)element(&s->views[j], which);
                x += x < 0 ? base->dims[i] : 0;
            }
        p += (x >= 0 ? x : sub[nsub++]) * base->strides[i];
    }
    return p;
}

static array *random_base(vp_dtype t) {
    int64_t dims[VP__MAXDIM];
    int ndim = 0;
    while (ndim == 0) ndim = random_dims(dims, 600);
    for (int i = 0; i < ndim; i++)
        if (dims[i] == 0) dims[i] = 1;
    array *base = array_new(t, ndim, dims, ANY_ORDER);
    fill_random(base);
    return base;
}

VP_TEST(gather_reads_what_indices_select) {
    for (int round = 0; round < rounds_of(3000); round++) {
        vp_dtype t = (vp_dtype)below(VP__NDTYPES);
        array *base = random_base(t);
        selection s;
        selection_init(&s, &base->view);
        array *out = array_new(t, s.ndim, s.dims, ANY_ORDER);
        int64_t bad = 0;
        int axis = -1;
        VP_CHECK(vp__lib_check_index(&s.fancy, &base->view, &bad, &axis));
        FOR_PARTS(part, parts)
        vp__lib_gather(&out->view, &base->view, &s.fancy, part, parts);
        for (int64_t i = 0; i < count_of(&out->view); i++)
            if (memcmp(element(&out->view, i), selected(&s, &base->view, i),
                       vp__dtype[t].size) != 0)
                VP_FAIL("round %d, element %lld", round, (long long)i);
        array_free(out);
        selection_free(&s);
        array_free(base);
    }
}

VP_TEST(scatter_lets_the_last_index_win) {
    for (int round = 0; round < rounds_of(3000); round++) {
        vp_dtype t = (vp_dtype)below(VP__NDTYPES);
        array *base = random_base(t);
        selection s;
        selection_init(&s, &base->view);
        array *in = array_new(t, s.ndim, s.dims, BROADCAST);
        fill_random(in);
        char *expected = malloc(base->bytes), *kept = malloc(base->bytes);
        memcpy(kept, base->memory, base->bytes);
        for (int64_t i = 0; i < count_of(&in->view); i++)
            memcpy(selected(&s, &base->view, i), element(&in->view, i),
                   vp__dtype[t].size);
        memcpy(expected, base->memory, base->bytes);
        memcpy(base->memory, kept, base->bytes);
        vp__lib_scatter(&base->view, &in->view, &s.fancy);
        VP_CHECK_BYTES(base->memory, expected, base->bytes);
        free(expected);
        free(kept);
        array_free(in);
        selection_free(&s);
        array_free(base);
    }
}

VP_TEST(indices_at_the_edges_are_told_apart) {
    enum { N = 100 };
    int64_t index[N];
    const vp__loops *loops = vp__loops_get();
    for (int64_t dim = 0; dim < 4; dim++)
        for (int64_t n = 0; n < N; n++) {
            for (int64_t i = 0; i < n; i++) index[i] = i % 2 ? -dim : dim - 1;
            VP_CHECK_EQ(loops->index_is_valid(index, n, dim), n == 0 || dim > 0);
            if (n == 0 || dim == 0) continue;
            const int64_t bad[] = {-dim - 1, dim, INT64_MIN, INT64_MAX};
            for (int j = 0; j < 4; j++) {
                const int64_t at = below(n), good = index[at];
                index[at] = bad[j];
                VP_CHECK(!loops->index_is_valid(index, n, dim));
                index[at] = good;
            }
        }
}

VP_TEST(check_index_reports_the_first_bad_one) {
    for (int round = 0; round < rounds_of(1000); round++) {
        array *base = random_base(VP_U8);
        selection s;
        selection_init(&s, &base->view);
        int which = (int)below(s.fancy.nindex);
        int64_t n = count_of(&s.views[which]), size = base->view.dims[s.axis[which]];
        int64_t bad = 0, expected = 0;
        int axis = -1;
        if (n > 0) {
            expected = below(2) ? size + below(3) : -size - 1 - below(3);
            if (below(9) == 0) expected = below(2) ? INT64_MIN : INT64_MAX;
            *(int64_t *)(void *)element(&s.views[which], below(n)) = expected;
            VP_CHECK(!vp__lib_check_index(&s.fancy, &base->view, &bad, &axis));
            VP_CHECK_EQ(bad, expected);
            VP_CHECK_EQ(axis, s.axis[which]);
        }
        selection_free(&s);
        array_free(base);
    }
}

VP_TEST(nothing_can_be_taken_from_an_empty_axis) {
    int64_t dims[] = {0}, strides[] = {1}, one[] = {1}, step[] = {8}, index[] = {0};
    vp__view base = {NULL, dims, strides, 1, VP_U8}, list = {index, one, step, 1, VP_I64};
    int axis[] = {0}, bad_axis = -1;
    int64_t bad = -1;
    vp__fancy f = {1, &list, axis, 0};
    VP_CHECK(!vp__lib_check_index(&f, &base, &bad, &bad_axis));
    VP_CHECK_EQ(bad, 0);
    one[0] = 0;
    VP_CHECK(vp__lib_check_index(&f, &base, &bad, &bad_axis));
    step[0] = 0; /* an index that is repeated no times is one all the same */
    VP_CHECK(!vp__lib_check_index(&f, &base, &bad, &bad_axis));
}

/* Small whole numbers, so that float products are exact in any order. */
static void fill_small(array *a) {
    vp_dtype t = a->view.dtype;
    for (int64_t i = 0; i < count_of(&a->view); i++) {
        char *p = element(&a->view, i);
        int x = (int)below(9) - 4, y = (int)below(9) - 4;
        vp__c128 z = {x, y};
        if (vp__dtype[t].cls == VP__CLASS_C)
            vp__kernels_get()->cast[VP_C128][t](p, &z, 1);
        else if (vp__dtype[t].cls == VP__CLASS_F)
            vp__kernels_get()->cast[VP_F64][t](p, &z.re, 1);
        else
            set_random(p, t);
    }
}

static void product_naive(char *to, const vp__view *a, const vp__view *b, int64_t r,
                          int64_t c) {
    vp_dtype t = a->dtype;
    int size = vp__dtype[t].size;
    uint64_t sum = 0;
    vp__c128 total = {0, 0};
    for (int64_t k = 0; k < a->dims[1]; k++) {
        char *x = (char *)a->data + r * a->strides[0] + k * a->strides[1];
        char *y = (char *)b->data + k * b->strides[0] + c * b->strides[1];
        if (vp__dtype[t].cls == VP__CLASS_F) {
            total.re += component(x, t, 0) * component(y, t, 0);
        } else if (vp__dtype[t].cls == VP__CLASS_C) {
            double xr = component(x, t, 0), xi = component(x, t, 1);
            double yr = component(y, t, 0), yi = component(y, t, 1);
            total.re += xr * yr - xi * yi;
            total.im += xr * yi + xi * yr;
        } else {
            uint64_t p = 0, q = 0;
            memcpy(&p, x, (size_t)size);
            memcpy(&q, y, (size_t)size);
            sum = t == VP_BOOL ? sum | (p & q) : sum + p * q;
        }
    }
    if (t == VP_F32 || t == VP_F64)
        vp__kernels_get()->cast[VP_F64][t](to, &total.re, 1);
    else if (t == VP_C64 || t == VP_C128)
        vp__kernels_get()->cast[VP_C128][t](to, &total, 1);
    else
        memcpy(to, &sum, (size_t)size);
}

static void multiply(const vp__view *out, const vp__view *a, const vp__view *b,
                     int64_t parts) {
    size_t bytes[2];
    vp__lib_matmul_scratch(out, a, b, parts, bytes);
    void *scratch[2] = {scratch_new(bytes[0]), scratch_new(bytes[1])};
    for (int64_t part = 0; part < parts; part++)
        vp__lib_matmul(out, a, b, part, parts, scratch);
    free(scratch[0]);
    free(scratch[1]);
}

static void matmul_round(int64_t m, int64_t n, int64_t k, vp_dtype t, bool own_parts) {
    array *a = array_new(t, 2, (int64_t[]){m, k}, BROADCAST);
    array *b = array_new(t, 2, (int64_t[]){k, n}, BROADCAST);
    array *out = array_new(t, 2, (int64_t[]){m, n}, ANY_ORDER);
    fill_small(a);
    fill_small(b);
    int64_t parts = own_parts ? 1 + below(5) : vp__lib_matmul_parts(m, n, k, t, 2);
    multiply(&out->view, &a->view, &b->view, parts);
    for (int64_t i = 0; i < m * n; i++) {
        char expected[16];
        product_naive(expected, &a->view, &b->view, i / n, i % n);
        if (!same(element(&out->view, i), expected, t)) {
            /* The sign of a zero sum is the library's choice. */
            bool real =
                vp__dtype[t].cls == VP__CLASS_F || vp__dtype[t].cls == VP__CLASS_C;
            const char *got = element(&out->view, i);
            if (!real || component(got, t, 0) != component(expected, t, 0) ||
                (vp__dtype[t].cls == VP__CLASS_C &&
                 component(got, t, 1) != component(expected, t, 1)))
                VP_FAIL("%s (%lld, %lld) @ (%lld, %lld), element %lld", vp__dtype[t].name,
                        (long long)m, (long long)k, (long long)k, (long long)n,
                        (long long)i);
        }
    }
    array_free(a);
    array_free(b);
    array_free(out);
}

static void matmul_rounds(int rounds) {
    for (int round = 0; round < rounds; round++) {
        int64_t most = round % 10 ? 20 : 150;
        int64_t m = below(most), n = below(most), k = below(most);
        if (below(8) == 0) m = 1;
        if (below(8) == 0) n = 1;
        if (below(8) == 0) k = 1;
        matmul_round(m, n, k, (vp_dtype)below(VP__NDTYPES), below(4) == 0);
    }
}

VP_TEST(matmul_takes_any_layout) { matmul_rounds(rounds_of(1500)); }

VP_TEST(matmul_needs_no_library) {
    setenv("VP_BLAS", "off", 1);
    matmul_rounds(rounds_of(1000));
}

VP_TEST(matmul_cuts_large_products) {
    VP_CHECK_EQ(vp__lib_matmul_parts(64, 64, 64, VP_F64, 2), 1);
    VP_CHECK_GE(vp__lib_matmul_parts(1024, 1024, 1024, VP_F64, 2), 4);
    VP_CHECK_GE(vp__lib_matmul_parts(4096, 4096, 4096, VP_F64, 16), 32);
    VP_CHECK_GE(vp__lib_matmul_parts(1024, 1024, 1024, VP_I64, 2), 32);
    VP_CHECK_GE(vp__lib_matmul_parts(1, 4096, 4096, VP_F64, 2), 8);
    VP_CHECK_GE(vp__lib_matmul_parts(4096, 1, 4096, VP_F64, 2), 8);
    VP_CHECK_EQ(vp__lib_matmul_parts(0, 5, 5, VP_F64, 2), 1);
    matmul_round(300, 170, 210, VP_F64, false);
    matmul_round(70, 200, 900, VP_F64, true);
    matmul_round(170, 300, 450, VP_F32, false);
    matmul_round(3, 3000, 400, VP_F32, false);
    matmul_round(2000, 1, 700, VP_C64, false);
    matmul_round(1, 2000, 700, VP_C128, false);
    matmul_round(120, 200, 300, VP_I64, false);
}

/* Values whose sums are rounded. */
static void fill_rough(array *a) {
    for (int64_t i = 0; i < count_of(&a->view); i++) {
        const double x = (double)below(1 << 30) / (1 << 29) - 1;
        vp__kernels_get()->cast[VP_F64][a->view.dtype](element(&a->view, i), &x, 1);
    }
}

/* NaNs here and there that can be told apart. */
static void spoil(array *x) {
    for (int64_t i = 0; i < 20; i++) {
        char *at = element(&x->view, below(count_of(&x->view)));
        const uint32_t narrow = 0x7fc00000 | (uint32_t)below(1 << 20);
        const uint64_t wide = 0x7ff8000000000000 | (uint64_t)below(1 << 20);
        memcpy(at, x->view.dtype == VP_F32 ? (const void *)&narrow : &wide,
               (size_t)vp__dtype[x->view.dtype].size);
    }
}

/* The same elements, laid out in some other way. */
static array *copy_of(const array *x) {
    array *y = array_new(x->view.dtype, 2, x->view.dims, ANY_ORDER);
    for (int64_t i = 0; i < count_of(&x->view); i++)
        memcpy(element(&y->view, i), element(&x->view, i),
               (size_t)vp__dtype[x->view.dtype].size);
    return y;
}

/* Large ones of floats may be cut in any way, and lie in any way; which NaN is shown, where
 * two meet, is no exception. */
static void cut_round(vp_dtype t, int64_t m, int64_t n, int64_t k) {
    array *a = array_new(t, 2, (int64_t[]){m, k}, ANY_ORDER);
    array *b = array_new(t, 2, (int64_t[]){k, n}, ANY_ORDER);
    array *whole = array_new(t, 2, (int64_t[]){m, n}, ANY_ORDER);
    array *cut = array_new(t, 2, (int64_t[]){m, n}, ANY_ORDER);
    fill_rough(a);
    fill_rough(b);
    if (below(2)) spoil(a), spoil(b);
    array *a2 = copy_of(a), *b2 = copy_of(b);
    multiply(&whole->view, &a->view, &b->view, 1);
    multiply(&cut->view, &a2->view, &b2->view, 2 + below(40));
    for (int64_t i = 0; i < m * n; i++)
        if (memcmp(element(&whole->view, i), element(&cut->view, i),
                   (size_t)vp__dtype[t].size) != 0)
            VP_FAIL("%s (%lld, %lld) @ (%lld, %lld), element %lld depends on the cut",
                    vp__dtype[t].name, (long long)m, (long long)k, (long long)k,
                    (long long)n, (long long)i);
    array *all[] = {a, b, a2, b2, whole, cut};
    for (int i = 0; i < 6; i++) array_free(all[i]);
}

VP_TEST(matmul_has_the_same_bits_however_it_is_cut) {
    if (!vp__gemm_takes(VP_F64))
        VP_SKIP("no fused multiply-add: products are cut by shape");
    for (int round = 0; round < rounds_of(40); round++)
        cut_round(round % 2 ? VP_F32 : VP_F64, 64 + below(250), 64 + below(400),
                  500 + below(500));
    cut_round(VP_F64, 70, 1300, 400); /* more columns than are packed at a time */
    cut_round(VP_F32, 70, 2500, 400);
}

/* Products of one set of inputs from several threads at once, compared bit for bit. */
enum { SIDE = 96, THREADS = 4, REPEATS = 40 };
static double left_[SIDE * SIDE], right_[SIDE * SIDE];

static void product_bits(double *out) {
    int64_t dims[] = {SIDE, SIDE}, strides[] = {SIDE * 8, 8};
    vp__view a = {left_, dims, strides, 2, VP_F64}, b = a, c = a;
    b.data = right_;
    c.data = out;
    int64_t parts = vp__lib_matmul_parts(SIDE, SIDE, SIDE, VP_F64, 2);
    multiply(&c, &a, &b, parts);
}

static void *product_thread(void *expected) {
    double *out = malloc(sizeof left_);
    for (int i = 0; i < REPEATS; i++) {
        product_bits(out);
        VP_CHECK_BYTES(out, expected, sizeof left_);
    }
    free(out);
    return NULL;
}

VP_TEST(matmul_is_the_same_on_every_thread) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        left_[i] = (double)below(1000) / 7;
        right_[i] = (double)below(1000) / 13;
    }
    static double expected[SIDE * SIDE];
    product_bits(expected);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        VP_CHECK_EQ(pthread_create(&threads[i], NULL, product_thread, expected), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* The inner loops of other instruction sets. */
static void all_rounds(const char *isa) {
    setenv("VP_ISA", isa, 1);
    setenv("VP_BLAS", "off", 1);
    copy_rounds(rounds_of(500));
    matmul_rounds(rounds_of(500));
    test_find_lists_in_c_order();
    test_scans_run_left_to_right();
    test_gather_reads_what_indices_select();
    test_check_index_reports_the_first_bad_one();
}

VP_TEST(baseline_loops_agree) { all_rounds("baseline"); }

VP_TEST(avx2_loops_agree) {
    if (!vp__kernels_for("avx2")) VP_SKIP("this CPU has no AVX2");
    all_rounds("avx2");
}
