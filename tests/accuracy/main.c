/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the accuracy of every function that math.h lists, on every instruction set this
 * CPU runs and in both modes, and compares it with what math.h documents; and that in turn
 * with the promise: at most 4 units in the last place, 1 in accurate mode.
 *
 *   vproc-accuracy [--count n] [--show] [row]...
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/accuracy/accuracy.h"

static const double promise[2] = {4, 1};
static const char *const modes[2] = {"fast", "accurate"};

static row rows[MOST_ROWS];
static table tables[MOST_TABLES];
static worst found[MOST_ROWS][MOST_TABLES];
static double seconds[MOST_ROWS];
static int nrows, ntables, count = 60000;
static bool chosen[MOST_ROWS];
static atomic_int next_row; /* each thread takes rows from here, relaxed: a count alone */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *measure_rows(void *unused) {
    (void)unused;
    for (int i;
         (i = atomic_fetch_add_explicit(&next_row, 1, memory_order_relaxed)) < nrows;) {
        if (!chosen[i]) continue;
        const double start = now();
        if (rows[i].complex)
            measure_complex(&rows[i], tables, ntables, count / rows[i].cost, found[i]);
        else
            measure_real(&rows[i], tables, ntables, count / rows[i].cost, found[i]);
        seconds[i] = now() - start;
    }
    mpfr_free_cache();
    return NULL;
}

static void find_tables(void) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int mode = 0; mode < 2; mode++)
        for (int i = 0; i < 3; i++) {
            const vp__kernels *k =
                mode ? vp__kernels_accurate_for(isas[i]) : vp__kernels_for(isas[i]);
            if (k) tables[ntables++] = (table){.kernels = k, .accurate = mode};
        }
}

static void describe(const row *r, const table *t, const worst *w) {
    const bool binary = vp__ops[r->op].arity == 2, complex = r->complex != NULL;
    printf("%s %s %s %s: %.4f ulp", vp__ops[r->op].name, vp__dtype[r->type].name,
           t->kernels->isa, modes[t->accurate], w->ulps);
    for (int i = 0; i <= binary; i++) {
        printf(i ? ", (%a" : " at (%a", w->operand[i][0]);
        if (complex) printf(" %a", w->operand[i][1]);
        printf(")");
    }
    printf(" gives (%a", w->got[0]);
    if (complex) printf(" %a", w->got[1]);
    printf(")\n");
}

/* Prints what was measured; returns whether all of it is as documented. */
static bool judge(int i, bool show) {
    bool good = true;
    for (int t = 0; t < ntables; t++) {
        const double bound = rows[i].bound[tables[t].accurate];
        const bool within = found[i][t].ulps <= bound;
        if (show || !within) describe(&rows[i], &tables[t], &found[i][t]);
        if (!within) printf("  documented: %g ulp\n", bound);
        good &= within;
    }
    for (int mode = 0; mode < 2; mode++)
        if (rows[i].bound[mode] > promise[mode]) {
            printf("%s %s: %g ulp are documented in %s mode; %g are promised\n",
                   vp__ops[rows[i].op].name, vp__dtype[rows[i].type].name,
                   rows[i].bound[mode], modes[mode], promise[mode]);
            good = false;
        }
    return good;
}

int main(int argc, char **argv) {
    bool show = false, some = false;
    nrows = rows_real(rows);
    nrows += rows_complex(rows + nrows);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--show") == 0) {
            show = true;
        } else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc) {
            count = atoi(argv[++i]);
        } else {
            some = true;
            for (int j = 0; j < nrows; j++)
                chosen[j] |= strcmp(vp__ops[rows[j].op].name, argv[i]) == 0 ||
                             strcmp(vp__dtype[rows[j].type].name, argv[i]) == 0;
        }
    }
    for (int j = 0; j < nrows && !some; j++) chosen[j] = true;
    find_tables();
    pthread_t other;
    const bool two = pthread_create(&other, NULL, measure_rows, NULL) == 0;
    measure_rows(NULL);
    if (two) pthread_join(other, NULL);
    int passed = 0, failed = 0;
    for (int i = 0; i < nrows; i++) {
        if (!chosen[i]) continue;
        if (judge(i, show))
            passed++;
        else
            failed++;
        if (show) printf("  %.2f s\n", seconds[i]);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
