/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors as values. An error is made once, where something went wrong, with a whole
 * sentence that names the instruction and the user's line; after that only references to
 * it travel: through poisoned values to wherever the user looks.
 */
#ifndef VP_BASE_ERROR_H
#define VP_BASE_ERROR_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include "vproc.h"

typedef struct vp__error {
    _Atomic int refs; /* relaxed to add, acq_rel to drop: the last drop frees */
    vp_status status;
    const char *message; /* whole sentence; allocated with the record */
    /* For failure.c alone: what has become of it as a failure, its place in the order of issue
     * and in that of time, and its neighbours in the list. */
    _Atomic unsigned char failure;
    uint64_t issue, number;
    struct vp__error *next, *previous;
} vp__error;

/* A new error with one reference, its message "where: text" (where may be NULL). Never
 * fails: without memory it returns a shared, static out-of-memory error. */
vp__error *vp__error_new(vp_status status, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vp__error *vp__error_newv(vp_status status, const char *where, const char *format,
                          va_list args);
/* The same error told of an instruction: "where: name: text"; takes e over. NULL stays NULL. */
vp__error *vp__error_wrap(vp__error *e, const char *where, const char *name);
vp__error *vp__error_retain(vp__error *e);
void vp__error_release(vp__error *e); /* NULL is fine */

/* The calling thread's last error, as vp_message() shows it. */
void vp__error_remember(vp__error *e); /* takes a reference of its own */
void vp__error_forget(void);
/* Takes it away for a while. */
vp__error *vp__error_take(void);
/* What it is, NULL if none. */
vp__error *vp__error_last(void);
void vp__error_put_back(vp__error *e);

#endif
