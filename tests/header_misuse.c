/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program with a LINE that must not compile, or with what is right in its place, in C
 * and in C++; tests/run_all.py has both, and what the compiler has to answer.
 */
#include <vproc.h>

enum letter { LETTER_A, LETTER_B };
struct thing {
    unsigned narrow : 3;
    bool flag : 1;
    int64_t wide;
};

void misuse(vp_array a, struct thing thing, double *list, size_t size,
            enum letter letter);

void misuse(vp_array a, struct thing thing, double *list, size_t size,
            enum letter letter) {
    (void)a, (void)thing, (void)list, (void)size, (void)letter;
    LINE;
}
