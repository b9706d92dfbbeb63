/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/addresses.h"

void vp__addresses_find(intptr_t *addresses, char *const *base, const int64_t *stride,
                        int64_t operands, int64_t first, int64_t n) {
    int64_t at[VP__ADDRESSES];
    for (int k = 0; k < VP__ADDRESSES; k++) at[k] = first + k < n ? first + k : n - 1;
    for (int64_t i = 0; i < operands; i++) {
        const intptr_t from = base ? (intptr_t)base[i] : 0;
        for (int k = 0; k < VP__ADDRESSES; k++)
            addresses[k * operands + i] = from + (intptr_t)(at[k] * stride[i]);
    }
}
