/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome trace format, as chrome://tracing and ui.perfetto.dev read it:
 *
 *   - what a thread computes, and what it waits for, are slices of the thread (X);
 *   - issuing is a very short slice, from which an arrow (s, f) leads to the slice that
 *     first computes the node, wherever that is;
 *   - a node's whole life, from issue to its last finish or store, is an asynchronous span
 *     (b, e) in which sized, placed, ready, stored and renamed are marked (n), and so are the
 *     storages it reads and writes (by address) and the operations fused into it;
 *   - with issuing and computing, the line of the program that issued the node is told;
 *   - stealing, limits and compilation are marks on the thread (i).
 *
 * The records are read twice, first to learn about each node what more than one thread
 * knows, then to write. Records that arrive between the two are left out, so each log is
 * read up to the same point both times.
 */
#include "trace/export.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { ISSUE_NS = 100, NEVER = 0 };

/* What is known about a node; times are ticks + 1, and NEVER is none. */
typedef struct {
    uint64_t node;           /* 0: unused */
    const char *name, *line; /* of the program; NULL: not known */
    uint64_t issued, started, ended;
    int issued_by, started_by; /* numbers of threads */
} life;

typedef struct {
    FILE *file;
    bool comma;  /* between events, but not before the first */
    life *lives; /* a hash table with open addressing; NULL when there was no memory */
    uint64_t mask, known; /* its size - 1, and how many entries are used */
    uint64_t last;        /* the latest time in any log */
} exporter;

/* Where reading of a log is, and where it ends. */
typedef struct {
    const vp__trace_block *block;
    uint32_t index;
    int64_t left;
} reader;

static const char *const kind_names[] = {
    [VP__TR_ISSUED] = "issued",       [VP__TR_SIZED] = "sized",
    [VP__TR_PLACED] = "placed",       [VP__TR_READY] = "ready",
    [VP__TR_START] = "start",         [VP__TR_FINISH] = "finish",
    [VP__TR_STORE] = "store",         [VP__TR_WAIT_BEGIN] = "wait",
    [VP__TR_WAIT_END] = "wait end",   [VP__TR_STEAL] = "steal",
    [VP__TR_RENAME] = "rename",       [VP__TR_LIMIT] = "limit",
    [VP__TR_COMPILE] = "compile",     [VP__TR_STORAGE] = "storage",
    [VP__TR_READ] = "read",           [VP__TR_WRITE] = "write",
    [VP__TR_OPERATION] = "operation", [VP__TR_LINE] = "line",
};

/* ---- reading ---- */

int64_t vp__trace_log_length(const vp__trace_log *log) {
    int64_t length = 0;
    /* Acquire pairs with the writer's release of the links and of the counts. */
    const vp__trace_block *block =
        atomic_load_explicit(&log->first, memory_order_acquire);
    while (block) {
        length += atomic_load_explicit(&block->count, memory_order_acquire);
        block = atomic_load_explicit(&block->next, memory_order_acquire);
    }
    return length;
}

static reader reader_at_start(const vp__trace_log *log, int64_t length) {
    const vp__trace_block *first =
        atomic_load_explicit(&log->first, memory_order_acquire);
    return (reader){first, 0, length};
}

/* The next record without passing it; NULL at the end. */
static const vp__trace_record *peek(reader *r) {
    if (r->left <= 0) return NULL;
    if (r->index == r->block->capacity) {
        r->block = atomic_load_explicit(&r->block->next, memory_order_acquire);
        r->index = 0;
    }
    return &r->block->records[r->index];
}

static const vp__trace_record *next(reader *r) {
    const vp__trace_record *record = peek(r);
    if (record) {
        r->index++;
        r->left--;
    }
    return record;
}

/* ---- the lives of nodes ---- */

static life *slot_of(life *lives, uint64_t mask, uint64_t node) {
    uint64_t i = (node * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
    while (lives[i & mask].node && lives[i & mask].node != node) i++;
    return &lives[i & mask];
}

/* Makes the table twice as large, or makes it; false when out of memory. */
static bool grow(exporter *e) {
    uint64_t size = e->lives ? (e->mask + 1) * 2 : 1024;
    life *lives = calloc(size, sizeof *lives);
    if (!lives) return false;
    for (uint64_t i = 0; e->lives && i <= e->mask; i++) {
        const life *l = &e->lives[i];
        if (l->node) *slot_of(lives, size - 1, l->node) = *l;
    }
    free(e->lives);
    e->lives = lives;
    e->mask = size - 1;
    return true;
}

/* What is known about a node; NULL when nothing is, or it is no node. */
static life *life_of(const exporter *e, uint64_t node) {
    if (!e->lives || !node) return NULL;
    life *l = slot_of(e->lives, e->mask, node);
    return l->node ? l : NULL;
}

/* The same, but makes the entry; NULL when out of memory. Half of the table stays free. */
static life *life_new(exporter *e, uint64_t node) {
    life *l = life_of(e, node);
    if (l || !node) return l;
    if ((!e->lives || e->known * 2 > e->mask) && !grow(e)) return NULL;
    e->known++;
    l = slot_of(e->lives, e->mask, node);
    l->node = node;
    return l;
}

static void learn(exporter *e, const vp__trace_record *r, int thread) {
    uint64_t when = vp__trace_record_ticks(r) + 1;
    if (when > e->last) e->last = when;
    life *l = life_new(e, r->node);
    if (!l) return;
    const vp__trace_kind kind = vp__trace_record_kind(r);
    if (r->name && !l->name && kind != VP__TR_OPERATION && kind != VP__TR_LINE)
        l->name = r->name;
    switch (kind) {
    case VP__TR_LINE: l->line = r->name; break;
    case VP__TR_ISSUED:
        if (l->issued == NEVER || when < l->issued) {
            l->issued = when;
            l->issued_by = thread;
        }
        break;
    case VP__TR_START:
        if (l->started == NEVER || when < l->started) {
            l->started = when;
            l->started_by = thread;
        }
        break;
    case VP__TR_FINISH:
    case VP__TR_STORE:
        if (when > l->ended) l->ended = when;
        break;
    case VP__TR_SIZED:
    case VP__TR_PLACED:
    case VP__TR_READY:
    case VP__TR_WAIT_BEGIN:
    case VP__TR_WAIT_END:
    case VP__TR_STEAL:
    case VP__TR_RENAME:
    case VP__TR_LIMIT:
    case VP__TR_COMPILE:
    case VP__TR_STORAGE:
    case VP__TR_READ:
    case VP__TR_WRITE:
    case VP__TR_OPERATION: break;
    }
}

/* ---- writing ---- */

/* How many bytes the UTF-8 character at `text` has; 0 when it is none. */
static int utf8_length(const unsigned char *text) {
    if (text[0] < 0xc2 || text[0] > 0xf4) return 0;
    int length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    if (text[0] == 0xe0 && text[1] < 0xa0) return 0; /* longer than need be */
    if (text[0] == 0xed && text[1] > 0x9f) return 0; /* half of a pair */
    if (text[0] == 0xf0 && text[1] < 0x90) return 0;
    if (text[0] == 0xf4 && text[1] > 0x8f) return 0; /* beyond Unicode */
    return length;
}

static void put_string(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length = *c < 0x80 ? 1 : utf8_length(c);
        if (*c == '"' || *c == '\\') {
            fprintf(file, "\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            fprintf(file, "\\u%04x", *c);
        } else if (length) {
            fwrite(c, 1, (size_t)length, file);
        } else {
            fputs("\\ufffd", file);
        }
        c += length ? length : 1;
    }
    fputc('"', file);
}

/* Microseconds with three decimals, which is what the format wants. */
static void put_time(FILE *file, const char *key, uint64_t ticks) {
    uint64_t ns = vp__clock_ns(ticks);
    fprintf(file, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* Begins an event; the caller adds keys and the closing brace. */
static void begin_event(exporter *e, const char *phase, int thread, uint64_t ticks) {
    fprintf(e->file, "%s{\"ph\":\"%s\",\"pid\":%ld,\"tid\":%d", e->comma ? ",\n" : "",
            phase, (long)getpid(), thread);
    put_time(e->file, "ts", ticks);
    e->comma = true;
}

static void put_name(exporter *e, const char *category, const char *name) {
    fprintf(e->file, ",\"cat\":\"%s\",\"name\":", category);
    put_string(e->file, name);
}

/* Ends the event as well; `l` is the node's life where its line is to be told, or NULL. */
static void put_args(exporter *e, uint64_t node, uint64_t arg, const life *l) {
    fprintf(e->file,
            ",\"args\":{\"node\":%" PRIu64 ",\"where\":%u,\"stage\":%u,\"arg\":%" PRIu64,
            node, (unsigned)(arg >> 56), (unsigned)(arg >> 48 & 0xff),
            arg & UINT64_C(0xffffffffffff));
    if (l && l->line) {
        fputs(",\"line\":", e->file);
        put_string(e->file, l->line);
    }
    fputs("}}", e->file);
}

static const char *name_of(const life *l, const vp__trace_record *r) {
    if (r->name) return r->name;
    return l && l->name ? l->name : kind_names[vp__trace_record_kind(r)];
}

/* A slice from the opening record to `end`; `arg` is what the closing one says, if that
 * is anything. */
static void put_slice(exporter *e, const vp__trace_record *open, uint64_t end,
                      uint64_t arg, bool unfinished, int thread) {
    uint64_t start = vp__trace_record_ticks(open);
    bool waits = vp__trace_record_kind(open) == VP__TR_WAIT_BEGIN;
    const life *l = life_of(e, open->node);
    begin_event(e, "X", thread, start);
    put_name(e,
             waits        ? "wait"
             : unfinished ? "run,unfinished"
                          : "run",
             waits ? kind_names[VP__TR_WAIT_BEGIN] : name_of(l, open));
    put_time(e->file, "dur", end > start ? end - start : 0);
    put_args(e, open->node, arg ? arg : open->arg, l);
    if (waits || !l || l->issued == NEVER) return;
    if (l->started != start + 1 || l->started_by != thread) return;
    begin_event(e, "f", thread, start);
    put_name(e, "flow", "issue");
    fprintf(e->file, ",\"bp\":\"e\",\"id\":%" PRIu64 "}", open->node);
}

static void put_issue(exporter *e, const vp__trace_record *r, uint64_t until,
                      int thread) {
    uint64_t ticks = vp__trace_record_ticks(r);
    uint64_t length = (uint64_t)(ISSUE_NS / vp__clock_ns_per_tick);
    if (until - ticks < length) length = until - ticks; /* slices must not overlap */
    const life *l = life_of(e, r->node);
    begin_event(e, "X", thread, ticks);
    put_name(e, "issue", name_of(l, r));
    put_time(e->file, "dur", length);
    put_args(e, r->node, r->arg, l);
    if (!l || l->started == NEVER || l->issued != ticks + 1 || l->issued_by != thread)
        return;
    begin_event(e, "s", thread, ticks);
    put_name(e, "flow", "issue");
    fprintf(e->file, ",\"id\":%" PRIu64 "}", r->node);
}

/* A mark: in the life of the node if that has a beginning, else on the thread. */
static void put_mark(exporter *e, const vp__trace_record *r, bool in_life, int thread) {
    const life *l = life_of(e, r->node);
    in_life = in_life && l && l->issued != NEVER;
    begin_event(e, in_life ? "n" : "i", thread, vp__trace_record_ticks(r));
    const vp__trace_kind kind = vp__trace_record_kind(r);
    put_name(e, in_life ? "node" : "mark",
             kind == VP__TR_COMPILE && r->name ? r->name : kind_names[kind]);
    if (in_life) {
        fprintf(e->file, ",\"id\":%" PRIu64, r->node);
    } else {
        fputs(",\"s\":\"t\"", e->file);
    }
    if (kind != VP__TR_OPERATION) {
        put_args(e, r->node, r->arg, NULL);
        return;
    }
    fprintf(e->file, ",\"args\":{\"node\":%" PRIu64 ",\"operation\":", r->node);
    put_string(e->file, r->name ? r->name : "");
    fputs("}}", e->file);
}

static void put_lives(exporter *e) {
    for (uint64_t i = 0; e->lives && i <= e->mask; i++) {
        const life *l = &e->lives[i];
        if (!l->node || l->issued == NEVER) continue;
        const char *name = l->name ? l->name : "node";
        begin_event(e, "b", l->issued_by, l->issued - 1);
        put_name(e, "node", name);
        fprintf(e->file, ",\"id\":%" PRIu64 "}", l->node);
        if (l->ended == NEVER) continue; /* still in flight */
        begin_event(e, "e", l->issued_by, l->ended - 1);
        put_name(e, "node", name);
        fprintf(e->file, ",\"id\":%" PRIu64 "}", l->node);
    }
}

/* ---- the slices of a thread ---- */

/* Slices that are open, the innermost last. What is open beyond the depth is not shown;
 * real ones are three deep. */
enum { DEPTH = 64 };

typedef struct {
    const vp__trace_record *open[DEPTH];
    int depth;
} nest;

/* Closes the innermost slice of this kind and node, and first those inside it, which can
 * be open only if a record of theirs was dropped. A closing record without an opening one
 * becomes a mark. */
static void close_slice(exporter *e, nest *n, vp__trace_kind opening,
                        const vp__trace_record *r, int thread) {
    int at = n->depth - 1;
    while (at >= 0 && (vp__trace_record_kind(n->open[at]) != opening ||
                       n->open[at]->node != r->node)) {
        at--;
    }
    if (at < 0) {
        put_mark(e, r, false, thread);
        return;
    }
    uint64_t end = vp__trace_record_ticks(r);
    while (n->depth - 1 > at) put_slice(e, n->open[--n->depth], end, 0, true, thread);
    put_slice(e, n->open[--n->depth], end, r->arg, false, thread);
}

static void put_thread(exporter *e, const vp__trace_log *log, int64_t length) {
    int thread = log->number;
    nest n = {.depth = 0};
    reader at = reader_at_start(log, length);
    for (const vp__trace_record *r; (r = next(&at));) {
        const vp__trace_record *following = peek(&at);
        vp__trace_kind kind = vp__trace_record_kind(r);
        switch (kind) {
        case VP__TR_ISSUED:
            put_issue(e, r, following ? vp__trace_record_ticks(following) : e->last,
                      thread);
            break;
        case VP__TR_START:
        case VP__TR_WAIT_BEGIN:
            if (n.depth < DEPTH) n.open[n.depth++] = r;
            break;
        case VP__TR_FINISH: close_slice(e, &n, VP__TR_START, r, thread); break;
        case VP__TR_WAIT_END: close_slice(e, &n, VP__TR_WAIT_BEGIN, r, thread); break;
        case VP__TR_LINE: break; /* told with the node's slices */
        case VP__TR_SIZED:
        case VP__TR_PLACED:
        case VP__TR_READY:
        case VP__TR_STORE:
        case VP__TR_READ:
        case VP__TR_WRITE:
        case VP__TR_OPERATION:
        case VP__TR_RENAME: put_mark(e, r, true, thread); break;
        case VP__TR_STEAL:
        case VP__TR_LIMIT:
        case VP__TR_STORAGE:
        case VP__TR_COMPILE: put_mark(e, r, false, thread); break;
        }
    }
    while (n.depth) put_slice(e, n.open[--n.depth], e->last, 0, true, thread);
}

static void put_thread_name(exporter *e, const vp__trace_log *log) {
    char number[32];
    const char *name = atomic_load_explicit(&log->name, memory_order_acquire);
    snprintf(number, sizeof number, "thread %d", log->number);
    begin_event(e, "M", log->number, 0);
    fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", e->file);
    put_string(e->file, name ? name : number);
    fputs("}}", e->file);
}

void vp__trace_export(FILE *file, const vp__trace_log *logs) {
    exporter e = {.file = file};
    int64_t records = 0, dropped = 0, threads = 0, i = 0;
    for (const vp__trace_log *log = logs; log; log = log->next) threads++;
    int64_t *lengths = calloc((size_t)threads + 1, sizeof *lengths);
    for (const vp__trace_log *log = logs; lengths && log; log = log->next, i++) {
        lengths[i] = vp__trace_log_length(log);
        records += lengths[i];
        dropped += atomic_load_explicit(&log->dropped, memory_order_relaxed);
    }

    i = 0;
    for (const vp__trace_log *log = logs; lengths && log; log = log->next, i++) {
        reader at = reader_at_start(log, lengths[i]);
        for (const vp__trace_record *r; (r = next(&at));) learn(&e, r, log->number);
    }

    fprintf(file,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"vproc\","
            "\"records\":%" PRId64 ",\"dropped\":%" PRId64 "},\n\"traceEvents\":[\n",
            records, dropped);
    i = 0;
    for (const vp__trace_log *log = logs; lengths && log; log = log->next, i++) {
        put_thread_name(&e, log);
        put_thread(&e, log, lengths[i]);
    }
    put_lives(&e);
    fputs("\n]}\n", file);
    free(e.lives);
    free(lengths);
}
