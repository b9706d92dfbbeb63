/* SPDX-License-Identifier: Apache-2.0
 *
 * The few vector operations that reductions of floats need and that plain C does not give
 * for every instruction set: vectors of the native width, loads of a part of one, and a
 * minimum and maximum that let NaN through. Everything else about them is the compilers'
 * own vector arithmetic (a + b, a * b).
 *
 * VP__VECTOR is the native width in bytes. For T of f32 and f64 there are: the vector
 * type T##v; load, store; loadn and storen, which touch only the first n elements (loadn
 * puts `rest` into the others); nmin(a, x) and nmax(a, x), which give x where x is NaN,
 * else a unless x is strictly beyond it; a set of NaN sightings T##nan with `saw`
 * (adds those of two vectors) and `any`; and numbers T##position as wide as the elements, with
 * note_below and note_above(&a, &p, x, n): where x is strictly beyond a, they become x and
 * n.
 */
#ifndef VP_OPS_REDUCE_SIMD_H
#define VP_OPS_REDUCE_SIMD_H

#include <stdint.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

#if defined __AVX512F__ && defined __AVX512VL__ && defined __AVX512DQ__
#define VP__VECTOR 64
#elif defined __AVX2__
#define VP__VECTOR 32
#else
#define VP__VECTOR 16
#endif

typedef double f64v __attribute__((vector_size(VP__VECTOR)));
typedef float f32v __attribute__((vector_size(VP__VECTOR)));
typedef double f64u __attribute__((vector_size(VP__VECTOR), aligned(8), may_alias));
typedef float f32u __attribute__((vector_size(VP__VECTOR), aligned(4), may_alias));

static inline f64v f64_load(const double *p) { return *(const f64u *)p; }
static inline f32v f32_load(const float *p) { return *(const f32u *)p; }
static inline void f64_store(double *p, f64v v) { *(f64u *)p = v; }
static inline void f32_store(float *p, f32v v) { *(f32u *)p = v; }

typedef int64_t f64position __attribute__((vector_size(VP__VECTOR)));
typedef int32_t f32position __attribute__((vector_size(VP__VECTOR)));

#if VP__VECTOR == 64

typedef __mmask8 f64nan;
typedef __mmask16 f32nan;

static inline f64v f64_all(double x) { return (f64v)_mm512_set1_pd(x); }
static inline f32v f32_all(float x) { return (f32v)_mm512_set1_ps(x); }
static inline f64v f64_loadn(const double *p, int64_t n, double rest) {
    return (f64v)_mm512_mask_loadu_pd(_mm512_set1_pd(rest), (__mmask8)((1u << n) - 1), p);
}
static inline f32v f32_loadn(const float *p, int64_t n, float rest) {
    return (f32v)_mm512_mask_loadu_ps(_mm512_set1_ps(rest), (__mmask16)((1u << n) - 1),
                                      p);
}
static inline void f64_storen(double *p, int64_t n, f64v v) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
}
static inline void f32_storen(float *p, int64_t n, f32v v) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}
static inline f64nan f64_saw(f64nan seen, f64v a, f64v b) {
    return _kor_mask8(seen, _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q));
}
static inline f32nan f32_saw(f32nan seen, f32v a, f32v b) {
    return _kor_mask16(seen, _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q));
}
static inline int f64_any(f64nan seen) { return seen != 0; }
static inline int f32_any(f32nan seen) { return seen != 0; }

/* x86's min and max give the second operand unless the first is strictly beyond it. */
static inline f64v f64_min2(f64v a, f64v x) {
    return (f64v)_mm512_min_pd((__m512d)x, (__m512d)a);
}
static inline f32v f32_min2(f32v a, f32v x) {
    return (f32v)_mm512_min_ps((__m512)x, (__m512)a);
}
static inline f64v f64_max2(f64v a, f64v x) {
    return (f64v)_mm512_max_pd((__m512d)x, (__m512d)a);
}
static inline f32v f32_max2(f32v a, f32v x) {
    return (f32v)_mm512_max_ps((__m512)x, (__m512)a);
}
static inline f64v f64_nan_from(f64v r, f64v x) {
    const __mmask8 nan = _mm512_cmp_pd_mask((__m512d)x, (__m512d)x, _CMP_UNORD_Q);
    return (f64v)_mm512_mask_mov_pd((__m512d)r, nan, (__m512d)x);
}
static inline f32v f32_nan_from(f32v r, f32v x) {
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    return (f32v)_mm512_mask_mov_ps((__m512)r, nan, (__m512)x);
}
static inline void f64_note(f64v *a, f64position *p, f64v x, int64_t n, __mmask8 where) {
    *a = (f64v)_mm512_mask_mov_pd((__m512d)*a, where, (__m512d)x);
    *p = (f64position)_mm512_mask_set1_epi64((__m512i)*p, where, n);
}
static inline void f32_note(f32v *a, f32position *p, f32v x, int64_t n, __mmask16 where) {
    *a = (f32v)_mm512_mask_mov_ps((__m512)*a, where, (__m512)x);
    *p = (f32position)_mm512_mask_set1_epi32((__m512i)*p, where, (int32_t)n);
}
static inline void f64_note_below(f64v *a, f64position *p, f64v x, int64_t n) {
    f64_note(a, p, x, n, _mm512_cmp_pd_mask((__m512d)x, (__m512d)*a, _CMP_LT_OQ));
}
static inline void f32_note_below(f32v *a, f32position *p, f32v x, int64_t n) {
    f32_note(a, p, x, n, _mm512_cmp_ps_mask((__m512)x, (__m512)*a, _CMP_LT_OQ));
}
static inline void f64_note_above(f64v *a, f64position *p, f64v x, int64_t n) {
    f64_note(a, p, x, n, _mm512_cmp_pd_mask((__m512d)x, (__m512d)*a, _CMP_GT_OQ));
}
static inline void f32_note_above(f32v *a, f32position *p, f32v x, int64_t n) {
    f32_note(a, p, x, n, _mm512_cmp_ps_mask((__m512)x, (__m512)*a, _CMP_GT_OQ));
}

#else /* narrower vectors: masks are vectors too */

typedef int64_t f64nan __attribute__((vector_size(VP__VECTOR)));
typedef int32_t f32nan __attribute__((vector_size(VP__VECTOR)));

static inline f64v f64_all(double x) { return x - (f64v){0}; }
static inline f32v f32_all(float x) { return x - (f32v){0}; }
static inline f64v f64_loadn(const double *p, int64_t n, double rest) {
    f64v v = f64_all(rest);
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
static inline f32v f32_loadn(const float *p, int64_t n, float rest) {
    f32v v = f32_all(rest);
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
static inline void f64_storen(double *p, int64_t n, f64v v) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
static inline void f32_storen(float *p, int64_t n, f32v v) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
static inline f64nan f64_saw(f64nan seen, f64v a, f64v b) {
    return seen | (a != a) | (b != b);
}
static inline f32nan f32_saw(f32nan seen, f32v a, f32v b) {
    return seen | (a != a) | (b != b);
}
static inline int f64_any(f64nan seen) {
    int64_t any = 0;
    for (int i = 0; i < VP__VECTOR / 8; i++) any |= seen[i];
    return any != 0;
}
static inline int f32_any(f32nan seen) {
    int32_t any = 0;
    for (int i = 0; i < VP__VECTOR / 4; i++) any |= seen[i];
    return any != 0;
}
static inline f64v f64_pick(f64nan which, f64v yes, f64v no) {
    return (f64v)(((f64nan)yes & which) | ((f64nan)no & ~which));
}
static inline f32v f32_pick(f32nan which, f32v yes, f32v no) {
    return (f32v)(((f32nan)yes & which) | ((f32nan)no & ~which));
}
static inline void f64_note(f64v *a, f64position *p, f64v x, int64_t n, f64nan where) {
    *a = f64_pick(where, x, *a);
    *p = (*p & ~where) | (n & where);
}
static inline void f32_note(f32v *a, f32position *p, f32v x, int64_t n, f32nan where) {
    *a = f32_pick(where, x, *a);
    *p = (*p & ~where) | ((int32_t)n & where);
}
static inline void f64_note_below(f64v *a, f64position *p, f64v x, int64_t n) {
    f64_note(a, p, x, n, x < *a);
}
static inline void f32_note_below(f32v *a, f32position *p, f32v x, int64_t n) {
    f32_note(a, p, x, n, x < *a);
}
static inline void f64_note_above(f64v *a, f64position *p, f64v x, int64_t n) {
    f64_note(a, p, x, n, x > *a);
}
static inline void f32_note_above(f32v *a, f32position *p, f32v x, int64_t n) {
    f32_note(a, p, x, n, x > *a);
}
static inline f64v f64_nan_from(f64v r, f64v x) { return f64_pick(x != x, x, r); }
static inline f32v f32_nan_from(f32v r, f32v x) { return f32_pick(x != x, x, r); }

#if defined __x86_64__ && VP__VECTOR == 32
static inline f64v f64_min2(f64v a, f64v x) { return (f64v)_mm256_min_pd(x, a); }
static inline f32v f32_min2(f32v a, f32v x) { return (f32v)_mm256_min_ps(x, a); }
static inline f64v f64_max2(f64v a, f64v x) { return (f64v)_mm256_max_pd(x, a); }
static inline f32v f32_max2(f32v a, f32v x) { return (f32v)_mm256_max_ps(x, a); }
#elif defined __x86_64__
static inline f64v f64_min2(f64v a, f64v x) { return (f64v)_mm_min_pd(x, a); }
static inline f32v f32_min2(f32v a, f32v x) { return (f32v)_mm_min_ps(x, a); }
static inline f64v f64_max2(f64v a, f64v x) { return (f64v)_mm_max_pd(x, a); }
static inline f32v f32_max2(f32v a, f32v x) { return (f32v)_mm_max_ps(x, a); }
#else
static inline f64v f64_min2(f64v a, f64v x) { return f64_pick(x < a, x, a); }
static inline f32v f32_min2(f32v a, f32v x) { return f32_pick(x < a, x, a); }
static inline f64v f64_max2(f64v a, f64v x) { return f64_pick(x > a, x, a); }
static inline f32v f32_max2(f32v a, f32v x) { return f32_pick(x > a, x, a); }
#endif
#endif

#endif
