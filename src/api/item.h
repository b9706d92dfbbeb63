/* SPDX-License-Identifier: Apache-2.0
 *
 * Which numbers vp_item gives to a variable of another type. What the type has is given, and what
 * lies between two of its numbers is rounded if it is a type of fractions; all else would be
 * another number than the program computed, and is refused.
 */
#ifndef VP_API_ITEM_H
#define VP_API_ITEM_H

#include "array/dtype.h"
#include "base/error.h"

/* Why an element of one type is no number of the other, with what would work; NULL if it is. */
vp__error *vp__item_check(const void *element, vp_dtype from, vp_dtype to,
                          const char *where);

#endif
