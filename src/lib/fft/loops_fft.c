/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in Fourier transform, compiled once per instruction set; fft.h says how it
 * goes about it. Bits do not depend on the instruction set: products are rounded before
 * they are added, and vectors do what single numbers would.
 */
#include <math.h>
#include <string.h>

#include "lib/fft/fft.h"
#include "lib/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Vectors are passed to inlined functions alone, so nobody's calling convention matters. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))
#define VECTORS _Pragma("omp simd")

/* Stores whole lines past the cache: what is written to an array that does not fit would
 * first be read and would drive out what is still needed. `at` is as aligned as the size. */
INLINE void stream(char *at, const void *from, size_t size) {
#if defined(__AVX512F__)
    if (size == 64) {
        _mm512_stream_si512((void *)at, _mm512_loadu_si512(from));
        return;
    }
#endif
#if defined(__AVX2__)
    for (size_t i = 0; i < size; i += 32)
        _mm256_stream_si256((void *)(at + i),
                            _mm256_loadu_si256((const void *)((const char *)from + i)));
#elif defined(__x86_64__)
    for (size_t i = 0; i < size; i += 16)
        _mm_stream_si128((void *)(at + i),
                         _mm_loadu_si128((const void *)((const char *)from + i)));
#else
    memcpy(at, from, size);
#endif
}

/* Such stores are not ordered by what publishes results to other threads. */
INLINE void stream_end(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* Components of a vector: what a register has, but no more than a row. */
#if defined(__AVX512F__)
#define DOUBLES 8
#define FLOATS 8
#elif defined(__AVX2__)
#define DOUBLES 4
#define FLOATS 8
#else
#define DOUBLES 2
#define FLOATS 4
#endif

#define REAL double
#define WIDTH DOUBLES
#define NAME(x) x##_f64
#include "lib/fft/fft_vectors.inc"

#include "lib/fft/fft_rows.inc"

#include "lib/fft/fft_lane.inc"
#undef REAL
#undef WIDTH
#undef NAME

#define REAL float
#define WIDTH FLOATS
#define NAME(x) x##_f32
#include "lib/fft/fft_vectors.inc"

#include "lib/fft/fft_rows.inc"

#include "lib/fft/fft_lane.inc"
#undef REAL
#undef WIDTH
#undef NAME

void VP__LOOPS(vp__loops_fft)(const struct vp__fft_plan *p,
                              const struct vp__fft_fibres *l) {
    if (p->single)
        run_f32(p, l);
    else
        run_f64(p, l);
}

void VP__LOOPS(vp__loops_fft_mirror)(const struct vp__fft_mirror *m) {
    if (m->single)
        mirror_f32(m);
    else
        mirror_f64(m);
}
