/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of other instructions, beside what a program would write without it: nanoseconds
 * of one statement and of the other, issued again and again and waited for at the end, and
 * their ratio. Both run in turns; of each the fastest turn counts.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <vproc.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The operands of a size: vectors, and a square matrix of about as many elements. */
typedef struct {
    vp_array x, y, r, m, s;
    int64_t n, side;
} operands;

typedef void statement(const operands *o);

static void roll_line(const operands *o) {
    vp_set(o->r, vp_add(vp_roll(o->x, 1, 0), vp_roll(o->x, -1, 0)));
}

static void slice_line(const operands *o) {
    vp_set(o->r, vp_add(vp_get(o->x, vp_until(-2)), vp_get(o->x, vp_from_index(2))));
}

static vp_expr four(vp_expr a, vp_expr b, vp_expr c, vp_expr d) {
    return vp_add(vp_add(a, b), vp_add(c, d));
}

static void roll_plane(const operands *o) {
    vp_set(o->s, four(vp_roll(o->m, 1, 0), vp_roll(o->m, -1, 0), vp_roll(o->m, 1, 1),
                      vp_roll(o->m, -1, 1)));
}

static void slice_plane(const operands *o) {
    const vp_sel in = vp_range(1, -1);
    vp_set(o->s,
           four(vp_get(o->m, vp_until(-2), in), vp_get(o->m, vp_from_index(2), in),
                vp_get(o->m, in, vp_until(-2)), vp_get(o->m, in, vp_from_index(2))));
}

static const struct {
    const char *name;
    statement *composed, *by_hand;
} pairs[] = {
    {"two rolls of a line, slices", roll_line, slice_line},
    {"four rolls of a plane, slices", roll_plane, slice_plane},
};

static double turn(statement *run, const operands *o, int repeats) {
    const double begin = now();
    for (int i = 0; i < repeats; i++) run(o);
    vp_sync();
    return (now() - begin) / repeats * 1e9;
}

static void compare(size_t p, const operands *o) {
    double least[2] = {INFINITY, INFINITY};
    const int repeats = (int)(2e6 / (double)(o->n + 1000)) + 1;
    for (int i = 0; i < 15; i++) {
        least[0] = fmin(least[0], turn(pairs[p].composed, o, repeats));
        least[1] = fmin(least[1], turn(pairs[p].by_hand, o, repeats));
    }
    printf("  %9lld  %12.0f  %12.0f  %6.2f\n", (long long)o->n, least[0], least[1],
           least[0] / least[1]);
}

int main(void) {
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        printf("%s\n", pairs[p].name);
        for (int64_t n = 10; n <= 10000000; n *= 10) {
            vp_scope s = vp_begin();
            const int64_t side = (int64_t)ceil(sqrt((double)n));
            operands o = {.n = n, .side = side};
            o.x = vp_let(vp_sin(vp_counter(VP_F64, vp_shape(n), 0, 1)));
            o.y = vp_let(vp_cos(o.x));
            o.m = vp_let(vp_sin(vp_counter(VP_F64, vp_shape(side, side), 0, 1)));
            o.r = vp_let(o.x);
            o.s = vp_let(o.m);
            compare(p, &o);
            vp_end(s);
        }
    }
    return 0;
}
