/* SPDX-License-Identifier: Apache-2.0
 *
 * The kept blocks are entries of a fixed table, each in two lists: that of its class, from
 * which the most recently freed is taken since its memory may still be in a cache, and
 * that of all, in the order in which they were freed. Entry 0 is the head of the latter.
 * No system call is made under the lock; a block is in nobody's list while it is unmapped.
 */
#include "array/large.h"

#include <stdbool.h>
#include <stddef.h>

#include "array/map.h"
#include "array/slab.h"
#include "base/spin.h"

enum {
    ENTRIES = 4096,
    LARGE_CLASSES = VP__CLASSES - VP__SLAB_CLASSES,
    BATCH = 16, /* blocks unmapped between two looks at the table */
};

typedef struct {
    void *block;
    int32_t size_class;
    int16_t older, newer;             /* in the order of freeing */
    int16_t class_older, class_newer; /* in the same class; 0 ends the list */
} entry;

static vp__spinlock lock; /* guards all of these */
static entry table[ENTRIES];
static int16_t newest[LARGE_CLASSES]; /* the most recently freed of each class */
static int16_t vacant;                /* unused entries, linked by `older` */
static int16_t entries_made = 1;      /* entries from here on were never used */

/* Puts a block into the table; false when that is full. */
static bool insert(unsigned size_class, void *block) {
    int16_t i = vacant;
    if (i) {
        vacant = table[i].older;
    } else if (entries_made < ENTRIES) {
        i = entries_made++;
    } else {
        return false;
    }
    int16_t *class_newest = &newest[size_class - VP__SLAB_CLASSES];
    table[i] = (entry){block, (int32_t)size_class, table[0].older, 0, *class_newest, 0};
    table[table[0].older].newer = i;
    table[0].older = i;
    if (*class_newest) table[*class_newest].class_newer = i;
    *class_newest = i;
    return true;
}

static void *extract(int16_t i) {
    entry *e = &table[i];
    table[e->older].newer = e->newer;
    table[e->newer].older = e->older;
    if (e->class_older) table[e->class_older].class_newer = e->class_newer;
    if (e->class_newer) {
        table[e->class_newer].class_older = e->class_older;
    } else {
        newest[e->size_class - VP__SLAB_CLASSES] = e->class_older;
    }
    e->older = vacant;
    vacant = i;
    return e->block;
}

static void unmap(void *block, size_t bytes) {
    vp__map_release(block, bytes);
    vp__map_uncharge((int64_t)bytes);
}

void vp__large_evict(int64_t bound) {
    struct {
        void *block;
        size_t bytes;
    } victims[BATCH];
    int count;
    do {
        count = 0;
        int64_t excess = vp__map_charged() - bound;
        vp__spin_lock(&lock);
        while (excess > 0 && count < BATCH && table[0].newer) {
            int16_t oldest = table[0].newer;
            victims[count].bytes = vp__class_bytes((unsigned)table[oldest].size_class);
            victims[count].block = extract(oldest);
            excess -= (int64_t)victims[count++].bytes;
        }
        vp__spin_unlock(&lock);
        for (int i = 0; i < count; i++) unmap(victims[i].block, victims[i].bytes);
    } while (count == BATCH);
}

/* Maps a block; NULL when the system or the books refuse. */
static void *map(size_t bytes) {
    if (!vp__map_charge((int64_t)bytes)) return NULL;
    void *block = vp__map_new(bytes, VP__HUGE_PAGE);
    if (!block) vp__map_uncharge((int64_t)bytes);
    return block;
}

void *vp__large_take(unsigned size_class) {
    size_t bytes = vp__class_bytes(size_class);
    vp__spin_lock(&lock);
    int16_t i = newest[size_class - VP__SLAB_CLASSES];
    void *block = i ? extract(i) : NULL;
    vp__spin_unlock(&lock);
    if (block) return block;
    /* Make room first, so that what is kept for other classes does not add to the peak. */
    vp__large_evict(vp__map_bound() - (int64_t)bytes);
    block = map(bytes);
    if (block) return block;
    vp__large_evict(0);
    vp__slab_purge(0, true);
    return map(bytes);
}

void vp__large_give(unsigned size_class, void *block) {
    vp__spin_lock(&lock);
    bool kept = insert(size_class, block);
    vp__spin_unlock(&lock);
    if (!kept) unmap(block, vp__class_bytes(size_class));
}

void vp__large_lock(void) { vp__spin_lock(&lock); }
void vp__large_unlock(void) { vp__spin_unlock(&lock); }
