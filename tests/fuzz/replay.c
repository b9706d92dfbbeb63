/* SPDX-License-Identifier: Apache-2.0
 *
 * One seed again: printed, run every way, and made small. What fails by timing fails
 * sometimes, so every question is asked several times.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

typedef struct {
    const fuzz_options *o;
    fuzz_worker worker[FUZZ_WAYS];
    fuzz_program p;
    int way;         /* where it failed last */
    fuzz_result bad; /* and how */
    int want;        /* only failures like this count; -1: all */
} replay;

/* A rough kind of failure, so that making a program small does not turn one into another:
 * a fuzz_end, on the reference's side or the net's, or a difference. */
static int kind_of(int way, const fuzz_result *r) { return r->end * 2 + (way == 0); }

/* Runs the program once on one worker; its log, as text, is in the channel. With `lead`,
 * the programs before it that share its thresholds run first, as they did when it
 * failed. */
static fuzz_result run_way(replay *r, int w, const bool *kept, bool lead) {
    fuzz_worker *worker = &r->worker[w];
    fuzz_channel *c = worker->channel;
    fuzz_result result = {.end = FUZZ_MISSING};
    uint64_t seed = r->p.seed;
    int before = (int)(seed % FUZZ_SHARED);
    for (int part = lead && before ? 0 : 1; part < 2; part++) {
        c->first = part ? seed : seed - (uint64_t)before;
        c->count = part ? 1 : before;
        c->mix = r->o->mix;
        c->text = part;
        c->leave_out = part && kept;
        if (c->leave_out) memcpy(c->kept, kept, sizeof c->kept);
        fuzz_worker_ask(worker);
        struct pollfd file = {worker->from, POLLIN, 0};
        /* One program, alone: a tenth of what it gets in a crowd is plenty. */
        fuzz_result died = {.end = FUZZ_RAN};
        if (poll(&file, 1, (int)(fuzz_time_limit() / 10000000)) == 0) {
            kill(worker->pid, SIGKILL);
            died.end = FUZZ_HUNG;
        } else if (!fuzz_worker_reply(worker)) {
            died.end = FUZZ_CRASHED;
        }
        if (died.end != FUZZ_RAN) {
            died.extra = fuzz_worker_restart(worker);
            if (part) return died; /* that those before it fail is another matter */
            continue;
        }
        result = c->result[0];
    }
    return result;
}

/* Whether the program fails some way in this many attempts. */
static bool fails(replay *r, const bool *kept, int attempts, bool lead) {
    fuzz_result reference = run_way(r, 0, kept, false);
    if (reference.end != FUZZ_RAN && reference.end != FUZZ_LEAKED) {
        if (r->want >= 0 && r->want != kind_of(0, &reference)) return false;
        r->way = 0;
        r->bad = reference;
        return true;
    }
    for (int attempt = 0; attempt < attempts; attempt++)
        for (int w = 1; w < r->o->ways; w++) {
            fuzz_result one = run_way(r, w, kept, lead && attempt % 4 == 0);
            /* A process that has just started keeps more bytes than it had. */
            if (one.end == FUZZ_LEAKED && attempt < 2) one.end = FUZZ_RAN;
            if (one.end == FUZZ_RAN && one.hash == reference.hash) continue;
            if (r->want >= 0 && r->want != kind_of(w, &one)) continue;
            r->way = w;
            r->bad = one;
            return true;
        }
    return false;
}

/* Drops instructions, many at a time first, as long as it still fails. */
static void minimise(replay *r, bool *kept) {
    for (int i = 0; i < FUZZ_MAX; i++) kept[i] = i < r->p.count;
    uint64_t start = fuzz_now();
    for (int size = r->p.count / 2; size >= 1;) {
        bool smaller = false;
        for (int at = r->p.count - size; at > -size; at -= size) {
            bool tried[FUZZ_MAX], changed = false;
            memcpy(tried, kept, sizeof tried);
            for (int i = at > 0 ? at : 0; i < at + size; i++) {
                changed |= tried[i];
                tried[i] = false;
            }
            if (!changed || !fails(r, tried, r->o->attempts, false)) continue;
            memcpy(kept, tried, sizeof tried);
            smaller = true;
        }
        if (fuzz_now() - start > 3 * fuzz_time_limit()) return;
        if (size == 1 && !smaller) return;
        if (size > 1) size /= 2;
    }
}

/* Instructions whose operands were left out do nothing; they need not be shown. */
static void prune(const fuzz_program *p, bool *kept) {
    for (int i = 0; i < p->count; i++) {
        const fuzz_instruction *in = &p->at[i];
        for (int k = 0; k < in->nin; k++)
            if (in->in[k].kind <= VP__IN_EXPR && !kept[in->in[k].var]) kept[i] = false;
        for (int k = 0; k < in->nitems; k++)
            if (in->item[k].kind == VP__SEL_ARRAY && !kept[in->item[k].array.var])
                kept[i] = false;
    }
}

static int line_length(const char *s) { return (int)strcspn(s, "\n"); }

/* Shows the first line where two logs differ, under the last headline before it. */
void fuzz_show_difference(const char *reference, const char *other, const char *way) {
    const char *head = reference;
    while (*reference && *other) {
        int n = line_length(reference), m = line_length(other);
        if (n != m || memcmp(reference, other, (size_t)n) != 0) break;
        if (reference[0] == 'i') head = reference;
        reference += n + (reference[n] == '\n');
        other += m + (other[m] == '\n');
    }
    if (reference[0] != 'i' && head != reference)
        printf("  in %.*s\n", line_length(head), head);
    printf("  the reference: %.*s\n", line_length(reference), reference);
    printf("  %s: %.*s\n", way, line_length(other), other);
}

int fuzz_replay(const fuzz_options *o, uint64_t seed, bool small) {
    static replay r; /* large */
    memset(&r, 0, sizeof r);
    r.o = o;
    r.want = -1;
    fuzz_generate(&r.p, seed, &o->mix);
    for (int w = 0; w < o->ways; w++)
        if (!fuzz_worker_start(&r.worker[w], o->threads[w])) {
            perror("vproc-fuzz: cannot start a worker");
            return 1;
        }
    if (!small) {
        fuzz_print(&r.p, NULL);
        fflush(stdout);
    }
    static bool kept[FUZZ_MAX];
    bool failed = fails(&r, NULL, o->attempts, true), reduced = false;
    if (failed && small) {
        r.want = kind_of(r.way, &r.bad);
        minimise(&r, kept);
        prune(&r.p, kept);
        reduced = fails(&r, kept, o->attempts * 5, false);
        fuzz_print(&r.p, reduced ? kept : NULL);
        failed = reduced || fails(&r, NULL, o->attempts * 5, true);
    }
    if (!failed) {
        printf("seed %llu: no difference in %d attempts\n", (unsigned long long)seed,
               o->attempts);
    } else {
        const char *way = fuzz_way_name(o->threads[r.way]);
        printf("seed %llu, %s: %s\n", (unsigned long long)seed, way,
               fuzz_end_text(&r.bad));
        if (r.way && r.bad.end < FUZZ_CRASHED)
            fuzz_show_difference(r.worker[0].channel->log, r.worker[r.way].channel->log,
                                 way);
    }
    for (int w = 0; w < o->ways; w++) fuzz_worker_stop(&r.worker[w]);
    return failed;
}
