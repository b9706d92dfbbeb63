/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program under the thread sanitizer, against the installed library, which was built
 * without it: threads share arrays, and borrowed memory goes to and fro. With docs/vproc.tsan
 * there is nothing to report; with an argument there is a race of the program's own, which must
 * be reported all the same.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <vproc.h>

enum { N = 20000, THREADS = 3, TURNS = 100 };

static vp_array shared;
static bool races;
static int raced, released;

static void *work(void *arg) {
    vp_scope s = vp_begin();
    double total = 0;
    for (int i = 0; i < TURNS; i++) {
        vp_array x = vp_let(vp_sort(vp_mul(vp_add(shared, (double)i), 3.0), 0));
        if (vp_item(vp_sum(x), &total) != VP_OK) abort();
        vp_drop(x);
        if (races) raced++;
    }
    vp_end(s);
    return arg;
}

static void take_back(void *context, void *memory) {
    *(int *)context += 1;
    ((double *)memory)[0] = 3;
}

static void borrow_and_sync(double *memory) {
    vp_scope s = vp_begin();
    memory[0] = 1;
    vp_array x =
        vp_borrow(VP_F64, vp_shape(N), NULL, memory, VP_WRITABLE, take_back, &released);
    vp_put(x, vp_at(VP_ALL), vp_sin(vp_cumsum(x, 0)));
    vp_end(s);
    if (vp_sync() != VP_OK || memory[0] != 3) abort();
}

int main(int count, char **arguments) {
    (void)arguments;
    races = count > 1;
    double *memory = calloc(N, sizeof *memory);
    if (!memory) return 1;
    shared = vp_let(vp_linspace(VP_F64, 0, 1, N));
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < TURNS; i++) borrow_and_sync(memory);
    free(memory);
    return released != TURNS;
}
