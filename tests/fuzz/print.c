/* SPDX-License-Identifier: Apache-2.0
 *
 * A program as a person would write it with vproc.h. What stands in comments has no
 * C of its own: elements that come from a seed, and gates.
 */
#include <inttypes.h>
#include <stdio.h>

#include "array/dtype.h"
#include "lib/lib.h"
#include "program.h"

static const char *dtype_name(int t) {
    static const char *const names[] = {"VP_BOOL", "VP_I8",  "VP_I16", "VP_I32", "VP_I64",
                                        "VP_U8",   "VP_U16", "VP_U32", "VP_U64", "VP_F32",
                                        "VP_F64",  "VP_C64", "VP_C128"};
    static char other[24];
    if (t == VP_AUTO) return "VP_AUTO";
    if (t < VP__NDTYPES) return names[t];
    snprintf(other, sizeof other, "(vp_dtype)%d", t);
    return other;
}

/* i is the innermost loop's number, j that of the one around it. */
static void print_walk(const fuzz_walk *w) {
    if (!w->di && !w->dj && !w->wobble) return;
    printf(w->modulus > 0 ? " + (%d*i + %d*j" : " + %d*i + %d*j", w->di, w->dj);
    if (w->wobble) printf(" + wobble(i, j, %d)", w->wobble);
    if (w->modulus > 0) printf(") %% %d", w->modulus);
}

static void print_whole(int64_t n, const fuzz_walk *w) {
    printf("%" PRId64, n);
    print_walk(w);
}

static void print_when(const fuzz_when *w) {
    printf("i %% %d %s %d", w->every, w->unless ? "!=" : "==", w->rest);
}

static void print_operand(const fuzz_operand *o) {
    if (o->other) {
        printf("(");
        print_when(&o->when);
        printf(" ? a%d : a%d)", o->other - 1, o->var);
        return;
    }
    if (o->kind == FUZZ_IN_COMPLEX) {
        printf("%.17g + %.17g * I", o->f[0], o->f[1]);
        return;
    }
    switch ((vp__in_kind)o->kind) {
    case VP__IN_ARRAY: printf("a%d", o->var); break;
    case VP__IN_EXPR: printf("e%d", o->var); break;
    case VP__IN_BOOL: printf(o->i ? "true" : "false"); break;
    case VP__IN_INT: print_whole(o->i, &o->walk); break;
    case VP__IN_UINT:
        printf("%" PRIu64 "u", (uint64_t)o->i);
        print_walk(&o->walk);
        break;
    case VP__IN_FLOAT:
        printf("%.17g%s", o->f[0], o->f[0] == (int)o->f[0] ? ".0" : "");
        print_walk(&o->walk);
        if (o->walk.di) printf(" /* quarters */");
        break;
    }
}

static void print_operands(const fuzz_instruction *in) {
    for (int i = 0; i < in->nin; i++) {
        if (i) printf(", ");
        print_operand(&in->in[i]);
    }
}

static void print_shape(const fuzz_instruction *in) {
    if (in->ndim == 0) {
        printf("vp_scalar_shape()");
        return;
    }
    printf(in->column ? "vp_fshape(" : "vp_shape(");
    for (int i = 0; i < in->ndim; i++) printf(i ? ", %" PRId64 : "%" PRId64, in->dims[i]);
    printf(")");
}

static void print_axes(const fuzz_instruction *in) {
    if (in->naxes < 0) {
        printf("VP_EVERY");
        return;
    }
    printf("vp_axes(");
    for (int i = 0; i < in->naxes; i++) printf(i ? ", %d" : "%d", in->axes[i]);
    printf(")");
}

static void print_range(const fuzz_item *it) {
    if (!it->has_start && !it->has_stop) {
        printf("vp_every(%" PRId64 ")", it->step);
        return;
    }
    if (it->has_start != it->has_stop && it->step != 1) {
        /* one end and a step: no macro has this */
        printf("(vp_sel){VP__SEL_RANGE, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 "}",
               it->has_start, it->has_stop, it->start, it->stop, it->step);
        return;
    }
    printf(!it->has_stop    ? "vp_from_index("
           : !it->has_start ? "vp_until("
           : it->step == 1  ? "vp_range("
                            : "vp_range_step(");
    if (it->has_start) print_whole(it->start, &it->from);
    if (it->has_start && it->has_stop) printf(", ");
    if (it->has_stop) print_whole(it->stop, &it->to);
    if (it->step != 1) printf(", %" PRId64, it->step);
    printf(")");
}

static void print_items(const fuzz_instruction *in) {
    for (int i = 0; i < in->nitems; i++) {
        const fuzz_item *it = &in->item[i];
        if (i) printf(", ");
        switch ((vp__sel_kind)it->kind) {
        case VP__SEL_INDEX: print_whole(it->start, &it->from); break;
        case VP__SEL_ALL: printf("VP_ALL"); break;
        case VP__SEL_NEWAXIS: printf("VP_NEWAXIS"); break;
        case VP__SEL_ELLIPSIS: printf("VP_ELLIPSIS"); break;
        case VP__SEL_ARRAY: print_operand(&it->array); break;
        case VP__SEL_RANGE: print_range(it); break;
        }
    }
}

/* The elements of a FROM or BORROW, where they are few. */
static void print_elements(const fuzz_instruction *in) {
    int64_t n = fuzz_count(in);
    if (n > 12) {
        printf("/* elements of seed 0x%" PRIx64 " */ ", in->seed);
        return;
    }
    double values[2 * 12];
    fuzz_fill(in, values);
    printf("/*");
    const char *p = (const char *)values;
    for (int64_t i = 0; i < n; i++, p += vp__dtype[in->dtype].size) {
        switch ((vp_dtype)in->dtype) {
        case VP_BOOL:
        case VP_U8: printf(" %u", *(const uint8_t *)p); break;
        case VP_I8: printf(" %d", *(const int8_t *)p); break;
        case VP_I16: printf(" %d", *(const int16_t *)p); break;
        case VP_I32: printf(" %" PRId32, *(const int32_t *)p); break;
        case VP_I64: printf(" %" PRId64, *(const int64_t *)p); break;
        case VP_U16: printf(" %u", *(const uint16_t *)p); break;
        case VP_U32: printf(" %" PRIu32, *(const uint32_t *)p); break;
        case VP_U64: printf(" %" PRIu64, *(const uint64_t *)p); break;
        case VP_F32: printf(" %.9g", (double)*(const float *)p); break;
        case VP_F64: printf(" %.17g", *(const double *)p); break;
        case VP_C64:
            printf(" %.9g%+.9gi", (double)((const float *)p)[0],
                   (double)((const float *)p)[1]);
            break;
        case VP_C128:
            printf(" %.17g%+.17gi", ((const double *)p)[0], ((const double *)p)[1]);
            break;
        case VP_AUTO: break;
        }
    }
    printf(" */ ");
}

static void print_call(const fuzz_instruction *in) {
    static const char *const composed[] = {"mean", "var", "std"};
    switch ((fuzz_kind)in->kind) {
    case FUZZ_FROM:
        printf("vp_from(%s, ", dtype_name(in->dtype));
        print_shape(in);
        printf(", ");
        print_elements(in);
        printf(")");
        break;
    case FUZZ_FULL:
        printf("vp_full(%s, ", dtype_name(in->dtype));
        print_shape(in);
        printf(", ");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_ARANGE:
        printf("vp_arange(%s, %g, %g, %g)", dtype_name(in->dtype), in->x[0], in->x[1],
               in->x[2]);
        break;
    case FUZZ_LINSPACE:
        printf("vp_linspace(%s, %g, %g, %" PRId64 ")", dtype_name(in->dtype), in->x[0],
               in->x[1], in->low);
        break;
    case FUZZ_EYE:
        printf("vp_eye(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ")", dtype_name(in->dtype),
               in->dims[0], in->dims[1], in->low);
        break;
    case FUZZ_COUNTER:
        printf("vp_counter(%s, ", dtype_name(in->dtype));
        print_shape(in);
        printf(", %g, %g)", in->x[0], in->x[1]);
        break;
    case FUZZ_EMPTY:
        printf("vp_let(vp_empty(%s, ", dtype_name(in->dtype));
        print_shape(in);
        printf(")) /* and written %s with a counter of %g, %g */",
               in->flag ? "in two halves" : "whole", in->x[0], in->x[1]);
        break;
    case FUZZ_BORROW:
        printf("vp_borrow(%s, ", dtype_name(in->dtype));
        print_shape(in);
        printf(", %s, ", in->op == 0   ? "NULL"
                         : in->op == 1 ? "/* every other */"
                                       : "/* last axis backwards */");
        print_elements(in);
        printf(", %s, …)", in->flag ? "VP_WRITABLE" : "VP_READ_ONLY");
        break;
    case FUZZ_OP:
        printf("vp_%s(", vp__ops[in->op].name);
        print_operands(in);
        printf(")");
        break;
    case FUZZ_CAST:
        printf("vp_cast(");
        print_operands(in);
        printf(", %s)", dtype_name(in->dtype));
        break;
    case FUZZ_REDUCE:
        printf("vp_%s(",
               in->op < VP__NOPS ? vp__ops[in->op].name : composed[in->op - VP__MEAN]);
        print_operands(in);
        printf(", ");
        print_axes(in);
        printf(", %s, %s)", dtype_name(in->dtype), in->flag ? "VP_KEEPDIMS" : "0");
        break;
    case FUZZ_ALONG:
        printf("vp_%s(", vp__lib_rows[in->op].name);
        print_operands(in);
        printf(", %d)", in->axes[0]);
        break;
    case FUZZ_FOURIER:
        printf("vp_%s(", vp__lib_rows[in->op].name);
        print_operands(in);
        printf(", %d", in->axes[0]);
        if (in->flag) printf(", %lld", (long long)in->low);
        printf(")");
        break;
    case FUZZ_MATMUL:
        printf("vp_matmul(");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_RESHAPE:
    case FUZZ_BROADCAST:
    case FUZZ_TILE:
        printf(in->kind == FUZZ_RESHAPE     ? "vp_reshape("
               : in->kind == FUZZ_BROADCAST ? "vp_broadcast("
                                            : "vp_tile(");
        print_operands(in);
        printf(", ");
        print_shape(in);
        printf(")");
        break;
    case FUZZ_PERMUTE:
    case FUZZ_SQUEEZE:
    case FUZZ_FLIP:
        printf(in->kind == FUZZ_PERMUTE   ? "vp_permute("
               : in->kind == FUZZ_SQUEEZE ? "vp_squeeze("
                                          : "vp_flip(");
        print_operands(in);
        printf(", ");
        print_axes(in);
        printf(")");
        break;
    case FUZZ_EXPAND:
        printf("vp_expand(");
        print_operands(in);
        printf(", %d)", in->axes[0]);
        break;
    case FUZZ_JOIN:
        printf("vp_%s(%d, ", in->flag ? "stack" : "concatenate", in->axes[0]);
        print_operands(in);
        printf(")");
        break;
    case FUZZ_ROLL:
    case FUZZ_REPEAT:
        printf(in->kind == FUZZ_ROLL ? "vp_roll(" : "vp_repeat(");
        print_operands(in);
        printf(", %" PRId64 ", %d)", in->low, in->axes[0]);
        break;
    case FUZZ_GET:
        printf("vp_get(");
        print_operands(in);
        printf(in->nitems ? ", " : "");
        print_items(in);
        printf(")");
        break;
    case FUZZ_TAKE:
        printf("vp_take(");
        print_operands(in);
        printf(", %d)", in->axes[0]);
        break;
    case FUZZ_FIND:
        printf(in->flag ? "vp_find(" : "vp_nonzero(");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_LET:
    case FUZZ_VIEW:
    case FUZZ_SET:
    case FUZZ_DROP:
    case FUZZ_KEEP:
        printf(in->kind == FUZZ_LET    ? "vp_let("
               : in->kind == FUZZ_VIEW ? "vp_view("
               : in->kind == FUZZ_SET  ? "vp_set("
               : in->kind == FUZZ_DROP ? "vp_drop("
                                       : "vp_keep(");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_PUT:
        printf("vp_put(");
        print_operand(&in->in[0]);
        printf(", vp_at(");
        print_items(in);
        printf("), ");
        print_operand(&in->in[1]);
        printf(")");
        break;
    case FUZZ_BEGIN: printf("{ vp_begin()"); break;
    case FUZZ_END: printf("vp_end() }"); break;
    case FUZZ_GATE:
        printf("/* a copy, held back%s */ (", in->flag ? ", its size too" : "");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_OPEN: printf("/* what is held back goes on */"); break;
    case FUZZ_READ:
    case FUZZ_MAP:
    case FUZZ_LOOK:
    case FUZZ_WAIT:
        printf(in->kind == FUZZ_READ   ? "vp_read("
               : in->kind == FUZZ_MAP  ? "vp_map("
               : in->kind == FUZZ_LOOK ? "vp_ndim, vp_dtype_of("
                                       : "vp_wait(");
        print_operands(in);
        printf(")");
        break;
    case FUZZ_UNMAP: printf("vp_unmap(/* all */)"); break;
    case FUZZ_ITEM:
        printf("vp_item(");
        print_operands(in);
        printf(", /* as */ %s)", dtype_name(in->dtype));
        break;
    case FUZZ_SIZE:
        if (in->axes[0] % 2)
            printf("vp_dim(");
        else
            printf("vp_size(");
        print_operands(in);
        if (in->axes[0] % 2) printf(", %d", in->axes[0]);
        printf(")");
        break;
    case FUZZ_SYNC: printf("vp_sync()"); break;
    case FUZZ_FOR: printf("for (int i = 0; i < %" PRId64 "; i++) {", in->low); break;
    case FUZZ_NEXT: printf("}"); break;
    case FUZZ_TEAM:
        printf("/* other threads begin to issue%s */",
               in->flag ? ", all at once" : ", each as soon as it runs");
        break;
    case FUZZ_MEET: printf("/* the other threads have ended */"); break;
    case FUZZ_NKINDS: break;
    }
}

void fuzz_print(const fuzz_program *p, const bool *kept) {
    vp__tuning_t t = {0};
    fuzz_tune(&t, p->seed);
    printf("/* seed %" PRIu64 "; inline_ns %lld, inline_elements %lld, piece_ns %lld, "
           "flat_grain %lld,\n   copy_bytes %lld, max_nodes %lld, wake_ns %lld, spin_ns "
           "%lld */\n",
           p->seed, (long long)t.inline_ns, (long long)t.inline_elements,
           (long long)t.piece_ns, (long long)t.flat_grain, (long long)t.copy_bytes,
           (long long)t.max_nodes, (long long)t.wake_ns, (long long)t.spin_ns);
    for (int i = 0; i < p->count; i++) {
        if (kept && !kept[i]) continue;
        const fuzz_instruction *in = &p->at[i];
        char defines = fuzz_defines[in->kind];
        if (p->issuers > 1)
            printf("/* thread %d, i%-3d */ ", in->issuer, i);
        else
            printf("/* i%-3d */ ", i);
        if (in->when.every) {
            printf("if (");
            print_when(&in->when);
            printf(") ");
        }
        if (defines)
            printf("%s %c%d = ", defines == 'a' ? "vp_array" : "vp_expr", defines, i);
        print_call(in);
        printf(in->kind < FUZZ_FOR ? ";\n" : "\n");
    }
    if (!kept) return;
    printf("/* --only ");
    for (int i = 0, any = 0; i < p->count; i++)
        if (kept[i]) printf(any++ ? ",%d" : "%d", i);
    printf(" */\n");
}
