/* SPDX-License-Identifier: Apache-2.0
 *
 * `vproc kernels [--short] [--number N]`: the compiled kernels in the cache, those that ran for
 * longest first: stage, size, runs, time, when they were used last, and their IR.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "jit/cache.h"

enum { USUAL = 20 };

typedef struct {
    vp__cache_usage usage;
    int64_t bytes, last_use;
    size_t code;
    char *ir, *stage;
} row;

typedef struct {
    row *row;
    size_t count, room;
    int64_t bytes;
    bool no_memory;
} list;

static bool add(void *context, const vp__cache_entry *e) {
    list *l = context;
    if (l->count == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        row *more = realloc(l->row, room * sizeof *more);
        if (!more) {
            l->no_memory = true;
            return false;
        }
        l->row = more;
        l->room = room;
    }
    const vp__cache_meta *m = &e->file.meta;
    row *r = &l->row[l->count++];
    *r = (row){.usage = e->file.usage,
               .bytes = e->bytes,
               .last_use = e->last_use,
               .code = e->file.object_size,
               .ir = strdup(m->ir),
               .stage = strdup(m->stage)};
    l->bytes += e->bytes;
    l->no_memory = !r->ir || !r->stage;
    return !l->no_memory;
}

static int by_time(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->usage.ns != y->usage.ns) return x->usage.ns < y->usage.ns ? 1 : -1;
    return x->last_use < y->last_use ? 1 : x->last_use > y->last_use ? -1 : 0;
}

/* A text for a terminal: nothing but printable characters, indented. */
static void show_text(const char *text) {
    bool fresh = true;
    for (const char *c = text; *c; c++) {
        if (fresh) fputs("      ", stdout);
        fresh = *c == '\n';
        putchar(*c == '\n' || (*c >= ' ' && *c < 127) ? *c : '?');
    }
    if (!fresh) putchar('\n');
}

static void show(const row *r, bool whole) {
    char when[32] = "never";
    const time_t seconds = (time_t)r->last_use;
    struct tm t;
    if (r->last_use > 0 && localtime_r(&seconds, &t))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &t);
    printf("%-12s %8zu bytes %12llu runs %12.3f ms   %s\n", r->stage, r->code,
           (unsigned long long)r->usage.runs, (double)r->usage.ns / 1e6, when);
    if (whole) show_text(r->ir);
}

static void release(list *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->row[i].ir);
        free(l->row[i].stage);
    }
    free(l->row);
}

static int list_kernels(bool whole, size_t most) {
    const char *why = NULL;
    vp__cache *cache = vp__cache_get_default(&why);
    if (!cache) {
        printf("There is no cache of compiled kernels: %s.\n",
               why ? why : "VP_CACHE=off");
        return 0;
    }
    list l = {0};
    vp__cache_each(cache, add, &l);
    if (l.no_memory) {
        fprintf(stderr, "vproc kernels: out of memory\n");
        release(&l);
        return 1;
    }
    if (l.count) qsort(l.row, l.count, sizeof *l.row, by_time);
    printf("%zu kernels, %.1f MB, in %s\n", l.count, (double)l.bytes / 1e6,
           vp__cache_path(cache));
    for (size_t i = 0; i < l.count && i < most; i++) show(&l.row[i], whole);
    if (l.count > most)
        printf("and %zu more (vproc kernels --number %zu)\n", l.count - most, l.count);
    release(&l);
    return 0;
}

int vp__cli_kernels(int argc, char **argv) {
    bool whole = true;
    long most = USUAL;
    for (int i = 0; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--short") == 0) {
            whole = false;
        } else if (strcmp(argv[i], "--number") == 0 && i + 1 < argc &&
                   (most = strtol(argv[++i], &end, 10), *end == 0 && most > 0)) {
        } else {
            fprintf(stderr, "usage: vproc kernels [--short] [--number N]\n");
            return 2;
        }
    }
    return list_kernels(whole, (size_t)most);
}
