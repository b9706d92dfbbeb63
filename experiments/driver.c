/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one program of one experiment under the eyes of `vproc bench`: it reads one order per
 * line and answers each with one line, so that many such processes can take turns on the
 * machine and each is timed by itself.
 *
 *     prepare SIZE   makes the input                        -> prepared
 *     sample TIMES   so many evaluations, then a wait       -> sample MS ISSUE_MS
 *     result FILE    writes the last result as float64      -> result COUNT
 *     counters       what was executed so far               -> counters KERNELS ELEMENTS STORED
 *
 * MS is the time from before the first evaluation until all results are there; ISSUE_MS the
 * part of it until the last evaluation was given in.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "program.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int write_result(const char *file) {
    const double *numbers;
    const int64_t count = result(&numbers);
    FILE *f = fopen(file, "wb");
    if (!f) return 0;
    const size_t wanted = (size_t)count,
                 written = fwrite(numbers, sizeof *numbers, wanted, f);
    if (fclose(f) != 0 || written != wanted) return 0;
    printf("result %" PRId64 "\n", count);
    return 1;
}

int main(void) {
    char line[4096], word[16], file[4000];
    int64_t number;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "prepare %" SCNd64, &number) == 1) {
            prepare(number);
            puts("prepared");
        } else if (sscanf(line, "sample %" SCNd64, &number) == 1) {
            const double begin = now_ms();
            evaluate(number);
            const double issued = now_ms();
            finish();
            printf("sample %.6f %.6f\n", now_ms() - begin, issued - begin);
        } else if (sscanf(line, "result %3999[^\n]", file) == 1) {
            if (!write_result(file)) {
                fprintf(stderr, "cannot write %s\n", file);
                return 1;
            }
        } else if (sscanf(line, "%15s", word) == 1 && strcmp(word, "counters") == 0) {
            work_done done;
            executed(&done);
            printf("counters %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", done.kernels,
                   done.elements, done.stored);
        } else {
            fprintf(stderr, "not an order: %s", line);
            return 1;
        }
    }
    return 0;
}
