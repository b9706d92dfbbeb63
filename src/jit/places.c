/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/places.h"

void vp__places_find(intptr_t *places, char *const *base, const int64_t *stride,
                     int64_t operands, int64_t first, int64_t n) {
    int64_t at[VP__PLACES];
    for (int k = 0; k < VP__PLACES; k++) at[k] = first + k < n ? first + k : n - 1;
    for (int64_t i = 0; i < operands; i++) {
        const intptr_t from = base ? (intptr_t)base[i] : 0;
        for (int k = 0; k < VP__PLACES; k++)
            places[k * operands + i] = from + (intptr_t)(at[k] * stride[i]);
    }
}
