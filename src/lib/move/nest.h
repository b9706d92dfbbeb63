/* SPDX-License-Identifier: Apache-2.0
 *
 * A loop nest over a few operands that share dims: the walk every library operation makes
 * over its views. It lives on the stack and is cheap to make. Simplifying it never
 * changes which elements meet, only the order of the visit, and merging alone keeps C
 * order.
 */
#ifndef VP_LIB_MOVE_NEST_H
#define VP_LIB_MOVE_NEST_H

#include <stdbool.h>

#include "array/view.h"

/* Enough for an array and an index for each of its axes. */
enum { VP__NEST_OPERANDS = VP__MAXDIM + 1 };

typedef struct {
    int32_t ndim, noperands;
    int64_t dims[VP__MAXDIM];
    char *data[VP__NEST_OPERANDS];
    int64_t strides[VP__NEST_OPERANDS][VP__MAXDIM];
} vp__nest;

void vp__nest_init(vp__nest *nest, int ndim, const int64_t *dims);
void vp__nest_add(vp__nest *nest, const void *data, const int64_t *strides);

/* Takes one dimension out; the nest then walks the remaining ones. */
void vp__nest_remove(vp__nest *nest, int axis);

/* Drops dimensions of one element and joins neighbours that every operand walks as one.
 * C order stays. */
void vp__nest_merge(vp__nest *nest);

/* Puts the dimensions in descending order of operand 0's strides, walked upwards, and
 * merges. Visits the same tuples of elements in another order. */
void vp__nest_sort(vp__nest *nest);

/* Narrows the nest to share `part` of `parts`, cutting the longest dimension, and further
 * ones when there are more parts than it has elements. Shares are disjoint and cover
 * everything; some may be empty. */
void vp__nest_split(vp__nest *nest, int64_t part, int64_t parts);

bool vp__nest_is_empty(const vp__nest *nest);
int64_t vp__nest_count(const vp__nest *nest);

/* A position in the first `depth` dimensions. at[] are the operands' addresses there. */
typedef struct {
    const vp__nest *nest;
    int32_t depth;
    int64_t index[VP__MAXDIM];
    char *at[VP__NEST_OPERANDS];
} vp__walk;

/* Starts at the first position; the nest must not be empty. */
void vp__walk_init(vp__walk *walk, const vp__nest *nest, int depth);

/* Goes on by one position in C order; false, back at the start, after the last one. */
bool vp__walk_next(vp__walk *walk);

/* Goes to position number `number` in C order. */
void vp__walk_seek(vp__walk *walk, int64_t number);

/* The first of the `n` units that belong to `part`: equal shares, without overflow. */
static inline int64_t vp__share(int64_t n, int64_t part, int64_t parts) {
    int64_t rest = n % parts;
    return n / parts * part + (part < rest ? part : rest);
}

#endif
