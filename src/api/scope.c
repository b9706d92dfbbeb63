/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes. Those that a thread leaves open end with it, so that what it named in them does not
 * stay for good; what it named outside of any stays valid for others.
 */
#include <pthread.h>

#include "api/held.h"
#include "api/operand.h"

static _Thread_local bool is_looked_after __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving; /* of threads that are */
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static void end(const char *where, vp_scope scope) {
    if (!vp__scope_end(where, scope)) return;
    for (vp_array a; vp__scope_left(&a);) vp__held_free(a);
}

/* A thread ends. What its names hold unissued may have been issued before or not, its
 * expressions may be gone, and its core may be another thread's by now; its list of names is
 * there as long as a scope is open (names.c). */
static void leave(void *of) {
    (void)of;
    VP__CALL_ON_TRACK;
    const vp_scope outermost = vp__scope_outermost();
    if (outermost.depth) end(NULL, outermost);
    is_looked_after = false;
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

__attribute__((noinline, cold)) static void look_after_thread(void) {
    pthread_once(&leaving_once, make_key);
    is_looked_after = pthread_setspecific(leaving, &leaving) == 0;
}

vp_scope vp__begin(const char *where) {
    VP__CALL;
    if (__builtin_expect(!is_looked_after, 0)) look_after_thread();
    return vp__scope_begin(where);
}

void vp__end(const char *where, vp_scope scope) {
    VP__CALL;
    end(where, scope);
}

vp_array vp__keep(const char *where, vp_array a) {
    VP__CALL;
    return vp__name_keep(where, a);
}

vp_expr vp__keep_expr(const char *where, vp_expr x) {
    VP__CALL;
    vp__expr *e = vp__expr_find(x.slot, x.generation);
    if (!e) {
        vp__error *error = vp__expr_stale(x, where);
        vp__error_remember(error);
        vp__error_release(error);
    } else if (e->depth > 0 && e->depth == vp__scope_depth()) {
        e->depth--;
    }
    return x;
}
