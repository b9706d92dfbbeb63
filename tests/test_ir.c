/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel IR: every row lowers to something that verifies and survives being printed and
 * read again; a few kernels in full, so that a change of the lowering shows; and texts that
 * are wrong, which must be refused in words whatever is wrong with them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jit/ir.h"
#include "tests/draw_kernel.h"
#include "tests/harness.h"

static char *print(const vp__ir *ir) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    VP_CHECK(f);
    vp__ir_print(ir, f);
    fclose(f);
    return text;
}

/* Lowers, verifies, prints, reads and prints again; returns the text, to be freed. */
static char *round_trip(const vp__kernel *k) {
    vp__ir ir, again;
    VP_CHECK(vp__ir_lower(&ir, k));
    char *text = print(&ir);
    const char *wrong = vp__ir_verify(&ir);
    if (wrong) VP_FAIL("%s in\n%s", wrong, text);
    wrong = vp__ir_parse(&again, text);
    if (wrong) VP_FAIL("reading: %s in\n%s", wrong, text);
    char *second = print(&again);
    VP_CHECK_STR(text, second);
    free(second);
    vp__ir_deinit(&ir);
    vp__ir_deinit(&again);
    return text;
}

VP_TEST(every_row_of_every_type) {
    int rows = 0;
    vp__kernel k;
    for (int op = 0; op < VP__NOPS; op++)
        for (int t = 0; t < VP__NDTYPES; t++) {
            if (!one_row(&k, (vp__op)op, (vp_dtype)t)) continue;
            VP_CHECK_STR(vp__kernel_verify(&k), NULL);
            free(round_trip(&k));
            rows++;
        }
    VP_CHECK_GT(rows, 400);
}

VP_TEST(every_cast) {
    vp__kernel k;
    for (int from = 0; from < VP__NDTYPES; from++)
        for (int to = 0; to < VP__NDTYPES; to++) {
            one_cast(&k, (vp_dtype)from, (vp_dtype)to);
            char *text = round_trip(&k);
            VP_CHECK(!strstr(text, "base")); /* the IR can say all of them */
            free(text);
        }
}

VP_TEST(random_kernels) {
    for (int i = 0; i < 3000; i++) {
        vp__kernel k = {.nleaves = 1 + draw_below(5), .reduce = -1};
        for (int l = 0; l < k.nleaves; l++) k.leaf[l].dtype = (uint8_t)draw_type();
        for (int n = draw_below(12); n >= 0; n--) draw_instr(&k);
        k.result = k.instr[k.ninstrs - 1].result;
        if (draw_below(2)) {
            k.reduce = draw_below(2) ? VP__OP_sum : VP__OP_max;
            k.reduce_type = k.result;
        }
        free(round_trip(&k));
    }
}

/* --- golden dumps ------------------------------------------------------------------- */

static void golden(const vp__kernel *k, const char *expected) {
    VP_CHECK_STR(vp__kernel_verify(k), NULL);
    char *text = round_trip(k);
    VP_CHECK_STR(text, expected);
    free(text);
}

static void leaves(vp__kernel *k, int n, const vp_dtype *types) {
    *k = (vp__kernel){.nleaves = n, .reduce = -1};
    for (int i = 0; i < n; i++) k->leaf[i].dtype = (uint8_t)types[i];
}

static int row(vp__kernel *k, vp__op op, int a, int b, int c) {
    vp__optype types[3] = {{0}};
    vp_dtype work[3], result;
    const int arg[3] = {a, b, c}, arity = vp__ops[op].arity;
    for (int i = 0; i < arity; i++)
        types[i] = (vp__optype){(vp_dtype)value_type(k, arg[i]), -1};
    VP_CHECK(vp__op_types(op, types, work, &result));
    vp__instr in = {(uint8_t)op, (uint8_t)vp__op_key(op, work), (uint8_t)result, {0}};
    for (int i = 0; i < arity; i++) in.arg[i] = (uint8_t)add_cast(k, arg[i], work[i]);
    k->instr[k->ninstrs] = in;
    k->result = (uint8_t)result;
    return k->nleaves + k->ninstrs++;
}

static void reduce(vp__kernel *k, vp__op op) {
    k->reduce = (int)op;
    k->reduce_type = k->result;
}

/* (m & (a << s)) | (~m & b), summed. */
VP_TEST(golden_masks_and_shifts) {
    vp__kernel k;
    leaves(&k, 4, (vp_dtype[]){VP_U32, VP_U32, VP_U32, VP_U32});
    k.leaf[2].constant = true;
    const int left =
        row(&k, VP__OP_bitwise_and, 0, row(&k, VP__OP_left_shift, 1, 2, 0), 0);
    const int right =
        row(&k, VP__OP_bitwise_and, row(&k, VP__OP_bitwise_not, 0, 0, 0), 3, 0);
    row(&k, VP__OP_bitwise_or, left, right, 0);
    reduce(&k, VP__OP_sum);
    golden(&k, "%0 = leaf uint32 0\n"
               "%1 = leaf uint32 1\n"
               "%2 = leaf uint32 2\n"
               "%3 = leaf uint32 3\n"
               "%4 = number uint32 0x20\n"
               "%5 = lt truth %2 %4\n"
               "%6 = shl uint32 %1 %2\n"
               "%7 = number uint32 0x0\n"
               "%8 = select uint32 %5 %6 %7\n"
               "%9 = and uint32 %0 %8\n"
               "%10 = not uint32 %0\n"
               "%11 = and uint32 %10 %3\n"
               "%12 = or uint32 %9 %11\n"
               "reduce sum uint32 uint32 %12\n");
}

VP_TEST(golden_sum_of_abs_of_sin) {
    vp__kernel k;
    leaves(&k, 1, (vp_dtype[]){VP_F64});
    row(&k, VP__OP_abs, row(&k, VP__OP_sin, 0, 0, 0), 0, 0);
    reduce(&k, VP__OP_sum);
    golden(&k, "%0 = leaf float64 0\n"
               "%1 = base1 float64 sin float64 %0\n"
               "%2 = abs float64 %1\n"
               "reduce sum float64 float64 %2\n");
}

VP_TEST(golden_sum_of_squared_differences) {
    vp__kernel k;
    leaves(&k, 2, (vp_dtype[]){VP_F32, VP_F32});
    row(&k, VP__OP_square, row(&k, VP__OP_subtract, 0, 1, 0), 0, 0);
    reduce(&k, VP__OP_sum);
    golden(&k, "%0 = leaf float32 0\n"
               "%1 = leaf float32 1\n"
               "%2 = sub float32 %0 %1\n"
               "%3 = mul float32 %2 %2\n"
               "reduce sum float32 float32 %3\n");
}

VP_TEST(golden_where_and_clip) {
    vp__kernel k;
    leaves(&k, 4, (vp_dtype[]){VP_F64, VP_F64, VP_F64, VP_F64});
    const int held = row(&k, VP__OP_clip, 0, 1, 2);
    row(&k, VP__OP_where, row(&k, VP__OP_less, 0, 3, 0), held, 3);
    golden(&k, "%0 = leaf float64 0\n"
               "%1 = leaf float64 1\n"
               "%2 = leaf float64 2\n"
               "%3 = leaf float64 3\n"
               "%4 = ne truth %0 %0\n"
               "%5 = ne truth %1 %1\n"
               "%6 = or truth %4 %5\n"
               "%7 = add float64 %0 %1\n"
               "%8 = gt truth %0 %1\n"
               "%9 = select float64 %8 %0 %1\n"
               "%10 = lt truth %9 %2\n"
               "%11 = select float64 %10 %9 %2\n"
               "%12 = select float64 %6 %7 %11\n"
               "%13 = lt truth %0 %3\n"
               "%14 = to bool %13\n"
               "%15 = select float64 %13 %12 %3\n"
               "store float64 %15\n");
}

VP_TEST(golden_complex_product) {
    vp__kernel k;
    leaves(&k, 2, (vp_dtype[]){VP_C128, VP_C128});
    row(&k, VP__OP_multiply, 0, 1, 0);
    golden(&k, "%0 = leaf complex128 0\n"
               "%1 = leaf complex128 1\n"
               "%2 = re float64 %0\n"
               "%3 = re float64 %1\n"
               "%4 = mul float64 %2 %3\n"
               "%5 = im float64 %0\n"
               "%6 = im float64 %1\n"
               "%7 = mul float64 %5 %6\n"
               "%8 = sub float64 %4 %7\n"
               "%9 = mul float64 %2 %6\n"
               "%10 = mul float64 %5 %3\n"
               "%11 = add float64 %9 %10\n"
               "%12 = pair complex128 %8 %11\n"
               "store complex128 %12\n");
}

VP_TEST(golden_floor_divide) {
    vp__kernel k;
    leaves(&k, 2, (vp_dtype[]){VP_I8, VP_I8});
    row(&k, VP__OP_floor_divide, 0, 1, 0);
    golden(&k, "%0 = leaf int8 0\n"
               "%1 = leaf int8 1\n"
               "%2 = quot int8 %0 %1\n"
               "%3 = number int8 0x0\n"
               "%4 = ne truth %1 %3\n"
               "%5 = mul int8 %2 %1\n"
               "%6 = ne truth %5 %0\n"
               "%7 = and truth %4 %6\n"
               "%8 = lt truth %0 %3\n"
               "%9 = lt truth %1 %3\n"
               "%10 = xor truth %8 %9\n"
               "%11 = and truth %7 %10\n"
               "%12 = to int8 %11\n"
               "%13 = sub int8 %2 %12\n"
               "store int8 %13\n");
}

VP_TEST(golden_cast) {
    vp__kernel k;
    one_cast(&k, VP_F64, VP_I16);
    golden(&k, "%0 = leaf float64 0\n"
               "%1 = to int16 %0\n"
               "store int16 %1\n");
    one_cast(&k, VP_C64, VP_BOOL);
    golden(&k, "%0 = leaf complex64 0\n"
               "%1 = re float32 %0\n"
               "%2 = im float32 %0\n"
               "%3 = number float32 0x0\n"
               "%4 = ne truth %1 %3\n"
               "%5 = ne truth %2 %3\n"
               "%6 = or truth %4 %5\n"
               "%7 = to bool %6\n"
               "store bool %7\n");
}

/* Types of four widths, with the casts between them. */
VP_TEST(golden_mixed_widths) {
    vp__kernel k;
    leaves(&k, 3, (vp_dtype[]){VP_U8, VP_I16, VP_F32});
    const int sum = row(&k, VP__OP_add, 0, 1, 0);
    const int product = row(&k, VP__OP_multiply, sum, 2, 0);
    row(&k, VP__OP_greater, row(&k, VP__OP_divide, product, sum, 0), 2, 0);
    golden(&k, "%0 = leaf uint8 0\n"
               "%1 = leaf int16 1\n"
               "%2 = leaf float32 2\n"
               "%3 = to int16 %0\n"
               "%4 = add int16 %3 %1\n"
               "%5 = to float32 %4\n"
               "%6 = mul float32 %5 %2\n"
               "%7 = to float32 %4\n"
               "%8 = div float32 %6 %7\n"
               "%9 = gt truth %8 %2\n"
               "%10 = to bool %9\n"
               "store bool %10\n");
}

/* --- refusals ----------------------------------------------------------------------- */

VP_TEST(wrong_texts_are_refused) {
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "the last line is missing"},
        {"\n\n", "the last line is missing"},
        {"%0 = leaf float64 0\n", "the last line is missing"},
        {"store float64 %0\n", "there are no instructions"},
        {"leaf float64 0\n", "a line is not an instruction"},
        {"%0 leaf float64 0\n", "a line is not an instruction"},
        {"%x = leaf float64 0\n", "a line is not an instruction"},
        {"%1 = leaf float64 0\nstore float64 %0\n", "an instruction has not its number"},
        {"%0 = load float64 0\nstore float64 %0\n", "there is no such instruction"},
        {"%0 = leaf float16 0\nstore float64 %0\n", "there is no such type"},
        {"%0 = leaf float64\nstore float64 %0\n", "a number is missing"},
        {"%0 = number int64 0x1ffffffffffffffff\nstore int64 %0\n",
         "a number is missing"},
        {"%0 = number int64 -1\nstore int64 %0\n", "a number is missing"},
        {"%0 = number int8 0x100\nstore int8 %0\n", "an instruction does not take"},
        {"%0 = number bool 2\nstore bool %0\n", "an instruction does not take"},
        {"%0 = leaf float64 1\nstore float64 %0\n", "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = neg float64\nstore float64 %1\n",
         "an operand is missing"},
        {"%0 = leaf float64 0\n%1 = neg float64 %65536\nstore float64 %1\n",
         "an operand is missing"},
        {"%0 = leaf float64 0\n%1 = neg float64 %1\nstore float64 %1\n",
         "a value is used before it is made"},
        {"%0 = leaf float64 0\n%1 = add float64 %0 %2\n%2 = neg float64 %0\n"
         "store float64 %2\n",
         "a value is used before it is made"},
        {"%0 = leaf float64 0\n%1 = neg float32 %0\nstore float32 %1\n",
         "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = and float64 %0 %0\nstore float64 %1\n",
         "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = lt float64 %0 %0\nstore float64 %1\n",
         "an instruction does not take"},
        {"%0 = leaf bool 0\n%1 = select bool %0 %0 %0\nstore bool %1\n",
         "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = base1 float64 frob float64 %0\nstore float64 %1\n",
         "there is no such base kernel"},
        {"%0 = leaf float64 0\n%1 = base1 float64 cast float64 %0\nstore float64 %1\n",
         "there is no such base kernel"},
        {"%0 = leaf float64 0\n%1 = base1 float64 sum float64 %0\nstore float64 %1\n",
         "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = base1 float64 power float64 %0\nstore float64 %1\n",
         "an instruction does not take"},
        {"%0 = leaf float64 0\n%1 = base1 float64 sin float32 %0\nstore float64 %1\n",
         "an instruction does not take"},
        {"%0 = number float64 0x0\n%1 = leaf float64 0\nstore float64 %1\n",
         "the leaves do not come first"},
        {"%0 = leaf float64 0\nstore float64\n", "the result is missing"},
        {"%0 = leaf float64 0\nstore float64 0\n", "the result is missing"},
        {"%0 = leaf float64 0\nstore float64 %1\n", "there is no such result"},
        {"%0 = leaf float64 0\nstore float63 %0\n", "there is no such type"},
        {"%0 = leaf float64 0\nstore float32 %0\n", "the body's result"},
        {"%0 = leaf float64 0\nstore float64 %0\nstore float64 %0\n",
         "there is more after the last line"},
        {"%0 = leaf float64 0\nreduce frob float64 float64 %0\n",
         "there is no such reduction"},
        {"%0 = leaf float64 0\nreduce add float64 float64 %0\n",
         "there is no such reduction"},
        {"%0 = leaf float64 0\nreduce sum float32 float32 %0\n", "the body's result"},
        {"%0 = leaf float64 0\nreduce sum float64 truth %0\n",
         "the output has no such type"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vp__ir ir;
        const char *wrong = vp__ir_parse(&ir, bad[i].text);
        if (!wrong) VP_FAIL("accepted\n%s", bad[i].text);
        if (!strstr(wrong, bad[i].why)) VP_FAIL("\"%s\" of\n%s", wrong, bad[i].text);
        VP_CHECK(!ir.instr);
    }
}

VP_TEST(too_many_leaves_are_refused) {
    vp__ir ir = {.reduce = -1, .result = VP_F64};
    for (int i = 0; i <= VP__KERNEL_LEAVES; i++) {
        VP_CHECK_EQ(ir.nleaves, i);
        vp__ir_add(&ir, (vp__ir_instr){VP__IR_leaf, VP_F64, {0}, (uint64_t)i});
        ir.nleaves++;
        VP_CHECK_EQ(vp__ir_verify(&ir) == NULL, i < VP__KERNEL_LEAVES);
    }
    vp__ir_deinit(&ir);
}

/* --- damaged texts ------------------------------------------------------------------ */

/* Whatever is still accepted prints and reads as itself. */
static void read_damaged(const char *text) {
    vp__ir ir, again;
    if (vp__ir_parse(&ir, text)) {
        VP_CHECK(!ir.instr);
        return;
    }
    char *first = print(&ir);
    VP_CHECK_STR(vp__ir_parse(&again, first), NULL);
    char *second = print(&again);
    VP_CHECK_STR(first, second);
    free(first);
    free(second);
    vp__ir_deinit(&ir);
    vp__ir_deinit(&again);
}

static void damage(char *text, size_t n) {
    static const char letters[] = "%0123456789 =\nabcdefinorstux";
    for (int i = draw_below(3); i >= 0; i--) {
        const size_t at = draw() % n, from = draw() % n;
        switch (draw_below(4)) {
        case 0: text[at] = letters[draw_below((int)sizeof letters - 1)]; break;
        case 1: text[at] = (char)draw(); break;
        case 2: memmove(text + at, text + from, n - (at > from ? at : from)); break;
        default: text[at] = text[from]; break;
        }
    }
}

VP_TEST(damaged_texts_never_crash) {
    for (int i = 0; i < 60; i++) {
        vp__kernel k = {.nleaves = 1 + draw_below(3), .reduce = -1};
        for (int l = 0; l < k.nleaves; l++) k.leaf[l].dtype = (uint8_t)draw_type();
        for (int n = draw_below(4); n >= 0; n--) draw_instr(&k);
        k.result = k.instr[k.ninstrs - 1].result;
        if (i % 2) reduce(&k, VP__OP_min);
        char *text = round_trip(&k);
        const size_t n = strlen(text);
        char *copy = malloc(n + 1);
        for (size_t end = 0; end < n; end += 1 + n / 200) {
            memcpy(copy, text, end);
            copy[end] = 0;
            read_damaged(copy);
        }
        for (int j = 0; j < 500; j++) {
            memcpy(copy, text, n + 1);
            damage(copy, n);
            read_damaged(copy);
        }
        free(copy);
        free(text);
    }
}
