/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine code from a compiler, made runnable: a loader for relocatable ELF objects (ET_REL,
 * x86-64 and aarch64) as compilers emit them for one kernel. It is what a linker and a
 * dynamic loader would do together, for the few things that kernels consist of: code,
 * constants, calls to functions of the processor. Objects that need more (writable data,
 * thread-local data, code that runs at load time) are refused.
 *
 * The bytes are not trusted. Whatever they say, loading stays within them and within the
 * memory it mapped, and ends with an object or with a sentence. Whether the code does what
 * it should is not this loader's to know: only load what a trusted file held.
 *
 * Any thread; objects do not know of each other. A forked child has them too.
 */
#ifndef VP_JIT_OBJECT_H
#define VP_JIT_OBJECT_H

#include <stddef.h>

typedef struct vp__object vp__object;

/* The address of a symbol that the object needs from outside, or NULL. */
typedef void *vp__object_resolve(void *context, const char *name);

/* Loads an object. Returns NULL and the object in *out; or what is wrong, as a sentence
 * without its full stop, and NULL in *out. The bytes may go when it returns. */
const char *vp__object_load(const void *bytes, size_t size, vp__object_resolve *resolve,
                            void *context, vp__object **out);

/* The address of a function or constant that the object makes known, or NULL. */
void *vp__object_symbol(const vp__object *object, const char *name);

/* Bytes of memory the object's code and constants occupy: whole pages. */
size_t vp__object_size(const vp__object *object);

/* Unmaps the object; nobody may run it any more. NULL is fine. */
void vp__object_release(vp__object *object);

#endif
