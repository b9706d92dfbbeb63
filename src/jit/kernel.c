/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at kernels: a printer whose text is stable enough for golden dumps, and a
 * verifier that says in words what is wrong with one.
 */
#include "jit/kernel.h"

#include <inttypes.h>
#include <string.h>

static const char *type_name(int type) {
    return type < VP__NDTYPES ? vp__dtype[type].name : "?";
}

static void print_real(FILE *f, int type, const void *at) {
    float f32;
    double f64;
    int64_t i64 = 0;
    uint64_t u64 = 0;
    switch (type) {
    case VP_F32:
        memcpy(&f32, at, sizeof f32);
        fprintf(f, "%.9g", (double)f32);
        return;
    case VP_F64:
        memcpy(&f64, at, sizeof f64);
        fprintf(f, "%.17g", f64);
        return;
    case VP_I8: i64 = *(const int8_t *)at; break;
    case VP_I16: i64 = *(const int16_t *)at; break;
    case VP_I32: i64 = *(const int32_t *)at; break;
    case VP_I64: i64 = *(const int64_t *)at; break;
    default:
        memcpy(&u64, at, vp__dtype[type].size);
        fprintf(f, "%" PRIu64, u64);
        return;
    }
    fprintf(f, "%" PRId64, i64);
}

static void print_constant(FILE *f, const vp__leaf *leaf) {
    if (leaf->dtype >= VP__NDTYPES) return;
    const int real = vp__dtype[leaf->dtype].real;
    const char *at = (const char *)&leaf->value;
    print_real(f, real, at);
    if (vp__dtype[leaf->dtype].cls != VP__CLASS_C) return;
    fprintf(f, ", ");
    print_real(f, real, at + vp__dtype[real].size);
}

void vp__kernel_print(const vp__kernel *k, FILE *f) {
    for (int i = 0; i < k->nleaves; i++) {
        fprintf(f, "%%%d = %s %s", i, k->leaf[i].constant ? "constant" : "array",
                type_name(k->leaf[i].dtype));
        if (k->leaf[i].constant) {
            fprintf(f, " ");
            print_constant(f, &k->leaf[i]);
        }
        fprintf(f, "\n");
    }
    for (int i = 0; i < k->ninstrs; i++) {
        const vp__instr *in = &k->instr[i];
        const bool cast = in->op == VP__OP_CAST;
        fprintf(f, "%%%d = ", k->nleaves + i);
        if (cast)
            fprintf(f, "cast %s to %s", type_name(in->type), type_name(in->result));
        else
            fprintf(f, "%s %s", in->op < VP__NOPS ? vp__ops[in->op].name : "?",
                    type_name(in->type));
        const int arity = cast || in->op >= VP__NOPS ? 1 : vp__ops[in->op].arity;
        for (int a = 0; a < arity; a++) fprintf(f, " %%%d", in->arg[a]);
        if (!cast && in->result != in->type) fprintf(f, " -> %s", type_name(in->result));
        fprintf(f, "\n");
    }
    if (k->reduce >= 0 && k->reduce < VP__NOPS)
        fprintf(f, "reduce %s %s -> %s\n", vp__ops[k->reduce].name,
                type_name(k->reduce_type), type_name(k->result));
    else
        fprintf(f, "store %s\n", type_name(k->result));
}

/* The type of a value, or -1 when there is no value of that number before `limit`. */
static int value_type(const vp__kernel *k, int v, int limit) {
    if (v >= limit) return -1;
    return v < k->nleaves ? k->leaf[v].dtype : k->instr[v - k->nleaves].result;
}

static const char *verify_instr(const vp__kernel *k, int i) {
    const vp__instr *in = &k->instr[i];
    const int limit = k->nleaves + i;
    if (in->type >= VP__NDTYPES || in->result >= VP__NDTYPES)
        return "an instruction has no such type";
    if (in->op > VP__OP_CAST) return "an instruction has no such operation";
    if (in->op == VP__OP_CAST) {
        const int t = value_type(k, in->arg[0], limit);
        if (t < 0) return "a cast uses a value that is not computed before it";
        return t == in->type ? NULL : "a cast's source type is not its operand's";
    }
    const vp__op_info *info = &vp__ops[in->op];
    if (info->reduces) return "a reduction stands in the body";
    vp__optype types[3];
    for (int a = 0; a < info->arity; a++) {
        const int t = value_type(k, in->arg[a], limit);
        if (t < 0) return "an instruction uses a value that is not computed before it";
        types[a] = (vp__optype){(vp_dtype)t, -1};
    }
    vp_dtype work[3], result;
    if (!vp__op_types((vp__op)in->op, types, work, &result))
        return "an operation does not take these types";
    for (int a = 0; a < info->arity; a++)
        if (work[a] != types[a].dtype)
            return "an operand has not been cast to the working type";
    if (vp__op_key((vp__op)in->op, work) != in->type)
        return "an instruction's type is not its operands' working type";
    return result == in->result ? NULL
                                : "an instruction's result type is not the operation's";
}

const char *vp__kernel_verify(const vp__kernel *k) {
    if (k->nleaves < 1 || k->nleaves > VP__KERNEL_LEAVES)
        return "the number of leaves is out of range";
    if (k->ninstrs < 0 || k->ninstrs > VP__KERNEL_INSTRS)
        return "the number of instructions is out of range";
    for (int i = 0; i < k->nleaves; i++)
        if (k->leaf[i].dtype >= VP__NDTYPES) return "a leaf has no such type";
    for (int i = 0; i < k->ninstrs; i++) {
        const char *wrong = verify_instr(k, i);
        if (wrong != NULL) return wrong;
    }
    if (k->result >= VP__NDTYPES) return "the output has no such type";
    const int body = k->ninstrs > 0 ? k->instr[k->ninstrs - 1].result : k->leaf[0].dtype;
    if (k->reduce < 0)
        return k->result == body ? NULL : "the output's type is not the body's";
    if (k->reduce >= VP__NOPS || !vp__ops[k->reduce].reduces)
        return "the reduction is no reduction";
    if (k->reduce_type != body) return "the reduction's type is not the body's";
    vp_dtype work, result;
    if (!vp__reduce_types((vp__op)k->reduce, (vp_dtype)k->reduce_type, VP_AUTO, &work,
                          &result))
        return "the reduction does not take this type";
    if (vp__ops[k->reduce].result == VP__RESULT_SAME) result = (vp_dtype)k->reduce_type;
    return result == k->result ? NULL : "the output's type is not the reduction's";
}
