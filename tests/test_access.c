/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions and the log of accesses as units. A region may be taken for larger than it is,
 * never for smaller: random views are compared with the bytes they really touch. The log
 * must let conflicting accesses wait for each other in the order of entering, and those
 * that do not conflict side by side, from any number of threads.
 */
#define _GNU_SOURCE
#include "array/access.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/pool.h"
#include "array/storage.h"
#include "base/spin.h"
#include "tests/harness.h"

static uint64_t state = 88172645463325252u;

/* xorshift64 (G. Marsaglia, 2003). */
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t below(int64_t n) { return (int64_t)(next_random() % (uint64_t)n); }

/* --- regions ------------------------------------------------------------------------ */

enum { SPACE = 4096, AXES = 4 };

typedef struct {
    int64_t offset, dims[AXES], strides[AXES];
    int ndim, size;
    vp__region region;
    bool touched[SPACE];
} view;

static void touch(view *v, int axis, int64_t at) {
    if (axis == v->ndim) {
        memset(v->touched + at, true, (size_t)v->size);
        return;
    }
    for (int64_t i = 0; i < v->dims[axis]; i++)
        touch(v, axis + 1, at + i * v->strides[axis]);
}

/* A view within SPACE bytes. Half of them are parts of one matrix, as programs have them;
 * the others have any strides: negative, zero, equal, overlapping. */
static void make_view(view *v) {
    for (;;) {
        v->ndim = (int)below(AXES + 1);
        v->size = 1 << below(4);
        bool matrix = below(2);
        int64_t lo = 0, hi = v->size;
        int64_t stride = v->size;
        for (int i = v->ndim - 1; i >= 0; i--) {
            v->dims[i] = below(20) ? 1 + below(8) : 0;
            if (matrix) {
                v->strides[i] = stride * (below(4) ? 1 : 1 + below(3));
                stride *= 8;
                if (!below(4)) v->strides[i] = -v->strides[i];
            } else {
                v->strides[i] = below(2) ? v->size * (below(33) - 16) : below(129) - 64;
            }
            int64_t extent = (v->dims[i] - 1) * v->strides[i];
            if (v->dims[i] == 0) continue;
            if (extent < 0)
                lo += extent;
            else
                hi += extent;
        }
        if (hi - lo > SPACE) continue;
        v->offset = -lo + below(SPACE - (hi - lo) + 1);
        if (matrix) v->offset = v->offset / v->size * v->size;
        if (v->offset + lo < 0) continue;
        memset(v->touched, 0, sizeof v->touched);
        touch(v, 0, v->offset);
        v->region = vp__region_of(v->offset, v->ndim, v->dims, v->strides, v->size);
        return;
    }
}

static bool meets(const bool *a, const bool *b) {
    for (int i = 0; i < SPACE; i++)
        if (a[i] && b[i]) return true;
    return false;
}

static void show(const view *v) {
    printf("view: offset %lld size %d\n", (long long)v->offset, v->size);
    for (int i = 0; i < v->ndim; i++)
        printf("  dim %lld stride %lld\n", (long long)v->dims[i],
               (long long)v->strides[i]);
    const vp__region *r = &v->region;
    printf("  region [%lld, %lld) period %lld window [%lld, %lld)\n", (long long)r->lo,
           (long long)r->hi, (long long)r->period, (long long)r->from, (long long)r->to);
}

VP_TEST(a_region_covers_its_view) {
    view *v = malloc(sizeof *v);
    VP_CHECK(v != NULL);
    for (int k = 0; k < 200000; k++) {
        make_view(v);
        for (int64_t i = 0; i < SPACE; i++) {
            if (!v->touched[i]) continue;
            const vp__region *r = &v->region;
            bool inside =
                i >= r->lo && i < r->hi &&
                (!r->period || (i % r->period >= r->from && i % r->period < r->to));
            if (inside) continue;
            show(v);
            VP_FAIL("byte %lld is touched and outside", (long long)i);
        }
        if (k == 20000 && vp__test_slowdown() > 1) break;
    }
    free(v);
}

VP_TEST(overlapping_views_conflict) {
    view *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    VP_CHECK(a && b);
    int met = 0, conflicts = 0, disjoint = 0;
    for (int k = 0; k < 100000 / vp__test_slowdown(); k++) {
        make_view(a);
        make_view(b);
        bool real = meets(a->touched, b->touched);
        bool said = vp__region_overlaps(&a->region, &b->region);
        VP_CHECK_EQ(said, vp__region_overlaps(&b->region, &a->region));
        met += real;
        conflicts += said;
        disjoint += !real;
        if (real && !said) {
            show(a);
            show(b);
            VP_FAIL("the views share bytes");
        }
    }
    printf("%d overlap, %d taken to overlap, %d do not\n", met, conflicts, disjoint);
    free(a), free(b);
}

VP_TEST(a_hull_covers_its_members) {
    enum { MEMBERS = 6 };
    view *member = calloc(MEMBERS, sizeof *member), *other = malloc(sizeof *other);
    VP_CHECK(member && other);
    for (int k = 0; k < 30000 / vp__test_slowdown(); k++) {
        vp__region hull = vp__region_none();
        int n = 1 + (int)below(MEMBERS);
        make_view(other);
        bool real = false;
        for (int i = 0; i < n; i++) {
            make_view(&member[i]);
            vp__region_add(&hull, &member[i].region);
            real |= meets(member[i].touched, other->touched);
        }
        bool said = vp__region_overlaps(&hull, &other->region);
        if (real && !said) {
            for (int i = 0; i < n; i++) show(&member[i]);
            show(other);
            printf("hull [%lld, %lld) period %lld window [%lld, %lld)\n",
                   (long long)hull.lo, (long long)hull.hi, (long long)hull.period,
                   (long long)hull.from, (long long)hull.to);
            VP_FAIL("the hull misses a member's conflict");
        }
    }
    free(member), free(other);
}

static vp__region line(int64_t rows, int64_t columns, int64_t i, bool row) {
    int64_t dim = row ? columns : rows, stride = row ? 8 : 8 * columns;
    return vp__region_of(row ? i * columns * 8 : i * 8, 1, &dim, &stride, 8);
}

VP_TEST(rows_and_columns_are_told_apart) {
    vp__region hull_rows = vp__region_none(), hull_columns = vp__region_none();
    for (int64_t i = 0; i < 50; i++) {
        vp__region row = line(100, 100, i, true), column = line(100, 100, i, false);
        VP_CHECK(!vp__region_overlaps(&hull_rows, &row));
        VP_CHECK(!vp__region_overlaps(&hull_columns, &column));
        VP_CHECK(vp__region_overlaps(&row, &column));
        vp__region_add(&hull_rows, &row);
        vp__region_add(&hull_columns, &column);
        VP_CHECK(vp__region_overlaps(&hull_rows, &row));
        VP_CHECK(vp__region_overlaps(&hull_columns, &column));
    }
    /* One element of a column, beside the columns seen so far. */
    int64_t one = 1, stride = 8;
    vp__region element = vp__region_of((10 * 100 + 70) * 8, 1, &one, &stride, 8);
    VP_CHECK(!vp__region_overlaps(&hull_columns, &element));
    /* Even and odd elements of a vector. */
    int64_t half = 50, two = 16;
    vp__region even = vp__region_of(0, 1, &half, &two, 8);
    vp__region odd = vp__region_of(8, 1, &half, &two, 8);
    VP_CHECK(!vp__region_overlaps(&even, &odd));
}

VP_TEST(nothing_and_everything) {
    vp__region none = vp__region_none(), all = vp__region_all();
    int64_t zero = 0, ten = 10, stride = 8;
    vp__region empty = vp__region_of(24, 1, &zero, &stride, 8);
    vp__region some = vp__region_of(24, 1, &ten, &stride, 8);
    VP_CHECK(!vp__region_overlaps(&none, &all));
    /* A view of nothing waits for what it is a view of. */
    VP_CHECK(vp__region_overlaps(&empty, &all));
    VP_CHECK(vp__region_overlaps(&some, &all));
    VP_CHECK(vp__region_overlaps(&all, &all));
    vp__region hull = none;
    vp__region_add(&hull, &none);
    VP_CHECK(!vp__region_overlaps(&hull, &all));
    vp__region_add(&hull, &some);
    vp__region_add(&hull, &all);
    vp__region far = vp__region_of(1 << 20, 1, &ten, &stride, 8);
    VP_CHECK(vp__region_overlaps(&hull, &far));
}

/* --- the log ------------------------------------------------------------------------ */

static vp__region interval(int64_t lo, int64_t hi) {
    return (vp__region){lo, hi, 0, 0, 0};
}

/* Enters an access; returns how many groups it waits for. */
static vp__group *enter(vp__log *log, bool write, int64_t lo, int64_t hi, int *waits) {
    vp__region r = interval(lo, hi);
    *waits = 0;
    vp__group *g = vp__log_enter(log, write, &r, waits, 1, waits);
    VP_CHECK(g != NULL);
    return g;
}

/* Ends an access and returns how many waiters it signals. */
static int finish(vp__group *g) {
    int count = 0;
    for (vp__waiter *w = vp__access_finish(g), *next; w; w = next) {
        next = w->next;
        vp__waiter_free(w);
        count++;
    }
    return count;
}

static int64_t in_use(void) {
    vp__pool_stat stat;
    vp__pool_stats(&stat);
    return stat.in_use;
}

static int64_t begin(vp__log *log) {
    vp__log_init(log);
    return in_use();
}

/* Everything is over, and given back. */
static void end(vp__log *log, int64_t base) {
    VP_CHECK(!vp__log_is_busy(log));
    vp__log_deinit(log);
    VP_CHECK_EQ(in_use(), base);
}

VP_TEST(readers_share_and_writers_wait) {
    vp__log log;
    int64_t base = begin(&log);
    int waits, more;
    vp__group *a = enter(&log, false, 0, 100, &waits);
    VP_CHECK_EQ(waits, 0);
    vp__group *b = enter(&log, false, 50, 150, &waits);
    VP_CHECK_EQ(waits, 0);
    VP_CHECK_EQ(a, b); /* one group */
    vp__group *c = enter(&log, true, 80, 90, &waits);
    VP_CHECK_EQ(waits, 1);
    /* The group somebody waits for is sealed: a reader may not slip in before the writer,
     * even where it does not meet it. */
    vp__group *d = enter(&log, false, 0, 10, &more);
    VP_CHECK_EQ(more, 0);
    VP_CHECK_NE(d, a);
    vp__group *e = enter(&log, false, 85, 86, &more);
    VP_CHECK_EQ(more, 1);
    VP_CHECK_EQ(finish(a), 0);
    VP_CHECK_EQ(finish(d), 0);
    VP_CHECK_EQ(finish(b), 1); /* the writer goes */
    VP_CHECK_EQ(finish(c), 1); /* and then the last reader */
    VP_CHECK_EQ(finish(e), 0);
    end(&log, base);
}

/* Waiting for the last of a chain is waiting for all of it. */
VP_TEST(who_waits_for_the_last_waits_for_all) {
    vp__log log;
    int64_t base = begin(&log);
    enum { N = 11 };
    vp__group *group[N];
    int waits;
    for (int i = 0; i < N; i++) { /* the last one reads */
        group[i] = enter(&log, i % 2, 0, 100 + i, &waits);
        VP_CHECK_EQ(waits, i > 0);
    }
    /* One beside the chain; who meets both waits for it and for the chain's last write. */
    vp__group *beside = enter(&log, true, 200, 300, &waits);
    VP_CHECK_EQ(waits, 0);
    vp__group *both = enter(&log, false, 50, 250, &waits);
    VP_CHECK_EQ(waits, 2);
    for (int i = 0; i < N; i++)
        VP_CHECK_EQ(finish(group[i]), i < N - 1 ? 1 + (i == N - 2) : 0);
    VP_CHECK_EQ(finish(beside), 1);
    VP_CHECK_EQ(finish(both), 0);
    end(&log, base);
}

/* One that may leave stands for nobody, not even where there are too many to be listed. */
VP_TEST(nobody_relies_on_an_observer) {
    vp__log log;
    int64_t base = begin(&log);
    enum { N = 16 };
    vp__group *group[N];
    vp__region all = vp__region_all(), first = interval(100, 101);
    int waits, seen = 0;
    for (int i = 0; i < N; i++) {
        group[i] = enter(&log, i % 2 == 0, 100 + i, 101 + i, &waits);
        VP_CHECK_EQ(waits, 0);
    }
    VP_CHECK_EQ(log.live, N);
    vp__group *observer = vp__log_observe(&log, &all, &seen, 1, &seen);
    VP_CHECK_EQ(seen, N / 2);
    VP_CHECK_EQ(finish(observer), 0); /* before any of those it waits for */
    VP_CHECK(vp__log_conflicts(&log, false, &first));
    for (int i = 0; i < N; i++) VP_CHECK_EQ(finish(group[i]), i % 2 == 0);
    group[0] = enter(&log, true, 0, 1, &waits);
    observer = vp__log_observe(&log, &all, &seen, 1, &seen);
    group[1] = enter(&log, true, 0, 1, &waits);
    VP_CHECK_EQ(waits, 2); /* for the write before, too */
    VP_CHECK_EQ(finish(observer), 1);
    VP_CHECK_EQ(finish(group[0]), 2);
    VP_CHECK_EQ(finish(group[1]), 0);
    end(&log, base);
}

/* Even one that is in nobody's way is later: what it reads is not what the writer has yet to
 * write. */
VP_TEST(an_access_is_widened_until_another_is_entered) {
    vp__log log;
    int64_t base = begin(&log);
    const vp__region next = interval(8, 16), beside = interval(100, 108);
    int waits;
    vp__group *writer = enter(&log, true, 0, 8, &waits);
    VP_CHECK(vp__log_extend(&log, writer, true, &next, NULL, 0));
    vp__group *reader = enter(&log, false, 100, 108, &waits);
    VP_CHECK_EQ(waits, 0);
    VP_CHECK_NE(reader, writer);
    VP_CHECK(!vp__log_extend(&log, writer, true, &beside, NULL, 0));
    VP_CHECK_EQ(finish(writer), 0);
    VP_CHECK_EQ(finish(reader), 0);
    end(&log, base);
}

/* Where there are too many to be listed, who will not wait joins the last or stays out. */
VP_TEST(who_will_not_wait_is_no_barrier) {
    vp__log log;
    int64_t base = begin(&log);
    enum { N = 16 };
    vp__group *group[N];
    vp__region all = vp__region_all();
    const vp__region beside = interval(0, 1);
    int waits, seen = 0;
    for (int i = 0; i < N; i++) group[i] = enter(&log, i % 2, 100 + i, 101 + i, &waits);
    VP_CHECK_EQ(log.live, N);
    VP_CHECK_EQ(vp__log_try(&log, false, &beside), group[N - 1]);
    vp__group *observer = vp__log_observe(&log, &all, &seen, 1, &seen);
    VP_CHECK_EQ(finish(observer), 0);
    /* It has left again, and the last one is sealed. */
    VP_CHECK_EQ(vp__log_try(&log, false, &beside), NULL);
    VP_CHECK_EQ(log.live, N);
    for (int i = 0; i + 1 < N; i++) VP_CHECK_EQ(finish(group[i]), i % 2);
    VP_CHECK_EQ(finish(group[N - 1]), 0);
    VP_CHECK_EQ(finish(group[N - 1]), 1); /* who joined it is through as well */
    end(&log, base);
}

VP_TEST(disjoint_writers_share_a_group) {
    vp__log log;
    int64_t base = begin(&log);
    enum { N = 5000 };
    static vp__group *group[N];
    int waits;
    for (int i = 0; i < N; i++) {
        group[i] = enter(&log, true, i * 8, i * 8 + 8, &waits);
        VP_CHECK_EQ(waits, 0);
    }
    VP_CHECK_LE(log.live, 1);
    vp__region all = vp__region_all(), beside = interval(N * 8, N * 8 + 8);
    VP_CHECK(vp__log_conflicts(&log, false, &all));
    VP_CHECK(!vp__log_has_readers(&log, &all));
    VP_CHECK(!vp__log_conflicts(&log, true, &beside));
    vp__group *reader = enter(&log, false, 0, N * 8, &waits);
    VP_CHECK_EQ(waits, 1);
    for (int i = 0; i + 1 < N; i++) VP_CHECK_EQ(finish(group[i]), 0);
    VP_CHECK_EQ(finish(group[N - 1]), 1);
    VP_CHECK(vp__log_has_readers(&log, &all));
    VP_CHECK_EQ(finish(reader), 0);
    vp__log_deinit(&log);
    VP_CHECK_EQ(in_use(), base);
}

VP_TEST(what_has_finished_is_forgotten) {
    vp__log log;
    int64_t base = begin(&log);
    int waits;
    uint64_t first = log.sequence;
    for (int i = 0; i < 100000; i++) {
        vp__group *g = enter(&log, i % 3 == 0, 0, 8 + i % 7, &waits);
        VP_CHECK_EQ(waits, 0);
        VP_CHECK_EQ(finish(g), 0);
    }
    VP_CHECK_LE(log.live, 1);
    VP_CHECK_EQ(log.sequence - first, 100000);
    vp__log_deinit(&log);
    VP_CHECK_EQ(in_use(), base);
}

/* Random accesses, finished in random order: everyone waits for exactly enough. An access
 * may run when it has been signalled by every group it was told to wait for; whenever it
 * may, no earlier access that conflicts with it may be unfinished. */
typedef struct {
    vp__region region;
    bool write, finished;
    int pending; /* signals to come */
    vp__group *group;
    vp__waiter own; /* for the first group it waits for, if it is lent to the log */
} access;

static bool conflict(const access *a, const access *b) {
    return (a->write || b->write) && vp__region_overlaps(&a->region, &b->region);
}

static void signal_all(vp__waiter *w) {
    while (w) {
        vp__waiter *next = w->next;
        access *a = w->who;
        VP_CHECK_GT(a->pending, 0);
        a->pending--;
        vp__waiter_free(w);
        w = next;
    }
}

static void check_random(int entered, int span) {
    vp__log log;
    int64_t base = begin(&log);
    access *all = calloc((size_t)entered, sizeof *all);
    VP_CHECK(all != NULL);
    int made = 0, done = 0;
    while (done < entered) {
        if (made < entered && (below(2) || made == done)) {
            access *a = &all[made];
            int64_t lo = below(span);
            a->region = interval(lo, lo + 1 + below(8));
            if (below(8) == 0) {
                /* A column: a window that repeats. */
                int64_t dims[2] = {4, 1 + below(3)}, strides[2] = {16, 1};
                a->region = vp__region_of(below(13), 2, dims, strides, 1);
            }
            a->write = below(3) == 0;
            int waits = 0;
            a->group = vp__log_enter_own(&log, a->write, &a->region, a, 0,
                                         below(2) ? &a->own : NULL, &waits);
            VP_CHECK(a->group != NULL);
            a->pending += waits;
            made++;
            continue;
        }
        /* End one of those that may run; there is one, or the log is in a deadlock. */
        int first = -1, start = (int)below(made);
        for (int i = 0; i < made && first < 0; i++) {
            int k = (start + i) % made;
            if (!all[k].finished && all[k].pending == 0) first = k;
        }
        if (first < 0) VP_FAIL("%d accesses wait for each other", made - done);
        for (int i = 0; i < first; i++)
            if (!all[i].finished && conflict(&all[i], &all[first]))
                VP_FAIL("access %d may run before %d, which it conflicts with", first, i);
        all[first].finished = true;
        done++;
        signal_all(vp__access_finish(all[first].group));
    }
    end(&log, base);
    free(all);
}

VP_TEST(random_accesses_keep_their_order) {
    for (int k = 0; k < 2000 / vp__test_slowdown(); k++)
        check_random(60 + (int)below(140), 8 << below(6));
}

VP_TEST(without_memory_nothing_is_entered) {
    for (int n = 0; n < 30; n++) {
        vp__log log;
        vp__log_init(&log);
        access a[12] = {{.group = NULL}};
        int entered = 0;
        int64_t base = in_use();
        atomic_store(&vp__pool_fail_after, n);
        for (int i = 0; i < 12; i++) {
            a[i].region = interval(i % 3, i % 3 + 4);
            a[i].write = i % 2;
            int waits = 0;
            a[i].group = vp__log_enter_own(&log, a[i].write, &a[i].region, &a[i], 0,
                                           i % 4 < 2 ? &a[i].own : NULL, &waits);
            if (a[i].group) {
                a[i].pending += waits;
                entered++;
            } else {
                VP_CHECK_EQ(waits, 0);
            }
        }
        atomic_store(&vp__pool_fail_after, -1);
        for (int left = entered; left > 0;) {
            int before = left;
            for (int i = 0; i < 12; i++) {
                if (!a[i].group || a[i].finished || a[i].pending) continue;
                a[i].finished = true;
                left--;
                signal_all(vp__access_finish(a[i].group));
            }
            VP_CHECK_LT(left, before);
        }
        vp__log_deinit(&log);
        VP_CHECK_EQ(in_use(), base);
    }
}

/* --- many threads ------------------------------------------------------------------- */

enum { THREADS = 4, PLACES = 16, ROUNDS = 50000 };

typedef struct {
    vp__spinlock lock; /* guards the log */
    vp__log log;
    int64_t cell[PLACES]; /* not atomic: the log alone orders accesses to them */
    _Atomic int64_t increments;
} shared_storage;

static shared_storage shared;

typedef struct {
    _Atomic int pending; /* signals to come, + 1 while entering */
    vp__waiter own;
} waiting;

static void deliver(vp__waiter *w) {
    while (w) {
        vp__waiter *next = w->next;
        waiting *who = w->who;
        vp__waiter_free(w);
        /* release: what the finished access did is visible to who was waiting. */
        atomic_fetch_sub_explicit(&who->pending, 1, memory_order_acq_rel);
        w = next;
    }
}

/* Reads or increments a range of cells, again and again, as the log allows. */
static void *work(void *argument) {
    uint64_t own = 77 + (uintptr_t)argument * 1000003;
    int64_t added = 0;
    int rounds = ROUNDS / (vp__test_slowdown() > 1 ? 4 : 1);
    for (int k = 0; k < rounds; k++) {
        own = own * 6364136223846793005u + 1442695040888963407u;
        int64_t lo = (int64_t)(own >> 33) % PLACES,
                hi = lo + 1 + (int64_t)(own >> 60) % 4;
        if (hi > PLACES) hi = PLACES;
        bool write = own >> 59 & 1;
        waiting me;
        atomic_init(&me.pending, 1 << 20);
        int waits = 0;
        vp__region r = interval(lo * 8, hi * 8);
        vp__spin_lock(&shared.lock);
        vp__group *g = vp__log_enter_own(&shared.log, write, &r, &me, 0,
                                         own >> 58 & 1 ? &me.own : NULL, &waits);
        vp__spin_unlock(&shared.lock);
        VP_CHECK(g != NULL);
        atomic_fetch_sub_explicit(&me.pending, (1 << 20) - waits, memory_order_acq_rel);
        while (atomic_load_explicit(&me.pending, memory_order_acquire) > 0) sched_yield();
        int64_t sum = 0;
        for (int64_t i = lo; i < hi; i++) {
            if (write)
                shared.cell[i]++;
            else
                sum += shared.cell[i];
        }
        if (write) added += hi - lo;
        VP_CHECK_GE(sum, 0);
        deliver(vp__access_finish(g));
    }
    atomic_fetch_add(&shared.increments, added);
    return NULL;
}

VP_TEST_TIMEOUT(threads_enter_and_finish_at_once, 60) {
    int64_t base = in_use();
    vp__log_init(&shared.log);
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        VP_CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    int64_t sum = 0;
    for (int i = 0; i < PLACES; i++) sum += shared.cell[i];
    VP_CHECK_EQ(sum, atomic_load(&shared.increments));
    VP_CHECK(!vp__log_is_busy(&shared.log));
    vp__log_deinit(&shared.log);
    VP_CHECK_EQ(in_use(), base);
}

/* Waiters are pushed by many threads while one closes the list. */
static vp__waitlist list;
static _Atomic int pushed, refused;

static void *push_some(void *argument) {
    (void)argument;
    for (int i = 0; i < 1000; i++) {
        vp__waiter *w = vp__waiter_new(NULL, i);
        VP_CHECK(w != NULL);
        if (vp__waitlist_push(&list, w)) {
            atomic_fetch_add(&pushed, 1);
        } else {
            VP_CHECK(vp__waitlist_is_closed(&list));
            vp__waiter_free(w);
            atomic_fetch_add(&refused, 1);
        }
    }
    return NULL;
}

VP_TEST(a_list_closes_once_for_everybody) {
    int64_t base = in_use();
    for (int turn = 0; turn < 50; turn++) {
        atomic_store(&list, NULL);
        atomic_store(&pushed, 0);
        atomic_store(&refused, 0);
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++)
            VP_CHECK(!pthread_create(&thread[i], NULL, push_some, NULL));
        for (int i = 0; i < turn * 20; i++) sched_yield();
        int taken = 0;
        for (vp__waiter *w = vp__waitlist_close(&list), *next; w; w = next) {
            next = w->next;
            vp__waiter_free(w);
            taken++;
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        VP_CHECK_EQ(taken, atomic_load(&pushed));
        VP_CHECK_EQ(taken + atomic_load(&refused), THREADS * 1000);
    }
    VP_CHECK_EQ(in_use(), base);
}

/* --- memory ------------------------------------------------------------------------- */

/* Threads that meet for each turn, and then all want the memory of one storage. */
static vp__storage *wanted[2000];
static _Atomic int met;

static void *want_memory(void *number) {
    for (int turn = 0; turn < 2000; turn++) {
        atomic_fetch_add(&met, 1);
        while (atomic_load(&met) < 2 * (turn + 1)) sched_yield();
        VP_CHECK(vp__storage_allocate(wanted[turn]));
    }
    return number;
}

VP_TEST(memory_is_made_once) {
    const int64_t base = in_use();
    for (int i = 0; i < 2000; i++) VP_CHECK(wanted[i] = vp__storage_new(2480));
    pthread_t other;
    VP_CHECK(!pthread_create(&other, NULL, want_memory, NULL));
    want_memory(NULL);
    pthread_join(other, NULL);
    for (int i = 0; i < 2000; i++) vp__storage_release(wanted[i]);
    VP_CHECK_EQ(in_use(), base);
}
