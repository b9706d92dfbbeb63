/* SPDX-License-Identifier: Apache-2.0
 *
 * Specialised code: a kernel's native code once more, for the very constants, sizes and
 * strides that its runs keep having. It may gain nothing, so it is on trial first: runs
 * use the one and the other in turn, and the measured times decide. What does not pay is
 * dropped, and not tried again; what does is tried again now and then.
 *
 * A kernel has few variants and so have all kernels together, whatever a program does with
 * its shapes: facts that come and go never get as far as to be compiled. Code that was
 * dropped stays where it is, since a thread may be running it.
 */
#ifndef VP_JIT_SPECIAL_H
#define VP_JIT_SPECIAL_H

#include <stdatomic.h>

#include "base/spin.h"
#include "jit/cache_file.h"
#include "jit/facts.h"
#include "jit/object.h"

typedef enum {
    VP__CODE_NEW,
    VP__CODE_QUEUED,
    VP__CODE_READY,
    VP__CODE_FAILED
} vp__code_state;

/* Code of either stage, and how it fared. */
typedef struct {
    _Atomic int state; /* vp__code_state */
    /* Set once, by a release that pairs with the acquire of a thread that is about to run it. */
    _Atomic(vp__native_fn) fn;
    vp__object *object; /* where it is; never released */
    /* Of all runs, as far as they were measured. Relaxed: nothing depends on them but what is
     * tried, and what a listing shows. */
    _Atomic uint64_t runs, ns;
    uint64_t noted_runs, noted_ns; /* what the cache knows of those; for usage.c alone */
    vp__cache_key key;             /* does not change once `fn` is set */
} vp__built;

typedef enum { VP__PHASE_TRIAL, VP__PHASE_KEPT, VP__PHASE_DROPPED } vp__special_phase;

enum { VP__TRIAL_RUNS = 24, VP__VARIANTS = 16 };

typedef struct vp__variant {
    vp__built built;
    vp__facts facts;   /* does not change */
    _Atomic int phase; /* vp__special_phase; relaxed: either code is right at any time */
    _Atomic uint32_t turn;
    /* The object that compiling made, until it is known whether the cache shall have it. */
    void *image;
    size_t image_bytes;
    /* The trial; `lock` guards the rest; a thread that finds it taken does without. */
    vp__spinlock lock;
    bool was_kept;
    uint64_t again;                  /* runs after which kept code is on trial again */
    int count[2];                    /* of samples: native, specialised */
    float sample[2][VP__TRIAL_RUNS]; /* nanoseconds per element */
    double ns;                       /* of all native samples */
} vp__variant;

/* The variants of one kernel. All zero is a valid beginning. */
typedef struct {
    _Atomic(vp__variant *) variant[VP__VARIANTS]; /* filled from the first on, and kept */
    _Atomic int live;  /* on trial or kept: a hint whether facts are worth finding out */
    vp__spinlock lock; /* guards the candidates, and adding; as above */
    struct {
        uint64_t runs; /* 0: free */
        vp__facts facts;
    } candidate[2];
} vp__special;

/* The variant for these facts, or NULL. */
vp__variant *vp__special_find(vp__special *s, const vp__facts *facts);

/* Notes `runs` runs with these facts, which take `ns` each: a new variant, QUEUED, if these
 * facts have by now taken `worth` nanoseconds, so that code for them should be tried; else
 * NULL. */
vp__variant *vp__special_note(vp__special *s, const vp__facts *facts, int runs, double ns,
                              double worth);

/* A new variant at once, whatever its runs take, for tests. */
vp__variant *vp__special_add(vp__special *s, const vp__facts *facts);

/* Whether another variant could be added in the normal course of things. */
bool vp__special_has_room(const vp__special *s);

/* The variant's code is there, and on trial unless it is to be used anyway. */
void vp__special_start(vp__special *s, vp__variant *v, bool anyway);

/* Whether a run takes the variant, whose code is there. */
bool vp__special_is_due(vp__variant *v);

typedef enum { VP__NOT_DECIDED, VP__DECIDED_KEEP, VP__DECIDED_DROP } vp__verdict;

/* A run took so long, `each` per element, with the variant or, on trial, with native code.
 * Only one thread is told a decision; then *permille is what the variant took of the
 * native code's time. */
vp__verdict vp__special_measured(vp__special *s, vp__variant *v, bool specialised,
                                 double each, double ns, int *permille);

#endif
