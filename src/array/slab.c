/* SPDX-License-Identifier: Apache-2.0
 *
 * Slabs, and the chunks they are cut from.
 *
 * Locks, in the order in which they may be taken: `purging`, a class, `chunks`. A class's
 * lock guards its list of slabs with free blocks and all that is in those slabs; `chunks`
 * guards the list of chunks and which of their pages are taken. No system call is made
 * under the latter two.
 *
 * A chunk's memory is charged by huge pages, 64 of our pages, since that is what a first
 * touch makes the system provide; one word of the page map is one huge page.
 */
#include "array/slab.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/map.h"
#include "array/poison.h"
#include "base/spin.h"

enum {
    PAGE = 32 << 10,
    CHUNK = 64 << 20,
    PAGES = CHUNK / PAGE,
    WORDS = PAGES / 64, /* of the page map, and huge pages in a chunk */
    MAX_BLOCKS = PAGE / 64,
    MAX_CHUNKS = 1 << 16, /* 4 TiB */
};

typedef struct slab {
    struct slab *next, *previous; /* among the slabs of the class that have free blocks */
    uint64_t free[MAX_BLOCKS / 64];
    uint16_t free_count, count; /* blocks */
    uint16_t page, pages;       /* where it is in the chunk */
    uint32_t size_class;
} slab;

typedef struct {
    uint64_t
        taken[WORDS]; /* a bit for each page that is part of a slab, or of this head */
    uint64_t charged; /* a bit for each huge page that may be backed by memory */
    uint32_t taken_count;
    uint32_t number;       /* its place in the list of chunks */
    uint16_t owner[PAGES]; /* the first page of the slab a page belongs to */
    slab slabs[PAGES];     /* by first page */
} chunk;

enum { HEAD_PAGES = (sizeof(chunk) + PAGE - 1) / PAGE };
_Static_assert(PAGES / WORDS * PAGE == VP__HUGE_PAGE, "a word of pages is a huge page");
_Static_assert((int)HEAD_PAGES < 64, "the head of a chunk is in its first huge page");

typedef struct {
    _Alignas(64) vp__spinlock lock;
    slab *partial; /* slabs with free blocks, the most recently used first */
    int empties;   /* how many of them have nothing but free blocks */
} shelf;

static shelf shelves[VP__SLAB_CLASSES];
static vp__spinlock chunks_lock;
static chunk *chunks[MAX_CHUNKS];
static uint16_t room[MAX_CHUNKS]; /* no run of free pages in the chunk is longer */
static uint32_t chunk_count;
static vp__spinlock purging; /* one thread at a time gives memory back */
static _Atomic int64_t idle; /* huge pages that are charged and hold no slab */

/* How many pages a slab has: enough for eight blocks, and large ones are alone. */
static int slab_pages(size_t block) {
    if (block <= 4 << 10) return 1;
    if (block <= 32 << 10) return 8;
    if (block <= 256 << 10) return 64;
    return (int)((block + PAGE - 1) / PAGE);
}

/* A slab in reserve saves making and breaking one when a program goes back and forth
 * across its edge. A block that has a slab to itself is not worth it. */
static int spare_slabs(const slab *s) { return s->count > 1; }

static slab *slab_of(const void *block) {
    chunk *c = (chunk *)((uintptr_t)block & ~(uintptr_t)(CHUNK - 1));
    return &c->slabs[c->owner[((uintptr_t)block & (CHUNK - 1)) / PAGE]];
}

static char *slab_memory(const slab *s) {
    return (char *)((uintptr_t)s & ~(uintptr_t)(CHUNK - 1)) + (size_t)s->page * PAGE;
}

static void link_slab(shelf *home, slab *s) {
    s->previous = NULL;
    s->next = home->partial;
    if (s->next) s->next->previous = s;
    home->partial = s;
}

static void unlink_slab(shelf *home, slab *s) {
    if (s->next) s->next->previous = s->previous;
    if (s->previous) {
        s->previous->next = s->next;
    } else {
        home->partial = s->next;
    }
}

/* ---- pages of chunks ---- */

/* The first page from `page` on whose bit in the map is `taken`; PAGES when none is. */
static int next_page(const uint64_t *map, int page, bool taken) {
    uint64_t flip = taken ? 0 : ~UINT64_C(0);
    while (page < PAGES) {
        uint64_t word = (map[page / 64] ^ flip) >> (page % 64);
        if (word) return page + __builtin_ctzll(word);
        page = (page / 64 + 1) * 64;
    }
    return PAGES;
}

/* The first run of free pages that is long enough; -1 when there is none. What spans huge
 * pages begins at one, so that it uses no more of them than it must. */
static int find_pages(const chunk *c, int pages) {
    for (int first = 0;;) {
        first = next_page(c->taken, first, false);
        if (pages >= 64) first = (first + 63) / 64 * 64;
        if (first + pages > PAGES) return -1;
        int end = next_page(c->taken, first, true);
        if (end - first >= pages) return first;
        first = end;
    }
}

/* Changes how many huge pages are charged and hold no slab. Under `chunks`, and read
 * without it by whoever wonders whether a purge would find something. */
static void count_idle(int change) {
    atomic_fetch_add_explicit(&idle, change, memory_order_relaxed);
}

/* Marks pages taken or free. */
static void mark_pages(chunk *c, int first, int pages, bool taken) {
    c->taken_count += (uint32_t)(taken ? pages : -pages);
    if (!taken) room[c->number] = (uint16_t)(PAGES - c->taken_count);
    for (int page = first, end = first + pages; page < end;) {
        int word = page / 64, stop = (word + 1) * 64 < end ? (word + 1) * 64 : end;
        uint64_t bits = ~UINT64_C(0) >> (64 - (stop - page)) << (page % 64);
        bool was_idle = !c->taken[word];
        c->taken[word] = taken ? c->taken[word] | bits : c->taken[word] & ~bits;
        if (c->charged >> word & 1) count_idle(!c->taken[word] - was_idle);
        page = stop;
    }
}

/* Charges for the huge pages that these pages are the first of to be used. */
static bool charge_pages(chunk *c, int first, int pages) {
    uint64_t fresh = 0;
    for (int word = first / 64; word <= (first + pages - 1) / 64; word++) {
        fresh |= UINT64_C(1) << word;
    }
    fresh &= ~c->charged;
    if (!vp__map_charge((int64_t)__builtin_popcountll(fresh) * VP__HUGE_PAGE))
        return false;
    c->charged |= fresh;
    count_idle(__builtin_popcountll(fresh));
    return true;
}

/* Maps a chunk and puts it last in the list; false when memory is exhausted. */
static bool chunk_new(void) {
    if (!vp__map_charge(VP__HUGE_PAGE)) return false;
    chunk *c = vp__map_new(CHUNK, CHUNK);
    if (!c) {
        vp__map_uncharge(VP__HUGE_PAGE);
        return false;
    }
    /* Allocating unpoisons a block and freeing poisons it; what never was a block stays. */
    vp__poison((char *)c + HEAD_PAGES * PAGE, CHUNK - HEAD_PAGES * PAGE);
    vp__spin_lock(&chunks_lock);
    bool fits = chunk_count < MAX_CHUNKS;
    if (fits) {
        c->number = chunk_count;
        mark_pages(c, 0, HEAD_PAGES, true);
        c->charged = 1;
        room[chunk_count] = PAGES - HEAD_PAGES;
        chunks[chunk_count++] = c;
    }
    vp__spin_unlock(&chunks_lock);
    if (!fits) {
        vp__map_release(c, CHUNK);
        vp__map_uncharge(VP__HUGE_PAGE);
    }
    return fits;
}

/* Takes a run of pages from the first chunk that has one, as a slab without blocks; NULL
 * when none has, or *affordable is false. */
static slab *take_pages(int pages, bool *affordable) {
    slab *s = NULL;
    vp__spin_lock(&chunks_lock);
    for (uint32_t i = 0; i < chunk_count && !s; i++) {
        if (room[i] < pages) continue;
        chunk *c = chunks[i];
        int first = find_pages(c, pages);
        if (first < 0) {
            if (pages < 64) room[i] = (uint16_t)(pages - 1);
            continue;
        }
        *affordable = charge_pages(c, first, pages);
        if (!*affordable) break;
        mark_pages(c, first, pages, true);
        for (int page = first; page < first + pages; page++)
            c->owner[page] = (uint16_t)first;
        s = &c->slabs[first];
        s->page = (uint16_t)first;
        s->pages = (uint16_t)pages;
    }
    vp__spin_unlock(&chunks_lock);
    return s;
}

/* Makes a slab of free blocks; NULL when memory is exhausted. Nobody else knows it yet. */
static slab *slab_new(unsigned size_class) {
    size_t block = vp__class_bytes(size_class);
    int pages = slab_pages(block);
    bool affordable = true;
    slab *s;
    do {
        s = take_pages(pages, &affordable);
    } while (!s && affordable && chunk_new());
    if (!s) return NULL;
    s->size_class = size_class;
    s->count = s->free_count = (uint16_t)((size_t)pages * PAGE / block);
    memset(s->free, 0, sizeof s->free);
    for (int i = 0; i < s->count / 64; i++) s->free[i] = UINT64_MAX;
    if (s->count % 64) s->free[s->count / 64] = (UINT64_C(1) << s->count % 64) - 1;
    return s;
}

/* Returns the pages of slabs, linked by `next`, that are in no class's list. */
static void slabs_delete(slab *s) {
    if (!s) return;
    vp__spin_lock(&chunks_lock);
    while (s) {
        slab *next = s->next;
        chunk *c = (chunk *)((uintptr_t)s & ~(uintptr_t)(CHUNK - 1));
        mark_pages(c, s->page, s->pages, false);
        s = next;
    }
    vp__spin_unlock(&chunks_lock);
}

/* ---- blocks ---- */

/* Moves free blocks of one slab to the array; how many. */
static int take_from(slab *s, size_t block, void **blocks, int count) {
    char *memory = slab_memory(s);
    int got = 0;
    for (int word = 0; got < count && got < s->free_count; word++) {
        uint64_t left = s->free[word];
        char *first = memory + (size_t)word * 64 * block;
        for (; left && got < count; left &= left - 1)
            blocks[got++] = first + (size_t)__builtin_ctzll(left) * block;
        s->free[word] = left;
    }
    s->free_count = (uint16_t)(s->free_count - got);
    return got;
}

int vp__slab_take(unsigned size_class, void **blocks, int count) {
    shelf *home = &shelves[size_class];
    size_t block = vp__class_bytes(size_class);
    int got = 0;
    slab *fresh = NULL;
    do {
        vp__spin_lock(&home->lock);
        if (fresh) {
            link_slab(home, fresh);
            home->empties++;
        }
        while (got < count && home->partial) {
            slab *s = home->partial;
            if (s->free_count == s->count) home->empties--;
            got += take_from(s, block, blocks + got, count - got);
            if (!s->free_count) unlink_slab(home, s);
        }
        vp__spin_unlock(&home->lock);
    } while (!got && (fresh = slab_new(size_class)));
    return got;
}

_Noreturn static void broken(const void *block) {
    fprintf(stderr, "vproc: pool: block %p was freed twice, or with another size\n",
            block);
    abort();
}

void vp__slab_give(unsigned size_class, void *const *blocks, int count) {
    shelf *home = &shelves[size_class];
    uint32_t block = (uint32_t)vp__class_bytes(size_class);
    /* offset * inverse >> 32 is offset / block: the offset is a multiple of the block, and
     * the quotient (at most 2^9, and 0 where the block has the slab to itself) times the
     * error of the inverse (below the block's 2^18) is below 2^32. */
    uint64_t inverse = ((UINT64_C(1) << 32) + block - 1) / block;
    slab *empty = NULL;
    vp__spin_lock(&home->lock);
    for (int i = 0; i < count; i++) {
        slab *s = slab_of(blocks[i]);
        uint64_t offset = (uint64_t)((char *)blocks[i] - slab_memory(s));
        unsigned number = (unsigned)(offset * inverse >> 32);
        uint64_t bit = UINT64_C(1) << (number % 64);
        if (s->size_class != size_class || number >= s->count ||
            s->free[number / 64] & bit) {
            broken(blocks[i]);
        }
        s->free[number / 64] |= bit;
        if (s->free_count++ == 0) link_slab(home, s);
        if (s->free_count < s->count) continue;
        if (home->empties < spare_slabs(s)) {
            home->empties++;
        } else {
            unlink_slab(home, s);
            s->next = empty;
            empty = s;
        }
    }
    vp__spin_unlock(&home->lock);
    slabs_delete(empty);
}

/* ---- giving memory back ---- */

static void release_empties(void) {
    for (int i = 0; i < VP__SLAB_CLASSES; i++) {
        shelf *home = &shelves[i];
        slab *empty = NULL;
        vp__spin_lock(&home->lock);
        for (slab *s = home->partial, *next; s && home->empties; s = next) {
            next = s->next;
            if (s->free_count < s->count) continue;
            unlink_slab(home, s);
            home->empties--;
            s->next = empty;
            empty = s;
        }
        vp__spin_unlock(&home->lock);
        slabs_delete(empty);
    }
}

/* Takes up to `most` idle huge pages of a chunk, gives their memory back, and returns
 * them, those at the end first, since slabs are made at the beginning. */
static void chunk_purge(chunk *c, int64_t most) {
    uint64_t unused = 0;
    vp__spin_lock(&chunks_lock);
    for (int word = WORDS - 1; word >= 0 && most > 0; word--) {
        if (c->taken[word] || !(c->charged >> word & 1)) continue;
        unused |= UINT64_C(1) << word;
        mark_pages(c, word * 64, 64, true);
        most--;
    }
    vp__spin_unlock(&chunks_lock);
    if (!unused) return;
    for (int word = 0; word < WORDS;) {
        int words = 0;
        while (unused >> (word + words) & 1) words++;
        if (words) {
            vp__map_discard((char *)c + (size_t)word * VP__HUGE_PAGE,
                            (size_t)words * VP__HUGE_PAGE);
        }
        word += words + 1;
    }
    vp__spin_lock(&chunks_lock);
    c->charged &= ~unused;
    for (int word = 0; word < WORDS; word++) {
        if (unused >> word & 1) mark_pages(c, word * 64, 64, false);
    }
    vp__spin_unlock(&chunks_lock);
    vp__map_uncharge((int64_t)__builtin_popcountll(unused) * VP__HUGE_PAGE);
}

/* Takes a chunk out of the list if it has no slab; whether it did. */
static bool chunk_remove(chunk *c) {
    vp__spin_lock(&chunks_lock);
    bool unused = c->taken_count == HEAD_PAGES;
    if (unused) {
        count_idle(1 - __builtin_popcountll(c->charged)); /* the head's is not idle */
        chunk_count--;
        chunks[c->number] = chunks[chunk_count];
        room[c->number] = room[chunk_count];
        chunks[c->number]->number = c->number;
    }
    vp__spin_unlock(&chunks_lock);
    return unused;
}

int64_t vp__slab_idle(void) {
    return atomic_load_explicit(&idle, memory_order_relaxed) * VP__HUGE_PAGE;
}

void vp__slab_purge(int64_t bound, bool empties) {
    vp__spin_lock(&purging);
    if (empties) release_empties();
    /* Chunks are removed under `purging` only, and added at the end, so going backwards
     * meets each once. */
    vp__spin_lock(&chunks_lock);
    uint32_t number = chunk_count;
    vp__spin_unlock(&chunks_lock);
    while (number-- > 0 && vp__map_charged() > bound) {
        vp__spin_lock(&chunks_lock);
        chunk *c = chunks[number];
        vp__spin_unlock(&chunks_lock);
        if (chunk_remove(c)) {
            int64_t bytes = (int64_t)__builtin_popcountll(c->charged) * VP__HUGE_PAGE;
            vp__map_release(c, CHUNK);
            vp__map_uncharge(bytes);
        } else {
            int64_t excess = vp__map_charged() - bound;
            chunk_purge(c, (excess + VP__HUGE_PAGE - 1) / VP__HUGE_PAGE);
        }
    }
    vp__spin_unlock(&purging);
}

void vp__slab_lock_all(void) {
    vp__spin_lock(&purging);
    for (int i = 0; i < VP__SLAB_CLASSES; i++) vp__spin_lock(&shelves[i].lock);
    vp__spin_lock(&chunks_lock);
}

void vp__slab_unlock_all(void) {
    vp__spin_unlock(&chunks_lock);
    for (int i = VP__SLAB_CLASSES - 1; i >= 0; i--) vp__spin_unlock(&shelves[i].lock);
    vp__spin_unlock(&purging);
}
