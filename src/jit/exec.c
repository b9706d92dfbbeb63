/* SPDX-License-Identifier: Apache-2.0
 *
 * Running plans, and the short way for small contiguous work that needs none.
 */
#include "jit/exec.h"

#include <string.h>

#include "jit/plan.h"

size_t vp__exec_scratch_size(void) {
    return VP__BUFFERS_BYTES + VP__STATES_BYTES + VP__RESULTS_BYTES + VP__PANEL_BYTES;
}

/* Copies the tile from leaf 0, or from a constant, to the output. */
static void copy_tile(vp__run *r) {
    const vp__plan *p = r->plan;
    const int out = p->noperands - 1;
    const int64_t *to = vp__plan_strides(p, out), *from = vp__plan_strides(p, 0);
    int64_t dst[VP__TILE_LOOPS], src[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    for (int t = 0; t < p->ntile; t++) {
        const int d = p->tile[t];
        dst[t] = to[d];
        src[t] = p->from_constant ? 0 : from[d];
        count[t] = r->count[d];
    }
    const char *source = p->from_constant ? (char *)vp__plan_constant(p)->bits : r->at[0];
    vp__copy_tile(p->kernels, p->out_lg, r->at[out], dst, source, src, count,
                  vp__plan_operand(p)[out].order, p->ntile);
}

/* Stores the tile's block where the output is strided. */
static void scatter_tile(vp__run *r) {
    const vp__plan *p = r->plan;
    const int out = p->noperands - 1;
    const int64_t *to = vp__plan_strides(p, out);
    int64_t dst[VP__TILE_LOOPS], src[VP__TILE_LOOPS], count[VP__TILE_LOOPS];
    int64_t pitch = (int64_t)1 << p->out_lg;
    for (int t = 0; t < p->ntile; t++) {
        const int d = p->tile[t];
        count[t] = r->count[d];
        dst[t] = to[d];
        src[t] = pitch;
        pitch *= count[t];
    }
    vp__copy_tile(p->kernels, p->out_lg, r->at[out], dst, r->ptr[p->result], src, count,
                  vp__plan_operand(p)[out].order, p->ntile);
}

static void run_tiles(vp__run *r, int64_t piece) {
    const vp__plan *p = r->plan;
    const int64_t first = piece * p->piece_tiles;
    int64_t tiles = p->tiles - first < p->piece_tiles ? p->tiles - first : p->piece_tiles;
    const bool scatters = p->mode == VP__PLAN_MAP &&
                          vp__plan_operand(p)[p->noperands - 1].reach == VP__REACH_COPY;
    vp__run_place(r, first);
    for (;;) {
        if (p->mode == VP__PLAN_COPY)
            copy_tile(r);
        else
            vp__run_body(r);
        if (scatters) scatter_tile(r);
        if (--tiles == 0) return;
        vp__run_next(r);
    }
}

void vp__plan_run(const vp__plan *p, int64_t piece, void *const *leaf_data, void *out,
                  void *partial, void *scratch) {
    vp__run r;
    const uint64_t began = vp__code_begin(&p->code);
    vp__run_init(&r, p, leaf_data, out, scratch);
    if (p->mode == VP__PLAN_DIRECT)
        vp__run_direct(&r, piece);
    else if (p->mode == VP__PLAN_COPY || p->mode == VP__PLAN_MAP)
        run_tiles(&r, piece);
    else
        vp__run_reduce(&r, piece, partial);
    /* The last piece may be shorter than the others. */
    if (p->code.weight && (piece + 1 < p->pieces || piece == 0))
        vp__code_end(&p->code, began, p->piece_elements);
}

void vp__plan_finish(const vp__plan *p, void *out, void *partial, void *scratch) {
    if (p->range == 0) return;
    /* The leaves are done with: only the output is walked. */
    vp__run r;
    vp__run_init(&r, p, NULL, out, scratch);
    vp__run_finish(&r, partial);
}

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
    vp__form form = {.kind = VP__FORM_MAP};
    for (int i = 0; i < k->nleaves; i++)
        form.read[i] = k->leaf[i].constant ? VP__READ_PLANE : VP__READ_RUN;
    return vp__native_want(k, &form, ns, 1, tell_flat, &(flat_run){k, n});
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

/* Elements of one block of the short way; small enough that every value of the largest
 * body has a block of its own in the scratch. */
enum { FLAT_BLOCK = 512 };
_Static_assert((size_t)VP__VALUES *FLAT_BLOCK * 16 <=
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
        memcpy(out, leaf_data[0], (size_t)(n * size));
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

    char *value[VP__VALUES], *next = scratch;
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
