/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be told of a node: the kinds of records.
 */
#ifndef VP_TRACE_KIND_H
#define VP_TRACE_KIND_H

typedef enum {
    VP__TR_ISSUED,
    VP__TR_SIZED,
    VP__TR_PLACED,
    VP__TR_READY,
    VP__TR_START,      /* a thread begins to compute the node or a piece of it */
    VP__TR_FINISH,     /* the same thread ends it */
    VP__TR_STORE,      /* a result that had to wait for earlier accesses is stored */
    VP__TR_WAIT_BEGIN, /* a caller begins to wait for the node */
    VP__TR_WAIT_END,
    VP__TR_STEAL,
    VP__TR_RENAME,
    VP__TR_LIMIT,   /* an issuer met the limit of nodes or bytes in flight */
    VP__TR_COMPILE, /* native code is there, or cannot be had; the name says it */
    VP__TR_STORAGE, /* a storage begins to exist; `arg` is its address, as in the next two */
    VP__TR_READ,    /* the node reads a storage, in the order of issue */
    VP__TR_WRITE,     /* it writes one */
    VP__TR_LINE,      /* the line of the program that issued the node; the name says it */
    VP__TR_OPERATION, /* one of the operations fused into the node; the name says which */
} vp__trace_kind;

#endif
