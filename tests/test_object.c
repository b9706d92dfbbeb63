/* SPDX-License-Identifier: Apache-2.0
 *
 * The object loader: real objects run, and whatever is wrong with one is refused. The
 * objects are tests/objects/ as the build compiled them.
 */
#include "jit/object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "jit/elf_file.h"
#include "jit/relocate.h"
#include "tests/draw.h"
#include "tests/harness.h"
#include "tests/object_support.h"

static double outside(double x) { return 2 * x; }
static const long number = 41;

static void *resolve(void *context, const char *name) {
    if (context) ++*(int *)context;
    union {
        double (*function)(double);
        void *address;
    } known = {outside};
    if (strcmp(name, "vp_test_outside") == 0) return known.address;
    if (strcmp(name, "vp_test_number") == 0) return (void *)(uintptr_t)&number;
    return NULL;
}

static void *resolve_nothing(void *context, const char *name) {
    (void)context;
    (void)name;
    return NULL;
}

static object_bytes read_or_skip(const char *name) {
    if (vp__elf_host() == EM_NONE) VP_SKIP("no loader for this machine");
    object_bytes file = object_read(name);
    if (!file.bytes) VP_FAIL("cannot read %s", name);
    return file;
}

static vp__object *load(const char *name) {
    object_bytes file = read_or_skip(name);
    vp__object *object;
    int calls = 0;
    VP_CHECK_STR(vp__object_load(file.bytes, file.size, resolve, &calls, &object), NULL);
    memset(file.bytes, 0xcc, file.size); /* nothing of it is needed any more */
    free(file.bytes);
    VP_CHECK_GE(calls, 1);
    VP_CHECK_GE(vp__object_size(object), 4096u);
    VP_CHECK_EQ(vp__object_size(object) % 4096, 0u);
    return object;
}

/* Pointers to functions, from pointers. */
typedef union {
    void *address;
    double (*scale)(const double *, long);
    void (*vectors)(double *, float *);
    long (*jump)(int, long);
    const char *(*name)(unsigned);
    double (*calls)(double);
    long (*number)(void);
} entry;

static entry find(const vp__object *object, const char *name) {
    entry e = {vp__object_symbol(object, name)};
    if (!e.address) VP_FAIL("there is no %s", name);
    return e;
}

static void check_vectors(const vp__object *object) {
    double x[8];
    float y[32];
    for (int i = 0; i < 8; i++) x[i] = i;
    for (int i = 0; i < 32; i++) y[i] = (float)i;
    find(object, "test_vectors").vectors(x, y);
    for (int i = 0; i < 8; i++) VP_CHECK_EQ(x[i], i % 2 ? -1.5 : 2 * i + 1.5);
    for (int i = 0; i < 32; i++) VP_CHECK_EQ(y[i], 1.5f * (float)i);
}

static void run(const char *file) {
    vp__object *object = load(file);
    const double x[] = {1, 2, 3, 4, 5};
    VP_CHECK_NEAR(find(object, "test_scale").scale(x, 5), 0.125 + 15 * 3.75 + 5e-3,
                  1e-12);
    check_vectors(object);
    const long expected[] = {300, 93, 100 ^ 0x55, 3200, -100, 1, 33, 0};
    for (int i = 0; i < 8; i++)
        VP_CHECK_EQ(find(object, "test_switch").jump(i, 100), expected[i]);
    VP_CHECK_STR(find(object, "test_name").name(2), "two");
    VP_CHECK_STR(find(object, "test_name").name(9), "many");
    VP_CHECK_EQ(find(object, "test_calls").calls(3), 2 * (9 + 1) + 9);
    if (vp__object_symbol(object, "test_number"))
        VP_CHECK_EQ(find(object, "test_number").number(), number + 1);
    VP_CHECK(!vp__object_symbol(object, "square")); /* it is static */
    VP_CHECK(!vp__object_symbol(object, "vp_test_outside"));
    VP_CHECK(!vp__object_symbol(object, ""));
    vp__object_release(object);
}

VP_TEST(position_independent) { run("kernel-pic.o"); }
VP_TEST(calls_through_memory) { run("kernel-noplt.o"); }
VP_TEST(without_optimisation_with_debug_sections) { run("kernel-debug.o"); }
VP_TEST(many_sections) { run("kernel-sections.o"); }

#if defined(__x86_64__)
VP_TEST(absolute_addresses) { run("kernel-absolute.o"); }
VP_TEST(large_model) { run("kernel-large.o"); }

VP_TEST(avx2) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        VP_SKIP("the CPU has no AVX2");
    run("kernel-avx2.o");
}

VP_TEST(avx512) {
    if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512cd"))
        VP_SKIP("the CPU has no AVX-512");
    run("kernel-avx512.o");
}
#endif

VP_TEST(thousands) {
    enum { COUNT = 3000 };
    object_bytes file = read_or_skip("kernel-pic.o");
    static vp__object *objects[COUNT];
    for (int i = 0; i < COUNT; i++)
        VP_CHECK_STR(vp__object_load(file.bytes, file.size, resolve, NULL, &objects[i]),
                     NULL);
    for (int i = 0; i < COUNT; i++)
        VP_CHECK_EQ(find(objects[i], "test_calls").calls(i), 3.0 * i * i + 2);
    for (int i = 0; i < COUNT; i++) vp__object_release(objects[(i * 7) % COUNT]);
    free(file.bytes);
    vp__object_release(NULL);
}

static void *resolve_to(void *context, const char *name) {
    return strcmp(name, "vp_test_outside") == 0 ? context : NULL;
}

/* An object beside another one reaches it without a slot; the result is the same. */
VP_TEST(neighbours) {
    object_bytes file = read_or_skip("kernel-sections.o");
    vp__object *first = load("kernel-sections.o"), *second;
    void *near = vp__object_symbol(first, "test_calls");
    VP_CHECK_STR(vp__object_load(file.bytes, file.size, resolve_to, near, &second), NULL);
    VP_CHECK_EQ(find(second, "test_calls").calls(2), 2 * (25 + 1) + 25 + 4);
    vp__object_release(second);
    vp__object_release(first);
    free(file.bytes);
}

/* How the memory at an address may be used, as /proc/self/maps says it: "r-xp". */
static void protection(const void *address, char out[5]) {
    unsigned long start, end;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) VP_SKIP("there is no /proc");
    strcpy(out, "none");
    while (fgets(line, sizeof line, maps)) {
        char bits[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, bits) != 3) continue;
        VP_CHECK(!(bits[1] == 'w' && bits[2] == 'x'));
        if ((uintptr_t)address >= start && (uintptr_t)address < end) strcpy(out, bits);
    }
    fclose(maps);
}

VP_TEST(writable_or_executable) {
    vp__object *object = load("kernel-pic.o");
    char bits[5];
    protection(vp__object_symbol(object, "test_calls"), bits);
    VP_CHECK_STR(bits, "r-xp");
    protection(find(object, "test_name").name(1), bits); /* a constant */
    VP_CHECK_STR(bits, "r-xp");
    vp__object_release(object);
}

/* ---- what is refused ---- */

static const char *wrong_with(const void *bytes, size_t size) {
    vp__object *object = NULL;
    const char *wrong = vp__object_load(bytes, size, resolve, NULL, &object);
    VP_CHECK((wrong == NULL) == (object != NULL));
    vp__object_release(object);
    return wrong;
}

VP_TEST(what_kernels_do_not_have) {
    static const struct {
        const char *file, *part;
    } refused[] = {{"refused-1.o", "writable"},
                   {"refused-2.o", "writable"},
                   {"refused-3.o", "thread-local"},
                   {"refused-4.o", "unknown kind"}};
    for (int i = 0; i < 4; i++) {
        object_bytes file = read_or_skip(refused[i].file);
        VP_CHECK_CONTAINS(wrong_with(file.bytes, file.size), refused[i].part);
        free(file.bytes);
    }
}

VP_TEST(unknown_symbols) {
    object_bytes file = read_or_skip("kernel-pic.o");
    vp__object *object = NULL;
    VP_CHECK_CONTAINS(
        vp__object_load(file.bytes, file.size, resolve_nothing, NULL, &object),
        "nobody provides");
    VP_CHECK(!object);
    free(file.bytes);
}

/* A copy of exactly that many bytes. */
static uint8_t *copy_of(const object_bytes *file, size_t size) {
    uint8_t *copy = malloc(size + (size == 0));
    VP_CHECK(copy != NULL);
    memcpy(copy, file->bytes, size);
    return copy;
}

/* Compilers put the section headers last, so an object that lacks its end lacks them. */
VP_TEST(truncated) {
    object_bytes file = read_or_skip("kernel-pic.o");
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *copy = copy_of(&file, size);
        VP_CHECK(wrong_with(copy, size) != NULL);
        free(copy);
    }
    free(file.bytes);
}

/* Nothing here can say what is right; nothing may be touched that is not ours. */
VP_TEST_TIMEOUT(damaged_bytes_are_harmless, 60) {
    static const char *const names[] = {"kernel-pic.o", "kernel-absolute.o"};
    for (int n = 0; n < 2; n++) {
        object_bytes file = read_or_skip(names[n]);
        uint8_t *copy = copy_of(&file, file.size);
        int refused = 0;
        for (size_t i = 0; i < file.size; i++) {
            static const uint8_t flips[] = {0x01, 0x80, 0xff};
            for (int f = 0; f < 3; f++) {
                copy[i] ^= flips[f];
                refused += wrong_with(copy, file.size) != NULL;
                copy[i] ^= flips[f];
            }
        }
        VP_CHECK_GT(refused, 100);
        free(copy);
        free(file.bytes);
    }
}

static const char *with_head(const object_bytes *file, void (*change)(Elf64_Ehdr *)) {
    uint8_t *copy = copy_of(file, file->size);
    Elf64_Ehdr head;
    memcpy(&head, copy, sizeof head);
    change(&head);
    memcpy(copy, &head, sizeof head);
    const char *wrong = wrong_with(copy, file->size);
    free(copy);
    return wrong;
}

static void other_machine(Elf64_Ehdr *h) { h->e_machine = EM_PPC64; }
static void other_class(Elf64_Ehdr *h) { h->e_ident[EI_CLASS] = ELFCLASS32; }
static void executable(Elf64_Ehdr *h) { h->e_type = ET_DYN; }
static void no_sections(Elf64_Ehdr *h) { h->e_shnum = 0; }
static void far_sections(Elf64_Ehdr *h) { h->e_shoff = UINT64_MAX - 16; }
static void more_sections(Elf64_Ehdr *h) { h->e_shnum = 0xfeff; }
static void no_names(Elf64_Ehdr *h) { h->e_shstrndx = 0; }

VP_TEST(heads) {
    object_bytes file = read_or_skip("kernel-pic.o");
    VP_CHECK_CONTAINS(with_head(&file, other_machine), "another machine");
    VP_CHECK_CONTAINS(with_head(&file, other_class), "another kind");
    VP_CHECK_CONTAINS(with_head(&file, executable), "relocatable");
    VP_CHECK_CONTAINS(with_head(&file, no_sections), "section table");
    VP_CHECK_CONTAINS(with_head(&file, far_sections), "outside the file");
    VP_CHECK_CONTAINS(with_head(&file, more_sections), "outside the file");
    VP_CHECK_CONTAINS(with_head(&file, no_names), "string table");
    free(file.bytes);
}

/* Changes the first section of a type, and says what is wrong with the object then. */
static const char *with_section(const object_bytes *file, uint32_t type, uint64_t flags,
                                void (*change)(Elf64_Shdr *)) {
    uint8_t *copy = copy_of(file, file->size);
    vp__elf elf;
    VP_CHECK_STR(vp__elf_open(copy, file->size, &elf), NULL);
    for (uint32_t i = 1; i < elf.nsections; i++) {
        Elf64_Shdr section = vp__elf_section(&elf, i);
        if (section.sh_type != type || (section.sh_flags & flags) != flags ||
            section.sh_size == 0)
            continue;
        change(&section);
        memcpy(copy + elf.sections + i * sizeof section, &section, sizeof section);
        break;
    }
    const char *wrong = wrong_with(copy, file->size);
    free(copy);
    return wrong;
}

static void larger(Elf64_Shdr *s) { s->sh_size = UINT64_MAX - 8; }
static void elsewhere(Elf64_Shdr *s) { s->sh_offset = UINT64_MAX; }
static void crooked(Elf64_Shdr *s) { s->sh_addralign = 24; }
static void spacious(Elf64_Shdr *s) { s->sh_addralign = UINT64_C(1) << 40; }
static void writable(Elf64_Shdr *s) { s->sh_flags |= SHF_WRITE; }
static void compressed(Elf64_Shdr *s) { s->sh_flags |= SHF_COMPRESSED; }
static void odd_entries(Elf64_Shdr *s) { s->sh_entsize = 23; }
static void no_strings(Elf64_Shdr *s) { s->sh_link = 0; }
static void new_kind(Elf64_Shdr *s) { s->sh_type = 0x40000014; }
static void shorter(Elf64_Shdr *s) { s->sh_size = 8; }
static void no_target(Elf64_Shdr *s) { s->sh_info = 0xffffff; }
static void nobits(Elf64_Shdr *s) { s->sh_type = SHT_NOBITS; }

VP_TEST(sections) {
    object_bytes file = read_or_skip("kernel-pic.o");
    const object_bytes *f = &file;
    const uint64_t code = SHF_EXECINSTR;
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, larger), "outside the file");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, elsewhere), "outside the file");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, crooked), "alignment");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, spacious), "alignment");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, writable), "writable");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, compressed), "flags");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, shorter), "outside");
    VP_CHECK_CONTAINS(with_section(f, SHT_PROGBITS, code, nobits), "writable");
    VP_CHECK_CONTAINS(with_section(f, SHT_SYMTAB, 0, odd_entries), "symbol table");
    VP_CHECK_CONTAINS(with_section(f, SHT_SYMTAB, 0, no_strings), "string table");
    VP_CHECK_CONTAINS(with_section(f, SHT_RELA, 0, odd_entries), "relocations");
    VP_CHECK_CONTAINS(with_section(f, SHT_RELA, 0, no_target), "relocations");
    VP_CHECK_CONTAINS(with_section(f, SHT_RELA, 0, new_kind), "unknown kind");
    VP_CHECK_CONTAINS(with_section(f, SHT_RELA, 0, larger), "outside the file");
    free(file.bytes);
}

/* ---- relocations by themselves ---- */

static uint64_t apply(unsigned machine, uint32_t type, uint64_t before, uint64_t place,
                      uint64_t target, bool *good) {
    const vp__reloc *reloc = vp__reloc_find(machine, type);
    VP_CHECK(reloc != NULL);
    *good = vp__reloc_apply(reloc, (uint8_t *)&before, place, target);
    return before;
}

VP_TEST(x86_fields) {
    bool good;
    const unsigned m = EM_X86_64;
    VP_CHECK_EQ(apply(m, R_X86_64_64, 0, 9, UINT64_C(1) << 63, &good), UINT64_C(1) << 63);
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_X86_64_PC32, 0, 0x7f0000001000, 0x7f0000000000, &good),
                0xfffff000u);
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_X86_64_PC32, 5, 0, 0x80000000, &good), 5u);
    VP_CHECK(!good);
    VP_CHECK_EQ(apply(m, R_X86_64_PC32, 5, 0x80000000, 0, &good), 0x80000000u);
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_X86_64_32, 0, 0, 0xffffffff, &good), 0xffffffffu);
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_X86_64_32S, 5, 0, 0xffffffff, &good), 5u);
    VP_CHECK(!good);
    VP_CHECK_EQ(apply(m, R_X86_64_32S, 5, 0, 0 - UINT64_C(2), &good), 0xfffffffeu);
    VP_CHECK(good);
    VP_CHECK(!vp__reloc_find(m, R_X86_64_TPOFF32) && !vp__reloc_find(m, 0xffffffff));
    VP_CHECK(!vp__reloc_find(EM_PPC64, 1));
}

VP_TEST(aarch64_fields) {
    bool good;
    const unsigned m = EM_AARCH64;
    const uint64_t here = 0x7f0000001004;
    VP_CHECK_EQ(apply(m, R_AARCH64_CALL26, 0x94000000, here, here + 8, &good),
                0x94000002u); /* bl .+8 */
    VP_CHECK_EQ(apply(m, R_AARCH64_JUMP26, 0x14000000, here, here - 4, &good),
                0x17ffffffu); /* b .-4 */
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_AARCH64_CALL26, 0x94000000, here, here + (1 << 27), &good),
                0x94000000u);
    VP_CHECK(!good);
    VP_CHECK_EQ(
        apply(m, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, here, here + 0x5ffb, &good),
        0xb0000020u); /* adrp x0, five pages on */
    VP_CHECK(good);
    VP_CHECK_EQ(apply(m, R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, here, 0x123456, &good),
                0x91000000u | 0x456u << 10); /* add x0, x0, #0x456 */
    VP_CHECK_EQ(
        apply(m, R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, here, 0x120450, &good),
        0x3dc00000u | 0x45u << 10); /* ldr q0, [x0, #0x450] */
    VP_CHECK(good);
    apply(m, R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, here, 0x120458, &good);
    VP_CHECK(!good);
    VP_CHECK(!vp__reloc_find(m, R_AARCH64_TLSLE_ADD_TPREL_HI12));
}

/* Whatever is applied, no byte beside the place changes. */
VP_TEST(fields_stay_in_their_place) {
    for (unsigned m = 0; m < 2; m++)
        for (uint32_t type = 0; type < 2048; type++) {
            const vp__reloc *reloc = vp__reloc_find(m ? EM_AARCH64 : EM_X86_64, type);
            if (!reloc) continue;
            for (int round = 0; round < 100; round++) {
                uint8_t bytes[24], same[24];
                memset(bytes, 0xa5, sizeof bytes);
                memset(same, 0xa5, sizeof same);
                vp__reloc_apply(reloc, bytes + 8, draw(), draw() >> (draw() % 64));
                VP_CHECK_BYTES(bytes, same, 8);
                VP_CHECK_BYTES(bytes + 8 + reloc->width, same,
                               (size_t)(16 - reloc->width));
            }
        }
}
