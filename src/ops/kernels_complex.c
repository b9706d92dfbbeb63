/* SPDX-License-Identifier: Apache-2.0
 *
 * Element-wise kernels of complex64 and complex128.
 */
#include <complex.h>

#include "ops/complex.h"
#include "ops/kernels_common.h"

#undef I /* a class letter of ops.def, and nobody's imaginary unit here */

#define VP__IS_C
#define VP__ID C64
#include "ops/kernels_rows.inc"
#define VP__ID C128
#include "ops/kernels_rows.inc"

#if defined VP_ACCURATE
void VP__ISA(vp__kernels_fill_complex_accurate)(vp__kernels *k) {
#else
void VP__ISA(vp__kernels_fill_complex)(vp__kernels *k) {
#endif
    fill_C64(k);
    fill_C128(k);
}
