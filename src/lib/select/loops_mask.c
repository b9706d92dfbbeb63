/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops over masks and index lists, compiled once per instruction set. Masks are read 64
 * elements at a time into one word of bits; what follows works on words, so that sparse
 * masks cost almost nothing beyond reading them.
 */
#include "lib/loops.h"

#include "lib/select/mask_word.h"

int64_t VP__LOOPS(vp__loops_count_true)(const uint8_t *mask, int64_t n) {
    int64_t count = 0, i = 0;
#if defined(__SSE2__) && !defined(__AVX2__)
    /* Without popcnt, sums of bytes are quicker: up to 255 times one, then across. */
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1);
    while (n - i >= 16) {
        int64_t end = n - i >= 255 * 16 ? i + 255 * 16 : i + (n - i) / 16 * 16;
        __m128i sum = zero;
        for (; i < end; i += 16)
            sum = _mm_add_epi8(
                sum, _mm_min_epu8(_mm_loadu_si128((const __m128i *)(mask + i)), one));
        sum = _mm_sad_epu8(sum, zero);
        count += _mm_cvtsi128_si64(sum) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
    }
#else
    for (; i + 256 <= n; i += 256)
        count += vp__mask_ones(vp__mask_word(mask + i)) +
                 vp__mask_ones(vp__mask_word(mask + i + 64)) +
                 vp__mask_ones(vp__mask_word(mask + i + 128)) +
                 vp__mask_ones(vp__mask_word(mask + i + 192));
    for (; i + 64 <= n; i += 64) count += vp__mask_ones(vp__mask_word(mask + i));
#endif
    if (i < n) count += vp__mask_ones(vp__mask_tail(mask + i, n - i));
    return count;
}

/* Writes base + the position of every set bit. */
static inline int64_t *list_word(int64_t *out, uint64_t word, int64_t base) {
#if defined(__AVX512F__)
    if (vp__mask_ones(word) > 6) {
        /* Compressed into a register and stored whole or under a mask: a compress
         * straight to memory is many times slower on some processors. */
        __m512i at = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                      _mm512_set1_epi64(base));
        const __m512i eight = _mm512_set1_epi64(8);
        for (; word; word >>= 8) {
            __mmask8 bits = (__mmask8)word;
            unsigned n = (unsigned)__builtin_popcount(bits);
            _mm512_mask_storeu_epi64(out, (__mmask8)((1u << n) - 1),
                                     _mm512_maskz_compress_epi64(bits, at));
            out += n;
            at = _mm512_add_epi64(at, eight);
        }
        return out;
    }
#endif
    if (word == ~UINT64_C(0)) {
        for (int i = 0; i < 64; i++) out[i] = base + i;
        return out + 64;
    }
    for (; word; word &= word - 1) *out++ = base + __builtin_ctzll(word);
    return out;
}

int64_t VP__LOOPS(vp__loops_list_true)(int64_t *out, const uint8_t *mask, int64_t n,
                                       int64_t base) {
    int64_t *start = out, i = 0;
    for (; i + 64 <= n; i += 64) {
        uint64_t word = vp__mask_word(mask + i);
        if (word) out = list_word(out, word, base + i);
    }
    if (i < n) out = list_word(out, vp__mask_tail(mask + i, n - i), base + i);
    return out - start;
}

bool VP__LOOPS(vp__loops_index_is_valid)(const int64_t *index, int64_t n, int64_t dim) {
    int64_t i = 0;
#if defined(__AVX512F__)
    /* Counted from -dim on, valid indices are the unsigned numbers below 2 dim. Four
     * maxima side by side, because one takes some cycles. */
    const __m512i from = _mm512_set1_epi64(dim);
    __m512i most[4] = {from, from, from, from};
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 4; j++) {
            const __m512i at = _mm512_loadu_si512(index + i + 8 * j);
            most[j] = _mm512_max_epu64(most[j], _mm512_add_epi64(at, from));
        }
    most[0] = _mm512_max_epu64(_mm512_max_epu64(most[0], most[1]),
                               _mm512_max_epu64(most[2], most[3]));
    if (i > 0 && _mm512_reduce_max_epu64(most[0]) >= 2 * (uint64_t)dim) return false;
#endif
    /* ~x is the distance from the end less one, so both signs compare with dim alike; the
     * difference is negative where the index is out of range. */
    int64_t worst = 0;
    for (; i < n; i++) worst |= dim - 1 - (index[i] ^ (index[i] >> 63));
    return worst >= 0;
}

void VP__LOOPS(vp__loops_index_add)(int64_t *offset, const int64_t *index, int64_t n,
                                    int64_t dim, int64_t stride) {
    for (int64_t i = 0; i < n; i++)
        offset[i] += (index[i] + (index[i] >> 63 & dim)) * stride;
}

typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));
typedef uint32_t four32 __attribute__((vector_size(16), aligned(4), may_alias));

/* One by one, where some index is negative or there are few. */
static bool take_some(char *out, const char *base, const int64_t *index, int64_t n,
                      int64_t dim, int size) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = index[i] + (index[i] >> 63 & dim);
        if ((uint64_t)at >= (uint64_t)dim) return false;
        memcpy(out + i * size, base + at * size, (size_t)size);
    }
    return true;
}

/* Whether a run of indices are places as they stand: nearly all are. */
enum { TAKE_RUN = 64 };
static inline bool are_positions(const int64_t *index, int64_t dim) {
    uint64_t beyond = 0;
    for (int j = 0; j < TAKE_RUN; j++) beyond |= (uint64_t)index[j] >= (uint64_t)dim;
    return !beyond;
}

/* Few stores, of whole vectors: where memory is far, each takes up a place that a load
 * could have. */
static inline void take_run32(word32 *out, const word32 *base, const int64_t *index) {
    for (int i = 0; i < TAKE_RUN; i += 4)
        *(four32 *)(out + i) = (four32){base[index[i]], base[index[i + 1]],
                                        base[index[i + 2]], base[index[i + 3]]};
}

static inline void take_run64(word64 *out, const word64 *base, const int64_t *index) {
/* Four at a time with AVX-512 as well: eight are slower in the caches. */
#if defined(__AVX2__)
    for (int i = 0; i < TAKE_RUN; i += 4) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(index + i));
        _mm256_storeu_si256((__m256i *)(void *)(out + i),
                            _mm256_i64gather_epi64((const void *)base, at, 8));
    }
#else
    for (int i = 0; i < TAKE_RUN; i++) out[i] = base[index[i]];
#endif
}

bool VP__LOOPS(vp__loops_take)(void *out, const void *base, const int64_t *index,
                               int64_t n, int64_t dim, int size) {
    char *to = out;
    for (; n >= TAKE_RUN; n -= TAKE_RUN, index += TAKE_RUN, to += TAKE_RUN * size) {
        if (!are_positions(index, dim)) {
            if (!take_some(to, base, index, TAKE_RUN, dim, size)) return false;
        } else if (size == 4) {
            take_run32((word32 *)(void *)to, base, index);
        } else {
            take_run64((word64 *)(void *)to, base, index);
        }
    }
    return take_some(to, base, index, n, dim, size);
}
