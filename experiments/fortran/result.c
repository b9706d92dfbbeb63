/* SPDX-License-Identifier: Apache-2.0
 *
 * result() of program.h for programs in Fortran, which cannot hand out a pointer to a pointer
 * in a way that reads well.
 */
#include "../program.h"

const double *fortran_result(void);
int64_t fortran_result_count(void);
/* Where `numbers` is not what the program computes in. */
__attribute__((weak)) void fortran_show(void);

int64_t result(const double **numbers) {
    if (fortran_show) fortran_show();
    *numbers = fortran_result();
    return fortran_result_count();
}
