/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/fake_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "jit/plan.h"

/* A block of device memory; the elements follow. */
typedef struct block {
    struct block *next, *previous;
    size_t bytes;
    _Alignas(64) char data[];
} block;

typedef struct command {
    struct command *next;
    vp__device_event *event;
    const vp__launch *launch; /* NULL: a copy */
    void *to;
    const void *from;
    size_t bytes;
    void *inside; /* of device memory: what the copy touches there */
} command;

static fake_properties is;
static vp__device device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t rested = PTHREAD_COND_INITIALIZER;
static command *first, **end = &first;
static bool held, working;
static block blocks = {.next = &blocks, .previous = &blocks};
static int64_t in_use, strays, commands;

/* A number below n, of a device in a mood. */
static int mood(int n) {
    static _Atomic uint32_t state = 1;
    /* relaxed: numbers that two threads share are as good. */
    uint32_t x =
        atomic_load_explicit(&state, memory_order_relaxed) * 1664525u + 1013904223u;
    atomic_store_explicit(&state, x, memory_order_relaxed);
    return (int)((x >> 8) % (uint32_t)n);
}

/* --- memory ------------------------------------------------------------------------- */

static void *allocate(vp__device *d, size_t bytes) {
    (void)d;
    block *b = NULL;
    pthread_mutex_lock(&lock);
    bool refused = is.moody && mood(20) == 0;
    if (!refused && (!is.bytes || in_use + (int64_t)bytes <= is.bytes))
        b = aligned_alloc(64, (sizeof *b + bytes + 63) / 64 * 64);
    if (b) {
        memset(b->data, 0xa5, bytes); /* nobody may rely on what was there */
        b->bytes = bytes;
        b->next = &blocks;
        b->previous = blocks.previous;
        b->previous->next = b;
        blocks.previous = b;
        in_use += (int64_t)bytes;
    }
    pthread_mutex_unlock(&lock);
    return b ? b->data : NULL;
}

static void release(vp__device *d, void *memory, size_t bytes) {
    (void)d;
    block *b = (block *)((char *)memory - offsetof(block, data));
    pthread_mutex_lock(&lock);
    b->next->previous = b->previous;
    b->previous->next = b->next;
    in_use -= (int64_t)bytes;
    pthread_mutex_unlock(&lock);
    free(b);
}

static void check_address(const void *address) {
    pthread_mutex_lock(&lock);
    bool found = false;
    for (block *b = blocks.next; b != &blocks && !found; b = b->next)
        found = (const char *)address >= b->data &&
                (const char *)address < b->data + (b->bytes ? b->bytes : 1);
    if (!found) strays++;
    pthread_mutex_unlock(&lock);
}

int64_t fake_device_bytes(void) {
    pthread_mutex_lock(&lock);
    int64_t bytes = in_use;
    pthread_mutex_unlock(&lock);
    return bytes;
}

int64_t fake_device_strays(void) {
    pthread_mutex_lock(&lock);
    int64_t n = strays;
    pthread_mutex_unlock(&lock);
    return n;
}

/* --- the queue ---------------------------------------------------------------------- */

static void push(command c) {
    command *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = c;
    copy->next = NULL;
    pthread_mutex_lock(&lock);
    *end = copy;
    end = &copy->next;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void copy(vp__device *d, vp__direction direction, void *to, const void *from,
                 size_t bytes, vp__device_event *event) {
    (void)d;
    push((command){.event = event,
                   .to = to,
                   .from = from,
                   .bytes = bytes,
                   .inside = direction == VP__TO_DEVICE ? to : (void *)from});
    if (is.goes_in_copy && --is.goes_in_copy == 0) {
        fake_device_go();
        fake_device_rest();
    }
}

static void launch(vp__device *d, const vp__launch *l, vp__device_event *event) {
    (void)d;
    push((command){.event = event, .launch = l});
}

static void *load(vp__device *d, const struct vp__kernel *kernel) {
    (void)d;
    if (is.refuses_kernels || (is.moody && mood(20) == 0) || mood(8) < is.refuses_of_8)
        return NULL;
    vp__kernel *k = malloc(sizeof *k);
    if (k) *k = *kernel;
    return k;
}

static void unload(vp__device *d, void *loaded) {
    (void)d;
    free(loaded);
}

static void pass(double ns) {
    if (ns < 1) return;
    uint64_t start = vp__clock_ticks();
    struct timespec t = {(time_t)(ns / 1e9),
                         (long)(ns - 1e9 * (double)(time_t)(ns / 1e9))};
    if (ns > 100000) nanosleep(&t, NULL);
    while ((double)vp__clock_ns(vp__clock_ticks() - start) < ns) {}
}

static void run_kernel(const vp__launch *l) {
    const vp__kernel *k = l->kernel;
    for (int i = 0; i < k->nleaves; i++)
        if (!k->leaf[i].constant) check_address(l->leaf[i]);
    check_address(l->out);
    vp__exec_args args = *l->args;
    args.kernel = k;
    vp__plan *plan = aligned_alloc(64, (vp__plan_size() + 63) / 64 * 64);
    void *scratch = aligned_alloc(64, (vp__exec_scratch_size() + 63) / 64 * 64);
    if (!plan || !scratch) abort();
    vp__plan_init(plan, &args, INT64_MAX / 4);
    size_t partial_bytes = (vp__plan_partial_bytes(plan) + 63) / 64 * 64;
    void *partial = partial_bytes ? aligned_alloc(64, partial_bytes) : NULL;
    for (int64_t i = 0; i < vp__plan_pieces(plan); i++)
        vp__plan_run(plan, i, l->leaf, l->out, partial, scratch);
    if (partial_bytes) vp__plan_finish(plan, l->out, partial, scratch);
    free(partial);
    free(scratch);
    free(plan);
}

/* The device's clock: other programs do not slow it down. */
static double own_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void execute(command *c) {
    if (c->event->began) c->event->began(c->event);
    commands++;
    bool failed = is.fails_after < 0 ? commands <= -is.fails_after
                                     : is.fails_after && commands > is.fails_after;
    if ((c->launch || c->inside == c->to) && mood(8) < is.fails_of_8) failed = true;
    double ns = 0;
    if (c->launch && !failed) {
        double start = own_ns();
        run_kernel(c->launch);
        double took = own_ns() - start;
        ns = took * is.slowness;
        pass(ns - took);
    } else if (!failed) {
        check_address(c->inside);
        memcpy(c->to, c->from, c->bytes);
        ns = (double)c->bytes * is.ns_per_byte;
        pass(ns);
    }
    static const double lies[] = {0.001, 0.01, 0.1, 1, 10, 100, 1000};
    if (is.moody) ns = (ns + 1000) * lies[mood(7)];
    c->event->done(c->event, failed, ns);
}

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        bool idle = !first;
        working = false;
        if (idle) pthread_cond_broadcast(&rested);
        while (!first || held) pthread_cond_wait(&changed, &lock);
        command *c = first;
        first = c->next;
        if (!first) end = &first;
        working = true;
        pthread_mutex_unlock(&lock);
        if (idle) pass(is.latency_ns);
        execute(c);
        free(c);
    }
    return NULL;
}

void fake_device_hold(void) {
    pthread_mutex_lock(&lock);
    held = true;
    pthread_mutex_unlock(&lock);
}

void fake_device_go(void) {
    pthread_mutex_lock(&lock);
    held = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

void fake_device_rest(void) {
    pthread_mutex_lock(&lock);
    while (first || working) pthread_cond_wait(&rested, &lock);
    pthread_mutex_unlock(&lock);
}

static void guess(vp__figure *f, double value) {
    atomic_store_explicit(&f->value, (float)value, memory_order_relaxed);
    atomic_store_explicit(&f->samples, 0, memory_order_relaxed);
}

static void describe(const fake_properties *p, double wrong_by) {
    pthread_mutex_lock(
        &lock); /* the device's thread has seen it before its next command */
    is = *p;
    pthread_mutex_unlock(&lock);
    guess(&device.latency, p->latency_ns * wrong_by);
    guess(&device.ns_per_byte, p->ns_per_byte * wrong_by);
    device.slowness = (float)(p->slowness * wrong_by);
}

void fake_device_become(const fake_properties *p, double wrong_by) {
    if (device.driver)
        describe(p, wrong_by);
    else
        fake_device_add(p, wrong_by);
}

uint64_t fake_device_launches(void) {
    return (uint64_t)atomic_load_explicit(&device.launches, memory_order_relaxed);
}

vp__device *fake_device_add(const fake_properties *p, double wrong_by) {
    static const vp__device_driver driver = {.name = "fake",
                                             .allocate = allocate,
                                             .release = release,
                                             .copy = copy,
                                             .load = load,
                                             .unload = unload,
                                             .launch = launch};
    vp__clock_init();
    device.driver = &driver;
    describe(p, wrong_by);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) abort();
    pthread_detach(thread);
    vp__device_add(&device);
    return &device;
}
