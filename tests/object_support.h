/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that the build compiled for tests, as bytes.
 */
#ifndef VP_TESTS_OBJECT_SUPPORT_H
#define VP_TESTS_OBJECT_SUPPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    uint8_t *bytes;
    size_t size;
} object_bytes;

/* Reads a file of the build's tests folder; bytes is NULL when there is none. To be freed.
 * The memory is as large as the file, so that the address sanitizer knows its end. */
static inline object_bytes object_read(const char *name) {
    object_bytes out = {NULL, 0};
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", VP_TEST_OBJECTS, name);
    FILE *file = fopen(path, "rb");
    if (!file) return out;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
        out.size = (size_t)ftell(file);
        out.bytes = malloc(out.size);
        rewind(file);
        if (out.bytes && fread(out.bytes, 1, out.size, file) != out.size) {
            free(out.bytes);
            out.bytes = NULL;
        }
    }
    fclose(file);
    return out;
}

#endif
