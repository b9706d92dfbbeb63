/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of the execution net: work whose inputs, sizes or target may not be ready yet. It
 * moves itself along: sized, placed, run, stored, completed (life.h), each step taken by whoever
 * delivers the last signal that step waits for. Nothing looks at the net from outside. This is
 * the record: what a node knows of itself.
 *
 * Inputs gate computing; earlier accesses to the target gate only the store. A node that
 * may not store yet computes into a temporary, and the one who opens the gate stores.
 */
#ifndef VP_NET_NODE_H
#define VP_NET_NODE_H

#include "array/dtype.h"
#include "array/storage.h"
#include "base/rounds.h"
#include "net/core.h"

/* What a node waits for. Each counter starts at one, which the node's own progress drops. */
typedef enum {
    VP__WAIT_SIZE,
    VP__WAIT_CONFIG,
    VP__WAIT_INPUT,
    VP__WAIT_STORE,
    VP__NWAITS
} vp__wait;
/* A waiter's code beyond those: `who` is a vp__event. */
enum { VP__WAIT_EVENT = VP__NWAITS };

/* A node's id: the index of the core that issued it, and how many that had issued with it. */
enum { VP__NODE_COUNT_BITS = 40 };

/* More than any node has signals to wait for: keeps a counter from reaching zero while
 * waiters are still being attached. */
enum { VP__ATTACHING = 1 << 20 };

/* An array a node reads. dims and strides have ndim entries; when `late`, they are those
 * of the whole storage and are filled in when it has been sized. */
typedef struct {
    vp__storage *storage;
    vp__group *group; /* the read in the storage's log; NULL when not entered */
    uint64_t sequence;
    vp__region region;
    int64_t offset;
    int64_t *dims, *strides;
    int8_t ndim;
    uint8_t dtype;
    bool late;
    bool captured; /* its reference is a capture until the read is entered */
} vp__input;

typedef struct vp__work vp__work;
struct vp__device;
struct vp__device_part;
struct vp__launching;

/* The order is that of use, because every line of memory an instruction touches when it is
 * issued costs as much as dozens of its instructions. */
struct vp__node {
    /* A line that is not touched before the node is ready. */
    vp__node *next; /* in an inbox or a ready list */
    char *out;      /* where pieces write the value */
    const int64_t *out_strides;
    int64_t temporary_bytes;
    int64_t target_offset; /* of a put */
    uint64_t began;        /* clock ticks at the start of its run */
    _Atomic int64_t next_piece, pieces_left;

    const vp__work *work;
    const char *name, *where; /* the instruction, and the user's line */
    uint64_t id;
    _Atomic int32_t waits[VP__NWAITS];
    vp__waiter waiter;    /* for the first input that is not complete */
    _Atomic int32_t refs; /* the node itself + tickets in queues */
    int32_t home;         /* core it was placed on, unless `device` is set */
    size_t bytes;         /* of this block */
    vp__input *in;
    int64_t *dims, *strides; /* of the value, once sized */
    int64_t *target_dims, *target_strides;
    void *payload; /* of the work, allocated with the node */

    /* Where the value goes: a storage of its own (result), or a view of an existing one. */
    vp__storage *result;
    vp__group *write;
    vp__region write_region;

    /* From here on, a new node is zero. */
    uint64_t write_sequence;
    vp__error *error; /* set once by the first thing that fails, under error_lock */
    char *temporary;  /* out, when it is not the final place */
    struct vp__device *device;       /* it was placed on */
    struct vp__launching *launching; /* what running there needs */
    int64_t promised; /* bytes counted as in flight until allocated or completed */
    int64_t pieces;
    _Atomic int64_t piece_ticks; /* spent on pieces of split phases, by all threads */
    float estimate;              /* nanoseconds by the table */
    float cost;  /* the same corrected by what was measured; booked at home */
    int32_t key; /* kind of work, for the cost model */
    int32_t ninputs;
    uint8_t dtype; /* of the value */
    int8_t ndim, target_ndim;
    uint8_t stage; /* vp__stage of the code that runs, or ran last */
    bool is_sized; /* dims and estimate were known at issue */
    bool at_once;  /* runs on the thread that submits it, if it is ready then */
    bool is_put;   /* result is an existing storage, and there is a target view */
    bool is_box;   /* of a part of a value: a failure is one of all of the storage */
    bool fits;     /* value and target agree in shape: may be stored directly */
    bool stored;   /* in pieces, of work that stores only */
    uint8_t round; /* of vp__nodes_in_flight */
    _Atomic bool started;
    vp__spinlock error_lock;
};

/* A kind of work. All functions but `piece` and `begin` are optional. */
struct vp__work {
    /* Every input's size is known: find dims, strides (of the value) and n->cost. */
    vp__error *(*size)(vp__node *n);
    /* Inputs are complete and `out` has memory: set n->pieces (>= 1) for the first phase. */
    void (*begin)(vp__node *n);
    void (*piece)(vp__node *n, int64_t piece, vp__core *core);
    /* All pieces of a phase have run: sets n->pieces for another phase and returns true, or
     * returns false. */
    bool (*next)(vp__node *n, vp__core *core);
    /* Stores the value into the target (only for puts); NULL: convert-free broadcast copy. */
    void (*store)(vp__node *n);
    void (*deinit)(vp__node *n);
    /* Describes part `phase` of a sized node for a device; NULL: only the CPU can run it. */
    void (*device_part)(vp__node *n, int phase, struct vp__device_part *part);
    /* Whether that goes for this node, too, and finds the regions it would read of its inputs,
     * before it is placed; NULL: it does, and they are known. */
    bool (*suits_device)(vp__node *n);
    /* Whenever inputs are complete: the views that a device is to have, which its parts name as
     * their sources, and which live as long as the node. NULL: without memory, or since some of
     * what is read has failed, and the CPU does it. Without it they are the inputs. */
    const vp__input *(*device_inputs)(vp__node *n, int *count);
    /* Tells the target what became of the write, which failed with n->error, not retained, or
     * went well; NULL: as of one write of the whole target. */
    void (*settle)(vp__node *n);
    bool finds_room;     /* `begin` finds out where the value can go */
    bool sizes_when_run; /* the value's size comes out of running (find): no `size` */
    /* Nothing to compute before the store. With `begin` and `piece` the store is done in pieces
     * if the target may be written when the inputs are complete, else by `store`. */
    bool stores_only;
    bool copies_poison; /* hands its input's failures on region by region */
    bool
        one_kernel; /* counts as one over its value's elements; others count themselves */
};

/* A node of `work` with room for ninputs inputs of ndims axes in all, a value of ndim axes,
 * a target of target_ndim axes and payload_bytes of payload. NULL without memory. */
vp__node *vp__node_new(const vp__work *work, const char *name, const char *where,
                       int ninputs, int input_axes, int ndim, int target_ndim,
                       size_t payload_bytes);

/* Adds an input; takes over one reference to the storage. */
vp__input *vp__node_add_input(vp__node *n, vp__storage *s, vp_dtype dtype, int64_t offset,
                              int ndim, const int64_t *dims, const int64_t *strides);

/* Ends the attaching of `waits` waiters to one counter, of which `marks` of the node's own
 * stay; returns how many signals are still to come. */
int vp__node_attached(vp__node *n, vp__wait what, int waits, int marks);

/* The error the node's inputs hand it, not retained; NULL if none. */
vp__error *vp__node_inherited(const vp__node *n);

/* The error of a node whose result finds no memory. */
vp__error *vp__node_no_memory(const vp__node *n);

/* Notes that the node failed; takes over the error. The first one counts. */
void vp__node_fail(vp__node *n, vp__error *e);

/* The error is a failure of this node, which has been entered; it may be an inherited one. */
void vp__node_raise(const vp__node *n, vp__error *e);

void vp__node_unref(vp__node *n);

/* Addresses: element 0,0,… of an input or of the value. */
static inline char *vp__input_data(const vp__input *in) {
    return atomic_load_explicit(&in->storage->host, memory_order_relaxed) + in->offset;
}

/* Counts memory that the node will allocate as in flight already, and takes it out again. */
void vp__node_promise(vp__node *n);
void vp__node_unpromise(vp__node *n);

/* In flight: bounded by helping (wait.c). */
extern vp__rounds vp__nodes_in_flight;
extern _Atomic int64_t vp__bytes_promised;
/* Nodes that wait for something outside the net: progress is to be expected of them. */
extern _Atomic int vp__nodes_outside;

#endif
