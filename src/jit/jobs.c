/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/jobs.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "jit/compiler.h"
#include "trace/trace.h"

enum {
    /* The first kernel takes about this long, with opening the compiler. */
    FIRST_NS = 12000000,
    /* A job that took less compiled nothing; one that took more was held up. */
    COMPILES_NS = 1000000,
    MOST_NS = 50000000,
};

typedef struct job {
    struct job *next;
    void (*work)(void *, void *);
    void *a, *b;
} job;

typedef struct {
    job *first, **last;
} queue;

/* Guards everything here; never held while compiling. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static queue urgent = {NULL, &urgent.first}, others = {NULL, &others.first};
static bool running; /* the thread that compiles has been started */
static job *doing;   /* the job it is at */
static bool active;  /* a job is being compiled */
static bool broken;  /* nothing can be compiled any more */
/* The books, and what stands there of ours; how long a job takes, as far as is known. */
static void (*book)(int64_t ns);
static int64_t booked, usual_ns = FIRST_NS;
/* One compilation at a time. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* --- forks -------------------------------------------------------------------------- */

static void before_fork(void) {
    vp__compiler_before_fork();
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
    vp__compiler_after_fork();
}

/* The thread that compiles is not in the child. If it was compiling, the compiler may be in the
 * middle of anything: the child goes on with the code it has. */
static void in_child(void) {
    if (active) broken = true;
    active = running = false;
    free(doing);
    doing = NULL;
    if (booked) book(-booked);
    booked = 0;
    pthread_mutex_init(&compiling, NULL);
    pthread_cond_init(&changed, NULL);
    after_fork();
}

void vp__jobs_init(void (*books)(int64_t)) {
    book = books;
    pthread_atfork(before_fork, after_fork, in_child);
}

/* --- the thread --------------------------------------------------------------------- */

static job *take(queue *q) {
    job *j = q->first;
    if (!j) return NULL;
    q->first = j->next;
    if (!q->first) q->last = &q->first;
    return j;
}

/* Both with the lock. */
static void enter_books(void) {
    if (!book) return;
    booked = usual_ns;
    book(booked);
}

static void leave_books(uint64_t began) {
    const int64_t ns = (int64_t)vp__clock_ns(vp__clock_ticks() - began);
    if (ns >= COMPILES_NS) usual_ns += ((ns < MOST_NS ? ns : MOST_NS) - usual_ns) / 4;
    if (booked) book(-booked);
    booked = 0;
}

static void *work(void *unused) {
    (void)unused;
    vp__trace_thread("compiler");
    pthread_mutex_lock(&lock);
    for (;;) {
        job *j = take(&urgent);
        if (!j) j = take(&others);
        if (!j) {
            pthread_cond_broadcast(&changed);
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        doing = j;
        enter_books();
        const uint64_t began = vp__clock_ticks();
        pthread_mutex_unlock(&lock);
        j->work(j->a, j->b);
        pthread_mutex_lock(&lock);
        leave_books(began);
        free(j);
        doing = NULL;
    }
    return NULL;
}

/* With the lock. */
static void start_thread(void) {
    pthread_t thread;
    if (running || pthread_create(&thread, NULL, work, NULL) != 0) return;
    pthread_detach(thread);
    running = true;
}

bool vp__jobs_add(void (*fn)(void *, void *), void *a, void *b, bool first) {
    job *j = malloc(sizeof *j);
    if (!j) return false;
    *j = (job){NULL, fn, a, b};
    queue *q = first ? &urgent : &others;
    pthread_mutex_lock(&lock);
    const bool added = !broken;
    if (added) {
        *q->last = j;
        q->last = &j->next;
        start_thread();
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!added) free(j);
    return added;
}

bool vp__jobs_enter(void) {
    pthread_mutex_lock(&compiling);
    pthread_mutex_lock(&lock);
    const bool enters = active = !broken;
    pthread_mutex_unlock(&lock);
    if (!enters) pthread_mutex_unlock(&compiling);
    return enters;
}

void vp__jobs_leave(void) {
    pthread_mutex_lock(&lock);
    active = false;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&compiling);
}

void vp__jobs_settle(void) {
    pthread_mutex_lock(&lock);
    while (running && (urgent.first || others.first || doing))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
