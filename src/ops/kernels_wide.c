/* SPDX-License-Identifier: Apache-2.0
 *
 * Element-wise kernels of 32- and 64-bit integers.
 */
#include "ops/kernels_common.h"

#define VP__IS_S
#define VP__ID I32
#include "ops/kernels_rows.inc"
#define VP__ID I64
#include "ops/kernels_rows.inc"
#undef VP__IS_S

#define VP__IS_U
#define VP__ID U32
#include "ops/kernels_rows.inc"
#define VP__ID U64
#include "ops/kernels_rows.inc"

void VP__ISA(vp__kernels_fill_wide)(vp__kernels *k) {
    fill_I32(k);
    fill_I64(k);
    fill_U32(k);
    fill_U64(k);
}
