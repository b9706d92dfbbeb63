/* SPDX-License-Identifier: Apache-2.0
 *
 * The work-stealing deque: its order, its growth, and that under races every item is taken
 * exactly once.
 */
#include "base/deque.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/harness.h"

enum { MAX_THIEVES = 7 };

VP_TEST(owner_takes_the_newest) {
    vp__deque d;
    int item[3];
    VP_CHECK(vp__deque_init(&d, 4));
    VP_CHECK(vp__deque_pop(&d) == NULL);
    for (int i = 0; i < 3; i++) VP_CHECK(vp__deque_push(&d, &item[i]));
    VP_CHECK_EQ(vp__deque_size(&d), 3);
    for (int i = 2; i >= 0; i--) VP_CHECK(vp__deque_pop(&d) == &item[i]);
    VP_CHECK(vp__deque_pop(&d) == NULL);
    VP_CHECK(vp__deque_pop(&d) == NULL);
    VP_CHECK_EQ(vp__deque_size(&d), 0);
    vp__deque_deinit(&d);
}

VP_TEST(thief_takes_the_oldest) {
    vp__deque d;
    int item[3];
    VP_CHECK(vp__deque_init(&d, 4));
    VP_CHECK(vp__deque_steal(&d) == NULL);
    for (int i = 0; i < 3; i++) VP_CHECK(vp__deque_push(&d, &item[i]));
    VP_CHECK(vp__deque_steal(&d) == &item[0]);
    VP_CHECK(vp__deque_pop(&d) == &item[2]);
    VP_CHECK(vp__deque_steal(&d) == &item[1]);
    VP_CHECK(vp__deque_steal(&d) == NULL);
    VP_CHECK(vp__deque_pop(&d) == NULL);
    vp__deque_deinit(&d);
}

VP_TEST(growing_keeps_items_and_order) {
    enum { ITEMS = 10000 };
    static int item[ITEMS];
    vp__deque d;
    VP_CHECK(vp__deque_init(&d, 1));
    /* Steal now and then, so that the items wrap around the arrays they are copied from. */
    int pushed = 0, stolen = 0;
    while (pushed < ITEMS) {
        VP_CHECK(vp__deque_push(&d, &item[pushed++]));
        if (pushed % 3 == 0) VP_CHECK(vp__deque_steal(&d) == &item[stolen++]);
    }
    VP_CHECK_EQ(vp__deque_size(&d), pushed - stolen);
    while (pushed > stolen) VP_CHECK(vp__deque_pop(&d) == &item[--pushed]);
    VP_CHECK(vp__deque_pop(&d) == NULL);
    vp__deque_deinit(&d);
}

VP_TEST(indices_wrap_for_ever) {
    vp__deque d;
    int item;
    VP_CHECK(vp__deque_init(&d, 16));
    for (int i = 0; i < 100000; i++) {
        VP_CHECK(vp__deque_push(&d, &item));
        VP_CHECK((i % 2 ? vp__deque_steal(&d) : vp__deque_pop(&d)) == &item);
    }
    VP_CHECK_EQ(vp__deque_size(&d), 0);
    vp__deque_deinit(&d);
}

/* A race: one owner, several thieves, and a counter for each item of how often it was
 * taken. The item's payload is plain memory, so the thread sanitizer sees whether a take
 * is ordered after the push. */
typedef struct {
    int64_t payload;
    atomic_int taken;
} item;

typedef struct {
    vp__deque deque;
    atomic_bool done;
    atomic_llong stolen;
} race;

static void take(item *i) {
    VP_CHECK_EQ(i->payload, (int64_t)(intptr_t)i);
    VP_CHECK_EQ(atomic_fetch_add_explicit(&i->taken, 1, memory_order_relaxed), 0);
}

static void *steal_until_done(void *argument) {
    race *r = argument;
    long long stolen = 0;
    for (;;) {
        bool done = atomic_load(&r->done);
        item *i = vp__deque_steal(&r->deque);
        if (i) {
            take(i);
            stolen++;
        } else if (done && vp__deque_size(&r->deque) == 0) {
            break;
        }
    }
    atomic_fetch_add(&r->stolen, stolen);
    return NULL;
}

/* The owner pushes bursts of up to `burst` items and pops about as many. */
static void run_race(int thieves, int items, int burst) {
    race r;
    pthread_t thread[MAX_THIEVES];
    item *all = calloc((size_t)items, sizeof *all);
    VP_CHECK(all && vp__deque_init(&r.deque, 1));
    atomic_init(&r.done, false);
    atomic_init(&r.stolen, 0);
    for (int i = 0; i < thieves; i++) {
        VP_CHECK(!pthread_create(&thread[i], NULL, steal_until_done, &r));
    }
    unsigned random = 1;
    long long popped = 0;
    for (int next = 0; next < items;) {
        random = random * 1664525u + 1013904223u;
        int count = 1 + (int)((random >> 8) % (unsigned)burst);
        for (int i = 0; i < count && next < items; i++, next++) {
            all[next].payload = (int64_t)(intptr_t)&all[next];
            VP_CHECK(vp__deque_push(&r.deque, &all[next]));
        }
        for (int i = 0; i < count; i++) {
            item *mine = vp__deque_pop(&r.deque);
            if (!mine) break;
            take(mine);
            popped++;
        }
        if (next % 4096 < burst) sched_yield();
    }
    atomic_store(&r.done, true);
    for (int i = 0; i < thieves; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < items; i++) VP_CHECK_EQ(atomic_load(&all[i].taken), 1);
    VP_CHECK_EQ(popped + atomic_load(&r.stolen), items);
    vp__deque_deinit(&r.deque);
    free(all);
}

VP_TEST(every_item_is_taken_once) {
    run_race(MAX_THIEVES, 1000000 / vp__test_slowdown(), 100);
}

VP_TEST(the_last_item_is_taken_once) { run_race(3, 1000000 / vp__test_slowdown(), 1); }

VP_TEST(growing_under_thieves) { run_race(2, 1000000 / vp__test_slowdown(), 20000); }
