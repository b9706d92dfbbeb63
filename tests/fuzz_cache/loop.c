/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain loop of random changes, for where there is no libFuzzer: it knows the seeds and
 * where numbers stand in them, but not which paths are taken.
 *
 *     vproc-fuzz-cache [--seconds N] [--seed N]     mutate and try
 *     vproc-fuzz-cache --write-seeds FOLDER         the seeds as files, for a fuzzer
 *     vproc-fuzz-cache FILE…                        try these files as they are
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/draw.h"
#include "tests/fuzz_cache/target.h"

enum { MAX_SEEDS = 32, ROOM = 1 << 20 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[MAX_SEEDS];
static int nseeds;

static void keep(void *context, const char *name, const uint8_t *bytes, size_t size) {
    (void)context;
    (void)name;
    if (nseeds == MAX_SEEDS || size > ROOM / 2) return;
    seeds[nseeds].bytes = malloc(size);
    if (!seeds[nseeds].bytes) return;
    memcpy(seeds[nseeds].bytes, bytes, size);
    seeds[nseeds++].size = size;
}

/* A number that tends to be interesting. */
static uint64_t number(size_t size) {
    switch (draw() % 6) {
    case 0: return 0;
    case 1: return UINT64_MAX >> draw() % 64;
    case 2: return UINT64_C(1) << draw() % 64;
    case 3: return size - draw() % 64;
    case 4: return draw() % 64;
    default: return draw();
    }
}

/* Numbers matter most where the heads and tables are: at the start, and towards the end. */
static size_t position(size_t size) {
    size_t at = draw() % 4 == 0   ? draw() % 256
                : draw() % 3 == 0 ? size - 1 - draw() % (size < 2048 ? size : 2048)
                                  : draw() % size;
    return draw() % 2 ? at & ~(size_t)3 : at;
}

static size_t mutate(uint8_t *bytes, size_t size) {
    for (uint64_t changes = 1 + draw() % 4; changes > 0 && size > 16; changes--) {
        const uint64_t value = number(size);
        const size_t at = position(size) % size, width = (size_t)1 << draw() % 4;
        switch (draw() % 8) {
        case 0: bytes[at] ^= (uint8_t)(1u << draw() % 8); break;
        case 1: size -= draw() % (draw() % 2 ? 16 : size); break;
        case 2: /* a piece of the file elsewhere */
            if (at + 64 <= size)
                memmove(bytes + at, bytes + draw() % (size - 63), 8 * (draw() % 8));
            break;
        case 3: bytes[at] = (uint8_t)(bytes[at] + draw() % 16 - 8); break;
        default:
            if (at + width <= size) memcpy(bytes + at, &value, width);
        }
    }
    return size;
}

static int loop(double seconds) {
    static uint8_t bytes[ROOM];
    fuzz_seeds(keep, NULL);
    if (nseeds == 0) {
        printf("vproc-fuzz-cache: there are no objects to begin with\n");
        return 1;
    }
    for (int i = 0; i < nseeds; i++)
        LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
    const uint64_t start = vp__clock_system_ns();
    while ((double)(vp__clock_system_ns() - start) < seconds * 1e9) {
        for (int i = 0; i < 100; i++) {
            const int s = (int)(draw() % (uint64_t)nseeds);
            memcpy(bytes, seeds[s].bytes, seeds[s].size);
            LLVMFuzzerTestOneInput(bytes, mutate(bytes, seeds[s].size));
        }
    }
    printf("%ld inputs; %ld were files with a good hash, %ld loaded as objects\n",
           fuzz_counted.inputs, fuzz_counted.files, fuzz_counted.objects);
    for (int i = 0; i < nseeds; i++) free(seeds[i].bytes);
    return 0;
}

static void write_seed(void *folder, const char *name, const uint8_t *bytes,
                       size_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", (const char *)folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static int try_file(const char *path) {
    static uint8_t bytes[64 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv) {
    double seconds = 2;
    int status = 0, tried = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            seconds = atof(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed ^= strtoull(argv[++i], NULL, 0) << 1;
        } else if (strcmp(argv[i], "--write-seeds") == 0 && i + 1 < argc) {
            if (mkdir(argv[++i], 0700) != 0 && errno != EEXIST) perror(argv[i]);
            return fuzz_seeds(write_seed, argv[i]) > 0 ? 0 : 1;
        } else {
            status |= try_file(argv[i]);
            tried++;
        }
    }
    return tried > 0 ? status : loop(seconds);
}
