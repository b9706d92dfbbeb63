/* SPDX-License-Identifier: Apache-2.0
 *
 * Each group of workers, one per way, goes through blocks of seeds; a fast worker may be
 * some blocks ahead of a slow one. A block whose results are all in is compared and
 * forgotten.
 */
#include "driver.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "stacks.h"

enum { AHEAD = 16 };

typedef struct {
    uint64_t first;
    int count;
    int waiting; /* ways whose results are not all in */
    fuzz_result result[FUZZ_WAYS][FUZZ_SHARED];
    char *text[FUZZ_WAYS]; /* logs, where they are asked for; then count is 1 */
} block;

typedef struct {
    fuzz_worker worker[FUZZ_WAYS];
    uint64_t next[FUZZ_WAYS]; /* number of the block this way takes next */
    bool busy[FUZZ_WAYS];
    uint64_t oldest, newest; /* blocks in the ring: oldest ≤ number < newest */
    block ring[AHEAD];
} group;

typedef struct {
    const fuzz_options *o;
    group *groups;
    uint64_t next_seed, end_seed, start_ns;
    uint64_t passed, failed, first_failed;
    uint64_t bad_ends; /* workers that did not end well with nothing to do */
    bool stopping;
    vp_stats sum;
    vp__native_stats native;
    uint64_t launches, loop_puts, runs, teams;
} driver;

const char *fuzz_way_name(int threads) {
    static char text[4][32];
    static int turn;
    if (threads == 0) return "the reference";
    char *t = text[turn++ % 4];
    snprintf(t, sizeof text[0], "%d thread%s", threads, threads == 1 ? "" : "s");
    return t;
}

const char *fuzz_end_text(const fuzz_result *r) {
    static char text[128];
    switch ((fuzz_end)r->end) {
    case FUZZ_RAN: return "ran to its end";
    case FUZZ_NOT_EMPTY:
        snprintf(text, sizeof text, "left %lld nodes in flight after vp_sync",
                 (long long)r->extra);
        break;
    case FUZZ_LEAKED:
        snprintf(text, sizeof text, "left %lld more bytes in use than before it",
                 (long long)r->extra);
        break;
    case FUZZ_DEVICE:
        snprintf(text, sizeof text,
                 "kept %lld bytes of device memory, or gave the device wrong addresses",
                 (long long)r->extra);
        break;
    case FUZZ_HELD:
        snprintf(text, sizeof text, "kept %lld pieces of borrowed memory",
                 (long long)r->extra);
        break;
    case FUZZ_CRASHED:
        if (WIFSIGNALED((int)r->extra))
            snprintf(text, sizeof text, "died: %s", strsignal(WTERMSIG((int)r->extra)));
        else
            snprintf(text, sizeof text, "ended with exit status %d",
                     WEXITSTATUS((int)r->extra));
        break;
    case FUZZ_HUNG:
        snprintf(text, sizeof text, "was still running after %.0f s",
                 (double)fuzz_time_limit() / 1e9);
        break;
    case FUZZ_MISSING: return "did not run";
    }
    return text;
}

/* --- counters ----------------------------------------------------------------------- */

static void add_stats(driver *d, const fuzz_worker *w) {
    if (w->threads == 0) return; /* the reference has no net to speak of */
    const vp_stats *s = &w->channel->stats;
    d->sum.issued += s->issued;
    d->sum.inlined += s->inlined;
    d->sum.bundled += s->bundled;
    d->sum.executed += s->executed;
    d->sum.pieces += s->pieces;
    d->sum.split += s->split;
    d->sum.steals += s->steals;
    d->sum.moved += s->moved;
    d->sum.renamed += s->renamed;
    d->sum.stores_waited += s->stores_waited;
    d->sum.late_sizes += s->late_sizes;
    d->sum.limit_waits += s->limit_waits;
    d->sum.kernels += s->kernels;
    d->sum.elements += s->elements;
    if (s->peak_bytes > d->sum.peak_bytes) d->sum.peak_bytes = s->peak_bytes;
    const vp__native_stats *n = &w->channel->native;
    d->native.compiled += n->compiled;
    d->native.loaded += n->loaded;
    d->native.failed += n->failed;
    d->launches += w->channel->launches;
    d->loop_puts += w->channel->loop_puts;
    d->runs += w->channel->programs;
    d->teams += w->channel->teams;
}

static void print_stats(const driver *d, double seconds) {
    const vp_stats *s = &d->sum;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"issued", s->issued},
        {"inlined", s->inlined},
        {"bundled", s->bundled},
        {"executed", s->executed},
        {"pieces", s->pieces},
        {"split", s->split},
        {"steals", s->steals},
        {"moved", s->moved},
        {"renamed", s->renamed},
        {"stores_waited", s->stores_waited},
        {"late_sizes", s->late_sizes},
        {"limit_waits", s->limit_waits},
        {"kernels", s->kernels},
        {"elements", s->elements},
        {"on a device", d->launches},
        {"compiled", d->native.compiled},
        {"loaded", d->native.loaded},
        {"not compiled", d->native.failed},
        {"peak_bytes", (uint64_t)s->peak_bytes},
    };
    printf("The net, over all programs and thread counts:\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("  %-14s %14llu\n", rows[i].name, (unsigned long long)rows[i].value);
    printf(
        "Loops had %llu puts, and %llu puts were bundled; several threads issued %llu of "
        "%llu runs\n",
        (unsigned long long)d->loop_puts, (unsigned long long)s->bundled,
        (unsigned long long)d->teams, (unsigned long long)d->runs);
    uint64_t programs = d->passed + d->failed;
    printf("%llu programs, each %d ways, in %.1f s: %.0f programs a second, %.0f runs\n",
           (unsigned long long)programs, d->o->ways, seconds, (double)programs / seconds,
           (double)programs * d->o->ways / seconds);
}

/* --- blocks ------------------------------------------------------------------------- */

static void compare(driver *d, const block *b) {
    for (int i = 0; i < b->count; i++) {
        const fuzz_result *reference = &b->result[0][i];
        bool good = true;
        for (int w = 0; w < d->o->ways; w++) {
            const fuzz_result *r = &b->result[w][i];
            bool differs = r->end < FUZZ_CRASHED && reference->end < FUZZ_CRASHED &&
                           r->hash != reference->hash;
            if (r->end == FUZZ_RAN && !differs) continue;
            good = false;
            printf("seed %llu, %s: %s%s\n", (unsigned long long)(b->first + (uint64_t)i),
                   fuzz_way_name(d->o->threads[w]),
                   r->end == FUZZ_RAN ? "" : fuzz_end_text(r),
                   !differs             ? ""
                   : r->end == FUZZ_RAN ? "saw something else than the reference"
                                        : "; and saw something else than the reference");
            if (differs && b->text[0] && b->text[w])
                fuzz_show_difference(b->text[0], b->text[w],
                                     fuzz_way_name(d->o->threads[w]));
        }
        if (!good && d->failed == 0) d->first_failed = b->first + (uint64_t)i;
        if (!good && !d->o->keep_going) d->stopping = true;
        d->passed += good;
        d->failed += !good;
    }
    fflush(stdout);
}

static void retire(driver *d, block *b) {
    compare(d, b);
    for (int w = 0; w < d->o->ways; w++) {
        free(b->text[w]);
        b->text[w] = NULL;
    }
}

static bool time_is_up(const driver *d) {
    return d->o->seconds > 0 && (double)(fuzz_now() - d->start_ns) >= d->o->seconds * 1e9;
}

/* A block of seeds that share their thresholds; NULL when there is nothing left to do. */
static block *new_block(driver *d, group *g) {
    if (g->newest - g->oldest == AHEAD || d->stopping || time_is_up(d) ||
        d->next_seed >= d->end_seed)
        return NULL;
    block *b = &g->ring[g->newest++ % AHEAD];
    b->first = d->next_seed;
    uint64_t end = (b->first / FUZZ_SHARED + 1) * FUZZ_SHARED;
    if (d->o->text) end = b->first + 1;
    if (end > d->end_seed) end = d->end_seed;
    b->count = (int)(end - b->first);
    b->waiting = d->o->ways;
    d->next_seed = end;
    for (int w = 0; w < FUZZ_WAYS; w++)
        for (int i = 0; i < FUZZ_SHARED; i++)
            b->result[w][i] = (fuzz_result){.end = FUZZ_MISSING};
    return b;
}

static void ask(driver *d, group *g, int w, uint64_t first, int count) {
    fuzz_channel *c = g->worker[w].channel;
    c->first = first;
    c->count = count;
    c->mix = d->o->mix;
    c->text = d->o->text;
    c->leave_out = false;
    for (int i = 0; i < count; i++) c->result[i] = (fuzz_result){.end = FUZZ_MISSING};
    g->busy[w] = true;
    fuzz_worker_ask(
        &g->worker[w]); /* a process that is gone shows when its reply is read */
}

static void give_work(driver *d, group *g, int w) {
    if (g->busy[w]) return;
    if (g->next[w] == g->newest && !new_block(d, g)) return;
    block *b = &g->ring[g->next[w] % AHEAD];
    ask(d, g, w, b->first, b->count);
}

static void finish_way(driver *d, group *g, int w) {
    block *b = &g->ring[g->next[w]++ % AHEAD];
    b->waiting--;
    while (g->oldest < g->newest && g->ring[g->oldest % AHEAD].waiting == 0)
        retire(d, &g->ring[g->oldest++ % AHEAD]);
}

static void take_results(group *g, int w) {
    block *b = &g->ring[g->next[w] % AHEAD];
    const fuzz_channel *c = g->worker[w].channel;
    for (int i = 0; i < c->count; i++)
        if (c->result[i].end != FUZZ_MISSING)
            b->result[w][c->first + (uint64_t)i - b->first] = c->result[i];
    if (c->text) b->text[w] = strdup(c->log);
}

/* A worker died, or was killed because it hung. What it had done counts; the rest of the
 * block goes to its successor. */
static void bury(driver *d, group *g, int w, fuzz_end end) {
    fuzz_channel *c = g->worker[w].channel;
    block *b = &g->ring[g->next[w] % AHEAD];
    take_results(g, w);
    uint64_t running = atomic_load_explicit(&c->running, memory_order_relaxed);
    int missing = 0;
    while (missing + 1 < c->count && c->result[missing].end != FUZZ_MISSING) missing++;
    uint64_t seed = running ? running - 1 : c->first + (uint64_t)missing;
    add_stats(d, &g->worker[w]);
    int status = fuzz_worker_restart(&g->worker[w]);
    b->result[w][seed - b->first] = (fuzz_result){.end = (uint8_t)end, .extra = status};
    g->busy[w] = false;
    uint64_t rest = b->first + (uint64_t)b->count - (seed + 1);
    if (rest)
        ask(d, g, w, seed + 1, (int)rest);
    else
        finish_way(d, g, w);
}

static bool hangs(const fuzz_worker *w) {
    uint64_t since = atomic_load_explicit(&w->channel->since_ns, memory_order_relaxed);
    uint64_t now = fuzz_now();
    return atomic_load_explicit(&w->channel->running, memory_order_relaxed) &&
           now > since && now - since > fuzz_time_limit();
}

static void end_well(driver *d, const fuzz_worker *w, int status) {
    if (status == 0) return;
    fuzz_result r = {.end = FUZZ_CRASHED, .extra = status};
    printf("A worker (%s), with nothing left to do, %s\n", fuzz_way_name(w->threads),
           fuzz_end_text(&r));
    d->bad_ends++;
}

/* Another process goes on in place of one that has learned enough. */
static void renew(driver *d, fuzz_worker *w) {
    add_stats(d, w);
    end_well(d, w, fuzz_worker_restart(w));
}

/* One round: everybody gets work, then we wait for somebody. False when all is done. */
static bool turn(driver *d) {
    struct pollfd files[64 * FUZZ_WAYS];
    int count = 0;
    for (int j = 0; j < d->o->jobs; j++)
        for (int w = 0; w < d->o->ways; w++) {
            group *g = &d->groups[j];
            give_work(d, g, w);
            files[j * d->o->ways + w] =
                (struct pollfd){g->busy[w] ? g->worker[w].from : -1, POLLIN, 0};
            count += g->busy[w];
        }
    if (count == 0) return false;
    poll(files, (nfds_t)(d->o->jobs * d->o->ways), 500);
    for (int j = 0; j < d->o->jobs; j++)
        for (int w = 0; w < d->o->ways; w++) {
            group *g = &d->groups[j];
            if (!g->busy[w]) continue;
            if (files[j * d->o->ways + w].revents) {
                if (!fuzz_worker_reply(&g->worker[w])) {
                    bury(d, g, w, FUZZ_CRASHED);
                    continue;
                }
                take_results(g, w);
                g->busy[w] = false;
                finish_way(d, g, w);
                if (fuzz_worker_is_full(&g->worker[w])) renew(d, &g->worker[w]);
            } else if (hangs(&g->worker[w])) {
                fuzz_stacks_ask(g->worker[w].pid);
                kill(g->worker[w].pid, SIGKILL);
                bury(d, g, w, FUZZ_HUNG);
            }
        }
    return true;
}

int fuzz_drive(const fuzz_options *o) {
    driver d = {.o = o, .next_seed = o->seed, .start_ns = fuzz_now()};
    d.end_seed = o->count > UINT64_MAX - o->seed ? UINT64_MAX : o->seed + o->count;
    d.groups = calloc((size_t)o->jobs, sizeof *d.groups);
    if (!d.groups) return 1;
    printf("Random programs from seed %llu on, the net with",
           (unsigned long long)o->seed);
    for (int w = 1; w < o->ways; w++) printf("%s %d", w > 1 ? "," : "", o->threads[w]);
    printf(" threads against one instruction at a time\n");
    for (int j = 0; j < o->jobs; j++)
        for (int w = 0; w < o->ways; w++)
            if (!fuzz_worker_start(&d.groups[j].worker[w], o->threads[w])) {
                perror("vproc-fuzz: cannot start a worker");
                return 1;
            }
    while (turn(&d)) {}
    double seconds = (double)(fuzz_now() - d.start_ns) / 1e9;
    for (int j = 0; j < o->jobs; j++)
        for (int w = 0; w < o->ways; w++) {
            fuzz_worker *worker = &d.groups[j].worker[w];
            add_stats(&d, worker);
            end_well(&d, worker, fuzz_worker_stop(worker));
        }
    free(d.groups);
    if (d.failed && !o->keep_going)
        fuzz_replay(o, d.first_failed, true);
    else if (d.failed)
        printf("See one with: vproc-fuzz --minimise %llu\n",
               (unsigned long long)d.first_failed);
    print_stats(&d, seconds);
    printf("%llu passed, %llu failed\n", (unsigned long long)d.passed,
           (unsigned long long)(d.failed + d.bad_ends));
    return d.failed || d.bad_ends;
}
