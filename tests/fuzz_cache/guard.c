/* SPDX-License-Identifier: Apache-2.0
 *
 * mmap and munmap with guards, under the names that the linker's --wrap asks for. Which of
 * mmap and mmap64 a call becomes is up to the system's headers; they are the same here.
 */
#define _GNU_SOURCE
#include "tests/fuzz_cache/guard.h"

#include <stddef.h>
#include <sys/mman.h>

#include "jit/elf_file.h"

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd,
                    off_t from);
int __real_munmap(void *at, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd,
                    off_t from);
int __wrap_munmap(void *at, size_t bytes);

bool fuzz_guarded;
static char *guarded; /* the mapping, between its guards */

bool fuzz_guard_is_used(void) { return guarded != NULL; }

/* A guard, room for the largest object, a guard: two of them, for those that must be at low
 * addresses and for others. They stay, because the address sanitizer makes mapping so much
 * memory slow. */
static char *reserved(int flags) {
    static char *areas[2];
#ifdef MAP_32BIT
    char **area = &areas[(flags & MAP_32BIT) != 0];
#else
    char **area = &areas[0];
#endif
    if (!*area)
        *area = __real_mmap(NULL, 3 * VP__OBJECT_MAX, PROT_NONE, flags | MAP_NORESERVE,
                            -1, 0);
    return *area;
}

static void *map_guarded(size_t bytes, int protection, int flags) {
    char *area = reserved(flags);
    if (area == MAP_FAILED || guarded || bytes > VP__OBJECT_MAX ||
        mprotect(area + VP__OBJECT_MAX, bytes, protection) != 0)
        return MAP_FAILED;
    fuzz_guarded = false;
    return guarded = area + VP__OBJECT_MAX;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from) {
    return fuzz_guarded ? map_guarded(bytes, protection, flags)
                        : __real_mmap(at, bytes, protection, flags, fd, from);
}

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd,
                    off_t from) {
    return fuzz_guarded ? map_guarded(bytes, protection, flags)
                        : __real_mmap64(at, bytes, protection, flags, fd, from);
}

int __wrap_munmap(void *at, size_t bytes) {
    if (!at || at != guarded) return __real_munmap(at, bytes);
    guarded = NULL;
    return madvise(at, bytes, MADV_DONTNEED) || mprotect(at, bytes, PROT_NONE) ? -1 : 0;
}
