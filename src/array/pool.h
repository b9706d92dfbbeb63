/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for array elements and for the records of the processor. In steady state an
 * allocation makes no system call and touches no new page, because memory that is freed
 * stays mapped for the next allocation of its size; how much is kept is bounded by how
 * much was in use recently.
 *
 * Three levels: a cache of blocks in each thread (no atomics at all), slabs of equal
 * blocks shared by all threads (array/slab.h), and large blocks of their own mapping.
 * Every function may be called by any thread, and memory may be freed by another thread
 * than allocated it. After a fork the child owns everything the parent had.
 */
#ifndef VP_ARRAY_POOL_H
#define VP_ARRAY_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t in_use;       /* bytes handed out, as vp__pool_class_bytes counts them */
    int64_t cached;       /* bytes kept for reuse, and what the pool itself needs */
    int64_t peak_in_use;  /* the largest in_use, to within the threads' caches */
    int64_t peak_total;   /* the largest in_use + cached */
    int64_t system_calls; /* mmap, munmap and madvise so far */
} vp__pool_stat;

/* Allocates at least `bytes` bytes at a multiple of 64, contents unspecified; 0 bytes are
 * a valid block too. NULL when memory is exhausted even after a trim, that is when the
 * system refuses or the process would exceed the memory it may have at all. */
void *vp__pool_alloc(size_t bytes);

/* Frees a block that vp__pool_alloc returned for the same number of bytes; NULL is
 * ignored. */
void vp__pool_free(void *p, size_t bytes);

/* Gives what is cached back to the system, but for the caches of other threads (they are
 * small, and theirs alone). */
void vp__pool_trim(void);

/* How many bytes an allocation of `bytes` really takes; SIZE_MAX when that is absurd. */
size_t vp__pool_class_bytes(size_t bytes);

/* The figures now. Exact when no other thread is inside the pool. */
void vp__pool_stats(vp__pool_stat *out);

/* Forgets the peaks; they start again from what is in use now. */
void vp__pool_reset_peaks(void);

/* Returns the calling thread's cache to the shared level. Happens by itself when a thread
 * ends; call it for a thread that goes to sleep for long. */
void vp__pool_thread_exit(void);

/* For tests: -1 is off; n >= 0 lets n more allocations succeed and every later one fail. */
extern _Atomic int64_t vp__pool_fail_after;

/* Whether that many bytes can be had at all. What asks for more fails when it runs, and
 * nobody waits for it or makes room for it. */
bool vp__pool_can_have(int64_t bytes);

#endif
