/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernels to the kernel IR: each instruction becomes what its row's body says. The
 * texts of ops.def are parsed as they stand there, by recursive descent with C's
 * precedence, and emit as they are parsed; so a new row needs nothing here.
 *
 * A row whose body cannot be said in the IR (math functions, exact remainders, integer
 * powers) becomes a call of its base kernel, as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "jit/ir.h"

typedef struct {
    int op;
    const char *classes, *text;
} row_body;

/* Stringified here, before anything could expand them. */
static const row_body bodies[] = {
#define VP_BODY(id, classes, expression) {VP__OP_##id, #classes, #expression},
#define VP_PLAIN(id, classes, expression) {VP__OP_##id, #classes, #expression},
#define VP_CALL(id, classes, prim, expression) {VP__OP_##id, #classes, #expression},
#include "ops/ops.def"
};

typedef enum { CONST, LANE, MATH, COMPLEX } prim_kind;
static const struct {
    const char *name;
    int operands;
    prim_kind kind;
} prims[VP__NPRIMS] = {
#define VP__PRIM(name, operands, kind, meaning) {#name, operands, kind},
    VP__PRIMS(VP__PRIM)
#undef VP__PRIM
};

static const char *body_of(int op, int type) {
    static const char letters[] = {'B', 'S', 'U', 'F', 'C'};
    static const struct {
        char set;
        const char *members;
    } sets[] = {{'I', "SU"}, {'R', "SUF"}, {'X', "BSUF"}, {'A', "BSUFC"}};
    const char letter = letters[vp__dtype[type].cls];
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        if (bodies[i].op != op) continue;
        const char set = bodies[i].classes[0];
        if (set == letter) return bodies[i].text;
        for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
            if (set == sets[k].set && strchr(sets[k].members, letter))
                return bodies[i].text;
    }
    return NULL;
}

/* --- values ------------------------------------------------------------------------- */

/* A value while a body is read: an instruction, or a literal that takes the type of what
 * it meets. */
typedef struct {
    int at; /* instruction, or -1 */
    int64_t literal;
} value;

typedef struct {
    vp__ir *ir;
    const char *text;
    int type;  /* the row's */
    int real;  /* its component's */
    int first; /* instructions of this body */
    int arg[3];
    bool failed; /* no memory */
    bool beyond; /* the IR cannot say it */
} lowering;

static int type_of(const lowering *l, value v) {
    return v.at < 0 ? -1 : l->ir->instr[v.at].type;
}

/* Within one body equal instructions are one; across bodies each instruction of the
 * program is computed. */
static value emit(lowering *l, int op, int type, int a, int b, int c, uint64_t imm) {
    vp__ir_instr in = {(uint8_t)op, (uint8_t)type, {0, 0, 0}, imm};
    const int args[3] = {a, b, c};
    for (int i = 0; i < vp__ir_arity(op); i++) in.arg[i] = (uint16_t)args[i];
    for (int i = l->first; i < l->ir->n; i++)
        if (memcmp(&l->ir->instr[i].arg, &in.arg, sizeof in.arg) == 0 &&
            l->ir->instr[i].op == in.op && l->ir->instr[i].type == in.type &&
            l->ir->instr[i].imm == imm)
            return (value){i, 0};
    int at = vp__ir_add(l->ir, in);
    if (at < 0) l->failed = true;
    return (value){at < 0 ? 0 : at, 0};
}

static value number(lowering *l, int type, double real, int64_t whole) {
    uint64_t bits = 0;
    const float f = (float)real;
    if (type == VP_F32)
        memcpy(&bits, &f, sizeof f);
    else if (type == VP_F64)
        memcpy(&bits, &real, sizeof real);
    else if (type == VP__TRUTH || type == VP_BOOL)
        bits = whole != 0;
    else
        memcpy(&bits, &whole, vp__dtype[type].size); /* little-endian, as IR texts are */
    return emit(l, VP__IR_number, type, 0, 0, 0, bits);
}

/* The value as a real type or truth. */
static value as(lowering *l, value v, int type) {
    if (v.at < 0) return number(l, type, (double)v.literal, v.literal);
    if (type_of(l, v) == type) return v;
    return emit(l, VP__IR_to, type, v.at, 0, 0, 0);
}

static bool is_complex(int type) {
    return type >= 0 && type != VP__TRUTH && vp__dtype[type].cls == VP__CLASS_C;
}

/* Truth and literals take the other's type, two of them the row's real one. */
static void meet(lowering *l, value *a, value *b) {
    int s = type_of(l, *a), t = type_of(l, *b);
    int to = s >= 0 && s != VP__TRUTH ? s : t >= 0 && t != VP__TRUTH ? t : l->real;
    if (is_complex(s) && is_complex(t)) return;
    if (is_complex(to)) {
        l->beyond = true;
        return;
    }
    *a = as(l, *a, to);
    *b = as(l, *b, to);
}

static value truth(lowering *l, value v) {
    int type = type_of(l, v);
    if (v.at < 0) return number(l, VP__TRUTH, 0, v.literal != 0);
    if (type == VP__TRUTH) return v;
    /* A comparison that another row has stored as a bool. */
    const vp__ir_instr *in = &l->ir->instr[v.at];
    if (type == VP_BOOL && in->op == VP__IR_to &&
        l->ir->instr[in->arg[0]].type == VP__TRUTH)
        return (value){in->arg[0], 0};
    return emit(l, VP__IR_ne, VP__TRUTH, v.at, as(l, (value){-1, 0}, type).at, 0, 0);
}

static value binary(lowering *l, int op, value a, value b) {
    bool truths = type_of(l, a) == VP__TRUTH && type_of(l, b) == VP__TRUTH;
    bool compares = op >= VP__IR_eq && op <= VP__IR_ge;
    if (truths && (op == VP__IR_and || op == VP__IR_or || op == VP__IR_xor))
        return emit(l, op, VP__TRUTH, a.at, b.at, 0, 0);
    if (truths && op == VP__IR_ne)
        return emit(l, VP__IR_xor, VP__TRUTH, a.at, b.at, 0, 0);
    meet(l, &a, &b);
    if (is_complex(type_of(l, a))) l->beyond = true;
    return emit(l, op, compares ? VP__TRUTH : type_of(l, a), a.at, b.at, 0, 0);
}

/* --- reading ------------------------------------------------------------------------ */

static value read_level(lowering *l, int level);

static void skip(lowering *l) { l->text += strspn(l->text, " \n\t"); }

static bool take(lowering *l, const char *token) {
    skip(l);
    size_t n = strlen(token);
    if (strncmp(l->text, token, n) != 0) return false;
    l->text += n;
    return true;
}

static value lane_prim(lowering *l, int prim, const value *x) {
    value a = x[0], b = x[1];
    const int real = l->real;
    switch ((vp__prim)prim) {
    case VP__PRIM_apart: return a;
    case VP__PRIM_sel: {
        value c = x[2], when = truth(l, a);
        meet(l, &b, &c);
        return emit(l, VP__IR_select, type_of(l, b), when.at, b.at, c.at, 0);
    }
    case VP__PRIM_min: return binary(l, VP__IR_min, a, b);
    case VP__PRIM_max: return binary(l, VP__IR_max, a, b);
    case VP__PRIM_quot: return binary(l, VP__IR_quot, a, b);
    case VP__PRIM_copysign: return binary(l, VP__IR_copysign, a, b);
    case VP__PRIM_abs: return emit(l, VP__IR_abs, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_floor: return emit(l, VP__IR_floor, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_ceil: return emit(l, VP__IR_ceil, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_trunc: return emit(l, VP__IR_trunc, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_rint: return emit(l, VP__IR_rint, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_sqrt: return emit(l, VP__IR_sqrt, real, as(l, a, real).at, 0, 0, 0);
    case VP__PRIM_nearfloor: {
        value whole = emit(l, VP__IR_floor, real, a.at, 0, 0, 0);
        value rest = binary(l, VP__IR_sub, a, whole), half = number(l, real, 0.5, 0);
        return binary(l, VP__IR_add, whole, binary(l, VP__IR_gt, rest, half));
    }
    case VP__PRIM_cplx:
        a = as(l, a, real);
        b = as(l, b, real);
        return emit(l, VP__IR_pair, l->type, a.at, b.at, 0, 0);
    case VP__PRIM_re: return emit(l, VP__IR_re, real, a.at, 0, 0, 0);
    case VP__PRIM_im: return emit(l, VP__IR_im, real, a.at, 0, 0, 0);
    default: break;
    }
    l->beyond = true;
    return a;
}

static value apply_prim(lowering *l, int prim, const value *x) {
    if (prims[prim].kind != MATH) return lane_prim(l, prim, x);
    l->beyond = true;
    return x[0];
}

static value constant_prim(lowering *l, int prim) {
    if (prim == VP__PRIM_bits) return (value){-1, 8 * vp__dtype[l->type].size};
    if (prim == VP__PRIM_inf) return number(l, l->real, strtod("inf", NULL), 0);
    return number(l, l->real, strtod("nan", NULL), 0);
}

static value read_name(lowering *l) {
    size_t n = strspn(l->text, "abcdefghijklmnopqrstuvwxyz0123456789");
    const char *name = l->text;
    l->text += n;
    if (n == 1 && name[0] >= 'a' && name[0] <= 'c')
        return (value){l->arg[name[0] - 'a'], 0};
    for (int p = 0; p < VP__NPRIMS; p++) {
        if (strlen(prims[p].name) != n || strncmp(prims[p].name, name, n) != 0) continue;
        if (prims[p].kind == CONST) return constant_prim(l, p);
        value x[3] = {{0, 0}, {0, 0}, {0, 0}};
        take(l, "(");
        if (p == VP__PRIM_lit) {
            char *end;
            value v = number(l, l->real, strtod(l->text, &end), 0);
            l->text = end;
            take(l, ")");
            return v;
        }
        for (int i = 0; i < prims[p].operands; i++) {
            if (i) take(l, ",");
            x[i] = read_level(l, 0);
        }
        take(l, ")");
        return apply_prim(l, p, x);
    }
    l->beyond = true;
    return (value){-1, 0};
}

static value read_unary(lowering *l) {
    skip(l);
    if (take(l, "-")) {
        value v = read_unary(l);
        if (v.at < 0) return (value){-1, -v.literal};
        if (type_of(l, v) == VP__TRUTH) v = as(l, v, l->real);
        return emit(l, VP__IR_neg, type_of(l, v), v.at, 0, 0, 0);
    }
    if (take(l, "~")) {
        value v = read_unary(l);
        return emit(l, VP__IR_not, type_of(l, v), v.at, 0, 0, 0);
    }
    if (take(l, "(")) {
        value v = read_level(l, 0);
        take(l, ")");
        return v;
    }
    if (*l->text >= '0' && *l->text <= '9') {
        char *end;
        int64_t n = strtoll(l->text, &end, 10);
        l->text = end;
        return (value){-1, n};
    }
    return read_name(l);
}

/* The binary operators, loosest first; longer tokens before their beginnings. */
static const struct {
    int level;
    const char *token;
    int op;
} operators[] = {
    {0, "|", VP__IR_or},   {1, "^", VP__IR_xor}, {2, "&", VP__IR_and},
    {3, "==", VP__IR_eq},  {3, "!=", VP__IR_ne}, {5, "<<", VP__IR_shl},
    {5, ">>", VP__IR_shr}, {4, "<=", VP__IR_le}, {4, ">=", VP__IR_ge},
    {4, "<", VP__IR_lt},   {4, ">", VP__IR_gt},  {6, "+", VP__IR_add},
    {6, "-", VP__IR_sub},  {7, "*", VP__IR_mul}, {7, "/", VP__IR_div},
};
enum { TIGHTEST = 7, NOPERATORS = sizeof operators / sizeof *operators };

/* The operator at the cursor, whatever its level, or -1. */
static int find_operator(lowering *l) {
    skip(l);
    for (int i = 0; i < NOPERATORS; i++)
        if (strncmp(l->text, operators[i].token, strlen(operators[i].token)) == 0)
            return i;
    return -1;
}

static value read_level(lowering *l, int level) {
    if (level > TIGHTEST) return read_unary(l);
    value left = read_level(l, level + 1);
    for (;;) {
        int i = find_operator(l);
        if (i < 0 || operators[i].level != level) return left;
        l->text += strlen(operators[i].token);
        value right = read_level(l, level + 1);
        if (left.at < 0 && right.at < 0 && operators[i].op == VP__IR_sub)
            left.literal -= right.literal; /* bits - 1 */
        else
            left = binary(l, operators[i].op, left, right);
    }
}

/* --- kernels ------------------------------------------------------------------------ */

static int lower_cast(lowering *l, int from, int to) {
    value v = {l->arg[0], 0};
    const int part = vp__dtype[from].real;
    if (to == from) return v.at;
    if (is_complex(from) && to == VP_BOOL) {
        value re = emit(l, VP__IR_re, part, v.at, 0, 0, 0);
        value im = emit(l, VP__IR_im, part, v.at, 0, 0, 0);
        re = truth(l, re); /* one after the other, here and above: texts are compared */
        im = truth(l, im);
        v = emit(l, VP__IR_or, VP__TRUTH, re.at, im.at, 0, 0);
        return as(l, v, VP_BOOL).at;
    }
    if (is_complex(to)) {
        const int real = vp__dtype[to].real;
        value re = v, im = number(l, real, 0, 0);
        if (is_complex(from)) {
            re = emit(l, VP__IR_re, part, v.at, 0, 0, 0);
            im = as(l, emit(l, VP__IR_im, part, v.at, 0, 0, 0), real);
        }
        return emit(l, VP__IR_pair, to, as(l, re, real).at, im.at, 0, 0).at;
    }
    if (is_complex(from)) v = emit(l, VP__IR_re, part, v.at, 0, 0, 0);
    return as(l, v, to).at;
}

static int lower_instr(lowering *l, const vp__instr *in) {
    l->type = in->type;
    l->real = vp__dtype[in->type].real;
    l->first = l->ir->n;
    if (in->op == VP__OP_CAST) return lower_cast(l, in->type, in->result);
    l->text = body_of(in->op, in->type);
    l->beyond = l->text == NULL;
    if (!l->beyond) {
        value v = read_level(l, 0);
        /* The row's result: its working type, its component, or bool. */
        if (!l->beyond && type_of(l, v) != in->result) {
            if (is_complex(in->result))
                l->beyond = true;
            else
                v = as(l, v, in->result);
        }
        if (!l->beyond) return v.at;
    }
    l->ir->n = l->first;
    const int arity = vp__ops[in->op].arity;
    return emit(l, VP__IR_base1 + arity - 1, in->result, l->arg[0], l->arg[1], l->arg[2],
                (uint64_t)in->op * 256 + in->type)
        .at;
}

bool vp__ir_lower(vp__ir *ir, const vp__kernel *k) {
    *ir = (vp__ir){.reduce = k->reduce,
                   .reduce_type = k->reduce >= 0 ? k->reduce_type : 0,
                   .result = k->result,
                   .nleaves = k->nleaves};
    lowering l = {.ir = ir};
    int at[VP__KERNEL_LEAVES + VP__KERNEL_INSTRS];
    for (int i = 0; i < k->nleaves; i++) {
        vp__ir_instr leaf = {VP__IR_leaf, k->leaf[i].dtype, {0, 0, 0}, (uint64_t)i};
        at[i] = vp__ir_add(ir, leaf);
        l.failed |= at[i] < 0;
    }
    for (int i = 0; i < k->ninstrs && !l.failed; i++) {
        const vp__instr *in = &k->instr[i];
        for (int a = 0; a < 3; a++) l.arg[a] = at[in->arg[a]];
        at[k->nleaves + i] = lower_instr(&l, in);
    }
    ir->value = l.failed ? 0 : at[k->ninstrs ? k->nleaves + k->ninstrs - 1 : 0];
    if (l.failed) vp__ir_deinit(ir);
    return !l.failed;
}
