/* SPDX-License-Identifier: Apache-2.0
 *
 * A relocatable ELF file of 64 bits, in memory, that nobody vouches for. vp__elf_open
 * checks once what the accessors then rely on; what they return is what the file says and
 * is to be checked by whoever uses it. Nothing is copied and nothing is aligned.
 */
#ifndef VP_JIT_ELF_FILE_H
#define VP_JIT_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel has some kilobytes; whatever is larger than this is none. */
#define VP__OBJECT_MAX ((size_t)64 << 20)

typedef struct {
    const uint8_t *bytes;
    size_t size;
    unsigned machine;
    uint32_t nsections, nsymbols;
    uint32_t symbol_section; /* the symbol table's number; 0 when there is none */
    size_t sections;         /* offset of the section headers */
    size_t symbols;          /* offset of the symbol table */
    const char *names;       /* of sections; the last byte is zero */
    size_t names_size;
    const char *strings; /* names of symbols; the last byte is zero */
    size_t strings_size;
} vp__elf;

/* The machine whose objects this process can run, as e_machine; EM_NONE for others than
 * x86-64 and aarch64. */
unsigned vp__elf_host(void);

/* Looks at the file's head, section table, symbol table and strings, and checks that they
 * are for this machine and lie within the file. NULL, or what is wrong. The bytes must stay
 * as long as *out is used. */
const char *vp__elf_open(const void *bytes, size_t size, vp__elf *out);

/* Section i < nsections; its contents lie within the file unless it is SHT_NOBITS. */
Elf64_Shdr vp__elf_section(const vp__elf *elf, uint32_t i);
/* Symbol i < nsymbols. */
Elf64_Sym vp__elf_symbol(const vp__elf *elf, uint32_t i);
/* The name at an offset, "" when it is none. */
const char *vp__elf_section_name(const vp__elf *elf, const Elf64_Shdr *section);
const char *vp__elf_symbol_name(const vp__elf *elf, const Elf64_Sym *symbol);

#endif
