/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/facts.h"

#include <inttypes.h>
#include <string.h>

void vp__facts_init(vp__facts *f, const vp__kernel *k) {
    f->constants = 0;
    f->words = VP__FACTS_EXTENTS + 2 * (k->nleaves + 1);
    for (int i = 0; i < f->words; i++) f->word[i] = VP__UNKNOWN;
    for (int i = 0; i < k->nleaves; i++) {
        const vp__leaf *leaf = &k->leaf[i];
        if (!leaf->constant) continue;
        f->constants |= 1u << i;
        /* Bytes beyond the value are whatever they are. */
        int64_t *word = vp__facts_of(f, i);
        word[0] = word[1] = 0;
        memcpy(word, &leaf->value, vp__dtype[leaf->dtype].size);
    }
}

bool vp__facts_equal(const vp__facts *a, const vp__facts *b) {
    return memcmp(a->word, b->word, (size_t)a->words * sizeof a->word[0]) == 0;
}

static void print_number(int64_t n, FILE *file) {
    if (n == VP__UNKNOWN)
        fputs(" ?", file);
    else
        fprintf(file, " %" PRId64, n);
}

void vp__facts_print(const vp__facts *f, FILE *file) {
    fputs("loops", file);
    for (int i = 0; i < VP__FACTS_EXTENTS; i++) print_number(f->word[i], file);
    const int leaves = (f->words - VP__FACTS_EXTENTS) / 2 - 1;
    for (int i = 0; i <= leaves; i++) {
        const int64_t *word = f->word + VP__FACTS_EXTENTS + (ptrdiff_t)2 * i;
        if (i < leaves && vp__facts_is_constant(f, i)) {
            fprintf(file, "\nvalue %d 0x%" PRIx64, i, (uint64_t)word[0]);
            if (word[1]) fprintf(file, " 0x%" PRIx64, (uint64_t)word[1]);
            continue;
        }
        fprintf(file, i < leaves ? "\nstrides %d" : "\nstrides out", i);
        print_number(word[0], file);
        print_number(word[1], file);
    }
    fputc('\n', file);
}
