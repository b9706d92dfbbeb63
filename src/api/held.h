/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that names hold unissued. A value that gets a name is not computed and stored at once:
 * what uses it next may take it into its own kernel, and if nobody wants it after that, it never
 * has to be stored. It is issued when somebody needs it as an array (a part of it, its elements,
 * its storage), when the name goes and nobody else has computed it, and when the thread holds
 * too many, keeps too much memory by that, or has gone on for a while from one that is worth
 * another core's time; then an idle worker may issue it as well. So not stored is not the same as
 * not computed, and when something is issued decides how it is cut, but not its bits.
 *
 * A held value is the expression of the thread that issued it. As long as there is one such
 * thread nobody else can meet one. When there are several, names hold nothing any more, and a
 * thread that meets a value that is held since before stops its owner for a moment and issues
 * it in the owner's place.
 */
#ifndef VP_API_HELD_H
#define VP_API_HELD_H

#include "api/names.h"

/* What the names of a thread hold. */
typedef struct vp__holder vp__holder;

/* Whether a value may stay unissued under a name. */
bool vp__held_may_stay(const vp__expr *e);

/* A name for such a value, which is taken over; or one that exists holds it from now on, in
 * place of what it stood for (false: the handle is stale). */
vp_array vp__held_new(vp__expr *e);
bool vp__held_set(vp_array a, vp__expr *e);

/* The name, locked, with what it held issued; NULL if there is none. */
vp__name *vp__held_lock(vp_array a);
/* The same to be bound to something else: what it held has been let go. */
vp__name *vp__held_lock_to_bind(vp_array a);
/* Frees a name. False if there is none. */
bool vp__held_free(vp_array a);

/* One more use of the value that a locked name holds, as an operand; the name is unlocked. NULL:
 * the value has been issued instead, the name is locked still, if it is there. */
vp__expr *vp__held_use(vp__name **n, vp_array a);

/* The value that a name of the calling thread's holds, to learn its type and shape, which is no
 * use of it: one more reference. NULL: there is none. */
vp__expr *vp__held_look(vp_array a);

/* Issues all that the calling thread's names hold. */
void vp__held_issue_all(void);

/* An instruction has been issued. How many may come before a long value that is held has waited
 * long enough; 0: there is none; below that, everything that is held has. */
extern _Thread_local int vp__held_patience __attribute__((tls_model("initial-exec")));
void vp__held_lose_patience(void);
static inline void vp__held_pass_one(void) {
    if (__builtin_expect(vp__held_patience != 0, 0) && --vp__held_patience <= 0)
        vp__held_lose_patience();
}

/* A name has gone, or stands for something else: if what is held keeps too much memory because
 * of that, it is issued now. */
static inline void vp__held_pay(void) {
    if (__builtin_expect(vp__held_patience < 0, 0)) vp__held_lose_patience();
}

#endif
