/* SPDX-License-Identifier: Apache-2.0
 *
 * The target, and the seeds. What must hold for every input: no sanitizer complains, and
 * what the functions return is in itself consistent. Inputs are copied to memory of exactly
 * their size.
 */
#include "tests/fuzz_cache/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/cache_file.h"
#include "jit/object.h"
#include "tests/fuzz_cache/guard.h"
#include "tests/object_support.h"

fuzz_counts fuzz_counted;

static void must(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "vproc-fuzz-cache: %s\n", what);
    abort();
}

/* Half of all names are known, near and far, so that slots and fields get filled. */
static void *resolve(void *context, const char *name) {
    static char near;
    must(context == &fuzz_counted && *name, "the resolver is called as agreed");
    const size_t length = strlen(name);
    if (name[0] == 'u') return NULL;
    return length % 2 ? &near : (void *)(uintptr_t)(0x123456789a00u + length);
}

static void *resolve_nothing(void *context, const char *name) {
    (void)context;
    (void)name;
    return NULL;
}

static void try_object(const uint8_t *bytes, size_t size) {
    vp__object *object = NULL;
    uint8_t *copy = malloc(size + (size == 0));
    if (!copy) return;
    memcpy(copy, bytes, size);
    fuzz_guarded = true;
    const char *wrong = vp__object_load(copy, size, resolve, &fuzz_counted, &object);
    fuzz_guarded = false;
    must(fuzz_guard_is_used() == (object != NULL), "its memory is guarded");
    must((wrong == NULL) == (object != NULL), "a sentence or an object");
    must(memcmp(copy, bytes, size) == 0, "the file is as it was");
    free(copy);
    if (object) {
        fuzz_counted.objects++;
        must(vp__object_size(object) > 0, "an object has a size");
        /* What it makes known can be read. */
        const volatile uint8_t *code = vp__object_symbol(object, "test_calls");
        if (code) (void)*code;
        vp__object_release(object);
    } else {
        /* The same without any symbols is refused too, or fails elsewhere first. */
        must(vp__object_load(bytes, size, resolve_nothing, NULL, &object) != NULL &&
                 !object,
             "fewer symbols do not help");
    }
}

/* Reads every byte that a decoded file speaks of. */
static void look_at(const vp__cache_file *file, const uint8_t *bytes, size_t size) {
    const uint8_t *object = file->object;
    must(object >= bytes && object + file->object_size == bytes + size,
         "the object ends the file");
    const size_t texts = strlen(file->meta.ir) + strlen(file->meta.stage) +
                         strlen(file->meta.features) + strlen(file->meta.versions);
    must(texts + 4 + VP__CACHE_HEAD + file->object_size <= size, "all fits into it");
    vp__cache_key key;
    vp__cache_usage usage;
    must(vp__cache_head_decode(bytes, &key, &usage), "its head is one");
    must(memcmp(&key, &file->key, sizeof key) == 0 && usage.runs == file->usage.runs,
         "and says the same");
}

static void try_file(const uint8_t *bytes, size_t size) {
    vp__cache_file file;
    uint8_t *copy = malloc(size + (size == 0));
    if (!copy) return;
    memcpy(copy, bytes, size);
    for (int sealed = 0; sealed < 2; sealed++) {
        if (sealed && size >= VP__CACHE_HEAD) vp__cache_file_seal(copy, size);
        if (vp__cache_file_decode(copy, size, &file)) continue;
        fuzz_counted.files++;
        look_at(&file, copy, size);
        try_object(file.object, file.object_size);
        break;
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_counted.inputs++;
    if (size > 0 && bytes[0] == 0x7f && size > 1 && bytes[1] == 'E') {
        try_object(bytes, size);
    } else {
        try_file(bytes, size);
    }
    return 0;
}

/* ---- seeds ---- */

int fuzz_seeds(void (*take)(void *context, const char *name, const uint8_t *bytes,
                            size_t size),
               void *context) {
    static const char *const names[] = {
        "kernel-pic.o", "kernel-noplt.o", "kernel-absolute.o", "kernel-sections.o",
        "refused-1.o",  "kernel-avx2.o",  "kernel-large.o",    "refused-3.o"};
    const vp__cache_meta meta = {"v2 = add f64 v0 v1\n", "native", "avx2", "1"};
    int count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[64];
        size_t size;
        object_bytes object = object_read(names[i]);
        if (!object.bytes) continue;
        take(context, names[i], object.bytes, object.size);
        const vp__cache_key key = vp__hash_of(names[i], strlen(names[i]));
        uint8_t *file =
            vp__cache_file_encode(&key, &meta, object.bytes, object.size, &size);
        snprintf(name, sizeof name, "%s.kernel", names[i]);
        if (file) take(context, name, file, size);
        count += file ? 2 : 1;
        free(file);
        free(object.bytes);
    }
    return count;
}
