/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "array/dtype.h"

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9fb21c651e98df25u;
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t n) {
    const char *p = bytes;
    h = mix(h, n);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        h = mix(h, x);
    }
    uint64_t rest = 0;
    if (n) memcpy(&rest, p, n);
    return mix(h, rest);
}

__attribute__((format(printf, 2, 3))) static void say(fuzz_log *log, const char *format,
                                                      ...) {
    if (log->size + 1 >= log->capacity) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(log->text + log->size, log->capacity - log->size, format, args);
    va_end(args);
    log->size += (size_t)n;
    if (log->size >= log->capacity) log->size = log->capacity - 1;
}

void fuzz_log_init(fuzz_log *log, char *text, size_t capacity) {
    *log = (fuzz_log){.hash = 1, .text = text, .capacity = text ? capacity : 0};
    if (text) text[0] = 0;
}

void fuzz_log_number(fuzz_log *log, int i, const char *what, int64_t value) {
    log->hash = mix(mix(log->hash, (uint64_t)i), (uint64_t)value);
    if (log->text) say(log, "i%d %s: %" PRId64 "\n", i, what, value);
}

void fuzz_log_failure(fuzz_log *log, int i, const char *what, vp_status status,
                      const char *message) {
    /* That it failed must agree. Which of several mistakes is told of may not: one machine
     * finds an early one before a late one has happened. */
    log->hash = mix(mix(log->hash, (uint64_t)i), 1000);
    if (log->text) say(log, "i%d %s: status %d, %s\n", i, what, (int)status, message);
}

static void say_real(fuzz_log *log, vp_dtype t, const char *p) {
    if (t == VP_F32) {
        float f;
        memcpy(&f, p, 4);
        say(log, f == f ? " %.9g" : " nan", (double)f);
    } else {
        double d;
        memcpy(&d, p, 8);
        say(log, d == d ? " %.17g" : " nan", d);
    }
}

static void say_element(fuzz_log *log, vp_dtype t, const char *p) {
    int size = vp__dtype[t].size;
    switch ((vp__class)vp__dtype[t].cls) {
    case VP__CLASS_B:
    case VP__CLASS_U: {
        uint64_t v = 0;
        memcpy(&v, p, (size_t)size);
        say(log, " %" PRIu64, v);
        break;
    }
    case VP__CLASS_S: {
        int64_t v = 0;
        memcpy(&v, p, (size_t)size);
        v = (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
        say(log, " %" PRId64, v);
        break;
    }
    case VP__CLASS_F: say_real(log, t, p); break;
    case VP__CLASS_C:
        say_real(log, (vp_dtype)vp__dtype[t].real, p);
        say_real(log, (vp_dtype)vp__dtype[t].real, p + size / 2);
        say(log, "i");
        break;
    }
}

/* Elements bit for bit, except that every NaN is one NaN: which operand's sign and payload
 * it inherits is left to the compiler, which may swap the operands of a sum. */
static uint64_t mix_elements(uint64_t h, vp_dtype t, const char *p, int64_t n) {
    vp_dtype real = (vp_dtype)vp__dtype[t].real;
    if (real != VP_F32 && real != VP_F64)
        return mix_bytes(h, p, (size_t)n * vp__dtype[t].size);
    int64_t reals = n * (vp__dtype[t].size / vp__dtype[real].size);
    for (int64_t k = 0; k < reals; k++) {
        uint64_t bits = 0;
        double d;
        float f;
        if (real == VP_F64) {
            memcpy(&d, p + 8 * k, 8);
            memcpy(&bits, p + 8 * k, 8);
        } else {
            memcpy(&f, p + 4 * k, 4);
            memcpy(&bits, p + 4 * k, 4);
            d = (double)f;
        }
        h = mix(h, d == d ? bits : 0x7ff8);
    }
    return h;
}

void fuzz_log_array(fuzz_log *log, int i, const char *what, vp_dtype dtype, int ndim,
                    const int64_t *dims, const void *elements) {
    int64_t n = 1;
    for (int k = 0; k < ndim; k++) n *= dims[k];
    size_t size = vp__dtype[dtype].size;
    log->hash = mix(mix(mix(log->hash, (uint64_t)i), (uint64_t)dtype), (uint64_t)ndim);
    log->hash = mix_bytes(log->hash, dims, (size_t)ndim * sizeof *dims);
    log->hash = mix_elements(log->hash, dtype, elements, n);
    if (!log->text) return;
    say(log, "i%d %s: %s (", i, what, vp__dtype[dtype].name);
    for (int k = 0; k < ndim; k++) say(log, k ? ", %" PRId64 : "%" PRId64, dims[k]);
    say(log, ")");
    for (int64_t k = 0; k < n; k++) {
        if (k % 8 == 0) say(log, "\n  i%d [%" PRId64 "]", i, k);
        say_element(log, dtype, (const char *)elements + (size_t)k * size);
    }
    say(log, "\n");
}
