/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a compiled kernel from the disk to its first run: opening the cache, getting a
 * file, loading the object, and what putting costs beside it. Microseconds on one thread,
 * the median of many (files are in the system's cache). The object is one that the tests
 * load, padded to several sizes with code that does not run.
 */
#define _GNU_SOURCE
#include "jit/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "jit/cache_trim.h"
#include "jit/object.h"
#include "tests/object_support.h"

enum { REPEAT = 2001 };

static vp__cache *cache;
static object_bytes object;
static vp__cache_meta meta = {"", "native", "avx2,fma,bmi2", "vproc 0.1.0 llvm 19.1"};
static vp__cache_key key;

static void fail(const char *what) {
    fprintf(stderr, "bench/cache: %s\n", what);
    exit(1);
}

static double outside(double x) { return x; }

static void *resolve(void *context, const char *name) {
    (void)context;
    (void)name;
    union {
        double (*function)(double);
        void *address;
    } known = {outside};
    return known.address;
}

static void get(void) {
    vp__cache_code code;
    if (!vp__cache_get(cache, &key, &meta, &code)) fail("the kernel is not there");
    vp__cache_code_release(&code);
}

static vp__object *loaded[REPEAT];
static int nloaded;

static void load(void) {
    const char *wrong =
        vp__object_load(object.bytes, object.size, resolve, NULL, &loaded[nloaded++]);
    if (wrong) fail(wrong);
}

static void release(void) { vp__object_release(loaded[--nloaded]); }

static void put(void) {
    if (!vp__cache_put(cache, &key, &meta, object.bytes, object.size)) fail("no put");
}

/* Another kernel every time: replacing a file is slower and does not happen. */
static void put_new(void) {
    static int number;
    char ir[32];
    snprintf(ir, sizeof ir, "kernel %d", number++);
    vp__cache_meta other = meta;
    other.ir = ir;
    const vp__cache_key k = vp__cache_key_of(&other);
    if (!vp__cache_put(cache, &k, &other, object.bytes, object.size)) fail("no put");
}

static void use(void) { vp__cache_add_usage(cache, &key, &(vp__cache_usage){1, 1}); }

/* All that stands between a process that has the kernel's text and its first run. */
static void whole_way(void) {
    vp__cache_code code;
    union {
        void *address;
        double (*function)(double);
    } entry;
    vp__cache *own = vp__cache_open(vp__cache_path(cache), NULL, 200 << 20, NULL);
    const vp__cache_key hashed = vp__cache_key_of(&meta);
    if (!own || !vp__cache_get(own, &hashed, &meta, &code))
        fail("the kernel is not there");
    if (vp__object_load(code.object, code.size, resolve, NULL, &loaded[nloaded]))
        fail("it does not load");
    entry.address = vp__object_symbol(loaded[nloaded++], "test_calls");
    if (!entry.address || entry.function(3) != 19) fail("it does not run");
    vp__cache_code_release(&code);
    vp__cache_close(own);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_us(void (*run)(void)) {
    static double us[REPEAT];
    for (int i = 0; i < REPEAT; i++) {
        const uint64_t start = vp__clock_system_ns();
        run();
        us[i] = (double)(vp__clock_system_ns() - start) / 1e3;
    }
    qsort(us, REPEAT, sizeof us[0], by_value);
    return us[REPEAT / 2];
}

/* An object of about `size` bytes: the file, and zeros that no section names. */
static void with_size(size_t size) {
    if (size <= object.size) return;
    object.bytes = realloc(object.bytes, size);
    if (!object.bytes) fail("out of memory");
    memset(object.bytes + object.size, 0, size - object.size);
    object.size = size;
}

static void measure(void) {
    put();
    printf("%7zu bytes:", object.size);
    printf("  get %6.1f", median_us(get));
    printf("  load %6.1f", median_us(load));
    printf("  release %5.1f", median_us(release));
    printf("  open+key+get+load+run %6.1f", median_us(whole_way));
    while (nloaded > 0) release();
    printf("  put %6.1f", median_us(put_new));
    printf("  usage %5.1f us\n", median_us(use));
}

int main(void) {
    char root[] = "/tmp/vproc-bench-XXXXXX", path[64], command[64], ir[1024];
    if (!mkdtemp(root)) fail("no folder");
    snprintf(path, sizeof path, "%s/cache", root);
    cache = vp__cache_open(path, NULL, 200 << 20, NULL);
    object = object_read("kernel-pic.o");
    if (!cache || !object.bytes) fail("no cache or no object");
    memset(ir, 'x', sizeof ir - 1);
    ir[sizeof ir - 1] = '\0';
    meta.ir = ir;
    key = vp__cache_key_of(&meta);

    static const size_t sizes[] = {0, 8 << 10, 16 << 10, 64 << 10};
    for (int i = 0; i < 4; i++) {
        with_size(sizes[i]);
        measure();
    }
    vp__cache_dir dir;
    if (vp__cache_dir_open(path, NULL, &dir)) fail("no folder");
    uint64_t start = vp__clock_system_ns();
    const int64_t bytes = vp__cache_trim(&dir, INT64_MAX);
    printf("a look at all of the folder, %.1f MB: %.0f us\n", (double)bytes / 1e6,
           (double)(vp__clock_system_ns() - start) / 1e3);
    vp__cache_dir_close(&dir);
    vp__cache_close(cache);
    free(object.bytes);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}
