/* SPDX-License-Identifier: Apache-2.0
 *
 * What the logs hold, as a file that trace viewers read.
 */
#ifndef VP_TRACE_EXPORT_H
#define VP_TRACE_EXPORT_H

#include <stdio.h>

#include "trace/record.h"

/* How many complete records a log has. */
int64_t vp__trace_log_length(const vp__trace_log *log);

/* Writes the logs as a Chrome trace. Other threads may be appending to them. */
void vp__trace_export(FILE *file, const vp__trace_log *logs);

#endif
