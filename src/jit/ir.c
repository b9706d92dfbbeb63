/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/ir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int operands;
} info[VP__NIRS] = {
#define VP_IR(name, operands, meaning) {#name, operands},
#include "jit/ir.def"
};

int vp__ir_arity(int op) { return info[op].operands; }

int vp__ir_add(vp__ir *ir, vp__ir_instr instr) {
    if (ir->n == ir->room) {
        int32_t room = ir->room ? 2 * ir->room : 64;
        if (room > UINT16_MAX) return -1;
        vp__ir_instr *more = realloc(ir->instr, (size_t)room * sizeof *more);
        if (!more) return -1;
        ir->instr = more;
        ir->room = room;
    }
    ir->instr[ir->n] = instr;
    return ir->n++;
}

void vp__ir_deinit(vp__ir *ir) {
    free(ir->instr);
    ir->instr = NULL;
    ir->n = ir->room = 0;
}

/* --- text --------------------------------------------------------------------------- */

static const char *type_name(int type) {
    return type == VP__TRUTH ? "truth" : type < VP__NDTYPES ? vp__dtype[type].name : "?";
}

static bool is_base(int op) {
    return op == VP__IR_base1 || op == VP__IR_base2 || op == VP__IR_base3;
}

void vp__ir_print(const vp__ir *ir, FILE *f) {
    for (int i = 0; i < ir->n; i++) {
        const vp__ir_instr *in = &ir->instr[i];
        fprintf(f, "%%%d = %s %s", i, info[in->op].name, type_name(in->type));
        if (in->op == VP__IR_leaf)
            fprintf(f, " %" PRIu64, in->imm);
        else if (in->op == VP__IR_number)
            fprintf(f, " 0x%" PRIx64, in->imm);
        else if (is_base(in->op))
            fprintf(f, " %s %s", vp__ops[in->imm / 256].name,
                    type_name((int)(in->imm % 256)));
        for (int a = 0; a < info[in->op].operands; a++) fprintf(f, " %%%d", in->arg[a]);
        fputc('\n', f);
    }
    if (ir->reduce >= 0)
        fprintf(f, "reduce %s %s %s %%%d\n", vp__ops[ir->reduce].name,
                type_name(ir->reduce_type), type_name(ir->result), ir->value);
    else
        fprintf(f, "store %s %%%d\n", type_name(ir->result), ir->value);
}

/* One line of text, word by word. */
typedef struct {
    const char *at;
    char word[64];
} reader;

static bool next_word(reader *r) {
    while (*r->at == ' ') r->at++;
    size_t n = strcspn(r->at, " \n");
    if (n == 0 || n >= sizeof r->word) return false;
    memcpy(r->word, r->at, n);
    r->word[n] = 0;
    r->at += n;
    return true;
}

static int find_type(const char *name) {
    if (strcmp(name, "truth") == 0) return VP__TRUTH;
    for (int t = 0; t < VP__NDTYPES; t++)
        if (strcmp(name, vp__dtype[t].name) == 0) return t;
    return -1;
}

static int find_row(const char *name) {
    for (int i = 0; i < VP__NOPS; i++)
        if (strcmp(name, vp__ops[i].name) == 0) return i;
    return -1;
}

static bool read_type(reader *r, uint8_t *type) {
    int t = next_word(r) ? find_type(r->word) : -1;
    *type = (uint8_t)t;
    return t >= 0;
}

/* A whole word of digits; nothing that is out of range passes as another number. */
static bool read_number(const char *word, uint64_t most, uint64_t *out) {
    char *end;
    if (*word < '0' || *word > '9') return false;
    errno = 0;
    *out = strtoull(word, &end, 0);
    return *end == 0 && errno == 0 && *out <= most;
}

static bool read_value(reader *r, uint64_t *out) {
    return next_word(r) && r->word[0] == '%' && read_number(r->word + 1, UINT16_MAX, out);
}

static const char *read_imm(reader *r, vp__ir_instr *in) {
    if (in->op == VP__IR_leaf || in->op == VP__IR_number) {
        if (!next_word(r) || !read_number(r->word, UINT64_MAX, &in->imm))
            return "a number is missing";
    } else if (is_base(in->op)) {
        uint8_t type;
        int row = next_word(r) ? find_row(r->word) : -1;
        if (row < 0 || !read_type(r, &type)) return "there is no such base kernel";
        in->imm = (uint64_t)row * 256 + type;
    }
    return NULL;
}

static const char *read_end(reader *r, vp__ir *ir, bool reduces) {
    ir->reduce = -1;
    ir->reduce_type = 0;
    if (reduces) {
        ir->reduce = next_word(r) ? find_row(r->word) : -1;
        if (ir->reduce < 0 || !read_type(r, &ir->reduce_type))
            return "there is no such reduction";
    }
    if (!read_type(r, &ir->result)) return "there is no such type";
    uint64_t value;
    if (!read_value(r, &value)) return "the result is missing";
    ir->value = (int32_t)value;
    return r->at[strspn(r->at, " \n")] ? "there is more after the last line" : NULL;
}

/* The rest of a line whose label has been read. */
static const char *read_instr(reader *r, vp__ir *ir) {
    vp__ir_instr in = {0};
    uint64_t value;
    if (r->word[0] != '%' || !read_number(r->word + 1, UINT16_MAX, &value) ||
        !next_word(r) || strcmp(r->word, "=") != 0 || !next_word(r))
        return "a line is not an instruction";
    if (value != (uint64_t)ir->n) return "an instruction has not its number";
    int op = 0;
    while (op < VP__NIRS && strcmp(r->word, info[op].name) != 0) op++;
    if (op == VP__NIRS) return "there is no such instruction";
    in.op = (uint8_t)op;
    if (!read_type(r, &in.type)) return "there is no such type";
    const char *wrong = read_imm(r, &in);
    if (wrong) return wrong;
    for (int a = 0; a < info[op].operands; a++) {
        if (!read_value(r, &value)) return "an operand is missing";
        in.arg[a] = (uint16_t)value;
    }
    if (vp__ir_add(ir, in) < 0) return "there are too many instructions";
    if (op == VP__IR_leaf) ir->nleaves++;
    while (*r->at == '\n') r->at++;
    return NULL;
}

const char *vp__ir_parse(vp__ir *ir, const char *text) {
    *ir = (vp__ir){.reduce = -1};
    reader r = {.at = text};
    const char *wrong = NULL;
    bool ended = false;
    while (!wrong && !ended && next_word(&r)) {
        const bool reduces = strcmp(r.word, "reduce") == 0;
        ended = reduces || strcmp(r.word, "store") == 0;
        wrong = ended ? read_end(&r, ir, reduces) : read_instr(&r, ir);
    }
    if (!wrong) wrong = ended ? vp__ir_verify(ir) : "the last line is missing";
    if (wrong) vp__ir_deinit(ir);
    return wrong;
}

/* --- verifying ---------------------------------------------------------------------- */

static int class_of(int type) { return type == VP__TRUTH ? -1 : vp__dtype[type].cls; }
static bool is_integer(int type) {
    int cls = class_of(type);
    return cls == VP__CLASS_S || cls == VP__CLASS_U;
}
static bool is_float(int type) { return class_of(type) == VP__CLASS_F; }
static bool is_complex(int type) { return class_of(type) == VP__CLASS_C; }
static bool is_bits(int type) {
    return is_integer(type) || type == VP_BOOL || type == VP__TRUTH;
}

/* Whether a row has a base kernel that takes these operands as they are. */
static bool takes(const vp__ir_instr *in, const int *t) {
    const uint64_t row = in->imm / 256;
    const int arity = info[in->op].operands;
    if (row >= VP__NOPS || vp__ops[row].reduces || vp__ops[row].arity != arity)
        return false;
    vp__optype types[3];
    vp_dtype work[3], result;
    for (int a = 0; a < arity; a++) {
        if (t[a] == VP__TRUTH) return false;
        types[a] = (vp__optype){(vp_dtype)t[a], -1};
    }
    if (!vp__op_types((vp__op)row, types, work, &result) || (int)result != in->type)
        return false;
    for (int a = 0; a < arity; a++)
        if ((int)work[a] != t[a]) return false;
    return vp__op_key((vp__op)row, work) == in->imm % 256;
}

/* Whether a constant has no bits that its type has not. */
static bool fits(const vp__ir_instr *in) {
    if (in->type == VP__TRUTH || in->type == VP_BOOL) return in->imm <= 1;
    const int bits = 8 * vp__dtype[in->type].size;
    return bits >= 64 || in->imm >> bits == 0;
}

static const char *verify_instr(const vp__ir *ir, int i) {
    const vp__ir_instr *in = &ir->instr[i];
    int t[3] = {0, 0, 0}, type = in->type;
    if (in->op >= VP__NIRS || type > VP__TRUTH) return "there is no such instruction";
    for (int a = 0; a < info[in->op].operands; a++) {
        if (in->arg[a] >= i) return "a value is used before it is made";
        t[a] = ir->instr[in->arg[a]].type;
    }
    bool same1 = t[0] == type, same2 = same1 && t[1] == type, ok = false;
    switch ((vp__ir_op)in->op) {
    case VP__IR_leaf: ok = in->imm == (uint64_t)i && type != VP__TRUTH; break;
    case VP__IR_number: ok = !is_complex(type) && fits(in); break;
    case VP__IR_add:
    case VP__IR_sub:
    case VP__IR_mul: ok = same2 && (is_integer(type) || is_float(type)); break;
    case VP__IR_div:
    case VP__IR_copysign: ok = same2 && is_float(type); break;
    case VP__IR_quot: ok = same2 && is_integer(type); break;
    case VP__IR_neg: ok = same1 && (is_integer(type) || is_float(type)); break;
    case VP__IR_and:
    case VP__IR_or:
    case VP__IR_xor: ok = same2 && is_bits(type); break;
    case VP__IR_not: ok = same1 && is_bits(type) && type != VP_BOOL; break;
    case VP__IR_shl:
    case VP__IR_shr: ok = same2 && is_integer(type); break;
    case VP__IR_eq:
    case VP__IR_ne:
    case VP__IR_lt:
    case VP__IR_le:
    case VP__IR_gt:
    case VP__IR_ge:
        ok = type == VP__TRUTH && t[0] == t[1] && !is_complex(t[0]) && t[0] != VP__TRUTH;
        break;
    case VP__IR_select: ok = t[0] == VP__TRUTH && t[1] == type && t[2] == type; break;
    case VP__IR_min:
    case VP__IR_max: ok = same2 && type != VP__TRUTH && !is_complex(type); break;
    case VP__IR_abs:
        ok = same1 && (is_float(type) || class_of(type) == VP__CLASS_S);
        break;
    case VP__IR_floor:
    case VP__IR_ceil:
    case VP__IR_trunc:
    case VP__IR_rint:
    case VP__IR_sqrt: ok = same1 && is_float(type); break;
    case VP__IR_to: ok = !same1 && !is_complex(type) && !is_complex(t[0]); break;
    case VP__IR_pair:
        ok = is_complex(type) && t[0] == vp__dtype[type].real && t[1] == t[0];
        break;
    case VP__IR_re:
    case VP__IR_im: ok = is_complex(t[0]) && type == vp__dtype[t[0]].real; break;
    case VP__IR_base1:
    case VP__IR_base2:
    case VP__IR_base3: ok = takes(in, t); break;
    case VP__NIRS: break;
    }
    return ok ? NULL : "an instruction does not take these types";
}

const char *vp__ir_verify(const vp__ir *ir) {
    if (ir->n < 1 || ir->nleaves > ir->n) return "there are no instructions";
    if (ir->nleaves > VP__KERNEL_LEAVES) return "there are too many leaves";
    for (int i = 0; i < ir->n; i++) {
        if ((i < ir->nleaves) != (ir->instr[i].op == VP__IR_leaf))
            return "the leaves do not come first";
        const char *wrong = verify_instr(ir, i);
        if (wrong) return wrong;
    }
    if (ir->value < 0 || ir->value >= ir->n) return "there is no such result";
    int type = ir->instr[ir->value].type;
    if (ir->reduce >= 0 && (ir->reduce >= VP__NOPS || !vp__ops[ir->reduce].reduces))
        return "there is no such reduction";
    if (ir->result >= VP__NDTYPES) return "the output has no such type";
    return type == (ir->reduce < 0 ? ir->result : ir->reduce_type)
               ? NULL
               : "the body's result has not the output's type";
}
