/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program saw: every status, message, type, shape and element its observers
 * returned, in order. As a hash, which is fast, or as text, which can be compared line by
 * line; both hold the same facts, elements bit for bit.
 */
#ifndef FUZZ_LOG_H
#define FUZZ_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "vproc.h"

typedef struct {
    uint64_t hash;
    char *text; /* NULL: the hash alone */
    size_t size, capacity;
} fuzz_log;

void fuzz_log_init(fuzz_log *log, char *text, size_t capacity);

/* An instruction's number and name, and a number it gave. */
void fuzz_log_number(fuzz_log *log, int instruction, const char *what, int64_t value);
/* A failure; the message too. */
void fuzz_log_failure(fuzz_log *log, int instruction, const char *what, vp_status status,
                      const char *message);
/* Elements, compact in row-major order. */
void fuzz_log_array(fuzz_log *log, int instruction, const char *what, vp_dtype dtype,
                    int ndim, const int64_t *dims, const void *elements);

#endif
