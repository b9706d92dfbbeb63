/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading an ELF file that may say anything. Every range is checked as "offset fits, and
 * the length fits into what is left", so that no sum can wrap.
 */
#include "jit/elf_file.h"

#include <string.h>

unsigned vp__elf_host(void) {
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__) && defined(__ORDER_LITTLE_ENDIAN__) &&                        \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return EM_AARCH64;
#else
    return EM_NONE;
#endif
}

static bool within(const vp__elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset;
}

Elf64_Shdr vp__elf_section(const vp__elf *elf, uint32_t i) {
    Elf64_Shdr section;
    memcpy(&section, elf->bytes + elf->sections + i * sizeof section, sizeof section);
    return section;
}

Elf64_Sym vp__elf_symbol(const vp__elf *elf, uint32_t i) {
    Elf64_Sym symbol;
    memcpy(&symbol, elf->bytes + elf->symbols + i * sizeof symbol, sizeof symbol);
    return symbol;
}

const char *vp__elf_section_name(const vp__elf *elf, const Elf64_Shdr *section) {
    return section->sh_name < elf->names_size ? elf->names + section->sh_name : "";
}

const char *vp__elf_symbol_name(const vp__elf *elf, const Elf64_Sym *symbol) {
    return symbol->st_name < elf->strings_size ? elf->strings + symbol->st_name : "";
}

static const char *check_head(vp__elf *elf) {
    Elf64_Ehdr head;
    if (elf->size < sizeof head) return "it is shorter than an ELF header";
    if (elf->size > VP__OBJECT_MAX) return "it is too large for a kernel";
    memcpy(&head, elf->bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return "it is not an ELF file";
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_ident[EI_VERSION] != EV_CURRENT || head.e_version != EV_CURRENT)
        return "it is another kind of ELF file than 64-bit, little-endian, version 1";
    if (head.e_type != ET_REL) return "it is not a relocatable object";
    elf->machine = vp__elf_host();
    if (elf->machine == EM_NONE || head.e_machine != elf->machine)
        return "it is for another machine";
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 ||
        head.e_shnum >= SHN_LORESERVE || head.e_shstrndx >= head.e_shnum)
        return "its section table is malformed";
    if (!within(elf, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)))
        return "its section table is outside the file";
    elf->nsections = head.e_shnum;
    elf->sections = (size_t)head.e_shoff;
    return NULL;
}

/* Finds a table of strings; they all end because its last byte is zero. */
static const char *find_strings(const vp__elf *elf, uint32_t i, const char **strings,
                                size_t *size) {
    if (i == 0 || i >= elf->nsections) return "a string table is missing";
    const Elf64_Shdr section = vp__elf_section(elf, i);
    if (section.sh_type != SHT_STRTAB) return "a string table is of another kind";
    if (section.sh_size == 0) return NULL;
    *strings = (const char *)elf->bytes + section.sh_offset;
    *size = (size_t)section.sh_size;
    return (*strings)[*size - 1] == 0 ? NULL : "a string table has no end";
}

static const char *find_symbols(vp__elf *elf, uint32_t i, const Elf64_Shdr *section) {
    if (elf->symbol_section != 0) return "it has two symbol tables";
    if (section->sh_entsize != sizeof(Elf64_Sym) ||
        section->sh_size % sizeof(Elf64_Sym) != 0)
        return "its symbol table is malformed";
    elf->symbol_section = i;
    elf->symbols = (size_t)section->sh_offset;
    elf->nsymbols = (uint32_t)(section->sh_size / sizeof(Elf64_Sym));
    return find_strings(elf, section->sh_link, &elf->strings, &elf->strings_size);
}

const char *vp__elf_open(const void *bytes, size_t size, vp__elf *out) {
    *out = (vp__elf){.bytes = bytes, .size = size};
    const char *wrong = check_head(out);
    for (uint32_t i = 0; i < out->nsections && !wrong; i++) {
        const Elf64_Shdr section = vp__elf_section(out, i);
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !within(out, section.sh_offset, section.sh_size))
            wrong = "a section is outside the file";
    }
    for (uint32_t i = 0; i < out->nsections && !wrong; i++) {
        const Elf64_Shdr section = vp__elf_section(out, i);
        if (section.sh_type == SHT_SYMTAB) wrong = find_symbols(out, i, &section);
    }
    if (wrong) return wrong;
    Elf64_Ehdr head;
    memcpy(&head, bytes, sizeof head);
    return find_strings(out, head.e_shstrndx, &out->names, &out->names_size);
}
