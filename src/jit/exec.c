/* SPDX-License-Identifier: Apache-2.0
 *
 * The short way for small contiguous work, which needs no plan.
 */
#include "jit/exec.h"

#include <string.h>

#include "jit/scratch.h"
#include "ops/kernels.h"

size_t vp__exec_scratch_size(void) { return VP__SCRATCH_BYTES; }

typedef struct {
    const vp__kernel *kernel;
    int64_t n;
} flat_run;

/* One row: how rows would follow each other does not matter. */
static bool tell_flat(vp__facts *f, const void *context) {
    const flat_run *run = context;
    vp__facts_init(f, run->kernel);
    f->word[0] = run->n;
    f->word[1] = f->word[2] = 1;
    for (int i = 0; i <= run->kernel->nleaves; i++)
        if (i == run->kernel->nleaves || !vp__facts_is_constant(f, i))
            vp__facts_of(f, i)[0] = vp__facts_of(f, i)[1] = 0;
    return run->n != VP__UNKNOWN || f->constants != 0;
}

vp__code vp__exec_flat_code(const vp__kernel *k, double ns, int64_t n) {
    if (k->ninstrs == 0 || !vp__native_is_worth(ns, 1)) return (vp__code){0};
    vp__loops loops = {.kind = VP__LOOPS_MAP};
    for (int i = 0; i < k->nleaves; i++)
        loops.read[i] = k->leaf[i].constant ? VP__READ_PLANE : VP__READ_RUN;
    return vp__native_want(k, &loops, ns, 1, tell_flat, &(flat_run){k, n});
}

void vp__exec_flat_native(const vp__code *code, const vp__kernel *k,
                          void *const *leaf_data, void *out, int64_t n) {
    static const int64_t none[VP__KERNEL_LEAVES + 1];
    char *ptr[VP__KERNEL_LEAVES + 1];
    if (n == 0) return;
    for (int i = 0; i < k->nleaves; i++)
        ptr[i] =
            k->leaf[i].constant ? (char *)(uintptr_t)&k->leaf[i].value : leaf_data[i];
    ptr[k->nleaves] = out;
    const uint64_t began = vp__code_begin(code);
    code->fn(ptr, none, none, n, 1, 1);
    vp__code_end(code, began, n);
}

enum { VALUES = VP__KERNEL_LEAVES + VP__KERNEL_INSTRS };

/* Elements of one block of the short way; small enough that every value of the largest
 * body has a block of its own in the scratch. */
enum { FLAT_BLOCK = 512 };
_Static_assert((size_t)VALUES *FLAT_BLOCK * 16 <=
                   VP__BUFFERS_BYTES + VP__STATES_BYTES + VP__PANEL_BYTES,
               "a body's blocks fit the scratch");

static void flat_op(const vp__kernels *k, const vp__instr *in, void *out,
                    char *const *value, int64_t n) {
    if (in->op == VP__OP_CAST)
        k->cast[in->type][in->result](out, value[in->arg[0]], n);
    else
        k->op[in->op][in->type](out, value[in->arg[0]], value[in->arg[1]],
                                value[in->arg[2]], n);
}

/* One instruction on arrays alone needs no blocks at all. */
static bool flat_single(const vp__kernels *k, const vp__kernel *kernel,
                        void *const *leaf_data, void *out, int64_t n) {
    const vp__instr *in = &kernel->instr[0];
    for (int i = 0; i < kernel->nleaves; i++)
        if (kernel->leaf[i].constant) return false;
    flat_op(k, in, out, (char *const *)leaf_data, n);
    return true;
}

static void flat_leaf(const vp__kernels *k, const vp__kernel *kernel,
                      void *const *leaf_data, void *out, int64_t n) {
    const vp__leaf *leaf = &kernel->leaf[0];
    const int size = vp__dtype[leaf->dtype].size;
    if (leaf->constant)
        k->fill[vp__log2_size(size)](out, &leaf->value, n);
    else if (out != leaf_data[0])
        k->copy(out, leaf_data[0], n * size);
}

void vp__exec_flat(const vp__kernel *kernel, void *const *leaf_data, void *out, int64_t n,
                   void *scratch) {
    const vp__kernels *k = vp__kernels_get();
    if (n == 0) return; /* addresses may be NULL then */
    if (kernel->ninstrs == 0) {
        flat_leaf(k, kernel, leaf_data, out, n);
        return;
    }
    if (kernel->ninstrs == 1 && flat_single(k, kernel, leaf_data, out, n)) return;

    char *value[VALUES], *next = scratch;
    const int64_t block = n < FLAT_BLOCK ? n : FLAT_BLOCK;
    const int nleaves = kernel->nleaves, last = nleaves + kernel->ninstrs - 1;
    for (int i = 0; i < nleaves; i++) {
        const vp__leaf *leaf = &kernel->leaf[i];
        const int size = vp__dtype[leaf->dtype].size;
        value[i] = leaf->constant ? next : leaf_data[i];
        if (!leaf->constant) continue;
        k->fill[vp__log2_size(size)](next, &leaf->value, block);
        next += (block * size + 63) / 64 * 64;
    }
    for (int i = nleaves; i < last; i++) {
        value[i] = next;
        next +=
            (block * vp__dtype[kernel->instr[i - nleaves].result].size + 63) / 64 * 64;
    }
    value[last] = out;
    const int64_t out_size = vp__dtype[kernel->instr[kernel->ninstrs - 1].result].size;
    for (int64_t done = 0;;) {
        const int64_t m = n - done < block ? n - done : block;
        for (int i = 0; i < kernel->ninstrs; i++)
            flat_op(k, &kernel->instr[i], value[nleaves + i], value, m);
        done += m;
        if (done >= n) return;
        for (int i = 0; i < nleaves; i++)
            if (!kernel->leaf[i].constant)
                value[i] += m * vp__dtype[kernel->leaf[i].dtype].size;
        value[last] += m * out_size;
    }
}
