/* SPDX-License-Identifier: Apache-2.0
 *
 * The relocations that compilers emit for kernels: position-independent code of the small
 * model, and absolute addresses where they fit. Sums wrap, as the ELF supplements of both
 * machines ask; whether a result fits is checked when it is written.
 */
#include "jit/relocate.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

/* Newer than some systems' <elf.h>. */
enum { X86_GOTPCRELX = 41, X86_REX_GOTPCRELX = 42 };

static const vp__reloc x86[] = {
    {R_X86_64_NONE, VP__FIELD_NOTHING, VP__REACH_DIRECT, 0, 0},
    {R_X86_64_64, VP__FIELD_ABS64, VP__REACH_DIRECT, 8, 0},
    {R_X86_64_32, VP__FIELD_ABS32, VP__REACH_DIRECT, 4, 0},
    {R_X86_64_32S, VP__FIELD_ABS32S, VP__REACH_DIRECT, 4, 0},
    {R_X86_64_PC64, VP__FIELD_REL64, VP__REACH_DIRECT, 8, 0},
    {R_X86_64_PC32, VP__FIELD_REL32, VP__REACH_DIRECT, 4, 0},
    {R_X86_64_PLT32, VP__FIELD_REL32, VP__REACH_BRANCH, 4, 0},
    {R_X86_64_GOTPCREL, VP__FIELD_REL32, VP__REACH_SLOT, 4, 0},
    {X86_GOTPCRELX, VP__FIELD_REL32, VP__REACH_SLOT, 4, 0},
    {X86_REX_GOTPCRELX, VP__FIELD_REL32, VP__REACH_SLOT, 4, 0},
};

static const vp__reloc aarch64[] = {
    {R_AARCH64_NONE, VP__FIELD_NOTHING, VP__REACH_DIRECT, 0, 0},
    {R_AARCH64_ABS64, VP__FIELD_ABS64, VP__REACH_DIRECT, 8, 0},
    {R_AARCH64_PREL64, VP__FIELD_REL64, VP__REACH_DIRECT, 8, 0},
    {R_AARCH64_PREL32, VP__FIELD_REL32, VP__REACH_DIRECT, 4, 0},
    {R_AARCH64_CALL26, VP__FIELD_BRANCH26, VP__REACH_BRANCH, 4, 0},
    {R_AARCH64_JUMP26, VP__FIELD_BRANCH26, VP__REACH_BRANCH, 4, 0},
    {R_AARCH64_ADR_PREL_PG_HI21, VP__FIELD_PAGE21, VP__REACH_DIRECT, 4, 0},
    {R_AARCH64_ADR_GOT_PAGE, VP__FIELD_PAGE21, VP__REACH_SLOT, 4, 0},
    {R_AARCH64_LD64_GOT_LO12_NC, VP__FIELD_LOW12, VP__REACH_SLOT, 4, 3},
    {R_AARCH64_ADD_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 0},
    {R_AARCH64_LDST8_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 0},
    {R_AARCH64_LDST16_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 1},
    {R_AARCH64_LDST32_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 2},
    {R_AARCH64_LDST64_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 3},
    {R_AARCH64_LDST128_ABS_LO12_NC, VP__FIELD_LOW12, VP__REACH_DIRECT, 4, 4},
};

const vp__reloc *vp__reloc_find(unsigned machine, uint32_t type) {
    const vp__reloc *table = machine == EM_X86_64 ? x86 : aarch64;
    size_t n = machine == EM_X86_64    ? sizeof x86 / sizeof x86[0]
               : machine == EM_AARCH64 ? sizeof aarch64 / sizeof aarch64[0]
                                       : 0;
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type) return &table[i];
    return NULL;
}

/* Is a 64-bit number the sign extension of its low `bits` bits? */
static bool fits(uint64_t x, int bits) {
    uint64_t half = UINT64_C(1) << (bits - 1);
    return x + half < 2 * half;
}

static bool write64(uint8_t *at, uint64_t value) {
    memcpy(at, &value, 8);
    return true;
}

static bool write32(uint8_t *at, uint64_t value, bool good) {
    uint32_t low = (uint32_t)value;
    if (good) memcpy(at, &low, 4);
    return good;
}

/* Replaces the bits of an instruction that `mask` names. */
static bool write_field(uint8_t *at, uint32_t mask, uint64_t value, bool good) {
    uint32_t instruction;
    memcpy(&instruction, at, 4);
    return write32(at, (instruction & ~mask) | ((uint32_t)value & mask), good);
}

/* The low twelve bits of the address, in the units of the instruction's access. */
static bool write_low12(uint8_t *at, uint64_t target, int shift) {
    bool aligned = (target & ((UINT64_C(1) << shift) - 1)) == 0;
    return write_field(at, 0xfffu << 10, (target & 0xfff) >> shift << 10, aligned);
}

/* The distance in pages: two low bits at bit 29, nineteen at bit 5. */
static bool write_page21(uint8_t *at, uint64_t site, uint64_t target) {
    uint64_t distance = (target & ~UINT64_C(0xfff)) - (site & ~UINT64_C(0xfff));
    uint64_t pages = distance >> 12;
    return write_field(at, 3u << 29 | 0x7ffffu << 5,
                       (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5,
                       fits(distance, 33));
}

bool vp__reloc_apply(const vp__reloc *reloc, uint8_t *at, uint64_t site,
                     uint64_t target) {
    const uint64_t distance = target - site;
    switch ((vp__reloc_field)reloc->field) {
    case VP__FIELD_NOTHING: return true;
    case VP__FIELD_ABS64: return write64(at, target);
    case VP__FIELD_ABS32: return write32(at, target, target <= UINT32_MAX);
    case VP__FIELD_ABS32S: return write32(at, target, fits(target, 32));
    case VP__FIELD_REL64: return write64(at, distance);
    case VP__FIELD_REL32: return write32(at, distance, fits(distance, 32));
    case VP__FIELD_BRANCH26:
        return write_field(at, 0x3ffffff, distance >> 2,
                           fits(distance, 28) && (distance & 3) == 0);
    case VP__FIELD_PAGE21: return write_page21(at, site, target);
    case VP__FIELD_LOW12: return write_low12(at, target, reloc->shift);
    }
    return false;
}

void vp__slot_write(unsigned machine, uint8_t *at, uint64_t address) {
    /* jmp *2(%rip), and two traps up to the word; ldr x16, .+8 and br x16. */
    static const uint8_t x86_jump[VP__SLOT_ADDRESS] = {0xff, 0x25, 2,    0,
                                                       0,    0,    0xcc, 0xcc};
    static const uint8_t arm_jump[VP__SLOT_ADDRESS] = {0x50, 0,    0,    0x58,
                                                       0,    0x02, 0x1f, 0xd6};
    memcpy(at, machine == EM_X86_64 ? x86_jump : arm_jump, VP__SLOT_ADDRESS);
    memcpy(at + VP__SLOT_ADDRESS, &address, 8);
}
