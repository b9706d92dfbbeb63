/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types: their size, class and the rules that combine them. Everything is
 * expanded from dtype.def, so a type is named once.
 */
#ifndef VP_ARRAY_DTYPE_H
#define VP_ARRAY_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "vproc.h"

typedef struct {
    float re, im;
} vp__c64;
typedef struct {
    double re, im;
} vp__c128;

enum { VP__NDTYPES = 13 };

/* One letter per class, as dtype.def and ops.def write it. */
typedef enum {
    VP__CLASS_B,
    VP__CLASS_S,
    VP__CLASS_U,
    VP__CLASS_F,
    VP__CLASS_C
} vp__class;

typedef struct {
    const char *name; /* as NumPy writes it */
    uint8_t size;     /* bytes of one element */
    uint8_t cls;      /* vp__class */
    uint8_t real;     /* vp_dtype of one component */
} vp__dtype_info;

extern const vp__dtype_info vp__dtype[VP__NDTYPES];

static inline bool vp__dtype_is_valid(vp_dtype t) { return (unsigned)t < VP__NDTYPES; }

/* Holds any integer of any type, and what is between two of them. */
__extension__ typedef __int128 vp__wide;

/* Whether type t, one of integers, has this number. */
bool vp__dtype_has_integer(vp_dtype t, vp__wide x);
/* A number without its fraction; one that is beyond all types of integers stays beyond. NaN is
 * one. */
vp__wide vp__wide_of(double x);

/* The type NumPy gives a result of these two operand types (NEP 50, both strong). */
vp_dtype vp__dtype_promote(vp_dtype a, vp_dtype b);

/* Kinds of a C scalar, which is weak: it takes the other operand's type unless its kind
 * is higher (NEP 50). */
typedef enum { VP__WEAK_BOOL, VP__WEAK_INT, VP__WEAK_FLOAT, VP__WEAK_COMPLEX } vp__weak;

/* The type an array of type t has after meeting a weak scalar of kind w. */
vp_dtype vp__dtype_promote_weak(vp_dtype t, vp__weak w);

/* The type a weak scalar has alone: bool, int64, float64, complex128. */
vp_dtype vp__dtype_of_weak(vp__weak w);

#endif
