/* SPDX-License-Identifier: Apache-2.0
 *
 * Element-wise kernels of bool and of 8- and 16-bit integers.
 */
#include "ops/kernels_common.h"

#define VP__IS_B
#define VP__ID BOOL
#include "ops/kernels_rows.inc"
#undef VP__IS_B

#define VP__IS_S
#define VP__ID I8
#include "ops/kernels_rows.inc"
#define VP__ID I16
#include "ops/kernels_rows.inc"
#undef VP__IS_S

#define VP__IS_U
#define VP__ID U8
#include "ops/kernels_rows.inc"
#define VP__ID U16
#include "ops/kernels_rows.inc"

void VP__ISA(vp__kernels_fill_narrow)(vp__kernels *k) {
    fill_BOOL(k);
    fill_I8(k);
    fill_I16(k);
    fill_U8(k);
    fill_U16(k);
}
