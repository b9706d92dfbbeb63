/* SPDX-License-Identifier: Apache-2.0
 *
 * How puts gather in a bundle, and when it is handed over.
 */
#include "issue/bundle.h"

#include <string.h>

#include "array/pool.h"
#include "array/shape.h"
#include "base/config.h"
#include "issue/bundle_run.h"
#include "issue/segment.h"
#include "jit/plugin.h"
#include "net/cost.h"
#include "net/entry.h"
#include "net/life.h"
#include "net/run.h"
#include "net/traced.h"
#include "net/tuning.h"
#include "net/wait.h"

enum {
    BLOCK = 4096 - 64, /* of the pool, for node, accesses and iterations */
    MOST_VALUE = 1024, /* bytes of a value */
};

/* --- gathering ----------------------------------------------------------------------- */

static uint64_t instructions_of(const vp__core *core) {
    return atomic_load_explicit(&core->counters.issued, memory_order_relaxed) +
           atomic_load_explicit(&core->counters.inlined, memory_order_relaxed);
}

/* Instructions that are no puts of loops, as far as it has issued any. */
static uint64_t others_of(const vp__core *core) {
    return instructions_of(core) - core->issuer->puts;
}

/* The streak of puts of a form into an array; NULL: there is none. */
static vp__streak *find_streak(vp__issuer *issuer, uint32_t form, const vp__buffer *b) {
    for (vp__streak *s = issuer->streak, *end = s + VP__ISSUER_LOOPS; s < end; s++)
        if (s->form == form && s->buffer == b) return s;
    return NULL;
}

/* A new one, in the place of the one that went on least lately. */
static vp__streak *new_streak(vp__issuer *issuer, uint32_t form, const vp__buffer *b) {
    vp__streak *s = issuer->streak, *oldest = s;
    for (vp__streak *end = s + VP__ISSUER_LOOPS; s < end; s++)
        if (issuer->turn - s->turn > issuer->turn - oldest->turn) oldest = s;
    *oldest = (vp__streak){.form = form, .buffer = b, .length = -1, .turn = issuer->turn};
    return oldest;
}

/* Notes what a put of a streak reads and writes. */
static void note_arrays(vp__streak *s, const vp__storage *target, vp__expr *const *leaves,
                        int n) {
    int reads = 0;
    s->target = target;
    for (int i = 0; i < n && reads < VP__STREAK_READS; i++)
        if (leaves[i]->storage) /* a constant has none */
            s->read[reads++] = leaves[i]->storage;
    while (reads < VP__STREAK_READS) s->read[reads++] = NULL;
}

static bool reads(const vp__streak *s, const vp__storage *target) {
    for (int i = 0; i < VP__STREAK_READS; i++)
        if (s->read[i] == target) return true;
    return false;
}

/* Whether a put since the streak's last one, which then is of the same loop, writes what it
 * reads or writes, or reads what it writes. Their bundles would wait for each other, and end
 * with every iteration. */
static bool is_shared(const vp__issuer *issuer, const vp__streak *s) {
    for (const vp__streak *o = issuer->streak, *end = o + VP__ISSUER_LOOPS; o < end; o++)
        if (o != s && issuer->turn - o->turn < issuer->turn - s->turn &&
            (o->target == s->target || reads(s, o->target) || reads(o, s->target)))
            return true;
    return false;
}

/* Counts a put; whether there were enough of its form, with nothing between but puts of the same
 * loop, that it may be gathered. */
static bool is_loop(vp__core *core, const vp__recipe *recipe, vp__expr *const *leaves,
                    const vp__destination *d) {
    const vp__buffer *b = d->target->buffer;
    vp__issuer *issuer = core->issuer; /* it made the recipe */
    vp__streak *s = find_streak(issuer, recipe->form, b);
    if (!s) s = new_streak(issuer, recipe->form, b);
    note_arrays(s, d->storage, leaves, recipe->seg.nleaves);
    const bool shared = is_shared(issuer, s);
    const uint64_t others = others_of(core);
    if (others == s->others || s->length < 0)
        s->length++;
    else /* what comes between now and then does not end a long loop */
        s->length /= 4;
    s->others = others;
    s->turn = ++issuer->turn;
    issuer->puts++; /* if it runs at once or becomes a node of its own */
    return s->length >= vp__tuning.bundle_after && !shared;
}

/* Whether a streak goes on with this put, which bundles may gather. */
static bool goes_on(const vp__core *core, uint32_t form, const vp__buffer *b) {
    vp__issuer *issuer = core->issuer;
    vp__streak *s = find_streak(issuer, form, b);
    if (!s || s->others != others_of(core) || is_shared(issuer, s)) return false;
    s->turn = ++issuer->turn;
    return true;
}

/* What cannot be put into no elements at all shows elsewhere (put.c): not in a bundle. */
static bool is_empty(const vp__target *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] == 0) return true;
    return false;
}

static bool is_short(float estimate, int key) {
    const float cost = estimate * (float)vp__cost_factor(key);
    return 2 * cost < (float)vp__tuning.bundle_ns;
}

static bool is_wanted(const vp__recipe *recipe, const vp__expr *value,
                      const vp__target *t) {
    const vp__config *config = vp__config_get();
    if (config->sync || !config->inline_nodes || is_empty(t) ||
        config->without & VP__WITHOUT_BUNDLES)
        return false;
    return is_short(value->cost, value->op) &&
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
    /* What only a device has may get lost on its way here. */
    r->waits = !vp__storage_is_on_host(s);
    r->nblockers = 0;
    if (waits) {
        const int before = *waits;
        r->nblockers = vp__log_blockers(&s->log, false, region, r->blocker,
                                        VP__BUNDLE_READ_BLOCKERS);
        if (r->nblockers <= VP__BUNDLE_READ_BLOCKERS)
            g = vp__log_enter(&s->log, false, region, n, VP__WAIT_INPUT, waits);
        /* Perhaps for more than the blockers, where there are too many accesses to list. */
        r->waits |= *waits > before;
    } else {
        g = vp__log_try(&s->log, false, region);
    }
    vp__spin_unlock(&s->lock);
    if (!g) return false;
    vp__storage_retain(s);
    /* Its number is 0: it is its iterations that inherit. */
    n->in[n->ninputs++] = (vp__input){.storage = s, .group = g};
    return true;
}

static bool extend_read(const vp__bundle *b, int input, vp__storage *s, vp__group *g,
                        const vp__region *region) {
    const vp__bundle_read *r = &b->read[input];
    vp__spin_lock(&s->lock);
    const bool extended =
        vp__log_extend(&s->log, g, false, region, r->blocker, r->nblockers);
    vp__spin_unlock(&s->lock);
    return extended;
}

/* Enters what a leaf reads; *read is where that is. It is not the target: a value that reads
 * its target is not gathered, and whoever else had captured the target made it another one. */
static bool add_read(vp__node *n, const vp__bundle_leaf *leaf, int64_t *read,
                     int *waits) {
    vp__storage *s = leaf->storage;
    *read = 0;
    if (!s) return true; /* a constant: add_iteration says where it is */
    int i = 0;
    while (i < n->ninputs && n->in[i].storage != s) i++;
    if (i == VP__BUNDLE_READS) return false;
    const bool entered =
        i < n->ninputs ? extend_read(n->payload, i, s, n->in[i].group, &leaf->region)
                       : enter_read(n, s, &leaf->region, waits);
    if (!entered) return false;
    *read = vp__read_at(i, leaf->offset);
    /* What has failed goes its own way. Asked only now: of what was written before and is
     * over, acquire and the log's lock order the answer after it; of what is not, the iterations
     * find out when they run. */
    return !atomic_load_explicit(&s->poison, memory_order_acquire);
}

/* Those of an iteration. `waits`: the bundle is being opened, and how many signals of its inputs it
 * has to wait for is added there. */
static bool add_reads(vp__node *n, const vp__bundle_leaf *leaves, int64_t *reads,
                      int *waits) {
    const vp__bundle *b = n->payload;
    for (int i = 0; i < b->nleaves; i++)
        if (!add_read(n, &leaves[i], &reads[i], waits)) return false;
    return true;
}

static void list_leaves(vp__bundle_leaf *list, vp__expr *const *leaves, int n) {
    for (int i = 0; i < n; i++) {
        const vp__expr *e = leaves[i];
        list[i].storage = NULL;
        list[i].offset = 0;
        if (e->kind == VP__EXPR_CONST) {
            memcpy(list[i].value, e->value.u64, sizeof list[i].value);
            continue;
        }
        list[i].storage = e->storage;
        list[i].offset = e->offset;
        list[i].region = vp__expr_region(e);
    }
}

static bool widen_write(vp__node *n, const vp__region *region, uint64_t *sequence) {
    const vp__bundle *b = n->payload;
    vp__storage *s = n->result;
    vp__spin_lock(&s->lock);
    *sequence = s->log.sequence;
    const bool extended =
        vp__log_extend(&s->log, n->write, true, region, b->blocker, b->nblockers);
    vp__spin_unlock(&s->lock);
    return extended;
}

static bool extend_write(vp__node *n, const vp__target *t, const vp__region *region,
                         uint64_t *sequence) {
    if (!vp__target_hold(t, n->result)) return false;
    const bool extended = widen_write(n, region, sequence);
    vp__target_let_go(t);
    return extended;
}

/* Whether the open bundle is one that the put may join. */
static bool is_like(const vp__node *n, const vp__recipe *recipe, const vp__target *t,
                    const vp__storage *s, bool fits) {
    const vp__bundle *b = n->payload;
    return b->recipe == recipe && n->result == s && b->ndim == t->ndim && b->fits == fits;
}

static void add_iteration(vp__node *n, const vp__bundle_leaf *leaves,
                          const int64_t *reads, float cost, const vp__target *t,
                          uint64_t sequence) {
    vp__bundle *b = n->payload;
    vp__iteration *l = vp__iteration_of(b, b->iterations++);
    l->to = t->offset;
    l->sequence = sequence;
    char *constant = vp__iteration_constants(b, l);
    for (int i = 0; i < b->nleaves; i++) {
        l->leaf[i] = reads[i];
        if (leaves[i].storage) continue;
        l->leaf[i] = vp__read_at(VP__BUNDLE_OWN, constant - b->first);
        memcpy(constant, leaves[i].value, sizeof leaves[i].value);
        constant += sizeof leaves[i].value;
    }
    int64_t *axes = vp__iteration_dims(b, l);
    for (int i = 0; i < b->ndim; i++) {
        axes[i] = t->dims[i];
        axes[b->ndim + i] = t->strides[i];
    }
    n->estimate += cost;
}

static vp__node *bundle_new(const vp__bundle_form *form, const vp__target *t,
                            vp__storage *s) {
    vp__recipe *recipe = form->recipe;
    const size_t before =
        (sizeof(vp__node) + 15) / 16 * 16 + VP__BUNDLE_READS * sizeof(vp__input) + 16;
    vp__node *n = vp__node_new(&vp__bundle_work, vp__segment_name(&recipe->seg),
                               form->where, VP__BUNDLE_READS, 0, 0, 0, BLOCK - before);
    if (!n) return NULL;
    vp__bundle *b = n->payload;
    /* acquire of host: as in enter_read. */
    *b = (vp__bundle){.recipe = recipe,
                      .nleaves = recipe->seg.nleaves,
                      .ndim = t->ndim,
                      .fits = form->fits,
                      .host = atomic_load_explicit(&s->host, memory_order_acquire),
                      .first = (char *)(b + 1)};
    b->iteration_bytes =
        (int32_t)(sizeof(vp__iteration) + sizeof(int64_t) * (size_t)b->nleaves +
                  2 * sizeof(int64_t) * (size_t)b->ndim +
                  2 * sizeof(uint64_t) * (size_t)__builtin_popcountll(recipe->given));
    b->most = (int32_t)(((char *)n + n->bytes - b->first) / b->iteration_bytes);
    b->value_bytes = (vp__recipe_last(recipe)->out_bytes + 15) / 16 * 16;
    n->dtype = form->dtype;
    n->key = form->key;
    n->is_put = true;
    n->is_sized = true;
    n->result = s;
    n->write = NULL;
    n->write_region = vp__region_none();
    return n;
}

/* Enters the first write, behind whatever it has to wait for. */
static bool enter_write(vp__node *n, const vp__target *t, const vp__region *region) {
    vp__bundle *b = n->payload;
    vp__storage *s = n->result;
    int waits = 0;
    if (vp__target_hold(t, s)) {
        vp__spin_lock(&s->lock);
        b->nblockers =
            vp__log_blockers(&s->log, true, region, b->blocker, VP__BUNDLE_BLOCKERS);
        n->write_sequence = s->log.sequence;
        if (b->nblockers <= VP__BUNDLE_BLOCKERS)
            n->write = vp__log_enter(&s->log, true, region, n, VP__WAIT_STORE, &waits);
        vp__spin_unlock(&s->lock);
        vp__target_let_go(t);
    }
    vp__node_attached(n, VP__WAIT_STORE, waits, 1);
    return n->write != NULL;
}

/* --- opening ------------------------------------------------------------------------- */

/* Opens a bundle for a put, whose leaves are at *reads then. NULL if that is not to be. */
static vp__node *open_bundle(vp__core *core, const vp__bundle_form *form,
                             const vp__bundle_leaf *leaves, const vp__target *t,
                             vp__storage *s, const vp__region *region, int64_t *reads) {
    vp__node *n = bundle_new(form, t, s);
    if (!n) return NULL;
    const vp__bundle *b = n->payload;
    int waits = 0;
    bool opened = false;
    if (b->most >= 2 && add_reads(n, leaves, reads, &waits))
        opened = enter_write(n, t, region);
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
    vp__recipe_retain(form->recipe);
    vp__storage_retain(s);
    vp__node_enter(core, n);
    core->issuer->puts++;
    if (opened) return n;
    /* What is going to signal it must find it: it goes through the net with nothing to do. */
    vp__open_submit(core, n);
    return NULL;
}

/* Whether a bundle is not to wait for more puts. Native code takes iterations that share an
 * operand VP__PLANES at a time, so there should be a multiple of that. */
static bool is_full(const vp__node *n) {
    const vp__bundle *b = n->payload;
    const float cost = n->estimate * (float)vp__cost_factor(n->key);
    return b->iterations == b->most ||
           (cost >= (float)vp__tuning.bundle_ns && b->iterations % VP__PLANES == 0);
}

/* An issuer that is far ahead of everybody, or of what its loop reads, does some of the work
 * before it adds more: the oldest. With one thread nobody else would. */
static void push_and_keep_pace(vp__core *core, vp__node *n) {
    const bool is_ahead = vp__open_is_waiting(n);
    vp__open_submit(core, n);
    if (!is_ahead && vp__deque_size(&core->deque) <= 2 * vp__placeable) return;
    n = vp__deque_steal(&core->deque);
    if (n) vp__node_run(core, n);
}

/* Adds a put, whose accesses are the bundle's already; the bundle is nobody's meanwhile. */
static void gather(vp__core *core, int slot, vp__node *n, const vp__bundle_leaf *leaves,
                   const int64_t *reads, float cost, const vp__target *t,
                   uint64_t sequence) {
    add_iteration(n, leaves, reads, cost, t, sequence);
    vp__count(&core->counters.bundled, 1);
    if (is_full(n))
        push_and_keep_pace(core, n);
    else
        vp__open_leave(core, slot, n);
}

/* Tells api/track.h which bundle is about to gather the put, and with which recipe: that is
 * held, since the bundle may have run and gone before anybody asks. */
static void note_bundle(vp__issuer *issuer, int slot, const vp__node *n) {
    vp__recipe *recipe = ((const vp__bundle *)n->payload)->recipe;
    issuer->bundle = n->id;
    issuer->bundle_slot = slot;
    vp__recipe_retain(recipe);
    if (issuer->bundled) vp__recipe_release(issuer->bundled);
    issuer->bundled = recipe;
}

/* The slot whose bundle gathers a form for an array, or one for a new bundle: the first free
 * one, or the next in turn. */
static int find_slot(vp__core *core, uint32_t form, const vp__buffer *b) {
    vp__issuer *issuer = core->issuer;
    int free = -1;
    for (int slot = VP__OPEN - 1; slot >= 0; slot--) {
        if (!vp__open_is_there(core, slot))
            free = slot;
        else if (issuer->gathers[slot].form == form && issuer->gathers[slot].buffer == b)
            return slot;
    }
    if (free >= 0) return free;
    return issuer->last_slot = (issuer->last_slot + 1) % VP__OPEN;
}

/* Adds a put to a bundle that is in the caller's hand. True, and *sequence, or it is for the
 * net to have. */
static bool join_open(vp__node *n, vp__recipe *recipe, const vp__bundle_leaf *list,
                      int64_t *reads, const vp__destination *d, uint64_t *sequence) {
    return is_like(n, recipe, d->target, d->storage, d->fits) &&
           add_reads(n, list, reads, NULL) &&
           extend_write(n, d->target, &d->region, sequence);
}

bool vp__bundle_put(vp__recipe *recipe, vp__expr *const *leaves, const vp__expr *value,
                    const vp__destination *d) {
    const vp__target *t = d->target;
    vp__core *core = vp__core_self();
    vp__issuer *issuer = core->issuer;
    if (!is_loop(core, recipe, leaves, d) || !is_wanted(recipe, value, t)) return false;
    vp__bundle_leaf list[VP__SEGMENT_LEAVES];
    list_leaves(list, leaves, recipe->seg.nleaves);
    const int slot = find_slot(core, recipe->form, t->buffer);
    vp__node *n = vp__open_grab(core, slot);
    uint64_t sequence = 0;
    int64_t reads[VP__SEGMENT_LEAVES];
    if (n && !join_open(n, recipe, list, reads, d, &sequence)) {
        push_and_keep_pace(core, n);
        n = NULL;
    }
    if (!n) {
        vp__admit(BLOCK);
        const vp__bundle_form form = vp__bundle_form_of(recipe, value, d->fits);
        n = open_bundle(core, &form, list, t, d->storage, &d->region, reads);
        if (!n) return false;
        sequence = n->write_sequence;
        issuer->gathers[slot] = (vp__gathers){value->where, recipe->form, t->buffer};
    }
    issuer->puts--; /* it is no instruction of its own */
    note_bundle(issuer, slot, n);
    gather(core, slot, n, list, reads, value->cost, t, sequence);
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
        !goes_on(core, recipe->form, t->buffer) || !vp__recipe_lasts(recipe) ||
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

/* The slot whose bundle gathers what the line puts into an array; < 0: none. */
static int slot_of_line(vp__core *core, const char *where, const vp__buffer *b) {
    const vp__issuer *issuer = core->issuer;
    for (int slot = 0; slot < VP__OPEN; slot++)
        if (vp__open_is_there(core, slot) && issuer->gathers[slot].where == where &&
            issuer->gathers[slot].buffer == b)
            return slot;
    return -1;
}

bool vp__bundle_next(const vp__target *t, vp__expr *value) {
    vp__core *core = vp__core_self();
    const int slot = slot_of_line(core, value->where, t->buffer);
    vp__node *n = slot < 0 ? NULL : vp__open_grab(core, slot);
    if (!n) return false;
    vp__bundle *b = n->payload;
    vp__expr *leaves[VP__SEGMENT_LEAVES];
    vp__bundle_leaf list[VP__SEGMENT_LEAVES];
    int64_t reads[VP__SEGMENT_LEAVES];
    uint64_t sequence;
    const bool next = is_next(core, n, t, value, leaves);
    if (next) list_leaves(list, leaves, b->nleaves);
    if (next && add_reads(n, list, reads, NULL)) {
        const vp__region region = vp__region_of(t->offset, t->ndim, t->dims, t->strides,
                                                vp__dtype[t->dtype].size);
        if (extend_write(n, t, &region, &sequence)) {
            b->recipe->uses++;
            note_bundle(core->issuer, slot, n);
            gather(core, slot, n, list, reads, value->cost, t, sequence);
            return true;
        }
    }
    vp__open_leave(core, slot, n);
    return false;
}

/* --- following ----------------------------------------------------------------------- */

/* How many iterations' reads are entered at once, where each is as far from the one before as
 * that was. What is entered and not used makes later writes wait for the bundle that need not;
 * of writes it would make the next bundle wait, so they are entered one by one. */
enum { AHEAD = 16 };

/* Whether a read lies where it was to be expected; notes where it lies. */
static bool keeps_pace(vp__pace *p, int i, const vp__region *r) {
    const int64_t lo = r->lo - p->lo[i], hi = r->hi - p->hi[i];
    const bool keeps = !r->period && lo == p->lo_step[i] && hi == p->hi_step[i];
    p->lo[i] = r->lo;
    p->hi[i] = r->hi;
    p->lo_step[i] = lo;
    p->hi_step[i] = hi;
    return keeps;
}

/* What it and the next ones after it read. */
static vp__region ahead_of(const vp__pace *p, int i, const vp__region *r) {
    vp__region all = *r;
    const int64_t lo = (AHEAD - 1) * p->lo_step[i], hi = (AHEAD - 1) * p->hi_step[i];
    if (lo < 0) all.lo += lo;
    if (hi > 0) all.hi += hi;
    return all;
}

/* Finds the inputs that the leaves are of; false if one of them is not the bundle's yet. */
static bool find_inputs(const vp__node *n, vp__pace *p, const vp__bundle_leaf *leaves) {
    const vp__bundle *b = n->payload;
    for (int i = 0; i < b->nleaves; i++) {
        if (!leaves[i].storage) continue;
        int k = p->input[i]; /* nearly always still the one */
        if (k < n->ninputs && n->in[k].storage == leaves[i].storage) continue;
        for (k = 0; k < n->ninputs && n->in[k].storage != leaves[i].storage;) k++;
        if (k == n->ninputs) return false;
        p->input[i] = (uint8_t)k;
    }
    return true;
}

/* Enters an iteration's reads, and those of the iterations to come if it keeps pace. */
static bool extend_reads(vp__node *n, vp__pace *p, const vp__bundle_leaf *leaves,
                         bool paced) {
    const vp__bundle *b = n->payload;
    for (int ahead = paced; ahead >= 0; ahead--) {
        bool all = true;
        for (int i = 0; i < b->nleaves && all; i++) {
            if (!leaves[i].storage) continue;
            const vp__region *one = &leaves[i].region;
            const vp__region r = ahead ? ahead_of(p, i, one) : *one;
            const int k = p->input[i];
            all = extend_read(b, k, n->in[k].storage, n->in[k].group, &r);
        }
        p->left = ahead ? AHEAD : 1;
        if (all) return true;
    }
    return false;
}

/* What has failed goes its own way, as in add_read. */
static bool has_failed(const vp__node *n) {
    for (int i = 0; i < n->ninputs; i++)
        if (atomic_load_explicit(&n->in[i].storage->poison, memory_order_acquire))
            return true;
    return false;
}

/* Enters what an iteration reads and writes into the bundle. */
static bool join(vp__node *n, vp__pace *p, const vp__bundle_leaf *leaves,
                 const vp__region *written, uint64_t *sequence) {
    const vp__bundle *b = n->payload;
    if (n->id != p->bundle || !vp__recipe_lasts(b->recipe)) return false;
    if (!find_inputs(n, p, leaves)) return false;
    bool paced = p->ahead;
    for (int i = 0; i < b->nleaves; i++)
        if (leaves[i].storage) paced &= keeps_pace(p, i, &leaves[i].region);
    if (!paced) p->left = 0;
    if (p->left == 0 && !extend_reads(n, p, leaves, paced)) return false;
    p->left--;
    /* Alone, so that nobody renames the target meanwhile. */
    return !has_failed(n) && widen_write(n, written, sequence);
}

/* The accesses of what the thread has noted are entered: relaxed, as in api/track.c. */
static void entered(vp__core *core) {
    atomic_store_explicit(&core->npins, 0, memory_order_relaxed);
    vp__core_alone_end(core);
}

bool vp__bundle_follow(vp__core *core, vp__pace *p, const vp__bundle_form *form,
                       const vp__bundle_leaf *leaves, const vp__target *t,
                       const vp__region *written) {
    vp__node *n = vp__open_grab(core, p->slot);
    if (!n) return false;
    uint64_t sequence;
    if (!join(n, p, leaves, written, &sequence)) {
        p->left = 0;
        vp__open_leave(core, p->slot, n);
        return false;
    }
    entered(core);
    vp__count(&core->counters.replayed, 1);
    form->recipe->uses++;
    const vp__bundle *b = n->payload;
    int64_t reads[VP__SEGMENT_LEAVES];
    for (int i = 0; i < b->nleaves; i++)
        reads[i] = vp__read_at(p->input[i], leaves[i].offset);
    gather(core, p->slot, n, leaves, reads, form->cost, t, sequence);
    return true;
}

bool vp__bundle_follow_anew(vp__core *core, vp__pace *p, const vp__bundle_form *form,
                            const vp__bundle_leaf *leaves, const vp__target *t,
                            vp__storage *s, const vp__region *written) {
    if (!vp__recipe_lasts(form->recipe) || !is_short(form->cost, form->key)) return false;
    vp__open_push(core, p->slot);
    vp__admit(BLOCK);
    int64_t reads[VP__SEGMENT_LEAVES];
    vp__node *n = NULL;
    if (vp__core_alone_begin(core))
        n = open_bundle(core, form, leaves, t, s, written, reads);
    if (!n) {
        vp__core_alone_end(core);
        return false;
    }
    entered(core);
    vp__count(&core->counters.replayed, 1);
    form->recipe->uses++;
    p->bundle = n->id;
    p->left = 0;
    core->issuer->gathers[p->slot] =
        (vp__gathers){form->where, form->recipe->form, t->buffer};
    gather(core, p->slot, n, leaves, reads, form->cost, t, n->write_sequence);
    return true;
}
