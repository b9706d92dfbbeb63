/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known about the runs of a kernel beyond its form: the values of its constants, how
 * far its loops go, and how its operands lie in memory. Code that was made for some facts is
 * right for runs with exactly those.
 */
#ifndef VP_JIT_FACTS_H
#define VP_JIT_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "jit/kernel.h"

/* In place of a number that changes from call to call. */
#define VP__UNKNOWN INT64_MIN

/* Words: how far x, y and z go; then two for each leaf and two for the output: the bytes from
 * one row, and from one plane, to the next, or a constant's value. */
enum { VP__FACTS_EXTENTS = 3 };
typedef struct {
    uint32_t constants; /* bit i: leaf i is one */
    int32_t words;      /* of the kernel's leaves and output */
    int64_t word[VP__FACTS_EXTENTS + 2 * (VP__KERNEL_LEAVES + 1)];
} vp__facts;

_Static_assert(VP__KERNEL_LEAVES <= 32, "a bit for each leaf");

/* The two words of a leaf, or of the output, whose number is the number of leaves. */
static inline int64_t *vp__facts_of(vp__facts *f, int operand) {
    return f->word + VP__FACTS_EXTENTS + (ptrdiff_t)2 * operand;
}

static inline bool vp__facts_is_constant(const vp__facts *f, int leaf) {
    return f->constants >> leaf & 1;
}

/* The constants' values; everything else is unknown. */
void vp__facts_init(vp__facts *f, const vp__kernel *kernel);

/* Whether the facts, of one kernel and its loops, are the same. */
bool vp__facts_equal(const vp__facts *a, const vp__facts *b);

/* As text, a line for the loops and one per operand. */
void vp__facts_print(const vp__facts *f, FILE *file);

#endif
