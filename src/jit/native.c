/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "jit/native.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/config.h"
#include "jit/compiler.h"
#include "trace/trace.h"

enum {
    /* A program with more kernels than this has most of them once. */
    MOST = 1024,
    SLOTS = 4 * MOST,
    /* Nanoseconds of base kernels after which code is worth a compiler's time: far less than
     * compiling takes, because what has run that long mostly goes on. */
    WORTH = 200000,
    /* A run that costs less is over before anybody would have looked. */
    LEAST = 1500,
};

typedef enum { NEW, QUEUED, READY, FAILED } state;

typedef struct {
    uint16_t bytes;
    char text[2 * VP__KERNEL_LEAVES + VP__KERNEL_INSTRS * sizeof(vp__instr) + 8];
} key;

typedef struct native {
    uint64_t hash;
    key key;
    _Atomic(vp__native_fn) fn;
    vp__object *object; /* where it is; the table keeps it, and is never emptied */
    _Atomic int state;
    _Atomic float wanted; /* nanoseconds; a hint, so relaxed */
    struct native *next;  /* in the queue */
    vp__kernel kernel;
    vp__form form;
} native;

/* Open addressing, filled once: a slot that is set stays as it is. */
static _Atomic(native *) slots[SLOTS];
static _Atomic int known;

/* Guards the queue and everything else here; never held while compiling. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static native *first, **last = &first;
static bool running; /* there is a thread that compiles */
static bool busy;    /* it has something to do */
static bool active;  /* whoever compiles is at it */
static bool broken;  /* nothing can be compiled any more */
static vp__native_stats stats;
/* One compilation at a time. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;
bool (*vp__native_test_hook)(void);

/* --- forks -------------------------------------------------------------------------- */

static void before_fork(void) {
    vp__compiler_before_fork();
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
    vp__compiler_after_fork();
}

/* The thread is not there any more. If somebody was compiling, the compiler may be in the
 * middle of anything: the child goes on with the code it has. */
static void in_child(void) {
    if (active) broken = true;
    active = busy = running = false;
    pthread_mutex_init(&compiling, NULL);
    pthread_cond_init(&changed, NULL);
    after_fork();
}

void vp__native_init(void) { pthread_atfork(before_fork, after_fork, in_child); }

/* --- compiling ---------------------------------------------------------------------- */

/* A failure is a line in the trace, which keeps the text, and with VP_DEBUG one on
 * stderr. */
static void tell(bool ok, const vp__compiled *code, double ns, const char *message) {
    if (ok) {
        vp__trace(VP__TR_COMPILE, 0,
                  code->from_cache ? "native code loaded" : "native code compiled",
                  (uint64_t)ns);
        return;
    }
    char *text = NULL;
    if (asprintf(&text, "a kernel stays with the base kernels: %s",
                 message ? message : "the compiler failed") < 0)
        return;
    if (vp__config_get()->debug_ir) fprintf(stderr, "vproc: %s\n", text);
    vp__trace(VP__TR_COMPILE, 0, text, (uint64_t)ns);
    if (!vp__trace_on) free(text);
}

static bool begin(native *n) {
    pthread_mutex_lock(&compiling);
    pthread_mutex_lock(&lock);
    active = !broken && atomic_load_explicit(&n->state, memory_order_acquire) == QUEUED;
    const bool begins = active;
    pthread_mutex_unlock(&lock);
    if (!begins) pthread_mutex_unlock(&compiling);
    return begins;
}

static void compile(native *n) {
    if (!begin(n)) return;
    vp__compiled code = {0};
    char *message = NULL;
    uint64_t began = vp__clock_ticks();
    bool ok = (!vp__native_test_hook || vp__native_test_hook()) &&
              vp__compile(&n->kernel, &n->form, &code, &message);
    double ns = (double)vp__clock_ns(vp__clock_ticks() - began);
    tell(ok, &code, ns, message);
    free(message);
    pthread_mutex_lock(&lock);
    active = false;
    if (!ok) {
        stats.failed++;
    } else {
        n->object = code.object;
        stats.bytes += code.bytes;
        *(code.from_cache ? &stats.loaded : &stats.compiled) += 1;
        *(code.from_cache ? &stats.load_ns : &stats.compile_ns) += ns;
        if (!stats.first_ns) stats.first_ns = vp__clock_ns(vp__clock_ticks());
        /* release pairs with vp__native_want: the code is there. */
        atomic_store_explicit(&n->fn, code.fn, memory_order_release);
    }
    atomic_store_explicit(&n->state, ok ? READY : FAILED, memory_order_release);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&compiling);
}

static void *work(void *unused) {
    (void)unused;
    vp__trace_thread("compiler");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first) {
            busy = false;
            pthread_cond_broadcast(&changed);
            pthread_cond_wait(&changed, &lock);
        }
        native *n = first;
        first = n->next;
        if (!first) last = &first;
        busy = true;
        pthread_mutex_unlock(&lock);
        compile(n);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static void enqueue(native *n) {
    pthread_mutex_lock(&lock);
    if (!broken) {
        n->next = NULL;
        *last = n;
        last = &n->next;
        pthread_t thread;
        if (!running && pthread_create(&thread, NULL, work, NULL) == 0) {
            pthread_detach(thread);
            running = true;
        }
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
}

/* --- the table ---------------------------------------------------------------------- */

static void make_key(key *k, const vp__kernel *kernel, const vp__form *form) {
    char *p = k->text;
    *p++ = (char)kernel->nleaves;
    *p++ = (char)kernel->ninstrs;
    *p++ = (char)(kernel->reduce + 1);
    *p++ = (char)(kernel->reduce < 0 ? 0 : kernel->reduce_type);
    *p++ = (char)kernel->result;
    *p++ = (char)form->kind;
    for (int i = 0; i < kernel->nleaves; i++) {
        *p++ = (char)(kernel->leaf[i].dtype | kernel->leaf[i].constant << 7);
        *p++ = (char)form->read[i];
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

static bool is_same(const native *n, uint64_t hash, const key *k) {
    return n->hash == hash && n->key.bytes == k->bytes &&
           memcmp(n->key.text, k->text, k->bytes) == 0;
}

static native *insert(_Atomic(native *) *slot, uint64_t hash, const key *k,
                      const vp__kernel *kernel, const vp__form *form) {
    if (atomic_fetch_add_explicit(&known, 1, memory_order_relaxed) >= MOST) {
        atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
        return NULL;
    }
    native *n = calloc(1, sizeof *n), *there = NULL;
    if (!n) {
        atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
        return NULL;
    }
    n->hash = hash;
    n->key = *k;
    n->kernel = *kernel;
    n->form = *form;
    /* release publishes the record; acquire sees another thread's. */
    if (atomic_compare_exchange_strong_explicit(slot, &there, n, memory_order_acq_rel,
                                                memory_order_acquire))
        return n;
    free(n);
    atomic_fetch_sub_explicit(&known, 1, memory_order_relaxed);
    return is_same(there, hash, k) ? there : NULL; /* another kernel's: next time */
}

static native *find(const vp__kernel *kernel, const vp__form *form) {
    key k;
    make_key(&k, kernel, form);
    const uint64_t hash = hash_of(&k);
    for (uint64_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
        native *n = atomic_load_explicit(&slots[i], memory_order_acquire);
        if (!n) return insert(&slots[i], hash, &k, kernel, form);
        if (is_same(n, hash, &k)) return n;
    }
}

bool vp__native_is_worth(double ns) {
    const int mode = vp__config_get()->jit;
    return mode != VP__JIT_OFF && (ns >= LEAST || mode != VP__JIT_ON) && ns > 0 &&
           vp__compiler_is_possible();
}

/* For tests of stages that change under a program: every other time, in no order. */
static bool coin(void) {
    static _Atomic uint32_t state = 1;
    uint32_t x = atomic_fetch_add_explicit(&state, 0x9e3779b9u, memory_order_relaxed);
    x = (x ^ x >> 16) * 0x85ebca6bu;
    return (x ^ x >> 13) & 1;
}

vp__native_fn vp__native_want(const vp__kernel *kernel, const vp__form *form, double ns) {
    const int mode = vp__config_get()->jit;
    native *n = find(kernel, form);
    if (!n) return NULL;
    vp__native_fn fn = atomic_load_explicit(&n->fn, memory_order_acquire);
    if (fn) return mode == VP__JIT_MIXED && coin() ? NULL : fn;
    if (atomic_load_explicit(&n->state, memory_order_relaxed) != NEW) {
        if (mode == VP__JIT_ON) return NULL;
    } else {
        float wanted = atomic_load_explicit(&n->wanted, memory_order_relaxed) + (float)ns;
        atomic_store_explicit(&n->wanted, wanted, memory_order_relaxed);
        if (mode == VP__JIT_ON && wanted < WORTH) return NULL;
        int expected = NEW;
        if (atomic_compare_exchange_strong_explicit(&n->state, &expected, QUEUED,
                                                    memory_order_acq_rel,
                                                    memory_order_relaxed) &&
            mode != VP__JIT_NATIVE)
            enqueue(n);
    }
    if (mode != VP__JIT_NATIVE) return NULL;
    compile(n);
    return atomic_load_explicit(&n->fn, memory_order_acquire);
}

void vp__native_settle(void) {
    pthread_mutex_lock(&lock);
    while (running && (first || busy)) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void vp__native_get_stats(vp__native_stats *out) {
    pthread_mutex_lock(&lock);
    *out = stats;
    pthread_mutex_unlock(&lock);
    out->kernels = (uint64_t)atomic_load_explicit(&known, memory_order_relaxed);
}
