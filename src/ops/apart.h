/* SPDX-License-Identifier: Apache-2.0
 *
 * VP__APART(x) is x, rounded before it goes into a sum.
 *
 * GCC joins the multiplications and the alternating subtraction and addition of a complex
 * product into one vfmaddsub when it vectorises, even where -ffp-contract=off forbids it,
 * and then an instruction set that has it gives other bits than one that has not. It does
 * not join across a barrier to reassociation, which costs nothing otherwise. Products that
 * a subtraction and an addition take side by side need it; tools/check_fma.py finds those
 * that were forgotten.
 */
#ifndef VP_OPS_APART_H
#define VP_OPS_APART_H

#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#define VP__APART(x) __builtin_assoc_barrier(x)
#else
#define VP__APART(x) (x)
#endif

#endif
