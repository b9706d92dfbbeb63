/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector code of the functions that math.h lists, for the instruction set at hand.
 * VP__VECTOR_F64 and VP__VECTOR_F32 name it.
 */
#ifndef VP_OPS_MATH_CODE_H
#define VP_OPS_MATH_CODE_H

#include <math.h>

#include "ops/math.h"

#if !defined VP__LIBMVEC

typedef double vp__vec_F64;
typedef float vp__vec_F32;
#define VP__MVEC_F64(args, fn) (__builtin_##fn)
#define VP__MVEC_F32(args, fn) (__builtin_##fn##f)

#else

#include "ops/math_lanes.h"

#if defined __AVX512F__
#define VP__MVEC_F64(args, fn) _ZGVeN8##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVeN16##args##_##fn##f
#elif defined __AVX2__
#define VP__MVEC_F64(args, fn) _ZGVdN4##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVdN8##args##_##fn##f
#else
#define VP__MVEC_F64(args, fn) _ZGVbN2##args##_##fn
#define VP__MVEC_F32(args, fn) _ZGVbN4##args##_##fn##f
#endif

#define VP__DECLARE(fn, from64, from32, ...)                                             \
    vp__vec_F64 VP__MVEC_F64(v, fn)(vp__vec_F64);                                        \
    vp__vec_F32 VP__MVEC_F32(v, fn)(vp__vec_F32);
VP__MATH_UNARY(VP__DECLARE)
#undef VP__DECLARE
#define VP__DECLARE(fn, from64, from32, ...)                                             \
    vp__vec_F64 VP__MVEC_F64(vv, fn)(vp__vec_F64, vp__vec_F64);                          \
    vp__vec_F32 VP__MVEC_F32(vv, fn)(vp__vec_F32, vp__vec_F32);
VP__MATH_BINARY(VP__DECLARE)
#undef VP__DECLARE

#endif

#if !defined VP_ACCURATE

#if defined VP__LIBMVEC && defined __AVX512F__ && defined __AVX512DQ__
#include "ops/math_f32_avx512.h"
#include "ops/math_pow_avx512.h"
#define VP__OWN_F64(args, fn) vp__own_##fn
#define VP__OWN_F32(args, fn) vp__own_##fn##f
#else
#define VP__OWN_F64(args, fn) VP__MVEC_F64(args, fn)
#define VP__OWN_F32(args, fn) VP__MVEC_F32(args, fn)
#endif

#if defined VP__LIBMVEC && defined __FMA__
#include "ops/math_arc.h"
#include "ops/math_root.h"
#include "ops/math_trig.h"
#define VP__FUSED_F64(args, fn) vp__own_##fn
#define VP__FUSED_F32(args, fn) vp__own_##fn##f
#else
#define VP__FUSED_F64(args, fn) VP__MVEC_F64(args, fn)
#define VP__FUSED_F32(args, fn) VP__MVEC_F32(args, fn)
#endif

/* The function's vector code for one type. */
#define VP__VECTOR_F64(from64, from32, args, fn) VP__##from64##_F64(args, fn)
#define VP__VECTOR_F32(from64, from32, args, fn) VP__##from32##_F32(args, fn)

#else

/* Lane by lane, through a function that is more precise than the result, or exact to
 * about half a unit in the last place. */
#define VP__VECTOR_F64(from64, from32, args, fn) vp__exact_##fn
#define VP__VECTOR_F32(from64, from32, args, fn) vp__exact_##fn##f
#define VP__LIBM(fn) (__builtin_##fn)
#define VP__LONG(fn) (double)(__builtin_##fn##l)

/* One element at a time, whatever a vector is. */
#define VP__EXACT(T, V, name, call)                                                      \
    static V name(V x) {                                                                 \
        T lane[sizeof(V) / sizeof(T)];                                                   \
        memcpy(lane, &x, sizeof x);                                                      \
        for (size_t i = 0; i < sizeof(V) / sizeof(T); i++) lane[i] = (T)call(lane[i]);   \
        memcpy(&x, lane, sizeof x);                                                      \
        return x;                                                                        \
    }
#define VP__EXACT_UNARY(fn, from64, from32, accurate, ...)                               \
    VP__EXACT(double, vp__vec_F64, vp__exact_##fn, VP__##accurate(fn))                   \
    VP__EXACT(float, vp__vec_F32, vp__exact_##fn##f, VP__LIBM(fn))
VP__MATH_UNARY(VP__EXACT_UNARY)
#undef VP__EXACT_UNARY
#undef VP__EXACT

#define VP__EXACT(T, V, name, call)                                                      \
    static V name(V x, V y) {                                                            \
        T lane[sizeof(V) / sizeof(T)], other[sizeof(V) / sizeof(T)];                     \
        memcpy(lane, &x, sizeof x);                                                      \
        memcpy(other, &y, sizeof y);                                                     \
        for (size_t i = 0; i < sizeof(V) / sizeof(T); i++)                               \
            lane[i] = (T)call(lane[i], other[i]);                                        \
        memcpy(&x, lane, sizeof x);                                                      \
        return x;                                                                        \
    }
#define VP__EXACT_BINARY(fn, from64, from32, accurate, ...)                              \
    VP__EXACT(double, vp__vec_F64, vp__exact_##fn, VP__##accurate(fn))                   \
    VP__EXACT(float, vp__vec_F32, vp__exact_##fn##f, VP__LIBM(fn))
VP__MATH_BINARY(VP__EXACT_BINARY)
#undef VP__EXACT_BINARY
#undef VP__EXACT

#endif

#endif
