/* SPDX-License-Identifier: Apache-2.0
 *
 * Element-wise kernels of float32 and float64.
 */
#include "ops/kernels_common.h"
#include "ops/math_code.h"

#define VP__IS_F
#define VP__ID F32
#include "ops/kernels_rows.inc"
#define VP__ID F64
#include "ops/kernels_rows.inc"

#if defined VP_ACCURATE
void VP__ISA(vp__kernels_fill_float_accurate)(vp__kernels *k) {
#else
void VP__ISA(vp__kernels_fill_float)(vp__kernels *k) {
#endif
    fill_F32(k);
    fill_F64(k);
}
