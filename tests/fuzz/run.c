/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions are issued through the functions behind the macros of vproc.h, with a
 * place of our own ("i17"), so that messages name the instruction of the program.
 *
 * Gates hold a result, or a size, back until they are opened; whatever would wait for one
 * opens all of them first. In the reference a gate is a plain copy.
 */
#include "run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/build.h"
#include "api/operand.h"
#include "array/dtype.h"
#include "base/config.h"
#include "issue/close.h"
#include "issue/gate.h"
#include "ops/ops.h"

/* No program that makes sense has a larger array. */
enum { MOST_ELEMENTS = 1 << 26 };

typedef struct {
    int first;        /* where its FOR is */
    int64_t i, count; /* which iteration, and how many */
} loop;

/* A thread's part of a program. */
typedef struct {
    const fuzz_program *p;
    const bool *kept;
    int issuer;
    fuzz_log *log;
    loop loop[FUZZ_NEST];
    int loops;
    bool defined[FUZZ_MAX];
    vp_array array[FUZZ_MAX];
    vp_expr expr[FUZZ_MAX];
    vp_scope scope[FUZZ_MAX];
    int depth;
    vp__gate gate[2 * FUZZ_MAX];
    int gates;
    struct {
        vp_mapped view;
        int instruction;
    } map[FUZZ_MAX];
    int maps;
    char *memory; /* to read into, grown as needed */
    size_t capacity;
} run;

/* "i0", "i1", …: places must outlive the program's nodes. */
static char places[FUZZ_MAX][8];

static pthread_once_t places_once = PTHREAD_ONCE_INIT;

static void name_places(void) {
    for (int i = 0; i < FUZZ_MAX; i++) snprintf(places[i], sizeof places[i], "i%d", i);
}

static void *room(run *r, size_t bytes) {
    if (bytes > r->capacity) {
        free(r->memory);
        r->capacity = bytes + 4096;
        r->memory = malloc(r->capacity);
        if (!r->memory) abort();
    }
    return r->memory;
}

static _Atomic uint64_t loop_puts;

uint64_t fuzz_loop_puts(void) {
    return atomic_load_explicit(&loop_puts, memory_order_relaxed);
}

/* --- borrowed memory ---------------------------------------------------------------- */

static _Atomic int borrowed;

static void give_back(void *context, void *memory) {
    (void)memory;
    free(context);
    atomic_fetch_sub_explicit(&borrowed, 1, memory_order_relaxed);
}

/* A program's own business there: it issues, and waits for what it has issued. */
static void compute_and_give_back(void *context, void *memory) {
    enum { N = 9 };
    double last = 0;
    vp_array y = vp_let(vp_cumsum(vp_ones(VP_F64, vp_shape(N)), 0));
    if (vp_item(vp_get(y, -1), &last) != VP_OK || last != N) abort();
    vp_drop(y);
    give_back(context, memory);
}

int fuzz_borrowed(void) { return atomic_load_explicit(&borrowed, memory_order_relaxed); }

/* Memory of the user's own: compact, or with a gap after each element, or last axis
 * backwards. */
static vp_array borrow(const fuzz_instruction *in, const char *where, vp_shape_t shape) {
    int64_t n = fuzz_count(in), size = vp__dtype[in->dtype].size;
    int64_t gap = in->op == 1 ? 2 : 1, strides[FUZZ_DIMS], step = size * gap;
    char *memory = calloc((size_t)(n * gap) + 1, (size_t)size), *first = memory;
    if (!memory) abort();
    fuzz_fill(in, memory);
    for (int64_t i = n - 1; i > 0 && gap > 1; i--)
        memcpy(memory + i * size * gap, memory + i * size, (size_t)size);
    for (int i = in->ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= in->dims[i] ? in->dims[i] : 1;
    }
    if (in->op == 2 && in->ndim && n) {
        int last = in->ndim - 1;
        first += (in->dims[last] - 1) * strides[last];
        strides[last] = -strides[last];
    }
    atomic_fetch_add_explicit(&borrowed, 1, memory_order_relaxed);
    return vp__borrow(where, (vp_dtype)in->dtype, shape, in->op ? strides : NULL, first,
                      in->flag ? VP_WRITABLE : VP_READ_ONLY,
                      in->ndim == 1 ? compute_and_give_back : give_back, memory);
}

/* --- pieces of instructions --------------------------------------------------------- */

/* Which iteration it is of the loop that is so many around the innermost one. */
static int iteration(const run *r, int around) {
    return r->loops > around ? (int)r->loop[r->loops - 1 - around].i : 0;
}

static int64_t walked(const run *r, const fuzz_walk *w) {
    return fuzz_walked(w, iteration(r, 0), iteration(r, 1));
}

static int variable(const run *r, const fuzz_operand *o) {
    return o->other && fuzz_happens(&o->when, iteration(r, 0)) ? o->other - 1 : o->var;
}

static vp_operand operand(const run *r, const fuzz_operand *o) {
    if (o->kind == FUZZ_IN_COMPLEX) return vp__in_expr(vp__complex(o->f[0], o->f[1]));
    const int64_t more = walked(r, &o->walk);
    switch ((vp__in_kind)o->kind) {
    case VP__IN_ARRAY: return vp__in_array(r->array[variable(r, o)]);
    case VP__IN_EXPR: return vp__in_expr(r->expr[variable(r, o)]);
    case VP__IN_BOOL: return vp__in_bool(o->i != 0);
    case VP__IN_INT: return vp__in_int(o->i + more);
    case VP__IN_UINT: return vp__in_uint((uint64_t)(o->i + more));
    case VP__IN_FLOAT: break;
    }
    return vp__in_float(o->f[0] + (double)more / 4);
}

static vp_shape_t shape(const fuzz_instruction *in) {
    return vp_shape_of(in->ndim, in->dims, in->column);
}

static vp_axes_t axes(const fuzz_instruction *in) {
    vp_axes_t a = vp__axes_every();
    if (in->naxes < 0) return a;
    a.count = in->naxes;
    for (int i = 0; i < in->naxes; i++) a.axis[i] = in->axes[i];
    return a;
}

/* Into `items`, which must outlive the selection. */
static vp_index selection(const run *r, const fuzz_instruction *in, vp_sel *items) {
    for (int i = 0; i < in->nitems; i++) {
        const fuzz_item *it = &in->item[i];
        items[i] = vp__sel_plain((vp__sel_kind)it->kind);
        items[i].has_start = it->has_start;
        items[i].has_stop = it->has_stop;
        items[i].start = it->start + walked(r, &it->from);
        items[i].stop = it->stop + walked(r, &it->to);
        items[i].step = it->step;
        if (it->kind != VP__SEL_ARRAY) continue;
        const vp_operand x = operand(r, &it->array);
        items[i] = x.kind == VP__IN_EXPR ? vp__sel_expr(vp__bits_expr(x.bits))
                                         : vp__sel_array(vp__bits_array(x.bits));
    }
    return vp_index_of(in->nitems, items);
}

static void open_gates(run *r) {
    for (int i = 0; i < r->gates; i++) vp__gate_open(&r->gate[i]);
    r->gates = 0;
}

static vp_expr gate(run *r, const fuzz_instruction *in, const char *where) {
    vp_operand x = operand(r, &in->in[0]);
    if (vp__config_get()->sync) return vp__tile(where, x, vp_shape_of(0, NULL, false));
    VP__CALL; /* as of the interface: others wait for its end */
    vp__expr *e = vp__operand(x, where);
    if (e->kind != VP__EXPR_POISON) vp__materialise(e);
    if (e->kind == VP__EXPR_POISON) return vp__give(e);
    vp__gate *size_gate = in->flag ? &r->gate[r->gates++] : NULL;
    vp__gate *run_gate = &r->gate[r->gates++];
    vp__value v;
    vp__gate_copy(e, size_gate, run_gate, where, &v);
    return vp__give(vp__value_expr(&v, where));
}

/* As a C program would write it: whole ones are integers, nearly always. */
static vp_operand number(double x) {
    const bool whole = fabs(x) < 9e15 && x == (double)(int64_t)x;
    return whole ? vp__in_int((int64_t)x) : vp__in_float(x);
}

/* Elements of any value, written whole at once or in two halves. */
static vp_array empty(const fuzz_instruction *in, const char *where) {
    vp_operand e = vp__in_expr(vp__empty(where, (vp_dtype)in->dtype, shape(in)));
    vp_array a = vp__let(where, e);
    vp_sel all = VP_ELLIPSIS, low = vp_until(in->dims[0] / 2);
    vp_sel high = vp_from_index(in->dims[0] / 2);
    bool halves = in->flag && in->ndim > 0;
    vp_shape_t s = shape(in);
    for (int i = 0; i < (halves ? 2 : 1); i++) {
        vp_index at = vp_index_of(1, !halves ? &all : i == 0 ? &low : &high);
        if (halves) s.dims[0] = i == 0 ? in->dims[0] / 2 : in->dims[0] - in->dims[0] / 2;
        vp_expr value = vp__counter(where, (vp_dtype)in->dtype, s, number(in->x[0]),
                                    number(in->x[1]));
        vp__put_at(where, a, at, vp__in_expr(value));
    }
    return a;
}

/* --- observing ---------------------------------------------------------------------- */

/* Until vp_sync has no failure to tell any more. Which ones there are is not compared: one
 * machine may know of a mistake when it is looked at, or may never compute what is thrown
 * away. */
static vp_status sync_all(void) {
    enum { MOST = 2000 }; /* more than are kept */
    vp_status status = vp_sync();
    for (int n = 0; status != VP_OK && n < MOST; n++) status = vp_sync();
    return status;
}

static void log_failure(run *r, int i, const char *what, vp_status status) {
    fuzz_log_failure(r->log, i, what, status, vp_message());
}

static void log_mapped(run *r, int i, const char *what, const vp_mapped *m) {
    int64_t n = 1, at[VP_MAXDIM] = {0};
    size_t size = vp__dtype[m->dtype].size;
    for (int k = 0; k < m->ndim; k++) n *= m->dims[k];
    char *to = room(r, (size_t)n * size);
    const char *from = m->data;
    for (int64_t e = 0; e < n; e++) {
        memcpy(to + (size_t)e * size, from, size);
        for (int k = m->ndim - 1; k >= 0; k--) {
            from += m->strides[k];
            if (++at[k] < m->dims[k]) break;
            from -= at[k] * m->strides[k];
            at[k] = 0;
        }
    }
    fuzz_log_array(r->log, i, what, m->dtype, m->ndim, m->dims, to);
}

static void unmap_all(run *r, int i) {
    for (int k = 0; k < r->maps; k++) {
        char what[32];
        snprintf(what, sizeof what, "unmap i%d", r->map[k].instruction);
        log_mapped(r, i, what, &r->map[k].view);
        vp_unmap(&r->map[k].view);
    }
    r->maps = 0;
}

static void read(run *r, int i, vp_operand x, const char *where) {
    int64_t dims[VP_MAXDIM], n = vp__size_of(where, x, VP__EVERY_AXIS);
    int ndim = vp__ndim_of(where, x);
    vp_dtype t = vp__dtype_of(where, x);
    if (n < 0) {
        /* Poisoned so early that there is no size; the read must say why. */
        log_failure(r, i, "read", vp__read(where, x, VP_AUTO, NULL, 0));
        return;
    }
    if (n > MOST_ELEMENTS) {
        /* Something absurd that no memory was found for. */
        log_failure(r, i, "read", vp__wait_for(where, x));
        return;
    }
    for (int k = 0; k < ndim; k++) dims[k] = vp__size_of(where, x, k);
    size_t bytes = (size_t)n * vp__dtype[t].size;
    void *memory = room(r, bytes + 1);
    vp_status status = vp__read(where, x, VP_AUTO, memory, bytes);
    if (status == VP_OK)
        fuzz_log_array(r->log, i, "read", t, ndim, dims, memory);
    else
        log_failure(r, i, "read", status);
}

static void item(run *r, int i, vp_operand x, vp_dtype t, const char *where) {
    uint64_t value[2] = {0, 0};
    vp_status status = vp__item(where, x, t, value);
    if (status == VP_OK)
        fuzz_log_array(r->log, i, "item", t, 0, NULL, value);
    else
        log_failure(r, i, "item", status);
}

static void observe(run *r, int i) {
    const fuzz_instruction *in = &r->p->at[i];
    const char *where = places[i];
    vp_operand x = operand(r, &in->in[0]);
    vp_clear_error();
    vp_status status;
    int64_t n;
    switch ((fuzz_kind)in->kind) {
    case FUZZ_READ: read(r, i, x, where); break;
    case FUZZ_ITEM: item(r, i, x, (vp_dtype)in->dtype, where); break;
    case FUZZ_MAP:
        status = vp__map(where, x, &r->map[r->maps].view);
        if (status != VP_OK) {
            log_failure(r, i, "map", status);
            break;
        }
        log_mapped(r, i, "map", &r->map[r->maps].view);
        r->map[r->maps++].instruction = i;
        break;
    case FUZZ_SIZE:
        n = vp__size_of(where, x, in->axes[0] % 2 ? in->axes[0] : VP__EVERY_AXIS);
        fuzz_log_number(r->log, i, "size", n);
        if (n < 0) log_failure(r, i, "size", vp_error());
        break;
    case FUZZ_LOOK:
        /* Known at issue, before a late mistake has happened: looked at, not compared. */
        vp__ndim_of(where, x);
        vp__dtype_of(where, x);
        break;
    case FUZZ_WAIT:
        status = vp__wait_for(where, x);
        if (status != VP_OK) log_failure(r, i, "wait", status);
        break;
    case FUZZ_SYNC: fuzz_log_number(r->log, i, "sync", sync_all()); break;
    default: break;
    }
}

/* --- instructions ------------------------------------------------------------------- */

static vp_expr make(run *r, int i) {
    const fuzz_instruction *in = &r->p->at[i];
    const char *where = places[i];
    vp_dtype t = (vp_dtype)in->dtype;
    size_t bytes;
    switch ((fuzz_kind)in->kind) {
    case FUZZ_FROM:
        bytes = (size_t)fuzz_count(in) * vp__dtype[in->dtype].size;
        fuzz_fill(in, room(r, bytes + 1));
        return vp__from(where, t, shape(in), r->memory);
    case FUZZ_FULL: return vp__full(where, t, shape(in), operand(r, &in->in[0]));
    case FUZZ_ARANGE:
        return vp__arange(where, t, number(in->x[0]), number(in->x[1]), number(in->x[2]));
    case FUZZ_LINSPACE: return vp__linspace(where, t, in->x[0], in->x[1], in->low);
    case FUZZ_EYE: return vp__eye(where, t, in->dims[0], in->dims[1], in->low);
    default: return vp__counter(where, t, shape(in), number(in->x[0]), number(in->x[1]));
    }
}

static vp_expr compute(run *r, int i) {
    const fuzz_instruction *in = &r->p->at[i];
    const char *where = places[i];
    vp_operand x[FUZZ_INPUTS];
    vp_sel items[FUZZ_ITEMS];
    for (int k = 0; k < in->nin; k++) x[k] = operand(r, &in->in[k]);
    switch ((fuzz_kind)in->kind) {
    case FUZZ_OP:
        if (in->nin == 1) return vp__op1(in->op, where, x[0]);
        if (in->nin == 2) return vp__op2(in->op, where, x[0], x[1]);
        return vp__op3(in->op, where, x[0], x[1], x[2]);
    case FUZZ_CAST: return vp__cast(where, x[0], (vp_dtype)in->dtype);
    case FUZZ_REDUCE:
        return vp__reduce(in->op, where, x[0], VP__ADDRESS(vp_axes_t, axes(in)),
                          (vp_dtype)in->dtype, in->flag);
    case FUZZ_ALONG: return vp__along(where, x[0], in->axes[0], in->op);
    case FUZZ_FOURIER:
        return vp__fourier(in->op, where, x[0], in->axes[0], in->flag ? &in->low : NULL);
    case FUZZ_MATMUL: return vp__matmul(where, x[0], x[1]);
    case FUZZ_RESHAPE: return vp__reshape(where, x[0], shape(in));
    case FUZZ_PERMUTE: return vp__permute(where, x[0], axes(in));
    case FUZZ_BROADCAST: return vp__broadcast(where, x[0], shape(in));
    case FUZZ_SQUEEZE: return vp__squeeze(where, x[0], axes(in));
    case FUZZ_EXPAND: return vp__expand(where, x[0], in->axes[0]);
    case FUZZ_ROLL: return vp__roll(where, x[0], in->low, in->axes[0]);
    case FUZZ_FLIP: return vp__flip(where, x[0], axes(in));
    case FUZZ_JOIN: return vp__concatenate(where, in->axes[0], in->nin, x, in->flag);
    case FUZZ_TILE: return vp__tile(where, x[0], shape(in));
    case FUZZ_REPEAT: return vp__repeat(where, x[0], in->low, in->axes[0]);
    case FUZZ_GET: return vp__get(where, x[0], selection(r, in, items));
    case FUZZ_TAKE: return vp__take(where, x[0], x[1], in->axes[0]);
    case FUZZ_FIND: return vp__find(where, x[0], in->flag);
    case FUZZ_GATE: return gate(r, in, where);
    default: return make(r, i);
    }
}

/* Whether the instruction may wait for something a closed gate holds back. */
static bool may_wait(const fuzz_instruction *in) {
    switch ((fuzz_kind)in->kind) {
    case FUZZ_READ:
    case FUZZ_MAP:
    case FUZZ_ITEM:
    case FUZZ_WAIT:
    case FUZZ_SYNC: return true;
    default: return in->late;
    }
}

static bool is_complete(const run *r, const fuzz_instruction *in) {
    for (int k = 0; k < in->nin; k++)
        if (in->in[k].kind <= VP__IN_EXPR && !r->defined[variable(r, &in->in[k])])
            return false;
    for (int k = 0; k < in->nitems; k++)
        if (in->item[k].kind == VP__SEL_ARRAY && !r->defined[in->item[k].array.var])
            return false;
    return true;
}

static void step(run *r, int i) {
    const fuzz_instruction *in = &r->p->at[i];
    const char *where = places[i];
    if (!is_complete(r, in)) return;
    if (r->gates && may_wait(in)) open_gates(r);
    r->defined[i] = true;
    vp_operand x = vp__in_int(0), y = x;
    vp_sel items[FUZZ_ITEMS];
    if (in->nin > 0) x = operand(r, &in->in[0]);
    if (in->nin > 1) y = operand(r, &in->in[1]);
    switch ((fuzz_kind)in->kind) {
    case FUZZ_EMPTY: r->array[i] = empty(in, where); break;
    case FUZZ_BORROW: r->array[i] = borrow(in, where, shape(in)); break;
    case FUZZ_LET: r->array[i] = vp__let(where, x); break;
    case FUZZ_VIEW: r->array[i] = vp__view_of(where, x); break;
    case FUZZ_SET: vp__set(where, vp__bits_array(x.bits), y); break;
    case FUZZ_PUT:
        if (r->loops) atomic_fetch_add_explicit(&loop_puts, 1, memory_order_relaxed);
        vp__put_at(where, vp__bits_array(x.bits), selection(r, in, items), y);
        break;
    case FUZZ_DROP: vp__drop(where, vp__bits_array(x.bits)); break;
    case FUZZ_BEGIN:
        if (r->depth < FUZZ_MAX) r->scope[r->depth++] = vp_begin();
        break;
    case FUZZ_FOR:
        if (r->loops < FUZZ_NEST) r->loop[r->loops++] = (loop){i, 0, in->low};
        break;
    case FUZZ_END:
        if (r->depth > 1) vp_end(r->scope[--r->depth]);
        break;
    case FUZZ_KEEP:
        if (r->depth > 1) vp_keep(vp__bits_array(x.bits));
        break;
    case FUZZ_OPEN: open_gates(r); break;
    case FUZZ_UNMAP: unmap_all(r, i); break;
    case FUZZ_READ:
    case FUZZ_MAP:
    case FUZZ_ITEM:
    case FUZZ_SIZE:
    case FUZZ_LOOK:
    case FUZZ_WAIT:
    case FUZZ_SYNC: observe(r, i); break;
    default: r->expr[i] = compute(r, i); break;
    }
}

/* Where to go on after a NEXT. */
static int next(run *r, int i) {
    if (r->loops == 0) return i + 1;
    loop *l = &r->loop[r->loops - 1];
    if (++l->i == l->count) {
        r->loops--;
        return i + 1;
    }
    /* What an iteration leaves undefined is not the last one's. */
    memset(r->defined + l->first + 1, 0, (size_t)(i - l->first));
    return l->first + 1;
}

static void run_init(run *r, const fuzz_program *p, const bool *kept, fuzz_log *log) {
    r->p = p;
    r->kept = kept;
    r->log = log;
    r->issuer = r->loops = r->gates = r->maps = 0;
    memset(r->defined, 0, sizeof r->defined);
    r->memory = NULL;
    r->capacity = 0;
    r->scope[0] = vp_begin();
    r->depth = 1;
}

static void run_end(run *r) {
    open_gates(r);
    unmap_all(r, r->p->count);
    while (r->depth > 0) vp_end(r->scope[--r->depth]);
    free(r->memory);
}

/* --- several threads ---------------------------------------------------------------- */

typedef struct {
    const run *first;
    int issuer;
    pthread_t thread;
    pthread_barrier_t *begin; /* NULL: they do not wait for each other */
} stream;

typedef struct {
    stream stream[FUZZ_ISSUERS];
    int running; /* how many threads */
    pthread_barrier_t begin;
} team;

static int run_from(run *r, int i);

/* The stream of another thread than the first, with what that has named so far. */
static void run_stream(const run *first, int issuer) {
    run *r = malloc(sizeof *r);
    if (!r) abort();
    run_init(r, first->p, first->kept, first->log + issuer);
    r->issuer = issuer;
    memcpy(r->defined, first->defined, (size_t)first->p->team * sizeof r->defined[0]);
    memcpy(r->array, first->array, (size_t)first->p->team * sizeof r->array[0]);
    run_from(r, first->p->team);
    run_end(r);
    free(r);
}

static void *issue(void *arg) {
    const stream *s = arg;
    if (s->begin) pthread_barrier_wait(s->begin);
    run_stream(s->first, s->issuer);
    return NULL;
}

/* Starts the other threads; or, where one instruction comes after the other, and where a
 * program is to show that it needs no threads to fail, runs their streams. */
static void team_start(team *t, run *r, bool threads) {
    const bool waits = r->p->at[r->p->team].flag;
    t->running = 0;
    if (!threads) open_gates(r);
    if (threads && waits) pthread_barrier_init(&t->begin, NULL, (unsigned)r->p->issuers);
    for (int i = 1; i < r->p->issuers; i++) {
        if (!threads) {
            run_stream(r, i);
            continue;
        }
        stream *s = &t->stream[t->running++];
        *s = (stream){.first = r, .issuer = i, .begin = waits ? &t->begin : NULL};
        if (pthread_create(&s->thread, NULL, issue, s)) abort();
    }
    if (threads && waits) pthread_barrier_wait(&t->begin);
}

static void team_meet(team *t, run *r) {
    if (t->running == 0) return;
    open_gates(r); /* the others may wait for what they hold */
    for (int i = 0; i < t->running; i++) pthread_join(t->stream[i].thread, NULL);
    if (t->stream[0].begin) pthread_barrier_destroy(&t->begin);
    t->running = 0;
}

/* Runs the thread's instructions from one on, up to where others are to be waited for;
 * returns where that is. */
static int run_from(run *r, int i) {
    const fuzz_program *p = r->p;
    while (i < p->count) {
        const fuzz_instruction *in = &p->at[i];
        if (in->kind == FUZZ_TEAM || in->kind == FUZZ_MEET) {
            if (r->issuer == 0) return i;
        } else if (in->issuer == r->issuer && (!r->kept || r->kept[i])) {
            if (in->kind == FUZZ_NEXT) {
                i = next(r, i);
                continue;
            }
            if (fuzz_happens(&in->when, iteration(r, 0))) step(r, i);
        }
        i++;
    }
    return i;
}

void fuzz_run(const fuzz_program *p, const bool *kept, fuzz_log log[FUZZ_ISSUERS]) {
    pthread_once(&places_once, name_places);
    run *r = malloc(sizeof *r);
    if (!r) abort();
    team t = {.running = 0};
    run_init(r, p, kept, log);
    for (int i = run_from(r, 0); i < p->count; i = run_from(r, i + 1)) {
        r->loops = 0;
        if (p->at[i].kind == FUZZ_TEAM)
            team_start(&t, r, !vp__config_get()->sync && (!kept || kept[i]));
        else
            team_meet(&t, r);
    }
    team_meet(&t, r);
    run_end(r);
    sync_all();
    vp_clear_error();
    free(r);
}
