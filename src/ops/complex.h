/* SPDX-License-Identifier: Apache-2.0
 *
 * The complex functions that are not libm's as they stand, for both modes of math and
 * every instruction set. prims_complex.inc says where they are used.
 */
#ifndef VP_OPS_COMPLEX_H
#define VP_OPS_COMPLEX_H

#include "array/dtype.h"

/* Functions that libm has in every precision. */
/* clang-format off */
#define VP__COMPLEX_LIBM(F)                                                              \
    F(csqrt) F(cexp) F(clog) F(csin) F(ccos) F(ctan) F(casin) F(cacos) F(catan)          \
    F(csinh) F(ccosh) F(ctanh) F(casinh) F(cacosh) F(catanh)
/* clang-format on */

/* Functions that are ours. */
#define VP__COMPLEX_OURS(F) F(cexp2) F(cexpm1) F(clog1p) F(clog2) F(clog10) F(csign)

#define VP__DECLARE(fn)                                                                  \
    vp__c64 vp__wide_##fn##_C64(vp__c64 x);                                              \
    vp__c128 vp__wide_##fn##_C128(vp__c128 x);
VP__COMPLEX_LIBM(VP__DECLARE)
VP__COMPLEX_OURS(VP__DECLARE)
#undef VP__DECLARE

vp__c64 vp__wide_cpow_C64(vp__c64 x, vp__c64 y);
vp__c128 vp__wide_cpow_C128(vp__c128 x, vp__c128 y);

/* For the default mode: functions of double that get arguments of more precision. The
 * complex64 ones are quick enough as they are. */
vp__c128 vp__quick_ctan_C128(vp__c128 x);
vp__c128 vp__quick_ctanh_C128(vp__c128 x);
vp__c128 vp__quick_catan_C128(vp__c128 x);
vp__c128 vp__quick_catanh_C128(vp__c128 x);
vp__c128 vp__quick_cexp2_C128(vp__c128 x);
vp__c128 vp__quick_clog1p_C128(vp__c128 x);
#define vp__quick_ctan_C64 vp__wide_ctan_C64
#define vp__quick_ctanh_C64 vp__wide_ctanh_C64
#define vp__quick_catan_C64 vp__wide_catan_C64
#define vp__quick_catanh_C64 vp__wide_catanh_C64
#define vp__quick_cexp2_C64 vp__wide_cexp2_C64
#define vp__quick_clog1p_C64 vp__wide_clog1p_C64

#endif
