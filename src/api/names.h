/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: what a vp_array stands for, and the scopes that free them. A name is a view of a
 * buffer; several names may share one. A generation in the handle makes a stale one an
 * error message and not a crash.
 */
#ifndef VP_API_NAMES_H
#define VP_API_NAMES_H

#include "issue/value.h"
#include "net/call.h"

enum { VP__NAME_AXES = 4 };

typedef struct {
    vp__spinlock lock; /* guards everything below: any thread may use or rebind a name */
    uint32_t generation; /* odd while in use */
    uint8_t dtype;
    int8_t ndim;
    bool late;          /* dims follow from the storage once it is sized */
    vp__buffer *buffer; /* NULL when there is an error instead, */
    vp__error *error;
    vp__expr *held; /* or a value that is not issued yet: nothing below counts then */
    struct vp__holder *holder; /* whose that is (held.h) */
    int64_t offset;
    int64_t *dims, *strides;
    int64_t own_axes[2 * VP__NAME_AXES];
    uint32_t next_free;
} vp__name;

/* Makes a name for a value, taking it over. */
vp_array vp__name_new(vp__value *v);
/* A name for a view of an existing buffer (retained here). */
vp_array vp__name_view(vp__buffer *b, vp_dtype dtype, int64_t offset, int ndim,
                       const int64_t *dims, const int64_t *strides);

/* Finds and locks a name, whatever it stands for (held.h has what most want); NULL (nothing
 * locked) when the handle is stale. */
vp__name *vp__name_lock(vp_array a);
static inline void vp__name_unlock(vp__name *n) { vp__spin_unlock(&n->lock); }

/* With the name locked: learns the dims of a late array whose size has become known. */
void vp__name_refresh(vp__name *n);

/* With the name locked: rebinds it to a value, taking that over. */
void vp__name_bind(vp__name *n, vp__value *v);
/* With the name locked: it stands for nothing any more. */
void vp__name_unbind(vp__name *n);

/* A name that stands for nothing yet, locked; NULL without memory, with a handle that says so. */
vp__name *vp__name_take(vp_array *handle);
/* Reports that this handle, of vp__name_take, is none. */
void vp__name_refuse(vp_array a);

/* With the name locked: frees it, and unlocks. */
void vp__name_free(vp__name *n, vp_array a);

/* What vp_begin, vp_end and vp_keep do; how many scopes are open. */
vp_scope vp__scope_begin(const char *where);
/* False if the scope is not open. After it the names that were made in it are to be freed: the
 * next one, or false. */
bool vp__scope_end(const char *where, vp_scope scope);
bool vp__scope_left(vp_array *a);
/* The calling thread's outermost scope that is open; of depth 0 if none is. */
vp_scope vp__scope_outermost(void);
vp_array vp__name_keep(const char *where, vp_array a);
uint32_t vp__scope_depth(void);

/* The error for a handle that vp__name_lock refused. */
vp__error *vp__name_stale(vp_array a, const char *where);

#endif
