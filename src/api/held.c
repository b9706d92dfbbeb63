/* SPDX-License-Identifier: Apache-2.0 */
#include "api/held.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/config.h"
#include "issue/close.h"
#include "issue/flat.h"
#include "issue/reuse.h"
#include "issue/tiny.h"
#include "net/call.h"
#include "net/cost.h"
#include "net/unissued.h"
#include "net/workers.h"

enum {
    MOST = 8,       /* values that a thread holds */
    PATIENCE = 6,   /* instructions that may come between a long one and its use */
    DUE = -1,       /* no patience at all: everything is issued */
    MOST_LEFT = 2,  /* storages that nothing but what is held keeps, */
    LARGE = 1 << 16 /* of as many bytes or more */
};

_Static_assert((int)MOST < UINT8_MAX, "an expression counts its names in a byte");

typedef struct {
    vp__expr *value;
    vp_array name;
} holding;

struct vp__holder {
    vp__core *core; /* of the thread, */
    vp__exprs *exprs;
    const vp__expr *worth; /* the latest value that would not run at once; or NULL */
    int left;              /* storages that names have left to what is held */
    int count;
    holding at[MOST]; /* oldest first */
};

static _Thread_local vp__holder *mine __attribute__((tls_model("initial-exec")));
_Thread_local int vp__held_patience;
/* Borrowed memory that an array has left while something read it: to be given back soon. */
static _Thread_local vp__storage *owed __attribute__((tls_model("initial-exec")));

static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;
static void issue_in_place(vp__core *owner);
static void issue_readers(vp__storage *s);

/* --- the list --------------------------------------------------------------------------- */

static bool is_name(vp_array a, vp_array b) {
    return a.slot == b.slot && a.generation == b.generation;
}

static void forget(vp_array a) {
    int i = 0;
    while (i < mine->count && !is_name(mine->at[i].name, a)) i++;
    if (i == mine->count) return;
    mine->count--;
    for (; i < mine->count; i++) mine->at[i] = mine->at[i + 1];
}

/* There is nothing long any more that waits for its use. */
static void stop_waiting(void) {
    mine->worth = NULL;
    vp__held_patience = 0;
    vp__unissued_done(mine->core);
}

static void issue(vp_array a) {
    vp__name *n = vp__held_lock(a);
    if (n) vp__name_unlock(n);
}

static void issue_worth(void) {
    const vp__expr *worth = mine->worth;
    stop_waiting();
    for (int i = 0; i < mine->count; i++)
        if (mine->at[i].value == worth) {
            issue(mine->at[i].name);
            return;
        }
}

void vp__held_issue_all(void) {
    vp__held_patience = 0;
    if (owed) {
        vp__storage *s = owed;
        owed = NULL;
        issue_readers(s);
        vp__storage_release(s);
    }
    if (!mine) return;
    stop_waiting();
    mine->left = 0;
    while (mine->count > 0) issue(mine->at[0].name);
}

__attribute__((noinline, cold)) void vp__held_lose_patience(void) {
    if (vp__held_patience <= DUE)
        vp__held_issue_all();
    else
        issue_worth();
}

/* A thread ends, and may have given its core to another one already. */
static void leave(void *of) {
    (void)of;
    VP__CALL_ON_TRACK;
    vp__held_issue_all();
    if (mine->core->holder == mine) mine->core->holder = NULL;
    free(mine);
    mine = NULL;
}

static void make_key(void) { pthread_key_create(&leaving, leave); }

/* NULL without memory: then nothing is held. */
static vp__holder *holder_new(void) {
    pthread_once(&leaving_once, make_key);
    mine = calloc(1, sizeof *mine);
    if (!mine) return NULL;
    mine->exprs = vp__exprs_of_thread();
    mine->core = vp__core_self();
    mine->core->holder = mine;
    pthread_setspecific(leaving, mine);
    /* relaxed: it is called after a number of ours has been seen. */
    atomic_store_explicit(&vp__unissued_issue, issue_in_place, memory_order_relaxed);
    return mine;
}

/* Whether it is a value that can be used where it is not issued. */
static bool is_usable(const vp__expr *e) {
    return e->kind == VP__EXPR_OP || e->kind == VP__EXPR_REDUCE ||
           e->kind == VP__EXPR_LEAF;
}

bool vp__held_may_stay(const vp__expr *e) {
    /* Of arrays selections alone: to give the whole of one another name takes no longer. */
    if (!is_usable(e) || e->late || (e->kind == VP__EXPR_LEAF && !e->buffer))
        return false;
    /* relaxed: what another thread does about it waits for the end of this call. */
    return !atomic_load_explicit(&vp__many_issuers, memory_order_relaxed) &&
           !(vp__config_get()->without & VP__WITHOUT_LIVENESS) && (mine || holder_new());
}

/* --- holding ---------------------------------------------------------------------------- */

/* The value becomes a name's, which is locked. Its layout is noted with it: those who use it
 * from now on refer to it, and not to a leaf that goes when it is issued. */
static void hold(vp__name *n, vp__expr *e) {
    n->held = e;
    n->holder = mine;
    if (e->names++) return;
    vp__expr_drop_buffer(e);
    if (!e->leaves) e->leaves = 1; /* of constants alone: once stored it is one */
    if (e->like && e->kind != VP__EXPR_LEAF) {
        vp__flat_strides(e, e->strides);
        e->like = e;
    }
    e->generation++; /* handles of the expression are used up */
    vp__expr_link(e);
}

/* Notes what a name holds now; it is not locked any more. */
static void note(vp_array a, const vp__expr *e) {
    mine->at[mine->count++] = (holding){(vp__expr *)e, a};
    if (vp__is_tiny(e->cost, e->op)) return;
    mine->worth = e;
    if (vp__held_patience != DUE) vp__held_patience = PATIENCE;
    vp__workers_start();
    vp__unissued_keep(mine->core, e->cost * (float)vp__cost_factor(e->op));
}

/* Before another value is held: a long one that it does not use has waited long enough. */
static void make_room(void) {
    if (mine->count == MOST) issue(mine->at[0].name);
    if (mine->worth) issue_worth();
}

vp_array vp__held_new(vp__expr *e) {
    make_room();
    vp_array a;
    vp__name *n = vp__name_take(&a);
    if (!n) {
        vp__expr_free(e);
        vp__name_refuse(a);
        return a;
    }
    hold(n, e);
    vp__name_unlock(n);
    note(a, e);
    return a;
}

/* --- when a name goes ------------------------------------------------------------------- */

/* The name, which nobody but us can have made another meanwhile. */
static vp__name *lock_again(vp_array a, const vp__expr *e) {
    vp__name *n = vp__name_lock(a);
    if (!n || n->held == e) return n;
    vp__name_unlock(n);
    return NULL;
}

/* A name holds a value no more. */
static void let_go(vp__name *n) {
    vp__expr *e = n->held;
    n->held = NULL;
    if (mine->worth == e) stop_waiting();
    if (--e->names == 0) vp__expr_unlink(e);
    vp__expr_free(e);
}

/* What nobody will see is computed all the same, unless it has been, or is used by others. */
static void compute(vp__expr *e) {
    if (e->others) return;
    if (!e->computed)
        vp__materialise(e);
    else if (e->kind != VP__EXPR_LEAF)
        vp__reuse_was_none(e->where);
}

/* Both have the name locked, and lock it again; issuing may take long. */
static vp__name *drop_own(vp__name *n, vp_array a) {
    vp__expr *e = n->held;
    vp__name_unlock(n);
    forget(a);
    compute(e);
    n = lock_again(a, e);
    if (n) let_go(n);
    return n;
}

static vp__name *issue_own(vp__name *n, vp_array a) {
    vp__expr *e = n->held;
    vp__name_unlock(n);
    forget(a);
    vp__materialise(e);
    vp__value v;
    vp__close_to_own(vp__expr_share(e), &v, e->where);
    n = lock_again(a, e);
    if (n) {
        let_go(n);
        vp__name_bind(n, &v);
    } else {
        vp__value_release(&v);
    }
    return n;
}

/* --- in another thread's place ------------------------------------------------------------ */

/* What a thread has of its own while it stands in another one's place. */
typedef struct {
    vp__holder *holder;
    vp__exprs *exprs;
    int patience;
} place;

/* Takes the place of a thread that is stopped, and so has nothing in hand; gives it back. */
static place take_place(vp__holder *of) {
    const place own = {mine, vp__exprs_take_place(of->exprs), vp__held_patience};
    mine = of;
    return own;
}

static void give_place_back(const place *own) {
    mine = own->holder;
    vp__exprs_take_place(own->exprs);
    vp__held_patience = own->patience;
}

static vp__name *in_its_place(vp__name *(*what)(vp__name *, vp_array), vp__name *n,
                              vp_array a) {
    vp__name_unlock(n);
    vp__others_stop(vp__core_self());
    n = vp__name_lock(a);
    if (n && n->held) {
        const place own = take_place(n->holder);
        n = what(n, a);
        give_place_back(&own);
    }
    vp__others_let_go();
    return n;
}

/* For an idle worker. */
static void issue_in_place(vp__core *owner) {
    if (!owner->holder) return; /* its thread has ended */
    const place own = take_place(owner->holder);
    issue_worth();
    give_place_back(&own);
}

/* All that any thread's names hold, since another one's may read it. */
static void issue_everywhere(void) {
    vp__core *self = vp__core_self();
    vp__others_stop(self);
    const int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        if (!vp__cores[i]->holder) continue;
        const place own = take_place(vp__cores[i]->holder);
        vp__held_issue_all();
        give_place_back(&own);
    }
    vp__others_let_go();
}

/* What the thread has open that reads borrowed memory, whether it has a name or not. */
static void issue_readers(vp__storage *s) {
    vp__materialise_readers(s);
    if (vp__storage_captures(s) > 0) issue_everywhere();
}

/* --- names, whatever they hold ------------------------------------------------------------ */

__attribute__((noinline)) static vp__name *issue_held(vp__name *n, vp_array a) {
    return n->holder == mine ? issue_own(n, a) : in_its_place(issue_own, n, a);
}

vp__name *vp__held_lock(vp_array a) {
    vp__name *n = vp__name_lock(a);
    return __builtin_expect(n && n->held, 0) ? issue_held(n, a) : n;
}

vp__expr *vp__held_use(vp__name **name, vp_array a) {
    vp__name *n = *name;
    vp__expr *e = n->held;
    if (n->holder != mine || !is_usable(e)) {
        *name = issue_held(n, a);
        return NULL;
    }
    vp__name_unlock(n);
    if (mine->worth == e) stop_waiting();
    return vp__expr_share(e);
}

vp__expr *vp__held_look(vp_array a) {
    vp__name *n = vp__name_lock(a);
    if (!n) return NULL;
    vp__expr *e = n->held && n->holder == mine ? vp__expr_share(n->held) : NULL;
    vp__name_unlock(n);
    return e;
}

/* A name is about to leave its storage. What is held may be all that keeps that; if it is too
 * much, or memory that the program waits for, everything is issued soon. */
static void leave_storage(const vp__name *n) {
    vp__buffer *b = n->buffer;
    if (!b) return;
    const bool shared = vp__buffer_is_shared(b);
    if (shared) vp__spin_lock(&b->lock);
    vp__storage *s = b->storage;
    const bool read = vp__storage_captures(s) > 0;
    if (read && s->borrowed) {
        vp__storage_retain(s);
        owed = s;
        vp__held_patience = DUE;
    } else if (read && mine && s->bytes >= LARGE && ++mine->left > MOST_LEFT) {
        vp__held_patience = DUE;
    }
    if (shared) vp__spin_unlock(&b->lock);
}

vp__name *vp__held_lock_to_bind(vp_array a) {
    vp__name *n = vp__name_lock(a);
    if (!n) return NULL;
    if (__builtin_expect(n->held == NULL, 1))
        leave_storage(n);
    else if (n->holder == mine)
        n = drop_own(n, a);
    else
        n = in_its_place(drop_own, n, a);
    return n;
}

bool vp__held_free(vp_array a) {
    vp__name *n = vp__held_lock_to_bind(a);
    if (!n) return false;
    vp__name_free(n, a);
    vp__held_pay();
    return true;
}

bool vp__held_set(vp_array a, vp__expr *e) {
    make_room();
    vp__name *n = vp__held_lock_to_bind(a);
    if (!n) {
        vp__expr_free(e);
        return false;
    }
    vp__name_unbind(n);
    hold(n, e);
    vp__name_unlock(n);
    note(a, e);
    return true;
}
