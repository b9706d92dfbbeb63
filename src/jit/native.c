/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "jit/native.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "jit/compiler.h"
#include "jit/jobs.h"
#include "jit/special.h"
#include "jit/usage.h"
#include "trace/trace.h"

enum {
    /* A program with more kernels than this has most of them once. */
    MOST = 1024,
    SLOTS = 4 * MOST,
    /* Nanoseconds of base kernels after which code is worth a compiler's time: far less than
     * compiling takes, because what has run that long mostly goes on. */
    WORTH = 200000,
    /* Of native runs with the same facts after which specialised code is tried: most of what
     * is kept gains 3 to 10 %, so it has to run for many times what compiling takes; and what
     * compiling is expected to take at least. */
    SPECIAL_TIMES = 20,
    SPECIAL_NS = 1000000,
    /* A run that costs less is over before anybody would have looked. */
    LEAST = 1500,
    /* The least cost of a run that a loop repeats: its code is looked up once for many runs. */
    LEAST_OF_MANY = 100,
    /* Measuring a run takes some 30 ns. Those that cost more than this all are, of the others
     * one in MEASURED_ONE_IN, in no rhythm. */
    MEASURED_NS = 50000,
    MEASURED_ONE_IN = 8,
    /* Usage is noted when some code has run for another 2^this nanoseconds, ten seconds or
     * so. */
    NOTED_SHIFT = 33,
};

typedef struct {
    uint16_t bytes;
    char text[2 * VP__KERNEL_LEAVES + VP__KERNEL_INSTRS * sizeof(vp__instr) + 8];
} key;

typedef struct vp__native {
    uint64_t hash;
    key key;
    vp__built built;
    _Atomic float wanted;   /* nanoseconds; a hint, so relaxed */
    _Atomic uint32_t asked; /* how often there was code; likewise */
    uint64_t compile_ns; /* what it took; 0 for code from the cache; published with fn */
    vp__special special;
    vp__kernel kernel;
    vp__loops loops;
} vp__native;

/* Open addressing, filled once: a slot that is set stays as it is. */
static _Atomic(vp__native *) slots[SLOTS];
static _Atomic int known;

static vp__native_fn code_of(vp__built *b) {
    return atomic_load_explicit(&b->fn, memory_order_acquire);
}

/* As in vp__native_stats; relaxed. */
static struct {
    _Atomic uint64_t compiled, loaded, specialised, kept, dropped, failed, bytes,
        compile_ns, load_ns, first_ns;
} stats;

/* Everything there is code for. */
static void each_built(void (*visit)(vp__built *)) {
    for (int i = 0; i < SLOTS; i++) {
        vp__native *n = atomic_load_explicit(&slots[i], memory_order_acquire);
        if (!n) continue;
        if (code_of(&n->built)) visit(&n->built);
        for (int k = 0; k < VP__VARIANTS; k++) {
            vp__variant *v =
                atomic_load_explicit(&n->special.variant[k], memory_order_acquire);
            if (!v) break;
            if (code_of(&v->built)) visit(&v->built);
        }
    }
}

static vp__spinlock noting;

/* Now and then, on the thread that compiles. */
static void note_usage(void *unused, void *neither) {
    (void)unused, (void)neither;
    if (!vp__spin_trylock(&noting)) return;
    each_built(vp__usage_note);
    vp__spin_unlock(&noting);
}

bool (*vp__native_test_hook)(vp__stage stage);
double (*vp__native_test_time)(vp__stage stage, double ns);

/* In a forked child: the parent notes what the parent ran. */
static void in_child(void) {
    each_built(vp__usage_forget);
    noting = (vp__spinlock){false}; /* the thread that held it is not in the child */
}

void vp__native_init(void (*book)(int64_t)) {
    vp__jobs_init(book);
    pthread_atfork(NULL, NULL, in_child);
}

/* Takes the lock rather than trying it: a thread that notes usage at the moment began before the
 * last runs. */
void vp__native_finish(void) {
    vp__spin_lock(&noting);
    each_built(vp__usage_note);
    vp__spin_unlock(&noting);
}

void vp__native_settle(void) { vp__jobs_settle(); }

static void count(_Atomic uint64_t *counter, uint64_t n) {
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* --- compiling ---------------------------------------------------------------------- */

/* A failure is a line in the trace, which keeps the text, and with VP_DEBUG one on
 * stderr. */
static void tell(bool ok, bool specialised, const vp__compiled *code, uint64_t ns,
                 const char *message) {
    if (ok) {
        static const char *const texts[2][2] = {
            {"native code compiled", "native code loaded"},
            {"specialised code compiled", "specialised code loaded"}};
        vp__trace(VP__TR_COMPILE, 0, texts[specialised][code->from_cache], ns);
        return;
    }
    char *text = NULL;
    if (asprintf(&text, "a kernel stays with %s: %s",
                 specialised ? "native code" : "the base kernels",
                 message ? message : "the compiler failed") < 0)
        return;
    if (vp__config_get()->debug_ir) fprintf(stderr, "vproc: %s\n", text);
    vp__trace(VP__TR_COMPILE, 0, text, ns);
    if (!vp__trace_on) free(text);
}

/* The trial of a variant is over: what pays is worth a place in the cache. */
static void settle_job(void *kernel, void *variant) {
    vp__native *n = kernel;
    vp__variant *v = variant;
    if (atomic_load_explicit(&v->phase, memory_order_relaxed) == VP__PHASE_KEPT)
        vp__compiler_keep(&n->kernel, &n->loops, &v->facts, v->image, v->image_bytes);
    free(v->image);
    v->image = NULL;
}

static void note_ready(vp__native *n, vp__variant *v, const vp__compiled *code,
                       uint64_t ns) {
    vp__built *b = v ? &v->built : &n->built;
    b->object = code->object;
    b->key = code->key;
    count(&stats.bytes, code->bytes);
    count(code->from_cache ? &stats.loaded : &stats.compiled, 1);
    count(code->from_cache ? &stats.load_ns : &stats.compile_ns, ns);
    if (!v && !code->from_cache) n->compile_ns = ns;
    uint64_t never = 0;
    atomic_compare_exchange_strong(&stats.first_ns, &never,
                                   vp__clock_ns(vp__clock_ticks()));
    /* release pairs with vp__native_want: the code is there. */
    atomic_store_explicit(&b->fn, code->fn, memory_order_release);
    if (!v) return;
    const bool anyway = vp__config_get()->jit != VP__JIT_ON;
    count(&stats.specialised, 1);
    v->image = code->image;
    v->image_bytes = code->image_bytes;
    vp__special_start(&n->special, v, anyway);
    if (anyway) settle_job(n, v);
}

/* Compiles the kernel's native code or, for a variant, specialised code, unless that has
 * been done. */
static void compile(vp__native *n, vp__variant *v) {
    vp__built *b = v ? &v->built : &n->built;
    if (!vp__jobs_enter()) return;
    if (atomic_load_explicit(&b->state, memory_order_acquire) != VP__CODE_QUEUED) {
        vp__jobs_leave();
        return;
    }
    vp__compiled code = {0};
    char *message = NULL;
    const uint64_t began = vp__clock_ticks();
    const bool ok =
        (!vp__native_test_hook ||
         vp__native_test_hook(v ? VP__STAGE_SPECIALISED : VP__STAGE_NATIVE)) &&
        vp__compile(&n->kernel, &n->loops, v ? &v->facts : NULL, &code, &message);
    const uint64_t ns = vp__clock_ns(vp__clock_ticks() - began);
    tell(ok, v != NULL, &code, ns, message);
    free(message);
    if (ok)
        note_ready(n, v, &code, ns);
    else
        count(&stats.failed, 1);
    /* release: a thread that finds it ready finds the code. */
    atomic_store_explicit(&b->state, ok ? VP__CODE_READY : VP__CODE_FAILED,
                          memory_order_release);
    /* The cache gets the code after it is in use, since a full cache takes its time; a variant has
     * to prove itself first. */
    if (ok && !v) {
        vp__compiler_keep(&n->kernel, &n->loops, NULL, code.image, code.image_bytes);
        free(code.image);
    }
    vp__jobs_leave();
}

static void compile_job(void *n, void *v) { compile(n, v); }

static void queue(vp__native *n, vp__variant *v) { vp__jobs_add(compile_job, n, v, !v); }

/* --- the table ---------------------------------------------------------------------- */

/* Not the type of a reduction: it is the body's, and that is what the rest says. */
static void make_key(key *k, const vp__kernel *kernel, const vp__loops *loops) {
    char *p = k->text;
    *p++ = (char)kernel->nleaves;
    *p++ = (char)kernel->ninstrs;
    *p++ = (char)(kernel->reduce + 1);
    *p++ = (char)kernel->result;
    *p++ = (char)loops->kind;
    for (int i = 0; i < kernel->nleaves; i++) {
        *p++ = (char)(kernel->leaf[i].dtype | kernel->leaf[i].constant << 7);
        *p++ = (char)loops->read[i];
    }
    const size_t instrs = (size_t)kernel->ninstrs * sizeof(vp__instr);
    memcpy(p, kernel->instr, instrs);
    k->bytes = (uint16_t)(p + instrs - k->text);
}

static uint64_t hash_of(const key *k) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ k->bytes;
    for (size_t i = 0; i < k->bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, k->text + i, k->bytes - i < 8 ? k->bytes - i : 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static bool is_same(const vp__native *n, uint64_t hash, const key *k) {
    return n->hash == hash && n->key.bytes == k->bytes &&
           memcmp(n->key.text, k->text, k->bytes) == 0;
}

static vp__native *insert(_Atomic(vp__native *) *slot, uint64_t hash, const key *k,
                          const vp__kernel *kernel, const vp__loops *loops) {
    if (atomic_fetch_add_explicit(&known, 1, memory_order_relaxed) >= MOST) {
        atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
        return NULL;
    }
    vp__native *n = calloc(1, sizeof *n), *there = NULL;
    if (!n) {
        atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
        return NULL;
    }
    n->hash = hash;
    n->key = *k;
    n->kernel = *kernel;
    n->loops = *loops;
    /* release publishes the record; acquire sees another thread's. */
    if (atomic_compare_exchange_strong_explicit(slot, &there, n, memory_order_acq_rel,
                                                memory_order_acquire))
        return n;
    free(n);
    atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
    return is_same(there, hash, k) ? there : NULL; /* another kernel's: next time */
}

static vp__native *find(const vp__kernel *kernel, const vp__loops *loops) {
    key k;
    make_key(&k, kernel, loops);
    const uint64_t hash = hash_of(&k);
    for (uint64_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
        vp__native *n = atomic_load_explicit(&slots[i], memory_order_acquire);
        if (!n) return insert(&slots[i], hash, &k, kernel, loops);
        if (is_same(n, hash, &k)) return n;
    }
}

bool vp__native_is_worth(double ns, int repeats) {
    const int mode = vp__config_get()->jit;
    const double least = repeats > 1 ? LEAST_OF_MANY : LEAST;
    return mode != VP__JIT_OFF && (ns >= least || mode != VP__JIT_ON) && ns > 0 &&
           vp__compiler_is_possible();
}

/* --- runs --------------------------------------------------------------------------- */

static double time_of_a_run(vp__built *b) {
    const uint64_t runs = atomic_load_explicit(&b->runs, memory_order_relaxed);
    return runs
               ? (double)atomic_load_explicit(&b->ns, memory_order_relaxed) / (double)runs
               : 0;
}

/* For how many runs the one at hand is to be measured. */
static uint8_t weigh(vp__native *n, double ns) {
    const uint32_t asked = atomic_load_explicit(&n->asked, memory_order_relaxed) + 1;
    atomic_store_explicit(&n->asked, asked, memory_order_relaxed);
    if (ns >= MEASURED_NS) return 1;
    return asked * 0x9e3779b1u < UINT32_MAX / MEASURED_ONE_IN ? MEASURED_ONE_IN : 0;
}

static bool asks_for_facts(const vp__code *code) {
    vp__special *s = &code->kernel->special;
    return atomic_load_explicit(&s->live, memory_order_relaxed) > 0 ||
           (code->weight && vp__special_has_room(s));
}

static double special_worth(const vp__native *n) {
    return (double)SPECIAL_TIMES *
           (double)(n->compile_ns > SPECIAL_NS ? n->compile_ns : SPECIAL_NS);
}

/* Turns a run of native code into one that uses, or is compared with, code for its facts; or
 * counts that these facts were met. */
static void specialise(vp__code *code, const vp__facts *facts) {
    vp__native *n = code->kernel;
    vp__variant *v = vp__special_find(&n->special, facts);
    if (!v) {
        if (code->weight && vp__special_has_room(&n->special))
            v = vp__special_note(&n->special, facts, code->weight,
                                 time_of_a_run(&n->built), special_worth(n));
        if (v) queue(n, v);
        return;
    }
    if (!code_of(&v->built)) return;
    const int phase = atomic_load_explicit(&v->phase, memory_order_relaxed);
    if (phase == VP__PHASE_DROPPED) return;
    if (phase == VP__PHASE_TRIAL && !code->weight) code->weight = 1;
    code->variant = v;
    if (!vp__special_is_due(v)) return;
    code->fn = code_of(&v->built);
    code->stage = VP__STAGE_SPECIALISED;
}

static void count_runs(const vp__code *code, int runs) {
    if (!code->weight) return;
    vp__built *b = code->stage == VP__STAGE_SPECIALISED ? &code->variant->built
                                                        : &code->kernel->built;
    count(&b->runs, (uint64_t)code->weight * (uint64_t)runs);
}

void vp__native_ran(const vp__code *code, uint64_t ticks, int64_t elements) {
    vp__native *n = code->kernel;
    vp__variant *v = code->variant;
    const bool specialised = code->stage == VP__STAGE_SPECIALISED;
    double ns = (double)ticks * vp__clock_ns_per_tick;
    if (vp__native_test_time) ns = vp__native_test_time((vp__stage)code->stage, ns);
    vp__built *b = specialised ? &v->built : &n->built;
    const uint64_t more = (uint64_t)ns * code->weight;
    const uint64_t before = atomic_fetch_add_explicit(&b->ns, more, memory_order_relaxed);
    if ((before + more) >> NOTED_SHIFT != before >> NOTED_SHIFT)
        vp__jobs_add(note_usage, NULL, NULL, false);
    if (!v) return;
    int permille = 0;
    const vp__verdict verdict =
        vp__special_measured(&n->special, v, specialised,
                             ns / (double)(elements > 0 ? elements : 1), ns, &permille);
    if (verdict == VP__NOT_DECIDED) return;
    const bool keeps = verdict == VP__DECIDED_KEEP;
    count(keeps ? &stats.kept : &stats.dropped, 1);
    vp__trace(VP__TR_COMPILE, 0,
              keeps ? "specialised code kept: parts of 1000"
                    : "specialised code dropped: parts of 1000",
              (uint64_t)permille);
    vp__jobs_add(settle_job, n, v, false);
}

/* --- asking ------------------------------------------------------------------------- */

/* For tests of stages that change under a program: in no order. */
static uint32_t toss(void) {
    static _Atomic uint32_t state = 1;
    uint32_t x = atomic_fetch_add_explicit(&state, 0x9e3779b9u, memory_order_relaxed);
    x = (x ^ x >> 16) * 0x85ebca6bu;
    return x ^ x >> 13;
}

static bool is_queued(vp__built *b) {
    return atomic_load_explicit(&b->state, memory_order_relaxed) == VP__CODE_QUEUED;
}

/* Whether the caller is the one who has it compiled. */
static bool becomes_queued(vp__built *b) {
    int expected = VP__CODE_NEW;
    return atomic_load_explicit(&b->state, memory_order_relaxed) == VP__CODE_NEW &&
           atomic_compare_exchange_strong_explicit(&b->state, &expected, VP__CODE_QUEUED,
                                                   memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Without code: counts what the base kernels have taken, until it is enough. */
static void want_native(vp__native *n, double ns) {
    if (atomic_load_explicit(&n->built.state, memory_order_relaxed) != VP__CODE_NEW)
        return;
    float wanted = atomic_load_explicit(&n->wanted, memory_order_relaxed) + (float)ns;
    atomic_store_explicit(&n->wanted, wanted, memory_order_relaxed);
    if (wanted < WORTH && vp__config_get()->jit == VP__JIT_ON) return;
    if (becomes_queued(&n->built)) queue(n, NULL);
}

static vp__variant *add_variant(vp__native *n, const vp__facts *facts) {
    vp__variant *v = vp__special_find(&n->special, facts);
    return v ? v : vp__special_add(&n->special, facts);
}

static vp__code take(vp__native *n, vp__variant *v) {
    vp__native_fn fn = v ? code_of(&v->built) : NULL;
    if (!fn) v = NULL;
    return (vp__code){fn ? fn : code_of(&n->built), n, v,
                      v ? VP__STAGE_SPECIALISED : VP__STAGE_NATIVE, 1};
}

/* Compiled before it runs. Native code only where there is no other. */
static vp__code want_now(vp__native *n, const vp__facts *facts) {
    vp__variant *v = facts ? add_variant(n, facts) : NULL;
    if (v && is_queued(&v->built)) compile(n, v);
    if (v && code_of(&v->built)) return take(n, v);
    becomes_queued(&n->built);
    if (is_queued(&n->built)) compile(n, NULL);
    return take(n, NULL);
}

/* Any stage there is. */
static vp__code want_any(vp__native *n, const vp__facts *facts) {
    if (!code_of(&n->built)) {
        want_native(n, 0);
        return (vp__code){0};
    }
    vp__variant *v = facts ? vp__special_find(&n->special, facts) : NULL;
    if (facts && !v && (v = vp__special_add(&n->special, facts)) != NULL) queue(n, v);
    const uint32_t stage = toss() % 3;
    return stage == VP__STAGE_BASE ? (vp__code){0}
                                   : take(n, stage == VP__STAGE_NATIVE ? NULL : v);
}

/* The modes for tests. */
__attribute__((noinline)) static vp__code want_in_mode(vp__native *n, int mode, int runs,
                                                       vp__tell_facts tell_facts,
                                                       const void *context) {
    vp__facts facts;
    const bool told = mode != VP__JIT_NATIVE && tell_facts && tell_facts(&facts, context);
    const vp__code code = mode == VP__JIT_MIXED ? want_any(n, told ? &facts : NULL)
                                                : want_now(n, told ? &facts : NULL);
    if (code.fn) count_runs(&code, runs);
    return code;
}

vp__code vp__native_want(const vp__kernel *kernel, const vp__loops *loops, double ns,
                         int runs, vp__tell_facts tell_facts, const void *context) {
    const int mode = vp__config_get()->jit;
    if (runs < 1) runs = 1;
    vp__native *n = find(kernel, loops);
    if (!n) return (vp__code){0};
    if (mode != VP__JIT_ON) return want_in_mode(n, mode, runs, tell_facts, context);
    vp__code code = {code_of(&n->built), n, NULL, VP__STAGE_NATIVE, 0};
    if (!code.fn) {
        want_native(n, ns * runs);
        return code;
    }
    code.weight = weigh(n, ns);
    vp__facts facts;
    if (tell_facts && asks_for_facts(&code) && tell_facts(&facts, context))
        specialise(&code, &facts);
    count_runs(&code, runs);
    return code;
}

void vp__native_get_stats(vp__native_stats *out) {
#define GET(name) out->name = atomic_load_explicit(&stats.name, memory_order_relaxed)
    GET(compiled);
    GET(loaded);
    GET(specialised);
    GET(kept);
    GET(dropped);
    GET(failed);
    GET(bytes);
    GET(compile_ns);
    GET(load_ns);
    GET(first_ns);
#undef GET
    out->kernels = (uint64_t)atomic_load_explicit(&known, memory_order_relaxed);
}
