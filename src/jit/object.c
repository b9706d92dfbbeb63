/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading takes two walks over the relocations. The first one checks them all and counts
 * the slots they need; then the image's size is known and it can be mapped: code, slots,
 * constants. The second one writes the addresses. The memory is writable while that goes
 * on and executable afterwards, never both.
 *
 * An image is one mapping with one protection. Constants could do without being executable,
 * but pages of two kinds in turn would make every object two areas of the kernel's memory
 * map, of which a process may have 65530; alike, neighbours become one area, and thousands
 * of kernels cost nothing but their pages. For the same reason there are no guard pages.
 */
#define _GNU_SOURCE
#include "jit/object.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array/poison.h"
#include "jit/elf_file.h"
#include "jit/relocate.h"

enum {
    NOWHERE = -1,
    MAX_ALIGN = 4096,
    X86_UNWIND = 0x70000001,   /* SHT_X86_64_UNWIND */
    LLVM_ADDRSIG = 0x6fff4c03, /* SHT_LLVM_ADDRSIG: which addresses matter */
    HARMLESS = SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS |
               SHF_INFO_LINK | SHF_LINK_ORDER | SHF_GROUP,
};

typedef enum { LEFT_OUT, CODE, CONSTANTS } part;

/* Where a name of the object is. */
typedef struct {
    uint32_t name;   /* in `names` */
    uint32_t offset; /* in the image */
} export;

struct vp__object {
    uint8_t *base;
    size_t mapped; /* bytes, whole pages */
    size_t used;
    uint32_t nexports;
    export *exports;
    char *names; /* the file's strings; allocated with the record */
};

/* What becomes of a symbol. */
typedef struct {
    uint64_t address; /* valid when known */
    int32_t slot;     /* its number, or NOWHERE */
    bool known;
} target;

typedef struct {
    vp__elf elf;
    vp__object_resolve *resolve;
    void *context;
    int32_t *sections; /* where each section is in the image, or NOWHERE */
    target *targets;   /* of each symbol */
    int32_t nslots;
    size_t slots; /* where they are in the image */
    size_t size;  /* of the image */
    bool low;     /* absolute addresses of 32 bits: the image must be in the low 2 GB */
    uint8_t *base;
} loader;

/* ---- which sections, and where ---- */

static const char *classify_bits(const vp__elf *elf, const Elf64_Shdr *section,
                                 part *out) {
    const char *name = vp__elf_section_name(elf, section);
    const uint64_t flags = section->sh_flags;
    if (!(flags & SHF_ALLOC) || section->sh_size == 0) return NULL;
    if (strcmp(name, ".eh_frame") == 0) return NULL; /* nothing unwinds through kernels */
    if (flags & SHF_TLS) return "it has thread-local data";
    if (flags & ~(uint64_t)HARMLESS) return "it has a section with unknown flags";
    if (flags & SHF_WRITE &&
        (flags & SHF_EXECINSTR || strncmp(name, ".data.rel.ro", 12) != 0))
        return "it has writable data";
    *out = flags & SHF_EXECINSTR ? CODE : CONSTANTS;
    return NULL;
}

/* Sections of an unknown kind are refused even when they are not part of the image: they
 * might be a new way to say something about those that are. */
static const char *classify(const vp__elf *elf, const Elf64_Shdr *section, part *out) {
    *out = LEFT_OUT;
    switch (section->sh_type) {
    case SHT_NULL:
    case SHT_SYMTAB:
    case SHT_STRTAB:
    case SHT_RELA:
    case SHT_NOTE:
    case SHT_GROUP:
    case LLVM_ADDRSIG: return NULL;
    case X86_UNWIND:
        return elf->machine == EM_X86_64 ? NULL : "it has a section of an unknown kind";
    case SHT_NOBITS: return section->sh_size > 0 ? "it has writable data" : NULL;
    case SHT_PROGBITS: return classify_bits(elf, section, out);
    default: return "it has a section of an unknown kind";
    }
}

/* Puts bytes at the end of the image. */
static const char *append(loader *l, uint64_t size, uint64_t align, size_t *where) {
    if (align == 0) align = 1;
    if (align > MAX_ALIGN || (align & (align - 1)) != 0)
        return "a section has an odd alignment";
    const size_t start = (l->size + (size_t)align - 1) & ~((size_t)align - 1);
    if (start > VP__OBJECT_MAX || size > VP__OBJECT_MAX - start)
        return "it is too large for a kernel";
    *where = start;
    l->size = start + (size_t)size;
    return NULL;
}

/* Gives the sections of one part their addresses. */
static const char *assign_addresses(loader *l, part wanted) {
    for (uint32_t i = 0; i < l->elf.nsections; i++) {
        const Elf64_Shdr section = vp__elf_section(&l->elf, i);
        part p;
        size_t where;
        const char *wrong = classify(&l->elf, &section, &p);
        if (!wrong && p == wanted) {
            wrong = append(l, section.sh_size, section.sh_addralign, &where);
            if (!wrong) l->sections[i] = (int32_t)where;
        }
        if (wrong) return wrong;
    }
    return NULL;
}

static bool is_loaded(const vp__elf *elf, uint32_t i) {
    const Elf64_Shdr section = vp__elf_section(elf, i);
    part p;
    return !classify(elf, &section, &p) && p != LEFT_OUT;
}

/* ---- relocations ---- */

typedef const char *visit(loader *l, uint32_t section, const Elf64_Rela *rela,
                          const vp__reloc *reloc);

/* Visits the relocations of one section; their addresses and symbols exist. */
static const char *walk_section(loader *l, const Elf64_Shdr *relocs, visit *visit) {
    const Elf64_Shdr section = vp__elf_section(&l->elf, relocs->sh_info);
    for (uint64_t at = 0; at < relocs->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela rela;
        memcpy(&rela, l->elf.bytes + relocs->sh_offset + at, sizeof rela);
        const vp__reloc *reloc =
            vp__reloc_find(l->elf.machine, (uint32_t)ELF64_R_TYPE(rela.r_info));
        if (!reloc) return "it has a relocation of an unknown kind";
        if (reloc->width > section.sh_size ||
            rela.r_offset > section.sh_size - reloc->width)
            return "it has a relocation outside its section";
        if (ELF64_R_SYM(rela.r_info) >= l->elf.nsymbols)
            return "it has a relocation for a symbol that is not there";
        const char *wrong = visit(l, relocs->sh_info, &rela, reloc);
        if (wrong) return wrong;
    }
    return NULL;
}

/* Visits the relocations of all loaded sections. Tables that share bytes could make this
 * take the square of the file's size, so all of them together must fit into it. */
static const char *walk(loader *l, visit *visit) {
    uint64_t left = l->elf.size;
    for (uint32_t i = 0; i < l->elf.nsections; i++) {
        const Elf64_Shdr relocs = vp__elf_section(&l->elf, i);
        if (relocs.sh_type != SHT_RELA) continue;
        if (relocs.sh_info >= l->elf.nsections || relocs.sh_size > left ||
            relocs.sh_entsize != sizeof(Elf64_Rela) ||
            relocs.sh_size % sizeof(Elf64_Rela) != 0 || l->elf.symbol_section == 0 ||
            relocs.sh_link != l->elf.symbol_section)
            return "a table of relocations is malformed";
        left -= relocs.sh_size;
        if (!is_loaded(&l->elf, relocs.sh_info)) continue;
        const char *wrong = walk_section(l, &relocs, visit);
        if (wrong) return wrong;
    }
    return NULL;
}

/* The first walk: which symbols need a slot. */
static const char *count_slots(loader *l, uint32_t section, const Elf64_Rela *rela,
                               const vp__reloc *reloc) {
    (void)section;
    const uint32_t i = (uint32_t)ELF64_R_SYM(rela->r_info);
    const Elf64_Sym symbol = vp__elf_symbol(&l->elf, i);
    const bool needed =
        reloc->reach == VP__REACH_SLOT ||
        (reloc->reach == VP__REACH_BRANCH && symbol.st_shndx == SHN_UNDEF);
    if (needed && l->targets[i].slot == NOWHERE) l->targets[i].slot = l->nslots++;
    if (reloc->field == VP__FIELD_ABS32 || reloc->field == VP__FIELD_ABS32S)
        l->low = true;
    return NULL;
}

/* Finds out where a symbol is. */
static const char *locate(loader *l, uint32_t i, uint64_t *address) {
    target *t = &l->targets[i];
    const Elf64_Sym symbol = vp__elf_symbol(&l->elf, i);
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_TLS || type == STT_GNU_IFUNC) return "it needs a special symbol";
    if (!t->known && symbol.st_shndx == SHN_UNDEF) {
        const char *name = vp__elf_symbol_name(&l->elf, &symbol);
        t->address = *name ? (uint64_t)(uintptr_t)l->resolve(l->context, name) : 0;
        if (t->address == 0) return "it needs a symbol that nobody provides";
    } else if (!t->known) {
        if (symbol.st_shndx >= l->elf.nsections ||
            l->sections[symbol.st_shndx] == NOWHERE)
            return "it needs a symbol of a section that is not loaded";
        if (symbol.st_value > vp__elf_section(&l->elf, symbol.st_shndx).sh_size)
            return "it needs a symbol outside its section";
        t->address = (uint64_t)(uintptr_t)l->base +
                     (uint64_t)l->sections[symbol.st_shndx] + symbol.st_value;
    }
    t->known = true;
    *address = t->address;
    return NULL;
}

/* Where a symbol's slot is; writes it. */
static uint64_t fill_slot(loader *l, const target *t) {
    uint8_t *at = l->base + l->slots + (size_t)t->slot * VP__SLOT_BYTES;
    vp__slot_write(l->elf.machine, at, t->address);
    return (uint64_t)(uintptr_t)at;
}

/* The second walk. */
static const char *relocate(loader *l, uint32_t section, const Elf64_Rela *rela,
                            const vp__reloc *reloc) {
    if (reloc->field == VP__FIELD_NOTHING) return NULL;
    const uint32_t i = (uint32_t)ELF64_R_SYM(rela->r_info);
    const uint64_t addend = (uint64_t)rela->r_addend;
    uint8_t *at = l->base + l->sections[section] + rela->r_offset;
    const uint64_t here = (uint64_t)(uintptr_t)at;
    uint64_t address;
    const char *wrong = locate(l, i, &address);
    if (wrong) return wrong;
    const target *t = &l->targets[i];
    if (reloc->reach == VP__REACH_SLOT) address = fill_slot(l, t) + VP__SLOT_ADDRESS;
    bool fits = vp__reloc_apply(reloc, at, here, address + addend);
    if (!fits && reloc->reach == VP__REACH_BRANCH && t->slot != NOWHERE)
        fits = vp__reloc_apply(reloc, at, here, fill_slot(l, t) + addend);
    return fits ? NULL : "it refers to something that is too far away";
}

/* ---- the image ---- */

static const char *lay_out(loader *l) {
    const char *wrong = assign_addresses(l, CODE);
    if (!wrong && l->size == 0) wrong = "it holds no code";
    if (!wrong) wrong = walk(l, count_slots);
    if (!wrong)
        wrong =
            append(l, (uint64_t)l->nslots * VP__SLOT_BYTES, VP__SLOT_BYTES, &l->slots);
    if (!wrong) wrong = assign_addresses(l, CONSTANTS);
    return wrong;
}

static const char *map(loader *l, vp__object *object) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT
    if (l->low) flags |= MAP_32BIT;
#endif
    const size_t bytes = (l->size + page - 1) & ~(page - 1);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) return "the system gives no memory for it";
    object->base = l->base = base;
    object->mapped = bytes;
    object->used = l->size;
    vp__poison(object->base + l->size, bytes - l->size);
    return NULL;
}

static const char *fill(loader *l) {
    for (uint32_t i = 0; i < l->elf.nsections; i++) {
        const Elf64_Shdr section = vp__elf_section(&l->elf, i);
        if (l->sections[i] != NOWHERE)
            memcpy(l->base + l->sections[i], l->elf.bytes + section.sh_offset,
                   (size_t)section.sh_size);
    }
    return walk(l, relocate);
}

static const char *make_executable(vp__object *object) {
    if (mprotect(object->base, object->mapped, PROT_READ | PROT_EXEC) != 0)
        return "the system does not let it run";
    __builtin___clear_cache((char *)object->base, (char *)object->base + object->used);
    return NULL;
}

/* Notes which names the object makes known. */
static void list_exports(const loader *l, vp__object *object) {
    for (uint32_t i = 0; i < l->elf.nsymbols; i++) {
        const Elf64_Sym symbol = vp__elf_symbol(&l->elf, i);
        const int bind = ELF64_ST_BIND(symbol.st_info);
        const uint32_t section = symbol.st_shndx;
        if ((bind != STB_GLOBAL && bind != STB_WEAK) || section >= l->elf.nsections ||
            l->sections[section] == NOWHERE || symbol.st_name >= l->elf.strings_size ||
            symbol.st_value >= vp__elf_section(&l->elf, section).sh_size)
            continue;
        object->exports[object->nexports++] = (export){
            symbol.st_name, (uint32_t)l->sections[section] + (uint32_t)symbol.st_value};
    }
}

/* An object with room for as many exports as there are symbols, and their names. */
static vp__object *new_object(const vp__elf *elf) {
    vp__object *object =
        calloc(1, sizeof *object + elf->nsymbols * sizeof(export) + elf->strings_size);
    if (!object) return NULL;
    object->exports = (export *)(object + 1);
    object->names = (char *)(object->exports + elf->nsymbols);
    if (elf->strings_size > 0) memcpy(object->names, elf->strings, elf->strings_size);
    return object;
}

static const char *build(loader *l, vp__object *object) {
    const char *wrong = lay_out(l);
    if (!wrong) wrong = map(l, object);
    if (!wrong) wrong = fill(l);
    if (!wrong) wrong = make_executable(object);
    if (!wrong) list_exports(l, object);
    return wrong;
}

const char *vp__object_load(const void *bytes, size_t size, vp__object_resolve *resolve,
                            void *context, vp__object **out) {
    loader l = {.resolve = resolve, .context = context};
    *out = NULL;
    const char *wrong = vp__elf_open(bytes, size, &l.elf);
    if (wrong) return wrong;
    vp__object *object = new_object(&l.elf);
    l.targets = malloc((l.elf.nsymbols + 1) * sizeof *l.targets);
    l.sections = malloc(l.elf.nsections * sizeof *l.sections);
    if (object && l.targets && l.sections) {
        for (uint32_t i = 0; i < l.elf.nsections; i++) l.sections[i] = NOWHERE;
        for (uint32_t i = 0; i < l.elf.nsymbols; i++)
            l.targets[i] = (target){0, NOWHERE, false};
        wrong = build(&l, object);
    } else {
        wrong = "there is no memory to load it";
    }
    free(l.targets);
    free(l.sections);
    if (wrong) {
        vp__object_release(object);
    } else {
        *out = object;
    }
    return wrong;
}

void *vp__object_symbol(const vp__object *object, const char *name) {
    for (uint32_t i = 0; i < object->nexports; i++)
        if (strcmp(object->names + object->exports[i].name, name) == 0)
            return object->base + object->exports[i].offset;
    return NULL;
}

size_t vp__object_size(const vp__object *object) { return object->mapped; }

void vp__object_release(vp__object *object) {
    if (!object) return;
    if (object->base) {
        vp__unpoison(object->base, object->mapped);
        munmap(object->base, object->mapped);
    }
    free(object);
}
