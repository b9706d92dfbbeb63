/* SPDX-License-Identifier: Apache-2.0
 *
 * The families of library operations: the glue between the functions of src/lib, which see views
 * alone, and the net. A row of lib.def names its family; a family is one file here, which says
 * how its operations are sized, cut into pieces and run.
 */
#ifndef VP_ISSUE_LIBRARY_FAMILY_H
#define VP_ISSUE_LIBRARY_FAMILY_H

#include "array/view.h"
#include "issue/library/params.h"
#include "net/node.h"

/* The shape of an operand. */
typedef struct {
    int ndim;
    const int64_t *dims;
} vp__shape;

/* The dims of a result from the shapes of its operands; *ndim is set as well. An error when
 * they do not go together, in which `name` and `where` are the instruction. */
typedef vp__error *vp__size_fn(const vp__lib_params *p, int nin, const vp__shape *in,
                               const char *name, const char *where, int *ndim,
                               int64_t *dims);

typedef struct {
    vp__work work;
    size_t payload; /* of a node: begins with its vp__lib_params */
    /* With the parameters set and the rest of the payload zero: takes over what they point
     * to. NULL: nothing. */
    void (*init)(vp__node *n);
    /* Nanoseconds of a sized node; NULL: the row's cost for each element of the result. */
    double (*cost)(const vp__node *n);
    bool like_all; /* VP__ORDER_KEEP looks at all operands */
} vp__family;

#define VP_LIB(id, family, operands, rule, result, size, cost, numpy, doc)               \
    extern const vp__family vp__family_##family;
#include "lib/lib.def"

const vp__family *vp__family_of(vp__lib_kind kind);

static inline const vp__lib_params *vp__params_of(const vp__node *n) {
    return (const vp__lib_params *)n->payload;
}

/* The size rules that need nothing but shapes. */
vp__size_fn vp__size_like, vp__size_join, vp__size_index, vp__size_product,
    vp__size_transform;
/* That of a row; NULL where shapes alone do not say the size. */
vp__size_fn *vp__library_size_rule(vp__lib_kind kind);

/* The `size` of a family's work: dims by the row's rule if it has one, layout, cost. */
vp__error *vp__library_size_node(vp__node *n);
/* With the value's dims and its operands' layouts known: sets the value's strides. */
void vp__library_layout(vp__node *n);
/* With the value's dims known: sets the estimate. */
void vp__library_estimate(vp__node *n);

/* --- what families share -------------------------------------------------------------------- */

/* How many pieces work of about `ns` nanoseconds is worth, at most `most`. */
int64_t vp__library_pieces(double ns, int64_t most);
/* Elements of the value; its fibres along an axis. */
int64_t vp__library_count(const vp__node *n);
int64_t vp__library_lanes(const vp__node *n, int axis);

vp__view vp__library_input(const vp__node *n, int i);
vp__view vp__library_output(const vp__node *n);

void vp__library_no_scratch(vp__node *n);

/* Drops leading axes of length 1 that an operand has and a target of so many axes has not. */
void vp__library_drop_axes(vp__input *in, int ndim);
/* Whether a sized value may go into a selection of these dims, without such axes from then on;
 * the error if not. */
vp__error *vp__library_check_value(const vp__node *n, vp__input *value, int ndim,
                                   const int64_t *dims);

/* Of masks: the error when an operand has other dims than it must; what an operation costs by
 * its row for each of the mask's elements; and counts turned into the sums of those before
 * each, which returns the sum of all. */
vp__error *vp__library_check_mask(const vp__node *n, int mask, const vp__find_params *p);
double vp__library_mask_cost(const vp__node *n, int mask);
int64_t vp__library_sum_before(int64_t *counts, int64_t n);

/* How copies are cut. */
void vp__library_copy_begin(vp__node *n);
void vp__library_copy_piece(vp__node *n, int64_t i, vp__core *core);

#endif
