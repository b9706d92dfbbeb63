/* SPDX-License-Identifier: Apache-2.0
 *
 * How puts gather in a bundle, and when it is handed over.
 */
#include "net/bundle.h"

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "jit/plugin.h"
#include "net/bundle_run.h"
#include "net/cost.h"
#include "net/traced.h"
#include "net/tuning.h"

enum {
    BLOCK = 4096 - 64, /* of the pool, for node, accesses and lanes */
    MOST_VALUE = 1024, /* bytes of a value */
};

/* --- gathering ----------------------------------------------------------------------- */

static uint64_t instructions_of(const vp__core *core) {
    return atomic_load_explicit(&core->counters.issued, memory_order_relaxed) +
           atomic_load_explicit(&core->counters.inlined, memory_order_relaxed);
}

/* Counts puts of one form in a row; whether there are enough of them. */
static bool is_loop(vp__core *core, const vp__recipe *recipe) {
    const uint64_t now = instructions_of(core);
    if (recipe->form == core->streak_form && now == core->streak_at)
        core->streak++;
    else
        core->streak = 0;
    core->streak_form = recipe->form;
    core->streak_at = now + 1; /* if it runs at once or becomes a node of its own */
    return core->streak >= vp__tuning.bundle_after;
}

/* What cannot be put into no elements at all shows elsewhere (put.c): not in a bundle. */
static bool is_empty(const vp__target *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] == 0) return true;
    return false;
}

static bool is_wanted(const vp__recipe *recipe, const vp__expr *value,
                      const vp__target *t) {
    const vp__config *config = vp__config_get();
    if (config->sync || !config->inline_nodes || vp__device_count || is_empty(t) ||
        config->without & VP__WITHOUT_BUNDLES)
        return false;
    const float cost = value->cost * (float)vp__cost_factor(value->op);
    return 2 * cost < (float)vp__tuning.bundle_ns &&
           vp__recipe_last(recipe)->out_bytes <= MOST_VALUE;
}

/* Enters the first read of a storage, behind whatever it has to wait for. Only while the
 * bundle is opened, with `waits`, may that be anything: later on others may wait for the
 * bundle already, and what it waited for could be waiting for them. */
static bool enter_read(vp__node *n, vp__storage *s, const vp__region *region,
                       int *waits) {
    vp__bundle *b = n->payload;
    vp__bundle_read *r = &b->read[n->ninputs];
    vp__group *g = NULL;
    vp__spin_lock(&s->lock);
    /* acquire pairs with the release of whoever allocated it, who may still be at it. */
    r->host = atomic_load_explicit(&s->host, memory_order_acquire);
    r->sequence = s->log.sequence;
    r->waits = false;
    r->ngates = 0;
    if (waits) {
        const int before = *waits;
        r->ngates = vp__log_gates(&s->log, false, region, r->gate, VP__BUNDLE_READ_GATES);
        if (r->ngates <= VP__BUNDLE_READ_GATES)
            g = vp__log_enter(&s->log, false, region, n, VP__WAIT_INPUT, waits);
        /* Perhaps for more than the gates, where there are too many accesses to list. */
        r->waits = *waits > before;
    } else {
        g = vp__log_try(&s->log, false, region);
    }
    vp__spin_unlock(&s->lock);
    if (!g) return false;
    vp__storage_retain(s);
    /* No region of its own: it is its lanes that inherit. */
    n->in[n->ninputs++] = (vp__input){.storage = s, .group = g};
    return true;
}

static bool extend_read(const vp__bundle *b, int input, vp__storage *s, vp__group *g,
                        const vp__region *region) {
    const vp__bundle_read *r = &b->read[input];
    vp__spin_lock(&s->lock);
    const bool extended = vp__log_extend(&s->log, g, false, region, r->gate, r->ngates);
    vp__spin_unlock(&s->lock);
    return extended;
}

/* Enters what a leaf reads; *place is where that is. */
static bool add_read(vp__node *n, const vp__expr *leaf, int64_t *place, int *waits) {
    vp__storage *s = leaf->storage;
    const vp__region region = vp__region_of(leaf->offset, leaf->ndim, leaf->dims,
                                            leaf->strides, vp__dtype[leaf->dtype].size);
    if (s == n->result) return false;
    int i = 0;
    while (i < n->ninputs && n->in[i].storage != s) i++;
    if (i == VP__BUNDLE_READS) return false;
    const bool entered = i < n->ninputs
                             ? extend_read(n->payload, i, s, n->in[i].group, &region)
                             : enter_read(n, s, &region, waits);
    if (!entered) return false;
    *place = vp__place(i, leaf->offset);
    /* What has failed goes its own way. Asked only now: of what was written before and is
     * over, acquire and the log's lock order the answer after it; of what is not, the lanes
     * find out when they run. */
    return !atomic_load_explicit(&s->poison, memory_order_acquire);
}

/* Those of a lane. `waits`: the bundle is being opened, and how many signals of its inputs it
 * has to wait for is added there. */
static bool add_reads(vp__node *n, vp__expr *const *leaves, int64_t *places, int *waits) {
    const vp__bundle *b = n->payload;
    for (int i = 0; i < b->nleaves; i++)
        if (!add_read(n, leaves[i], &places[i], waits)) return false;
    return true;
}

static bool extend_write(vp__node *n, const vp__region *region, uint64_t *sequence) {
    const vp__bundle *b = n->payload;
    vp__storage *s = n->result;
    vp__spin_lock(&s->lock);
    *sequence = s->log.sequence;
    const bool extended =
        vp__log_extend(&s->log, n->write, true, region, b->gate, b->ngates);
    vp__spin_unlock(&s->lock);
    return extended;
}

/* Whether the open bundle is one that the put may join. */
static bool is_like(const vp__node *n, const vp__recipe *recipe, const vp__target *t,
                    const vp__storage *s, bool fits) {
    const vp__bundle *b = n->payload;
    return b->recipe == recipe && n->result == s && b->ndim == t->ndim && b->fits == fits;
}

static void add_lane(vp__node *n, const int64_t *places, const vp__expr *value,
                     const vp__target *t, uint64_t sequence) {
    vp__bundle *b = n->payload;
    vp__lane *l = vp__lane_of(b, b->lanes++);
    l->to = t->offset;
    l->sequence = sequence;
    for (int i = 0; i < b->nleaves; i++) l->leaf[i] = places[i];
    int64_t *axes = vp__lane_dims(b, l);
    for (int i = 0; i < b->ndim; i++) {
        axes[i] = t->dims[i];
        axes[b->ndim + i] = t->strides[i];
    }
    n->estimate += value->cost;
}

static vp__node *bundle_new(vp__recipe *recipe, const vp__expr *value,
                            const vp__target *t, vp__storage *s, bool fits) {
    const size_t before =
        (sizeof(vp__node) + 15) / 16 * 16 + VP__BUNDLE_READS * sizeof(vp__input) + 16;
    vp__node *n = vp__node_new(&vp__bundle_work, vp__segment_name(&recipe->seg),
                               value->where, VP__BUNDLE_READS, 0, 0, 0, BLOCK - before);
    if (!n) return NULL;
    vp__bundle *b = n->payload;
    /* acquire of host: as in enter_read. */
    *b = (vp__bundle){.recipe = recipe,
                      .nleaves = recipe->seg.nleaves,
                      .ndim = t->ndim,
                      .fits = fits,
                      .host = atomic_load_explicit(&s->host, memory_order_acquire),
                      .first = (char *)(b + 1)};
    b->lane_bytes = (int32_t)(sizeof(vp__lane) + sizeof(int64_t) * (size_t)b->nleaves +
                              2 * sizeof(int64_t) * (size_t)b->ndim);
    b->most = (int32_t)(((char *)n + n->bytes - b->first) / b->lane_bytes);
    b->value_bytes = (vp__recipe_last(recipe)->out_bytes + 15) / 16 * 16;
    n->dtype = value->dtype;
    n->key = value->op;
    n->is_put = true;
    n->is_sized = true;
    n->result = s;
    n->write = NULL;
    n->write_region = vp__region_none();
    return n;
}

/* Enters the first write, behind whatever it has to wait for. */
static bool enter_write(vp__node *n, const vp__region *region) {
    vp__bundle *b = n->payload;
    vp__storage *s = n->result;
    int waits = 0;
    vp__spin_lock(&s->lock);
    b->ngates = vp__log_gates(&s->log, true, region, b->gate, VP__BUNDLE_GATES);
    n->write_sequence = s->log.sequence;
    if (b->ngates <= VP__BUNDLE_GATES)
        n->write = vp__log_enter(&s->log, true, region, n, VP__WAIT_STORE, &waits);
    vp__spin_unlock(&s->lock);
    vp__node_attached(n, VP__WAIT_STORE, waits, 1);
    return n->write != NULL;
}

/* --- handing over -------------------------------------------------------------------- */

/* Lets it go; it runs when what it reads is there. */
static void push(vp__core *core, vp__node *n) {
    vp__traced_accesses(n);
    vp__trace(VP__TR_SIZED, n->id, n->name, (uint64_t)n->result->bytes);
    vp__cost_place(n);
    vp__trace(VP__TR_PLACED, n->id, n->name, (uint64_t)n->home);
    vp__node_signal(n, VP__WAIT_INPUT);
    vp__ready_take(core, false);
}

/* Whether what it reads is still being made. acquire: if not, it is there. */
static bool is_waiting(vp__node *n) {
    return atomic_load_explicit(&n->waits[VP__WAIT_INPUT], memory_order_acquire) > 1;
}

void vp__bundle_push(vp__core *core) {
    /* acquire: whoever had it last has put a lane in. */
    vp__node *n = atomic_exchange_explicit(&core->bundle, NULL, memory_order_acquire);
    if (n) push(core, n);
}

/* A worker gives back what it cannot run yet, so that it goes on growing; one that has napped
 * in vain, and who waits, sees to it that it runs as soon as it can, whatever its issuer does. */
static void leave(vp__core *self, vp__core *owner, vp__node *n) {
    vp__node *none = NULL;
    /* release: as in leave_open. */
    if (!vp__core_is_worker(self) || self->insists ||
        !atomic_compare_exchange_strong_explicit(
            &owner->bundle, &none, n, memory_order_release, memory_order_relaxed))
        push(self, n);
}

vp__node *vp__bundle_take(vp__core *self) {
    const int count = atomic_load_explicit(&vp__core_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        vp__core *c = vp__cores[(self->index + i) % count];
        /* relaxed: a look before the exchange, which is as above. */
        if (!atomic_load_explicit(&c->bundle, memory_order_relaxed)) continue;
        vp__node *n = atomic_exchange_explicit(&c->bundle, NULL, memory_order_acquire);
        if (!n) continue;
        if (is_waiting(n)) {
            leave(self, c, n);
            continue;
        }
        vp__traced_accesses(n);
        n->home = self->index < vp__placeable ? self->index : 0;
        vp__cost_book(n);
        return n;
    }
    return NULL;
}

/* --- opening ------------------------------------------------------------------------- */

/* Opens a bundle for a put, whose leaves are at *places then. NULL if that is not to be. */
static vp__node *open_bundle(vp__core *core, vp__recipe *recipe, vp__expr *const *leaves,
                             const vp__expr *value, const vp__target *t, vp__storage *s,
                             const vp__region *region, bool fits, int64_t *places) {
    vp__node *n = bundle_new(recipe, value, t, s, fits);
    if (!n) return NULL;
    const vp__bundle *b = n->payload;
    int waits = 0;
    bool opened = false;
    if (b->most >= 2 && add_reads(n, leaves, places, &waits))
        opened = enter_write(n, region);
    else
        vp__node_attached(n, VP__WAIT_STORE, 0, 1);
    if (!opened && waits == 0) {
        for (int i = 0; i < n->ninputs; i++) {
            vp__observe_end(n->in[i].group);
            vp__storage_release(n->in[i].storage);
        }
        vp__node_unref(n);
        return NULL;
    }
    vp__node_attached(n, VP__WAIT_INPUT, waits, 1);
    if (waits) { /* many may wait, and each is large: their memory is bounded as arrays' is */
        n->promised = BLOCK;
        atomic_fetch_add_explicit(&vp__bytes_promised, BLOCK, memory_order_relaxed);
    }
    vp__recipe_retain(recipe);
    vp__storage_retain(s);
    vp__node_enter(core, n);
    if (opened) return n;
    /* What is going to signal it must find it: it goes through the net with nothing to do. */
    push(core, n);
    return NULL;
}

/* Whether a core, another one each time, has nothing to do. */
static bool is_somebody_idle(vp__core *core) {
    core->random = core->random * 1664525u + 1013904223u;
    const vp__core *other = vp__cores[(core->random >> 8) % (uint32_t)vp__placeable];
    /* relaxed: a hint. */
    return other != core &&
           atomic_load_explicit(&other->ahead, memory_order_relaxed) == 0;
}

/* Whether a bundle is not to wait for more puts. Native code takes lanes that share an
 * operand VP__PLANES at a time, so there should be a multiple of that. What would keep
 * somebody busy for a while is given to who is idle; looked at seldom, because others write
 * what is looked at. */
static bool is_full(vp__core *core, vp__node *n) {
    const vp__bundle *b = n->payload;
    const float cost = n->estimate * (float)vp__cost_factor(n->key);
    if (b->lanes == b->most) return true;
    if (cost >= (float)vp__tuning.bundle_ns) return b->lanes % VP__PLANES == 0;
    const bool seldom = (b->lanes & (b->lanes - 1)) == 0;
    return seldom && b->lanes >= VP__PLANES && 4 * cost >= (float)vp__tuning.bundle_ns &&
           is_somebody_idle(core) && !is_waiting(n);
}

/* An issuer that is far ahead of everybody, or of what its loop reads, does some of the work
 * before it adds more: the oldest. With one thread nobody else would. */
static void push_and_keep_pace(vp__core *core, vp__node *n) {
    const bool is_ahead = is_waiting(n);
    push(core, n);
    if (!is_ahead && vp__deque_size(&core->deque) <= 2 * vp__placeable) return;
    n = vp__deque_steal(&core->deque);
    if (n) vp__node_run(core, n);
}

/* Leaves a bundle to grow. There may be another: what ran meanwhile may have called a `release`
 * of the user's that issues, and a worker may have given one back. */
static void leave_open(vp__core *core, vp__node *n) {
    /* release: whoever takes it sees the lane; acquire: as in vp__bundle_push. */
    vp__node *other = atomic_exchange_explicit(&core->bundle, n, memory_order_acq_rel);
    if (other) push(core, other);
}

/* Adds a put, whose accesses are the bundle's already; the bundle is nobody's meanwhile. */
static void gather(vp__core *core, vp__node *n, const int64_t *places,
                   const vp__expr *value, const vp__target *t, uint64_t sequence) {
    add_lane(n, places, value, t, sequence);
    vp__count(&core->counters.bundled, 1);
    core->streak_at = instructions_of(core);
    if (is_full(core, n))
        push_and_keep_pace(core, n);
    else
        leave_open(core, n);
}

bool vp__bundle_put(vp__recipe *recipe, vp__expr *const *leaves, const vp__expr *value,
                    const vp__target *t, vp__storage *s, const vp__region *region,
                    bool fits) {
    vp__core *core = vp__core_self();
    if (!is_loop(core, recipe) || !is_wanted(recipe, value, t)) return false;
    /* acquire: as in vp__bundle_push. */
    vp__node *n = atomic_exchange_explicit(&core->bundle, NULL, memory_order_acquire);
    uint64_t sequence = 0;
    int64_t places[VP__SEGMENT_LEAVES];
    if (n && !(is_like(n, recipe, t, s, fits) && add_reads(n, leaves, places, NULL) &&
               extend_write(n, region, &sequence))) {
        push_and_keep_pace(core, n);
        n = NULL;
    }
    if (!n) {
        vp__admit(BLOCK);
        n = open_bundle(core, recipe, leaves, value, t, s, region, fits, places);
        if (!n) return false;
        sequence = n->write_sequence;
    }
    gather(core, n, places, value, t, sequence);
    return true;
}

/* Whether a put is what the bundle gathers, into the storage that its buffer has now, and
 * nothing but the order of accesses can be in its way. */
static bool is_next(vp__core *core, const vp__node *n, const vp__target *t,
                    vp__expr *value, vp__expr **leaves) {
    const vp__bundle *b = n->payload;
    vp__recipe *recipe = b->recipe;
    vp__storage *s = n->result;
    const bool fits =
        !value->late && vp__shape_equal(value->ndim, value->dims, t->ndim, t->dims);
    if (b->ndim != t->ndim || b->fits != fits || is_empty(t) ||
        instructions_of(core) != core->streak_at || recipe->uses >= core->recipe_uses ||
        !vp__recipe_is_for(recipe, value, fits ? t->strides : NULL, leaves))
        return false;
    vp__spin_lock(&t->buffer->lock);
    /* relaxed: as in vp__prepare_write. */
    const bool plain = t->buffer->storage == s && !vp__storage_captures(s) &&
                       atomic_load_explicit(&s->sharers, memory_order_relaxed) == 1 &&
                       !vp__target_covers(t, s);
    vp__spin_unlock(&t->buffer->lock);
    return plain;
}

bool vp__bundle_next(vp__core *core, const vp__target *t, vp__expr *value) {
    /* acquire: as in vp__bundle_push. */
    vp__node *n = atomic_exchange_explicit(&core->bundle, NULL, memory_order_acquire);
    if (!n) return false;
    vp__bundle *b = n->payload;
    vp__expr *leaves[VP__SEGMENT_LEAVES];
    int64_t places[VP__SEGMENT_LEAVES];
    uint64_t sequence;
    if (is_next(core, n, t, value, leaves) && add_reads(n, leaves, places, NULL)) {
        const vp__region region = vp__region_of(t->offset, t->ndim, t->dims, t->strides,
                                                vp__dtype[t->dtype].size);
        if (extend_write(n, &region, &sequence)) {
            b->recipe->uses++;
            gather(core, n, places, value, t, sequence);
            return true;
        }
    }
    leave_open(core, n);
    return false;
}
