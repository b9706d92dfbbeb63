/* SPDX-License-Identifier: Apache-2.0
 *
 * The bins of the pool between two instructions, as a fork finds those of other threads. The
 * source is compiled again, under other names, with its caches where the slots of bins are on
 * pages of their own: those can be made read-only, and the first one that moves is noticed
 * before it has.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness.h"

static void *lay_out(size_t bytes);

#define vp__pool_fail_after bins_fail_after
#define vp__pool_alloc bins_alloc
#define vp__pool_free bins_free
#define vp__pool_trim bins_trim
#define vp__pool_class_bytes bins_class_bytes
#define vp__pool_thread_exit bins_thread_exit
#define vp__pool_stats bins_stats
#define vp__pool_reset_peaks bins_reset_peaks
#define vp__pool_can_have bins_can_have
#define malloc lay_out
#include "array/pool.c" /* NOLINT(bugprone-suspicious-include) */
#undef malloc

/* NOLINTBEGIN(bugprone-signal-handler): the fault is one of ours, outside of any function of the
 * system. */
static size_t pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* A cache whose slots begin with a page. It is never freed. */
static void *lay_out(size_t bytes) {
    char *p = mmap(NULL, pages(sizeof(cache)) + pages(bytes), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    VP_CHECK(p != MAP_FAILED);
    return p + pages(sizeof(cache)) - sizeof(cache);
}

static void protect_slots(int how) {
    const size_t slots = (size_t)(own->bins[CACHED_CLASSES - 1].end - own->slots);
    VP_CHECK_EQ(mprotect(own->slots, pages(slots * sizeof(void *)), how), 0);
}

static const bin *watched;
static volatile sig_atomic_t moves;
static volatile bool was_empty;

static void slot_moves(int unused) {
    (void)unused;
    moves++;
    was_empty = watched->top == watched->start;
    protect_slots(PROT_READ | PROT_WRITE);
}
/* NOLINTEND(bugprone-signal-handler) */

/* Blocks that are given to the shared level leave their bin before the others close ranks, or a
 * child that is forked meanwhile would have some of them twice. */
VP_TEST(a_bin_is_empty_while_its_slots_move) {
    enum { BYTES = 64 };
    const unsigned size_class = vp__class_of(BYTES);
    void *block[BIN_BLOCKS + 1];
    for (int i = 0; i <= BIN_BLOCKS; i++) block[i] = vp__pool_alloc(BYTES);
    vp__pool_trim();
    watched = &own->bins[size_class];
    VP_CHECK_EQ(watched->end - watched->start, BIN_BLOCKS);
    for (int i = 0; i < BIN_BLOCKS; i++) vp__pool_free(block[i], BYTES);
    VP_CHECK(watched->top == watched->end);
    signal(SIGSEGV, slot_moves); /* NOLINT(bugprone-signal-handler) */
    protect_slots(PROT_READ);
    vp__pool_free(block[BIN_BLOCKS], BYTES);
    signal(SIGSEGV, SIG_DFL);
    VP_CHECK_EQ(moves, 1);
    VP_CHECK(was_empty);
    VP_CHECK_EQ(watched->top - watched->start, BIN_BLOCKS / 2 + 1);
    VP_CHECK(watched->start[0] == block[BIN_BLOCKS / 2]);
}
