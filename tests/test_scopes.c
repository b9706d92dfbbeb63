/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes of threads that end: what was named in them goes, what was named outside stays.
 */
#include <pthread.h>

#include "tests/net_support.h"

enum { N = 1 << 18 };

static void run_in_a_thread(void *(*what)(void *), void *arg) {
    pthread_t thread;
    VP_CHECK(!pthread_create(&thread, NULL, what, arg));
    VP_CHECK(!pthread_join(thread, NULL));
}

/* Names of all kinds in two scopes: computed, held unissued, late, and an open expression. */
static void *leave_scopes_open(void *arg) {
    vp_array *outside = arg;
    if (outside) *outside = vp__test_counting(N); /* another first call than vp_begin */
    vp_begin();
    vp_array x = vp__test_counting(N);
    vp_let(vp_find(x));
    vp_begin();
    vp_let(vp_add(x, 1.0));
    vp_let(vp_take(x, x, 0));
    vp_add(x, 2.0);
    return NULL;
}

static void *make_and_wait(void *arg) {
    vp_array *x = arg;
    vp_begin();
    x[0] = vp_let(vp_mul(vp__test_counting(N), 2.0));
    x[1] = vp_keep(vp_let(vp_mul(x[0], 2.0)));
    vp_wait(x[1]);
    return NULL;
}

VP_TEST(a_thread_that_ends_leaves_nothing_in_its_scopes) {
    vp__test_threads(2);
    const int64_t base = vp__test_bytes_now();
    for (int i = 0; i < 5; i++) run_in_a_thread(leave_scopes_open, NULL);
    while (vp_sync() != VP_OK) {}
    VP_CHECK_NO_LEAK(base);
}

VP_TEST(what_a_thread_named_outside_of_scopes_stays) {
    vp__test_threads(2);
    const int64_t base = vp__test_bytes_now();
    vp_array outside, x[2];
    run_in_a_thread(leave_scopes_open, &outside);
    VP_CHECK_VALUES(vp_get(outside, N - 1), N - 1);
    run_in_a_thread(make_and_wait, x);
    VP_CHECK_ERROR(vp_wait(x[0]), VP_ERR_HANDLE, "its scope has ended");
    VP_CHECK_VALUES(vp_get(x[1], 3), 12);
    vp_drop(outside), vp_drop(x[1]);
    while (vp_sync() != VP_OK) {}
    VP_CHECK_NO_LEAK(base);
}
