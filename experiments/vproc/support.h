/* SPDX-License-Identifier: Apache-2.0
 *
 * What the experiments on vproc have in common: waiting, looking at a result, counting.
 */
#ifndef EXPERIMENTS_VPROC_SUPPORT_H
#define EXPERIMENTS_VPROC_SUPPORT_H

#include "experiments/program.h"
#include "vproc.h"

/* A vector or matrix as numbers in column order, kept until the next call; ends the process
 * with vproc's message when something went wrong. */
int64_t numbers_of(vp_array result, const double **numbers);

#endif
