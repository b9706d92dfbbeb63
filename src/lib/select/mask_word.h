/* SPDX-License-Identifier: Apache-2.0
 *
 * 64 elements of a mask as one word of bits, for loops that are compiled once per instruction
 * set.
 */
#ifndef VP_LIB_SELECT_MASK_WORD_H
#define VP_LIB_SELECT_MASK_WORD_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Bit i is set where p[i] is not zero, for 64 bytes. */
static inline uint64_t vp__mask_word(const uint8_t *p) {
#if defined(__AVX512BW__)
    __m512i v = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(v, v);
#elif defined(__AVX2__)
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), zero);
    __m256i b = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), zero);
    uint64_t low = (uint32_t)_mm256_movemask_epi8(a);
    uint64_t high = (uint32_t)_mm256_movemask_epi8(b);
    return ~(low | high << 32);
#elif defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    uint64_t word = 0;
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(p + 16 * i));
        word |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero)) << 16 * i;
    }
    return ~word;
#else
    uint64_t word = 0;
    for (int i = 0; i < 64; i++) word |= (uint64_t)(p[i] != 0) << i;
    return word;
#endif
}

/* The same for the last n < 64 bytes; nothing beyond them is read. */
static inline uint64_t vp__mask_tail(const uint8_t *p, int64_t n) {
    uint8_t padded[64] = {0};
    memcpy(padded, p, (size_t)n);
    return vp__mask_word(padded);
}

static inline int64_t vp__mask_ones(uint64_t word) { return __builtin_popcountll(word); }

#endif
