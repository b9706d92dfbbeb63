/* SPDX-License-Identifier: Apache-2.0
 *
 * Bitonic sorting networks for short sequences, compiled once per instruction set and
 * real with AVX-512 alone: elsewhere they decline, and radix.c sorts in its own way, to
 * the same result. A network compares and exchanges without a branch, which is what short
 * sequences lose their time on.
 *
 * Every comparator puts the smaller item at the lower place, so a network for a power of
 * two of vectors also sorts fewer when the rest is the largest possible item, and merges
 * whose upper run is all padding are left out.
 */
#include "lib/loops.h"
#include "lib/sort/keys.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

/* The longest networks in vectors, beyond which radix sort is quicker, and how many
 * vectors fit in registers: of keyed items, half as many. */
enum { VECTORS = 4096, KEYED_VECTORS = 64, HELD = 16, KEYED_HELD = 8 };

/* One vector of items. Words use only `key`; keyed items have positions beside it. */
typedef struct {
    __m512i key, position;
} items;

typedef enum { WORD32, WORD64, KEYED } kind;

/* Bit l is set where item l of b comes before that of a. */
INLINE __mmask16 before(items b, items a, kind k) {
    if (k == WORD32) return _mm512_cmplt_epu32_mask(b.key, a.key);
    __mmask8 less = _mm512_cmplt_epu64_mask(b.key, a.key);
    if (k == KEYED)
        less |= _mm512_mask_cmplt_epu64_mask(_mm512_cmpeq_epu64_mask(b.key, a.key),
                                             b.position, a.position);
    return less;
}

INLINE items choose(__mmask16 second, items a, items b, kind k) {
    if (k == WORD32)
        return (items){_mm512_mask_mov_epi32(a.key, second, b.key), a.position};
    a.key = _mm512_mask_mov_epi64(a.key, (__mmask8)second, b.key);
    if (k == KEYED)
        a.position = _mm512_mask_mov_epi64(a.position, (__mmask8)second, b.position);
    return a;
}

/* Leaves the smaller items in *a and the larger in *b. */
INLINE void exchange(items *a, items *b, kind k) {
    __m512i x = a->key, y = b->key;
    if (k == WORD32) {
        a->key = _mm512_min_epu32(x, y);
        b->key = _mm512_max_epu32(x, y);
    } else if (k == WORD64) {
        a->key = _mm512_min_epu64(x, y);
        b->key = _mm512_max_epu64(x, y);
    } else {
        items low = *a, high = *b;
        __mmask16 swapped = before(high, low, k);
        *a = choose(swapped, low, high, k);
        *b = choose(swapped, high, low, k);
    }
}

/* Lane l of the result is lane l ^ distance of x. */
INLINE __m512i flip(__m512i x, int distance, kind k) {
    if (k == WORD32) {
        switch (distance) {
        case 1: return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xB1);
        case 2: return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4E);
        case 3: return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x1B);
        case 4: return _mm512_shuffle_i32x4(x, x, 0xB1);
        case 8: return _mm512_shuffle_i32x4(x, x, 0x4E);
        case 7:
            return _mm512_permutexvar_epi32(
                _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8),
                x);
        default:
            return _mm512_permutexvar_epi32(
                _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                x);
        }
    }
    switch (distance) {
    case 1: return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4E);
    case 2: return _mm512_permutex_epi64(x, 0x4E);
    case 3: return _mm512_permutex_epi64(x, 0x1B);
    case 4: return _mm512_shuffle_i64x2(x, x, 0x4E);
    default:
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x);
    }
}

INLINE items flipped(items x, int distance, kind k) {
    x.key = flip(x.key, distance, k);
    if (k == KEYED) x.position = flip(x.position, distance, k);
    return x;
}

/* The smaller of two items in each lane, and in the lanes of `upper` the larger. */
INLINE items meet(items x, items y, __mmask16 upper, kind k) {
    if (k == WORD32) {
        __m512i low = _mm512_min_epu32(x.key, y.key);
        x.key = _mm512_mask_max_epu32(low, upper, x.key, y.key);
    } else if (k == WORD64) {
        __m512i low = _mm512_min_epu64(x.key, y.key);
        x.key = _mm512_mask_max_epu64(low, (__mmask8)upper, x.key, y.key);
    } else {
        x = choose((__mmask16)((before(y, x, k) ^ upper) & 0xFF), x, y, k);
    }
    return x;
}

/* One step inside a vector: lanes meet those at l ^ distance, and the lanes in `upper`
 * keep the larger item. */
INLINE items step(items x, int distance, __mmask16 upper, kind k) {
    return meet(x, flipped(x, distance, k), upper, k);
}

enum { ODD = 0xAAAA, PAIRS = 0xCCCC, QUADS = 0xF0F0, HALVES = 0xFF00 };

/* Sorts a bitonic vector. */
INLINE items clean(items x, kind k) {
    if (k == WORD32) x = step(x, 8, HALVES, k);
    x = step(x, 4, QUADS, k);
    x = step(x, 2, PAIRS, k);
    return step(x, 1, ODD, k);
}

/* Sorts any vector. */
INLINE items sort_vector(items x, kind k) {
    x = step(x, 1, ODD, k);
    x = step(step(x, 3, PAIRS, k), 1, ODD, k);
    x = step(step(step(x, 7, QUADS, k), 2, PAIRS, k), 1, ODD, k);
    if (k == WORD32) {
        x = step(step(x, 15, HALVES, k), 4, QUADS, k);
        x = step(step(x, 2, PAIRS, k), 1, ODD, k);
    }
    return x;
}

/* The vectors in memory, keys and positions apart. */
typedef struct {
    __m512i *key, *position;
} storage;

INLINE items get(storage s, int64_t v, kind k) {
    items x = {s.key[v], k == KEYED ? s.position[v] : s.key[v]};
    return x;
}

INLINE void put(storage s, int64_t v, items x, kind k) {
    s.key[v] = x.key;
    if (k == KEYED) s.position[v] = x.position;
}

/* Merges sorted runs of `half` vectors at v and v + half. */
INLINE void merge(storage s, int64_t v, int64_t half, kind k) {
    int end = k == WORD32 ? 15 : 7;
    for (int64_t i = 0; i < half; i++) {
        items a = get(s, v + i, k), b = flipped(get(s, v + 2 * half - 1 - i, k), end, k);
        exchange(&a, &b, k);
        put(s, v + i, a, k);
        put(s, v + 2 * half - 1 - i, flipped(b, end, k), k);
    }
    int64_t d = half / 2;
    for (; d >= 2; d /= 4) { /* two distances at a time, d and d / 2 */
        for (int64_t i = v; i < v + 2 * half; i += 2 * d)
            for (int64_t j = i; j < i + d / 2; j++) {
                items a = get(s, j, k), b = get(s, j + d / 2, k);
                items c = get(s, j + d, k), e = get(s, j + d + d / 2, k);
                exchange(&a, &c, k);
                exchange(&b, &e, k);
                exchange(&a, &b, k);
                exchange(&c, &e, k);
                put(s, j, a, k);
                put(s, j + d / 2, b, k);
                put(s, j + d, c, k);
                put(s, j + d + d / 2, e, k);
            }
    }
    for (int64_t i = v; i < v + 2 * half; i += 2) { /* a last odd distance, and inside */
        items a = get(s, i, k), b = get(s, i + 1, k);
        if (d == 1) exchange(&a, &b, k);
        put(s, i, clean(a, k), k);
        put(s, i + 1, clean(b, k), k);
    }
}

/* Merges two sorted vectors. */
INLINE void merge_two(items *x, kind k) {
    int end = k == WORD32 ? 15 : 7;
    x[1] = flipped(x[1], end, k);
    exchange(&x[0], &x[1], k);
    x[0] = clean(x[0], k);
    x[1] = clean(flipped(x[1], end, k), k);
}

/* Sorts every lane of 4, 8 or 16 vectors: the smallest networks for 4 and 8 items, and
 * Batcher's odd-even merge of two eights. */
#define X(i, j) exchange(&x[i], &x[j], k)
INLINE void sort_four(items *x, kind k) { X(0, 2), X(1, 3), X(0, 1), X(2, 3), X(1, 2); }
INLINE void sort_eight(items *x, kind k) {
    X(0, 2), X(1, 3), X(4, 6), X(5, 7);
    X(0, 4), X(1, 5), X(2, 6), X(3, 7);
    X(0, 1), X(2, 3), X(4, 5), X(6, 7);
    X(2, 4), X(3, 5), X(1, 4), X(3, 6);
    X(1, 2), X(3, 4), X(5, 6);
}
INLINE void merge_eights(items *x, kind k) {
    X(0, 8), X(1, 9), X(2, 10), X(3, 11), X(4, 12), X(5, 13), X(6, 14), X(7, 15);
    X(4, 8), X(5, 9), X(6, 10), X(7, 11);
    X(2, 4), X(3, 5), X(6, 8), X(7, 9), X(10, 12), X(11, 13);
    X(1, 2), X(3, 4), X(5, 6), X(7, 8), X(9, 10), X(11, 12), X(13, 14);
}
#undef X

INLINE __mmask16 upper_lanes(int distance) {
    return distance == 1 ? ODD : distance == 2 ? PAIRS : distance == 4 ? QUADS : HALVES;
}

/* Merges sorted sequences that lie in neighbouring groups of lanes, item p of one at
 * vector p % n of its lane p / n, into groups of `lanes` lanes. */
INLINE void merge_lanes(items *x, int n, int lanes, kind k) {
    for (int i = 0; i < n / 2; i++) {
        items a = x[i], b = x[n - 1 - i];
        x[i] = meet(a, flipped(b, lanes - 1, k), upper_lanes(lanes / 2), k);
        x[n - 1 - i] = meet(b, flipped(a, lanes - 1, k), upper_lanes(lanes / 2), k);
    }
    for (int d = lanes / 4; d >= 1; d /= 2)
        for (int i = 0; i < n; i++) x[i] = step(x[i], d, upper_lanes(d), k);
    for (int d = n / 2; d >= 1; d /= 2)
        for (int i = 0; i < n; i++)
            if ((i & d) == 0) exchange(&x[i], &x[i + d], k);
}

/* Vector c of the result, `apart` from the next, is the quarters c of these four. */
INLINE void quarters(__m512i *out, int apart, __m512i a, __m512i b, __m512i c,
                     __m512i d) {
    __m512i ab = _mm512_shuffle_i64x2(a, b, 0x88), cd = _mm512_shuffle_i64x2(c, d, 0x88);
    out[0] = _mm512_shuffle_i64x2(ab, cd, 0x88);
    out[2 * apart] = _mm512_shuffle_i64x2(ab, cd, 0xDD);
    ab = _mm512_shuffle_i64x2(a, b, 0xDD);
    cd = _mm512_shuffle_i64x2(c, d, 0xDD);
    out[apart] = _mm512_shuffle_i64x2(ab, cd, 0x88);
    out[3 * apart] = _mm512_shuffle_i64x2(ab, cd, 0xDD);
}

/* Brings items that go down the lanes of n vectors, one lane after another, into the order
 * of memory. Pairs (and for narrow items fours) of vectors are zipped first, so that a
 * quarter of a vector holds items that stay together. */
INLINE void turn_narrow(__m512i *x, int n) {
    __m512i y[4][4]; /* by four vectors and lane within a quarter */
    for (int q = 0; q < n / 4; q++) {
        const __m512i *r = x + 4 * q;
        __m512i ab = _mm512_unpacklo_epi32(r[0], r[1]),
                cd = _mm512_unpacklo_epi32(r[2], r[3]);
        y[q][0] = _mm512_unpacklo_epi64(ab, cd);
        y[q][1] = _mm512_unpackhi_epi64(ab, cd);
        ab = _mm512_unpackhi_epi32(r[0], r[1]);
        cd = _mm512_unpackhi_epi32(r[2], r[3]);
        y[q][2] = _mm512_unpacklo_epi64(ab, cd);
        y[q][3] = _mm512_unpackhi_epi64(ab, cd);
    }
    if (n == 4) {
        quarters(x, 1, y[0][0], y[0][1], y[0][2], y[0][3]);
    } else if (n == 8) {
        quarters(x, 2, y[0][0], y[1][0], y[0][1], y[1][1]);
        quarters(x + 1, 2, y[0][2], y[1][2], y[0][3], y[1][3]);
    } else {
        for (int l = 0; l < 4; l++)
            quarters(x + l, 4, y[0][l], y[1][l], y[2][l], y[3][l]);
    }
}

INLINE void turn_wide(__m512i *x, int n) {
    __m512i even[8], odd[8]; /* by two vectors: their even and their odd lanes */
    for (int p = 0; p < n / 2; p++) {
        even[p] = _mm512_unpacklo_epi64(x[2 * p], x[2 * p + 1]);
        odd[p] = _mm512_unpackhi_epi64(x[2 * p], x[2 * p + 1]);
    }
    if (n == 4) {
        quarters(x, 1, even[0], even[1], odd[0], odd[1]);
        return;
    }
    for (int h = 0; h < n / 8; h++) {
        const __m512i *e = even + 4 * h, *o = odd + 4 * h;
        quarters(x + h, n / 4, e[0], e[1], e[2], e[3]);
        quarters(x + h + n / 8, n / 4, o[0], o[1], o[2], o[3]);
    }
}

/* Sorts `n` vectors, a constant power of two, in registers. From four on their lanes are
 * sorted first, which takes no moves within vectors, then merged, and turned at last. */
INLINE void sort_held(items *x, int n, kind k) {
    if (n < 4) {
        for (int i = 0; i < n; i++) x[i] = sort_vector(x[i], k);
        if (n == 2) merge_two(x, k);
        return;
    }
    if (n == 4) sort_four(x, k);
    if (n >= 8) sort_eight(x, k);
    if (n == 16) sort_eight(x + 8, k);
    if (n == 16) merge_eights(x, k);
    for (int lanes = 2; lanes <= (k == WORD32 ? 16 : 8); lanes *= 2)
        merge_lanes(x, n, lanes, k);
    __m512i turned[HELD];
    for (int i = 0; i < n; i++) turned[i] = x[i].key;
    if (k == WORD32)
        turn_narrow(turned, n);
    else
        turn_wide(turned, n);
    for (int i = 0; i < n; i++) x[i].key = turned[i];
    if (k != KEYED) return;
    for (int i = 0; i < n; i++) turned[i] = x[i].position;
    turn_wide(turned, n);
    for (int i = 0; i < n; i++) x[i].position = turned[i];
}

/* Sorts the `n` vectors at v in registers. */
INLINE void sort_block(storage s, int64_t v, int n, kind k) {
    items x[HELD];
    for (int i = 0; i < n; i++) x[i] = get(s, v + i, k);
    sort_held(x, n, k);
    for (int i = 0; i < n; i++) put(s, v + i, x[i], k);
}

/* Sorts `used` vectors in room for `whole`, a power of two; the rest is padding. */
INLINE void network_of(storage s, int64_t used, int64_t whole, kind k) {
    const int held = k == KEYED ? KEYED_HELD : HELD;
    if (whole == 1) {
        sort_block(s, 0, 1, k);
    } else if (whole == 2) {
        sort_block(s, 0, 2, k);
    } else if (whole == 4) {
        sort_block(s, 0, 4, k);
    } else if (whole == 8) {
        sort_block(s, 0, 8, k);
    } else {
        for (int64_t v = 0; v < used; v += held) sort_block(s, v, held, k);
        for (int64_t half = held; half < whole; half *= 2)
            for (int64_t v = 0; v + half < used; v += 2 * half) merge(s, v, half, k);
    }
}

/* Once per kind, not once per type: networks are long. */
static __attribute__((noinline)) void network32(storage s, int64_t used, int64_t whole) {
    network_of(s, used, whole, WORD32);
}
static __attribute__((noinline)) void network64(storage s, int64_t used, int64_t whole) {
    network_of(s, used, whole, WORD64);
}
static __attribute__((noinline)) void network_keyed(storage s, int64_t used,
                                                    int64_t whole) {
    network_of(s, used, whole, KEYED);
}

/* How elements become keys, as keys.h has it. */
typedef enum { AS_IS, SIGNED, FLOAT, FLOAT_SAME } mapping;

INLINE __m512i key32(__m512i x, mapping m) {
    const __m512i sign = _mm512_set1_epi32(INT32_MIN), zero = _mm512_setzero_si512();
    if (m == AS_IS) return x;
    if (m == SIGNED) return _mm512_xor_si512(x, sign);
    __m512i bits = x;
    if (m == FLOAT_SAME)
        bits = _mm512_mask_mov_epi32(x, _mm512_cmpeq_epi32_mask(x, sign), zero);
    bits = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi32(bits, 31), sign));
    bits = _mm512_sub_epi32(bits, _mm512_set1_epi32(VP__TURN32));
    if (m == FLOAT_SAME) {
        __m512i size = _mm512_andnot_si512(sign, x);
        __mmask16 nan = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(VP__INF32));
        bits = _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(-1));
    }
    return bits;
}

INLINE __m512i key64(__m512i x, mapping m) {
    const __m512i sign = _mm512_set1_epi64(INT64_MIN), zero = _mm512_setzero_si512();
    if (m == AS_IS) return x;
    if (m == SIGNED) return _mm512_xor_si512(x, sign);
    __m512i bits = x;
    if (m == FLOAT_SAME)
        bits = _mm512_mask_mov_epi64(x, _mm512_cmpeq_epi64_mask(x, sign), zero);
    bits = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi64(bits, 63), sign));
    bits = _mm512_sub_epi64(bits, _mm512_set1_epi64(VP__TURN64));
    if (m == FLOAT_SAME) {
        __m512i size = _mm512_andnot_si512(sign, x);
        __mmask8 nan = _mm512_cmpgt_epi64_mask(size, _mm512_set1_epi64(VP__INF64));
        bits = _mm512_mask_mov_epi64(bits, nan, _mm512_set1_epi64(-1));
    }
    return bits;
}

INLINE __m512i unkey32(__m512i key, mapping m) {
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    if (m == AS_IS) return key;
    if (m == SIGNED) return _mm512_xor_si512(key, sign);
    __m512i bits = _mm512_add_epi32(key, _mm512_set1_epi32(VP__TURN32));
    __m512i negative =
        _mm512_xor_si512(_mm512_srai_epi32(bits, 31), _mm512_set1_epi32(-1));
    return _mm512_xor_si512(bits, _mm512_or_si512(negative, sign));
}

INLINE __m512i unkey64(__m512i key, mapping m) {
    const __m512i sign = _mm512_set1_epi64(INT64_MIN);
    if (m == AS_IS) return key;
    if (m == SIGNED) return _mm512_xor_si512(key, sign);
    __m512i bits = _mm512_add_epi64(key, _mm512_set1_epi64(VP__TURN64));
    __m512i negative =
        _mm512_xor_si512(_mm512_srai_epi64(bits, 63), _mm512_set1_epi64(-1));
    return _mm512_xor_si512(bits, _mm512_or_si512(negative, sign));
}

/* The first `n` bits, at most 16. */
INLINE __mmask16 first(int64_t n) {
    return n >= 16 ? 0xFFFF : n <= 0 ? 0 : (__mmask16)((1u << n) - 1);
}

INLINE int64_t power_above(int64_t n) {
    int64_t power = 1;
    while (power < n) power *= 2;
    return power;
}

/* Sorts n elements of at most `most` vectors, a constant, from memory to memory without a
 * stop on the way: more vectors than there are elements for are padding. */
INLINE void sort_through(char *out, const char *in, int64_t n, int most, kind k,
                         mapping m) {
    const __m512i padding = _mm512_set1_epi64(-1);
    const int lanes = k == WORD32 ? 16 : 8;
    items x[HELD];
    for (int v = 0; v < most; v++) {
        const __mmask16 part = first(n - v * lanes);
        __m512i y = k == WORD32
                        ? key32(_mm512_maskz_loadu_epi32(part, in + v * 64), m)
                        : key64(_mm512_maskz_loadu_epi64((__mmask8)part, in + v * 64), m);
        y = k == WORD32 ? _mm512_mask_mov_epi32(padding, part, y)
                        : _mm512_mask_mov_epi64(padding, (__mmask8)part, y);
        x[v] = (items){y, y};
    }
    sort_held(x, most, k);
    for (int v = 0; v < most; v++) {
        const __mmask16 part = first(n - v * lanes);
        if (k == WORD32)
            _mm512_mask_storeu_epi32(out + v * 64, part, unkey32(x[v].key, m));
        else
            _mm512_mask_storeu_epi64(out + v * 64, (__mmask8)part, unkey64(x[v].key, m));
    }
}

/* Sorts n elements; partial vectors are moved under a mask. */
INLINE void sort_words(char *out, const char *in, int64_t n, __m512i *keys, kind k,
                       mapping m) {
    const __m512i most = _mm512_set1_epi64(-1);
    int64_t lanes = k == WORD32 ? 16 : 8, used = (n + lanes - 1) / lanes;
    if (used <= 8) {
        if (used == 1)
            sort_through(out, in, n, 1, k, m);
        else if (used == 2)
            sort_through(out, in, n, 2, k, m);
        else if (used <= 4)
            sort_through(out, in, n, 4, k, m);
        else
            sort_through(out, in, n, 8, k, m);
        return;
    }
    int64_t whole = power_above(used), last = used - 1;
    __mmask16 rest = first(n - last * lanes);
    for (int64_t v = 0; v < last; v++) {
        __m512i x = _mm512_loadu_si512(in + v * 64);
        keys[v] = k == WORD32 ? key32(x, m) : key64(x, m);
    }
    if (k == WORD32) {
        __m512i x = key32(_mm512_maskz_loadu_epi32(rest, in + last * 64), m);
        keys[last] = _mm512_mask_mov_epi32(most, rest, x);
    } else {
        __m512i x = key64(_mm512_maskz_loadu_epi64((__mmask8)rest, in + last * 64), m);
        keys[last] = _mm512_mask_mov_epi64(most, (__mmask8)rest, x);
    }
    for (int64_t v = used; v < whole; v++) keys[v] = most;
    (k == WORD32 ? network32 : network64)((storage){keys, keys}, used, whole);
    for (int64_t v = 0; v < last; v++) {
        __m512i x = k == WORD32 ? unkey32(keys[v], m) : unkey64(keys[v], m);
        _mm512_storeu_si512(out + v * 64, x);
    }
    if (k == WORD32)
        _mm512_mask_storeu_epi32(out + last * 64, rest, unkey32(keys[last], m));
    else
        _mm512_mask_storeu_epi64(out + last * 64, (__mmask8)rest, unkey64(keys[last], m));
}

bool VP__LOOPS(vp__loops_sort)(void *out, const void *in, int64_t n, vp_dtype t,
                               void *scratch) {
    kind k = vp__dtype[t].size == 4 ? WORD32 : WORD64;
    if (n > VECTORS * (k == WORD32 ? 16 : 8)) return false;
    if (n < 1) return true;
    switch (t) {
    case VP_U32: sort_words(out, in, n, scratch, WORD32, AS_IS); return true;
    case VP_I32: sort_words(out, in, n, scratch, WORD32, SIGNED); return true;
    case VP_F32: sort_words(out, in, n, scratch, WORD32, FLOAT); return true;
    case VP_U64: sort_words(out, in, n, scratch, WORD64, AS_IS); return true;
    case VP_I64: sort_words(out, in, n, scratch, WORD64, SIGNED); return true;
    case VP_F64: sort_words(out, in, n, scratch, WORD64, FLOAT); return true;
    default: return false;
    }
}

/* Elements of four bytes share a word with their position. */
INLINE void argsort_words(int64_t *out, const char *in, int64_t n, __m512i *keys,
                          mapping m) {
    __m512i at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i most = _mm512_set1_epi64(-1), eight = _mm512_set1_epi64(8);
    int64_t used = (n + 7) / 8, whole = power_above(used);
    for (int64_t v = 0; v < used; v++) {
        __mmask16 present = first(n - v * 8) & 0xFF;
        __m512i x = key32(_mm512_maskz_loadu_epi32(present, in + v * 32), m);
        __m512i wide = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(x));
        wide = _mm512_or_si512(_mm512_slli_epi64(wide, 32), at);
        keys[v] = _mm512_mask_mov_epi64(most, (__mmask8)present, wide);
        at = _mm512_add_epi64(at, eight);
    }
    for (int64_t v = used; v < whole; v++) keys[v] = most;
    network64((storage){keys, keys}, used, whole);
    const __m512i low = _mm512_set1_epi64(UINT32_MAX);
    for (int64_t v = 0; v < used; v++)
        _mm512_mask_storeu_epi64(out + v * 8, (__mmask8)first(n - v * 8),
                                 _mm512_and_si512(keys[v], low));
}

INLINE void argsort_keyed(int64_t *out, const char *in, int64_t n, __m512i *keys,
                          mapping m) {
    __m512i at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i most = _mm512_set1_epi64(-1), eight = _mm512_set1_epi64(8);
    int64_t used = (n + 7) / 8, whole = power_above(used);
    __m512i *positions = keys + whole;
    for (int64_t v = 0; v < whole; v++) {
        __mmask8 present = (__mmask8)first(n - v * 8);
        __m512i x = key64(_mm512_maskz_loadu_epi64(present, in + v * 64), m);
        keys[v] = _mm512_mask_mov_epi64(most, present, x);
        positions[v] =
            at; /* padding comes after every element, by its position at last */
        at = _mm512_add_epi64(at, eight);
    }
    network_keyed((storage){keys, positions}, used, whole);
    for (int64_t v = 0; v < used; v++)
        _mm512_mask_storeu_epi64(out + v * 8, (__mmask8)first(n - v * 8), positions[v]);
}

bool VP__LOOPS(vp__loops_argsort)(int64_t *out, const void *in, int64_t n, vp_dtype t,
                                  void *scratch) {
    if (n > (vp__dtype[t].size == 4 ? VECTORS : KEYED_VECTORS) * 8) return false;
    if (n < 1) return true;
    switch (t) {
    case VP_U32: argsort_words(out, in, n, scratch, AS_IS); return true;
    case VP_I32: argsort_words(out, in, n, scratch, SIGNED); return true;
    case VP_F32: argsort_words(out, in, n, scratch, FLOAT_SAME); return true;
    case VP_U64: argsort_keyed(out, in, n, scratch, AS_IS); return true;
    case VP_I64: argsort_keyed(out, in, n, scratch, SIGNED); return true;
    case VP_F64: argsort_keyed(out, in, n, scratch, FLOAT_SAME); return true;
    default: return false;
    }
}

#else

bool VP__LOOPS(vp__loops_sort)(void *out, const void *in, int64_t n, vp_dtype t,
                               void *scratch) {
    (void)out, (void)in, (void)t, (void)scratch;
    return n < 1;
}

bool VP__LOOPS(vp__loops_argsort)(int64_t *out, const void *in, int64_t n, vp_dtype t,
                                  void *scratch) {
    (void)out, (void)in, (void)t, (void)scratch;
    return n < 1;
}

#endif
