/* SPDX-License-Identifier: Apache-2.0
 *
 * What the interface layer asks of the net: close an expression into a value, write a value
 * into part of an array, wait, observe.
 */
#ifndef VP_NET_NET_H
#define VP_NET_NET_H

#include "net/expr.h"
#include "net/node.h"

/* Starts the runtime: once, from whichever thread comes first. */
void vp__net_init(void);

/* A value: a view of a storage (one reference, held by the value), or an error. */
typedef struct {
    vp__storage *storage;
    vp__error *error;
    vp_dtype dtype;
    bool late; /* dims are not known yet: the whole storage, once it is sized */
    int ndim;
    int64_t offset;
    int64_t dims[VP__MAXDIM], strides[VP__MAXDIM];
} vp__value;

void vp__value_release(vp__value *v);

/* Ends a segment: runs it at once if it is tiny and ready, else gives it to the net.
 * Consumes the expression. */
void vp__close(vp__expr *e, vp__value *out);

/* The same, but the expression stays as a leaf that reads the value. */
void vp__materialise(vp__expr *e);

/* Issues a transform that is kept as an expression, or the absolute values of its complex
 * results, which are computed while they are in the cache. It becomes a leaf. */
void vp__transform(vp__expr *e, bool magnitude);

/* Makes a leaf read a copy of its elements instead: for memory that cannot be renamed. */
void vp__copy_leaf(vp__expr *leaf);

/* Closes every open expression of this thread that reads s. */
void vp__materialise_readers(vp__storage *s);

/* The part of a buffer that is written. */
typedef struct {
    vp__buffer *buffer;
    vp_dtype dtype;
    int ndim;
    int64_t offset;
    const int64_t *dims, *strides;
    const vp__layout *within; /* what it was selected from */
} vp__target;

/* Writes a value, already of the target's type and broadcastable to its dims (checked when
 * sizes are known), into the target. Consumes the expression. Returns an error that the
 * caller reports when nothing could be issued. */
vp__error *vp__put(const vp__target *t, vp__expr *value, const char *where);

/* Prepares the buffer for an in-place write of a region by renaming it where that is due,
 * and returns its storage with a reference; `whole`: nothing of the old contents stays;
 * own_captures: how many of the storage's captures are the writer's own. Sets *error
 * without memory or for read-only memory. */
vp__storage *vp__prepare_write(vp__buffer *b, const vp__region *region, bool whole,
                               int own_captures, const char *where, vp__error **error);

/* Waits until the size is known. */
void vp__wait_sized(vp__storage *s);

/* Waits until everything issued before has been stored into this region and enters a read.
 * Returns an error (retained) if the region is poisoned. End with vp__observe_end in either
 * case. */
vp__error *vp__observe(vp__storage *s, const vp__region *r, vp__group **group);
void vp__observe_end(vp__group *group);

/* Waits until the net is empty. */
void vp__drain(void);

/* Helps until there is room for another node of this many bytes. */
void vp__admit(int64_t bytes);

/* Whether that many bytes can be had at all. What asks for more fails when it runs, and
 * nobody waits for it or makes room for it. */
bool vp__memory_has(int64_t bytes);

#endif
