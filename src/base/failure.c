/* SPDX-License-Identifier: Apache-2.0 */
#include "base/failure.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/spin.h"

/* So many are kept; of those beyond, only how many there are, for the end. */
enum { MOST = 1000, LINE = 2000 };

/* What an error's `failure` says. */
enum { NONE, KEPT, COUNTED, LOOKED_AT };

static vp__spinlock lock; /* guards what follows, for moments */
static vp__error *first;  /* of those kept, through ->next, latest first */
static int kept;          /* how many that are */
static uint64_t beyond;   /* failures that are only counted */
static uint64_t raised;   /* failures so far */
static uint64_t
    of_parent; /* those up to this one were raised before the process forked */

static uint64_t (*issued_by_thread)(void);

/* --- telling ---------------------------------------------------------------------------- */

/* One line in one piece. Not through stdio: a thread that the end of the process has stopped
 * may hold its lock. */
static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...) {
    char line[LINE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0) return;
    if (n > LINE - 2) n = LINE - 2;
    line[n++] = '\n';
    for (int done = 0; done < n;) {
        ssize_t more = write(STDERR_FILENO, line + done, (size_t)(n - done));
        if (more <= 0) return;
        done += (int)more;
    }
}

static void tell_at_once(const vp__error *e) {
    const vp__errors_mode mode = vp__config_get()->errors;
    if (mode != VP__ERRORS_PRINT && mode != VP__ERRORS_ABORT) return;
    tell("vproc: %s", e->message);
    if (mode == VP__ERRORS_ABORT) abort();
}

/* --- the list --------------------------------------------------------------------------- */

/* relaxed: it changes under the lock, and whoever sees it early takes the lock or does
 * nothing. */
static int state_of(const vp__error *e) {
    return atomic_load_explicit(&e->failure, memory_order_relaxed);
}

static void set_state(vp__error *e, int state) {
    atomic_store_explicit(&e->failure, (unsigned char)state, memory_order_relaxed);
}

static void keep(vp__error *e) {
    if (kept == MOST) {
        beyond++;
        set_state(e, COUNTED);
        return;
    }
    kept++;
    set_state(e, KEPT);
    vp__error_retain(e);
    e->previous = NULL;
    e->next = first;
    if (first) first->previous = e;
    first = e;
}

/* Returns the list's reference. */
static vp__error *unlink_kept(vp__error *e) {
    if (e->previous)
        e->previous->next = e->next;
    else
        first = e->next;
    if (e->next) e->next->previous = e->previous;
    kept--;
    set_state(e, LOOKED_AT);
    return e;
}

static void raise_at(vp__error *e, uint64_t issue) {
    vp__spin_lock(&lock);
    const bool is_new = state_of(e) == NONE;
    if (is_new) {
        e->issue = issue;
        e->number = ++raised;
        keep(e);
    }
    vp__spin_unlock(&lock);
    if (is_new) tell_at_once(e);
}

/* What was known when it was issued comes after the last node that was issued before. */
void vp__failure_raise(vp__error *e) {
    if (!e || state_of(e) != NONE) return;
    raise_at(e, issued_by_thread ? 2 * issued_by_thread() + 1 : 0);
}

void vp__failure_raise_late(vp__error *e, uint64_t issued) {
    if (state_of(e) == NONE) raise_at(e, 2 * issued);
}

void vp__failure_look_at(vp__error *e) {
    if (!e || state_of(e) == LOOKED_AT) return;
    vp__error *mine = NULL;
    vp__spin_lock(&lock);
    if (state_of(e) == KEPT)
        mine = unlink_kept(e);
    else if (state_of(e) == COUNTED)
        beyond--;
    set_state(e, LOOKED_AT);
    vp__spin_unlock(&lock);
    vp__error_release(mine);
}

static bool is_before(const vp__error *a, const vp__error *b) {
    return a->issue != b->issue ? a->issue < b->issue : a->number < b->number;
}

static vp__error *earliest(uint64_t after) {
    vp__error *found = NULL;
    for (vp__error *e = first; e; e = e->next)
        if (e->number > after && (!found || is_before(e, found))) found = e;
    return found;
}

vp__error *vp__failure_take(void) {
    vp__spin_lock(&lock);
    vp__error *e = earliest(0);
    if (e) unlink_kept(e);
    vp__spin_unlock(&lock);
    return e;
}

void vp__failure_refuse(vp__error *e) {
    vp__failure_raise(e);
    vp__error_remember(e);
    vp__error_release(e);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Of those kept. */
static uint64_t count_after(uint64_t number) {
    uint64_t n = 0;
    for (const vp__error *e = first; e; e = e->next) n += e->number > number;
    return n;
}

void vp__failure_end(void) {
    if (!vp__spin_trylock(&lock)) return; /* the process ends in the midst of it */
    vp__error *e = vp__error_retain(earliest(of_parent));
    const uint64_t all = count_after(of_parent) + beyond;
    vp__spin_unlock(&lock);
    if (!e) return;
    char others[64] = "";
    if (all > 1)
        snprintf(others, sizeof others, " (and %llu more; VP_ERRORS=print shows all)",
                 (unsigned long long)all - 1);
    if (vp__config_get()->errors == VP__ERRORS_AT_END)
        tell("vproc: the program has ended, and never looked at this failure: %s%s",
             e->message, others);
    vp__error_release(e);
}

static void before_fork(void) { vp__spin_lock(&lock); }
static void after_fork(void) { vp__spin_unlock(&lock); }

/* The child may look at what failed before; that nobody did is for the parent to say. */
static void after_fork_in_child(void) {
    of_parent = raised;
    beyond = 0;
    vp__spin_unlock(&lock);
}

void vp__failure_init(uint64_t (*issued)(void)) {
    issued_by_thread = issued;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
