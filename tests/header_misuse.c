/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program with a LINE that must not compile, in C and in C++; tests/run_all.py says
 * which, and what the compiler has to answer.
 */
#include <vproc.h>

void misuse(vp_array a);

void misuse(vp_array a) { LINE; }
