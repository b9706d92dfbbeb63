/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/reuse.h"

#include <stdint.h>

#include "issue/issuer.h"

enum {
    LINES = 64,     /* that a thread remembers */
    CHEAP_NS = 200, /* computed as often as it is wanted: storing takes as long */
    MOST_UNKNOWN_NS =
        20000, /* of a line never seen before, which may have to be computed twice */
};

/* NULL without memory: nothing is remembered then. */
static vp__reuse *line_of(const char *where) {
    vp__issuer *issuer = vp__issuer_of(vp__core_self());
    const uint64_t h = (uint64_t)(uintptr_t)where * 0x9e3779b97f4a7c15u;
    return issuer ? &issuer->reuse[h >> 58] : NULL;
}
_Static_assert(VP__ISSUER_LINES == 1 << 6, "line_of takes six bits");

bool vp__reuse_is_likely(const char *where, float cost, bool again) {
    if (cost <= CHEAP_NS) return false;
    vp__reuse *l = line_of(where);
    if (l && again) *l = (vp__reuse){where, true};
    if (again) return true;
    return l && l->where == where ? l->was_used : cost > MOST_UNKNOWN_NS;
}

void vp__reuse_was_none(const char *where) {
    vp__reuse *l = line_of(where);
    if (l) *l = (vp__reuse){where, false};
}
