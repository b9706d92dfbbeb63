/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vp__error no_memory = {.refs = 1,
                              .status = VP_ERR_MEMORY,
                              .message = "out of memory, even for an error message"};

vp__error *vp__error_newv(vp_status status, const char *where, const char *format,
                          va_list args) {
    va_list again;
    va_copy(again, args);
    int text = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t prefix = where ? strlen(where) + 2 : 0;
    vp__error *e = text < 0 ? NULL : malloc(sizeof *e + prefix + (size_t)text + 1);
    if (!e) return vp__error_retain(&no_memory);
    char *message = (char *)(e + 1);
    *e = (vp__error){.refs = 1, .status = status, .message = message};
    if (where) {
        memcpy(message, where, prefix - 2);
        memcpy(message + prefix - 2, ": ", 2);
    }
    vsnprintf(message + prefix, (size_t)text + 1, format, args);
    return e;
}

vp__error *vp__error_new(vp_status status, const char *where, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vp__error *e = vp__error_newv(status, where, format, args);
    va_end(args);
    return e;
}

vp__error *vp__error_wrap(vp__error *e, const char *where, const char *name) {
    if (!e) return NULL;
    vp__error *w = vp__error_new(e->status, where, "%s: %s", name, e->message);
    vp__error_release(e);
    return w;
}

vp__error *vp__error_retain(vp__error *e) {
    if (e) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void vp__error_release(vp__error *e) {
    /* acq_rel: whoever frees has seen every other holder's last use. */
    if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1 &&
        e != &no_memory)
        free(e);
}

/* A pointer and no buffer for the text: a library that others open at run time has only a
 * few hundred bytes of fast thread-local memory to share with everybody else's. */
static _Thread_local vp__error *last __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static void leave(void *e) {
    last = NULL;
    vp__error_release(e);
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

static void set_last(vp__error *e) {
    pthread_once(&leaving_once, make_key);
    pthread_setspecific(leaving, e);
    vp__error_release(last);
    last = e;
}

void vp__error_remember(vp__error *e) { set_last(vp__error_retain(e)); }

void vp__error_forget(void) {
    if (last) set_last(NULL);
}

vp__error *vp__error_last(void) { return last; }

vp__error *vp__error_take(void) {
    vp__error *e = last;
    if (e) pthread_setspecific(leaving, NULL); /* the thread holds it no more */
    last = NULL;
    return e;
}

void vp__error_put_back(vp__error *e) {
    if (e || last) set_last(e);
}
