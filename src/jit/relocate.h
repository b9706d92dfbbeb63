/* SPDX-License-Identifier: Apache-2.0
 *
 * Relocations: how an address is written into code or data once it is known. One table per
 * machine says what each kind of relocation means. All functions work for every machine on
 * any machine, so that they can be tested.
 */
#ifndef VP_JIT_RELOCATE_H
#define VP_JIT_RELOCATE_H

#include <stdbool.h>
#include <stdint.h>

/* How a relocation reaches its symbol. */
typedef enum {
    VP__REACH_DIRECT, /* by the symbol's own address */
    VP__REACH_BRANCH, /* the same, or over a slot where the symbol is too far away */
    VP__REACH_SLOT,   /* by the address of a word that holds the symbol's address */
} vp__reach;

/* How the address is written. */
typedef enum {
    VP__FIELD_NOTHING,
    VP__FIELD_ABS64,
    VP__FIELD_ABS32,  /* zero-extended */
    VP__FIELD_ABS32S, /* sign-extended */
    VP__FIELD_REL64,
    VP__FIELD_REL32,
    VP__FIELD_BRANCH26, /* the rest are fields of aarch64 instructions */
    VP__FIELD_PAGE21,
    VP__FIELD_LOW12,
} vp__reloc_field;

typedef struct {
    uint32_t type; /* as <elf.h> numbers it */
    uint8_t field; /* vp__reloc_field */
    uint8_t reach; /* vp__reach */
    uint8_t width; /* bytes at the site */
    uint8_t shift; /* of VP__FIELD_LOW12: the field counts units of 1 << shift bytes */
} vp__reloc;

/* What a type of relocation means for a machine (EM_X86_64, EM_AARCH64); NULL when it is
 * none that this loader knows. */
const vp__reloc *vp__reloc_find(unsigned machine, uint32_t type);

/* Writes `target` (symbol plus addend) to the `width` bytes at `at`, which the code will
 * see at the address `site`. False, and nothing is written, when it does not fit. */
bool vp__reloc_apply(const vp__reloc *reloc, uint8_t *at, uint64_t site, uint64_t target);

/* A slot: a jump to a symbol's address, then the address itself. It serves calls that do
 * not reach the symbol, and code that loads the address from memory. */
enum { VP__SLOT_BYTES = 16, VP__SLOT_ADDRESS = 8 };
void vp__slot_write(unsigned machine, uint8_t *at, uint64_t address);

#endif
