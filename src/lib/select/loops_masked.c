/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that move the elements a mask selects, compiled once per instruction set. The mask is
 * read 64 elements at a time, as in loops_mask.c: what is sparse goes bit by bit and touches
 * nothing else, what is dense goes by vectors. Every function has the size of an element as a
 * constant once it is inlined.
 */
#include "lib/loops.h"
#include "lib/select/mask_word.h"

#define INLINE static inline __attribute__((always_inline))

/* Up to so many of 64 elements are moved bit by bit. */
enum { SPARSE = 6 };

/* --- bit by bit ----------------------------------------------------------------------------- */

INLINE char *get_bits(char *out, const char *base, uint64_t word, int size) {
    for (; word; word &= word - 1, out += size)
        memcpy(out, base + __builtin_ctzll(word) * size, (size_t)size);
    return out;
}

INLINE const char *put_bits(char *base, const char *values, uint64_t word, int size) {
    for (; word; word &= word - 1, values += size)
        memcpy(base + __builtin_ctzll(word) * size, values, (size_t)size);
    return values;
}

INLINE void fill_bits(char *base, const char *value, uint64_t word, int size, bool one) {
    for (; word; word &= word - 1) {
        const int at = __builtin_ctzll(word) * size;
        memcpy(base + at, value + (one ? 0 : at), (size_t)size);
    }
}

/* --- 64 at a time --------------------------------------------------------------------------- */

#if defined(__AVX512F__)
/* Compressed into a register and stored under a mask: a compress straight to memory is many
 * times slower on some processors. Likewise values are loaded before they are expanded. */
static inline char *get_64_of_4(char *out, const char *base, uint64_t word) {
    for (; word; word >>= 16, base += 64) {
        const __mmask16 bits = (__mmask16)word;
        const unsigned n = (unsigned)__builtin_popcount(bits);
        const __m512i v = _mm512_maskz_compress_epi32(bits, _mm512_loadu_si512(base));
        _mm512_mask_storeu_epi32(out, (__mmask16)((1u << n) - 1), v);
        out += n * 4;
    }
    return out;
}

static inline char *get_64_of_8(char *out, const char *base, uint64_t word) {
    for (; word; word >>= 8, base += 64) {
        const __mmask8 bits = (__mmask8)word;
        const unsigned n = (unsigned)__builtin_popcount(bits);
        const __m512i v = _mm512_maskz_compress_epi64(bits, _mm512_loadu_si512(base));
        _mm512_mask_storeu_epi64(out, (__mmask8)((1u << n) - 1), v);
        out += n * 8;
    }
    return out;
}

static inline const char *put_64_of_4(char *base, const char *values, uint64_t word) {
    for (; word; word >>= 16, base += 64) {
        const __mmask16 bits = (__mmask16)word;
        const unsigned n = (unsigned)__builtin_popcount(bits);
        const __m512i v = _mm512_maskz_loadu_epi32((__mmask16)((1u << n) - 1), values);
        const __m512i old = _mm512_loadu_si512(base);
        _mm512_storeu_si512(base, _mm512_mask_expand_epi32(old, bits, v));
        values += n * 4;
    }
    return values;
}

static inline const char *put_64_of_8(char *base, const char *values, uint64_t word) {
    for (; word; word >>= 8, base += 64) {
        const __mmask8 bits = (__mmask8)word;
        const unsigned n = (unsigned)__builtin_popcount(bits);
        const __m512i v = _mm512_maskz_loadu_epi64((__mmask8)((1u << n) - 1), values);
        const __m512i old = _mm512_loadu_si512(base);
        _mm512_storeu_si512(base, _mm512_mask_expand_epi64(old, bits, v));
        values += n * 8;
    }
    return values;
}
#endif

INLINE char *get_64(char *out, const char *base, uint64_t word, int size) {
#if defined(__AVX512F__)
    if (size == 4) return get_64_of_4(out, base, word);
    if (size == 8) return get_64_of_8(out, base, word);
#endif
    return get_bits(out, base, word, size);
}

INLINE const char *put_64(char *base, const char *values, uint64_t word, int size) {
#if defined(__AVX512F__)
    if (size == 4) return put_64_of_4(base, values, word);
    if (size == 8) return put_64_of_8(base, values, word);
#endif
    return put_bits(base, values, word, size);
}

/* Elements by their size, aligned as the parts of a complex number are. */
typedef uint8_t element1;
typedef uint16_t element2 __attribute__((may_alias));
typedef uint32_t element4 __attribute__((may_alias));
typedef uint64_t element8 __attribute__((may_alias));
typedef uint64_t element16 __attribute__((vector_size(16), aligned(8), may_alias));

/* Selects that the compiler makes vectors of. */
#define FILL(element)                                                                    \
    do {                                                                                 \
        element *to = (void *)base;                                                      \
        const element *from = (const void *)value, first = *from;                        \
        for (int i = 0; i < 64 && one; i++) to[i] = mask[i] ? first : to[i];             \
        for (int i = 0; i < 64 && !one; i++) to[i] = mask[i] ? from[i] : to[i];          \
    } while (0)

INLINE void fill_64(char *base, const char *value, const uint8_t *mask, int size,
                    bool one) {
    switch (size) {
    case 1: FILL(element1); break;
    case 2: FILL(element2); break;
    case 4: FILL(element4); break;
    case 8: FILL(element8); break;
    default: FILL(element16); break;
    }
}

/* --- all of it ------------------------------------------------------------------------------ */

INLINE int64_t get(char *out, const char *base, const uint8_t *mask, int64_t n,
                   int size) {
    const char *start = out;
    for (; n >= 64; n -= 64, mask += 64, base += 64 * size) {
        const uint64_t word = vp__mask_word(mask);
        if (!word) continue;
        if (word == ~UINT64_C(0)) {
            memcpy(out, base, (size_t)(64 * size));
            out += 64 * size;
        } else if (vp__mask_ones(word) > SPARSE) {
            out = get_64(out, base, word, size);
        } else {
            out = get_bits(out, base, word, size);
        }
    }
    if (n > 0) out = get_bits(out, base, vp__mask_tail(mask, n), size);
    return (out - start) / size;
}

INLINE int64_t put(char *base, const char *values, const uint8_t *mask, int64_t n,
                   int size) {
    const char *start = values;
    for (; n >= 64; n -= 64, mask += 64, base += 64 * size) {
        const uint64_t word = vp__mask_word(mask);
        if (!word) continue;
        if (word == ~UINT64_C(0)) {
            memcpy(base, values, (size_t)(64 * size));
            values += 64 * size;
        } else if (vp__mask_ones(word) > SPARSE) {
            values = put_64(base, values, word, size);
        } else {
            values = put_bits(base, values, word, size);
        }
    }
    if (n > 0) values = put_bits(base, values, vp__mask_tail(mask, n), size);
    return (values - start) / size;
}

INLINE void fill_word(char *base, const char *value, const uint8_t *mask, int size,
                      bool one) {
    const uint64_t word = vp__mask_word(mask);
    if (vp__mask_ones(word) > SPARSE)
        fill_64(base, value, mask, size, one);
    else
        fill_bits(base, value, word, size, one);
}

INLINE void fill(char *base, const char *value, const uint8_t *mask, int64_t n, int size,
                 bool one) {
    if (n < 64) {
        fill_bits(base, value, vp__mask_tail(mask, n), size, one);
        return;
    }
    /* The first and the last ones overlap with others, which makes no difference; those between
     * begin with a line of the cache. */
    fill_word(base, value, mask, size, one);
    const int64_t line = (int64_t)(64 - ((uintptr_t)base & 63)) / size;
    for (int64_t i = line; i < n - 64; i += 64)
        fill_word(base + i * size, value + (one ? 0 : i * size), mask + i, size, one);
    const int64_t last = n - 64;
    fill_word(base + last * size, value + (one ? 0 : last * size), mask + last, size,
              one);
}

/* Calls a function with the size as a constant. */
#define BY_SIZE(call)                                                                    \
    switch (size) {                                                                      \
    case 1: call(1); break;                                                              \
    case 2: call(2); break;                                                              \
    case 4: call(4); break;                                                              \
    case 8: call(8); break;                                                              \
    default: call(16); break;                                                            \
    }
#define GET(size) moved = get(out, base, mask, n, size)
#define PUT(size) moved = put(base, values, mask, n, size)
#define FILL_ONE(size) fill(base, value, mask, n, size, true)
#define FILL_EACH(size) fill(base, value, mask, n, size, false)

int64_t VP__LOOPS(vp__loops_mask_get)(void *out, const void *base, const uint8_t *mask,
                                      int64_t n, int size) {
    int64_t moved;
    BY_SIZE(GET)
    return moved;
}

int64_t VP__LOOPS(vp__loops_mask_put)(void *base, const void *values, const uint8_t *mask,
                                      int64_t n, int size) {
    int64_t moved;
    BY_SIZE(PUT)
    return moved;
}

void VP__LOOPS(vp__loops_mask_fill)(void *base, const void *value, const uint8_t *mask,
                                    int64_t n, int size, bool one) {
    if (one) {
        BY_SIZE(FILL_ONE)
    } else {
        BY_SIZE(FILL_EACH)
    }
}
