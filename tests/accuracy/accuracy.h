/* SPDX-License-Identifier: Apache-2.0
 *
 * How far results are from exact, in units in the last place. A row is one operation on
 * one element type; its reference gives the exact result of one element with some more
 * than a hundred bits (MPFR, MPC), and the results of all instruction sets and both modes
 * of math are compared with it at once, because the reference is what takes the time.
 */
#ifndef VP_TESTS_ACCURACY_H
#define VP_TESTS_ACCURACY_H

#include <mpc.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "ops/kernels.h"

enum { PRECISION = 128, MOST_TABLES = 6 };

/* The kernels of one instruction set in one mode. */
typedef struct {
    const vp__kernels *kernels;
    bool accurate;
} table;

typedef struct {
    vp__op op;
    vp_dtype type;
    double bound[2]; /* documented: fast, accurate */
    int (*unary)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    int (*binary)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    int (*complex)(mpc_ptr, mpc_srcptr, mpc_srcptr);
    int cost; /* of the reference, relative: fewer elements are drawn where it is high */
} row;

/* The largest error seen in one table, and the operands that showed it. */
typedef struct {
    double ulps;
    double operand[2][2], got[2];
} worst;

int rows_real(row *out);    /* appends, and returns how many */
int rows_complex(row *out); /* likewise */
enum { MOST_ROWS = 128 };

/* Measures one row on n elements; seeded by the row alone. */
void measure_real(const row *r, const table *tables, int ntables, int n, worst *out);
void measure_complex(const row *r, const table *tables, int ntables, int n, worst *out);

/* Random bits, and an element as a double: of every magnitude, near the points where
 * functions change their method or end, multiples of pi/2, and the special values. */
uint64_t draw_bits(uint64_t *state);
double draw_element(uint64_t *state, int i, bool single);
double draw_moderate(uint64_t *state, int log2_low, int log2_high);
double draw_near(uint64_t *state, double x, bool single);

/* |got - exact| in units in the last place of `exact`; infinite where one is NaN and the
 * other not, or where a zero has the wrong sign. */
double ulps_off(double got, mpfr_srcptr exact, bool single);

#endif
