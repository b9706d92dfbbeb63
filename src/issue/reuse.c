/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/reuse.h"

#include <stdint.h>

enum {
    LINES = 64,     /* that a thread remembers */
    CHEAP_NS = 200, /* computed as often as it is wanted: storing takes as long */
    MOST_UNKNOWN_NS =
        20000, /* of a line never seen before, which may have to be computed twice */
};

typedef struct {
    const char *where;
    bool was_used; /* again, the last time */
} line;

static _Thread_local line lines[LINES] __attribute__((tls_model("initial-exec")));

static line *line_of(const char *where) {
    const uint64_t h = (uint64_t)(uintptr_t)where * 0x9e3779b97f4a7c15u;
    return &lines[h >> 58];
}
_Static_assert(LINES == 1 << 6, "line_of takes six bits");

bool vp__reuse_is_likely(const char *where, float cost, bool again) {
    if (cost <= CHEAP_NS) return false;
    line *l = line_of(where);
    if (again) {
        *l = (line){where, true};
        return true;
    }
    return l->where == where ? l->was_used : cost > MOST_UNKNOWN_NS;
}

void vp__reuse_was_none(const char *where) { *line_of(where) = (line){where, false}; }
